//! Samples as CSV (RFC 4180): one line each, under a line of column names.

use axum::body::Bytes;
use query::Samples;
use sample::{Batch, Column, Timestamp};

use super::{
    elements,
    pieces::Pieces,
    value::{Dialect, put, put_json},
};
use crate::answer::Chunks;

const HEAD: &str = "time,value,severity,status,message,pulse\n";

pub(crate) struct SamplesCsv {
    samples: Pieces<Samples>,
    begun: bool,
    left: Option<u64>,
    /// What each line begins with: the field with the name of the PV where there are several.
    lead: Vec<u8>,
}

impl SamplesCsv {
    pub(crate) fn new(samples: Samples, limit: Option<u64>) -> SamplesCsv {
        SamplesCsv { samples: Pieces::of(samples), begun: false, left: limit, lead: Vec::new() }
    }

    /// One of several PVs, whose lines begin with its name. The line of column names stands before the first PV only.
    pub(crate) fn of_many(pv: &str, is_first: bool, samples: Samples, limit: Option<u64>) -> SamplesCsv {
        let mut lead = Vec::new();
        put_field(&mut lead, pv);
        lead.push(b',');
        SamplesCsv { samples: Pieces::of(samples), begun: !is_first, left: limit, lead }
    }
}

impl Chunks<query::Error> for SamplesCsv {
    fn is_at_hand(&self) -> bool {
        self.samples.is_at_hand()
    }
}

impl Iterator for SamplesCsv {
    type Item = Result<Bytes, query::Error>;

    fn next(&mut self) -> Option<Result<Bytes, query::Error>> {
        let mut out = Vec::new();
        if !std::mem::replace(&mut self.begun, true) {
            out.extend_from_slice(if self.lead.is_empty() { b"" } else { b"pv," });
            out.extend_from_slice(HEAD.as_bytes());
        }
        let batch = if self.left == Some(0) { None } else { self.samples.next() };
        match batch {
            Some(Ok(batch)) => {
                let rows = self.left.map_or(batch.len(), |left| batch.len().min(left as usize));
                self.left = self.left.map(|left| left - rows as u64);
                put_rows(&mut out, &self.lead, &batch, rows);
                Some(Ok(out.into()))
            }
            Some(Err(error)) => Some(Err(error)),
            None => (!out.is_empty()).then(|| Ok(out.into())),
        }
    }
}

fn put_rows(out: &mut Vec<u8>, lead: &[u8], batch: &Batch, rows: usize) {
    let alarms = batch.alarms().rows().zip(batch.pulses().rows());
    let mut second = (None, String::new());
    for (row, (alarm, pulse)) in (0..rows).zip(alarms) {
        out.extend_from_slice(lead);
        put_time(out, batch.times()[row], &mut second);
        put_value(out, batch.values(), row);
        out.push(b',');
        put_json(out, &(alarm.severity as u8));
        out.push(b',');
        put_json(out, &alarm.status);
        out.push(b',');
        put_field(out, alarm.message.as_deref().unwrap_or(""));
        out.push(b',');
        put_json(out, pulse);
        out.push(b'\n');
    }
}

/// The time and a comma. The calendar is asked once for each second.
fn put_time(out: &mut Vec<u8>, time: Timestamp, (second, text): &mut (Option<i64>, String)) {
    const POINT: usize = "2026-11-20T21:19:00.".len();
    let (seconds, nanos) = time.seconds_and_nanos();
    if *second != Some(seconds) || text.len() != POINT {
        (*second, *text) = (Some(seconds), time.to_string());
        text.truncate(POINT);
    }
    out.extend_from_slice(text.as_bytes());
    let digits = [100_000_000, 10_000_000, 1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];
    out.extend(digits.map(|place| b'0' + (nanos / place % 10) as u8));
    out.extend_from_slice(b"Z,");
}

/// Numbers as they are, texts as fields, all else as JSON in a field.
pub(crate) fn put_value(out: &mut Vec<u8>, column: &Column, row: usize) {
    match column {
        Column::String(texts) => put_field(out, texts.get(row)),
        Column::Array(arrays) if elements::put_field(out, arrays, row) => {}
        Column::Array(_) | Column::Structure(_) => {
            let mut json = Vec::new();
            put(&mut json, column, row, Dialect::Exact);
            put_field(out, &String::from_utf8_lossy(&json));
        }
        numbers => put(out, numbers, row, Dialect::Appliance),
    }
}

/// A text, quoted where a comma, quote or line break would mislead a reader.
pub(crate) fn put_field(out: &mut Vec<u8>, text: &str) {
    if text.contains([',', '"', '\n', '\r']) {
        out.push(b'"');
        out.extend_from_slice(text.replace('"', "\"\"").as_bytes());
        out.push(b'"');
    } else {
        out.extend_from_slice(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use sample::{Alarm, Sample, Severity, Value};

    use super::*;

    #[test]
    fn fields_that_would_mislead_a_reader_are_quoted() {
        let sample = Sample {
            time: Timestamp::from_nanos(1),
            value: Value::String("a,\"b\"\nc".into()),
            alarm: Alarm { severity: Severity::Major, status: 3, message: Some("x,y".into()) },
            pulse: 7,
            stamp: None,
        };
        let mut out = Vec::new();
        put_rows(&mut out, b"", &Batch::of(&sample), 1);
        let expected = "1970-01-01T00:00:00.000000001Z,\"a,\"\"b\"\"\nc\",2,3,\"x,y\",7\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}

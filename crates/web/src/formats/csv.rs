//! Samples as CSV (RFC 4180): one line each, under a line of column names.

use std::sync::Arc;

use query::Samples;
use sample::{Alarm, Column};

use super::{
    elements,
    line_buffer::{LineBuffer, Numbers, Others, Values, of_numbers},
    seconds::{Day, SecondText, put_clock},
    value::{Dialect, put},
};
use crate::delivery::{
    chunk::{Chunk, Rows},
    pieces::Piece,
};

pub(super) const HEAD: &str = "time,value,severity,status,message,pulse\n";

pub(crate) struct SamplesCsv {
    samples: Samples,
    begun: bool,
    left: Option<u64>,
    /// What each line begins with: the field with the name of the PV where there are several.
    lead: Arc<[u8]>,
}

impl SamplesCsv {
    pub(crate) fn new(samples: Samples, limit: Option<u64>) -> SamplesCsv {
        SamplesCsv { samples, begun: false, left: limit, lead: Arc::default() }
    }

    /// One of several PVs, whose lines begin with its name. The line of column names stands before the first PV only.
    pub(crate) fn of_many(pv: &str, is_first: bool, samples: Samples, limit: Option<u64>) -> SamplesCsv {
        let mut lead = Vec::new();
        put_field(&mut lead, pv);
        lead.push(b',');
        SamplesCsv { samples, begun: !is_first, left: limit, lead: lead.into() }
    }
}

impl Iterator for SamplesCsv {
    type Item = Result<Chunk, query::Error>;

    fn next(&mut self) -> Option<Result<Chunk, query::Error>> {
        if !std::mem::replace(&mut self.begun, true) {
            let of_pv = if self.lead.is_empty() { "" } else { "pv," };
            return Some(Ok([of_pv, HEAD].concat().into_bytes().into()));
        }
        let batch = if self.left == Some(0) { None } else { self.samples.next() };
        batch.map(|batch| {
            batch.map(|batch| {
                let rows = self.left.map_or(batch.len(), |left| batch.len().min(left as usize));
                self.left = self.left.map(|left| left - rows as u64);
                let lead = Arc::clone(&self.lead);
                Rows::lines(Piece::from(batch).first(rows), move |out, piece| put_rows(out, &lead, piece)).into()
            })
        })
    }
}

pub(super) fn put_rows(out: &mut Vec<u8>, lead: &[u8], piece: &Piece) {
    of_numbers!(piece.values(), values => {
        put_lines(out, lead, piece, &Numbers(values, Dialect::Appliance));
    }, else {
        put_lines(out, lead, piece, &Others(|out: &mut Vec<u8>, row| put_value(out, piece.values(), row)));
    });
}

fn put_lines(out: &mut Vec<u8>, lead: &[u8], piece: &Piece, values: &impl Values) {
    let (mut room, mut begun, times) = (LineBuffer::new(), SecondText::default(), piece.batch().times());
    let (mut line, mut day) = (room.lines(), Day::iso());
    for (rows, alarm) in piece.alarms() {
        let (state, pulses) = (state(alarm), piece.batch().pulses().within(rows));
        for (row, pulse) in pulses.flat_map(|(rows, pulse)| rows.map(move |row| (row, *pulse))) {
            line.pass_on(out);
            if !lead.is_empty() {
                line.any(lead, out);
            }
            let nanos = begun.nanos(times[row], |line, seconds| {
                day.put_date(line, seconds);
                put_clock(line, seconds);
                line.text(b".");
            });
            line.short(begun.text());
            line.nine_digits(nanos);
            line.text(b"Z,");
            values.put(&mut line, out, row);
            line.any(&state, out);
            line.unsigned(pulse);
            line.text(b"\n");
        }
    }
    line.flush(out);
}

/// What stands between the value and the pulse.
fn state(alarm: &Alarm) -> Vec<u8> {
    let mut state = format!(",{},{},", alarm.severity as u8, alarm.status).into_bytes();
    put_field(&mut state, alarm.message.as_deref().unwrap_or(""));
    state.push(b',');
    state
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
    use sample::{Alarm, Batch, Sample, Severity, Timestamp, Value};

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
        put_rows(&mut out, b"", &Batch::of(&sample).into());
        let expected = "1970-01-01T00:00:00.000000001Z,\"a,\"\"b\"\"\nc\",2,3,\"x,y\",7\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}

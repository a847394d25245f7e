//! Samples as JSON: one object, its chunks of columns made batch by batch.

use query::Samples;
use sample::{Batch, Stamp, Timestamp};
use serde_json::{Map, Value};

use super::{
    line_buffer::{self, Number, of_numbers},
    value::{Dialect, put, put_json, put_list},
};
use crate::delivery::{
    chunk::{Chunk, Rows},
    pieces::Piece,
};

/// The object that holds the chunks, open at its end; `more` follows the batches.
pub(crate) struct SamplesJson {
    head: Option<Map<String, Value>>,
    samples: Samples,
    /// How many samples may still be sent; none where there is no limit.
    left: Option<u64>,
    truncated: bool,
    damage: Vec<String>,
    first: bool,
    ended: bool,
}

impl SamplesJson {
    /// `head` holds the members before `chunks`.
    pub(crate) fn new(head: Map<String, Value>, samples: Samples, limit: Option<u64>) -> SamplesJson {
        SamplesJson {
            head: Some(head),
            samples,
            left: limit,
            truncated: false,
            damage: Vec::new(),
            first: true,
            ended: false,
        }
    }

    /// The next batch within the limit. Damaged blocks are passed over and noted.
    fn next_batch(&mut self) -> Result<Option<Batch>, query::Error> {
        while !self.truncated {
            match self.samples.next() {
                Some(Ok(batch)) => return Ok(self.within_limit(batch)),
                Some(Err(error)) if error.is_damage() => self.damage.push(error.to_string()),
                Some(Err(error)) => return Err(error),
                None => break,
            }
        }
        Ok(None)
    }

    /// Cuts a batch to what the limit leaves.
    fn within_limit(&mut self, batch: Batch) -> Option<Batch> {
        let Some(left) = &mut self.left else { return Some(batch) };
        let rows = batch.len() as u64;
        if rows <= *left {
            *left -= rows;
            return Some(batch);
        }
        self.truncated = true;
        let kept = std::mem::take(left) as usize;
        (kept > 0).then(|| batch.slice(0..kept))
    }
}

impl Iterator for SamplesJson {
    type Item = Result<Chunk, query::Error>;

    fn next(&mut self) -> Option<Result<Chunk, query::Error>> {
        if self.ended {
            return None;
        }
        if let Some(head) = self.head.take() {
            let mut out = Vec::new();
            put_json(&mut out, &head);
            out.pop();
            out.extend_from_slice(b",\"chunks\":[");
            return Some(Ok(out.into()));
        }
        let batch = self.next_batch();
        self.ended = !matches!(batch, Ok(Some(_)));
        Some(batch.map(|batch| match batch {
            Some(batch) => {
                let between: &[u8] = if std::mem::replace(&mut self.first, false) { b"\n" } else { b",\n" };
                let put = |out: &mut Vec<u8>, piece: &Piece| {
                    out.extend_from_slice(between);
                    put_chunk(out, piece.batch());
                };
                Rows::whole(batch.into(), put).into()
            }
            None => {
                let mut out = format!("],\"truncated\":{},\"damage\":", self.truncated).into_bytes();
                put_json(&mut out, &self.damage);
                out.extend_from_slice(b"}\n");
                out.into()
            }
        }))
    }
}

/// One batch as columns. Times are whole seconds and nanoseconds, exact in every reader.
pub(crate) fn put_chunk(out: &mut Vec<u8>, batch: &Batch) {
    out.extend_from_slice(format!("{{\"type\":\"{}\",", batch.value_type()).as_bytes());
    put_columns(out, batch);
    out.push(b'}');
}

/// The columns without the braces around them, for objects that have more to say.
pub(crate) fn put_columns(out: &mut Vec<u8>, batch: &Batch) {
    out.extend_from_slice(b"\"seconds\":");
    line_buffer::put_list(out, batch.times().iter(), |line, time| line.signed(time.seconds_and_nanos().0));
    out.extend_from_slice(b",\"nanos\":");
    line_buffer::put_list(out, batch.times().iter(), |line, time| line.unsigned(time.seconds_and_nanos().1.into()));
    out.extend_from_slice(b",\"values\":");
    of_numbers!(batch.values(), values => {
        line_buffer::put_list(out, values.iter(), |line, value| value.put(line, Dialect::Exact));
    }, else {
        put_list(out, 0..batch.len(), |out, row| put(out, batch.values(), row, Dialect::Exact));
    });
    out.extend_from_slice(b",\"severity\":");
    line_buffer::put_list(out, batch.alarms().rows(), |line, alarm| line.unsigned(alarm.severity as u64));
    out.extend_from_slice(b",\"status\":");
    line_buffer::put_list(out, batch.alarms().rows(), |line, alarm| line.unsigned(alarm.status.into()));
    if has_messages(batch) {
        out.extend_from_slice(b",\"message\":");
        put_list(out, batch.alarms().rows(), |out, alarm| put_json(out, &alarm.message.as_deref()));
    }
    if has_pulses(batch) {
        out.extend_from_slice(b",\"pulse\":");
        line_buffer::put_list(out, batch.pulses().rows(), |line, pulse| pulse.put(line, Dialect::Exact));
    }
    if !batch.stamps().is_ordinary() {
        put_stamps(out, batch);
    }
}

/// What is to be said of the times: why a stamp is out of the ordinary, and both times of each such sample.
fn put_stamps(out: &mut Vec<u8>, batch: &Batch) {
    let of_row = |row: usize| batch.stamps().get(row).map(|stamp| (stamp, batch.times()[row]));
    out.extend_from_slice(b",\"quality\":");
    put_list(out, 0..batch.len(), |out, row| put_json(out, &of_row(row).map(|(stamp, _)| stamp.quality.name())));
    out.extend_from_slice(b",\"stamped\":");
    let stamped = |(stamp, time): (Stamp, Timestamp)| stamp.stamped(time).to_string();
    put_list(out, 0..batch.len(), |out, row| put_json(out, &of_row(row).map(stamped)));
    out.extend_from_slice(b",\"arrived\":");
    let arrived = |(stamp, time): (Stamp, Timestamp)| stamp.arrived(time).to_string();
    put_list(out, 0..batch.len(), |out, row| put_json(out, &of_row(row).map(arrived)));
}

pub(crate) fn has_messages(batch: &Batch) -> bool {
    batch.alarms().iter().any(|(_, alarm)| alarm.message.is_some())
}

pub(crate) fn has_pulses(batch: &Batch) -> bool {
    batch.pulses().iter().any(|(_, pulse)| *pulse != 0)
}

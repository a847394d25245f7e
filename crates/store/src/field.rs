//! One field of a PV whose values are structures, as samples of the field's own type.

use std::{collections::VecDeque, sync::Arc};

use sample::{Batch, Column};

use crate::{Error, Samples, structure::Layout};

/// The samples of one field, in the order of those of the whole structures. Structures that have no such field, and samples that
/// are no structures, are left out.
#[derive(Debug)]
pub struct FieldSamples {
    whole: Samples,
    path: Arc<str>,
    waiting: VecDeque<Batch>,
}

impl FieldSamples {
    pub(crate) fn new(whole: Samples, path: &str) -> FieldSamples {
        FieldSamples { whole, path: path.into(), waiting: VecDeque::new() }
    }
}

impl Iterator for FieldSamples {
    type Item = Result<Batch, Error>;

    fn next(&mut self) -> Option<Result<Batch, Error>> {
        while self.waiting.is_empty() {
            match self.whole.next()? {
                Ok(batch) => self.waiting = project(&batch, &self.path),
                Err(error) => return Some(Err(error)),
            }
        }
        self.waiting.pop_front().map(Ok)
    }
}

/// One field of a batch of structures: a batch for each run of structures of one type.
fn project(batch: &Batch, path: &str) -> VecDeque<Batch> {
    let mut fields = VecDeque::new();
    let Column::Structure(blobs) = batch.values() else { return fields };
    let mut start = 0;
    while start < batch.len() {
        let Some(layout) = Layout::read(blobs.get(start)) else {
            start += 1;
            continue;
        };
        let end = (start..batch.len()).find(|row| !layout.describes(blobs.get(*row))).unwrap_or(batch.len());
        let values = layout.leaf(path).and_then(|leaf| layout.project(leaf, (start..end).map(|row| blobs.get(row))));
        if let Some(values) = values {
            fields.extend(with_values(batch, start..end, values));
        }
        start = end;
    }
    fields
}

/// Rows of a batch with other values.
fn with_values(batch: &Batch, rows: std::ops::Range<usize>, values: Column) -> Option<Batch> {
    let part = batch.slice(rows);
    let fields = Batch::from_columns(part.times().to_vec(), values, part.alarms().clone(), part.pulses().clone())?;
    fields.with_stamps(part.stamps().clone())
}

/// One field of a single structure; none if it has no such field.
pub(crate) fn of_one(structure: &[u8], path: &str) -> Option<sample::Value> {
    let layout = Layout::read(structure)?;
    Some(layout.project(layout.leaf(path)?, std::iter::once(structure))?.get(0))
}

/// The paths of all fields of a structure, with the types that their samples have.
pub(crate) fn paths(structure: &[u8]) -> Vec<(String, sample::ValueType)> {
    let leaves = Layout::read(structure).map(|layout| layout.leaves).unwrap_or_default();
    leaves.into_iter().map(|leaf| (leaf.value_type(), leaf)).map(|(value_type, leaf)| (leaf.path, value_type)).collect()
}

#[cfg(test)]
mod tests {
    use sample::{Blobs, Sample, Timestamp, Value};

    use super::*;
    use crate::structure::example;

    #[test]
    fn a_field_keeps_times_and_leaves_out_structures_that_lack_it() {
        let mut blobs = Blobs::default();
        let rows = [example(0), example(10), vec![0xff], vec![0x22, 1, 0, 0, 0], example(20)];
        rows.iter().for_each(|row| blobs.push(row));
        let mut batch: Option<Batch> = None;
        for (time, row) in (0..).zip(&rows) {
            let value = Value::Structure(row.as_slice().into());
            let sample = Sample {
                time: Timestamp::from_nanos(time),
                value,
                alarm: sample::Alarm::default(),
                pulse: 7,
                stamp: None,
            };
            assert!(batch.get_or_insert_with(|| Batch::new(sample.value.value_type())).push(&sample));
        }
        let found = project(&batch.unwrap(), "alarm.severity");
        let rows = found.iter().flat_map(|batch| (0..batch.len()).map(|row| batch.get(row)));
        let rows: Vec<_> = rows.map(|row| (row.time.nanos(), row.value, row.pulse)).collect();
        assert_eq!(rows, [(0, Value::I32(0), 7), (1, Value::I32(1), 7), (4, Value::I32(2), 7)]);
        assert_eq!(of_one(&example(30), "alarm.severity"), Some(Value::I32(3)));
        assert_eq!(of_one(&example(30), "alarm"), None);
        assert_eq!(paths(&example(1)).len(), 10);
    }
}

//! Values that are structures: their fields as samples of the fields' own types.

mod example;
mod layout;

use std::{collections::VecDeque, ops::Range};

use sample::{Batch, Column, Sample, Value, ValueType};

#[doc(hidden)]
pub use example::example;
pub use layout::{Layout, Leaf, array_column};

/// One field of a batch of structures: a batch for each run of structures of one type.
pub fn project(batch: &Batch, path: &str) -> VecDeque<Batch> {
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
fn with_values(batch: &Batch, rows: Range<usize>, values: Column) -> Option<Batch> {
    let part = batch.slice(rows);
    let fields = Batch::from_columns(part.times().to_vec(), values, part.alarms().clone(), part.pulses().clone())?;
    fields.with_stamps(part.stamps().clone())
}

/// One field of a single structure; none if it has no such field, or is no structure.
pub fn field_of(sample: &Sample, path: &str) -> Option<Sample> {
    let Value::Structure(bytes) = &sample.value else { return None };
    let layout = Layout::read(bytes)?;
    let values = layout.project(layout.leaf(path)?, std::iter::once(&**bytes))?;
    Some(Sample { value: values.get(0), ..sample.clone() })
}

/// The paths of all fields of a structure, with the types that their samples have.
pub fn paths(structure: &[u8]) -> Vec<(String, ValueType)> {
    let leaves = Layout::read(structure).map(|layout| layout.leaves).unwrap_or_default();
    leaves.into_iter().map(|leaf| (leaf.value_type(), leaf)).map(|(value_type, leaf)| (leaf.path, value_type)).collect()
}

/// One field of the samples of a batch, which is left as it is if no field is wanted.
pub fn of_field(batch: Batch, field: Option<&str>) -> VecDeque<Batch> {
    match field {
        Some(path) => project(&batch, path),
        None => VecDeque::from([batch]),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "they are tests")]
mod tests {
    use sample::{Blobs, Timestamp};

    use super::*;

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
        let batch = batch.unwrap();
        let found = project(&batch, "alarm.severity");
        let rows = found.iter().flat_map(|batch| (0..batch.len()).map(|row| batch.get(row)));
        let rows: Vec<_> = rows.map(|row| (row.time.nanos(), row.value, row.pulse)).collect();
        assert_eq!(rows, [(0, Value::I32(0), 7), (1, Value::I32(1), 7), (4, Value::I32(2), 7)]);
        let value = |sample: Option<Sample>| sample.map(|sample| sample.value);
        let last = batch.get(4);
        assert_eq!(value(field_of(&last, "alarm.severity")), Some(Value::I32(2)));
        assert_eq!(field_of(&last, "alarm"), None);
        assert_eq!(paths(&example(1)).len(), 10);
    }
}

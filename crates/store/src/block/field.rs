//! One field of a PV whose values are structures, as samples of the field's own type.

use std::{collections::VecDeque, sync::Arc};

use sample::{Batch, Column, Sample, Value, ValueType};

use crate::codec::layout::Layout;

/// Which field is wanted, and what was found of it but not given out yet.
#[derive(Debug)]
pub(crate) struct Field {
    path: Arc<str>,
    waiting: VecDeque<Batch>,
}

/// What a block has of a field.
#[derive(Debug)]
pub(crate) enum Found {
    /// Samples of it.
    Field(Batch),
    /// Its structures, which are kept whole.
    Whole(Batch),
    /// Nothing: its structures have no such field.
    Absent,
}

impl Found {
    pub(crate) fn map(self, change: impl FnOnce(Batch) -> Batch) -> Found {
        match self {
            Found::Field(batch) => Found::Field(change(batch)),
            Found::Whole(batch) => Found::Whole(change(batch)),
            Found::Absent => Found::Absent,
        }
    }
}

impl Field {
    pub(crate) fn new(path: &str) -> Field {
        Field { path: path.into(), waiting: VecDeque::new() }
    }

    pub(crate) fn path(&self) -> Arc<str> {
        self.path.clone()
    }

    /// Takes what a block has of it.
    pub(crate) fn add_found(&mut self, found: Found) {
        match found {
            Found::Field(batch) if !batch.is_empty() => self.waiting.push_back(batch),
            Found::Whole(batch) => self.add(&batch),
            Found::Field(_) | Found::Absent => {}
        }
    }

    /// Takes samples apart. Structures that have no such field, and what is no structure, are left out.
    pub(crate) fn add(&mut self, batch: &Batch) {
        self.waiting.append(&mut project(batch, &self.path));
    }

    pub(crate) fn next(&mut self) -> Option<Batch> {
        self.waiting.pop_front()
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

/// One field of a single structure; none if it has no such field, or is no structure.
pub fn field_of(sample: &Sample, path: &str) -> Option<Sample> {
    let Value::Structure(bytes) = &sample.value else { return None };
    let layout = Layout::read(bytes)?;
    let values = layout.project(layout.leaf(path)?, std::iter::once(&**bytes))?;
    Some(Sample { value: values.get(0), ..sample.clone() })
}

/// The paths of all fields of a structure, with the types that their samples have.
pub(crate) fn paths(structure: &[u8]) -> Vec<(String, ValueType)> {
    let leaves = Layout::read(structure).map(|layout| layout.leaves).unwrap_or_default();
    leaves.into_iter().map(|leaf| (leaf.value_type(), leaf)).map(|(value_type, leaf)| (leaf.path, value_type)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "they are tests")]
mod tests {
    use archive::{By, Method, Protocol, PvId, PvName, PvSettings, PvState, Record, Sink};
    use sample::{Blobs, TimeRange, Timestamp};

    use super::*;
    use crate::codec::layout::example;
    use crate::{Config, Store};

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

    /// Structures with times from `from` on, every third of which lacks the field, and some of one time.
    fn append(store: &Store, pv: PvId, from: i64, count: i64, period: i64) {
        for row in 0..count {
            let lacks = row % 3 == 2 && from % 2 == 1;
            let bytes = if lacks { vec![0x22, 1, 0, 0, 0] } else { example(from + row) };
            let sample = Sample {
                time: Timestamp::from_nanos(from + row * period - row % 5 / 4),
                value: Value::Structure(bytes.into()),
                alarm: sample::Alarm::default(),
                pulse: row as u64,
                stamp: None,
            };
            store.writer().append(&[(pv, Record::Samples(Batch::of(&sample)))], Timestamp::from_nanos(0)).unwrap();
        }
    }

    #[test]
    fn a_field_of_blocks_and_heads_is_that_of_the_whole_structures() {
        let folder = tempfile::tempdir().unwrap();
        let now = Timestamp::from_nanos(0);
        let open = || Store::open(Config::new(folder.path()), now).unwrap();
        let settings = PvSettings::plain(Protocol::Pva, Method::Monitor, PvState::Active);
        let mut store = open();
        let pv =
            store.writer().register(&[(PvName::new("S").unwrap(), settings)], &By::new("test", now)).unwrap()[0].id;
        // Blocks apart, blocks kept whole because some lack the field, and two that overlap in time; at last a head.
        for (from, count, period) in [(0, 300, 10), (4001, 200, 10), (8000, 400, 10), (9000, 300, 10), (20_000, 50, 1)]
        {
            append(&store, pv, from, count, period);
            if from < 20_000 {
                store.close(now).unwrap();
                store = open();
            }
        }
        let by = archive::By::new("a tester", now);
        let hidden = TimeRange { t0: Timestamp::from_nanos(700), t1: Timestamp::from_nanos(900) };
        store.writer().delete_range(pv, hidden, &by).unwrap();
        for (t0, t1) in [(-1, 30_000), (5, 1500), (701, 5000), (3999, 8500), (8999, 20_010), (3000, 3500)] {
            let range = TimeRange { t0: Timestamp::from_nanos(t0), t1: Timestamp::from_nanos(t1) };
            let rows = |samples: crate::Samples| -> Vec<Sample> {
                let batches = samples.map(|batch| batch.unwrap());
                batches.flat_map(|batch| (0..batch.len()).map(|row| batch.get(row)).collect::<Vec<_>>()).collect()
            };
            let whole = rows(store.reader().samples(pv, range));
            for path in ["value", "alarm.severity", "timeStamp.nanoseconds", "nothing"] {
                let expected: Vec<Sample> = whole.iter().filter_map(|sample| field_of(sample, path)).collect();
                let found = rows(store.reader().samples(pv, range).of_field(path));
                assert_eq!(found.len(), expected.len(), "{path} from {t0} to {t1}");
                let same = found.iter().zip(&expected).all(|(found, expected)| found.identical(expected));
                assert!(same, "{path} from {t0} to {t1}");
            }
        }
    }
}

//! One field of a PV whose values are structures, as samples of the field's own type.

use std::{collections::VecDeque, sync::Arc};

use archive::structure::project;
use sample::Batch;

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

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "they are tests")]
mod tests {
    use archive::{
        By, Method, Protocol, PvId, PvName, PvSettings, PvState, Record, Sink,
        structure::{example, field_of},
    };
    use sample::{Sample, TimeRange, Timestamp, Value};

    use super::*;
    use crate::{Config, Store};

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

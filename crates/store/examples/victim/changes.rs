//! What a victim changes besides appending: in each life a PV of its own is imported, renamed, deleted in part, imported again,
//! purged and removed, step by step, as far as the lives last. A step that a kill came upon is taken again by the next life.
//!
//! ```text
//!   1 import 400 ► 2 rename X to Y ► 3 delete 100..200 ► 4 import 50 more ► 5 purge ► 6 remove
//! ```

use archive::{By, DataFate, Method, OldName, Protocol, Purge, PvName, PvSettings, PvState, Record};
use sample::{Batch, Sample, TimeRange, Timestamp};
use store::{Error, Store};

use crate::{Failure, workload};

/// After the last step a PV is gone.
pub(crate) const STEPS: u64 = 6;

const FIRST: std::ops::Range<u64> = 0..400;
const MORE: std::ops::Range<u64> = 1000..1050;
const DELETED: std::ops::Range<u64> = 100..200;

/// How far the PV of a cycle has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stage {
    pub(crate) cycle: u64,
    /// The last step that was told as done.
    pub(crate) done: u64,
    /// A step that had begun; 0 for none.
    pub(crate) doing: u64,
}

impl Stage {
    pub(crate) fn new(cycle: u64) -> Stage {
        Stage { cycle, done: 0, doing: 0 }
    }

    /// From `cycle:done:doing`.
    pub(crate) fn parse(text: &str) -> Result<Stage, Failure> {
        let numbers: Result<Vec<u64>, _> = text.split(':').map(str::parse).collect();
        match numbers?.as_slice() {
            &[cycle, done, doing] => Ok(Stage { cycle, done, doing }),
            _ => Err(format!("what does stage={text} mean?").into()),
        }
    }

    fn names(&self) -> [String; 2] {
        [format!("X:{}", self.cycle), format!("Y:{}", self.cycle)]
    }

    /// Whether a step holds, if that was told.
    fn holds(&self, step: u64) -> Option<bool> {
        match () {
            () if self.done >= step => Some(true),
            () if self.doing == step => None,
            () => Some(false),
        }
    }

    /// Takes a step; one that holds already is as good as done.
    pub(crate) fn take(&self, store: &Store, step: u64) -> Result<(), Failure> {
        let (writer, by) = (store.writer(), By::new("the victim", workload::clock(self.cycle)));
        let [x, y] = self.names();
        let entry = store.reader().find(&y).or_else(|| store.reader().find(&x));
        match (step, entry) {
            (1, None) => {
                let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Active);
                writer.register(&[(PvName::new(&x)?, settings)], &by)?;
                self.import(store, "1", FIRST)
            }
            (1, Some(_)) => self.import(store, "1", FIRST),
            (2, Some(entry)) if entry.name.as_str() == x => {
                writer.rename(entry.id, &PvName::new(&y)?, OldName::Free, &by)?;
                Ok(())
            }
            (3, Some(entry)) => match writer.delete_range(entry.id, range(&DELETED), &by) {
                Ok(_) | Err(Error::NothingThere { .. }) => Ok(()),
                Err(error) => Err(error.into()),
            },
            (4, Some(_)) => self.import(store, "2", MORE),
            (5, _) => {
                writer.purge(Purge { pv: None, before: Timestamp::MAX }, &by)?;
                Ok(())
            }
            (STEPS, Some(entry)) => Ok(writer.remove(&[entry.id], DataFate::Delete, &by)?),
            _ => Ok(()),
        }
    }

    fn import(&self, store: &Store, part: &str, numbers: std::ops::Range<u64>) -> Result<(), Failure> {
        let [x, y] = self.names();
        let entry = store.reader().find(&x).or_else(|| store.reader().find(&y));
        let entry = entry.ok_or_else(|| format!("there is neither {x} nor {y} to import into"))?;
        let mut import = store.writer().import(&x, &By::new("the victim", workload::clock(self.cycle)));
        if import.part(part)?.is_none() {
            import.append(
                &samples(numbers).map(|sample| (entry.id, Record::Samples(Batch::of(&sample)))).collect::<Vec<_>>(),
            )?;
            import.finish_part(part)?;
        }
        Ok(())
    }

    /// Compares what is there with what was told.
    pub(crate) fn is_right(&self, store: &Store) -> Result<(), Failure> {
        let reader = store.reader();
        let [x, y] = self.names();
        let found = [reader.find(&x), reader.find(&y)];
        let wrong = |what: &str| Err(format!("{x} or {y}, {self:?}: {what}").into());
        let entry = match (&found[0], &found[1]) {
            (Some(_), Some(_)) => return wrong("both names are there"),
            (None, None) if self.done == 0 || self.holds(STEPS) != Some(false) => return Ok(()),
            (None, None) => return wrong("it is gone"),
            (Some(_), None) if self.holds(2) == Some(true) => return wrong("it has its old name"),
            (None, Some(_)) if self.holds(2) == Some(false) => return wrong("it has its new name"),
            (Some(entry), None) | (None, Some(entry)) => entry,
        };
        if self.holds(STEPS) == Some(true) {
            return wrong("it was removed and is there");
        }
        let mut got = Vec::new();
        for batch in reader.samples(entry.id, TimeRange::ALL) {
            let batch = batch?;
            got.extend((0..batch.len()).map(|row| batch.get(row)));
        }
        let held = reader.extent(entry.id).map_or(0, |(.., held)| held);
        let among =
            |numbers: std::ops::Range<u64>| got.iter().filter(|sample| range(&numbers).contains(sample.time)).count();
        let rest = samples(FIRST).filter(|sample| !range(&DELETED).contains(sample.time)).count();
        let counts = [among(FIRST) - among(DELETED), among(DELETED), among(MORE)];
        let wanted = [
            [Some(rest), None, Some(0)][choice(self.holds(1))],
            match (self.holds(1), self.holds(3)) {
                (Some(true), Some(false)) => Some(100),
                (_, Some(true)) => Some(0),
                _ => None,
            },
            [Some(MORE.count()), None, Some(0)][choice(self.holds(4))],
        ];
        let whole = [rest, 100, MORE.count()];
        let fits = |index: usize| match wanted[index] {
            Some(wanted) => counts[index] == wanted,
            None => counts[index] == 0 || counts[index] == whole[index],
        };
        let is_known = |sample: &Sample| samples(FIRST).chain(samples(MORE)).any(|own| own.identical(sample));
        if held != got.len() as u64 || !(0..3).all(fits) || !got.iter().all(is_known) {
            return wrong(&format!("{counts:?} of its samples are there, {held} are held"));
        }
        Ok(())
    }
}

fn choice(holds: Option<bool>) -> usize {
    match holds {
        Some(true) => 0,
        None => 1,
        Some(false) => 2,
    }
}

fn samples(numbers: std::ops::Range<u64>) -> impl Iterator<Item = Sample> {
    numbers.map(|n| Sample { time: workload::turn(n), ..workload::sample(0, n) })
}

fn range(numbers: &std::ops::Range<u64>) -> TimeRange {
    TimeRange { t0: workload::turn(numbers.start), t1: workload::turn(numbers.end) }
}

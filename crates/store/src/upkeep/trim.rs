//! Trimming: structures without those of their fields whose time is over.
//!
//! A trimmed structure is a structure of another type, which does not have these fields. It is pvData like any other, and the time,
//! the alarm and the pulse of its sample stay as they were.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{cell::RefCell, collections::BTreeMap, sync::Arc};

use archive::PvId;
use pvdata::Fewer;
use sample::{Batch, Timestamp, Value};

use crate::upkeep::field_rules::{FieldRules, PvOver};

/// The PVs of a segment whose samples are trimmed.
#[derive(Debug, Default)]
pub(crate) struct Trimmings(RefCell<BTreeMap<PvId, Trimming>>);

impl Trimmings {
    pub(crate) fn insert(&mut self, pv: PvId, trimming: Trimming) {
        self.0.get_mut().insert(pv, trimming);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    pub(crate) fn contains(&self, pv: PvId) -> bool {
        self.0.borrow().contains_key(&pv)
    }

    /// What is left of samples of a PV; none if nothing is.
    pub(crate) fn trimmed(&self, pv: PvId, batch: Batch) -> Option<Batch> {
        match self.0.borrow_mut().get_mut(&pv) {
            Some(trimming) => trimming.trimmed(&batch),
            None => Some(batch),
        }
    }

    pub(crate) fn into_inner(self) -> BTreeMap<PvId, Trimming> {
        self.0.into_inner()
    }
}

/// What was taken of one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// The times of the first and the last sample that had it.
    pub(crate) t0: Timestamp,
    pub(crate) t1: Timestamp,
    /// How many samples had it.
    pub(crate) samples: u64,
}

/// The samples of one PV on their way into a segment without the fields whose time is over.
#[derive(Debug)]
pub(crate) struct Trimming {
    rules: FieldRules,
    /// The type that was met last.
    known: Option<Fewer>,
    /// By the path of the field.
    pub(crate) taken: BTreeMap<String, Taken>,
    /// Samples of which nothing is left.
    pub(crate) gone: u64,
}

/// What becomes of a sample.
enum Fate {
    Stays,
    Goes,
    Becomes(Vec<u8>),
}

impl Trimming {
    pub(crate) fn new(rules: FieldRules) -> Trimming {
        Trimming { rules, known: None, taken: BTreeMap::new(), gone: 0 }
    }

    /// Whether a rule for fields makes any of these samples something else than the rule for the PV does.
    pub(crate) fn matters(&mut self, batch: &Batch) -> bool {
        let is_over = self.rules.pv() == PvOver::Yes;
        (0..batch.len()).any(|row| match self.fate(&batch.get(row).value) {
            Fate::Becomes(_) => true,
            Fate::Goes => !is_over,
            Fate::Stays => is_over,
        })
    }

    /// What is left of samples; none if nothing is.
    pub(crate) fn trimmed(&mut self, batch: &Batch) -> Option<Batch> {
        let mut left = Batch::new(batch.value_type());
        for row in 0..batch.len() {
            let mut sample = batch.get(row);
            match self.fate(&sample.value) {
                Fate::Stays => {}
                Fate::Goes => {
                    self.gone += 1;
                    continue;
                }
                Fate::Becomes(bytes) => {
                    sample.value = Value::Structure(Arc::from(bytes));
                    self.count(sample.time);
                }
            }
            let fits = left.push(&sample);
            assert!(fits, "a trimmed structure is one");
        }
        (!left.is_empty()).then_some(left)
    }

    fn count(&mut self, time: Timestamp) {
        for path in self.known.iter().flat_map(Fewer::left_out) {
            let taken = self.taken.entry(path.clone()).or_insert(Taken { t0: time, t1: time, samples: 0 });
            (taken.t0, taken.t1, taken.samples) = (taken.t0.min(time), taken.t1.max(time), taken.samples + 1);
        }
    }

    /// What cannot be read as a structure has no fields that a rule could mean: the rule for the PV decides.
    fn fate(&mut self, value: &Value) -> Fate {
        let is_over = self.rules.pv() == PvOver::Yes;
        let of_pv = if is_over { Fate::Goes } else { Fate::Stays };
        let Value::Structure(bytes) = value else { return of_pv };
        if !self.known.as_ref().is_some_and(|fewer| fewer.describes(bytes)) {
            self.known = Fewer::of(bytes, |path| !self.rules.is_over(path));
        }
        let Some(fewer) = self.known.as_ref().filter(|fewer| fewer.leaves() > 0) else { return of_pv };
        match fewer.left_out().len() {
            0 => Fate::Stays,
            all if is_over && all == fewer.leaves() => Fate::Goes,
            _ => fewer.apply(bytes).map_or(of_pv, Fate::Becomes),
        }
    }
}

#[cfg(test)]
mod tests {
    use archive::structure::{example, field_of, paths};
    use sample::{Alarm, Sample, Severity};

    use super::*;
    use crate::config::Rule;

    fn rules(patterns: &[&str]) -> Vec<Rule> {
        patterns.iter().map(|pattern| Rule { pvs: (*pattern).to_owned(), keep: None }).collect()
    }

    fn trimming(rules: &[Rule], over: &[bool], pv: PvOver) -> Trimming {
        Trimming::new(FieldRules::of(rules, over, "A", pv).expect("one of them names a field"))
    }

    fn samples() -> Batch {
        let alarm = Alarm { severity: Severity::Major, status: 3, message: Some("hot".into()) };
        let sample = |row: i64| Sample {
            time: Timestamp::from_nanos(row),
            value: Value::Structure(example(row).into()),
            alarm: alarm.clone(),
            pulse: row as u64,
            stamp: None,
        };
        let mut batch = Batch::of(&sample(0));
        (1..9).for_each(|row| assert!(batch.push(&sample(row))));
        batch
    }

    #[test]
    fn the_fields_that_stay_keep_values_times_and_alarms() {
        let (rules, over) = (rules(&["A.x", "A.alarm", "A.*i*"]), [true, true, false]);
        let (whole, mut trimming) = (samples(), trimming(&rules, &over, PvOver::No));
        assert!(trimming.matters(&whole));
        let left = trimming.trimmed(&whole).expect("there is something");
        let names: Vec<String> = paths(&trimmed_bytes(&left, 0)).into_iter().map(|(path, _)| path).collect();
        assert_eq!(names, ["count", "on", "names", "three", "either", "any", "rows"]);
        for row in 0..whole.len() {
            let (before, after) = (whole.get(row), left.get(row));
            assert_eq!((before.time, &before.alarm, before.pulse), (after.time, &after.alarm, after.pulse));
            for path in &names {
                let (before, after) = (field_of(&before, path), field_of(&after, path));
                assert!(before.zip(after).is_some_and(|(before, after)| before.identical(&after)), "{path} of {row}");
            }
        }
        let taken = Taken { t0: Timestamp::from_nanos(0), t1: Timestamp::from_nanos(8), samples: 9 };
        let expected = ["alarm.message", "alarm.severity", "x"].map(|path| (path.to_owned(), taken));
        assert_eq!((&trimming.taken, trimming.gone), (&BTreeMap::from(expected), 0));
        assert!(!trimming.matters(&left), "it is done once");
    }

    fn trimmed_bytes(batch: &Batch, row: usize) -> Vec<u8> {
        let Value::Structure(bytes) = batch.get(row).value else { panic!("it is no structure") };
        bytes.to_vec()
    }

    #[test]
    fn a_pv_whose_time_is_over_leaves_the_fields_that_are_kept() {
        let (rules, over) = (rules(&["A.count", "A"]), [false, true]);
        let mut trimming = trimming(&rules, &over, PvOver::Yes);
        let left = trimming.trimmed(&samples()).expect("the field is kept");
        assert_eq!(paths(&trimmed_bytes(&left, 3)).len(), 1);
        assert_eq!((left.len(), trimming.taken.len(), trimming.gone), (9, 9, 0));
        let other = Sample { value: Value::Structure([0xff].as_slice().into()), ..samples().get(0) };
        assert_eq!(trimming.trimmed(&Batch::of(&other)), None, "what has no fields follows the PV");
        assert_eq!(trimming.gone, 1);
    }

    #[test]
    fn a_structure_without_any_field_left_keeps_its_time_if_the_pv_is_kept() {
        let (rules, over) = (rules(&["A.*a*", "A.*o*", "A.*th*", "A.x"]), [true; 4]);
        let left = trimming(&rules, &over, PvOver::No).trimmed(&samples()).expect("times and alarms stay");
        assert_eq!((left.len(), paths(&trimmed_bytes(&left, 0)).len()), (9, 0));
        assert!(!trimming(&rules, &over, PvOver::No).matters(&left));
    }

    #[test]
    fn a_value_that_ends_too_early_stays_with_the_pv() {
        let (rules, over) = (rules(&["A.x"]), [true]);
        for end in 0..example(3).len() {
            let cut = Value::Structure(example(3).get(..end).unwrap_or_default().into());
            let batch = Batch::of(&Sample { value: cut, ..samples().get(0) });
            assert_eq!(trimming(&rules, &over, PvOver::No).trimmed(&batch), Some(batch), "cut at {end}");
        }
    }
}

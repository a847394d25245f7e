//! What changed between two times, out of many PVs: those first that changed most beside what they usually do.
//!
//! What a PV usually does is the standard deviation of its samples before the first time. A change counts in such deviations; that of a PV
//! that never moved before, or has no numbers, comes before all others.

use std::{cmp::Ordering, time::Duration};

use query::{Change, Series, in_shares};
use sample::{Sample, Timestamp};

use crate::{
    ask::Ask,
    meant::Meant,
    refusal::{Code, Refusal},
};

/// What a row takes until it is sent: two samples that are small, and a name.
const ROW_BYTES: usize = 512;
/// So many PVs are worth a thread of their own.
const PVS_A_THREAD: usize = 256;

/// A PV that is compared.
#[derive(Clone, Debug)]
pub struct ComparedPv {
    /// By which name it was asked for.
    pub name: String,
    /// What that stands for.
    pub meant: Meant,
}

/// What became of a PV between two times.
#[derive(Clone, Debug)]
pub struct DiffRow {
    /// By which name it was asked for.
    pub name: String,
    /// What held at the first time; none if nothing did.
    pub before: Option<Sample>,
    /// And at the second.
    pub after: Option<Sample>,
    /// By how much its number changed.
    pub change: Option<f64>,
    /// The standard deviation of its numbers before.
    pub spread: Option<f64>,
    /// How many of these the change is; infinite if it never moved before.
    pub score: Option<f64>,
}

/// What there is to say of some PVs.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// In order.
    pub rows: Vec<DiffRow>,
    /// The names that nobody has.
    pub unknown: Vec<String>,
    /// Those for which nobody answers at present, with the reasons.
    pub untold: Vec<(String, String)>,
}

/// What is compared, and how.
#[derive(Clone, Copy, Debug)]
pub struct DiffWanted {
    /// The first time.
    pub before: Timestamp,
    /// The second one.
    pub after: Timestamp,
    /// For how long before the first time it is looked what PVs usually do.
    pub usual: Duration,
    /// Whether those are wanted, too, that did not change.
    pub with_unchanged: bool,
}

impl Ask {
    /// What became of these PVs.
    pub fn diff(&self, pvs: Vec<ComparedPv>, wanted: DiffWanted) -> Result<Compared, Refusal> {
        if wanted.before > wanted.after {
            let message = format!("the second time ({}) lies before the first ({})", wanted.after, wanted.before);
            return Err(Refusal::new(Code::BadRange, message));
        }
        self.lease.grow_by(pvs.len(), ROW_BYTES)?;
        let mut all = Compared::default();
        for share in in_shares(&pvs, PVS_A_THREAD, |share| self.compare_all(share, wanted)) {
            let Compared { rows, unknown, untold } = share?;
            all.rows.extend(rows);
            all.unknown.extend(unknown);
            all.untold.extend(untold);
        }
        all.rows.sort_by(more_changed);
        Ok(all)
    }

    /// Like `diff`, but leaves the rows in the order of the PVs.
    fn compare_all(&self, pvs: &[ComparedPv], wanted: DiffWanted) -> Result<Compared, Refusal> {
        let mut all = Compared::default();
        for (index, ComparedPv { name, meant }) in pvs.iter().enumerate() {
            if index % 64 == 0 {
                self.go_on()?;
            }
            match meant {
                Meant::Series(entry, series) => match self.told(entry, || self.compare(name, series, wanted))? {
                    Ok(row) => all.rows.extend(row),
                    Err(why) => all.untold.push((name.clone(), why)),
                },
                Meant::Untold(why) => all.untold.push((name.clone(), why.clone())),
                Meant::Nothing => all.unknown.push(name.clone()),
            }
        }
        Ok(all)
    }

    /// None if it did not change and is not wanted then.
    fn compare(&self, name: &str, series: &Series, wanted: DiffWanted) -> Result<Option<DiffRow>, Refusal> {
        let found = self.change(series, (wanted.before, wanted.after), wanted.usual)?;
        let (before, after) = (&found.before, &found.after);
        let is_same = match (before, after) {
            (Some(before), Some(after)) => {
                before.value.identical(&after.value) && before.alarm.severity == after.alarm.severity
            }
            (before, after) => before.is_none() && after.is_none(),
        };
        if is_same && !wanted.with_unchanged {
            return Ok(None);
        }
        let bytes = |sample: &Option<Sample>| sample.as_ref().map_or(0, |sample| sample.value.byte_size());
        self.lease.grow(bytes(before) + bytes(after))?;
        let number = |sample: &Option<Sample>| sample.as_ref()?.value.as_f64().filter(|number| number.is_finite());
        let change = number(before).zip(number(after)).map(|(before, after)| after - before);
        let spread = match change {
            Some(change) if change != 0.0 => found.spread()?,
            _ => None,
        };
        let score = match (change, spread) {
            (Some(0.0), _) => Some(0.0),
            (Some(change), Some(spread)) if spread > 0.0 => Some(change.abs() / spread),
            _ if is_same => Some(0.0),
            _ => Some(f64::INFINITY),
        };
        let Change { before, after, .. } = found;
        Ok(Some(DiffRow { name: name.to_owned(), before, after, change, spread, score }))
    }
}

/// The largest scores first; of equal ones the largest changes beside the number itself, then the names.
fn more_changed(a: &DiffRow, b: &DiffRow) -> Ordering {
    let score = |row: &DiffRow| row.score.unwrap_or(0.0);
    let relative = |row: &DiffRow| {
        let number = row.before.as_ref().and_then(|sample| sample.value.as_f64()).unwrap_or(0.0);
        row.change.map_or(0.0, |change| change.abs() / number.abs().max(f64::MIN_POSITIVE))
    };
    score(b).total_cmp(&score(a)).then_with(|| relative(b).total_cmp(&relative(a))).then_with(|| a.name.cmp(&b.name))
}

//! Turnovers: where one epoch follows another. An owner that was replaced records until it hears of it, so that for some seconds two do. What
//! the one before heard arrives later, and only then it is known how long it lived; a gap in that time is one only where both have it.
//!
//! ```text
//!   the one before  ───────────● alive, as known then ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ● lived, known when it has handed over
//!   the next                          ● began ··········● first value ─────────────────────────
//!                                       NeverConnected  ┘ no gap, if the one before had the PV until then
//! ```

use std::collections::BTreeMap;

use redb::ReadableTable;
use sample::{Gap, GapCause, Timestamp};

use super::{
    changes::Transaction,
    database::Catalog,
    tables::{ARCHIVER_GAPS, META},
};
use crate::{Error, facts};

/// With that begin the names of their rows in `meta`.
const ROWS: &str = "turnover-";
const ALIVE: &str = "alive";
const BEGAN: &str = "began";
const LIVED: &str = "lived";

/// Where an epoch begins behind another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turnover {
    /// The epoch that began.
    pub(crate) epoch: u64,
    /// The last sign of life of the owner before that was known then: its open gaps were ended there.
    pub(crate) alive: Timestamp,
    /// When it began: its own gaps begin there.
    pub(crate) began: Timestamp,
    /// The last sign of life of the owner before, for all that is known now.
    pub(crate) lived: Timestamp,
}

fn row(epoch: u64, what: &str) -> String {
    format!("{ROWS}{epoch:016x}-{what}")
}

fn of_row(name: &str) -> Option<(u64, &str)> {
    let (epoch, what) = name.strip_prefix(ROWS)?.split_once('-')?;
    Some((u64::from_str_radix(epoch, 16).ok()?, what))
}

fn read(meta: &impl ReadableTable<&'static str, u64>) -> Result<Vec<Turnover>, redb::Error> {
    let mut times: BTreeMap<u64, BTreeMap<String, Timestamp>> = BTreeMap::new();
    for entry in meta.range(ROWS..)? {
        let (name, time) = entry?;
        let Some((epoch, what)) = of_row(name.value()) else { break };
        times.entry(epoch).or_default().insert(what.to_owned(), Timestamp::from_nanos(time.value() as i64));
    }
    let one = |(epoch, times): (u64, BTreeMap<String, Timestamp>)| {
        let (alive, began) = (*times.get(ALIVE)?, *times.get(BEGAN)?);
        Some(Turnover { epoch, alive, began, lived: times.get(LIVED).copied().unwrap_or(alive) })
    };
    Ok(times.into_iter().filter_map(one).collect())
}

impl Catalog {
    /// All of them, in their order.
    pub(crate) fn turnovers(&self) -> Result<Vec<Turnover>, Error> {
        self.read(|tables| read(&tables.0.open_table(META)?))
    }
}

/// An epoch has begun, and so long the one before was alive for all that is known.
pub(super) fn put(
    transaction: &Transaction<'_>,
    epoch: u64,
    (alive, began): (Option<Timestamp>, Timestamp),
) -> Result<(), redb::Error> {
    let Some(alive) = alive else { return Ok(()) };
    let mut meta = transaction.open_table(META)?;
    for (what, time) in [(ALIVE, alive), (BEGAN, began)] {
        meta.insert(row(epoch, what).as_str(), time.nanos() as u64)?;
    }
    Ok(())
}

/// The owner of an epoch was alive until then: the gap in which nobody was thought to be begins later, or there is none.
pub(super) fn lived(transaction: &Transaction<'_>, epoch: u64, last: Timestamp) -> Result<(), redb::Error> {
    let mut meta = transaction.open_table(META)?;
    let stopped = facts::cause_number(GapCause::ArchiverStopped);
    let mut gaps = transaction.open_table(ARCHIVER_GAPS)?;
    for turnover in read(&*meta)?.into_iter().filter(|of| of.epoch > epoch && of.lived < last) {
        meta.insert(row(turnover.epoch, LIVED).as_str(), last.nanos() as u64)?;
        let mut before = None;
        for entry in gaps.range((turnover.alive.nanos(), 0)..=(last.nanos(), u8::MAX))? {
            let (key, value) = entry?;
            if key.value().1 == stopped && value.value().0 == turnover.began.nanos() {
                before = Some((key.value(), value.value()));
            }
        }
        if let Some((key, (to, lost))) = before {
            gaps.remove(key)?;
            if last.nanos() < to {
                gaps.insert((last.nanos(), stopped), (to, lost))?;
            }
        }
    }
    Ok(())
}

impl Turnover {
    /// Until when the next owner had nothing of a PV since it began, given the gaps that it told; none while it still has nothing.
    pub(crate) fn first_value(&self, gaps: &BTreeMap<(Timestamp, GapCause), Gap>) -> Option<Timestamp> {
        gaps.get(&(self.began, GapCause::NeverConnected)).map_or(Some(self.began), |gap| gap.to)
    }

    /// Each owner has told its own gaps of a PV; this makes of them the gaps that readers are told. The gap with which the next owner begins
    /// counts only from where the one before no longer had the PV; a gap that was open when an owner ended goes on until the next begins.
    pub(crate) fn settle(&self, gaps: &mut BTreeMap<(Timestamp, GapCause), Gap>) {
        let start = (self.began, GapCause::NeverConnected);
        let first = self.first_value(gaps).unwrap_or(Timestamp::MAX);
        let mut is_whole = true;
        for (_, gap) in gaps.iter_mut().filter(|(key, gap)| **key != start && gap.from < first) {
            if gap.to == Some(self.alive) {
                gap.to = Some(self.lived.min(self.began).max(self.alive));
                is_whole = false;
            }
            is_whole &= gap.to.is_some_and(|to| to <= self.alive) || gap.from >= self.lived;
        }
        if !is_whole || self.lived <= self.began {
            return;
        }
        if let Some(gap) = gaps.remove(&start)
            && gap.to.is_none_or(|to| to > self.lived)
        {
            gaps.insert((self.lived, gap.cause), Gap { from: self.lived, ..gap });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_seconds(second, 0)
    }

    /// The one before was known to be alive at 10, the next began at 20, and the one before lived until then.
    fn told(lived: i64, gaps: &[(i64, Option<i64>, GapCause)]) -> Vec<(i64, Option<i64>, GapCause)> {
        let turnover = Turnover { epoch: 2, alive: at(10), began: at(20), lived: at(lived) };
        let gap = |(from, to, cause): &(i64, Option<i64>, GapCause)| {
            ((at(*from), *cause), Gap { from: at(*from), to: to.map(at), cause: *cause, lost: 0 })
        };
        let mut gaps: BTreeMap<_, _> = gaps.iter().map(gap).collect();
        turnover.settle(&mut gaps);
        let second = |time: Timestamp| time.seconds_and_nanos().0;
        gaps.into_values().map(|gap| (second(gap.from), gap.to.map(second), gap.cause)).collect()
    }

    #[test]
    fn the_gap_with_which_an_owner_begins_is_one_only_where_the_one_before_had_nothing_either() {
        use GapCause::{Disconnected, NeverConnected, Paused};
        let begins = |to| (20, to, NeverConnected);
        assert_eq!(told(25, &[begins(Some(22))]), [], "it was heard by the one before");
        assert_eq!(told(25, &[begins(Some(27))]), [(25, Some(27), NeverConnected)], "until that one ended");
        assert_eq!(told(25, &[begins(None)]), [(25, None, NeverConnected)]);
        for lived in [10, 15] {
            assert_eq!(told(lived, &[begins(Some(22))]), [begins(Some(22))], "the one before had ended");
        }
        // The one before had lost the PV: nothing is left out, and what was open goes on until the next begins.
        let lost = |to| (5, Some(to), Disconnected);
        assert_eq!(told(25, &[lost(10), begins(Some(22))]), [lost(20), begins(Some(22))]);
        assert_eq!(told(15, &[lost(10), begins(Some(22))]), [lost(15), begins(Some(22))]);
        assert_eq!(told(25, &[lost(21), begins(Some(22))]), [lost(21), begins(Some(22))]);
        assert_eq!(told(25, &[lost(9), begins(Some(22))]), [lost(9)], "that was over");
        assert_eq!(told(25, &[(5, Some(10), Paused), (20, None, Paused)]), [(5, Some(20), Paused), (20, None, Paused)]);
        // What the next one lost later says nothing of the one before.
        let later = (23, Some(24), Disconnected);
        assert_eq!(told(25, &[begins(Some(22)), later]), [later]);
    }
}

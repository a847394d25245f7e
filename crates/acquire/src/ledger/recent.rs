//! What the ledger of the last hours has lost or suspects, of all PVs together: for whoever looks at the archiver as a whole.

use std::collections::VecDeque;

use archive::ledger::{RECENT, Trouble};
use sample::Timestamp;

/// Stretches that are held apart at most; the oldest are told as one where there are more.
const STRETCHES_MAX: usize = 1000;

/// What rows say that end at one moment, the oldest first. A PV is in one of them at most, but two stretches of one minute may both have it:
/// rows are also written when losses are over, and at the end.
#[derive(Debug, Default)]
pub(crate) struct Recent(VecDeque<Trouble>);

impl Recent {
    /// Keeps what rows say that end at `until`.
    pub(crate) fn add(&mut self, until: Timestamp, trouble: Trouble) {
        if !trouble.is_any() {
            return;
        }
        let trouble = Trouble { last: until, ..trouble };
        let at = self.0.partition_point(|other| other.last < until);
        match self.0.get_mut(at) {
            Some(known) if known.last == until => known.sum(&trouble),
            _ => self.0.insert(at, trouble),
        }
        if self.0.len() > STRETCHES_MAX
            && let Some(oldest) = self.0.pop_front()
            && let Some(next) = self.0.front_mut()
        {
            next.then(&oldest);
        }
    }

    /// What happened in the hours before `now`.
    pub(crate) fn told(&self, now: Timestamp) -> Trouble {
        let since = now.saturating_sub(RECENT);
        let mut sum = Trouble::default();
        self.0.iter().filter(|one| one.last > since).for_each(|one| sum.then(one));
        sum
    }
}

#[cfg(test)]
mod tests {
    use archive::ledger::Account;

    use super::*;

    const MINUTE: i64 = 60_000_000_000;

    fn trouble(queue_full: u64, suspected_ms: u64) -> Trouble {
        let mut trouble = Trouble::default();
        trouble.add(&Account { queue_full, suspected_ms, ..Account::default() });
        trouble
    }

    #[test]
    fn what_was_lost_in_the_last_hours_is_summed_and_what_lies_before_is_not() {
        let mut recent = Recent::default();
        let at = |minute: i64| Timestamp::from_nanos(minute * MINUTE);
        recent.add(at(1), trouble(1000, 0));
        recent.add(at(500), trouble(0, 0));
        recent.add(at(500), trouble(7, 0));
        recent.add(at(500), trouble(5, 300));
        recent.add(at(502), trouble(0, 13_600));
        let told = recent.told(at(510));
        assert_eq!((told.of.queue_full, told.of.suspected_ms), (12, 13_600));
        assert_eq!((told.lossy_pvs, told.suspected_pvs, told.last), (2, 1, at(502)));
        assert!(!recent.told(at(1000)).is_any());
        recent.add(at(300), trouble(1, 0)); // a minute of before the restart, read later
        assert_eq!(recent.told(at(510)).of.queue_full, 13);
    }

    #[test]
    fn updates_that_were_stored_or_not_to_be_sampled_are_no_trouble() {
        let mut trouble = Trouble::default();
        trouble.add(&Account { received: 5, stored: 2, skipped: 3, never_set: 1, ..Account::default() });
        assert!(!trouble.is_any());
        trouble.add(&Account { received: 5, stored: 4, rate_capped: 1, ..Account::default() });
        trouble.add(&Account { overruns: 1, ..Account::default() });
        assert_eq!((trouble.lossy_pvs, trouble.of.rate_capped, trouble.of.overruns), (2, 1, 1));
    }

    #[test]
    fn a_pv_in_two_rows_of_one_minute_is_one_pv() {
        let mut recent = Recent::default();
        let at = |second: i64| Timestamp::from_nanos(second * 1_000_000_000);
        // Two shares of a whole minute, and the same PVs again in a row that was written at the end, ten seconds later.
        for until in [at(600), at(600), at(610)] {
            recent.add(until, trouble(3, 200));
        }
        let told = recent.told(at(700));
        assert_eq!((told.lossy_pvs, told.suspected_pvs, told.of.queue_full), (2, 2, 9));
    }

    #[test]
    fn the_stretches_that_are_kept_have_a_bound_and_none_is_forgotten() {
        let mut recent = Recent::default();
        (0..10_000).for_each(|second| recent.add(Timestamp::from_nanos(second), trouble(1, 0)));
        assert_eq!((recent.0.len(), recent.told(Timestamp::from_nanos(10_000)).of.queue_full), (STRETCHES_MAX, 10_000));
    }
}

//! An account: what became of the updates of one PV in some stretch of time, or of all PVs.

use std::ops::AddAssign;

/// What became of updates, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Updates that arrived.
    pub received: u64,
    /// Samples that are in the store.
    pub stored: u64,
    /// Updates that were not to be sampled: a newer one came within the scan period, they lay within the dead band, or all groups of
    /// the PV were disabled.
    pub skipped: u64,
    /// How many more updates wait for the end of their scan period at the end than at the beginning.
    pub waiting: i64,
    /// Samples lost because the queue was full.
    pub queue_full: u64,
    /// Samples lost because the queue was full while the store refused to write, or because they were too large.
    pub store_refused: u64,
    /// Samples left out because they came faster than the limit of the PV allows.
    pub rate_capped: u64,
    /// Updates before which the server said that it had thrown others away: at least so many never arrived.
    pub overruns: u64,
    /// Samples whose stamp was never set.
    pub never_set: u64,
    /// Samples whose stamp lay ahead of the clock.
    pub ahead: u64,
    /// Samples whose stamp lay before that of the sample before.
    pub backward: u64,
    /// Milliseconds in which updates may have been lost on their way, by the looks of the connection. Nothing proves it.
    pub suspected_ms: u64,
}

/// How many counts an account has besides `received`.
pub(crate) const PARTS: usize = 11;

impl Account {
    /// Samples that were received and not kept though they should have been.
    pub fn lost(&self) -> u64 {
        self.queue_full.saturating_add(self.store_refused).saturating_add(self.rate_capped)
    }

    /// Whether every update that was received is accounted for.
    pub fn adds_up(&self) -> bool {
        let known = [self.stored, self.skipped, self.queue_full, self.store_refused, self.rate_capped];
        let known: i128 = known.into_iter().map(i128::from).sum();
        i128::from(self.received) == known + i128::from(self.waiting)
    }

    /// Whether nothing happened.
    pub fn is_empty(&self) -> bool {
        *self == Account::default()
    }

    /// What is usual: every update became a sample, and there is nothing else to tell.
    pub fn usual(received: u64) -> Account {
        Account { received, stored: received, ..Account::default() }
    }

    /// Everything but `received`, in the order in which rows have it; `waiting` as the bits of a signed number.
    pub(crate) fn parts(&self) -> [u64; PARTS] {
        [
            self.stored,
            self.skipped,
            self.waiting.cast_unsigned(),
            self.queue_full,
            self.store_refused,
            self.rate_capped,
            self.overruns,
            self.never_set,
            self.ahead,
            self.backward,
            self.suspected_ms,
        ]
    }

    pub(crate) fn of_parts(received: u64, parts: [u64; PARTS]) -> Account {
        let [
            stored,
            skipped,
            waiting,
            queue_full,
            store_refused,
            rate_capped,
            overruns,
            never_set,
            ahead,
            backward,
            suspected_ms,
        ] = parts;
        Account {
            received,
            stored,
            skipped,
            waiting: waiting.cast_signed(),
            queue_full,
            store_refused,
            rate_capped,
            overruns,
            never_set,
            ahead,
            backward,
            suspected_ms,
        }
    }
}

impl AddAssign for Account {
    fn add_assign(&mut self, more: Account) {
        let (mut sums, parts) = (self.parts(), more.parts());
        for (sum, part) in sums.iter_mut().zip(parts) {
            *sum = sum.wrapping_add(part); // `waiting` may be below zero
        }
        *self = Account::of_parts(self.received.saturating_add(more.received), sums);
    }
}

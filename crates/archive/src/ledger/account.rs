//! The arithmetic of accounts: what adds up, and how accounts are summed.

use std::ops::{AddAssign, Sub};

use super::columns::{Account, COLUMNS, COUNT, Kind};

impl Account {
    /// Samples that were received and not kept though they should have been.
    pub fn lost(&self) -> u64 {
        self.sum_of(Kind::Lost)
    }

    /// Updates that never arrived: at least so many.
    pub fn missed(&self) -> u64 {
        self.sum_of(Kind::Missed)
    }

    /// Samples whose stamp is out of the ordinary.
    pub fn odd_stamps(&self) -> u64 {
        self.sum_of(Kind::OddStamp)
    }

    fn sum_of(&self, kind: Kind) -> u64 {
        let counts = COLUMNS.iter().zip(self.counts());
        counts.filter(|(column, _)| column.kind == kind).fold(0, |sum: u64, (_, count)| sum.saturating_add(count))
    }

    /// Whether every update that was received is accounted for.
    pub fn adds_up(&self) -> bool {
        let mut known = i128::from(self.waiting);
        for (column, count) in COLUMNS.iter().zip(self.counts()) {
            if matches!(column.kind, Kind::Stored | Kind::Skipped | Kind::Lost) {
                known += i128::from(count);
            }
        }
        i128::from(self.received) == known
    }

    /// Whether nothing happened.
    pub fn is_empty(&self) -> bool {
        *self == Account::default()
    }

    /// The usual account: every update became a sample, and nothing else happened.
    pub fn usual(received: u64) -> Account {
        Account { received, stored: received, ..Account::default() }
    }

    /// What it tells of trouble; the rest is 0.
    pub fn trouble(&self) -> Account {
        let mut counts = [0; COUNT];
        for (kept, (column, count)) in counts.iter_mut().zip(COLUMNS.iter().zip(self.counts())) {
            if column.kind.is_trouble() {
                *kept = count;
            }
        }
        Account::of_counts(counts)
    }
}

impl AddAssign for Account {
    fn add_assign(&mut self, more: Account) {
        let received = self.received.saturating_add(more.received);
        let mut sums = self.counts();
        for (sum, count) in sums.iter_mut().zip(more.counts()) {
            *sum = sum.wrapping_add(count); // what waits may be below zero
        }
        *self = Account { received, ..Account::of_counts(sums) };
    }
}

/// What came since an earlier account of the same.
impl Sub for Account {
    type Output = Account;

    fn sub(self, earlier: Account) -> Account {
        let mut since = self.counts();
        for (since, before) in since.iter_mut().zip(earlier.counts()) {
            *since = since.wrapping_sub(before);
        }
        Account::of_counts(since)
    }
}

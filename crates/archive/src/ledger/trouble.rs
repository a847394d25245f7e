//! What the ledger tells of losses and doubts of all PVs together: for whoever looks at the archiver as a whole.

use std::time::Duration;

use sample::Timestamp;

use super::columns::{Account, COLUMNS, Kind};

/// So far back the trouble of all PVs is told together; what lies further back is told by the ledger of each PV.
pub const RECENT: Duration = Duration::from_secs(6 * 3600);

/// What went wrong in some stretch of time, of all PVs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trouble {
    /// The sums of what was lost or missed, and the longest suspected time of one PV in one minute. All other columns are 0.
    pub of: Account,
    /// PVs of which samples were lost; of several rows of the ledger the most in one stretch.
    pub lossy_pvs: u64,
    /// PVs of which updates may be missing; of several rows of the ledger the most in one stretch.
    pub suspected_pvs: u64,
    /// The end of the last minute with trouble.
    pub last: Timestamp,
}

impl Trouble {
    /// Whether something is to be told.
    pub fn is_any(&self) -> bool {
        self.lossy_pvs > 0 || self.suspected_pvs > 0
    }

    /// Counts one PV.
    pub fn add(&mut self, account: &Account) {
        self.sum(&Trouble {
            of: account.trouble(),
            lossy_pvs: u64::from(account.lost() > 0 || account.missed() > 0),
            suspected_pvs: u64::from(account.suspected_ms > 0),
            last: self.last,
        });
    }

    /// Adds what happened to other PVs in the same minute.
    pub fn sum(&mut self, other: &Trouble) {
        let lossy_pvs = self.lossy_pvs.saturating_add(other.lossy_pvs);
        let suspected_pvs = self.suspected_pvs.saturating_add(other.suspected_pvs);
        self.then(other);
        (self.lossy_pvs, self.suspected_pvs) = (lossy_pvs, suspected_pvs);
    }

    /// Adds what happened in another minute.
    pub fn then(&mut self, other: &Trouble) {
        let mut counts = self.of.counts();
        for ((count, more), column) in counts.iter_mut().zip(other.of.counts()).zip(&COLUMNS) {
            *count = if column.kind == Kind::Suspected { more.max(*count) } else { count.saturating_add(more) };
        }
        self.of = Account::of_counts(counts);
        self.lossy_pvs = self.lossy_pvs.max(other.lossy_pvs);
        self.suspected_pvs = self.suspected_pvs.max(other.suspected_pvs);
        self.last = self.last.max(other.last);
    }
}

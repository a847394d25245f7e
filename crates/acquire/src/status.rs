//! The counters of a PV that is being acquired, and those of all PVs together.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

use archive::{
    Connection, Totals, Traffic,
    ledger::{Account, COUNT},
};
use sample::Quality;

/// What a channel counts since the archiver started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// As the ledger has it: a sample that found room in the queue is stored when the row is.
    pub(crate) account: Account,
    /// Samples that the store took.
    pub(crate) written: u64,
}

impl Counters {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Counters::default()
    }

    /// As it is told: stored is what the store took.
    pub(crate) fn told(&self) -> Account {
        Account { stored: self.written, ..self.account }
    }

    pub(crate) fn count_stamp(&mut self, quality: Quality) {
        match quality {
            Quality::NeverSet => self.account.never_set += 1,
            Quality::Ahead => self.account.ahead += 1,
            Quality::Backward => self.account.backward += 1,
        }
    }
}

/// The totals, counted along, so that nobody has to look at every PV to know them.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// PVs by where they stand, in the order in which `Connection` names the places. One may be below zero for a moment, while a PV moves.
    /// Nothing that is acquired stands as the last one says.
    pvs: [AtomicI64; 5],
    counts: [AtomicU64; COUNT],
}

impl Tally {
    /// One more PV.
    pub(crate) fn enter(&self, connection: Connection) {
        self.pvs[connection as usize].fetch_add(1, Relaxed);
    }

    /// One PV less.
    pub(crate) fn leave(&self, connection: Connection) {
        self.pvs[connection as usize].fetch_sub(1, Relaxed);
    }

    pub(crate) fn moved(&self, from: Connection, to: Connection) {
        if from != to {
            self.enter(to);
            self.leave(from);
        }
    }

    pub(crate) fn add(&self, account: Account) {
        for (count, more) in self.counts.iter().zip(account.counts()).filter(|(_, more)| *more > 0) {
            count.fetch_add(more, Relaxed);
        }
    }

    /// What acquisition counts; the rest is left empty.
    pub(crate) fn totals(&self) -> Totals {
        let pvs = |connection: Connection| self.pvs[connection as usize].load(Relaxed).max(0) as u64;
        let counters = Account::of_counts(self.counts.each_ref().map(|count| count.load(Relaxed)));
        Totals {
            searching: pvs(Connection::Searching),
            connected: pvs(Connection::Connected),
            disconnected: pvs(Connection::Disconnected),
            paused: pvs(Connection::Paused),
            counters,
            ..Totals::default()
        }
    }
}

/// What the Channel Access client says of itself.
pub(crate) fn ca_traffic(of: &epics::ca::Counters) -> Traffic {
    Traffic {
        searches: of.searches,
        search_replies: of.search_replies,
        circuits_opened: of.circuits_opened,
        circuits_lost: of.circuits_lost,
        bytes: of.bytes,
        messages: of.messages,
        updates: of.updates,
        protocol_errors: of.protocol_errors,
    }
}

/// What the pvAccess client says of itself.
pub(crate) fn pva_traffic(of: &epics::pva::Counters) -> Traffic {
    Traffic {
        searches: of.searches,
        search_replies: of.search_replies,
        circuits_opened: of.circuits_opened,
        circuits_lost: of.circuits_closed,
        bytes: of.bytes_received,
        messages: of.messages,
        updates: of.updates,
        protocol_errors: of.protocol_errors,
    }
}

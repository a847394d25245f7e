//! What can be asked about a PV that is being acquired, and about all of them together.

use std::{
    net::SocketAddr,
    sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed},
};

use archive::{
    FieldPath,
    ledger::{Account, COUNT},
};
use sample::{Quality, Timestamp};

/// Where a PV stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Connection {
    /// No IOC has answered for it since the archiver started or the PV was added.
    Searching,
    /// An IOC serves it.
    Connected,
    /// The IOC is gone; the search goes on.
    Disconnected,
    /// Somebody paused it.
    Paused,
}

impl Connection {
    /// The name used in answers and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Connection::Searching => "searching",
            Connection::Connected => "connected",
            Connection::Disconnected => "disconnected",
            Connection::Paused => "paused",
        }
    }
}

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

/// How one PV fares.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// Where it stands.
    pub connection: Connection,
    /// Since when.
    pub since: Timestamp,
    /// When an IOC first served it in this run.
    pub first_connected: Option<Timestamp>,
    /// When an IOC last began to serve it.
    pub last_connected: Option<Timestamp>,
    /// How often it came back.
    pub reconnects: u64,
    /// What became of its updates since the archiver started.
    pub counters: Account,
    /// The time stamp of the newest sample taken in this run.
    pub last_sample: Option<Timestamp>,
    /// The IOC that serves it.
    pub server: Option<SocketAddr>,
    /// What the IOC answered instead of values, while it does.
    pub refusal: Option<String>,
    /// Its groups are disabled.
    pub disabled: bool,
    /// If it has a dead band: whether the server applies it, or else the archiver.
    pub deadband_at_server: Option<bool>,
    /// Fields that alone are to be recorded, and that its newest value does not have.
    pub lacking: Vec<FieldPath>,
}

/// What lists say of how a PV fares: the part of its status for which nothing has to be copied but numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Brief {
    /// See `Status`, as of all that follow.
    pub connection: Connection,
    /// Since when it stands there.
    pub since: Timestamp,
    /// When an IOC first served it in this run.
    pub first_connected: Option<Timestamp>,
    /// When an IOC last began to serve it.
    pub last_connected: Option<Timestamp>,
    /// How often it came back.
    pub reconnects: u64,
    /// Updates that arrived.
    pub received: u64,
    /// Samples lost because the queue was full, for whatever reason.
    pub dropped: u64,
    /// The time stamp of the newest sample taken in this run.
    pub last_sample: Option<Timestamp>,
    /// The IOC that serves it.
    pub server: Option<SocketAddr>,
}

/// How all PVs fare.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// PVs by where they stand, in the order searching, connected, disconnected, paused.
    pub searching: u64,
    /// See `searching`.
    pub connected: u64,
    /// See `searching`.
    pub disconnected: u64,
    /// See `searching`.
    pub paused: u64,
    /// What became of all updates, those of removed PVs included.
    pub counters: Account,
    /// Bytes waiting for the writer.
    pub queue_bytes: usize,
    /// The most that may wait.
    pub queue_bytes_max: usize,
    /// Gaps and metadata that found no room, and were put together with others of their PV.
    pub queue_merged: u64,
    /// The Channel Access client's own counts.
    pub ca: epics::ca::Counters,
    /// The pvAccess client's own counts.
    pub pva: epics::pva::Counters,
}

impl Totals {
    /// All PVs.
    pub fn pvs(&self) -> u64 {
        self.searching + self.connected + self.disconnected + self.paused
    }
}

/// The totals, counted along, so that nobody has to look at every PV to know them.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// PVs by where they stand, in the order in which `Connection` names the places. One may be below zero for a moment, while a PV moves.
    pvs: [AtomicI64; 4],
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

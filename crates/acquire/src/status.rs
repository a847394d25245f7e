//! What can be asked about a PV that is being acquired, and about all of them together.

use std::{
    net::SocketAddr,
    sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed},
};

use archive::FieldPath;
use sample::{Quality, Timestamp};

use crate::ledger::Account;

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

/// What became of the updates of one PV, or of all, since the archiver started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Updates that arrived.
    pub received: u64,
    /// Samples that the store took.
    pub stored: u64,
    /// Samples that found room in the queue to the store.
    pub taken: u64,
    /// Updates that were not to be sampled: a newer one came within the scan period, they lay within the dead band, or all groups of
    /// the PV were disabled.
    pub skipped: u64,
    /// Samples lost because the queue was full.
    pub dropped_queue: u64,
    /// Samples lost because the queue was full while the store refused to write.
    pub dropped_store: u64,
    /// Samples left out because they came faster than the limit of the PV allows.
    pub rate_capped: u64,
    /// Updates before which the server said that it had thrown others away.
    pub overruns: u64,
    /// Samples whose time stamp was never set; they are stored all the same, as those of the next two.
    pub never_set: u64,
    /// Samples whose time stamp lies far in the future.
    pub ahead: u64,
    /// Samples whose time stamp lies before that of the sample before.
    pub backward: u64,
    /// Milliseconds in which updates may have been lost on their way.
    pub suspected_ms: u64,
}

impl Counters {
    /// How many things are counted.
    pub(crate) const KINDS: usize = 12;

    /// Samples whose time stamp is out of the ordinary.
    pub fn bad_stamps(&self) -> u64 {
        self.never_set + self.ahead + self.backward
    }

    pub(crate) fn count_stamp(&mut self, quality: Quality) {
        match quality {
            Quality::NeverSet => self.never_set += 1,
            Quality::Ahead => self.ahead += 1,
            Quality::Backward => self.backward += 1,
        }
    }

    /// What the ledger says of it: a sample that found room is stored when the row is.
    pub(crate) fn account(&self) -> Account {
        Account {
            received: self.received,
            stored: self.taken,
            skipped: self.skipped,
            waiting: 0,
            queue_full: self.dropped_queue,
            store_refused: self.dropped_store,
            rate_capped: self.rate_capped,
            overruns: self.overruns,
            never_set: self.never_set,
            ahead: self.ahead,
            backward: self.backward,
            suspected_ms: self.suspected_ms,
        }
    }

    pub(crate) fn values(&self) -> [u64; Counters::KINDS] {
        [
            self.received,
            self.stored,
            self.taken,
            self.skipped,
            self.dropped_queue,
            self.dropped_store,
            self.rate_capped,
            self.overruns,
            self.never_set,
            self.ahead,
            self.backward,
            self.suspected_ms,
        ]
    }

    /// The other way round.
    pub(crate) fn of_values(values: [u64; Counters::KINDS]) -> Counters {
        let [
            received,
            stored,
            taken,
            skipped,
            dropped_queue,
            dropped_store,
            rate_capped,
            overruns,
            never_set,
            ahead,
            backward,
            suspected_ms,
        ] = values;
        Counters {
            received,
            stored,
            taken,
            skipped,
            dropped_queue,
            dropped_store,
            rate_capped,
            overruns,
            never_set,
            ahead,
            backward,
            suspected_ms,
        }
    }
}

impl std::ops::AddAssign for Counters {
    fn add_assign(&mut self, other: Counters) {
        let mut sums = self.values();
        sums.iter_mut().zip(other.values()).for_each(|(sum, more)| *sum += more);
        *self = Counters::of_values(sums);
    }
}

/// What came since `earlier`.
impl std::ops::Sub for Counters {
    type Output = Counters;

    fn sub(self, earlier: Counters) -> Counters {
        let mut since = self.values();
        since.iter_mut().zip(earlier.values()).for_each(|(since, before)| *since -= before);
        Counters::of_values(since)
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
    /// What became of its updates.
    pub counters: Counters,
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
    pub counters: Counters,
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
    counts: [AtomicU64; Counters::KINDS],
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

    pub(crate) fn add(&self, counters: Counters) {
        for (count, more) in self.counts.iter().zip(counters.values()).filter(|(_, more)| *more > 0) {
            count.fetch_add(more, Relaxed);
        }
    }

    /// What acquisition counts; the rest is left empty.
    pub(crate) fn totals(&self) -> Totals {
        let pvs = |connection: Connection| self.pvs[connection as usize].load(Relaxed).max(0) as u64;
        let counters = Counters::of_values(self.counts.each_ref().map(|count| count.load(Relaxed)));
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

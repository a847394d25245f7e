//! What can be asked about a PV that is being acquired, and about all of them together.

use std::{
    net::SocketAddr,
    sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed},
};

use sample::Timestamp;

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
    /// Updates that scanning passed over because a newer one came within the period.
    pub skipped: u64,
    /// Samples lost because the queue was full.
    pub dropped_queue: u64,
    /// Samples lost because the queue was full while the store refused to write.
    pub dropped_store: u64,
    /// Samples whose time stamp was never set or lies far in the future; they are stored all the same.
    pub bad_stamps: u64,
}

impl std::ops::AddAssign for Counters {
    fn add_assign(&mut self, other: Counters) {
        self.received += other.received;
        self.stored += other.stored;
        self.skipped += other.skipped;
        self.dropped_queue += other.dropped_queue;
        self.dropped_store += other.dropped_store;
        self.bad_stamps += other.bad_stamps;
    }
}

/// What came since `earlier`.
impl std::ops::Sub for Counters {
    type Output = Counters;

    fn sub(self, earlier: Counters) -> Counters {
        Counters {
            received: self.received - earlier.received,
            stored: self.stored - earlier.stored,
            skipped: self.skipped - earlier.skipped,
            dropped_queue: self.dropped_queue - earlier.dropped_queue,
            dropped_store: self.dropped_store - earlier.dropped_store,
            bad_stamps: self.bad_stamps - earlier.bad_stamps,
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
    /// What became of its updates.
    pub counters: Counters,
    /// The time stamp of the newest sample taken in this run.
    pub last_sample: Option<Timestamp>,
    /// The IOC that serves it.
    pub server: Option<SocketAddr>,
    /// What the IOC answered instead of values, while it does.
    pub refusal: Option<String>,
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
    received: AtomicU64,
    stored: AtomicU64,
    skipped: AtomicU64,
    dropped_queue: AtomicU64,
    dropped_store: AtomicU64,
    bad_stamps: AtomicU64,
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
        let Counters { received, stored, skipped, dropped_queue, dropped_store, bad_stamps } = counters;
        let pairs = [
            (&self.received, received),
            (&self.stored, stored),
            (&self.skipped, skipped),
            (&self.dropped_queue, dropped_queue),
            (&self.dropped_store, dropped_store),
            (&self.bad_stamps, bad_stamps),
        ];
        for (counter, more) in pairs.into_iter().filter(|(_, more)| *more > 0) {
            counter.fetch_add(more, Relaxed);
        }
    }

    /// What acquisition counts; the rest is left empty.
    pub(crate) fn totals(&self) -> Totals {
        let pvs = |connection: Connection| self.pvs[connection as usize].load(Relaxed).max(0) as u64;
        let counters = Counters {
            received: self.received.load(Relaxed),
            stored: self.stored.load(Relaxed),
            skipped: self.skipped.load(Relaxed),
            dropped_queue: self.dropped_queue.load(Relaxed),
            dropped_store: self.dropped_store.load(Relaxed),
            bad_stamps: self.bad_stamps.load(Relaxed),
        };
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

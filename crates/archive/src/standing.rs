//! The seam to where PVs stand while they are acquired: what can be asked of one, of some hundred, and of all together.

use std::net::SocketAddr;

use sample::Timestamp;

use crate::{
    FieldPath, Protocol, PvId, Touched,
    ledger::{Account, Trouble},
};

/// Where PVs stand. Of what is not acquired here nothing is known.
pub trait Standing: Send + Sync {
    /// How a PV fares; none if it is not known (yet, or any more).
    fn status(&self, pv: PvId) -> Option<Status>;

    /// How these PVs fare, as lists tell it, each in its place; none where there is none. Asked of some hundred at a time, so that for
    /// each of a million nothing is locked or copied that its row does not need.
    fn briefs(&self, pvs: &[PvId]) -> Vec<Option<Brief>>;

    /// The PVs that came to stand elsewhere since this was asked last. One alone asks, who keeps something of all of them.
    fn moved(&self) -> Touched {
        Touched::All
    }

    /// The parts of the list of whose PVs nobody can say more than the list does at present. Waits for nothing.
    fn unanswered(&self) -> Vec<Unanswered> {
        Vec::new()
    }

    /// The part of `unanswered` in which a PV lies, if it lies in one and nobody else answers for it.
    fn unanswered_of(&self, pv: PvId) -> Option<Unanswered> {
        let _ = pv;
        None
    }

    /// Who records a PV that is recorded twice; nobody is named of others.
    fn recorders(&self, pv: PvId) -> Vec<Recorder> {
        let _ = pv;
        Vec::new()
    }

    /// The IOCs to which there was a connection in this run, as far as it is this archiver's own.
    fn iocs(&self) -> Vec<Ioc> {
        Vec::new()
    }

    /// How all of them fare.
    fn totals(&self) -> Totals;

    /// What describes the record of a PV, where its protocol does not bring that with values: asked of its server when it was not asked in
    /// the last minutes, for which this waits half a second at most.
    fn description(&self, pv: PvId, now: Timestamp) -> Option<String>;

    /// What a PV has counted since the last row of the ledger, and since when. To be asked before the rows are read that begin before
    /// then, and without those that begin later. Waits half a second at most for rows that are on their way.
    fn open_account(&self, pv: PvId) -> Option<(Timestamp, Account)>;

    /// What the ledger lost or suspects in the last hours (`ledger::RECENT`), up to its last row of minutes.
    fn trouble(&self, now: Timestamp) -> Trouble;

    /// Adds what a row of the ledger says, which ends at `until` and was written before this start.
    fn recall(&self, until: Timestamp, trouble: Trouble);
}

/// One of those that record a PV.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorder {
    /// The number of its shard.
    pub shard: u32,
    /// The node that has that shard; none if nobody has it at present.
    pub node: Option<String>,
    /// Where the PV stands there.
    pub connection: Connection,
    /// Since when.
    pub since: Timestamp,
}

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
    /// Nobody can say: whoever could does not answer.
    Unknown,
}

impl Connection {
    /// The name used in answers and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Connection::Searching => "searching",
            Connection::Connected => "connected",
            Connection::Disconnected => "disconnected",
            Connection::Paused => "paused",
            Connection::Unknown => "unknown",
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

impl Brief {
    /// Of a PV of which nobody can say how it fares, since then.
    pub fn unknown(since: Timestamp) -> Brief {
        Brief {
            connection: Connection::Unknown,
            since,
            first_connected: None,
            last_connected: None,
            reconnects: 0,
            received: 0,
            dropped: 0,
            last_sample: None,
            server: None,
        }
    }

    /// Whether nobody can say how it fares.
    pub fn is_unknown(&self) -> bool {
        self.connection == Connection::Unknown
    }
}

impl Status {
    /// Of a PV of which nothing was counted in this run.
    pub fn standing(connection: Connection, since: Timestamp) -> Status {
        Status {
            connection,
            since,
            first_connected: None,
            last_connected: None,
            reconnects: 0,
            counters: Account::default(),
            last_sample: None,
            server: None,
            refusal: None,
            disabled: false,
            deadband_at_server: None,
            lacking: Vec::new(),
        }
    }
}

/// A part of the list of PVs for which nobody answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// What it is called, as `shard 3 of the cluster`.
    pub part: String,
    /// How many names are known of it; none if the list does not have it either.
    pub names: Option<u64>,
    /// Why, as a sentence for an operator.
    pub why: String,
}

/// What is known of the connection to an IOC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ioc {
    /// Where it is.
    pub address: SocketAddr,
    /// By which protocol.
    pub protocol: Protocol,
    /// Circuits that are open.
    pub circuits: u64,
    /// Since when there has been one, or none.
    pub since: Timestamp,
    /// Circuits that were opened in this run.
    pub opened: u64,
    /// Circuits that were lost.
    pub lost: u64,
    /// How often it was started anew in this run, as far as that was proved: by Channel Access by beacons, by pvAccess by what it calls itself.
    pub restarts: u64,
    /// When it was last.
    pub restarted: Option<Timestamp>,
    /// When its last beacon came.
    pub last_beacon: Option<Timestamp>,
}

/// What a client of one protocol has exchanged with IOCs since the archiver started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Search requests sent.
    pub searches: u64,
    /// Answers to them.
    pub search_replies: u64,
    /// Circuits that were connected, ever.
    pub circuits_opened: u64,
    /// Circuits that were lost or given up.
    pub circuits_lost: u64,
    /// Bytes received on circuits.
    pub bytes: u64,
    /// Messages received on circuits.
    pub messages: u64,
    /// Updates of monitors among these.
    pub updates: u64,
    /// Messages that could not be understood.
    pub protocol_errors: u64,
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
    /// What passes between the archiver and IOCs by Channel Access.
    pub ca: Traffic,
    /// The same by pvAccess.
    pub pva: Traffic,
    /// Beacons of Channel Access servers that are new or were restarted.
    pub beacons_of_note: u64,
    /// Updates before which a pvAccess server had to throw others away.
    pub overruns: u64,
    /// Answers of a second pvAccess server to the search for one PV; the first is taken.
    pub duplicates: u64,
}

impl Totals {
    /// All PVs.
    pub fn pvs(&self) -> u64 {
        self.searching + self.connected + self.disconnected + self.paused
    }
}

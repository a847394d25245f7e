//! What a client has done so far, in numbers.

use std::ops::AddAssign;

/// Counts since the client was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Search messages sent, each to all targets.
    pub searches: u64,
    /// Names in these.
    pub names_searched: u64,
    /// Answers to searches.
    pub search_replies: u64,
    /// Names that a second server had too; the first is taken.
    pub duplicates: u64,
    /// Signs of life of servers.
    pub beacons: u64,
    /// Circuits that were made.
    pub circuits_opened: u64,
    /// Circuits that were lost or given up.
    pub circuits_closed: u64,
    /// Bytes received on circuits.
    pub bytes_received: u64,
    /// Messages received on circuits.
    pub messages: u64,
    /// Updates of monitors among these.
    pub updates: u64,
    /// Updates before which the server had to throw others away.
    pub overruns: u64,
    /// Channels and monitors that a server refused.
    pub refusals: u64,
    /// Messages that could not be understood.
    pub protocol_errors: u64,
}

impl Counters {
    /// Circuits that are open now.
    pub fn circuits_open(&self) -> u64 {
        self.circuits_opened - self.circuits_closed
    }
}

impl AddAssign for Counters {
    fn add_assign(&mut self, more: Counters) {
        self.searches += more.searches;
        self.names_searched += more.names_searched;
        self.search_replies += more.search_replies;
        self.duplicates += more.duplicates;
        self.beacons += more.beacons;
        self.circuits_opened += more.circuits_opened;
        self.circuits_closed += more.circuits_closed;
        self.bytes_received += more.bytes_received;
        self.messages += more.messages;
        self.updates += more.updates;
        self.overruns += more.overruns;
        self.refusals += more.refusals;
        self.protocol_errors += more.protocol_errors;
    }
}

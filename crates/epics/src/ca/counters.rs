//! What a client has done so far, in numbers.

/// What a client has done since it was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Names that no server has been found for.
    pub searching: u64,
    /// Names asked for, each time.
    pub searches: u64,
    /// Datagrams they went in, before they were sent to each address.
    pub search_datagrams: u64,
    /// Replies that led to a connection.
    pub search_replies: u64,
    /// Replies for names that another server had claimed first, or that were no longer wanted.
    pub late_replies: u64,
    /// Beacons of servers that are new or were restarted.
    pub beacon_anomalies: u64,
    /// Circuits that are connected now.
    pub circuits: u64,
    /// Circuits that were connected, ever.
    pub circuits_opened: u64,
    /// Circuits that were lost or could not be connected.
    pub circuits_lost: u64,
    /// Bytes received on circuits.
    pub bytes: u64,
    /// Messages received on circuits.
    pub messages: u64,
    /// Values received.
    pub updates: u64,
    /// Messages that held nonsense.
    pub protocol_errors: u64,
}

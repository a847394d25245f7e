//! A Channel Access server for simulations and tests: it serves what a [`Source`] computes, and counts what it leaves out.
//!
//! ```text
//!   net       sockets: searches, beacons, circuits; Reactor::turn, Reactor::post
//!    │  bytes              ▲ bytes to send
//!    ▼                     │
//!   circuit   channels and subscriptions of one client: receive, post, fill
//!    │ queue  the numbers of the updates that a subscription still has to be sent
//!    ▼
//!   Source    what PV n held at update k
//! ```
//!
//! The updates of a PV are numbered, and a queue holds numbers, not values: a backlog of a million updates costs nothing,
//! and a message is made when the network has room for it.
//!
//! Nothing can be written: each request to do so is refused.

use std::time::Duration;

use super::dbr::FieldType;
use crate::{Description, Value};

pub mod circuit;
mod convert;
mod encode;
pub(crate) mod names;
pub mod pvs;
mod queue;

pub use crate::net::ca::{Reactor, ServerId};

/// What is served: PVs with numbered updates. Update 0 is what a PV holds before its first change.
pub trait Source {
    /// The number of the PV of that name.
    fn find(&self, name: &str) -> Option<u32>;
    /// Number of PVs.
    fn len(&self) -> u32;
    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The type of a PV and how many elements it can have.
    fn channel(&self, pv: u32) -> (FieldType, u32);
    /// Units, limits and labels.
    fn description(&self, pv: u32) -> Description;
    /// The time and alarm at an update.
    fn stamp(&self, pv: u32, number: u64) -> Stamp;
    /// The value at an update, of the type of the channel.
    fn value(&self, pv: u32, number: u64) -> Value;
    /// Appends the elements at an update, big-endian, and returns how many; for those who can do it without making a value.
    fn elements(&self, pv: u32, number: u64, out: &mut Vec<u8>) -> u32 {
        convert::native(&self.value(pv, number), self.channel(pv).0, out)
    }
    /// Whether the alarm is another than at the update before.
    fn is_alarm_changed(&self, pv: u32, number: u64) -> bool {
        let alarm = |number| {
            let Stamp { severity, status, .. } = self.stamp(pv, number);
            (severity, status)
        };
        number > 0 && alarm(number) != alarm(number - 1)
    }
}

/// The time and alarm of an update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Seconds since 1970.
    pub seconds: i64,
    /// Nanoseconds within the second.
    pub nanos: u32,
    /// Alarm severity.
    pub severity: i32,
    /// Alarm status.
    pub status: i32,
}

/// How many updates wait for a client that does not keep up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// All of them.
    Lossless,
    /// So many for each subscription; then the newest takes the place of the last in the queue, without a word to the
    /// client. An IOC has 4.
    Places(usize),
}

/// How a server behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The queue of each subscription.
    pub depth: Depth,
    /// How long the server thinks before it answers anything.
    pub delay: Duration,
    /// Where beacons go; nowhere if empty.
    pub beacons: Vec<std::net::SocketAddr>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { depth: Depth::Places(4), delay: Duration::ZERO, beacons: Vec::new() }
    }
}

/// What a server has done. `posted` is always the sum of `sent`, `replaced`, `held_back`, `abandoned` and what still waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Circuits that clients have opened.
    pub circuits: u64,
    /// Circuits that have ended.
    pub circuits_ended: u64,
    /// Channels that were created.
    pub channels: u64,
    /// Subscriptions that were made.
    pub subscriptions: u64,
    /// Names that were asked for, each time.
    pub searches: u64,
    /// Those that were served.
    pub search_replies: u64,
    /// Beacons sent.
    pub beacons: u64,
    /// Values sent as the first of a subscription, or because they were read.
    pub reads: u64,
    /// Updates for subscriptions: an update that two clients subscribe to counts twice.
    pub posted: u64,
    /// Updates given to the network.
    pub sent: u64,
    /// Updates whose place in a full queue a newer one took.
    pub replaced: u64,
    /// The same, while the client had asked to hold back updates.
    pub held_back: u64,
    /// Updates that waited when their subscription or circuit ended.
    pub abandoned: u64,
    /// Bytes given to the network on circuits.
    pub bytes: u64,
    /// Requests that were refused or made no sense.
    pub errors: u64,
}

impl std::ops::AddAssign for Counters {
    fn add_assign(&mut self, other: Counters) {
        self.circuits += other.circuits;
        self.circuits_ended += other.circuits_ended;
        self.channels += other.channels;
        self.subscriptions += other.subscriptions;
        self.searches += other.searches;
        self.search_replies += other.search_replies;
        self.beacons += other.beacons;
        self.reads += other.reads;
        self.posted += other.posted;
        self.sent += other.sent;
        self.replaced += other.replaced;
        self.held_back += other.held_back;
        self.abandoned += other.abandoned;
        self.bytes += other.bytes;
        self.errors += other.errors;
    }
}

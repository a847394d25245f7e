//! What a client tells its user about one subscription, by whichever protocol.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use pvdata::Array;

/// The user's own number for a subscription, given with `subscribe` and returned with each event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(pub u64);

/// Something happened to a subscription.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// An IOC serves the PV and the subscription has been asked for.
    Connected {
        /// The IOC.
        server: SocketAddr,
    },
    /// Which run of the server answers from here on: a pvAccess server has another number after each start. It comes before
    /// `Connected`, and not at all where nobody said it, as by Channel Access.
    Identified {
        /// The server's GUID.
        run: [u8; 12],
    },
    /// The server that had the PV before, and has it again or is about to, was restarted in between, as its beacons say. Only by
    /// Channel Access; without it nothing is said.
    Restarted,
    /// What the IOC says about the PV besides its values: on connecting, and whenever it changes where the protocol says so.
    Described(Box<Description>),
    /// A new value.
    Updated(Reading),
    /// The IOC refuses or fails to serve the PV; the subscription goes on trying.
    Refused {
        /// Its words.
        message: String,
    },
    /// So much was unread that the server may have had no room to send, and may have thrown updates away.
    Crowded {
        /// For at most so long.
        duration: Duration,
    },
    /// The server applies the dead band that was asked for; until it says so it does not.
    Filtered,
    /// It no longer does: it has taken that back.
    Unfiltered,
    /// The connection is lost; the client searches again by itself.
    Disconnected {
        /// How it was noticed.
        reason: String,
    },
}

/// One value with its time and alarm, as the IOC sent them.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The value.
    pub value: Value,
    /// Seconds since 1970 (Channel Access counts from 1990; the client adds the difference).
    pub seconds: i64,
    /// Nanoseconds within the second, as sent: a broken IOC may send 1e9 or more.
    pub nanos: u32,
    /// Alarm severity: 0 none, 1 minor, 2 major, 3 invalid, 4 undefined.
    pub severity: i32,
    /// Alarm status: by Channel Access that of the record, by pvAccess the class of cause.
    pub status: i32,
    /// The words that pvAccess sends with the alarm.
    pub message: Option<Arc<str>>,
    /// pvAccess timeStamp.userTag; 0 by Channel Access.
    pub user_tag: i32,
    /// Whether the server says that it threw earlier updates away before this one (the overrun bits of pvAccess). How many
    /// it does not say; an update without the mark proves nothing, as IOCs also drop before they can mark.
    pub overrun: bool,
}

/// A value of any type that either protocol carries.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the variants are the protocols' own types")]
pub enum Value {
    Bool(bool),
    I8(i8),
    U8(u8),
    I16(i16),
    U16(u16),
    I32(i32),
    U32(u32),
    I64(i64),
    U64(u64),
    F32(f32),
    F64(f64),
    /// The index of a state; the names are in [`Description::labels`].
    Enum(i32),
    String(String),
    Array(Array),
    /// A structure that is no scalar, array or enum of the Normative Types, whole: its type description followed by its
    /// value, in pvAccess encoding, little-endian. [`crate::pva`] reads it.
    Structure(Vec<u8>),
}

/// A low and a high limit; NaN where the IOC sets none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The lower limit.
    pub low: f64,
    /// The upper limit.
    pub high: f64,
}

/// What an IOC says about a PV besides its value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Description {
    /// The largest number of elements, 1 for scalars; none where the protocol does not say.
    pub element_count: Option<u64>,
    /// Engineering units.
    pub units: Option<String>,
    /// Digits after the point.
    pub precision: Option<i32>,
    /// Range for displays.
    pub display: Option<Limits>,
    /// Range that operators may set.
    pub control: Option<Limits>,
    /// Beyond these: a minor alarm.
    pub warning: Option<Limits>,
    /// Beyond these: a major alarm.
    pub alarm: Option<Limits>,
    /// Names of the states of an enum.
    pub labels: Vec<String>,
    /// The record's description, where the protocol carries it.
    pub description: Option<String>,
}

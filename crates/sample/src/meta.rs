//! Metadata: what the numbers of a PV mean (units, limits, labels), kept with its history.

use crate::ValueType;

/// A low and a high limit. Either may be NaN where the IOC sets none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The lower limit.
    pub low: f64,
    /// The upper limit.
    pub high: f64,
}

/// What an IOC says about a PV besides its value, at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    /// The type of the values, as the IOC serves them.
    pub value_type: Option<ValueType>,
    /// The largest number of elements that the IOC announces (1 for scalars); none where it does not say.
    pub element_count: Option<u64>,
    /// Engineering units (EGU).
    pub units: Option<String>,
    /// Digits after the point to show (PREC).
    pub precision: Option<i32>,
    /// Range for displays (LOPR, HOPR).
    pub display: Option<Limits>,
    /// Range that operators may set (DRVL, DRVH).
    pub control: Option<Limits>,
    /// Beyond these: a minor alarm (LOW, HIGH).
    pub warning: Option<Limits>,
    /// Beyond these: a major alarm (LOLO, HIHI).
    pub alarm: Option<Limits>,
    /// Names of the states of an enum, by index.
    pub labels: Vec<String>,
    /// The record's description (DESC), where the protocol carries it.
    pub description: Option<String>,
    /// The IOC that served the PV, as `host:port`.
    pub server: Option<String>,
    /// Which run of the IOC it was, where that is known: another text means that it was started anew. A pvAccess server says it
    /// itself. By Channel Access there is none before a restart was proved, and then by what and when.
    pub server_run: Option<String>,
}

impl Metadata {
    /// So begins the run of an IOC whose beacons counted anew, and the time follows.
    pub const RUN_BY_BEACONS: &str = "beacons:";
    /// So begins the run of an IOC whose record had lost its time stamp, and the time follows.
    pub const RUN_BY_STAMP: &str = "unprocessed:";
}

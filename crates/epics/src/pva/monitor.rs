//! What a client asks of a monitor.

use crate::mask::Mask;

/// How a PV is monitored. All its fields are asked for: after the first update only what changes is sent anyway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Monitor {
    /// How many updates the server holds for a client that is late, before it throws the older away.
    pub queue_size: u32,
    /// Whether the server sends no more than it is told there is room for. It then waits where it would else throw away, if
    /// its source can wait; it costs a message for every few updates.
    pub pipeline: bool,
    /// Which changes are sent, of servers of records that can tell them apart (QSRV from pvxs 1.3.3 on, not of groups). Others pass
    /// over it; none is what the server thinks fit, which is those beyond `MDEL`.
    pub changes: Option<Mask>,
}

impl Default for Monitor {
    /// Room for one second of the fastest scan of an IOC; the servers' own default is 4.
    fn default() -> Monitor {
        Monitor { queue_size: 10, pipeline: false, changes: None }
    }
}

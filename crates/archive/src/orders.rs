//! Orders to acquisition: which PVs are recorded from now on, and what became of an order.

use crate::{PvName, PvState, RuleName, Wishes};

/// A PV that somebody wants archived. What is left open is taken from a policy, the config (protocol) or is the usual (monitor).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddRequest {
    /// Its name, without prefix.
    pub name: PvName,
    /// By which policy, whatever its name fits.
    pub policy: Option<RuleName>,
    /// What is said of it.
    pub wishes: Wishes,
    /// Whether it is archived at once, if it is not there yet. One that is there stays as it is.
    pub state: PvState,
}

impl AddRequest {
    /// A PV of which nothing is said but its name.
    pub fn new(name: PvName) -> AddRequest {
        AddRequest { name, policy: None, wishes: Wishes::default(), state: PvState::Active }
    }
}

/// What adding did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It is archived from now on.
    New,
    /// It was archived already, just so.
    Already,
    /// It was archived already, and now is so by the new settings.
    Changed,
}

/// What a command did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is done.
    Done,
    /// It was so already.
    Already,
    /// There is no such PV.
    Unknown,
}

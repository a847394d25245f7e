//! The mirror: the part of another archive's list of PVs that this one is to have as well, under the same numbers. So a PV has two archives,
//! and whatever is ordered of it is ordered once: the second becomes what the first is. What the first has of the second by now, the second
//! gives up.

use sample::Timestamp;

use crate::{PvEntry, PvId, PvName, RemovedPv};

/// What of the list of another archive this one is to have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mirror {
    /// The PVs, with the numbers that they have there. When they were added there does not matter here.
    pub entries: Vec<PvEntry>,
    /// Their other names.
    pub aliases: Vec<(PvName, PvId)>,
    /// The PVs that were taken out there and can come back: those that are here are taken out as well, with the same fate.
    pub removed: Vec<RemovedPv>,
}

/// What that changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mirrored {
    /// PVs that came, came back, or are archived in another way.
    pub put: Vec<PvEntry>,
    /// PVs that were taken out.
    pub out: Vec<PvId>,
    /// PVs that go by another name here at present, which is to be free first: the next time they have theirs.
    pub waiting: Vec<PvName>,
    /// PVs whose numbers this archive has given to PVs of its own.
    pub refused: Vec<PvName>,
    /// How many names changed besides.
    pub aliases: usize,
    /// How many PVs that are out have another fate.
    pub fates: usize,
}

impl Mirrored {
    /// Whether anything was changed.
    pub fn is_change(&self) -> bool {
        !self.put.is_empty() || !self.out.is_empty() || self.aliases + self.fates > 0
    }
}

/// Where an archive stands at one moment, so that what it has of a time by then can be given up later, and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Of which time: what is older than this.
    pub before: Timestamp,
    /// What lies in segments with lower numbers was there.
    pub below: u64,
    /// The number that the next deletion gets.
    pub deletion: u64,
    /// The PVs of which something is hidden, so that nobody can read all that they have.
    pub hidden: Vec<PvId>,
}

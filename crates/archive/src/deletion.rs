//! Deletions: PVs that were removed, ranges that are hidden, and the purge that frees their space.

use sample::{TimeRange, Timestamp};

use crate::{By, DataFate, PvEntry, PvId, PvName};

/// A PV that was taken out of the archive and can come back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovedPv {
    /// What it was.
    pub entry: PvEntry,
    /// Its other names.
    pub aliases: Vec<PvName>,
    /// Whether its data is kept.
    pub data: DataFate,
    /// Since when nothing was recorded.
    pub since: Timestamp,
    /// Who decided upon its data, and when: a purge counts from here.
    pub by: By,
}

/// A range of a PV's samples that was deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// By which it is named when it is undone.
    pub number: u64,
    /// Whose samples.
    pub pv: PvId,
    /// Which.
    pub range: TimeRange,
    /// Who deleted it, and when.
    pub by: By,
    /// Whether a purge was ordered: it cannot be undone any more.
    pub is_final: bool,
}

/// What a purge is about: all that was deleted until a time, of one PV or of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purge {
    /// Of this PV alone.
    pub pv: Option<PvId>,
    /// What was deleted later stays.
    pub before: Timestamp,
}

/// What a purge takes, or would take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Purged {
    /// Removed PVs, all of whose samples go.
    pub pvs: Vec<RemovedPv>,
    /// Deleted ranges of PVs that stay.
    pub ranges: Vec<Deletion>,
    /// How many samples in segments they have.
    pub samples: u64,
    /// How many bytes of blocks hold nothing else.
    pub bytes: u64,
}

//! The seam to whatever holds the samples, as an operator sees it: how it is doing, and how much lies where, by week and by PV.

use std::collections::HashMap;

use sample::Timestamp;

use crate::{Health, PvId, Watermark};

/// Whatever holds the samples, as an operator sees it.
pub trait Storage: Send + Sync {
    /// How it is doing: counters, and what an operator should know. It waits for no disk.
    fn health(&self) -> Health;

    /// How many samples were ever appended, and how many of them are safe. It waits for nothing.
    fn watermark(&self) -> Watermark;

    /// The weeks that it has, in order. It waits for no disk.
    fn partitions(&self) -> Vec<Partition>;

    /// The size of every PV of which it holds something. It may read from the disk where things lie, for as long as that takes.
    fn sizes(&self) -> HashMap<PvId, PvSize>;

    /// That of one PV; none if nothing of it is held. It reads from the disk as well.
    fn size(&self, pv: PvId) -> Option<PvSize> {
        self.sizes().remove(&pv)
    }
}

/// How far a week has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeekState {
    /// It is not over.
    Open,
    /// It is over, but not all of its segments are sealed yet.
    Sealing,
    /// Its files do not change any more.
    Sealed,
}

/// A week of the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// As in `2026-W47`.
    pub week: String,
    /// How far it has come.
    pub state: WeekState,
    /// Its segments.
    pub segments: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their samples.
    pub samples: u64,
}

/// What the segments hold of a PV. Recent samples, which are not packed yet, are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PvSize {
    /// Samples, repeats included.
    pub samples: u64,
    /// Bytes of their blocks and of the tables that belong to them.
    pub bytes: u64,
    /// When the first of them was.
    pub first: Timestamp,
    /// When the last of them was.
    pub last: Timestamp,
}

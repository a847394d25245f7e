//! Segments: blocks of many PVs in one immutable file, found by number of the PV.

mod directory;
mod names;
mod reader;
mod tables;
mod writer;

use sample::{PvId, Timestamp, ValueType};

pub(crate) use directory::{Record, Table};
pub(crate) use names::Named;
pub(crate) use reader::Segment;
pub(crate) use writer::SegmentWriter;

/// What the catalogue knows of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// The order of writing: of segments with samples of equal time the one with the lower number was written earlier.
    pub(crate) sequence: u64,
    /// The highest number of the segments that were merged into this one; its own if it came from a flush.
    pub(crate) last: u64,
    pub(crate) key: String,
    pub(crate) bytes: u64,
    /// Where its blocks end, and everything by which they are found begins.
    pub(crate) tables_at: u64,
    pub(crate) blocks: u64,
    pub(crate) samples: u64,
    pub(crate) t0: Timestamp,
    pub(crate) t1: Timestamp,
    pub(crate) first_pv: PvId,
    pub(crate) last_pv: PvId,
}

impl Manifest {
    /// The folder of the week in which it was written.
    pub(crate) fn folder(&self) -> &str {
        self.key.split('/').next().unwrap_or_default()
    }

    /// Whether it may hold samples of a PV.
    pub(crate) fn may_hold(&self, pv: PvId) -> bool {
        (self.first_pv..=self.last_pv).contains(&pv)
    }
}

/// Where a block lies and what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) offset: u64,
    pub(crate) len: u32,
    pub(crate) count: u32,
    pub(crate) value_type: ValueType,
    pub(crate) t0: Timestamp,
    pub(crate) t1: Timestamp,
}

#[cfg(test)]
mod tests;

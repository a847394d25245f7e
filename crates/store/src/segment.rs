//! Segments: blocks of many PVs in one immutable file, found by number of the PV.

mod directory;
mod levels;
mod names;
mod reader;
mod tables;
mod writer;

use sample::{Timestamp, ValueType};

pub(crate) use directory::{Record, Table};
pub(crate) use levels::take_rows as take_level_rows;
pub(crate) use names::Named;
pub(crate) use reader::Segment;
pub(crate) use writer::SegmentWriter;

pub(crate) use crate::manifest::Manifest;

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

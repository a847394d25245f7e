//! Segments: blocks of many PVs in one immutable file, found by number of the PV.
//!
//! ```text
//!   writer ◄─ fill (a batch in blocks)        directory   which PVs, and where their tables are; read from the end
//!     │                                       entry       a block in the index of its PV
//!     ├─► blocks of PV after PV               tables      indexes and summaries, in columns
//!     ├─► tables, levels                      levels      summaries of stretches of time; pyramid: how bins are made of them
//!     └─► names, directory, footer            names       which PVs the numbers mean
//!   reader ─► directory ─► tables ─► blocks   manifest    what the catalogue knows of a segment; week, whose: where it lies, and whose it is
//! ```

mod directory;
mod entry;
mod file;
pub(crate) mod fill;
pub(crate) mod format;
pub(crate) mod fuzz;
mod levels;
mod levels_check;
pub(crate) mod manifest;
mod names;
mod pyramid;
mod reader;
mod stream;
mod tables;
pub(crate) mod week;
pub(crate) mod whose;
mod writer;

pub(crate) use directory::{DirectoryRecord, Table};
pub(crate) use entry::Entry;
pub(crate) use levels_check::LevelsCheck;
pub(crate) use names::{Named, names_bytes};
pub(crate) use pyramid::Pyramid;
pub(crate) use reader::{CachedPages, Segment};
pub(crate) use stream::Stream;
pub(crate) use writer::SegmentWriter;

pub(crate) use crate::segment::manifest::Manifest;

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;

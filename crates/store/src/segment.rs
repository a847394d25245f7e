//! Segments: blocks of many PVs in one immutable file, found by number of the PV.

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

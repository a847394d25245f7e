//! The byte in front of integers that says by which codec they are written.

pub(crate) const CONSTANT: u8 = 0;
pub(super) const PACKED: u8 = 1;
pub(super) const DELTA: u8 = 2;
pub(super) const RUNS: u8 = 3;
pub(super) const PCO: u8 = 4;
pub(super) const PATCHED: u8 = 5;
pub(super) const PATCHED_DELTA: u8 = 6;
pub(super) const DICTIONARY: u8 = 7;

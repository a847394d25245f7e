//! What the configurations of other archivers come to here, whichever they are of, and ChannelFinder's, which is of none.
//!
//! ```text
//!   an archiver's own files ──► its crate (aa, chanarch) ──┐
//!   channels with hints from ChannelFinder ──► finder ─────┴──► Carried ──► TOML, PVs, notes
//!                                                   xml    what of XML these files use
//! ```
//!
//! What cannot be carried over is a note with its file and line.

#![deny(missing_docs)]

mod carried;
mod finder;
mod xml;

pub use carried::{CarriedOver, Group, Note, OldStore, Policy, Pv, period, quoted, rule_name};
pub use finder::read_channels;
pub use xml::{Mark, Marks, marks};

//! The Channel Archiver: its configurations, turned into this archive's. Everything is read as text; nothing is executed.
//!
//! ```text
//!   lists            lines of names: `.archive` files, Channel Archiver ≤ 1.x
//!   engine_config    engineconfig.xml, Channel Archiver ≥ 2
//! ```
//!
//! What cannot be carried over is a note with its file and line.

#![deny(missing_docs)]

mod engine_config;
mod lists;

pub use engine_config::read_engine_config;
pub use lists::read_list;

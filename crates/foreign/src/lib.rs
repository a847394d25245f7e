//! Configurations of other archivers, turned into this one's. Everything is read as text; nothing is executed.
//!
//! ```text
//!   lists       lines of names: `.archive` files, Channel Archiver ≤ 1.x      engine    engineconfig.xml, Channel Archiver ≥ 2
//!   policies    policies.py of the Archiver Appliance                         stores    its store URLs
//!   settings    its archappl.properties and appliances.xml                    finder    channels with hints from ChannelFinder
//!                                    └─────────► Carried ─► TOML, PVs, notes
//! ```
//!
//! What cannot be carried over is a note with its file and line.

#![deny(missing_docs)]

mod carried;
mod engine;
mod finder;
mod lists;
mod policies;
mod python;
mod settings;
mod stores;
mod xml;

pub use carried::{Carried, Group, Note, OldStore, Policy, Pv};
pub use engine::read_engine_config;
pub use finder::read_channels;
pub use lists::read_list;
pub use policies::read_policies;
pub use settings::{read_appliances, read_properties};

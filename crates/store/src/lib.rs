//! The storage engine: log, head, immutable compressed blocks, catalogue.
//!
//! ```text
//!                      ┌─► log (write(), synced each `durable`)            kept until its samples are in blocks
//!   Writer::append ────┤
//!                      └─► head (memory, readable at once) ──flush──► segment of blocks ──► catalogue
//!
//!   Reader ◄── one snapshot of {head, head being flushed, segments}, merged by time
//! ```
//!
//! The store knows no network, no protocol and no clock: whoever needs the time passes `now`.

#![deny(missing_docs)]

mod audit;
mod away;
mod backup;
#[doc(hidden)]
pub mod bench;
mod block;
mod block_format;
mod bytes;
mod catalog;
mod check;
mod codec;
mod compact;
mod config;
mod cut;
mod deletion;
pub mod disk;
mod engine;
mod error;
mod field;
mod field_rules;
mod flush;
mod frames;
#[doc(hidden)]
pub mod fuzz;
mod gather;
#[cfg(test)]
mod golden;
mod head;
mod health;
mod home;
mod idle_rules;
mod import;
mod locks;
mod log;
mod log_arrays;
mod log_files;
mod log_format;
#[cfg(test)]
mod log_golden;
mod log_scan;
mod manifest;
mod mark;
mod merge;
mod moving;
mod named;
mod names;
mod newest;
mod outline;
mod part_hash;
mod partitions;
mod parts;
mod patient;
mod places;
mod plain;
mod policy;
mod purge;
mod quarantine;
mod read_ahead;
mod reader;
mod real_disk;
mod rebuild;
mod recover;
mod registry;
mod remembered;
mod repair;
mod repeats;
mod reserve;
mod retention;
mod roster;
mod scrub;
mod sections;
mod segment;
mod segment_format;
mod settle;
mod sizes;
mod sources;
mod spare;
mod store;
mod structure;
mod threads;
mod trim;
mod unfinished;
mod watched;
mod week;
mod whose;
mod writer;

pub use audit::{Action, AuditRecord};
pub use backup::{Backup, Kept, backup, take_over};
pub use check::{BadBlock, Progress, Report, StoredIn, check, check_with_ledger};
pub use config::{Config, Durable, Place, Purpose, Retention, Rule, Scrub};
pub use deletion::Deletion;
pub use error::Error;
pub use field::field_of;
pub use health::{Health, LevelHealth, PlaceHealth, ScrubHealth, Watermark, Work};
pub use import::{Import, ImportedPart};
pub use merge::{Cuts, Samples, Stretches};
pub use names::{NameChunk, Named, Names};
pub use part_hash::{old_part_hash, old_text_hash, part_hash};
pub use partitions::{Partition, WeekState};
pub use purge::{Purge, Purged};
pub use reader::{GapScope, Reader};
pub use registry::RemovedPv;
pub use repair::{Repair, Repairing, repair};
pub use sample::{Stretch, Summary};
pub use sizes::PvSize;
pub use store::Store;
pub use writer::Writer;

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

#[doc(hidden)]
pub mod bench;
mod block;
mod bytes;
mod cache;
mod catalog;
mod codec;
mod config;
mod directory;
pub mod disk;
mod engine;
mod error;
mod facts;
mod follower;
mod free_lists;
#[doc(hidden)]
pub mod fuzz;
mod head;
mod health;
mod log;
mod memos;
mod outbox;
mod owned;
mod places;
mod read;
mod reader;
mod rescue;
mod roster;
mod segment;
mod shard_backup;
mod source;
mod store;
mod tokens;
mod upkeep;
mod writer;

pub use catalog::chain::{AUDIT_HEAD, AuditHead, AuditProof};
pub use config::{Config, Durable, Place, Purpose, Retention, Rule, Scrub};
pub use error::Error;
pub use follower::Follower;
pub use owned::{LogFrames, ShardHealth, Shipping};
pub use read::merge::{Samples, Stretches};
pub use reader::Reader;
pub use rescue::{
    audit::verify_audit,
    backup::{Backup, Kept, backup, take_over, tell_backup},
    check::{BadBlock, Progress, Report, StoredIn, check, check_with_ledger},
    repair::{Repair, Repairing, repair},
};
pub use sample::{Stretch, Summary};
pub use shard_backup::{ShardBackup, backup_shard};
pub use store::{Store, shard::Closed};
pub use upkeep::{import::Import, taken::Offer};
pub use writer::Writer;

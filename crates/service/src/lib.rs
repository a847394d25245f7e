//! What can be asked of the archive and ordered, typed: HTTP, pvAccess and commands ask the same questions here, and get the same
//! answers.
//!
//! ```text
//!   front end ──► Ask { who, room, patience } ──► find, samples, bins, at a time, aligned, gaps, explain, ledger
//!                                              └► add, change, pause, remove, restore, delete, purge, groups, policies, import
//! ```
//! A front end takes a request apart into types, asks, and writes the answer in its own form. Nothing here knows HTTP, JSON or
//! pvAccess. Functions may block.

#![deny(missing_docs)]

mod account;
mod ask;
mod changes;
mod clock;
mod explain;
mod facts;
mod find;
mod glob;
mod ledger;
mod lists;
mod losses;
mod names;
mod orders;
mod policy_source;
mod proof;
mod reads;
mod refusal;
mod room;
mod seen;
mod service;

pub use account::LedgerAnswer;
pub use ask::Ask;
pub use clock::now;
pub use explain::{Explanation, Reason, Verdict};
pub use ledger::Step;
pub use lists::{Item, ItemName, NAMES_MAX, all_names, all_pvs, check_len, fitting, resolve};
pub use losses::sentence;
pub use names::{Pattern, is_glob};
pub use policy_source::{FileRules, PolicySource};
pub use proof::{Counter, Proof};
pub use refusal::{Code, Refusal, shortened};
pub use room::{Budget, Lease};
pub use seen::{Look, PVS_AT_ONCE, Seen, all_seen, seen};
pub use service::Service;
/// The nouns of answers that the store gives.
pub use store::{
    Action, AuditRecord, Deletion, Health, Import, ImportedPart, LevelHealth, Named, Names, Partition, PlaceHealth,
    Purge, Purged, PvSize, RemovedPv, ScrubHealth, Watermark, WeekState, Work, old_text_hash, part_hash,
};

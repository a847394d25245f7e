//! What can be asked of the archive and ordered, typed: HTTP, pvAccess and commands ask the same questions here, and get the same
//! answers.
//!
//! ```text
//!   front end ──► Ask { principal, rights, lease, is_gone } ──► find, samples, bins, at a time, aligned, gaps, explain, ledger, when
//!                                              └► add, change, pause, remove, restore, undo, delete, purge, groups, policies, import, nodes
//! ```
//! A front end takes a request apart into types, asks, and writes the answer in its own form. Nothing here knows HTTP, JSON or
//! pvAccess. Functions may block.

#![deny(missing_docs)]

mod account;
mod ask;
mod budget;
mod changes;
mod clock;
mod cluster;
mod computed;
mod configured;
mod diff;
mod explain;
mod facts;
mod find;
mod glob;
mod import;
mod ledger;
mod lists;
mod live;
mod losses;
mod memos;
mod names;
mod near;
mod orders;
mod policies;
mod policy_source;
mod proof;
mod pvs;
mod reads;
mod refusal;
mod removals;
mod reports;
mod rights;
mod seen;
mod service;
mod status;
mod undo;
mod when;

pub use account::LedgerAnswer;
pub use ask::Ask;
pub use budget::{Budget, Lease, Share};
pub use clock::now;
pub use configured::Configured;
pub use diff::{Compared, DiffRow, DiffWanted};
pub use explain::{Explanation, Reason, Verdict};
pub use import::{Brought, Import, RefusedRow, Taken, TakenOver};
pub use ledger::Step;
pub use lists::{Item, ItemName, NAMES_MAX, check_len};
pub use live::{Event, Live};
pub use memos::{MEMOS_AT_ONCE, MemosWanted};
pub use names::{Pattern, is_glob};
pub use policies::{GroupRow, PolicyReach, RulesPlan};
pub use policy_source::{FileRules, PolicySource};
pub use proof::{Counter, Proof};
pub use pvs::{Details, PvPage, PvRow, PvsWanted};
pub use refusal::{Code, Refusal, shortened};
pub use removals::{Carry, DeletedRange, EveryName, Removal, Restoration, Switched};
pub use reports::{
    ChangedRow, ConsumedRow, DisconnectedRow, DroppedRow, EventRateRow, LostConnectionsRow, NamedRow, SilentRow,
    StorageRateRow, TimeSpanRow, WaveformRow,
};
pub use rights::Rights;
pub use seen::Seen;
pub use service::{Behind, Service};
pub use status::Status;
pub use when::When;

//! What can be asked of the archive and ordered, typed: every front end asks the same questions here and gets the same answers. The
//! only one today is HTTP (`web`).
//!
//! ```text
//!   front end ──► Ask { principal, rights, lease, is_gone } ──► find, samples, bins, at a time, aligned, gaps, explain, ledger, when, exports
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
mod exports;
mod facts;
mod find;
mod history;
mod import;
mod iocs;
mod ledger;
mod list;
mod lists;
mod live;
mod losses;
mod meant;
mod memos;
mod names;
mod near;
mod orders;
mod pairs;
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
mod spectrum;
mod status;
mod table;
mod tree;
mod unanswered;
mod undo;
mod when;
mod without;

pub use account::LedgerAnswer;
pub use ask::Ask;
pub use budget::{Budget, Lease, Share};
pub use clock::now;
pub use computed::{ArraySteps, FormulaSteps};
pub use configured::Configured;
pub use diff::{Compared, ComparedPv, DiffRow, DiffWanted};
pub use explain::{Explanation, Reason, Verdict};
pub use exports::{
    CELL_CHARS_MAX, Draft, EXPORT_PVS_MAX, ExportFile, ExportJob, ExportPlan, ExportPv, ExportRows, ExportState,
    ExportTally, ExportWanted, Exports, ExportsConfig, Form, Make, RowTimes, SHEET_ROWS_MAX, SHEETS_MAX, Scratch,
};
pub use history::{AuditPage, AuditWanted};
pub use import::{Brought, Import, RefusedRow, Taken, TakenOver};
pub use iocs::{IocRow, IocsWanted};
pub use ledger::Step;
pub use list::{Count, Facets, ListPage, ListWanted, ListedRow, SortBy, WITHOUT};
pub use lists::{Item, ItemName, NAMES_MAX, check_len};
pub use live::{Event, Live};
pub use meant::{Meant, Short};
pub use memos::{MEMOS_AT_ONCE, MemosWanted};
pub use names::{Pattern, is_glob};
pub use pairs::{PAIRS_MAX, PairsWanted};
pub use policies::{GroupRow, PolicyReach, RulesPlan};
pub use policy_source::{FileRules, PolicySource};
pub use proof::{Counter, Proof};
pub use pvs::{Details, PvPage, PvRow, PvsWanted};
pub use refusal::{Code, Refusal, Untaken, first_few, shortened};
pub use removals::{Carry, DeletedRange, EveryName, Removal, Restoration, Switched};
pub use reports::{
    ChangedRow, ConsumedRow, DisconnectedRow, DroppedRow, EventRateRow, LostConnectionsRow, NamedRow, SilentRow,
    StorageRateRow, TimeSpanRow, WaveformRow,
};
pub use rights::{ByName, Rights};
pub use seen::{Seen, Sight};
pub use service::{Behind, Service};
pub use status::{Retained, Status};
pub use tree::{Separators, TreeChild, TreeLevel, TreeWanted};
pub use when::When;

//! The nouns of an archive, which everything above the network and the files speaks, and the seams between its parts.
//!
//! ```text
//!   PvName, PvId, PvEntry        which PV
//!   Fits                         patterns of their names
//!   PvSettings, Rules, Wishes    how it is archived, and what somebody asks of that
//!   Policies, Plan               by which rules PVs are archived, and what applying them anew would change
//!   Group                        PVs that are sampled only while others say so
//!   Roster                       the list of PVs, which acquisition follows and the store keeps
//!   Mirror                       the part of another archive's list of PVs that this one is to have as well
//!   Mark                         where an archive stands, so that another one can take over what it has by then
//!   Record, Sink                 the facts that acquisition hands to the store
//!   Principal, By                who ordered a change, as the archive establishes it and the audit keeps it
//!   Action, AuditRecord          what was changed: the lines of the audit
//!   Names                        all names at one moment, in order
//!   Deletion, RemovedPv, Purge   what was deleted, and what gives it up
//!   Memo                         what people write beside the samples: notes and views
//!   Undoable, UndoPlan           orders that can be taken back for a day
//!   Right, TokenRow, Tokens      what somebody may do, and how programs show who they are
//!   ledger                       what became of every update: what is counted, and where that is written down
//!   Directory, Curator, Intake   the list of PVs: as it is read, what is changed of it, and imports
//!   Storage, Health              how whatever holds the samples is doing, and how much lies where
//!   Orders, Rulebook, Standing   acquisition: what is recorded, by which rules, and where PVs stand
//!   Nodes                        a cluster: how its nodes stand, and what an operator orders of them
//!   Source                       whatever holds samples: the store, files of another archiver, another node, a cluster
//!   Touched                      which PVs changed since somebody looked last
//!   structure                    values that are structures, and their fields as samples
//! ```
//!
//! What a sample holds is in the crate `sample`. Nothing here does I/O or reads a clock.

#![deny(missing_docs)]

mod action;
mod audit;
mod curator;
mod deletion;
mod directory;
mod fits;
mod glob;
mod groups;
mod health;
mod import;
pub mod ledger;
mod memo;
mod mirror;
mod names;
mod nodes;
mod orders;
mod part_hash;
mod place_set;
mod plan;
mod policy;
mod pv;
mod right;
mod roster;
pub mod settings;
mod sink;
mod source;
mod standing;
mod storage;
pub mod structure;
mod tokens;
mod touched;
mod undo;

pub use action::{Action, AuditRecord};
pub use audit::{ARCHIVER, By, How, Principal, Way};
pub use curator::Curator;
pub use deletion::{Deletion, Purge, Purged, RemovedPv};
pub use directory::{Directory, DirectoryError, Fault, Numbered};
pub use fits::{Beginning, Fits, FitsError};
pub use glob::Glob;
pub use groups::{Group, GroupStatus, Keeper, Sense, Switch};
pub use health::{Health, LevelHealth, PlaceHealth, Room, ScrubHealth, Watermark, Work};
pub use import::{ImportedPart, Intake, NotTaken, Sent};
pub use ledger::{LEDGER_PREFIX, LEDGER_SHARES, LedgerScale, Unfinished, UnfinishedShare, ledger_share};
pub use memo::{
    LookAtMemo, MEMO_NAME_MAX, MEMO_PVS_MAX, MEMO_TEXT_MAX, MEMOS_BYTES_MAX, MEMOS_MAX, Memo, MemoError, MemoKind,
    MemoText,
};
pub use mirror::{Mark, Mirror, Mirrored};
pub use names::{NameChunk, NameKind, NamePlace, Named, Names, Neighbours, Places};
pub use nodes::{ClusterStanding, NodeFigures, NodeOrder, NodeStanding, NodeState, Nodes, ShardLag, SharedUse};
pub use orders::{AddRequest, Added, Change, Orders, Rulebook};
pub use part_hash::{old_part_hash, old_text_hash, part_hash};
pub use place_set::PlaceSet;
pub use plan::{Manual, Plan, Planned, Reach};
pub use policy::{Policies, Policy, PolicyError};
pub use pv::{NAME_BYTES_MAX, NameError, Outline, PvEntry, PvId, PvName};
pub use right::Right;
pub use roster::{DataFate, EntriesOr, OldName, Renaming, Roster};
pub use settings::{
    Changes, Copies, Deadband, FieldName, FieldPath, Keep, Method, Origin, Pipeline, Protocol, PvSettings, PvState,
    RateCap, RuleError, RuleName, Rules, Wishes,
};
pub use sink::{Record, Sink, VALUE_BYTES_MAX};
pub use source::{
    Carried, CarriedStream, Cost, Cuts, Extent, FROM_MEMORY_MAX, GapScope, Key, KeyedBy, KnownNames, LeavesOut, Role,
    SampleStream, Source, SourceError, SourceHealth, StretchStream, Stretches,
};
pub use standing::{Brief, Connection, Ioc, Recorder, Standing, Status, Totals, Traffic, Unanswered};
pub use storage::{BackupMade, KeptFor, KeptPvs, Partition, PvSize, Storage, WeekState, WeekToGo};
pub use tokens::{TokenRow, Tokens, TokensError};
pub use touched::{Touched, Touches};
pub use undo::{UNDO_FOR, UndoPlan, UndoStep, UndoTo, Undoable};

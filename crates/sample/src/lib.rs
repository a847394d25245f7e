//! The nouns of an archive: what a PV is, what one sample of it holds, and what else is recorded about it.
//!
//! ```text
//!   PvName, PvId, PvSettings     which PV, and how it is archived
//!   Timestamp, TimeRange         when, in nanoseconds since 1970
//!   Value, Column, Alarm         what it read, one at a time or many of a type
//!   Sample, Batch                a row, and the columns of many rows of one type
//!   Summary, Stretch             what many of them amount to, so that bins need not look at each
//!   Stamp, Quality               what is to be said of a time that is out of the ordinary
//!   Metadata, Gap                what the numbers mean, and where there are none
//!   Record, Bare, Sink           the facts that acquisition hands to the store
//!   Rules, Group                 what is asked of sampling beyond the method, and PVs that switch others
//!   Wishes                       what of all that somebody says, and what is left open
//!   OldArchive                   an archive of another archiver, read where it lies
//!   Roster                       the list of PVs, which acquisition follows and the store keeps
//!   LedgerScale, Unfinished      where the archive writes down what became of every update
//! ```
//!
//! Nothing here does I/O, reads a clock or knows a file or wire format.

#![deny(missing_docs)]

mod alarm;
mod batch;
mod column;
mod gap;
mod groups;
mod ledger;
mod meta;
mod old;
mod pv;
mod roster;
mod rules;
mod sink;
mod stamp;
mod summary;
mod time;
mod typed;
mod value;
mod wishes;

pub use alarm::{Alarm, Severity};
pub use batch::{Batch, Runs, Sample};
pub use column::{Arrays, Blobs, Column, Strings};
pub use gap::{Gap, GapCause};
pub use groups::{Group, Sense, Switch};
pub use ledger::{LEDGER_PREFIX, LEDGER_SHARES, LedgerScale, Unfinished, UnfinishedShare, ledger_share};
pub use meta::{Limits, Metadata};
pub use old::{Carried, OldArchive, OldError, OldFields, OldHealth, OldSamples, OldStretches};
pub use pv::{Method, NAME_BYTES_MAX, NameError, Protocol, PvEntry, PvId, PvName, PvSettings, PvState};
pub use roster::{By, DataFate, EntriesOr, OldName, Renaming, Roster};
pub use rules::{Changes, Deadband, FieldName, FieldPath, Keep, Origin, Pipeline, RateCap, RuleError, RuleName, Rules};
pub use sink::{Bare, Record, Sink, VALUE_BYTES_MAX};
pub use stamp::{Quality, Stamp, Stamps};
pub use summary::{Stretch, Summary};
pub use time::{TimeError, TimeRange, Timestamp};
pub use value::{Element, Shape, Value, ValueType};
pub use wishes::Wishes;

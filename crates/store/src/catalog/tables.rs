//! The tables of the catalogue, and what stands in the smallest of them.

use redb::TableDefinition;
use sample::Timestamp;

/// The key of the catalogue, and the mark of an archive.
pub(crate) const CATALOGUE: &str = "catalogue.redb";
pub(crate) const NEW_KEY: &str = "catalogue.new";
pub(crate) const META: TableDefinition<&str, u64> = TableDefinition::new("meta");
pub(crate) const PVS: TableDefinition<u32, &[u8]> = TableDefinition::new("pvs");
pub(crate) const METADATA: TableDefinition<(u32, i64), &[u8]> = TableDefinition::new("metadata");
/// (PV, from, cause) → (to, lost)
pub(crate) const GAPS: TableDefinition<(u32, i64, u8), (i64, u64)> = TableDefinition::new("gaps");

/// Gaps that have no end yet → lost
pub(crate) const OPEN_GAPS: TableDefinition<(u32, i64, u8), u64> = TableDefinition::new("open_gaps");
/// (from, cause) → (to, lost)
pub(crate) const ARCHIVER_GAPS: TableDefinition<(i64, u8), (i64, u64)> = TableDefinition::new("archiver_gaps");
/// (sequence, part) → manifest
pub(crate) const SEGMENTS: TableDefinition<(u64, u32), &[u8]> = TableDefinition::new("segments");

/// "untold" → what came behind the last rows of the ledger
pub(crate) const LEDGER: TableDefinition<&str, &[u8]> = TableDefinition::new("ledger");
pub(crate) const UNTOLD: &str = "untold";

/// Epoch → frames of its log below are in segments. Not there in archives that no other node ever had.
pub(crate) const TAKEN: TableDefinition<u64, u64> = TableDefinition::new("taken");

/// Name of a place that was used → its folder, for programs that have no configuration
pub(crate) const PLACES: TableDefinition<&str, &str> = TableDefinition::new("places");

/// Other names → PV
pub(crate) const ALIASES: TableDefinition<&str, u32> = TableDefinition::new("aliases");
/// Number → a deleted range
pub(crate) const DELETIONS: TableDefinition<u64, &[u8]> = TableDefinition::new("deletions");
/// (Import, part) → (samples, bytes)
pub(crate) const IMPORTS: TableDefinition<(&str, &str), (u64, u64)> = TableDefinition::new("imports");
/// (Import, part) → (gaps, changes of metadata), of those that had any. Not there in archives that were made before it.
pub(crate) const IMPORTED_FACTS: TableDefinition<(&str, &str), (u64, u64)> = TableDefinition::new("imported_facts");
/// (Import, part) of those that were entered and not found whole yet. Not there in archives that were made before it.
pub(crate) const IMPORTED_UNVERIFIED: TableDefinition<(&str, &str), ()> = TableDefinition::new("imported_unverified");
/// Name of a group → its switches. Not there in archives that were made before it.
pub(crate) const GROUPS: TableDefinition<&str, &[u8]> = TableDefinition::new("groups");
/// Number → what was done.
pub(crate) const AUDIT: TableDefinition<u64, &[u8]> = TableDefinition::new("audit");
/// Number of a line → its hash. Not there in archives that were made before it.
pub(crate) const CHAIN: TableDefinition<u64, [u8; 32]> = TableDefinition::new("audit_chain");
/// (PV, path of the field, from) → (to, samples that had it)
pub(crate) const FIELD_GAPS: TableDefinition<(u32, &str, i64), (i64, u64)> = TableDefinition::new("field_gaps");
/// The number and part of a segment → its row as it was
pub(crate) const LOST: TableDefinition<(u64, u32), &[u8]> = TableDefinition::new("lost_segments");
/// Id → what is kept of a token. Not there in archives in which none was made.
pub(crate) const TOKENS: TableDefinition<&str, &[u8]> = TableDefinition::new("tokens");
/// Number of the first line of the audit of an order → (how many PVs can be taken back, 1 if any was taken out or brought back). Not there
/// in archives that were made before it.
pub(crate) const ORDERS: TableDefinition<u64, (u64, u8)> = TableDefinition::new("orders");
/// A row about a PV before an order, and what that made of it.
pub(crate) type OrderRow<'r> = (&'r [u8], &'r [u8]);
/// (Order, PV) → its rows. Not there in archives that were made before it.
pub(crate) const BEFORE: TableDefinition<(u64, u32), OrderRow<'static>> = TableDefinition::new("orders_before");
/// Number → a memo. Not there in archives in which none was written.
pub(crate) const MEMOS: TableDefinition<u64, &[u8]> = TableDefinition::new("memos");
/// Name of a view → its number.
pub(crate) const VIEWS: TableDefinition<&str, u64> = TableDefinition::new("views");

/// The name in `meta` that says that no row of metadata repeats another.
pub(crate) const METADATA_TIDIED: &str = "metadata_tidied";

/// Up to where the log is in segments, and what was counted until there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    /// The first frame of the log that is not in segments.
    pub(crate) frame: u64,
    /// Samples ever appended before that frame.
    pub(crate) appended: u64,
    /// When the archiver was last known to be alive; none in an archive that never was.
    pub(crate) alive: Option<Timestamp>,
    /// The number of the next segment.
    pub(crate) next_segment: u64,
}

/// What a transaction reads.
pub(super) struct Tables(pub(super) redb::ReadTransaction);

impl Tables {
    pub(super) fn meta(&self, name: &str) -> Result<Option<u64>, redb::Error> {
        Ok(self.0.open_table(META)?.get(name)?.map(|value| value.value()))
    }
}

pub(super) fn unreadable(what: &str) -> redb::Error {
    redb::Error::Corrupted(format!("{what} cannot be read"))
}

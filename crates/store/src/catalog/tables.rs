//! The tables of the catalogue, and what stands in the smallest of them.

use redb::TableDefinition;
use sample::Timestamp;

use super::changes::Transaction;

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

pub(super) fn put_position(transaction: &Transaction, position: Position) -> Result<(), redb::Error> {
    let mut meta = transaction.open_table(META)?;
    meta.insert("frame", position.frame)?;
    meta.insert("appended", position.appended)?;
    meta.insert("next_segment", position.next_segment)?;
    if let Some(alive) = position.alive {
        meta.insert("alive", alive.nanos() as u64)?;
    }
    Ok(())
}

pub(super) fn unreadable(what: &str) -> redb::Error {
    redb::Error::Corrupted(format!("{what} cannot be read"))
}

//! The balance: by how much the samples in the segments differ from those that were appended, and since when that is counted.
//!
//! ```text
//!   appended since `from`  =  samples in the segments  +  balance  +  samples in the log behind the position
//! ```
//! A flush adds what it dropped (repeats, purged PVs). A merge, a removal or a repair adds what the segments hold less, an import
//! takes off what it brought. So a check can hold what is there against the ledger, whose rows tell of all that was appended.

use redb::ReadableTable;
use sample::Timestamp;

use super::{
    changes::Transaction,
    tables::{META, SEGMENTS, unreadable},
    wire,
};
use crate::segment::manifest::Manifest;

const FROM: &str = "balance_from";
const BALANCE: &str = "balance";

/// As the catalogue has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Balance {
    /// Rows of the ledger count that begin at this time or later.
    pub(crate) from: Timestamp,
    /// The samples appended since then, less those that the segments hold.
    pub(crate) samples: i64,
}

/// None in an archive in which it was not begun.
pub(super) fn read(meta: &impl ReadableTable<&'static str, u64>) -> Result<Option<Balance>, redb::Error> {
    let number = |name| Ok::<_, redb::Error>(meta.get(name)?.map(|value| value.value().cast_signed()));
    let (from, samples) = (number(FROM)?, number(BALANCE)?);
    Ok(from.zip(samples).map(|(from, samples)| Balance { from: Timestamp::from_nanos(from), samples }))
}

/// Begins at `from`, when the log has so many samples behind the position; goes on if it was begun.
pub(super) fn begin(transaction: &Transaction, from: Timestamp, in_log: u64) -> Result<(), redb::Error> {
    let mut meta = transaction.open_table(META)?;
    if read(&*meta)?.is_none() {
        let mut held = in_log.cast_signed();
        for row in transaction.open_table(SEGMENTS)?.iter()? {
            held = held.saturating_add(segment(row?.1.value())?.samples.cast_signed());
        }
        meta.insert(FROM, from.nanos().cast_unsigned())?;
        meta.insert(BALANCE, held.saturating_neg().cast_unsigned())?;
    }
    Ok(())
}

/// What is known of samples that are gone does not count any more; the next start begins anew.
pub(super) fn forget(transaction: &Transaction) -> Result<(), redb::Error> {
    let mut meta = transaction.open_table(META)?;
    meta.remove(FROM)?;
    meta.remove(BALANCE)?;
    Ok(())
}

/// Puts segments into the catalogue and takes others out, and gives by how much the samples became more.
pub(super) fn put_segments(
    transaction: &Transaction,
    old: &[(u64, u32)],
    new: &[Manifest],
) -> Result<i64, redb::Error> {
    let mut table = transaction.open_table(SEGMENTS)?;
    let mut more = 0_i64;
    for id in old {
        if let Some(row) = table.remove(id)? {
            let gone = segment(row.value())?;
            transaction.drops_segment(&gone.key);
            more = more.saturating_sub(gone.samples.cast_signed());
        }
    }
    for manifest in new {
        let before = table.insert(manifest.id(), wire::manifest_bytes(manifest).as_slice())?;
        if let Some(row) = before {
            let before = segment(row.value())?;
            transaction.drops_segment(&before.key);
            more = more.saturating_sub(before.samples.cast_signed());
        }
        transaction.names_segment(&manifest.key);
        more = more.saturating_add(manifest.samples.cast_signed());
    }
    Ok(more)
}

/// Adds to the balance: samples that were appended and are in no segment.
pub(super) fn add(transaction: &Transaction, samples: i64) -> Result<(), redb::Error> {
    let mut meta = transaction.open_table(META)?;
    if let Some(balance) = read(&*meta)? {
        meta.insert(BALANCE, balance.samples.saturating_add(samples).cast_unsigned())?;
    }
    Ok(())
}

/// A row of the segments.
fn segment(row: &[u8]) -> Result<Manifest, redb::Error> {
    wire::manifest((0, 0), row).ok_or(unreadable("the entry of a segment"))
}

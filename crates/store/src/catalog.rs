//! The catalogue: what is small and must be exact, in one redb file. PVs and their settings, metadata and gaps, the list of
//! segments, and up to where the log is in them.
//!
//! A flush ends with one transaction: until it the samples are in the log, from it on they are in the segment.

mod audit;
mod balance;
pub(crate) mod chain;
pub(crate) mod change;
pub(crate) mod changes;
pub(crate) mod copy;
mod database;
pub(crate) mod deletion;
mod doubt;
mod field;
mod field_gaps;
mod file;
mod gaps;
pub(crate) mod image;
pub(crate) mod imports;
pub(crate) mod last_names;
mod lost;
pub(crate) mod memos;
mod mend;
mod metadata_rows;
mod new;
mod pvs;
mod pvs_wire;
pub(crate) mod registry;
mod rules_wire;
pub(crate) mod tables;
mod taken;
mod tokens;
pub(crate) mod turnover;
pub(crate) mod undo;
pub(crate) mod unfinished;
mod wire;

use archive::AuditRecord;
use redb::ReadableTable;
use sample::{Gap, GapCause, Timestamp};

use audit::put_audit;
pub(crate) use balance::Balance;
pub(crate) use chain::{AuditHead, AuditProof};
use changes::{Transaction, put_position};
pub(crate) use database::Catalog;
pub(crate) use field_gaps::FieldGap;
pub(crate) use metadata_rows::Tidying;
pub(crate) use new::create_from;
pub(crate) use pvs_wire::{archived_bytes, own_bytes, removed_bytes};
use tables::{ARCHIVER_GAPS, LEDGER, META, PLACES, Position, SEGMENTS, UNTOLD, unreadable};
pub(crate) use taken::Taken;

use crate::{
    Error,
    catalog::unfinished::Untold,
    facts::{self, Facts},
    segment::manifest::Manifest,
};

/// What is written down of the reason why segments take the place of others.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Told<'a> {
    pub(crate) audit: &'a [AuditRecord],
    pub(crate) field_gaps: &'a [FieldGap],
    /// Segments of which not all samples are in those that take their places.
    pub(crate) lost: &'a [Manifest],
}

/// What is known at a start of what was before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Restart<'a> {
    /// The last sign of life; none in an archive that never was.
    pub(crate) alive: Option<Timestamp>,
    /// How many samples the log has behind the position.
    pub(crate) samples: u64,
    /// Gaps for samples that the log had and that cannot be read any more.
    pub(crate) lost: &'a [Gap],
}

impl Catalog {
    pub(crate) fn position(&self) -> Result<Position, Error> {
        self.read(|tables| {
            Ok(Position {
                frame: tables.meta("frame")?.unwrap_or(0),
                appended: tables.meta("appended")?.unwrap_or(0),
                alive: tables.meta("alive")?.map(|nanos| Timestamp::from_nanos(nanos as i64)),
                next_segment: tables.meta("next_segment")?.unwrap_or(0),
            })
        })
    }

    /// When the archiver was last started, or in an older archive was last known to be alive at a flush; none if it never was.
    pub(crate) fn began(&self) -> Result<Option<Timestamp>, Error> {
        self.read(|tables| {
            let nanos = tables.meta("began")?.or(tables.meta("alive")?);
            Ok(nanos.map(|nanos| Timestamp::from_nanos(nanos as i64)))
        })
    }

    /// What came behind the last rows of the ledger, up to where the log is in segments.
    pub(crate) fn untold(&self, position: Position, pvs: u32) -> Result<Untold, Error> {
        self.read(|tables| {
            let bytes = match tables.0.open_table(LEDGER) {
                Ok(table) => table.get(UNTOLD)?.map(|row| row.value().to_owned()),
                Err(redb::TableError::TableDoesNotExist(_)) => None,
                Err(error) => return Err(error.into()),
            };
            // Older programs do not know of it, and leave it as it was when they flush. A log from which nothing was ever taken has
            // everything.
            let known = bytes.and_then(|bytes| wire::untold(&bytes, position.frame, pvs));
            Ok(known.unwrap_or(Untold::new(position.frame == 0)))
        })
    }

    /// The segments in the order of their writing.
    pub(crate) fn segments(&self) -> Result<Vec<Manifest>, Error> {
        self.read(|tables| {
            let mut segments = Vec::new();
            for row in tables.0.open_table(SEGMENTS)?.iter()? {
                let (id, bytes) = row?;
                segments.push(wire::manifest(id.value(), bytes.value()).ok_or(unreadable("the entry of a segment"))?);
            }
            Ok(segments)
        })
    }

    /// The end of a flush: what was in a head of so many samples is in the catalogue and in a segment (none if there were no samples).
    pub(crate) fn commit_flush(
        &self,
        (segment, samples): (Option<&Manifest>, u64),
        facts: &Facts,
        position: Position,
        untold: &Untold,
    ) -> Result<(), Error> {
        self.write(|transaction| {
            let more = balance::put_segments(transaction, &[], segment.map(std::slice::from_ref).unwrap_or_default())?;
            let is_first =
                transaction.open_table(META)?.get("frame")?.is_none_or(|frame| frame.value() != position.frame);
            if is_first {
                balance::add(transaction, samples.cast_signed().saturating_sub(more))?;
            } // else it was tried before, and held
            gaps::put_facts(transaction, facts)?;
            let untold = wire::untold_bytes(untold, position.frame);
            transaction.open_table(LEDGER)?.insert(UNTOLD, untold.as_slice())?;
            transaction.flushes(None, position.frame);
            put_position(transaction, position)
        })
    }

    /// The end of a merge, a move or a removal: some segments take the place of others.
    pub(crate) fn replace_segments(&self, old: &[(u64, u32)], new: &[Manifest], told: Told) -> Result<(), Error> {
        self.write_audited(|transaction| {
            put_audit(transaction, told.audit)?;
            field_gaps::put(transaction, told.field_gaps)?;
            lost::put(transaction, told.lost)?;
            let more = balance::put_segments(transaction, old, new)?;
            balance::add(transaction, more.saturating_neg())
        })
    }

    /// A repair has settled what is gone: from the next start on, the balance is counted anew.
    pub(crate) fn forget_balance(&self) -> Result<(), Error> {
        self.write(balance::forget)
    }

    /// The number of the archive, which its folder and its places carry; none in one that an older program or a repair made.
    pub(crate) fn archive(&self) -> Result<Option<u64>, Error> {
        self.read(|tables| tables.meta("archive"))
    }

    /// Gives the archive its number.
    pub(crate) fn put_archive(&self, archive: u64) -> Result<u64, Error> {
        self.write(|transaction| {
            transaction.open_table(META)?.insert("archive", archive)?;
            Ok(archive)
        })
    }

    /// Whether a place was never used.
    pub(crate) fn is_new_place(&self, name: &str) -> Result<bool, Error> {
        self.read(|tables| Ok(tables.0.open_table(PLACES)?.get(name)?.is_none()))
    }

    /// A place is in use, in a folder.
    pub(crate) fn put_place(&self, name: &str, folder: &str) -> Result<(), Error> {
        let known = self
            .read(|tables| Ok(tables.0.open_table(PLACES)?.get(name)?.is_some_and(|known| known.value() == folder)))?;
        if known {
            return Ok(());
        }
        self.write(|transaction| {
            transaction.open_table(PLACES)?.insert(name, folder)?;
            Ok(())
        })
    }

    /// Ends the gaps that are still open at the last sign of life, and records that the archiver was not running from then to `now`,
    /// and what the log lost.
    pub(crate) fn commit_restart(&self, restart: Restart<'_>, now: Timestamp) -> Result<(), Error> {
        self.write(|transaction| self::restart(transaction, restart, now))
    }
}

fn restart(transaction: &Transaction, restart: Restart<'_>, now: Timestamp) -> Result<(), redb::Error> {
    let alive = restart.alive;
    balance::begin(transaction, now.max(alive.unwrap_or(now)), restart.samples)?;
    for gap in restart.lost {
        let key = (gap.from.nanos(), facts::cause_number(gap.cause));
        transaction.open_table(ARCHIVER_GAPS)?.insert(key, (gap.to.unwrap_or(gap.from).nanos(), gap.lost))?;
    }
    if let Some(alive) = alive {
        gaps::end_open(transaction, alive)?;
        if alive < now {
            let key = (alive.nanos(), facts::cause_number(GapCause::ArchiverStopped));
            transaction.open_table(ARCHIVER_GAPS)?.insert(key, (now.nanos(), 0))?;
        }
    }
    let mut meta = transaction.open_table(META)?;
    meta.insert("alive", now.nanos() as u64)?;
    meta.insert("began", now.nanos() as u64)?;
    Ok(())
}

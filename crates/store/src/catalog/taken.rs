//! What the catalogue learns of epochs of other nodes: that one has begun, and that frames of its log are in segments.

use redb::ReadableTable;
use sample::Timestamp;

use super::{
    Restart, balance,
    database::Catalog,
    gaps, restart,
    tables::{LEDGER, META, TAKEN, UNTOLD},
    turnover, wire,
};
use crate::{Error, catalog::unfinished::Untold, facts::Facts, segment::manifest::Manifest};

/// The name in `meta` of the last epoch whose beginning the catalogue knows.
const EPOCH: &str = "epoch";

/// Frames of the log of an epoch that has ended.
#[derive(Debug)]
pub(crate) struct Taken<'a> {
    pub(crate) epoch: u64,
    /// Those below are in segments with it.
    pub(crate) end: u64,
    /// How many samples they had, and how many with those that the archive records of itself.
    pub(crate) appended: u64,
    pub(crate) samples: u64,
    /// When the last of them was written.
    pub(crate) lived: Option<Timestamp>,
    pub(crate) next_segment: u64,
    /// What came behind the last rows of the ledger; none for frames that were handed over.
    pub(crate) untold: Option<&'a Untold>,
}

impl Catalog {
    /// The last epoch whose beginning the catalogue knows; 0 if none.
    pub(crate) fn epoch(&self) -> Result<u64, Error> {
        self.read(|tables| Ok(tables.meta(EPOCH)?.unwrap_or(0)))
    }

    /// Frames of an epoch below are in segments, as far as they came here.
    pub(crate) fn taken(&self, epoch: u64) -> Result<u64, Error> {
        self.read(|tables| match tables.0.open_table(TAKEN) {
            Ok(table) => Ok(table.get(epoch)?.map_or(0, |end| end.value())),
            Err(redb::TableError::TableDoesNotExist(_)) => Ok(0),
            Err(error) => Err(error.into()),
        })
    }

    /// An epoch has begun whose first frame has that number: all before it is in segments. The one before was alive until then, and the
    /// archiver again from `now` on. Nothing is done if that is known.
    pub(crate) fn commit_epoch(
        &self,
        epoch: u64,
        first: u64,
        (alive, now): (Option<Timestamp>, Timestamp),
        untold: &Untold,
    ) -> Result<(), Error> {
        if self.epoch()? >= epoch {
            return Ok(());
        }
        self.write(|transaction| {
            restart(transaction, Restart { alive, samples: 0, lost: &[] }, now)?;
            turnover::put(transaction, epoch, (alive, now))?;
            let mut meta = transaction.open_table(META)?;
            meta.insert(EPOCH, epoch)?;
            meta.insert("frame", first)?;
            let untold = wire::untold_bytes(untold, first);
            transaction.open_table(LEDGER)?.insert(UNTOLD, untold.as_slice())?;
            Ok(())
        })
    }

    /// Frames of the log of an older epoch are in a segment (none if they had no samples). False if they were already.
    pub(crate) fn commit_taken(
        &self,
        segment: Option<&Manifest>,
        facts: &Facts,
        taken: &Taken<'_>,
    ) -> Result<bool, Error> {
        self.write(|transaction| {
            let mut table = transaction.open_table(TAKEN)?;
            if table.get(taken.epoch)?.is_some_and(|end| end.value() >= taken.end) {
                return Ok(false);
            }
            table.insert(taken.epoch, taken.end)?;
            let more = balance::put_segments(transaction, &[], segment.map(std::slice::from_ref).unwrap_or_default())?;
            balance::add(transaction, taken.samples.cast_signed().saturating_sub(more))?;
            gaps::put_facts(transaction, facts)?;
            let mut meta = transaction.open_table(META)?;
            let number = |name: &str| Ok::<_, redb::Error>(meta.get(name)?.map(|value| value.value()));
            let (appended, next) = (number("appended")?.unwrap_or(0), number("next_segment")?.unwrap_or(0));
            let (frame, alive) = (number("frame")?.unwrap_or(0), number("alive")?);
            meta.insert("appended", appended + taken.appended)?;
            meta.insert("next_segment", next.max(taken.next_segment))?;
            if let (Some(untold), Some(last)) = (taken.untold, taken.lived) {
                let alive = alive.map_or(last, |alive| last.max(Timestamp::from_nanos(alive as i64)));
                meta.insert("alive", alive.nanos() as u64)?;
                let untold = wire::untold_bytes(untold, frame);
                transaction.open_table(LEDGER)?.insert(UNTOLD, untold.as_slice())?;
            }
            drop(meta);
            if let (None, Some(last)) = (taken.untold, taken.lived) {
                turnover::lived(transaction, taken.epoch, last)?;
            }
            transaction.flushes(Some(taken.epoch), taken.end);
            Ok(true)
        })
    }
}

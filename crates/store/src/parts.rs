//! Parts: where samples of one PV are found, opened one stretch after the other in the order of their first times.
//!
//! ```text
//!   segment that may have some ──► its directory record ──► its index ──► block, block, block …
//! ```
//! Each step is taken when the merge has come to the time at which it matters, so that a query reads what it gives out and
//! little more. Neighbouring blocks are read at once and verified one by one.

use std::{
    ops::Range,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use sample::{Batch, PvId, TimeRange, Timestamp};

use crate::{
    Error, Summary,
    head::Piece,
    health::Counters,
    merge::{overlap, rows_within},
    segment::{Entry, Record, Segment, Table},
};

/// So much is read at once: what 360,000 samples of a noisy device take.
const RUN_BYTES_MAX: usize = 2 << 20;

/// A place in the order of writing: that of the part, then where in it.
pub(crate) type Order = (u64, u64);

/// What has samples of a PV that the merge has not come to yet.
#[derive(Debug)]
pub(crate) struct Part {
    /// Not later than any of them.
    pub(crate) t0: Timestamp,
    /// Of what was written earlier the order is less.
    pub(crate) order: u64,
    pub(crate) source: Source,
}

/// Where the samples of a part are.
#[derive(Debug)]
pub(crate) enum Source {
    /// Nowhere any more.
    Over,
    /// In memory.
    Rows(Piece),
    /// In a segment that may hold some.
    Segment(Lookup),
    /// In a segment that does, says its directory.
    Found(Lookup, Record),
    /// In blocks whose index was read.
    Blocks(Blocks),
}

/// What is looked for in a segment.
#[derive(Clone, Debug)]
pub(crate) struct Lookup {
    pub(crate) pv: PvId,
    pub(crate) segment: Arc<Segment>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) summaries: Summaries,
}

/// Whether the summaries of blocks are wanted with their index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Summaries {
    Read,
    Unread,
}

/// A stretch of samples of one type that has been opened, and how far it has been given out.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) order: Order,
    pub(crate) batch: Arc<Batch>,
    pub(crate) next: usize,
    pub(crate) end: usize,
}

impl Open {
    pub(crate) fn time(&self) -> Timestamp {
        self.batch.times()[self.next]
    }

    pub(crate) fn rows(&self) -> Range<usize> {
        self.next..self.end
    }
}

impl Part {
    /// Samples in memory; none if there are none.
    pub(crate) fn rows(piece: Piece, order: u64) -> Option<Part> {
        let t0 = *piece.batch.times().get(piece.rows.start)?;
        Some(Part { t0, order, source: Source::Rows(piece) })
    }

    /// A segment in which nobody has looked for the PV yet.
    pub(crate) fn segment(lookup: Lookup, order: u64) -> Part {
        Part { t0: lookup.segment.manifest.t0, order, source: Source::Segment(lookup) }
    }

    /// Some blocks of a segment; none if there are none.
    pub(crate) fn blocks(lookup: Lookup, entries: Vec<Entry>, order: u64) -> Option<Part> {
        let blocks = Blocks::new(lookup, entries, Vec::new());
        let t0 = blocks.entry()?.t0;
        Some(Part { t0, order, source: Source::Blocks(blocks) })
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.source, Source::Over)
    }

    /// Whether nobody knows yet what it has.
    pub(crate) fn is_unread(&self) -> bool {
        matches!(self.source, Source::Segment(_) | Source::Found(..))
    }

    /// Takes the next step: looks further into a segment, which gives nothing but perhaps a later `t0`, or opens a stretch of
    /// samples. After an error the part goes on behind what it cost. Of other blocks than those `wanted` nothing is read in
    /// advance, and nothing beyond `room` bytes.
    pub(crate) fn advance(
        &mut self,
        range: TimeRange,
        room: usize,
        wanted: &dyn Fn(&Blocks, usize) -> bool,
    ) -> Result<Option<Open>, Error> {
        match std::mem::replace(&mut self.source, Source::Over) {
            Source::Over => Ok(None),
            Source::Rows(Piece { batch, rows }) => Ok(open((self.order, 0), batch, rows)),
            Source::Segment(lookup) => {
                let record = lookup.segment.record(lookup.pv).map_err(|error| lookup.note(error))?;
                if let Some(record) = record.filter(|record| overlap(record.t0, record.t1, range)) {
                    self.t0 = record.t0;
                    self.source = Source::Found(lookup, record);
                }
                Ok(None)
            }
            Source::Found(lookup, record) => {
                let blocks = lookup.index(&record, range)?;
                self.go_on_with(blocks);
                Ok(None)
            }
            Source::Blocks(mut blocks) => {
                let offset = blocks.entry().map_or(0, |entry| entry.offset);
                let batch = blocks.read_next(room.min(RUN_BYTES_MAX), wanted);
                self.go_on_with(blocks);
                let batch = Arc::new(batch?);
                let rows = rows_within(&batch, range);
                Ok(open((self.order, offset), batch, rows))
            }
        }
    }

    fn go_on_with(&mut self, blocks: Blocks) {
        if let Some(entry) = blocks.entry() {
            self.t0 = entry.t0;
            self.source = Source::Blocks(blocks);
        }
    }

    /// Passes over the next block, whose summary was taken.
    pub(crate) fn skip_block(&mut self) {
        if let Source::Blocks(mut blocks) = std::mem::replace(&mut self.source, Source::Over) {
            blocks.next += 1;
            self.go_on_with(blocks);
        }
    }
}

fn open(order: Order, batch: Arc<Batch>, rows: Range<usize>) -> Option<Open> {
    (!rows.is_empty()).then_some(Open { order, batch, next: rows.start, end: rows.end })
}

impl Lookup {
    /// The blocks of the PV that may have samples within the range. If their summaries cannot be read they go without.
    fn index(self, record: &Record, range: TimeRange) -> Result<Blocks, Error> {
        let last = if self.summaries == Summaries::Read { Table::Summaries } else { Table::Index };
        let tables = self.segment.tables(record, Table::Index, last).map_err(|error| self.note(error))?;
        let mut entries = tables.index().map_err(|error| self.note(error))?;
        let mut summaries = match self.summaries {
            Summaries::Read => tables.summaries(&entries).map_err(|error| self.note(error)).unwrap_or_default(),
            Summaries::Unread => Vec::new(),
        };
        drop(tables);
        entries.retain(|entry| overlap(entry.t0, entry.t1, range));
        summaries.retain(|summary| overlap(summary.t0, summary.t1, range));
        Ok(Blocks::new(self, entries, summaries))
    }

    /// Tells an operator of what is damaged.
    fn note(&self, error: Error) -> Error {
        if matches!(error, Error::CorruptBlock { .. }) {
            self.counters.corrupt_blocks.fetch_add(1, Relaxed);
        }
        self.counters.problem(error.to_string());
        error
    }

    /// The samples of one block; damage is counted.
    pub(crate) fn read(&self, entry: &Entry) -> Result<Batch, Error> {
        self.segment.read(self.pv, entry).map_err(|error| self.note_damage(error))
    }

    fn note_damage(&self, error: Error) -> Error {
        if matches!(error, Error::CorruptBlock { .. }) { self.note(error) } else { error }
    }
}

/// Blocks of one PV in one segment, in the order of their first times.
#[derive(Debug)]
pub(crate) struct Blocks {
    lookup: Lookup,
    entries: Vec<Entry>,
    /// One for each entry, or none at all.
    summaries: Vec<Summary>,
    next: usize,
    /// What was read in advance, and where in the file it begins.
    run: Vec<u8>,
    run_at: u64,
}

impl Blocks {
    fn new(lookup: Lookup, mut entries: Vec<Entry>, mut summaries: Vec<Summary>) -> Blocks {
        // In nearly all segments the order of writing is the order of time.
        entries.sort_by_key(|entry| (entry.t0, entry.offset));
        summaries.sort_by_key(|summary| summary.t0);
        Blocks { lookup, entries, summaries, next: 0, run: Vec::new(), run_at: 0 }
    }

    /// The next block.
    pub(crate) fn entry(&self) -> Option<&Entry> {
        self.entries.get(self.next)
    }

    /// The block after the next one.
    pub(crate) fn entry_after(&self) -> Option<&Entry> {
        self.entries.get(self.next + 1)
    }

    /// The summary of the next block, if it can be had.
    pub(crate) fn summary(&self) -> Option<&Summary> {
        self.summary_at(self.next)
    }

    pub(crate) fn summary_at(&self, index: usize) -> Option<&Summary> {
        self.summaries.get(index)
    }

    /// The samples of the next block, which with its neighbours is read from disk unless it was before.
    fn read_next(&mut self, room: usize, wanted: &dyn Fn(&Blocks, usize) -> bool) -> Result<Batch, Error> {
        let index = self.next;
        let entry = self.entries[index];
        self.next += 1;
        if self.in_run(&entry).is_none() {
            self.read_run(index, room, wanted);
        }
        match self.in_run(&entry) {
            Some(bytes) => {
                let batch = self.lookup.segment.verify(self.lookup.pv, &entry, bytes);
                batch.map_err(|error| self.lookup.note_damage(error))
            }
            None => self.lookup.read(&entry),
        }
    }

    fn in_run(&self, entry: &Entry) -> Option<&[u8]> {
        let start = usize::try_from(entry.offset.checked_sub(self.run_at)?).ok()?;
        self.run.get(start..start.checked_add(entry.len as usize)?)
    }

    /// Reads a block and those behind it that are wanted next. If that fails, each is read for itself and tells what is wrong.
    fn read_run(&mut self, index: usize, room: usize, wanted: &dyn Fn(&Blocks, usize) -> bool) {
        let first = self.entries[index];
        let mut end = first.offset + u64::from(first.len);
        for (index, entry) in self.entries.iter().enumerate().skip(index + 1) {
            let longer = entry.offset + u64::from(entry.len);
            if entry.offset != end || longer - first.offset > room as u64 || !wanted(self, index) {
                break;
            }
            end = longer;
        }
        self.run_at = first.offset;
        let len = (end - first.offset) as usize;
        let read = if len > first.len as usize {
            self.lookup.segment.read_run(first.offset, len, &mut self.run)
        } else {
            Ok(())
        };
        if read.is_err() || len == first.len as usize {
            self.run = Vec::new();
        }
    }
}

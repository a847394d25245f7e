//! Parts: where samples of one PV are found, opened one stretch after the other in the order of their first times.
//!
//! ```text
//!   segment that may have some ──► its directory record ──► its index ──► block, block, block …
//!                                                      └──► a level   ──► row, row, row …  ──► the blocks of a row
//! ```
//! Each step is taken when the merge has come to the time at which it matters, so that a query reads what it gives out and
//! little more. Neighbouring blocks are read at once and verified one by one.

use std::{
    ops::Range,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use archive::{FROM_MEMORY_MAX, PvId};
use sample::{Batch, Element, Sample, TimeRange, Timestamp, ValueType};

use crate::{
    Error, Summary,
    block::{
        Opened, cut,
        field::Found,
        outline::{self, Detail, Outline},
        rows::{overlap, rows_within},
    },
    cache::{Remember, Remembered},
    catalog::deletion::Hidden,
    codec::frames::Player,
    free_lists,
    head::{Chunk, Piece},
    health::Counters,
    segment::{DirectoryRecord, Entry, Pyramid, Segment, Table},
};

/// One of arrays takes no more that would make it larger than this, unless it is a single one: of frames no more are made at once, and
/// they are passed on as they are.
pub(crate) const ARRAYS_BYTES_MAX: usize = 64 << 10;

/// So much is read at once: more would push what is decoded next out of the processor's cache.
const RUN_BYTES_MAX: usize = 256 << 10;
/// But of the blocks that come first no more than this, so that nobody waits for bytes that are sent later.
const RUN_BYTES_FIRST: usize = 64 << 10;
/// Where a disk or a network has to be waited for, each read costs more than the cache that it pushes out: what 360,000 samples of a
/// noisy device take is read at once.
const RUN_BYTES_COLD: usize = 2 << 20;

/// All queries together hold about so much that they have read in advance. Beyond it each reads little at once: a thousand that wait
/// for clients who do not read would hold gigabytes.
const RUNS_BYTES_MAX: usize = 4 << 20;
const RUN_BYTES_FEW: usize = 64 << 10;

/// The indexes of fewer blocks are read as fast as they are remembered.
const REMEMBERED_BLOCKS_MIN: usize = 16;

/// A place in the order of writing: that of the part, then where in it, then the row where one block is given out in pieces.
pub(crate) type Order = (u64, u64, u64);

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
    Memory(Arc<Batch>, Range<usize>),
    /// In memory, as frames.
    Frames(Box<PlayedFrames>),
    /// In a segment that may hold some.
    Segment(Lookup),
    /// In a segment that does, says its directory.
    Found(Lookup, DirectoryRecord),
    /// In blocks whose index was read.
    Blocks(Blocks),
    /// In stretches of time whose summaries were read.
    Rows(Box<Rows>),
}

/// Frames that are being played.
#[derive(Debug)]
pub(crate) struct PlayedFrames {
    player: Player,
    /// Where in its segment their block is; 0 of those in a head.
    offset: u64,
    /// What of them nobody may see.
    hidden: Hidden,
}

impl PlayedFrames {
    /// Those of a head.
    fn of_head(player: Player) -> PlayedFrames {
        PlayedFrames { player, offset: 0, hidden: Hidden::default() }
    }
}

/// What is looked for in a segment.
#[derive(Clone, Debug)]
pub(crate) struct Lookup {
    pub(crate) pv: PvId,
    pub(crate) segment: Arc<Segment>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) summaries: Summaries,
    /// Where indexes are remembered; none for whoever reads all of a segment once.
    pub(crate) memory: Option<Arc<Memory>>,
    /// What of it nobody may see: no summary and no level of what overlaps it tells the truth.
    pub(crate) hidden: Hidden,
    /// Whether what was read of it last did not lie in memory, so that what comes next will not either.
    pub(crate) is_cold: bool,
}

/// Which summaries are wanted.
#[derive(Clone, Debug)]
pub(crate) enum Summaries {
    /// None.
    Unread,
    /// What bins can be made of.
    Read(Binned),
}

/// Bins: of blocks, or where there are such of stretches of time, the summaries are wanted.
#[derive(Clone, Debug)]
pub(crate) struct Binned {
    pub(crate) edges: Arc<[Timestamp]>,
    /// Of so many nanoseconds all edges are multiples; none if no level has such stretches.
    pub(crate) width: Option<i64>,
    pub(crate) memory: Arc<Memory>,
}

/// What those who asked for bins have read.
#[derive(Debug)]
pub(crate) struct Memory {
    levels: Remembered<Pyramid>,
    indexes: Remembered<Index>,
    /// By the number of the segment and where in it the block is.
    cuts: Remembered<CutPieces, (u64, u64)>,
    outlines: Remembered<Outline, (u64, u64)>,
}

/// The pieces of a block, and whence they are known.
#[derive(Debug)]
pub(crate) enum Pieces {
    /// From the last time that it was cut at these edges.
    Remembered(Vec<Summary>),
    /// The block was read.
    Read(Vec<Summary>),
}

/// What the pieces of a block amount to into which edges cut it.
#[derive(Debug)]
struct CutPieces {
    edges: Box<[Timestamp]>,
    pieces: Box<[Summary]>,
}

/// Levels of ten minutes of nine PVs that came at 10 Hz for a year.
const LEVELS_BYTES: usize = 24 << 20;
/// The indexes of seven such PVs.
const INDEXES_BYTES: usize = 24 << 20;
/// A thousand cuts of each of twenty PVs.
const CUTS_BYTES: usize = 8 << 20;
/// The outlines of some five thousand blocks that were cut.
const OUTLINES_BYTES: usize = 32 << 20;

impl Default for Memory {
    fn default() -> Memory {
        Memory {
            levels: Remembered::within(LEVELS_BYTES),
            indexes: Remembered::within(INDEXES_BYTES),
            cuts: Remembered::within(CUTS_BYTES),
            outlines: Remembered::within(OUTLINES_BYTES),
        }
    }
}

impl Remember for CutPieces {
    fn bytes(&self) -> usize {
        size_of_val(&*self.edges) + size_of_val(&*self.pieces) + size_of::<CutPieces>()
    }
}

/// A stretch of samples of one type that has been opened, and how far it has been given out.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) order: Order,
    pub(crate) batch: Arc<Batch>,
    pub(crate) next: usize,
    pub(crate) end: usize,
}

/// What came of a step.
#[derive(Debug)]
pub(crate) enum Step {
    /// Nothing but knowledge of what comes.
    Looked,
    /// A stretch of samples.
    Open(Open),
    /// Frames, which are a part of their own: what follows in the segment may begin before they end.
    Frames(Box<Part>),
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
        let Piece { chunk, rows } = piece;
        let t0 = *chunk.times().get(rows.start)?;
        let source = match chunk {
            Chunk::Rows(batch) => Source::Memory(batch, rows),
            Chunk::Frames(frames) => Source::Frames(Box::new(PlayedFrames::of_head(frames.play(rows)))),
        };
        Some(Part { t0, order, source })
    }

    /// A segment in which nobody has looked for the PV yet.
    pub(crate) fn segment(lookup: Lookup, order: u64) -> Part {
        Part { t0: lookup.segment.manifest.t0, order, source: Source::Segment(lookup) }
    }

    /// Some blocks of a segment; none if there are none.
    pub(crate) fn blocks(lookup: Lookup, entries: Vec<Entry>, order: u64) -> Option<Part> {
        let blocks = Blocks::new(lookup, Listed::Own(Index::new(entries, Vec::new())));
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
    ) -> Result<Step, Error> {
        match std::mem::replace(&mut self.source, Source::Over) {
            Source::Over => Ok(Step::Looked),
            Source::Memory(batch, rows) => Ok(open((self.order, 0, 0), batch, rows)),
            Source::Frames(mut film) => {
                let row = film.player.next().map_or(0, |(row, _)| row as u64);
                let batch = Arc::new(film.hidden.filter(film.player.take(ARRAYS_BYTES_MAX)));
                let order = (self.order, film.offset, row);
                if let Some((_, t0)) = film.player.next() {
                    self.t0 = t0;
                    self.source = Source::Frames(film);
                }
                let rows = 0..batch.len();
                Ok(open(order, batch, rows))
            }
            Source::Segment(mut lookup) => {
                let begun = Instant::now();
                let record = lookup.segment.record(lookup.pv).map_err(|error| lookup.note(error))?;
                lookup.is_cold |= begun.elapsed() > FROM_MEMORY_MAX;
                if let Some(record) = record.filter(|record| overlap(record.t0, record.t1, range)) {
                    self.t0 = record.t0;
                    self.source = Source::Found(lookup, record);
                }
                Ok(Step::Looked)
            }
            Source::Found(mut lookup, record) => {
                match lookup.rows(&record, range) {
                    Some(rows) => self.go_on_with_rows(Box::new(Rows::new(lookup, record, rows))),
                    None => {
                        let index = lookup.index(&record, range)?;
                        self.go_on_with(Blocks::new(lookup, index));
                    }
                }
                Ok(Step::Looked)
            }
            Source::Rows(mut rows) => {
                let Some(mut blocks) = rows.open.take() else {
                    let opened = rows.open_row();
                    self.go_on_with_rows(rows);
                    return opened.map(|()| Step::Looked);
                };
                let offset = blocks.entry().map_or(0, |entry| entry.offset);
                let batch = blocks.read_next(room.min(RUN_BYTES_COLD), wanted);
                let window = blocks.window;
                rows.go_on_with(blocks);
                self.go_on_with_rows(rows);
                let batch = Arc::new(batch?);
                let within = rows_within(&batch, range);
                let shared = window.map_or(0..batch.len(), |(t0, t1)| {
                    batch.times().partition_point(|time| *time < t0)..batch.times().partition_point(|time| *time <= t1)
                });
                let shared = within.start.max(shared.start)..within.end.min(shared.end);
                Ok(open((self.order, offset, 0), batch, shared))
            }
            Source::Blocks(blocks) => self.open_block(blocks, range, room.min(RUN_BYTES_COLD), wanted),
        }
    }

    /// Opens the next block. Frames become a part of their own.
    fn open_block(
        &mut self,
        mut blocks: Blocks,
        range: TimeRange,
        room: usize,
        wanted: &dyn Fn(&Blocks, usize) -> bool,
    ) -> Result<Step, Error> {
        let offset = blocks.entry().map_or(0, |entry| entry.offset);
        let opened = blocks.open_next(room, wanted);
        let hidden = blocks.lookup.hidden.clone();
        self.go_on_with(blocks);
        match opened? {
            Opened::Whole(batch) => {
                let batch = Arc::new(hidden.filter(batch));
                let rows = rows_within(&batch, range);
                Ok(open((self.order, offset, 0), batch, rows))
            }
            Opened::Frames(mut player) => {
                let rows = rows_within(player.samples(), range);
                player.cut_to(rows);
                let film = PlayedFrames { player: *player, offset, hidden };
                Ok(film.player.next().map_or(Step::Looked, |(_, t0)| {
                    let source = Source::Frames(Box::new(film));
                    Step::Frames(Box::new(Part { t0, order: self.order, source }))
                }))
            }
        }
    }

    fn go_on_with(&mut self, blocks: Blocks) {
        if let Some(t0) = blocks.t0(blocks.next) {
            self.t0 = t0;
            self.source = Source::Blocks(blocks);
        }
    }

    fn go_on_with_rows(&mut self, rows: Box<Rows>) {
        if let Some(t0) = rows.t0() {
            self.t0 = t0;
            self.source = Source::Rows(rows);
        }
    }

    /// The summary of what comes next, if it is known.
    pub(crate) fn summary(&self) -> Option<&Summary> {
        match &self.source {
            Source::Blocks(blocks) => blocks.summary(),
            Source::Rows(rows) => match &rows.open {
                Some(blocks) => blocks.summary(),
                None => rows.summary(),
            },
            _ => None,
        }
    }

    /// The pieces of the block that comes next, which edges cut; it is not passed over.
    pub(crate) fn cut(&self, edges: &[Timestamp]) -> Option<Result<Pieces, Error>> {
        match &self.source {
            Source::Blocks(blocks) => blocks.cut(edges),
            Source::Rows(rows) => rows.open.as_ref()?.cut(edges),
            _ => None,
        }
    }

    /// From when to when the block of structures lasts that comes next; none if something else does.
    pub(crate) fn structures(&self) -> Option<(Timestamp, Timestamp)> {
        let Source::Blocks(blocks) = &self.source else { return None };
        let entry = blocks.entry()?;
        (entry.value_type == ValueType::scalar(Element::Structure)).then_some((entry.t0, entry.t1))
    }

    /// One field of the block of structures that comes next.
    pub(crate) fn read_field(&mut self, path: &str) -> Result<Found, Error> {
        let Source::Blocks(mut blocks) = std::mem::replace(&mut self.source, Source::Over) else {
            return Ok(Found::Absent);
        };
        let field = blocks.read_next_field(path);
        self.go_on_with(blocks);
        field
    }

    /// When what follows that begins, if anything does.
    pub(crate) fn t0_after(&self) -> Option<Timestamp> {
        match &self.source {
            Source::Blocks(blocks) => blocks.t0(blocks.next + 1),
            Source::Rows(rows) => {
                let in_row = rows.open.as_ref().and_then(|blocks| blocks.t0(blocks.next + 1));
                in_row.or_else(|| rows.summaries.get(rows.next + 1).map(|summary| summary.t0))
            }
            _ => None,
        }
    }

    /// Whether what comes next is a row whose blocks nobody has looked for yet.
    pub(crate) fn is_closed_row(&self) -> bool {
        matches!(&self.source, Source::Rows(rows) if rows.open.is_none())
    }

    /// Adds the summaries of what comes next to that of what came before, as long as they fit, and passes over it.
    pub(crate) fn add_following(&mut self, whole: &mut Summary, fits: impl Fn(&Summary) -> bool) {
        // Where something is hidden each is looked at before it is believed.
        let (hidden, summaries, next) = match &mut self.source {
            Source::Blocks(blocks) => (&blocks.lookup.hidden, blocks.listed.summaries(), &mut blocks.next),
            Source::Rows(rows) if rows.open.is_none() => (&rows.lookup.hidden, &rows.summaries[..], &mut rows.next),
            _ => return,
        };
        if !hidden.is_empty() {
            return;
        }
        while let Some(following) = summaries.get(*next) {
            let ends_before = |after: &Summary| after.t0 > following.t1;
            let is_apart = following.t0 > whole.t1 && summaries.get(*next + 1).is_none_or(ends_before);
            if following.value_type != whole.value_type
                || !is_apart
                || !fits(following)
                || !whole.add_if_finite(following)
            {
                break;
            }
            *next += 1;
        }
        self.go_on();
    }

    /// Passes over what comes next: its summary was taken. In place, as rows are passed over by the thousand.
    pub(crate) fn skip(&mut self) {
        match &mut self.source {
            Source::Blocks(blocks) => blocks.next += 1,
            Source::Rows(rows) => match rows.open.take() {
                Some(mut blocks) => {
                    blocks.next += 1;
                    rows.go_on_with(blocks);
                }
                None => rows.next += 1,
            },
            _ => {}
        }
        self.go_on();
    }

    /// After summaries were taken.
    fn go_on(&mut self) {
        let t0 = match &self.source {
            Source::Blocks(blocks) => blocks.t0(blocks.next),
            Source::Rows(rows) => rows.t0(),
            _ => return,
        };
        match t0 {
            Some(t0) => self.t0 = t0,
            None => self.source = Source::Over,
        }
    }
}

/// The longest that so many bytes take to be read that lie in memory.
fn allowed(bytes: usize) -> Duration {
    FROM_MEMORY_MAX * u32::try_from(1 + bytes / RUN_BYTES_FEW).unwrap_or(u32::MAX)
}

fn open(order: Order, batch: Arc<Batch>, rows: Range<usize>) -> Step {
    if rows.is_empty() { Step::Looked } else { Step::Open(Open { order, batch, next: rows.start, end: rows.end }) }
}

impl Lookup {
    /// Of one who wants the samples alone, and remembers nothing for others.
    pub(crate) fn of_samples(pv: PvId, segment: Arc<Segment>, counters: Arc<Counters>, hidden: Hidden) -> Lookup {
        Lookup { pv, segment, counters, summaries: Summaries::Unread, memory: None, hidden, is_cold: false }
    }

    /// The rows of levels that serve, if there are such that can be read.
    fn rows(&self, record: &DirectoryRecord, range: TimeRange) -> Option<Vec<Summary>> {
        let Summaries::Read(Binned { edges, width: Some(width), memory }) = &self.summaries else { return None };
        let rows = self.segment.rows(record, (edges, *width), range, &memory.levels);
        let mut rows = rows.map_err(|error| self.note(error)).ok().flatten()?;
        rows.retain(|row| overlap(row.t0, row.t1, range) && !self.hidden.covers(row.t0, row.t1));
        Some(rows)
    }

    /// The blocks of the PV that may have samples within the range.
    fn index(&mut self, record: &DirectoryRecord, range: TimeRange) -> Result<Listed, Error> {
        let last = if let Summaries::Read(_) = &self.summaries { Table::Summaries } else { Table::Index };
        let serves = |index: &Index| last == Table::Index || index.entries.len() == index.summaries.len();
        let place = self.segment.place(record.pv);
        let memory = self.memory.as_ref();
        if let Some(known) = memory.and_then(|memory| memory.indexes.get(place)).filter(|known| serves(known)) {
            return Ok(Listed::of(&known, range));
        }
        let begun = Instant::now();
        let index = self.read_index(record, last)?;
        self.is_cold |= begun.elapsed() > allowed(size_of_val(&*index.entries) + size_of_val(&*index.summaries));
        if let Some(memory) = memory
            && index.entries.len() >= REMEMBERED_BLOCKS_MIN
            && serves(&index)
        {
            memory.indexes.put(place, index.remembered());
        }
        Ok(Listed::Own(index.within(record, range)))
    }

    /// The blocks of the PV, and their summaries if these are the last table that is wanted. If they cannot be read the blocks go
    /// without.
    fn read_index(&self, record: &DirectoryRecord, last: Table) -> Result<Index, Error> {
        let tables = self.segment.tables(record, Table::Index, last).map_err(|error| self.note(error))?;
        let entries = tables.index().map_err(|error| self.note(error))?;
        let summaries = match last {
            Table::Summaries => tables.summaries(&entries).map_err(|error| self.note(error)).unwrap_or_default(),
            _ => Vec::new(),
        };
        Ok(Index::new(entries, summaries))
    }

    /// Tells an operator of what is damaged.
    fn note(&self, error: Error) -> Error {
        if matches!(error, Error::CorruptBlock { .. } | Error::CorruptSegment { .. }) {
            self.segment.doubt();
        }
        if matches!(error, Error::CorruptBlock { .. }) {
            self.counters.corrupt_blocks.fetch_add(1, Relaxed);
        }
        self.counters.problem(error.to_string());
        error
    }

    /// The samples of one block; damage is counted.
    pub(crate) fn read(&self, entry: &Entry) -> Result<Batch, Error> {
        let batch = self.segment.read(self.pv, entry).map_err(|error| self.note_damage(error))?;
        Ok(self.hidden.filter(batch))
    }

    /// The last sample of one block up to a time, if its own time is good enough; damage is counted. Of frames no more than those
    /// up to it are made.
    pub(crate) fn read_last(
        &self,
        entry: &Entry,
        time: Timestamp,
        is_good: impl FnOnce(Timestamp) -> bool,
    ) -> Result<Option<Sample>, Error> {
        let bytes = self.segment.block_bytes(self.pv, entry);
        let opened = bytes.and_then(|bytes| self.segment.open(self.pv, entry, &bytes));
        let opened = match opened.map_err(|error| self.note_damage(error))? {
            Opened::Whole(batch) => Opened::Whole(self.hidden.filter(batch)),
            frames => frames,
        };
        let times = opened.samples().times();
        let times = &times[..times.partition_point(|own| *own <= time)];
        let last = times.iter().rposition(|time| !self.hidden.overlaps(*time, *time));
        let Some(row) = last.filter(|row| is_good(times[*row])) else { return Ok(None) };
        Ok(Some(match opened {
            Opened::Whole(batch) => batch.get(row),
            Opened::Frames(player) => player.get(row),
        }))
    }

    pub(crate) fn note_damage(&self, error: Error) -> Error {
        if matches!(error, Error::CorruptBlock { .. }) { self.note(error) } else { error }
    }
}

/// Some blocks of a PV.
#[derive(Clone, Debug, Default)]
struct Index {
    entries: Vec<Entry>,
    /// One for each entry, or none at all.
    summaries: Vec<Summary>,
    /// Whether there is a summary for each or for none, and each ends before the next one begins: nobody looked if not.
    follows: bool,
}

impl Index {
    fn new(entries: Vec<Entry>, summaries: Vec<Summary>) -> Index {
        Index { entries, summaries, follows: false }
    }

    /// To be remembered: in no more memory than it needs.
    fn remembered(&self) -> Arc<Index> {
        let mut index = self.clone();
        let ends_before = |(entry, next): (&Entry, &Entry)| entry.t1 < next.t0;
        index.follows = [0, self.entries.len()].contains(&self.summaries.len())
            && self.entries.iter().zip(self.entries.iter().skip(1)).all(ends_before);
        Arc::new(index)
    }

    /// Those that overlap a range.
    fn within(mut self, record: &DirectoryRecord, range: TimeRange) -> Index {
        if !(range.contains(record.t0) && range.contains(record.t1)) {
            self.entries.retain(|entry| overlap(entry.t0, entry.t1, range));
            self.summaries.retain(|summary| overlap(summary.t0, summary.t1, range));
        }
        self
    }

    /// In the order of their first times. In nearly all segments that is the order of writing.
    fn sort(&mut self) {
        self.entries.sort_by_key(|entry| (entry.t0, entry.offset));
        self.summaries.sort_by_key(|summary| summary.t0);
    }
}

impl Remember for Index {
    fn bytes(&self) -> usize {
        size_of_val(&*self.entries) + size_of_val(&*self.summaries) + size_of::<Index>()
    }
}

/// Blocks in the order of their first times, of one query: a list of its own, or a part of one that is remembered for all.
#[derive(Debug)]
enum Listed {
    Own(Index),
    Shared(Arc<Index>, Range<usize>),
}

impl Default for Listed {
    fn default() -> Listed {
        Listed::Own(Index::default())
    }
}

impl Listed {
    /// Those of a remembered index that overlap a range.
    fn of(known: &Arc<Index>, range: TimeRange) -> Listed {
        if known.follows {
            let start = known.entries.partition_point(|entry| entry.t1 < range.t0);
            let end = known.entries.partition_point(|entry| entry.t0 < range.t1 || range.t1 == Timestamp::MAX);
            return Listed::Shared(known.clone(), start..end.max(start));
        }
        let (mut entries, mut summaries) = (free_lists::take(), free_lists::take());
        entries.extend(known.entries.iter().filter(|entry| overlap(entry.t0, entry.t1, range)));
        summaries.extend(known.summaries.iter().filter(|summary| overlap(summary.t0, summary.t1, range)));
        Listed::Own(Index::new(entries, summaries))
    }

    fn entries(&self) -> &[Entry] {
        match self {
            Listed::Own(index) => &index.entries,
            Listed::Shared(index, range) => index.entries.get(range.clone()).unwrap_or_default(),
        }
    }

    /// One for each entry, or none at all.
    fn summaries(&self) -> &[Summary] {
        match self {
            Listed::Own(index) => &index.summaries,
            Listed::Shared(index, range) => index.summaries.get(range.clone()).unwrap_or_default(),
        }
    }

    /// Those of them that are not covered by what is hidden.
    fn seen(self, hidden: &Hidden) -> Listed {
        if hidden.is_empty() {
            return self;
        }
        let entries = self.entries().iter().filter(|entry| !hidden.covers(entry.t0, entry.t1)).copied();
        let summaries = self.summaries().iter().filter(|summary| !hidden.covers(summary.t0, summary.t1)).copied();
        Listed::Own(Index::new(entries.collect(), summaries.collect()))
    }

    fn sort(&mut self) {
        if let Listed::Own(index) = self {
            index.sort();
        }
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        if let Listed::Own(index) = self {
            free_lists::give(std::mem::take(&mut index.entries));
            free_lists::give(std::mem::take(&mut index.summaries));
        }
    }
}

/// Stretches of time of one PV in one segment, each with its summary.
#[derive(Debug)]
pub(crate) struct Rows {
    lookup: Lookup,
    record: DirectoryRecord,
    summaries: Vec<Summary>,
    next: usize,
    /// The blocks of the next row, if its summary does not serve.
    open: Option<Blocks>,
    /// All blocks, once they were looked for.
    index: Option<Listed>,
}

impl Drop for Rows {
    fn drop(&mut self) {
        free_lists::give(std::mem::take(&mut self.summaries));
    }
}

impl Rows {
    fn new(lookup: Lookup, record: DirectoryRecord, summaries: Vec<Summary>) -> Rows {
        Rows { lookup, record, summaries, next: 0, open: None, index: None }
    }

    /// When the next samples begin.
    fn t0(&self) -> Option<Timestamp> {
        match &self.open {
            Some(blocks) => blocks.t0(blocks.next),
            None => self.summaries.get(self.next).map(|summary| summary.t0),
        }
    }

    /// The summary of the next row, if all that it counts may be seen.
    fn summary(&self) -> Option<&Summary> {
        let hidden = &self.lookup.hidden;
        self.summaries.get(self.next).filter(|summary| !hidden.overlaps(summary.t0, summary.t1))
    }

    fn go_on_with(&mut self, blocks: Blocks) {
        if blocks.entry().is_some() {
            self.open = Some(blocks);
        } else {
            self.next += 1;
        }
    }

    /// Looks for the blocks of the next row. If there is an error the row is lost.
    fn open_row(&mut self) -> Result<(), Error> {
        let Some(Summary { t0, t1, .. }) = self.summaries.get(self.next).copied() else { return Ok(()) };
        let index = match self.index.take() {
            Some(index) => index,
            None => self.lookup.index(&self.record, TimeRange::ALL).inspect_err(|_| self.next += 1)?,
        };
        // Blocks of a segment with levels follow one another.
        let lies_within = |from: Timestamp, to: Timestamp| from <= t1 && to >= t0;
        let entries = index.entries().iter().filter(|entry| lies_within(entry.t0, entry.t1));
        let summaries = index.summaries().iter().filter(|summary| lies_within(summary.t0, summary.t1));
        let within = Listed::Own(Index::new(entries.copied().collect(), summaries.copied().collect()));
        self.index = Some(index);
        let mut blocks = Blocks::new(self.lookup.clone(), within);
        blocks.window = Some((t0, t1));
        self.go_on_with(blocks);
        Ok(())
    }
}

/// Blocks of one PV in one segment, in the order of their first times.
#[derive(Debug)]
pub(crate) struct Blocks {
    lookup: Lookup,
    listed: Listed,
    next: usize,
    /// Only samples from one time to another, both included, are wanted.
    window: Option<(Timestamp, Timestamp)>,
    /// What was read in advance.
    run: Run,
    /// Whether some were read.
    is_begun: bool,
}

/// Bytes of neighbouring blocks.
#[derive(Debug, Default)]
struct Run {
    /// Where in the file they begin.
    at: u64,
    bytes: Vec<u8>,
    /// Where they are counted, and how many.
    counted: Option<(Arc<Counters>, usize)>,
}

impl Run {
    /// Room for so many, counted before they are read: others who look meanwhile are to know of it.
    fn new(at: u64, len: usize, counters: &Arc<Counters>) -> Run {
        counters.run_bytes.fetch_add(len, Relaxed);
        Run { at, bytes: free_lists::take(), counted: Some((counters.clone(), len)) }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        free_lists::give(std::mem::take(&mut self.bytes));
        if let Some((counters, len)) = &self.counted {
            counters.run_bytes.fetch_sub(*len, Relaxed);
        }
    }
}

impl Blocks {
    fn new(lookup: Lookup, listed: Listed) -> Blocks {
        let mut listed = listed.seen(&lookup.hidden);
        listed.sort();
        Blocks { lookup, listed, next: 0, window: None, run: Run::default(), is_begun: false }
    }

    /// When the wanted samples of a block begin, at the earliest.
    fn t0(&self, index: usize) -> Option<Timestamp> {
        let t0 = self.listed.entries().get(index)?.t0;
        Some(self.window.map_or(t0, |(from, _)| t0.max(from)))
    }

    /// The next block.
    pub(crate) fn entry(&self) -> Option<&Entry> {
        self.listed.entries().get(self.next)
    }

    /// The summary of the next block, if it can be had.
    pub(crate) fn summary(&self) -> Option<&Summary> {
        self.summary_at(self.next)
    }

    pub(crate) fn summary_at(&self, index: usize) -> Option<&Summary> {
        let is_wanted_whole =
            |summary: &&Summary| self.window.is_none_or(|(t0, t1)| t0 <= summary.t0 && summary.t1 <= t1);
        let is_seen_whole = |summary: &&Summary| !self.lookup.hidden.overlaps(summary.t0, summary.t1);
        self.listed.summaries().get(index).filter(is_wanted_whole).filter(is_seen_whole)
    }

    /// What the pieces of the next block amount to, if its summary can be had.
    fn cut(&self, edges: &[Timestamp]) -> Option<Result<Pieces, Error>> {
        let (entry, summary) = self.entry().zip(self.summary())?;
        let Lookup { segment, pv, summaries, .. } = &self.lookup;
        let Summaries::Read(Binned { memory, .. }) = summaries else { return None };
        let place = (segment.place(*pv).0, entry.offset);
        if let Some(known) = memory.cuts.get(place).filter(|known| *known.edges == *edges) {
            return Some(Ok(Pieces::Remembered(known.pieces.to_vec())));
        }
        let read = |parts: outline::Parts| segment.read_parts(entry, parts);
        let outlined = memory.outlines.get(place);
        let pieces = match outlined.and_then(|outline| outline.pieces(summary, edges, read)) {
            Some(pieces) => Ok(pieces),
            None => segment.read_columns_timed(*pv, entry, |block, took, columns, times| {
                // A request that waits for a thousand reads is not to wait for as many outlines, too: the next cut makes them.
                if took > FROM_MEMORY_MAX {
                    return cut::pieces(columns, times, summary, edges);
                }
                let outline = Outline::of(block, columns, times, Detail::Parts)?.map(Arc::new);
                let pieces = outline.as_ref().and_then(|outline| outline.pieces_of(block, summary, edges));
                outline.into_iter().for_each(|outline| memory.outlines.put(place, outline));
                pieces.map_or_else(|| cut::pieces(columns, times, summary, edges), Ok)
            }),
        };
        if let Ok(pieces) = &pieces {
            memory.cuts.put(place, Arc::new(CutPieces { edges: edges.into(), pieces: pieces.as_slice().into() }));
        }
        Some(pieces.map(Pieces::Read).map_err(|error| self.lookup.note_damage(error)))
    }

    /// The samples of the next block, which with its neighbours is read from disk unless it was before.
    fn read_next(&mut self, room: usize, wanted: &dyn Fn(&Blocks, usize) -> bool) -> Result<Batch, Error> {
        let batch = self.take_next(room, wanted, |segment, pv, entry, bytes| segment.verify(pv, entry, bytes))?;
        Ok(self.lookup.hidden.filter(batch))
    }

    /// The same without making arrays of frames, and without leaving out what is hidden.
    fn open_next(&mut self, room: usize, wanted: &dyn Fn(&Blocks, usize) -> bool) -> Result<Opened, Error> {
        self.take_next(room, wanted, |segment, pv, entry, bytes| segment.open(pv, entry, bytes))
    }

    /// One field of the next block.
    fn read_next_field(&mut self, path: &str) -> Result<Found, Error> {
        let found = self.take_next(RUN_BYTES_COLD, &|_, _| true, |segment, pv, entry, bytes| {
            segment.verify_columns(pv, entry, bytes, |columns, _| columns.field(path))
        })?;
        Ok(found.map(|batch| self.lookup.hidden.filter(batch)))
    }

    /// What is made of the bytes of the next block, which with its neighbours is read from disk unless it was before.
    fn take_next<T>(
        &mut self,
        room: usize,
        wanted: &dyn Fn(&Blocks, usize) -> bool,
        take: impl FnOnce(&Segment, PvId, &Entry, &[u8]) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let index = self.next;
        let entry = self.listed.entries()[index];
        self.next += 1;
        if self.in_run(&entry).is_none() {
            self.read_run(index, room, wanted);
        }
        let Lookup { segment, pv, .. } = &self.lookup;
        let taken = match self.in_run(&entry) {
            Some(bytes) => take(segment, *pv, &entry, bytes),
            None => segment.block_bytes_in(free_lists::take(), *pv, &entry).and_then(|bytes| {
                let taken = take(segment, *pv, &entry, &bytes);
                free_lists::give(bytes);
                taken
            }),
        };
        taken.map_err(|error| self.lookup.note_damage(error))
    }

    fn in_run(&self, entry: &Entry) -> Option<&[u8]> {
        let start = usize::try_from(entry.offset.checked_sub(self.run.at)?).ok()?;
        self.run.bytes.get(start..start.checked_add(entry.len as usize)?)
    }

    /// Reads a block and those behind it that are wanted next. If that fails, each is read for itself and tells what is wrong.
    fn read_run(&mut self, index: usize, room: usize, wanted: &dyn Fn(&Blocks, usize) -> bool) {
        self.run = Run::default(); // what was read in advance is done with
        let counters = &self.lookup.counters;
        let left = RUNS_BYTES_MAX.checked_sub(counters.run_bytes.load(Relaxed));
        let room = room.min(match (left, self.lookup.is_cold, std::mem::replace(&mut self.is_begun, true)) {
            (None, ..) => RUN_BYTES_FEW,
            // Others who come are to have some, too.
            (Some(left), true, _) => (left / 2).clamp(RUN_BYTES_MAX, RUN_BYTES_COLD),
            (Some(_), false, false) => RUN_BYTES_FIRST,
            (Some(_), false, true) => RUN_BYTES_MAX,
        });
        let first = self.listed.entries()[index];
        let mut end = first.offset + u64::from(first.len);
        for (index, entry) in self.listed.entries().iter().enumerate().skip(index + 1) {
            let longer = entry.offset + u64::from(entry.len);
            if entry.offset != end || longer - first.offset > room as u64 || !wanted(self, index) {
                break;
            }
            end = longer;
        }
        if end > first.offset + u64::from(first.len) {
            let len = (end - first.offset) as usize;
            self.run = Run::new(first.offset, len, counters);
            let begun = Instant::now();
            if self.lookup.segment.read_run(first.offset, len, &mut self.run.bytes).is_err() {
                self.run.bytes.clear();
            }
            self.lookup.is_cold = begun.elapsed() > allowed(len);
        }
    }
}

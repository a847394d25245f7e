//! The merge: samples of one PV from blocks and heads, in time order, one block in memory at a time where they do not overlap.
//!
//! A part is a sorted stretch of samples of one type: a block, or a chunk of a head. Parts are opened when the merge reaches
//! their first time. Of equal times the part that was written first comes first; a sample that equals one of the same time
//! to the last bit is dropped.

use std::{
    collections::VecDeque,
    ops::Range,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use sample::{Batch, PvId, Sample, TimeRange, Timestamp};

use crate::{
    Error, Summary,
    head::Piece,
    health::Counters,
    repeats::REPEATS_COMPARED,
    segment::{Entry, Segment},
};

/// No batch has more rows.
const BATCH_ROWS_MAX: usize = 8192;
/// A batch that has reached so many bytes is given out.
const BATCH_BYTES_MAX: usize = 1 << 20;

/// A sorted stretch of samples of one type that is not opened yet.
#[derive(Debug)]
pub(crate) struct Part {
    /// Not later than the first sample.
    pub(crate) t0: Timestamp,
    /// Not earlier than the last sample.
    pub(crate) t1: Timestamp,
    /// Of what was written earlier the order is less.
    pub(crate) order: u64,
    pub(crate) source: Source,
}

/// Where the samples of a part are.
#[derive(Debug)]
pub(crate) enum Source {
    Rows(Piece),
    Block(Block),
}

/// A block that is not read yet.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) pv: PvId,
    pub(crate) segment: Arc<Segment>,
    pub(crate) entry: Entry,
    /// There when bins are wanted.
    pub(crate) summary: Option<Summary>,
    pub(crate) counters: Arc<Counters>,
}

impl Block {
    pub(crate) fn read(&self) -> Result<Batch, Error> {
        self.segment.read(self.pv, &self.entry).inspect_err(|error| {
            if matches!(error, Error::CorruptBlock { .. }) {
                self.counters.corrupt_blocks.fetch_add(1, Relaxed);
                self.counters.problem(error.to_string());
            }
        })
    }
}

/// A part that has been opened, and how far it has been read.
#[derive(Debug)]
struct Open {
    order: u64,
    batch: Arc<Batch>,
    next: usize,
    end: usize,
}

impl Open {
    fn time(&self) -> Timestamp {
        self.batch.times()[self.next]
    }
}

/// Where the samples of `range` lie in a sorted batch. A range that ends with time itself has no moment after it.
pub(crate) fn rows_within(batch: &Batch, range: TimeRange) -> Range<usize> {
    let rows = batch.rows_within(range);
    if range.t1 == Timestamp::MAX { rows.start..batch.len() } else { rows }
}

/// What bins are made of.
#[derive(Clone, Debug, PartialEq)]
pub enum Stretch {
    /// A block that no edge cuts, unread.
    Summary(Summary),
    /// Samples.
    Samples(Batch),
}

/// The samples of a PV in time order, in batches of one type.
///
/// A block that turns out to be damaged gives an error in its place; the next call goes on behind it.
#[derive(Debug)]
pub struct Samples {
    range: TimeRange,
    /// By first time; of equal times by order.
    parts: VecDeque<Part>,
    open: Vec<Open>,
    /// Found before the first sample.
    errors: VecDeque<Error>,
    /// The last samples given out, all of the same time.
    recent: Vec<Sample>,
    /// What is to be given out next.
    out: Option<Batch>,
}

impl Samples {
    pub(crate) fn new(range: TimeRange, mut parts: Vec<Part>, errors: Vec<Error>) -> Samples {
        parts.retain(|part| (part.t0 < range.t1 || range.t1 == Timestamp::MAX) && part.t1 >= range.t0);
        parts.sort_by_key(|part| (part.t0, part.order));
        let (open, recent) = (Vec::new(), Vec::new());
        Samples { range, parts: parts.into(), open, errors: errors.into(), recent, out: None }
    }

    /// Opens every part whose samples may come next.
    fn open_parts(&mut self) -> Result<(), Error> {
        while let Some(part) = self.parts.front() {
            if self.open.iter().map(Open::time).min().is_some_and(|time| time < part.t0) {
                break;
            }
            let Some(part) = self.parts.pop_front() else { break };
            let (batch, rows) = match part.source {
                Source::Rows(Piece { batch, rows }) => (batch, rows),
                Source::Block(block) => {
                    let batch = block.read()?;
                    let rows = rows_within(&batch, self.range);
                    (Arc::new(batch), rows)
                }
            };
            if !rows.is_empty() {
                self.open.push(Open { order: part.order, batch, next: rows.start, end: rows.end });
            }
        }
        Ok(())
    }

    /// Takes the next part as its summary, if it is a block that lies in the range, between two edges and apart from all others.
    fn take_summary(&mut self, edges: &[Timestamp]) -> Option<Summary> {
        let part = self.parts.front()?;
        let Source::Block(Block { summary: Some(summary), .. }) = &part.source else { return None };
        let next = self.parts.get(1).map(|part| part.t0);
        let edge = edges.partition_point(|edge| *edge <= summary.t0);
        let summary = *summary;
        let apart = self.open.is_empty()
            && self.out.is_none()
            && self.recent.first().is_none_or(|recent| recent.time < summary.t0)
            && next.is_none_or(|next| next > summary.t1);
        let within = self.range.contains(summary.t0)
            && self.range.contains(summary.t1)
            && edges.get(edge).is_none_or(|edge| *edge > summary.t1);
        let serves = summary.value_type.is_numeric_scalar() && summary.is_finite();
        (apart && within && serves).then(|| {
            self.parts.pop_front();
            self.recent.clear();
            summary
        })
    }

    /// The next run of rows from one part; none at the end. Parts must be open.
    fn next_run(&mut self) -> Option<(usize, Range<usize>)> {
        let chosen = (0..self.open.len()).min_by_key(|i| (self.open[*i].time(), self.open[*i].order))?;
        let others = self.open.iter().enumerate().filter(|(i, _)| *i != chosen).map(|(_, open)| open.time());
        let bound = others.chain(self.parts.front().map(|part| part.t0)).min();
        let open = &self.open[chosen];
        let times = &open.batch.times()[open.next..open.end];
        let len = match bound {
            None => times.len(),
            Some(bound) if bound > open.time() => times.partition_point(|time| *time < bound),
            Some(_) => times.partition_point(|time| *time <= open.time()),
        };
        Some((chosen, open.next..open.next + len))
    }

    /// Moves a run to what is given out. What does not fit in type or size stays for the next batch.
    fn take_run(&mut self, chosen: usize, run: Range<usize>) {
        let open = &mut self.open[chosen];
        let rows_left = BATCH_ROWS_MAX - self.out.as_ref().map_or(0, Batch::len);
        let run = run.start..run.end.min(run.start + rows_left);
        open.next = run.end;
        let finished = open.next == open.end;
        let repeats = self.recent.first().is_some_and(|recent| recent.time == open.batch.times()[run.start]);
        let whole = self.out.is_none() && finished && run == (0..open.batch.len()) && !repeats;
        if whole {
            let batch = self.open.swap_remove(chosen).batch;
            self.remember(&batch, run);
            self.out = Some(Arc::unwrap_or_clone(batch));
            return;
        }
        let batch = open.batch.clone();
        let out = self.out.get_or_insert_with(|| Batch::new(batch.value_type()));
        let mut start = run.start;
        while repeats && start < run.end && batch.times()[start] == self.recent[0].time {
            let sample = batch.get(start);
            if !self.recent.iter().any(|recent| recent.identical(&sample)) {
                let fits = out.push(&sample);
                assert!(fits, "the caller compared the types");
                self.recent.push(sample);
                if self.recent.len() > REPEATS_COMPARED {
                    self.recent.remove(0);
                }
            }
            start += 1;
        }
        if start < run.end {
            let fits = out.extend_from(&batch, start..run.end);
            assert!(fits, "the caller compared the types");
            self.remember(&batch, start..run.end);
        }
        if finished {
            self.open.swap_remove(chosen);
        }
    }

    /// Keeps the last samples of a run that has just been taken.
    fn remember(&mut self, batch: &Batch, run: Range<usize>) {
        let last = batch.times()[run.end - 1];
        let first = run.start + batch.times()[run.clone()].partition_point(|time| *time < last);
        let first = first.max(run.end.saturating_sub(REPEATS_COMPARED));
        self.recent.clear();
        self.recent.extend((first..run.end).map(|row| batch.get(row)));
    }
}

impl Samples {
    /// The next batch. With `Until::Apart` it ends where no part is open, so that the next block can be a summary.
    fn next_batch(&mut self, until: Until) -> Option<Result<Batch, Error>> {
        loop {
            if let Some(error) = self.errors.pop_front() {
                return Some(Err(error));
            }
            if until == Until::Apart && self.open.is_empty() && self.out.is_some() {
                return self.out.take().map(Ok);
            }
            if let Err(error) = self.open_parts() {
                self.errors.push_back(error);
                if self.out.is_some() {
                    return self.out.take().map(Ok);
                }
                continue;
            }
            let Some((chosen, run)) = self.next_run() else {
                return self.out.take().map(Ok);
            };
            let value_type = self.open[chosen].batch.value_type();
            let full = |out: &Batch| {
                out.value_type() != value_type || out.len() >= BATCH_ROWS_MAX || out.byte_size() >= BATCH_BYTES_MAX
            };
            if self.out.as_ref().is_some_and(full) {
                return self.out.take().map(Ok);
            }
            self.take_run(chosen, run);
            if self.out.as_ref().is_some_and(Batch::is_empty) {
                self.out = None;
            }
        }
    }
}

/// Where a batch ends, besides its size and type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    Full,
    Apart,
}

impl Iterator for Samples {
    type Item = Result<Batch, Error>;

    fn next(&mut self) -> Option<Result<Batch, Error>> {
        self.next_batch(Until::Full)
    }
}

/// The samples of a PV in time order, with the summary instead of each block that no edge cuts.
#[derive(Debug)]
pub struct Stretches {
    samples: Samples,
    edges: Arc<[Timestamp]>,
}

impl Stretches {
    pub(crate) fn new(samples: Samples, edges: Arc<[Timestamp]>) -> Stretches {
        Stretches { samples, edges }
    }
}

impl Iterator for Stretches {
    type Item = Result<Stretch, Error>;

    fn next(&mut self) -> Option<Result<Stretch, Error>> {
        if self.samples.errors.is_empty()
            && let Some(summary) = self.samples.take_summary(&self.edges)
        {
            return Some(Ok(Stretch::Summary(summary)));
        }
        self.samples.next_batch(Until::Apart).map(|batch| batch.map(Stretch::Samples))
    }
}

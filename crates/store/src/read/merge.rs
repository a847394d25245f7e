//! The merge: samples of one PV from blocks and heads, in time order, one block in memory at a time where they do not overlap.
//!
//! Parts are opened when the merge reaches their first time. Of equal times what was written first comes first; a sample that
//! equals one of the same time to the last bit is dropped.

use crate::{
    Error, Summary,
    block::{
        field::{Field, Found},
        repeats::REPEATS_COMPARED,
        rows::rows_within,
    },
    read::parts::{ARRAYS_BYTES_MAX, Blocks, Open, Part, Pieces, Step},
};
use archive::Cuts;
use sample::{Batch, Sample, Shape, Stretch, TimeRange, Timestamp};
use std::{collections::VecDeque, ops::Range, sync::Arc, time::Instant};

/// No batch has more rows.
const BATCH_ROWS_MAX: usize = 8192;
/// A batch that has reached so many bytes is given out.
const BATCH_BYTES_MAX: usize = 1 << 20;

/// A whole block of so many rows is passed on as it is. Smaller ones are gathered, so that nobody gets a batch for each.
const WHOLE_ROWS_MIN: usize = 1024;
/// Bytes that may be read in advance, over all that is open.
const ADVANCE_BYTES_MAX: usize = 4 << 20;

/// The samples of a PV in time order, in batches of one type.
///
/// A block that turns out to be damaged gives an error in its place; the next call goes on behind it.
#[derive(Debug)]
pub struct Samples {
    range: TimeRange,
    /// By first time, then order; the next one is the last.
    parts: Vec<Part>,
    open: Vec<Open>,
    /// Found before the next sample.
    errors: VecDeque<Error>,
    /// The time of the last sample given out, and those given out of that time if others may come.
    last: Option<Timestamp>,
    recent: Vec<Sample>,
    /// What is to be given out next.
    out: Option<Batch>,
    /// Between which a block needs not be read.
    edges: Option<Arc<[Timestamp]>>,
    /// Of a block that edges cut, those that come next.
    pieces: VecDeque<Summary>,
    /// Blocks that were read to be cut.
    cuts: Cuts,
    /// The one field that is wanted of structures.
    field: Option<Field>,
}

/// The next rows of what is open.
struct Run {
    chosen: usize,
    rows: Range<usize>,
    /// Nothing else comes before this time.
    bound: Option<Timestamp>,
}

impl Samples {
    pub(crate) fn new(range: TimeRange, mut parts: Vec<Part>) -> Samples {
        parts.sort_by_key(|part| std::cmp::Reverse((part.t0, part.order)));
        let (open, errors, recent, pieces) = (Vec::new(), VecDeque::new(), Vec::new(), VecDeque::new());
        let (last, out, edges, field) = (None, None, None, None);
        Samples { range, parts, open, errors, last, recent, out, edges, pieces, cuts: Cuts::default(), field }
    }

    /// One field of structures, named by the fields that lead to it with dots between them, as samples of its own type.
    pub fn of_field(self, path: &str) -> Samples {
        Samples { field: Some(Field::new(path)), ..self }
    }

    /// Opens every part whose samples may come next.
    fn open_parts(&mut self) -> Result<(), Error> {
        while let Some(part) = self.parts.last() {
            if self.open_time().is_some_and(|time| time < part.t0) {
                break;
            }
            let Some(mut part) = self.parts.pop() else { break };
            let opened = self.advance(&mut part);
            self.put_back(part);
            match opened? {
                Step::Looked => {}
                Step::Open(open) => self.open.push(open),
                Step::Frames(part) => self.put_back(*part),
            }
        }
        Ok(())
    }

    fn advance(&self, part: &mut Part) -> Result<Step, Error> {
        let room = ADVANCE_BYTES_MAX / (1 + self.open.len());
        let wanted = |blocks: &Blocks, index: usize| {
            let summary = blocks.summary_at(index).filter(|summary| says_all(summary, self.range));
            self.edges.as_ref().is_none_or(|edges| summary.is_none_or(|summary| is_cut(summary, edges)))
        };
        part.advance(self.range, room, &wanted)
    }

    fn put_back(&mut self, part: Part) {
        if !part.is_over() {
            let place = self.parts.partition_point(|other| (other.t0, other.order) > (part.t0, part.order));
            self.parts.insert(place, part);
        }
    }

    /// Takes what comes next as its summary, or those of its pieces, if it lies in the range and apart from all others.
    fn take_summary(&mut self) -> Option<Summary> {
        if let Some(piece) = self.pieces.pop_front() {
            return Some(piece);
        }
        if self.out.is_some() {
            return None;
        }
        loop {
            let opened = self.open_time();
            let part = self.parts.last()?;
            if opened.is_some_and(|time| time <= part.t0) {
                return None;
            }
            if !part.is_unread() {
                let apart = self.summary_apart(part, opened);
                if let Some((mut summary, _)) = apart.filter(|(_, is_cut)| !is_cut) {
                    self.pass_over(summary.t1);
                    self.add_following(&mut summary);
                    return Some(summary);
                }
                if !part.is_closed_row() {
                    self.cut_next(apart?.0)?;
                    match self.pieces.pop_front() {
                        // What lies in the range of a block that reaches beyond it may be nothing.
                        None if self.errors.is_empty() => continue,
                        piece => return piece,
                    }
                }
            }
            let mut part = self.parts.pop()?;
            let error = self.advance(&mut part).err();
            self.put_back(part);
            if let Some(error) = error {
                self.errors.push_back(error);
                return None;
            }
        }
    }

    /// Adds what follows in the next part up to the next edge, if nothing else has samples in that time: a bin of a thousand rows
    /// goes on as one summary.
    fn add_following(&mut self, summary: &mut Summary) {
        let (Some(edges), opened) = (&self.edges, self.open_time()) else { return };
        let edge = edges.get(edges.partition_point(|edge| *edge <= summary.t0)).copied();
        let Some((part, others)) = self.parts.split_last_mut() else { return };
        let bound = [edge, opened, others.last().map(|other| other.t0)].into_iter().flatten().min();
        let (range, t1) = (self.range, summary.t1);
        part.add_following(summary, |next| says_all(next, range) && bound.is_none_or(|bound| next.t1 < bound));
        if summary.t1 > t1 {
            self.last = Some(summary.t1);
            self.put_last_in_place();
        }
    }

    /// Cuts the next block, whose summary this is, into pieces, of which those within the range count. None if it cannot be cut.
    fn cut_next(&mut self, summary: Summary) -> Option<()> {
        let edges = self.edges.as_ref()?;
        let first = edges.partition_point(|edge| *edge <= summary.t0);
        let last = edges.partition_point(|edge| *edge <= summary.t1);
        let begun = Instant::now();
        match self.parts.last()?.cut(edges.get(first..last)?)? {
            Ok(Pieces::Remembered(pieces)) => self.pieces = pieces.into(),
            Ok(Pieces::Read(pieces)) => {
                self.pieces = pieces.into();
                self.cuts.add(Cuts { blocks: 1, took: begun.elapsed() });
            }
            Err(error) => self.errors.push_back(error),
        }
        self.pieces.retain(|piece| self.range.contains(piece.t0));
        self.pass_over(summary.t1);
        Some(())
    }

    /// What comes next was taken, whole: it ends at that time.
    fn pass_over(&mut self, t1: Timestamp) {
        self.skip_next();
        self.last = Some(t1);
        self.recent.clear();
    }

    /// Passes over what comes next in the next part.
    fn skip_next(&mut self) {
        if let Some(part) = self.parts.last_mut() {
            part.skip();
        }
        self.put_last_in_place();
    }

    /// After the next part has gone on: nearly always it stays the next one.
    fn put_last_in_place(&mut self) {
        let Some((part, others)) = self.parts.split_last() else { return };
        let stays = others.last().is_none_or(|other| (other.t0, other.order) > (part.t0, part.order));
        if (!stays || part.is_over())
            && let Some(part) = self.parts.pop()
        {
            self.put_back(part);
        }
    }

    /// The next time of what is open.
    fn open_time(&self) -> Option<Timestamp> {
        self.open.iter().map(Open::time).min()
    }

    /// The summary of what comes next in the next part, if it says all that bins want and nothing else has samples in its time;
    /// and whether an edge cuts it.
    fn summary_apart(&self, part: &Part, opened: Option<Timestamp>) -> Option<(Summary, bool)> {
        let summary = part.summary()?;
        let other = self.parts.iter().rev().nth(1).map(|other| other.t0);
        let next = [part.t0_after(), other, opened].into_iter().flatten().min();
        let apart = self.last.is_none_or(|last| last < summary.t0) && next.is_none_or(|next| next > summary.t1);
        let edges = self.edges.as_ref().filter(|edges| apart && self.is_told(summary, edges))?;
        Some((*summary, is_cut(summary, edges)))
    }

    /// Whether a summary, or those of the pieces into which edges cut its block, say all that bins want. A block that reaches beyond the
    /// range is cut there only if the range ends at edges.
    fn is_told(&self, summary: &Summary, edges: &[Timestamp]) -> bool {
        let TimeRange { t0, t1 } = self.range;
        let is_cut_at_ends = edges.first() == Some(&t0) && edges.last() == Some(&t1);
        let has_some = summary.t0 < t1 && summary.t1 >= t0;
        says_all(summary, self.range) || (is_cut_at_ends && has_some && is_of_numbers(summary))
    }

    /// The next run of rows; none at the end. Parts must be open.
    fn next_run(&mut self) -> Option<Run> {
        let chosen = (0..self.open.len()).min_by_key(|i| (self.open[*i].time(), self.open[*i].order))?;
        let others = self.open.iter().enumerate().filter(|(i, _)| *i != chosen).map(|(_, open)| open.time());
        let bound = others.chain(self.parts.last().map(|part| part.t0)).min();
        let open = &self.open[chosen];
        let times = &open.batch.times()[open.rows()];
        let len = match bound {
            None => times.len(),
            Some(bound) if bound > open.time() => times.partition_point(|time| *time < bound),
            Some(_) => times.partition_point(|time| *time <= open.time()),
        };
        Some(Run { chosen, rows: open.next..open.next + len, bound })
    }

    /// Whether a run is a whole batch that needs no copying.
    fn passes(&self, run: &Run) -> bool {
        let batch = &self.open[run.chosen].batch;
        run.rows == (0..batch.len()) && !self.repeats(batch, run.rows.start)
    }

    /// Whether a run is worth a batch of its own rather than to be added to what is given out next.
    fn is_too_much(&self, run: &Run, out: &Batch) -> bool {
        let batch = &self.open[run.chosen].batch;
        let is_large = || batch.byte_size() + out.byte_size() > ARRAYS_BYTES_MAX;
        run.rows.len() >= WHOLE_ROWS_MIN || (batch.value_type().shape == Shape::Array && is_large())
    }

    /// Whether samples of that time have been given out from elsewhere.
    fn repeats(&self, batch: &Batch, row: usize) -> bool {
        self.recent.first().is_some_and(|recent| recent.time == batch.times()[row])
    }

    /// Moves a run to what is given out. What does not fit in type or size stays for the next batch.
    fn take_run(&mut self, run: Run) {
        if self.out.is_none() && self.passes(&run) {
            let batch = self.open.swap_remove(run.chosen).batch;
            self.remember(&batch, run.rows, run.bound);
            self.out = Some(Arc::unwrap_or_clone(batch));
            return;
        }
        let open = &mut self.open[run.chosen];
        let rows_left = BATCH_ROWS_MAX - self.out.as_ref().map_or(0, Batch::len);
        let rows = run.rows.start..run.rows.end.min(run.rows.start + rows_left);
        open.next = rows.end;
        let finished = open.next == open.end;
        let batch = open.batch.clone();
        let repeats = self.repeats(&batch, rows.start);
        let out = self.out.get_or_insert_with(|| Batch::new(batch.value_type()));
        let mut start = rows.start;
        while repeats && start < rows.end && batch.times()[start] == self.recent[0].time {
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
        if start < rows.end {
            let fits = out.extend_from(&batch, start..rows.end);
            assert!(fits, "the caller compared the types");
            self.remember(&batch, start..rows.end, run.bound);
        }
        if finished {
            self.open.swap_remove(run.chosen);
        }
    }

    /// Whether something that is not open comes next.
    fn is_part_next(&self) -> bool {
        let part = self.parts.last().map(|part| part.t0);
        part.is_some_and(|part| self.open_time().is_none_or(|time| part < time))
    }

    /// Keeps the last samples of a run that has just been taken, if others of the same time may come from elsewhere.
    fn remember(&mut self, batch: &Batch, run: Range<usize>, bound: Option<Timestamp>) {
        let last = batch.times()[run.end - 1];
        self.last = Some(last);
        self.recent.clear();
        if bound.is_some_and(|bound| bound <= last) {
            let first = run.start + batch.times()[run.clone()].partition_point(|time| *time < last);
            let first = first.max(run.end.saturating_sub(REPEATS_COMPARED));
            self.recent.extend((first..run.end).map(|row| batch.get(row)));
        }
    }

    /// The next batch, of the field that is wanted if only one is.
    fn next_batch(&mut self, until: Until) -> Option<Result<Batch, Error>> {
        loop {
            if let Some(batch) = self.field.as_mut().and_then(Field::next) {
                return Some(Ok(batch));
            }
            if self.take_field_of_block() {
                continue;
            }
            match (self.next_whole(until)?, &mut self.field) {
                (Ok(whole), Some(field)) => field.add(&whole),
                (item, _) => return Some(item),
            }
        }
    }

    /// Takes the field that is wanted out of the next block without its other fields, if nothing else has samples in its time;
    /// false if something else is to be done first.
    fn take_field_of_block(&mut self) -> bool {
        let Some(path) = self.field.as_ref().map(Field::path) else { return false };
        let opened = self.open_time();
        let Some(part) = self.parts.last() else { return false };
        if self.out.is_some() || !self.errors.is_empty() || opened.is_some_and(|time| time <= part.t0) {
            return false;
        }
        let found = if part.is_unread() {
            let Some(mut part) = self.parts.pop() else { return false };
            let looked = self.advance(&mut part).map(|_| Found::Absent);
            self.put_back(part);
            looked
        } else {
            let Some((t0, t1)) = part.structures() else { return false };
            let other = self.parts.iter().rev().nth(1).map(|other| other.t0);
            let next = [part.t0_after(), other, opened].into_iter().flatten().min();
            if self.last.is_some_and(|last| last >= t0) || next.is_some_and(|next| next <= t1) {
                return false;
            }
            let Some(mut part) = self.parts.pop() else { return false };
            let field = part.read_field(&path);
            self.put_back(part);
            self.last = Some(t1);
            self.recent.clear();
            field
        };
        match (found, &mut self.field) {
            (Ok(found), Some(field)) => {
                let within = |batch: Batch| batch.slice(rows_within(&batch, self.range));
                field.add_found(found.map(within));
            }
            (Err(error), _) => self.errors.push_back(error),
            (Ok(_), None) => {}
        }
        true
    }

    /// The next batch. With `Until::Apart` it ends where a part that is not open comes next, which may have a summary.
    fn next_whole(&mut self, until: Until) -> Option<Result<Batch, Error>> {
        loop {
            if let Some(error) = self.errors.pop_front() {
                return Some(Err(error));
            }
            if until == Until::Apart && self.out.is_some() && self.is_part_next() {
                return self.out.take().map(Ok);
            }
            // Before anything else is opened: whoever waits for a client holds one block, not two.
            if self.out.as_ref().is_some_and(is_full) {
                return self.out.take().map(Ok);
            }
            if let Err(error) = self.open_parts() {
                self.errors.push_back(error);
                if self.out.is_some() {
                    return self.out.take().map(Ok);
                }
                continue;
            }
            let Some(run) = self.next_run() else {
                return self.out.take().map(Ok);
            };
            let value_type = self.open[run.chosen].batch.value_type();
            let full =
                |out: &Batch| out.value_type() != value_type || (self.is_too_much(&run, out) && self.passes(&run));
            if self.out.as_ref().is_some_and(full) {
                return self.out.take().map(Ok);
            }
            self.take_run(run);
            if self.out.as_ref().is_some_and(Batch::is_empty) {
                self.out = None;
            }
        }
    }
}

/// Whether a batch takes no more.
fn is_full(batch: &Batch) -> bool {
    let bytes = batch.byte_size();
    let is_full = match batch.value_type().shape {
        Shape::Array => bytes + bytes / batch.len().max(1) > ARRAYS_BYTES_MAX,
        Shape::Scalar => bytes >= BATCH_BYTES_MAX,
    };
    is_full || batch.len() >= BATCH_ROWS_MAX
}

/// Whether a block lies in the range, and its summary says all that bins want.
fn says_all(summary: &Summary, range: TimeRange) -> bool {
    range.contains(summary.t0) && range.contains(summary.t1) && is_of_numbers(summary)
}

/// Whether all that is summed up are numbers, and finite.
fn is_of_numbers(summary: &Summary) -> bool {
    summary.value_type.is_numeric_scalar() && summary.is_finite()
}

/// Whether one of the edges has samples before and behind it.
fn is_cut(summary: &Summary, edges: &[Timestamp]) -> bool {
    let edge = edges.partition_point(|edge| *edge <= summary.t0);
    edges.get(edge).is_some_and(|edge| *edge <= summary.t1)
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

/// The samples of a PV in time order, with summaries instead of blocks and of rows of levels that no edge cuts.
#[derive(Debug)]
pub struct Stretches {
    samples: Samples,
}

impl Stretches {
    pub(crate) fn new(samples: Samples, edges: Arc<[Timestamp]>) -> Stretches {
        Stretches { samples: Samples { edges: Some(edges), ..samples } }
    }

    /// Which blocks were read so far because edges cut them: where they are many, others may be read at the same time.
    pub fn cuts(&self) -> Cuts {
        self.samples.cuts
    }

    /// One field of structures, as for [`Samples`].
    pub fn of_field(self, path: &str) -> Stretches {
        Stretches { samples: self.samples.of_field(path) }
    }
}

impl Iterator for Stretches {
    type Item = Result<Stretch, Error>;

    fn next(&mut self) -> Option<Result<Stretch, Error>> {
        if self.samples.errors.is_empty()
            && self.samples.field.is_none()
            && let Some(summary) = self.samples.take_summary()
        {
            return Some(Ok(Stretch::Summary(summary)));
        }
        self.samples.next_batch(Until::Apart).map(|batch| batch.map(Stretch::Samples))
    }
}

//! The search: when a condition held, in order of time, over any range.
//!
//! ```text
//!   days      ┊  no   │   ?   │  yes  │   ?   ┊       summaries decide most
//!   2 hours           │nn?nnyyy│       │nnnn…         what they leave open is cut finer
//!   10 minutes           │…│
//!   samples              ▁▁▔▔▁▔▔                      and looked at step by step at last
//! ```
//! It goes on by small pieces, so that whoever asks can say how far it is, and stop.

use std::{collections::VecDeque, sync::Arc};

use query::{Error, Query, Series};
use sample::{TimeRange, Timestamp};

use crate::{
    cells,
    look::{Left, Looked, Looker, Open, Piece, Reading, Truth},
    program::{Program, Scratch},
    steps::{DAMAGE_TOLD, Gaps, READ_MAX, StepError},
    track::{Track, What},
};

const SECOND: i64 = 1_000_000_000;
/// How wide cells are: a day, two hours, ten minutes. The store keeps summaries of these, and of shorter ones only where samples are so
/// many that a block is no longer.
pub(crate) const WIDTHS: [i64; 3] = [86_400 * SECOND, 7_200 * SECOND, 600 * SECOND];
/// The search bounds this many cells together.
const CELLS_AT_ONCE: usize = 2048;
/// Longer stretches are not looked at side by side.
const SHORT: i64 = WIDTHS[1];
/// Each thread looks at this many stretches before the caller gets its turn back.
const LOOKS_A_THREAD: usize = 8;

/// A time in which a condition held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// From when on.
    pub from: Timestamp,
    /// Until when, not included.
    pub to: Timestamp,
    /// What was before.
    pub begins: Edge,
    /// What came behind.
    pub ends: Edge,
}

/// Why an interval begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// The condition became true there, or false.
    Change,
    /// On the other side it is not known.
    Unknown,
    /// The range begins or ends there.
    Range,
}

impl Edge {
    /// Its name in answers.
    pub fn name(self) -> &'static str {
        match self {
            Edge::Change => "change",
            Edge::Unknown => "unknown",
            Edge::Range => "range",
        }
    }
}

/// What a search comes to, so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// How many intervals were found.
    pub intervals: u64,
    /// How many nanoseconds they are together.
    pub held: i64,
    /// For how many nanoseconds it is not known.
    pub unknown: i64,
    /// For how many nanoseconds summaries alone have decided.
    pub by_summaries: i64,
    /// How many numbers were read, one by one.
    pub read: u64,
    /// Up to when it was looked.
    pub until: Timestamp,
    /// Sentences about what is damaged, the first of them.
    pub damage: Vec<String>,
}

/// What comes next of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A time in which the condition held for as long as it was to.
    Interval(Interval),
    /// It has gone on; the tally says how far.
    Progress,
}

/// A piece of work. The search takes the last one first.
enum Todo {
    /// A stretch that summaries have decided, or that is to be looked at.
    Left(Left),
    /// It was looked at, perhaps not up to its end.
    Looked(Looked),
}

/// Looks for the times in which a condition held.
pub struct Search {
    query: Query,
    program: Program,
    range: TimeRange,
    /// One for each track.
    gaps: Vec<Gaps>,
    todo: Vec<Todo>,
    /// The long stretch that it reads now.
    reading: Option<Reading>,
    threads: usize,
    run: Run,
    tally: Tally,
    read_max: u64,
    is_over: bool,
}

/// The stretch of one truth that goes on.
struct Run {
    truth: Truth,
    from: i64,
    begins: Edge,
    found: VecDeque<Interval>,
}

impl Search {
    /// Of a condition in a range, which must not reach beyond now: nobody knows what comes.
    pub fn new(query: Query, program: Program, range: TimeRange) -> Result<Search, Error> {
        // So that the nanoseconds between any two times can be counted.
        let [first, last] = [i64::MIN / 2, i64::MAX / 2].map(Timestamp::from_nanos);
        let range = TimeRange { t0: range.t0.clamp(first, last), t1: range.t1.clamp(first, last) };
        let gaps = gaps_of_tracks(&query, &program.tracks, range.t1)?;
        let (from, to) = (range.t0.nanos(), range.t1.nanos());
        let reads_all = program.tracks.iter().any(|track| track.what.is_of_whole_range());
        let told = program.tracks.iter().any(|track| cells::are_told(&track.what));
        let todo = match () {
            () if from >= to => Vec::new(),
            () if program.tracks.is_empty() => {
                let truth = Truth::of(program.run(&[], 1, &mut Scratch::default())[0]);
                vec![Todo::Left(Left::Decided(Piece { from, to, truth }))]
            }
            () => {
                let level = if reads_all || !told { WIDTHS.len() } else { 0 };
                vec![Todo::Left(Left::Open(Open { from, to, level, held: vec![None; program.tracks.len()] }))]
            }
        };
        let threads = if reads_all { 1 } else { program.threads() };
        let run = Run { truth: Truth::Unknown, from, begins: Edge::Range, found: VecDeque::new() };
        let tally = Tally { until: range.t0, ..Tally::default() };
        Ok(Search {
            query,
            program,
            range,
            gaps,
            todo,
            reading: None,
            threads,
            run,
            tally,
            read_max: READ_MAX,
            is_over: false,
        })
    }

    /// The same that begins no more reading once it has read that many numbers.
    pub fn reading_at_most(self, read_max: u64) -> Search {
        Search { read_max, ..self }
    }

    /// What it comes to, so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Whether all of the range was looked at, once nothing more is found.
    pub fn is_whole(&self) -> bool {
        self.tally.until == self.range.t1
    }

    /// In which range it looks.
    pub fn range(&self) -> TimeRange {
        self.range
    }

    fn go_on(&mut self) -> Result<(), StepError> {
        if let Some(mut reading) = self.reading.take() {
            let mut looked = Looked::default();
            let is_over = reading.go_on(&self.program, &mut looked);
            self.add(looked)?;
            if !is_over? {
                self.reading = Some(reading);
            }
            return Ok(());
        }
        match self.todo.pop() {
            Some(Todo::Left(Left::Decided(piece))) => {
                self.tally.by_summaries += piece.to - piece.from;
                self.is_so(piece);
            }
            Some(Todo::Left(Left::Open(open))) if self.is_short(&open) => self.look_ahead(open),
            Some(Todo::Left(Left::Open(open))) if open.level < WIDTHS.len() => {
                let left = self.looker().cut(open)?;
                self.todo.extend(left.into_iter().map(Todo::Left));
            }
            Some(Todo::Left(Left::Open(open))) => self.reading = Some(self.looker().begin(&open)?),
            Some(Todo::Looked(looked)) => self.add(looked)?,
            None => self.end(),
        }
        Ok(())
    }

    fn looker(&self) -> Looker<'_> {
        Looker { query: &self.query, program: &self.program, gaps: &self.gaps }
    }

    fn is_short(&self, open: &Open) -> bool {
        self.threads > 1 && open.to - open.from <= SHORT
    }

    /// Looks at a short stretch, and at others that come soon behind it.
    fn look_ahead(&mut self, first: Open) {
        let mut open = vec![first];
        let mut between: Vec<Option<Piece>> = vec![None]; // none where one of these was
        while open.len() < self.threads * LOOKS_A_THREAD {
            match self.todo.pop() {
                Some(Todo::Left(Left::Decided(piece))) => between.push(Some(piece)),
                Some(Todo::Left(Left::Open(next))) if self.is_short(&next) => {
                    open.push(next);
                    between.push(None);
                }
                other => {
                    self.todo.extend(other);
                    break;
                }
            }
        }
        let mut looked = self.looker().look_at(&open, self.threads);
        for piece in between.into_iter().rev() {
            self.todo.extend(match piece {
                Some(piece) => Some(Todo::Left(Left::Decided(piece))),
                None => looked.pop().map(Todo::Looked),
            });
        }
    }

    fn add(&mut self, looked: Looked) -> Result<(), StepError> {
        self.tally.by_summaries += looked.by_summaries;
        self.tally.read += looked.read;
        self.tally.damage.extend(looked.damage);
        self.tally.damage.truncate(DAMAGE_TOLD);
        looked.pieces.into_iter().for_each(|piece| self.is_so(piece));
        self.todo.extend(looked.rest.into_iter().map(Todo::Left));
        looked.failed.map_or(Ok(()), Err)
    }

    /// Counts a stretch of one truth, which follows what was counted before.
    fn is_so(&mut self, Piece { from, to, truth }: Piece) {
        if from >= to {
            return;
        }
        if truth == Truth::Unknown {
            self.tally.unknown += to - from;
        }
        self.tally.until = Timestamp::from_nanos(to);
        if from == self.range.t0.nanos() {
            self.run.truth = truth;
        } else if truth != self.run.truth {
            self.close(from, if truth == Truth::Unknown { Edge::Unknown } else { Edge::Change });
            self.run.begins = if self.run.truth == Truth::Unknown { Edge::Unknown } else { Edge::Change };
            (self.run.truth, self.run.from) = (truth, from);
        }
    }

    /// Ends the stretch that goes on.
    fn close(&mut self, to: i64, ends: Edge) {
        let Run { truth, from, begins, .. } = self.run;
        let lasts = |dwell: crate::Dwell| dwell.compare.holds((to - from) as f64, dwell.nanos as f64);
        if truth == Truth::True && from < to && self.program.dwell.is_none_or(lasts) {
            let [from, end] = [from, to].map(Timestamp::from_nanos);
            self.run.found.push_back(Interval { from, to: end, begins, ends });
            self.tally.intervals += 1;
            self.tally.held += to - self.run.from;
        }
    }

    fn end(&mut self) {
        self.is_over = true;
        self.close(self.tally.until.nanos(), Edge::Range);
    }
}

/// Where cells begin and end: at multiples of their width, and at the ends of the stretch; and up to where they reach.
pub(crate) fn edges_between(from: i64, to: i64, width: i64) -> (Vec<i64>, i64) {
    let mut edges = vec![from];
    let mut next = from.div_euclid(width).saturating_add(1).saturating_mul(width);
    while next < to && next > from && edges.len() <= CELLS_AT_ONCE {
        edges.push(next);
        next = next.saturating_add(width);
    }
    if next >= to || edges.len() == 1 {
        edges.push(to);
    }
    let end = edges.last().copied().unwrap_or(to);
    (edges, end)
}

/// The gaps of each track up to a time; those of a PV are looked for once.
pub(crate) fn gaps_of_tracks(query: &Query, tracks: &[Track], until: Timestamp) -> Result<Vec<Gaps>, Error> {
    let ahead = tracks.iter().map(|track| if let What::Shift(nanos) = track.what { nanos.min(0) } else { 0 }).min();
    let until = Timestamp::from_nanos(until.nanos().saturating_sub(ahead.unwrap_or(0)));
    let mut gaps: Vec<Gaps> = Vec::new();
    for (index, track) in tracks.iter().enumerate() {
        let same = tracks[..index].iter().position(|other| other.series == track.series);
        gaps.push(match same {
            Some(same) => Arc::clone(&gaps[same]),
            None => gaps_of(query, &track.series, until)?,
        });
    }
    Ok(gaps)
}

/// The gaps of a PV and of the archiver up to a time, as far as they are apart.
pub(crate) fn gaps_of(query: &Query, series: &Series, until: Timestamp) -> Result<Gaps, Error> {
    let gaps = query.gaps(series, TimeRange { t0: Timestamp::MIN, t1: until })?;
    let mut apart: Vec<(i64, i64)> = Vec::new();
    for (_, gap) in gaps {
        let (from, to) = (gap.from.nanos(), gap.to.unwrap_or(Timestamp::MAX).nanos());
        match apart.last_mut() {
            Some((_, end)) if from <= *end => *end = to.max(*end),
            _ if from < to => apart.push((from, to)),
            _ => {}
        }
    }
    Ok(apart.into())
}

impl Iterator for Search {
    type Item = Result<Found, StepError>;

    fn next(&mut self) -> Option<Result<Found, StepError>> {
        if let Some(interval) = self.run.found.pop_front() {
            return Some(Ok(Found::Interval(interval)));
        }
        if self.is_over {
            return None;
        }
        if self.tally.read >= self.read_max {
            self.end();
            return Some(Ok(Found::Progress));
        }
        match self.go_on() {
            Ok(()) => Some(Ok(Found::Progress)),
            Err(error) => {
                self.is_over = true;
                Some(Err(error))
            }
        }
    }
}

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

use query::{Error, Query};
use sample::{TimeRange, Timestamp};

use crate::{
    bounds::Bounds,
    cells,
    columns::{Columns, Stretch},
    program::{Program, Scratch},
    steps::{Gaps, StepError, range_of},
    track::{Track, What},
};

const SECOND: i64 = 1_000_000_000;
/// How wide cells are: a day, two hours, ten minutes. The store keeps summaries of these, and of shorter ones only where samples are so
/// many that a block is no longer.
const WIDTHS: [i64; 3] = [86_400 * SECOND, 7_200 * SECOND, 600 * SECOND];
/// The search bounds this many cells together.
const CELLS_AT_ONCE: usize = 2048;
/// One search reads at most this many numbers: two PVs at 10 Hz have three thousand million in five years.
const READ_MAX: u64 = 4_000_000_000;
/// A search keeps at most this many sentences about damage.
const DAMAGE_TOLD: usize = 100;

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

/// True, false or not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Truth {
    True,
    False,
    Unknown,
}

impl Truth {
    fn of(number: f64) -> Truth {
        match number {
            _ if number.is_nan() => Truth::Unknown,
            0.0 => Truth::False,
            _ => Truth::True,
        }
    }
}

/// A piece of work that is left. The search takes the last one first.
enum Todo {
    /// It is so.
    Decided(i64, i64, Truth),
    /// To be cut into cells of that width, or looked at step by step behind the last. Of some tracks it is known already which number they
    /// hold throughout.
    Open(i64, i64, usize, Vec<Option<f64>>),
}

/// Looks for the times in which a condition held.
pub struct Search {
    query: Query,
    program: Program,
    range: TimeRange,
    /// One for each track.
    gaps: Vec<Gaps>,
    todo: Vec<Todo>,
    /// The stretch that the search reads now, and its end.
    reading: Option<(Columns, i64)>,
    /// The truth since the last change, which the tally does not have yet.
    pending: Option<(i64, Truth)>,
    scratch: Scratch,
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
        let mut scratch = Scratch::default();
        let todo = match () {
            () if from >= to => Vec::new(),
            () if program.tracks.is_empty() => {
                vec![Todo::Decided(from, to, Truth::of(program.run(&[], 1, &mut scratch)[0]))]
            }
            () => {
                let level = if reads_all || !told { WIDTHS.len() } else { 0 };
                vec![Todo::Open(from, to, level, vec![None; program.tracks.len()])]
            }
        };
        let run = Run { truth: Truth::Unknown, from, begins: Edge::Range, found: VecDeque::new() };
        let tally = Tally { until: range.t0, ..Tally::default() };
        Ok(Search {
            query,
            program,
            range,
            gaps,
            todo,
            reading: None,
            pending: None,
            scratch,
            run,
            tally,
            read_max: READ_MAX,
            is_over: false,
        })
    }

    /// The same that reads no more numbers than that.
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
        if self.reading.is_some() {
            return self.read_on();
        }
        match self.todo.pop() {
            Some(Todo::Decided(from, to, truth)) => {
                self.tally.by_summaries += to - from;
                self.is_so(from, to, truth);
            }
            Some(Todo::Open(from, to, level, held)) if level < WIDTHS.len() => self.cut(from, to, level, held)?,
            Some(Todo::Open(from, to, _, held)) => {
                let tracks = &self.program.tracks;
                let columns = Columns::beside(&self.query, tracks, range_of(from, to), &self.gaps, &held)?;
                self.pending = None;
                self.reading = Some((columns, to));
            }
            None => self.end(),
        }
        Ok(())
    }

    /// Cuts a stretch into cells, and puts aside what is to be done with each.
    fn cut(&mut self, from: i64, to: i64, level: usize, held: Vec<Option<f64>>) -> Result<(), Error> {
        let (edges, end) = edges_between(from, to, WIDTHS[level]);
        let edges: Arc<[Timestamp]> = edges.into_iter().map(Timestamp::from_nanos).collect();
        let mut tracks: Vec<Vec<Bounds>> = Vec::new();
        for ((track, gaps), held) in self.program.tracks.iter().zip(&self.gaps).zip(&held) {
            tracks.push(match held {
                Some(held) => vec![Bounds::one(*held); edges.len() - 1],
                None => cells::bounds(&self.query, track, &edges, gaps)?,
            });
        }
        if end < to {
            self.todo.push(Todo::Open(end, to, level, held));
        }
        let mut made: Vec<Todo> = Vec::new();
        for (cell, ends) in edges.windows(2).enumerate() {
            let (from, to) = (ends[0].nanos(), ends[1].nanos());
            match (made.last_mut(), self.outcome(cell, &tracks)) {
                (Some(Todo::Decided(_, end, last)), Ok(truth)) if *last == truth => *end = to,
                (_, Ok(truth)) => made.push(Todo::Decided(from, to, truth)),
                (Some(Todo::Open(_, end, _, last)), Err(held)) if *last == held => *end = to,
                (_, Err(held)) => made.push(Todo::Open(from, to, level + 1, held)),
            }
        }
        self.todo.extend(made.into_iter().rev());
        Ok(())
    }

    /// What holds throughout a cell, or what is known of the tracks that have to be looked at.
    fn outcome(&mut self, cell: usize, tracks: &[Vec<Bounds>]) -> Result<Truth, Vec<Option<f64>>> {
        if let Some(decided) = self.program.bounds(|track| tracks[track][cell]).decided() {
            return Ok(Truth::of(decided));
        }
        // Bounds do not tell which of the two zeros it is, which matters to who divides by it.
        let divides = self.program.divides();
        let is_told = |number: &f64| *number != 0.0 || !divides;
        let held: Vec<Option<f64>> = tracks.iter().map(|bounds| bounds[cell].decided().filter(is_told)).collect();
        match held.iter().map(|number| number.map(|number| vec![number])).collect::<Option<Vec<_>>>() {
            Some(columns) => Ok(Truth::of(self.program.run(&columns, 1, &mut self.scratch)[0])),
            None => Err(held),
        }
    }

    fn read_on(&mut self) -> Result<(), StepError> {
        let Some((columns, to)) = &mut self.reading else { return Ok(()) };
        let (to, before) = (*to, columns.read());
        let stretch = columns.next();
        self.tally.read += columns.read() - before;
        let damage = columns.take_damage();
        self.tally.damage.extend(damage);
        self.tally.damage.truncate(DAMAGE_TOLD);
        match stretch? {
            Some(stretch) => self.add(&stretch),
            None => {
                self.reading = None;
                if let Some((from, truth)) = self.pending.take() {
                    self.is_so(from, to, truth);
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, stretch: &Stretch) {
        let result = self.program.run(&stretch.columns, stretch.times.len(), &mut self.scratch);
        for (time, number) in stretch.times.iter().zip(&result) {
            let truth = Truth::of(*number);
            match self.pending {
                Some((_, last)) if last == truth => {}
                Some((from, last)) => {
                    self.is_so(from, *time, last);
                    self.pending = Some((*time, truth));
                }
                None => self.pending = Some((*time, truth)),
            }
        }
        self.scratch.give(result);
        if let (Some((from, truth)), Some(last)) = (self.pending, stretch.times.last()) {
            self.is_so(from, *last, truth);
            self.pending = Some((*last, truth));
        }
    }

    /// Counts a stretch of one truth, which follows what was counted before.
    fn is_so(&mut self, from: i64, to: i64, truth: Truth) {
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
fn edges_between(from: i64, to: i64, width: i64) -> (Vec<i64>, i64) {
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
            None => gaps_of(query, track, until)?,
        });
    }
    Ok(gaps)
}

/// The gaps of a PV and of the archiver up to a time, as far as they are apart.
fn gaps_of(query: &Query, track: &Track, until: Timestamp) -> Result<Gaps, Error> {
    let gaps = query.gaps(&track.series, TimeRange { t0: Timestamp::MIN, t1: until })?;
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

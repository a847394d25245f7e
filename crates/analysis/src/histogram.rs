//! Histograms: for how long a number lay between two edges, and how many samples did.
//!
//! ```text
//!   days      ┊ 3..4 │ 1..9 │ 3..4 ┊      a day whose least and greatest lie in one part is told by its summary
//!   2 hours          │3..4 1..9 …│        all others are cut finer
//!   10 minutes            │…│             and read at last
//! ```
//! Each part has its lower edge and not its upper one; the last has both. Beyond the edges, infinite, NaN, in a gap, and before the first
//! sample are told apart. The time is that of the steps, of which the last of one stamp counts. Samples of a PV are counted each, in gaps
//! too; of a formula it is the moments at which one of its PVs has a sample.

use std::sync::Arc;

use query::{Before, Cut, Error, Query, Request, Series};
use sample::{Column, Stretch, TimeRange, Timestamp};

use crate::{
    bounds::Bounds,
    cells,
    formula::{IsWanted, MadeOf, Piece, Results},
    program::Program,
    search::{WIDTHS, edges_between, gaps_of_tracks},
    steps::{DAMAGE_TOLD, Gaps, READ_MAX, STEPS_AT_ONCE, StepError, range_of},
    track::What,
};

/// Between which edges is counted.
#[derive(Clone, Debug, PartialEq)]
pub enum HistogramParts {
    /// This many of equal width, from `low` to `high`; a side that is not given is the least, or the greatest, number found.
    Equal {
        /// How many, at least one.
        count: usize,
        /// Where the first begins.
        low: Option<f64>,
        /// Where the last ends.
        high: Option<f64>,
    },
    /// These, rising, at least two.
    Edges(Vec<f64>),
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistogramWeight {
    /// For how long a number held.
    Time,
    /// How many samples there are.
    Count,
    /// Both.
    Both,
}

impl HistogramWeight {
    /// Its name in answers.
    pub fn name(self) -> &'static str {
        match self {
            HistogramWeight::Time => "time",
            HistogramWeight::Count => "count",
            HistogramWeight::Both => "both",
        }
    }

    fn is_timed(self) -> bool {
        self != HistogramWeight::Count
    }

    fn is_counted(self) -> bool {
        self != HistogramWeight::Time
    }
}

/// How much lies in one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HistogramShare {
    /// For how many nanoseconds.
    pub nanos: i64,
    /// How many samples.
    pub count: u64,
}

/// What a range comes to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    /// One more than there are parts; none if nothing finite was found to lay them between.
    pub edges: Vec<f64>,
    /// What lies in each part.
    pub parts: Vec<HistogramShare>,
    /// Finite, and less than the first edge.
    pub below: HistogramShare,
    /// Finite, and beyond the last edge.
    pub above: HistogramShare,
    /// Infinite.
    pub infinite: HistogramShare,
    /// Less than any number.
    pub minus_infinite: HistogramShare,
    /// Not a number, neither for a gap nor for want of a first sample.
    pub nan: HistogramShare,
    /// In a gap.
    pub gaps: HistogramShare,
    /// Before the first sample.
    pub before: HistogramShare,
    /// For how many nanoseconds of the range summaries alone were asked.
    pub by_summaries: i64,
    /// For how many samples were read.
    pub by_samples: i64,
    /// How many numbers were read.
    pub read: u64,
    /// Sentences about what is damaged, the first of them.
    pub damage: Vec<String>,
}

/// Counts, piece by piece.
pub struct HistogramGathering {
    query: Query,
    program: Program,
    range: TimeRange,
    weight: HistogramWeight,
    gaps: Vec<Gaps>,
    /// In order: when nothing is known of one of the PVs for a gap.
    hidden: Vec<(i64, i64)>,
    /// Until when nothing is known for want of a first sample.
    begins: i64,
    todo: Vec<Todo>,
    reading: Option<Reading>,
    found: Histogram,
    is_wanted: IsWanted,
}

/// What is left to do. The last one is done first.
enum Todo {
    /// To look for the least and the greatest, and lay the edges between them.
    LayEdges { count: usize, low: Option<f64>, high: Option<f64> },
    /// The time from one moment to another, in cells of a width, or step by step behind the last.
    Time(i64, i64, usize),
    /// The samples of a PV likewise.
    Samples(i64, i64, usize),
}

/// What is being read.
enum Reading {
    /// For the least and the greatest of what is finite.
    Ends { results: Results, ends: Option<(f64, f64)>, count: usize, low: Option<f64>, high: Option<f64> },
    /// For the time, and the moments of a formula.
    Steps { results: Results, seen: u64, is_timed: bool, is_counted: bool },
    /// Each sample of a PV.
    Samples(query::Samples),
}

/// Where a number belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Part(usize),
    Below,
    Above,
    Infinite,
    MinusInfinite,
    Nan,
}

impl HistogramGathering {
    /// Of an expression in a range.
    pub fn new(
        query: Query,
        program: Program,
        range: TimeRange,
        parts: HistogramParts,
        weight: HistogramWeight,
        is_wanted: IsWanted,
    ) -> Result<HistogramGathering, Error> {
        // So that the nanoseconds between any two times can be counted.
        let [first, last] = [i64::MIN / 2, i64::MAX / 2].map(Timestamp::from_nanos);
        let range = TimeRange { t0: range.t0.clamp(first, last), t1: range.t1.clamp(first, last) };
        let (from, to) = (range.t0.nanos(), range.t1.nanos());
        let gaps = gaps_of_tracks(&query, &program.tracks, range.t1)?;
        let hidden = hidden(&program, &gaps);
        let begins = begins(&query, &program, range)?;
        let reads_all = program.tracks.iter().any(|track| track.what.is_of_whole_range())
            || !program.tracks.iter().any(|track| cells::are_told(&track.what));
        let level = if reads_all { WIDTHS.len() } else { 0 };
        let mut todo = Vec::new();
        if weight.is_counted() && from < to && program.plain().is_some() {
            todo.push(Todo::Samples(from, to, 0));
        }
        if weight.is_timed() && from < to {
            todo.push(Todo::Time(from, to, level));
        }
        if weight.is_counted() && !weight.is_timed() && program.plain().is_none() && from < to {
            todo.push(Todo::Time(from, to, WIDTHS.len()));
        }
        let mut found = Histogram::default();
        match parts {
            HistogramParts::Edges(edges) => found.lay(edges),
            HistogramParts::Equal { count, low: Some(low), high: Some(high) } => found.lay(equal(low, high, count)),
            HistogramParts::Equal { count, low, high } => todo.push(Todo::LayEdges { count, low, high }),
        }
        Ok(HistogramGathering {
            query,
            program,
            range,
            weight,
            gaps,
            hidden,
            begins,
            todo,
            reading: None,
            found,
            is_wanted,
        })
    }

    /// Does some more; false at the end.
    pub fn go_on(&mut self) -> Result<bool, StepError> {
        if !(self.is_wanted)() {
            return Err(StepError::Unwanted);
        }
        if self.found.read > READ_MAX {
            return Err(StepError::TooMany(READ_MAX));
        }
        if let Some(reading) = self.reading.take() {
            self.reading = self.read_on(reading)?;
            return Ok(true);
        }
        match self.todo.pop() {
            None => return Ok(false),
            Some(Todo::LayEdges { count, low, high }) => self.lay_edges(count, low, high)?,
            Some(Todo::Time(from, to, level)) if level < WIDTHS.len() && !self.moments_are_counted() => {
                self.cut_time(from, to, level)?;
            }
            Some(Todo::Time(from, to, _)) => {
                let results = self.results(from, to)?;
                let is_counted = self.moments_are_counted();
                let is_timed = self.weight.is_timed();
                self.found.by_samples += to - from;
                self.reading = Some(Reading::Steps { results, seen: 0, is_timed, is_counted });
            }
            Some(Todo::Samples(from, to, level)) if level < WIDTHS.len() => self.cut_samples(from, to, level)?,
            Some(Todo::Samples(from, to, _)) => {
                let Some(series) = self.program.plain().cloned() else { return Ok(true) };
                self.found.by_samples += if self.weight.is_timed() { 0 } else { to - from };
                let request = Request { series, range: range_of(from, to), before: Before::None };
                self.reading = Some(Reading::Samples(self.query.samples(&request)));
            }
        }
        Ok(true)
    }

    /// What it comes to.
    pub fn histogram(self) -> Histogram {
        self.found
    }

    /// Whether the moments of a formula are counted, which no summary tells.
    fn moments_are_counted(&self) -> bool {
        self.weight.is_counted() && self.program.plain().is_none()
    }

    fn results(&self, from: i64, to: i64) -> Result<Results, StepError> {
        let is_wanted = Arc::clone(&self.is_wanted);
        Results::with_gaps(&self.query, &self.program, range_of(from, to), &self.gaps, is_wanted)
    }

    /// The least and the greatest of a PV by its summaries, unless something infinite is among them; else by all steps.
    fn lay_edges(&mut self, count: usize, low: Option<f64>, high: Option<f64>) -> Result<(), StepError> {
        let told = match self.program.plain().cloned() {
            Some(series) => self.ends_told(&series)?,
            None => None,
        };
        match told {
            Some(ends) => self.found.lay_between(ends, count, low, high),
            None => {
                let results = self.results(self.range.t0.nanos(), self.range.t1.nanos())?;
                self.reading = Some(Reading::Ends { results, ends: None, count, low, high });
            }
        }
        Ok(())
    }

    fn ends_told(&self, series: &Series) -> Result<Option<(f64, f64)>, Error> {
        let mut bins = self.query.bins(series.clone(), self.range, Cut::Equal(1))?;
        let Some(bin) = bins.next().transpose()?.filter(|_| bins.damage().is_empty()) else { return Ok(None) };
        let held = match self.range.t0.nanos().checked_sub(1) {
            Some(before) => self.query.last_before(series, Timestamp::from_nanos(before))?,
            None => None,
        };
        let held = held.and_then(|sample| sample.value.as_f64()).filter(|number| !number.is_nan());
        let least = bin.min.min(held.unwrap_or(f64::INFINITY));
        let greatest = bin.max.max(held.unwrap_or(f64::NEG_INFINITY));
        Ok((least.is_finite() && greatest.is_finite()).then_some((least, greatest)))
    }

    /// Cuts a stretch of time into cells, takes those that lie in one place, and puts the others aside.
    fn cut_time(&mut self, from: i64, to: i64, level: usize) -> Result<(), Error> {
        let (edges, end) = edges_between(from, to, WIDTHS[level]);
        let edges: Arc<[Timestamp]> = edges.into_iter().map(Timestamp::from_nanos).collect();
        let mut tracks: Vec<Vec<Bounds>> = Vec::new();
        for (track, gaps) in self.program.tracks.iter().zip(&self.gaps) {
            tracks.push(cells::bounds(&self.query, track, &edges, gaps)?);
        }
        let mut open: Vec<(i64, i64)> = Vec::new();
        for (cell, ends) in edges.windows(2).enumerate() {
            let (from, to) = (ends[0].nanos(), ends[1].nanos());
            match self.program.bounds(|track| tracks[track][cell]).ends().and_then(|ends| self.found.one_slot(ends)) {
                Some(slot) => {
                    self.found.by_summaries += to - from;
                    self.hold(from, to, slot);
                }
                None => put_aside(&mut open, from, to),
            }
        }
        if end < to {
            self.todo.push(Todo::Time(end, to, level));
        }
        self.todo.extend(open.into_iter().rev().map(|(from, to)| Todo::Time(from, to, level + 1)));
        Ok(())
    }

    /// Like `cut_time`, but it counts the samples of a PV.
    fn cut_samples(&mut self, from: i64, to: i64, level: usize) -> Result<(), Error> {
        let Some(series) = self.program.plain().cloned() else { return Ok(()) };
        let (edges, end) = edges_between(from, to, WIDTHS[level]);
        let edges: Arc<[Timestamp]> = edges.into_iter().map(Timestamp::from_nanos).collect();
        let mut tallies = vec![CellCount::default(); edges.len() - 1];
        let range = TimeRange { t0: edges[0], t1: edges[edges.len() - 1] };
        for stretch in self.query.stretches(&series, range, Arc::clone(&edges))? {
            let time = match &stretch {
                Ok(Stretch::Summary(summary)) => summary.t0,
                Ok(Stretch::Samples(batch)) if batch.is_empty() => continue,
                Ok(Stretch::Samples(batch)) => batch.times()[0],
                // Whoever reads the samples is told.
                Err(error) if error.is_damage() => {
                    tallies.iter_mut().for_each(|tally| tally.is_open = true);
                    break;
                }
                Err(_) => {
                    stretch?;
                    break;
                }
            };
            let cell = edges.partition_point(|edge| *edge <= time).saturating_sub(1).min(tallies.len() - 1);
            match stretch {
                Ok(Stretch::Summary(summary)) if summary.value_type.is_numeric_scalar() => {
                    tallies[cell].add(summary.count, summary.nan_count, (summary.min, summary.max));
                }
                Ok(Stretch::Samples(batch)) => {
                    for (row, time) in batch.times().iter().enumerate() {
                        let cell = edges.partition_point(|edge| edge <= time).saturating_sub(1).min(tallies.len() - 1);
                        let number = batch.values().f64_at(row).unwrap_or(f64::NAN);
                        tallies[cell].add(1, u64::from(number.is_nan()), (number, number));
                    }
                }
                _ => tallies[cell].is_open = true,
            }
        }
        let mut open: Vec<(i64, i64)> = Vec::new();
        for (tally, ends) in tallies.iter().zip(edges.windows(2)) {
            let (from, to) = (ends[0].nanos(), ends[1].nanos());
            let slot = if tally.numbers == 0 { Some(Slot::Nan) } else { self.found.one_slot(tally.ends) };
            match slot.filter(|_| !tally.is_open) {
                Some(slot) => {
                    self.found.by_summaries += if self.weight.is_timed() { 0 } else { to - from };
                    self.found.share(slot).count += tally.numbers;
                    self.found.nan.count += tally.nan;
                }
                None => put_aside(&mut open, from, to),
            }
        }
        if end < to {
            self.todo.push(Todo::Samples(end, to, level));
        }
        self.todo.extend(open.into_iter().rev().map(|(from, to)| Todo::Samples(from, to, level + 1)));
        Ok(())
    }

    fn read_on(&mut self, reading: Reading) -> Result<Option<Reading>, StepError> {
        match reading {
            Reading::Ends { mut results, mut ends, count, low, high } => {
                for _ in 0..STEPS_AT_ONCE {
                    let Some(piece) = results.next()? else {
                        self.note(&mut results);
                        if let Some(ends) = ends {
                            self.found.lay_between(ends, count, low, high);
                        }
                        return Ok(None);
                    };
                    if piece.number.is_finite() {
                        let (least, greatest) = ends.unwrap_or((piece.number, piece.number));
                        ends = Some((least.min(piece.number), greatest.max(piece.number)));
                    }
                }
                Ok(Some(Reading::Ends { results, ends, count, low, high }))
            }
            Reading::Steps { mut results, seen, is_timed, is_counted } => {
                for _ in 0..STEPS_AT_ONCE {
                    let Some(Piece { from, to, number, is_sample }) = results.next()? else {
                        self.note(&mut results);
                        self.found.read -= seen;
                        return Ok(None);
                    };
                    let slot = self.found.slot(number);
                    if is_timed {
                        self.hold(from, to, slot);
                    }
                    if is_counted && is_sample {
                        self.found.share(slot).count += 1;
                    }
                }
                let read = results.read();
                self.found.read += read - seen;
                Ok(Some(Reading::Steps { results, seen: read, is_timed, is_counted }))
            }
            Reading::Samples(mut samples) => {
                match samples.next() {
                    None => return Ok(None),
                    Some(Err(error)) if error.is_damage() => self.found.tell(error.to_string()),
                    Some(batch) => self.count_each(batch?.values()),
                }
                Ok(Some(Reading::Samples(samples)))
            }
        }
    }

    fn count_each(&mut self, column: &Column) {
        self.found.read += column.len() as u64;
        for row in 0..column.len() {
            let slot = self.found.slot(column.f64_at(row).unwrap_or(f64::NAN));
            self.found.share(slot).count += 1;
        }
    }

    /// Adds up what finished results have read, and what damage they met.
    fn note(&mut self, results: &mut Results) {
        self.found.read += results.read();
        results.take_damage().into_iter().for_each(|damage| self.found.tell(damage));
    }

    /// A number held for a while. What is no number is told apart by why.
    fn hold(&mut self, from: i64, to: i64, slot: Slot) {
        if slot != Slot::Nan {
            self.found.share(slot).nanos += to - from;
            return;
        }
        let mut at = from;
        let first = self.hidden.partition_point(|gap| gap.1 <= from);
        for gap in self.hidden[first..].iter().take_while(|gap| gap.0 < to) {
            let (begin, end) = (gap.0.max(at), gap.1.min(to));
            self.found.unknown(at, begin, self.begins);
            self.found.gaps.nanos += end - begin;
            at = end;
        }
        self.found.unknown(at, to, self.begins);
    }
}

/// The samples of a cell.
#[derive(Clone, Copy, Debug)]
struct CellCount {
    numbers: u64,
    nan: u64,
    ends: (f64, f64),
    /// Whether more has to be looked at than summaries.
    is_open: bool,
}

impl Default for CellCount {
    fn default() -> CellCount {
        CellCount { numbers: 0, nan: 0, ends: (f64::INFINITY, f64::NEG_INFINITY), is_open: false }
    }
}

impl CellCount {
    fn add(&mut self, count: u64, nan: u64, (least, greatest): (f64, f64)) {
        self.nan += nan;
        self.numbers += count - nan;
        if count > nan {
            self.ends = (self.ends.0.min(least), self.ends.1.max(greatest));
        }
    }
}

impl Histogram {
    /// Of summaries, of samples, or of both.
    pub fn made_of(&self) -> &'static str {
        match (self.by_summaries > 0, self.by_samples > 0) {
            (true, true) => "both",
            (true, false) => MadeOf::Summaries.name(),
            _ => MadeOf::Samples.name(),
        }
    }

    fn lay(&mut self, edges: Vec<f64>) {
        self.parts = vec![HistogramShare::default(); edges.len().saturating_sub(1)];
        self.edges = edges;
    }

    /// Between the ends that were found, as far as no others are given.
    fn lay_between(&mut self, (least, greatest): (f64, f64), count: usize, low: Option<f64>, high: Option<f64>) {
        let (mut begin, mut end) = (low.unwrap_or(least), high.unwrap_or(greatest));
        if begin >= end {
            // There is but one number, or all lie beyond the end that is given.
            let wide = (begin.abs().max(end.abs()) / f64::from(1 << 20)).max(0.5);
            match (low, high) {
                (Some(_), _) => end = begin + 2.0 * wide,
                (None, Some(_)) => begin = end - 2.0 * wide,
                (None, None) => (begin, end) = (begin - wide, end + wide),
            }
        }
        // Around the greatest and the least number there is the ends are infinite.
        self.lay(equal(begin.max(f64::MIN), end.min(f64::MAX), count));
    }

    fn slot(&self, number: f64) -> Slot {
        match (self.edges.first(), self.edges.last()) {
            _ if number.is_nan() => Slot::Nan,
            _ if number == f64::INFINITY => Slot::Infinite,
            _ if number == f64::NEG_INFINITY => Slot::MinusInfinite,
            (Some(first), _) if number < *first => Slot::Below,
            (_, Some(last)) if number > *last => Slot::Above,
            (Some(_), Some(_)) => {
                let after = self.edges.partition_point(|edge| *edge <= number);
                Slot::Part(after.saturating_sub(1).min(self.parts.len().saturating_sub(1)))
            }
            _ => Slot::Nan,
        }
    }

    /// Where all numbers between two lie; none if they lie in several places.
    fn one_slot(&self, (least, greatest): (f64, f64)) -> Option<Slot> {
        let slot = self.slot(least);
        (slot == self.slot(greatest)).then_some(slot)
    }

    fn share(&mut self, slot: Slot) -> &mut HistogramShare {
        match slot {
            Slot::Part(part) => &mut self.parts[part],
            Slot::Below => &mut self.below,
            Slot::Above => &mut self.above,
            Slot::Infinite => &mut self.infinite,
            Slot::MinusInfinite => &mut self.minus_infinite,
            Slot::Nan => &mut self.nan,
        }
    }

    /// A time in no gap in which nothing is known.
    fn unknown(&mut self, from: i64, to: i64, begins: i64) {
        if from < to {
            let first = begins.clamp(from, to);
            self.before.nanos += first - from;
            self.nan.nanos += to - first;
        }
    }

    fn tell(&mut self, damage: String) {
        if self.damage.len() < DAMAGE_TOLD {
            self.damage.push(damage);
        }
    }
}

/// A stretch that is left open, together with the one before it if they touch.
fn put_aside(open: &mut Vec<(i64, i64)>, from: i64, to: i64) {
    match open.last_mut() {
        Some((_, end)) if *end == from => *end = to,
        _ => open.push((from, to)),
    }
}

/// Edges of equal parts.
fn equal(low: f64, high: f64, count: usize) -> Vec<f64> {
    let edge = |index: usize| {
        let share = index as f64 / count as f64;
        // Both products are finite where the difference of the two ends is not.
        if index == count { high } else { low * (1.0 - share) + high * share }
    };
    let mut edges: Vec<f64> = (0..=count).map(edge).collect();
    // Rounding may turn neighbours round where the parts are narrower than numbers lie.
    for index in 1..edges.len() {
        edges[index] = edges[index].clamp(edges[index - 1], high.max(edges[index - 1]));
    }
    edges
}

/// When any of the PVs lies in a gap, as it shows in the expression.
fn hidden(program: &Program, gaps: &[Gaps]) -> Vec<(i64, i64)> {
    let mut all: Vec<(i64, i64)> = Vec::new();
    for (track, gaps) in program.tracks.iter().zip(gaps) {
        let later = if let What::Shift(nanos) = track.what { nanos } else { 0 };
        all.extend(gaps.iter().map(|(from, to)| (from.saturating_add(later), to.saturating_add(later))));
    }
    all.sort_unstable();
    let mut apart: Vec<(i64, i64)> = Vec::new();
    for (from, to) in all {
        match apart.last_mut() {
            Some((_, end)) if from <= *end => *end = to.max(*end),
            _ => apart.push((from, to)),
        }
    }
    apart
}

/// Until when one of the PVs has had no sample.
fn begins(query: &Query, program: &Program, range: TimeRange) -> Result<i64, Error> {
    let mut begins = i64::MIN;
    for track in &program.tracks {
        let later = if let What::Shift(nanos) = track.what { nanos } else { 0 };
        let shifted = range_of(range.t0.nanos().saturating_sub(later), range.t1.nanos().saturating_sub(later));
        if query.last_before(&track.series, shifted.t0)?.is_some() {
            continue;
        }
        let request = Request { series: track.series.clone(), range: shifted, before: Before::None };
        let first = query.samples(&request).skipping_damage().next().transpose()?;
        let first = first.and_then(|batch| batch.times().first().copied());
        begins = begins.max(first.map_or(i64::MAX, |time| time.nanos().saturating_add(later)));
    }
    Ok(begins)
}

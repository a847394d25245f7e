//! Formulas: what an expression over PVs comes to, at each step or in each bin of a range.
//!
//! The mean over time of a sum is the sum of the means, so that of `A - 2*B + 3` a bin needs no sample where summaries say that each PV
//! was known all the time. Whatever else is asked is made of the steps, and each bin says of which it was made.

use std::sync::Arc;

use query::{Bin, Bins, Cut, Error, Query};
use sample::{TimeRange, Timestamp};

use crate::{
    columns::Columns,
    program::{Binary, Program, Scratch, Step, Unary},
    search::gaps_of_tracks,
    steps::{Gaps, READ_MAX, StepError},
    text::Arithmetic,
    track::What,
};

/// Whether anybody still wants what is being read.
pub type IsWanted = Arc<dyn Fn() -> bool + Send + Sync>;

/// What an answer was computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MadeOf {
    /// Summaries told it exactly.
    Summaries,
    /// Every sample was read.
    Samples,
}

impl MadeOf {
    /// Its name in answers.
    pub fn name(self) -> &'static str {
        match self {
            MadeOf::Summaries => "summaries",
            MadeOf::Samples => "samples",
        }
    }
}

/// A result that holds for a while.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Piece {
    pub(crate) from: i64,
    pub(crate) to: i64,
    /// NaN where it is not known.
    pub(crate) number: f64,
    /// Whether one of the PVs has a sample where it begins.
    pub(crate) is_sample: bool,
}

/// The results of a program, step by step. Neighbours may be equal.
pub struct Results {
    columns: Columns,
    program: Program,
    scratch: Scratch,
    times: Vec<i64>,
    numbers: Vec<f64>,
    row: usize,
    /// Those of the times at which no PV has a sample, and how many of them were passed.
    edges: Vec<i64>,
    edges_passed: usize,
    /// What holds, and since when.
    held: Option<Piece>,
    to: i64,
    is_wanted: IsWanted,
}

impl Results {
    /// Of a range, for as long as they are wanted.
    pub fn of(query: &Query, program: &Program, range: TimeRange, is_wanted: IsWanted) -> Result<Results, StepError> {
        let gaps = gaps_of_tracks(query, &program.tracks, range.t1)?;
        Results::with_gaps(query, program, range, &gaps, is_wanted)
    }

    pub(crate) fn with_gaps(
        query: &Query,
        program: &Program,
        range: TimeRange,
        gaps: &[Gaps],
        is_wanted: IsWanted,
    ) -> Result<Results, StepError> {
        let columns = Columns::of(query, &program.tracks, range, gaps)?;
        let mut scratch = Scratch::default();
        // What names no PV has no steps: it holds all the time.
        let constant = program.tracks.is_empty() && range.t0 < range.t1;
        let (from, to) = (range.t0.nanos(), range.t1.nanos());
        let held = constant.then(|| {
            let number = program.run(&[], 1, &mut scratch)[0];
            Piece { from, to, number, is_sample: false }
        });
        Ok(Results {
            columns,
            program: program.clone(),
            scratch,
            times: Vec::new(),
            numbers: Vec::new(),
            row: 0,
            edges: Vec::new(),
            edges_passed: 0,
            held,
            to,
            is_wanted,
        })
    }

    /// How many numbers were read.
    pub fn read(&self) -> u64 {
        self.columns.read()
    }

    /// What was found damaged since this was asked last.
    pub fn take_damage(&mut self) -> Vec<String> {
        self.columns.take_damage()
    }

    /// What holds next, up to the next step.
    pub(crate) fn next(&mut self) -> Result<Option<Piece>, StepError> {
        loop {
            if let Some((time, number)) = self.times.get(self.row).copied().zip(self.numbers.get(self.row).copied()) {
                self.row += 1;
                let is_sample = self.edges.get(self.edges_passed) != Some(&time);
                self.edges_passed += usize::from(!is_sample);
                let begun = Piece { from: time, to: self.to, number, is_sample };
                match self.held.replace(begun) {
                    Some(held) if held.from < time => return Ok(Some(Piece { to: time, ..held })),
                    _ => continue,
                }
            }
            if !(self.is_wanted)() {
                return Err(StepError::Unwanted);
            }
            if self.columns.read() > READ_MAX {
                return Err(StepError::TooMany(READ_MAX));
            }
            match self.columns.next()? {
                Some(stretch) => {
                    let numbers = self.program.run(&stretch.columns, stretch.times.len(), &mut self.scratch);
                    self.scratch.give(std::mem::replace(&mut self.numbers, numbers));
                    (self.times, self.row) = (stretch.times, 0);
                    (self.edges, self.edges_passed) = (stretch.edges, 0);
                }
                None => return Ok(self.held.take().filter(|held| held.from < self.to)),
            }
        }
    }

    /// The steps at which the result changes, at most so many; none at the end.
    pub fn steps(&mut self, count_max: usize) -> Result<Option<Vec<(Timestamp, f64)>>, StepError> {
        let mut steps: Vec<(Timestamp, f64)> = Vec::new();
        while steps.len() < count_max {
            let Some(piece) = self.next()? else { break };
            steps.push((Timestamp::from_nanos(piece.from), piece.number));
        }
        Ok((!steps.is_empty()).then_some(steps))
    }
}

/// What a formula comes to in a bin. Numbers are NaN where nothing was known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FormulaBin {
    /// Where it begins.
    pub t0: Timestamp,
    /// Where it ends.
    pub t1: Timestamp,
    /// The mean over the time in which it was known.
    pub mean: f64,
    /// The least and the greatest, if they were asked for.
    pub extremes: Option<(f64, f64)>,
    /// For how many nanoseconds it was known.
    pub covered: i64,
    /// What it was computed from.
    pub made_of: MadeOf,
}

/// What bins are to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
    /// The mean over time.
    Mean,
    /// And the least and the greatest, for which every sample is read.
    Extremes,
}

/// The bins of a formula, in order.
pub struct FormulaBins {
    query: Query,
    program: Program,
    range: TimeRange,
    gaps: Vec<Gaps>,
    wants: Wants,
    /// The bins of each PV with its factor, if the program is a sum of such products.
    sum: Option<(Vec<(f64, Bins)>, f64)>,
    edges: Vec<i64>,
    next: usize,
    /// The results that are being read, the piece that reaches beyond the last bin, and where the range ends.
    reading: Option<(Results, Option<Piece>, i64)>,
    /// How many numbers were read.
    read: u64,
    damage: Vec<String>,
    is_wanted: IsWanted,
}

impl FormulaBins {
    /// A range cut into so many bins of equal length.
    pub fn new(
        query: Query,
        program: Program,
        range: TimeRange,
        count: usize,
        wants: Wants,
        is_wanted: IsWanted,
    ) -> Result<FormulaBins, Error> {
        let gaps = gaps_of_tracks(&query, &program.tracks, range.t1)?;
        let sum = match affine(&program).filter(|_| wants == Wants::Mean) {
            None => None,
            Some((factors, constant)) => {
                let mut bins = Vec::new();
                for (track, factor) in program.tracks.iter().zip(factors) {
                    let of_track = query.bins(track.series.clone(), range, Cut::Equal(count))?;
                    bins.push((factor, of_track.held_until(range.t1)));
                }
                Some((bins, constant))
            }
        };
        let (t0, length) = (i128::from(range.t0.nanos()), i128::from(range.t1.nanos()) - i128::from(range.t0.nanos()));
        let edge = |index: usize| (t0 + length * index as i128 / count.max(1) as i128) as i64;
        let edges = (0..=count).map(edge).collect();
        let (reading, damage) = (None, Vec::new());
        Ok(FormulaBins { query, program, range, gaps, wants, sum, edges, next: 0, reading, read: 0, damage, is_wanted })
    }

    /// How many numbers were read one by one.
    pub fn read(&self) -> u64 {
        self.read
    }

    /// Sentences about what is damaged.
    pub fn damage(&self) -> &[String] {
        &self.damage
    }

    /// The mean by the means of all PVs, if each was known all the time.
    fn told(&mut self, from: i64, to: i64) -> Result<Option<f64>, Error> {
        let Some((bins, constant)) = &mut self.sum else { return Ok(None) };
        let (mut mean, mut is_known) = (*constant, from < to);
        for ((factor, bins), gaps) in bins.iter_mut().zip(&self.gaps) {
            let bin: Option<Bin> = bins.next().transpose()?;
            let whole = bin.filter(|bin| i64::try_from(bin.covered) == Ok(to - from) && bins.damage().is_empty());
            // They are apart and in order, so the first that ends behind the beginning is the only one to look at.
            let is_hidden = gaps.get(gaps.partition_point(|gap| gap.1 <= from)).is_some_and(|gap| gap.0 < to);
            is_known &= whole.is_some() && !is_hidden;
            mean += *factor * whole.map_or(f64::NAN, |bin| bin.time_weighted_mean);
        }
        Ok(is_known.then_some(mean))
    }

    /// The bin by all steps within.
    fn read_bin(&mut self, from: i64, to: i64) -> Result<FormulaBin, StepError> {
        let range = TimeRange { t0: Timestamp::from_nanos(from), ..self.range };
        let (mut results, mut piece, _) = match self.reading.take() {
            Some(reading) if reading.2 == from => reading,
            _ => (
                Results::with_gaps(&self.query, &self.program, range, &self.gaps, Arc::clone(&self.is_wanted))?,
                None,
                from,
            ),
        };
        let before = results.read();
        let (mut integral, mut covered, mut low, mut high) = (0.0, 0, f64::INFINITY, f64::NEG_INFINITY);
        loop {
            if piece.is_none() {
                piece = results.next()?;
            }
            let Some(Piece { from: begins, to: ends, number, .. }) = piece.filter(|piece| piece.from < to) else {
                break;
            };
            let nanos = ends.min(to) - begins.max(from);
            if !number.is_nan() && nanos > 0 {
                integral += number * nanos as f64;
                covered += nanos;
                (low, high) = (low.min(number), high.max(number));
            }
            if ends > to {
                break;
            }
            piece = None;
        }
        self.read += results.read() - before;
        self.damage.extend(results.take_damage());
        self.reading = Some((results, piece, to));
        let mean = if covered > 0 { integral / covered as f64 } else { f64::NAN };
        let extremes = if covered > 0 { (low, high) } else { (f64::NAN, f64::NAN) };
        let extremes = (self.wants == Wants::Extremes).then_some(extremes);
        let [t0, t1] = [from, to].map(Timestamp::from_nanos);
        Ok(FormulaBin { t0, t1, mean, extremes, covered, made_of: MadeOf::Samples })
    }
}

impl Iterator for FormulaBins {
    type Item = Result<FormulaBin, StepError>;

    fn next(&mut self) -> Option<Result<FormulaBin, StepError>> {
        let (from, to) = (*self.edges.get(self.next)?, *self.edges.get(self.next + 1)?);
        self.next += 1;
        let made = match self.told(from, to) {
            Ok(Some(mean)) => {
                let [t0, t1] = [from, to].map(Timestamp::from_nanos);
                Ok(FormulaBin { t0, t1, mean, extremes: None, covered: to - from, made_of: MadeOf::Summaries })
            }
            Ok(None) => self.read_bin(from, to),
            Err(error) => Err(error.into()),
        };
        if made.is_err() {
            self.next = self.edges.len();
        }
        Some(made)
    }
}

/// The factor of each track and what is added to them, if a program of numbers is such a sum.
pub(crate) fn affine(program: &Program) -> Option<(Vec<f64>, f64)> {
    let count = program.tracks.len();
    if count == 0 || program.tracks.iter().any(|track| track.what != What::Value) {
        return None;
    }
    let mut stack: Vec<(Vec<f64>, f64)> = Vec::new();
    for step in &program.steps {
        let made = match step {
            Step::Number(number) => (vec![0.0; count], *number),
            Step::Track(track) => ((0..count).map(|other| if other == *track { 1.0 } else { 0.0 }).collect(), 0.0),
            Step::One(Unary::Negative) => scaled(stack.pop()?, -1.0),
            Step::Two(Binary::Counts(how)) => {
                let (b, a) = (stack.pop()?, stack.pop()?);
                let is_constant = |of: &(Vec<f64>, f64)| of.0.iter().all(|factor| *factor == 0.0);
                match how {
                    Arithmetic::Add => added(a, b, 1.0),
                    Arithmetic::Subtract => added(a, b, -1.0),
                    Arithmetic::Multiply if is_constant(&b) => scaled(a, b.1),
                    Arithmetic::Multiply if is_constant(&a) => scaled(b, a.1),
                    Arithmetic::Divide if is_constant(&b) && b.1 != 0.0 => scaled(a, 1.0 / b.1),
                    _ => return None,
                }
            }
            _ => return None,
        };
        stack.push(made);
    }
    stack.pop().filter(|(factors, constant)| constant.is_finite() && factors.iter().all(|factor| factor.is_finite()))
}

fn scaled((factors, constant): (Vec<f64>, f64), by: f64) -> (Vec<f64>, f64) {
    (factors.into_iter().map(|factor| factor * by).collect(), constant * by)
}

fn added(a: (Vec<f64>, f64), b: (Vec<f64>, f64), sign: f64) -> (Vec<f64>, f64) {
    (a.0.iter().zip(&b.0).map(|(a, b)| a + sign * b).collect(), a.1 + sign * b.1)
}

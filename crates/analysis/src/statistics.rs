//! Statistics of a range: how long which number held, and what that amounts to. Each counts for as long as it held.
//!
//! Numbers that occur are kept with the time for which they did, up to a limit. Beyond it neighbours are put together, and the answer says
//! by how much a percentile may be off for that.

use query::Query;
use sample::TimeRange;

use crate::{
    formula::{IsWanted, Results},
    program::Program,
    steps::{STEPS_AT_ONCE, StepError},
};

/// The most different numbers that are counted one by one.
const NUMBERS_MAX: usize = 1 << 18;
/// A range in which no more different numbers occur has a duty for each.
const STATES_MAX: usize = 64;

/// What a range amounts to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// For how many seconds it was known.
    pub covered: f64,
    /// And for how many not.
    pub unknown: f64,
    /// The mean over time; NaN if nothing was known, like all that follow.
    pub mean: f64,
    /// The standard deviation over time.
    pub std: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
    /// The numbers below which it was for such a part of the time.
    pub percentiles: Vec<(f64, f64)>,
    /// By how much these may be off.
    pub percentiles_within: f64,
    /// For how many seconds it was above the limit that was asked for.
    pub above: Option<f64>,
    /// For how many seconds it was between two edges, the last included.
    pub histogram: Vec<(f64, f64, f64)>,
    /// For how many seconds it had each number, if these are few.
    pub states: Vec<(f64, f64)>,
    /// How many numbers were read.
    pub read: u64,
    /// Sentences about what is damaged.
    pub damage: Vec<String>,
}

/// What is asked of a range.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatisticsWanted {
    /// Percentiles, from 0 to 100.
    pub percentiles: Vec<f64>,
    /// For how long it was above this.
    pub above: Option<f64>,
    /// In how many parts between the least and the greatest.
    pub histogram: usize,
}

/// Gathers them.
pub struct StatisticsGathering {
    results: Results,
    wanted: StatisticsWanted,
    /// Numbers with nanoseconds; those at the end are in no order yet.
    numbers: Vec<(f64, f64)>,
    within: f64,
    unknown: f64,
    above: f64,
    moments: Moments,
    damage: Vec<String>,
}

/// Mean and deviation as far as was looked (West, 1979), and the ends: numbers that were put together do not change these.
struct Moments {
    nanos: f64,
    mean: f64,
    squares: f64,
    min: f64,
    max: f64,
}

impl Moments {
    fn new() -> Moments {
        Moments { nanos: 0.0, mean: 0.0, squares: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY }
    }

    fn add(&mut self, number: f64, nanos: f64) {
        if nanos <= 0.0 {
            return;
        }
        self.nanos += nanos;
        let off = number - self.mean;
        self.mean += off * (nanos / self.nanos);
        self.squares += nanos * off * (number - self.mean);
        (self.min, self.max) = (self.min.min(number), self.max.max(number));
    }
}

impl StatisticsGathering {
    /// Computes the statistics of an expression in a range.
    pub fn new(
        query: &Query,
        program: &Program,
        range: TimeRange,
        wanted: StatisticsWanted,
        is_wanted: IsWanted,
    ) -> Result<StatisticsGathering, StepError> {
        let results = Results::of(query, program, range, is_wanted)?;
        let (numbers, damage) = (Vec::new(), Vec::new());
        Ok(StatisticsGathering {
            results,
            wanted,
            numbers,
            within: 0.0,
            unknown: 0.0,
            above: 0.0,
            moments: Moments::new(),
            damage,
        })
    }

    /// Looks at some more; false at the end.
    pub fn go_on(&mut self) -> Result<bool, StepError> {
        for _ in 0..STEPS_AT_ONCE {
            let Some(piece) = self.results.next()? else { return Ok(false) };
            let nanos = piece.to.saturating_sub(piece.from) as f64;
            if piece.number.is_nan() {
                self.unknown += nanos;
                continue;
            }
            self.moments.add(piece.number, nanos);
            if self.wanted.above.is_some_and(|limit| piece.number > limit) {
                self.above += nanos;
            }
            match self.numbers.last_mut() {
                Some((number, held)) if *number == piece.number => *held += nanos,
                _ => self.numbers.push((piece.number, nanos)),
            }
            if self.numbers.len() >= 2 * NUMBERS_MAX {
                self.put_together();
            }
        }
        self.damage.extend(self.results.take_damage());
        Ok(true)
    }

    /// Sorts the numbers, each once; if they are too many neighbours become one.
    fn put_together(&mut self) {
        self.numbers.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.numbers.dedup_by(|later, earlier| {
            let is_same = later.0 == earlier.0;
            earlier.1 += if is_same { later.1 } else { 0.0 };
            is_same
        });
        if self.numbers.len() <= NUMBERS_MAX {
            return;
        }
        let mut widest: f64 = 0.0;
        let pairs = self.numbers.chunks(2).map(|pair| match pair {
            [a, b] => {
                widest = widest.max(b.0 - a.0);
                (if a.1 >= b.1 { a.0 } else { b.0 }, a.1 + b.1)
            }
            pair => pair[0],
        });
        self.numbers = pairs.collect();
        self.within += widest;
    }

    /// What it comes to.
    pub fn statistics(mut self) -> Statistics {
        self.damage.extend(self.results.take_damage());
        self.put_together();
        let covered: f64 = self.numbers.iter().map(|(_, nanos)| nanos).sum();
        let unknown = self.unknown / 1e9;
        let (read, damage) = (self.results.read(), std::mem::take(&mut self.damage));
        let above = self.wanted.above.map(|_| self.above / 1e9);
        let nothing = f64::NAN;
        if covered == 0.0 {
            let none = Statistics { mean: nothing, std: nothing, min: nothing, max: nothing, ..Statistics::default() };
            return Statistics { unknown, above, read, damage, ..none };
        }
        let Moments { nanos, mut mean, mut squares, min, max } = self.moments;
        if self.within == 0.0 {
            // Each number is still there: sums of few have better last digits than what was carried along.
            mean = self.numbers.iter().map(|(number, held)| number * (held / covered)).sum();
            squares = self.numbers.iter().map(|(number, held)| (number - mean).powi(2) * held).sum();
        }
        Statistics {
            covered: covered / 1e9,
            unknown,
            mean,
            std: (squares / nanos).sqrt(),
            min,
            max,
            percentiles: self.percentiles(covered),
            percentiles_within: self.within,
            above,
            histogram: self.histogram(min, max),
            states: if self.numbers.len() <= STATES_MAX { self.states() } else { Vec::new() },
            read,
            damage,
        }
    }

    fn percentiles(&self, covered: f64) -> Vec<(f64, f64)> {
        let of = |percent: &f64| {
            let mut left = covered * percent / 100.0;
            let found = self.numbers.iter().find(|(_, nanos)| {
                left -= nanos;
                left <= 0.0
            });
            (*percent, found.or(self.numbers.last()).map_or(f64::NAN, |(number, _)| *number))
        };
        self.wanted.percentiles.iter().map(of).collect()
    }

    fn histogram(&self, min: f64, max: f64) -> Vec<(f64, f64, f64)> {
        let count = self.wanted.histogram;
        if !(max - min).is_finite() {
            return Vec::new();
        }
        let edge = |index: usize| if index == count { max } else { min + (max - min) * (index as f64 / count as f64) };
        let mut parts: Vec<(f64, f64, f64)> = (0..count).map(|index| (edge(index), edge(index + 1), 0.0)).collect();
        for (number, nanos) in &self.numbers {
            let part = parts.partition_point(|(low, ..)| *low <= *number).saturating_sub(1);
            if let Some((_, _, seconds)) = parts.get_mut(part) {
                *seconds += nanos / 1e9;
            }
        }
        parts
    }

    fn states(&self) -> Vec<(f64, f64)> {
        self.numbers.iter().map(|(number, nanos)| (*number, nanos / 1e9)).collect()
    }
}

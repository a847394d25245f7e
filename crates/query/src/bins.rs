//! Bins: what the samples between two edges amount to, exactly as if every sample had been looked at.
//!
//! A block that lies within one bin contributes its summary without being read. The store gives summaries only of numbers
//! that are all finite, and so is their sum; from any other block it gives the samples.

use std::sync::Arc;

use sample::{Batch, Severity, Timestamp};
use store::{Stretch, Stretches, Summary};

use crate::Error;

/// What was recorded from `t0` up to, not including, `t1`.
///
/// Numbers come from numeric scalars (booleans and enum indices too); texts, arrays and structures only count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// Where it begins.
    pub t0: Timestamp,
    /// Where it ends.
    pub t1: Timestamp,
    /// How many samples there are.
    pub count: u64,
    /// How many of them are NaN.
    pub nan_count: u64,
    /// How many of them are of severity INVALID.
    pub invalid_count: u64,
    /// The smallest number; NaN where there is none.
    pub min: f64,
    /// The largest number; NaN where there is none.
    pub max: f64,
    /// The mean of the finite numbers; NaN where there is none.
    pub mean: f64,
    /// The first number, which may itself be NaN; NaN where there is none.
    pub first: f64,
    /// The last number, which may itself be NaN; NaN where there is none.
    pub last: f64,
    /// The worst severity.
    pub severity_max: Severity,
}

/// The bins of a range in order, empty ones too. A damaged block is left out and told by `damage`; other errors end it.
pub struct Bins {
    edges: Arc<[Timestamp]>,
    next: usize,
    stretches: Stretches,
    waiting: Option<Piece>,
    damage: Vec<Error>,
    failed: bool,
}

/// What is still to be counted: a summary, or the rows of a batch from `row` on.
enum Piece {
    Summary(Summary),
    Rows { batch: Batch, row: usize },
}

impl Piece {
    fn time(&self) -> Timestamp {
        match self {
            Piece::Summary(summary) => summary.t0,
            Piece::Rows { batch, row } => batch.times()[*row],
        }
    }
}

impl Bins {
    pub(crate) fn new(stretches: Stretches, edges: Arc<[Timestamp]>) -> Bins {
        Bins { edges, next: 0, stretches, waiting: None, damage: Vec::new(), failed: false }
    }

    /// What was found damaged so far.
    pub fn damage(&self) -> &[Error] {
        &self.damage
    }

    /// What comes next, if it begins before `t1`.
    fn next_before(&mut self, t1: Timestamp) -> Result<Option<Piece>, Error> {
        while self.waiting.is_none() {
            self.waiting = match self.stretches.next().transpose().map_err(Error::from) {
                Ok(None) => return Ok(None),
                Ok(Some(Stretch::Summary(summary))) => Some(Piece::Summary(summary)),
                Ok(Some(Stretch::Samples(batch))) => (!batch.is_empty()).then_some(Piece::Rows { batch, row: 0 }),
                Err(error) if error.is_damage() => {
                    self.damage.push(error);
                    None
                }
                Err(error) => return Err(error),
            };
        }
        Ok(self.waiting.take_if(|piece| piece.time() < t1))
    }

    fn fill(&mut self, tally: &mut Tally, t1: Timestamp) -> Result<(), Error> {
        while let Some(piece) = self.next_before(t1)? {
            match piece {
                Piece::Summary(summary) => tally.add_summary(&summary),
                Piece::Rows { batch, row } => {
                    let end = row + batch.times()[row..].partition_point(|time| *time < t1);
                    tally.add_rows(&batch, row..end);
                    self.waiting = (end < batch.len()).then_some(Piece::Rows { batch, row: end });
                }
            }
        }
        Ok(())
    }
}

impl Iterator for Bins {
    type Item = Result<Bin, Error>;

    fn next(&mut self) -> Option<Result<Bin, Error>> {
        if self.failed || self.next + 1 >= self.edges.len() {
            return None;
        }
        let (t0, t1) = (self.edges[self.next], self.edges[self.next + 1]);
        self.next += 1;
        let mut tally = Tally::default();
        let filled = self.fill(&mut tally, t1);
        self.failed = filled.is_err();
        Some(filled.map(|()| tally.bin(t0, t1)))
    }
}

/// The running account of one bin.
#[derive(Default)]
struct Tally {
    count: u64,
    nan_count: u64,
    invalid_count: u64,
    range: Option<(f64, f64)>,
    ends: Option<(f64, f64)>,
    finite_count: u64,
    sum: Sum,
    severity_max: Severity,
}

impl Tally {
    fn add_summary(&mut self, summary: &Summary) {
        self.count += summary.count;
        self.nan_count += summary.nan_count;
        self.invalid_count += summary.invalid_count;
        self.severity_max = self.severity_max.max(summary.severity_max);
        self.ends = Some((self.ends.map_or(summary.first, |(first, _)| first), summary.last));
        if summary.nan_count < summary.count {
            self.see(summary.min);
            self.see(summary.max);
            self.finite_count += summary.count - summary.nan_count;
            self.sum.add(summary.sum);
        }
    }

    fn add_rows(&mut self, batch: &Batch, rows: std::ops::Range<usize>) {
        self.count += rows.len() as u64;
        for (run, alarm) in batch.alarms().iter() {
            let shared = run.start.max(rows.start)..run.end.min(rows.end);
            if shared.is_empty() {
                continue;
            }
            self.severity_max = self.severity_max.max(alarm.severity);
            if alarm.severity == Severity::Invalid {
                self.invalid_count += shared.len() as u64;
            }
        }
        if batch.value_type().is_numeric_scalar() {
            rows.filter_map(|row| batch.values().f64_at(row)).for_each(|number| self.add_number(number));
        }
    }

    fn add_number(&mut self, number: f64) {
        self.ends = Some((self.ends.map_or(number, |(first, _)| first), number));
        if number.is_nan() {
            self.nan_count += 1;
            return;
        }
        self.see(number);
        if number.is_finite() {
            self.finite_count += 1;
            self.sum.add(number);
        }
    }

    /// Widens the range. Of equal numbers (0 and -0) the earlier stays, so that blocks and samples give the same bits.
    fn see(&mut self, number: f64) {
        let (min, max) = self.range.get_or_insert((number, number));
        if number < *min {
            *min = number;
        }
        if number > *max {
            *max = number;
        }
    }

    fn bin(&self, t0: Timestamp, t1: Timestamp) -> Bin {
        let (min, max) = self.range.unwrap_or((f64::NAN, f64::NAN));
        let (first, last) = self.ends.unwrap_or((f64::NAN, f64::NAN));
        let mean = if self.finite_count == 0 { f64::NAN } else { self.sum.over(self.finite_count) };
        let Tally { count, nan_count, invalid_count, severity_max, .. } = *self;
        Bin { t0, t1, count, nan_count, invalid_count, min, max, mean, first, last, severity_max }
    }
}

/// A sum that carries along what rounding cuts off (Neumaier), and a scaled one for numbers whose sum is beyond floats.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sum {
    sum: f64,
    rest: f64,
    scaled: f64,
}

/// Small enough that 2^64 of the largest floats do not overflow.
const SCALE: f64 = 1.0 / 18_446_744_073_709_551_616.0;

impl Sum {
    pub(crate) fn add(&mut self, number: f64) {
        let sum = self.sum + number;
        self.rest += if self.sum.abs() >= number.abs() { (self.sum - sum) + number } else { (number - sum) + self.sum };
        self.sum = sum;
        self.scaled += number * SCALE;
    }

    pub(crate) fn over(&self, count: u64) -> f64 {
        let sum = self.sum + self.rest;
        if sum.is_finite() { sum / count as f64 } else { self.scaled / count as f64 / SCALE }
    }
}

//! The running account of one bin: what summaries and samples add to it, to the same result.

use std::ops::Range;

use sample::{Batch, Severity, Summary, Timestamp};

use crate::bin::Bin;

/// A number in force, and since when.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Held {
    since: Timestamp,
    number: f64,
}

impl Held {
    /// None if there is no number, or none that can be added up.
    pub(crate) fn of(since: Timestamp, number: Option<f64>) -> Option<Held> {
        number.filter(|number| number.is_finite()).map(|number| Held { since, number })
    }
}

#[derive(Default)]
pub(crate) struct Tally {
    count: u64,
    nan_count: u64,
    invalid_count: u64,
    range: Option<(f64, f64)>,
    ends: Option<(f64, f64)>,
    finite_count: u64,
    sum: CompensatedSum,
    /// The summed squares of the distances from the mean.
    squares: f64,
    /// Numbers times nanoseconds over 2^64, so that no finite number is too large.
    integral: CompensatedSum,
    covered: u64,
    severity_max: Severity,
}

impl Tally {
    /// A number in force that was not counted yet, from the beginning of the bin or from its sample on.
    pub(crate) fn hold(&mut self, held: Option<Held>, t0: Timestamp, until: Timestamp) {
        let Some(Held { since, number }) = held else { return };
        let since = since.max(t0);
        if since < until {
            self.cover(number, until.nanos().wrapping_sub(since.nanos()) as u64);
        }
    }

    fn cover(&mut self, number: f64, nanos: u64) {
        self.integral.add(number * (nanos as f64 * SCALE));
        self.covered += nanos;
    }

    /// The caller has seen that it is finite.
    pub(crate) fn add_summary(&mut self, summary: &Summary) {
        self.count += summary.count;
        self.nan_count += summary.nan_count;
        self.invalid_count += summary.invalid_count;
        self.severity_max = self.severity_max.max(summary.severity_max);
        self.ends = Some((self.ends.map_or(summary.first, |(first, _)| first), summary.last));
        if summary.numbers() > 0 {
            self.see(summary.min);
            self.see(summary.max);
            self.add_squares(summary.numbers(), summary.sum / summary.numbers() as f64, summary.squares);
            self.finite_count += summary.numbers();
            self.sum.add(summary.sum);
            self.integral.add(summary.integral * SCALE);
            self.covered += summary.covered;
        }
    }

    /// The squares of so many numbers around their own mean (Chan, Golub and LeVeque, 1979). To be called before they are summed.
    fn add_squares(&mut self, others: u64, mean: f64, squares: f64) {
        self.squares += squares;
        if self.finite_count > 0 {
            let (own, others) = (self.finite_count as f64, others as f64);
            let distance = mean - self.sum.over(self.finite_count);
            self.squares += distance * distance * (own / (own + others) * others);
        }
    }

    pub(crate) fn add_rows(&mut self, batch: &Batch, rows: Range<usize>) {
        match Summary::of(batch, rows.clone()) {
            Some(summary) if batch.value_type().is_numeric_scalar() && summary.is_finite() => {
                self.add_summary(&summary);
            }
            _ => self.add_odd_rows(batch, rows),
        }
    }

    /// One by one, as summaries do not say enough.
    fn add_odd_rows(&mut self, batch: &Batch, rows: Range<usize>) {
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
        if !batch.value_type().is_numeric_scalar() {
            return;
        }
        for row in rows.clone() {
            let Some(number) = batch.values().f64_at(row) else { continue };
            self.add_number(number);
            if number.is_finite() && row + 1 < rows.end {
                let (time, next) = (batch.times()[row], batch.times()[row + 1]);
                self.cover(number, next.nanos().wrapping_sub(time.nanos()) as u64);
            }
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
            self.add_squares(1, number, 0.0);
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

    pub(crate) fn bin(&self, t0: Timestamp, t1: Timestamp) -> Bin {
        let (min, max) = self.range.unwrap_or((f64::NAN, f64::NAN));
        let (first, last) = self.ends.unwrap_or((f64::NAN, f64::NAN));
        let mean = if self.finite_count == 0 { f64::NAN } else { self.sum.over(self.finite_count) };
        let std = match self.finite_count {
            0 => f64::NAN,
            1 => 0.0,
            count if self.squares.is_finite() => (self.squares / (count - 1) as f64).sqrt(),
            _ => f64::INFINITY,
        };
        let time_weighted_mean =
            if self.covered == 0 { f64::NAN } else { self.integral.total() / (self.covered as f64 * SCALE) };
        let Tally { count, nan_count, invalid_count, covered, severity_max, .. } = *self;
        Bin {
            t0,
            t1,
            count,
            nan_count,
            invalid_count,
            min,
            max,
            mean,
            std,
            time_weighted_mean,
            covered,
            first,
            last,
            severity_max,
        }
    }
}

/// A sum that carries along what rounding cuts off (Neumaier), and a scaled one for numbers whose sum is beyond floats.
#[derive(Clone, Debug, Default)]
pub(crate) struct CompensatedSum {
    sum: f64,
    rest: f64,
    scaled: f64,
}

/// Small enough that 2^64 of the largest floats do not overflow.
const SCALE: f64 = 1.0 / 18_446_744_073_709_551_616.0;

impl CompensatedSum {
    pub(crate) fn add(&mut self, number: f64) {
        let sum = self.sum + number;
        self.rest += if self.sum.abs() >= number.abs() { (self.sum - sum) + number } else { (number - sum) + self.sum };
        self.sum = sum;
        self.scaled += number * SCALE;
    }

    /// Adds what another has summed.
    pub(crate) fn add_sum(&mut self, other: &CompensatedSum) {
        let scaled = self.scaled + other.scaled;
        self.add(other.sum);
        self.rest += other.rest;
        self.scaled = scaled;
    }

    fn total(&self) -> f64 {
        self.sum + self.rest
    }

    pub(crate) fn over(&self, count: u64) -> f64 {
        let sum = self.total();
        if sum.is_finite() { sum / count as f64 } else { self.scaled / count as f64 / SCALE }
    }
}

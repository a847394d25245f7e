//! A summary: what bins need to know about samples without looking at each.
//!
//! A number is held from its sample until the next one. The time-weighted mean of samples is `integral / covered`, their
//! variance `squares / (count - nan_count)`, or less one for that of a larger whole.

use std::ops::Range;

use crate::{Alarm, Batch, Column, Runs, Severity, Timestamp, ValueType};

/// Sums are taken in so many lanes: row i goes to lane i mod 8, and at last the lanes are added in pairs. Processors do several
/// lanes at once, and rounding errors grow more slowly.
const LANES: usize = 8;

/// What bins are made of.
#[derive(Clone, Debug, PartialEq)]
pub enum Stretch {
    /// Of samples that no edge cuts, which need not be looked at.
    Summary(Summary),
    /// Samples.
    Samples(Batch),
}

/// The extremes, sums and counts of samples of one type. Numbers are there for numeric scalars only; of 64-bit integers they
/// are the nearest float.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The type of the values.
    pub value_type: ValueType,
    /// The time of the first sample.
    pub t0: Timestamp,
    /// The time of the last sample.
    pub t1: Timestamp,
    /// How many samples there are.
    pub count: u64,
    /// How many values are NaN. They are in none of the numbers below but `first` and `last`.
    pub nan_count: u64,
    /// The least value, NaN if there is none. Of two zeros the earlier.
    pub min: f64,
    /// The greatest value, NaN if there is none. Of two zeros the earlier.
    pub max: f64,
    /// The sum of the values.
    pub sum: f64,
    /// The sum of the squared distances of the values from their mean.
    pub squares: f64,
    /// The sum of each value times the nanoseconds until the next sample; the last one counts for nothing.
    pub integral: f64,
    /// The nanoseconds from `t0` to `t1` in which the value in force is not NaN.
    pub covered: u64,
    /// The first value, NaN or not.
    pub first: f64,
    /// The last value, NaN or not.
    pub last: f64,
    /// The worst alarm severity.
    pub severity_max: Severity,
    /// How many samples have the severity INVALID.
    pub invalid_count: u64,
}

impl Summary {
    /// Of a stretch of a sorted batch; none if the stretch is empty. Panics if `rows` reaches beyond the batch, like a slice.
    pub fn of(batch: &Batch, rows: Range<usize>) -> Option<Summary> {
        let times = &batch.times()[rows.clone()];
        let (t0, t1) = (*times.first()?, *times.last()?);
        let mut summary = Summary::without_values(batch.value_type(), t0, t1, times.len() as u64);
        summary.add_alarms(batch.alarms(), &rows);
        summary.add_column(batch.values(), times, rows);
        Some(summary)
    }

    /// Of a stretch of times and numbers without their alarms; none if the stretch is empty or reaches beyond them.
    pub fn of_numbers(times: &[Timestamp], values: &Column, rows: Range<usize>) -> Option<Summary> {
        let times = times.get(rows.clone()).filter(|_| rows.end <= values.len())?;
        let (t0, t1) = (*times.first()?, *times.last()?);
        let mut summary = Summary::without_values(values.value_type(), t0, t1, times.len() as u64);
        summary.add_column(values, times, rows);
        Some(summary)
    }

    /// The same with the alarms of some rows.
    pub fn with_alarms(mut self, alarms: &Runs<Alarm>, rows: &Range<usize>) -> Summary {
        self.add_alarms(alarms, rows);
        self
    }

    /// Of so many samples that have no numbers and no alarms.
    pub fn without_values(value_type: ValueType, t0: Timestamp, t1: Timestamp, count: u64) -> Summary {
        let nothing = f64::NAN;
        Summary {
            value_type,
            t0,
            t1,
            count,
            nan_count: 0,
            min: nothing,
            max: nothing,
            sum: 0.0,
            squares: 0.0,
            integral: 0.0,
            covered: 0,
            first: nothing,
            last: nothing,
            severity_max: Severity::None,
            invalid_count: 0,
        }
    }

    /// Adds the summary of samples that come later, and the time from the last sample of these to the first of those.
    pub fn add(&mut self, later: &Summary) {
        if !self.last.is_nan() {
            let held = nanos_between(self.t1, later.t0);
            self.integral += self.last * held as f64;
            self.covered = self.covered.wrapping_add(held);
        }
        self.squares += later.squares + self.squares_between(later);
        self.integral += later.integral;
        self.covered = self.covered.wrapping_add(later.covered); // neither is more than its time, unless that is nonsense
        self.t1 = later.t1;
        self.count += later.count;
        self.nan_count += later.nan_count;
        self.add_extremes(later.min, later.max);
        self.sum += later.sum;
        self.last = later.last;
        self.severity_max = self.severity_max.max(later.severity_max);
        self.invalid_count += later.invalid_count;
    }

    /// The same if what comes of it is finite, and whether it is.
    pub fn add_if_finite(&mut self, later: &Summary) -> bool {
        let mut longer = *self;
        longer.add(later);
        let is_finite = longer.is_finite();
        if is_finite {
            *self = longer;
        }
        is_finite
    }

    /// What the distance of two means adds to the squares of both (Chan, Golub and LeVeque, 1979).
    fn squares_between(&self, other: &Summary) -> f64 {
        let (own, others) = (self.numbers() as f64, other.numbers() as f64);
        if own == 0.0 || others == 0.0 {
            return 0.0;
        }
        let distance = other.sum / others - self.sum / own;
        distance * distance * (own / (own + others) * others)
    }

    /// How many values count: those that are not NaN. Of a type without numbers it says nothing.
    pub fn numbers(&self) -> u64 {
        self.count - self.nan_count
    }

    fn add_extremes(&mut self, min: f64, max: f64) {
        if min < self.min || self.min.is_nan() {
            self.min = min;
        }
        if max > self.max || self.max.is_nan() {
            self.max = max;
        }
    }

    fn add_alarms(&mut self, alarms: &Runs<Alarm>, rows: &Range<usize>) {
        for (run, alarm) in alarms.iter().filter(|(run, _)| run.start < rows.end && run.end > rows.start) {
            self.severity_max = self.severity_max.max(alarm.severity);
            if alarm.severity == Severity::Invalid {
                self.invalid_count += (run.end.min(rows.end) - run.start.max(rows.start)) as u64;
            }
        }
    }

    fn add_column(&mut self, values: &Column, times: &[Timestamp], rows: Range<usize>) {
        match values {
            Column::Bool(v) => self.add_values(&v[rows], times, |v| f64::from(u8::from(v))),
            Column::I8(v) => self.add_values(&v[rows], times, f64::from),
            Column::U8(v) => self.add_values(&v[rows], times, f64::from),
            Column::I16(v) => self.add_values(&v[rows], times, f64::from),
            Column::U16(v) => self.add_values(&v[rows], times, f64::from),
            Column::I32(v) | Column::Enum(v) => self.add_values(&v[rows], times, f64::from),
            Column::U32(v) => self.add_values(&v[rows], times, f64::from),
            Column::I64(v) => self.add_values(&v[rows], times, |v| v as f64),
            Column::U64(v) => self.add_values(&v[rows], times, |v| v as f64),
            Column::F32(v) => self.add_values(&v[rows], times, f64::from),
            Column::F64(v) => self.add_values(&v[rows], times, |v| v),
            Column::String(_) | Column::Structure(_) | Column::Array(_) => {}
        }
    }

    fn add_values<T: Copy>(&mut self, values: &[T], times: &[Timestamp], number: impl Fn(T) -> f64 + Copy) {
        let (Some(first), Some(last)) = (values.first(), values.last()) else { return };
        (self.first, self.last) = (number(*first), number(*last));
        self.add_sums(values, number);
        if self.numbers() > 0 && !times.is_empty() {
            self.add_squares(values, number);
            self.add_times(values, times, number);
        }
    }

    /// Counts NaN, and finds extremes and sum of the others.
    fn add_sums<T: Copy>(&mut self, values: &[T], number: impl Fn(T) -> f64 + Copy) {
        let mut sums = Sums::default();
        let (chunks, rest) = values.as_chunks::<LANES>();
        chunks.iter().for_each(|chunk| sums.add(&chunk.map(number)));
        sums.add(&padded(rest, number));
        self.nan_count = values.len() as u64 - total(sums.numbers) as u64;
        self.sum = ordinary(total(sums.sum));
        if self.numbers() > 0 {
            let min = sums.min.into_iter().fold(f64::INFINITY, |a, b| if b < a { b } else { a });
            let max = sums.max.into_iter().fold(f64::NEG_INFINITY, |a, b| if b > a { b } else { a });
            (self.min, self.max) = (earliest(min, values, number), earliest(max, values, number));
        }
    }

    /// The squared distances from the mean, and what its rounding adds to them taken off again.
    fn add_squares<T: Copy>(&mut self, values: &[T], number: impl Fn(T) -> f64 + Copy) {
        let mut squares = Squares { mean: self.sum / self.numbers() as f64, ..Squares::default() };
        let (chunks, rest) = values.as_chunks::<LANES>();
        chunks.iter().for_each(|chunk| squares.add(&chunk.map(number)));
        squares.add(&padded(rest, number));
        let off = total(squares.distances);
        let sum = total(squares.squares) - off * off / self.numbers() as f64;
        self.squares = if sum < 0.0 { 0.0 } else { ordinary(sum) };
    }

    /// Each value counts until the time of the next.
    fn add_times<T: Copy>(&mut self, values: &[T], times: &[Timestamp], number: impl Fn(T) -> f64 + Copy) {
        let mut held = Held::default();
        let is_short = nanos_between(self.t0, self.t1) < 1 << 52;
        let next = times.get(1..).unwrap_or_default();
        let ((values, last_values), (times, last_times)) =
            (values[..next.len()].as_chunks::<LANES>(), times[..next.len()].as_chunks::<LANES>());
        let (next, last_next) = next.as_chunks::<LANES>();
        for ((values, times), next) in values.iter().zip(times).zip(next) {
            let nanos = std::array::from_fn(|lane| nanos_between(times[lane], next[lane]));
            if is_short {
                held.add(&values.map(number), nanos, short_nanos);
            } else {
                held.add(&values.map(number), nanos, |nanos| nanos as f64);
            }
        }
        let mut nanos = [0; LANES];
        for ((nanos, time), next) in nanos.iter_mut().zip(last_times).zip(last_next) {
            *nanos = nanos_between(*time, *next);
        }
        held.add(&padded(last_values, number), nanos, |nanos| nanos as f64);
        self.integral = ordinary(total(held.integral));
        self.covered = held.covered.iter().sum();
    }

    /// Whether it is that of all samples of a batch.
    pub fn is_of(&self, batch: &Batch) -> bool {
        Summary::of(batch, 0..batch.len()).is_some_and(|found| found.identical(self))
    }

    /// Equal to the last bit.
    pub fn identical(&self, other: &Summary) -> bool {
        let bits = |s: &Summary| [s.min, s.max, s.sum, s.squares, s.integral, s.first, s.last].map(f64::to_bits);
        let counts = |s: &Summary| [s.count, s.nan_count, s.covered, s.invalid_count];
        let rest = |s: &Summary| (s.value_type, s.t0, s.t1, s.severity_max);
        bits(self) == bits(other) && counts(self) == counts(other) && rest(self) == rest(other)
    }

    /// Whether every value that counts is finite, and so is what is made of them.
    pub fn is_finite(&self) -> bool {
        let numbers = [self.min, self.max, self.sum, self.squares, self.integral];
        self.numbers() == 0 || numbers.into_iter().all(f64::is_finite)
    }
}

/// The nanoseconds from a time to a later one.
fn nanos_between(time: Timestamp, later: Timestamp) -> u64 {
    later.nanos().wrapping_sub(time.nanos()) as u64
}

/// The sum of all lanes.
fn total(lanes: [f64; LANES]) -> f64 {
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

/// Sums that are no number have different bits on different processors.
fn ordinary(number: f64) -> f64 {
    if number.is_nan() { f64::NAN } else { number }
}

/// Of two zeros, which lanes cannot tell apart, the earlier.
fn earliest<T: Copy>(extreme: f64, values: &[T], number: impl Fn(T) -> f64) -> f64 {
    if extreme != 0.0 {
        return extreme;
    }
    values.iter().map(|value| number(*value)).find(|value| *value == 0.0).unwrap_or(extreme)
}

/// What is left behind the last whole chunk, filled up with NaN, which counts for nothing.
fn padded<T: Copy>(rest: &[T], number: impl Fn(T) -> f64) -> [f64; LANES] {
    let mut chunk = [f64::NAN; LANES];
    chunk.iter_mut().zip(rest).for_each(|(place, value)| *place = number(*value));
    chunk
}

/// Below 2^52, which is 52 days, writing the number into the digits of 2^52 makes it a float, for several lanes at once.
fn short_nanos(nanos: u64) -> f64 {
    const BASE: f64 = 4_503_599_627_370_496.0;
    f64::from_bits(nanos | BASE.to_bits()) - BASE
}

/// Extremes, sums and numbers of values, lane by lane.
struct Sums {
    min: [f64; LANES],
    max: [f64; LANES],
    sum: [f64; LANES],
    numbers: [f64; LANES],
}

impl Default for Sums {
    fn default() -> Sums {
        let zero = [0.0; LANES];
        Sums { min: [f64::INFINITY; LANES], max: [f64::NEG_INFINITY; LANES], sum: zero, numbers: zero }
    }
}

impl Sums {
    fn add(&mut self, values: &[f64; LANES]) {
        for (lane, value) in values.iter().copied().enumerate() {
            self.min[lane] = if value < self.min[lane] { value } else { self.min[lane] };
            self.max[lane] = if value > self.max[lane] { value } else { self.max[lane] };
            self.sum[lane] += if value.is_nan() { 0.0 } else { value };
            self.numbers[lane] += if value.is_nan() { 0.0 } else { 1.0 };
        }
    }
}

/// Distances from the mean and their squares, lane by lane.
#[derive(Default)]
struct Squares {
    mean: f64,
    squares: [f64; LANES],
    distances: [f64; LANES],
}

impl Squares {
    fn add(&mut self, values: &[f64; LANES]) {
        for (lane, value) in values.iter().enumerate() {
            let distance = if value.is_nan() { 0.0 } else { value - self.mean };
            self.squares[lane] += distance * distance;
            self.distances[lane] += distance;
        }
    }
}

/// Values times how long they were held, and how long that was, lane by lane.
#[derive(Default)]
struct Held {
    integral: [f64; LANES],
    covered: [u64; LANES],
}

impl Held {
    fn add(&mut self, values: &[f64; LANES], nanos: [u64; LANES], float: impl Fn(u64) -> f64) {
        for lane in 0..LANES {
            let value = if values[lane].is_nan() { 0.0 } else { values[lane] };
            self.integral[lane] += value * float(nanos[lane]);
            self.covered[lane] += if values[lane].is_nan() { 0 } else { nanos[lane] };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Element, Sample, Value};

    fn batch(values: &[f64]) -> Batch {
        let mut batch = Batch::new(ValueType::scalar(Element::F64));
        for (index, value) in values.iter().enumerate() {
            let severity = Severity::from_number(index as i64 % 5);
            let alarm = Alarm { severity, status: 0, message: None };
            let time = Timestamp::from_nanos((index * index) as i64 * 1000);
            assert!(batch.push(&Sample { time, value: Value::F64(*value), alarm, pulse: 0, stamp: None }));
        }
        batch
    }

    fn close(a: f64, b: f64, magnitude: f64) -> bool {
        (a - b).abs() <= 1e-12 * magnitude
    }

    #[test]
    fn sums_are_those_of_one_sample_after_the_other() {
        for count in [1, 2, 7, 8, 9, 16, 17, 100] {
            let values: Vec<f64> =
                (0..count).map(|i| if i % 11 == 5 { f64::NAN } else { 1e6 + f64::from(i * i % 37) }).collect();
            let batch = batch(&values);
            let summary = Summary::of(&batch, 0..values.len()).unwrap();
            let numbers: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
            let sum: f64 = numbers.iter().sum();
            let mean = sum / numbers.len() as f64;
            let squares: f64 = numbers.iter().map(|value| (value - mean).powi(2)).sum();
            let (mut integral, mut covered) = (0.0, 0);
            for (pair, value) in batch.times().windows(2).zip(&values).filter(|(_, value)| !value.is_nan()) {
                integral += value * (pair[1].nanos() - pair[0].nanos()) as f64;
                covered += (pair[1].nanos() - pair[0].nanos()) as u64;
            }
            assert_eq!((summary.numbers(), summary.covered), (numbers.len() as u64, covered), "{count}");
            assert!(close(summary.sum, sum, sum), "{count}");
            assert!(close(summary.squares, squares, squares.max(1e-6)), "{count}: {} {squares}", summary.squares);
            assert!(close(summary.integral, integral, integral), "{count}: {} {integral}", summary.integral);
        }
    }

    #[test]
    fn of_two_zeros_the_earlier_is_the_extreme() {
        for (place, zero) in [(0, 0.0), (9, -0.0), (15, 0.0)] {
            let mut values = vec![1.0; 40];
            (values[place], values[20], values[22]) = (zero, 0.0, -0.0);
            assert_eq!(Summary::of(&batch(&values), 0..40).unwrap().min.to_bits(), f64::to_bits(zero));
            let negative: Vec<f64> = values.iter().map(|value| -value).collect();
            assert_eq!(Summary::of(&batch(&negative), 0..40).unwrap().max.to_bits(), f64::to_bits(-zero));
        }
    }

    #[test]
    fn the_summaries_of_two_halves_add_up_to_that_of_the_whole() {
        let batch = batch(&[f64::NAN, 1.0, -2.5, 0.0, -0.0, f64::NAN, 7.0, 1e100, -3.0]);
        let whole = Summary::of(&batch, 0..9).unwrap();
        for middle in 1..9 {
            let mut sum = Summary::of(&batch, 0..middle).unwrap();
            sum.add(&Summary::of(&batch, middle..9).unwrap());
            assert_eq!((sum.t0, sum.t1, sum.count, sum.nan_count), (whole.t0, whole.t1, 9, 2));
            assert_eq!((sum.min, sum.max, sum.last), (-3.0, 1e100, -3.0));
            assert!(sum.first.is_nan());
            assert_eq!(sum.covered, whole.covered);
            for (sum, whole) in [(sum.sum, whole.sum), (sum.squares, whole.squares), (sum.integral, whole.integral)] {
                assert!(close(sum, whole, whole), "cut at {middle}: {sum} is not {whole}");
            }
            assert_eq!((sum.severity_max, sum.invalid_count), (Severity::Undefined, 2));
        }
    }

    #[test]
    fn samples_of_nothing_but_nan_have_no_extremes() {
        let summary = Summary::of(&batch(&[f64::NAN, f64::NAN]), 0..2).unwrap();
        assert!(summary.min.is_nan() && summary.max.is_nan() && summary.is_finite());
        assert!(!Summary::of(&batch(&[1.0, f64::INFINITY]), 0..2).unwrap().is_finite());
        assert!(!Summary::of(&batch(&[1.0, 1e300, -1e300]), 0..3).unwrap().is_finite(), "squares have no float");
    }
}

//! A summary: what bins need to know about samples without looking at each.

use std::ops::Range;

use sample::{Alarm, Batch, Column, Runs, Severity, Timestamp, ValueType};

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
    /// The sum of the values in their order.
    pub sum: f64,
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
        let mut summary = Summary {
            value_type: batch.value_type(),
            t0,
            t1,
            count: times.len() as u64,
            nan_count: 0,
            min: f64::NAN,
            max: f64::NAN,
            sum: 0.0,
            first: f64::NAN,
            last: f64::NAN,
            severity_max: Severity::None,
            invalid_count: 0,
        };
        summary.add_alarms(batch.alarms(), &rows);
        summary.add_column(batch.values(), rows);
        Some(summary)
    }

    /// Adds the summary of samples that come later.
    pub fn add(&mut self, later: &Summary) {
        self.t1 = later.t1;
        self.count += later.count;
        self.nan_count += later.nan_count;
        self.add_extremes(later.min, later.max);
        self.sum += later.sum;
        self.last = later.last;
        self.severity_max = self.severity_max.max(later.severity_max);
        self.invalid_count += later.invalid_count;
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

    fn add_column(&mut self, values: &Column, rows: Range<usize>) {
        match values {
            Column::Bool(v) => self.add_values(v[rows].iter().map(|v| f64::from(u8::from(*v)))),
            Column::I8(v) => self.add_values(v[rows].iter().map(|v| f64::from(*v))),
            Column::U8(v) => self.add_values(v[rows].iter().map(|v| f64::from(*v))),
            Column::I16(v) => self.add_values(v[rows].iter().map(|v| f64::from(*v))),
            Column::U16(v) => self.add_values(v[rows].iter().map(|v| f64::from(*v))),
            Column::I32(v) | Column::Enum(v) => self.add_values(v[rows].iter().map(|v| f64::from(*v))),
            Column::U32(v) => self.add_values(v[rows].iter().map(|v| f64::from(*v))),
            Column::I64(v) => self.add_values(v[rows].iter().map(|v| *v as f64)),
            Column::U64(v) => self.add_values(v[rows].iter().map(|v| *v as f64)),
            Column::F32(v) => self.add_values(v[rows].iter().map(|v| f64::from(*v))),
            Column::F64(v) => self.add_values(v[rows].iter().copied()),
            Column::String(_) | Column::Structure(_) | Column::Array(_) => {}
        }
    }

    fn add_values(&mut self, values: impl DoubleEndedIterator<Item = f64> + Clone) {
        self.first = values.clone().next().unwrap_or(f64::NAN);
        self.last = values.clone().next_back().unwrap_or(f64::NAN);
        let (mut min, mut max, mut sum, mut nan_count) = (f64::INFINITY, f64::NEG_INFINITY, 0.0, 0);
        for value in values {
            if value.is_nan() {
                nan_count += 1;
            } else {
                min = if value < min { value } else { min };
                max = if value > max { value } else { max };
                sum += value;
            }
        }
        self.nan_count = nan_count;
        self.sum = sum;
        if nan_count < self.count {
            (self.min, self.max) = (min, max);
        }
    }

    /// Equal to the last bit.
    pub(crate) fn identical(&self, other: &Summary) -> bool {
        let bits = |s: &Summary| [s.min, s.max, s.sum, s.first, s.last].map(f64::to_bits);
        let rest = |s: &Summary| (s.value_type, s.t0, s.t1, s.count, s.nan_count, s.severity_max, s.invalid_count);
        bits(self) == bits(other) && rest(self) == rest(other)
    }

    /// Whether every value that counts is finite, so that the sum gives the mean.
    pub(crate) fn is_finite(&self) -> bool {
        self.nan_count == self.count || (self.min.is_finite() && self.max.is_finite() && self.sum.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sample::{Element, Sample, Value};

    fn batch(values: &[f64]) -> Batch {
        let mut batch = Batch::new(ValueType::scalar(Element::F64));
        for (index, value) in values.iter().enumerate() {
            let severity = Severity::from_number(index as i64 % 5);
            let alarm = Alarm { severity, status: 0, message: None };
            let time = Timestamp::from_nanos(index as i64);
            assert!(batch.push(&Sample { time, value: Value::F64(*value), alarm, pulse: 0 }));
        }
        batch
    }

    #[test]
    fn the_summaries_of_two_halves_add_up_to_that_of_the_whole() {
        let batch = batch(&[f64::NAN, 1.0, -2.5, 0.0, -0.0, f64::NAN, 7.0, 1e300, -3.0]);
        let whole = Summary::of(&batch, 0..9).unwrap();
        for middle in 1..9 {
            let mut sum = Summary::of(&batch, 0..middle).unwrap();
            sum.add(&Summary::of(&batch, middle..9).unwrap());
            assert_eq!((sum.t0, sum.t1, sum.count, sum.nan_count), (whole.t0, whole.t1, 9, 2));
            assert_eq!((sum.min, sum.max, sum.last), (-3.0, 1e300, -3.0));
            assert!(sum.first.is_nan());
            assert_eq!((sum.severity_max, sum.invalid_count), (Severity::Undefined, 2));
        }
    }

    #[test]
    fn samples_of_nothing_but_nan_have_no_extremes() {
        let summary = Summary::of(&batch(&[f64::NAN, f64::NAN]), 0..2).unwrap();
        assert!(summary.min.is_nan() && summary.max.is_nan() && summary.is_finite());
        assert!(!Summary::of(&batch(&[1.0, f64::INFINITY]), 0..2).unwrap().is_finite());
    }
}

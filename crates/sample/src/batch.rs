//! A batch: samples of one PV and one type in columns; a sample: one of them as a row.

use crate::{Alarm, Arrays, Column, Element, Stamp, Stamps, TimeRange, Timestamp, Value, ValueType};

/// A column of values that rarely change: each with the number of rows for which it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runs<T> {
    runs: Vec<(usize, T)>, // (rows up to and including this run, value)
}

impl<T> Default for Runs<T> {
    fn default() -> Runs<T> {
        Runs { runs: Vec::new() }
    }
}

impl<T: PartialEq + Clone> Runs<T> {
    /// How many rows it covers.
    pub fn len(&self) -> usize {
        self.runs.last().map_or(0, |(end, _)| *end)
    }

    /// Roughly how many bytes of memory it takes.
    pub fn byte_size(&self) -> usize {
        size_of_val(self.runs.as_slice())
    }

    /// The memory that it holds, with what is kept for more.
    pub(crate) fn memory(&self) -> usize {
        self.runs.capacity() * size_of::<(usize, T)>()
    }

    pub(crate) fn shrink(&mut self) {
        self.runs.shrink_to_fit();
    }

    /// Whether it covers none.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Takes all rows out. The memory stays.
    pub fn clear(&mut self) {
        self.runs.clear();
    }

    /// Adds `count` rows of one value.
    pub fn push(&mut self, value: &T, count: usize) {
        if count == 0 {
            return;
        }
        let end = self.len() + count;
        match self.runs.last_mut() {
            Some((last_end, last)) if last == value => *last_end = end,
            _ => self.runs.push((end, value.clone())),
        }
    }

    /// The value of row `index`. Panics beyond the last, like a slice.
    pub fn get(&self, index: usize) -> &T {
        let run = self.runs.partition_point(|(end, _)| *end <= index);
        &self.runs[run].1
    }

    /// Each run as (rows, value).
    pub fn iter(&self) -> impl Iterator<Item = (std::ops::Range<usize>, &T)> {
        self.runs.iter().scan(0, |start, (end, value)| {
            let rows = *start..*end;
            *start = *end;
            Some((rows, value))
        })
    }

    /// Each run that has rows of `range`, with those of its rows. Panics if `range` reaches beyond the last, like a slice.
    pub fn within(&self, range: std::ops::Range<usize>) -> impl Iterator<Item = (std::ops::Range<usize>, &T)> {
        assert!(range.end <= self.len() || range.is_empty(), "{range:?} reaches beyond {} rows", self.len());
        let first = self.runs.partition_point(|(end, _)| *end <= range.start);
        let mut start = range.start;
        self.runs[first..].iter().map_while(move |(end, value)| {
            let rows = start..(*end).min(range.end);
            start = rows.end;
            (!rows.is_empty()).then_some((rows, value))
        })
    }

    /// The value of each row in turn, cheaper than `get` for each.
    pub fn rows(&self) -> impl Iterator<Item = &T> {
        self.iter().flat_map(|(rows, value)| rows.map(move |_| value))
    }

    /// Adds a stretch of another column of runs.
    pub fn extend_from(&mut self, other: &Runs<T>, range: std::ops::Range<usize>) {
        let mut row = range.start;
        let mut run = other.runs.partition_point(|(end, _)| *end <= row);
        while row < range.end {
            let (end, value) = &other.runs[run];
            let stop = (*end).min(range.end);
            self.push(value, stop - row);
            row = stop;
            run += 1;
        }
    }
}

/// One sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// When, by the clock of the IOC where that can be right.
    pub time: Timestamp,
    /// What it read.
    pub value: Value,
    /// The alarm state with it.
    pub alarm: Alarm,
    /// The number of the pulse (pvAccess userTag, record UTAG); 0 where there is none.
    pub pulse: u64,
    /// What is to be said of the time; none where it is the stamp of the IOC and nothing speaks against it.
    pub stamp: Option<Stamp>,
}

impl Sample {
    /// Equal to the last bit in everything that the IOC sent. When it arrived does not matter.
    pub fn identical(&self, other: &Sample) -> bool {
        self.time == other.time
            && self.alarm == other.alarm
            && self.pulse == other.pulse
            && self.value.identical(&other.value)
    }

    /// The number and its time, if there is nothing else to tell.
    #[inline]
    pub fn bare(&self) -> Option<Bare> {
        let ordinary = self.alarm.is_none() && self.pulse == 0 && self.stamp.is_none();
        let (element, bits) = if ordinary { self.value.bits()? } else { return None };
        Some(Bare { time: self.time, element, bits })
    }
}

/// A sample of which there is nothing to tell but a number and its time: no alarm, no pulse, an ordinary stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bare {
    /// When.
    pub time: Timestamp,
    /// The type of the number.
    pub element: Element,
    /// The number, as `Value::bits` gives it.
    pub bits: u64,
}

/// Samples of one PV and one type, in columns of equal length. The order is the writer's: of arrival when it goes into the
/// store, of time when it comes out.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    times: Vec<Timestamp>,
    values: Column,
    alarms: Runs<Alarm>,
    pulses: Runs<u64>,
    stamps: Stamps,
}

impl Batch {
    /// No samples yet, of this type.
    pub fn new(value_type: ValueType) -> Batch {
        Batch {
            times: Vec::new(),
            values: Column::new(value_type),
            alarms: Runs::default(),
            pulses: Runs::default(),
            stamps: Stamps::default(),
        }
    }

    /// From columns, all times being ordinary; none if their lengths differ.
    pub fn from_columns(
        times: Vec<Timestamp>,
        values: Column,
        alarms: Runs<Alarm>,
        pulses: Runs<u64>,
    ) -> Option<Batch> {
        let rows = times.len();
        (values.len() == rows && alarms.len() == rows && pulses.len() == rows).then_some(Batch {
            times,
            values,
            alarms,
            pulses,
            stamps: Stamps::default(),
        })
    }

    /// With what is to be said of its times; none if that is for another number of rows.
    pub fn with_stamps(self, stamps: Stamps) -> Option<Batch> {
        stamps.rows().is_none_or(|rows| rows == self.len()).then_some(Batch { stamps, ..self })
    }

    /// One sample.
    pub fn of(sample: &Sample) -> Batch {
        let mut batch = Batch::new(sample.value.value_type());
        let fits = batch.push(sample);
        assert!(fits, "the batch was made for this type");
        batch
    }

    /// One sample, whose array is not copied.
    pub fn holding(sample: Sample) -> Batch {
        let Sample { value: Value::Array(elements), time, alarm, pulse, stamp } = sample else {
            return Batch::of(&sample);
        };
        let without = Column::new(ValueType::scalar(elements.value_type().element));
        let batch = Batch::of(&Sample { value: Value::Array(without), time, alarm, pulse, stamp });
        let values = Arrays::from_ends(vec![elements.len()], elements).expect("the one array is all there is");
        Batch { values: Column::Array(values), ..batch }
    }

    /// The same samples with other values; none if these are not as many.
    pub fn with_values(self, values: Column) -> Option<Batch> {
        (values.len() == self.len()).then_some(Batch { values, ..self })
    }

    /// How many samples there are.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// The type of all its values.
    pub fn value_type(&self) -> ValueType {
        self.values.value_type()
    }

    /// The times.
    pub fn times(&self) -> &[Timestamp] {
        &self.times
    }

    /// The values.
    pub fn values(&self) -> &Column {
        &self.values
    }

    /// Its columns, without what is to be said of the times: memory for those of another one.
    pub fn into_columns(self) -> (Vec<Timestamp>, Column, Runs<Alarm>, Runs<u64>) {
        (self.times, self.values, self.alarms, self.pulses)
    }

    /// The values alone.
    pub fn into_values(self) -> Column {
        self.values
    }

    /// The alarm states.
    pub fn alarms(&self) -> &Runs<Alarm> {
        &self.alarms
    }

    /// The pulse numbers; one run of 0 where there are none.
    pub fn pulses(&self) -> &Runs<u64> {
        &self.pulses
    }

    /// What is to be said of the times.
    pub fn stamps(&self) -> &Stamps {
        &self.stamps
    }

    /// Roughly how many bytes of memory it takes, for limits on buffers.
    pub fn byte_size(&self) -> usize {
        size_of_val(self.times.as_slice())
            + self.values.byte_size()
            + self.alarms.byte_size()
            + self.pulses.byte_size()
            + self.stamps.byte_size()
    }

    /// The memory that its columns hold, with what is kept for more rows.
    pub fn memory(&self) -> usize {
        self.times.capacity() * size_of::<Timestamp>()
            + self.values.memory()
            + self.alarms.memory()
            + self.pulses.memory()
            + self.stamps.byte_size()
    }

    /// Gives back the memory that is kept for more rows.
    pub fn shrink(&mut self) {
        self.times.shrink_to_fit();
        self.values.shrink();
        self.alarms.shrink();
        self.pulses.shrink();
    }

    /// Takes all samples out. The memory stays, and so does the type.
    pub fn clear(&mut self) {
        self.times.clear();
        self.values.clear();
        self.alarms.clear();
        self.pulses.clear();
        self.stamps = Stamps::default();
    }

    /// Adds a sample; refused (false) if it is of another type.
    #[must_use]
    pub fn push(&mut self, sample: &Sample) -> bool {
        let fits = self.values.push(&sample.value);
        if fits {
            self.stamps.push(sample.stamp, self.len());
            self.times.push(sample.time);
            self.alarms.push(&sample.alarm, 1);
            self.pulses.push(&sample.pulse, 1);
        }
        fits
    }

    /// Adds a stretch of another batch; refused (false, nothing added) if it is of another type.
    #[must_use]
    pub fn extend_from(&mut self, other: &Batch, range: std::ops::Range<usize>) -> bool {
        let fits = self.values.extend_from(&other.values, range.clone());
        if fits {
            self.stamps.extend_from(&other.stamps, range.clone(), self.len());
            self.times.extend_from_slice(&other.times[range.clone()]);
            self.alarms.extend_from(&other.alarms, range.clone());
            self.pulses.extend_from(&other.pulses, range);
        }
        fits
    }

    /// A stretch of it. Panics if `range` reaches beyond it, like a slice.
    pub fn slice(&self, range: std::ops::Range<usize>) -> Batch {
        let mut part = Batch::new(self.value_type());
        let fits = part.extend_from(self, range);
        assert!(fits, "a part has the type of the whole");
        part
    }

    /// Its only row, if it has one and that is a bare sample.
    #[inline]
    pub fn bare(&self) -> Option<Bare> {
        let [time] = self.times[..] else { return None };
        let ordinary = self.alarms.get(0).is_none() && *self.pulses.get(0) == 0 && self.stamps.is_ordinary();
        let (element, bits) = if ordinary { self.values.bits_at(0)? } else { return None };
        Some(Bare { time, element, bits })
    }

    /// The sample at `index`. Panics beyond the last, like a slice.
    pub fn get(&self, index: usize) -> Sample {
        Sample {
            time: self.times[index],
            value: self.values.get(index),
            alarm: self.alarms.get(index).clone(),
            pulse: *self.pulses.get(index),
            stamp: self.stamps.get(index),
        }
    }

    /// Whether two rows are equal in everything, to the last bit, found without copying them.
    pub fn identical_at(&self, a: usize, b: usize) -> bool {
        self.times[a] == self.times[b]
            && self.alarms.get(a) == self.alarms.get(b)
            && self.pulses.get(a) == self.pulses.get(b)
            && self.values.identical_at(a, b)
    }

    /// Whether the times never go backwards.
    pub fn is_sorted(&self) -> bool {
        self.times.is_sorted()
    }

    /// Where the samples of `range` lie, if the batch is sorted.
    pub fn rows_within(&self, range: TimeRange) -> std::ops::Range<usize> {
        let start = self.times.partition_point(|t| *t < range.t0);
        let end = self.times.partition_point(|t| *t < range.t1);
        start..end.max(start)
    }

    /// Sorted by time; samples of equal time keep their order.
    pub fn sorted(self) -> Batch {
        if self.is_sorted() {
            return self;
        }
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_by_key(|i| self.times[*i]);
        let mut sorted = Batch::new(self.value_type());
        for index in order {
            let fits = sorted.extend_from(&self, index..index + 1);
            assert!(fits, "a part has the type of the whole");
        }
        sorted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Element, Severity};

    fn sample(nanos: i64, value: f64, severity: Severity) -> Sample {
        let alarm = Alarm { severity, status: 0, message: None };
        Sample { time: Timestamp::from_nanos(nanos), value: Value::F64(value), alarm, pulse: 0, stamp: None }
    }

    #[test]
    fn rows_come_back_as_they_were_whatever_the_runs() {
        let rows = [
            sample(1, 1.0, Severity::None),
            sample(2, f64::NAN, Severity::Major),
            sample(3, 3.0, Severity::Major),
            sample(4, 4.0, Severity::None),
        ];
        let mut batch = Batch::new(ValueType::scalar(Element::F64));
        assert!(rows.iter().all(|row| batch.push(row)));
        assert_eq!(batch.alarms().iter().count(), 3);
        for (index, row) in rows.iter().enumerate() {
            assert!(batch.get(index).identical(row));
            assert!((0..rows.len()).all(|other| batch.identical_at(index, other) == (index == other)));
        }
        let middle = batch.slice(1..3);
        assert!(middle.get(1).identical(&rows[2]));
        assert_eq!(middle.alarms().iter().count(), 1);
    }

    #[test]
    fn the_runs_within_a_range_are_those_of_its_rows() {
        let mut runs = Runs::default();
        [(7, 3), (8, 1), (9, 4)].iter().for_each(|(value, count)| runs.push(value, *count));
        for start in 0..=8 {
            for end in start..=8 {
                let within: Vec<i32> = runs.within(start..end).flat_map(|(rows, value)| rows.map(|_| *value)).collect();
                let rows: Vec<i32> = (start..end).map(|row| *runs.get(row)).collect();
                assert_eq!(within, rows, "{start}..{end}");
                assert!(runs.within(start..end).all(|(rows, _)| start <= rows.start && rows.end <= end));
            }
        }
    }

    #[test]
    fn a_cleared_batch_takes_samples_like_a_new_one() {
        let rows = [sample(1, 1.0, Severity::Major), sample(2, 2.0, Severity::None)];
        let mut batch = Batch::of(&rows[0]);
        batch.clear();
        assert!(batch.is_empty() && batch.push(&rows[1]));
        assert_eq!(batch, Batch::of(&rows[1]));
        let mut texts = Batch::of(&Sample { value: Value::String("a".into()), ..rows[0].clone() });
        texts.clear();
        assert!(texts.is_empty() && !texts.push(&rows[0]), "the type stays");
    }

    #[test]
    fn runs_count_in_the_size() {
        let mut steady = Batch::new(ValueType::scalar(Element::F64));
        let mut pulsed = steady.clone();
        for pulse in 0..1000 {
            let row = sample(0, 0.0, Severity::None);
            assert!(steady.push(&row) && pulsed.push(&Sample { pulse, ..row }));
        }
        assert!(pulsed.byte_size() >= steady.byte_size() + 999 * size_of::<(usize, u64)>());
    }

    #[test]
    fn sorting_keeps_the_order_of_equal_times() {
        let mut batch = Batch::new(ValueType::scalar(Element::F64));
        for (time, value) in [(2, 1.0), (1, 2.0), (2, 3.0), (1, 4.0)] {
            assert!(batch.push(&sample(time, value, Severity::None)));
        }
        let Column::F64(values) = batch.sorted().values else { panic!("a batch keeps its type") };
        assert_eq!(values, [2.0, 4.0, 1.0, 3.0]);
    }
}

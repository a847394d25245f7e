//! Arrivals: samples whose stamps could not be right have the time of their arrival, which is another one for each recorder of a PV. What
//! two recorded of one update is told by what the IOC said, and comes once: the earlier stays.

use std::{collections::VecDeque, ops::Range, time::Duration};

use sample::{Batch, Quality, Sample, Timestamp};

use crate::merge::is_alike;

/// Two recorders hear of one update within so long, or it counts as two: circuits may hang for a while, and values may come back.
pub(crate) const APART_MAX: Duration = Duration::from_secs(10);
/// What is remembered takes no more than that, and of more the oldest is forgotten.
pub(crate) const SAMPLES_MAX: usize = 4096;
pub(crate) const BYTES_MAX: usize = 16 << 20;

/// Whether the time of a sample is that of its arrival.
pub(crate) fn is_arrival(sample: &Sample) -> bool {
    sample.stamp.is_some_and(|stamp| stamp.quality != Quality::Backward)
}

/// Whether two arrivals of different recorders may be of one update.
pub(crate) fn is_one_update(one: &Sample, other: &Sample) -> bool {
    one.stamp == other.stamp && is_alike(one, other)
}

/// Whether there is one among these rows.
pub(crate) fn has_arrivals(batch: &Batch, rows: &Range<usize>) -> bool {
    let overlaps = |run: &Range<usize>| run.start < rows.end && run.end > rows.start;
    batch.stamps().iter().any(|(run, stamp)| overlaps(&run) && stamp.quality != Quality::Backward)
}

/// What was given out of late.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    recent: VecDeque<Arrival>,
    bytes: usize,
}

#[derive(Debug)]
struct Arrival {
    sample: Sample,
    /// Who recorded it: one update is no other one of the same recorder.
    by: Vec<usize>,
}

impl Arrivals {
    /// Whether another recorder told of the update that this one recorded as `sample`; if none did it is remembered.
    pub(crate) fn is_told(&mut self, by: usize, sample: &Sample) -> bool {
        let since = sample.time.saturating_sub(APART_MAX);
        self.forget(|arrival| arrival.sample.time <= since);
        let same = |arrival: &&mut Arrival| !arrival.by.contains(&by) && is_one_update(&arrival.sample, sample);
        if let Some(arrival) = self.recent.iter_mut().find(same) {
            arrival.by.push(by);
            return true;
        }
        self.bytes += sample.value.byte_size();
        self.recent.push_back(Arrival { sample: sample.clone(), by: vec![by] });
        let (mut len, mut bytes) = (self.recent.len(), self.bytes);
        self.forget(|arrival| {
            let is_too_much = len > SAMPLES_MAX || bytes > BYTES_MAX;
            len -= 1;
            bytes -= arrival.sample.value.byte_size();
            is_too_much
        });
        false
    }

    /// Forgets from the oldest on as long as this says so.
    fn forget(&mut self, mut is_over: impl FnMut(&Arrival) -> bool) {
        while let Some(oldest) = self.recent.front()
            && is_over(oldest)
        {
            self.bytes -= oldest.sample.value.byte_size();
            self.recent.pop_front();
        }
    }

    /// The first moment that matters for a sample at `time`.
    pub(crate) fn begin_for(time: Timestamp) -> Timestamp {
        time.saturating_sub(2 * APART_MAX)
    }
}

#[cfg(test)]
mod tests {
    use sample::{Alarm, Stamp, Value};

    use super::*;

    fn arrived(seconds: i64, value: f64) -> Sample {
        let stamp = Stamp { quality: Quality::NeverSet, other: Timestamp::from_nanos(0) };
        let time = Timestamp::from_seconds(seconds, 0);
        Sample { time, value: Value::F64(value), alarm: Alarm::default(), pulse: 0, stamp: Some(stamp) }
    }

    #[test]
    fn one_update_is_told_once_and_two_of_one_recorder_are_two() {
        let mut arrivals = Arrivals::default();
        assert!(!arrivals.is_told(0, &arrived(0, 1.0)));
        assert!(!arrivals.is_told(0, &arrived(1, 1.0)), "the same value again");
        assert!(arrivals.is_told(1, &arrived(2, 1.0)));
        assert!(arrivals.is_told(1, &arrived(2, 1.0)), "the second of the other one");
        assert!(!arrivals.is_told(1, &arrived(3, 1.0)), "a third that only it heard of");
        assert!(!arrivals.is_told(1, &arrived(3, 2.0)));
        assert!(arrivals.is_told(2, &arrived(4, 2.0)) && arrivals.is_told(0, &arrived(4, 2.0)), "three recorders");
    }

    #[test]
    fn what_comes_ten_seconds_later_is_another_update() {
        let mut arrivals = Arrivals::default();
        assert!(!arrivals.is_told(0, &arrived(0, 1.0)));
        assert!(!arrivals.is_told(1, &arrived(10, 1.0)));
        assert!(arrivals.is_told(0, &arrived(19, 1.0)));
    }

    #[test]
    fn no_more_is_remembered_than_there_is_room_for() {
        let mut arrivals = Arrivals::default();
        for value in 0..10_000 {
            assert!(!arrivals.is_told(0, &arrived(0, f64::from(value))));
        }
        assert_eq!(arrivals.recent.len(), SAMPLES_MAX);
        assert_eq!(arrivals.bytes, arrivals.recent.iter().map(|one| one.sample.value.byte_size()).sum::<usize>());
    }
}

//! Deleted ranges: what was recorded of a PV in a range until somebody deleted it. It is hidden at once, can come back until it
//! is purged, and is left out of segments only then.
//!
//! A deletion is for segments with lower numbers than its own bound; what is written later, by an import say, stays visible.

use std::sync::Arc;

use archive::{Action, AuditRecord, By, Deletion};
use sample::{Batch, TimeRange, Timestamp};

use crate::{block::rows::overlap, segment::manifest::Manifest};

/// A deletion, and up to where it reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hiding {
    pub(crate) of: Deletion,
    /// It is for segments with lower numbers.
    pub(crate) below: u64,
}

impl Hiding {
    /// Whether it is for what a segment holds at all.
    pub(crate) fn is_for(&self, segment: &Manifest) -> bool {
        segment.sequence < self.below && overlap(segment.t0, segment.t1, self.of.range)
    }

    /// What the audit says of it.
    pub(crate) fn line(&self, action: Action, name: String, by: &By) -> AuditRecord {
        let (pv, range) = (Some(self.of.pv), Some(self.of.range));
        AuditRecord { pv, name, range, detail: format!("deletion {}", self.of.number), ..AuditRecord::new(action, by) }
    }
}

/// The deletions of one PV at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deletions(Vec<Hiding>);

impl Deletions {
    pub(crate) fn of(deletions: &[Hiding]) -> Deletions {
        Deletions(deletions.to_vec())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Which ranges nobody may see in a segment.
    pub(crate) fn hidden_in(&self, segment: &Manifest) -> Hidden {
        Hidden::of(self.0.iter().filter(|hiding| hiding.is_for(segment)).map(|hiding| hiding.of.range).collect())
    }
}

/// The ranges that are hidden in one segment: sorted, apart from each other, and hardly ever any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hidden(Option<Arc<[TimeRange]>>);

impl Hidden {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Of ranges in any order, which may overlap.
    pub(crate) fn of(mut ranges: Vec<TimeRange>) -> Hidden {
        if ranges.is_empty() {
            return Hidden(None);
        }
        ranges.sort_unstable_by_key(|range| range.t0);
        let mut apart: Vec<TimeRange> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match apart.last_mut() {
                Some(last) if range.t0 <= last.t1 => last.t1 = last.t1.max(range.t1),
                _ => apart.push(range),
            }
        }
        Hidden(Some(apart.into()))
    }

    fn ranges(&self) -> &[TimeRange] {
        self.0.as_deref().unwrap_or_default()
    }

    /// Whether a sample with such a time, both ends included, may be hidden.
    pub(crate) fn overlaps(&self, t0: Timestamp, t1: Timestamp) -> bool {
        self.ranges().iter().any(|range| range.t0 <= t1 && covers_until(range, t0))
    }

    /// Whether every sample with such a time, both ends included, is hidden.
    pub(crate) fn covers(&self, t0: Timestamp, t1: Timestamp) -> bool {
        self.ranges().iter().any(|range| range.t0 <= t0 && covers_until(range, t1))
    }

    /// What of a sorted batch may be seen.
    pub(crate) fn filter(&self, batch: Batch) -> Batch {
        let (Some(first), Some(last)) = (batch.times().first(), batch.times().last()) else { return batch };
        if !self.overlaps(*first, *last) {
            return batch;
        }
        let mut seen = Batch::new(batch.value_type());
        let mut start = 0;
        for range in self.ranges() {
            let from = batch.times().partition_point(|time| *time < range.t0).max(start);
            let fits = seen.extend_from(&batch, start..from);
            assert!(fits, "a part has the type of the whole");
            start = batch.times().partition_point(|time| *time < range.t1 || range.t1 == Timestamp::MAX).max(from);
        }
        let fits = seen.extend_from(&batch, start..batch.len());
        assert!(fits, "a part has the type of the whole");
        seen
    }
}

/// A range that ends with time itself has no moment after it.
fn covers_until(range: &TimeRange, time: Timestamp) -> bool {
    range.t1 > time || range.t1 == Timestamp::MAX
}

#[cfg(test)]
mod tests {
    use sample::{Alarm, Sample, Value};

    use super::*;

    fn at(nanos: i64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    fn range(t0: i64, t1: i64) -> TimeRange {
        TimeRange::new(at(t0), at(t1)).unwrap()
    }

    #[test]
    fn what_lies_in_none_of_the_ranges_is_seen() {
        let hidden = Hidden::of(vec![range(20, 30), range(3, 5), range(4, 8), range(30, 31)]);
        let sample =
            |time| Sample { time: at(time), value: Value::I32(1), alarm: Alarm::default(), pulse: 0, stamp: None };
        let mut batch = Batch::of(&sample(0));
        (1..40).for_each(|time| assert!(batch.push(&sample(time))));
        let seen: Vec<i64> = hidden.filter(batch).times().iter().map(|time| time.nanos()).collect();
        assert_eq!(seen, [(0..3).collect::<Vec<_>>(), (8..20).collect(), (31..40).collect()].concat());
    }

    #[test]
    fn ends_are_half_open_but_for_the_end_of_time() {
        let hidden = Hidden::of(vec![range(3, 5), range(5, 8)]);
        assert!(hidden.covers(at(3), at(7)) && !hidden.covers(at(3), at(8)) && !hidden.covers(at(2), at(4)));
        assert!(hidden.overlaps(at(7), at(9)) && !hidden.overlaps(at(8), at(9)) && !hidden.overlaps(at(0), at(2)));
        let rest = Hidden::of(vec![TimeRange { t0: at(8), t1: Timestamp::MAX }]);
        assert!(rest.covers(at(8), Timestamp::MAX));
        assert!(
            Hidden::of(Vec::new()) == Hidden::default() && !Hidden::default().overlaps(Timestamp::MIN, Timestamp::MAX)
        );
    }
}

//! Repeats: the same sample once more, to the last bit, as a reconnecting channel or a gateway sends it.

#![allow(clippy::indexing_slicing, reason = "it takes batches, whose rows are there")]

use std::ops::Range;

use sample::Batch;

/// A sample is compared with so many of the same time before it. More share a time only where a clock stands still.
pub(crate) const REPEATS_COMPARED: usize = 64;

/// A sorted batch without its repeats, and how many there were.
pub(crate) fn without_repeats(batch: Batch) -> (Batch, u64) {
    if batch.times().windows(2).all(|pair| pair[0] != pair[1]) {
        return (batch, 0);
    }
    let mut kept = Batch::new(batch.value_type());
    let mut from = 0; // the first row that is neither kept nor known to be a repeat
    let mut group = 0; // the first row with the time of the current row
    let mut dropped = 0;
    for row in 1..batch.len() {
        if batch.times()[row] != batch.times()[group] {
            group = row;
            continue;
        }
        let mut compared = group.max(row.saturating_sub(REPEATS_COMPARED))..row;
        if compared.any(|earlier| batch.identical_at(earlier, row)) {
            extend(&mut kept, &batch, from..row);
            from = row + 1;
            dropped += 1;
        }
    }
    extend(&mut kept, &batch, from..batch.len());
    (kept, dropped)
}

fn extend(kept: &mut Batch, batch: &Batch, rows: Range<usize>) {
    let fits = kept.extend_from(batch, rows);
    assert!(fits, "a part has the type of the whole");
}

#[cfg(test)]
mod tests {
    use super::*;
    use sample::{Alarm, Element, Sample, Timestamp, Value, ValueType};

    #[test]
    fn only_what_is_equal_in_everything_is_a_repeat() {
        let mut batch = Batch::new(ValueType::scalar(Element::F64));
        for (time, value) in [(1, 1.0), (1, 2.0), (1, 1.0), (2, 1.0), (2, f64::NAN), (2, f64::NAN), (3, 0.0), (3, -0.0)]
        {
            let sample = Sample {
                time: Timestamp::from_nanos(time),
                value: Value::F64(value),
                alarm: Alarm::default(),
                pulse: 0,
                stamp: None,
            };
            assert!(batch.push(&sample));
        }
        let (kept, dropped) = without_repeats(batch);
        assert_eq!((kept.len(), dropped), (6, 2));
        let times: Vec<i64> = kept.times().iter().map(|time| time.nanos()).collect();
        assert_eq!(times, [1, 1, 2, 2, 3, 3]);
    }
}

//! Where bins begin and end: edge i of n lies at t0 + i·(t1 - t0)/n, rounded down to the nanosecond.

use std::sync::Arc;

use sample::{TimeRange, Timestamp};

/// The `count + 1` edges of `count` bins. They cover the range without overlap; bins of a range shorter than `count`
/// nanoseconds may be empty.
pub(crate) fn between(range: TimeRange, count: usize) -> Arc<[Timestamp]> {
    let t0 = i128::from(range.t0.nanos());
    let length = i128::from(range.t1.nanos()) - t0;
    let bins = i128::try_from(count).expect("no machine counts further");
    (0..=bins)
        .map(|i| {
            let nanos = i64::try_from(t0 + i * length / bins).expect("an edge lies between the ends of the range");
            Timestamp::from_nanos(nanos)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(t0: i64, t1: i64, count: usize) -> Vec<i64> {
        let range = TimeRange::new(Timestamp::from_nanos(t0), Timestamp::from_nanos(t1)).unwrap();
        between(range, count).iter().map(|t| t.nanos()).collect()
    }

    #[test]
    fn edges_are_whole_nanoseconds_and_never_drift() {
        assert_eq!(edges(0, 10, 3), [0, 3, 6, 10]);
        assert_eq!(edges(-10, 0, 4), [-10, -8, -5, -3, 0]);
        assert_eq!(edges(5, 5, 2), [5, 5, 5]);
        assert_eq!(edges(0, 1, 3), [0, 0, 0, 1]);
    }

    #[test]
    fn the_longest_range_does_not_overflow() {
        let all = edges(i64::MIN, i64::MAX, 100_000);
        assert_eq!((all[0], all[100_000]), (i64::MIN, i64::MAX));
        assert!(all.is_sorted());
    }
}

//! Where bins begin and end: at equal parts of the range, or at multiples of a round width since 1970.

use std::sync::Arc;

use sample::{TimeRange, Timestamp};

/// Round widths in nanoseconds: what people read on an axis, and what the store keeps summaries of.
const SECOND: i64 = 1_000_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Widths of less than a second, and of more than a day, are 1, 2 or 5 times a power of ten of nanoseconds or days.
const ROUND: [i64; 3] = [1, 2, 5];
const WIDTHS: [i64; 17] = [
    SECOND,
    2 * SECOND,
    5 * SECOND,
    10 * SECOND,
    30 * SECOND,
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    4 * HOUR,
    8 * HOUR,
    12 * HOUR,
    DAY,
];

/// The `count + 1` edges of `count` bins: edge i lies at t0 + i·(t1 - t0)/count, rounded down to the nanosecond. They cover the
/// range without overlap; bins of a range shorter than `count` nanoseconds may be empty.
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

/// The edges of the fewest round bins that are at most `count` and cover the range; none if even the longest are too many,
/// because the range crosses 1970 and only one bin is wanted, or because it is all of time.
pub(crate) fn aligned(range: TimeRange, count: usize) -> Option<Arc<[Timestamp]>> {
    let (t0, t1) = (range.t0.nanos(), range.t1.nanos());
    let powers = |unit: i64, end: i64| {
        (0..).map_while(move |power| unit.checked_mul(10i64.checked_pow(power)?).filter(|unit| *unit < end))
    };
    let short = powers(1, SECOND).flat_map(|power| ROUND.map(|round| round * power));
    let long = powers(DAY, 10_000 * DAY + 1).flat_map(|power| ROUND.map(|round| round * power)).skip(1);
    let first = |width: i64| t0.div_euclid(width);
    // An empty range has the bin in which it lies.
    let last = |width: i64| if t1 == t0 { first(width) } else { (t1 - 1).div_euclid(width) };
    let fits = |width: &i64| {
        let bins = i128::from(last(*width)) - i128::from(first(*width)) + 1;
        let reaches = first(*width).checked_mul(*width).is_some() && (last(*width) + 1).checked_mul(*width).is_some();
        reaches && bins <= count as i128
    };
    let width = short.chain(WIDTHS).chain(long).find(fits)?;
    wide(range, width)
}

/// The edges at multiples of a width that cover a range; none where a time has no such multiple beside it.
pub(crate) fn wide(range: TimeRange, width: i64) -> Option<Arc<[Timestamp]>> {
    let (t0, t1) = (range.t0.nanos(), range.t1.nanos());
    let first = t0.checked_div_euclid(width)?;
    // An empty range has the bin in which it lies.
    let end = t1.saturating_sub(1).max(t0).checked_div_euclid(width)?.checked_add(1)?;
    let edges = (first..=end).map(|bin| bin.checked_mul(width).map(Timestamp::from_nanos));
    edges.collect()
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
    fn aligned_edges_are_the_closest_round_ones_that_cover_the_range() {
        let aligned = |t0: i64, t1: i64, count: usize| {
            let range = TimeRange::new(Timestamp::from_nanos(t0), Timestamp::from_nanos(t1)).unwrap();
            aligned(range, count).map(|edges| edges.iter().map(|edge| edge.nanos()).collect::<Vec<i64>>())
        };
        let seconds = |edges: &[i64]| Some(edges.iter().map(|edge| edge * SECOND).collect::<Vec<i64>>());
        assert_eq!(aligned(0, 10, 10), Some((0..=10).collect()));
        assert_eq!(aligned(0, 10, 9), Some(vec![0, 2, 4, 6, 8, 10]));
        assert_eq!(aligned(-1, 1, 1), None);
        assert_eq!(aligned(-1, 1, 2), Some(vec![-1, 0, 1]));
        assert_eq!(aligned(7, 7, 3), Some(vec![7, 8]));
        assert_eq!(aligned(61 * SECOND, 185 * SECOND, 3), seconds(&[60, 120, 180, 240]));
        assert_eq!(aligned(86_401 * SECOND, 200_000 * SECOND, 1), seconds(&[0, 172_800 + 259_200]));
        assert_eq!(aligned(i64::MIN, i64::MAX, 5), None);
        assert_eq!(aligned(i64::MIN + 1, 1_000_000_000, 0), None);
        let year = aligned(1_700_000_000 * SECOND, 1_731_536_000 * SECOND, 1000).unwrap();
        assert_eq!((year.len(), year[1] - year[0]), (732, 12 * HOUR));
    }

    #[test]
    fn the_longest_range_does_not_overflow() {
        let all = edges(i64::MIN, i64::MAX, 100_000);
        assert_eq!((all[0], all[100_000]), (i64::MIN, i64::MAX));
        assert!(all.is_sorted());
    }
}

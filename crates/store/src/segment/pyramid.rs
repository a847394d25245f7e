//! The pyramid: the fewest rows, out of levels of ever shorter stretches, that add up to all samples between neighbouring edges.
//!
//! ```text
//!   8 h      ·     ┊     ·         ━━━━━━━━━━━━━━━━━━━━━━━━━━━         ·    ┊
//!   2 h      ·     ┊     ━━━━━━━━━━                           ━━━━━━━━━     ┊        ┊ edges
//!   30 min   ·     ┊━━━━━                                              ━━━━━┊        ━ rows that are taken
//! ```
//! A thousand bins of a year take ten rows each out of four levels, not a hundred out of one.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::ops::Range;

use sample::{Severity, TimeRange, Timestamp, ValueType};

use super::{
    levels::{Level, ROW_SAMPLES_MIN, stretch},
    tables::{Numbers, TableReader},
};
use crate::{Summary, bytes::Malformed, cache::Remember, free_lists};

/// The levels of a PV in one segment, the coarsest first, and the rows of those that were read.
#[derive(Debug, Default)]
pub(crate) struct Pyramid {
    pub(super) levels: Vec<Level>,
    pub(super) rows: Vec<LevelRows>,
}

impl Pyramid {
    /// How many of the levels are to be read, up to the coarsest of whose stretches `width` nanoseconds are a multiple.
    pub(super) fn needs(&self, width: i64) -> Option<usize> {
        self.levels.iter().position(|level| width % level.width == 0).map(|finest| finest + 1)
    }
}

impl Remember for Pyramid {
    fn bytes(&self) -> usize {
        self.rows.iter().map(LevelRows::bytes).sum::<usize>() + size_of::<Pyramid>()
    }
}

/// The rows of one level, column by column.
#[derive(Debug)]
pub(crate) struct LevelRows {
    value_type: ValueType,
    width: i64,
    rows: usize,
    /// Those of the first samples.
    times: Vec<i64>,
    /// From first to last samples, numbers of samples, severities, of NaN, of INVALID, nanoseconds covered.
    integers: [Numbers<i64>; 6],
    floats: [Numbers<f64>; 7],
}

impl LevelRows {
    /// So many samples are in the segment.
    pub(crate) fn take(bytes: &[u8], value_type: ValueType, width: i64, samples: u64) -> Result<LevelRows, Malformed> {
        let rows_max = usize::try_from(samples / ROW_SAMPLES_MIN).unwrap_or(usize::MAX);
        let mut table = TableReader::new(bytes, rows_max)?;
        let (mut integers, mut floats) = (<[Numbers<i64>; 6]>::default(), <[Numbers<f64>; 7]>::default());
        let times = table.integers()?;
        for column in &mut integers {
            *column = table.integers_or_one()?;
        }
        for column in &mut floats {
            *column = table.floats_or_one()?;
        }
        let rows = LevelRows { value_type, width, rows: table.rows, times, integers, floats };
        if rows.are_one_a_stretch() { Ok(rows) } else { Err(Malformed("its rows are not one for each stretch")) }
    }

    fn are_one_a_stretch(&self) -> bool {
        let [spans, counts, ..] = &self.integers;
        // Where the stretch before ends; nearly always the next one begins there.
        let mut end = None;
        self.times.iter().enumerate().all(|(row, t0)| {
            let t1 = t0.checked_add(spans.get(row)).filter(|t1| t0 <= t1);
            let follows = end.filter(|end| end <= t0 && t0.wrapping_sub(*end) < self.width);
            let begin = follows.or_else(|| t0.div_euclid(self.width).checked_mul(self.width));
            let is_apart = end.is_none_or(|end| begin.is_some_and(|begin| end <= begin));
            // The first and the last stretch of all time have no round ends.
            let lies_within = match begin.map(|begin| begin.checked_add(self.width)) {
                Some(Some(next)) => {
                    end = Some(next);
                    t1.is_some_and(|t1| t1 < next)
                }
                _ => t1.is_some_and(|t1| t1.div_euclid(self.width) == t0.div_euclid(self.width)),
            };
            is_apart && lies_within && counts.get(row) > 0
        })
    }

    fn bytes(&self) -> usize {
        let columns = self.integers.iter().map(Numbers::len).chain(self.floats.iter().map(Numbers::len));
        (self.times.len() + columns.sum::<usize>()) * 8 + size_of::<LevelRows>()
    }

    fn get(&self, row: usize) -> Summary {
        let t0 = self.times.get(row).copied().unwrap_or_default();
        let [span, count, severity, nan, invalid, covered] = self.integers.each_ref().map(|column| column.get(row));
        let [min, max, sum, squares, integral, first, last] = self.floats.each_ref().map(|column| column.get(row));
        Summary {
            value_type: self.value_type,
            t0: Timestamp::from_nanos(t0),
            t1: Timestamp::from_nanos(t0.wrapping_add(span)),
            count: count as u64,
            nan_count: nan as u64,
            min,
            max,
            sum,
            squares,
            integral,
            covered: covered as u64,
            first,
            last,
            severity_max: Severity::from_number(severity),
            invalid_count: invalid as u64,
        }
    }

    /// All rows by time.
    pub(crate) fn all(&self) -> impl Iterator<Item = Summary> {
        (0..self.rows).map(|row| self.get(row))
    }

    /// The stretch of a row.
    fn stretch(&self, row: usize) -> Option<i64> {
        self.times.get(row).map(|t0| stretch(Timestamp::from_nanos(*t0), self.width))
    }

    /// The first row of a stretch or of a later one.
    fn row_of(&self, stretch: i64) -> usize {
        let Some(begin) = stretch.checked_mul(self.width) else { return if stretch < 0 { 0 } else { self.rows } };
        // Where samples come all the time, so do rows.
        let guess = self.stretch(0).and_then(|first| usize::try_from(stretch.checked_sub(first)?).ok()).unwrap_or(0);
        let is_before = |row: usize| self.times.get(row).is_none_or(|t0| *t0 < begin);
        let is_behind = |row: usize| self.times.get(row).is_none_or(|t0| *t0 >= begin);
        if guess <= self.rows && is_behind(guess) && guess.checked_sub(1).is_none_or(is_before) {
            return guess;
        }
        self.times.partition_point(|t0| *t0 < begin)
    }
}

/// Rows that tell of all samples of a range, out of levels of which the coarsest comes first: one between neighbouring edges, where
/// its sums are finite. What the ends of the range cut is one of the finest.
pub(crate) fn rows_between(levels: &[LevelRows], edges: &[Timestamp], range: TimeRange) -> Vec<Summary> {
    let mut rows = free_lists::take();
    let Some(finest) = levels.last() else { return rows };
    let Some((first, last)) = finest.stretch(0).zip(finest.stretch(finest.rows.saturating_sub(1))) else { return rows };
    let of = |time: Timestamp| stretch(time, finest.width);
    let begin = first.max(of(range.t0));
    let before = Timestamp::from_nanos(range.t1.nanos().saturating_sub(1));
    let end = 1 + last.min(of(before));
    let within = edges.partition_point(|edge| *edge <= range.t0)..edges.partition_point(|edge| *edge < range.t1);
    let within = edges.get(within).unwrap_or_default().iter().map(|edge| of(*edge));
    let mut from = begin;
    // The stretches that the ends of the range lie in are for themselves.
    for to in std::iter::once(begin + 1).chain(within).chain([end - 1, end]) {
        let to = to.min(end);
        if from < to {
            let start = rows.len();
            cover(levels, finest.width, from..to, &mut |row| {
                let whole = rows.get_mut(start..).and_then(<[Summary]>::last_mut);
                if !whole.is_some_and(|whole| whole.add_if_finite(&row)) {
                    rows.push(row);
                }
            });
            from = to;
        }
    }
    rows
}

/// Gives the rows of some stretches, which are counted as those of the finest level are.
fn cover(levels: &[LevelRows], finest: i64, stretches: Range<i64>, give: &mut impl FnMut(Summary)) {
    let Some((level, finer)) = levels.split_first() else { return };
    let times = level.width / finest;
    let (from, to) = (-(-stretches.start).div_euclid(times), stretches.end.div_euclid(times));
    if from >= to {
        return cover(finer, finest, stretches, give);
    }
    cover(finer, finest, stretches.start..from * times, give);
    (level.row_of(from)..level.row_of(to)).for_each(|row| give(level.get(row)));
    cover(finer, finest, to * times..stretches.end, give);
}

#[cfg(test)]
mod tests {
    use sample::Element;

    use super::{
        super::levels::{WIDTHS, folded, put_level},
        *,
    };

    const MINUTE: i64 = 60_000_000_000;

    fn time(minutes: f64) -> Timestamp {
        Timestamp::from_nanos((minutes * MINUTE as f64) as i64)
    }

    /// Samples of one minute each, some of which are missing, and the levels of them.
    fn levels(minutes: impl Iterator<Item = i64>) -> (Vec<Summary>, Vec<LevelRows>) {
        let of_minute = |minute: i64| {
            let (t0, t1) = (time(minute as f64 + 0.1), time(minute as f64 + 0.9));
            let value_type = ValueType::scalar(Element::F64);
            let number = minute as f64;
            let empty = Summary::without_values(value_type, t0, t1, 1000);
            Summary { min: number, max: number, sum: 1000.0 * number, first: number, last: number, ..empty }
        };
        let minutes: Vec<Summary> = minutes.map(of_minute).collect();
        let level = |width: i64| {
            let mut bytes = Vec::new();
            put_level(&mut bytes, &folded(&minutes, width));
            let samples = 1000 * minutes.len() as u64;
            LevelRows::take(&bytes, ValueType::scalar(Element::F64), width, samples).expect("it was written just now")
        };
        let levels = WIDTHS.iter().rev().filter(|width| **width >= MINUTE).map(|width| level(*width)).collect();
        (minutes, levels)
    }

    fn range(t0: f64, t1: f64) -> TimeRange {
        TimeRange { t0: time(t0), t1: time(t1) }
    }

    #[test]
    fn rows_are_few_and_make_up_what_lies_between_edges() {
        let holes = |minute: &i64| minute % 7 != 3 && !(4000..4900).contains(minute) && *minute != 9000;
        let (minutes, levels) = levels((-3000..10_000).filter(holes));
        for (from, step, to) in [(-3000.0, 520.0, 10_000.0), (-5000.0, 61.0, 12_000.0), (-7.5, 1440.0, 8000.25)] {
            let within = range(from, to);
            let edges: Vec<Timestamp> = (1..)
                .map(|i| (from / step).floor() * step + step * f64::from(i))
                .take_while(|edge| *edge < to)
                .map(time)
                .collect();
            let rows = rows_between(&levels, &edges, within);
            assert!(rows.is_sorted_by(|earlier, later| earlier.t1 < later.t0));
            let is_wanted = |minute: &&Summary| minute.t1 >= within.t0 && minute.t0 < within.t1;
            let mut wanted = minutes.iter().filter(is_wanted);
            for row in &rows {
                assert!(!edges.iter().any(|edge| row.t0 < *edge && *edge <= row.t1), "an edge cuts {row:?}");
                let first = wanted.next().expect("there are minutes for all rows");
                let mut whole = *first;
                while whole.t1 < row.t1 {
                    whole.add(wanted.next().expect("a row ends where a minute does"));
                }
                let told = |of: &Summary| (of.t0, of.t1, of.count, of.min, of.max, of.covered, of.first, of.last);
                assert_eq!(told(row), told(&whole));
                assert!((row.integral - whole.integral).abs() <= 1e-9 * whole.integral.abs());
            }
            assert!(!rows.is_empty() && wanted.next().is_none(), "no minute is left over");
            assert!(rows.len() <= edges.len() + 3, "{} rows between {} edges", rows.len(), edges.len());
        }
    }

    #[test]
    fn a_range_without_rows_has_none_and_its_ends_are_for_themselves() {
        let (_, levels) = levels(0..3000);
        assert_eq!(rows_between(&levels, &[], range(4000.0, 5000.0)), []);
        assert_eq!(rows_between(&levels, &[], range(-10.0, 0.0)), []);
        let whole = rows_between(&levels, &[], TimeRange::ALL);
        assert_eq!(whole.iter().map(|row| row.count).sum::<u64>(), 3_000_000);
        let cut = rows_between(&levels, &[], range(0.5, 1500.5));
        let ends = [cut.first(), cut.last()].map(|row| row.map(|row| row.count));
        assert_eq!(ends, [Some(1000), Some(1000)], "what ends cut are minutes");
        assert_eq!(cut.len(), 3);
    }
}

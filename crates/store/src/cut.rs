//! The cut: what the pieces of a block amount to that lie before and behind an edge, without decoding all of the block.
//!
//! ```text
//!   block  │ · · · · · · · · · · · · · · · · · · · · │     its summary is known
//!          │ · · · · · · │ · · · · · · · · · · · · · │
//!            the shorter   the longer: the whole without the shorter, where rounding allows that
//! ```
//! Sums of the longer piece are differences. They are taken where the whole is not so much larger than what is left that rounding
//! would show; else, and where more than one edge cuts, each piece is summed up from its own rows. Of a block that tells what its
//! quarters amount to, only that is taken apart in this way in which the edge lies.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::ops::Range;

use sample::Timestamp;

use crate::{
    Summary,
    block::Columns,
    bytes::Malformed,
    codec::time,
    quarters::{self, Quarter},
};

/// The magnitudes of the whole may be so many times those of what is left: the rounding of a sum of 8192 numbers, a few units in
/// the last place, is then below 2e-13 of what is left.
const SUM_MAX: f64 = 16.0;
/// The same for sums of squares and for integrals, of which roots and smaller parts are looked at.
const SQUARES_MAX: f64 = 64.0;

/// The summaries of the pieces into which `edges` cut a block, in order. All edges lie behind its first sample and not behind
/// its last one; all its numbers, and their sums, are finite.
pub(crate) fn pieces(
    columns: &Columns,
    times: &time::Lookup,
    whole: &Summary,
    edges: &[Timestamp],
) -> Result<Vec<Summary>, Malformed> {
    let mut places: Vec<usize> = edges.iter().map(|edge| times.rows_before(*edge)).collect();
    places.dedup();
    let alarms = columns.alarms()?;
    let (cut, count) = (places.first().copied().unwrap_or_default(), columns.count);
    if places.len() == 1 && (1..count).contains(&cut) {
        let found = match by_quarters(columns, times, whole, cut)? {
            None => halves(columns, &Stretch { summary: *whole, rows: 0..count, tail: 0 }, cut)?,
            found => found,
        };
        if let Some((before, behind)) = found {
            return Ok(vec![before.with_alarms(&alarms, &(0..cut)), behind.with_alarms(&alarms, &(cut..count))]);
        }
    }
    let batch = columns.numbers(0..count)?;
    let (mut pieces, mut start) = (Vec::with_capacity(places.len() + 1), 0);
    for end in places.into_iter().chain([count]) {
        if end < start {
            return Err(Malformed("its times go backwards"));
        }
        pieces.extend(Summary::of(&batch, start..end).map(|piece| piece.with_alarms(&alarms, &(start..end))));
        start = end;
    }
    Ok(pieces)
}

/// Rows of a block that an edge cuts.
struct Stretch {
    /// Without alarms. Its integral, and the time that is covered, go on for `tail` nanoseconds behind its last sample.
    summary: Summary,
    rows: Range<usize>,
    tail: u64,
}

impl Stretch {
    /// What is true of the whole becomes true of its last piece, too.
    fn add_tail(&self, piece: &mut Summary) {
        piece.integral += piece.last * self.tail as f64;
        piece.covered = piece.covered.wrapping_add(self.tail);
        piece.last = self.summary.last;
    }
}

/// What lies before a row and behind it, of which one quarter is decoded; none if quarters do not tell.
fn by_quarters(
    columns: &Columns,
    times: &time::Lookup,
    whole: &Summary,
    cut: usize,
) -> Result<Option<(Summary, Summary)>, Malformed> {
    let Some(quarters) = columns.quarters()? else { return Ok(None) };
    let (mut before, mut behind): (Option<Summary>, Option<Summary>) = (None, None);
    for (number, Quarter { min, max, sum, squares, integral }) in quarters.into_iter().enumerate() {
        let rows = quarters::rows(columns.count, number);
        let is_last = rows.end == columns.count;
        if rows.is_empty() || rows.start == cut {
            return Ok(None); // the last number before the edge would be missing
        }
        let (t0, t1) = (times.get(rows.start), if is_last { whole.t1 } else { times.get(rows.end) });
        let covered = t1.nanos().wrapping_sub(t0.nanos()) as u64;
        // What goes on to the next sample needs no last number to be held until there.
        let (first, last) = (whole.first, if is_last { whole.last } else { f64::NAN });
        let empty = Summary::without_values(whole.value_type, t0, t1, rows.len() as u64);
        let summary = Summary { min, max, sum, squares, integral, covered, first, last, ..empty };
        if rows.contains(&cut) {
            let end = times.get(rows.end - 1);
            let tail = if is_last { 0 } else { t1.nanos().wrapping_sub(end.nanos()) as u64 };
            let stretch = Stretch { summary, rows, tail };
            let found = match halves(columns, &stretch, cut)? {
                None => apart(columns, &stretch, cut)?,
                found => found,
            };
            let Some(found) = found else { return Ok(None) };
            add_to(&mut before, &found.0);
            behind = Some(found.1);
        } else {
            add_to(if rows.end <= cut { &mut before } else { &mut behind }, &summary);
        }
    }
    Ok(before.zip(behind))
}

/// The same of a quarter whose pieces are each summed up from their own rows.
fn apart(columns: &Columns, stretch: &Stretch, cut: usize) -> Result<Option<(Summary, Summary)>, Malformed> {
    let batch = columns.numbers(stretch.rows.clone())?;
    let middle = cut - stretch.rows.start;
    let pieces = Summary::of(&batch, 0..middle).zip(Summary::of(&batch, middle..batch.len()));
    Ok(pieces.map(|(before, mut behind)| {
        stretch.add_tail(&mut behind);
        (before, behind)
    }))
}

fn add_to(sum: &mut Option<Summary>, later: &Summary) {
    match sum {
        Some(sum) => sum.add(later),
        None => *sum = Some(*later),
    }
}

/// What lies before a row, and the rest, without alarms; none if the rest is to be summed up for itself.
fn halves(columns: &Columns, stretch: &Stretch, cut: usize) -> Result<Option<(Summary, Summary)>, Malformed> {
    let Stretch { summary: whole, rows: Range { start, end }, .. } = stretch;
    let is_first_shorter = (cut - start) * 2 <= end - start;
    let (short, long) = if is_first_shorter { (*start..cut, cut..*end) } else { (cut..*end, *start..cut) };
    // One row more: that of the longer piece at the border.
    let (taken, border) = if is_first_shorter { (*start..cut + 1, cut - start) } else { (cut - 1..*end, 0) };
    let rows = short.start - taken.start..short.end - taken.start;
    let batch = columns.numbers(taken)?;
    let at_border = batch.times().get(border).copied().zip(batch.values().f64_at(border));
    let Some((mut part, (time, number))) = Summary::of(&batch, rows).zip(at_border) else { return Ok(None) };
    if !is_first_shorter {
        stretch.add_tail(&mut part);
    }
    let without = Without { whole, part: &part, time, number };
    let Some(rest) = without.rest(columns, is_first_shorter, &long)? else { return Ok(None) };
    Ok(Some(if is_first_shorter { (part, rest) } else { (rest, part) }))
}

/// A whole and the shorter part of it that is taken off.
struct Without<'a> {
    whole: &'a Summary,
    part: &'a Summary,
    /// The sample of the rest next to the part.
    time: Timestamp,
    number: f64,
}

impl Without<'_> {
    /// The rest, without its alarms; none if rounding would show in it.
    fn rest(&self, columns: &Columns, is_rest_last: bool, rows: &Range<usize>) -> Result<Option<Summary>, Malformed> {
        let Without { whole, part, time, number } = *self;
        let bounds = if is_rest_last { (time, whole.t1) } else { (whole.t0, time) };
        let mut rest = Summary::without_values(whole.value_type, bounds.0, bounds.1, rows.len() as u64);
        (rest.first, rest.last) = if is_rest_last { (number, whole.last) } else { (whole.first, number) };
        let (held, gap) = if is_rest_last {
            (part.last, time.nanos().wrapping_sub(part.t1.nanos()))
        } else {
            (number, part.t0.nanos().wrapping_sub(time.nanos()))
        };
        let (held, gap) = if held.is_nan() { (0.0, 0) } else { (held, gap as u64) };
        let counts = whole.nan_count.checked_sub(part.nan_count).zip(whole.covered.checked_sub(part.covered));
        let Some((nan_count, covered)) = counts else { return Ok(None) };
        (rest.nan_count, rest.covered) = (nan_count, covered.wrapping_sub(gap));
        if rest.count <= rest.nan_count {
            return Ok(None);
        }
        rest.sum = whole.sum - part.sum;
        rest.integral = whole.integral - part.integral - held * gap as f64;
        let Some(squares) = self.squares(&rest) else { return Ok(None) };
        rest.squares = squares;
        if !self.is_exact(&rest) {
            return Ok(None);
        }
        if part.numbers() == 0 || (part.min > whole.min && part.max < whole.max) {
            (rest.min, rest.max) = (whole.min, whole.max);
        } else if rest.nan_count == 0
            && let Some(extremes) = columns.extremes(rows.clone())?
        {
            (rest.min, rest.max) = extremes;
        } else {
            let values = Summary::of_values(whole.value_type, &columns.values(rows.clone())?);
            (rest.min, rest.max, rest.sum) = (values.min, values.max, values.sum);
        }
        Ok(Some(rest))
    }

    /// The squares of the whole less those of the part and what the distance of their means adds; none if too little is left.
    fn squares(&self, rest: &Summary) -> Option<f64> {
        let Without { whole, part, .. } = *self;
        if whole.squares == 0.0 || part.numbers() == 0 {
            return Some(whole.squares);
        }
        let (own, others) = (rest.numbers() as f64, part.numbers() as f64);
        let distance = part.sum / others - rest.sum / own;
        let squares = whole.squares - part.squares - distance * distance * (own / (own + others) * others);
        (whole.squares <= SQUARES_MAX * squares).then_some(squares)
    }

    /// Whether what rounding did to sums of the whole is little beside the magnitudes of the rest. Of these the sum of squares
    /// over the largest is a bound from below, and its root times that of the count one from above.
    fn is_exact(&self, rest: &Summary) -> bool {
        let whole = self.whole;
        let largest = whole.min.abs().max(whole.max.abs());
        let powers = |of: &Summary| of.squares + of.sum * of.sum / of.numbers() as f64;
        let above = (whole.numbers() as f64 * powers(whole)).sqrt();
        let is_sum_exact = above * largest <= SUM_MAX * powers(rest);
        let is_integral_exact = whole.covered as f64 * largest <= SQUARES_MAX * rest.integral.abs();
        // What has no float compares as anything.
        (above * largest).is_finite() && is_sum_exact && is_integral_exact
    }
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test may panic")]
mod tests {
    use sample::{Alarm, Batch, Column, PvId, Runs, Severity};

    use super::*;
    use crate::{block, codec::Effort};

    fn noise(i: usize) -> f64 {
        (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) as u32 as f64 / f64::from(u32::MAX)
    }

    /// Signals that are easy and hard to take apart.
    fn signals(count: usize) -> Vec<(&'static str, Column)> {
        let floats = |value: fn(usize) -> f64| Column::F64((0..count).map(value).collect());
        vec![
            ("adc", floats(|i| (1000.0 + noise(i) * 90.0).round() * (20.0 / 65535.0) - 10.0)),
            ("decimal", floats(|i| (noise(i) * 1e4).round() / 1e3)),
            ("around zero", floats(|i| noise(i) - 0.5)),
            ("constant", floats(|_| 0.1)),
            ("zeros of both signs", floats(|i| if i % 3 == 0 { -0.0 } else { 0.0 })),
            ("zero or more", floats(|i| [0.0, -0.0, 1.0, 2.0, 3.0][(noise(i) * 5.0) as usize % 5])),
            ("a step", floats(|i| if i < 4000 { 1e9 } else { 1e-3 + noise(i) * 1e-6 })),
            ("one spike", floats(|i| if i == 700 { 1e300 } else { noise(i) })),
            ("nan", floats(|i| if i % 7 == 0 { f64::NAN } else { 5.0 + noise(i) })),
            ("nan in the beginning", floats(|i| if i < 6000 { f64::NAN } else { noise(i) })),
            ("nan at the end", floats(|i| if i > 6000 { f64::NAN } else { noise(i) })),
            ("counter", Column::I32((0..count).map(|i| i as i32 * 1000 + (noise(i) * 9.0) as i32).collect())),
            ("state", Column::Enum((0..count).map(|i| (i / 700) as i32).collect())),
            ("long", Column::I64((0..count).map(|i| i64::MAX - (noise(i) * 1e6) as i64).collect())),
            ("single", Column::F32((0..count).map(|i| noise(i) as f32 * 1e-9).collect())),
        ]
    }

    fn times(count: usize, habit: usize) -> Vec<Timestamp> {
        let mut time = 0;
        let step = |i: usize| match habit {
            0 => 1000,
            1 => 1_000_000 + (noise(i) * 1e5) as i64,
            2 => (noise(i * 3) * 3.0) as i64,
            _ => {
                if i == 5000 {
                    1 << 50
                } else {
                    (1e9 * noise(i).powi(9)) as i64
                }
            }
        };
        let next = |i| {
            time += step(i);
            Timestamp::from_nanos(time)
        };
        (0..count).map(next).collect()
    }

    fn close(a: f64, b: f64, by: f64) -> bool {
        a.to_bits() == b.to_bits() || (a - b).abs() <= by
    }

    /// As exact as bins are to be.
    fn check(found: &Summary, batch: &Batch, rows: Range<usize>, place: &str) {
        let expected = Summary::of(batch, rows.clone()).expect("no piece is empty");
        let without_sums = |of: &Summary| Summary { sum: 0.0, squares: 0.0, integral: 0.0, ..*of };
        assert!(without_sums(found).identical(&without_sums(&expected)), "{place}: {found:?} is not {expected:?}");
        let numbers = || rows.clone().filter_map(|row| batch.values().f64_at(row)).filter(|number| !number.is_nan());
        let magnitude: f64 = numbers().map(f64::abs).sum();
        let held = |row: usize| batch.times()[row + 1].nanos() - batch.times()[row].nanos();
        let number = |row: usize| batch.values().f64_at(row).filter(|number| !number.is_nan()).unwrap_or(0.0);
        let area: f64 = (rows.start..rows.end - 1).map(|row| number(row).abs() * held(row) as f64).sum();
        assert!(close(found.sum, expected.sum, magnitude * 1e-12), "{place}: {found:?} is not {expected:?}");
        assert!(close(found.integral, expected.integral, area * 1e-12), "{place}: {found:?} is not {expected:?}");
        let count = found.numbers() as f64;
        let std = |of: &Summary| (of.squares / count).sqrt();
        let by = 1e-12 * (std(&expected) + magnitude / count);
        assert!(
            found.squares >= 0.0 && close(std(found), std(&expected), by) || count == 0.0,
            "{place}: {found:?} is not {expected:?}"
        );
    }

    #[test]
    fn pieces_are_what_their_rows_amount_to() {
        for count in [2, 3, 700, 8192] {
            for (name, values) in signals(count) {
                for habit in 0..4 {
                    let mut alarms = Runs::default();
                    for row in 0..count {
                        let severity =
                            Severity::from_number(if noise(row) > 0.99 { 3 } else { (row / 999) as i64 % 3 });
                        alarms.push(&Alarm { severity, status: 0, message: None }, 1);
                    }
                    let mut pulses = Runs::default();
                    pulses.push(&7, count);
                    let batch = Batch::from_columns(times(count, habit), values.clone(), alarms, pulses);
                    let batch = batch.expect("the columns are of one length");
                    let whole = Summary::of(&batch, 0..count).expect("it is not empty");
                    if whole.is_finite() {
                        let mut bytes = Vec::new();
                        block::put(&mut bytes, PvId(1), &batch, Effort::Flush);
                        let columns = Columns::of(&bytes).expect("it was written just now");
                        let has_quarters = count > 4096 && whole.nan_count == 0 && name != "one spike";
                        assert_eq!(columns.quarters().expect("it can be read").is_some(), has_quarters, "{name}");
                        cut_anywhere(&columns, &whole, &batch, name);
                    }
                }
            }
        }
    }

    fn cut_anywhere(columns: &Columns, whole: &Summary, batch: &Batch, name: &str) {
        let (times, lookup) = (batch.times(), columns.times().expect("it was written just now"));
        let places = [0.0, 0.001, 0.1, 0.249, 0.2501, 0.3, 0.49, 0.5, 0.51, 0.6, 0.9, 1.0]
            .map(|share| times[((times.len() - 1) as f64 * share) as usize]);
        let edges: Vec<Timestamp> = places.into_iter().filter(|edge| *edge > whole.t0).collect();
        let each = edges.iter().map(std::slice::from_ref);
        for edges in each.chain([&edges[..]]) {
            let found = pieces(columns, &lookup, whole, edges).expect("it was written just now");
            let mut start = 0;
            for piece in &found {
                let end = start + piece.count as usize;
                check(piece, batch, start..end, &format!("{name} of {}, rows {start}..{end}", times.len()));
                assert!(edges.iter().all(|edge| *edge <= piece.t0 || *edge > piece.t1), "{name}: an edge cuts a piece");
                start = end;
            }
            assert_eq!(start, batch.len());
        }
    }
}

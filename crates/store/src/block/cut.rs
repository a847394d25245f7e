//! The cut: what the pieces of a block amount to that lie between edges, without decoding all of the block.
//!
//! ```text
//!   block     │ · · · · · · │ · · ┊ · · · · │ · · · · · · │ · · · · · · │     what its sections amount to is known
//!   pieces    │ ──────────────────┊──────────────────────────────────── │     ┊ an edge: its section is decoded
//! ```
//! Of a section that is decoded the parts that no edge cuts are summed up as the section is, so that who remembers the sums of parts,
//! and decodes no more than one of them, comes to the same result. Of a block that does not tell of its sections all rows are decoded.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::ops::Range;

use sample::{Alarm, Runs, Timestamp};

use crate::{
    Summary,
    block::{
        Columns, Numbers,
        sections::{self, Section},
    },
    bytes::Malformed,
    codec::time,
};

/// The summaries of the pieces into which `edges` cut a block, in order. All edges lie behind its first sample and not behind
/// its last one; all its numbers, and their sums, are finite.
pub(crate) fn pieces(
    columns: &Columns,
    times: &time::Lookup,
    whole: &Summary,
    edges: &[Timestamp],
) -> Result<Vec<Summary>, Malformed> {
    let count = columns.count;
    let cuts = cuts(count, edges.iter().map(|edge| times.rows_before(*edge)).collect())?;
    if cuts.is_empty() {
        return Ok(vec![*whole]);
    }
    let sections = columns.sections()?.unwrap_or_else(|| vec![Section::unknown(0..count)]);
    let made = pieces_of(whole, &cuts, &sections, |row| times.get(row), |rows| columns.numbers(rows))?;
    Ok(with_alarms(made, &columns.alarms()?, &cuts, count))
}

/// The rows at which a block of so many is cut, of those at which there are edges.
pub(crate) fn cuts(count: usize, mut rows: Vec<usize>) -> Result<Vec<usize>, Malformed> {
    rows.retain(|row| (1..count).contains(row));
    rows.dedup();
    if rows.is_sorted() { Ok(rows) } else { Err(Malformed("its times go backwards")) }
}

/// The pieces between cuts, without their alarms: of sections that no cut concerns as they stand, of others out of their numbers.
/// What is told as a section may be a part of one. `time` tells that of the first row of a section.
pub(crate) fn pieces_of<'a>(
    whole: &Summary,
    cuts: &[usize],
    sections: impl IntoIterator<Item = &'a Section>,
    time: impl Fn(usize) -> Timestamp,
    mut numbers: impl FnMut(Range<usize>) -> Result<Numbers, Malformed>,
) -> Result<Vec<Summary>, Malformed> {
    let mut pieces = Pieces { whole, cuts, done: Vec::with_capacity(cuts.len() + 1), piece: None };
    for section in sections {
        let Range { start, end } = section.rows;
        let next = if end as u64 == whole.count { whole.t1 } else { time(end) };
        match (is_concerned(&section.rows, cuts), section.is_known()) {
            (false, _) => pieces.add_section(section, time(start), next),
            (true, true) => pieces.add_parts(&numbers(start..end)?, start, next),
            (true, false) => pieces.add_rows(&numbers(start..end)?, start, start..end, next),
        }
    }
    pieces.done.extend(pieces.piece);
    Ok(pieces.done)
}

/// Whether one of the cuts lies in these rows, or at one of their ends: the first and the last number of each piece are wanted, and
/// these stand in no section.
pub(crate) fn is_concerned(rows: &Range<usize>, cuts: &[usize]) -> bool {
    cuts.iter().any(|cut| (rows.start..=rows.end).contains(cut))
}

/// The same with their alarms.
pub(crate) fn with_alarms(pieces: Vec<Summary>, alarms: &Runs<Alarm>, cuts: &[usize], count: usize) -> Vec<Summary> {
    let ends = cuts.iter().copied().chain([count]);
    let of_rows = |(piece, end): (Summary, usize)| piece.with_alarms(alarms, &(end - piece.count as usize..end));
    pieces.into_iter().zip(ends).map(of_rows).collect()
}

/// The pieces of a block as far as it has been gone through.
struct Pieces<'a> {
    whole: &'a Summary,
    cuts: &'a [usize],
    done: Vec<Summary>,
    piece: Option<Summary>,
}

impl Pieces<'_> {
    /// Adds what comes next to the piece.
    fn add(&mut self, later: &Summary) {
        match &mut self.piece {
            Some(piece) => piece.add(later),
            None => self.piece = Some(*later),
        }
    }

    /// Adds a section that no edge cuts or bounds; the next sample is at that time.
    fn add_section(&mut self, section: &Section, t0: Timestamp, t1: Timestamp) {
        let Section { ref rows, min, max, sum, squares, integral } = *section;
        let covered = t1.nanos().wrapping_sub(t0.nanos()) as u64;
        // Where a piece goes on, nobody looks at its last number so far: it was held up to there.
        let (first, last) = (self.whole.first, self.whole.last);
        let empty = Summary::without_values(self.whole.value_type, t0, t1, rows.len() as u64);
        self.add(&Summary { min, max, sum, squares, integral, covered, first, last, ..empty });
    }

    /// Adds a section that was decoded, whose rows begin with `start`, as its parts; the next sample is at that time.
    fn add_parts(&mut self, numbers: &Numbers, start: usize, next: Timestamp) {
        let time = |row: usize| numbers.times.get(row - start).copied().unwrap_or(next);
        for rows in sections::parts(&(start..start + numbers.times.len())) {
            let (t0, next) = (time(rows.start), time(rows.end));
            let part = if is_concerned(&rows, self.cuts) {
                None
            } else {
                Section::of_part(numbers, start, rows.clone(), next)
            };
            match part {
                Some(part) => self.add_section(&part, t0, next),
                None => self.add_rows(numbers, start, rows, next),
            }
        }
    }

    /// Adds some rows of a section that was decoded, whose own begin with `start`; the sample behind them is at that time.
    fn add_rows(&mut self, numbers: &Numbers, start: usize, rows: Range<usize>, next: Timestamp) {
        let Numbers { times, values } = numbers;
        let (mut from, end) = (rows.start, rows.end);
        for to in self.cuts.iter().copied().filter(|cut| rows.contains(cut)).chain([end]) {
            if let Some(more) = Summary::of_numbers(times, values, from - start..to - start) {
                self.add(&more);
            }
            if to < end || self.cuts.contains(&end) {
                self.done.extend(self.piece.take());
            }
            from = to;
        }
        // What goes on is held until the next section.
        if let Some(piece) = self.piece.as_mut().filter(|piece| !piece.last.is_nan()) {
            let held = next.nanos().wrapping_sub(piece.t1.nanos()) as u64;
            piece.integral += piece.last * held as f64;
            piece.covered = piece.covered.wrapping_add(held); // of times that are nonsense it is nonsense
            piece.t1 = next;
        }
    }
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test may panic")]
pub(crate) mod tests {
    use archive::PvId;
    use sample::{Batch, Column, Severity};

    use super::*;
    use crate::{block, codec::Effort};

    pub(crate) fn noise(i: usize) -> f64 {
        (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) as u32 as f64 / f64::from(u32::MAX)
    }

    /// Signals that are easy and hard to take apart.
    pub(crate) fn signals(count: usize) -> Vec<(&'static str, Column)> {
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

    pub(crate) fn times(count: usize, habit: usize) -> Vec<Timestamp> {
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
                        let has_sections = count > 2048 && whole.nan_count == 0 && name != "one spike";
                        assert_eq!(columns.sections().expect("it can be read").is_some(), has_sections, "{name}");
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
        let at_borders = [511, 512, 513, 1024, 4096].into_iter().filter_map(|row| times.get(row).copied());
        let mut edges: Vec<Timestamp> = places.into_iter().chain(at_borders).filter(|edge| *edge > whole.t0).collect();
        edges.sort_unstable();
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

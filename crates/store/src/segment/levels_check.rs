//! Levels beside the samples that they were made of: whether each row is what its samples amount to.
//!
//! Sums depend on the order in which they are taken, and a row is made of pieces: so they are compared as numbers, and all else to
//! the last bit. Of the samples no more is held than one row a level.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use sample::Batch;

use super::levels::{Level, stretch};
use crate::{Summary, bytes::Malformed};

/// What rounding does to a sum of that many numbers at most, relative to the sum of their magnitudes.
const ROUNDING: f64 = 1e-13;
/// Two sums of squares in different orders differ by no more than this part of them, beside what their means differ by.
const SQUARES_ROUNDING: f64 = 1e-9;

/// Compares the levels of a PV with its blocks, as they come.
#[derive(Debug, Default)]
pub(crate) struct LevelsCheck {
    levels: Vec<LevelRow>,
}

/// A level, and the row that its samples have come to.
#[derive(Debug)]
struct LevelRow {
    width: i64,
    rows: std::vec::IntoIter<Summary>,
    current: Option<Summary>,
    agrees: bool,
}

impl LevelsCheck {
    /// Of a table that is as it was written; nothing is compared where there is none. So many samples are in the segment.
    pub(crate) fn new(table: &[u8], samples: u64) -> Result<LevelsCheck, Malformed> {
        if table.is_empty() {
            return Ok(LevelsCheck::default());
        }
        let read = |level: Level| {
            let rows: Vec<Summary> = level.rows(table, samples)?.all().collect();
            Ok(LevelRow { width: level.width, rows: rows.into_iter(), current: None, agrees: true })
        };
        Ok(LevelsCheck { levels: Level::all(table)?.into_iter().map(read).collect::<Result<_, Malformed>>()? })
    }

    /// The samples of the next block.
    pub(crate) fn add(&mut self, batch: &Batch) {
        // Stretches of each level are made of whole ones of the next.
        let Some(finest) = self.levels.last().map(|level| level.width) else { return };
        let times = batch.times();
        let mut start = 0;
        while let Some(first) = times.get(start) {
            let row = stretch(*first, finest);
            let rest = times.get(start..).unwrap_or_default();
            let end = start + rest.partition_point(|time| stretch(*time, finest) == row);
            let Some(summary) = Summary::of(batch, start..end) else { return };
            self.levels.iter_mut().for_each(|level| level.add(&summary));
            start = end;
        }
    }

    /// After the last block: the lengths in nanoseconds of the stretches whose rows are not those of the samples.
    pub(crate) fn finish(self) -> Vec<i64> {
        let wrong = |mut level: LevelRow| {
            level.end_row();
            (!level.agrees || level.rows.next().is_some()).then_some(level.width)
        };
        self.levels.into_iter().filter_map(wrong).collect()
    }
}

impl LevelRow {
    fn add(&mut self, summary: &Summary) {
        match &mut self.current {
            Some(row) if stretch(row.t0, self.width) == stretch(summary.t0, self.width) => row.add(summary),
            _ => {
                self.end_row();
                self.current = Some(*summary);
            }
        }
    }

    fn end_row(&mut self) {
        if let Some(found) = self.current.take() {
            self.agrees &= self.rows.next().is_some_and(|row| agrees(&row, &found));
        }
    }
}

/// Whether a row is that of its samples, but for the rounding of its sums.
fn agrees(row: &Summary, found: &Summary) -> bool {
    let without_sums = |of: &Summary| Summary { sum: 0.0, squares: 0.0, integral: 0.0, ..*of };
    let numbers = found.numbers() as f64;
    let largest = found.min.abs().max(found.max.abs());
    // Of a sum beyond the largest float nothing can be said: in another order it may be another, or none.
    let close = |row: f64, found: f64, by: f64| row == found || !found.is_finite() || (row - found).abs() <= by;
    let mean_off = largest * ROUNDING;
    let squares_off = SQUARES_ROUNDING * found.squares + numbers * mean_off * (found.max - found.min + mean_off);
    without_sums(row).identical(&without_sums(found))
        && close(row.sum, found.sum, numbers * mean_off)
        && close(row.integral, found.integral, found.covered as f64 * mean_off)
        && close(row.squares, found.squares, squares_off)
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test may panic")]
mod tests {
    use sample::{Alarm, Element, Sample, Severity, Timestamp, Value, ValueType};

    use super::{super::levels::LevelsWriter, *};

    const SECOND: i64 = 1_000_000_000;

    /// An hour of 100 Hz around a million, with NaN and alarms.
    fn blocks() -> Vec<Batch> {
        let mut batch = Batch::new(ValueType::scalar(Element::F64));
        for row in 0..360_000i64 {
            let value = if row % 977 == 5 { f64::NAN } else { 1e6 + (row * row % 1013) as f64 / 7.0 };
            let alarm =
                Alarm { severity: Severity::from_number(i64::from(row % 5003 == 0) * 3), status: 0, message: None };
            let time = Timestamp::from_nanos(7 * SECOND + row * SECOND / 100 + row * 37 % 1000);
            assert!(batch.push(&Sample { time, value: Value::F64(value), alarm, pulse: 0, stamp: None }));
        }
        (0..batch.len()).step_by(8192).map(|row| batch.slice(row..batch.len().min(row + 8192))).collect()
    }

    fn table(blocks: &[Batch]) -> Vec<u8> {
        let mut writer = LevelsWriter::default();
        blocks
            .iter()
            .for_each(|block| writer.add(block, &Summary::of(block, 0..block.len()).expect("it is not empty")));
        let mut table = Vec::new();
        writer.finish(&mut table, 360_000, u64::MAX);
        table
    }

    fn wrong(mut check: LevelsCheck, blocks: &[Batch]) -> Vec<i64> {
        blocks.iter().for_each(|block| check.add(block));
        check.finish().into_iter().map(|width| width / SECOND).collect()
    }

    #[test]
    fn levels_are_those_of_their_samples_and_any_wrong_number_is_found() {
        let blocks = blocks();
        let table = table(&blocks);
        let check = || LevelsCheck::new(&table, 360_000).expect("it was written just now");
        let widths: Vec<i64> = check().levels.iter().map(|level| level.width / SECOND).collect();
        assert_eq!(widths, [7200, 1800, 300, 60]);
        assert_eq!(wrong(check(), &blocks), [0; 0]);
        let changes: [fn(&mut Summary); 14] = [
            |row| row.t0 = Timestamp::from_nanos(row.t0.nanos() + 1),
            |row| row.t1 = Timestamp::from_nanos(row.t1.nanos() - 1),
            |row| row.count += 1,
            |row| row.nan_count += 1,
            |row| row.min += 1e-9,
            |row| row.max -= 1e-9,
            |row| row.sum *= 1.0 + 1e-11,
            |row| row.squares *= 1.0 - 1e-7,
            |row| row.integral *= 1.0 + 1e-11,
            |row| row.covered -= 1,
            |row| row.first = 1.0,
            |row| row.last = f64::NAN,
            |row| row.severity_max = Severity::Minor,
            |row| row.invalid_count += 1,
        ];
        for (number, change) in changes.iter().enumerate() {
            for (place, width) in widths.iter().enumerate() {
                let mut check = check();
                let mut rows: Vec<Summary> = check.levels[place].rows.clone().collect();
                let middle = rows.len() / 2;
                change(&mut rows[middle]);
                check.levels[place].rows = rows.into_iter();
                assert_eq!(wrong(check, &blocks), [*width], "change {number}");
            }
        }
    }

    #[test]
    fn a_row_too_few_or_too_many_is_found() {
        let blocks = blocks();
        let table = table(&blocks);
        let check = || LevelsCheck::new(&table, 360_000).expect("it was written just now");
        assert_eq!(wrong(check(), &blocks[..blocks.len() - 1]), [7200, 1800, 300, 60]);
        let mut short = check();
        short.levels[1].rows.next();
        assert_eq!(wrong(short, &blocks), [1800]);
        assert_eq!(wrong(LevelsCheck::new(&[], 0).expect("there is nothing to read"), &blocks), [0; 0]);
    }
}

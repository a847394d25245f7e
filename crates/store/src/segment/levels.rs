//! Levels: summaries of stretches of time that begin at multiples of their length since 1970, so that a bin of many blocks takes
//! a few rows.
//!
//! ```text
//!   levels := check:u64 head level*                                   check of the head; the longest stretches first
//!   head   := type:zigzag count:varint (seconds:varint len:varint check:u64)*count       check of the level
//!   level  := a table with a row for each stretch that has samples: t0 span samples, then the columns of summaries
//! ```
//! A level is written where it pays: a row stands for many samples, all levels together for few bytes. Each can be read without
//! the others.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use sample::{Batch, Timestamp, ValueType};
use xxhash_rust::xxh3::xxh3_64;

use super::{
    pyramid::LevelRows,
    tables::{TableWriter, put_columns, type_number, value_type_of},
};
use crate::{
    Summary,
    bytes::{Cursor, Malformed, put_varint, put_zigzag},
};

const SECOND: i64 = 1_000_000_000;

/// The lengths of stretches, each a multiple of the one before: 10 s, 1 min, 5 min, 10 min, 30 min, 2 h, 8 h, a day.
pub(crate) const WIDTHS: [i64; 8] = [
    10 * SECOND,
    60 * SECOND,
    300 * SECOND,
    600 * SECOND,
    1_800 * SECOND,
    7_200 * SECOND,
    28_800 * SECOND,
    86_400 * SECOND,
];

/// A level has no more rows than one for so many samples: below, reading the samples costs little more than the row.
pub(super) const ROW_SAMPLES_MIN: u64 = 1000;
/// All levels of a PV take no more than this part of what its blocks do.
const BLOCK_BYTES_PER_BYTE: u64 = 100;
/// Fewer rows are not worth a look at whether they are too many.
const ROWS_FEW: usize = 64;

/// In which stretch of that length a time lies.
pub(super) fn stretch(time: Timestamp, width: i64) -> i64 {
    time.nanos().div_euclid(width)
}

/// Gathers rows while blocks of a PV are written.
#[derive(Debug, Default)]
pub(super) struct LevelsWriter {
    rows: Option<Rows>,
    /// The PV changes its type, has no numbers, or its blocks overlap: there will be no levels.
    given_up: bool,
}

/// The finest level so far.
#[derive(Debug)]
struct Rows {
    value_type: ValueType,
    level: usize,
    summaries: Vec<Summary>,
    samples: u64,
}

impl LevelsWriter {
    /// Adds the samples of the next block, whose summary is known.
    pub(super) fn add(&mut self, batch: &Batch, summary: &Summary) {
        let value_type = batch.value_type();
        let (Some(t0), Some(t1)) = (batch.times().first(), batch.times().last()) else { return };
        let rows = self.rows.get_or_insert_with(|| Rows {
            value_type,
            level: level_for(batch.len() as u64, *t0, *t1),
            summaries: Vec::new(),
            samples: 0,
        });
        let follows = rows.summaries.last().is_none_or(|last| last.t1 <= *t0);
        self.given_up |= !value_type.is_numeric_scalar() || rows.value_type != value_type || !follows;
        if self.given_up {
            self.rows = None;
            return;
        }
        rows.add(batch, summary);
    }

    /// Writes what pays beside blocks of so many samples and bytes.
    pub(super) fn finish(self, out: &mut Vec<u8>, samples: u64, block_bytes: u64) {
        // Rows that leave out a block would be wrong.
        let Some(rows) = self.rows.filter(|rows| !self.given_up && rows.samples == samples) else { return };
        if samples < ROW_SAMPLES_MIN {
            return;
        }
        let (mut levels, mut bytes) = (Vec::new(), 0);
        // The coarsest first: they serve the longest ranges, and cost least.
        for (width, summaries) in rows.levels().iter().rev() {
            let mut level = Vec::new();
            put_level(&mut level, summaries);
            bytes += level.len() as u64;
            if bytes > block_bytes / BLOCK_BYTES_PER_BYTE {
                break;
            }
            levels.push((width / SECOND, level));
        }
        if levels.is_empty() {
            return;
        }
        let mut head = Vec::new();
        put_zigzag(&mut head, type_number(rows.value_type));
        put_varint(&mut head, levels.len() as u64);
        for (seconds, level) in &levels {
            put_varint(&mut head, *seconds as u64);
            put_varint(&mut head, level.len() as u64);
            head.extend_from_slice(&xxh3_64(level).to_le_bytes());
        }
        out.extend_from_slice(&xxh3_64(&head).to_le_bytes());
        out.extend_from_slice(&head);
        levels.iter().for_each(|(_, level)| out.extend_from_slice(level));
    }
}

/// The finest level whose rows have samples enough if all go on like these.
fn level_for(samples: u64, t0: Timestamp, t1: Timestamp) -> usize {
    let span = t1.nanos().wrapping_sub(t0.nanos()) as u64;
    let enough = |width: &&i64| {
        u128::from(samples) * u128::from(width.unsigned_abs()) >= u128::from(span) * u128::from(ROW_SAMPLES_MIN)
    };
    WIDTHS.iter().position(|width| enough(&width)).unwrap_or(WIDTHS.len() - 1)
}

impl Rows {
    fn width(&self) -> i64 {
        WIDTHS.get(self.level).copied().unwrap_or(i64::MAX)
    }

    fn add(&mut self, batch: &Batch, summary: &Summary) {
        let width = self.width();
        let times = batch.times();
        let mut start = 0;
        if stretch(summary.t0, width) == stretch(summary.t1, width) {
            add_row(&mut self.summaries, *summary, width);
            start = times.len();
        }
        while let Some(first) = times.get(start) {
            let row = stretch(*first, width);
            let rest = times.get(start..).unwrap_or_default();
            let end = start + rest.partition_point(|time| stretch(*time, width) == row);
            let Some(summary) = Summary::of(batch, start..end) else { break };
            add_row(&mut self.summaries, summary, width);
            start = end;
        }
        self.samples += times.len() as u64;
        let too_many = |rows: &Rows| {
            rows.summaries.len() > ROWS_FEW && rows.samples < rows.summaries.len() as u64 * ROW_SAMPLES_MIN
        };
        while too_many(self) && self.level + 1 < WIDTHS.len() {
            self.level += 1;
            self.summaries = folded(&self.summaries, self.width());
        }
    }

    /// The levels whose rows have samples enough, from the finest; each has at most half as many rows as the one before.
    fn levels(&self) -> Vec<(i64, Vec<Summary>)> {
        let mut levels = vec![(self.width(), self.summaries.clone())];
        for width in WIDTHS.iter().skip(self.level + 1) {
            let finer = levels.last().map(|(_, summaries)| summaries.as_slice()).unwrap_or_default();
            let coarser = folded(finer, *width);
            if coarser.len() * 2 <= finer.len() {
                levels.push((*width, coarser));
            }
        }
        levels.retain(|(_, summaries)| self.samples >= summaries.len() as u64 * ROW_SAMPLES_MIN);
        levels
    }
}

/// Rows of longer stretches out of those of shorter ones.
pub(super) fn folded(summaries: &[Summary], width: i64) -> Vec<Summary> {
    let mut rows = Vec::new();
    summaries.iter().for_each(|summary| add_row(&mut rows, *summary, width));
    rows
}

fn add_row(rows: &mut Vec<Summary>, summary: Summary, width: i64) {
    match rows.last_mut() {
        Some(last) if stretch(last.t0, width) == stretch(summary.t0, width) => last.add(&summary),
        _ => rows.push(summary),
    }
}

pub(super) fn put_level(out: &mut Vec<u8>, summaries: &[Summary]) {
    let mut table = TableWriter::new(out, summaries.len());
    table.integers(summaries.iter().map(|summary| summary.t0.nanos()));
    table.integers(summaries.iter().map(|summary| summary.t1.nanos().wrapping_sub(summary.t0.nanos())));
    table.integers(summaries.iter().map(|summary| summary.count as i64));
    put_columns(&mut table, summaries);
}

/// Where a level lies in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    pub(super) value_type: ValueType,
    pub(super) width: i64,
    start: u64,
    len: u32,
    check: u64,
}

impl Level {
    /// All levels of a table, the coarsest first. The table begins with these bytes.
    pub(crate) fn all(bytes: &[u8]) -> Result<Vec<Level>, Malformed> {
        let mut cursor = Cursor::new(bytes);
        let check = cursor.u64()?;
        let head = cursor;
        let value_type = value_type_of(cursor.zigzag()?).filter(|value_type| value_type.is_numeric_scalar());
        let value_type = value_type.ok_or(Malformed("it has an impossible type"))?;
        let count = cursor.count(WIDTHS.len())?;
        let (mut levels, mut start) = (Vec::with_capacity(count), 0u64);
        for _ in 0..count {
            let seconds = i64::try_from(cursor.varint()?).ok().and_then(|seconds| seconds.checked_mul(SECOND));
            let width = seconds.filter(|seconds| *seconds > 0).ok_or(Malformed("a level has impossible stretches"))?;
            let len = u32::try_from(cursor.varint()?).map_err(|_| Malformed("a level is too long"))?;
            let check = cursor.u64()?;
            levels.push(Level { value_type, width, start, len, check });
            start += u64::from(len);
        }
        let head_len = head.len() - cursor.len();
        if xxh3_64(head.clone().take(head_len)?) != check {
            return Err(Malformed("its head has another checksum"));
        }
        if !levels.iter().zip(levels.iter().skip(1)).all(|(level, finer)| level.width % finer.width == 0) {
            return Err(Malformed("a level has stretches that are no multiples of shorter ones"));
        }
        levels.iter_mut().for_each(|level| level.start += 8 + head_len as u64);
        Ok(levels)
    }

    /// Where it ends in the table.
    pub(crate) fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }

    /// Its rows, if the bytes of the table are as they were written. So many samples are in the segment.
    pub(crate) fn rows(&self, table: &[u8], samples: u64) -> Result<LevelRows, Malformed> {
        let range = usize::try_from(self.start).ok().zip(usize::try_from(self.end()).ok());
        let bytes = range.and_then(|(start, end)| table.get(start..end)).ok_or(Malformed("it ends too early"))?;
        if xxh3_64(bytes) != self.check {
            return Err(Malformed("a level has another checksum"));
        }
        LevelRows::take(bytes, self.value_type, self.width, samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sample::{Alarm, Element, Sample, Value};

    const DAY: i64 = WIDTHS[7];

    fn block(from: i64, period: i64, count: i64) -> Batch {
        let mut batch = Batch::new(ValueType::scalar(Element::F64));
        for row in 0..count {
            let time = Timestamp::from_nanos(from + row * period);
            let value = Value::F64((row % 100) as f64 / 7.0);
            assert!(batch.push(&Sample { time, value, alarm: Alarm::default(), pulse: 0, stamp: None }));
        }
        batch
    }

    fn take_level(bytes: &[u8], width: i64, samples: u64) -> Result<Option<Vec<Summary>>, Malformed> {
        let levels = Level::all(bytes)?;
        let Some(level) = levels.iter().find(|level| width % level.width == 0) else { return Ok(None) };
        level.rows(bytes, samples).map(|rows| Some(rows.all().collect()))
    }

    fn add(writer: &mut LevelsWriter, block: &Batch) {
        writer.add(block, &Summary::of(block, 0..block.len()).expect("no block is empty"));
    }

    fn levels(blocks: &[Batch], block_bytes: u64) -> Vec<u8> {
        let mut writer = LevelsWriter::default();
        blocks.iter().for_each(|block| add(&mut writer, block));
        let mut bytes = Vec::new();
        writer.finish(&mut bytes, blocks.iter().map(|block| block.len() as u64).sum(), block_bytes);
        bytes
    }

    /// A day of 10 Hz, a little more on both sides.
    fn day() -> Vec<Batch> {
        (0..110).map(|block_of| block(-SECOND * 5 + block_of * 8000 * SECOND / 10, SECOND / 10, 8000)).collect()
    }

    #[test]
    fn every_row_is_the_summary_of_its_stretch() {
        let blocks = day();
        let bytes = levels(&blocks, 1 << 30);
        let mut whole = Batch::new(ValueType::scalar(Element::F64));
        blocks.iter().for_each(|block| assert!(whole.extend_from(block, 0..block.len())));
        for (width, rows) in [(300, 295), (600, 295), (1_800, 50), (7_200, 14), (28_800, 5), (86_400, 5), (172_800, 5)]
        {
            let level = take_level(&bytes, width * SECOND, whole.len() as u64).expect("it was written just now");
            let level = level.expect("there is a level for it");
            assert_eq!(level.len(), rows, "{width}");
            let mut start = 0;
            for row in level {
                let end = start + row.count as usize;
                let expected = Summary::of(&whole, start..end).expect("no row is empty");
                let close = |a: f64, b: f64| (a - b).abs() <= 1e-12 * b.abs();
                assert_eq!((row.t0, row.t1, row.covered), (expected.t0, expected.t1, expected.covered));
                assert_eq!(
                    (row.min, row.max, row.first, row.last),
                    (expected.min, expected.max, expected.first, expected.last)
                );
                assert!(close(row.sum, expected.sum) && close(row.integral, expected.integral), "{width}");
                assert!(row.squares == expected.squares || close(row.squares, expected.squares), "{width}");
                start = end;
            }
            assert_eq!(start, whole.len(), "{width}");
        }
        assert_eq!(take_level(&bytes, 60 * SECOND, whole.len() as u64), Ok(None), "600 samples are too few for a row");
    }

    #[test]
    fn levels_take_no_more_than_their_part_of_the_bytes() {
        let blocks = day();
        let all = levels(&blocks, 1 << 30).len() as u64;
        for block_bytes in [0, 10_000, 100_000, 1_000_000, 3_000_000] {
            let bytes = levels(&blocks, block_bytes).len() as u64;
            assert!(bytes <= block_bytes / 100 + 20 && bytes <= all, "{bytes} beside {block_bytes}");
        }
        let samples = 880_000;
        let some = levels(&blocks, 100_000);
        assert!(take_level(&some, 86_400 * SECOND, samples).expect("it can be read").is_some());
        assert!(take_level(&some, 300 * SECOND, samples).expect("it can be read").is_none());
    }

    #[test]
    fn rare_samples_changed_types_and_overlaps_have_no_levels() {
        let rare = block(0, 600 * SECOND, 8000);
        assert!(levels(&[rare], 1 << 30).is_empty());
        let mut other = Batch::new(ValueType::scalar(Element::I32));
        let sample = Sample {
            time: Timestamp::from_nanos(i64::MAX),
            value: Value::I32(1),
            alarm: Alarm::default(),
            pulse: 0,
            stamp: None,
        };
        assert!(other.push(&sample));
        let often = || block(0, SECOND / 100, 8000);
        assert!(!levels(&[often()], 1 << 30).is_empty());
        assert!(levels(&[often(), other], 1 << 30).is_empty());
        assert!(levels(&[often(), often()], 1 << 30).is_empty());
    }

    #[test]
    fn levels_that_do_not_know_all_samples_are_not_written() {
        let mut writer = LevelsWriter::default();
        day().iter().skip(1).for_each(|block| add(&mut writer, block));
        let mut bytes = Vec::new();
        writer.finish(&mut bytes, 880_000, 1 << 30);
        assert!(bytes.is_empty());
    }

    #[test]
    fn a_burst_at_first_does_not_make_rows_of_a_few_samples() {
        let burst = block(0, SECOND / 1000, 8000);
        let slow: Vec<Batch> = (0..40).map(|i| block(100 * SECOND + i * 8000 * SECOND, SECOND, 8000)).collect();
        let blocks: Vec<Batch> = [burst].into_iter().chain(slow).collect();
        let bytes = levels(&blocks, 1 << 30);
        let samples = 41 * 8000;
        assert_eq!(take_level(&bytes, 60 * SECOND, samples), Ok(None));
        assert!(take_level(&bytes, 1_800 * SECOND, samples).expect("it can be read").is_some());
    }

    #[test]
    fn damaged_levels_are_refused() {
        let bytes = levels(&day(), 1 << 30);
        let day = *Level::all(&bytes).expect("it is whole").first().expect("a day is eight hours thrice");
        for place in 0..day.end() as usize {
            let mut damaged = bytes.clone();
            damaged.get_mut(place).into_iter().for_each(|byte| *byte ^= 0x10);
            assert!(take_level(&damaged, DAY, 880_000).is_err(), "at {place}");
        }
        for end in 0..200 {
            assert!(take_level(bytes.get(..end).unwrap_or_default(), DAY, 880_000).is_err(), "cut at {end}");
        }
        assert!(take_level(&bytes, DAY, 4000).is_err(), "more rows than samples allow");
    }
}

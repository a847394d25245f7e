//! Sections: what each 512 rows of a block amount to, so that whoever cuts the block at an edge decodes one of them.
//!
//! ```text
//!   sections := floats[n]*5       least, greatest, sum, squares, integral: as in a table of summaries
//!
//!   block  │ · · · · · · │ · · · · · · │ · · · · · · │ · · · │      n = count / 512, rounded up
//!            ──────────────►                                        its integral goes on to the first sample of the next
//! ```
//! They stand in large blocks of finite numbers, and take some 450 bytes of 24,000. Segments of version 2 have quarters of blocks
//! instead, which are the same but for where they begin.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::ops::Range;

use sample::{Batch, Timestamp};

use crate::{
    Summary,
    block::Numbers,
    bytes::{Cursor, Malformed},
    codec::{Effort, float},
};

/// Groups of packed numbers begin where sections do.
const SECTION_ROWS: usize = 512;

/// Rows of a section that are summed up together where an edge cuts it.
const PART_ROWS: usize = 128;

/// Blocks of fewer rows are decoded as fast as their sections are read.
const ROWS_MIN: usize = 4 * SECTION_ROWS;

/// Rows of a block, and their numbers.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) rows: Range<usize>,
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) sum: f64,
    pub(crate) squares: f64,
    /// Up to the first sample of the next section, if there is one.
    pub(crate) integral: f64,
}

impl Section {
    /// Of rows that nobody has summed up.
    pub(crate) fn unknown(rows: Range<usize>) -> Section {
        let nothing = f64::NAN;
        Section { rows, min: nothing, max: nothing, sum: nothing, squares: nothing, integral: nothing }
    }

    fn of(batch: &Batch, rows: Range<usize>) -> Option<Section> {
        let next = batch.times().get(rows.end).copied();
        Section::of_summary(&Summary::of(batch, rows.clone())?, rows, next)
    }

    /// A part of one, of which these are all numbers; they begin with row `start`, and the sample behind them is at that time.
    pub(crate) fn of_part(numbers: &Numbers, start: usize, rows: Range<usize>, next: Timestamp) -> Option<Section> {
        let own = rows.start.checked_sub(start)?..rows.end.checked_sub(start)?;
        let next = numbers.times.get(own.end).copied().unwrap_or(next);
        Section::of_summary(&Summary::of_numbers(&numbers.times, &numbers.values, own)?, rows, Some(next))
    }

    /// Whether somebody has summed it up.
    pub(crate) fn is_known(&self) -> bool {
        !self.min.is_nan()
    }

    fn of_summary(summary: &Summary, rows: Range<usize>, next: Option<Timestamp>) -> Option<Section> {
        let Summary { t1, nan_count, min, max, sum, squares, mut integral, last, .. } = *summary;
        integral += last * next.map_or(0, |next| next.nanos().wrapping_sub(t1.nanos())) as f64;
        let are_finite = [min, max, sum, squares, integral].into_iter().all(f64::is_finite);
        (nan_count == 0 && are_finite).then_some(Section { rows, min, max, sum, squares, integral })
    }
}

/// The rows of its parts.
pub(crate) fn parts(rows: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
    let end = rows.end;
    rows.clone().step_by(PART_ROWS).map(move |start| start..end.min(start + PART_ROWS))
}

/// Those of a block of so many rows.
fn unknown(count: usize) -> Vec<Section> {
    let starts = (0..count).step_by(SECTION_ROWS);
    starts.map(|start| Section::unknown(start..count.min(start + SECTION_ROWS))).collect()
}

/// The quarters of a block of so many rows.
fn unknown_quarters(count: usize) -> Vec<Section> {
    (0..4).map(|quarter| Section::unknown(count * quarter / 4..count * (quarter + 1) / 4)).collect()
}

/// Those of a batch; none if it has few rows, or numbers that are not finite.
pub(crate) fn of(batch: &Batch) -> Option<Vec<Section>> {
    if batch.len() < ROWS_MIN {
        return None;
    }
    summed_up(unknown(batch.len()), batch)
}

/// The same rows of a batch.
fn summed_up(sections: Vec<Section>, batch: &Batch) -> Option<Vec<Section>> {
    let is_numeric = batch.value_type().is_numeric_scalar();
    sections.into_iter().map(|Section { rows, .. }| Section::of(batch, rows).filter(|_| is_numeric)).collect()
}

/// How one number of a section is read, and how it is set.
type Number = (fn(&Section) -> f64, fn(&mut Section, f64));

/// In the order in which they are written.
const NUMBERS: [Number; 5] = [
    (|s| s.min, |s, number| s.min = number),
    (|s| s.max, |s, number| s.max = number),
    (|s| s.sum, |s, number| s.sum = number),
    (|s| s.squares, |s, number| s.squares = number),
    (|s| s.integral, |s, number| s.integral = number),
];

pub(crate) fn put(out: &mut Vec<u8>, sections: &[Section]) {
    for (number, _) in NUMBERS {
        float::put(out, &sections.iter().map(number).collect::<Vec<f64>>(), Effort::Flush);
    }
}

/// Of a block of so many rows.
pub(crate) fn take(cursor: &mut Cursor, count: usize) -> Result<Vec<Section>, Malformed> {
    take_numbers(cursor, unknown(count))
}

/// The quarters of a block of so many rows.
pub(crate) fn take_quarters(cursor: &mut Cursor, count: usize) -> Result<Vec<Section>, Malformed> {
    take_numbers(cursor, unknown_quarters(count))
}

fn take_numbers(cursor: &mut Cursor, mut sections: Vec<Section>) -> Result<Vec<Section>, Malformed> {
    for (_, set) in NUMBERS {
        let numbers = float::take(cursor, sections.len())?;
        sections.iter_mut().zip(numbers).for_each(|(section, number)| set(section, number));
    }
    Ok(sections)
}

/// Whether they are those of a batch, equal to the last bit.
pub(crate) fn are_of(sections: &[Section], batch: &Batch) -> bool {
    let bits = |of: &Section| NUMBERS.map(|(number, _)| number(of).to_bits());
    let fit = sections.last().is_some_and(|last| last.rows.end == batch.len());
    let expected = if fit { summed_up(sections.to_vec(), batch) } else { None };
    expected.is_some_and(|expected| sections.iter().map(bits).eq(expected.iter().map(bits)))
}

//! Quarters: what each quarter of a block amounts to, so that whoever cuts the block at an edge decodes one of them.
//!
//! ```text
//!   quarters := floats[4]*5       least, greatest, sum, squares, integral: as in a table of summaries
//!
//!   block  │ · · · · · · · │ · · · · · · · │ · · · · · · · │ · · · · · · · │      quarter i begins at row count * i / 4
//!            ────────────────►                                                   its integral goes on to the first sample of the next
//! ```
//! They stand in large blocks of finite numbers, and take 160 bytes of 24,000.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::ops::Range;

use sample::Batch;

use crate::{
    Summary,
    bytes::{Cursor, Malformed},
    codec::{Effort, float},
};

pub(crate) const QUARTERS: usize = 4;

/// Half of a block of fewer rows is decoded as fast as their quarters are read.
const ROWS_MIN: usize = 4096;

/// The numbers of a quarter.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Quarter {
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) sum: f64,
    pub(crate) squares: f64,
    /// Up to the first sample of the next quarter, if there is one.
    pub(crate) integral: f64,
}

/// The rows of a quarter of a block of so many.
pub(crate) fn rows(count: usize, quarter: usize) -> Range<usize> {
    count * quarter / QUARTERS..count * (quarter + 1) / QUARTERS
}

/// Those of a batch; none if it has few rows, or numbers that are not finite.
pub(crate) fn of(batch: &Batch) -> Option<[Quarter; QUARTERS]> {
    if batch.len() < ROWS_MIN || !batch.value_type().is_numeric_scalar() {
        return None;
    }
    let mut quarters = [Quarter::default(); QUARTERS];
    for (number, quarter) in quarters.iter_mut().enumerate() {
        let rows = rows(batch.len(), number);
        let next = batch.times().get(rows.end).copied();
        let Summary { t1, nan_count, min, max, sum, squares, mut integral, last, .. } = Summary::of(batch, rows)?;
        integral += last * next.map_or(0, |next| next.nanos().wrapping_sub(t1.nanos())) as f64;
        if nan_count > 0 || ![min, max, sum, squares, integral].into_iter().all(f64::is_finite) {
            return None;
        }
        *quarter = Quarter { min, max, sum, squares, integral };
    }
    Some(quarters)
}

/// How one number of a quarter is read, and how it is set.
type Number = (fn(&Quarter) -> f64, fn(&mut Quarter, f64));

/// In the order in which they are written.
const NUMBERS: [Number; 5] = [
    (|q| q.min, |q, number| q.min = number),
    (|q| q.max, |q, number| q.max = number),
    (|q| q.sum, |q, number| q.sum = number),
    (|q| q.squares, |q, number| q.squares = number),
    (|q| q.integral, |q, number| q.integral = number),
];

pub(crate) fn put(out: &mut Vec<u8>, quarters: &[Quarter; QUARTERS]) {
    NUMBERS.iter().for_each(|(number, _)| float::put(out, &quarters.each_ref().map(number), Effort::Flush));
}

pub(crate) fn take(cursor: &mut Cursor) -> Result<[Quarter; QUARTERS], Malformed> {
    let mut quarters = [Quarter::default(); QUARTERS];
    for (_, set) in NUMBERS {
        let numbers = float::take(cursor, QUARTERS)?;
        quarters.iter_mut().zip(numbers).for_each(|(quarter, number)| set(quarter, number));
    }
    Ok(quarters)
}

/// Whether they are equal to the last bit.
pub(crate) fn identical(one: &[Quarter; QUARTERS], other: &[Quarter; QUARTERS]) -> bool {
    let bits = |of: &[Quarter; QUARTERS]| of.map(|quarter| NUMBERS.map(|(number, _)| number(&quarter).to_bits()));
    bits(one) == bits(other)
}

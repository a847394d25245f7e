//! How integers are read, by whichever codec they were written.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::ops::Range;

use super::{
    DISTINCT_MAX,
    patches::take_packed,
    tags::{CONSTANT, DELTA, DICTIONARY, PACKED, PATCHED, PATCHED_DELTA, PCO, RUNS},
};
use crate::{
    bytes::{Cursor, Malformed},
    codec::float::take_pco,
};

/// The caller vouches for `count`: the memory for so many numbers is taken, whatever the bytes are.
pub(crate) fn take(cursor: &mut Cursor, count: usize) -> Result<Vec<i64>, Malformed> {
    take_as(cursor, count, |_, value| value, |_| true)
}

/// Takes integers as what `make` makes of each row and its number, without a column in between. Each must fit.
pub(crate) fn take_as<T>(
    cursor: &mut Cursor,
    count: usize,
    make: impl Fn(usize, i64) -> T + Copy,
    fits: impl Fn(i64) -> bool + Copy,
) -> Result<Vec<T>, Malformed> {
    take_rows_as(cursor, count, 0..count, make, fits)
}

/// The same for some of the rows, all below `count`. The others are decoded only where there is no other way.
pub(crate) fn take_rows_as<T>(
    cursor: &mut Cursor,
    count: usize,
    rows: Range<usize>,
    make: impl Fn(usize, i64) -> T + Copy,
    fits: impl Fn(i64) -> bool + Copy,
) -> Result<Vec<T>, Malformed> {
    take_rows_in(Vec::new(), cursor, count, rows, make, fits)
}

/// The same in the memory of a list whose content nobody needs.
pub(crate) fn take_rows_in<T>(
    room: Vec<T>,
    cursor: &mut Cursor,
    count: usize,
    rows: Range<usize>,
    make: impl Fn(usize, i64) -> T + Copy,
    fits: impl Fn(i64) -> bool + Copy,
) -> Result<Vec<T>, Malformed> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let codec = cursor.u8()?;
    if codec != DICTIONARY {
        return take_flat(cursor, codec, count, Made::new(room, rows, make, fits));
    }
    let len = cursor.count(DISTINCT_MAX)?;
    let last = len.checked_sub(1).ok_or(Malformed("a dictionary is empty"))?;
    let codec = cursor.u8()?;
    let distinct = take_flat(cursor, codec, len, Made::new(Vec::new(), 0..len, |_, value| value, fits))?;
    let codec = cursor.u8()?;
    let distinct = distinct.as_slice();
    let value = move |index: i64| distinct.get((index as usize).min(last)).copied().unwrap_or_default();
    let made =
        Made::new(room, rows, move |row, index| make(row, value(index)), move |index| index as u64 <= last as u64);
    take_flat(cursor, codec, count, made)
}

/// What is made of the numbers that were read.
struct Made<T, M, F> {
    rows: Range<usize>,
    out: Vec<T>,
    make: M,
    fits: F,
    all_fit: bool,
}

impl<T, M: Fn(usize, i64) -> T + Copy, F: Fn(i64) -> bool + Copy> Made<T, M, F> {
    fn new(mut out: Vec<T>, rows: Range<usize>, make: M, fits: F) -> Made<T, M, F> {
        out.clear();
        out.reserve(rows.len() + 1); // times that are given by their steps are one more
        Made { out, rows, make, fits, all_fit: true }
    }

    /// Whether all fit is gathered in a variable of this function, and so are copies of the closures: what others may see must
    /// be written to memory and read again for each number, and twice the time would be spent on that.
    #[inline(always)]
    fn extend(&mut self, values: impl Iterator<Item = i64>) {
        let (make, fits, first) = (self.make, self.fits, self.rows.start + self.out.len());
        let mut all_fit = true;
        self.out.extend(values.enumerate().map(|(place, value)| {
            all_fit &= fits(value);
            make(first + place, value)
        }));
        self.all_fit &= all_fit;
    }

    fn end(self) -> Result<Vec<T>, Malformed> {
        if self.all_fit { Ok(self.out) } else { Err(Malformed("a number is too large for its type or its dictionary")) }
    }
}

/// All codecs but those that are made of others, so that no bytes make this call itself without end.
fn take_flat<T, M: Fn(usize, i64) -> T + Copy, F: Fn(i64) -> bool + Copy>(
    cursor: &mut Cursor,
    codec: u8,
    count: usize,
    mut made: Made<T, M, F>,
) -> Result<Vec<T>, Malformed> {
    let rows = made.rows.clone();
    match codec {
        CONSTANT => {
            let value = cursor.zigzag()?;
            made.extend(rows.map(|_| value));
        }
        PACKED | PATCHED => {
            let least = cursor.zigzag()?;
            let (packed, mut patches) = take_packed(cursor, count, codec == PATCHED)?;
            patches.skip_to(rows.start);
            let end = rows.end;
            packed.each(rows, |row, group| {
                patches.apply(row, group);
                made.extend(group.iter().map(|number| least.wrapping_add(*number as i64)));
            });
            patches.end_behind(cursor, end, count)?;
        }
        DELTA | PATCHED_DELTA => {
            let mut value = cursor.zigzag()?;
            let least = cursor.zigzag()?;
            let (packed, mut patches) = take_packed(cursor, count - 1, codec == PATCHED_DELTA)?;
            if rows.contains(&0) {
                made.extend(std::iter::once(value));
            }
            // A number is the sum of all steps before it.
            packed.each(0..rows.end.saturating_sub(1), |step, group| {
                patches.apply(step, group);
                for step in group.iter_mut() {
                    value = value.wrapping_add(least.wrapping_add(*step as i64));
                    *step = value as u64;
                }
                let before = rows.start.saturating_sub(step + 1);
                made.extend(group.iter().skip(before).map(|value| *value as i64));
            });
            patches.skip_to(count - 1);
            *cursor = patches.end()?;
        }
        RUNS => {
            let mut row = 0;
            while row < count {
                let end = row + cursor.count(count - row)?.max(1);
                let value = cursor.zigzag()?;
                made.extend((row.max(rows.start)..end.min(rows.end)).map(|_| value));
                row = end;
            }
        }
        PCO => {
            let values = take_pco(cursor, count)?;
            made.extend(values.get(rows).unwrap_or_default().iter().copied());
        }
        _ => return Err(Malformed("no such codec of integers")),
    }
    made.end()
}

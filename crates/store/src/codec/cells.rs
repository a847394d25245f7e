//! Cells: arrays of which little changes from one to the next.
//!
//! ```text
//!   cells := the first array, as `array.rs` says
//!            integers[count-1] (changed cells in each other array)
//!            integers (their places, ascending in each array) bytes (what they hold, plain)
//! ```
//! An array begins as a copy of the one before it, or as zeros if that has another length; then its changed cells are put in. A
//! cell is 64 bytes of elements, the last of an array what is left. So an array costs a comparison to write and a copy to read,
//! at the speed of memory, where byte planes and zstd take ten times as long.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::ops::Range;

use sample::{Arrays, Column};

use super::{Effort, int, text};
use crate::bytes::{Cursor, Malformed, put_blob, put_varint};

const CELL_BYTES: usize = 64;
/// Where more than one byte in so many is in a changed cell, the other codecs are smaller and not much slower.
const CHANGED_MAX: usize = 8;
/// Pairs of arrays looked at to see whether they are alike.
const PAIRS_SEEN: usize = 4;

const TOO_MUCH: Malformed = Malformed("changed cells hold more than they can");

/// A number as an element of an array.
trait Number: Copy + Default {
    /// Whether two stretches of equal length differ in any bit. Without a way out in the middle, so that it takes a few wide
    /// instructions.
    fn differ(own: &[Self], other: &[Self]) -> bool;
    fn put_le(self, out: &mut [u8]);
    fn take_le(bytes: &[u8]) -> Self;
}

macro_rules! number {
    ($($number:ty: $value:ident => $bits:expr;)*) => {
        $(impl Number for $number {
            #[inline(always)]
            fn differ(own: &[$number], other: &[$number]) -> bool {
                let bits = |$value: $number| $bits;
                own.iter().zip(other).fold(0, |any, (own, other)| any | (bits(*own) ^ bits(*other))) != 0
            }
            fn put_le(self, out: &mut [u8]) {
                out.iter_mut().zip(self.to_le_bytes()).for_each(|(to, byte)| *to = byte);
            }
            fn take_le(bytes: &[u8]) -> $number {
                bytes.first_chunk().map_or(<$number>::default(), |bytes| <$number>::from_le_bytes(*bytes))
            }
        })*
    };
}

number! {
    i8: value => value;
    u8: value => value;
    i16: value => value;
    u16: value => value;
    i32: value => value;
    u32: value => value;
    i64: value => value;
    u64: value => value;
    f32: value => value.to_bits();
    f64: value => value.to_bits();
}

impl Number for bool {
    fn differ(own: &[bool], other: &[bool]) -> bool {
        own != other
    }
    fn put_le(self, out: &mut [u8]) {
        out.iter_mut().for_each(|to| *to = u8::from(self));
    }
    fn take_le(bytes: &[u8]) -> bool {
        bytes.first().is_some_and(|byte| *byte != 0)
    }
}

/// Does the same for a column of any type of number; `None` for texts and structures. The second constant is the number of
/// elements in a cell.
macro_rules! for_numbers {
    ($column:expr, $function:ident($($argument:expr),*)) => {
        match $column {
            Column::Bool(v) => $function::<bool, 64>(v, $($argument),*),
            Column::I8(v) => $function::<i8, 64>(v, $($argument),*),
            Column::U8(v) => $function::<u8, 64>(v, $($argument),*),
            Column::I16(v) => $function::<i16, 32>(v, $($argument),*),
            Column::U16(v) => $function::<u16, 32>(v, $($argument),*),
            Column::I32(v) | Column::Enum(v) => $function::<i32, 16>(v, $($argument),*),
            Column::U32(v) => $function::<u32, 16>(v, $($argument),*),
            Column::F32(v) => $function::<f32, 16>(v, $($argument),*),
            Column::I64(v) => $function::<i64, 8>(v, $($argument),*),
            Column::U64(v) => $function::<u64, 8>(v, $($argument),*),
            Column::F64(v) => $function::<f64, 8>(v, $($argument),*),
            Column::String(_) | Column::Structure(_) | Column::Array(_) => None,
        }
    };
}

/// Does the same for two columns of one type of number; `None` for others.
macro_rules! for_two {
    ($own:expr, $other:expr, $function:ident($($argument:expr),*)) => {
        match ($own, $other) {
            (Column::Bool(v), Column::Bool(w)) => Some($function::<bool, 64, 512>(v, w, $($argument),*)),
            (Column::I8(v), Column::I8(w)) => Some($function::<i8, 64, 512>(v, w, $($argument),*)),
            (Column::U8(v), Column::U8(w)) => Some($function::<u8, 64, 512>(v, w, $($argument),*)),
            (Column::I16(v), Column::I16(w)) => Some($function::<i16, 32, 256>(v, w, $($argument),*)),
            (Column::U16(v), Column::U16(w)) => Some($function::<u16, 32, 256>(v, w, $($argument),*)),
            (Column::I32(v), Column::I32(w)) => Some($function::<i32, 16, 128>(v, w, $($argument),*)),
            (Column::Enum(v), Column::Enum(w)) => Some($function::<i32, 16, 128>(v, w, $($argument),*)),
            (Column::U32(v), Column::U32(w)) => Some($function::<u32, 16, 128>(v, w, $($argument),*)),
            (Column::F32(v), Column::F32(w)) => Some($function::<f32, 16, 128>(v, w, $($argument),*)),
            (Column::I64(v), Column::I64(w)) => Some($function::<i64, 8, 64>(v, w, $($argument),*)),
            (Column::U64(v), Column::U64(w)) => Some($function::<u64, 8, 64>(v, w, $($argument),*)),
            (Column::F64(v), Column::F64(w)) => Some($function::<f64, 8, 64>(v, w, $($argument),*)),
            _ => None,
        }
    };
}

/// The changed cells of all arrays but the first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    /// How many each array has.
    counts: Vec<u32>,
    places: Vec<u32>,
    content: Vec<u8>,
    /// Where the content of the newest array begins.
    newest_at: usize,
}

/// The cells of an array that were ever changed, as they were at first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Originals {
    /// A bit for each cell: whether it is here.
    known: Vec<u64>,
    places: Vec<u32>,
    content: Vec<u8>,
}

impl Originals {
    fn keep(&mut self, place: u32, cell: &[u8]) {
        let (word, bit) = (place as usize / 64, 1 << (place % 64));
        if word >= self.known.len() {
            self.known.resize(word + 1, 0);
        }
        if let Some(known) = self.known.get_mut(word).filter(|known| **known & bit == 0) {
            *known |= bit;
            self.places.push(place);
            self.content.extend_from_slice(cell);
        }
    }

    /// Makes of the array what it was at first.
    pub(crate) fn put_back(&self, array: &mut Column) {
        let mut content = Cursor::new(&self.content);
        let done = for_numbers!(array, apply_to(&self.places, &mut content));
        assert!(done.is_some_and(|done| done.is_ok()), "they were cells of this array");
    }

    /// The memory taken, with what is kept for more.
    pub(crate) fn memory(&self) -> usize {
        self.known.capacity() * size_of::<u64>() + self.places.capacity() * size_of::<u32>() + self.content.capacity()
    }
}

/// How far arrays were made of changes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    arrays: usize,
    places: usize,
    content: usize,
}

impl Changes {
    /// Whether no cell changes in any of them.
    pub(crate) fn is_nothing(&self) -> bool {
        self.places.is_empty()
    }

    /// The bytes of the changed cells and of what is said of them.
    pub(crate) fn byte_size(&self) -> usize {
        size_of_val(self.counts.as_slice()) + size_of_val(self.places.as_slice()) + self.content.len()
    }

    /// The memory taken, with what is kept for more.
    pub(crate) fn memory(&self) -> usize {
        (self.counts.capacity() + self.places.capacity()) * size_of::<u32>() + self.content.capacity()
    }

    /// Gives that back.
    pub(crate) fn shrink(&mut self) {
        self.counts.shrink_to_fit();
        self.places.shrink_to_fit();
        self.content.shrink_to_fit();
    }

    /// Adds the array that lies at `own` in a column, as what changed since the one that lies at `before` in another. `None`,
    /// and nothing is added, if that is too much, or if they differ in length or type.
    pub(crate) fn add(
        &mut self,
        (own, own_range): (&Column, Range<usize>),
        (before, before_range): (&Column, Range<usize>),
    ) -> Option<()> {
        if own_range.len() != before_range.len() {
            return None;
        }
        for_two!(own, before, add_array(own_range, before_range, self))?
    }

    /// The places of the changed cells of the newest array, and what they hold.
    fn newest(&self) -> (&[u32], &[u8]) {
        let count = self.counts.last().copied().unwrap_or(0) as usize;
        let places =
            self.places.len().checked_sub(count).and_then(|start| self.places.get(start..)).unwrap_or_default();
        let content = self.content.get(self.newest_at.min(self.content.len())..).unwrap_or_default();
        (places, content)
    }

    /// Makes of the array before the newest one the newest, keeps in `originals` what no longer stands in it, and writes what
    /// changes in it:
    ///
    /// `cells:varint (same:varint len:varint bytes[len])*cells`, where `same` bytes stay as they are before each that change.
    pub(crate) fn follow(&self, out: &mut Vec<u8>, before: &mut Column, originals: &mut Originals) {
        let (places, content) = self.newest();
        put_varint(out, places.len() as u64);
        let done = for_numbers!(before, follow_array(places, content, out, originals));
        assert!(done.is_some(), "only arrays of numbers have changes");
    }

    /// Whether they are changes of arrays of so many elements, of so many bytes each: what can be applied to the last byte.
    pub(crate) fn check(&self, len: usize, size: usize) -> Result<(), Malformed> {
        let per_cell = CELL_BYTES / size.clamp(1, CELL_BYTES);
        let mut left = self.content.len();
        for place in &self.places {
            let rest = len.checked_sub(*place as usize * per_cell).filter(|rest| *rest > 0);
            let rest = rest.ok_or(Malformed("a changed cell lies beyond its array"))?;
            left = left.checked_sub(rest.min(per_cell) * size).ok_or(Malformed("it ends too early"))?;
        }
        if left == 0 { Ok(()) } else { Err(TOO_MUCH) }
    }

    /// Makes the next array of the one before it, as far as `progress` has come. The changes are those of arrays of that type
    /// and length.
    pub(crate) fn apply(&self, progress: &mut Progress, array: &mut Column) {
        let count = self.counts.get(progress.arrays).copied().unwrap_or(0) as usize;
        let places = self.places.get(progress.places..progress.places + count).unwrap_or_default();
        let mut content = Cursor::new(self.content.get(progress.content..).unwrap_or_default());
        let left = content.len();
        let done = for_numbers!(array, apply_to(places, &mut content));
        assert!(done.is_some_and(|done| done.is_ok()), "changes were checked when they were read");
        progress.arrays += 1;
        progress.places += count;
        progress.content += left - content.len();
    }
}

fn add_array<T: Number, const PER_CELL: usize, const PER_STEP: usize>(
    own: &[T],
    before: &[T],
    own_range: Range<usize>,
    before_range: Range<usize>,
    changes: &mut Changes,
) -> Option<()> {
    let (own, before) = (own.get(own_range)?, before.get(before_range)?);
    let (places, content) = (changes.places.len(), changes.content.len());
    let most = content + size_of_val(own) / CHANGED_MAX;
    let steps = own.chunks(PER_STEP).zip(before.chunks(PER_STEP)).enumerate();
    for (step, (own, before)) in steps {
        // Whole steps have a known length, and are compared by instructions that are as wide as there are.
        let differ = match (own.first_chunk::<PER_STEP>(), before.first_chunk::<PER_STEP>()) {
            (Some(own), Some(before)) => T::differ(own, before),
            _ => T::differ(own, before),
        };
        if !differ {
            continue;
        }
        let cells = own.chunks(PER_CELL).zip(before.chunks(PER_CELL)).enumerate();
        for (cell, (own, _)) in cells.filter(|(_, (own, before))| T::differ(own, before)) {
            changes.put::<T, PER_CELL>(step * (PER_STEP / PER_CELL) + cell, own);
        }
        if changes.content.len() > most {
            changes.places.truncate(places);
            changes.content.truncate(content);
            return None;
        }
    }
    changes.counts.push((changes.places.len() - places) as u32);
    changes.newest_at = content;
    Some(())
}

fn follow_array<T: Number, const PER_CELL: usize>(
    array: &mut [T],
    places: &[u32],
    content: &[u8],
    out: &mut Vec<u8>,
    originals: &mut Originals,
) -> Option<()> {
    let size = CELL_BYTES / PER_CELL;
    let mut content = Cursor::new(content);
    let mut end = 0; // of what was written last, in bytes
    for place in places {
        let start = *place as usize * PER_CELL;
        let cell = array.get_mut(start..)?;
        let len = cell.len().min(PER_CELL);
        let cell = cell.get_mut(..len)?;
        let bytes = content.take(len * size).ok()?;
        let mut old = [0; CELL_BYTES];
        old.chunks_exact_mut(size).zip(cell.iter()).for_each(|(to, number)| number.put_le(to));
        originals.keep(*place, old.get(..bytes.len())?);
        let differ = |index: &usize| old.get(*index) != bytes.get(*index);
        let first = (0..bytes.len()).find(differ).unwrap_or(0);
        let last = (first..bytes.len()).rev().find(differ).unwrap_or(first);
        put_varint(out, (start * size + first - end) as u64);
        put_blob(out, bytes.get(first..=last)?);
        end = start * size + last + 1;
        cell.iter_mut().zip(bytes.chunks_exact(size)).for_each(|(to, bytes)| *to = T::take_le(bytes));
    }
    Some(())
}

fn apply_to<T: Number, const PER_CELL: usize>(
    array: &mut [T],
    places: &[u32],
    content: &mut Cursor,
) -> Option<Result<(), Malformed>> {
    Some(apply_cells::<T, PER_CELL>(array, places, content))
}

fn apply_cells<T: Number, const PER_CELL: usize>(
    array: &mut [T],
    places: &[u32],
    content: &mut Cursor,
) -> Result<(), Malformed> {
    let size = CELL_BYTES / PER_CELL;
    for place in places {
        let cell = array.get_mut(*place as usize * PER_CELL..).filter(|rest| !rest.is_empty());
        let cell = cell.ok_or(Malformed("a changed cell lies beyond its array"))?;
        let bytes = content.take(cell.len().min(PER_CELL) * size)?;
        cell.iter_mut().zip(bytes.chunks_exact(size)).for_each(|(to, bytes)| *to = T::take_le(bytes));
    }
    Ok(())
}

/// Writes what `follow` writes where nothing changes.
pub(crate) fn put_no_difference(out: &mut Vec<u8>) {
    put_varint(out, 0);
}

/// Changes an array as `follow` has written it.
pub(crate) fn take_difference(cursor: &mut Cursor, array: &mut Column) -> Result<(), Malformed> {
    let mut end = 0;
    for _ in 0..cursor.count(cursor.len())? {
        let same = cursor.count(usize::MAX)?;
        let bytes = cursor.blob()?;
        let start = same.checked_add(end).ok_or(BEYOND)?;
        end = start.checked_add(bytes.len()).ok_or(BEYOND)?;
        for_numbers!(&mut *array, change_bytes(start, bytes)).ok_or(BEYOND)?;
    }
    Ok(())
}

/// Passes over what `follow` has written.
pub(crate) fn skip_difference(cursor: &mut Cursor) -> Result<(), Malformed> {
    for _ in 0..cursor.count(cursor.len())? {
        cursor.varint()?;
        cursor.blob()?;
    }
    Ok(())
}

const BEYOND: Malformed = Malformed("a change lies beyond its array");

/// Puts other bytes in the place of those from `start` on; none if they lie beyond the array.
fn change_bytes<T: Number, const PER_CELL: usize>(array: &mut [T], start: usize, bytes: &[u8]) -> Option<()> {
    let size = CELL_BYTES / PER_CELL;
    let last = start.checked_add(bytes.len())?.div_ceil(size);
    let numbers = array.get_mut(start / size..last)?;
    let mut bytes = bytes.iter();
    let mut skipped = start % size;
    for number in numbers {
        let mut plain = [0; 8];
        let plain = plain.get_mut(..size)?;
        number.put_le(plain);
        plain.iter_mut().skip(skipped).zip(bytes.by_ref()).for_each(|(to, byte)| *to = *byte);
        skipped = 0;
        *number = T::take_le(plain);
    }
    Some(())
}

/// Whether the arrays from `start` on are so much alike that cells serve them, by a look at some of them.
pub(crate) fn alike(arrays: &Arrays, start: usize) -> bool {
    let pairs = PAIRS_SEEN.min((arrays.len() - start).saturating_sub(1));
    let some = start..start + pairs + 1;
    pairs > 0 && changes(arrays, some).is_some()
}

/// The first array and what changes in the others, if arrays change so little that this codec serves them.
pub(super) fn found(arrays: &Arrays) -> Option<(Column, Changes)> {
    let changes = changes(arrays, 0..arrays.len())?;
    let mut first = Column::new(arrays.elements().value_type());
    let fits = first.extend_from(arrays.elements(), arrays.range(0));
    assert!(fits, "a part has the type of the whole");
    Some((first, changes))
}

/// What changes; the first array stands before it.
pub(super) fn put(out: &mut Vec<u8>, changes: &Changes, effort: Effort) {
    let wide = |numbers: &[u32]| numbers.iter().map(|number| i64::from(*number)).collect::<Vec<i64>>();
    int::put(out, &wide(&changes.counts), effort);
    int::put(out, &wide(&changes.places), effort);
    text::put_bytes(out, &changes.content, effort);
}

/// What changes in each of some arrays but the first; none if it is too much.
fn changes(arrays: &Arrays, rows: Range<usize>) -> Option<Changes> {
    for_numbers!(arrays.elements(), changes_of(arrays, rows))
}

fn changes_of<T: Number, const PER_CELL: usize>(
    elements: &[T],
    arrays: &Arrays,
    rows: Range<usize>,
) -> Option<Changes> {
    let bytes = rows.clone().map(|row| arrays.range(row).len()).sum::<usize>() * (CELL_BYTES / PER_CELL);
    let mut changes = Changes::default();
    let mut before = arrays.range(rows.start);
    for row in rows.skip(1) {
        let (own, known) = (arrays.range(row), changes.places.len());
        let array = elements.get(own.clone())?;
        let others = if own.len() == before.len() { elements.get(before)? } else { &[] };
        let mut others = others.chunks(PER_CELL);
        for (place, cell) in array.chunks(PER_CELL).enumerate() {
            if others.next().is_none_or(|other| T::differ(cell, other)) {
                changes.put::<T, PER_CELL>(place, cell);
            }
        }
        if changes.content.len() > bytes / CHANGED_MAX {
            return None;
        }
        changes.counts.push((changes.places.len() - known) as u32);
        before = own;
    }
    (!changes.counts.is_empty()).then_some(changes)
}

impl Changes {
    fn put<T: Number, const PER_CELL: usize>(&mut self, place: usize, cell: &[T]) {
        self.places.push(place as u32);
        let (start, size) = (self.content.len(), CELL_BYTES / PER_CELL);
        self.content.resize(start + cell.len() * size, 0);
        let (_, room) = self.content.split_at_mut(start);
        room.chunks_exact_mut(size).zip(cell).for_each(|(to, number)| number.put_le(to));
    }
}

/// What changes in each array but the first. The caller vouches for the last of `ends`: memory in proportion to so many
/// elements is taken, whatever the bytes are. An element has `size` bytes.
pub(super) fn take(cursor: &mut Cursor, ends: &[usize], size: usize) -> Result<Changes, Malformed> {
    let counts = int::take(cursor, ends.len().saturating_sub(1))?;
    let mut total = 0usize;
    // Full cells, and one for the rest of each array.
    let most = ends.last().copied().unwrap_or(0) * size / CELL_BYTES + ends.len();
    for count in &counts {
        let count = usize::try_from(*count).ok().filter(|count| *count <= most - total);
        total += count.ok_or(Malformed("arrays have more changed cells than there are"))?;
    }
    let narrow = |numbers: Vec<i64>| numbers.into_iter().map(|number| u32::try_from(number).ok()).collect();
    let (counts, places): (Option<_>, Option<_>) = (narrow(counts), narrow(int::take(cursor, total)?));
    let content = text::take_bytes(cursor)?;
    match (counts, places) {
        (Some(counts), Some(places)) => Ok(Changes { counts, places, content, newest_at: 0 }),
        _ => Err(Malformed("a changed cell lies beyond its array")),
    }
}

/// All arrays, one behind the other.
pub(super) fn undo(first: Column, ends: &[usize], changes: &Changes) -> Result<Column, Malformed> {
    let mut column = first;
    let done = for_numbers!(&mut column, undo_all(ends, changes));
    done.ok_or(Malformed("no such codec of arrays"))??;
    Ok(column)
}

/// Appends all arrays but the first, which is there. Always some, as all numbers can be undone.
fn undo_all<T: Number, const PER_CELL: usize>(
    elements: &mut Vec<T>,
    ends: &[usize],
    changes: &Changes,
) -> Option<Result<(), Malformed>> {
    Some(undo_each::<T, PER_CELL>(elements, ends, changes))
}

fn undo_each<T: Number, const PER_CELL: usize>(
    elements: &mut Vec<T>,
    ends: &[usize],
    changes: &Changes,
) -> Result<(), Malformed> {
    elements.reserve_exact(ends.last().copied().unwrap_or(0) - elements.len());
    let mut places = changes.places.as_slice();
    let mut content = Cursor::new(&changes.content);
    let mut before = 0..elements.len();
    for (end, count) in ends.iter().skip(1).zip(&changes.counts) {
        let start = before.end;
        if end - start == before.len() {
            elements.extend_from_within(before);
        } else {
            elements.resize(*end, T::default());
        }
        let (_, array) = elements.split_at_mut(start);
        let (own, rest) = places.split_at_checked(*count as usize).ok_or(Malformed("cells are missing"))?;
        places = rest;
        apply_cells::<T, PER_CELL>(array, own, &mut content)?;
        before = start..*end;
    }
    if content.is_empty() { Ok(()) } else { Err(TOO_MUCH) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sample::Element;

    /// Arrays of the lengths given; each differs from the one before it in few places.
    fn frames<T>(lens: &[usize], column: impl Fn(Vec<T>) -> Column, element: impl Fn(usize) -> T) -> Arrays {
        let mut arrays = Arrays::new(column(Vec::new()).value_type().element);
        for (frame, len) in lens.iter().enumerate() {
            let value = |i: usize| element(if i % 2503 == frame || i + 1 == *len { i * 7 + frame } else { i });
            assert!(arrays.push(&column((0..*len).map(value).collect())));
        }
        arrays
    }

    fn assert_comes_back(arrays: &Arrays, name: &str) {
        let (first, changes) = found(arrays).unwrap_or_else(|| panic!("{name} changes too much"));
        let mut packed = Vec::new();
        put(&mut packed, &changes, Effort::Flush);
        let ends: Vec<usize> = (0..arrays.len()).map(|index| arrays.range(index).end).collect();
        let all = |bytes: &[u8]| {
            let mut cursor = Cursor::new(bytes);
            let changes = take(&mut cursor, &ends, 8)?;
            undo(first.clone(), &ends, &changes).map(|column| (column, cursor.is_empty()))
        };
        let (back, is_over) = all(&packed).expect("it was written just now");
        assert!(back.identical(arrays.elements()), "{name}");
        assert!(is_over, "{name}");
        for end in 0..packed.len() {
            let cut = packed.get(..end).unwrap_or_default();
            assert!(all(cut).is_err(), "{name} cut at {end}");
        }
    }

    #[test]
    fn arrays_that_change_little_come_back_to_the_last_bit() {
        let lens = [1000; 12];
        assert_comes_back(&frames(&lens, Column::F64, |i| f64::from_bits(0x7ff8_0000_0000_0000 | i as u64)), "nan");
        assert_comes_back(&frames(&lens, Column::F32, |i| if i % 2 == 0 { 0.0 } else { -0.0 }), "zeros");
        assert_comes_back(&frames(&lens, Column::I64, |i| i64::MIN + i as i64), "i64");
        assert_comes_back(&frames(&lens, Column::U16, |i| i as u16), "u16");
        assert_comes_back(&frames(&[5003; 9], Column::Bool, |i| i % 3 == 0), "bool, with a rest");
        let mut lens = vec![5000; 4];
        lens.extend([0, 7]);
        lens.extend([5000; 18]);
        assert_comes_back(&frames(&lens, Column::I8, |i| i as i8), "other lengths");
    }

    #[test]
    fn arrays_that_change_much_are_left_to_others() {
        let noise = |i: usize| ((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as i16;
        let mut arrays = Arrays::new(Element::I16);
        (0..10).for_each(|n| assert!(arrays.push(&Column::I16((0..300).map(|i| noise(n * 300 + i)).collect()))));
        assert!(found(&arrays).is_none() && !alike(&arrays, 0));
        let texts = frames(
            &[3; 4],
            |texts: Vec<String>| Column::String(texts.iter().map(String::as_str).collect()),
            |i| format!("{i}"),
        );
        assert!(found(&texts).is_none() && !alike(&texts, 0));
        assert!(!alike(&arrays, 9));
    }
}

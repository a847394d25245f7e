//! Cells: arrays of which little changes from one to the next.
//!
//! ```text
//!   cells := values (the first array) integers[count-1] (changed cells in each other array)
//!            integers (their places, ascending in each array) bytes (what they hold, plain)
//! ```
//! An array begins as a copy of the one before it, or as zeros if that has another length; then its changed cells are put in. A
//! cell is 64 bytes of elements, the last of an array what is left. So an array costs a comparison to write and a copy to read,
//! at the speed of memory, where byte planes and zstd take ten times as long.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::ops::Range;

use sample::{Arrays, Column, ValueType};

use super::{Effort, int, text};
use crate::{
    block,
    bytes::{Cursor, Malformed},
};

const CELL_BYTES: usize = 64;
/// Where more than one byte in so many is in a changed cell, the other codecs are smaller and not much slower.
const CHANGED_MAX: usize = 8;
/// Pairs of arrays looked at to see whether they are alike.
const PAIRS_SEEN: usize = 4;

/// A number as an element of an array.
trait Number: Copy + Default {
    /// Whether two cells differ in any bit. Without a way out in the middle, so that it takes a few wide instructions.
    fn differ<const LEN: usize>(own: &[Self; LEN], other: &[Self; LEN]) -> bool;
    fn put_le(self, out: &mut [u8]);
    fn take_le(bytes: &[u8]) -> Self;
}

macro_rules! number {
    ($($number:ty: $value:ident => $bits:expr;)*) => {
        $(impl Number for $number {
            #[inline(always)]
            fn differ<const LEN: usize>(own: &[$number; LEN], other: &[$number; LEN]) -> bool {
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
    fn differ<const LEN: usize>(own: &[bool; LEN], other: &[bool; LEN]) -> bool {
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

/// The changed cells of all arrays but the first.
#[derive(Default)]
struct Changes {
    counts: Vec<i64>,
    places: Vec<i64>,
    content: Vec<u8>,
}

/// Whether the arrays from `start` on are so much alike that cells serve them, by a look at some of them.
pub(crate) fn alike(arrays: &Arrays, start: usize) -> bool {
    let pairs = PAIRS_SEEN.min((arrays.len() - start).saturating_sub(1));
    let some = start..start + pairs + 1;
    pairs > 0 && for_numbers!(arrays.elements(), changes(arrays, some)).is_some()
}

/// The codec's bytes, if arrays of these elements change so little that it serves them.
pub(super) fn pack(arrays: &Arrays, effort: Effort) -> Option<Vec<u8>> {
    let Changes { counts, places, content } = for_numbers!(arrays.elements(), changes(arrays, 0..arrays.len()))?;
    let mut first = Column::new(arrays.elements().value_type());
    let fits = first.extend_from(arrays.elements(), arrays.range(0));
    assert!(fits, "a part has the type of the whole");
    let mut out = Vec::new();
    block::put_values(&mut out, &first, effort);
    int::put(&mut out, &counts, effort);
    int::put(&mut out, &places, effort);
    text::put_bytes(&mut out, &content, effort);
    Some(out)
}

/// What changes in each of some arrays but the first; none if it is too much.
fn changes<T: Number, const PER_CELL: usize>(elements: &[T], arrays: &Arrays, rows: Range<usize>) -> Option<Changes> {
    let bytes = rows.clone().map(|row| arrays.range(row).len()).sum::<usize>() * (CELL_BYTES / PER_CELL);
    let mut changes = Changes::default();
    let mut before = arrays.range(rows.start);
    for row in rows.skip(1) {
        let (own, known) = (arrays.range(row), changes.places.len());
        let array = elements.get(own.clone())?;
        if own.len() == before.len() {
            changes.compare::<T, PER_CELL>(array, elements.get(before)?);
        } else {
            array.chunks(PER_CELL).enumerate().for_each(|(place, cell)| changes.add::<T, PER_CELL>(place, cell));
        }
        if changes.content.len() > bytes / CHANGED_MAX {
            return None;
        }
        changes.counts.push((changes.places.len() - known) as i64);
        before = own;
    }
    (!changes.counts.is_empty()).then_some(changes)
}

impl Changes {
    fn compare<T: Number, const PER_CELL: usize>(&mut self, array: &[T], before: &[T]) {
        let ((cells, rest), (cells_before, rest_before)) =
            (array.as_chunks::<PER_CELL>(), before.as_chunks::<PER_CELL>());
        for (place, (cell, before)) in cells.iter().zip(cells_before).enumerate() {
            if T::differ(cell, before) {
                self.add::<T, PER_CELL>(place, cell);
            }
        }
        if rest.iter().zip(rest_before).any(|(own, other)| T::differ(&[*own], &[*other])) {
            self.add::<T, PER_CELL>(cells.len(), rest);
        }
    }

    fn add<T: Number, const PER_CELL: usize>(&mut self, place: usize, cell: &[T]) {
        self.places.push(place as i64);
        let (start, size) = (self.content.len(), CELL_BYTES / PER_CELL);
        self.content.resize(start + cell.len() * size, 0);
        let (_, room) = self.content.split_at_mut(start);
        room.chunks_exact_mut(size).zip(cell).for_each(|(to, number)| number.put_le(to));
    }
}

/// The caller vouches for the last of `ends`: the memory for so many elements is taken, whatever the bytes are.
/// An element has `size` bytes.
pub(super) fn take(cursor: &mut Cursor, ends: &[usize], scalar: ValueType, size: usize) -> Result<Column, Malformed> {
    let first = block::take_values(cursor, scalar, ends.first().copied().unwrap_or(0))?;
    let counts = int::take(cursor, ends.len().saturating_sub(1))?;
    let mut total = 0usize;
    // Full cells, and one for the rest of each array.
    let most = ends.last().copied().unwrap_or(0) * size / CELL_BYTES + ends.len();
    for count in &counts {
        let count = usize::try_from(*count).ok().filter(|count| *count <= most - total);
        total += count.ok_or(Malformed("arrays have more changed cells than there are"))?;
    }
    let places = int::take(cursor, total)?;
    let content = text::take_bytes(cursor)?;
    let changes = Changes { counts, places, content };
    let mut column = first;
    let done = for_numbers!(&mut column, undo(ends, &changes));
    done.ok_or(Malformed("no such codec of arrays"))??;
    Ok(column)
}

/// Appends all arrays but the first, which is there. Always some, as all numbers can be undone.
fn undo<T: Number, const PER_CELL: usize>(
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
    let mut places = changes.places.iter();
    let mut content = Cursor::new(&changes.content);
    let size = CELL_BYTES / PER_CELL;
    let mut before = 0..elements.len();
    for (end, count) in ends.iter().skip(1).zip(&changes.counts) {
        let start = before.end;
        if end - start == before.len() {
            elements.extend_from_within(before);
        } else {
            elements.resize(*end, T::default());
        }
        let (_, array) = elements.split_at_mut(start);
        for place in places.by_ref().take(*count as usize) {
            let cell = usize::try_from(*place).ok().and_then(|place| array.chunks_mut(PER_CELL).nth(place));
            let cell = cell.ok_or(Malformed("a changed cell lies beyond its array"))?;
            let bytes = content.take(cell.len() * size)?;
            cell.iter_mut().zip(bytes.chunks_exact(size)).for_each(|(to, bytes)| *to = T::take_le(bytes));
        }
        before = start..*end;
    }
    if content.is_empty() { Ok(()) } else { Err(Malformed("changed cells hold more than they can")) }
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
        let packed = pack(arrays, Effort::Flush).unwrap_or_else(|| panic!("{name} changes too much"));
        let ends: Vec<usize> = (0..arrays.len()).map(|index| arrays.range(index).end).collect();
        let mut cursor = Cursor::new(&packed);
        let back = take(&mut cursor, &ends, arrays.elements().value_type(), 8).expect("it was written just now");
        assert!(back.identical(arrays.elements()), "{name}");
        assert!(cursor.is_empty(), "{name}");
        for end in 0..packed.len() {
            let cut = packed.get(..end).unwrap_or_default();
            assert!(
                take(&mut Cursor::new(cut), &ends, arrays.elements().value_type(), 8).is_err(),
                "{name} cut at {end}"
            );
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
        assert!(pack(&arrays, Effort::Flush).is_none() && !alike(&arrays, 0));
        let texts = frames(
            &[3; 4],
            |texts: Vec<String>| Column::String(texts.iter().map(String::as_str).collect()),
            |i| format!("{i}"),
        );
        assert!(pack(&texts, Effort::Flush).is_none() && !alike(&texts, 0));
        assert!(!alike(&arrays, 9));
    }
}

//! Arrays: their lengths, then all their elements.
//!
//! ```text
//!   arrays := integers (lengths) codec:u8 elements
//!   0 column       the elements as one column of scalars
//!   1 shuffled     bytes: the first byte of each element, then the second of each, …
//!   2 differences  bytes: shuffled, after each array was XORed with the one before it where both have an element
//!   3 cells        that of `cells.rs`
//!   4 pieces       that of `pieces.rs`
//!   5 cells        that of `cells.rs`, the first array in pieces
//! ```
//! `bytes` is that of `text.rs`, with zstd. Waveforms of a digitiser want 0, 1 or 2; frames that hardly change want 3 or 5; of what
//! is longer than a megabyte 4 and 5 take the least memory.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use archive::VALUE_BYTES_MAX;
use sample::{Arrays, Column, Element, ValueType};

use super::{Effort, cells, int, pieces, text, values};
use crate::{
    bytes::{Cursor, Malformed},
    codec::{
        frames::Frames,
        limits::{BLOCK_BYTES_MAX, FRAMES_BYTES_MAX},
        plain,
    },
};

pub(super) const COLUMN: u8 = 0;
pub(super) const SHUFFLED: u8 = 1;
const DIFFERENCES: u8 = 2;
const CELLS: u8 = 3;
const PIECES: u8 = 4;
const CELLS_IN_PIECES: u8 = 5;

/// The codec is chosen by what it makes of some of the arrays, up to about so many bytes.
const TRIAL_BYTES: usize = 32 << 10;
/// Of arrays that are too long for that it is chosen by the same pieces of two, so many of each.
const TRIAL_PIECES: usize = 4;

pub(crate) fn put(out: &mut Vec<u8>, arrays: &Arrays, effort: Effort) {
    put_lengths(out, arrays, effort);
    if let Some((first, changes)) = cells::found(arrays) {
        return put_cells(out, &first, &changes, effort);
    }
    let are_many = pieces::are_wanted(arrays.elements());
    let codec = if are_many && arrays.len() == 1 { COLUMN } else { choose(arrays, effort) };
    if are_many && codec == COLUMN {
        out.push(PIECES);
        return pieces::put(out, arrays.elements(), effort);
    }
    out.push(codec);
    put_elements(out, arrays, codec, effort);
}

fn put_lengths(out: &mut Vec<u8>, arrays: &Arrays, effort: Effort) {
    let lengths: Vec<i64> = (0..arrays.len()).map(|index| arrays.range(index).len() as i64).collect();
    int::put(out, &lengths, effort);
}

/// Frames, which are cells already.
pub(crate) fn put_frames(out: &mut Vec<u8>, frames: &Frames, effort: Effort) {
    let first = frames.first();
    int::put(out, &vec![first.len() as i64; frames.len()], effort);
    put_cells(out, &first, frames.changes(), effort);
}

fn put_cells(out: &mut Vec<u8>, first: &Column, changes: &cells::Changes, effort: Effort) {
    if pieces::are_wanted(first) {
        out.push(CELLS_IN_PIECES);
        pieces::put(out, first, effort);
    } else {
        out.push(CELLS);
        values::put(out, first, effort);
    }
    cells::put(out, changes, effort);
}

/// Arrays in pieces of so many elements, and cells of which the first array is in such, for tests that keep them as text.
#[cfg(test)]
pub(crate) fn put_pieces(out: &mut Vec<u8>, arrays: &Arrays, elements_max: usize) {
    put_lengths(out, arrays, Effort::Flush);
    out.push(PIECES);
    pieces::put_of(out, arrays.elements(), elements_max, Effort::Flush);
}

#[cfg(test)]
pub(crate) fn put_cells_in_pieces(out: &mut Vec<u8>, arrays: &Arrays, elements_max: usize) {
    let (first, changes) = cells::found(arrays).expect("they hardly change");
    put_lengths(out, arrays, Effort::Flush);
    out.push(CELLS_IN_PIECES);
    pieces::put_of(out, &first, elements_max, Effort::Flush);
    cells::put(out, &changes, Effort::Flush);
}

/// The bytes of an element where all have the same number.
pub(super) fn element_bytes(element: Element) -> Option<usize> {
    match element {
        Element::Bool | Element::I8 | Element::U8 => Some(1),
        Element::I16 | Element::U16 => Some(2),
        Element::I32 | Element::U32 | Element::F32 | Element::Enum => Some(4),
        Element::I64 | Element::U64 | Element::F64 => Some(8),
        Element::String | Element::Structure => None,
    }
}

fn choose(arrays: &Arrays, effort: Effort) -> u8 {
    let element = arrays.elements().value_type().element;
    let Some(size) = element_bytes(element) else { return COLUMN };
    let trial = trial(arrays, TRIAL_BYTES / size);
    let size_of = |codec: &u8| {
        let mut out = Vec::new();
        put_elements(&mut out, &trial, *codec, effort);
        out.len()
    };
    let codecs = if trial.len() > 1 { &[COLUMN, SHUFFLED, DIFFERENCES][..] } else { &[COLUMN, SHUFFLED][..] };
    codecs.iter().copied().min_by_key(size_of).unwrap_or(COLUMN)
}

/// About so many elements: the first arrays, or pieces of the first two that lie at the same places of both, so that neither a quiet
/// beginning speaks for all nor what stays the same is overlooked.
fn trial(arrays: &Arrays, elements: usize) -> Arrays {
    let mut trial = Arrays::new(arrays.elements().value_type().element);
    let mut add = |rows: Vec<std::ops::Range<usize>>| {
        let mut part = Column::new(arrays.elements().value_type());
        let fits = rows.into_iter().all(|rows| part.extend_from(arrays.elements(), rows)) && trial.push(&part);
        assert!(fits, "a part has the type of the whole");
    };
    let two = (0..arrays.len()).take(2);
    if two.clone().map(|index| arrays.range(index).len()).sum::<usize>() <= elements {
        let whole = (0..arrays.len()).take_while(|index| arrays.range(*index).end <= elements);
        whole.for_each(|index| add(vec![arrays.range(index)]));
        return trial;
    }
    let piece = elements / two.len().max(1) / TRIAL_PIECES;
    for index in two {
        let array = arrays.range(index);
        let start = |place: usize| array.start + array.len() * place / TRIAL_PIECES;
        add((0..TRIAL_PIECES).map(|place| start(place)..start(place + 1).min(start(place) + piece)).collect());
    }
    trial
}

fn put_elements(out: &mut Vec<u8>, arrays: &Arrays, codec: u8, effort: Effort) {
    let size = element_bytes(arrays.elements().value_type().element).unwrap_or(1);
    if codec == COLUMN {
        values::put(out, arrays.elements(), effort);
        return;
    }
    let mut bytes = Vec::new();
    plain::put_column(&mut bytes, arrays.elements());
    if codec == DIFFERENCES {
        // From the last array back, so that each is compared with what its neighbour was.
        for index in (1..arrays.len()).rev() {
            xor_with_previous(&mut bytes, arrays, index, size);
        }
    }
    text::put_bytes(out, &shuffled(&bytes, size), effort);
}

fn xor_with_previous(bytes: &mut [u8], arrays: &Arrays, index: usize, size: usize) {
    let (own, previous) = (arrays.range(index), arrays.range(index - 1));
    let (before, after) = bytes.split_at_mut(own.start * size);
    let previous = before.get(previous.start * size..).unwrap_or_default();
    let own = after.get_mut(..own.len() * size).unwrap_or_default();
    own.iter_mut().zip(previous).for_each(|(byte, before)| *byte ^= before);
}

pub(super) fn shuffled(bytes: &[u8], size: usize) -> Vec<u8> {
    fn planes<const SIZE: usize>(bytes: &[u8]) -> Vec<u8> {
        let (elements, _) = bytes.as_chunks::<SIZE>();
        let mut planes = Vec::with_capacity(bytes.len());
        for place in 0..SIZE {
            planes.extend(elements.iter().map(|element| element.get(place).copied().unwrap_or_default()));
        }
        planes
    }
    match size {
        2 => planes::<2>(bytes),
        4 => planes::<4>(bytes),
        8 => planes::<8>(bytes),
        _ => bytes.to_vec(),
    }
}

fn unshuffled(bytes: &[u8], size: usize) -> Vec<u8> {
    let mut plain = vec![0; bytes.len()];
    let planes = bytes.chunks(bytes.len().div_ceil(size).max(1));
    for (place, plane) in planes.enumerate() {
        plain.iter_mut().skip(place).step_by(size).zip(plane).for_each(|(to, from)| *to = *from);
    }
    plain
}

/// The caller vouches for `count`: the memory for so many lengths is taken, whatever the bytes are.
pub(crate) fn take(cursor: &mut Cursor, count: usize, element: Element) -> Result<Arrays, Malformed> {
    let ends = take_ends(cursor, count, element)?;
    let end = ends.last().copied().unwrap_or(0);
    let scalar = ValueType::scalar(element);
    let codec = cursor.u8()?;
    if codec == COLUMN {
        let elements = values::take(cursor, scalar, end)?;
        return Arrays::from_ends(ends, elements).ok_or(Malformed("array lengths do not add up"));
    }
    if codec == PIECES {
        let elements = pieces::take(cursor, scalar, end)?;
        return Arrays::from_ends(ends, elements).ok_or(Malformed("array lengths do not add up"));
    }
    let size = element_bytes(element).ok_or(Malformed("no such codec of arrays"))?;
    if matches!(codec, CELLS | CELLS_IN_PIECES) {
        let (first, changes) = take_cells(cursor, codec, &ends, (scalar, size))?;
        let elements = cells::undo(first, &ends, &changes)?;
        return Arrays::from_ends(ends, elements).ok_or(Malformed("array lengths do not add up"));
    }
    let mut bytes = take_planes(cursor, end, size)?;
    match codec {
        SHUFFLED => {}
        DIFFERENCES => undo_differences(&mut bytes, &ends, size),
        _ => return Err(Malformed("no such codec of arrays")),
    }
    let elements = plain::take_column(&mut Cursor::new(&bytes), scalar, end)?;
    Arrays::from_ends(ends, elements).ok_or(Malformed("array lengths do not add up"))
}

/// Where each array ends among the elements.
fn take_ends(cursor: &mut Cursor, count: usize, element: Element) -> Result<Vec<usize>, Malformed> {
    // Only a sample that has a block of its own may be larger than a block.
    let most = match element_bytes(element) {
        Some(size) if count == 1 => VALUE_BYTES_MAX / size,
        None if count == 1 => VALUE_BYTES_MAX,
        Some(size) => FRAMES_BYTES_MAX / size,
        None => BLOCK_BYTES_MAX,
    };
    let mut ends = Vec::with_capacity(count);
    let mut end = 0usize;
    for length in int::take(cursor, count)? {
        let length = usize::try_from(length).map_err(|_| Malformed("a length is negative"))?;
        end = end.checked_add(length).filter(|end| *end <= most).ok_or(Malformed("arrays are too long"))?;
        ends.push(end);
    }
    Ok(ends)
}

/// The first array, and what changes in the others. An element has `size` bytes.
fn take_cells(
    cursor: &mut Cursor,
    codec: u8,
    ends: &[usize],
    (scalar, size): (ValueType, usize),
) -> Result<(Column, cells::Changes), Malformed> {
    let first = ends.first().copied().unwrap_or(0);
    let first = match codec {
        CELLS => values::take(cursor, scalar, first)?,
        _ => pieces::take(cursor, scalar, first)?,
    };
    Ok((first, cells::take(cursor, ends, size)?))
}

/// The same of arrays that are to be made one after the other: the changes are checked. None, and the cursor is anywhere, if they
/// are in another codec or differ in length. The caller vouches for `count`, as for `take`.
pub(crate) fn take_frames(
    cursor: &mut Cursor,
    count: usize,
    element: Element,
) -> Result<Option<(Column, cells::Changes)>, Malformed> {
    let ends = take_ends(cursor, count, element)?;
    let codec = cursor.u8()?;
    let Some(size) = element_bytes(element).filter(|_| matches!(codec, CELLS | CELLS_IN_PIECES)) else {
        return Ok(None);
    };
    let len = ends.first().copied().unwrap_or(0);
    if !ends.iter().zip(1..).all(|(end, arrays)| *end == arrays * len) {
        return Ok(None);
    }
    let (first, changes) = take_cells(cursor, codec, &ends, (ValueType::scalar(element), size))?;
    changes.check(len, size)?;
    Ok(Some((first, changes)))
}

/// So many elements from their shuffled bytes, as plain numbers.
fn take_planes(cursor: &mut Cursor, count: usize, size: usize) -> Result<Vec<u8>, Malformed> {
    let shuffled = text::take_bytes(cursor)?;
    if shuffled.len() != count * size {
        return Err(Malformed("array lengths do not add up"));
    }
    Ok(unshuffled(&shuffled, size))
}

/// A shuffled column.
pub(super) fn take_shuffled(cursor: &mut Cursor, scalar: ValueType, count: usize) -> Result<Column, Malformed> {
    let size = element_bytes(scalar.element).ok_or(Malformed("no such codec of arrays"))?;
    let bytes = take_planes(cursor, count, size)?;
    plain::take_column(&mut Cursor::new(&bytes), scalar, count)
}

fn undo_differences(bytes: &mut [u8], ends: &[usize], size: usize) {
    let (mut previous, mut start) = (0, 0);
    for end in ends {
        let (before, after) = bytes.split_at_mut(start * size);
        let neighbour = before.iter().skip(previous * size);
        after.iter_mut().take((end - start) * size).zip(neighbour).for_each(|(byte, before)| *byte ^= before);
        (previous, start) = (start, *end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(frame: impl Fn(usize) -> Column) -> Arrays {
        let mut arrays = Arrays::new(frame(0).value_type().element);
        (0..20).for_each(|index| assert!(arrays.push(&frame(index))));
        arrays
    }

    #[test]
    fn arrays_of_every_habit_come_back() {
        let noise = |i: usize| ((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as i16;
        let cases = [
            (
                "hardly changing",
                frames(|n| Column::F64((0..500).map(|i| if i == 0 { n as f64 } else { (i * i) as f64 }).collect())),
            ),
            ("noise", frames(|n| Column::I16((0..300).map(|i| noise(n * 300 + i)).collect()))),
            ("lengths that vary", frames(|n| Column::F32((0..n * 7 % 13).map(|i| i as f32).collect()))),
            ("empty", frames(|_| Column::U8(Vec::new()))),
            ("texts", frames(|n| Column::String(["a", if n % 2 == 0 { "b" } else { "" }].into_iter().collect()))),
            ("one long", {
                let mut one = Arrays::new(Element::I64);
                assert!(one.push(&Column::I64((0..50_000).collect())));
                one
            }),
        ];
        for (name, arrays) in cases {
            let element = arrays.elements().value_type().element;
            for codec in [COLUMN, SHUFFLED, DIFFERENCES] {
                if codec != COLUMN && element_bytes(element).is_none() {
                    continue;
                }
                let lengths: Vec<i64> = (0..arrays.len()).map(|index| arrays.range(index).len() as i64).collect();
                let mut bytes = Vec::new();
                int::put(&mut bytes, &lengths, Effort::Flush);
                bytes.push(codec);
                put_elements(&mut bytes, &arrays, codec, Effort::Flush);
                let mut cursor = Cursor::new(&bytes);
                assert_eq!(take(&mut cursor, arrays.len(), element), Ok(arrays.clone()), "{name} by codec {codec}");
                assert!(cursor.is_empty(), "{name} by codec {codec}");
            }
            let mut bytes = Vec::new();
            put(&mut bytes, &arrays, Effort::Merge);
            assert_eq!(take(&mut Cursor::new(&bytes), arrays.len(), element), Ok(arrays), "{name}");
        }
    }
}

//! Pieces: the elements of arrays that are too many for one column, some of them at a time.
//!
//! ```text
//!   pieces := (count:varint codec:u8 elements)*      until all elements are covered; codecs 0 and 1 of `array.rs`
//! ```
//! A column is widened, compared, packed in several ways. Of 100 MB at once that takes gigabytes; of pieces that fit into the
//! cache of a processor it takes nothing, and each of them is packed as what it is.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use sample::{Column, ValueType};

use super::{Effort, array, text, values};
use crate::{
    bytes::{Cursor, Malformed, put_varint},
    codec::plain,
};

/// Elements of more bytes are written in pieces.
pub(super) const WHOLE_BYTES_MAX: usize = 1 << 20;
/// A piece has so many elements or bytes at most, unless one text is longer.
const ELEMENTS_MAX: usize = 1 << 16;
const BYTES_MAX: usize = 512 << 10;
/// So many pieces are written by the codec that made the first of them smaller.
const PIECES_ALIKE: usize = 8;
/// The codec is chosen by what it makes of so many elements.
const TRIAL_ELEMENTS: usize = 8192;

/// Whether elements are so many that they are to be written in pieces.
pub(super) fn are_wanted(elements: &Column) -> bool {
    elements.byte_size() > WHOLE_BYTES_MAX
}

pub(super) fn put(out: &mut Vec<u8>, elements: &Column, effort: Effort) {
    put_of(out, elements, ELEMENTS_MAX, effort);
}

/// In pieces of so many elements.
pub(crate) fn put_of(out: &mut Vec<u8>, elements: &Column, elements_max: usize, effort: Effort) {
    let mut piece = Column::new(elements.value_type());
    let (mut start, mut codec) = (0, array::COLUMN);
    for number in 0.. {
        let count = piece_len(elements, start, elements_max);
        if count == 0 {
            break;
        }
        fill(&mut piece, elements, start..start + count);
        if number % PIECES_ALIKE == 0 {
            codec = choose(&piece, effort);
        }
        put_varint(out, count as u64);
        out.push(codec);
        put_elements(out, &piece, codec, effort);
        start += count;
    }
}

/// How many elements from `start` on are a piece; none at the end.
fn piece_len(elements: &Column, start: usize, elements_max: usize) -> usize {
    let most = elements_max.min(elements.len().saturating_sub(start));
    let Column::String(texts) = elements else { return most };
    let mut room = BYTES_MAX;
    let fitting = (start..start + most).take_while(|index| {
        let left = room.checked_sub(texts.get(*index).len());
        room = left.unwrap_or(0);
        left.is_some()
    });
    fitting.count().max(most.min(1))
}

fn fill(piece: &mut Column, elements: &Column, range: std::ops::Range<usize>) {
    piece.clear();
    let fits = piece.extend_from(elements, range);
    assert!(fits, "a part has the type of the whole");
}

fn choose(piece: &Column, effort: Effort) -> u8 {
    if array::element_bytes(piece.value_type().element).is_none() {
        return array::COLUMN;
    }
    let mut trial = Column::new(piece.value_type());
    fill(&mut trial, piece, 0..piece.len().min(TRIAL_ELEMENTS));
    let size_of = |codec: &u8| {
        let mut out = Vec::new();
        put_elements(&mut out, &trial, *codec, effort);
        out.len()
    };
    [array::COLUMN, array::SHUFFLED].into_iter().min_by_key(size_of).unwrap_or(array::COLUMN)
}

fn put_elements(out: &mut Vec<u8>, piece: &Column, codec: u8, effort: Effort) {
    match array::element_bytes(piece.value_type().element) {
        Some(size) if codec == array::SHUFFLED => {
            let mut bytes = Vec::new();
            plain::put_column(&mut bytes, piece);
            text::put_bytes(out, &array::shuffled(&bytes, size), effort);
        }
        _ => values::put(out, piece, effort),
    }
}

/// The caller vouches for `count`: the memory for so many elements is taken, whatever the bytes are.
pub(super) fn take(cursor: &mut Cursor, scalar: ValueType, count: usize) -> Result<Column, Malformed> {
    let mut elements = Column::with_capacity(scalar, count);
    while elements.len() < count {
        let len = cursor.count(count - elements.len())?;
        if len == 0 {
            return Err(Malformed("a piece of an array is empty"));
        }
        let piece = match cursor.u8()? {
            array::COLUMN => values::take(cursor, scalar, len)?,
            array::SHUFFLED => array::take_shuffled(cursor, scalar, len)?,
            _ => return Err(Malformed("no such codec of pieces")),
        };
        if piece.len() != len || !elements.extend_from(&piece, 0..len) {
            return Err(Malformed("a piece of an array has another length"));
        }
    }
    Ok(elements)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(i: usize) -> u64 {
        (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn there_and_back(elements: &Column) -> Vec<u8> {
        let mut bytes = Vec::new();
        put(&mut bytes, elements, Effort::Flush);
        let mut cursor = Cursor::new(&bytes);
        let back = take(&mut cursor, elements.value_type(), elements.len()).expect("it was written just now");
        assert!(cursor.is_empty() && back.identical(elements), "{}", elements.len());
        bytes
    }

    #[test]
    fn elements_of_every_number_and_habit_come_back_from_pieces() {
        for len in [0, 1, ELEMENTS_MAX - 1, ELEMENTS_MAX, ELEMENTS_MAX + 1, 9 * ELEMENTS_MAX + 5] {
            there_and_back(&Column::I32((0..len).map(|i| noise(i) as i32).collect()));
            // The first half is a ramp, the second noise: no one codec serves both.
            let mixed = |i: usize| if i < len / 2 { i as f64 } else { f64::from_bits(noise(i)) };
            there_and_back(&Column::F64((0..len).map(mixed).collect()));
            let phrase = b"beam lost by vacuum interlock; ".iter().copied().cycle().take(len);
            let shuffled = there_and_back(&Column::U8(phrase.collect()));
            assert!(shuffled.len() <= 20 + len / 50, "{} of {len}", shuffled.len());
        }
    }

    #[test]
    fn texts_of_any_length_come_back_from_pieces() {
        let long = "x".repeat(BYTES_MAX + 1);
        let texts = (0..40).flat_map(|i| if i % 9 == 4 { [long.as_str(), ""] } else { ["µ", &long[..i * 9000]] });
        there_and_back(&Column::String(texts.collect()));
        there_and_back(&Column::String(std::iter::repeat_n("", ELEMENTS_MAX + 3).collect()));
    }

    #[test]
    fn pieces_that_do_not_add_up_are_malformed() {
        let mut bytes = Vec::new();
        put(&mut bytes, &Column::I16((0..100).collect()), Effort::Flush);
        let scalar = ValueType::scalar(sample::Element::I16);
        let taken = |count: usize| take(&mut Cursor::new(&bytes), scalar, count).map(|column| column.len());
        assert_eq!(taken(100), Ok(100));
        assert_eq!(taken(99), Err(Malformed("a count is too large")));
        assert_eq!(taken(101), Err(Malformed("it ends too early")));
        assert!(take(&mut Cursor::new(&[0, 0, 0]), scalar, 1).is_err(), "an empty piece would go on for ever");
    }
}

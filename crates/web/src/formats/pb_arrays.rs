//! Arrays of numbers as protobuf lines: the elements go from the column into the answer and are escaped on the way, without a
//! message, its encoded form and a line in between.

use std::ops::Range;

use aa::put_escaped;
use prost::{Message, encoding::encode_varint};
use sample::Column;

use super::{
    pb_frame::Frame,
    pb_messages::{SampleHead, SampleTail, ZERO_STATUS, ends_in_white},
};

/// How many elements are encoded before they are escaped.
const AT_ONCE: usize = 64;
/// No element takes more.
const ELEMENT_BYTES_MAX: usize = 8;
/// Field 3, which has a length.
const VALUE: u64 = 3 << 3 | 2;

/// Writes a line with the array that lies at `range`. Gives the frame back if these are no numbers that the Appliance has.
pub(super) fn put_array(out: &mut Vec<u8>, frame: Frame, elements: &Column, range: Range<usize>) -> Result<(), Frame> {
    let Frame { second, nano, severity, status, fields, actual_change } = frame;
    let head = SampleHead { second, nano };
    match elements {
        Column::F64(v) => put_fixed(out, &head, &v[range], f64::to_le_bytes),
        Column::F32(v) => put_fixed(out, &head, &v[range], f32::to_le_bytes),
        Column::I32(v) => put_fixed(out, &head, &v[range], i32::to_le_bytes),
        Column::U32(v) => put_fixed(out, &head, &v[range], u32::to_le_bytes),
        Column::I16(v) => put_varints(out, &head, &v[range], i32::from),
        Column::U16(v) => put_varints(out, &head, &v[range], i32::from),
        Column::Enum(v) => put_varints(out, &head, &v[range], |number| number),
        Column::U8(v) => put_bytes(out, &head, &v[range]),
        Column::I8(v) => put_bytes(out, &head, &v[range].iter().map(|byte| byte.cast_unsigned()).collect::<Vec<u8>>()),
        _ => return Err(Frame { second, nano, severity, status, fields, actual_change }),
    }
    let has_status = status.is_some();
    put_escaped(out, &SampleTail { severity, status, fields, actual_change }.encode_to_vec());
    if !has_status && ends_in_white(out) {
        out.extend_from_slice(&ZERO_STATUS);
    }
    out.push(b'\n');
    Ok(())
}

/// Writes the fields before the elements; `bytes` is what the elements take.
fn put_head(out: &mut Vec<u8>, head: &SampleHead, bytes: usize) {
    let mut text = head.encode_to_vec();
    encode_varint(VALUE, &mut text);
    encode_varint(bytes as u64, &mut text);
    put_escaped(out, &text);
}

/// Bytes are there even if they are none.
fn put_bytes(out: &mut Vec<u8>, head: &SampleHead, elements: &[u8]) {
    put_head(out, head, elements.len());
    put_escaped(out, elements);
}

/// Elements of `N` bytes each.
#[inline(always)]
fn put_fixed<T: Copy, const N: usize>(out: &mut Vec<u8>, head: &SampleHead, elements: &[T], bytes: fn(T) -> [u8; N]) {
    if elements.is_empty() {
        return put_escaped(out, &head.encode_to_vec());
    }
    put_head(out, head, elements.len() * N);
    let mut room = [0; AT_ONCE * ELEMENT_BYTES_MAX];
    for chunk in elements.chunks(AT_ONCE) {
        let text = &mut room[..chunk.len() * N];
        text.chunks_exact_mut(N).zip(chunk).for_each(|(to, element)| to.copy_from_slice(&bytes(*element)));
        put_escaped(out, text);
    }
}

/// Elements of as few bytes as each takes, small numbers of either sign as small ones without.
#[inline(always)]
fn put_varints<T: Copy>(out: &mut Vec<u8>, head: &SampleHead, elements: &[T], number: fn(T) -> i32) {
    if elements.is_empty() {
        return put_escaped(out, &head.encode_to_vec());
    }
    let zigzag = |element: T| (number(element) << 1 ^ number(element) >> 31).cast_unsigned();
    let bytes = |element: &T| (38 - (zigzag(*element) | 1).leading_zeros() as usize) / 7;
    put_head(out, head, elements.iter().map(bytes).sum());
    let mut room = [0; AT_ONCE * ELEMENT_BYTES_MAX];
    for chunk in elements.chunks(AT_ONCE) {
        let mut end = 0;
        for element in chunk {
            let mut rest = zigzag(*element);
            while rest >= 0x80 {
                room[end] = rest as u8 | 0x80;
                rest >>= 7;
                end += 1;
            }
            room[end] = rest as u8;
            end += 1;
        }
        put_escaped(out, &room[..end]);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::formats::pb_messages::{Bytes, FieldValue, VectorDouble, VectorFloat, VectorInt, VectorShort, put_line};

    /// What the encoder of messages makes of the same.
    fn by_messages(frame: Frame, elements: &Column) -> Vec<u8> {
        macro_rules! encoded {
            ($message:ident, $val:expr) => {{
                let Frame { second, nano, severity, status, fields, actual_change } = frame;
                $message { second, nano, val: $val, severity, status, fields, actual_change }.encode_to_vec()
            }};
        }
        let has_status = frame.status.is_some();
        let message = match elements {
            Column::I8(v) => encoded!(Bytes, v.iter().map(|v| *v as u8).collect()),
            Column::U8(v) => encoded!(Bytes, v.clone()),
            Column::I16(v) => encoded!(VectorShort, v.iter().map(|v| i32::from(*v)).collect()),
            Column::U16(v) => encoded!(VectorShort, v.iter().map(|v| i32::from(*v)).collect()),
            Column::Enum(v) => encoded!(VectorShort, v.clone()),
            Column::I32(v) => encoded!(VectorInt, v.clone()),
            Column::U32(v) => encoded!(VectorInt, v.iter().map(|v| *v as i32).collect()),
            Column::F32(v) => encoded!(VectorFloat, v.clone()),
            Column::F64(v) => encoded!(VectorDouble, v.clone()),
            other => panic!("{other:?} are other arrays"),
        };
        let zero: &[u8] = if !has_status && ends_in_white(&message) { &[5 << 3, 0] } else { &[] };
        let mut line = Vec::new();
        put_line(&mut line, &[&message, zero].concat());
        line
    }

    fn frame(number: u32) -> Frame {
        let val = if number.is_multiple_of(2) { "\r\u{1b}" } else { "a text that ends in a space " };
        let field = || FieldValue { name: "a\nname".to_owned(), val: val.to_owned() };
        Frame {
            second: number,
            nano: number.rotate_left(7) % 1_000_000_000,
            severity: Some((number % 4) as i32).filter(|severity| *severity > 0),
            status: (!number.is_multiple_of(5)).then_some((number >> 9) as i32 & 0xffff),
            fields: (0..number % 3).map(|_| field()).collect(),
            actual_change: (number % 3 == 2).then_some(number % 2 == 1),
        }
    }

    fn check(number: u32, elements: &Column) {
        let mut line = b"before\n".to_vec();
        assert!(put_array(&mut line, frame(number), elements, 0..elements.len()).is_ok(), "{elements:?}");
        assert_eq!(line.strip_prefix(b"before\n"), Some(&by_messages(frame(number), elements)[..]), "{elements:?}");
    }

    proptest! {
        /// With all bytes that have to be escaped, in the times and lengths too.
        #[test]
        fn arrays_written_element_by_element_are_the_messages_that_they_stand_for(
            number in prop_oneof![any::<u32>(), 0..20u32],
            bits in prop::collection::vec((0..64u32, any::<u64>()), 0..200),
        ) {
            let bits: Vec<u64> = bits.into_iter().map(|(shift, bits)| bits >> shift).collect();
            check(number, &Column::I8(bits.iter().map(|bits| *bits as i8).collect()));
            check(number, &Column::U8(bits.iter().map(|bits| *bits as u8).collect()));
            check(number, &Column::I16(bits.iter().map(|bits| *bits as i16).collect()));
            check(number, &Column::U16(bits.iter().map(|bits| *bits as u16).collect()));
            check(number, &Column::Enum(bits.iter().map(|bits| *bits as i32).collect()));
            check(number, &Column::I32(bits.iter().map(|bits| *bits as i32).collect()));
            check(number, &Column::U32(bits.iter().map(|bits| *bits as u32).collect()));
            check(number, &Column::F32(bits.iter().map(|bits| f32::from_bits(*bits as u32)).collect()));
            check(number, &Column::F64(bits.iter().map(|bits| f64::from_bits(*bits)).collect()));
        }
    }

    #[test]
    fn other_arrays_are_left_to_others() {
        for elements in [Column::Bool(vec![true]), Column::I64(vec![1]), Column::U64(vec![1])] {
            let mut line = Vec::new();
            assert!(put_array(&mut line, frame(1), &elements, 0..1).is_err() && line.is_empty());
        }
    }
}

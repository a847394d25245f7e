//! Arrays of numbers as the packed value of a protobuf message, written straight from their column: an encoder of messages takes a
//! copy of them first, of twice the size for numbers of 16 bits.

use std::ops::Range;

use prost::encoding::{encode_varint, encoded_len_varint};
use sample::Column;

/// Field 3, whose length follows.
const VALUE: u8 = 3 << 3 | 2;

/// Appends these elements, which are numbers of at most 32 bits or doubles. Of none there is no field, but of bytes there is.
pub(super) fn put_packed(out: &mut Vec<u8>, elements: &Column, range: Range<usize>) {
    macro_rules! words {
        ($values:expr) => {{
            let values = &$values[range];
            let start = begin(out, size_of_val(values), values.is_empty());
            for (place, value) in
                out[start..].chunks_exact_mut(size_of_val(&values[..1.min(values.len())]).max(1)).zip(values)
            {
                place.copy_from_slice(&value.to_le_bytes());
            }
        }};
    }
    match elements {
        Column::U8(v) => {
            let start = begin(out, range.len(), false);
            out[start..].copy_from_slice(&v[range]);
        }
        Column::I8(v) => {
            let start = begin(out, range.len(), false);
            out[start..].iter_mut().zip(&v[range]).for_each(|(place, value)| *place = value.cast_unsigned());
        }
        Column::I16(v) => put_signed(out, v[range].iter().map(|value| i32::from(*value))),
        Column::U16(v) => put_signed(out, v[range].iter().map(|value| i32::from(*value))),
        Column::Enum(v) => put_signed(out, v[range].iter().copied()),
        Column::I32(v) => words!(v),
        Column::U32(v) => words!(v),
        Column::F32(v) => words!(v),
        Column::F64(v) => words!(v),
        _ => unreachable!("other columns are serialised"),
    }
}

/// Writes what stands before so many bytes, and makes room for them. Gives where they begin.
fn begin(out: &mut Vec<u8>, bytes: usize, is_left_out: bool) -> usize {
    if !is_left_out {
        out.push(VALUE);
        encode_varint(bytes as u64, out);
    }
    let start = out.len();
    out.resize(start + bytes, 0);
    start
}

/// Numbers near zero in few bytes, whatever their sign.
fn put_signed(out: &mut Vec<u8>, values: impl Iterator<Item = i32> + Clone) {
    let zigzag = |value: i32| u64::from(((value << 1) ^ (value >> 31)).cast_unsigned());
    let bytes: usize = values.clone().map(|value| encoded_len_varint(zigzag(value))).sum();
    if bytes > 0 {
        out.push(VALUE);
        encode_varint(bytes as u64, out);
        out.reserve(bytes);
        values.for_each(|value| encode_varint(zigzag(value), out));
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;
    use sample::Arrays;

    use super::super::{
        pb::Frame,
        pb_messages::{Bytes, FieldValue, VectorDouble, VectorFloat, VectorInt, VectorShort},
    };
    use super::*;

    macro_rules! same {
        ($message:ident, $column:expr, $val:expr) => {
            for (severity, status, fields) in [
                (None, None, Vec::new()),
                (Some(2), Some(300), vec![FieldValue { name: "a".to_owned(), val: "b".to_owned() }]),
            ] {
                let (second, nano, val) = (7, 1_000_000, $val);
                let all = val.len();
                let expected = $message { second, nano, val, severity, status, fields: fields.clone() };
                let column = Column::Array(Arrays::from_ends(vec![all], $column).unwrap());
                let mut written = Vec::new();
                Frame { second, nano, severity, status, fields }.encode(&column, 0, &mut written);
                let mut read = $message::decode(&*written).unwrap();
                read.status = read.status.filter(|status| *status != 0);
                assert_eq!(read, expected);
                let mut bytes = expected.encode_to_vec();
                // Both end alike, but for the status that keeps white space from the end.
                bytes.extend(written.strip_prefix(&*bytes).unwrap());
                assert_eq!(written, bytes);
            }
        };
    }

    #[test]
    fn arrays_written_straight_are_the_messages_that_they_stand_for() {
        for count in [0, 1, 3, 300] {
            let mut state = 1u64;
            let bits: Vec<u64> = (0..count)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    state >> (state >> 58)
                })
                .collect();
            macro_rules! of {
                ($make:expr) => {
                    bits.iter().map($make).collect::<Vec<_>>()
                };
            }
            same!(VectorDouble, Column::F64(of!(|bits| *bits as f64)), of!(|bits| *bits as f64));
            same!(VectorFloat, Column::F32(of!(|bits| *bits as f32)), of!(|bits| *bits as f32));
            same!(VectorInt, Column::I32(of!(|bits| *bits as i32)), of!(|bits| *bits as i32));
            same!(VectorInt, Column::U32(of!(|bits| *bits as u32)), of!(|bits| *bits as i32));
            same!(VectorShort, Column::I16(of!(|bits| *bits as i16)), of!(|bits| i32::from(*bits as i16)));
            same!(VectorShort, Column::U16(of!(|bits| *bits as u16)), of!(|bits| i32::from(*bits as u16)));
            same!(VectorShort, Column::Enum(of!(|bits| *bits as i32)), of!(|bits| *bits as i32));
            same!(Bytes, Column::U8(of!(|bits| *bits as u8)), of!(|bits| *bits as u8));
            same!(Bytes, Column::I8(of!(|bits| *bits as i8)), of!(|bits| *bits as u8));
        }
    }
}

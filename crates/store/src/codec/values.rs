//! The columns of values: each by the codec of its type.

use std::ops::Range;

use sample::{Column, Element, Shape, ValueType};

use super::{
    Effort, array, float,
    int::{self, take_rows_in},
    room::Room,
    structure, text,
};
use crate::bytes::{Cursor, Malformed};

pub(crate) fn put(out: &mut Vec<u8>, values: &Column, effort: Effort) {
    /// Integers of any width as signed 64 bits.
    macro_rules! wide {
        ($numbers:expr) => {
            int::put(out, Room::default().fill($numbers.iter().map(|number| *number as i64)), effort)
        };
    }
    match values {
        Column::Bool(v) => wide!(v),
        Column::I8(v) => wide!(v),
        Column::U8(v) => wide!(v),
        Column::I16(v) => wide!(v),
        Column::U16(v) => wide!(v),
        Column::I32(v) | Column::Enum(v) => wide!(v),
        Column::U32(v) => wide!(v),
        Column::I64(v) => int::put(out, v, effort),
        Column::U64(v) => wide!(v),
        Column::F32(v) => float::put(out, v, effort),
        Column::F64(v) => float::put(out, v, effort),
        Column::String(v) => text::put(out, v.iter().map(str::as_bytes), effort),
        Column::Structure(v) => structure::put(out, v, effort),
        Column::Array(v) => array::put(out, v, effort),
    }
}

/// The caller vouches for `count`: the memory for so many numbers is taken, whatever the bytes are.
pub(crate) fn take(cursor: &mut Cursor, value_type: ValueType, count: usize) -> Result<Column, Malformed> {
    if value_type.shape == Shape::Array {
        return array::take(cursor, count, value_type.element).map(Column::Array);
    }
    Ok(match value_type.element {
        Element::String => Column::String(text::strings(text::take(cursor, count)?)?),
        Element::Structure => Column::Structure(structure::take(cursor, count)?),
        number => take_numbers(Column::new(value_type), cursor, number, count, 0..count)?,
    })
}

/// Integers back to a type of numbers that has integers of its own width, or none if it has not.
pub(crate) fn narrowed(element: Element, integers: &[i64]) -> Option<Column> {
    macro_rules! narrow {
        ($variant:ident, $number:ty) => {
            Some(Column::$variant(
                integers.iter().map(|wide| <$number>::try_from(*wide).ok()).collect::<Option<Vec<$number>>>()?,
            ))
        };
    }
    match element {
        Element::Bool => Some(Column::Bool(integers.iter().map(|number| *number != 0).collect())),
        Element::I8 => narrow!(I8, i8),
        Element::U8 => narrow!(U8, u8),
        Element::I16 => narrow!(I16, i16),
        Element::U16 => narrow!(U16, u16),
        Element::I32 => narrow!(I32, i32),
        Element::U32 => narrow!(U32, u32),
        Element::I64 => Some(Column::I64(integers.to_vec())),
        Element::U64 => Some(Column::U64(integers.iter().map(|number| *number as u64).collect())),
        Element::Enum => narrow!(Enum, i32),
        Element::F32 | Element::F64 | Element::String | Element::Structure => None,
    }
}

/// Some rows of a column of numbers, in the memory of a column whose content nobody needs. They must lie below `count`, for which
/// the caller vouches.
pub(crate) fn take_numbers(
    room: Column,
    cursor: &mut Cursor,
    element: Element,
    count: usize,
    rows: Range<usize>,
) -> Result<Column, Malformed> {
    /// The list of a column, if it is one of these.
    macro_rules! room {
        ($variant:ident) => {
            if let Column::$variant(room) = room { room } else { Vec::new() }
        };
    }
    /// Integers back to their width, if they have it.
    macro_rules! narrow {
        ($variant:ident, $number:ty) => {{
            let fits = |wide| i64::from(wide as $number) == wide;
            Column::$variant(take_rows_in(room!($variant), cursor, count, rows, |_, wide| wide as $number, fits)?)
        }};
    }
    /// Numbers of which each fits.
    macro_rules! wide {
        ($variant:ident, $make:expr) => {
            Column::$variant(take_rows_in(room!($variant), cursor, count, rows, $make, |_| true)?)
        };
    }
    Ok(match element {
        Element::Bool => wide!(Bool, |_, number| number != 0),
        Element::I8 => narrow!(I8, i8),
        Element::U8 => narrow!(U8, u8),
        Element::I16 => narrow!(I16, i16),
        Element::U16 => narrow!(U16, u16),
        Element::I32 => narrow!(I32, i32),
        Element::U32 => narrow!(U32, u32),
        Element::I64 => wide!(I64, |_, number| number),
        Element::U64 => wide!(U64, |_, number| number as u64),
        Element::F32 => Column::F32(float::take_rows_in(room!(F32), cursor, count, rows)?),
        Element::F64 => Column::F64(float::take_rows_in(room!(F64), cursor, count, rows)?),
        Element::Enum => narrow!(Enum, i32),
        Element::String | Element::Structure => return Err(Malformed("it has no numbers")),
    })
}

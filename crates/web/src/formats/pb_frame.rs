//! A sample as the Archiver Appliance writes it: the message of its type.

use prost::Message;
use sample::{Alarm, Column, Shape, Timestamp};

use super::{
    pb_messages::{
        Bytes as BytesMessage, FieldValue, ScalarDouble, ScalarFloat, ScalarInt, ScalarShort, ScalarString,
        VectorString, ZERO_STATUS, ends_in_white,
    },
    structure,
};

/// All of a sample but its value.
pub(super) struct Frame {
    pub(super) second: u32,
    pub(super) nano: u32,
    pub(super) severity: Option<i32>,
    pub(super) status: Option<i32>,
    pub(super) fields: Vec<FieldValue>,
    pub(super) actual_change: Option<bool>,
}

/// Fills a message of the given kind from a frame and a value, and encodes it.
macro_rules! encode {
    ($message:ident, $frame:expr, $val:expr, $out:expr) => {{
        let Frame { second, nano, severity, status, fields, actual_change } = $frame;
        let message = $message { second, nano, val: $val, severity, status, fields, actual_change };
        message.encode($out).expect("a vector takes every byte")
    }};
}

impl Frame {
    /// That of a sample which carries nothing, of a year that begins at that second.
    pub(super) fn of(time: Timestamp, year: i64, alarm: &Alarm) -> Frame {
        let (second, nano) = time.seconds_and_nanos();
        Frame {
            second: second.saturating_sub(year) as u32,
            nano,
            severity: Some(alarm.severity as i32).filter(|severity| *severity != 0),
            status: Some(i32::from(alarm.status)).filter(|status| *status != 0),
            fields: Vec::new(),
            actual_change: None,
        }
    }

    /// Appends the message. A zero status is left out, as the Appliance does, unless the message would end in white space.
    pub(super) fn encode(self, column: &Column, row: usize, out: &mut Vec<u8>) {
        let has_status = self.status.is_some();
        self.encode_bare(column, row, out);
        // Of two the last would count.
        if !has_status && ends_in_white(out) {
            out.extend_from_slice(&ZERO_STATUS);
        }
    }

    fn encode_bare(self, column: &Column, row: usize, out: &mut Vec<u8>) {
        match column {
            Column::I8(v) => encode!(BytesMessage, self, vec![v[row] as u8], out),
            Column::U8(v) => encode!(BytesMessage, self, vec![v[row]], out),
            Column::I16(v) => encode!(ScalarShort, self, i32::from(v[row]), out),
            Column::U16(v) => encode!(ScalarShort, self, i32::from(v[row]), out),
            Column::Enum(v) => encode!(ScalarShort, self, v[row], out),
            Column::I32(v) => encode!(ScalarInt, self, v[row], out),
            Column::U32(v) => encode!(ScalarInt, self, v[row] as i32, out),
            Column::F32(v) => encode!(ScalarFloat, self, v[row], out),
            Column::F64(v) => encode!(ScalarDouble, self, v[row], out),
            Column::String(v) => encode!(ScalarString, self, v.get(row).to_owned(), out),
            Column::Structure(v) => encode!(BytesMessage, self, structure::serialised(v.get(row)), out),
            Column::Bool(_) | Column::I64(_) | Column::U64(_) => {
                encode!(BytesMessage, self, around(column, row..row + 1, Shape::Scalar), out);
            }
            Column::Array(arrays) => self.encode_array(arrays.elements(), arrays.range(row), out),
        }
    }

    /// Encodes the arrays that `pb_arrays.rs` does not take.
    fn encode_array(self, elements: &Column, range: std::ops::Range<usize>, out: &mut Vec<u8>) {
        match elements {
            Column::String(v) => encode!(VectorString, self, range.map(|i| v.get(i).to_owned()).collect(), out),
            other => encode!(BytesMessage, self, around(other, range, Shape::Array), out),
        }
    }
}

fn around(column: &Column, range: std::ops::Range<usize>, shape: Shape) -> Vec<u8> {
    let mut elements = Column::new(column.value_type());
    let fits = elements.extend_from(column, range);
    assert!(fits, "a column takes values of its own type");
    structure::around(elements, shape)
}

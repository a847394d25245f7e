//! The messages of the Archiver Appliance (`EPICSEvent.proto`, package EPICS) and the lines that they travel in.
//!
//! ```text
//!   answer := chunk ( \n chunk )*                      an empty line ends a chunk
//!   chunk  := escaped(PayloadInfo) \n ( escaped(sample) \n )*
//!   sample := 1 second in the year, 2 nanosecond, 3 value, 4 severity, 5 status, 7 fields, 8 whether fields changed
//! ```
//!
//! The escape byte 1B, line feeds and carriage returns are written as 1B 01, 1B 02 and 1B 03, in headers too.
//! A `status` of zero is left out, as the Appliance does. But clients strip white space from the end of lines, and would cut a value
//! that ends in 09, 0B, 0C or 20 if it came last: behind such a one it is written.

pub(crate) use aa::put_line;
use prost::Message;

/// The status field of a sample whose status is zero.
pub(crate) const ZERO_STATUS: [u8; 2] = [5 << 3, 0];

/// Whether clients take the last byte of a line for white space. Line ends are written as 02 and 03 behind the escape byte.
pub(crate) const fn is_white(last: u8) -> bool {
    matches!(last, 0x09 | 0x0b | 0x0c | 0x20)
}

/// Whether it ends in such a byte, escaped or not yet.
pub(crate) fn ends_in_white(message: &[u8]) -> bool {
    message.last().is_some_and(|last| is_white(*last))
}

/// A name with a text: metadata in headers, connection losses in samples.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FieldValue {
    #[prost(string, required, tag = "1")]
    pub(crate) name: String,
    #[prost(string, required, tag = "2")]
    pub(crate) val: String,
}

/// The first line of a chunk.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct PayloadInfo {
    #[prost(int32, required, tag = "1")]
    pub(crate) r#type: i32,
    #[prost(string, required, tag = "2")]
    pub(crate) pvname: String,
    #[prost(int32, required, tag = "3")]
    pub(crate) year: i32,
    #[prost(int32, optional, tag = "4")]
    pub(crate) element_count: Option<i32>,
    #[prost(message, repeated, tag = "15")]
    pub(crate) headers: Vec<FieldValue>,
}

/// A sample of one type: the messages differ in the value alone.
macro_rules! sample_message {
    ($name:ident, $type:ty, $($field:tt)*) => {
        #[derive(Clone, PartialEq, Message)]
        pub(crate) struct $name {
            #[prost(uint32, required, tag = "1")]
            pub(crate) second: u32,
            #[prost(uint32, required, tag = "2")]
            pub(crate) nano: u32,
            #[prost($($field)*, tag = "3")]
            pub(crate) val: $type,
            #[prost(int32, optional, tag = "4")]
            pub(crate) severity: Option<i32>,
            #[prost(int32, optional, tag = "5")]
            pub(crate) status: Option<i32>,
            #[prost(message, repeated, tag = "7")]
            pub(crate) fields: Vec<FieldValue>,
            #[prost(bool, optional, tag = "8")]
            pub(crate) actual_change: Option<bool>,
        }
    };
}

/// What stands before the value of any sample.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SampleHead {
    #[prost(uint32, required, tag = "1")]
    pub(crate) second: u32,
    #[prost(uint32, required, tag = "2")]
    pub(crate) nano: u32,
}

/// What stands behind it.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SampleTail {
    #[prost(int32, optional, tag = "4")]
    pub(crate) severity: Option<i32>,
    #[prost(int32, optional, tag = "5")]
    pub(crate) status: Option<i32>,
    #[prost(message, repeated, tag = "7")]
    pub(crate) fields: Vec<FieldValue>,
    #[prost(bool, optional, tag = "8")]
    pub(crate) actual_change: Option<bool>,
}

sample_message!(ScalarString, String, string, required);
sample_message!(ScalarShort, i32, sint32, required);
sample_message!(ScalarFloat, f32, float, required);
sample_message!(ScalarDouble, f64, double, required);
sample_message!(ScalarInt, i32, sfixed32, required);
sample_message!(Bytes, Vec<u8>, bytes = "vec", required);
sample_message!(VectorString, Vec<String>, string, repeated);
#[cfg(test)]
sample_message!(VectorShort, Vec<i32>, sint32, repeated);
#[cfg(test)]
sample_message!(VectorFloat, Vec<f32>, float, repeated);
#[cfg(test)]
sample_message!(VectorDouble, Vec<f64>, double, repeated);
#[cfg(test)]
sample_message!(VectorInt, Vec<i32>, sfixed32, repeated);

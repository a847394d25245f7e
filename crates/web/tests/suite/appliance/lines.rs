//! Protobuf lines as samples: in the Appliance's files and in raw answers alike.

use prost::Message;
use sample::{Alarm, Column, Element, Sample, Severity, Timestamp, Value, ValueType};

/// A header with the samples behind it.
pub(crate) struct Chunk {
    pub(crate) pv_name: String,
    pub(crate) value_type: ValueType,
    /// How many elements arrays may have; files do not say it.
    pub(crate) element_count: i32,
    pub(crate) samples: Vec<Sample>,
}

#[derive(Clone, PartialEq, Message)]
struct Info {
    #[prost(int32, tag = "1")]
    r#type: i32,
    #[prost(string, tag = "2")]
    pvname: String,
    #[prost(int32, tag = "3")]
    year: i32,
    #[prost(int32, tag = "4")]
    element_count: i32,
}

/// A sample without its value, which lies in field 3 in a form that depends on the type.
macro_rules! line {
    ($name:ident, $type:ty, $($field:tt)*) => {
        #[derive(Clone, PartialEq, Message)]
        struct $name {
            #[prost(uint32, tag = "1")]
            second: u32,
            #[prost(uint32, tag = "2")]
            nano: u32,
            #[prost($($field)*, tag = "3")]
            val: $type,
            #[prost(int32, tag = "4")]
            severity: i32,
            #[prost(int32, tag = "5")]
            status: i32,
        }
    };
}

line!(Text, String, string);
line!(Double, f64, double);
line!(Index, i32, sint32);
line!(Int, i32, sfixed32);
line!(Doubles, Vec<f64>, double, repeated);

/// The chunks of a file or an answer. Blank lines only separate.
pub(crate) fn read(bytes: &[u8]) -> Vec<Chunk> {
    let mut chunks: Vec<Chunk> = Vec::new();
    let mut year_start = Timestamp::MIN;
    let mut in_chunk = false;
    for line in bytes.split(|byte| *byte == b'\n') {
        if line.is_empty() {
            in_chunk = false;
            continue;
        }
        let line = unescape(line);
        if in_chunk {
            let chunk = chunks.last_mut().expect("a chunk has begun");
            chunk.samples.push(sample(chunk.value_type, &line, year_start));
            continue;
        }
        let info = Info::decode(line.as_slice()).expect("a chunk begins with its header");
        year_start = Timestamp::parse(&format!("{}-01-01T00:00:00Z", info.year)).expect("it is a year");
        let (pv_name, value_type, element_count) = (info.pvname, value_type(info.r#type), info.element_count);
        chunks.push(Chunk { pv_name, value_type, element_count, samples: Vec::new() });
        in_chunk = true;
    }
    chunks
}

fn value_type(number: i32) -> ValueType {
    match number {
        0 => ValueType::scalar(Element::String),
        3 => ValueType::scalar(Element::Enum),
        5 => ValueType::scalar(Element::I32),
        6 => ValueType::scalar(Element::F64),
        13 => ValueType::array(Element::F64),
        other => panic!("type {other} does not occur in the reference data"),
    }
}

fn sample(value_type: ValueType, line: &[u8], year_start: Timestamp) -> Sample {
    macro_rules! as_sample {
        ($message:ident, $value:expr) => {{
            let line = $message::decode(line).expect("a sample of the announced type");
            let (seconds, _) = year_start.seconds_and_nanos();
            let alarm = Alarm {
                severity: Severity::from_number(i64::from(line.severity)),
                status: u16::try_from(line.status).expect("statuses are small"),
                message: None,
            };
            let time = Timestamp::from_seconds(seconds + i64::from(line.second), line.nano);
            Sample { time, value: $value(line.val), alarm, pulse: 0, stamp: None }
        }};
    }
    match (value_type.element, value_type == ValueType::array(Element::F64)) {
        (_, true) => as_sample!(Doubles, |val| Value::Array(Column::F64(val))),
        (Element::String, _) => as_sample!(Text, |val: String| Value::String(val.into())),
        (Element::Enum, _) => as_sample!(Index, Value::Enum),
        (Element::I32, _) => as_sample!(Int, Value::I32),
        _ => as_sample!(Double, Value::F64),
    }
}

fn unescape(line: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(line.len());
    let mut bytes = line.iter();
    while let Some(byte) = bytes.next() {
        plain.push(match byte {
            0x1b => match bytes.next() {
                Some(1) => 0x1b,
                Some(2) => b'\n',
                Some(3) => b'\r',
                other => panic!("{other:?} is no escape"),
            },
            byte => *byte,
        });
    }
    plain
}

//! The Appliance's files written by protobuf itself, so that reader and writer share no mistake.

#![allow(dead_code, reason = "each test file uses its part of it")]

use prost::Message;

#[derive(Clone, Debug)]
pub(crate) enum Val {
    Text(String),
    Sint(i32),
    Float(f32),
    Bytes(Vec<u8>),
    Fixed(i32),
    Double(f64),
    Texts(Vec<String>),
    Sints(Vec<i32>),
    Floats(Vec<f32>),
    Fixeds(Vec<i32>),
    Doubles(Vec<f64>),
}

/// A sample before it is written.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) second: u32,
    pub(crate) nano: u32,
    pub(crate) value: Val,
    pub(crate) severity: Option<i32>,
    pub(crate) status: Option<i32>,
    pub(crate) fields: Vec<(&'static str, String)>,
    pub(crate) is_change: Option<bool>,
    pub(crate) pulse: Option<u32>,
}

impl Line {
    pub(crate) fn of(value: Val) -> Line {
        Line {
            second: 0,
            nano: 0,
            value,
            severity: None,
            status: None,
            fields: Vec::new(),
            is_change: None,
            pulse: None,
        }
    }
}

#[derive(Clone, PartialEq, Message)]
struct Field {
    #[prost(string, required, tag = "1")]
    name: String,
    #[prost(string, required, tag = "2")]
    val: String,
}

#[derive(Clone, PartialEq, Message)]
struct Info {
    #[prost(int32, required, tag = "1")]
    r#type: i32,
    #[prost(string, required, tag = "2")]
    pvname: String,
    #[prost(int32, required, tag = "3")]
    year: i32,
    #[prost(int32, optional, tag = "4")]
    element_count: Option<i32>,
    #[prost(message, repeated, tag = "15")]
    headers: Vec<Field>,
}

macro_rules! message {
    ($name:ident, $type:ty, $($field:tt)*) => {
        #[derive(Clone, PartialEq, Message)]
        struct $name {
            #[prost(uint32, required, tag = "1")]
            second: u32,
            #[prost(uint32, required, tag = "2")]
            nano: u32,
            #[prost($($field)*, tag = "3")]
            val: $type,
            #[prost(int32, optional, tag = "4")]
            severity: Option<i32>,
            #[prost(int32, optional, tag = "5")]
            status: Option<i32>,
            #[prost(message, repeated, tag = "7")]
            fields: Vec<Field>,
            #[prost(bool, optional, tag = "8")]
            is_change: Option<bool>,
            #[prost(uint32, optional, tag = "9")]
            pulse: Option<u32>,
        }
    };
}

message!(Text, String, string, required);
message!(Sint, i32, sint32, required);
message!(Float, f32, float, required);
message!(Bytes, Vec<u8>, bytes = "vec", required);
message!(Fixed, i32, sfixed32, required);
message!(Double, f64, double, required);
message!(Texts, Vec<String>, string, repeated);
message!(Sints, Vec<i32>, sint32, repeated);
message!(Floats, Vec<f32>, float, repeated);
message!(Fixeds, Vec<i32>, sfixed32, repeated);
message!(Doubles, Vec<f64>, double, repeated);

pub(crate) fn header(r#type: i32, pv: &str, year: i32) -> Vec<u8> {
    header_with(r#type, pv, year, &[])
}

pub(crate) fn header_with(r#type: i32, pv: &str, year: i32, headers: &[(&str, &str)]) -> Vec<u8> {
    header_of_array(r#type, pv, year, headers, None)
}

/// One that says how many elements its arrays have.
pub(crate) fn header_of_array(
    r#type: i32,
    pv: &str,
    year: i32,
    headers: &[(&str, &str)],
    element_count: Option<i32>,
) -> Vec<u8> {
    let headers = headers.iter().map(|(name, val)| Field { name: (*name).into(), val: (*val).into() }).collect();
    escaped(&Info { r#type, pvname: pv.into(), year, element_count, headers }.encode_to_vec())
}

/// With its line feed.
pub(crate) fn line(line: &Line) -> Vec<u8> {
    macro_rules! encode {
        ($message:ident, $val:expr) => {{
            let fields =
                line.fields.iter().map(|(name, val)| Field { name: (*name).into(), val: val.clone() }).collect();
            let Line { second, nano, severity, status, is_change, pulse, .. } = line.clone();
            $message { second, nano, val: $val, severity, status, fields, is_change, pulse }.encode_to_vec()
        }};
    }
    escaped(&match line.value.clone() {
        Val::Text(val) => encode!(Text, val),
        Val::Sint(val) => encode!(Sint, val),
        Val::Float(val) => encode!(Float, val),
        Val::Bytes(val) => encode!(Bytes, val),
        Val::Fixed(val) => encode!(Fixed, val),
        Val::Double(val) => encode!(Double, val),
        Val::Texts(val) => encode!(Texts, val),
        Val::Sints(val) => encode!(Sints, val),
        Val::Floats(val) => encode!(Floats, val),
        Val::Fixeds(val) => encode!(Fixeds, val),
        Val::Doubles(val) => encode!(Doubles, val),
    })
}

/// A header and the lines behind it.
pub(crate) fn file(header: &[u8], lines: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    lines.into_iter().fold(header.to_vec(), |mut file, line| {
        file.extend(line);
        file
    })
}

fn escaped(message: &[u8]) -> Vec<u8> {
    let mut line = Vec::new();
    for byte in message {
        match byte {
            0x1b => line.extend([0x1b, 1]),
            b'\n' => line.extend([0x1b, 2]),
            b'\r' => line.extend([0x1b, 3]),
            byte => line.push(*byte),
        }
    }
    line.push(b'\n');
    line
}

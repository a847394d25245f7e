//! Channel Access values: what the payloads of the DBR types hold.
//!
//! ```text
//!   TIME  status:i16 severity:i16 seconds:u32(since 1990) nanos:u32 pad[0|2|3|4] value…
//!   CTRL  status:i16 severity:i16 [precision:i16 pad:i16] units[8]
//!         upper_display lower_display upper_alarm upper_warning lower_warning lower_alarm upper_control lower_control   (in the value's type)
//!         value…                                        GR: the same without the two control limits
//!   CTRL_ENUM, GR_ENUM  status:i16 severity:i16 labels:i16 label[16][26] value
//! ```

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use super::wire::{Malformed, Message, text, u16_at, u32_at};
use crate::{Array, Description, Limits, Reading, Value};

/// Seconds from 1970 to 1990, where EPICS begins to count.
const EPICS_EPOCH: i64 = 631_152_000;

/// A string on the wire, with its closing zero.
const STRING_BYTES: usize = 40;

/// A label of an enum on the wire, with its closing zero.
const LABEL_BYTES: usize = 26;

/// How many labels an enum has room for.
const LABELS_MAX: usize = 16;

/// The native type of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the protocol")]
pub enum FieldType {
    String = 0,
    Short = 1,
    Float = 2,
    Enum = 3,
    Char = 4,
    Long = 5,
    Double = 6,
}

impl FieldType {
    /// By its number.
    pub fn from_number(number: u16) -> Option<FieldType> {
        use FieldType::{Char, Double, Enum, Float, Long, Short, String};
        [String, Short, Float, Enum, Char, Long, Double].into_iter().find(|field| *field as u16 == number)
    }

    /// The DBR type with alarm and time.
    pub fn time(self) -> u16 {
        14 + self as u16
    }

    /// The DBR type with units, limits and labels.
    pub fn control(self) -> u16 {
        28 + self as u16
    }

    fn of_time(number: u16) -> Option<FieldType> {
        number.checked_sub(14).and_then(FieldType::from_number)
    }

    /// Bytes of one element.
    pub fn element_bytes(self) -> usize {
        match self {
            FieldType::Char => 1,
            FieldType::Short | FieldType::Enum => 2,
            FieldType::Float | FieldType::Long => 4,
            FieldType::Double => 8,
            FieldType::String => STRING_BYTES,
        }
    }

    /// Where the value begins behind alarm and time.
    fn time_offset(self) -> usize {
        match self {
            FieldType::String | FieldType::Float | FieldType::Long => 12,
            FieldType::Short | FieldType::Enum => 14,
            FieldType::Char => 15,
            FieldType::Double => 16,
        }
    }
}

/// How the elements of a channel become a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One element.
    Scalar,
    /// As many elements as come, even one or none.
    Array,
    /// The characters of one string.
    Text,
}

/// Reads a value with its alarm and time.
pub fn reading(message: &Message<'_>, shape: Shape) -> Result<Reading, Malformed> {
    let Message { header, payload } = *message;
    let unknown = Malformed::UnknownType { command: header.command, data_type: header.data_type };
    let field = FieldType::of_time(header.data_type).ok_or(unknown)?;
    Ok(Reading {
        value: value(message, field, shape)?,
        seconds: EPICS_EPOCH + i64::from(u32_at(payload, 4)),
        nanos: u32_at(payload, 8),
        severity: i32::from(i16_at(payload, 2)),
        status: i32::from(i16_at(payload, 0)),
        message: None,
        user_tag: 0,
        overrun: false,
    })
}

fn value(message: &Message<'_>, field: FieldType, shape: Shape) -> Result<Value, Malformed> {
    let Message { header, payload } = *message;
    let needed = u64::from(header.count) * field.element_bytes() as u64;
    let short = || Malformed::ShortPayload {
        command: header.command,
        needed: needed + field.time_offset() as u64,
        found: payload.len(),
    };
    let all = payload.get(field.time_offset()..).ok_or_else(short)?;
    let needed = usize::try_from(needed).map_err(|_| short())?;
    let bytes = match (all.get(..needed), field) {
        (Some(bytes), _) => bytes,
        // Servers may cut a single string behind its closing zero.
        (None, FieldType::String) if header.count == 1 => all,
        (None, _) => return Err(short()),
    };
    match shape {
        Shape::Scalar => Ok(scalar(bytes, field).unwrap_or_else(|| Value::Array(array(bytes, field)))),
        Shape::Text if field == FieldType::Char => Ok(Value::String(text(bytes))),
        Shape::Array | Shape::Text => Ok(Value::Array(array(bytes, field))),
    }
}

/// The first element; none if there is none, as in a waveform of one element that was never processed.
fn scalar(bytes: &[u8], field: FieldType) -> Option<Value> {
    Some(match field {
        FieldType::String => Value::String(text(Some(bytes).filter(|bytes| !bytes.is_empty())?)),
        FieldType::Short => Value::I16(i16::from_be_bytes(*bytes.first_chunk()?)),
        FieldType::Float => Value::F32(f32::from_be_bytes(*bytes.first_chunk()?)),
        FieldType::Enum => Value::Enum(i32::from(u16::from_be_bytes(*bytes.first_chunk()?))),
        FieldType::Char => Value::U8(*bytes.first()?),
        FieldType::Long => Value::I32(i32::from_be_bytes(*bytes.first_chunk()?)),
        FieldType::Double => Value::F64(f64::from_be_bytes(*bytes.first_chunk()?)),
    })
}

fn array(bytes: &[u8], field: FieldType) -> Array {
    match field {
        FieldType::String => Array::String(bytes.chunks(STRING_BYTES).map(text).collect()),
        FieldType::Short => Array::I16(elements(bytes, i16::from_be_bytes)),
        FieldType::Float => Array::F32(elements(bytes, f32::from_be_bytes)),
        FieldType::Enum => Array::Enum(elements(bytes, |pair| i32::from(u16::from_be_bytes(pair)))),
        FieldType::Char => Array::U8(bytes.to_vec()),
        FieldType::Long => Array::I32(elements(bytes, i32::from_be_bytes)),
        FieldType::Double => Array::F64(elements(bytes, f64::from_be_bytes)),
    }
}

fn elements<const N: usize, T>(bytes: &[u8], decode: impl Fn([u8; N]) -> T) -> Vec<T> {
    let (chunks, _) = bytes.as_chunks::<N>();
    chunks.iter().map(|chunk| decode(*chunk)).collect()
}

/// Reads units, limits and labels; the message may carry any GR or CTRL type.
pub fn description(message: &Message<'_>, element_count: u64) -> Result<Description, Malformed> {
    let Message { header, payload } = *message;
    let unknown = Malformed::UnknownType { command: header.command, data_type: header.data_type };
    let (field, has_control) = match header.data_type {
        number @ 21..=27 => (FieldType::from_number(number - 21), false),
        number @ 28..=34 => (FieldType::from_number(number - 28), true),
        _ => (None, false),
    };
    let field = field.ok_or(unknown)?;
    let needed = description_bytes(field, has_control);
    if payload.len() < needed {
        let (needed, found) = (needed as u64, payload.len());
        return Err(Malformed::ShortPayload { command: header.command, needed, found });
    }
    let mut found = Description { element_count: Some(element_count), ..Description::default() };
    match field {
        FieldType::String => {}
        FieldType::Enum => found.labels = labels(payload),
        FieldType::Short | FieldType::Char | FieldType::Long => numbers(&mut found, payload, 4, field, has_control),
        FieldType::Float | FieldType::Double => {
            found.precision = Some(i32::from(i16_at(payload, 4)));
            numbers(&mut found, payload, 8, field, has_control);
        }
    }
    Ok(found)
}

/// Bytes before the value.
fn description_bytes(field: FieldType, has_control: bool) -> usize {
    let limits = if has_control { 8 } else { 6 };
    match field {
        FieldType::String => 4,
        FieldType::Enum => 6 + LABELS_MAX * LABEL_BYTES,
        FieldType::Short | FieldType::Char | FieldType::Long => 12 + limits * field.element_bytes(),
        FieldType::Float | FieldType::Double => 16 + limits * field.element_bytes(),
    }
}

fn labels(payload: &[u8]) -> Vec<String> {
    let count = usize::try_from(i16_at(payload, 4)).unwrap_or(0).min(LABELS_MAX);
    payload.get(6..).unwrap_or_default().chunks(LABEL_BYTES).take(count).map(text).collect()
}

fn numbers(found: &mut Description, payload: &[u8], units_offset: usize, field: FieldType, has_control: bool) {
    let (units, limits) = payload.get(units_offset..).unwrap_or_default().split_at_checked(8).unwrap_or_default();
    found.units = Some(text(units));
    let limit = |index: usize| limit_at(limits, index, field);
    found.display = Some(Limits { low: limit(1), high: limit(0) });
    found.alarm = Some(Limits { low: limit(5), high: limit(2) });
    found.warning = Some(Limits { low: limit(4), high: limit(3) });
    found.control = has_control.then(|| Limits { low: limit(7), high: limit(6) });
}

fn limit_at(limits: &[u8], index: usize, field: FieldType) -> f64 {
    let bytes = limits.get(index * field.element_bytes()..).unwrap_or_default();
    let value = match field {
        FieldType::Short => bytes.first_chunk().map(|b| f64::from(i16::from_be_bytes(*b))),
        FieldType::Char => bytes.first().map(|b| f64::from(*b)),
        FieldType::Long => bytes.first_chunk().map(|b| f64::from(i32::from_be_bytes(*b))),
        FieldType::Float => bytes.first_chunk().map(|b| f64::from(f32::from_be_bytes(*b))),
        FieldType::Double => bytes.first_chunk().map(|b| f64::from_be_bytes(*b)),
        FieldType::String | FieldType::Enum => None,
    };
    value.unwrap_or(f64::NAN)
}

fn i16_at(bytes: &[u8], offset: usize) -> i16 {
    u16_at(bytes, offset).cast_signed()
}

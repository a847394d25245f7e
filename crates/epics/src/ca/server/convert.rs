//! Values as elements of the seven types of the protocol, converted where a client asks for another type than the channel's.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use crate::{Array, Description, Value, ca::dbr::FieldType};

/// A string on the wire, with its closing zero.
const STRING_BYTES: usize = 40;

/// How a number is written as text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Whole,
    /// With the precision of its PV.
    Float,
    /// By the label of the state.
    State,
}

/// Appends the elements of a value of the type `field`; returns how many.
pub(super) fn native(value: &Value, field: FieldType, out: &mut Vec<u8>) -> u32 {
    elements(value, field, &Description::default(), out)
}

/// Appends the elements of a value, as `field`; returns how many. Strings are made with the precision and labels of `about`.
pub(super) fn elements(value: &Value, field: FieldType, about: &Description, out: &mut Vec<u8>) -> u32 {
    match value {
        Value::Array(array) => array_elements(array, field, about, out),
        Value::String(text) => one_text(text, field, about, out),
        Value::Enum(state) => one(f64::from(*state), Style::State, field, about, out),
        Value::F32(_) | Value::F64(_) => one(number(value), Style::Float, field, about, out),
        _ => one(number(value), Style::Whole, field, about, out),
    }
}

fn number(value: &Value) -> f64 {
    match *value {
        Value::Bool(flag) => f64::from(u8::from(flag)),
        Value::I8(n) => n.into(),
        Value::U8(n) => n.into(),
        Value::I16(n) => n.into(),
        Value::U16(n) => n.into(),
        Value::I32(n) | Value::Enum(n) => n.into(),
        Value::U32(n) => n.into(),
        Value::I64(n) => n as f64,
        Value::U64(n) => n as f64,
        Value::F32(n) => n.into(),
        Value::F64(n) => n,
        Value::String(_) | Value::Array(_) | Value::Structure(_) => f64::NAN,
    }
}

fn array_elements(array: &Array, field: FieldType, about: &Description, out: &mut Vec<u8>) -> u32 {
    match (array, field) {
        // The plain copies.
        (Array::U8(all), FieldType::Char) => out.extend_from_slice(all),
        (Array::I16(all), FieldType::Short) => out.extend(all.iter().flat_map(|n| n.to_be_bytes())),
        (Array::I32(all), FieldType::Long) => out.extend(all.iter().flat_map(|n| n.to_be_bytes())),
        (Array::F32(all), FieldType::Float) => out.extend(all.iter().flat_map(|n| n.to_be_bytes())),
        (Array::F64(all), FieldType::Double) => out.extend(all.iter().flat_map(|n| n.to_be_bytes())),
        (Array::String(all), _) => return all.iter().map(|text| one_text(text, field, about, out)).sum(),
        (Array::Enum(all), _) => return all.iter().map(|n| one(f64::from(*n), Style::State, field, about, out)).sum(),
        _ => {
            let style = if matches!(array, Array::F32(_) | Array::F64(_)) { Style::Float } else { Style::Whole };
            return numbers(array).into_iter().map(|n| one(n, style, field, about, out)).sum();
        }
    }
    length(array)
}

/// The elements of an array of numbers as the widest of them.
fn numbers(array: &Array) -> Vec<f64> {
    match array {
        Array::Bool(all) => all.iter().map(|flag| f64::from(u8::from(*flag))).collect(),
        Array::I8(all) => all.iter().map(|n| f64::from(*n)).collect(),
        Array::U8(all) => all.iter().map(|n| f64::from(*n)).collect(),
        Array::I16(all) => all.iter().map(|n| f64::from(*n)).collect(),
        Array::U16(all) => all.iter().map(|n| f64::from(*n)).collect(),
        Array::I32(all) | Array::Enum(all) => all.iter().map(|n| f64::from(*n)).collect(),
        Array::U32(all) => all.iter().map(|n| f64::from(*n)).collect(),
        Array::I64(all) => all.iter().map(|n| *n as f64).collect(),
        Array::U64(all) => all.iter().map(|n| *n as f64).collect(),
        Array::F32(all) => all.iter().map(|n| f64::from(*n)).collect(),
        Array::F64(all) => all.clone(),
        Array::String(_) => Vec::new(),
    }
}

fn length(array: &Array) -> u32 {
    let length = match array {
        Array::U8(all) => all.len(),
        Array::I16(all) => all.len(),
        Array::I32(all) => all.len(),
        Array::F32(all) => all.len(),
        Array::F64(all) => all.len(),
        _ => 0,
    };
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// One number as an element of any type; what does not fit is cut off, as C does it on the machines that run IOCs.
fn one(number: f64, style: Style, field: FieldType, about: &Description, out: &mut Vec<u8>) -> u32 {
    match field {
        FieldType::Char => out.push(number as i64 as u8),
        FieldType::Short | FieldType::Enum => out.extend_from_slice(&(number as i64 as i16).to_be_bytes()),
        FieldType::Long => out.extend_from_slice(&(number as i64 as i32).to_be_bytes()),
        FieldType::Float => out.extend_from_slice(&(number as f32).to_be_bytes()),
        FieldType::Double => out.extend_from_slice(&number.to_be_bytes()),
        FieldType::String => {
            let label = if style == Style::State { about.labels.get(number as usize) } else { None };
            let decimals = about.precision.filter(|_| style == Style::Float).unwrap_or(0);
            let precision = usize::try_from(decimals).unwrap_or(0).min(17);
            put_text(label.map_or_else(|| format!("{number:.precision$}"), Clone::clone).as_bytes(), STRING_BYTES, out);
        }
    }
    1
}

fn one_text(text: &str, field: FieldType, about: &Description, out: &mut Vec<u8>) -> u32 {
    if field == FieldType::String {
        put_text(text.as_bytes(), STRING_BYTES, out);
        return 1;
    }
    one(text.trim().parse().unwrap_or(0.0), Style::Whole, field, about, out)
}

/// Appends a text that is followed by zeros, at least one, in so many bytes.
pub(super) fn put_text(text: &[u8], room: usize, out: &mut Vec<u8>) {
    let end = out.len() + room;
    out.extend(text.iter().take(room - 1));
    out.resize(end, 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn as_text(value: &Value, about: &Description) -> String {
        let mut out = Vec::new();
        assert_eq!(elements(value, FieldType::String, about, &mut out), 1);
        assert_eq!(out.len(), STRING_BYTES);
        crate::ca::wire::text(&out)
    }

    #[test]
    fn numbers_become_text_with_their_precision_and_states_their_labels() {
        let about =
            Description { precision: Some(2), labels: vec!["off".into(), "on".into()], ..Description::default() };
        assert_eq!(as_text(&Value::F64(1.005), &about), "1.00");
        assert_eq!(as_text(&Value::I32(-7), &Description::default()), "-7");
        assert_eq!(as_text(&Value::Enum(1), &about), "on");
        assert_eq!(as_text(&Value::Enum(9), &Description::default()), "9");
        assert_eq!(as_text(&Value::String("x".repeat(60)), &about).len(), 39);
    }

    #[test]
    fn elements_are_big_endian_and_counted() {
        let mut out = Vec::new();
        assert_eq!(native(&Value::Array(Array::I16(vec![1, -2, 3])), FieldType::Short, &mut out), 3);
        assert_eq!(out, [0, 1, 255, 254, 0, 3]);
        out.clear();
        assert_eq!(elements(&Value::String("258".into()), FieldType::Long, &Description::default(), &mut out), 1);
        assert_eq!(out, [0, 0, 1, 2]);
    }
}

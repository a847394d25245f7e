//! Scalars and lists as JSON text, in the dialects that are spoken here.

use std::io::{self, Write};

use sample::Column;
use serde::Serialize;

/// What JSON itself leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Every reader gets exactly the number: NaN, infinities and integers beyond 2^53 are strings.
    Exact,
    /// As the Archiver Appliance writes: bare NaN and Infinity, integers of any size.
    Appliance,
    /// As the Archiver Appliance writes for its own viewer, which reads strict JSON: null for what is no number.
    Viewer,
}

/// Integers up to here are exact in readers that know only floats.
pub(super) const EXACT_MAX: u64 = 1 << 53;

/// Writes the value at `row`, if it is a scalar; else nothing is written.
pub(super) fn put_scalar(out: &mut Vec<u8>, column: &Column, row: usize, dialect: Dialect) -> bool {
    match column {
        Column::Bool(v) => put_json(out, &v[row]),
        Column::I8(v) => put_json(out, &v[row]),
        Column::U8(v) => put_json(out, &v[row]),
        Column::I16(v) => put_json(out, &v[row]),
        Column::U16(v) => put_json(out, &v[row]),
        Column::I32(v) | Column::Enum(v) => put_json(out, &v[row]),
        Column::U32(v) => put_json(out, &v[row]),
        Column::I64(v) => put_long(out, v[row], v[row].unsigned_abs(), dialect),
        Column::U64(v) => put_long(out, v[row], v[row], dialect),
        Column::F32(v) if v[row].is_finite() => put_json(out, &v[row]),
        Column::F32(v) => put_non_finite(out, f64::from(v[row]), dialect),
        Column::F64(v) => put_f64(out, v[row], dialect),
        Column::String(v) => put_json(out, &v.get(row)),
        Column::Structure(_) | Column::Array(_) => return false,
    }
    true
}

/// A number in a cell of CSV; NaN, which stands for none, leaves the cell empty.
pub(crate) fn put_cell(out: &mut Vec<u8>, number: f64) {
    if !number.is_nan() {
        put_f64(out, number, Dialect::Appliance);
    }
}

/// A float; strings or bare words where JSON has no number for it.
pub(crate) fn put_f64(out: &mut Vec<u8>, number: f64, dialect: Dialect) {
    if number.is_finite() { put_json(out, &number) } else { put_non_finite(out, number, dialect) }
}

/// A number in JSON of which NaN says that it is not known: null then, and infinities are texts.
pub(crate) fn put_known(out: &mut Vec<u8>, number: f64) {
    if number.is_nan() { out.extend_from_slice(b"null") } else { put_f64(out, number, Dialect::Exact) }
}

/// Anything that serde writes.
pub(crate) fn put_json(out: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(Short(out), value)
        .expect("a vector takes every byte, and the value has no maps with odd keys");
}

/// Takes short texts, as numbers are, in copies of a fixed length that overlap: a call to copy took as long as to make the digits.
struct Short<'a>(&'a mut Vec<u8>);

impl Short<'_> {
    /// A text of this length, or of up to twice of it.
    #[inline(always)]
    fn put<const N: usize>(&mut self, text: &[u8]) {
        let (Some(first), Some(last)) = (text.first_chunk::<N>(), text.last_chunk::<N>()) else { return };
        let end = self.0.len() + text.len();
        self.0.extend_from_slice(first);
        self.0.truncate(end - N);
        self.0.extend_from_slice(last);
    }
}

impl Write for Short<'_> {
    #[inline(always)]
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        match text.len() {
            1 => self.put::<1>(text),
            2..4 => self.put::<2>(text),
            4..8 => self.put::<4>(text),
            8..16 => self.put::<8>(text),
            16..=32 => self.put::<16>(text),
            _ => self.0.extend_from_slice(text),
        }
        Ok(text.len())
    }

    #[inline(always)]
    fn write_all(&mut self, text: &[u8]) -> io::Result<()> {
        self.write(text).map(|_| ())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A list in brackets.
pub(crate) fn put_list<I: Iterator>(out: &mut Vec<u8>, items: I, mut put_item: impl FnMut(&mut Vec<u8>, I::Item)) {
    out.push(b'[');
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        put_item(out, item);
    }
    out.push(b']');
}

fn put_long(out: &mut Vec<u8>, value: impl Serialize, magnitude: u64, dialect: Dialect) {
    let quote: &[u8] = if dialect == Dialect::Exact && magnitude > EXACT_MAX { b"\"" } else { b"" };
    out.extend_from_slice(quote);
    put_json(out, &value);
    out.extend_from_slice(quote);
}

fn put_non_finite(out: &mut Vec<u8>, number: f64, dialect: Dialect) {
    out.extend_from_slice(non_finite(number, dialect).as_bytes());
}

/// How a float is written that is no finite number.
pub(super) fn non_finite(number: f64, dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Exact if number.is_nan() => "\"NaN\"",
        Dialect::Exact if number > 0.0 => "\"Infinity\"",
        Dialect::Exact => "\"-Infinity\"",
        Dialect::Appliance if number.is_nan() => "NaN",
        Dialect::Appliance if number > 0.0 => "Infinity",
        Dialect::Appliance => "-Infinity",
        Dialect::Viewer => "null",
    }
}

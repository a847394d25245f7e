//! A value: one reading of a PV, of any type that Channel Access or pvAccess carries.

use std::{fmt, sync::Arc};

use crate::Column;

/// The type of one element. The numbers are part of the file format and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Element {
    /// True or false.
    Bool = 0,
    /// Signed, 8 bits.
    I8 = 1,
    /// Unsigned, 8 bits (Channel Access CHAR).
    U8 = 2,
    /// Signed, 16 bits.
    I16 = 3,
    /// Unsigned, 16 bits.
    U16 = 4,
    /// Signed, 32 bits.
    I32 = 5,
    /// Unsigned, 32 bits.
    U32 = 6,
    /// Signed, 64 bits.
    I64 = 7,
    /// Unsigned, 64 bits.
    U64 = 8,
    /// Float, 32 bits.
    F32 = 9,
    /// Float, 64 bits.
    F64 = 10,
    /// Index of a state whose names are in the metadata.
    Enum = 11,
    /// Text.
    String = 12,
    /// A whole pvAccess structure: its type description followed by its value, as pvAccess writes them (little-endian).
    Structure = 13,
}

impl Element {
    /// All of them, in the order of their numbers.
    pub const ALL: [Element; 14] = [
        Element::Bool,
        Element::I8,
        Element::U8,
        Element::I16,
        Element::U16,
        Element::I32,
        Element::U32,
        Element::I64,
        Element::U64,
        Element::F32,
        Element::F64,
        Element::Enum,
        Element::String,
        Element::Structure,
    ];

    /// The name used in answers.
    pub fn name(self) -> &'static str {
        match self {
            Element::Bool => "bool",
            Element::I8 => "i8",
            Element::U8 => "u8",
            Element::I16 => "i16",
            Element::U16 => "u16",
            Element::I32 => "i32",
            Element::U32 => "u32",
            Element::I64 => "i64",
            Element::U64 => "u64",
            Element::F32 => "f32",
            Element::F64 => "f64",
            Element::Enum => "enum",
            Element::String => "string",
            Element::Structure => "structure",
        }
    }

    /// How many bytes a number of this type takes; 0 of texts and structures, which are none.
    pub const fn number_bytes(self) -> usize {
        match self {
            Element::Bool | Element::I8 | Element::U8 => 1,
            Element::I16 | Element::U16 => 2,
            Element::I32 | Element::U32 | Element::F32 | Element::Enum => 4,
            Element::I64 | Element::U64 | Element::F64 => 8,
            Element::String | Element::Structure => 0,
        }
    }

    /// Whether it is a number, a boolean or the index of a state.
    pub const fn is_number(self) -> bool {
        !matches!(self, Element::String | Element::Structure)
    }

    /// The type with that number on disk.
    pub fn from_number(number: u8) -> Option<Element> {
        Element::ALL.get(usize::from(number)).copied()
    }
}

/// One element or any number of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Shape {
    /// Exactly one.
    Scalar,
    /// Any number, different from sample to sample.
    Array,
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueType {
    /// Of what.
    pub element: Element,
    /// How many.
    pub shape: Shape,
}

impl ValueType {
    /// The type of single values of this element.
    pub const fn scalar(element: Element) -> ValueType {
        ValueType { element, shape: Shape::Scalar }
    }

    /// The type of arrays of this element.
    pub const fn array(element: Element) -> ValueType {
        ValueType { element, shape: Shape::Array }
    }

    /// Whether a minimum, a maximum and a mean make sense: scalar numbers, booleans and enum indices.
    pub fn is_numeric_scalar(self) -> bool {
        self.shape == Shape::Scalar && self.element.is_number()
    }

    /// Whether each element of it has a minimum, a maximum and a mean of its own.
    pub fn is_numeric_array(self) -> bool {
        self.shape == Shape::Array && self.element.is_number()
    }
}

impl fmt::Display for ValueType {
    /// `f64` for scalars, `f64[]` for arrays.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.element.name())?;
        if self.shape == Shape::Array { f.write_str("[]") } else { Ok(()) }
    }
}

/// One reading.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the variants are the elements, documented there")]
pub enum Value {
    Bool(bool),
    I8(i8),
    U8(u8),
    I16(i16),
    U16(u16),
    I32(i32),
    U32(u32),
    I64(i64),
    U64(u64),
    F32(f32),
    F64(f64),
    Enum(i32),
    String(Arc<str>),
    Structure(Arc<[u8]>),
    /// The elements of an array, which are themselves no arrays.
    Array(Column),
}

impl Value {
    /// Its type.
    pub fn value_type(&self) -> ValueType {
        ValueType::scalar(match self {
            Value::Bool(_) => Element::Bool,
            Value::I8(_) => Element::I8,
            Value::U8(_) => Element::U8,
            Value::I16(_) => Element::I16,
            Value::U16(_) => Element::U16,
            Value::I32(_) => Element::I32,
            Value::U32(_) => Element::U32,
            Value::I64(_) => Element::I64,
            Value::U64(_) => Element::U64,
            Value::F32(_) => Element::F32,
            Value::F64(_) => Element::F64,
            Value::Enum(_) => Element::Enum,
            Value::String(_) => Element::String,
            Value::Structure(_) => Element::Structure,
            Value::Array(elements) => return ValueType::array(elements.value_type().element),
        })
    }

    /// A single number as its type and its bits, integers of fewer than 64 extended by their sign; none of any other value.
    #[inline]
    pub fn bits(&self) -> Option<(Element, u64)> {
        Some(match self {
            Value::F64(v) => (Element::F64, v.to_bits()),
            Value::Bool(v) => (Element::Bool, u64::from(*v)),
            Value::I8(v) => (Element::I8, *v as u64),
            Value::U8(v) => (Element::U8, u64::from(*v)),
            Value::I16(v) => (Element::I16, *v as u64),
            Value::U16(v) => (Element::U16, u64::from(*v)),
            Value::I32(v) => (Element::I32, *v as u64),
            Value::U32(v) => (Element::U32, u64::from(*v)),
            Value::I64(v) => (Element::I64, *v as u64),
            Value::U64(v) => (Element::U64, *v),
            Value::F32(v) => (Element::F32, u64::from(v.to_bits())),
            Value::Enum(v) => (Element::Enum, *v as u64),
            Value::String(_) | Value::Structure(_) | Value::Array(_) => return None,
        })
    }

    /// Its number, where it is one: scalars except text and structures.
    pub fn as_f64(&self) -> Option<f64> {
        Some(match self {
            Value::Bool(v) => f64::from(u8::from(*v)),
            Value::I8(v) => f64::from(*v),
            Value::U8(v) => f64::from(*v),
            Value::I16(v) => f64::from(*v),
            Value::U16(v) => f64::from(*v),
            Value::I32(v) => f64::from(*v),
            Value::U32(v) => f64::from(*v),
            Value::I64(v) => *v as f64,
            Value::U64(v) => *v as f64,
            Value::F32(v) => f64::from(*v),
            Value::F64(v) => *v,
            Value::Enum(v) => f64::from(*v),
            Value::String(_) | Value::Structure(_) | Value::Array(_) => return None,
        })
    }

    /// The bytes of an array, text or structure, as `VALUE_BYTES_MAX` counts them: texts in an array have 8 besides their own. None of
    /// single numbers.
    pub fn byte_size(&self) -> usize {
        match self {
            Value::Array(elements) => elements.byte_size(),
            Value::String(text) => text.len(),
            Value::Structure(bytes) => bytes.len(),
            _ => 0,
        }
    }

    /// Equal to the last bit, so that NaN equals itself and -0 differs from 0.
    pub fn identical(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::F32(a), Value::F32(b)) => a.to_bits() == b.to_bits(),
            (Value::F64(a), Value::F64(b)) => a.to_bits() == b.to_bits(),
            (Value::Array(a), Value::Array(b)) => a.identical(b),
            (a, b) => a == b,
        }
    }
}

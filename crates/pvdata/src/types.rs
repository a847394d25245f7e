//! Type descriptions: what a value consists of, and how pvAccess writes that down ("FieldDesc").
//!
//! ```text
//!   type   := code                               scalar or any, or an array of these of any length
//!           | code size                          bounded or fixed array, bounded string
//!           | 0x80 fields | 0x81 fields          structure, union
//!           | 0x88 type | 0x89 type              array of these; the type is a structure or a union
//!           | 0xFD id:u16 type | 0xFE id:u16     remember this type under a number | the type with that number
//!   fields := id:string size (name:string type)*
//!   code   := family (3 bits), 00 one 01 many 10 bounded 11 fixed (2 bits), kind (3 bits)
//! ```
//!
//! Structures are shared: a circuit with 25,000 PVs of one type holds it once.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{fmt, sync::Arc};

use crate::{Error, wire::Writer};

/// How deep structures, unions and anys may nest. Real ones reach 6.
pub const DEPTH_MAX: usize = 32;

/// How many fields a type may have in all its levels. Real ones reach some hundreds.
pub const FIELDS_MAX: usize = 16_384;

/// The type of one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the words say it")]
pub enum Scalar {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
    String,
}

/// Every scalar with its code.
const SCALARS: [(Scalar, u8); 12] = [
    (Scalar::Bool, 0x00),
    (Scalar::I8, 0x20),
    (Scalar::I16, 0x21),
    (Scalar::I32, 0x22),
    (Scalar::I64, 0x23),
    (Scalar::U8, 0x24),
    (Scalar::U16, 0x25),
    (Scalar::U32, 0x26),
    (Scalar::U64, 0x27),
    (Scalar::F32, 0x42),
    (Scalar::F64, 0x43),
    (Scalar::String, 0x60),
];

pub(crate) const STRUCTURE: u8 = 0x80;
pub(crate) const UNION: u8 = 0x81;
pub(crate) const ANY: u8 = 0x82;
pub(crate) const BOUNDED_STRING: u8 = 0x83;
pub(crate) const NOTHING: u8 = 0xff;

impl Scalar {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Scalar> {
        SCALARS.iter().map(|(scalar, _)| *scalar)
    }

    /// The name that pvData gives it.
    pub fn name(self) -> &'static str {
        match self {
            Scalar::Bool => "boolean",
            Scalar::I8 => "byte",
            Scalar::I16 => "short",
            Scalar::I32 => "int",
            Scalar::I64 => "long",
            Scalar::U8 => "ubyte",
            Scalar::U16 => "ushort",
            Scalar::U32 => "uint",
            Scalar::U64 => "ulong",
            Scalar::F32 => "float",
            Scalar::F64 => "double",
            Scalar::String => "string",
        }
    }

    /// The least that one element takes on the wire.
    pub(crate) fn bytes_min(self) -> usize {
        match self {
            Scalar::Bool | Scalar::I8 | Scalar::U8 | Scalar::String => 1,
            Scalar::I16 | Scalar::U16 => 2,
            Scalar::I32 | Scalar::U32 | Scalar::F32 => 4,
            Scalar::I64 | Scalar::U64 | Scalar::F64 => 8,
        }
    }

    fn code(self) -> u8 {
        SCALARS.iter().find(|(scalar, _)| *scalar == self).map_or(0, |(_, code)| *code)
    }

    pub(crate) fn from_code(code: u8) -> Option<Scalar> {
        SCALARS.iter().find(|(_, known)| *known == code).map(|(scalar, _)| *scalar)
    }
}

/// How many elements an array may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// Any number.
    Variable,
    /// At most so many.
    Bounded(u32),
    /// Exactly so many.
    Fixed(u32),
}

/// What a value consists of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// One number, truth value or text.
    Scalar(Scalar),
    /// A text of at most so many bytes.
    BoundedString(u32),
    /// Many of a kind.
    Array(Scalar, Extent),
    /// Named fields.
    Structure(Arc<Structure>),
    /// Many structures of one type, each of which may be missing.
    StructureArray(Arc<Structure>, Extent),
    /// One of several named members, or none.
    Union(Arc<Structure>),
    /// Many unions of one type, each of which may be missing.
    UnionArray(Arc<Structure>, Extent),
    /// A value that brings its own type, or none.
    Any,
    /// Many of these.
    AnyArray(Extent),
}

/// The fields of a structure, or the members of a union.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Structure {
    id: Box<str>,
    fields: Box<[Field]>,
    // computed once, because limits and field numbers need them again and again
    nodes: u32,
    depth: u32,
    numbers: u32,
}

/// A field of a structure, or a member of a union.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// Its name.
    pub name: Box<str>,
    /// Its type.
    pub ty: Type,
}

impl Structure {
    /// Puts a structure or a union together; refused beyond [`DEPTH_MAX`] and [`FIELDS_MAX`].
    pub fn new(id: &str, fields: Vec<Field>) -> Result<Structure, Error> {
        let nodes = 1 + fields.iter().map(|field| field.ty.nodes()).sum::<usize>();
        let depth = 1 + fields.iter().map(|field| field.ty.depth()).max().unwrap_or(0);
        check("a type description", nodes, FIELDS_MAX)?;
        check("the nesting of a type description", depth, DEPTH_MAX)?;
        let numbers = 1 + fields.iter().map(|field| field.ty.field_numbers()).sum::<usize>();
        let (nodes, depth, numbers) = (nodes as u32, depth as u32, numbers as u32);
        Ok(Structure { id: id.into(), fields: fields.into(), nodes, depth, numbers })
    }

    /// The name of the type, such as `epics:nt/NTScalar:1.0`; empty if it has none.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The fields in order.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The position and type of the field with that name.
    pub fn field(&self, name: &str) -> Option<(usize, &Type)> {
        let at = self.fields.iter().position(|field| *field.name == *name)?;
        self.fields.get(at).map(|field| (at, &field.ty))
    }
}

pub(crate) fn check(what: &'static str, size: usize, limit: usize) -> Result<(), Error> {
    if size > limit { Err(Error::TooLarge { what, size: size as u64, limit: limit as u64 }) } else { Ok(()) }
}

impl Type {
    /// A structure of these fields, for tests and requests.
    pub fn structure<'a>(id: &str, fields: impl IntoIterator<Item = (&'a str, Type)>) -> Result<Type, Error> {
        let fields = fields.into_iter().map(|(name, ty)| Field { name: name.into(), ty }).collect();
        Ok(Type::Structure(Arc::new(Structure::new(id, fields)?)))
    }

    /// How many field numbers it takes: structures count themselves and their fields, all else counts once.
    pub fn field_numbers(&self) -> usize {
        match self {
            Type::Structure(s) => s.numbers as usize,
            _ => 1,
        }
    }

    fn nodes(&self) -> usize {
        match self {
            Type::Structure(s) | Type::StructureArray(s, _) | Type::Union(s) | Type::UnionArray(s, _) => {
                s.nodes as usize
            }
            _ => 1,
        }
    }

    fn depth(&self) -> usize {
        match self {
            Type::Structure(s) | Type::StructureArray(s, _) | Type::Union(s) | Type::UnionArray(s, _) => {
                s.depth as usize
            }
            _ => 0,
        }
    }

    /// Writes the description whole, without references to earlier ones.
    pub fn encode(&self, w: &mut Writer) {
        match self {
            Type::Scalar(scalar) => w.u8(scalar.code()),
            Type::BoundedString(size) => {
                w.u8(BOUNDED_STRING);
                w.size(Some(*size as usize));
            }
            Type::Array(scalar, extent) => encode_array_code(scalar.code(), *extent, w),
            Type::Structure(s) => encode_fields(STRUCTURE, s, w),
            Type::Union(s) => encode_fields(UNION, s, w),
            Type::Any => w.u8(ANY),
            Type::AnyArray(extent) => encode_array_code(ANY, *extent, w),
            Type::StructureArray(s, extent) => {
                encode_array_code(STRUCTURE, *extent, w);
                encode_fields(STRUCTURE, s, w);
            }
            Type::UnionArray(s, extent) => {
                encode_array_code(UNION, *extent, w);
                encode_fields(UNION, s, w);
            }
        }
    }

    /// Writes the description of "no type", the start of an any without a value.
    pub fn encode_nothing(w: &mut Writer) {
        w.u8(NOTHING);
    }
}

impl fmt::Display for Type {
    /// In one line: `point{x: double, names: string[], next: any}[]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Scalar(scalar) => f.write_str(scalar.name()),
            Type::BoundedString(size) => write!(f, "string<={size}"),
            Type::Array(scalar, extent) => write!(f, "{}{extent}", scalar.name()),
            Type::Structure(s) => write!(f, "{s}"),
            Type::StructureArray(s, extent) => write!(f, "{s}{extent}"),
            Type::Union(s) => write!(f, "union {s}"),
            Type::UnionArray(s, extent) => write!(f, "union {s}{extent}"),
            Type::Any => f.write_str("any"),
            Type::AnyArray(extent) => write!(f, "any{extent}"),
        }
    }
}

impl fmt::Display for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{{", self.id)?;
        for (at, field) in self.fields.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{}: {}", field.name, field.ty)?;
        }
        f.write_str("}")
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extent::Variable => f.write_str("[]"),
            Extent::Bounded(size) => write!(f, "[<={size}]"),
            Extent::Fixed(size) => write!(f, "[{size}]"),
        }
    }
}

fn encode_array_code(code: u8, extent: Extent, w: &mut Writer) {
    match extent {
        Extent::Variable => w.u8(code | 0x08),
        Extent::Bounded(size) => {
            w.u8(code | 0x10);
            w.size(Some(size as usize));
        }
        Extent::Fixed(size) => {
            w.u8(code | 0x18);
            w.size(Some(size as usize));
        }
    }
}

fn encode_fields(code: u8, s: &Structure, w: &mut Writer) {
    w.u8(code);
    w.string(&s.id);
    w.size(Some(s.fields.len()));
    for field in &s.fields {
        w.string(&field.name);
        field.ty.encode(w);
    }
}

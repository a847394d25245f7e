//! Values of any type, as trees: read from the wire, merged with changes, written again.
//!
//! ```text
//!   structure   := field*                         union  := size(selector, or none) value
//!   structure[] := size (0 | 1 structure)*        any    := type value | 0xFF
//!   union[]     := size (0 | 1 union)*            any[]  := size (0 | 1 any)*
//!   array       := size element*                  fixed array := element*
//! ```
//!
//! The tree does not repeat the names: it is read beside its [`Type`], and [`Data`] holds both.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use crate::{
    Array, BitSet, Error, array,
    registry::TypeRegistry,
    types::{DEPTH_MAX, Extent, Field, Scalar, Structure, Type},
    wire::{Order, Reader, Writer},
};

/// A value; what it means stands in its [`Type`].
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the words say it")]
pub enum Tree {
    Bool(bool),
    I8(i8),
    I16(i16),
    I32(i32),
    I64(i64),
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    F32(f32),
    F64(f64),
    String(String),
    /// Elements of one scalar type; never [`Array::Enum`].
    Array(Array),
    /// One tree per field.
    Structure(Vec<Tree>),
    /// Structures of one type, some of which may be missing.
    Structures(Vec<Option<Vec<Tree>>>),
    /// The selected member and its value, or none.
    Union(Option<Box<Selected>>),
    /// Unions of one type, some of which may be missing.
    Unions(Vec<Option<Tree>>),
    /// A value with its own type, or none.
    Any(Option<Box<Data>>),
    /// Many of these.
    Anys(Vec<Option<Data>>),
}

/// The member of a union that is in use.
#[derive(Clone, Debug, PartialEq)]
pub struct Selected {
    /// Its place among the members of the union's type.
    pub member: usize,
    /// Its value.
    pub value: Tree,
}

/// A value together with its type.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    /// What the value means.
    pub ty: Type,
    /// The value.
    pub value: Tree,
}

/// What may be made of a structure that was kept whole: of the largest, of texts of a few letters.
const STORED_BYTES_MAX: usize = 4 << 30;

/// Reads the bytes of a structure that was kept whole: a whole type description and the whole value, little-endian.
pub fn decode_structure(bytes: &[u8]) -> Result<Data, Error> {
    // An archive may hold larger values than a client takes from the network today, and they stay readable.
    let mut reader = Reader::new(bytes, Order::Little).with_room(STORED_BYTES_MAX);
    let data = read(&mut reader, &mut TypeRegistry::default())?;
    match reader.rest().len() {
        0 => Ok(data),
        bytes => Err(Error::Trailing { bytes }),
    }
}

/// Reads a type description and a value of that type.
pub fn read(reader: &mut Reader, registry: &mut TypeRegistry) -> Result<Data, Error> {
    let ty = registry.decode(reader)?.ok_or(Error::Mismatch { what: "a missing value" })?;
    let value = Decoder::new(reader, registry).tree(&ty)?;
    Ok(Data { ty, value })
}

impl Data {
    /// Writes a whole type description and the whole value: the reverse of [`decode_structure`] for a little-endian writer.
    pub fn encode(&self, w: &mut Writer) -> Result<(), Error> {
        self.ty.encode(w);
        self.value.encode(&self.ty, w)
    }

    /// What the value takes in memory together with its type, in bytes.
    fn memory(&self) -> usize {
        size_of::<Data>() + self.ty.field_numbers() * size_of::<Field>() + self.value.memory()
    }

    /// The fields of a structure with their names and types; nothing for all else.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Type, &Tree)> {
        let (fields, trees) = match (&self.ty, &self.value) {
            (Type::Structure(s), Tree::Structure(trees)) => (s.fields(), trees.as_slice()),
            _ => (&[] as &[_], &[] as &[_]),
        };
        fields.iter().zip(trees).map(|(field, tree)| (&*field.name, &field.ty, tree))
    }
}

/// Reads values, within limits: what it allocates is bounded by the bytes that it reads, and by the room of its reader.
pub struct Decoder<'r, 'a> {
    reader: &'r mut Reader<'a>,
    registry: &'r mut TypeRegistry,
    /// How many more trees may be made. Structures without fields take no bytes, so bytes alone do not bound them.
    trees: usize,
    depth: usize,
}

impl<'r, 'a> Decoder<'r, 'a> {
    /// Begins where `reader` stands.
    pub fn new(reader: &'r mut Reader<'a>, registry: &'r mut TypeRegistry) -> Decoder<'r, 'a> {
        let trees = 4096 + 4 * reader.rest().len();
        Decoder { reader, registry, trees, depth: 0 }
    }

    /// Reads a value of that type.
    pub fn tree(&mut self, ty: &Type) -> Result<Tree, Error> {
        let what = "the fields of a value";
        self.trees = self.trees.checked_sub(1).ok_or(Error::BadSize { what })?;
        self.reader.charge(size_of::<Tree>(), what)?;
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let (size, limit) = (self.depth as u64, DEPTH_MAX as u64);
            return Err(Error::TooLarge { what: "the nesting of a value", size, limit });
        }
        let tree = self.tree_within(ty);
        self.depth -= 1;
        tree
    }

    fn tree_within(&mut self, ty: &Type) -> Result<Tree, Error> {
        Ok(match ty {
            Type::Scalar(scalar) => decode_scalar(*scalar, self.reader)?,
            Type::BoundedString(_) => Tree::String(self.reader.string("a string")?),
            Type::Array(scalar, extent) => Tree::Array(Array::decode(*scalar, *extent, self.reader)?),
            Type::Structure(s) => Tree::Structure(self.structure(s)?),
            Type::Union(s) => Tree::Union(self.union(s)?),
            Type::Any => Tree::Any(self.any()?.map(Box::new)),
            Type::StructureArray(s, extent) => Tree::Structures(self.many(*extent, |d| d.structure(s))?),
            Type::UnionArray(s, extent) => Tree::Unions(self.many(*extent, |d| d.union(s).map(Tree::Union))?),
            Type::AnyArray(extent) => {
                // Made in place: an element that is missing and one without a type are the same.
                let anys = self.many(*extent, Self::any)?;
                Tree::Anys(anys.into_iter().map(Option::flatten).collect())
            }
        })
    }

    fn structure(&mut self, s: &Structure) -> Result<Vec<Tree>, Error> {
        let mut trees = Vec::with_capacity(s.fields().len());
        for field in s.fields() {
            trees.push(self.tree(&field.ty)?);
        }
        Ok(trees)
    }

    fn union(&mut self, s: &Structure) -> Result<Option<Box<Selected>>, Error> {
        let Some(member) = self.reader.size("the selector of a union")? else { return Ok(None) };
        let field = s.fields().get(member).ok_or(Error::BadSelector { selector: member })?;
        Ok(Some(Box::new(Selected { member, value: self.tree(&field.ty)? })))
    }

    fn any(&mut self) -> Result<Option<Data>, Error> {
        let Some(ty) = self.registry.decode(self.reader)? else { return Ok(None) };
        let value = self.tree(&ty)?;
        Ok(Some(Data { ty, value }))
    }

    fn many<T>(
        &mut self,
        extent: Extent,
        mut one: impl FnMut(&mut Self) -> Result<T, Error>,
    ) -> Result<Vec<Option<T>>, Error> {
        let what = "the elements of a value";
        let count = array::count(extent, 1, self.reader)?;
        self.reader.charge(count.saturating_mul(size_of::<Option<T>>()), what)?;
        let mut all = Vec::with_capacity(count);
        for _ in 0..count {
            self.trees = self.trees.checked_sub(1).ok_or(Error::BadSize { what })?;
            let present = self.reader.u8(what)? != 0;
            all.push(if present { Some(one(self)?) } else { None });
        }
        Ok(all)
    }

    /// Reads the fields that `changed` names into `tree`; `number` is the field number of `tree` itself. Returns the
    /// field number after it.
    pub fn merge(&mut self, ty: &Type, tree: &mut Tree, changed: &BitSet, number: usize) -> Result<usize, Error> {
        let after = number + ty.field_numbers();
        if changed.contains(number) {
            *tree = self.tree(ty)?;
        } else if let (Type::Structure(s), Tree::Structure(trees)) = (ty, tree)
            && changed.next_from(number).is_some_and(|next| next < after)
        {
            let mut at = number + 1;
            for (field, tree) in s.fields().iter().zip(trees) {
                at = self.merge(&field.ty, tree, changed, at)?;
            }
        }
        Ok(after)
    }
}

fn many_or_none<T>(all: &[Option<T>], one: impl Fn(&T) -> usize) -> usize {
    size_of_val(all) + all.iter().flatten().map(one).sum::<usize>()
}

fn decode_scalar(scalar: Scalar, r: &mut Reader) -> Result<Tree, Error> {
    let what = "a number";
    Ok(match scalar {
        Scalar::Bool => Tree::Bool(r.u8(what)? != 0),
        Scalar::I8 => Tree::I8(r.u8(what)? as i8),
        Scalar::I16 => Tree::I16(r.u16(what)? as i16),
        Scalar::I32 => Tree::I32(r.u32(what)? as i32),
        Scalar::I64 => Tree::I64(r.u64(what)? as i64),
        Scalar::U8 => Tree::U8(r.u8(what)?),
        Scalar::U16 => Tree::U16(r.u16(what)?),
        Scalar::U32 => Tree::U32(r.u32(what)?),
        Scalar::U64 => Tree::U64(r.u64(what)?),
        Scalar::F32 => Tree::F32(f32::from_bits(r.u32(what)?)),
        Scalar::F64 => Tree::F64(f64::from_bits(r.u64(what)?)),
        Scalar::String => Tree::String(r.string("a string")?),
    })
}

impl Tree {
    /// The value before anything has been received: zeros, empty strings and arrays, nothing selected.
    pub fn default_of(ty: &Type) -> Tree {
        match ty {
            Type::Scalar(Scalar::Bool) => Tree::Bool(false),
            Type::Scalar(Scalar::I8) => Tree::I8(0),
            Type::Scalar(Scalar::I16) => Tree::I16(0),
            Type::Scalar(Scalar::I32) => Tree::I32(0),
            Type::Scalar(Scalar::I64) => Tree::I64(0),
            Type::Scalar(Scalar::U8) => Tree::U8(0),
            Type::Scalar(Scalar::U16) => Tree::U16(0),
            Type::Scalar(Scalar::U32) => Tree::U32(0),
            Type::Scalar(Scalar::U64) => Tree::U64(0),
            Type::Scalar(Scalar::F32) => Tree::F32(0.0),
            Type::Scalar(Scalar::F64) => Tree::F64(0.0),
            Type::Scalar(Scalar::String) | Type::BoundedString(_) => Tree::String(String::new()),
            Type::Array(scalar, _) => Tree::Array(Array::empty(*scalar)),
            Type::Structure(s) => Tree::Structure(s.fields().iter().map(|f| Tree::default_of(&f.ty)).collect()),
            Type::StructureArray(..) => Tree::Structures(Vec::new()),
            Type::Union(_) => Tree::Union(None),
            Type::UnionArray(..) => Tree::Unions(Vec::new()),
            Type::Any => Tree::Any(None),
            Type::AnyArray(_) => Tree::Anys(Vec::new()),
        }
    }

    /// What it takes in memory, in bytes.
    pub fn memory(&self) -> usize {
        let many = |trees: &[Tree]| trees.iter().map(Tree::memory).sum::<usize>();
        size_of::<Tree>()
            + match self {
                Tree::String(text) => text.capacity(),
                Tree::Array(elements) => elements.memory(),
                Tree::Structure(trees) => many(trees),
                Tree::Structures(all) => {
                    all.len() * size_of::<Option<Vec<Tree>>>()
                        + all.iter().flatten().map(|trees| many(trees)).sum::<usize>()
                }
                Tree::Union(selected) => selected.as_ref().map_or(0, |selected| selected.value.memory()),
                Tree::Unions(all) => many_or_none(all, Tree::memory),
                Tree::Any(data) => data.as_ref().map_or(0, |data| data.memory()),
                Tree::Anys(all) => many_or_none(all, Data::memory),
                _ => 0,
            }
    }

    /// Its number, where it is one.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Tree::F32(v) => Some(f64::from(*v)),
            Tree::F64(v) => Some(*v),
            Tree::U64(v) => Some(*v as f64),
            whole => whole.as_i64().map(|v| v as f64),
        }
    }

    /// Its number, where it is a whole one; beyond the range of the result it wraps, as in all implementations.
    pub fn as_i64(&self) -> Option<i64> {
        Some(match self {
            Tree::Bool(v) => i64::from(*v),
            Tree::I8(v) => i64::from(*v),
            Tree::I16(v) => i64::from(*v),
            Tree::I32(v) => i64::from(*v),
            Tree::I64(v) => *v,
            Tree::U8(v) => i64::from(*v),
            Tree::U16(v) => i64::from(*v),
            Tree::U32(v) => i64::from(*v),
            Tree::U64(v) => *v as i64,
            _ => return None,
        })
    }

    /// Writes the whole value; refused where the tree does not have the shape of the type.
    pub fn encode(&self, ty: &Type, w: &mut Writer) -> Result<(), Error> {
        match (self, ty) {
            (Tree::String(text), Type::BoundedString(size)) if text.len() <= *size as usize => w.string(text),
            (Tree::Array(elements), Type::Array(scalar, extent)) => elements.encode(*scalar, *extent, w)?,
            (Tree::Structure(trees), Type::Structure(s)) => encode_fields(trees, s, w)?,
            (Tree::Union(selected), Type::Union(s)) => encode_union(selected.as_deref(), s, w)?,
            (Tree::Any(data), Type::Any) => encode_any(data.as_deref(), w)?,
            (Tree::Structures(all), Type::StructureArray(s, extent)) => {
                encode_many(all, *extent, w, |trees, w| encode_fields(trees, s, w))?;
            }
            (Tree::Unions(all), Type::UnionArray(s, extent)) => {
                let union = Type::Union(s.clone());
                encode_many(all, *extent, w, |tree, w| tree.encode(&union, w))?;
            }
            (Tree::Anys(all), Type::AnyArray(extent)) => {
                encode_many(all, *extent, w, |data, w| encode_any(Some(data), w))?;
            }
            (tree, Type::Scalar(scalar)) => tree.encode_scalar(*scalar, w)?,
            _ => return Err(Error::Mismatch { what: "a field" }),
        }
        Ok(())
    }

    /// Writes the fields that `changed` names, as [`Decoder::merge`] reads them; `number` is the field number of the tree
    /// itself. Returns the field number after it.
    pub fn encode_changed(&self, ty: &Type, changed: &BitSet, number: usize, w: &mut Writer) -> Result<usize, Error> {
        let after = number + ty.field_numbers();
        if changed.contains(number) {
            self.encode(ty, w)?;
        } else if let (Type::Structure(s), Tree::Structure(trees)) = (ty, self)
            && changed.next_from(number).is_some_and(|next| next < after)
        {
            let mut at = number + 1;
            for (field, tree) in s.fields().iter().zip(trees) {
                at = tree.encode_changed(&field.ty, changed, at, w)?;
            }
        }
        Ok(after)
    }

    fn encode_scalar(&self, scalar: Scalar, w: &mut Writer) -> Result<(), Error> {
        match (self, scalar) {
            (Tree::Bool(v), Scalar::Bool) => w.u8(u8::from(*v)),
            (Tree::I8(v), Scalar::I8) => w.u8(*v as u8),
            (Tree::I16(v), Scalar::I16) => w.u16(*v as u16),
            (Tree::I32(v), Scalar::I32) => w.u32(*v as u32),
            (Tree::I64(v), Scalar::I64) => w.u64(*v as u64),
            (Tree::U8(v), Scalar::U8) => w.u8(*v),
            (Tree::U16(v), Scalar::U16) => w.u16(*v),
            (Tree::U32(v), Scalar::U32) => w.u32(*v),
            (Tree::U64(v), Scalar::U64) => w.u64(*v),
            (Tree::F32(v), Scalar::F32) => w.u32(v.to_bits()),
            (Tree::F64(v), Scalar::F64) => w.u64(v.to_bits()),
            (Tree::String(v), Scalar::String) => w.string(v),
            _ => return Err(Error::Mismatch { what: "a scalar" }),
        }
        Ok(())
    }
}

fn encode_fields(trees: &[Tree], s: &Structure, w: &mut Writer) -> Result<(), Error> {
    if trees.len() != s.fields().len() {
        return Err(Error::Mismatch { what: "the number of fields" });
    }
    s.fields().iter().zip(trees).try_for_each(|(field, tree)| tree.encode(&field.ty, w))
}

fn encode_union(selected: Option<&Selected>, s: &Structure, w: &mut Writer) -> Result<(), Error> {
    let Some(Selected { member, value }) = selected else {
        w.size(None);
        return Ok(());
    };
    let field = s.fields().get(*member).ok_or(Error::BadSelector { selector: *member })?;
    w.size(Some(*member));
    value.encode(&field.ty, w)
}

fn encode_any(data: Option<&Data>, w: &mut Writer) -> Result<(), Error> {
    match data {
        Some(data) => data.encode(w),
        None => {
            Type::encode_nothing(w);
            Ok(())
        }
    }
}

fn encode_many<T>(
    all: &[Option<T>],
    extent: Extent,
    w: &mut Writer,
    one: impl Fn(&T, &mut Writer) -> Result<(), Error>,
) -> Result<(), Error> {
    array::encode_count(all.len(), extent, w)?;
    all.iter().try_for_each(|element| match element {
        Some(element) => {
            w.u8(1);
            one(element, w)
        }
        None => {
            w.u8(0);
            Ok(())
        }
    })
}

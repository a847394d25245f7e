//! Structures as columns: which fields a type has at its leaves, and rows of pvData turned into one column for each of them.
//!
//! A leaf is a field that is no structure itself. Numbers, texts and arrays of these get a column of their own type; unions, values
//! of any type and arrays of structures stay pvData, as a column of byte strings.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::sync::Arc;

use pvdata::{
    Array, Decoder, Scalar, Tree, Type, TypeRegistry,
    wire::{Order, Reader, Writer},
};
use sample::{Blobs, Column, Element, Value, ValueType};

/// More leaves than any type has that was ever seen; beyond them structures stay whole.
const LEAVES_MAX: usize = 1024;

/// A field at the end of a path.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf {
    /// The names of the fields that lead to it, with dots between them.
    pub path: String,
    /// What it holds.
    pub ty: Type,
}

impl Leaf {
    /// The type of its column; a column of type structure holds pvData without its description.
    pub fn value_type(&self) -> ValueType {
        let element = |scalar: Scalar| match scalar {
            Scalar::Bool => Element::Bool,
            Scalar::I8 => Element::I8,
            Scalar::I16 => Element::I16,
            Scalar::I32 => Element::I32,
            Scalar::I64 => Element::I64,
            Scalar::U8 => Element::U8,
            Scalar::U16 => Element::U16,
            Scalar::U32 => Element::U32,
            Scalar::U64 => Element::U64,
            Scalar::F32 => Element::F32,
            Scalar::F64 => Element::F64,
            Scalar::String => Element::String,
        };
        match &self.ty {
            Type::Scalar(scalar) => ValueType::scalar(element(*scalar)),
            Type::BoundedString(_) => ValueType::scalar(Element::String),
            Type::Array(scalar, _) => ValueType::array(element(*scalar)),
            _ => ValueType::scalar(Element::Structure),
        }
    }
}

/// A type, as the bytes that describe it and as the leaves it has.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// The description, which stands at the front of each structure of the type.
    pub description: Vec<u8>,
    /// The type.
    pub ty: Type,
    /// Its leaves, in the order of the type.
    pub leaves: Vec<Leaf>,
}

impl Layout {
    /// From a description, which stands at the front of each structure that is kept; none if it is none, or has too many leaves.
    pub fn read(bytes: &[u8]) -> Option<Layout> {
        let mut reader = Reader::new(bytes, Order::Little);
        let ty = TypeRegistry::default().decode(&mut reader).ok().flatten()?;
        let (description, _) = bytes.split_at_checked(bytes.len() - reader.rest().len())?;
        let mut leaves = Vec::new();
        add_leaves(&mut leaves, String::new(), &ty);
        (leaves.len() <= LEAVES_MAX).then(|| Layout { description: description.to_vec(), ty, leaves })
    }

    /// The place of the leaf at the end of a path.
    pub fn leaf(&self, path: &str) -> Option<usize> {
        self.leaves.iter().position(|leaf| leaf.path == path)
    }

    /// Whether a kept structure is of this type, to the last byte of its description.
    pub fn describes(&self, structure: &[u8]) -> bool {
        structure.starts_with(&self.description)
    }

    /// Takes structures apart into a column for each leaf; none if one of them is of another type, or would not come back byte
    /// for byte.
    pub fn split<'a>(&self, structures: impl Iterator<Item = &'a [u8]>) -> Option<Vec<Column>> {
        let mut columns: Vec<Column> = self.leaves.iter().map(|leaf| Column::new(leaf.value_type())).collect();
        for structure in structures {
            let bytes = structure.strip_prefix(self.description.as_slice())?;
            let tree = read_value(&self.ty, bytes)?;
            let mut writer = Writer::new(Order::Little);
            tree.encode(&self.ty, &mut writer).ok()?;
            if writer.into_bytes() != bytes {
                return None;
            }
            let mut leaves = columns.iter_mut();
            push_tree(&mut leaves, &self.ty, tree)?;
        }
        Some(columns)
    }

    /// One leaf of many structures of this type.
    pub fn project<'a>(&self, leaf: usize, structures: impl Iterator<Item = &'a [u8]>) -> Option<Column> {
        let mut columns = self.split(structures)?;
        (leaf < columns.len()).then(|| columns.swap_remove(leaf))
    }

    /// Puts structures together again: the reverse of `split`. None if the columns do not fit the type.
    pub fn join(&self, columns: &[Column], rows: usize, bytes_max: usize) -> Option<Blobs> {
        let mut structures = Blobs::default();
        let mut writer = Writer::new(Order::Little);
        let mut room = bytes_max;
        for row in 0..rows {
            writer.put(&self.description);
            let mut leaves = columns.iter();
            put_row(&mut writer, &self.ty, &mut leaves, row)?;
            let structure = writer.take();
            room = room.checked_sub(structure.len())?;
            structures.push(&structure);
        }
        Some(structures)
    }
}

fn add_leaves(leaves: &mut Vec<Leaf>, path: String, ty: &Type) {
    let Type::Structure(structure) = ty else {
        leaves.push(Leaf { path, ty: ty.clone() });
        return;
    };
    for field in structure.fields() {
        if leaves.len() > LEAVES_MAX {
            return;
        }
        let path = if path.is_empty() { field.name.to_string() } else { format!("{path}.{}", field.name) };
        add_leaves(leaves, path, &field.ty);
    }
}

fn read_value(ty: &Type, bytes: &[u8]) -> Option<Tree> {
    let mut reader = Reader::new(bytes, Order::Little);
    let tree = Decoder::new(&mut reader, &mut TypeRegistry::default()).tree(ty).ok()?;
    reader.rest().is_empty().then_some(tree)
}

/// Adds the leaves of a value to their columns; none if the value does not have the shape of its type.
fn push_tree<'c>(columns: &mut impl Iterator<Item = &'c mut Column>, ty: &Type, tree: Tree) -> Option<()> {
    match (ty, tree) {
        (Type::Structure(structure), Tree::Structure(trees)) => {
            structure.fields().iter().zip(trees).try_for_each(|(field, tree)| push_tree(columns, &field.ty, tree))
        }
        (ty, tree) => columns.next()?.push(&leaf_value(ty, tree)?).then_some(()),
    }
}

fn leaf_value(ty: &Type, tree: Tree) -> Option<Value> {
    Some(match tree {
        Tree::Bool(v) => Value::Bool(v),
        Tree::I8(v) => Value::I8(v),
        Tree::I16(v) => Value::I16(v),
        Tree::I32(v) => Value::I32(v),
        Tree::I64(v) => Value::I64(v),
        Tree::U8(v) => Value::U8(v),
        Tree::U16(v) => Value::U16(v),
        Tree::U32(v) => Value::U32(v),
        Tree::U64(v) => Value::U64(v),
        Tree::F32(v) => Value::F32(v),
        Tree::F64(v) => Value::F64(v),
        Tree::String(v) => Value::String(v.into()),
        Tree::Array(array) => Value::Array(array_column(array)),
        whole => {
            let mut writer = Writer::new(Order::Little);
            whole.encode(ty, &mut writer).ok()?;
            Value::Structure(Arc::from(writer.into_bytes()))
        }
    })
}

/// The elements of an array of pvData as a column.
pub fn array_column(array: Array) -> Column {
    match array {
        Array::Bool(v) => Column::Bool(v),
        Array::I8(v) => Column::I8(v),
        Array::U8(v) => Column::U8(v),
        Array::I16(v) => Column::I16(v),
        Array::U16(v) => Column::U16(v),
        Array::I32(v) => Column::I32(v),
        Array::U32(v) => Column::U32(v),
        Array::I64(v) => Column::I64(v),
        Array::U64(v) => Column::U64(v),
        Array::F32(v) => Column::F32(v),
        Array::F64(v) => Column::F64(v),
        Array::Enum(v) => Column::Enum(v),
        Array::String(v) => Column::String(v.iter().map(String::as_str).collect()),
    }
}

/// Writes one row of the columns as a value of that type.
fn put_row<'c>(w: &mut Writer, ty: &Type, columns: &mut impl Iterator<Item = &'c Column>, row: usize) -> Option<()> {
    if let Type::Structure(structure) = ty {
        return structure.fields().iter().try_for_each(|field| put_row(w, &field.ty, columns, row));
    }
    let column = columns.next()?;
    if row >= column.len() {
        return None;
    }
    match (column.get(row), ty) {
        (Value::Structure(bytes), _) => w.put(&bytes),
        (Value::Array(elements), Type::Array(scalar, extent)) => {
            column_array(elements)?.encode(*scalar, *extent, w).ok()?;
        }
        (value, ty) => scalar_tree(value)?.encode(ty, w).ok()?,
    }
    Some(())
}

fn scalar_tree(value: Value) -> Option<Tree> {
    Some(match value {
        Value::Bool(v) => Tree::Bool(v),
        Value::I8(v) => Tree::I8(v),
        Value::U8(v) => Tree::U8(v),
        Value::I16(v) => Tree::I16(v),
        Value::U16(v) => Tree::U16(v),
        Value::I32(v) => Tree::I32(v),
        Value::U32(v) => Tree::U32(v),
        Value::I64(v) => Tree::I64(v),
        Value::U64(v) => Tree::U64(v),
        Value::F32(v) => Tree::F32(v),
        Value::F64(v) => Tree::F64(v),
        Value::String(v) => Tree::String(v.to_string()),
        Value::Enum(_) | Value::Structure(_) | Value::Array(_) => return None,
    })
}

fn column_array(column: Column) -> Option<Array> {
    Some(match column {
        Column::Bool(v) => Array::Bool(v),
        Column::I8(v) => Array::I8(v),
        Column::U8(v) => Array::U8(v),
        Column::I16(v) => Array::I16(v),
        Column::U16(v) => Array::U16(v),
        Column::I32(v) => Array::I32(v),
        Column::U32(v) => Array::U32(v),
        Column::I64(v) => Array::I64(v),
        Column::U64(v) => Array::U64(v),
        Column::F32(v) => Array::F32(v),
        Column::F64(v) => Array::F64(v),
        Column::String(v) => Array::String(v.iter().map(str::to_owned).collect()),
        Column::Enum(_) | Column::Structure(_) | Column::Array(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{super::example, *};

    #[test]
    fn structures_come_back_byte_for_byte_and_each_field_has_its_path() {
        let structures: Vec<Vec<u8>> = (0..20).map(example).collect();
        let layout = Layout::read(&example(0)).expect("it begins with a description");
        let paths: Vec<&str> = layout.leaves.iter().map(|leaf| leaf.path.as_str()).collect();
        let expected =
            ["count", "on", "alarm.severity", "alarm.message", "x", "names", "three", "either", "any", "rows"];
        assert_eq!(paths, expected);
        let columns = layout.split(structures.iter().map(Vec::as_slice)).expect("all are of one type");
        let back = layout.join(&columns, 20, 1 << 20).expect("they were taken apart just now");
        assert!(back.iter().eq(structures.iter().map(Vec::as_slice)));
        assert_eq!(layout.join(&columns, 21, 1 << 20), None, "there is no such row");
        assert_eq!(layout.join(&columns, 20, 100), None, "there is no room for it");
    }

    #[test]
    fn one_field_is_read_as_a_column_of_its_own_type() {
        let structures: Vec<Vec<u8>> = (0..20).map(example).collect();
        let layout = Layout::read(&example(0)).expect("it begins with a description");
        let leaf = layout.leaf("alarm.severity").expect("there is one");
        let column = layout.project(leaf, structures.iter().map(Vec::as_slice));
        assert_eq!(column, Some(Column::I32((0..20).map(|row| row / 10).collect())));
        assert_eq!(layout.leaf("alarm"), None, "a structure is no leaf");
    }

    #[test]
    fn another_type_or_damage_keeps_structures_whole() {
        let one = example(1);
        let layout = Layout::read(&one).expect("it begins with a description");
        let other = [0x23, 1, 0, 0, 0, 0, 0, 0, 0];
        assert!(layout.describes(&one) && !layout.describes(&other));
        assert_eq!(layout.split([one.as_slice(), &other].into_iter()), None);
        assert_eq!(layout.split([one.get(..one.len() - 1).unwrap_or_default()].into_iter()), None);
        assert_eq!(Layout::read(&[0xff]), None);
        assert_eq!(Layout::read(&[]), None);
    }
}

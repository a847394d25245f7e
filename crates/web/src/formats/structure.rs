//! pvAccess structures: as JSON objects, and as the Archiver Appliance's serialised values.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use pvdata::{
    Array, Data, Extent, Scalar, Structure, Tree, Type, decode_structure,
    wire::{Order, Writer},
};
use sample::{Column, Shape};

use super::{
    base64,
    elements::put_elements,
    plain::{self, Dialect, put_json, put_list},
};

/// Writes a structure as an object: unions as an object of their one member, what is missing as null. Bytes that cannot be
/// decoded become `{"undecoded": base64}`, so that nothing is lost.
pub(crate) fn put(out: &mut Vec<u8>, bytes: &[u8], dialect: Dialect) {
    match decode_structure(bytes) {
        Ok(data) => put_tree(out, &data.ty, &data.value, dialect),
        Err(error) => {
            tracing::debug!("a structure cannot be decoded: {error}");
            out.extend_from_slice(b"{\"undecoded\":");
            put_json(out, &base64::encode(bytes));
            out.push(b'}');
        }
    }
}

/// A structure as the Appliance keeps it: type description and value in the byte order of Java.
pub(crate) fn serialised(bytes: &[u8]) -> Vec<u8> {
    decode_structure(bytes).map_or_else(|_| bytes.to_vec(), |data| big_endian(&data, bytes))
}

/// A value of a type that the Appliance does not know as a scalar, as the structure in which pvAccess sends it.
pub(crate) fn around(elements: Column, shape: Shape) -> Vec<u8> {
    let (id, value) = match shape {
        Shape::Scalar => ("epics:nt/NTScalar:1.0", first(&elements)),
        Shape::Array => ("epics:nt/NTScalarArray:1.0", many(elements)),
    };
    let Some((ty, tree)) = value else { return Vec::new() };
    let fields = [("value", ty)];
    let data = Type::structure(id, fields).map(|ty| Data { ty, value: Tree::Structure(vec![tree]) });
    data.map_or_else(|_| Vec::new(), |data| big_endian(&data, &[]))
}

fn big_endian(data: &Data, otherwise: &[u8]) -> Vec<u8> {
    let mut writer = Writer::new(Order::Big);
    match data.encode(&mut writer) {
        Ok(()) => writer.into_bytes(),
        Err(_) => otherwise.to_vec(),
    }
}

fn first(elements: &Column) -> Option<(Type, Tree)> {
    Some(match elements {
        Column::Bool(v) => (Type::Scalar(Scalar::Bool), Tree::Bool(*v.first()?)),
        Column::I64(v) => (Type::Scalar(Scalar::I64), Tree::I64(*v.first()?)),
        Column::U64(v) => (Type::Scalar(Scalar::U64), Tree::U64(*v.first()?)),
        _ => return None,
    })
}

fn many(elements: Column) -> Option<(Type, Tree)> {
    let (scalar, array) = match elements {
        Column::Bool(v) => (Scalar::Bool, Array::Bool(v)),
        Column::I64(v) => (Scalar::I64, Array::I64(v)),
        Column::U64(v) => (Scalar::U64, Array::U64(v)),
        _ => return None,
    };
    Some((Type::Array(scalar, Extent::Variable), Tree::Array(array)))
}

fn put_tree(out: &mut Vec<u8>, ty: &Type, tree: &Tree, dialect: Dialect) {
    match (ty, tree) {
        (Type::Structure(s), Tree::Structure(trees)) => put_structure(out, s, trees, dialect),
        (Type::StructureArray(s, _), Tree::Structures(all)) => {
            put_list(out, all.iter(), |out, one| match one {
                Some(trees) => put_structure(out, s, trees, dialect),
                None => out.extend_from_slice(b"null"),
            });
        }
        (Type::UnionArray(s, _), Tree::Unions(all)) => {
            let ty = Type::Union(s.clone());
            put_list(out, all.iter(), |out, one| match one {
                Some(tree) => put_tree(out, &ty, tree, dialect),
                None => out.extend_from_slice(b"null"),
            });
        }
        (Type::Union(s), Tree::Union(Some(selected))) => match s.fields().get(selected.member) {
            Some(field) => {
                out.push(b'{');
                put_json(out, &field.name);
                out.push(b':');
                put_tree(out, &field.ty, &selected.value, dialect);
                out.push(b'}');
            }
            None => out.extend_from_slice(b"null"),
        },
        (_, Tree::Any(Some(data))) => put_tree(out, &data.ty, &data.value, dialect),
        (_, Tree::Anys(all)) => put_list(out, all.iter(), |out, one| match one {
            Some(data) => put_tree(out, &data.ty, &data.value, dialect),
            None => out.extend_from_slice(b"null"),
        }),
        (_, Tree::Array(array)) => put_array(out, array, dialect),
        (_, tree) => put_scalar(out, tree, dialect),
    }
}

fn put_structure(out: &mut Vec<u8>, structure: &Structure, trees: &[Tree], dialect: Dialect) {
    out.push(b'{');
    for (index, (field, tree)) in structure.fields().iter().zip(trees).enumerate() {
        if index > 0 {
            out.push(b',');
        }
        put_json(out, &field.name);
        out.push(b':');
        put_tree(out, &field.ty, tree, dialect);
    }
    out.push(b'}');
}

/// One element, written as the same value by itself would be.
fn put_scalar(out: &mut Vec<u8>, tree: &Tree, dialect: Dialect) {
    let column = match tree {
        Tree::Bool(v) => Column::Bool(vec![*v]),
        Tree::I8(v) => Column::I8(vec![*v]),
        Tree::U8(v) => Column::U8(vec![*v]),
        Tree::I16(v) => Column::I16(vec![*v]),
        Tree::U16(v) => Column::U16(vec![*v]),
        Tree::I32(v) => Column::I32(vec![*v]),
        Tree::U32(v) => Column::U32(vec![*v]),
        Tree::I64(v) => Column::I64(vec![*v]),
        Tree::U64(v) => Column::U64(vec![*v]),
        Tree::F32(v) => Column::F32(vec![*v]),
        Tree::F64(v) => Column::F64(vec![*v]),
        Tree::String(v) => return put_json(out, v),
        _ => return out.extend_from_slice(b"null"),
    };
    plain::put_scalar(out, &column, 0, dialect);
}

fn put_array(out: &mut Vec<u8>, array: &Array, dialect: Dialect) {
    let column = match array {
        Array::Bool(v) => Column::Bool(v.clone()),
        Array::I8(v) => Column::I8(v.clone()),
        Array::U8(v) => Column::U8(v.clone()),
        Array::I16(v) => Column::I16(v.clone()),
        Array::U16(v) => Column::U16(v.clone()),
        Array::I32(v) => Column::I32(v.clone()),
        Array::U32(v) => Column::U32(v.clone()),
        Array::I64(v) => Column::I64(v.clone()),
        Array::U64(v) => Column::U64(v.clone()),
        Array::F32(v) => Column::F32(v.clone()),
        Array::F64(v) => Column::F64(v.clone()),
        Array::Enum(v) => Column::Enum(v.clone()),
        Array::String(v) => return put_list(out, v.iter(), put_json),
    };
    put_elements(out, &column, 0..column.len(), dialect);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pvdata::{Field, Selected};

    use super::*;

    fn text(bytes: &[u8]) -> String {
        let mut out = Vec::new();
        put(&mut out, bytes, Dialect::Exact);
        String::from_utf8(out).expect("JSON is UTF-8")
    }

    fn little_endian(data: &Data) -> Vec<u8> {
        let mut writer = Writer::new(Order::Little);
        data.encode(&mut writer).expect("it fits its type");
        writer.into_bytes()
    }

    fn example() -> Data {
        let number = Field { name: "number".into(), ty: Type::Scalar(Scalar::F64) };
        let either = Arc::new(Structure::new("", vec![number]).expect("it is small"));
        let fields = [
            ("n", Type::Scalar(Scalar::I64)),
            ("either", Type::Union(either.clone())),
            ("none", Type::Union(either)),
            ("any", Type::Any),
            ("names", Type::Array(Scalar::String, Extent::Variable)),
        ];
        let any = Data { ty: Type::Scalar(Scalar::U8), value: Tree::U8(7) };
        let value = Tree::Structure(vec![
            Tree::I64(i64::MAX),
            Tree::Union(Some(Box::new(Selected { member: 0, value: Tree::F64(f64::NAN) }))),
            Tree::Union(None),
            Tree::Any(Some(Box::new(any))),
            Tree::Array(Array::String(vec!["a\"".to_owned(), String::new()])),
        ]);
        Data { ty: Type::structure("x", fields).expect("it is small"), value }
    }

    #[test]
    fn every_member_is_there() {
        let expected =
            r#"{"n":"9223372036854775807","either":{"number":"NaN"},"none":null,"any":7,"names":["a\"",""]}"#;
        assert_eq!(text(&little_endian(&example())), expected);
    }

    #[test]
    fn what_cannot_be_decoded_is_given_as_it_is() {
        assert_eq!(text(&[0x80, 1]), r#"{"undecoded":"gAE="}"#);
        assert_eq!(serialised(&[0x80, 1]), [0x80, 1]);
    }

    #[test]
    fn the_appliance_gets_big_endian_structures() {
        let scalar = around(Column::I64(vec![258]), Shape::Scalar);
        let mut expected = b"\x80\x15epics:nt/NTScalar:1.0\x01\x05value\x23".to_vec();
        expected.extend_from_slice(&258_i64.to_be_bytes());
        assert_eq!(scalar, expected);
        let array = around(Column::Bool(vec![true, false]), Shape::Array);
        assert_eq!(array, b"\x80\x1aepics:nt/NTScalarArray:1.0\x01\x05value\x08\x02\x01\x00");
        assert_ne!(serialised(&little_endian(&example())), little_endian(&example()));
    }
}

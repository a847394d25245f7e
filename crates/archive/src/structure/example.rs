//! A structure that has a field of every kind, for tests.

use std::sync::Arc;

use pvdata::{
    Array, Data, Extent, Field, Scalar, Selected, Structure, Tree, Type,
    wire::{Order, Writer},
};

/// A structure of every kind of field, the same in all tests but for its numbers.
pub fn example(row: i64) -> Vec<u8> {
    let number = Field { name: "number".into(), ty: Type::Scalar(Scalar::F64) };
    let text = Field { name: "text".into(), ty: Type::Scalar(Scalar::String) };
    let either = Arc::new(Structure::new("", vec![number, text]).expect("it is small"));
    let inner =
        Type::structure("alarm_t", [("severity", Type::Scalar(Scalar::I32)), ("message", Type::BoundedString(20))]);
    let fields = [
        ("count", Type::Scalar(Scalar::U64)),
        ("on", Type::Scalar(Scalar::Bool)),
        ("alarm", inner.expect("it is small")),
        ("x", Type::Array(Scalar::F64, Extent::Variable)),
        ("names", Type::Array(Scalar::String, Extent::Variable)),
        ("three", Type::Array(Scalar::U8, Extent::Fixed(3))),
        ("either", Type::Union(either.clone())),
        ("any", Type::Any),
        ("rows", Type::StructureArray(either, Extent::Variable)),
    ];
    let member = (row % 2) as usize;
    let selected = if member == 0 { Tree::F64(row as f64) } else { Tree::String(format!("t{row}")) };
    let trees = vec![
        Tree::U64(row as u64),
        Tree::Bool(row % 3 == 0),
        Tree::Structure(vec![Tree::I32(row as i32 / 10), Tree::String(if row > 5 { "high" } else { "" }.into())]),
        Tree::Array(Array::F64((0..row % 4).map(|i| i as f64 / 3.0).collect())),
        Tree::Array(Array::String(vec!["a".into(), format!("b{row}")])),
        Tree::Array(Array::U8(vec![1, 2, row as u8])),
        Tree::Union((row != 4).then(|| Box::new(Selected { member, value: selected }))),
        Tree::Any((row != 5).then(|| Box::new(Data { ty: Type::Scalar(Scalar::I16), value: Tree::I16(row as i16) }))),
        Tree::Structures(vec![None, Some(vec![Tree::F64(f64::NAN), Tree::String("r".into())])]),
    ];
    let ty = Type::structure("every:kind", fields).expect("it is small");
    let mut writer = Writer::new(Order::Little);
    Data { ty, value: Tree::Structure(trees) }.encode(&mut writer).expect("it fits its type");
    writer.into_bytes()
}

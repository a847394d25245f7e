//! Values, limits and texts as JSON, for the examples that print what a server sends.

use std::sync::Arc;

use epics::{
    Array, Limits, Value,
    pva::{Data, Tree, Type, decode_structure},
};

pub(crate) fn limits(limits: Option<Limits>) -> String {
    limits.map_or("null".to_owned(), |Limits { low, high }| format!("[{},{}]", number(low), number(high)))
}

pub(crate) fn string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out + "\""
}

fn number(v: f64) -> String {
    if v.is_finite() { format!("{v:?}") } else { format!("\"{v}\"") }
}

/// The name of the type, and the value in JSON.
pub(crate) fn value(value: &Value) -> (&'static str, String) {
    match value {
        Value::Bool(v) => ("bool", v.to_string()),
        Value::I8(v) => ("i8", v.to_string()),
        Value::U8(v) => ("u8", v.to_string()),
        Value::I16(v) => ("i16", v.to_string()),
        Value::U16(v) => ("u16", v.to_string()),
        Value::I32(v) => ("i32", v.to_string()),
        Value::U32(v) => ("u32", v.to_string()),
        Value::I64(v) => ("i64", v.to_string()),
        Value::U64(v) => ("u64", v.to_string()),
        Value::F32(v) => ("f32", number(f64::from(*v))),
        Value::F64(v) => ("f64", number(*v)),
        Value::Enum(v) => ("enum", v.to_string()),
        Value::String(v) => ("string", string(v)),
        Value::Array(elements) => array(elements),
        Value::Structure(bytes) => {
            ("structure", decode_structure(bytes).map_or("null".to_owned(), |data| whole(&data)))
        }
    }
}

fn array(elements: &Array) -> (&'static str, String) {
    fn list<T>(all: &[T], one: impl Fn(&T) -> String) -> String {
        format!("[{}]", all.iter().map(one).collect::<Vec<_>>().join(","))
    }
    match elements {
        Array::Bool(v) => ("bool[]", list(v, bool::to_string)),
        Array::I8(v) => ("i8[]", list(v, i8::to_string)),
        Array::U8(v) => ("u8[]", list(v, u8::to_string)),
        Array::I16(v) => ("i16[]", list(v, i16::to_string)),
        Array::U16(v) => ("u16[]", list(v, u16::to_string)),
        Array::I32(v) => ("i32[]", list(v, i32::to_string)),
        Array::U32(v) => ("u32[]", list(v, u32::to_string)),
        Array::I64(v) => ("i64[]", list(v, i64::to_string)),
        Array::U64(v) => ("u64[]", list(v, u64::to_string)),
        Array::F32(v) => ("f32[]", list(v, |v| number(f64::from(*v)))),
        Array::F64(v) => ("f64[]", list(v, |v| number(*v))),
        Array::Enum(v) => ("enum[]", list(v, i32::to_string)),
        Array::String(v) => ("string[]", list(v, |v| string(v))),
    }
}

fn whole(data: &Data) -> String {
    tree(&data.ty, &data.value)
}

fn tree(ty: &Type, value: &Tree) -> String {
    let many = |all: Vec<String>| format!("[{}]", all.join(","));
    let null = || "null".to_owned();
    match (ty, value) {
        (Type::Structure(s), Tree::Structure(trees)) => {
            let fields = s.fields().iter().zip(trees);
            let members: Vec<String> = fields.map(|(f, t)| format!("{}:{}", string(&f.name), tree(&f.ty, t))).collect();
            format!("{{{}}}", members.join(","))
        }
        (Type::StructureArray(s, _), Tree::Structures(all)) => {
            let one = Type::Structure(Arc::clone(s));
            let element = |trees: &Option<Vec<Tree>>| {
                trees.as_ref().map_or_else(null, |trees| tree(&one, &Tree::Structure(trees.clone())))
            };
            many(all.iter().map(element).collect())
        }
        (Type::Union(s), Tree::Union(Some(selected))) => {
            s.fields().get(selected.member).map_or_else(null, |field| tree(&field.ty, &selected.value))
        }
        (Type::UnionArray(s, _), Tree::Unions(all)) => {
            let one = Type::Union(Arc::clone(s));
            many(all.iter().map(|t| t.as_ref().map_or_else(null, |t| tree(&one, t))).collect())
        }
        (_, Tree::Any(Some(data))) => whole(data),
        (_, Tree::Anys(all)) => many(all.iter().map(|d| d.as_ref().map_or_else(null, whole)).collect()),
        (_, Tree::Array(elements)) => array(elements).1,
        (_, Tree::String(text)) => string(text),
        (_, Tree::Bool(v)) => v.to_string(),
        (_, Tree::U64(v)) => v.to_string(),
        (_, scalar) => scalar.as_i64().map_or_else(|| scalar.as_f64().map_or_else(null, number), |v| v.to_string()),
    }
}

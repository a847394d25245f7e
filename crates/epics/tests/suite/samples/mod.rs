//! Values of every type that a server may have, none of them like another, and how they are written for comparison.

use epics::{
    Array,
    pva::{Data, Extent, Scalar, Selected, Tree, Type, server::nt},
};

/// PVs of every normative type and of none.
pub(crate) fn types() -> Vec<(String, Type)> {
    let mut types = Vec::new();
    for scalar in Scalar::all() {
        types.push((format!("T:SCALAR:{}", scalar.name()), nt::scalar(scalar)));
        types.push((format!("T:ARRAY:{}", scalar.name()), nt::scalar_array(scalar)));
    }
    let columns = [("time", Scalar::F64), ("name", Scalar::String), ("count", Scalar::U16), ("ok", Scalar::Bool)];
    let more = [
        ("T:ENUM", nt::enumerated()),
        ("T:TABLE", nt::table(&columns).expect("four columns")),
        ("T:IMAGE", nt::nd_array()),
        ("T:AGGREGATE", nt::aggregate()),
        ("T:MULTI", nt::multi_channel()),
        ("T:NAMES", nt::name_value(Scalar::F64)),
        ("T:MIXTURE", nt::mixture()),
    ];
    types.extend(more.map(|(name, ty)| (name.to_owned(), ty)));
    types
}

/// A value in which every leaf differs from the one before; `seed` moves on with each.
pub(crate) fn sample(ty: &Type, seed: &mut u8) -> Tree {
    *seed = (*seed % 100) + 1;
    let n = *seed;
    match ty {
        Type::Scalar(scalar) => scalar_of(*scalar, n),
        Type::BoundedString(_) => Tree::String(format!("s{n}")),
        Type::Array(scalar, extent) => Tree::Array(array_of(*scalar, *extent, n)),
        Type::Structure(s) => Tree::Structure(s.fields().iter().map(|field| sample(&field.ty, seed)).collect()),
        Type::Union(s) => {
            let member = usize::from(n) % s.fields().len();
            let value = sample(&s.fields()[member].ty, seed);
            Tree::Union(Some(Box::new(Selected { member, value })))
        }
        Type::Any => Tree::Any(Some(Box::new(any(n, seed)))),
        Type::StructureArray(s, _) => {
            let mut one = || s.fields().iter().map(|field| sample(&field.ty, seed)).collect();
            Tree::Structures(vec![Some(one()), Some(one())])
        }
        Type::UnionArray(s, _) => {
            let union = Type::Union(s.clone());
            Tree::Unions(vec![Some(sample(&union, seed)), None, Some(sample(&union, seed))])
        }
        Type::AnyArray(_) => Tree::Anys(vec![Some(any(n, seed)), Some(any(n + 1, seed))]),
    }
}

fn any(n: u8, seed: &mut u8) -> Data {
    let ty = match n % 3 {
        0 => Type::Scalar(Scalar::F64),
        1 => Type::Array(Scalar::I32, Extent::Variable),
        _ => Type::structure("inner", [("a", Type::Scalar(Scalar::String))]).expect("one field"),
    };
    Data { value: sample(&ty, seed), ty }
}

fn scalar_of(scalar: Scalar, n: u8) -> Tree {
    match scalar {
        Scalar::Bool => Tree::Bool(n.is_multiple_of(2)),
        Scalar::I8 => Tree::I8(-(n as i8)),
        Scalar::U8 => Tree::U8(100 + n),
        Scalar::I16 => Tree::I16(-200 * i16::from(n)),
        Scalar::U16 => Tree::U16(600 * u16::from(n)),
        Scalar::I32 => Tree::I32(-20_000_000 * i32::from(n)),
        Scalar::U32 => Tree::U32(40_000_000 * u32::from(n)),
        Scalar::I64 => Tree::I64(-9_007_199_254_740_993 * i64::from(n)),
        Scalar::U64 => Tree::U64(90_071_992_547_409_931 * u64::from(n)),
        Scalar::F32 => Tree::F32(f32::from(n) + 0.25),
        Scalar::F64 => Tree::F64(f64::from(n) - 0.125),
        Scalar::String => Tree::String(format!("text {n}")),
    }
}

/// Three elements, or as many as a fixed array has.
fn array_of(scalar: Scalar, extent: Extent, n: u8) -> Array {
    let count = if let Extent::Fixed(count) = extent { count as u8 } else { 3 };
    macro_rules! elements {
        ($variant:ident) => {
            Array::$variant(
                (0..count)
                    .map(|at| match scalar_of(scalar, n + at) {
                        Tree::$variant(value) => value,
                        other => panic!("{other:?} is of another type"),
                    })
                    .collect(),
            )
        };
    }
    match scalar {
        Scalar::Bool => elements!(Bool),
        Scalar::I8 => elements!(I8),
        Scalar::U8 => elements!(U8),
        Scalar::I16 => elements!(I16),
        Scalar::U16 => elements!(U16),
        Scalar::I32 => elements!(I32),
        Scalar::U32 => elements!(U32),
        Scalar::I64 => elements!(I64),
        Scalar::U64 => elements!(U64),
        Scalar::F32 => elements!(F32),
        Scalar::F64 => elements!(F64),
        Scalar::String => elements!(String),
    }
}

//! Values of random types come out as they went in, and random bytes neither end the program nor make it reserve memory.

use std::sync::Arc;

use epics::{
    Array,
    pva::{
        Data, Extent, Field, Scalar, Selected, Structure, Tree, Type, TypeRegistry, decode_structure,
        value::read,
        wire::{Order, Reader, Writer},
    },
};
use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
};

fn scalars() -> impl Strategy<Value = Scalar> {
    select(Scalar::all().collect::<Vec<_>>())
}

fn extents() -> impl Strategy<Value = Extent> {
    prop_oneof![3 => Just(Extent::Variable), 1 => (0_u32..9).prop_map(Extent::Bounded), 1 => (0_u32..5).prop_map(Extent::Fixed)]
}

/// Types without fixed arrays of structures, unions and anys, which no implementation has.
fn types() -> impl Strategy<Value = Type> {
    let leaf = prop_oneof![
        4 => scalars().prop_map(Type::Scalar),
        1 => (0_u32..300).prop_map(Type::BoundedString),
        3 => (scalars(), extents()).prop_map(|(scalar, extent)| Type::Array(scalar, extent)),
        1 => Just(Type::Any),
        1 => Just(Type::AnyArray(Extent::Variable)),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let fields = vec(("[a-zA-Z]{1,9}", inner), 0..6);
        ("[a-z:/.0-9]{0,20}", fields, 0..4_u8).prop_map(|(id, fields, kind)| {
            let fields = fields.into_iter().map(|(name, ty)| Field { name: name.into(), ty }).collect();
            let structure = Arc::new(Structure::new(&id, fields).expect("within the limits"));
            match kind {
                0 => Type::Structure(structure),
                1 => Type::StructureArray(structure, Extent::Variable),
                2 => Type::Union(structure),
                _ => Type::UnionArray(structure, Extent::Variable),
            }
        })
    })
}

/// Makes a value of any type out of a supply of random numbers.
struct Supply<'a> {
    numbers: &'a [u64],
    at: usize,
}

impl Supply<'_> {
    fn next(&mut self) -> u64 {
        self.at += 1;
        self.numbers[self.at % self.numbers.len()].rotate_left(self.at as u32)
    }

    fn count(&mut self, extent: Extent) -> usize {
        let wanted = (self.next() % 6) as u32;
        match extent {
            Extent::Variable => wanted as usize,
            Extent::Bounded(size) => wanted.min(size) as usize,
            Extent::Fixed(size) => size as usize,
        }
    }

    fn text(&mut self, longest: usize) -> String {
        let length = (self.next() as usize % 300).min(longest);
        "ab".chars().cycle().take(length).collect()
    }

    fn many<T>(&mut self, count: usize, mut one: impl FnMut(&mut Self) -> T) -> Vec<Option<T>> {
        (0..count).map(|_| (!self.next().is_multiple_of(3)).then(|| one(self))).collect()
    }

    fn union(&mut self, s: &Structure) -> Tree {
        let member = self.next() as usize % (s.fields().len() + 1);
        Tree::Union(s.fields().get(member).map(|f| Box::new(Selected { member, value: self.tree(&f.ty) })))
    }

    fn any(&mut self) -> Data {
        let choices = [Type::Scalar(Scalar::F64), Type::Array(Scalar::String, Extent::Variable)];
        let ty = choices[self.next() as usize % 2].clone();
        Data { value: self.tree(&ty), ty }
    }

    fn tree(&mut self, ty: &Type) -> Tree {
        match ty {
            Type::Scalar(scalar) => self.scalar(*scalar),
            Type::BoundedString(size) => Tree::String(self.text(*size as usize)),
            Type::Array(scalar, extent) => Tree::Array(self.array(*scalar, *extent)),
            Type::Structure(s) => Tree::Structure(s.fields().iter().map(|f| self.tree(&f.ty)).collect()),
            Type::StructureArray(s, extent) => {
                let count = self.count(*extent);
                Tree::Structures(self.many(count, |supply| s.fields().iter().map(|f| supply.tree(&f.ty)).collect()))
            }
            Type::Union(s) => self.union(s),
            Type::UnionArray(s, extent) => {
                let count = self.count(*extent);
                Tree::Unions(self.many(count, |supply| supply.union(s)))
            }
            Type::Any => Tree::Any(self.next().is_multiple_of(2).then(|| Box::new(self.any()))),
            Type::AnyArray(extent) => {
                let count = self.count(*extent);
                Tree::Anys(self.many(count, Self::any))
            }
        }
    }

    fn scalar(&mut self, scalar: Scalar) -> Tree {
        let number = self.next();
        match scalar {
            Scalar::Bool => Tree::Bool(number.is_multiple_of(2)),
            Scalar::I8 => Tree::I8(number as i8),
            Scalar::I16 => Tree::I16(number as i16),
            Scalar::I32 => Tree::I32(number as i32),
            Scalar::I64 => Tree::I64(number as i64),
            Scalar::U8 => Tree::U8(number as u8),
            Scalar::U16 => Tree::U16(number as u16),
            Scalar::U32 => Tree::U32(number as u32),
            Scalar::U64 => Tree::U64(number),
            Scalar::F32 => Tree::F32(number as f32),
            Scalar::F64 => Tree::F64(number as f64),
            Scalar::String => Tree::String(self.text(300)),
        }
    }

    fn array(&mut self, scalar: Scalar, extent: Extent) -> Array {
        let count = self.count(extent);
        let mut numbers = (0..count).map(|_| self.next()).collect::<Vec<_>>().into_iter();
        let numbers = &mut numbers;
        match scalar {
            Scalar::Bool => Array::Bool(numbers.map(|v| v.is_multiple_of(2)).collect()),
            Scalar::I8 => Array::I8(numbers.map(|v| v as i8).collect()),
            Scalar::I16 => Array::I16(numbers.map(|v| v as i16).collect()),
            Scalar::I32 => Array::I32(numbers.map(|v| v as i32).collect()),
            Scalar::I64 => Array::I64(numbers.map(|v| v as i64).collect()),
            Scalar::U8 => Array::U8(numbers.map(|v| v as u8).collect()),
            Scalar::U16 => Array::U16(numbers.map(|v| v as u16).collect()),
            Scalar::U32 => Array::U32(numbers.map(|v| v as u32).collect()),
            Scalar::U64 => Array::U64(numbers.collect()),
            Scalar::F32 => Array::F32(numbers.map(|v| v as f32).collect()),
            Scalar::F64 => Array::F64(numbers.map(|v| v as f64).collect()),
            Scalar::String => Array::String(numbers.map(|v| "x".repeat(v as usize % 9)).collect()),
        }
    }
}

fn values() -> impl Strategy<Value = Data> {
    (types(), vec(any::<u64>(), 1..40)).prop_map(|(ty, numbers)| {
        let value = Supply { numbers: &numbers, at: 0 }.tree(&ty);
        Data { ty, value }
    })
}

fn encode(data: &Data, order: Order) -> Vec<u8> {
    let mut writer = Writer::new(order);
    data.encode(&mut writer).expect("the value has the shape of its type");
    writer.into_bytes()
}

proptest! {
    #[test]
    fn values_of_any_type_come_out_as_they_went_in(data in values(), big in any::<bool>()) {
        let order = if big { Order::Big } else { Order::Little };
        let bytes = encode(&data, order);
        let mut reader = Reader::new(&bytes, order);
        prop_assert_eq!(read(&mut reader, &mut TypeRegistry::default()), Ok(data));
        prop_assert!(reader.rest().is_empty());
    }

    #[test]
    fn a_truncated_value_is_refused(data in values(), cut in any::<Index>()) {
        let bytes = encode(&data, Order::Little);
        prop_assert!(decode_structure(&bytes[..cut.index(bytes.len())]).is_err());
    }

    #[test]
    fn a_damaged_value_costs_no_more_memory_than_it_has_bytes(data in values(), at in any::<Index>(), byte in any::<u8>()) {
        let mut bytes = encode(&data, Order::Little);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(damaged) = decode_structure(&bytes) {
            prop_assert!(trees(&damaged.value) <= 4096 + 4 * bytes.len());
        }
    }

    #[test]
    fn any_bytes_are_a_value_or_refused(bytes in vec(any::<u8>(), 0..200)) {
        if let Ok(data) = decode_structure(&bytes) {
            prop_assert!(trees(&data.value) <= 4096 + 4 * bytes.len());
        }
    }
}

fn trees(tree: &Tree) -> usize {
    1 + match tree {
        Tree::Structure(fields) => fields.iter().map(trees).sum(),
        Tree::Structures(all) => all.iter().flatten().flatten().map(trees).sum(),
        Tree::Unions(all) => all.iter().flatten().map(trees).sum(),
        Tree::Union(Some(selected)) => trees(&selected.value),
        Tree::Any(Some(data)) => trees(&data.value),
        Tree::Anys(all) => all.iter().flatten().map(|data| trees(&data.value)).sum::<usize>() + all.len(),
        _ => 0,
    }
}

/// Each level refers twice to the one before, so that 60 bytes describe a type of a million fields, which is refused.
#[test]
fn a_type_that_doubles_with_each_level_is_refused() {
    let mut bytes = vec![0x80, 0, 20];
    for level in 0..20_u8 {
        bytes.extend([1, b'a', 0xfd, level, 0, 0x80, 0, 2]);
        for _ in 0..2 {
            bytes.extend([1, b'b']);
            match level {
                0 => bytes.push(0x22),
                _ => bytes.extend([0xfe, level - 1, 0]),
            }
        }
    }
    let refused = decode_structure(&bytes).expect_err("a million fields");
    assert!(refused.to_string().contains("more than the 16384"), "{refused}");
}

//! Structures with fewer fields: a structure becomes one of another type, which does not have some of its fields.
//!
//! Leaves are left out by their paths, as `value.wave`: fields that are not structures themselves. An inner structure goes when none
//! of its fields is left.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::sync::Arc;

use crate::{
    Decoder, Field, Structure, Tree, Type, TypeRegistry,
    wire::{Order, Reader, Writer},
};

/// How structures of one type lose some of their fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Fewer {
    from: Arc<Structure>,
    /// As it begins each structure.
    description: Vec<u8>,
    /// For each leaf whether it stays.
    stays: Vec<bool>,
    left_out: Vec<String>,
    to: Type,
    description_left: Vec<u8>,
}

impl Fewer {
    /// For structures of the type of this one, which was kept with its description; `stays` is asked for the path of each leaf. None
    /// if it is no structure.
    pub fn of(structure: &[u8], mut stays: impl FnMut(&str) -> bool) -> Option<Fewer> {
        let mut reader = Reader::new(structure, Order::Little);
        let Type::Structure(from) = TypeRegistry::default().decode(&mut reader).ok().flatten()? else { return None };
        let (description, _) = structure.split_at_checked(structure.len() - reader.rest().len())?;
        let mut paths = Vec::new();
        add_paths(&mut paths, "", &from);
        let kept: Vec<bool> = paths.iter().map(|path| stays(path)).collect();
        let to = Type::Structure(fewer_fields(&from, &mut kept.iter().copied())?);
        let left_out = paths.into_iter().zip(&kept).filter(|(_, stays)| !**stays).map(|(path, _)| path).collect();
        let mut writer = Writer::new(Order::Little);
        to.encode(&mut writer);
        let description_left = writer.into_bytes();
        Some(Fewer { from, description: description.to_vec(), stays: kept, left_out, to, description_left })
    }

    /// Whether it is for structures like this one, which begins with the description of its type.
    pub fn describes(&self, structure: &[u8]) -> bool {
        structure.starts_with(&self.description)
    }

    /// The paths of the leaves that it leaves out.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// How many leaves there are, those that it leaves out included.
    pub fn leaves(&self) -> usize {
        self.stays.len()
    }

    /// What is left of a structure; none if it is not what its description says.
    pub fn apply(&self, structure: &[u8]) -> Option<Vec<u8>> {
        let mut reader = Reader::new(structure.strip_prefix(self.description.as_slice())?, Order::Little);
        let whole = Type::Structure(self.from.clone());
        let tree = Decoder::new(&mut reader, &mut TypeRegistry::default()).tree(&whole).ok()?;
        let Tree::Structure(trees) = tree else { return None };
        let left = Tree::Structure(fewer_trees(&self.from, trees, &mut self.stays.iter().copied()));
        let mut writer = Writer::new(Order::Little);
        writer.put(&self.description_left);
        left.encode(&self.to, &mut writer).ok()?;
        reader.rest().is_empty().then(|| writer.into_bytes())
    }
}

fn add_paths(paths: &mut Vec<String>, before: &str, structure: &Structure) {
    for field in structure.fields() {
        let path = if before.is_empty() { field.name.to_string() } else { format!("{before}.{}", field.name) };
        match &field.ty {
            Type::Structure(inner) => add_paths(paths, &path, inner),
            _ => paths.push(path),
        }
    }
}

fn fewer_fields(whole: &Structure, stays: &mut impl Iterator<Item = bool>) -> Option<Arc<Structure>> {
    let mut fields = Vec::new();
    for field in whole.fields() {
        let ty = match &field.ty {
            Type::Structure(inner) => {
                let left = fewer_fields(inner, stays)?;
                (!left.fields().is_empty() || inner.fields().is_empty()).then_some(Type::Structure(left))
            }
            leaf => stays.next()?.then(|| leaf.clone()),
        };
        fields.extend(ty.map(|ty| Field { name: field.name.clone(), ty }));
    }
    Structure::new(whole.id(), fields).ok().map(Arc::new)
}

fn fewer_trees(whole: &Structure, trees: Vec<Tree>, stays: &mut impl Iterator<Item = bool>) -> Vec<Tree> {
    let mut left = Vec::new();
    for (field, tree) in whole.fields().iter().zip(trees) {
        match (&field.ty, tree) {
            (Type::Structure(inner), Tree::Structure(trees)) => {
                let fewer = fewer_trees(inner, trees, stays);
                if !fewer.is_empty() || inner.fields().is_empty() {
                    left.push(Tree::Structure(fewer));
                }
            }
            (_, leaf) => left.extend(stays.next().unwrap_or(false).then_some(leaf)),
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Array, Data, Extent, Scalar, decode_structure};

    fn example() -> Vec<u8> {
        let inner = Type::structure("in", [("rms", Type::Scalar(Scalar::F64)), ("wave", wave())]);
        let nothing = Type::structure("none", []);
        let fields = [
            ("value", inner.expect("it is small")),
            ("empty", nothing.expect("it is small")),
            ("count", Type::Scalar(Scalar::U64)),
        ];
        let value = Tree::Structure(vec![Tree::F64(0.5), Tree::Array(Array::F64(vec![1.0, 2.0]))]);
        let trees = Tree::Structure(vec![value, Tree::Structure(Vec::new()), Tree::U64(7)]);
        let mut writer = Writer::new(Order::Little);
        let data = Data { ty: Type::structure("lab", fields).expect("it is small"), value: trees };
        data.encode(&mut writer).expect("it fits its type");
        writer.into_bytes()
    }

    fn wave() -> Type {
        Type::Array(Scalar::F64, Extent::Variable)
    }

    fn left(stays: impl FnMut(&str) -> bool) -> (Vec<String>, String) {
        let fewer = Fewer::of(&example(), stays).expect("it is a structure");
        assert!(fewer.describes(&example()) && fewer.leaves() == 3);
        let left = decode_structure(&fewer.apply(&example()).expect("it is what it says")).expect("it is one");
        (fewer.left_out().to_vec(), format!("{} {:?}", left.ty, left.value))
    }

    #[test]
    fn what_stays_keeps_its_place_and_value() {
        let (out, left_of) = left(|path| path != "value.wave");
        assert_eq!(out, ["value.wave"]);
        let expected = "lab{value: in{rms: double}, empty: none{}, count: ulong} \
                        Structure([Structure([F64(0.5)]), Structure([]), U64(7)])";
        assert_eq!(left_of, expected);
        let (out, left_of) = left(|path| !path.starts_with("value"));
        assert_eq!(out, ["value.rms", "value.wave"]);
        assert_eq!(left_of, "lab{empty: none{}, count: ulong} Structure([Structure([]), U64(7)])");
    }

    #[test]
    fn what_is_cut_off_or_goes_on_is_no_structure() {
        let fewer = Fewer::of(&example(), |path| path != "count").expect("it is a structure");
        for end in 0..example().len() {
            assert_eq!(fewer.apply(example().get(..end).unwrap_or_default()), None, "cut at {end}");
        }
        assert_eq!(fewer.apply(&[example(), vec![0]].concat()), None);
        assert!(Fewer::of(&[0x43, 0, 0], |_| true).is_none() && Fewer::of(&[], |_| true).is_none());
    }
}

//! What a client asks for: which fields of a PV, and how much may wait for it.
//!
//! ```text
//!   structure { field { value {} alarm {} }  record { _options { queueSize  pipeline } } }      empty field: everything
//! ```

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use pvdata::{BitSet, Data, Structure, Tree, Type};

/// How many updates wait for a client that does not say.
const QUEUE_DEFAULT: usize = 4;
/// What a client may ask for at most.
const QUEUE_MAX: usize = 10_000;

/// What a request for fields means for one type.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Selection {
    /// The numbers of the leaves that are wanted; none stands for all.
    pub(super) fields: Option<BitSet>,
    pub(super) queue: usize,
    pub(super) pipeline: bool,
}

impl Selection {
    /// An error is told to the client.
    pub(super) fn new(request: Option<&Data>, ty: &Type) -> Result<Selection, &'static str> {
        let mut selection = Selection { fields: None, queue: QUEUE_DEFAULT, pipeline: false };
        let Some(request) = request else { return Ok(selection) };
        for (name, wanted, tree) in request.fields() {
            match (name, wanted) {
                ("field", Type::Structure(wanted)) if !wanted.fields().is_empty() => {
                    let mut fields = BitSet::default();
                    select(wanted, ty, 0, &mut fields);
                    if fields.is_empty() {
                        return Err("the PV has none of these fields");
                    }
                    selection.fields = Some(fields);
                }
                ("record", Type::Structure(_)) => selection.options(wanted, tree),
                _ => {}
            }
        }
        Ok(selection)
    }

    fn options(&mut self, ty: &Type, tree: &Tree) {
        let record = Data { ty: ty.clone(), value: tree.clone() };
        let Some((_, ty, value)) = record.fields().find(|(name, ..)| *name == "_options") else { return };
        let options = Data { ty: ty.clone(), value: value.clone() };
        for (name, _, tree) in options.fields() {
            match (name, tree) {
                ("queueSize", Tree::String(text)) => self.queue = text.parse().unwrap_or(self.queue),
                ("queueSize", number) => {
                    let size = number.as_i64().and_then(|size| usize::try_from(size).ok());
                    self.queue = size.unwrap_or(self.queue);
                }
                ("pipeline", Tree::String(text)) => self.pipeline = text == "true" || text == "1",
                ("pipeline", flag) => self.pipeline = flag.as_i64().is_some_and(|flag| flag != 0),
                _ => {}
            }
        }
        self.queue = self.queue.clamp(1, QUEUE_MAX);
    }
}

/// Adds the leaves of `ty`, which has that field number, that `wanted` names. A field that is named without any of its
/// own is wanted whole.
fn select(wanted: &Structure, ty: &Type, number: usize, fields: &mut BitSet) {
    let Type::Structure(s) = ty else { return };
    let mut at = number + 1;
    for field in s.fields() {
        match wanted.field(&field.name).map(|(_, ty)| ty) {
            Some(Type::Structure(within)) if !within.fields().is_empty() && matches!(field.ty, Type::Structure(_)) => {
                select(within, &field.ty, at, fields);
            }
            Some(_) => leaves(&field.ty, at, fields),
            None => {}
        }
        at += field.ty.field_numbers();
    }
}

/// Adds the leaves of a type, which has that field number.
pub(super) fn leaves(ty: &Type, number: usize, fields: &mut BitSet) {
    let Type::Structure(s) = ty else { return fields.insert(number) };
    let mut at = number + 1;
    for field in s.fields() {
        leaves(&field.ty, at, fields);
        at += field.ty.field_numbers();
    }
}

/// The leaves that a set of field numbers stands for, as the number of a structure stands for all within.
pub(super) fn leaves_of(changed: &BitSet, ty: &Type, number: usize, found: &mut BitSet) {
    if changed.contains(number) {
        return leaves(ty, number, found);
    }
    let Type::Structure(s) = ty else { return };
    let mut at = number + 1;
    for field in s.fields() {
        leaves_of(changed, &field.ty, at, found);
        at += field.ty.field_numbers();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pv() -> Type {
        let int = || Type::Scalar(pvdata::Scalar::I32);
        let pair = Type::structure("", [("x", int()), ("y", int())]).expect("a type");
        Type::structure("", [("a", int()), ("pair", pair), ("b", int())]).expect("a type")
    }

    fn selected(wanted: Type) -> Result<Option<Vec<usize>>, &'static str> {
        let ty = Type::structure("", [("field", wanted)]).expect("a type");
        let request = Data { value: Tree::default_of(&ty), ty };
        Selection::new(Some(&request), &pv()).map(|s| s.fields.map(|fields| fields.iter().collect()))
    }

    #[test]
    fn fields_are_selected_whole_in_part_or_all() {
        let nothing = || Type::structure("", []).expect("a type");
        let of = |fields| Type::structure("", fields).expect("a type");
        assert_eq!(selected(nothing()), Ok(None));
        assert_eq!(selected(of(vec![("b", nothing())])), Ok(Some(vec![5])));
        assert_eq!(selected(of(vec![("pair", nothing())])), Ok(Some(vec![3, 4])));
        assert_eq!(selected(of(vec![("a", nothing()), ("pair", of(vec![("y", nothing())]))])), Ok(Some(vec![1, 4])));
        assert!(selected(of(vec![("none", nothing())])).is_err());
    }

    #[test]
    fn the_number_of_a_structure_stands_for_its_leaves() {
        let of = |bits: &[usize]| {
            let mut found = BitSet::default();
            leaves_of(&bits.iter().copied().collect(), &pv(), 0, &mut found);
            found.iter().collect::<Vec<_>>()
        };
        assert_eq!((of(&[0]), of(&[2, 5]), of(&[4])), (vec![1, 3, 4, 5], vec![3, 4, 5], vec![4]));
    }
}

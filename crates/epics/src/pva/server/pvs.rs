//! The PVs of a server: their types, their newest values, and who monitors them.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{collections::HashMap, sync::Arc};

use pvdata::{
    BitSet, Error, Tree, Type,
    wire::{Order, Writer},
};

use super::breach::Breach;

/// A PV of one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerPv(pub(super) u32);

/// A field within a structure: its number in bit sets, and the way to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its field number.
    pub number: usize,
    path: Box<[usize]>,
}

impl Place {
    /// Looks a field up by its dotted name, such as `alarm.severity`.
    pub fn of(ty: &Type, name: &str) -> Option<Place> {
        let (mut ty, mut number, mut path) = (ty, 0, Vec::new());
        for part in name.split('.') {
            let Type::Structure(s) = ty else { return None };
            let (at, within) = s.field(part)?;
            number += 1 + s.fields().iter().take(at).map(|field| field.ty.field_numbers()).sum::<usize>();
            path.push(at);
            ty = within;
        }
        Some(Place { number, path: path.into() })
    }

    /// The field of a value of that type.
    pub fn within<'a>(&self, tree: &'a mut Tree) -> Option<&'a mut Tree> {
        self.path.iter().try_fold(tree, |tree, at| match tree {
            Tree::Structure(fields) => fields.get_mut(*at),
            _ => None,
        })
    }

    /// Replaces the field; what is not there stays away.
    pub fn set(&self, tree: &mut Tree, value: Tree) {
        if let Some(field) = self.within(tree) {
            *field = value;
        }
    }
}

/// One PV.
#[derive(Debug)]
pub(super) struct Pv {
    pub(super) name: Arc<str>,
    /// Its place among the types.
    pub(super) ty: usize,
    pub(super) value: Arc<Tree>,
    /// The monitors by their numbers, running or not.
    pub(super) monitors: Vec<u32>,
    /// How one message in so many breaks the protocol.
    pub(super) breach: Option<(Breach, u32)>,
    /// Updates that had to share a place with another, over all its monitors.
    pub(super) squashed: u64,
}

/// A type that PVs have, described once.
#[derive(Debug)]
pub(super) struct Described {
    pub(super) ty: Type,
    pub(super) leaves: BitSet,
}

/// All PVs of a server.
#[derive(Debug, Default)]
pub(super) struct Pvs {
    all: Vec<Option<Pv>>,
    names: HashMap<Arc<str>, ServerPv>,
    types: Vec<Described>,
    known: HashMap<Type, usize>,
}

impl Pvs {
    /// Adds a PV; refused where the value does not have the shape of its type. An older PV of that name is no longer found.
    pub(super) fn add(&mut self, name: &str, ty: &Type, value: Tree) -> Result<ServerPv, Error> {
        if !matches!(ty, Type::Structure(_)) {
            return Err(Error::Mismatch { what: "the type of a PV, which must be a structure" });
        }
        value.encode(ty, &mut Writer::new(Order::Little))?;
        let ty = match self.known.get(ty) {
            Some(known) => *known,
            None => {
                let mut leaves = BitSet::default();
                super::selection::leaves(ty, 0, &mut leaves);
                self.types.push(Described { ty: ty.clone(), leaves });
                self.known.insert(ty.clone(), self.types.len() - 1);
                self.types.len() - 1
            }
        };
        let id = ServerPv(self.all.len() as u32);
        let name: Arc<str> = name.into();
        let value = Arc::new(value);
        self.all.push(Some(Pv { name: Arc::clone(&name), ty, value, monitors: Vec::new(), breach: None, squashed: 0 }));
        self.names.insert(name, id);
        Ok(id)
    }

    /// Takes a PV away.
    pub(super) fn remove(&mut self, id: ServerPv) -> Option<Pv> {
        let pv = self.all.get_mut(id.0 as usize)?.take()?;
        if self.names.get(&pv.name) == Some(&id) {
            self.names.remove(&pv.name);
        }
        Some(pv)
    }

    pub(super) fn find(&self, name: &str) -> Option<ServerPv> {
        self.names.get(name).copied()
    }

    pub(super) fn get(&self, id: ServerPv) -> Option<&Pv> {
        self.all.get(id.0 as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, id: ServerPv) -> Option<&mut Pv> {
        self.all.get_mut(id.0 as usize)?.as_mut()
    }

    /// A PV together with its type.
    pub(super) fn with_type(&mut self, id: ServerPv) -> Option<(&mut Pv, &Described)> {
        let pv = self.all.get_mut(id.0 as usize)?.as_mut()?;
        let described = self.types.get(pv.ty)?;
        Some((pv, described))
    }

    /// The number of the PV's type, and the type.
    pub(super) fn type_of(&self, id: ServerPv) -> Option<(usize, &Described)> {
        let at = self.get(id)?.ty;
        self.types.get(at).map(|described| (at, described))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panic")]
mod tests {
    use super::*;
    use pvdata::Scalar;

    #[test]
    fn a_place_is_found_by_its_dotted_name() {
        let int = || Type::Scalar(Scalar::I32);
        let pair = || Type::structure("", [("x", int()), ("y", int())]).unwrap();
        let ty = Type::structure("", [("a", pair()), ("b", pair()), ("c", int())]).unwrap();
        let place = Place::of(&ty, "b.y").unwrap();
        assert_eq!((place.number, Place::of(&ty, "c").unwrap().number), (6, 7));
        let mut tree = Tree::default_of(&ty);
        place.set(&mut tree, Tree::I32(5));
        let Tree::Structure(fields) = &tree else { panic!("a structure") };
        assert_eq!(fields.get(1), Some(&Tree::Structure(vec![Tree::I32(0), Tree::I32(5)])));
        assert_eq!((Place::of(&ty, "b.z"), Place::of(&ty, "c.x")), (None, None));
    }
}

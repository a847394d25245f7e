//! Updates of a monitor -> readings and descriptions.
//!
//! Updates carry only what changed, so that each subscription remembers the [`Last`] value, alarm, time and description.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{collections::HashSet, sync::Arc};

use pvdata::{Array, Error, TypeRegistry};

use super::{
    keep::{Keep, Part, RoomFor},
    plan::{Kind, Place, Plan, Role},
    types::{Extent, Type},
    value::{Decoder, Tree},
    wire::{BitSet, Order, Reader, Writer, text},
};
use crate::{Description, Event, Reading, Value};

/// What a subscription remembers of the updates so far.
#[derive(Debug)]
pub(crate) struct Last {
    value: Kept,
    severity: i32,
    status: i32,
    message: Option<Arc<str>>,
    seconds: i64,
    nanos: u32,
    user_tag: i32,
    description: Box<Description>,
    begun: bool,
}

/// The last value. Arrays are kept as they came, which costs one copy into memory that is already there.
#[derive(Debug)]
enum Kept {
    Scalar(Value),
    Array {
        order: Order,
        bytes: Vec<u8>,
        part: Part,
    },
    Whole {
        tree: Box<Tree>,
        part: Part,
    },
    /// There was no room for it: an update that does not bring the whole value cannot be read.
    Nothing {
        part: Part,
    },
}

/// A value that is much smaller than the memory of the one before gives that back.
const SPARE_BYTES_MAX: usize = 64 << 10;

/// Why an update cannot be read. The monitor is asked for anew then, which brings the whole value.
const NOT_KEPT: Error = Error::Mismatch {
    what: "a change of a value that was too large to be kept beside those of other PVs (messages_megabytes_max)",
};

/// What an update changed.
#[derive(Default)]
struct Changed {
    reading: bool,
    description: bool,
}

/// Words that many PVs send again and again, such as `NO_ALARM`, each held once.
#[derive(Debug, Default)]
pub(crate) struct Words(HashSet<Arc<str>>);

/// More different words than this are not worth sharing.
const WORDS_MAX: usize = 4096;

impl Words {
    fn share(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.0.get(text) {
            return known.clone();
        }
        let new: Arc<str> = text.into();
        if self.0.len() < WORDS_MAX {
            self.0.insert(new.clone());
        }
        new
    }
}

impl Last {
    /// Before the first update: everything zero, as the protocol says.
    pub(crate) fn new(plan: &Plan, keep: &Keep) -> Last {
        let value = match plan.kind {
            Kind::Enum => Kept::Scalar(Value::Enum(0)),
            Kind::Scalar => {
                Kept::Scalar(plan.value_type().map_or(Value::Bool(false), |ty| scalar(Tree::default_of(ty))))
            }
            Kind::Array => Kept::Array { order: Order::Little, bytes: Vec::new(), part: keep.part() },
            Kind::Whole => Kept::Whole { tree: Box::new(Tree::default_of(&plan.ty)), part: keep.part() },
        };
        let element_count = match (plan.kind, plan.value_type()) {
            (Kind::Array, Some(Type::Array(_, Extent::Bounded(count) | Extent::Fixed(count)))) => {
                Some(u64::from(*count))
            }
            (Kind::Array, _) => None,
            _ => Some(1),
        };
        let description = Box::new(Description { element_count, ..Description::default() });
        Last {
            value,
            severity: 0,
            status: 0,
            message: None,
            seconds: 0,
            nanos: 0,
            user_tag: 0,
            description,
            begun: false,
        }
    }
}

impl Plan {
    /// Reads one update, merges it into `last` and tells what is new. Returns whether the server had to overwrite
    /// earlier updates before it could send them.
    pub(crate) fn apply(
        &self,
        last: &mut Last,
        r: &mut Reader,
        context: (&mut TypeRegistry, &mut Words),
        mut tell: impl FnMut(Event),
    ) -> Result<bool, Error> {
        let bits = r.bits()?;
        let (changed, value) = match self.kind {
            Kind::Whole => self.apply_whole(last, &bits, r, context)?,
            _ => self.apply_fields(last, &bits, r, context)?,
        };
        let overrun = !r.rest().is_empty() && !r.bits()?.is_empty();
        if changed.description || !last.begun {
            tell(Event::Described(last.description.clone()));
        }
        if changed.reading || !last.begun {
            let value = match value {
                Some(value) => value,
                None => self.last_value(last)?,
            };
            tell(Event::Updated(Reading {
                value,
                seconds: last.seconds,
                nanos: last.nanos,
                severity: last.severity,
                status: last.status,
                message: last.message.clone(),
                user_tag: last.user_tag,
                overrun,
            }));
        }
        last.begun = true;
        last.settle();
        Ok(overrun)
    }

    /// The path of nearly all updates: a value, its alarm and its time, a few fields out of some thirty.
    fn apply_fields(
        &self,
        last: &mut Last,
        bits: &BitSet,
        r: &mut Reader,
        (registry, words): (&mut TypeRegistry, &mut Words),
    ) -> Result<(Changed, Option<Value>), Error> {
        let mut changed = Changed::default();
        let mut value = None;
        let mut at = 0;
        while let Some(bit) = bits.next_from(at) {
            let end = self.nodes.get(bit).map(|node| node.end).ok_or(Error::Mismatch { what: "a bit set" })?;
            for node in self.nodes.get(bit..end).unwrap_or_default() {
                let Some(leaf) = &node.leaf else { continue };
                match node.role {
                    Role::Message => {
                        last.set_message(r.string_bytes("an alarm message")?, words);
                        changed.reading = true;
                    }
                    Role::Value if self.kind == Kind::Array => {
                        value = Some(last.read_array(leaf, r)?);
                        changed.reading = true;
                    }
                    role => {
                        let tree = Decoder::new(r, registry).tree(leaf)?;
                        last.note(role, tree, &mut changed);
                    }
                }
            }
            at = end;
        }
        Ok((changed, value))
    }

    fn apply_whole(
        &self,
        last: &mut Last,
        bits: &BitSet,
        r: &mut Reader,
        (registry, words): (&mut TypeRegistry, &mut Words),
    ) -> Result<(Changed, Option<Value>), Error> {
        let mut changed = Changed { reading: !bits.is_empty(), description: false };
        if bits.contains(0) {
            last.begin_whole(&self.ty);
        }
        let tree = match &mut last.value {
            Kept::Whole { tree, .. } => tree,
            Kept::Nothing { .. } => return Err(NOT_KEPT),
            Kept::Scalar(_) | Kept::Array { .. } => return Ok((changed, None)),
        };
        Decoder::new(r, registry).merge(&self.ty, tree, bits, 0)?;
        let noted: Vec<(Role, Tree)> =
            self.places.iter().filter_map(|(role, place)| Some((*role, field_at(tree, *place)?.clone()))).collect();
        for (role, tree) in noted {
            match (role, &tree) {
                (Role::Message, Tree::String(text)) => last.set_message(text.as_bytes(), words),
                _ => last.note(role, tree, &mut changed),
            }
        }
        Ok((changed, None))
    }

    fn last_value(&self, last: &Last) -> Result<Value, Error> {
        match &last.value {
            Kept::Scalar(value) => Ok(value.clone()),
            Kept::Array { order, bytes, .. } => match self.value_type() {
                Some(Type::Array(scalar, _)) if bytes.is_empty() => Ok(Value::Array(Array::empty(*scalar))),
                Some(Type::Array(scalar, extent)) => {
                    Array::decode(*scalar, *extent, &mut Reader::new(bytes, *order)).map(Value::Array)
                }
                _ => Err(Error::Mismatch { what: "an array" }),
            },
            Kept::Nothing { .. } => Err(NOT_KEPT),
            Kept::Whole { tree, .. } => {
                let mut writer = Writer::new(Order::Little);
                writer.put(&self.encoded);
                tree.encode(&self.ty, &mut writer)?;
                Ok(Value::Structure(writer.into_bytes()))
            }
        }
    }
}

fn field_at(tree: &Tree, (top, sub): Place) -> Option<&Tree> {
    let Tree::Structure(fields) = tree else { return None };
    let field = fields.get(top)?;
    match (sub, field) {
        (None, field) => Some(field),
        (Some(sub), Tree::Structure(within)) => within.get(sub),
        _ => None,
    }
}

impl Last {
    /// Whether there has been an update.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun
    }

    fn set_message(&mut self, bytes: &[u8], words: &mut Words) {
        if self.message.as_deref().unwrap_or_default().as_bytes() != bytes {
            let text = text(bytes);
            self.message = (!text.is_empty()).then(|| words.share(&text));
        }
    }

    fn read_array(&mut self, ty: &Type, r: &mut Reader) -> Result<Value, Error> {
        let Type::Array(scalar, extent) = ty else { return Err(Error::Mismatch { what: "an array" }) };
        let before = r.rest();
        let elements = Array::decode(*scalar, *extent, r)?;
        let taken = before.len() - r.rest().len();
        if let Kept::Nothing { part } = &self.value {
            self.value = Kept::Array { order: r.order(), bytes: Vec::new(), part: part.another() };
        }
        if let (Kept::Array { order, bytes, part }, Some(whole)) = (&mut self.value, before.get(..taken)) {
            *order = r.order();
            bytes.clear();
            if bytes.capacity() > whole.len() + SPARE_BYTES_MAX {
                *bytes = Vec::new();
            }
            match part.resize(bytes.capacity().max(whole.len())) {
                RoomFor::Yes => {
                    bytes.reserve_exact(whole.len());
                    bytes.extend_from_slice(whole);
                }
                RoomFor::No => self.value = Kept::Nothing { part: part.another() },
            }
        }
        Ok(Value::Array(elements))
    }

    /// A structure comes whole: what was there before is in nobody's way.
    fn begin_whole(&mut self, ty: &Type) {
        if let Kept::Whole { part, .. } | Kept::Nothing { part } = &self.value {
            self.value = Kept::Whole { tree: Box::new(Tree::default_of(ty)), part: part.another() };
        }
    }

    /// Counts what a structure takes, and gives it up where there is no room for it.
    fn settle(&mut self) {
        if let Kept::Whole { tree, part } = &mut self.value
            && part.resize(tree.memory()) == RoomFor::No
        {
            self.value = Kept::Nothing { part: part.another() };
        }
    }

    fn note(&mut self, role: Role, tree: Tree, changed: &mut Changed) {
        let whole = |tree: &Tree| tree.as_i64().unwrap_or(0);
        match role {
            Role::None | Role::Message => return,
            Role::Described(part) => {
                changed.description |= part.note(tree, &mut self.description);
                return;
            }
            Role::Value => match &mut self.value {
                Kept::Scalar(Value::Enum(index)) => *index = whole(&tree) as i32,
                Kept::Scalar(value) => *value = scalar(tree),
                Kept::Array { .. } | Kept::Whole { .. } | Kept::Nothing { .. } => {}
            },
            Role::Severity => self.severity = whole(&tree) as i32,
            Role::Status => self.status = whole(&tree) as i32,
            Role::Seconds => self.seconds = whole(&tree),
            Role::Nanos => self.nanos = whole(&tree) as u32,
            Role::UserTag => self.user_tag = whole(&tree) as i32,
        }
        changed.reading = true;
    }
}

/// The value of a scalar; what is no scalar cannot come here and counts as false.
fn scalar(tree: Tree) -> Value {
    match tree {
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
        Tree::String(v) => Value::String(v),
        _ => Value::Bool(false),
    }
}

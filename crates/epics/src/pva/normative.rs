//! Updates of a monitor -> readings and descriptions.
//!
//! ```text
//!   NTScalar, NTScalarArray, NTEnum     the value itself; alarm, timeStamp and the rest beside it
//!   everything else                     the whole structure, after the change has been merged into the last one
//! ```
//!
//! A [`Plan`] is made once per type and shared; [`Last`] is what a subscription must remember because updates carry
//! only what changed.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{collections::HashSet, sync::Arc};

use super::{
    array,
    describe::Item,
    types::{Extent, Registry, Scalar, Structure, Type},
    value::{Decoder, Tree},
    wire::{BitSet, Error, Order, Reader, Writer, text},
};
use crate::{Description, Event, Reading, Value};

/// What a type means, worked out once.
#[derive(Debug)]
pub(crate) struct Plan {
    ty: Type,
    kind: Kind,
    /// By field number, for all kinds but [`Kind::Whole`].
    nodes: Box<[Node]>,
    /// Where the fields with a meaning stand, for [`Kind::Whole`].
    places: Box<[(Role, Place)]>,
    /// The type description, as it begins each [`Value::Structure`].
    encoded: Box<[u8]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Scalar,
    Array,
    Enum,
    Whole,
}

/// A field: how far its own fields reach, and what it is for.
#[derive(Debug)]
struct Node {
    end: usize,
    /// None for structures, whose fields follow.
    leaf: Option<Type>,
    role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    None,
    Value,
    Severity,
    Status,
    Message,
    Seconds,
    Nanos,
    UserTag,
    Described(Item),
}

/// A field of the top structure, or a field of a structure in it.
type Place = (usize, Option<usize>);

/// Every path that has a meaning, in all types alike.
const ROLES: [(&str, &str, Role); 22] = [
    ("value", "", Role::Value),
    ("value", "index", Role::Value),
    ("value", "choices", Role::Described(Item::Labels)),
    ("alarm", "severity", Role::Severity),
    ("alarm", "status", Role::Status),
    ("alarm", "message", Role::Message),
    ("timeStamp", "secondsPastEpoch", Role::Seconds),
    ("timeStamp", "nanoseconds", Role::Nanos),
    ("timeStamp", "userTag", Role::UserTag),
    ("descriptor", "", Role::Described(Item::Text)),
    ("display", "description", Role::Described(Item::Text)),
    ("display", "units", Role::Described(Item::Units)),
    ("display", "precision", Role::Described(Item::Precision)),
    ("display", "format", Role::Described(Item::Format)),
    ("display", "limitLow", Role::Described(Item::DisplayLow)),
    ("display", "limitHigh", Role::Described(Item::DisplayHigh)),
    ("control", "limitLow", Role::Described(Item::ControlLow)),
    ("control", "limitHigh", Role::Described(Item::ControlHigh)),
    ("valueAlarm", "lowWarningLimit", Role::Described(Item::WarningLow)),
    ("valueAlarm", "highWarningLimit", Role::Described(Item::WarningHigh)),
    ("valueAlarm", "lowAlarmLimit", Role::Described(Item::AlarmLow)),
    ("valueAlarm", "highAlarmLimit", Role::Described(Item::AlarmHigh)),
];

/// The fields that a structure may have to be no more than its value with the usual company, whatever its id.
const COMPANY: [&str; 7] = ["value", "descriptor", "alarm", "timeStamp", "display", "control", "valueAlarm"];

impl Plan {
    /// Works out what updates of that type mean.
    pub(crate) fn new(ty: Type) -> Plan {
        let kind = kind(&ty);
        let mut nodes = Vec::new();
        if kind != Kind::Whole {
            flatten(&ty, &mut Vec::new(), &mut nodes);
        }
        let places = match &ty {
            Type::Structure(s) if kind == Kind::Whole => places(s),
            _ => Box::default(),
        };
        let mut writer = Writer::new(Order::Little);
        ty.encode(&mut writer);
        Plan { ty, kind, nodes: nodes.into(), places, encoded: writer.into_bytes().into() }
    }
}

fn kind(ty: &Type) -> Kind {
    let Type::Structure(s) = ty else { return Kind::Whole };
    let named = ["epics:nt/NTScalar", "epics:nt/NTEnum"].iter().any(|id| s.id().starts_with(id));
    if !named && !s.fields().iter().all(|field| COMPANY.contains(&&*field.name)) {
        return Kind::Whole;
    }
    match s.field("value") {
        Some((_, Type::Scalar(_) | Type::BoundedString(_))) => Kind::Scalar,
        Some((_, Type::Array(..))) => Kind::Array,
        Some((_, Type::Structure(value))) if is_enum(value) => Kind::Enum,
        _ => Kind::Whole,
    }
}

fn is_enum(s: &Structure) -> bool {
    let index = s.field("index").map(|(_, ty)| ty);
    let choices = s.field("choices").map(|(_, ty)| ty);
    matches!(index, Some(Type::Scalar(scalar)) if *scalar != Scalar::String)
        && matches!(choices, Some(Type::Array(Scalar::String, _)))
}

fn flatten<'a>(ty: &'a Type, path: &mut Vec<&'a str>, nodes: &mut Vec<Node>) {
    let at = nodes.len();
    let Type::Structure(s) = ty else {
        nodes.push(Node { end: at + 1, leaf: Some(ty.clone()), role: role(path) });
        return;
    };
    nodes.push(Node { end: at + ty.field_numbers(), leaf: None, role: Role::None });
    for field in s.fields() {
        path.push(&field.name);
        flatten(&field.ty, path, nodes);
        path.pop();
    }
}

fn role(path: &[&str]) -> Role {
    let (top, sub) = match path {
        [top] => (*top, ""),
        [top, sub] => (*top, *sub),
        _ => return Role::None,
    };
    ROLES.iter().find(|(t, s, _)| *t == top && *s == sub).map_or(Role::None, |(_, _, role)| *role)
}

fn places(s: &Structure) -> Box<[(Role, Place)]> {
    let place = |(top, sub, role): &(&str, &str, Role)| {
        let (at, ty) = s.field(top)?;
        match ty {
            _ if *role == Role::Value => None,
            Type::Structure(within) => within.field(sub).map(|(sub, _)| (*role, (at, Some(sub)))),
            _ => sub.is_empty().then_some((*role, (at, None))),
        }
    };
    ROLES.iter().filter_map(place).collect()
}

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
    Array { order: Order, bytes: Vec<u8> },
    Whole(Box<Tree>),
}

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
    pub(crate) fn new(plan: &Plan) -> Last {
        let value = match plan.kind {
            Kind::Enum => Kept::Scalar(Value::Enum(0)),
            Kind::Scalar => {
                Kept::Scalar(plan.value_type().map_or(Value::Bool(false), |ty| scalar(Tree::default_of(ty))))
            }
            Kind::Array => Kept::Array { order: Order::Little, bytes: Vec::new() },
            Kind::Whole => Kept::Whole(Box::new(Tree::default_of(&plan.ty))),
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
    fn value_type(&self) -> Option<&Type> {
        self.nodes.iter().find(|node| node.role == Role::Value).and_then(|node| node.leaf.as_ref())
    }

    /// Reads one update, merges it into `last` and tells what is new. Returns whether the server had to overwrite
    /// earlier updates before it could send them.
    pub(crate) fn apply(
        &self,
        last: &mut Last,
        r: &mut Reader,
        context: (&mut Registry, &mut Words),
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
            }));
        }
        last.begun = true;
        Ok(overrun)
    }

    /// The path of nearly all updates: a value, its alarm and its time, a few fields out of some thirty.
    fn apply_fields(
        &self,
        last: &mut Last,
        bits: &BitSet,
        r: &mut Reader,
        (registry, words): (&mut Registry, &mut Words),
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
        (registry, words): (&mut Registry, &mut Words),
    ) -> Result<(Changed, Option<Value>), Error> {
        let mut changed = Changed { reading: !bits.is_empty(), description: false };
        let Kept::Whole(tree) = &mut last.value else { return Ok((changed, None)) };
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
            Kept::Array { order, bytes } => match self.value_type() {
                Some(Type::Array(scalar, _)) if bytes.is_empty() => Ok(Value::Array(array::empty(*scalar))),
                Some(Type::Array(scalar, extent)) => {
                    array::decode(*scalar, *extent, &mut Reader::new(bytes, *order)).map(Value::Array)
                }
                _ => Err(Error::Mismatch { what: "an array" }),
            },
            Kept::Whole(tree) => {
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
        let elements = array::decode(*scalar, *extent, r)?;
        let taken = before.len() - r.rest().len();
        if let (Kept::Array { order, bytes }, Some(whole)) = (&mut self.value, before.get(..taken)) {
            *order = r.order();
            bytes.clear();
            bytes.extend_from_slice(whole);
        }
        Ok(Value::Array(elements))
    }

    fn note(&mut self, role: Role, tree: Tree, changed: &mut Changed) {
        let whole = |tree: &Tree| tree.as_i64().unwrap_or(0);
        match role {
            Role::None | Role::Message => return,
            Role::Described(item) => {
                changed.description |= item.note(tree, &mut self.description);
                return;
            }
            Role::Value => match &mut self.value {
                Kept::Scalar(Value::Enum(index)) => *index = whole(&tree) as i32,
                Kept::Scalar(value) => *value = scalar(tree),
                Kept::Array { .. } | Kept::Whole(_) => {}
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

//! What the fields of a type mean, worked out once for all PVs of that type.
//!
//! ```text
//!   NTScalar, NTScalarArray, NTEnum     the value itself; alarm, timeStamp and the rest beside it
//!   everything else                     the whole structure, after the change has been merged into the last one
//! ```

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use super::{
    describe::Part,
    types::{Scalar, Structure, Type},
    wire::{Order, Writer},
};

/// What a type means, worked out once.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(super) ty: Type,
    pub(super) kind: Kind,
    /// By field number, for all kinds but [`Kind::Whole`].
    pub(super) nodes: Box<[Node]>,
    /// Where the fields with a meaning stand, for [`Kind::Whole`].
    pub(super) places: Box<[(Role, Place)]>,
    /// The type description, as it begins each [`Value::Structure`].
    pub(super) encoded: Box<[u8]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Scalar,
    Array,
    Enum,
    Whole,
}

/// A field: how far its own fields reach, and what it is for.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) end: usize,
    /// None for structures, whose fields follow.
    pub(super) leaf: Option<Type>,
    pub(super) role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    None,
    Value,
    Severity,
    Status,
    Message,
    Seconds,
    Nanos,
    UserTag,
    Described(Part),
}

/// A field of the top structure, or a field of a structure in it.
pub(super) type Place = (usize, Option<usize>);

/// Every path that has a meaning, in all types alike: a new one is read by `normative.rs` and, if it describes, noted by `describe.rs`.
const ROLES: [(&str, &str, Role); 22] = [
    ("value", "", Role::Value),
    ("value", "index", Role::Value),
    ("value", "choices", Role::Described(Part::Labels)),
    ("alarm", "severity", Role::Severity),
    ("alarm", "status", Role::Status),
    ("alarm", "message", Role::Message),
    ("timeStamp", "secondsPastEpoch", Role::Seconds),
    ("timeStamp", "nanoseconds", Role::Nanos),
    ("timeStamp", "userTag", Role::UserTag),
    ("descriptor", "", Role::Described(Part::Text)),
    ("display", "description", Role::Described(Part::Text)),
    ("display", "units", Role::Described(Part::Units)),
    ("display", "precision", Role::Described(Part::Precision)),
    ("display", "format", Role::Described(Part::Format)),
    ("display", "limitLow", Role::Described(Part::DisplayLow)),
    ("display", "limitHigh", Role::Described(Part::DisplayHigh)),
    ("control", "limitLow", Role::Described(Part::ControlLow)),
    ("control", "limitHigh", Role::Described(Part::ControlHigh)),
    ("valueAlarm", "lowWarningLimit", Role::Described(Part::WarningLow)),
    ("valueAlarm", "highWarningLimit", Role::Described(Part::WarningHigh)),
    ("valueAlarm", "lowAlarmLimit", Role::Described(Part::AlarmLow)),
    ("valueAlarm", "highAlarmLimit", Role::Described(Part::AlarmHigh)),
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

    /// The type of the field that is the value; none for [`Kind::Whole`].
    pub(super) fn value_type(&self) -> Option<&Type> {
        self.nodes.iter().find(|node| node.role == Role::Value).and_then(|node| node.leaf.as_ref())
    }
}

/// A structure is no more than its value if its id says so, or if it has no fields but the usual company; all else is kept whole.
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

//! What a simulated PV is by pvAccess: the type of its structure, and where the count, the time and the alarm stand in it.
//!
//! ```text
//!   plain      NTScalar, NTScalarArray or NTEnum: `value` is what Channel Access has
//!   table      NTTable: the column `value` is the array, `count` holds the number of the update in each row
//!   image      NTNDArray: the array is the pixels, `uniqueId` the number of the update
//!   statistic  NTAggregate: `value`, `N`, `first`, `last`, `min` and `max` are the number
//!   multi      NTMultiChannel: three channels of three types, each the number
//!   names      NTNameValue: `count` has the number
//!   mixture    no normative type: nested structures, unions, anys; `counter` is the number
//! ```
//!
//! `timeStamp.userTag` is the number of the update in all of them.

use std::str::FromStr;

use epics::{
    Array, Limits, Value,
    pva::{
        Data, Scalar, Selected, Tree, Type,
        server::{Place, nt},
        wire::BitSet,
    },
};

use super::{
    group::{ArrayPattern, Group},
    kind::Kind,
    plan::Plan,
};

/// The kind of structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Plain,
    Table,
    Image,
    Statistic,
    Multi,
    Names,
    Mixture,
}

const WORDS: [(&str, Shape); 7] = [
    ("plain", Shape::Plain),
    ("table", Shape::Table),
    ("image", Shape::Image),
    ("statistic", Shape::Statistic),
    ("multi", Shape::Multi),
    ("names", Shape::Names),
    ("mixture", Shape::Mixture),
];

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Shape, String> {
        let known = || WORDS.map(|(word, _)| word).join(", ");
        let found = WORDS.iter().find(|(word, _)| *word == text).map(|(_, shape)| *shape);
        found.ok_or_else(|| format!("{text:?} is no shape of a PV, expected one of {}", known()))
    }
}

/// The type of the PVs of a group, and the places in it that updates change.
pub(crate) struct Form {
    pub(crate) ty: Type,
    /// What every update changes.
    pub(crate) changed: BitSet,
    time: [Place; 3],
    alarm: [Place; 3],
    values: Vec<Place>,
}

impl Form {
    pub(crate) fn new(group: &Group) -> Result<Form, String> {
        let ty = type_of(group).map_err(|error| error.to_string())?;
        let place = |name: &str| Place::of(&ty, name).ok_or_else(|| format!("{ty} has no field {name}"));
        let time = [place("timeStamp.secondsPastEpoch")?, place("timeStamp.nanoseconds")?, place("timeStamp.userTag")?];
        let alarm = match group.shape {
            // it has no alarm: what would be written there goes nowhere
            Shape::Mixture => time.clone(),
            _ => [place("alarm.severity")?, place("alarm.status")?, place("alarm.message")?],
        };
        let values = values_of(group).iter().map(|name| place(name)).collect::<Result<Vec<_>, _>>()?;
        let always = time.iter().chain(&values);
        let sometimes = alarm.iter().filter(|_| group.has_alarms());
        let changed = always.chain(sometimes).map(|place| place.number).collect();
        Ok(Form { ty, changed, time, alarm, values })
    }

    /// The whole value of a PV at an update.
    pub(crate) fn first(&self, plan: &Plan, pv: u32) -> Tree {
        let mut tree = Tree::default_of(&self.ty);
        self.describe(plan, pv, &mut tree);
        let group = plan.group(pv);
        if group.shape == Shape::Plain && group.length.is_some() {
            self.set(0, &mut tree, value_tree(plan.value(pv, 0)));
        }
        self.update(plan, pv, 0, &mut tree);
        tree
    }

    /// Changes a value to that of an update.
    pub(crate) fn update(&self, plan: &Plan, pv: u32, number: u64, tree: &mut Tree) {
        let group = plan.group(pv);
        let stamp = plan.stamp(pv, number);
        let [seconds, nanos, tag] = &self.time;
        seconds.set(tree, Tree::I64(stamp.seconds));
        nanos.set(tree, Tree::I32(stamp.nanos as i32));
        tag.set(tree, Tree::I32(number as i32));
        if group.has_alarms() && group.shape != Shape::Mixture {
            let [severity, status, message] = &self.alarm;
            let (class, words) = pva_alarm(stamp.status);
            severity.set(tree, Tree::I32(stamp.severity));
            status.set(tree, Tree::I32(class));
            message.set(tree, Tree::String(words.to_owned()));
        }
        self.update_value(plan, pv, number, tree);
    }

    fn update_value(&self, plan: &Plan, pv: u32, number: u64, tree: &mut Tree) {
        let group = plan.group(pv);
        let float = number as f64;
        match group.shape {
            Shape::Plain if group.payload == ArrayPattern::Ess && group.length.is_some() => {
                if let Some(Tree::Array(array)) = self.values.first().and_then(|place| place.within(tree)) {
                    set_count(array, number % group.kind.modulus());
                }
            }
            Shape::Plain => match plan.value(pv, number) {
                Value::Enum(index) => self.set(0, tree, Tree::I32(index)),
                value => self.set(0, tree, value_tree(value)),
            },
            Shape::Table => {
                self.set(0, tree, value_tree(plan.value(pv, number)));
                self.set(1, tree, Tree::Array(Array::I64(vec![number as i64; group.elements() as usize])));
            }
            Shape::Image => {
                if let Value::Array(pixels) = plan.value(pv, number) {
                    let member = pixel_member(&pixels);
                    self.set(0, tree, Tree::Union(Some(Box::new(Selected { member, value: Tree::Array(pixels) }))));
                }
                self.set(1, tree, Tree::I32(number as i32));
            }
            Shape::Statistic => {
                for at in [0, 2, 3, 4, 5] {
                    self.set(at, tree, Tree::F64(float));
                }
                self.set(1, tree, Tree::I64(number as i64));
            }
            Shape::Multi => {
                let any = |scalar, value| Some(Data { ty: Type::Scalar(scalar), value });
                let all = vec![
                    any(Scalar::F64, Tree::F64(float)),
                    any(Scalar::I64, Tree::I64(number as i64)),
                    any(Scalar::String, Tree::String(number.to_string())),
                ];
                self.set(0, tree, Tree::Anys(all));
            }
            Shape::Names => self.set(0, tree, Tree::Array(Array::F64(vec![float, group.rate()]))),
            Shape::Mixture => self.update_mixture(number, tree),
        }
    }

    /// The choice is the number or its text in turn, and every third update has nothing in the any.
    fn update_mixture(&self, number: u64, tree: &mut Tree) {
        let float = number as f64;
        let member = (number % 2) as usize;
        let text = Tree::String(number.to_string());
        let choice = Selected { member, value: if member == 0 { Tree::I32(number as i32) } else { text.clone() } };
        let point = |x: f64| Some(vec![Tree::F64(x), Tree::F64(-x)]);
        let any = (!number.is_multiple_of(3)).then_some(Data { ty: Type::Scalar(Scalar::String), value: text });
        self.set(0, tree, Tree::U64(number));
        self.set(1, tree, Tree::F64(float));
        self.set(2, tree, Tree::Union(Some(Box::new(choice))));
        self.set(3, tree, Tree::Structures((0..number % 4).map(|at| point(at as f64)).collect()));
        self.set(4, tree, Tree::Any(any.map(Box::new)));
    }

    fn set(&self, value: usize, tree: &mut Tree, to: Tree) {
        if let Some(place) = self.values.get(value) {
            place.set(tree, to);
        }
    }

    /// Fills in what does not change.
    fn describe(&self, plan: &Plan, pv: u32, tree: &mut Tree) {
        let group = plan.group(pv);
        let mut put = |name: &str, value: Tree| {
            if let Some(place) = Place::of(&self.ty, name) {
                place.set(tree, value);
            }
        };
        let texts = |all: &[&str]| Tree::Array(Array::String(all.iter().map(|text| (*text).to_owned()).collect()));
        let found = plan.description(pv);
        put("display.units", Tree::String(found.units.unwrap_or_default()));
        put("display.precision", Tree::I32(found.precision.unwrap_or(0)));
        let pairs = [
            ("display.limitLow", "display.limitHigh", found.display),
            ("control.limitLow", "control.limitHigh", found.control),
            ("valueAlarm.lowWarningLimit", "valueAlarm.highWarningLimit", found.warning),
            ("valueAlarm.lowAlarmLimit", "valueAlarm.highAlarmLimit", found.alarm),
        ];
        for (low_name, high_name, limits) in pairs {
            let Some(Limits { low, high }) = limits else { continue };
            put(low_name, Tree::F64(low));
            put(high_name, Tree::F64(high));
        }
        put("value.choices", Tree::Array(Array::String(found.labels)));
        match group.shape {
            Shape::Table => put("labels", texts(&["Value", "Count"])),
            Shape::Image => {
                let pixels = group.elements() as i32;
                let bytes = i64::from(pixels) * group.kind.bytes() as i64;
                let dimension = vec![pixels, 0, pixels, 1].into_iter().map(Tree::I32).chain([Tree::Bool(false)]);
                put("dimension", Tree::Structures(vec![Some(dimension.collect())]));
                put("attribute", Tree::Structures(vec![Some(color_mode())]));
                put("compressedSize", Tree::I64(bytes));
                put("uncompressedSize", Tree::I64(bytes));
            }
            Shape::Multi => {
                put("channelName", texts(&["A", "B", "C"]));
                put("isConnected", Tree::Array(Array::Bool(vec![true; 3])));
            }
            Shape::Names => put("name", texts(&["count", "rate"])),
            Shape::Plain | Shape::Statistic | Shape::Mixture => {}
        }
    }
}

/// What area detectors say about every image: 0 is monochrome.
fn color_mode() -> Vec<Tree> {
    let value = Data { ty: Type::Scalar(Scalar::I32), value: Tree::I32(0) };
    vec![
        Tree::String("ColorMode".to_owned()),
        Tree::Any(Some(Box::new(value))),
        Tree::String("Color mode".to_owned()),
        Tree::I32(0),
        Tree::String("Driver".to_owned()),
    ]
}

fn scalar(kind: Kind) -> Scalar {
    match kind {
        Kind::U8 => Scalar::U8,
        Kind::I16 => Scalar::I16,
        Kind::I32 => Scalar::I32,
        Kind::F32 => Scalar::F32,
        Kind::F64 => Scalar::F64,
        Kind::Enum => Scalar::I32,
        Kind::String => Scalar::String,
    }
}

fn type_of(group: &Group) -> Result<Type, impl std::fmt::Display + use<>> {
    let element = scalar(group.kind);
    Ok(match (group.shape, group.length) {
        (Shape::Plain, _) if group.kind == Kind::Enum => nt::enumerated(),
        (Shape::Plain, None) => nt::scalar(element),
        (Shape::Plain, Some(_)) => nt::scalar_array(element),
        (Shape::Table, _) => return nt::table(&[("value", element), ("count", Scalar::I64)]),
        (Shape::Image, _) => nt::nd_array(),
        (Shape::Statistic, _) => nt::aggregate(),
        (Shape::Multi, _) => nt::multi_channel(),
        (Shape::Names, _) => nt::name_value(Scalar::F64),
        (Shape::Mixture, _) => nt::mixture(),
    })
}

/// The fields that updates change, besides time and alarm.
fn values_of(group: &Group) -> &'static [&'static str] {
    match group.shape {
        Shape::Plain if group.kind == Kind::Enum => &["value.index"],
        Shape::Plain | Shape::Multi | Shape::Names => &["value"],
        Shape::Table => &["value.value", "value.count"],
        Shape::Image => &["value", "uniqueId"],
        Shape::Statistic => &["value", "N", "first", "last", "min", "max"],
        Shape::Mixture => &["counter", "inner.deep.x", "choice", "points", "anything"],
    }
}

fn value_tree(value: Value) -> Tree {
    match value {
        Value::Bool(v) => Tree::Bool(v),
        Value::I8(v) => Tree::I8(v),
        Value::U8(v) => Tree::U8(v),
        Value::I16(v) => Tree::I16(v),
        Value::U16(v) => Tree::U16(v),
        Value::I32(v) | Value::Enum(v) => Tree::I32(v),
        Value::U32(v) => Tree::U32(v),
        Value::I64(v) => Tree::I64(v),
        Value::U64(v) => Tree::U64(v),
        Value::F32(v) => Tree::F32(v),
        Value::F64(v) => Tree::F64(v),
        Value::String(v) => Tree::String(v),
        Value::Array(v) => Tree::Array(v),
        Value::Structure(_) => Tree::Any(None),
    }
}

/// Replaces the first element of an array by the count.
fn set_count(array: &mut Array, count: u64) {
    match array {
        Array::U8(all) => all[0] = count as u8,
        Array::I16(all) => all[0] = count as i16,
        Array::I32(all) => all[0] = count as i32,
        Array::F32(all) => all[0] = count as f32,
        Array::F64(all) => all[0] = count as f64,
        _ => {}
    }
}

/// Which member of an image's union holds such pixels.
fn pixel_member(pixels: &Array) -> usize {
    let scalar = match pixels {
        Array::I16(_) => Scalar::I16,
        Array::I32(_) => Scalar::I32,
        Array::F32(_) => Scalar::F32,
        Array::F64(_) => Scalar::F64,
        _ => Scalar::U8,
    };
    nt::PIXELS.iter().position(|(_, of)| *of == scalar).unwrap_or(0)
}

/// The class of cause and the words of a record's alarm status.
fn pva_alarm(status: i32) -> (i32, &'static str) {
    match status {
        0 => (0, "NO_ALARM"),
        3 => (1, "HIHI"),
        4 => (1, "HIGH"),
        _ => (3, "UDF"),
    }
}

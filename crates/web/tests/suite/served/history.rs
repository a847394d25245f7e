//! A small history that holds one of everything: each type, odd numbers, alarms, a turn of the year, a gap, a change of type.

use std::sync::Arc;

use archive::{By, Method, Protocol, PvName, PvSettings, PvState, Record, Sink};
use pvdata::{Data, Scalar, Tree, Type, wire};
use sample::{
    Alarm, Batch, Column, Element, Gap, GapCause, Limits, Metadata, Sample, Severity, Timestamp, Value, ValueType,
};
use store::Store;

/// One PV of the history.
pub(crate) struct Recorded {
    pub(crate) name: &'static str,
    pub(crate) protocol: Protocol,
    pub(crate) metadata: fn() -> Metadata,
    /// Seconds after the turn of the year 2025/26, value, severity.
    pub(crate) samples: fn() -> Vec<(f64, Value, Severity)>,
}

pub(crate) const PVS: &[Recorded] = &[
    Recorded { name: "T:ARRAY", protocol: Protocol::Pva, metadata: of_type_f64_array, samples: arrays },
    Recorded { name: "T:BYTE", protocol: Protocol::Ca, metadata: Metadata::default, samples: bytes },
    Recorded { name: "T:CHANGE", protocol: Protocol::Ca, metadata: Metadata::default, samples: changing },
    Recorded { name: "T:DOUBLE", protocol: Protocol::Ca, metadata: of_double, samples: doubles },
    Recorded { name: "T:ENUM", protocol: Protocol::Ca, metadata: of_enum, samples: enums },
    Recorded { name: "T:LONG", protocol: Protocol::Pva, metadata: Metadata::default, samples: longs },
    Recorded { name: "T:NONE", protocol: Protocol::Ca, metadata: of_enum, samples: Vec::new },
    Recorded { name: "T:STRING", protocol: Protocol::Ca, metadata: Metadata::default, samples: strings },
    Recorded { name: "T:STRUCTURE", protocol: Protocol::Pva, metadata: Metadata::default, samples: structures },
];

/// So many seconds after the turn of the year 2025/26.
pub(crate) fn time(seconds: f64) -> Timestamp {
    let turn = Timestamp::parse("2026-01-01T00:00:00Z").expect("it is a time");
    Timestamp::from_nanos(turn.nanos() + (seconds * 1e9) as i64)
}

/// Records it all. The PVs are paused, so that nothing else is recorded of them.
pub(crate) fn fill(store: &Store, pvs: &[Recorded]) {
    let writer = store.writer();
    let added = time(-86_400.0);
    for recorded in pvs {
        let settings = PvSettings::plain(recorded.protocol, Method::Monitor, PvState::Paused);
        let name = PvName::new(recorded.name).expect("it is a name");
        let pv = writer.register(&[(name, settings)], &By::new("test", added)).expect("it registers")[0].id;
        let mut records = vec![(pv, Record::Metadata(time(-3600.0), (recorded.metadata)().into()))];
        for (seconds, value, severity) in (recorded.samples)() {
            let status = if severity == Severity::None { 0 } else { 3 };
            let message = (severity == Severity::Major).then(|| Arc::from("too \"high\""));
            let pulse = u64::from(value == Value::F64(4.5)) * 77;
            let alarm = Alarm { severity, status, message };
            records.push((
                pv,
                Record::Samples(Batch::of(&Sample { time: time(seconds), value, alarm, pulse, stamp: None })),
            ));
        }
        if recorded.name == "T:DOUBLE" {
            let (from, to, cause) = (time(1.0), Some(time(2.5)), GapCause::Disconnected);
            records.push((pv, Record::Gap(Gap { from, to, cause, lost: 2 })));
        }
        writer.append(&records, added).expect("the store takes it");
    }
}

fn of_double() -> Metadata {
    Metadata {
        value_type: Some(ValueType::scalar(Element::F64)),
        element_count: Some(1),
        units: Some("mA".to_owned()),
        precision: Some(3),
        display: Some(Limits { low: -10.0, high: 10.0 }),
        control: None,
        warning: Some(Limits { low: f64::NAN, high: 7.5 }),
        alarm: Some(Limits { low: -9.0, high: 9.0 }),
        labels: Vec::new(),
        description: Some("Beam \"current\"".to_owned()),
        server: Some("127.0.0.1:5064".to_owned()),
        server_run: Some("8a2f00c1d2e3f4a5b6c7d8e9".to_owned()),
    }
}

fn of_enum() -> Metadata {
    let labels = ["Off", "On", "Broken"].map(str::to_owned).to_vec();
    Metadata { value_type: Some(ValueType::scalar(Element::Enum)), labels, ..Metadata::default() }
}

fn of_type_f64_array() -> Metadata {
    let value_type = Some(ValueType::array(Element::F64));
    Metadata { value_type, element_count: Some(4), ..Metadata::default() }
}

fn doubles() -> Vec<(f64, Value, Severity)> {
    vec![
        (-10.0, Value::F64(-1.25), Severity::None),
        (-0.5, Value::F64(1e-7), Severity::Minor),
        (0.0, Value::F64(f64::NAN), Severity::Invalid),
        (0.000_001, Value::F64(-0.0), Severity::None),
        (3.0, Value::F64(4.5), Severity::None),
        (4.0, Value::F64(f64::INFINITY), Severity::Major),
        (5.25, Value::F64(9.75), Severity::Major),
    ]
}

fn enums() -> Vec<(f64, Value, Severity)> {
    vec![(0.0, Value::Enum(1), Severity::None), (2.0, Value::Enum(2), Severity::Minor)]
}

/// 16 ends in a blank when it is written as protobuf, and 10 and 27 must be escaped.
fn bytes() -> Vec<(f64, Value, Severity)> {
    [32, 10, 27, 13, 9].into_iter().zip(0..).map(|(v, i)| (f64::from(i), Value::U8(v), Severity::None)).collect()
}

fn changing() -> Vec<(f64, Value, Severity)> {
    vec![
        (0.0, Value::I32(-1), Severity::None),
        (1.0, Value::F64(1.5), Severity::None),
        (2.0, Value::String("broken".into()), Severity::None),
        (3.0, Value::I16(7), Severity::None),
    ]
}

fn longs() -> Vec<(f64, Value, Severity)> {
    vec![(0.0, Value::I64(7), Severity::None), (1.0, Value::I64(i64::MAX), Severity::None)]
}

fn strings() -> Vec<(f64, Value, Severity)> {
    ["plain", "with, comma and \"quotes\"", "tab\tand µA", ""]
        .into_iter()
        .zip(0..)
        .map(|(text, i)| (f64::from(i), Value::String(text.into()), Severity::None))
        .collect()
}

fn arrays() -> Vec<(f64, Value, Severity)> {
    let array = |values: &[f64]| Value::Array(Column::F64(values.to_vec()));
    vec![
        (0.0, array(&[1.0, f64::NAN, -2.5]), Severity::None),
        (1.0, array(&[]), Severity::None),
        (2.0, array(&[0.1, 0.2, 0.3, 0.4]), Severity::Minor),
    ]
}

fn structures() -> Vec<(f64, Value, Severity)> {
    let fields = [("n", Type::Scalar(Scalar::I32)), ("text", Type::Scalar(Scalar::String))];
    let ty = Type::structure("test:thing:1.0", fields).expect("it is small");
    let value = Tree::Structure(vec![Tree::I32(5), Tree::String("five".to_owned())]);
    let mut writer = wire::Writer::new(wire::Order::Little);
    Data { ty, value }.encode(&mut writer).expect("it fits its type");
    vec![(0.0, Value::Structure(Arc::from(writer.into_bytes())), Severity::None)]
}

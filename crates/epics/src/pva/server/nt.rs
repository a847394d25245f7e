//! The Normative Types, as the types of PVs to be served.

use std::sync::Arc;

use pvdata::{Error, Extent, Field, Scalar, Structure, Type};

fn scalar_of(scalar: Scalar) -> Type {
    Type::Scalar(scalar)
}

fn array_of(scalar: Scalar) -> Type {
    Type::Array(scalar, Extent::Variable)
}

fn structure(id: &str, fields: Vec<(&str, Type)>) -> Type {
    Type::Structure(fields_of(id, fields))
}

fn fields_of(id: &str, fields: Vec<(&str, Type)>) -> Arc<Structure> {
    let fields = fields.into_iter().map(|(name, ty)| Field { name: name.into(), ty }).collect();
    Arc::new(Structure::new(id, fields).expect("a normative type is well within all limits"))
}

/// `alarm_t`.
pub fn alarm() -> Type {
    let fields = vec![
        ("severity", scalar_of(Scalar::I32)),
        ("status", scalar_of(Scalar::I32)),
        ("message", scalar_of(Scalar::String)),
    ];
    structure("alarm_t", fields)
}

/// `time_t`.
pub fn time() -> Type {
    let fields = vec![
        ("secondsPastEpoch", scalar_of(Scalar::I64)),
        ("nanoseconds", scalar_of(Scalar::I32)),
        ("userTag", scalar_of(Scalar::I32)),
    ];
    structure("time_t", fields)
}

fn display() -> Type {
    let form = vec![("index", scalar_of(Scalar::I32)), ("choices", array_of(Scalar::String))];
    let fields = vec![
        ("limitLow", scalar_of(Scalar::F64)),
        ("limitHigh", scalar_of(Scalar::F64)),
        ("description", scalar_of(Scalar::String)),
        ("units", scalar_of(Scalar::String)),
        ("precision", scalar_of(Scalar::I32)),
        ("form", structure("enum_t", form)),
    ];
    structure("display_t", fields)
}

fn control() -> Type {
    let fields = ["limitLow", "limitHigh", "minStep"].into_iter().map(|name| (name, scalar_of(Scalar::F64))).collect();
    structure("control_t", fields)
}

fn value_alarm() -> Type {
    let mut fields = vec![("active", scalar_of(Scalar::Bool))];
    fields.extend(
        ["lowAlarmLimit", "lowWarningLimit", "highWarningLimit", "highAlarmLimit"]
            .map(|name| (name, scalar_of(Scalar::F64))),
    );
    fields.extend(
        ["lowAlarmSeverity", "lowWarningSeverity", "highWarningSeverity", "highAlarmSeverity"]
            .map(|name| (name, scalar_of(Scalar::I32))),
    );
    fields.push(("hysteresis", scalar_of(Scalar::U8)));
    structure("valueAlarm_t", fields)
}

fn with_company(id: &str, value: Type) -> Type {
    let fields = vec![
        ("value", value),
        ("alarm", alarm()),
        ("timeStamp", time()),
        ("display", display()),
        ("control", control()),
        ("valueAlarm", value_alarm()),
    ];
    structure(id, fields)
}

/// A number or a text, with limits and units.
pub fn scalar(scalar: Scalar) -> Type {
    with_company("epics:nt/NTScalar:1.0", scalar_of(scalar))
}

/// A waveform, with limits and units.
pub fn scalar_array(scalar: Scalar) -> Type {
    with_company("epics:nt/NTScalarArray:1.0", array_of(scalar))
}

/// A choice out of named states.
pub fn enumerated() -> Type {
    let value = vec![("index", scalar_of(Scalar::I32)), ("choices", array_of(Scalar::String))];
    let value = structure("enum_t", value);
    structure("epics:nt/NTEnum:1.0", vec![("value", value), ("alarm", alarm()), ("timeStamp", time())])
}

/// Columns of equal length.
pub fn table(columns: &[(&str, Scalar)]) -> Result<Type, Error> {
    let columns = columns.iter().map(|(name, scalar)| (*name, array_of(*scalar)));
    let value = Type::structure("", columns)?;
    let fields = [
        ("labels", array_of(Scalar::String)),
        ("value", value),
        ("descriptor", scalar_of(Scalar::String)),
        ("alarm", alarm()),
        ("timeStamp", time()),
    ];
    Type::structure("epics:nt/NTTable:1.0", fields)
}

/// Every scalar type, in the order of the members of an image's union.
pub const PIXELS: [(&str, Scalar); 11] = [
    ("booleanValue", Scalar::Bool),
    ("byteValue", Scalar::I8),
    ("shortValue", Scalar::I16),
    ("intValue", Scalar::I32),
    ("longValue", Scalar::I64),
    ("ubyteValue", Scalar::U8),
    ("ushortValue", Scalar::U16),
    ("uintValue", Scalar::U32),
    ("ulongValue", Scalar::U64),
    ("floatValue", Scalar::F32),
    ("doubleValue", Scalar::F64),
];

/// An image of an area detector, with the codec that packed it, its dimensions and attributes.
pub fn nd_array() -> Type {
    let members = fields_of("", PIXELS.map(|(name, scalar)| (name, array_of(scalar))).into());
    let dimension = fields_of(
        "dimension_t",
        vec![
            ("size", scalar_of(Scalar::I32)),
            ("offset", scalar_of(Scalar::I32)),
            ("fullSize", scalar_of(Scalar::I32)),
            ("binning", scalar_of(Scalar::I32)),
            ("reverse", scalar_of(Scalar::Bool)),
        ],
    );
    let attribute = fields_of(
        "epics:nt/NTAttribute:1.0",
        vec![
            ("name", scalar_of(Scalar::String)),
            ("value", Type::Any),
            ("descriptor", scalar_of(Scalar::String)),
            ("sourceType", scalar_of(Scalar::I32)),
            ("source", scalar_of(Scalar::String)),
        ],
    );
    let codec = structure("codec_t", vec![("name", scalar_of(Scalar::String)), ("parameters", Type::Any)]);
    structure(
        "epics:nt/NTNDArray:1.0",
        vec![
            ("value", Type::Union(members)),
            ("codec", codec),
            ("compressedSize", scalar_of(Scalar::I64)),
            ("uncompressedSize", scalar_of(Scalar::I64)),
            ("uniqueId", scalar_of(Scalar::I32)),
            ("dataTimeStamp", time()),
            ("alarm", alarm()),
            ("timeStamp", time()),
            ("dimension", Type::StructureArray(dimension, Extent::Variable)),
            ("attribute", Type::StructureArray(attribute, Extent::Variable)),
        ],
    )
}

/// What many values come to: their mean, number, spread and extremes (called NTStatistic in early drafts).
pub fn aggregate() -> Type {
    let fields = vec![
        ("value", scalar_of(Scalar::F64)),
        ("N", scalar_of(Scalar::I64)),
        ("dispersion", scalar_of(Scalar::F64)),
        ("first", scalar_of(Scalar::F64)),
        ("firstTimeStamp", time()),
        ("last", scalar_of(Scalar::F64)),
        ("lastTimeStamp", time()),
        ("max", scalar_of(Scalar::F64)),
        ("min", scalar_of(Scalar::F64)),
        ("alarm", alarm()),
        ("timeStamp", time()),
    ];
    structure("epics:nt/NTAggregate:1.0", fields)
}

/// Many channels at one moment.
pub fn multi_channel() -> Type {
    let fields = vec![
        ("value", Type::AnyArray(Extent::Variable)),
        ("channelName", array_of(Scalar::String)),
        ("descriptor", scalar_of(Scalar::String)),
        ("alarm", alarm()),
        ("timeStamp", time()),
        ("severity", array_of(Scalar::I32)),
        ("status", array_of(Scalar::I32)),
        ("message", array_of(Scalar::String)),
        ("secondsPastEpoch", array_of(Scalar::I64)),
        ("nanoseconds", array_of(Scalar::I32)),
        ("userTag", array_of(Scalar::I32)),
        ("isConnected", array_of(Scalar::Bool)),
    ];
    structure("epics:nt/NTMultiChannel:1.0", fields)
}

/// Names with values of one type.
pub fn name_value(scalar: Scalar) -> Type {
    let fields = vec![
        ("name", array_of(Scalar::String)),
        ("value", array_of(scalar)),
        ("descriptor", scalar_of(Scalar::String)),
        ("alarm", alarm()),
        ("timeStamp", time()),
    ];
    structure("epics:nt/NTNameValue:1.0", fields)
}

/// A structure of no normative type: nested structures, a union, anys, arrays of structures.
pub fn mixture() -> Type {
    let point = fields_of("point", vec![("x", scalar_of(Scalar::F64)), ("y", scalar_of(Scalar::F64))]);
    let members = fields_of("", vec![("number", scalar_of(Scalar::I32)), ("text", scalar_of(Scalar::String))]);
    let deep = Type::Structure(Arc::clone(&point));
    let inner = structure("", vec![("deep", deep), ("flag", scalar_of(Scalar::Bool))]);
    let fields = vec![
        ("counter", scalar_of(Scalar::U64)),
        ("inner", inner),
        ("choice", Type::Union(members.clone())),
        ("choices", Type::UnionArray(members, Extent::Variable)),
        ("points", Type::StructureArray(point, Extent::Variable)),
        ("anything", Type::Any),
        ("things", Type::AnyArray(Extent::Variable)),
        ("timeStamp", time()),
    ];
    structure("pvark:mixture:1.0", fields)
}

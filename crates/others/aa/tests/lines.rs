//! Lines of every type as batches, damaged lines, and whatever else bytes may be.

mod encode;

use aa::{Damage, Payload, read_chunks};
use encode::{Line, Val, file, header, line};
use proptest::prelude::*;
use pvdata::{
    Data, Tree, Type,
    types::Scalar,
    wire::{Order, Writer},
};
use sample::{Batch, Column, Severity, Strings, Timestamp, Value};

fn only_batch(payload: Payload, values: &[Val]) -> Batch {
    let lines = values.iter().zip(0..).map(|(value, second)| line(&Line { second, ..Line::of(value.clone()) }));
    let (chunks, damage) = read_chunks(&file(&header(payload as i32, "A:B", 2026), lines));
    assert_eq!(damage, Damage::default(), "{payload:?}");
    let [chunk] = &chunks[..] else { panic!("one header, {} chunks", chunks.len()) };
    assert_eq!(chunk.header.pv_name, "A:B");
    let [batch] = &chunk.batches[..] else { panic!("few rows, {} batches", chunk.batches.len()) };
    assert_eq!(batch.value_type(), payload.value_type());
    batch.clone()
}

/// One value of each type, and what it must become.
#[test]
fn every_type_is_read() {
    let cases = [
        (Payload::ScalarString, Val::Text("a\n\r\u{1b} ü".into()), Value::String("a\n\r\u{1b} ü".into())),
        (Payload::ScalarShort, Val::Sint(-300), Value::I16(-300)),
        (Payload::ScalarFloat, Val::Float(0.1), Value::F32(0.1)),
        (Payload::ScalarEnum, Val::Sint(5), Value::Enum(5)),
        (Payload::ScalarByte, Val::Bytes(vec![0x9b]), Value::I8(-101)),
        (Payload::ScalarInt, Val::Fixed(i32::MIN), Value::I32(i32::MIN)),
        (Payload::ScalarDouble, Val::Double(-0.0), Value::F64(-0.0)),
        (
            Payload::WaveformString,
            Val::Texts(vec!["".into(), "x".into()]),
            Value::Array(Column::String(["", "x"].into_iter().collect::<Strings>())),
        ),
        (Payload::WaveformShort, Val::Sints(vec![-1, 0, 27]), Value::Array(Column::I16(vec![-1, 0, 27]))),
        (Payload::WaveformFloat, Val::Floats(vec![1.5, f32::MAX]), Value::Array(Column::F32(vec![1.5, f32::MAX]))),
        (Payload::WaveformEnum, Val::Sints(vec![1, 2]), Value::Array(Column::Enum(vec![1, 2]))),
        (Payload::WaveformByte, Val::Bytes(vec![1, 0xff, 10]), Value::Array(Column::I8(vec![1, -1, 10]))),
        (Payload::WaveformInt, Val::Fixeds(vec![7, -7]), Value::Array(Column::I32(vec![7, -7]))),
        (Payload::WaveformDouble, Val::Doubles(vec![]), Value::Array(Column::F64(vec![]))),
        (Payload::WaveformDouble, Val::Doubles(vec![1.0, 2.5]), Value::Array(Column::F64(vec![1.0, 2.5]))),
    ];
    for (payload, written, read) in cases {
        let batch = only_batch(payload, &[written]);
        assert!(batch.get(0).value.identical(&read), "{payload:?}: {:?} is not {read:?}", batch.get(0).value);
    }
}

/// The Appliance writes them big-endian, and so are they sent to its clients; here they are kept little-endian.
#[test]
fn a_structure_is_turned_and_what_is_none_stays() {
    let ty = Type::structure("x", [("value", Type::Scalar(Scalar::I64))]).expect("a type");
    let data = Data { ty, value: Tree::Structure(vec![Tree::I64(258)]) };
    let written = |order| {
        let mut writer = Writer::new(order);
        data.encode(&mut writer).expect("it fits its type");
        writer.into_bytes()
    };
    let batch = only_batch(Payload::V4GenericBytes, &[Val::Bytes(written(Order::Big)), Val::Bytes(b"text".to_vec())]);
    assert_eq!(batch.get(0).value, Value::Structure(written(Order::Little).into()));
    assert_eq!(batch.get(1).value, Value::Structure((*b"text").into()));
}

#[test]
fn times_alarms_and_pulses_are_read() {
    let lines = [
        line(&Line {
            second: 31_535_999,
            nano: 999_999_999,
            severity: Some(3),
            status: Some(17),
            ..Line::of(Val::Double(1.0))
        }),
        line(&Line { second: 0, pulse: Some(9), ..Line::of(Val::Double(2.0)) }),
    ];
    let (chunks, _) = read_chunks(&file(&header(6, "A", 2025), lines));
    let batch = &chunks[0].batches[0];
    assert_eq!(batch.get(0).time, Timestamp::parse("2025-12-31T23:59:59.999999999Z").unwrap());
    assert_eq!((batch.get(0).alarm.severity, batch.get(0).alarm.status), (Severity::Invalid, 17));
    assert_eq!((batch.get(1).alarm.severity, batch.get(1).pulse), (Severity::None, 9));
}

/// A torn end, lines of garbage, an empty line in the middle and impossible times cost no other sample.
#[test]
fn damage_costs_itself_only() {
    let good = |second| line(&Line { second, ..Line::of(Val::Double(f64::from(second))) });
    let mut bytes = file(&header(6, "A", 2026), [good(1), good(2)]);
    bytes.extend_from_slice(b"\x1b\x09garbage\n\n");
    bytes.extend(good(3));
    bytes.extend(line(&Line { second: 400 * 86_400, ..Line::of(Val::Double(0.0)) }));
    bytes.extend(line(&Line { nano: 1_000_000_000, ..Line::of(Val::Double(0.0)) }));
    bytes.extend(line(&Line::of(Val::Text("of another type".into()))));
    bytes.extend(good(4));
    bytes.extend_from_slice(&good(5)[..12]);
    let (chunks, damage) = read_chunks(&bytes);
    let times: Vec<i64> =
        chunks[0].batches[0].times().iter().map(|time| time.nanos() / 1_000_000_000 % 86_400).collect();
    assert_eq!(times, [1, 2, 3, 4]);
    assert_eq!(damage, Damage { bad_lines: 4, torn_tails: 1, out_of_order: 0 });
}

/// Chunks of an answer, one without samples, with a year and a type of their own.
#[test]
fn an_answer_of_several_chunks_is_read() {
    let mut bytes = file(&header(6, "A", 2025), [line(&Line::of(Val::Double(1.0)))]);
    bytes.push(b'\n');
    bytes.extend(file(&header(6, "A", 2026), []));
    bytes.push(b'\n');
    bytes.extend(file(&header(5, "A", 2026), [line(&Line::of(Val::Fixed(2)))]));
    let (chunks, damage) = read_chunks(&bytes);
    let seen: Vec<_> =
        chunks.iter().map(|chunk| (chunk.header.year, chunk.header.payload, chunk.batches.len())).collect();
    let expected = [(2025, Payload::ScalarDouble, 1), (2026, Payload::ScalarDouble, 0), (2026, Payload::ScalarInt, 1)];
    assert_eq!((seen, damage), (expected.to_vec(), Damage::default()));
}

#[test]
fn a_file_without_a_header_gives_nothing_and_says_so() {
    let (chunks, damage) = read_chunks(&line(&Line::of(Val::Double(1.0))));
    assert_eq!((chunks.len(), damage.bad_lines), (0, 1));
    assert_eq!(read_chunks(b"").1, Damage::default());
}

/// The files of the reference, whole: every line of them is a sample or the header.
#[test]
fn every_line_of_the_reference_files_is_read() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testdata/aa");
    let mut files = 0;
    for tier in ["lts", "mts", "sts"] {
        for file in std::fs::read_dir(root.join(tier).join("REF")).unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            let (chunks, damage) = read_chunks(&bytes);
            let rows: usize = chunks.iter().flat_map(|chunk| &chunk.batches).map(Batch::len).sum();
            let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
            assert_eq!((rows + 1, damage), (lines, Damage::default()));
            files += 1;
        }
    }
    assert!(files > 40);
}

proptest! {
    #[test]
    fn whatever_bytes_are_they_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), payload in 0..16) {
        read_chunks(&bytes);
        read_chunks(&file(&header(payload, "A", 2026), [bytes]));
    }

    /// Numbers, alarms and stamps of any size come back.
    #[test]
    fn what_was_written_is_read(rows in proptest::collection::vec((0..31_536_000_u32, 0..1_000_000_000_u32, any::<f64>(), 0..5, 0..30), 1..40)) {
        let lines = rows.iter().map(|(second, nano, value, severity, status)| {
            line(&Line { second: *second, nano: *nano, severity: Some(*severity), status: Some(*status), ..Line::of(Val::Double(*value)) })
        });
        let (chunks, damage) = read_chunks(&file(&header(6, "A", 2026), lines));
        prop_assert_eq!(damage, Damage::default());
        let batch = &chunks[0].batches[0];
        prop_assert_eq!(batch.len(), rows.len());
        for (index, (second, nano, value, severity, status)) in rows.into_iter().enumerate() {
            let sample = batch.get(index);
            let start = Timestamp::parse("2026-01-01T00:00:00Z").unwrap().seconds_and_nanos().0;
            prop_assert_eq!(sample.time, Timestamp::from_seconds(start + i64::from(second), nano));
            prop_assert!(sample.value.identical(&Value::F64(value)));
            prop_assert_eq!((sample.alarm.severity as i32, i32::from(sample.alarm.status)), (severity, status));
        }
    }
}

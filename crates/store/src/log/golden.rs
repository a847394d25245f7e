//! Golden files of the log: written once, read for ever.

use archive::{PvId, Record};
use sample::{
    Alarm, Arrays, Batch, Blobs, Column, Element, Gap, GapCause, Metadata, Quality, Runs, Sample, Severity, Stamp,
    Timestamp, Value, ValueType,
};

use crate::{
    head::{Head, SlabPool},
    log::{
        Log,
        arrays::{Differences, Lasts, Logged},
        scan::{records, scan},
    },
};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/log/v1/0000000000000042.log");
/// Another one, with arrays of which little changes.
const ARRAYS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/log/v1/0000000000000043.log");

fn time(nanos: i64) -> Timestamp {
    Timestamp::from_nanos(1_793_491_200_000_000_000 + nanos)
}

fn sample(nanos: i64, value: Value) -> Sample {
    Sample { time: time(nanos), value, alarm: Alarm::default(), pulse: 0, stamp: None }
}

/// Two rows of every type, the second with all that a sample can have.
fn columns() -> Vec<Column> {
    let mut blobs = Blobs::default();
    blobs.push(&[1, 2, 3]);
    blobs.push(&[]);
    let arrays =
        Arrays::from_ends(vec![3, 3], Column::I16(vec![1, -2, 3])).expect("the ends are those of the elements");
    vec![
        Column::Bool(vec![true, false]),
        Column::I8(vec![-1, i8::MIN]),
        Column::U8(vec![0, u8::MAX]),
        Column::I16(vec![-1, i16::MIN]),
        Column::U16(vec![0, u16::MAX]),
        Column::I32(vec![-1, i32::MIN]),
        Column::U32(vec![0, u32::MAX]),
        Column::I64(vec![-1, i64::MIN]),
        Column::U64(vec![0, u64::MAX]),
        Column::F32(vec![-0.0, 1.5]),
        Column::F64(vec![f64::INFINITY, 0.1]),
        Column::Enum(vec![0, -7]),
        Column::String(["µA", ""].into_iter().collect()),
        Column::Structure(blobs),
        Column::Array(arrays),
    ]
}

/// What each frame of the file holds.
fn frames() -> Vec<Vec<(PvId, Record)>> {
    let alarm = Alarm { severity: Severity::Invalid, status: 17, message: Some("no link".into()) };
    let (mut alarms, mut pulses, mut stamps) = (Runs::default(), Runs::default(), Runs::default());
    for (alarm, pulse, stamp) in [
        (Alarm::default(), 0, None),
        (alarm.clone(), 1 << 40, Some(Stamp { quality: Quality::Backward, other: time(9) })),
    ] {
        alarms.push(&alarm, 1);
        pulses.push(&pulse, 1);
        stamps.push(&stamp, 1);
    }
    let batch = |values| {
        let batch = Batch::from_columns(vec![time(0), time(-1)], values, alarms.clone(), pulses.clone());
        batch.expect("there are two rows of all")
    };
    let plain = columns().into_iter().enumerate().map(|(n, values)| (PvId(n as u32), Record::Samples(batch(values))));
    let stamped =
        batch(Column::F64(vec![1.0, 2.0])).with_stamps(sample::Stamps::from_runs(stamps)).expect("of two rows");
    let single = |element| {
        let values = columns().into_iter().find(|column| column.value_type() == ValueType::scalar(element));
        (PvId(300), Record::Sample(sample(5, values.expect("all types are there").get(0))))
    };
    let numbers = Element::ALL.into_iter().filter(|element| ValueType::scalar(*element).is_numeric_scalar());
    let gap = |to| Record::Gap(Gap { from: time(7), to, cause: GapCause::QueueFull, lost: 300 });
    let metadata = Metadata { units: Some("mm".into()), precision: Some(3), ..Metadata::default() };
    vec![
        plain.collect(),
        Vec::new(),
        vec![(PvId(u32::MAX), Record::Samples(stamped)), (PvId(1), gap(None)), (PvId(1), gap(Some(time(8))))],
        numbers.map(single).chain([(PvId(2), Record::Metadata(time(6), metadata.into()))]).collect(),
    ]
}

#[test]
fn the_golden_file_is_read_to_the_last_bit() {
    let bytes = std::fs::read(FILE).expect("it is in the repository");
    let scan = scan(&bytes);
    assert_eq!((scan.frames.len(), &scan.damaged, &scan.tail, scan.newer), (4, &vec![], &None, None));
    let mut appended = 1000;
    for (index, (frame, expected)) in scan.frames.iter().zip(frames()).enumerate() {
        appended += expected.iter().map(|(_, record)| record.samples() as u64).sum::<u64>();
        assert_eq!((frame.number, frame.appended, frame.now), (77 + index as u64, appended, time(index as i64)));
        let expected = expected.into_iter().map(|(pv, record)| (pv, Logged::Whole(record)));
        assert_eq!(records(&bytes[frame.records.clone()]), Ok(expected.collect()));
    }
}

/// The writer of today still writes it so; if this fails the format has changed, and needs a version of its own.
#[test]
fn the_golden_file_is_what_is_written() {
    let mut log = Log::new(42, 77, u64::MAX);
    let mut appended = 1000;
    for (index, frame) in frames().iter().enumerate() {
        log.append(frame, &Differences::default(), appended, time(index as i64));
        appended += frame.iter().map(|(_, record)| record.samples() as u64).sum::<u64>();
    }
    let mut bytes: Vec<u8> = log.take_pieces().into_iter().flat_map(|piece| piece.bytes).collect();
    bytes.resize(4096, 0); // the room that the file had beforehand
    assert!(bytes == std::fs::read(FILE).expect("it is in the repository"));
}

/// Arrays of two PVs in three frames: of each the first is whole, then some elements change.
fn arrays() -> Vec<Vec<(PvId, Record)>> {
    let floats = |changed: f64| Column::F64((0..80).map(|i| if i == 9 { changed } else { f64::from(i) }).collect());
    let bytes =
        |changed: u8| Column::U8((0..2000u32).map(|i| if i == 299 || i == 1999 { changed } else { i as u8 }).collect());
    let stamp = Some(Stamp { quality: Quality::Backward, other: time(9) });
    let alarm = Alarm { severity: Severity::Minor, status: 3, message: Some("high".into()) };
    let mut batch = Batch::of(&sample(2, Value::Array(floats(0.25))));
    assert!(batch.push(&Sample { pulse: 70_000, alarm, ..sample(3, Value::Array(floats(-1e300))) }));
    assert!(batch.push(&Sample { stamp, ..sample(4, Value::Array(floats(-1e300))) }));
    vec![
        vec![
            (PvId(5), Record::Sample(sample(0, Value::Array(floats(9.0))))),
            (PvId(300), Record::Sample(sample(0, Value::Array(bytes(200))))),
            (PvId(5), Record::Sample(sample(1, Value::Array(floats(9.5))))),
        ],
        vec![(PvId(5), Record::Samples(batch))],
        vec![(PvId(300), Record::Sample(sample(8, Value::Array(bytes(201)))))],
    ]
}

#[test]
fn the_golden_file_of_arrays_is_read_to_the_last_bit() {
    let bytes = std::fs::read(ARRAYS).expect("it is in the repository");
    let mut lasts = Lasts::default();
    let frames = scan(&bytes).frames;
    assert_eq!(frames.len(), 3);
    for (frame, expected) in frames.iter().zip(arrays()) {
        let mut back = Vec::new();
        for record in records(&bytes[frame.records.clone()]).expect("it never changes") {
            lasts.restore(frame.number, record, |pv, record| back.push((pv, record))).expect("none is lost");
        }
        let rows = |(pv, record): (PvId, Record)| match record {
            Record::Samples(batch) => (0..batch.len()).map(|row| (pv, batch.get(row))).collect(),
            Record::Sample(sample) => vec![(pv, sample)],
            other => panic!("{other:?}"),
        };
        let flat = |records: Vec<(PvId, Record)>| records.into_iter().flat_map(rows).collect::<Vec<_>>();
        assert_eq!(flat(back), flat(expected));
    }
}

#[test]
fn the_golden_file_of_arrays_is_what_is_written() {
    let (mut log, head) = (Log::new(43, 7, u64::MAX), Head::new(&std::sync::Arc::new(SlabPool::new(0))));
    let mut differences = Differences::default();
    for (index, records) in arrays().iter().enumerate() {
        head.append(records, &mut differences);
        log.append(records, &differences, 100 * index as u64, time(index as i64));
    }
    let bytes: Vec<u8> = log.take_pieces().into_iter().flat_map(|piece| piece.bytes).collect();
    if std::env::var_os("UPDATE_GOLDEN").is_some() && !std::path::Path::new(ARRAYS).exists() {
        std::fs::write(ARRAYS, &bytes).expect("the folder is there");
    }
    assert!(bytes == std::fs::read(ARRAYS).expect("it is in the repository"));
}

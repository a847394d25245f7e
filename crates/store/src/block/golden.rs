//! Blocks of format version 1 that must be readable for ever. `testdata/blocks/v1/NAME.block` are the bytes, `NAME.txt` the
//! samples in them. Files that are there are never written again; a new case is written when `UPDATE_GOLDEN` is set.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "it is a test")]

use std::{fmt::Write as _, fs, path::PathBuf};

use archive::PvId;
use sample::{Alarm, Batch, Column, Quality, Sample, Severity, Stamp, Timestamp, Value};

use crate::{
    block,
    codec::{Effort, array},
};

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/blocks/v1"))
}

/// A batch with an alarm in the middle, and pulses.
fn batch(count: i64, step: impl Fn(i64) -> i64, value: impl Fn(i64) -> Value) -> Batch {
    stamped(count, step, value, |_| None)
}

fn stamped(
    count: i64,
    step: impl Fn(i64) -> i64,
    value: impl Fn(i64) -> Value,
    stamp: impl Fn(i64) -> Option<Stamp>,
) -> Batch {
    let mut batch = Batch::new(value(0).value_type());
    let mut nanos = 1_795_209_540_000_000_000;
    for i in 0..count {
        let alarm = match i * 5 / count {
            2 => Alarm { severity: Severity::Minor, status: 4, message: None },
            3 => Alarm { severity: Severity::Invalid, status: 17, message: Some("no link".into()) },
            _ => Alarm::default(),
        };
        let pulse = if i % 10 < 5 { 0 } else { i as u64 * 3 };
        let time = Timestamp::from_nanos(nanos);
        assert!(batch.push(&Sample { time, value: value(i), alarm, pulse, stamp: stamp(i) }));
        nanos += step(i);
    }
    batch
}

/// Noise that is the same on every machine.
fn noise(i: i64) -> i64 {
    (i.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64) as u64 >> 52) as i64
}

/// Each name says which codec of which column it is there for.
#[expect(clippy::too_many_lines, reason = "a flat table")]
fn cases() -> Vec<(&'static str, Batch)> {
    let even = |_| 1_000_000_000;
    let jitter = |i| 1_000_000_000 + noise(i) - noise(i - 1);
    let jitter_ms = |i| 1_000 + noise(i) % 8 - noise(i - 1) % 8;
    let bursts = |i| if i % 20 == 7 { 3_600_000_000_000 } else { noise(i) % 8 * 1_000 };
    let sometimes = |i| 1 + noise(i) * 1_000_003;
    let walk = |i: i64| (0..=i).map(|j| noise(j) % 7 - 3).sum::<i64>();
    let texts = ["OPEN", "CLOSED", "µ"];
    vec![
        ("time-step-float-constant", batch(20, even, |_| Value::F64(-0.0))),
        (
            "time-linear-float-pco",
            batch(600, jitter, |i| Value::F64((i * i % 1009) as f64 / 977.0 + noise(i) as f64 * 1e-9)),
        ),
        ("time-delta-float-scaled", batch(30, sometimes, |i| Value::F64((23_000 + noise(i) % 50) as f64 / 1000.0))),
        (
            "float-dictionary-with-nan",
            batch(64, even, |i| Value::F64(if i % 9 == 0 { f64::NAN } else { (i / 16) as f64 / 3.0 })),
        ),
        ("float-plain", batch(5, jitter, |i| Value::F64(1.0 / (i as f64 + 3.0)))),
        ("float-grid", batch(100, even, |i| Value::F64((30_000 + noise(i) % 40) as f64 * (20.0 / 65535.0) - 10.0))),
        ("float-grid-without-corrections", batch(40, even, |i| Value::F32((noise(i) % 900) as f32 / 8192.0))),
        (
            "float32-ordered",
            batch(50, even, |i| Value::F32(f32::from_bits(0x3f00_0000 + (noise(i) * noise(i) * 7) as u32))),
        ),
        (
            "float-sorted-dictionary",
            batch(90, even, |i| Value::F64([-0.0, 0.0, f64::NAN, 1.0 / 7.0][noise(i) as usize % 4])),
        ),
        ("float32-pco", batch(520, even, |i| Value::F32((i * i % 601) as f32 / 97.0))),
        ("int-packed", batch(40, even, |i| Value::I32(-500 + noise(i) as i32 % 900))),
        ("int-delta", batch(40, even, |i| Value::U64(u64::MAX - 1000 + i as u64 * 20 + noise(i) as u64 % 4))),
        ("int-runs", batch(60, even, |i| Value::Enum((i / 25) as i32 * 7))),
        ("int-pco", batch(700, even, |i| Value::I64(walk(i) * 1_000_000_007))),
        (
            "int-patched",
            batch(80, even, |i| Value::I32(if i % 30 == 7 { i as i32 * 100_000 } else { noise(i) as i32 % 7 })),
        ),
        ("int-patched-delta", batch(90, even, |i| Value::I64(i * 1000 + noise(i) % 30 + i / 40 * 1_000_000_000_000))),
        ("int-dictionary", batch(100, even, |i| Value::U32([0, 7, 1 << 20, u32::MAX][noise(i) as usize % 4]))),
        ("time-ticks-linear", batch(60, |i| jitter_ms(i) * 1_000_000, |i| Value::I16(i as i16))),
        ("time-ticks-delta", batch(60, bursts, |i| Value::I16(i as i16))),
        ("bool", batch(30, even, |i| Value::Bool(i % 3 == 0))),
        ("int8", batch(10, even, |i| Value::I8((i - 128) as i8))),
        ("text-list", batch(6, even, |i| Value::String(format!("shot {}", i * 31).into()))),
        ("text-dictionary", batch(50, even, |i| Value::String(texts[(i / 3) as usize % 3].into()))),
        (
            "stamps",
            stamped(
                60,
                jitter,
                |i| Value::I32(i as i32),
                |i| {
                    let quality = Quality::ALL[(i % 3) as usize];
                    (i > 40).then(|| Stamp { quality, other: Timestamp::from_nanos(i * 1_000_000_007) })
                },
            ),
        ),
        ("structure-columns", batch(12, jitter, |i| Value::Structure(archive::structure::example(i).into()))),
        ("structure", batch(6, even, |i| Value::Structure(vec![0x80, i as u8, 0xff].into()))),
        ("array-column", batch(8, even, |i| Value::Array(Column::F64((0..i % 4).map(|j| j as f64 * 0.5).collect())))),
        (
            "array-differences",
            batch(12, even, |i| {
                let near = |j: i64| (noise(j) - 2048) * 15 + noise(j * 31 + i * 1009) % 4;
                Value::Array(Column::I16((0..40).map(|j| near(j) as i16).collect()))
            }),
        ),
        (
            "array-cells",
            batch(14, even, |i| {
                let own = |j: i64| j == i * 9;
                let len = if i == 13 { 3 } else { 300 };
                Value::Array(Column::F32((0..len).map(|j| if own(j) { -j as f32 } else { j as f32 * 0.1 }).collect()))
            }),
        ),
        (
            "array-shuffled",
            batch(3, even, |i| {
                let phrase = format!("shot {i}: beam lost by vacuum interlock; ").repeat(12 + i as usize);
                Value::Array(Column::U8(phrase.into_bytes()))
            }),
        ),
        (
            "array-of-texts",
            batch(4, even, |i| Value::Array(Column::String(texts.into_iter().take(i as usize).collect()))),
        ),
    ]
}

/// Arrays in pieces. Ours are written so from a megabyte on, which is too much to be kept as text: these pieces are short.
fn in_pieces() -> Vec<(&'static str, Batch, Vec<u8>)> {
    let even = |_| 1_000_000_000;
    let ramp =
        |i: i64| Value::Array(Column::F64((0..100).map(|j| if j == i { -1.0 } else { 0.1 * j as f64 }).collect()));
    let texts = |i: i64| {
        Value::Array(Column::String(["OPEN", "", "µ"].into_iter().cycle().skip(i as usize).take(70).collect()))
    };
    let phrase = "beam lost by vacuum interlock; ".repeat(20).into_bytes();
    let bytes = move |i: i64| Value::Array(Column::U8(phrase.iter().skip(i as usize).copied().collect()));
    let whole = |batch: &Batch, piece: usize| {
        let mut block = Vec::new();
        let Column::Array(arrays) = batch.values() else { unreachable!("all are arrays") };
        block::put_with(&mut block, PvId(7), batch, Effort::Flush, |out| array::put_pieces(out, arrays, piece));
        block
    };
    let changing = batch(9, even, ramp);
    let mut cells = Vec::new();
    block::put_with(&mut cells, PvId(7), &changing, Effort::Flush, |out| {
        let Column::Array(arrays) = changing.values() else { unreachable!("all are arrays") };
        array::put_cells_in_pieces(out, arrays, 32);
    });
    let (texts, bytes) = (batch(4, even, texts), batch(3, even, bytes));
    let (texts_block, bytes_block) = (whole(&texts, 50), whole(&bytes, 512));
    vec![
        ("array-pieces", bytes, bytes_block),
        ("array-pieces-of-texts", texts, texts_block),
        ("array-cells-in-pieces", changing, cells),
    ]
}

/// One line a sample: time, severity, status, message, pulse, value. Floats in their shortest form that comes back exactly.
fn text(pv: PvId, batch: &Batch) -> String {
    let mut text = format!("PV {}, {} samples of {}\n", pv.0, batch.len(), batch.value_type());
    for row in 0..batch.len() {
        let Sample { time, value, alarm, pulse, stamp } = batch.get(row);
        let message = alarm.message.as_deref().unwrap_or("-");
        let stamp = stamp.map_or(String::new(), |stamp| format!(" {} {}", stamp.quality.name(), stamp.other));
        writeln!(text, "{time} {} {} {message:?} {pulse} {value:?}{stamp}", alarm.severity.name(), alarm.status)
            .expect("writing to memory cannot fail");
    }
    text
}

/// Tells the first line that differs, not both texts.
fn assert_same(found: &str, expected: &str, name: &str) {
    let differs = found.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
    assert_eq!(differs, None, "{name}");
    assert_eq!(found.len(), expected.len(), "{name}");
}

#[test]
fn blocks_of_every_version_are_read_for_ever() {
    let mut seen = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "block") {
            let (pv, batch) = block::take(&fs::read(&path).unwrap()).unwrap();
            let expected = fs::read_to_string(path.with_extension("txt")).unwrap();
            assert_same(&text(pv, &batch), &expected, &path.display().to_string());
            seen += 1;
        }
    }
    assert!(seen >= cases().len(), "only {seen} golden blocks are there");
}

#[test]
fn golden_blocks_that_are_missing_are_written_when_asked_for() {
    if std::env::var_os("UPDATE_GOLDEN").is_none() {
        return;
    }
    fs::create_dir_all(folder()).unwrap();
    let written = |(name, batch): (&'static str, Batch)| {
        let mut bytes = Vec::new();
        block::put(&mut bytes, PvId(7), &batch, Effort::Flush);
        (name, batch, bytes)
    };
    for (name, batch, bytes) in cases().into_iter().map(written).chain(in_pieces()) {
        let path = folder().join(name).with_extension("block");
        if !path.exists() {
            fs::write(&path, bytes).unwrap();
            fs::write(path.with_extension("txt"), text(PvId(7), &batch)).unwrap();
        }
    }
}

#[test]
fn what_is_written_today_reads_as_the_golden_text() {
    for (name, batch) in cases() {
        let mut bytes = Vec::new();
        block::put(&mut bytes, PvId(7), &batch, Effort::Merge);
        let (pv, back) = block::take(&bytes).unwrap();
        let expected = fs::read_to_string(folder().join(name).with_extension("txt")).unwrap();
        assert_same(&text(pv, &back), &expected, name);
    }
    for (name, _, bytes) in in_pieces() {
        assert!(bytes == fs::read(folder().join(name).with_extension("block")).unwrap(), "{name}");
    }
}

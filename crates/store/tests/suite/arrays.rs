//! Arrays through the whole store: log, head, recovery, blocks, merges, and answers for a part of them.

use crate::common;

use std::{fs, path::Path, time::Duration};

use archive::{PvId, Record, Sink};
use common::{at, read, register, sample, wait_until};
use sample::{Alarm, Batch, Column, Sample, Severity, TimeRange, Value};
use store::{Config, Durable, Error, Store};

const WEEK: i64 = 7 * 86_400_000_000_000;

fn config(folder: &Path) -> Config {
    Config { durable: Durable::Every(Duration::from_millis(5)), log_file_bytes: 200_000, ..Config::new(folder) }
}

/// Of which only the first element changes, as in the test of the ESS.
fn waveform(row: i64) -> Value {
    Value::Array(Column::I32((0..2000).map(|i| if i == 0 { row as i32 } else { i }).collect()))
}

/// Of which everything changes.
fn noise(row: i64) -> Value {
    let bits = |i: i64| (i + row * 5000).wrapping_mul(0x9e37_79b9_7f4a_7c15u64 as i64) >> 48;
    Value::Array(Column::I16((0..1500).map(|i| bits(i) as i16).collect()))
}

/// Whose length and type change now and then, and which is a single number at times.
fn moody(row: i64) -> Value {
    let len = 700 + row / 40 % 3;
    let element = |i: i64| if i % 500 == row % 500 { row as f64 } else { i as f64 * 0.5 };
    match row % 100 {
        98 => Value::F64(row as f64),
        99 => Value::Array(Column::F32((0..len).map(|i| element(i) as f32).collect())),
        _ => Value::Array(Column::F64((0..len).map(element).collect())),
    }
}

/// What a PV sends.
type Kind = fn(i64) -> Value;

const KINDS: [(&str, Kind); 3] = [("ESS", waveform), ("NOISE", noise), ("MOODY", moody)];

/// What is expected of a PV: late ones among the others, alarms, pulses.
fn expected(kind: Kind, rows: std::ops::Range<i64>) -> Vec<Sample> {
    let one = |row: i64| {
        let late = if row % 50 == 20 { 35 } else { 0 };
        let severity = if row / 30 % 2 == 0 { Severity::None } else { Severity::Minor };
        let alarm = Alarm { severity, ..Alarm::default() };
        Sample { alarm, pulse: (row / 7) as u64, ..sample(row * 10 - late, kind(row)) }
    };
    rows.map(one).collect()
}

fn in_order(mut samples: Vec<Sample>) -> Vec<Sample> {
    samples.sort_by_key(|sample| sample.time);
    samples
}

/// Appends singly or in batches, as acquisition does.
fn append(store: &Store, pvs: &[PvId], rows: std::ops::Range<i64>) -> Result<(), Error> {
    for row in rows.step_by(8) {
        let mut records = Vec::new();
        for (pv, (_, kind)) in pvs.iter().zip(KINDS) {
            for sample in expected(kind, row..row + 8) {
                if let Some((last, Record::Samples(batch))) = records.last_mut()
                    && last == pv
                    && batch.push(&sample)
                {
                    continue;
                }
                let batch = || Record::Samples(Batch::of(&sample));
                records.push((*pv, if row % 16 == 0 { batch() } else { Record::Sample(sample) }));
            }
        }
        store.writer().append(&records, at(row * 10))?;
    }
    Ok(())
}

fn assert_all_there(store: &Store, pvs: &[PvId], rows: i64, when: &str) {
    for (pv, (name, kind)) in pvs.iter().zip(KINDS) {
        let all = in_order(expected(kind, 0..rows));
        let found = read(store, *pv, TimeRange::ALL);
        assert!(found == all, "{name} {when}: {} of {}", found.len(), all.len());
        for (from, to) in [(0, 1), (995, 1005), (1500, 3500), (rows * 10 - 35, i64::MAX)] {
            let range = TimeRange { t0: at(from), t1: at(to) };
            let part: Vec<Sample> = all.iter().filter(|sample| range.contains(sample.time)).cloned().collect();
            assert!(read(store, *pv, range) == part, "{name} {when}, {from} to {to}");
            let last = all.iter().rev().find(|sample| sample.time <= at(from));
            assert_eq!(store.reader().last_before(*pv, at(from)).unwrap().as_ref(), last, "{name} {when}, at {from}");
        }
    }
}

#[test]
fn arrays_of_every_habit_are_read_back_from_head_log_blocks_and_merged_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(config(folder.path()), at(0)).unwrap();
    let pvs = register(&store, &KINDS.map(|(name, _)| name)).unwrap();
    append(&store, &pvs, 0..400).unwrap();
    assert_all_there(&store, &pvs, 400, "in the head");
    drop(store); // as a crash would
    let store = Store::open(config(folder.path()), at(4000)).unwrap();
    assert_eq!(store.reader().health().problems, Vec::<String>::new());
    assert_all_there(&store, &pvs, 400, "from the log");
    append(&store, &pvs, 400..600).unwrap();
    assert_all_there(&store, &pvs, 600, "behind the log");
    store.tick(at(WEEK));
    wait_until("the head is flushed", || store.reader().health().flushes == 1);
    assert_all_there(&store, &pvs, 600, "in blocks");
    append(&store, &pvs, 600..800).unwrap();
    assert_all_there(&store, &pvs, 800, "in blocks and head");
    store.close(at(WEEK + 1)).unwrap();
    let store = Store::open(config(folder.path()), at(3 * WEEK)).unwrap();
    wait_until("the week is merged", || store.reader().health().segments == 1);
    assert_all_there(&store, &pvs, 800, "merged");
    store.close(at(3 * WEEK)).unwrap();
    let mut problems = store::check(folder.path(), |_| {}).unwrap();
    assert_eq!(std::mem::take(&mut problems.problems), Vec::<String>::new());
    assert!(problems.bad_blocks.is_empty());
}

#[test]
fn the_log_of_arrays_that_hardly_change_is_small_and_has_all_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(config(folder.path()), at(0)).unwrap();
    let pv = register(&store, &["ESS"]).unwrap()[0];
    for row in 0..3000 {
        store.writer().append(&[(pv, Record::Sample(sample(row, waveform(row))))], at(row)).unwrap();
    }
    drop(store);
    let files =
        || fs::read_dir(folder.path().join("log")).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len());
    let (bytes, offered) = (files().sum::<u64>(), 3000 * 8000);
    assert!(files().count() > 1 && bytes * 40 < offered, "{bytes} of {offered} bytes");
    assert!(store::check(folder.path(), |_| {}).unwrap().problems.is_empty());
    let store = Store::open(config(folder.path()), at(3000)).unwrap();
    let all: Vec<Sample> = (0..3000).map(|row| sample(row, waveform(row))).collect();
    assert!(read(&store, pv, TimeRange::ALL) == all);
    assert!(store.reader().health().head_bytes < 1 << 20, "{}", store.reader().health().head_bytes);
}

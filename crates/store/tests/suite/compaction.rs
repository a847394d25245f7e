//! Small segments become one; nobody notices but the health counters, whenever the power goes.

use crate::common;
use crate::sim;

use std::{sync::Arc, time::Duration};

use archive::{DataFate, PvId};
use common::{append, at, by, name, read, register, sample, wait_until};
use sample::{Column, Sample, TimeRange, Value};
use sim::{Crash, SimDisk};
use store::{Config, Durable, Store};

fn config() -> Config {
    Config { durable: Durable::Every(Duration::from_millis(1)), ..Config::new("simulated") }
}

/// Of segment `part`: later than the one before, or in the middle of it, or the same once more.
fn samples(part: i64) -> Vec<Sample> {
    let value = |i: i64| match part % 4 {
        3 => Value::String(format!("text {}", i % 3).into()),
        2 => Value::Array(Column::U8(vec![i as u8; (i % 4) as usize])),
        _ => Value::F64((i / 7) as f64),
    };
    let start = part / 2 * 100;
    (0..300).map(|i| sample(start + i, value(i))).collect()
}

/// Seven segments of one day.
fn seven_segments(disk: &Arc<SimDisk>) -> (Store, Vec<PvId>) {
    let store = Store::open_on(disk.clone(), config(), at(0)).unwrap();
    let pvs = register(&store, &["A", "B", "C"]).unwrap();
    for part in 0..7 {
        flush_part(&store, &pvs, part);
    }
    (store, pvs)
}

fn flush_part(store: &Store, pvs: &[PvId], part: i64) {
    append(store, pvs[0], &samples(part)).unwrap();
    append(store, pvs[1 + part as usize % 2], &samples(part)).unwrap();
    store.tick(at((part + 1) * 1_000_000_000_000));
    let flushed = || store.reader().health().head_samples == 0 || store.reader().health().refusal.is_some();
    wait_until("the head is flushed", flushed);
}

/// Flushes what there is and lets the day pass.
fn pass_day(store: &Store) {
    store.tick(at(9_000_000_000_000));
    let flushed = || store.reader().health().flushes == 8 || store.reader().health().refusal.is_some();
    wait_until("the head is flushed", flushed);
    store.tick(at(90_000_000_000_000));
}

fn read_all(store: &Store, pvs: &[PvId]) -> Vec<Vec<Sample>> {
    pvs.iter().map(|pv| read(store, *pv, TimeRange::ALL)).collect()
}

#[test]
fn a_merge_changes_no_answer_and_leaves_no_file_behind() {
    let disk = Arc::new(SimDisk::default());
    let (store, pvs) = seven_segments(&disk);
    let reader = store.reader();
    append(&store, pvs[0], &samples(7)).unwrap();
    let before = read_all(&store, &pvs);
    assert_eq!(reader.health().segments, 7);
    let reading = reader.samples(pvs[0], TimeRange::ALL); // begun before the merge, ended after it
    pass_day(&store);
    wait_until("the segments are merged", || reader.health().merged_segments == 8);
    assert_eq!(reader.health().segments, 1);
    assert_eq!(read_all(&store, &pvs), before);
    assert_eq!(reading.map(|batch| batch.unwrap().len()).sum::<usize>(), before[0].len());
    // The merge itself holds what it has merged for a moment longer.
    wait_until("one file is left", || disk.keys().iter().filter(|key| key.contains(".seg")).count() == 1);
    store.close(at(91_000_000_000_000)).unwrap();
    let store = Store::open_on(disk, config(), at(92_000_000_000_000)).unwrap();
    assert_eq!(read_all(&store, &pvs), before);
    assert_eq!(store.reader().health().problems, Vec::<String>::new());
}

#[test]
fn a_damaged_segment_stays_as_it_is_and_the_others_are_merged_without_it() {
    let disk = Arc::new(SimDisk::default());
    let (store, pvs) = seven_segments(&disk);
    append(&store, pvs[0], &samples(7)).unwrap();
    let before = read_all(&store, &pvs);
    let mut keys: Vec<String> = disk.keys().into_iter().filter(|key| key.ends_with(".seg")).collect();
    keys.sort();
    disk.damage(&keys[3], 80, 1); // in its first block, which is one of A
    let reader = store.reader();
    pass_day(&store);
    // Its samples overlap with those before and behind it, so it parts them: three become one, and four.
    wait_until("the others are merged", || reader.health().merged_segments == 7);
    assert_eq!(reader.health().segments, 3);
    assert!(disk.keys().contains(&keys[3]));
    assert_eq!(read_all_readable(&store, pvs[1]), before[1]);
    assert_eq!(read_all_readable(&store, pvs[2]), before[2]);
    let lost = samples(3);
    let found = read_all_readable(&store, pvs[0]);
    assert!(found.len() < before[0].len() && before[0].iter().all(|one| found.contains(one) || lost.contains(one)));
    assert!(reader.health().problems.iter().any(|problem| problem.contains(&keys[3])));
}

fn read_all_readable(store: &Store, pv: PvId) -> Vec<Sample> {
    let batches = store.reader().samples(pv, TimeRange::ALL).filter_map(Result::ok);
    batches.flat_map(|batch| (0..batch.len()).map(move |row| batch.get(row)).collect::<Vec<_>>()).collect()
}

#[test]
fn data_of_a_deleted_pv_cannot_be_reached_and_survives_merges_until_it_is_purged() {
    let disk = Arc::new(SimDisk::default());
    let (store, pvs) = seven_segments(&disk);
    let blocks = store.reader().health().blocks;
    let before = read(&store, pvs[0], TimeRange::ALL);
    store.writer().remove(&[pvs[0]], DataFate::Delete, &by(8)).unwrap();
    assert_eq!(read(&store, pvs[0], TimeRange::ALL), []);
    assert_eq!(store.reader().extent(pvs[0]), None);
    let again = register(&store, &["A"]).unwrap()[0];
    assert_ne!(again, pvs[0], "numbers are never used again");
    append(&store, pvs[1], &samples(8)).unwrap();
    pass_day(&store);
    wait_until("the segments are merged", || store.reader().health().merged_segments == 8);
    assert_eq!((blocks, store.reader().health().segments), (14, 1));
    assert_eq!(read(&store, pvs[0], TimeRange::ALL), []);
    store.writer().restore(pvs[0], Some(&name("A2")), &by(9)).unwrap();
    assert_eq!(read(&store, pvs[0], TimeRange::ALL), before);
}

#[test]
fn a_removed_pv_comes_back_with_its_data_when_it_was_kept() {
    let disk = Arc::new(SimDisk::default());
    let (store, pvs) = seven_segments(&disk);
    let before = read(&store, pvs[0], TimeRange::ALL);
    store.writer().remove(&[pvs[0]], DataFate::Keep, &by(8)).unwrap();
    assert_eq!((store.reader().find("A"), store.reader().entry(pvs[0])), (None, None));
    store.close(at(8_000_000_000_000)).unwrap();
    let store = Store::open_on(disk, config(), at(9_000_000_000_000)).unwrap();
    assert_eq!(store.reader().find("A"), None);
    assert_eq!(register(&store, &["A"]).unwrap(), [pvs[0]]);
    assert_eq!(read(&store, pvs[0], TimeRange::ALL), before);
}

#[test]
fn a_power_cut_at_any_change_of_a_merge_loses_nothing() {
    for cut in 0.. {
        let disk = Arc::new(SimDisk::default());
        let (store, pvs) = seven_segments(&disk);
        disk.crash_after(disk.changes() + cut);
        let before = read(&store, pvs[0], TimeRange::ALL);
        append(&store, pvs[0], &samples(7)).unwrap();
        let all = read_all(&store, &pvs);
        let reader = store.reader();
        let flushed = || disk.has_crashed() || reader.health().flushes == 8;
        store.tick(at(9_000_000_000_000));
        wait_until("the head is flushed or the power is gone", flushed);
        store.tick(at(90_000_000_000_000));
        let over = || disk.has_crashed() || reader.health().merged_segments == 8;
        wait_until("the segments are merged or the power is gone", over);
        let durable = reader.watermark().durable;
        drop(store);
        for crash in [Crash::OfProcess, Crash::Forgetful, Crash::Torn(cut)] {
            let store = Store::open_on(Arc::new(disk.after(crash)), config(), at(91_000_000_000_000)).unwrap();
            let (found, mut expected) = (read_all(&store, &pvs), all.clone());
            if durable < 7 * 600 + 300 && found[0].len() < expected[0].len() {
                // The last samples are gone: they were not durable yet.
                assert_eq!(store.reader().watermark().appended, 7 * 600, "cut after {cut}, {crash:?}");
                expected[0] = before.clone();
            }
            assert_eq!(found, expected, "cut after {cut}, {crash:?}");
        }
        if reader.health().merged_segments == 8 {
            return;
        }
    }
}

//! Damage: each byte of a small segment and of a log is flipped in turn. Every flip is found by a check, and costs no more than
//! what it hit.

use crate::common;
use crate::sim;

use std::{
    io::ErrorKind,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use archive::PvId;
use common::{append, at, only, read, register, sample, wait_until};
use sample::{GapCause, Sample, TimeRange, Value};
use sim::{Call, Crash, SimDisk, gate::Gate};
use store::{Config, Error, Store};

const PVS: [&str; 3] = ["A", "B", "C"];

fn samples(pv: usize) -> Vec<Sample> {
    (0..30).map(|i| sample(i * 7, Value::F64((i * (pv as i64 + 1)) as f64 * 0.1))).collect()
}

fn fill(store: &Store) -> Vec<PvId> {
    let pvs = register(store, &PVS).unwrap();
    for (index, pv) in pvs.iter().enumerate() {
        append(store, *pv, &samples(index)).unwrap();
    }
    pvs
}

#[test]
fn each_flipped_byte_of_a_segment_is_found_and_its_neighbours_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(Config::new(folder.path()), at(0)).unwrap();
    let pvs = fill(&store);
    store.close(at(1000)).unwrap();
    let report = store::check(folder.path(), |_| {}).unwrap();
    assert!(report.is_clean() && report.samples == 90 && report.blocks == 3, "{report:?}");

    let segment = only(folder.path(), "seg");
    let whole = std::fs::read(&segment).unwrap();
    for place in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[place] ^= 0x20;
        std::fs::write(&segment, &damaged).unwrap();
        let report = store::check(folder.path(), |_| {}).unwrap();
        assert!(!report.is_clean(), "byte {place}");
        if place % 17 == 0 {
            let store = Store::open(Config::new(folder.path()), at(2000)).unwrap();
            verify_reads(&store, &pvs, place);
        }
    }
}

/// At most one PV is hurt unless the directory or footer was hit; what is read is right.
fn verify_reads(store: &Store, pvs: &[PvId], place: usize) {
    let (mut hurt, mut whole_file) = (0, false);
    for (index, pv) in pvs.iter().enumerate() {
        let mut got = Vec::new();
        for batch in store.reader().samples(*pv, TimeRange::ALL) {
            match batch {
                Ok(batch) => got.extend((0..batch.len()).map(|row| batch.get(row))),
                Err(Error::CorruptBlock { pv: of, .. }) => assert_eq!(of, *pv, "byte {place}"),
                Err(Error::CorruptSegment { .. } | Error::TooNew { .. }) => whole_file = true,
                Err(error) => panic!("byte {place}: {error}"),
            }
        }
        if got != samples(index) {
            assert_eq!(got, [], "byte {place}: nothing wrong is ever given out");
            hurt += 1;
        }
    }
    assert!(hurt <= 1 || whole_file, "byte {place} hurt {hurt} PVs");
    assert!(hurt == 0 || !store.reader().health().problems.is_empty(), "byte {place} is told");
}

#[test]
fn a_damaged_frame_in_the_log_is_kept_aside_and_told_and_the_rest_is_replayed() {
    let disk = Arc::new(SimDisk::default());
    let store = Store::open_on(disk.clone(), Config::new("simulated"), at(0)).unwrap();
    let pvs = fill(&store);
    drop(store);
    let log = disk.keys().into_iter().find(|key| key.ends_with(".log")).unwrap();
    disk.damage(&log, 32 + 36 + 100, 1); // among the records of the first frame
    let disk = Arc::new(disk.after(Crash::OfProcess));
    let store = Store::open_on(disk.clone(), Config::new("simulated"), at(0)).unwrap();
    assert_eq!(read(&store, pvs[0], TimeRange::ALL), []);
    assert_eq!(read(&store, pvs[1], TimeRange::ALL), samples(1));
    assert_eq!(read(&store, pvs[2], TimeRange::ALL), samples(2));
    assert_eq!(store.reader().watermark().appended, 90, "the frames behind it know the count");
    let problems = store.reader().health().problems;
    assert!(problems.len() == 2 && problems[0].contains("quarantine/"), "{problems:?}");
    assert!(problems[1].contains("missing, with 30 samples; a gap of all PVs tells of it"), "{problems:?}");
    let gaps = store.reader().gaps(pvs[0], TimeRange::ALL).unwrap();
    assert_eq!(gaps.iter().filter(|(_, gap)| gap.cause == GapCause::Damaged).map(|(_, gap)| gap.lost).sum::<u64>(), 30);
    assert!(disk.keys().iter().any(|key| key.starts_with("quarantine/")));
}

#[test]
fn a_check_works_beside_a_running_archiver() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(Config::new(folder.path()), at(0)).unwrap();
    let pvs = fill(&store);
    store.tick(at(2_000_000_000_000));
    common::wait_until("the head is flushed", || store.reader().health().flushes == 1);
    append(&store, pvs[0], &samples(0)).unwrap();
    common::wait_until("the log is written", || store::check(folder.path(), |_| {}).unwrap().log_frames > 0);
    let mut last = None;
    let report = store::check(folder.path(), |progress| last = Some(progress)).unwrap();
    assert!(report.is_clean() && report.samples == 90, "{report:?}");
    assert_eq!(last.map(|progress| progress.bytes), Some(report.bytes));

    // The name of a damaged block's PV is told, though the archiver has the catalogue open.
    let segment = only(folder.path(), "seg");
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes[64 + 40] ^= 1;
    std::fs::write(&segment, &bytes).unwrap();
    let report = store::check(folder.path(), |_| {}).unwrap();
    assert_eq!(report.bad_blocks.len(), 1, "{report:?}");
    assert!(report.bad_blocks[0].to_string().contains("PV A from"), "{}", report.bad_blocks[0]);
}

#[test]
fn damage_in_the_catalogue_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(Config::new(folder.path()), at(0)).unwrap();
    let pvs = register(&store, &["VACUUM:GAUGE:17"]).unwrap();
    append(&store, pvs[0], &samples(0)).unwrap();
    store.close(at(1000)).unwrap();
    let path = folder.path().join("catalogue.redb");
    let whole = std::fs::read(&path).unwrap();

    // Each place where the name stands: redb leaves old pages where they are.
    let mut flipped = whole.clone();
    let places = (0..whole.len()).filter(|place| whole[*place..].starts_with(b"VACUUM:GAUGE:17"));
    places.for_each(|place| flipped[place] ^= 0x20);
    assert_ne!(flipped, whole);
    for damaged in [&flipped, &whole[..whole.len() / 2]] {
        std::fs::write(&path, damaged).unwrap();
        let report = store::check(folder.path(), |_| {}).unwrap();
        assert!(report.samples == 30 && report.problems.len() == 1, "{report:?}");
        assert!(report.problems[0].starts_with("catalogue.redb cannot be read"), "{report:?}");
    }
    std::fs::write(&path, &whole).unwrap();
    let report = store::check(folder.path(), |_| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
}

/// Adding PVs changes the catalogue all the time; a copy of it that is whole is found nevertheless.
#[test]
fn a_damaged_block_is_told_by_name_while_pvs_are_added() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(Config::new(folder.path()), at(0)).unwrap();
    fill(&store);
    store.tick(at(2_000_000_000_000));
    common::wait_until("the head is flushed", || store.reader().health().flushes == 1);
    let segment = only(folder.path(), "seg");
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes[64 + 40] ^= 1;
    std::fs::write(&segment, &bytes).unwrap();

    let many: Vec<String> = (0..20_000).map(|i| format!("MANY:{i}")).collect();
    register(&store, &many.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
    let done = AtomicBool::new(false);
    let reports: Vec<_> = std::thread::scope(|scope| {
        scope.spawn(|| {
            // Bounded, so that a check that panics ends the test.
            for i in 0..3000 {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                register(&store, &[&format!("MORE:{i}")]).unwrap();
            }
        });
        let reports = (0..10).map(|_| store::check(folder.path(), |_| {})).collect();
        done.store(true, Ordering::Relaxed);
        reports
    });
    for report in reports {
        let report = report.unwrap();
        assert!(report.bad_blocks.len() == 1 && report.problems.is_empty(), "{report:?}");
        assert!(report.bad_blocks[0].to_string().contains("PV A from"), "{report:?}");
    }
}

#[test]
fn the_room_at_the_end_of_the_log_is_given_back_when_an_archive_is_left_or_recovered() {
    let folder = tempfile::tempdir().unwrap();
    let files = || std::fs::read_dir(folder.path().join("log")).unwrap().map(|entry| entry.unwrap().path());
    let bytes = || files().map(|path| path.metadata().unwrap().len()).sum::<u64>();
    let store = Store::open(Config::new(folder.path()), at(0)).unwrap();
    let pvs = fill(&store);
    drop(store); // without a flush
    assert!((1000..20_000).contains(&bytes()), "{} bytes of log", bytes());
    let last = files().max().unwrap();
    std::fs::OpenOptions::new().write(true).open(last).unwrap().set_len(1 << 20).unwrap(); // as after a kill
    let store = Store::open(Config::new(folder.path()), at(2000)).unwrap();
    verify_reads(&store, &pvs, 0);
    drop(store);
    assert!((1000..20_000).contains(&bytes()), "{} bytes of log", bytes());
}

/// A disk that gives errors for one file costs what is in it, for as long as that lasts: everything else is served, and then all.
#[test]
fn a_segment_that_the_disk_does_not_read_is_passed_over_until_it_does() {
    for opened_before in [true, false] {
        let gate = Arc::new(Gate::new(Arc::new(SimDisk::default())));
        let store = Store::open_on(gate.clone(), Config::new("simulated"), at(0)).unwrap();
        let pv = register(&store, &PVS).unwrap()[0];
        for part in 0..3 {
            append(&store, pv, &[sample(part * 10, Value::F64(part as f64))]).unwrap();
            store.tick(at((part + 1) * 4_000_000_000_000));
            wait_until("it is flushed", || store.reader().health().flushes == part as u64 + 1);
        }
        let store = match opened_before {
            true => store,
            false => {
                store.close(at(12_000_000_000_001)).unwrap();
                Store::open_on(gate.clone(), Config::new("simulated"), at(12_000_000_000_002)).unwrap()
            }
        };
        gate.refuse(ErrorKind::Other, |call, key| call == Call::Read && key.ends_with("000002.seg"));
        let got: Vec<_> = store.reader().samples(pv, TimeRange::ALL).take(10).collect();
        let (found, errors): (Vec<_>, Vec<_>) = got.into_iter().partition(Result::is_ok);
        assert_eq!(found.into_iter().map(|batch| batch.unwrap().len()).sum::<usize>(), 2);
        assert!(errors.len() == 1 && errors[0].as_ref().is_err_and(Error::is_damage), "{errors:?}");
        let newest = || store.reader().last_before(pv, at(1000)).unwrap().map(|sample| sample.time.nanos());
        assert_eq!(newest(), Some(10), "of those that can be read");
        gate.open();
        assert_eq!(newest(), Some(20), "an older one is not remembered as the newest");
        assert_eq!(read(&store, pv, TimeRange::ALL).len(), 3);
        store.tick(at(90_000_000_000_000));
        wait_until("they are merged: none was kept out", || store.reader().health().segments == 1);
        assert_eq!(read(&store, pv, TimeRange::ALL).len(), 3);
    }
}

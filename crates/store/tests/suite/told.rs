//! What a check finds when it holds the segments and the log against the ledger: nothing while every sample is where it was put,
//! whatever was merged, moved, imported or purged meanwhile, and to the sample what is gone.

use crate::common;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use archive::{LedgerScale, Purge, PvId, PvName, Record, Sink};
use common::{append, at, by, read, register, sample, wait_until};
use sample::{Column, GapCause, Sample, TimeRange, Value};
use store::{Config, Durable, Repairing, Store};

const SECOND: i64 = 1_000_000_000;

fn open(folder: &Path) -> Store {
    let config = Config { durable: Durable::Every(Duration::from_millis(1)), ..Config::new(folder) };
    Store::open(config, at(0)).unwrap()
}

fn samples(rows: std::ops::Range<i64>) -> Vec<Sample> {
    rows.map(|row| sample(row * SECOND, Value::F64(row as f64))).collect()
}

/// A row of the first share that says that so many samples were stored, by the rule of these tests.
fn tell(store: &Store, stored: u64, time: i64) {
    let names: Vec<PvName> = LedgerScale::Minute.names().map(|name| PvName::recorded(&name).unwrap()).collect();
    let own = store.writer().own(&names, at(0)).unwrap();
    let row = sample(time, Value::Array(Column::U8(stored.to_le_bytes().to_vec())));
    store.writer().append(&[(own[0], Record::LedgerRow(row))], at(time)).unwrap();
}

/// What a check says when each row tells of so many samples more than it says.
fn check(folder: &Path, more: u64) -> Vec<String> {
    let stored = |row: &[u8], _| Some(u64::from_le_bytes(row.try_into().ok()?) + more);
    store::check_with_ledger(folder, &stored, |_| {}).unwrap().problems
}

/// That nothing is missing, and that one more would be.
#[track_caller]
fn expect_exact(folder: &Path) {
    assert_eq!(check(folder, 0), [""; 0]);
    let problems = check(folder, 1);
    assert!(problems.len() == 1 && problems[0].contains(" 1 of them are in neither"), "{problems:?}");
}

fn flush(store: &Store, time: i64) {
    store.tick(at(time));
    wait_until("the head is flushed", || store.reader().health().head_samples == 0);
}

#[test]
fn the_total_is_right_to_the_sample_whatever_became_of_the_segments() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let store = open(data);
    let pvs = register(&store, &["A", "B"]).unwrap();
    for part in 0..4 {
        // Half of each is what the one before had: repeats, within a head and among segments.
        append(&store, pvs[0], &samples(part * 100..part * 100 + 200)).unwrap();
        append(&store, pvs[1], &[samples(0..50), samples(0..50)].concat()).unwrap();
        flush(&store, (part + 1) * 4000 * SECOND);
    }
    let mut import = store.writer().import("an old archive", &by(7));
    import.append(&samples(-900..-500).into_iter().map(|of| (pvs[1], Record::Sample(of))).collect::<Vec<_>>()).unwrap();
    import.finish_part("1").unwrap();
    drop(import);
    tell(&store, store.reader().watermark().appended, 1);
    wait_until("the row is in the log", || store::check(data, |_| {}).unwrap().log_frames > 0);
    expect_exact(data);
    store.tick(at(90_000 * SECOND));
    wait_until("segments are merged", || store.reader().health().segments < 4);
    expect_exact(data);

    store.writer().delete_range(pvs[0], TimeRange::new(at(0), at(150 * SECOND)).unwrap(), &by(30)).unwrap();
    store.writer().purge(Purge { pv: None, before: at(i64::MAX) }, &by(40)).unwrap();
    wait_until("the purge is done", || store.reader().health().purging == 0);
    expect_exact(data);
    append(&store, pvs[0], &samples(5000..5030)).unwrap();
    tell(&store, 30, 2);
    drop(store); // as if it were killed: the log is replayed
    let stored = |row: &[u8], _| Some(u64::from_le_bytes(row.try_into().ok()?));
    assert!(store::check_with_ledger(data, &stored, |_| {}).unwrap().is_clean());
    open(data).close(at(91_000 * SECOND)).unwrap();
    assert!(store::check_with_ledger(data, &stored, |_| {}).unwrap().is_clean());
}

/// Three files of the log, each with ten samples, and a row that tells of all.
fn three_log_files(data: &Path) -> (Vec<PathBuf>, PvId) {
    let mut pv = PvId(0);
    for part in 0..3 {
        let store = open(data);
        pv = register(&store, &["A"]).unwrap()[0];
        append(&store, pv, &samples(part * 10..part * 10 + 10)).unwrap();
        if part == 2 {
            tell(&store, 30, 100 * SECOND);
        }
        wait_until("it is in the log", || store.reader().watermark().durable == (part as u64 + 1) * 10);
        drop(store);
    }
    let list = fs::read_dir(data.join("log")).unwrap();
    let mut files: Vec<PathBuf> = list.map(|file| file.unwrap().path()).collect();
    files.sort();
    (files, pv)
}

#[test]
fn a_file_of_the_log_that_is_gone_is_found_and_its_samples_are_a_gap_of_so_many() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let (files, pv) = three_log_files(data);
    let whole = check(data, 0);
    assert_eq!(whole, [""; 0]);
    let lost = files.iter().find(|file| fs::read(file).unwrap().len() > 200 && **file != files[0]).unwrap();
    fs::remove_file(lost).unwrap();
    let problems = check(data, 0);
    assert!(
        problems.iter().any(|of| of.contains("of the log") && of.ends_with("missing, with 10 samples")),
        "{problems:?}"
    );
    assert!(
        problems.iter().any(|of| of.contains("10 of them are in neither the segments nor the log")),
        "{problems:?}"
    );

    let store = open(data);
    assert_eq!(read(&store, pv, TimeRange::ALL).len(), 20);
    let told = store.reader().health().problems;
    assert!(told.iter().any(|of| of.contains("missing, with 10 samples; a gap of all PVs tells of it")), "{told:?}");
    let gaps = store.reader().gaps(pv, TimeRange::ALL).unwrap();
    let lost: Vec<_> = gaps.iter().filter(|(_, gap)| gap.cause == GapCause::Damaged).map(|(_, gap)| gap.lost).collect();
    assert_eq!(lost, [10], "{gaps:?}");
    store.close(at(4000 * SECOND)).unwrap();

    // The flush has passed over it; the ledger has not forgotten.
    let problems = check(data, 0);
    assert!(problems.len() == 1 && problems[0].contains("10 of them are in neither"), "{problems:?}");
    store::repair(data, Repairing::Do, at(5000 * SECOND), |_| {}).unwrap();
    assert_eq!(check(data, 0), [""; 0]);
    let store = open(data);
    append(&store, pv, &samples(5000..5010)).unwrap();
    tell(&store, 10, 6000 * SECOND);
    store.close(at(7000 * SECOND)).unwrap();
    expect_exact(data);
}

#[test]
fn an_older_catalogue_that_was_put_back_is_found_by_what_lies_between_it_and_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let store = open(data);
    let pv = register(&store, &["A"]).unwrap()[0];
    append(&store, pv, &samples(0..10)).unwrap();
    flush(&store, 4000 * SECOND);
    store.close(at(4001 * SECOND)).unwrap();
    let old = fs::read(data.join("catalogue.redb")).unwrap();
    let store = open(data);
    append(&store, pv, &samples(10..40)).unwrap();
    flush(&store, 8000 * SECOND);
    append(&store, pv, &samples(40..50)).unwrap();
    wait_until("it is in the log", || store.reader().watermark().durable == 50);
    drop(store);
    assert_eq!(check(data, 0), [""; 0]);
    fs::write(data.join("catalogue.redb"), old).unwrap();
    let problems = check(data, 0);
    assert!(problems.iter().any(|of| of.ends_with("missing, with 30 samples")), "{problems:?}");
}

/// Whatever is flushed, merged and appended while a check reads: it finds nothing wrong.
#[test]
fn a_check_beside_flushes_and_merges_misses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let pv = register(&store, &["A"]).unwrap()[0];
    tell(&store, 0, 1);
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut part = 0;
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                append(&store, pv, &samples(part * 100..part * 100 + 150)).unwrap();
                tell(&store, 150, (part + 2) * 200 * SECOND);
                store.tick(at((part + 1) * 4000 * SECOND));
                part += 1;
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        let begun = std::time::Instant::now();
        let flushes = || store.reader().health().flushes;
        // A disk that others keep busy takes long for a flush.
        for checks in 0.. {
            if checks >= 30 && flushes() > 10 || begun.elapsed() > Duration::from_secs(120) {
                break;
            }
            let problems = check(folder.path(), 0);
            if problems != [""; 0] {
                done.store(true, std::sync::atomic::Ordering::Relaxed);
            }
            assert_eq!(problems, [""; 0]);
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert!(store.reader().health().flushes > 10, "there was something to read beside");
}

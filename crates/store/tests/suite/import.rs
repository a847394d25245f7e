//! Imports: samples of years ago come in beside live data, in parts that are there as a whole or not at all, and only once.

use crate::common;
use crate::sim;

use std::sync::Arc;

use archive::{Action, Purge, PvId, Record};
use common::{append, at, by, read, register, sample, wait_until};
use sample::{Batch, Gap, GapCause, Metadata, Sample, TimeRange, Value};
use sim::{Call, Crash, Failure, Fault, SimDisk};
use store::{Config, Import, Store};

const WEEK: i64 = 7 * 86_400_000_000_000;
/// A Monday in 2020.
const START: i64 = 1_577_664_000_000_000_000;

fn open(disk: &Arc<SimDisk>) -> Store {
    Store::open_on(disk.clone(), Config::new("simulated"), at(START + 400 * WEEK)).unwrap()
}

fn samples(week: i64, count: i64) -> Vec<Sample> {
    (0..count).map(|i| sample(START + week * WEEK + i * (WEEK / count), Value::F64(i as f64))).collect()
}

fn record(pv: PvId, samples: &[Sample]) -> (PvId, Record) {
    let mut batch = Batch::of(&samples[0]);
    samples[1..].iter().for_each(|sample| assert!(batch.push(sample)));
    (pv, Record::Samples(batch))
}

fn folders(disk: &SimDisk) -> Vec<String> {
    let mut folders: Vec<String> =
        disk.keys().iter().filter(|key| key.ends_with(".seg")).map(|key| key[..8].to_owned()).collect();
    folders.sort();
    folders
}

#[test]
fn samples_in_any_order_get_into_segments_of_their_weeks_beside_live_data() {
    let disk = Arc::new(SimDisk::default());
    let store = open(&disk);
    let pvs = register(&store, &["A", "B"]).unwrap();
    let live = [sample(START + 399 * WEEK, Value::F64(9.0))];
    append(&store, pvs[0], &live).unwrap();
    let mut import = store.writer().import("old archive", &by(7));
    let (late, early) = (samples(2, 50), samples(0, 50));
    let metadata = Metadata { units: Some("mA".into()), ..Metadata::default() };
    let gap = Gap { from: at(START + WEEK), to: Some(at(START + 2 * WEEK)), cause: GapCause::ArchiverStopped, lost: 0 };
    let facts = [(pvs[1], Record::Metadata(at(START), metadata.into())), (pvs[1], Record::Gap(gap))];
    import.append(&[record(pvs[0], &late), record(pvs[1], &late), record(pvs[0], &early)]).unwrap();
    import.append(&facts).unwrap();
    assert_eq!(read(&store, pvs[1], TimeRange::ALL), [], "a part is seen as a whole");
    let imported = import.finish_part("1").unwrap();
    assert_eq!((imported.samples, imported.gaps, imported.metadata), (150, 1, 1));
    assert_eq!(import.part("1").unwrap(), Some(imported));
    assert_eq!(folders(&disk), ["2020-W01", "2020-W03"]);
    let look = |store: &Store| {
        assert_eq!(read(store, pvs[0], TimeRange::ALL), [early.clone(), late.clone(), live.to_vec()].concat());
        assert_eq!(read(store, pvs[1], TimeRange::ALL), late);
        assert_eq!(store.reader().metadata(pvs[1], TimeRange::ALL).unwrap()[0].1.units.as_deref(), Some("mA"));
        assert!(store.reader().gaps(pvs[1], TimeRange::ALL).unwrap().iter().any(|(_, own)| *own == gap));
        let newest = store.reader().last_before(pvs[1], at(i64::MAX)).unwrap();
        assert_eq!(newest.as_ref(), late.last());
    };
    look(&store);
    let line = &store.reader().audit(u64::MAX, 1).unwrap()[0];
    assert_eq!(
        (line.action, &*line.detail, line.samples),
        (Action::Imported, "old archive, part 1, with 1 gap and 1 change of metadata", 150)
    );
    drop(import);
    store.close(at(START + 400 * WEEK)).unwrap();
    look(&open(&disk));
}

#[test]
fn a_part_that_was_entered_is_known_and_skipped() {
    let disk = Arc::new(SimDisk::default());
    let store = open(&disk);
    let pv = register(&store, &["A"]).unwrap()[0];
    let run = |store: &Store, part: &str, value: f64| {
        let mut import = store.writer().import("old archive", &by(7));
        import.append(&[record(pv, &[sample(START, Value::F64(value))])]).unwrap();
        import.finish_part(part).unwrap()
    };
    let first = run(&store, "1", 1.0);
    assert_eq!(run(&store, "1", 2.0), first, "what it brought the first time");
    store.close(at(START + 400 * WEEK)).unwrap();
    let store = open(&disk);
    assert_eq!(run(&store, "1", 3.0), first);
    assert_eq!(store.writer().import("old archive", &by(8)).part("2").unwrap(), None);
    assert_eq!(store.writer().import("another", &by(8)).part("1").unwrap(), None);
    assert_eq!(read(&store, pv, TimeRange::ALL).len(), 1);
    run(&store, "2", 4.0);
    let values: Vec<Value> = read(&store, pv, TimeRange::ALL).into_iter().map(|sample| sample.value).collect();
    assert_eq!(values, [Value::F64(1.0), Value::F64(4.0)], "equal times in the order of their parts");
}

#[test]
fn what_is_there_already_is_given_once_and_what_is_abandoned_not_at_all() {
    let disk = Arc::new(SimDisk::default());
    let store = open(&disk);
    let pv = register(&store, &["A"]).unwrap()[0];
    let old = samples(0, 50);
    append(&store, pv, &old[..25]).unwrap();
    let mut import = store.writer().import("old archive", &by(7));
    import.append(&[record(pv, &old)]).unwrap();
    import.finish_part("1").unwrap();
    assert_eq!(read(&store, pv, TimeRange::ALL), old);
    import.append(&[record(pv, &samples(5, 10))]).unwrap();
    drop(import);
    assert_eq!(read(&store, pv, TimeRange::ALL), old);
}

/// The power goes at every change of the disk while a part is entered: it is there as a whole or not at all, and what is left of
/// it can be imported again.
#[test]
fn a_part_that_was_not_found_whole_may_come_again_and_has_its_samples_once() {
    let disk = Arc::new(SimDisk::default());
    let store = open(&disk);
    let pv = register(&store, &["A"]).unwrap()[0];
    let (some, all) = (samples(0, 50), samples(0, 70));
    let mut import = store.writer().import("old archive", &by(7));
    import.append(&[record(pv, &some)]).unwrap();
    import.finish_part_unverified("1").unwrap();
    assert_eq!(read(&store, pv, TimeRange::ALL), some);
    store.close(at(START + 400 * WEEK)).unwrap();
    let store = open(&disk);
    let mut import = store.writer().import("old archive", &by(7));
    assert_eq!(import.part("1").unwrap(), None, "nobody has found it whole");
    import.append(&[record(pv, &some)]).unwrap();
    let again = import.finish_part_unverified("1").unwrap();
    assert_eq!(read(&store, pv, TimeRange::ALL), some);
    import.verified("1").unwrap();
    assert_eq!(import.part("1").unwrap(), Some(again));
    import.append(&[record(pv, &all)]).unwrap();
    assert_eq!(import.finish_part_unverified("1").unwrap(), again, "it is known");
    assert_eq!(read(&store, pv, TimeRange::ALL), some);
    assert_eq!(import.part("1").unwrap(), Some(again), "and stays so");
}

#[test]
fn a_power_cut_leaves_a_part_whole_or_nothing_of_it() {
    let mut whole = 0;
    for cut in 0.. {
        let disk = Arc::new(SimDisk::default());
        let store = open(&disk);
        let pv = register(&store, &["A"]).unwrap()[0];
        disk.crash_after(disk.changes() + cut);
        let mut import = store.writer().import("old archive", &by(7));
        import.append(&[record(pv, &samples(0, 20)), record(pv, &samples(1, 20))]).unwrap();
        let finished = import.finish_part("1").is_ok();
        let survived = !disk.has_crashed();
        drop(import);
        drop(store);
        for crash in [Crash::OfProcess, Crash::Forgetful, Crash::Torn(cut)] {
            let store = open(&Arc::new(disk.after(crash)));
            let found = read(&store, pv, TimeRange::ALL).len();
            let known = store.writer().import("old archive", &by(8)).part("1").unwrap().is_some();
            assert!(found == if known { 40 } else { 0 }, "cut after {cut}, {crash:?}: {found} samples, {known}");
            assert!(known || !finished, "cut after {cut}, {crash:?}: what was promised is gone");
            let mut again = store.writer().import("old archive", &by(8));
            again.append(&[record(pv, &samples(0, 20)), record(pv, &samples(1, 20))]).unwrap();
            again.finish_part("1").unwrap();
            assert_eq!(read(&store, pv, TimeRange::ALL).len(), 40, "cut after {cut}, {crash:?}");
        }
        whole += usize::from(finished);
        if survived {
            break;
        }
    }
    assert!(whole > 0);
}

#[test]
fn live_flushes_and_imports_take_turns() {
    let disk = Arc::new(SimDisk::default());
    let store = open(&disk);
    let pv = register(&store, &["A"]).unwrap()[0];
    let mut import = store.writer().import("old archive", &by(7));
    for week in 0..4 {
        import.append(&[record(pv, &samples(week, 10))]).unwrap();
        append(&store, pv, &[sample(START + (300 + week) * WEEK, Value::F64(1.0))]).unwrap();
        store.tick(at(START + (400 + week) * WEEK));
        wait_until("the head is flushed", || store.reader().health().head_samples == 0);
        import.finish_part(&week.to_string()).unwrap();
    }
    assert_eq!(read(&store, pv, TimeRange::ALL).len(), 44);
    drop(import);
    drop(store);
    let store = open(&disk);
    assert_eq!(read(&store, pv, TimeRange::ALL).len(), 44);
    assert_eq!(store.reader().health().problems, Vec::<String>::new());
}

/// A catalogue whose sync fails at the end of a transaction has that transaction, once it is replaced by a fresh copy of itself.
#[test]
fn a_part_whose_entry_fails_is_there_as_a_whole_or_can_be_imported_again() {
    let syncs = {
        let disk = Arc::new(SimDisk::default());
        let store = open(&disk);
        let pv = register(&store, &["A"]).unwrap()[0];
        let before = disk.calls(Call::Sync);
        let mut import = store.writer().import("old archive", &by(7));
        import.append(&[record(pv, &samples(0, 20))]).unwrap();
        import.finish_part("1").unwrap();
        disk.calls(Call::Sync) - before
    };
    for sync in 0..syncs {
        for lasting in [false, true] {
            let disk = Arc::new(SimDisk::default());
            let store = open(&disk);
            let pv = register(&store, &["A"]).unwrap()[0];
            disk.fail(Fault { call: Call::Sync, at: sync, failure: Failure::Eio, lasting });
            let mut import = store.writer().import("old archive", &by(7));
            import.append(&[record(pv, &samples(0, 20))]).unwrap();
            let first = import.finish_part("1");
            disk.heal();
            let context = format!("sync {sync} of {syncs}, lasting {lasting}: {first:?}");
            let again = |store: &Store, mut import: Import| {
                if import.part("1").unwrap().is_none() {
                    import.append(&[record(pv, &samples(0, 20))]).unwrap();
                }
                import.finish_part("1").unwrap();
                let found: Vec<_> = store.reader().samples(pv, TimeRange::ALL).collect();
                assert!(found.iter().all(Result::is_ok), "{context}: {found:?}");
            };
            drop(import);
            again(&store, store.writer().import("old archive", &by(7)));
            drop(store);
            let store = open(&disk);
            again(&store, store.writer().import("old archive", &by(8)));
            assert_eq!(read(&store, pv, TimeRange::ALL).len(), 20, "{context}");
            assert_eq!(store.reader().extent(pv).unwrap().2, 20, "{context}: a sample is held twice");
        }
    }
}

/// The number that a segment of an import gets is one that no later segment may have, or a deletion would be for that, too.
#[test]
fn what_is_imported_after_a_deletion_is_seen_over_a_restart() {
    let disk = Arc::new(SimDisk::default());
    let store = open(&disk);
    let pv = register(&store, &["A"]).unwrap()[0];
    append(&store, pv, &samples(0, 20)).unwrap();
    store.tick(at(START + 401 * WEEK));
    wait_until("the head is flushed", || store.reader().health().head_samples == 0);
    let mut abandoned = store.writer().import("an abandoned one", &by(7));
    let long = Value::String("x".repeat(9 << 20).into());
    (0..8).for_each(|i| abandoned.append(&[record(pv, &[sample(START + i * WEEK, long.clone())])]).unwrap());
    assert!(disk.keys().iter().any(|key| key.ends_with("-0-000.seg")), "it was written");
    drop(abandoned);
    store.writer().delete_range(pv, TimeRange::ALL, &by(30)).unwrap();
    drop(store);
    let store = open(&disk);
    let mut import = store.writer().import("a better one", &by(7));
    import.append(&[record(pv, &samples(0, 30))]).unwrap();
    import.finish_part("1").unwrap();
    assert_eq!(read(&store, pv, TimeRange::ALL).len(), 30);
}

/// A part of which something could not be written is not entered without it.
#[test]
fn a_part_that_could_not_be_written_is_not_entered() {
    let disk = Arc::new(SimDisk::default());
    let store = open(&disk);
    let pv = register(&store, &["A"]).unwrap()[0];
    let mut import = store.writer().import("old archive", &by(7));
    import.append(&[record(pv, &samples(0, 20))]).unwrap();
    disk.set_full(true);
    import.finish_part("1").unwrap_err();
    disk.set_full(false);
    import.finish_part("1").unwrap_err();
    assert_eq!(import.part("1").unwrap(), None);
    import.abandon();
    import.append(&[record(pv, &samples(0, 20))]).unwrap();
    import.finish_part("1").unwrap();
    assert_eq!(read(&store, pv, TimeRange::ALL).len(), 20);
}

/// A flush that failed is not undone for certain: its number must not be given to another segment.
#[test]
fn an_import_while_a_flush_fails_takes_nothing_from_it() {
    for at_sync in 0..12 {
        let disk = Arc::new(SimDisk::default());
        let store = open(&disk);
        let pv = register(&store, &["A"]).unwrap()[0];
        append(&store, pv, &samples(300, 10)).unwrap();
        let mut import = store.writer().import("old archive", &by(7));
        import.append(&[record(pv, &samples(0, 20))]).unwrap();
        disk.fail(Fault { call: Call::Sync, at: at_sync, failure: Failure::Eio, lasting: false });
        store.tick(at(START + 401 * WEEK));
        let done = || disk.has_failed() || store.reader().health().head_samples == 0;
        wait_until("the flush fails or is done", done);
        disk.heal();
        import.finish_part("1").unwrap();
        drop(import);
        drop(store);
        let store = open(&Arc::new(disk.after(Crash::OfProcess)));
        assert_eq!(read(&store, pv, TimeRange::ALL).len(), 30, "sync {at_sync}");
    }
}

/// Gathers so much that it is written, but not entered.
fn write_unfinished(import: &mut Import, pv: PvId) {
    let long = Value::String("x".repeat(9 << 20).into());
    (0..8).for_each(|i| import.append(&[record(pv, &[sample(START + i * WEEK, long.clone())])]).unwrap());
}

/// A part that was written before a range was deleted is deleted with it, even if it is entered after the purge was ordered.
#[test]
fn what_was_written_before_a_deletion_stays_deleted_through_its_purge() {
    for finish in [true, false] {
        let disk = Arc::new(SimDisk::default());
        let store = open(&disk);
        let pv = register(&store, &["A"]).unwrap()[0];
        append(&store, pv, &[sample(START - WEEK, Value::F64(1.0)), sample(START + 20 * WEEK, Value::F64(1.0))])
            .unwrap();
        let mut import = store.writer().import("old archive", &by(7));
        write_unfinished(&mut import, pv);
        store.writer().delete_range(pv, TimeRange::ALL, &by(30)).unwrap();
        store.writer().purge(Purge { pv: None, before: at(i64::MAX) }, &by(31)).unwrap();
        wait_until("the two samples are gone", || store.reader().health().segments == 0);
        assert_eq!(store.reader().health().purging, 1, "it waits for the import");
        if finish {
            import.finish_part("1").unwrap();
        } else {
            drop(import);
        }
        assert_eq!(read(&store, pv, TimeRange::ALL), []);
        wait_until("the purge is done", || store.reader().health().purging == 0);
        assert_eq!((read(&store, pv, TimeRange::ALL), store.reader().health().segments), (vec![], 0));
    }
}

#[test]
fn what_an_unfinished_import_leaves_is_told_as_what_it_is() {
    let disk = Arc::new(SimDisk::default());
    let store = open(&disk);
    let pv = register(&store, &["A"]).unwrap()[0];
    let mut import = store.writer().import("old archive", &by(7));
    write_unfinished(&mut import, pv);
    let left = Arc::new(disk.after(Crash::OfProcess));
    let problems = open(&left).reader().health().problems;
    assert!(!problems.is_empty());
    for problem in &problems {
        assert!(
            problem.contains("an import that did not come to its end") && !problem.contains("in the log"),
            "{problem}"
        );
    }
}

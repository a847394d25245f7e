//! Deleted ranges and purges: hidden at once and everywhere, undone while that is possible, gone when it is not.

use crate::common;
use crate::sim;

use std::{sync::Arc, time::Duration};

use archive::{Action, DataFate, OldName, Purge, PvId, Record, Sink};
use common::{append, at, by, name, read, register, sample, wait_until};
use sample::{Gap, GapCause, Sample, TimeRange, Timestamp, Value};
use sim::{Call, Crash, SimDisk, gate::Gate};
use store::{Config, Store, Stretch, Summary, disk::Objects};

/// Samples every nanosecond, many blocks of them.
const COUNT: i64 = 20_000;

fn config() -> Config {
    Config::new("simulated")
}

fn samples(range: std::ops::Range<i64>, value: f64) -> Vec<Sample> {
    let noise = |time: i64| (time.wrapping_mul(6_364_136_223_846_793_005) >> 12) as f64;
    range.map(|time| sample(time, Value::F64(value + noise(time)))).collect()
}

fn flush(store: &Store) {
    let before = store.reader().health().flushes;
    store.tick(at(i64::from(u32::MAX) * 1000 * (1 + before as i64)));
    wait_until("the head is flushed", || store.reader().health().head_samples == 0);
}

fn range(t0: i64, t1: i64) -> TimeRange {
    TimeRange::new(at(t0), at(t1)).unwrap()
}

/// Two PVs; the samples of the first lie in two segments and the head.
fn filled(disk: &Arc<SimDisk>) -> (Store, Vec<PvId>) {
    fill(Store::open_on(disk.clone(), config(), at(0)).unwrap())
}

fn fill(store: Store) -> (Store, Vec<PvId>) {
    let pvs = register(&store, &["A", "B"]).unwrap();
    append(&store, pvs[0], &samples(0..COUNT / 2, 0.0)).unwrap();
    append(&store, pvs[1], &samples(0..100, 7.0)).unwrap();
    flush(&store);
    append(&store, pvs[0], &samples(COUNT / 2..COUNT - 500, 0.0)).unwrap();
    flush(&store);
    append(&store, pvs[0], &samples(COUNT - 500..COUNT, 0.0)).unwrap();
    (store, pvs)
}

/// What the deletion of 1,000..19,800 must leave, by every way of reading.
fn expect_hidden(store: &Store, pv: PvId) {
    let left = [samples(0..1000, 0.0), samples(19_800..COUNT, 0.0)].concat();
    assert!(read(store, pv, TimeRange::ALL) == left);
    let reader = store.reader();
    assert_eq!(read(store, pv, range(5000, 6000)), []);
    let last = |time| reader.last_before(pv, at(time)).unwrap().map(|sample| sample.time.nanos());
    assert_eq!(
        (last(19_799), last(19_800), last(999), last(i64::MAX)),
        (Some(999), Some(19_800), Some(999), Some(COUNT - 1))
    );
    assert_eq!(reader.extent(pv), Some((at(0), at(COUNT - 1), 1200)));
    for edges in [vec![0, COUNT], vec![0, 900, 15_000, 19_900, COUNT]] {
        let edges: Arc<[Timestamp]> = edges.into_iter().map(at).collect();
        let count = reader.stretches(pv, TimeRange::ALL, edges).map(|stretch| match stretch.unwrap() {
            Stretch::Summary(summary) => summary.count,
            Stretch::Samples(batch) => Summary::of(&batch, 0..batch.len()).unwrap().count,
        });
        assert_eq!(count.sum::<u64>(), 1200);
    }
}

#[test]
fn a_deleted_range_is_hidden_everywhere_over_a_restart_and_comes_back() {
    let disk = Arc::new(SimDisk::default());
    let (store, pvs) = filled(&disk);
    let deletion = store.writer().delete_range(pvs[0], range(1000, 19_800), &by(30)).unwrap();
    expect_hidden(&store, pvs[0]);
    assert_eq!(read(&store, pvs[1], TimeRange::ALL), samples(0..100, 7.0));
    drop(store);
    let store = Store::open_on(disk.clone(), config(), at(40)).unwrap();
    expect_hidden(&store, pvs[0]);
    let line = &store.reader().audit(u64::MAX, 1).unwrap()[0];
    assert_eq!((line.action, line.samples, line.range), (Action::RangeDeleted, 18_800, Some(range(1000, 19_800))));
    store.writer().restore_range(deletion.number, &by(50)).unwrap();
    assert!(read(&store, pvs[0], TimeRange::ALL) == samples(0..COUNT, 0.0));
    assert_eq!(store.reader().extent(pvs[0]), Some((at(0), at(COUNT - 1), COUNT as u64)));
    let again = store.writer().restore_range(deletion.number, &by(60)).unwrap_err();
    assert_eq!(again.to_string(), "there is no deletion with the number 1 that could be undone");
}

#[test]
fn what_comes_after_a_deletion_stays_visible_through_flushes_and_merges() {
    let disk = Arc::new(SimDisk::default());
    let (store, pvs) = filled(&disk);
    store.writer().delete_range(pvs[0], range(1000, 19_800), &by(30)).unwrap();
    let late = samples(3000..3010, 0.5);
    append(&store, pvs[0], &late).unwrap();
    assert_eq!(read(&store, pvs[0], range(2000, 10_000)), late);
    flush(&store);
    for round in 0..20 {
        append(&store, pvs[1], &samples(1000 + round..1001 + round, 7.0)).unwrap();
        flush(&store);
    }
    wait_until("segments are merged", || store.reader().health().merged_segments > 0);
    assert_eq!(read(&store, pvs[0], range(2000, 10_000)), late, "not taken for deleted");
    assert_eq!(read(&store, pvs[0], TimeRange::ALL).len(), 1210);
    let number = store.reader().deletions()[0].number;
    store.writer().restore_range(number, &by(50)).unwrap();
    assert_eq!(read(&store, pvs[0], TimeRange::ALL).len() as i64, COUNT + 10);
}

#[test]
fn a_purge_frees_what_was_deleted_and_nothing_else() {
    let disk = Arc::new(SimDisk::default());
    let (store, pvs) = filled(&disk);
    let gap = Gap { from: at(5), to: Some(at(6)), cause: GapCause::Disconnected, lost: 0 };
    store.writer().append(&[(pvs[1], Record::Gap(gap))], at(7)).unwrap();
    store.writer().delete_range(pvs[0], range(1000, 19_800), &by(30)).unwrap();
    store.writer().remove(&[pvs[1]], DataFate::Delete, &by(31)).unwrap();
    let late = samples(3000..3010, 0.5);
    append(&store, pvs[0], &late).unwrap();
    let bytes = store.reader().health().block_bytes;
    let all = Purge { pv: None, before: at(i64::MAX) };
    let would = store.writer().purgeable(all).unwrap();
    assert_eq!((would.pvs.len(), would.ranges.len(), would.samples), (1, 1, 18_900));
    assert_eq!(store.writer().purgeable(Purge { pv: None, before: at(30) }).unwrap().pvs.len(), 0);

    store.writer().purge(all, &by(40)).unwrap();
    let refused = store.writer().restore(pvs[1], None, &by(41)).unwrap_err();
    assert_eq!(refused.to_string(), "there is no removed PV with the number 1 that could come back");
    append(&store, pvs[1], &samples(200..210, 7.0)).unwrap(); // what acquisition still had
    store.writer().append(&[(pvs[1], Record::Gap(gap))], at(42)).unwrap();
    wait_until("the purge is done", || store.reader().health().purging == 0);
    flush(&store);
    let left = [samples(0..1000, 0.0), late, samples(19_800..COUNT, 0.0)].concat();
    let look = |store: &Store| {
        assert!(read(store, pvs[0], TimeRange::ALL) == left);
        assert_eq!((store.reader().deletions(), store.reader().removed()), (vec![], vec![]));
        assert_eq!(read(store, pvs[1], TimeRange::ALL), []);
    };
    look(&store);
    assert!(store.reader().health().block_bytes < bytes / 4, "{bytes}");
    let lines: Vec<(Action, u64)> =
        store.reader().audit(u64::MAX, 3).unwrap().iter().map(|line| (line.action, line.samples)).collect();
    assert_eq!(lines, [(Action::Purged, 18_900), (Action::PurgeOrdered, 18_800), (Action::PurgeOrdered, 100)]);
    store.close(at(50)).unwrap();
    let store = Store::open_on(disk.clone(), config(), at(60)).unwrap();
    look(&store);
    let mut own = store.reader().gaps(pvs[1], TimeRange::ALL).unwrap();
    own.retain(|(scope, _)| *scope == archive::GapScope::Pv);
    assert_eq!(own, [], "nothing of it comes back with the log");
    assert_eq!(register(&store, &["B", "C"]).unwrap(), [PvId(2), PvId(3)], "its number is never used again");
}

/// A PV can be renamed while a range of it is deleted, and be removed and come back: the range is hidden as before.
#[test]
fn a_deletion_stays_with_its_pv() {
    let disk = Arc::new(SimDisk::default());
    let (store, pvs) = filled(&disk);
    store.writer().delete_range(pvs[0], range(1000, 19_800), &by(30)).unwrap();
    store.writer().rename(pvs[0], &name("A2"), OldName::Free, &by(31)).unwrap();
    store.writer().remove(&[pvs[0]], DataFate::Delete, &by(32)).unwrap();
    store.writer().restore(pvs[0], None, &by(33)).unwrap();
    expect_hidden(&store, pvs[0]);
}

#[test]
fn a_deletion_over_another_holds_when_that_one_is_undone() {
    let (store, pvs) = filled(&Arc::new(SimDisk::default()));
    let first = store.writer().delete_range(pvs[0], range(0, 1500), &by(30)).unwrap();
    store.writer().delete_range(pvs[0], range(0, 2500), &by(31)).unwrap();
    store.writer().restore_range(first.number, &by(32)).unwrap();
    assert_eq!(read(&store, pvs[0], range(0, 2500)), []);
    assert_eq!(read(&store, pvs[0], TimeRange::ALL).len() as i64, COUNT - 2500);
}

#[test]
fn nothing_is_deleted_where_nothing_is() {
    let disk = Arc::new(SimDisk::default());
    let (store, pvs) = filled(&disk);
    let refused = store.writer().delete_range(pvs[0], range(30_000, 40_000), &by(30)).unwrap_err();
    let expected = "there is no sample of A from 1970-01-01T00:00:00.000030000Z to 1970-01-01T00:00:00.000040000Z";
    assert_eq!(refused.to_string(), expected);
    assert_eq!(store.reader().deletions(), []);
}

#[test]
fn what_was_deleted_long_ago_is_purged_unasked_only_if_the_config_says_so() {
    for (purge_after, left) in [(None, 1), (Some(Duration::from_nanos(1000)), 0)] {
        let disk = Arc::new(SimDisk::default());
        let (store, pvs) = filled(&disk);
        store.writer().remove(&[pvs[1]], DataFate::Delete, &by(100)).unwrap();
        store.close(at(500)).unwrap();
        let store = Store::open_on(disk.clone(), Config { purge_after, ..config() }, at(1099)).unwrap();
        wait_until("the merging thread has looked", || store.reader().health().purging == 0);
        assert_eq!(store.reader().removed().len(), 1, "not yet");
        store.tick(at(1_000_000));
        if left == 0 {
            wait_until("it is purged", || store.reader().removed().is_empty());
            wait_until("it is done", || store.reader().health().purging == 0);
            let lines = store.reader().audit(u64::MAX, 2).unwrap();
            assert_eq!(
                (lines[1].action, lines[1].by.who.established()),
                (Action::PurgeOrdered, "purge_after in the config")
            );
        }
        assert_eq!(store.reader().removed().len(), left);
        assert_eq!(read(&store, pvs[0], TimeRange::ALL).len() as i64, COUNT);
    }
}

/// One damaged segment must not keep a purge from being ordered, nor all others from being merged while it is not done.
#[test]
fn a_purge_goes_on_beside_a_damaged_segment() {
    let disk = Arc::new(SimDisk::default());
    let (store, pvs) = filled(&disk);
    store.close(at(i64::from(u32::MAX) * 4000)).unwrap();
    let mut segments: Vec<String> = disk.keys().into_iter().filter(|key| key.ends_with(".seg")).collect();
    segments.sort();
    let end = disk.len(&segments[0]).unwrap() as usize;
    disk.damage(&segments[0], end - 1, 0x20);
    let store = Store::open_on(disk.clone(), config(), at(0)).unwrap();
    store.writer().delete_range(pvs[0], range(COUNT / 2 + 7, 19_800), &by(30)).unwrap();
    store.writer().remove(&[pvs[1]], DataFate::Delete, &by(31)).unwrap();
    store.writer().purge(Purge { pv: None, before: at(i64::MAX) }, &by(40)).unwrap();
    let other = register(&store, &["C"]).unwrap()[0];
    for round in 0..20 {
        let now = (20_000 + round * 700) * 1_000_000_000;
        append(&store, other, &[sample(now, Value::F64(7.0))]).unwrap();
        store.tick(at(now + 650_000_000_000));
        wait_until("the head is flushed", || store.reader().health().head_samples == 0);
    }
    wait_until("segments are merged", || store.reader().health().merged_segments >= 16);
    let health = store.reader().health();
    assert!(health.purging > 0, "what the damaged one holds is not known to be gone");
    assert!(health.problems.iter().all(|problem| !problem.contains("cannot be merged")), "{:?}", health.problems);
}

/// Whoever began to read before the end of a purge and asks what is hidden after it must not see what was deleted.
#[test]
fn nothing_deleted_is_seen_while_a_purge_ends() {
    type Ask = fn(&Store, PvId) -> (i64, u64);
    let asks: [Ask; 2] = [
        |store, pv| (store.reader().last_before(pv, at(19_799)).unwrap().unwrap().time.nanos(), 1200),
        |store, pv| (999, store.reader().extent(pv).unwrap().2),
    ];
    for ask in asks {
        let gate = Arc::new(Gate::new(Arc::new(SimDisk::default())));
        let (store, pvs) = fill(Store::open_on(gate.clone(), config(), at(0)).unwrap());
        store.writer().delete_range(pvs[0], range(1000, 19_800), &by(30)).unwrap();
        let is_asker = || std::thread::current().name() == Some("asker");
        gate.shut(move |call, key| is_asker() && call == Call::Read && key.ends_with(".seg"));
        std::thread::scope(|scope| {
            let asker = std::thread::Builder::new().name("asker".to_owned());
            let asker = asker.spawn_scoped(scope, || ask(&store, pvs[0])).unwrap();
            wait_until("somebody reads", || gate.waiting() == 1);
            store.writer().purge(Purge { pv: None, before: at(i64::MAX) }, &by(40)).unwrap();
            wait_until("the purge is done", || store.reader().health().purging == 0);
            gate.open();
            assert_eq!(asker.join().unwrap(), (999, 1200));
        });
    }
}

/// What nobody can read when a range is deleted is in the range all the same.
#[test]
fn a_deletion_is_for_what_cannot_be_read_at_that_time() {
    let disk = Arc::new(SimDisk::default());
    let (store, pvs) = filled(&disk);
    store.close(at(i64::from(u32::MAX) * 4000)).unwrap();
    let newest = disk.keys().into_iter().filter(|key| key.ends_with(".seg")).max().unwrap();
    let look = |store: Store, context: &str| {
        assert!(read(&store, pvs[0], TimeRange::ALL) == samples(0..1000, 0.0), "{context}");
        let number = store.reader().deletions()[0].number;
        store.writer().restore_range(number, &by(50)).unwrap();
        assert_eq!(read(&store, pvs[0], TimeRange::ALL).len() as i64, COUNT, "{context}");
    };
    let end = disk.len(&newest).unwrap() as usize;
    let damaged = Arc::new(disk.after(Crash::OfProcess));
    damaged.damage(&newest, end - 1, 0x20);
    let store = Store::open_on(damaged.clone(), config(), at(0)).unwrap();
    store.writer().delete_range(pvs[0], range(1000, COUNT + 100), &by(30)).unwrap();
    drop(store);
    damaged.damage(&newest, end - 1, 0x20);
    look(Store::open_on(damaged, config(), at(0)).unwrap(), "damaged");

    let gate = Arc::new(Gate::new(Arc::new(disk.after(Crash::OfProcess))));
    let store = Store::open_on(gate.clone(), config(), at(0)).unwrap();
    gate.refuse(std::io::ErrorKind::TimedOut, move |call, key| call == Call::Read && key == newest);
    store.writer().delete_range(pvs[0], range(1000, COUNT + 100), &by(30)).unwrap();
    gate.open();
    look(store, "out of reach");
}

/// What a deletion, the purge of it and more samples leave when the power goes at any change of the disk.
#[test]
fn a_power_cut_at_any_change_of_a_deletion_and_its_purge_loses_nothing_else() {
    let old = || samples(0..300, 0.0);
    let late = samples(100..110, 0.5);
    let left = [samples(0..50, 0.0), samples(250..300, 0.0)].concat();
    let mut purged = 0;
    for cut in 0.. {
        let disk = Arc::new(SimDisk::default());
        let store = Store::open_on(disk.clone(), config(), at(0)).unwrap();
        let pv = register(&store, &["A", "B"]).unwrap()[0];
        append(&store, pv, &old()).unwrap();
        store.close(at(400)).unwrap();
        let store = Store::open_on(disk.clone(), config(), at(500)).unwrap();
        disk.crash_after(disk.changes() + cut);
        let deleted = store.writer().delete_range(pv, range(50, 250), &by(600)).is_ok();
        let appended = deleted && append(&store, pv, &late).is_ok();
        store.tick(at(i64::from(u32::MAX) * 1000));
        let flushed = || disk.has_crashed() || store.reader().health().head_samples == 0;
        wait_until("the head is flushed", flushed);
        let held = appended && store.reader().health().head_samples == 0;
        let ordered = store.writer().purge(Purge { pv: None, before: at(i64::MAX) }, &by(700)).is_ok();
        wait_until("the purge is done", || disk.has_crashed() || store.reader().health().purging == 0);
        let survived = !disk.has_crashed();
        drop(store);
        for crash in [Crash::OfProcess, if cut % 2 == 0 { Crash::Forgetful } else { Crash::Torn(cut) }] {
            let context = format!("cut after {cut}, {crash:?}, deleted {deleted}, held {held}, ordered {ordered}");
            let store = Store::open_on(Arc::new(disk.after(crash)), config(), at(i64::from(u32::MAX) * 2000)).unwrap();
            wait_until("the purge is done", || store.reader().health().purging == 0);
            let found = read(&store, pv, TimeRange::ALL);
            let (new, rest): (Vec<_>, Vec<_>) = found.into_iter().partition(|sample| late.contains(sample));
            assert!(new == late || (new.is_empty() && !held), "{context}: {} of the later ones", new.len());
            assert!(rest == left || (rest == old() && !deleted), "{context}: {} are left", rest.len());
            assert!(!(deleted && ordered) || store.reader().deletions().is_empty(), "{context}: it can be undone");
            assert_eq!(store.reader().extent(pv).unwrap().2, (new.len() + rest.len()) as u64, "{context}");
        }
        purged += usize::from(ordered);
        if survived {
            break;
        }
    }
    assert!(purged > 0);
}

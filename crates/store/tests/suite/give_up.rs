//! What another archive has taken over: it is read and given up in two steps, between which anything may come, be merged, or be deleted.

use crate::common;
use crate::sim;

use std::sync::Arc;

use archive::{Action, Mark, PvId, Record};
use common::{append, at, by, read, register, sample, wait_until};
use sample::{Batch, Sample, TimeRange, Value};
use sim::SimDisk;
use store::{Config, Error, Store};

fn config() -> Config {
    Config::new("simulated")
}

fn samples(range: std::ops::Range<i64>, value: f64) -> Vec<Sample> {
    range.map(|time| sample(time, Value::F64(value + time as f64))).collect()
}

fn flush(store: &Store) {
    let before = store.reader().health().flushes;
    store.tick(at(i64::from(u32::MAX) * 1000 * (1 + before as i64)));
    wait_until("the head is flushed", || store.reader().health().head_samples == 0);
}

/// Two PVs with the same samples, half of them in a segment.
fn filled(disk: &Arc<SimDisk>) -> (Store, Vec<PvId>) {
    let store = Store::open_on(disk.clone(), config(), at(0)).unwrap();
    let pvs = register(&store, &["A", "B"]).unwrap();
    for part in [0..500, 500..1000] {
        pvs.iter().for_each(|pv| append(&store, *pv, &samples(part.clone(), 0.0)).unwrap());
        if part.start == 0 {
            flush(&store);
        }
    }
    (store, pvs)
}

fn give_up(store: &Store, pvs: &[PvId], mark: &Mark) -> Result<(), Error> {
    store.writer().give_up(pvs, mark, &by(3000))
}

#[test]
fn what_was_there_at_the_mark_goes_for_good_and_what_came_later_stays() {
    let disk = Arc::new(SimDisk::default());
    let (store, pvs) = filled(&disk);
    let mark = store.writer().mark(at(800)).unwrap();
    assert_eq!(mark.hidden, []);
    let late = samples(300..310, 0.5);
    append(&store, pvs[0], &late).unwrap();
    flush(&store);
    // What is merged meanwhile is not mixed.
    for round in 0..20 {
        append(&store, pvs[1], &samples(1000 + round..1001 + round, 0.0)).unwrap();
        flush(&store);
    }
    wait_until("segments are merged", || store.reader().health().merged_segments > 0);
    let all = read(&store, pvs[0], TimeRange::ALL);
    assert_eq!(all.len(), 1010);
    give_up(&store, &pvs[..1], &mark).unwrap();
    let left = [late, samples(800..1000, 0.0)].concat();
    let look = |store: &Store| {
        assert_eq!(read(store, pvs[0], TimeRange::ALL), left);
        assert_eq!(store.reader().extent(pvs[0]), Some((at(300), at(999), 210)));
        assert_eq!(read(store, pvs[1], TimeRange::ALL), samples(0..1020, 0.0), "nothing was said of it");
    };
    look(&store);
    let lines = store.reader().audit(u64::MAX, 20).unwrap();
    let ordered = lines.iter().find(|line| line.action == Action::PurgeOrdered).unwrap();
    assert_eq!(ordered.detail, "of 1 PVs, which another archive has by now");
    wait_until("its room is free", || store.reader().health().purging == 0);
    look(&store);
    assert_eq!(store.reader().deletions(), []);
    store.close(at(1 << 50)).unwrap();
    look(&Store::open_on(disk, config(), at(1 << 50)).unwrap());
}

#[test]
fn a_mark_holds_until_something_is_deleted_or_the_next_one_is_made() {
    let disk = Arc::new(SimDisk::default());
    let (store, pvs) = filled(&disk);
    let told = |error: Error| error.to_string();
    let mark = store.writer().mark(at(800)).unwrap();
    let deletion = store.writer().delete_range(pvs[1], TimeRange::new(at(5), at(9)).unwrap(), &by(2000)).unwrap();
    let error = told(give_up(&store, &pvs, &mark).unwrap_err());
    assert!(error.contains("something was deleted meanwhile"), "{error}");
    // Undone or not: whoever read what was hidden has not read all.
    store.writer().restore_range(deletion.number, &by(2001)).unwrap();
    assert!(give_up(&store, &pvs, &mark).is_err());
    store.writer().delete_range(pvs[1], TimeRange::new(at(5), at(9)).unwrap(), &by(2000)).unwrap();
    let mark = store.writer().mark(at(800)).unwrap();
    assert_eq!(mark.hidden, [pvs[1]]);
    let newer = store.writer().mark(at(700)).unwrap();
    let error = told(give_up(&store, &pvs[..1], &mark).unwrap_err());
    assert!(error.contains("nobody knows any more"), "{error}");
    give_up(&store, &pvs[..1], &newer).unwrap();
    assert!(give_up(&store, &pvs[..1], &newer).is_err(), "once");
    assert_eq!(read(&store, pvs[0], TimeRange::ALL), samples(700..1000, 0.0));
    let mark = store.writer().mark(at(800)).unwrap();
    store.close(at(1 << 50)).unwrap();
    let store = Store::open_on(disk, config(), at(1 << 50)).unwrap();
    assert!(give_up(&store, &pvs[..1], &mark).is_err(), "another life");
    assert_eq!(read(&store, pvs[0], TimeRange::ALL), samples(700..1000, 0.0));
}

#[test]
fn what_is_taken_over_is_refused_if_something_was_deleted_meanwhile() {
    let disk = Arc::new(SimDisk::default());
    let (store, pvs) = filled(&disk);
    let part = |value: f64| {
        let mut batch = Batch::of(&samples(100..101, value)[0]);
        samples(101..110, value).iter().for_each(|sample| assert!(batch.push(sample)));
        [(pvs[0], Record::Samples(batch))]
    };
    let range = TimeRange::new(at(50), at(200)).unwrap();
    let mut import = store.writer().import("what another one has", &by(2000));
    assert_eq!(import.takes_over().unwrap(), []);
    import.append(&part(0.5)).unwrap();
    store.writer().delete_range(pvs[0], range, &by(2001)).unwrap();
    let error = import.finish_part("1").unwrap_err().to_string();
    assert!(error.contains("something was deleted meanwhile"), "{error}");
    assert_eq!(read(&store, pvs[0], range), []);
    // The next time it is known what is hidden.
    assert_eq!(import.takes_over().unwrap(), [pvs[0]]);
    import.append(&part(0.5)).unwrap();
    assert_eq!(import.finish_part("1").unwrap().samples, 10);
    assert_eq!(read(&store, pvs[0], range).len(), 10, "whoever takes over leaves out what is hidden");
    // Other imports bring what comes later than a deletion.
    let mut import = store.writer().import("of old", &by(2000));
    import.append(&part(0.7)).unwrap();
    store.writer().delete_range(pvs[0], range, &by(2001)).unwrap();
    assert_eq!(import.finish_part("1").unwrap().samples, 10);
    assert_eq!(read(&store, pvs[0], range).len(), 10);
}

#[test]
fn a_deletion_that_begins_before_something_is_taken_over_and_ends_after_it_is_for_it_too() {
    let disk = Arc::new(SimDisk::default());
    let (store, pvs) = filled(&disk);
    let mut import = store.writer().import("what another one has", &by(2000));
    assert_eq!(import.takes_over().unwrap(), []);
    let mut batch = Batch::of(&samples(100..101, 0.5)[0]);
    samples(101..110, 0.5).iter().for_each(|sample| assert!(batch.push(sample)));
    import.append(&[(pvs[0], Record::Samples(batch))]).unwrap();
    let range = TimeRange::new(at(50), at(200)).unwrap();
    disk.hold_a_read();
    std::thread::scope(|scope| {
        let deleting = scope.spawn(|| store.writer().delete_range(pvs[0], range, &by(2001)));
        disk.wait_held(); // it knows for which segments it is, and counts what they have
        assert_eq!(import.finish_part("1").unwrap().samples, 10);
        disk.let_go();
        deleting.join().unwrap().unwrap();
    });
    assert_eq!(read(&store, pvs[0], range), []);
    let deletion = store.reader().deletions().remove(0);
    store.writer().restore_range(deletion.number, &by(2002)).unwrap();
    assert_eq!(read(&store, pvs[0], range).len(), 160);
}

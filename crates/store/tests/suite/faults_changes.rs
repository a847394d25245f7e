//! Every call to the disk fails once, and from then on, in every way, while PVs are renamed, removed and purged, ranges are deleted,
//! an import is entered, weeks are sealed and moved to another place, and retention takes one away. Each of these holds or does
//! not, as was told, whenever the power goes; when the fault is gone each can be done, once.

use crate::common;
use crate::sim;

use std::{cell::RefCell, sync::Arc, time::Duration};

use archive::{DataFate, OldName, Purge, PvId, Record};
use common::{append, at, by, name, read, register, sample, wait_until};
use sample::{Batch, Sample, TimeRange, Timestamp, Value};
use sim::{
    Crash, Fault, SimDisk,
    folder::Folder,
    matrix::{matrix, run_all},
};
use store::{Config, Durable, Error, Place, Retention, Rule, Store, disk::Disk};

const DAY: i64 = 86_400_000_000_000;
const A: PvId = PvId(0);
const B: PvId = PvId(1);
const C: PvId = PvId(2);
const D: PvId = PvId(3);

/// Sealed weeks go to another place after a day, those of D go for good after 60 days.
fn config() -> Config {
    let place = Place {
        name: "far".into(),
        folder: "far".into(),
        after: Duration::from_secs(86_400),
        megabytes_per_second: None,
        answers_within: Place::ANSWERS_WITHIN,
    };
    let rule = Rule { pvs: "D".into(), keep: Some(Duration::from_secs(60 * 86_400)) };
    Config {
        durable: Durable::Every(Duration::from_millis(1)),
        places: vec![place],
        retention: Retention { keep: None, rules: vec![rule] },
        ..Config::new("simulated")
    }
}

fn open(disk: &Arc<SimDisk>, day: i64) -> Result<Store, Error> {
    let places: Vec<Arc<dyn Disk>> = vec![Folder::new(disk, "far")];
    Store::open_on_disks(disk.clone(), places, config(), at(day * DAY))
}

fn samples(pv: PvId) -> Vec<Sample> {
    (0..60).map(|i| sample(5 * DAY + i, Value::String(format!("{}/{i}", pv.0).into()))).collect()
}

/// What is deleted of A.
fn range() -> TimeRange {
    TimeRange::new(at(5 * DAY + 20), at(5 * DAY + 40)).unwrap()
}

/// What one change has become, as far as was told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Done {
    #[default]
    No,
    /// It was tried, and an error was the answer.
    Perhaps,
    Yes,
}

#[derive(Clone, Copy, Debug, Default)]
struct Told {
    taken: bool,
    durable: bool,
    renamed: Done,
    deleted: Done,
    imported: Done,
    removed: Done,
    purged: Done,
    /// Retention may have begun.
    expiring: bool,
}

fn rename(store: &Store) -> Result<(), Error> {
    store.writer().rename(B, &name("B2"), OldName::Alias, &by(1)).map(|_| ())
}

fn delete(store: &Store) -> Result<(), Error> {
    store.writer().delete_range(A, range(), &by(2)).map(|_| ())
}

fn import(store: &Store) -> Result<(), Error> {
    let mut import = store.writer().import("old archive", &by(3));
    if import.part("1")?.is_some() {
        return Ok(());
    }
    let mut batch = Batch::of(&samples(D)[0]);
    assert!(samples(D)[1..].iter().all(|sample| batch.push(sample)));
    import.append(&[(D, Record::Samples(batch))])?;
    import.finish_part("1").map(|_| ())
}

fn remove(store: &Store) -> Result<(), Error> {
    store.writer().remove(&[C], DataFate::Delete, &by(4))
}

fn purge(store: &Store) -> Result<(), Error> {
    store.writer().purge(Purge { pv: None, before: at(i64::MAX) }, &by(5)).map(|_| ())
}

fn tried(result: Result<(), Error>) -> Done {
    if result.is_ok() { Done::Yes } else { Done::Perhaps }
}

/// Segments near, and in the other place.
fn segments(store: &Store) -> Vec<u64> {
    store.reader().health().places.iter().map(|place| place.segments).collect()
}

/// All that happens, on a disk that may fail at any call.
fn live(store: &Store, disk: &SimDisk, told: &mut Told) {
    if register(store, &["A", "B", "C", "D"]).is_err() {
        return;
    }
    told.taken = [A, B, C].iter().all(|pv| append(store, *pv, &samples(*pv)).is_ok());
    if !told.taken {
        return;
    }
    store.tick(at(6 * DAY));
    let is_flushed = || store.reader().health().head_samples == 0;
    wait_until("the head is flushed", || is_flushed() || disk.has_failed());
    told.durable = store.reader().watermark().durable == 180;
    told.renamed = tried(rename(store));
    told.deleted = tried(delete(store));
    told.imported = tried(import(store));
    told.removed = tried(remove(store));
    told.purged = tried(purge(store));
    wait_until("the purge is done", || store.reader().health().purging == 0 || disk.has_failed());
    store.tick(at(13 * DAY));
    wait_until("all is moved", || segments(store)[0] == 0 || disk.has_failed());
    told.expiring = true;
    store.tick(at(100 * DAY));
    wait_until("D has gone", || read_quietly(store, D).is_some_and(|left| left.is_empty()) || disk.has_failed());
}

/// Samples of a PV, if all can be read.
fn read_quietly(store: &Store, pv: PvId) -> Option<Vec<Sample>> {
    let batches: Result<Vec<Batch>, Error> = store.reader().samples(pv, TimeRange::ALL).collect();
    let rows = |batch: Batch| (0..batch.len()).map(move |row| batch.get(row)).collect::<Vec<_>>();
    batches.ok().map(|batches| batches.into_iter().flat_map(rows).collect())
}

/// What is there of a PV, each sample once.
fn held(store: &Store, pv: PvId, context: &str) -> Vec<Sample> {
    let found = RefCell::new(Vec::new());
    wait_until(&format!("{context}: PV {} is held once", pv.0), || {
        *found.borrow_mut() = read(store, pv, TimeRange::ALL);
        let count = store.reader().extent(pv).map_or(0, |(.., count)| count);
        count == found.borrow().len() as u64 // not so for a moment if retention comes in between
    });
    found.into_inner()
}

fn without_range() -> Vec<Sample> {
    samples(A).into_iter().filter(|sample| !range().contains(sample.time)).collect()
}

/// Whether what was told holds, on a disk that works.
fn verify(disk: SimDisk, told: &Told, day: i64, context: &str) {
    let disk = Arc::new(disk);
    let day = if told.expiring { day } else { 13 };
    let store = open(&disk, day).unwrap_or_else(|error| panic!("{context}: {error}"));
    let reader = store.reader();
    if !told.durable {
        return;
    }
    let troubles = || reader.health().places.iter().filter_map(|place| place.trouble.clone()).count();
    wait_until(&format!("{context}: the place is in use"), || troubles() == 0);
    let (is_b, is_b2) = (reader.find("B").map(|entry| entry.id), reader.find("B2").map(|entry| entry.id));
    assert_eq!(is_b, Some(B), "{context}: as name or alias");
    assert!(is_b2 == Some(B) || (is_b2.is_none() && told.renamed != Done::Yes), "{context}: {is_b2:?}");
    assert_eq!(held(&store, B, context), samples(B), "{context}");
    let a = held(&store, A, context);
    assert!(a == without_range() || (a == samples(A) && told.deleted != Done::Yes), "{context}: {} of A", a.len());
    let d = held(&store, D, context);
    let may_be_none = told.imported != Done::Yes || told.expiring;
    assert!(d == samples(D) || (d.is_empty() && may_be_none), "{context}: {} of D", d.len());
    let c = held(&store, C, context);
    assert!(c.is_empty() || (c == samples(C) && told.removed != Done::Yes), "{context}: {} of C", c.len());
    let is_back = store.writer().restore(C, None, &by(9)).is_ok();
    assert!(!is_back || told.purged != Done::Yes, "{context}: what was purged can come back");
    assert!(!is_back || held(&store, C, context) == samples(C), "{context}: a part of C came back");
}

fn verify_crashes(disk: &SimDisk, told: &Told, seed: u64, day: i64, context: &str) {
    for crash in [Crash::OfProcess, Crash::Forgetful, Crash::Torn(seed)] {
        verify(disk.after(crash), told, day, &format!("{context}, then {crash:?}"));
    }
}

/// Repeats a change until it is done; that it holds already is as good.
fn until_done(context: &str, holds: impl Fn() -> bool, run: impl Fn() -> Result<(), Error>) {
    wait_until(&format!("{context}: the change is done"), || run().is_ok() || holds());
}

/// The fault is gone: everything that was not done can be done now.
fn finish(store: &Store, told: &mut Told, context: &str) {
    let reader = store.reader();
    let now: Timestamp = at(100 * DAY);
    wait_until(&format!("{context}: it takes samples again"), || {
        store.tick(now);
        reader.health().refusal.is_none()
    });
    until_done(context, || false, || register(store, &["A", "D"]).map(|_| ()));
    until_done(context, || reader.find("B2").is_some(), || rename(store));
    until_done(context, || read_quietly(store, A) == Some(without_range()), || delete(store));
    until_done(context, || false, || import(store));
    until_done(context, || false, || remove(store));
    until_done(context, || false, || purge(store));
    let purge_is_done = || reader.health().purging == 0;
    wait_until(&format!("{context}: the purge is done"), purge_is_done);
    wait_until(&format!("{context}: all is moved"), || {
        store.tick(at(120 * DAY)); // a week after the one in which the last was written
        segments(store)[0] == 0
    });
    wait_until(&format!("{context}: D has gone"), || held(store, D, context).is_empty());
    assert_eq!(held(store, A, context), without_range(), "{context}");
    assert_eq!(reader.deletions(), [], "{context}");
    *told = Told {
        taken: true,
        durable: true,
        renamed: Done::Yes,
        deleted: Done::Yes,
        imported: Done::Yes,
        removed: Done::Yes,
        purged: Done::Yes,
        expiring: true,
    };
}

fn life_with(fault: Fault, context: &str) {
    let disk = Arc::new(SimDisk::default());
    let mut told = Told::default();
    disk.fail(fault);
    let Ok(store) = open(&disk, 0) else { return };
    live(&store, &disk, &mut told);
    verify_crashes(&disk, &told, fault.at, 100, context);
    if told.taken && disk.has_failed() {
        disk.heal();
        finish(&store, &mut told, context);
        verify_crashes(&disk, &told, fault.at + 1, 101, &format!("{context}, healed"));
    }
}

#[test]
fn changes_survive_each_call_that_fails() {
    let disk = Arc::new(SimDisk::default());
    let mut told = Told::default();
    let store = open(&disk, 0).unwrap();
    live(&store, &disk, &mut told);
    finish(&store, &mut told, "without a fault");
    drop(store);
    verify_crashes(&disk, &told, 1, 101, "without a fault");
    run_all("changes", &matrix(|call| disk.calls(call)), life_with);
}

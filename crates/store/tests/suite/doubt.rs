//! Changes of the list of PVs while the catalogue fails: one that was refused did not take hold, or is known to hold as soon as the
//! catalogue can be written again. What everybody sees is what the next start finds.

use crate::common;
use crate::sim;

use std::sync::Arc;

use archive::{Action, DataFate, Deletion, OldName, Purge, PvEntry, PvId, PvName, RemovedPv};
use common::{append, at, by, name, read, register, sample, wait_until};
use sample::{TimeRange, Value};
use sim::{Call, Crash, Failure, Fault, SimDisk};
use store::{Config, Durable, Error, Store};

const A: PvId = PvId(0);
const B: PvId = PvId(1);
const C: PvId = PvId(2);

type Change = fn(&Store) -> Result<(), Error>;

const CHANGES: [(&str, Change); 8] = [
    ("register", |store| register(store, &["N"]).map(|_| ())),
    ("rename", |store| store.writer().rename(A, &name("A2"), OldName::Alias, &by(50)).map(|_| ())),
    ("add_alias", |store| store.writer().add_alias(B, &name("b"), &by(50))),
    ("remove", |store| store.writer().remove(&[B], DataFate::Delete, &by(50))),
    ("restore", |store| store.writer().restore(C, None, &by(50)).map(|_| ())),
    ("delete_range", |store| store.writer().delete_range(A, range(60, 80), &by(50)).map(|_| ())),
    ("restore_range", |store| store.writer().restore_range(1, &by(50)).map(|_| ())),
    ("purge", |store| store.writer().purge(Purge { pv: None, before: at(i64::MAX) }, &by(50)).map(|_| ())),
];

fn range(t0: i64, t1: i64) -> TimeRange {
    TimeRange::new(at(t0), at(t1)).unwrap()
}

fn open(disk: &Arc<SimDisk>) -> Store {
    Store::open_on(disk.clone(), Config::new("simulated"), at(0)).unwrap()
}

/// Three PVs, one of which is removed; a range of another is deleted.
fn prepared() -> (Arc<SimDisk>, Store) {
    let disk = Arc::new(SimDisk::default());
    let store = open(&disk);
    assert_eq!(register(&store, &["A", "B", "C"]).unwrap(), [A, B, C]);
    for pv in [A, B] {
        append(&store, pv, &(0..100).map(|time| sample(time, Value::F64(time as f64))).collect::<Vec<_>>()).unwrap();
    }
    store.writer().delete_range(A, range(10, 20), &by(20)).unwrap();
    store.writer().remove(&[C], DataFate::Keep, &by(30)).unwrap();
    (disk, store)
}

/// All that a change can change.
#[derive(Debug, PartialEq)]
struct View {
    entries: Vec<PvEntry>,
    aliases: Vec<(PvName, PvEntry)>,
    removed: Vec<RemovedPv>,
    deletions: Vec<Deletion>,
    extents: Vec<u64>,
    audit: Vec<(Action, String, String)>,
}

fn view(store: &Store) -> View {
    wait_until("no purge is under way", || store.reader().health().purging == 0);
    let reader = store.reader();
    let audit = reader.audit(u64::MAX, 100).unwrap().into_iter();
    let mut audit: Vec<_> = audit.map(|line| (line.action, line.name, line.detail)).collect();
    audit.retain(|(_, name, _)| name != "Z");
    let mut entries = reader.entries();
    entries.retain(|entry| entry.name.as_str() != "Z");
    View {
        entries,
        aliases: reader.aliases(),
        removed: reader.removed(),
        deletions: reader.deletions(),
        extents: [A, B, C].map(|pv| reader.extent(pv).map_or(0, |(.., count)| count)).into(),
        audit,
    }
}

/// What the next start finds is what everybody sees now.
fn expect_the_same_after_a_crash(disk: &SimDisk, now: &View, seed: u64, context: &str) {
    for crash in [Crash::OfProcess, Crash::Forgetful, Crash::Torn(seed)] {
        assert_eq!(view(&open(&Arc::new(disk.after(crash)))), *now, "{context}, after {crash:?}");
    }
}

/// How many syncs a flush has, at least.
const SYNCS: u64 = 6;

#[test]
fn a_flush_that_holds_though_it_was_told_as_failed_does_not_write_its_segment_again() {
    let (mut held, samples) = (0, [sample(10, Value::F64(1.0)), sample(20, Value::F64(2.0))]);
    for sync in 0..SYNCS {
        for cut in 0.. {
            let (context, disk) = (format!("sync {sync}, cut after {cut}"), Arc::new(SimDisk::default()));
            let config = Config { durable: Durable::Off, ..Config::new("simulated") };
            let store = Store::open_on(disk.clone(), config, at(0)).unwrap();
            let pv = register(&store, &["A"]).unwrap()[0];
            append(&store, pv, &samples).unwrap();
            disk.fail(Fault { call: Call::Sync, at: sync, failure: Failure::Eio, lasting: true });
            let flushed = flush(&store);
            disk.heal();
            let is_entered = open(&Arc::new(disk.after(Crash::OfProcess))).reader().health().segments == 1;
            if flushed.is_ok() || !is_entered {
                break;
            }
            held += 1;
            // With its name in it the file would be another one.
            store.writer().rename(pv, &name("A2"), OldName::Alias, &by(50)).unwrap();
            disk.crash_after(disk.changes() + cut);
            let over = flush(&store).is_ok();
            drop(store);
            for crash in [Crash::OfProcess, Crash::Forgetful, Crash::Torn(cut)] {
                let store = open(&Arc::new(disk.after(crash)));
                let found: Vec<_> = store.reader().samples(pv, TimeRange::ALL).collect();
                assert!(found.iter().all(Result::is_ok), "{context}, {crash:?}: {found:?}");
                assert_eq!(read(&store, pv, TimeRange::ALL), samples, "{context}, {crash:?}");
            }
            if over {
                break;
            }
        }
    }
    assert!(held > 0);
}

/// Flushes at once: a purge begins with that, and finds nothing to purge.
fn flush(store: &Store) -> Result<(), Error> {
    store.writer().purge(Purge { pv: None, before: at(0) }, &by(40)).map(|_| ())
}

#[test]
fn a_change_that_was_refused_holds_for_everybody_or_for_nobody() {
    let (mut refused, mut held) = (0, 0);
    for (what, change) in CHANGES {
        let (disk, store) = prepared();
        let before = view(&store);
        let calls = [Call::Sync, Call::Write].map(|call| disk.calls(call));
        change(&store).unwrap();
        let calls = [Call::Sync, Call::Write].map(|call| disk.calls(call)).into_iter().zip(calls);
        let calls: Vec<u64> = calls.map(|(after, before)| after - before).collect();
        let after = view(&store);
        assert_ne!(before, after, "{what}");
        for (call, calls) in [Call::Sync, Call::Write].into_iter().zip(calls) {
            // Of writes, which are many, each second one once and the others for good.
            let both = |at_call: u64| [(at_call, false), (at_call, true)];
            let is_tried =
                |(at_call, lasting): &(u64, bool)| call == Call::Sync || at_call.is_multiple_of(2) == *lasting;
            for (at_call, lasting) in (0..calls).flat_map(both).filter(is_tried) {
                let context = format!("{what}, {call:?} {at_call} of {calls}, lasting {lasting}");
                let (disk, store) = prepared();
                disk.fail(Fault { call, at: at_call, failure: Failure::Eio, lasting });
                let first = change(&store);
                disk.heal();
                wait_until(&format!("{context}: the catalogue can be written"), || register(&store, &["Z"]).is_ok());
                let now = view(&store);
                assert!(now == after || (now == before && first.is_err()), "{context}: {first:?}\n{now:?}");
                expect_the_same_after_a_crash(&disk, &now, at_call, &context);
                if first.is_err() {
                    let again = change(&store);
                    refused += 1;
                    held += usize::from(now == after);
                    assert!(again.is_ok() || now == after, "{context}: {again:?}");
                    let now = view(&store);
                    if what != "register" {
                        assert_eq!(now, after, "{context}: it holds once");
                    }
                    expect_the_same_after_a_crash(&disk, &now, at_call, &context);
                }
            }
        }
    }
    assert!(refused > 20 && held > 0, "{refused} were refused, {held} of them held");
}

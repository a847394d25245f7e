//! Every call to the disk fails once, and from then on, in every way: EIO, ENOSPC, half a write, a lost sync. Whatever call it
//! is, of a life with appends, flushes, merges, sealing and a removal or of the recovery after it, nothing acknowledged is lost, none is
//! there twice and none is invented; the store goes on or refuses and says so, and when the fault is gone it takes samples again.
//!
//! A plain `cargo test` takes some calls of each kind, PVARK_CRASH=all takes each of them (`make crash`).

use crate::common;
use crate::sim;

use std::{cell::RefCell, sync::Arc, time::Duration};

use archive::{By, DataFate, PvId, WeekState};
use common::{append, at, read, register, sample, wait_until};
use sample::{Sample, TimeRange, Timestamp, Value};
use sim::{
    Call, Crash, Failure, Fault, SimDisk,
    matrix::{matrix, run_all},
};
use store::{Config, Durable, Error, Store};

const PVS: [&str; 3] = ["A", "B", "C"];
const PARTS: i64 = 9;

fn config() -> Config {
    Config { durable: Durable::Every(Duration::from_millis(1)), ..Config::new("simulated") }
}

/// What was taken and what was promised.
#[derive(Debug, Default)]
struct Told {
    /// Of A and B, in the order of arrival.
    taken: [Vec<Sample>; 2],
    /// To which of them each sample went.
    order: Vec<usize>,
    registered: bool,
    removed: bool,
    durable: u64,
    /// A sentence said that something is wrong.
    said: bool,
}

impl Told {
    fn watch(&mut self, store: &Store) {
        let (health, watermark) = (store.reader().health(), store.reader().watermark());
        self.durable = self.durable.max(watermark.durable);
        self.said |= health.refusal.is_some() || !health.problems.is_empty();
    }

    fn take(&mut self, pv: usize, samples: Vec<Sample>) {
        self.order.extend(samples.iter().map(|_| pv));
        self.taken[pv].extend(samples);
    }

    fn appended(&self) -> u64 {
        self.order.len() as u64
    }

    /// The samples of a PV that are promised.
    fn promised(&self, pv: usize) -> &[Sample] {
        let promised = self.order.iter().take(self.durable as usize).filter(|of| **of == pv);
        &self.taken[pv][..promised.count()]
    }
}

/// Ten hours later with each part, so that days end and are merged.
fn moment(part: i64) -> Timestamp {
    at((part + 1) * 36_000_000_000_000)
}

/// The week is over.
const AFTER: i64 = 40;

/// Samples that nobody can take for others. Part 4 is more than the log's buffer holds, so that an append writes by itself.
fn samples(part: i64, pv: i64) -> Vec<Sample> {
    let text = " ".repeat(if part == 4 && pv == 0 { 100 << 10 } else { 3 });
    let value = |i: i64| Value::String(format!("{part}/{pv}/{i}{text}").into());
    (0..3).map(|i| sample(part * 100 + i, value(i))).collect()
}

/// Appends, flushes, merges, removes; goes on whatever fails, as an archiver does.
fn live(store: &Store, disk: &SimDisk, told: &mut Told) {
    let Ok(pvs) = register(store, &PVS) else {
        told.said = true;
        return;
    };
    told.registered = true;
    for part in 0..PARTS {
        for (index, pv) in pvs.iter().take(2).enumerate() {
            let samples = samples(part, index as i64);
            match append(store, *pv, &samples) {
                Ok(()) => told.take(index, samples),
                Err(_) => told.said = true,
            }
        }
        let flushes = store.reader().health().flushes;
        store.tick(moment(part));
        wait_until("the head is flushed", || {
            let health = store.reader().health();
            health.flushes > flushes || health.refusal.is_some() || disk.has_failed()
        });
        if part == 2 {
            match store.writer().remove(&[pvs[2]], DataFate::Delete, &By::new("a test", at(8))) {
                Ok(()) => told.removed = true,
                Err(_) => told.said = true,
            }
        }
        told.watch(store);
    }
    store.tick(moment(AFTER));
    let sealed = || store.reader().partitions().iter().all(|week| week.state == WeekState::Sealed);
    wait_until("the week is sealed", || sealed() || disk.has_failed());
    told.watch(store);
}

/// The fault is gone: a store that is open takes samples again by itself, and has lost none.
fn heal(store: &Store, disk: &SimDisk, told: &mut Told, context: &str) {
    disk.heal();
    let reader = store.reader();
    wait_until(&format!("{context}: it takes samples again"), || {
        store.tick(moment(AFTER));
        reader.health().refusal.is_none()
    });
    // The last call that failed may not have been told yet, so that a first attempt can still meet it.
    let pvs = until_done(context, || register(store, &PVS[..2]));
    told.registered = true;
    for (index, pv) in pvs.iter().enumerate() {
        assert!(read(store, *pv, TimeRange::ALL) == told.taken[index], "{context}: what was taken is read");
        let more = samples(PARTS, index as i64);
        until_done(context, || append(store, *pv, &more));
        told.take(index, more);
    }
    wait_until(&format!("{context}: it is durable"), || reader.watermark().durable == told.appended());
    told.watch(store);
}

/// Repeats what can be repeated until it succeeds; the archiver's clock goes on meanwhile.
fn until_done<T>(context: &str, run: impl Fn() -> Result<T, Error>) -> T {
    let done = RefCell::new(None);
    wait_until(&format!("{context}: the fault is over"), || {
        *done.borrow_mut() = run().ok();
        done.borrow().is_some()
    });
    done.into_inner().expect("it has just been put there")
}

/// Opens what is left and compares.
fn verify(disk: SimDisk, told: &Told, context: &str) {
    let store = Store::open_on(Arc::new(disk), config(), moment(AFTER + 5));
    let store = store.unwrap_or_else(|error| panic!("{context}: {error}"));
    let reader = store.reader();
    let watermark = reader.watermark();
    assert!(watermark.durable >= told.durable, "{context}: {watermark:?}, promised {}", told.durable);
    let (mut found, mut held) = (0, 0);
    for (pv, name) in PVS.iter().take(2).enumerate() {
        let Some(entry) = reader.find(name) else {
            assert!(!told.registered, "{context}: {name} is gone");
            continue;
        };
        let got = read(&store, entry.id, TimeRange::ALL);
        let times = |samples: &[Sample]| samples.iter().map(|sample| sample.time.nanos()).collect::<Vec<_>>();
        let lost = || format!("{context}: {name} holds {:?}, {:?} is durable", times(&got), times(told.promised(pv)));
        assert!(got.starts_with(told.promised(pv)), "{}", lost());
        // Of what was not durable a power cut may take the earlier and leave the later, if two files of the log were unsynced.
        let mut taken = told.taken[pv].iter();
        assert!(got.iter().all(|one| taken.any(|other| other == one)), "{}", lost());
        found += got.len() as u64;
        held += reader.extent(entry.id).map_or(0, |(.., count)| count);
    }
    assert!(!told.removed || reader.find(PVS[2]).is_none(), "{context}: a removed PV is back");
    assert!(found == held && found <= watermark.appended, "{context}: {found} are read, {held} held, {watermark:?}");
}

/// What a power cut at this moment would leave.
fn verify_crashes(disk: &SimDisk, told: &Told, seed: u64, context: &str) {
    for crash in [Crash::OfProcess, Crash::Forgetful, Crash::Torn(seed)] {
        verify(disk.after(crash), told, &format!("{context}, then {crash:?}"));
    }
}

fn life_with(fault: Fault, context: &str) {
    let disk = Arc::new(SimDisk::default());
    let mut told = Told::default();
    disk.fail(fault);
    match Store::open_on(disk.clone(), config(), at(0)) {
        Err(_) => told.said = true,
        Ok(store) => {
            live(&store, &disk, &mut told);
            verify_crashes(&disk, &told, fault.at, context);
            if disk.has_failed() {
                heal(&store, &disk, &mut told, context);
                verify_crashes(&disk, &told, fault.at + 1, &format!("{context}, healed"));
            }
            let healed = disk.has_failed();
            match store.close(moment(AFTER + 1)) {
                Ok(()) => told.durable = told.appended(),
                Err(error) => assert!(!healed && disk.has_failed(), "{context}: {error}"),
            }
        }
    }
    disk.heal();
    verify_crashes(&disk, &told, fault.at + 2, &format!("{context}, closed"));
}

/// Recovery of an archive with segments, a log and files that a crash left half-done.
fn recovery_with(base: &(SimDisk, Told), fault: Fault, context: &str) {
    let disk = Arc::new(base.0.after(Crash::OfProcess));
    disk.fail(fault);
    if let Ok(store) = Store::open_on(disk.clone(), config(), moment(AFTER + 2)) {
        let reader = store.reader();
        assert_eq!(reader.watermark().appended, base.1.durable, "{context}");
        drop(store);
    }
    disk.heal();
    verify_crashes(&disk, &base.1, fault.at, context);
}

/// An archive that died during a flush: segments, an unknown one, and a log with frames that are in none.
fn base() -> (SimDisk, Told) {
    let disk = Arc::new(SimDisk::default());
    let mut told = Told::default();
    let store = Store::open_on(disk.clone(), config(), at(0)).unwrap();
    live(&store, &disk, &mut told);
    let pv = store.reader().find("A").unwrap().id;
    append(&store, pv, &samples(PARTS, 0)).unwrap();
    told.take(0, samples(PARTS, 0));
    wait_until("it is durable", || store.reader().watermark().durable == told.appended());
    told.durable = told.appended();
    let fault = Fault { call: Call::SyncFolder, at: 0, failure: Failure::Eio, lasting: true };
    disk.fail(fault);
    store.tick(moment(AFTER + 1));
    wait_until("a flush has failed", || !store.reader().health().problems.is_empty());
    disk.heal();
    let left = disk.after(Crash::OfProcess);
    drop(store);
    (left, told)
}

#[test]
fn a_life_survives_each_call_that_fails() {
    let disk = Arc::new(SimDisk::default());
    let mut told = Told::default();
    let store = Store::open_on(disk.clone(), config(), at(0)).unwrap();
    live(&store, &disk, &mut told);
    store.close(moment(AFTER + 1)).unwrap();
    assert!(told.registered && told.removed && !told.said, "without a fault all goes well: {told:?}");
    run_all("life", &matrix(|call| disk.calls(call)), life_with);
}

#[test]
fn a_recovery_survives_each_call_that_fails() {
    let base = base();
    let disk = Arc::new(base.0.after(Crash::OfProcess));
    let pvs: Vec<PvId> = {
        let store = Store::open_on(disk.clone(), config(), moment(AFTER + 2)).unwrap();
        store.reader().entries().iter().map(|entry| entry.id).collect()
    };
    assert_eq!(pvs.len(), 2);
    run_all("recovery", &matrix(|call| disk.calls(call)), |fault, context| recovery_with(&base, fault, context));
}

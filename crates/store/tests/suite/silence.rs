//! Disks that do not answer: the archive's own, which everything waits for but samples and those who read the newest; and that of a
//! place, for which nobody waits longer than set.

use crate::common;
use crate::sim;

use std::{sync::Arc, time::Duration};

use archive::{PvId, Record, Sink};
use common::{append, at, read, register, sample, wait_until};
use sample::{Metadata, Sample, TimeRange, Value};
use sim::{Call, Crash, SimDisk, gate::Gate};
use store::{Config, Durable, Error, Place, Store, disk::Disk};

const DAY: i64 = 86_400_000_000_000;

fn samples(range: std::ops::Range<i64>) -> Vec<Sample> {
    range.map(|i| sample(i, Value::F64(i as f64))).collect()
}

/// Appends a thousand samples at a time until there is no room any more.
fn append_until_busy(store: &Store, pv: PvId, taken: &mut i64) {
    let error = loop {
        match append(store, pv, &samples(*taken..*taken + 1000)) {
            Ok(()) => *taken += 1000,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::Busy), "{error}");
}

/// Writes and syncs hang, the last of which may come back or not: samples are taken while there is room in memory and can be read,
/// and it is told.
#[test]
fn a_disk_that_hangs_is_told_and_nothing_that_was_taken_is_lost() {
    for stuck in [&[Call::Sync, Call::SyncFolder][..], &[Call::Write], &Call::ALL] {
        let disk = Arc::new(SimDisk::default());
        let gate = Arc::new(Gate::new(disk.clone()));
        let durable = Durable::Every(Duration::from_millis(1));
        let config = Config { durable, head_bytes_max: 2 << 20, reserve_bytes: 4 << 20, ..Config::new("simulated") };
        let store = Store::open_on(gate.clone(), config, at(0)).unwrap();
        let pv = register(&store, &["A"]).unwrap()[0];
        let reader = store.reader();
        let mut taken = 1000;
        append(&store, pv, &samples(0..taken)).unwrap();
        let metadata = Metadata { units: Some("mA".into()), ..Metadata::default() };
        store.writer().append(&[(pv, Record::Metadata(at(0), metadata.into()))], at(0)).unwrap();
        wait_until("the first samples are durable", || reader.watermark().durable == 1000);

        gate.shut(|call, _| stuck.contains(&call));
        append_until_busy(&store, pv, &mut taken);
        assert!(taken > 2000, "{taken} were taken, {stuck:?}");
        wait_until("it is told", || {
            reader.health().problems.iter().any(|problem| problem.contains("has not answered"))
        });
        assert!(reader.health().disk_silent_micros > 2_000_000, "{stuck:?}");
        store.tick(at(20_000_000_000));
        assert_eq!(read(&store, pv, TimeRange::ALL).len() as i64, taken, "{stuck:?}");
        assert_eq!(reader.last_before(pv, at(i64::MAX)).unwrap().unwrap().time, at(taken - 1));
        assert_eq!(reader.metadata(pv, TimeRange::ALL).unwrap().len(), 1);
        assert!(reader.gaps(pv, TimeRange::ALL).is_ok() && reader.extent(pv).is_some());
        let survivors =
            Store::open_on(Arc::new(disk.after(Crash::Forgetful)), Config::new("simulated"), at(0)).unwrap();
        assert!(read(&survivors, pv, TimeRange::ALL).len() >= 1000, "it never comes back, {stuck:?}");

        gate.open();
        wait_until("there is room again", || append(&store, pv, &samples(taken..taken + 1000)).is_ok());
        taken += 1000;
        wait_until("everything is durable", || reader.watermark().durable == taken as u64);
        wait_until("nothing is told any more", || reader.health().problems.is_empty());
        assert_eq!(read(&store, pv, TimeRange::ALL), samples(0..taken), "{stuck:?}");
        store.close(at(DAY)).unwrap();
    }
}

/// One week in each of two places, and the newest samples near.
struct Archive {
    store: Store,
    pv: PvId,
    long: Arc<Gate>,
}

impl Archive {
    fn record(&self, day: i64) {
        let flushes = self.store.reader().health().flushes;
        append(&self.store, self.pv, &samples(day * DAY..day * DAY + 3000)).unwrap();
        self.store.tick(at(day * DAY + DAY / 2));
        wait_until("the head is flushed", || self.store.reader().health().flushes > flushes);
    }

    /// How many samples of a day are read, and what is said if not all of them can be.
    fn read(&self, day: i64) -> (usize, Option<String>) {
        let range = TimeRange::new(at(day * DAY), at((day + 1) * DAY)).unwrap();
        let mut found = 0;
        for batch in self.store.reader().samples(self.pv, range) {
            match batch {
                Ok(batch) => found += batch.len(),
                Err(error) => return (found, Some(error.to_string())),
            }
        }
        (found, None)
    }

    fn segments(&self) -> Vec<u64> {
        self.store.reader().health().places.iter().map(|place| place.segments).collect()
    }
}

/// The weeks of days 2 and 5 are over; they have come to the places `long` and `medium`.
fn archive() -> Archive {
    let place = |name: &str, days: u64| Place {
        name: name.into(),
        folder: format!("/mnt/{name}").into(),
        after: Duration::from_secs(days * 86_400),
        megabytes_per_second: None,
        answers_within: Duration::from_millis(100),
    };
    let config = Config { places: vec![place("medium", 7), place("long", 21)], ..Config::new("simulated") };
    let long = Arc::new(Gate::new(Arc::new(SimDisk::default())));
    let medium = Arc::new(Gate::new(Arc::new(SimDisk::default())));
    let places: Vec<Arc<dyn Disk>> = vec![medium, long.clone()];
    let store = Store::open_on_disks(Arc::new(SimDisk::default()), places, config, at(0)).unwrap();
    let pv = register(&store, &["A"]).unwrap()[0];
    let archive = Archive { store, pv, long };
    archive.record(2);
    archive.record(5);
    archive.record(27);
    wait_until("two weeks are moved", || archive.segments() == [1, 1, 1]);
    archive
}

#[test]
fn nobody_waits_for_a_place_that_does_not_answer() {
    let archive = archive();
    assert_eq!([2, 5, 27].map(|day| archive.read(day)), [(); 3].map(|()| (3000, None)));
    archive.long.shut(|_, _| true);
    let (found, error) = archive.read(2);
    let error = error.expect("it cannot be read");
    assert!(found == 0 && error.contains("the place \"long\" at /mnt/long does not answer"), "{error}");
    let hanging = archive.long.waiting();
    for _ in 0..40 {
        assert!(archive.read(2).1.is_some());
    }
    assert!(archive.long.waiting() <= hanging + 1, "nobody asks a place that hangs, but for who looks after it");
    assert_eq!([archive.read(5), archive.read(27)], [(); 2].map(|()| (3000, None)), "others are read");
    let problems = archive.store.reader().health().problems;
    assert!(problems.iter().any(|problem| problem.contains("the place \"long\"")), "{problems:?}");
    assert_eq!(archive.store.reader().extent(archive.pv).unwrap().2, 9000, "the tables are near");
    archive.long.open();
    wait_until("it can be read again", || archive.read(2) == (3000, None));
    wait_until("nothing is told any more", || archive.store.reader().health().problems.is_empty());
}

#[test]
fn an_archive_is_closed_while_a_move_hangs() {
    let archive = archive();
    archive.long.shut(|call, _| call == Call::Write);
    archive.store.tick(at(40 * DAY));
    wait_until("a copy hangs", || archive.long.waiting() > 0);
    let Archive { store, long, .. } = archive;
    store.close(at(41 * DAY)).unwrap();
    long.open();
}

//! What the tests of the store have in common: PVs, samples, and reading them back.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use archive::{By, Method, Protocol, PvId, PvName, PvSettings, PvState, Record, Sink};
use sample::{Alarm, Batch, Sample, TimeRange, Timestamp, Value};
use store::{Error, Store};

pub(crate) fn at(nanos: i64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}

pub(crate) fn sample(nanos: i64, value: Value) -> Sample {
    Sample { time: at(nanos), value, alarm: Alarm::default(), pulse: 0, stamp: None }
}

pub(crate) fn settings() -> PvSettings {
    PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Active)
}

pub(crate) fn name(text: &str) -> PvName {
    PvName::new(text).unwrap()
}

/// A tester, at that time.
pub(crate) fn by(nanos: i64) -> By {
    By::new("a tester", at(nanos))
}

pub(crate) fn register(store: &Store, names: &[&str]) -> Result<Vec<PvId>, Error> {
    let pvs: Vec<_> = names.iter().map(|name| (PvName::new(name).unwrap(), settings())).collect();
    Ok(store.writer().register(&pvs, &By::new("test", at(0)))?.iter().map(|entry| entry.id).collect())
}

pub(crate) fn append(store: &Store, pv: PvId, samples: &[Sample]) -> Result<(), Error> {
    let records: Vec<_> = samples.iter().map(|sample| (pv, Record::Samples(Batch::of(sample)))).collect();
    store.writer().append(&records, samples.last().map_or(at(0), |sample| sample.time))
}

pub(crate) fn read(store: &Store, pv: PvId, range: TimeRange) -> Vec<Sample> {
    let batches = store.reader().samples(pv, range).map(|batch| batch.unwrap());
    batches.flat_map(|batch| (0..batch.len()).map(move |row| batch.get(row)).collect::<Vec<_>>()).collect()
}

/// Waits until `done`, and panics if that takes too long to ever come.
pub(crate) fn wait_until(what: &str, done: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !done() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The one file of an archive that has this extension.
pub(crate) fn only(folder: &Path, extension: &str) -> PathBuf {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    found.retain(|path| path.extension().is_some_and(|e| e == extension));
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

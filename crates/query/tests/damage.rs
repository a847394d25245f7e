//! A damaged block costs its own samples and is told; all others are there.

use std::{
    fs,
    path::{Path, PathBuf},
};

use archive::{By, Method, Protocol, PvId, PvName, PvSettings, PvState, Record, Sink};
use query::{Before, Cut, Query, Request};
use sample::{Alarm, Batch, Column, Runs, TimeRange, Timestamp};
use store::{Config, Store};

const ROWS: i64 = 1000;

fn open(folder: &Path) -> Store {
    Store::open(Config::new(folder), Timestamp::from_nanos(0)).expect("the store opens")
}

/// Two segments, one after the other in time.
fn record(folder: &Path) -> PvId {
    let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Active);
    let name = PvName::new("TEST:PV").expect("it is a name");
    let mut pv = PvId(0);
    for half in 0..2 {
        let store = open(folder);
        pv = store
            .writer()
            .register(&[(name.clone(), settings.clone())], &By::new("test", Timestamp::from_nanos(0)))
            .expect("it registers")[0]
            .id;
        let rows = half * ROWS..(half + 1) * ROWS;
        let (mut alarms, mut pulses) = (Runs::default(), Runs::default());
        alarms.push(&Alarm::default(), ROWS as usize);
        pulses.push(&0, ROWS as usize);
        // Numbers that no codec can make small, so that most of the file is their block.
        let values = rows.clone().map(|row| ((row * 7919) as f64).sin()).collect();
        let times = rows.map(Timestamp::from_nanos).collect();
        let batch =
            Batch::from_columns(times, Column::F64(values), alarms, pulses).expect("the columns are equally long");
        store.writer().append(&[(pv, Record::Samples(batch))], Timestamp::from_nanos(0)).expect("the store takes it");
        store.close(Timestamp::from_nanos(0)).expect("the store closes");
    }
    pv
}

fn segments(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("it is there").path());
    let mut found: Vec<PathBuf> = entries
        .flat_map(|path| if path.is_dir() { segments(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "seg"))
        .collect();
    found.sort();
    found
}

#[test]
fn a_damaged_block_costs_its_samples_and_is_told() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let pv = record(folder.path());
    let segment = segments(folder.path()).into_iter().next().expect("closing a store leaves segments");
    let mut bytes = fs::read(&segment).expect("the segment can be read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    fs::write(&segment, bytes).expect("the segment can be written");

    let store = open(folder.path());
    let query = Query::over(store.reader());
    let request = Request { series: pv.into(), range: TimeRange::ALL, before: Before::None };
    let (batches, errors): (Vec<_>, Vec<_>) = query.samples(&request).partition(Result::is_ok);
    let rows: usize = batches.iter().flatten().map(Batch::len).sum();
    assert_eq!((rows, errors.len()), (ROWS as usize, 1));
    assert!(errors.iter().all(|error| error.as_ref().is_err_and(query::Error::is_damage)));
    let skipped: usize =
        query.samples(&request).skipping_damage().map(|batch| batch.expect("damage is skipped").len()).sum();
    assert_eq!(skipped, ROWS as usize);

    // An edge within each block, so that both have to be read.
    let range = TimeRange { t0: Timestamp::from_nanos(0), t1: Timestamp::from_nanos(2 * ROWS) };
    let mut bins = query.bins(pv, range, Cut::Equal(7)).expect("seven bins are possible");
    let count: u64 = bins.by_ref().map(|bin| bin.expect("damage is passed over").count).sum();
    assert_eq!((count, bins.damage().len()), (ROWS as u64, 1));
}

#[test]
fn a_segment_whose_directory_is_damaged_costs_its_samples_and_is_told() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let pv = record(folder.path());
    let segment = segments(folder.path()).into_iter().nth(1).expect("each close of the store leaves a segment");
    let mut bytes = fs::read(&segment).expect("the segment can be read");
    let end = bytes.len() - 20; // in the footer
    bytes[end] ^= 0x10;
    fs::write(&segment, bytes).expect("the segment can be written");

    let store = open(folder.path());
    let request = Request { series: pv.into(), range: TimeRange::ALL, before: Before::Include };
    let (batches, errors): (Vec<_>, Vec<_>) = Query::over(store.reader()).samples(&request).partition(Result::is_ok);
    let rows: usize = batches.iter().flatten().map(Batch::len).sum();
    assert_eq!((rows, errors.len()), (ROWS as usize, 1));
    assert!(errors.iter().all(|error| error.as_ref().is_err_and(query::Error::is_damage)));
    let last = store.reader().last_before(pv, Timestamp::MAX).expect("the damage is passed over");
    assert_eq!(last.map(|sample| sample.time), Some(Timestamp::from_nanos(ROWS - 1)));
    assert_eq!(store.reader().health().problems.len(), 1);
}

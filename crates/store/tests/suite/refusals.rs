//! Full and failing disks: what cannot be kept is refused, what was acknowledged is not lost, and the store goes on by itself.

use crate::common;
use crate::sim;

use std::{os::unix::fs::PermissionsExt, sync::Arc, time::Duration};

use common::{append, at, read, register, sample, wait_until};
use sample::{Sample, TimeRange, Value};
use sim::{Crash, SimDisk};
use store::{Config, Durable, Error, Store};

fn config() -> Config {
    Config { durable: Durable::Every(Duration::from_millis(1)), log_file_bytes: 2000, ..Config::new("simulated") }
}

fn open(disk: &Arc<SimDisk>) -> Store {
    Store::open_on(disk.clone(), config(), at(0)).unwrap()
}

fn samples(range: std::ops::Range<i64>) -> Vec<Sample> {
    range.map(|i| sample(i, Value::F64(i as f64))).collect()
}

/// A store with ten durable samples.
fn with_ten(disk: &Arc<SimDisk>) -> (Store, archive::PvId) {
    let store = open(disk);
    let pv = register(&store, &["A"]).unwrap()[0];
    append(&store, pv, &samples(0..10)).unwrap();
    wait_until("ten samples are durable", || store.reader().watermark().durable == 10);
    (store, pv)
}

#[test]
fn a_full_disk_refuses_samples_until_there_is_room_again() {
    let disk = Arc::new(SimDisk::default());
    let (store, pv) = with_ten(&disk);
    disk.set_full(true);
    let mut accepted = 10;
    for i in 10.. {
        match append(&store, pv, &samples(i..i + 1)) {
            Ok(()) => accepted += 1,
            Err(error) => {
                assert!(matches!(&error, Error::Refused { reason } if reason.contains("log")), "{error}");
                break;
            }
        }
        std::thread::yield_now();
    }
    let reader = store.reader();
    assert!(reader.health().refusal.is_some());
    assert_eq!(read(&store, pv, TimeRange::ALL), samples(0..accepted), "reads go on");
    for now in 1..4 {
        store.tick(at(now * 1_000_000_000)); // nothing changes while it is full
        assert!(append(&store, pv, &samples(accepted..accepted + 1)).is_err());
    }
    disk.set_full(false);
    store.tick(at(5_000_000_000));
    wait_until("the store takes samples again", || reader.health().refusal.is_none());
    assert_eq!(reader.watermark().durable, accepted as u64, "what was taken before is safe now");
    append(&store, pv, &samples(accepted..accepted + 5)).unwrap();
    wait_until("the new samples are durable", || reader.watermark().durable == accepted as u64 + 5);
    drop(store);
    let store = open(&Arc::new(disk.after(Crash::Forgetful)));
    assert_eq!(read(&store, pv, TimeRange::ALL), samples(0..accepted + 5));
    assert_eq!(store.reader().health().problems, Vec::<String>::new());
}

#[test]
fn after_a_failed_sync_nothing_is_called_durable_before_it_is_in_blocks() {
    let disk = Arc::new(SimDisk::default());
    let (store, pv) = with_ten(&disk);
    let reader = store.reader();
    disk.set_failing_syncs(true);
    append(&store, pv, &samples(10..20)).unwrap();
    wait_until("the failure is noticed", || reader.health().refusal.is_some());
    assert!(append(&store, pv, &samples(20..21)).is_err());
    store.tick(at(1_000_000_000));
    wait_until("a flush has failed, too", || !reader.health().problems.is_empty());
    assert_eq!(reader.watermark().durable, 10);
    disk.set_failing_syncs(false);
    store.tick(at(2_000_000_000));
    wait_until("the store takes samples again", || reader.health().refusal.is_none());
    assert_eq!(reader.watermark().durable, 20);
    drop(store);
    let store = open(&Arc::new(disk.after(Crash::Forgetful)));
    assert_eq!(read(&store, pv, TimeRange::ALL), samples(0..20));
}

#[test]
fn a_crash_while_refusing_loses_nothing_that_was_durable() {
    let disk = Arc::new(SimDisk::default());
    let (store, pv) = with_ten(&disk);
    disk.set_failing_syncs(true);
    append(&store, pv, &samples(10..20)).unwrap();
    wait_until("the failure is noticed", || store.reader().health().refusal.is_some());
    drop(store);
    let store = open(&Arc::new(disk.after(Crash::Forgetful)));
    let found = read(&store, pv, TimeRange::ALL);
    assert_eq!(found, samples(0..found.len() as i64));
    assert!(found.len() >= 10);
}

#[test]
fn two_full_heads_are_answered_with_busy_and_nothing_is_half_taken() {
    let disk = Arc::new(SimDisk::default());
    let config = Config { head_bytes_max: 20_000, ..config() };
    let store = Store::open_on(disk.clone(), config, at(0)).unwrap();
    let pv = register(&store, &["A"]).unwrap()[0];
    disk.set_failing_syncs(true); // the catalogue cannot commit, so that no flush ends
    let mut taken = 0;
    let error = loop {
        match append(&store, pv, &samples(taken..taken + 100)) {
            Ok(()) => taken += 100,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::Busy | Error::Refused { .. }), "{error}");
    assert_eq!(read(&store, pv, TimeRange::ALL), samples(0..taken));
    assert_eq!(store.reader().health().refused_samples, 100);
}

#[test]
fn a_folder_in_use_or_of_something_else_is_refused_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(Config::new(folder.path()), at(0)).unwrap();
    let error = Store::open(Config::new(folder.path()), at(0)).unwrap_err();
    assert!(matches!(error, Error::Locked { .. }), "{error}");
    drop(store);
    Store::open(Config::new(folder.path()), at(0)).unwrap().close(at(1)).unwrap();

    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("thesis.tex"), "precious").unwrap();
    let error = Store::open(Config::new(other.path()), at(0)).unwrap_err();
    assert!(matches!(&error, Error::NotAStore { found, .. } if found.contains("thesis.tex")), "{error}");
    assert_eq!(std::fs::read_dir(other.path()).unwrap().count(), 1, "nothing was left there");
}

#[test]
fn a_folder_that_cannot_be_written_is_refused_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o555)).unwrap();
    let privileged = std::fs::write(folder.path().join("probe"), "").is_ok();
    let result = Store::open(Config::new(folder.path()), at(0));
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    if privileged {
        return; // to root every folder is writable
    }
    let error = result.unwrap_err();
    assert!(error.to_string().contains(&*folder.path().to_string_lossy()), "{error}");
}

#[test]
fn a_segment_or_catalogue_of_a_newer_version_is_told_apart_from_damage() {
    let disk = Arc::new(SimDisk::default());
    let (store, _) = with_ten(&disk);
    drop(store);
    let log = disk.keys().into_iter().find(|key| key.ends_with(".log")).unwrap();
    disk.damage(&log, 8, 0x40); // the version in the log's header
    let error = Store::open_on(Arc::new(disk.after(Crash::OfProcess)), config(), at(0)).unwrap_err();
    assert!(matches!(error, Error::TooNew { version: 65, .. }), "{error}");
}

/// What a failed sync lost stays readable until the power goes: a catalogue that was opened anew and built on it would be torn.
#[test]
fn a_catalogue_whose_sync_failed_loses_nothing_that_later_ones_promise() {
    let disk = Arc::new(SimDisk::default());
    let (store, pv) = with_ten(&disk);
    let names: Vec<String> = (0..500).map(|n| format!("P:{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    disk.set_failing_syncs(true);
    for some in names[..250].chunks(50) {
        assert!(register(&store, some).is_err());
    }
    assert!(store.reader().gaps(pv, TimeRange::ALL).is_ok(), "reading goes on");
    disk.set_failing_syncs(false);
    store.tick(at(1_000_000_000));
    wait_until("the store takes samples again", || store.reader().health().refusal.is_none());
    let pvs = register(&store, &names).unwrap();
    append(&store, pvs[499], &samples(20..30)).unwrap();
    wait_until("the samples are durable", || {
        let watermark = store.reader().watermark();
        watermark.durable == watermark.appended
    });
    drop(store);
    let store = open(&Arc::new(disk.after(Crash::Forgetful)));
    assert_eq!(read(&store, pv, TimeRange::ALL), samples(0..10));
    assert!(names.iter().all(|name| store.reader().find(name).is_some()));
    assert_eq!(read(&store, pvs[499], TimeRange::ALL), samples(20..30));
}

/// A disk that fills up: the reserve keeps everything going, and comes back when there is room.
#[test]
fn a_full_disk_lives_on_its_reserve_and_says_so_until_there_is_room_again() {
    let disk = Arc::new(SimDisk::default());
    disk.set_capacity(Some(64 << 20));
    let config = || Config { reserve_bytes: 4 << 20, head_bytes_max: 300_000, ..config() };
    let store = Store::open_on(disk.clone(), config(), at(0)).unwrap();
    let pv = register(&store, &["A"]).unwrap()[0];
    let reader = store.reader();
    assert_eq!((reader.health().reserve_bytes, reader.health().problems.len()), (4 << 20, 0));
    disk.set_capacity(Some(disk.used() + 1000));
    let (mut taken, mut rounds) = (0, 0);
    let mut offer = |rounds_max: i64| {
        while rounds < rounds_max {
            rounds += 1;
            let some: Vec<Sample> =
                (taken..taken + 1000).map(|i| sample(i * 7919 % 1_000_003, Value::F64(i as f64))).collect();
            match append(&store, pv, &some) {
                Ok(()) => taken += 1000,
                // Full heads that cannot be flushed are as good as a refusal once nothing is left.
                Err(Error::Busy) if reader.health().reserve_bytes > 0 => {}
                Err(error) => return Err(error),
            }
        }
        Ok(taken)
    };
    offer(100).expect("the reserve has room for that");
    wait_until("the reserve is used", || reader.health().reserve_bytes < 4 << 20);
    let problems = reader.health().problems;
    assert!(problems.iter().any(|problem| problem.contains("reserve")), "{problems:?}");
    disk.set_capacity(Some(64 << 20));
    store.tick(at(20_000_000_000));
    let is_whole = || (reader.health().reserve_bytes, reader.health().problems.len()) == (4 << 20, 0);
    wait_until("the reserve is whole again", is_whole);
    let kept = offer(120).unwrap();
    wait_until("all is durable", || reader.watermark().durable == kept as u64);
    disk.set_capacity(Some(disk.used()));
    let refusal = offer(i64::MAX).unwrap_err();
    assert!(matches!(refusal, Error::Refused { .. } | Error::Busy), "{refusal}");
    assert_eq!(reader.health().reserve_bytes, 0, "only now");
    drop(store);
    let survivor = Arc::new(disk.after(Crash::Forgetful));
    let store = Store::open_on(survivor, config(), at(0)).unwrap();
    assert!(read(&store, pv, TimeRange::ALL).len() >= kept as usize, "what was durable is there");
}

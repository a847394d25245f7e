//! The scrub: damage is found without anybody reading, told once, and a pass goes on where it was when the archive is opened anew.

use crate::common;
use crate::sim;

use std::{sync::Arc, time::Duration};

use common::{append, at, register, sample, wait_until};
use sample::Value;
use sim::{Crash, SimDisk};
use store::{Config, Scrub, Store};

fn open(disk: &Arc<SimDisk>, scrub: Scrub) -> Store {
    Store::open_on(disk.clone(), Config { scrub, ..Config::new("simulated") }, at(5_000_000_000_000)).unwrap()
}

/// Three segments.
fn fill(disk: &Arc<SimDisk>) {
    let store = open(disk, Scrub::Off);
    let pv = register(&store, &["A"]).unwrap()[0];
    for part in 0..3 {
        let samples: Vec<_> = (0..100).map(|i| sample(part * 1000 + i, Value::F64(i as f64))).collect();
        append(&store, pv, &samples).unwrap();
        store.tick(at((part + 1) * 10_000_000_000_000));
        wait_until("it is flushed", || store.reader().health().flushes == part as u64 + 1);
    }
    assert_eq!(store.reader().health().scrubbed_segments, 0, "it is off");
}

fn segments(disk: &SimDisk) -> Vec<String> {
    let mut keys: Vec<_> = disk.keys().into_iter().filter(|key| key.ends_with(".seg")).collect();
    keys.sort();
    keys
}

#[test]
fn damage_is_found_and_told_once_however_often_it_is_met() {
    let disk = Arc::new(SimDisk::default());
    fill(&disk);
    disk.damage(&segments(&disk)[1], 64 + 40, 1);
    for reopened in 1..3 {
        let store = open(&disk, Scrub::Rate(1 << 40));
        // The end of an earlier run's pass is remembered, so it says nothing about this one; what was found does.
        wait_until("it is found again", || store.reader().health().scrub.findings >= reopened);
        wait_until("all are read", || store.reader().health().scrub.position.is_empty());
        let health = store.reader().health();
        assert_eq!(health.problems.len(), 1, "{:?}", health.problems);
        assert!(health.problems[0].contains(&segments(&disk)[1]), "{:?}", health.problems);
    }
}

#[test]
fn a_pass_goes_on_where_it_was_after_a_restart() {
    let disk = Arc::new(SimDisk::default());
    fill(&disk);
    // So slow that the second segment takes longer than this test.
    let slow = Scrub::Pass(Duration::from_secs(1_000_000));
    let store = open(&disk, slow);
    assert_eq!(store.reader().health().scrub.position, "");
    drop(store);
    assert!(!disk.keys().contains(&"scrub.state".to_owned()), "no segment was read to its end");
    let first = &segments(&disk)[0];
    disk.write(&format!("7 0 0 {first}\n"), "scrub.state");
    disk.damage(first, 64 + 40, 1); // behind it: not read again in this pass
    let store = open(&Arc::new(disk.after(Crash::OfProcess)), Scrub::Rate(1 << 40));
    wait_until("the rest is read", || store.reader().health().scrub.last_pass.is_some());
    let health = store.reader().health();
    assert_eq!((health.problems.len(), health.scrub.findings), (0, 0), "{health:?}");
    assert!(health.scrubbed_segments >= 2, "{health:?}");
}

#[test]
fn a_pass_that_takes_a_month_does_not_hold_the_room_of_what_was_merged() {
    let disk = Arc::new(SimDisk::default());
    fill(&disk);
    let before = segments(&disk);
    assert_eq!(before.len(), 3);
    let store = open(&disk, Scrub::Pass(Duration::from_secs(1_000_000)));
    std::thread::sleep(Duration::from_millis(200)); // it begins with the first of them at once
    store.tick(at(20 * 86_400 * 1_000_000_000));
    wait_until("the week is one segment", || store.reader().partitions().iter().all(|week| week.segments == 1));
    wait_until("what was merged is gone", || segments(&disk).len() == 1);
}

//! An archive that was copied with its number, or put back from an older copy, beside the places that it has: what lies there is lost
//! to neither.

use crate::common;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use archive::{PvId, WeekState};
use common::{append, at, read, register, sample, wait_until};
use sample::{Sample, TimeRange, Value};
use store::{Config, Durable, Place, Repairing, Store};
use tempfile::TempDir;

const DAY: i64 = 86_400_000_000_000;
const COUNT: i64 = 2000;

fn samples(day: i64) -> Vec<Sample> {
    (0..COUNT).map(|i| sample(day * DAY + i * 1000, Value::F64((day * COUNT + i) as f64))).collect()
}

fn open(near: &Path, far: &Path, day: i64) -> Store {
    let place = Place {
        name: "far".into(),
        folder: far.into(),
        after: Duration::from_secs(7 * 86_400),
        megabytes_per_second: None,
        answers_within: Place::ANSWERS_WITHIN,
    };
    let durable = Durable::Every(Duration::from_millis(1));
    let config = Config { durable, places: vec![place], reserve_bytes: 0, ..Config::new(near) };
    Store::open(config, at(day * DAY)).unwrap()
}

/// A day of samples in a segment.
fn record(store: &Store, day: i64) {
    let flushes = store.reader().health().flushes;
    append(store, PvId(0), &samples(day)).unwrap();
    store.tick(at(day * DAY + DAY / 2));
    wait_until("the head is flushed", || store.reader().health().flushes > flushes);
}

fn far_segments(store: &Store) -> u64 {
    store.reader().health().places[1].segments
}

/// Lets weeks be sealed and moved until so many lie there.
fn move_until(store: &Store, day: i64, count: u64) {
    wait_until("the weeks are moved", || {
        store.tick(at(day * DAY));
        far_segments(store) == count
    });
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() { copy(&entry.path(), &target) } else { _ = fs::copy(entry.path(), target).unwrap() }
    }
}

/// What lies in a folder: bytes, and the name that they have now.
fn contents(folder: &Path) -> BTreeMap<Vec<u8>, PathBuf> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.path() {
            path if path.is_dir() => all.extend(contents(&path)),
            path => _ = all.insert(fs::read(&path).unwrap(), path),
        }
    }
    all
}

fn expect_kept(before: &BTreeMap<Vec<u8>, PathBuf>, far: &Path) {
    let now = contents(far);
    let gone: Vec<&PathBuf> =
        before.iter().filter(|(bytes, _)| !now.contains_key(*bytes)).map(|(_, name)| name).collect();
    assert_eq!(gone, Vec::<&PathBuf>::new(), "these are lost");
}

fn folders() -> (TempDir, TempDir, TempDir) {
    let folder = || tempfile::tempdir().unwrap();
    (folder(), folder(), folder())
}

#[test]
fn an_older_folder_that_is_put_back_takes_nothing_from_its_places() {
    let (near, far, old) = folders();
    let store = open(near.path(), far.path(), 0);
    register(&store, &["A"]).unwrap();
    [2, 3].iter().for_each(|day| record(&store, *day));
    move_until(&store, 20, 1);
    store.close(at(20 * DAY)).unwrap();
    copy(near.path(), old.path());

    let store = open(near.path(), far.path(), 20);
    [20, 21, 26, 27].iter().for_each(|day| record(&store, *day));
    move_until(&store, 60, 3);
    assert_eq!(read(&store, PvId(0), TimeRange::ALL).len() as i64, 6 * COUNT);
    store.close(at(60 * DAY)).unwrap();
    let before = contents(far.path());

    // The folder of day 20 again: two weeks lie in the place of which it knows nothing.
    let store = open(old.path(), far.path(), 61);
    wait_until("the place is in use", || {
        store.tick(at(61 * DAY));
        !store.reader().health().problems.is_empty()
    });
    assert_eq!(read(&store, PvId(0), TimeRange::ALL).len() as i64, 2 * COUNT, "what it knows is served");
    record(&store, 61);
    store.close(at(62 * DAY)).unwrap();
    expect_kept(&before, far.path());
}

#[test]
fn a_place_is_not_shared_by_two_archivers_of_one_number() {
    let (near, far, twin) = folders();
    let store = open(near.path(), far.path(), 0);
    register(&store, &["A"]).unwrap();
    [2, 3].iter().for_each(|day| record(&store, *day));
    copy(near.path(), twin.path());
    move_until(&store, 20, 1);
    let before = contents(far.path());

    let other = open(twin.path(), far.path(), 20);
    let problems = || other.reader().health().problems;
    wait_until("it is told who uses the place", || {
        other.tick(at(20 * DAY));
        problems().iter().any(|problem| problem.contains("\"far\"") && problem.contains("another archiver"))
    });
    (0..20).for_each(|_| other.tick(at(20 * DAY)));
    assert_eq!((far_segments(&other), contents(far.path())), (0, before.clone()), "moves wait");
    assert_eq!(read(&other, PvId(0), TimeRange::ALL).len() as i64, 2 * COUNT, "its own samples are served");
    assert_eq!(read(&store, PvId(0), TimeRange::ALL).len() as i64, 2 * COUNT);

    // Once the first has ended, the other may use it; what it finds there under its own key is no other.
    store.close(at(21 * DAY)).unwrap();
    let told = || problems().into_iter().find(|problem| problem.contains("another archiver"));
    let deadline = Instant::now() + Duration::from_secs(20);
    while let Some(problem) = told() {
        assert!(Instant::now() < deadline, "after the first has ended: {problem}");
        other.tick(at(21 * DAY));
        std::thread::sleep(Duration::from_millis(1));
    }
    move_until(&other, 21, 1);
    expect_kept(&before, far.path());
}

#[test]
fn what_another_has_put_into_a_place_under_the_same_key_is_set_aside() {
    for longer in [0, 1000] {
        let (near, far, _) = folders();
        let store = open(near.path(), far.path(), 0);
        register(&store, &["A"]).unwrap();
        [2, 3].iter().for_each(|day| record(&store, *day));
        wait_until("the week is sealed", || {
            store.tick(at(10 * DAY));
            store.reader().partitions()[0].state == WeekState::Sealed
        });
        let mine =
            contents(near.path()).into_iter().find(|(_, path)| path.extension().is_some_and(|e| e == "seg")).unwrap();
        let key = mine.1.strip_prefix(near.path()).unwrap().to_owned();
        let mut foreign = mine.0.clone();
        foreign[100] ^= 1;
        foreign.resize(foreign.len() + longer, 7);
        fs::create_dir_all(far.path().join(key.parent().unwrap())).unwrap();
        // Behind the look for left-over files at the start.
        wait_until("the place is in use", || far.path().join("pvark-place").exists());
        fs::write(far.path().join(&key), &foreign).unwrap();
        let before = contents(far.path());
        move_until(&store, 20, 1);
        expect_kept(&before, far.path());
        assert_eq!(read(&store, PvId(0), TimeRange::ALL).len() as i64, 2 * COUNT);
        store.close(at(21 * DAY)).unwrap();
        assert!(store::check(near.path(), |_| {}).unwrap().is_clean());
        let repaired = store::repair(near.path(), Repairing::Look, at(21 * DAY), |_| {}).unwrap();
        assert!(repaired.steps.is_empty(), "{repaired:?}");
    }
}

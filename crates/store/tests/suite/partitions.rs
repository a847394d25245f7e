//! Partitions on real files: past weeks never change, whatever the archive lives through, and two folders hold one archive.

use crate::common;

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use archive::{PvId, WeekState};
use common::{append, at, read, register, sample, wait_until};
use sample::{Sample, TimeRange, Value};
use store::{Config, Durable, Place, Store};

const HOUR: i64 = 3_600_000_000_000;
const DAY: i64 = 24 * HOUR;
const WEEK: i64 = 7 * DAY;
/// A Monday.
const START: i64 = 4 * DAY;

/// What a second rsync would look at, and what a suspicious one would: name, size, time of change, content.
fn listing(folder: &Path) -> BTreeMap<String, (u64, std::time::SystemTime, Vec<u8>)> {
    let mut files = BTreeMap::new();
    for week in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if !week.is_dir() || !week.file_name().unwrap().to_string_lossy().contains("-W") {
            continue;
        }
        for file in fs::read_dir(&week).unwrap().map(|entry| entry.unwrap().path()) {
            // What was merged may be removed at this very moment.
            let (Ok(metadata), Ok(content)) = (fs::metadata(&file), fs::read(&file)) else { continue };
            let name = file.strip_prefix(folder).unwrap().display().to_string();
            files.insert(name, (metadata.len(), metadata.modified().unwrap(), content));
        }
    }
    files
}

fn config(folder: &Path) -> Config {
    Config { durable: Durable::Off, flush_after: Duration::from_secs(3600), ..Config::new(folder) }
}

fn samples(time: i64) -> Vec<Sample> {
    (0..300).map(|i| sample(time + i * 10_000_000_000, Value::F64(((time / HOUR + i) as f64 / 9.0).cos()))).collect()
}

/// Two hours, one segment each, of each day of a week.
fn live(store: &Store, pvs: &[PvId], week: i64) {
    for hour in (0..14).map(|half_day| START + week * WEEK + half_day * DAY / 2) {
        let flushes = store.reader().health().flushes;
        pvs.iter().for_each(|pv| append(store, *pv, &samples(hour)).unwrap());
        store.tick(at(hour + 2 * HOUR));
        wait_until("the head is flushed", || store.reader().health().flushes > flushes);
    }
}

fn wait_for_seal(store: &Store, weeks: usize) {
    wait_until("the weeks are sealed", || {
        let partitions = store.reader().partitions();
        partitions.len() >= weeks && partitions[..weeks].iter().all(|week| week.state == WeekState::Sealed)
    });
}

fn all(store: &Store, pvs: &[PvId]) -> Vec<Vec<Sample>> {
    pvs.iter().map(|pv| read(store, *pv, TimeRange::ALL)).collect()
}

#[test]
fn a_second_copy_of_past_weeks_finds_nothing_to_copy() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(config(folder.path()), at(START)).unwrap();
    let pvs = register(&store, &["A", "B"]).unwrap();
    live(&store, &pvs, 0);
    let before = all(&store, &pvs);
    store.tick(at(START + WEEK + HOUR));
    wait_for_seal(&store, 1);
    assert_eq!(store.reader().health().segments, 1);
    assert_eq!(all(&store, &pvs), before);
    wait_until("the merged files are removed", || listing(folder.path()).len() == 1);
    let copied = listing(folder.path());

    // More life: late samples of the sealed week, another week, a restart, a crash, sixty weeks of silence.
    append(&store, pvs[0], &samples(START + HOUR)).unwrap();
    live(&store, &pvs, 1);
    drop(store);
    let store = Store::open(config(folder.path()), at(START + 2 * WEEK - 2 * HOUR)).unwrap();
    append(&store, pvs[1], &samples(START + 2 * WEEK - HOUR)).unwrap();
    let lived = all(&store, &pvs);
    drop(store);
    let store = Store::open(config(folder.path()), at(START + 62 * WEEK)).unwrap();
    store.tick(at(START + 62 * WEEK + 3 * HOUR));
    wait_for_seal(&store, 2);
    assert_eq!(all(&store, &pvs), lived);
    wait_until("the merged files are removed", || {
        listing(folder.path()).len() == store.reader().health().segments as usize
    });
    let now = listing(folder.path());
    let past: BTreeMap<_, _> = now.iter().filter(|(name, _)| copied.contains_key(*name)).collect();
    assert_eq!(past, copied.iter().collect());
    assert!(now.keys().filter(|name| name.starts_with("1970-W02")).eq(copied.keys()), "{:?}", now.keys());
    let (health, second) = (store.reader().health(), listing(folder.path()));
    assert_eq!(health.problems, Vec::<String>::new());
    store.close(at(START + 62 * WEEK + 4 * HOUR)).unwrap();
    let sealed = |name: &&String| !name.starts_with("1971-W");
    let third = listing(folder.path());
    for name in second.keys().filter(sealed) {
        assert_eq!(second[name], third[name]);
    }
}

#[test]
fn what_is_written_stays_within_three_times_what_was_flushed() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(config(folder.path()), at(START)).unwrap();
    let pvs = register(&store, &["A", "B"]).unwrap();
    for hour in 0..7 * 24 - 1 {
        let flushes = store.reader().health().flushes;
        let time = START + hour * HOUR;
        let samples = samples(time);
        append(&store, pvs[0], &samples[..1]).unwrap(); // the head begins to age here
        pvs.iter().for_each(|pv| append(&store, *pv, &samples[1..]).unwrap());
        store.tick(at(time + HOUR));
        wait_until("the head is flushed", || store.reader().health().flushes > flushes);
        wait_until("what is due is merged", || store.reader().health().weeks_pending == 0);
    }
    store.tick(at(START + WEEK + HOUR));
    wait_for_seal(&store, 1);
    let health = store.reader().health();
    let per_flush = (health.flushed_bytes + health.merged_bytes) as f64 / health.flushed_bytes as f64;
    assert!(per_flush <= 3.0, "written {per_flush:.2} times");
    assert_eq!(health.segments, 1);
}

#[test]
fn two_folders_hold_one_archive() {
    let (near, far) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let name = "long".to_owned();
    let place = Place {
        name,
        folder: far.path().into(),
        after: Duration::from_secs(1),
        megabytes_per_second: Some(1),
        answers_within: Place::ANSWERS_WITHIN,
    };
    let config = Config { places: vec![place], ..config(near.path()) };
    let store = Store::open(config.clone(), at(START)).unwrap();
    let pvs = register(&store, &["A", "B"]).unwrap();
    live(&store, &pvs, 0);
    let before = all(&store, &pvs);
    store.tick(at(START + WEEK + HOUR));
    wait_until("it is moved", || store.reader().health().places[1].segments == 1);
    wait_until("the source is removed", || listing(near.path()).keys().all(|name| name.ends_with(".tables")));
    assert_eq!(listing(far.path()).len(), 1);
    assert_eq!(all(&store, &pvs), before);
    store.close(at(START + WEEK + 2 * HOUR)).unwrap();
    let report = store::check(near.path(), |_| {}).unwrap();
    assert!(report.is_clean() && report.samples == 2 * 14 * 300, "{report:?}");

    let file = far.path().join(listing(far.path()).keys().next().unwrap());
    let mut bytes = fs::read(&file).unwrap();
    bytes[100] ^= 1;
    fs::write(&file, bytes).unwrap();
    let report = store::check(near.path(), |_| {}).unwrap();
    assert_eq!(report.bad_blocks.len(), 1, "{report:?}");
    fs::remove_file(&file).unwrap();
    let report = store::check(near.path(), |_| {}).unwrap();
    assert!(report.problems.iter().any(|problem| problem.contains("the place \"long\"")), "{report:?}");
}

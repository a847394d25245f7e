//! Backup, check and repair of an archive whose weeks lie in several places: a backup holds all of them, also while one moves, and a
//! repair keeps what can be read wherever it lies.

use crate::common;

use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed},
    time::{Duration, Instant},
};

use archive::PvId;
use common::{append, at, read, register, sample, wait_until};
use sample::{Sample, TimeRange, Value};
use store::{
    Config, Durable, Kept, Place, Purpose, Repairing, Store,
    disk::{Disk, RealDisk},
};
use tempfile::TempDir;

const DAY: i64 = 86_400_000_000_000;
/// Samples of a day, three blocks of them.
const COUNT: i64 = 20_000;
/// Bytes of a segment before its first block, and some into that.
const IN_FIRST_BLOCK: usize = 64 + 40;

fn samples(day: i64, count: i64) -> Vec<Sample> {
    let noise = |i: i64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64) >> 12) as f64;
    (0..count).map(|i| sample(day * DAY + i * 1000, Value::F64(noise(i)))).collect()
}

struct Archive {
    near: TempDir,
    medium: TempDir,
    long: TempDir,
    /// So slow, and with so much of it a day, that a move lasts as long as a test wants.
    rate: Option<u32>,
    count: i64,
}

impl Archive {
    fn new(rate: Option<u32>, count: i64) -> Archive {
        let folder = || tempfile::tempdir().unwrap();
        Archive { near: folder(), medium: folder(), long: folder(), rate, count }
    }

    fn open(&self, day: i64) -> Store {
        let place = |name: &str, folder: &TempDir, days: u64| Place {
            name: name.into(),
            folder: folder.path().into(),
            after: Duration::from_secs(days * 86_400),
            megabytes_per_second: self.rate,
            answers_within: Place::ANSWERS_WITHIN,
        };
        let places = vec![place("medium", &self.medium, 7), place("long", &self.long, 21)];
        let durable = Durable::Every(Duration::from_millis(1));
        let config = Config { durable, places, reserve_bytes: 0, ..Config::new(self.near.path()) };
        Store::open(config, at(day * DAY)).unwrap()
    }

    /// The weeks of days 2 and 5 lie in `long` and `medium`, day 27 is near, more is in the log.
    fn filled(&self) -> Store {
        let store = self.open(0);
        let pv = register(&store, &["A"]).unwrap()[0];
        for day in [2, 5, 27] {
            append(&store, pv, &samples(day, self.count)).unwrap();
            let flushes = store.reader().health().flushes;
            store.tick(at(day * DAY + DAY / 2));
            wait_until("the head is flushed", || store.reader().health().flushes > flushes);
        }
        append(&store, pv, &[sample(28 * DAY, Value::F64(1.0))]).unwrap();
        wait_until("all is durable", || store.reader().watermark().durable as i64 == 3 * self.count + 1);
        store
    }
}

fn segments(store: &Store) -> Vec<u64> {
    store.reader().health().places.iter().map(|place| place.segments).collect()
}

fn segment_in(folder: &Path) -> std::path::PathBuf {
    let weeks = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let files =
        weeks.flat_map(|week| fs::read_dir(week).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>());
    files.into_iter().find(|path| path.extension().is_some_and(|e| e == "seg")).expect("there is a segment")
}

/// Opens a backup, which knows of no places.
fn expect_whole(backup: &Path, archive: &Archive) {
    let report = store::check(backup, |_| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
    let store =
        Store::open(Config { reserve_bytes: 0, purpose: Purpose::Read, ..Config::new(backup) }, at(29 * DAY)).unwrap();
    assert_eq!(store.reader().health().problems, Vec::<String>::new());
    assert_eq!(read(&store, PvId(0), TimeRange::ALL).len() as i64, 3 * archive.count + 1);
}

#[test]
fn a_backup_holds_what_lies_in_all_places() {
    let (archive, backup) = (Archive::new(None, COUNT), tempfile::tempdir().unwrap());
    let store = archive.filled();
    wait_until("two weeks are moved", || segments(&store) == [1, 1, 1]);
    let first = store::backup(archive.near.path(), backup.path(), Kept::Trusted, |_| {}).unwrap();
    assert_eq!((first.copied, first.kept), (3, 0));
    expect_whole(backup.path(), &archive);
    store.tick(at(40 * DAY));
    wait_until("more is moved", || segments(&store) == [1, 1, 2]);
    let second = store::backup(archive.near.path(), backup.path(), Kept::Trusted, |_| {}).unwrap();
    assert!(second.kept >= 2 && second.copied <= 1, "where a segment lies makes no difference: {second:?}");
    expect_whole(backup.path(), &archive);
    assert!(store::check(archive.near.path(), |_| {}).unwrap().is_clean());
}

#[test]
fn a_backup_is_whole_while_segments_move() {
    let (archive, backup) = (Archive::new(Some(1), 8 * COUNT), tempfile::tempdir().unwrap());
    let store = archive.filled();
    let mut under_way = 0;
    // On a busy machine the first segments may be where they belong before the first backup begins.
    for (day, places) in [(28, [1, 1, 1]), (40, [1, 1, 2])] {
        store.tick(at(day * DAY));
        while segments(&store) != places {
            let works = || store.reader().health().work.iter().any(|work| work.doing == "moving");
            let mut moved = works();
            store::backup(archive.near.path(), backup.path(), Kept::Trusted, |_| moved |= works()).unwrap();
            under_way += usize::from(moved);
            expect_whole(backup.path(), &archive);
            fs::remove_dir_all(backup.path()).unwrap(); // so that everything is copied again, from wherever it lies by now
        }
    }
    assert!(under_way > 0, "no backup was taken while a segment moved");
    store::backup(archive.near.path(), backup.path(), Kept::Trusted, |_| {}).unwrap();
    expect_whole(backup.path(), &archive);
}

#[test]
fn what_is_damaged_in_a_place_is_repaired_and_keeps_every_readable_block() {
    let archive = Archive::new(None, COUNT);
    let store = archive.filled();
    wait_until("two weeks are moved", || segments(&store) == [1, 1, 1]);
    store.close(at(28 * DAY + 1)).unwrap();
    let (near, far) = (archive.near.path(), segment_in(archive.long.path()));
    let tables = near.join(far.strip_prefix(archive.long.path()).unwrap()).with_extension("tables");
    let flip = |path: &Path, place: usize| {
        let mut bytes = fs::read(path).unwrap();
        bytes[place] ^= 0x10;
        fs::write(path, bytes).unwrap();
    };
    let repair = |how| store::repair(near, how, at(29 * DAY), |_| {}).unwrap();
    assert_eq!(repair(Repairing::Do).steps, Vec::<String>::new(), "nothing is damaged yet");

    flip(&tables, 5);
    assert!(!store::check(near, |_| {}).unwrap().is_clean());
    assert_eq!(repair(Repairing::Do).steps.len(), 1);
    assert!(store::check(near, |_| {}).unwrap().is_clean());

    flip(&far, IN_FIRST_BLOCK);
    let before = fs::read(&far).unwrap();
    assert_eq!(repair(Repairing::Look).lost_blocks, 1);
    assert_eq!(fs::read(&far).unwrap(), before, "a look changes nothing");
    let done = repair(Repairing::Do);
    assert_eq!((done.lost_blocks, done.kept_blocks), (1, 2), "{done:?}");
    let report = store::check(near, |_| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert!(fs::read_dir(archive.long.path().join("quarantine")).unwrap().count() == 1, "nothing was deleted");
    let store = archive.open(29);
    wait_until("what was kept is moved again", || segments(&store)[0] <= 2 && segments(&store)[2] == 1);
    assert_eq!(read(&store, PvId(0), TimeRange::ALL).len(), 3 * COUNT as usize + 1 - 8192);
}

#[test]
fn a_place_that_is_not_there_is_told_and_left_alone() {
    let archive = Archive::new(None, COUNT);
    let store = archive.filled();
    wait_until("two weeks are moved", || segments(&store) == [1, 1, 1]);
    drop(store);
    // A disk of all temporary folders, because only disks rename.
    let (all, name) = (RealDisk::new(archive.long.path().parent().unwrap()), archive.long.path().file_name().unwrap());
    let (there, away) = (name.to_string_lossy().into_owned(), format!("{}-away", name.to_string_lossy()));
    all.rename(&there, &away).unwrap();
    let done = store::repair(archive.near.path(), Repairing::Do, at(29 * DAY), |_| {}).unwrap();
    assert!(done.steps.len() == 1 && done.steps[0].contains("is it mounted?"), "{done:?}");
    let backup = tempfile::tempdir().unwrap();
    let back_up = || store::backup(archive.near.path(), backup.path(), Kept::Trusted, |_| {});
    let refused = back_up().unwrap_err().to_string();
    assert!(refused.contains("\"long\"") && refused.contains("mount it"), "{refused}");
    all.rename(&away, &there).unwrap();
    back_up().unwrap();
    all.rename(&there, &away).unwrap();
    let kept = back_up().unwrap();
    assert_eq!((kept.copied, kept.kept, &*kept.damage), (0, 3, &[][..]), "the backup has what is away");
    assert!(store::check(backup.path(), |_| {}).unwrap().is_clean());
    all.rename(&away, &there).unwrap();
    assert!(store::check(archive.near.path(), |_| {}).unwrap().is_clean());

    fs::remove_file(archive.near.path().join("catalogue.redb")).unwrap();
    let done = store::repair(archive.near.path(), Repairing::Look, at(29 * DAY), |_| {}).unwrap();
    let told = done.steps.iter().filter(|step| step.contains("belongs to a segment in another place"));
    assert_eq!(told.count(), 2, "{done:?}");
}

/// Between the look at the catalogue and that at the folders segments are merged and moved.
#[test]
fn a_check_beside_merges_and_moves_says_nothing_of_what_vanishes() {
    let archive = Archive::new(None, 200);
    let store = archive.open(0);
    let pv = register(&store, &["A"]).unwrap()[0];
    let (done, days) = (AtomicBool::new(false), AtomicI64::new(0));
    std::thread::scope(|scope| {
        let recording = scope.spawn(|| {
            let mut day = 0;
            while !done.load(Relaxed) {
                append(&store, pv, &samples(day, 200)).unwrap();
                let flushes = store.reader().health().flushes;
                store.tick(at(day * DAY + DAY / 2));
                wait_until("the head is flushed", || store.reader().health().flushes > flushes);
                day += 1;
                days.store(day, Relaxed);
            }
        });
        // As long as it takes until there was something to vanish, on a busy machine too.
        let (least, most) = (Instant::now() + Duration::from_secs(6), Instant::now() + Duration::from_secs(60));
        while Instant::now() < least || (days.load(Relaxed) <= 60 && Instant::now() < most) {
            let report = store::check(archive.near.path(), |_| {}).unwrap();
            done.store(!report.is_clean(), Relaxed);
            assert!(report.is_clean(), "{report:?}");
        }
        done.store(true, Relaxed);
        recording.join().unwrap();
    });
    let days = days.into_inner();
    assert!(days > 60 && segments(&store)[2] > 3, "there was something to vanish: {days} days, {:?}", segments(&store));
}

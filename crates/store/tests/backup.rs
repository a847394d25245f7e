//! Backups: taken beside a running archiver they open as archives and hold all that was durable when they began; a later one
//! copies only what is new, one that was interrupted goes on, and nobody else's folder is touched.

mod common;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Duration,
};

use common::{append, at, read, register, sample, wait_until};
use sample::{PvId, Sample, TimeRange, Value};
use store::{Backup, Config, Durable, Error, Store};

fn config(folder: &Path) -> Config {
    Config { durable: Durable::Every(Duration::from_millis(1)), head_bytes_max: 64 << 10, ..Config::new(folder) }
}

fn open(folder: &Path) -> (Store, PvId) {
    let store = Store::open(config(folder), at(0)).unwrap();
    let pv = register(&store, &["A"]).unwrap()[0];
    (store, pv)
}

fn samples(from: i64, count: i64) -> Vec<Sample> {
    (from..from + count).map(|i| sample(i * 10, Value::I64(i.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64)))).collect()
}

fn fill(store: &Store, pv: PvId, from: i64) {
    append(store, pv, &samples(from, 1000)).unwrap();
    let flushes = store.reader().health().flushes;
    store.tick(at((from + 1000) * 1_000_000_000));
    wait_until("it is flushed", || store.reader().health().flushes > flushes);
}

fn back_up(from: &Path, to: &Path) -> Backup {
    store::backup(from, to, |_| {}).unwrap()
}

fn segments(folder: &Path) -> Vec<PathBuf> {
    let weeks = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let files =
        weeks.flat_map(|week| fs::read_dir(week).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>());
    let mut segments: Vec<_> = files.filter(|path| path.extension().is_some_and(|e| e == "seg")).collect();
    segments.sort();
    segments
}

#[test]
fn a_backup_beside_a_busy_archiver_holds_all_that_was_durable_when_it_began() {
    let (archive, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (store, pv) = open(archive.path());
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _end = SetOnDrop(&done); // also when something below panics
        scope.spawn(|| {
            let mut next = 0;
            while !done.load(Relaxed) {
                match append(&store, pv, &samples(next, 100)) {
                    Ok(()) => next += 100,
                    Err(Error::Busy) => {}
                    Err(error) => panic!("{error}"),
                }
                register(&store, &[&format!("MORE:{next}")]).unwrap();
                std::thread::yield_now();
            }
        });
        for round in 0..6 {
            let flushes = store.reader().health().flushes;
            wait_until("it is flushed", || store.reader().health().flushes > flushes);
            let durable = store.reader().watermark().durable;
            back_up(archive.path(), copy.path());
            let report = store::check(copy.path(), |_| {}).unwrap();
            assert!(report.is_clean(), "{report:?}");
            let opened = Store::open(config(copy.path()), at(1)).unwrap();
            let got = read(&opened, opened.reader().find("A").unwrap().id, TimeRange::ALL);
            assert!(got.len() as u64 >= durable, "round {round}: {} of {durable}", got.len());
            assert!(got == samples(0, got.len() as i64), "round {round}");
            assert_eq!(opened.reader().health().problems, Vec::<String>::new(), "round {round}");
        }
    });
}

/// Ends the thread beside a test, whatever the end of the test is.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

#[test]
fn a_second_backup_copies_only_what_is_new() {
    let (archive, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (store, pv) = open(archive.path());
    (0..3).for_each(|part| fill(&store, pv, part * 1000));
    let first = back_up(archive.path(), copy.path());
    assert_eq!((first.copied, first.kept), (3, 0));
    fill(&store, pv, 3000);
    let written = |path: &PathBuf| fs::metadata(path).unwrap().modified().unwrap();
    let before: Vec<_> = segments(copy.path()).iter().map(written).collect();
    let second = back_up(archive.path(), copy.path());
    assert_eq!((second.copied, second.kept), (1, 3));
    assert!(second.copied_bytes < first.copied_bytes, "{second:?}");
    assert_eq!(segments(copy.path()).iter().map(written).collect::<Vec<_>>()[..3], before, "they were not touched");

    // What was merged meanwhile goes from the backup, too.
    store.tick(at(90_000_000_000_000));
    wait_until("the day is merged", || store.reader().health().segments == 1);
    wait_until("the files are gone", || segments(archive.path()).len() == 1);
    let third = back_up(archive.path(), copy.path());
    assert_eq!((third.copied, third.removed), (1, 4));
    assert_eq!(segments(copy.path()).len(), 1);
    drop(store);
    let opened = Store::open(config(copy.path()), at(1)).unwrap();
    assert_eq!(read(&opened, pv, TimeRange::ALL), samples(0, 4000));
}

#[test]
fn a_half_copied_file_is_continued_or_copied_anew_and_never_taken_for_whole() {
    let (archive, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (store, pv) = open(archive.path());
    (0..3).for_each(|part| fill(&store, pv, part * 1000));
    back_up(archive.path(), copy.path());
    let files = segments(copy.path());
    let half = |path: &Path, spoilt: bool| {
        let mut bytes = fs::read(path).unwrap();
        bytes.truncate(bytes.len() / 2);
        bytes[100] ^= u8::from(spoilt);
        fs::write(format!("{}.part", path.display()), bytes).unwrap();
        fs::remove_file(path).unwrap();
    };
    half(&files[0], false);
    half(&files[1], true);
    let third = fs::read(&files[2]).unwrap();
    fs::write(&files[2], &third[..third.len() - 1]).unwrap(); // under its final name, but not whole
    let again = back_up(archive.path(), copy.path());
    assert_eq!((again.copied, again.kept), (3, 0));
    assert!(store::check(copy.path(), |_| {}).unwrap().is_clean());
    for (here, there) in segments(copy.path()).iter().zip(segments(archive.path())) {
        assert_eq!(fs::read(here).unwrap(), fs::read(there).unwrap());
    }
    let week = files[0].parent().unwrap();
    assert_eq!(fs::read_dir(week).unwrap().count(), 3, "nothing half-copied is left");
}

#[test]
fn a_folder_of_something_else_is_refused_and_left_as_it_is() {
    let (archive, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (store, pv) = open(archive.path());
    fill(&store, pv, 0);
    let refused = |to: &Path| store::backup(archive.path(), to, |_| {}).unwrap_err().to_string();
    fs::write(other.path().join("thesis.tex"), "precious").unwrap();
    assert!(refused(other.path()).contains("thesis.tex"));
    assert_eq!(fs::read_dir(other.path()).unwrap().count(), 1);
    assert!(refused(&archive.path().join("backup")).contains("lie in each other"));

    let (second, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    drop(open(second.path()));
    back_up(second.path(), copy.path());
    let error = refused(copy.path());
    assert!(error.contains("is a backup of") && error.contains(&*second.path().to_string_lossy()), "{error}");
    let nothing = store::backup(other.path(), copy.path(), |_| {}).unwrap_err();
    assert!(matches!(nothing, Error::NotAStore { .. }), "{nothing}");
}

//! Backups: taken beside a running archiver they open as archives and hold all that was durable when they began; a later one
//! copies only what is new, one that was interrupted goes on, and nobody else's folder is touched. What is damaged in the archive
//! never takes the place of what is whole in the backup, and a backup is no archive before it was taken over.

#![expect(clippy::disallowed_methods, reason = "an operator renames folders and files by other means than the store's")]

use crate::common;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Duration,
};

use archive::{Action, PvId};
use common::{append, at, by, read, register, sample, wait_until};
use sample::{Sample, TimeRange, Value};
use store::{Backup, Config, Durable, Error, Kept, Purpose, Store};

fn config(folder: &Path) -> Config {
    Config { durable: Durable::Every(Duration::from_millis(1)), head_bytes_max: 64 << 10, ..Config::new(folder) }
}

fn open(folder: &Path) -> (Store, PvId) {
    let store = Store::open(config(folder), at(0)).unwrap();
    let pv = register(&store, &["A"]).unwrap()[0];
    (store, pv)
}

/// A backup, which nobody records in.
fn open_to_read(folder: &Path) -> Store {
    Store::open(Config { purpose: Purpose::Read, ..config(folder) }, at(1)).unwrap()
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
    store::backup(from, to, Kept::Trusted, |_| {}).unwrap()
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
            let opened = open_to_read(copy.path());
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
    let opened = open_to_read(copy.path());
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
    let refused = |to: &Path| store::backup(archive.path(), to, Kept::Trusted, |_| {}).unwrap_err().to_string();
    fs::write(other.path().join("thesis.tex"), "precious").unwrap();
    assert!(refused(other.path()).contains("thesis.tex"));
    assert_eq!(fs::read_dir(other.path()).unwrap().count(), 1);
    assert!(refused(&archive.path().join("backup")).contains("lie in each other"));

    let (second, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    drop(open(second.path()));
    back_up(second.path(), copy.path());
    let error = refused(copy.path());
    assert!(error.contains("is a backup of") && error.contains(&*second.path().to_string_lossy()), "{error}");
    let nothing = store::backup(other.path(), copy.path(), Kept::Trusted, |_| {}).unwrap_err();
    assert!(matches!(nothing, Error::NotAStore { .. }), "{nothing}");
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

fn is_whole(folder: &Path) -> bool {
    store::check(folder, |_| {}).unwrap().is_clean()
}

#[test]
fn what_is_damaged_in_the_archive_never_takes_the_place_of_what_is_whole_in_the_backup() {
    let (archive, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (store, pv) = open(archive.path());
    (0..2).for_each(|part| fill(&store, pv, part * 1000));
    back_up(archive.path(), copy.path());
    let (damaged, good) = (&segments(archive.path())[0], &segments(copy.path())[0]);
    let whole = fs::read(good).unwrap();
    fill(&store, pv, 2000);
    let mut news = 1;
    for place in [3, 20, 64 + 40, whole.len() / 2, whole.len() - 200, whole.len() - 30, whole.len() - 1] {
        flip(damaged, place);
        let done = back_up(archive.path(), copy.path());
        assert_eq!((done.copied, done.kept), (std::mem::take(&mut news), 3 - done.copied), "what is new is copied");
        let key = "000000000000.seg";
        assert!(!done.damage.is_empty(), "byte {place}");
        assert!(done.damage.iter().all(|one| one.contains(key) && one.contains("has it whole")), "{done:?}");
        assert!(fs::read(good).unwrap() == whole, "byte {place}");
        assert!(is_whole(copy.path()), "byte {place}");
        let again = back_up(archive.path(), copy.path());
        assert_eq!((again.damage, again.copied), (done.damage, 0), "it is told as long as it is so");
        flip(damaged, place);
    }
    assert!(fs::metadata(damaged).unwrap().len() < 16 << 10, "each byte of it is compared");
    // A file that is cut off is none that the catalogue names.
    fs::write(damaged, &whole[..whole.len() - 1]).unwrap();
    let cut = back_up(archive.path(), copy.path());
    assert!(!cut.damage.is_empty() && fs::read(good).unwrap() == whole, "{cut:?}");
    fs::write(damaged, &whole).unwrap();
    assert_eq!(back_up(archive.path(), copy.path()).damage, Vec::<String>::new());
    drop(store);
    assert_eq!(read(&open_to_read(copy.path()), pv, TimeRange::ALL), samples(0, 3000));
}

/// A power cut may leave a file without a byte; a pipe has none either, and must not hold up whoever opens it.
#[test]
fn a_segment_that_is_empty_or_a_pipe_does_not_end_the_backup() {
    let pipe = |path: &Path| assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    let empty = |path: &Path| fs::write(path, b"").unwrap();
    for spoil in [&empty as &dyn Fn(&Path), &pipe] {
        let (archive, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (store, pv) = open(archive.path());
        (0..2).for_each(|part| fill(&store, pv, part * 1000));
        let lost = &segments(archive.path())[0];
        let whole = fs::read(lost).unwrap();
        fs::remove_file(lost).unwrap();
        spoil(lost);
        let done = back_up(archive.path(), copy.path());
        assert_eq!((done.copied, done.damage.len()), (1, 1), "{done:?}");
        assert!(done.damage[0].contains("does not have it whole"), "{done:?}");
        fs::remove_file(lost).unwrap();
        fs::write(lost, &whole).unwrap();
        assert_eq!(back_up(archive.path(), copy.path()).damage, Vec::<String>::new());
        fs::remove_file(lost).unwrap();
        spoil(lost);
        let kept = back_up(archive.path(), copy.path());
        assert!(kept.damage.len() == 1 && kept.damage[0].contains("has it whole, as it was"), "{kept:?}");
        assert!(is_whole(copy.path()));
        drop(store);
    }
}

#[test]
fn what_is_damaged_and_in_no_backup_is_copied_as_it_is_and_replaced_when_it_is_whole() {
    let (archive, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (store, pv) = open(archive.path());
    (0..2).for_each(|part| fill(&store, pv, part * 1000));
    let damaged = &segments(archive.path())[0];
    flip(damaged, 64 + 40);
    let done = back_up(archive.path(), copy.path());
    assert_eq!((done.copied, done.damage.len()), (2, 1), "{done:?}");
    let told = &done.damage[0];
    for word in ["000000000000.seg, byte 64", "PV A from ", "copied as it is"] {
        assert!(told.contains(word), "{told}");
    }
    let report = store::check(copy.path(), |_| {}).unwrap();
    assert_eq!((report.bad_blocks.len(), report.problems.len()), (1, 0), "the catalogue and the files fit: {report:?}");
    let again = back_up(archive.path(), copy.path());
    assert!(again.damage.len() == 1 && again.damage[0].contains("damaged too"), "{again:?}");
    flip(damaged, 64 + 40);
    let healed = back_up(archive.path(), copy.path());
    assert_eq!((healed.copied, &*healed.damage), (1, &[][..]));
    assert!(is_whole(copy.path()));
}

#[test]
fn what_was_merged_into_a_damaged_file_does_not_go_from_the_backup() {
    let (archive, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (store, pv) = open(archive.path());
    (0..3).for_each(|part| fill(&store, pv, part * 1000));
    back_up(archive.path(), copy.path());
    let mut before: Vec<Vec<u8>> = segments(copy.path()).iter().map(|path| fs::read(path).unwrap()).collect();
    store.tick(at(90_000_000_000_000));
    wait_until("the day is merged", || store.reader().health().segments == 1);
    wait_until("the files are gone", || segments(archive.path()).len() == 1);
    flip(&segments(archive.path())[0], 64 + 40);
    let done = back_up(archive.path(), copy.path());
    assert_eq!((done.copied, done.removed, done.set_aside), (1, 0, 3), "{done:?}");
    let aside = fs::read_dir(copy.path().join("quarantine")).unwrap();
    let mut aside: Vec<Vec<u8>> = aside.map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
    before.sort();
    aside.sort();
    assert!(aside == before);
}

#[test]
fn what_rots_in_the_backup_is_found_and_copied_anew() {
    let (archive, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = Store::open(Config { head_bytes_max: 8 << 20, ..config(archive.path()) }, at(0)).unwrap();
    let pv = register(&store, &["A"]).unwrap()[0];
    samples(0, 20_000).chunks(2000).for_each(|some| append(&store, pv, some).unwrap());
    store.tick(at(1_000_000_000_000));
    wait_until("it is flushed", || store.reader().health().flushes > 0);
    back_up(archive.path(), copy.path());
    let files = segments(copy.path());
    assert!(fs::metadata(&files[0]).unwrap().len() > 64 << 10, "it has a middle that is not compared");
    flip(&files[0], 100);
    assert_eq!(back_up(archive.path(), copy.path()).copied, 0, "what was verified once is not read again");
    assert!(!is_whole(copy.path()));
    let verified = store::backup(archive.path(), copy.path(), Kept::Verified, |_| {}).unwrap();
    assert_eq!((verified.copied, &*verified.damage), (1, &[][..]));
    assert!(is_whole(copy.path()));
    // What an older program has copied was never verified: that is done once.
    flip(&files[0], 100);
    fs::remove_file(copy.path().join("backup-state")).unwrap();
    assert_eq!(back_up(archive.path(), copy.path()).copied, 1);
    assert!(is_whole(copy.path()));
}

#[test]
fn an_archive_that_was_begun_anew_or_put_back_from_something_older_removes_nothing_from_its_backup() {
    let (folder, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (archive, older) = (folder.path().join("archive"), folder.path().join("older"));
    let (store, pv) = open(&archive);
    fill(&store, pv, 0);
    back_up(&archive, &older);
    fill(&store, pv, 1000);
    drop(store);
    for state in ["known", "not known, as in a backup of an older program"] {
        back_up(&archive, copy.path());
        let kept = segments(copy.path());
        let refused = |why: &str| {
            let remembered = copy.path().join("backup-state");
            if state != "known" && remembered.exists() {
                fs::remove_file(&remembered).unwrap();
            }
            let error = store::backup(&archive, copy.path(), Kept::Trusted, |_| {}).unwrap_err().to_string();
            assert!(error.contains("is not replaced") && error.contains(why), "{state}: {error}");
            assert_eq!(segments(copy.path()), kept);
            assert!(is_whole(copy.path()));
        };
        let lost = folder.path().join("lost");
        fs::rename(&archive, &lost).unwrap();
        drop(Store::open(config(&archive), at(77)).unwrap());
        refused(if state == "known" { "of another archive" } else { "was begun anew" });
        fs::remove_dir_all(&archive).unwrap();
        fs::rename(&older, &archive).unwrap();
        refused("older than its backup");
        fs::rename(&archive, &older).unwrap();
        fs::rename(&lost, &archive).unwrap();
        back_up(&archive, copy.path());
    }
}

#[test]
fn nobody_records_in_a_backup_before_it_is_taken_over_and_then_none_is_made_there() {
    let (archive, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (store, pv) = open(archive.path());
    fill(&store, pv, 0);
    append(&store, pv, &samples(1000, 500)).unwrap();
    wait_until("all is durable", || store.reader().watermark().durable == 1500);
    back_up(archive.path(), copy.path());
    let refused = Store::open(config(copy.path()), at(1)).unwrap_err().to_string();
    assert!(refused.contains("is a backup of") && refused.contains("pvark take-over --data"), "{refused}");
    assert_eq!(read(&open_to_read(copy.path()), pv, TimeRange::ALL), samples(0, 1500));
    back_up(archive.path(), copy.path());

    let reading = open_to_read(copy.path());
    assert!(matches!(store::take_over(copy.path(), &by(5)), Err(Error::Locked { .. })));
    assert!(matches!(store::backup(archive.path(), copy.path(), Kept::Trusted, |_| {}), Err(Error::Locked { .. })));
    drop(reading);
    let segment = &segments(copy.path())[0];
    let away = copy.path().join("away");
    fs::rename(segment, &away).unwrap();
    let torn = store::take_over(copy.path(), &by(5)).unwrap_err().to_string();
    assert!(torn.contains("1 of its 1 segments"), "{torn}");
    fs::rename(&away, segment).unwrap();

    let of = store::take_over(copy.path(), &by(5)).unwrap();
    // As text: a mark with a slash at its end would not be the one that programs of before wrote, whose backups would be refused.
    assert_eq!(of, archive.path().canonicalize().unwrap().display().to_string());
    let again = store::take_over(copy.path(), &by(6)).unwrap_err().to_string();
    assert!(again.contains("is no backup"), "{again}");
    let own = Store::open(config(copy.path()), at(20_000)).unwrap();
    let audit = own.reader().audit(u64::MAX, 1).unwrap();
    assert_eq!((audit[0].action, &*audit[0].detail), (Action::TakenOver, &*format!("from the backup of {of}")));
    append(&own, pv, &samples(2000, 10)).unwrap();
    drop(own);
    let refused = store::backup(archive.path(), copy.path(), Kept::Trusted, |_| {}).unwrap_err().to_string();
    assert!(refused.contains("is no backup of an archive"), "{refused}");
    let own = Store::open(config(copy.path()), at(30_000)).unwrap();
    assert_eq!(read(&own, pv, TimeRange::ALL), [samples(0, 1500), samples(2000, 10)].concat());
}

/// The catalogue has its new name and the log that belongs to it has not; or the catalogue has not, and that log is worth nothing.
#[test]
fn a_backup_that_was_killed_at_its_end_has_the_log_of_its_catalogue() {
    let (archive, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (store, pv) = open(archive.path());
    append(&store, pv, &samples(0, 500)).unwrap();
    wait_until("all is durable", || store.reader().watermark().durable == 500);
    back_up(archive.path(), copy.path());
    let log = common::only(copy.path(), "log");
    let new = PathBuf::from(format!("{}.new", log.display()));
    fs::rename(&log, &new).unwrap();
    store::take_over(copy.path(), &by(1)).unwrap();
    assert!(log.exists() && !new.exists());
    let own = Store::open(config(copy.path()), at(1)).unwrap();
    assert_eq!(read(&own, pv, TimeRange::ALL), samples(0, 500));
    drop(own);

    let other = tempfile::tempdir().unwrap();
    back_up(archive.path(), other.path());
    let log = common::only(other.path(), "log");
    let whole = fs::read(&log).unwrap();
    fs::write(format!("{}.new", log.display()), &whole[..100]).unwrap();
    fs::write(other.path().join("catalogue.redb.part"), "half").unwrap();
    store::take_over(other.path(), &by(1)).unwrap();
    assert_eq!((fs::read(&log).unwrap(), other.path().join("catalogue.redb.part").exists()), (whole, false));
}

#[test]
fn what_is_damaged_in_the_log_is_taken_from_the_backup_before() {
    let (archive, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (store, pv) = open(archive.path());
    append(&store, pv, &samples(0, 500)).unwrap();
    wait_until("it is durable", || store.reader().watermark().durable == 500);
    append(&store, pv, &samples(500, 500)).unwrap();
    wait_until("all is durable", || store.reader().watermark().durable == 1000);
    drop(store);
    let log = common::only(archive.path(), "log");
    let whole = fs::read(&log).unwrap();
    let outcome = |one: &String| one.split("; ").last().unwrap().to_owned();
    for (first, expected) in [(true, "the backup has them whole"), (false, "they were copied as they are")] {
        let copy = copy.path().join(expected.replace(' ', "-"));
        if first {
            assert_eq!(back_up(archive.path(), &copy).damage, Vec::<String>::new());
        }
        flip(&log, 100);
        let done = back_up(archive.path(), &copy);
        let told: Vec<String> = done.damage.iter().map(outcome).collect();
        assert_eq!(told, [expected], "{done:?}");
        assert_eq!(is_whole(&copy), first);
        flip(&log, 100);
    }
    assert_eq!(fs::read(&log).unwrap(), whole);
}

#[test]
fn a_folder_within_the_archive_is_refused_whatever_it_is_called() {
    let (archive, links) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    drop(open(archive.path()));
    let link = links.path().join("link");
    std::os::unix::fs::symlink(archive.path(), &link).unwrap();
    for to in [link.clone(), link.join("below"), archive.path().join("a/b"), archive.path().parent().unwrap().into()] {
        let error = store::backup(archive.path(), &to, Kept::Trusted, |_| {}).unwrap_err().to_string();
        assert!(error.contains("lie in each other"), "{}: {error}", to.display());
    }
    assert!(!archive.path().join("a").exists() && !archive.path().join("below").exists());
}

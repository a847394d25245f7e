//! The folder of a running archive is moved, deleted or replaced, as a whole or in parts: nothing is written elsewhere, nothing is called
//! durable that is not where the path leads, what arrives waits in memory, and all goes on when the folder is back.

#![expect(clippy::disallowed_methods, reason = "an operator renames folders and files by other means than the store's")]

use crate::common;
use crate::sim;

use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

use archive::{PvId, Record, Room};
use common::{append, at, by, only, read, register, sample, wait_until};
use sample::{Batch, Sample, TimeRange, Value};
use sim::{Crash, SimDisk};
use store::{
    Config, Durable, Error, Repairing, Store,
    disk::{Disk, Found, Identity, Objects},
};

const SECOND: i64 = 1_000_000_000;

fn config(folder: &Path) -> Config {
    Config { durable: Durable::Every(Duration::from_millis(1)), reserve_bytes: 0, ..Config::new(folder) }
}

fn samples(range: std::ops::Range<i64>) -> Vec<Sample> {
    range.map(|i| sample(i, Value::F64(i as f64))).collect()
}

/// An archive in a folder that can be moved.
struct Moving {
    _above: tempfile::TempDir,
    data: PathBuf,
    moved: PathBuf,
    store: Option<Store>,
    pv: PvId,
}

impl Moving {
    /// With ten durable samples.
    fn new() -> Moving {
        let above = tempfile::tempdir().unwrap();
        let (data, moved) = (above.path().join("data"), above.path().join("moved"));
        let store = Store::open(config(&data), at(0)).unwrap();
        let pv = register(&store, &["A"]).unwrap()[0];
        let moving = Moving { _above: above, data, moved, store: Some(store), pv };
        append(moving.store(), pv, &samples(0..10)).unwrap();
        moving.wait_durable(10);
        moving
    }

    fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    fn move_away(&self) {
        fs::rename(&self.data, &self.moved).unwrap();
    }

    fn move_back(&self) {
        fs::rename(&self.moved, &self.data).unwrap();
    }

    fn durable(&self) -> u64 {
        self.store().reader().watermark().durable
    }

    /// The archiver's clock goes on meanwhile.
    fn wait_durable(&self, samples: u64) {
        wait_until(&format!("{samples} samples are durable"), || {
            self.store().tick(at(SECOND));
            self.durable() == samples
        });
    }

    fn wait_told(&self, text: &str) {
        let problems = || self.store().reader().health().problems;
        wait_until(&format!("it is told: {text}"), || {
            self.store().tick(at(SECOND));
            problems().iter().any(|problem| problem.contains(text) && problem.contains("nothing is written"))
        });
    }

    /// Ten more samples come while the folder is away; none of them is durable.
    fn append_ten_away(&self, text: &str) {
        append(self.store(), self.pv, &samples(10..20)).unwrap();
        self.wait_told(text);
        assert_eq!(self.durable(), 10);
        assert_eq!(read(self.store(), self.pv, TimeRange::ALL), samples(0..20), "the newest can be read");
    }

    /// After a return all is durable, more is taken, and the next start finds it once.
    fn goes_on(mut self) {
        self.wait_durable(20);
        // What waited is safe a moment before more is taken.
        wait_until("more is taken", || append(self.store(), self.pv, &samples(20..30)).is_ok());
        self.wait_durable(30);
        assert_eq!(self.store().reader().health().problems, Vec::<String>::new());
        self.store = None; // as a crash
        self.finds(&self.data.clone(), 30);
        assert!(store::check(&self.data, |_| {}).unwrap().is_clean());
    }

    fn finds(&self, folder: &Path, count: i64) {
        let store = Store::open(config(folder), at(2 * SECOND)).unwrap();
        assert_eq!(read(&store, self.pv, TimeRange::ALL), samples(0..count));
        store.close(at(3 * SECOND)).unwrap();
    }

    /// Closing fails, and says how many samples are not known to be safe.
    fn is_lost_at_the_end(&mut self, count: u64) {
        let error = self.store.take().unwrap().close(at(2 * SECOND)).unwrap_err();
        assert!(matches!(error, Error::Lost { samples, .. } if samples == count), "{error}");
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(from, to).unwrap();
        }
    }
}

/// Every file with its bytes.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.path() {
            path if path.is_dir() => all.extend(files(&path)),
            path => all.push((path.clone(), fs::read(path).unwrap())),
        }
    }
    all.sort();
    all
}

#[test]
fn a_folder_that_is_moved_away_and_back_has_every_sample_once() {
    let moving = Moving::new();
    moving.move_away();
    moving.append_ten_away("is gone");
    assert!(!moving.data.exists(), "nothing is made at the old path");
    moving.move_back();
    moving.goes_on();
}

#[test]
fn an_import_that_finds_the_folder_away_may_come_again_when_it_is_back() {
    let moving = Moving::new();
    moving.move_away();
    let part = |name: &str| {
        let mut import = moving.store().writer().import("i", &by(1));
        import.append(&[(moving.pv, Record::Samples(Batch::of(&sample(-5, Value::F64(1.0)))))])?;
        import.finish_part(name)
    };
    let refused = part("1").unwrap_err();
    assert!(refused.is_away(), "{refused:?}");
    moving.move_back();
    wait_until("it is back", || part("1").is_ok());
    let first = read(moving.store(), moving.pv, TimeRange::ALL).remove(0);
    assert_eq!(first.time, at(-5));
}

#[test]
fn it_is_told_where_nothing_arrives_too() {
    let moving = Moving::new();
    moving.move_away();
    moving.wait_told("is gone");
    assert!(matches!(register(moving.store(), &["B"]), Err(Error::Away { .. })));
    assert!(!moving.data.exists());
    moving.move_back();
    wait_until("it is back", || register(moving.store(), &["B"]).is_ok());
}

#[test]
fn a_folder_that_does_not_come_back_is_an_error_at_the_end() {
    let mut moving = Moving::new();
    moving.move_away();
    moving.append_ten_away("is gone");
    moving.is_lost_at_the_end(10);
    assert!(!moving.data.exists());
    // What was written before it was noticed may be there, too.
    let store = Store::open(config(&moving.moved), at(2 * SECOND)).unwrap();
    let found = read(&store, moving.pv, TimeRange::ALL);
    assert!(found == samples(0..10) || found == samples(0..20), "{found:?}");
}

#[test]
fn a_folder_that_comes_back_at_the_end_has_all() {
    let mut moving = Moving::new();
    moving.move_away();
    moving.append_ten_away("is gone");
    let store = moving.store.take().unwrap();
    let closing = std::thread::spawn(move || store.close(at(2 * SECOND)));
    moving.move_back();
    closing.join().unwrap().unwrap();
    moving.finds(&moving.data.clone(), 20);
}

#[test]
fn a_folder_that_is_deleted_is_not_made_anew() {
    let mut moving = Moving::new();
    fs::remove_dir_all(&moving.data).unwrap();
    append(moving.store(), moving.pv, &samples(10..20)).unwrap();
    moving.wait_told("is gone");
    assert_eq!(moving.durable(), 10);
    moving.is_lost_at_the_end(10);
    assert!(!moving.data.exists());
}

#[test]
fn what_does_not_fit_into_memory_is_refused_while_the_folder_is_away() {
    let above = tempfile::tempdir().unwrap();
    let (data, moved) = (above.path().join("data"), above.path().join("moved"));
    let store = Store::open(Config { head_bytes_max: 20_000, ..config(&data) }, at(0)).unwrap();
    let pv = register(&store, &["A"]).unwrap()[0];
    fs::rename(&data, &moved).unwrap();
    wait_until("it is told", || !store.reader().health().problems.is_empty());
    let mut taken = 0;
    let error = loop {
        match append(&store, pv, &samples(taken..taken + 100)) {
            Ok(()) => taken += 100,
            Err(error) => break error,
        }
        assert!(taken < 100_000, "memory has a limit");
    };
    assert!(matches!(&error, Error::Refused { reason } if reason.contains("is gone")), "{error}");
    fs::rename(&moved, &data).unwrap();
    wait_until("all is durable", || {
        store.tick(at(SECOND));
        store.reader().watermark().durable == taken as u64
    });
    assert_eq!(read(&store, pv, TimeRange::ALL), samples(0..taken));
}

#[test]
fn an_empty_folder_or_that_of_another_archive_in_its_place_stays_as_it_is() {
    for other_archive in [false, true] {
        let moving = Moving::new();
        let other = moving.data.with_file_name("other");
        fs::create_dir(&other).unwrap();
        if other_archive {
            Store::open(config(&other), at(77)).unwrap().close(at(78)).unwrap();
        }
        moving.move_away();
        fs::rename(&other, &moving.data).unwrap();
        let before = files(&moving.data);
        moving.append_ten_away(if other_archive { "belongs to another archive" } else { "pvark-archive is missing" });
        assert_eq!(files(&moving.data), before);
        fs::rename(&moving.data, &other).unwrap();
        moving.move_back();
        moving.goes_on();
    }
}

#[test]
fn an_older_copy_in_its_place_is_not_gone_on_with() {
    let moving = Moving::new();
    let older = moving.data.with_file_name("older");
    copy(&moving.data, &older);
    register(moving.store(), &["B"]).unwrap();
    moving.move_away();
    fs::rename(&older, &moving.data).unwrap();
    let before = files(&moving.data);
    moving.append_ten_away("an older or a newer state");
    let without_holder = |files: Vec<(PathBuf, Vec<u8>)>| {
        files.into_iter().filter(|(path, _)| !path.ends_with("lock")).collect::<Vec<_>>()
    };
    assert!(without_holder(files(&moving.data)) == without_holder(before), "nothing is mixed into it");
    fs::rename(&moving.data, &older).unwrap();
    moving.move_back();
    moving.goes_on();
}

#[test]
fn another_folder_with_the_same_state_is_gone_on_with() {
    let moving = Moving::new();
    let twin = moving.data.with_file_name("twin");
    copy(&moving.data, &twin);
    moving.move_away();
    append(moving.store(), moving.pv, &samples(10..20)).unwrap();
    moving.wait_told("is gone");
    let before = files(&moving.moved);
    fs::rename(&twin, &moving.data).unwrap();
    moving.wait_durable(20);
    assert!(matches!(Store::open(config(&moving.data), at(0)), Err(Error::Locked { .. })), "it is locked there");
    assert!(files(&moving.moved) == before, "nothing more is written to the former one");
    moving.goes_on();
}

#[test]
fn a_catalogue_that_is_removed_or_replaced_is_told_and_nothing_is_mixed() {
    for replaced in [false, true] {
        let mut moving = Moving::new();
        let (catalogue, kept) = (moving.data.join("catalogue.redb"), moving.data.join("kept"));
        fs::rename(&catalogue, &kept).unwrap();
        if replaced {
            fs::copy(&kept, &catalogue).unwrap();
        }
        let before = fs::read(&catalogue).ok();
        moving.append_ten_away(if replaced { "catalogue.redb was replaced" } else { "catalogue.redb is gone" });
        assert!(register(moving.store(), &["B"]).is_err());
        assert!(fs::read(&catalogue).ok() == before);
        if replaced {
            moving.is_lost_at_the_end(10);
            assert!(fs::read(&catalogue).ok() == before);
        } else {
            fs::rename(&kept, &catalogue).unwrap();
            moving.goes_on();
        }
    }
}

#[test]
fn a_log_that_is_replaced_is_told_and_waited_for() {
    let moving = Moving::new();
    let (log, kept) = (moving.data.join("log"), moving.data.with_file_name("kept"));
    fs::rename(&log, &kept).unwrap();
    fs::create_dir(&log).unwrap();
    moving.append_ten_away("log was replaced");
    assert!(files(&log).is_empty());
    fs::remove_dir(&log).unwrap();
    fs::rename(&kept, &log).unwrap();
    moving.goes_on();
}

#[test]
fn samples_of_a_log_file_that_is_removed_are_durable_when_they_are_in_blocks() {
    let moving = Moving::new();
    fs::remove_file(only(&moving.data, "log")).unwrap();
    append(moving.store(), moving.pv, &samples(10..20)).unwrap();
    moving.wait_durable(20);
    assert_eq!(files(&moving.data).iter().filter(|(path, _)| path.extension().is_some_and(|e| e == "seg")).count(), 1);
    moving.goes_on();
}

#[test]
fn a_week_that_is_taken_away_is_not_made_anew() {
    let moving = Moving::new();
    let flush = |now: i64| {
        let flushes = moving.store().reader().health().flushes;
        wait_until("a flush has ended or failed", || {
            moving.store().tick(at(now));
            let health = moving.store().reader().health();
            health.flushes > flushes || !health.problems.is_empty()
        });
    };
    flush(3600 * SECOND);
    let segment = only(&moving.data, "seg");
    let (week, kept) = (segment.parent().unwrap(), moving.data.with_file_name("kept"));
    fs::rename(week, &kept).unwrap();
    append(moving.store(), moving.pv, &samples(10..20)).unwrap();
    flush(7200 * SECOND);
    let problems = moving.store().reader().health().problems;
    assert!(problems.iter().any(|problem| problem.contains("which holds segments, is gone")), "{problems:?}");
    assert!(!week.exists());
    fs::rename(&kept, week).unwrap();
    wait_until("it goes on", || {
        moving.store().tick(at(7201 * SECOND));
        moving.store().reader().health().problems.is_empty()
    });
    moving.goes_on();
}

#[test]
fn a_second_archiver_is_refused_by_name_though_the_lock_is_removed() {
    let moving = Moving::new();
    let linked = moving.data.with_file_name("linked");
    symlink(&moving.data, &linked).unwrap();
    let refused = |folder: &Path| Store::open(config(folder), at(0)).unwrap_err();
    let process = format!("process {}", std::process::id());
    for folder in [&moving.data, &linked] {
        let error = refused(folder).to_string();
        assert!(error.contains(&format!("pvark {process} on ")) && error.contains(" since 1970-"), "{error}");
    }
    fs::remove_file(moving.data.join("lock")).unwrap();
    for folder in [&moving.data, &linked] {
        let error = refused(folder);
        assert!(matches!(error, Error::Locked { .. }) && error.to_string().contains(&process), "{error}");
    }
    let repair = store::repair(&moving.data, Repairing::Do, at(0), |_| {});
    assert!(matches!(repair, Err(Error::Locked { .. })), "{repair:?}");
    assert!(store::check(&moving.data, |_| {}).unwrap().is_clean(), "a check needs no lock");
    // The folder is locked besides: without a catalogue a second one would begin a new archive.
    fs::rename(moving.data.join("catalogue.redb"), moving.data.with_file_name("kept")).unwrap();
    fs::remove_file(moving.data.join("lock")).unwrap();
    assert!(matches!(refused(&moving.data), Error::Locked { .. }));
    assert!(!moving.data.join("catalogue.redb").exists());
}

#[test]
fn an_older_archive_is_given_a_mark_and_a_foreign_mark_is_refused() {
    let mut moving = Moving::new();
    moving.store = None;
    let mark = moving.data.join("pvark-archive");
    let ours = fs::read_to_string(&mark).unwrap();
    assert!(ours.starts_with("the pvark archive ") && ours.len() == 35, "{ours:?}");
    for half in ["", "the pvark"] {
        fs::write(&mark, half).unwrap();
        moving.finds(&moving.data.clone(), 10);
        assert_eq!(fs::read_to_string(&mark).unwrap(), ours);
    }
    fs::remove_file(&mark).unwrap();
    moving.finds(&moving.data.clone(), 10);
    assert_eq!(fs::read_to_string(&mark).unwrap(), ours);
    fs::write(&mark, "the pvark archive 0123456789abcdef\n").unwrap();
    let error = Store::open(config(&moving.data), at(0)).unwrap_err().to_string();
    assert!(error.contains("belongs to another archive"), "{error}");
    // A catalogue that a repair has made knows no number.
    fs::remove_file(moving.data.join("catalogue.redb")).unwrap();
    store::repair(&moving.data, Repairing::Do, at(0), |_| {}).unwrap();
    Store::open(config(&moving.data), at(0)).unwrap().close(at(1)).unwrap();
    assert_eq!(fs::read_to_string(&mark).unwrap(), "the pvark archive 0123456789abcdef\n");
}

/// A simulated disk whose path leads elsewhere for a while, from any moment on.
#[derive(Debug)]
struct Shelf {
    disk: Arc<SimDisk>,
    away: AtomicBool,
}

impl Objects for Shelf {
    fn len(&self, key: &str) -> io::Result<u64> {
        self.disk.len(key)
    }

    fn read_at(&self, key: &str, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.disk.read_at(key, offset, bytes)
    }

    fn remove(&self, key: &str) -> io::Result<()> {
        self.disk.remove(key)
    }
}

impl Disk for Shelf {
    fn create_folder(&self, folder: &str) -> io::Result<()> {
        self.disk.create_folder(folder)
    }

    fn write_at(&self, key: &str, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.disk.write_at(key, offset, bytes)
    }

    fn set_len(&self, key: &str, len: u64) -> io::Result<()> {
        self.disk.set_len(key, len)
    }

    fn room(&self) -> io::Result<Room> {
        self.disk.room()
    }

    fn sync(&self, key: &str) -> io::Result<()> {
        self.disk.sync(key)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        self.disk.list(folder)
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        self.disk.sync_folder(folder)
    }

    fn lock(&self, key: &str) -> io::Result<bool> {
        self.disk.lock(key)
    }

    fn unlock(&self, key: &str) {
        self.disk.unlock(key);
    }

    fn identity(&self, _: &str, found: Found) -> io::Result<Identity> {
        match found {
            Found::ByPath if self.away.load(SeqCst) => Err(io::ErrorKind::NotFound.into()),
            _ => Ok(Identity::default()),
        }
    }
}

/// Away at any moment of appends and flushes, then a power cut, while it is away or when it is back.
#[test]
fn a_power_cut_takes_nothing_durable_whenever_the_folder_was_away() {
    let config = || Config { log_file_bytes: 2000, ..config(Path::new("simulated")) };
    for moment in 0..40 {
        let disk = Arc::new(SimDisk::default());
        let shelf = Arc::new(Shelf { disk: disk.clone(), away: AtomicBool::new(false) });
        let store = Store::open_on(shelf.clone(), config(), at(0)).unwrap();
        let pv = register(&store, &["A"]).unwrap()[0];
        let durable = || store.reader().watermark().durable;
        for part in 0..10 {
            append(&store, pv, &samples(part * 10..part * 10 + 10)).unwrap();
            store.tick(at((part + 1) * 400 * SECOND));
            let changes = disk.changes() + moment / 4;
            if part as u64 == moment % 4 + 3 {
                wait_until("it has begun", || disk.changes() >= changes || durable() as i64 == part * 10 + 10);
                shelf.away.store(true, SeqCst);
            }
        }
        wait_until("it is told", || !store.reader().health().problems.is_empty());
        let opens = |promised: u64, context: &str| {
            for crash in [Crash::OfProcess, Crash::Forgetful, Crash::Torn(moment)] {
                let left = Arc::new(disk.after(crash));
                let store = Store::open_on(left, config(), at(9000 * SECOND)).unwrap();
                let found = read(&store, pv, TimeRange::ALL);
                let times = || found.iter().map(|sample| sample.time.nanos()).collect::<Vec<_>>();
                let is_kept = found.starts_with(&samples(0..promised as i64));
                assert!(is_kept, "{moment}, {context}, {crash:?}: {promised} are promised, there are {:?}", times());
                assert!(found.is_sorted_by(|a, b| a.time < b.time), "{moment}, {context}, {crash:?}: {:?}", times());
            }
        };
        opens(durable(), "away");
        shelf.away.store(false, SeqCst);
        wait_until("all is durable", || {
            store.tick(at(8000 * SECOND));
            durable() == 100
        });
        opens(100, "back");
    }
}

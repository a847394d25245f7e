//! Segments that are swapped, overwritten, missing, unreadable or taken from another archive, and files of the log with other names:
//! all else is served, the gap has its cause, check and backup name them and come to their end, and repair mends what can be mended.

#![expect(clippy::disallowed_methods, reason = "an operator renames files by other means than the store's")]

use crate::common;

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use archive::PvId;
use common::{append, at, register, sample, wait_until};
use sample::{GapCause, TimeRange, Value};
use store::{Config, Durable, Error, Kept, Repairing, Store};

const PARTS: i64 = 3;
const SECOND: i64 = 1_000_000_000;
const ROWS: i64 = 200;

/// Counters in three segments of one week, which are never merged; what they count begins at `base`.
struct Scene {
    folder: tempfile::TempDir,
}

fn config(folder: &Path) -> Config {
    Config { durable: Durable::Every(Duration::from_millis(1)), ..Config::new(folder) }
}

fn expected(base: i64, part: i64) -> Vec<f64> {
    (0..ROWS).map(|row| (base + part * ROWS + row) as f64).collect()
}

impl Scene {
    fn new(base: i64) -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(config(folder.path()), at(base)).unwrap();
        let pv = register(&store, &["COUNT"]).unwrap()[0];
        for part in 0..PARTS {
            let rows = expected(base, part).into_iter().enumerate();
            let samples: Vec<_> =
                rows.map(|(row, count)| sample((part * ROWS + row as i64) * SECOND, Value::F64(count))).collect();
            append(&store, pv, &samples).unwrap();
            store.tick(at((part + 1) * 4000 * SECOND));
            wait_until("it is flushed", || store.reader().health().flushes == part as u64 + 1);
        }
        store.close(at(PARTS * 4000 * SECOND)).unwrap();
        let scene = Scene { folder };
        assert_eq!(scene.segments().len() as i64, PARTS);
        scene
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn segments(&self) -> Vec<PathBuf> {
        segments(self.path())
    }

    fn open(&self) -> (Store, PvId) {
        let store = Store::open(config(self.path()), at(20_000 * SECOND)).unwrap();
        let pv = store.reader().find("COUNT").unwrap().id;
        (store, pv)
    }

    /// The parts that are served, each whole; and those of which a gap tells.
    fn served(&self) -> (Vec<i64>, Vec<i64>) {
        let (store, pv) = self.open();
        let served = served(&store, pv, 0);
        let gaps = store.reader().gaps(pv, TimeRange::ALL).unwrap();
        let damaged = gaps.iter().map(|(_, gap)| gap).filter(|gap| gap.cause == GapCause::Damaged);
        let gaps = damaged.map(|gap| {
            assert_eq!(gap.to.unwrap().nanos() - gap.from.nanos(), (ROWS - 1) * SECOND + 1, "{gap:?}");
            gap.from.nanos() / SECOND / ROWS
        });
        let found = (served, gaps.collect());
        // It can be written to, whatever is wrong.
        append(&store, pv, &[]).unwrap();
        found
    }

    fn check(&self) -> Vec<String> {
        store::check(self.path(), |_| {}).unwrap().problems
    }

    fn repair(&self) -> Vec<String> {
        let look = store::repair(self.path(), Repairing::Look, at(30_000 * SECOND), |_| {}).unwrap();
        assert!(!look.steps.is_empty(), "a look tells what would be done");
        let done = store::repair(self.path(), Repairing::Do, at(30_000 * SECOND), |_| {}).unwrap();
        assert_eq!(self.check(), Vec::<String>::new());
        let again = store::repair(self.path(), Repairing::Do, at(30_000 * SECOND), |_| {}).unwrap();
        assert_eq!(again.steps, Vec::<String>::new(), "nothing is left to be done");
        done.steps
    }

    /// Each finding names these files.
    fn finds(&self, names: &[&Path]) {
        let problems = self.check();
        for name in names {
            let key = name.strip_prefix(self.path()).unwrap().display().to_string();
            assert!(problems.iter().any(|problem| problem.contains(&key)), "{key} is not among {problems:?}");
        }
        assert_eq!(problems.len(), names.len(), "{problems:?}");
    }
}

fn segments(folder: &Path) -> Vec<PathBuf> {
    let weeks = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let weeks = weeks.filter(|path| path.is_dir() && path.file_name().unwrap().to_string_lossy().contains("-W"));
    let files = weeks.flat_map(|week| fs::read_dir(week).unwrap().map(|entry| entry.unwrap().path()));
    let mut segments: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "seg")).collect();
    segments.sort();
    segments
}

/// Which parts are served, and each of them whole.
fn served(store: &Store, pv: PvId, base: i64) -> Vec<i64> {
    let mut values = Vec::new();
    let mut errors = 0;
    for batch in store.reader().samples(pv, TimeRange::ALL) {
        match batch {
            Ok(batch) => values.extend((0..batch.len()).map(|row| match batch.get(row).value {
                Value::F64(count) => count,
                other => panic!("{other:?}"),
            })),
            Err(Error::CorruptSegment { .. } | Error::CorruptBlock { .. }) => errors += 1,
            Err(other) => panic!("{other}"),
        }
    }
    let parts: Vec<i64> = (0..PARTS).filter(|part| values.contains(&expected(base, *part)[0])).collect();
    let whole: Vec<f64> = parts.iter().flat_map(|part| expected(base, *part)).collect();
    assert_eq!(values, whole, "what is served is served whole");
    let missing = PARTS - parts.len() as i64;
    assert!(errors == missing || errors == 0, "{errors} errors for {missing} missing segments");
    parts
}

#[test]
fn swapped_segments_are_found_and_get_their_names_back() {
    let scene = Scene::new(0);
    let files = scene.segments();
    let aside = files[0].with_extension("aside");
    fs::rename(&files[0], &aside).unwrap();
    fs::rename(&files[2], &files[0]).unwrap();
    fs::rename(&aside, &files[2]).unwrap();
    scene.finds(&[&files[0], &files[2]]);
    assert_eq!(scene.served(), (vec![1], vec![0, 2]));
    let steps = scene.repair();
    assert!(steps.iter().all(|step| step.contains("gets that name")) && steps.len() == 2, "{steps:?}");
    assert_eq!(scene.served(), (vec![0, 1, 2], vec![]));
}

#[test]
fn a_segment_that_was_overwritten_by_another_is_found_and_costs_only_its_own_samples() {
    let scene = Scene::new(0);
    let files = scene.segments();
    fs::copy(&files[2], &files[0]).unwrap();
    scene.finds(&[&files[0]]);
    assert_eq!(scene.served(), (vec![1, 2], vec![0]));
    scene.repair();
    assert_eq!(scene.served(), (vec![1, 2], vec![0]), "the gap stays on record");
}

#[test]
fn a_segment_of_another_archive_is_not_taken_for_ours() {
    let (scene, other) = (Scene::new(0), Scene::new(1_000_000));
    let (files, others) = (scene.segments(), other.segments());
    fs::copy(&others[1], &files[1]).unwrap();
    let problems = scene.check();
    assert!(problems.len() == 1 && problems[0].contains("of another archive"), "{problems:?}");
    let steps = scene.repair();
    assert!(steps[0].contains("of another archive"), "{steps:?}");
    assert_eq!(scene.served(), (vec![0, 2], vec![1]));
    // Nor when there is no catalogue any more.
    fs::copy(&others[1], &files[1]).unwrap();
    fs::remove_file(scene.path().join("catalogue.redb")).unwrap();
    let steps = scene.repair();
    assert!(steps.iter().any(|step| step.contains("of another archive")), "{steps:?}");
    assert_eq!(scene.served().0, [0, 2]);
}

#[test]
fn a_repair_by_the_catalogue_of_another_archive_is_refused() {
    let (scene, other) = (Scene::new(0), Scene::new(1_000_000));
    let catalogue = scene.path().join("catalogue.redb");
    let own = fs::read(&catalogue).unwrap();
    fs::copy(other.path().join("catalogue.redb"), &catalogue).unwrap();
    let refused = store::repair(scene.path(), Repairing::Do, at(30_000 * SECOND), |_| {}).unwrap_err().to_string();
    assert!(refused.contains("belongs to another archive"), "{refused}");
    assert!(!scene.path().join("quarantine").exists(), "every segment is where it was");
    fs::write(&catalogue, own).unwrap();
    assert_eq!(scene.served(), (vec![0, 1, 2], vec![]));
}

#[test]
fn a_missing_segment_costs_only_its_own_samples() {
    let scene = Scene::new(0);
    let files = scene.segments();
    fs::remove_file(&files[1]).unwrap();
    scene.finds(&[&files[1]]);
    assert_eq!(scene.served(), (vec![0, 2], vec![1]));
    let (store, _) = scene.open();
    let key = files[1].strip_prefix(scene.path()).unwrap().display().to_string();
    drop(store);
    let steps = scene.repair();
    assert!(steps.len() == 1 && steps[0].contains(&key), "{steps:?}");
    assert_eq!(scene.served(), (vec![0, 2], vec![1]), "the gap stays on record");
}

#[test]
fn a_folder_or_an_unreadable_file_in_the_place_of_a_segment_is_a_finding() {
    let scene = Scene::new(0);
    let files = scene.segments();
    let whole = fs::read(&files[1]).unwrap();
    fs::remove_file(&files[1]).unwrap();
    fs::create_dir(&files[1]).unwrap();
    scene.finds(&[&files[1]]);
    assert_eq!(scene.served(), (vec![0, 2], vec![1]));
    // It is put back under a running archiver: what it holds is served from then on.
    let (store, pv) = scene.open();
    assert_eq!(served(&store, pv, 0), [0, 2]);
    fs::remove_dir(&files[1]).unwrap();
    fs::write(&files[1], &whole).unwrap();
    assert_eq!(served(&store, pv, 0), [0, 1, 2]);
    drop(store);

    fs::remove_file(&files[1]).unwrap();
    fs::create_dir(&files[1]).unwrap();
    let steps = scene.repair();
    assert!(steps[0].contains("a folder lies in its place"), "{steps:?}");
    assert!(scene.path().join("quarantine").read_dir().unwrap().count() > 0);
    assert_eq!(scene.served(), (vec![0, 2], vec![1]));

    fs::set_permissions(&files[0], fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(&files[0]).is_ok() {
        eprintln!("not tried with a file that may not be read: this user may read everything");
        return;
    }
    scene.finds(&[&files[0]]);
    assert_eq!(scene.served(), (vec![2], vec![0, 1]));
}

#[test]
fn a_backup_goes_on_without_what_is_missing_and_keeps_what_it_has_of_it() {
    let scene = Scene::new(0);
    let copy = tempfile::tempdir().unwrap();
    let back_up = || store::backup(scene.path(), copy.path(), Kept::Trusted, |_| {}).unwrap();
    assert_eq!(back_up().damage, Vec::<String>::new());
    let files = scene.segments();
    let whole = fs::read(&files[1]).unwrap();
    fs::remove_file(&files[1]).unwrap();
    let done = back_up();
    assert!(done.damage.len() == 1 && done.damage[0].contains("the backup has it whole"), "{done:?}");
    assert!(store::check(copy.path(), |_| {}).unwrap().is_clean());

    // Another one in its place does not replace it either.
    fs::copy(&files[0], &files[1]).unwrap();
    let done = back_up();
    assert!(done.damage.iter().any(|of| of.contains("the backup has it whole")), "{done:?}");
    assert!(store::check(copy.path(), |_| {}).unwrap().is_clean());
    fs::remove_file(&files[1]).unwrap();
    fs::create_dir(&files[1]).unwrap();
    let done = back_up();
    assert!(done.damage.len() == 1 && done.damage[0].contains("a folder lies in its place"), "{done:?}");

    // A file of the log with another name is told, too.
    let logs = scene.path().join("log");
    let log = fs::read_dir(&logs).unwrap().next().unwrap().unwrap().path();
    fs::rename(&log, logs.join("mine.log")).unwrap();
    assert!(back_up().damage.iter().any(|of| of.contains("mine.log")));
    fs::rename(logs.join("mine.log"), log).unwrap();

    // A new backup has all that is there.
    let other = tempfile::tempdir().unwrap();
    let done = store::backup(scene.path(), other.path(), Kept::Trusted, |_| {}).unwrap();
    assert!(done.damage.len() == 1 && done.copied == 2, "{done:?}");
    fs::remove_dir(&files[1]).unwrap();
    fs::write(&files[1], whole).unwrap();
    let done = store::backup(scene.path(), other.path(), Kept::Trusted, |_| {}).unwrap();
    assert_eq!((done.damage, done.copied), (Vec::new(), 1));
    assert!(store::check(other.path(), |_| {}).unwrap().is_clean());
}

#[test]
fn segments_of_older_programs_open_as_before_and_are_held_against_their_rows() {
    let scene = Scene::new(0);
    // As they were: without archive and key in the header.
    for file in scene.segments() {
        let mut bytes = fs::read(&file).unwrap();
        bytes[32..56].fill(0);
        let check = xxhash_rust::xxh3::xxh3_64(&bytes[..56]);
        bytes[56..64].copy_from_slice(&check.to_le_bytes());
        fs::write(&file, bytes).unwrap();
    }
    assert_eq!(scene.check(), Vec::<String>::new());
    assert_eq!(scene.served(), (vec![0, 1, 2], vec![]));
    let files = scene.segments();
    fs::copy(&files[2], &files[0]).unwrap();
    scene.finds(&[&files[0]]);
    assert_eq!(scene.served(), (vec![1, 2], vec![0]));
}

#[test]
fn a_damaged_header_does_not_make_a_segment_another_archives() {
    for at in [33, 41] {
        let scene = Scene::new(0);
        let files = scene.segments();
        let mut bytes = fs::read(&files[1]).unwrap();
        bytes[at] ^= 1; // of the archive's number, then of the key's
        fs::write(&files[1], bytes).unwrap();
        let problems = scene.check();
        assert!(problems.len() == 1 && problems[0].contains("its header is damaged"), "{problems:?}");
        scene.repair();
        assert_eq!(scene.served(), (vec![0, 1, 2], vec![]), "every block of it was whole");
    }
}

#[test]
fn a_repair_that_was_interrupted_between_two_renames_is_gone_on_with() {
    for interrupted_after in [1, 2] {
        let scene = Scene::new(0);
        let files = scene.segments();
        let aside = |file: &Path| PathBuf::from(format!("{}.misplaced", file.display()));
        // They were swapped, and a repair has taken away the one, or both.
        fs::rename(&files[0], files[0].with_extension("first")).unwrap();
        fs::rename(&files[2], if interrupted_after == 2 { aside(&files[2]) } else { files[0].clone() }).unwrap();
        fs::rename(files[0].with_extension("first"), aside(&files[0])).unwrap();
        scene.repair();
        assert_eq!(scene.served(), (vec![0, 1, 2], vec![]));
    }
}

/// Three files of the log, the last of which is open when the power goes.
fn logged() -> (tempfile::TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let config = Config { log_file_bytes: 4096, ..config(folder.path()) };
    let store = Store::open(config, at(0)).unwrap();
    let pv = register(&store, &["COUNT"]).unwrap()[0];
    for count in 0..PARTS * ROWS {
        append(&store, pv, &[sample(count * SECOND, Value::F64(count as f64))]).unwrap();
        let appended = count as u64 + 1;
        if appended.is_multiple_of(20) {
            wait_until("it is durable", || store.reader().watermark().durable == appended);
        }
    }
    drop(store);
    let mut logs: Vec<_> =
        fs::read_dir(folder.path().join("log")).unwrap().map(|entry| entry.unwrap().path()).collect();
    logs.sort();
    assert!(logs.len() >= 3, "{logs:?}");
    (folder, logs)
}

fn has_all(folder: &Path) {
    let store = Store::open(config(folder), at(20_000 * SECOND)).unwrap();
    let pv = store.reader().find("COUNT").unwrap().id;
    assert_eq!(served(&store, pv, 0), [0, 1, 2]);
    assert!(!store.reader().health().problems.is_empty(), "it is told");
    drop(store);
    assert!(store::check(folder, |_| {}).unwrap().is_clean());
}

#[test]
fn files_of_the_log_that_were_renamed_are_found_and_read_in_their_order() {
    for name in ["1.log", "0000000000000001.log.bak", "00000000000000077.log", "mine.log"] {
        let (folder, logs) = logged();
        fs::rename(&logs[0], logs[0].with_file_name(name)).unwrap();
        let problems = store::check(folder.path(), |_| {}).unwrap().problems;
        assert!(problems.iter().any(|problem| problem.contains(name)), "{name}: {problems:?}");
        let look = store::repair(folder.path(), Repairing::Look, at(0), |_| {}).unwrap();
        assert!(look.steps.iter().any(|step| step.contains(name)), "{name}: {look:?}");
        has_all(folder.path());
    }
    let (folder, logs) = logged();
    let aside = logs[0].with_extension("aside");
    fs::rename(&logs[0], &aside).unwrap();
    fs::rename(&logs[1], &logs[0]).unwrap();
    fs::rename(&aside, &logs[1]).unwrap();
    assert_eq!(store::check(folder.path(), |_| {}).unwrap().problems.len(), 2);
    has_all(folder.path());
}

#[test]
fn what_is_no_file_of_the_log_does_not_stop_the_start() {
    let (folder, logs) = logged();
    fs::write(logs[0].with_file_name("77.log"), b"notes").unwrap();
    fs::create_dir(logs[0].with_file_name("0000000000000088.log")).unwrap();
    fs::copy(&logs[0], logs[0].with_file_name("copy.log")).unwrap();
    assert_eq!(store::check(folder.path(), |_| {}).unwrap().problems.len(), 3);
    has_all(folder.path());
}

//! Repairs: whatever byte of a segment is damaged, or if the catalogue is gone, every block that can be read is kept, the archive
//! is whole again, and nothing was deleted.

use crate::common;

use std::{
    fs,
    path::{Path, PathBuf},
};

use archive::PvId;
use common::{append, at, read, register, sample, wait_until};
use sample::{Sample, TimeRange, Value};
use store::{Config, Error, Repair, Repairing, Store};

const PVS: [&str; 3] = ["A", "B", "C"];

fn samples(pv: usize, part: i64) -> Vec<Sample> {
    (0..30).map(|i| sample(part * 1000 + i * 7, Value::F64((i * (pv as i64 + 1)) as f64 * 0.1))).collect()
}

fn open(folder: &Path) -> Store {
    Store::open(Config::new(folder), at(2_000_000_000_000)).unwrap()
}

/// Two segments with the samples of three PVs, and more in the log.
fn archive() -> (tempfile::TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(Config::new(folder.path()), at(0)).unwrap();
    let pvs = register(&store, &PVS).unwrap();
    for part in 0..3 {
        for (index, pv) in pvs.iter().enumerate() {
            append(&store, *pv, &samples(index, part)).unwrap();
        }
        if part < 2 {
            store.tick(at((part + 1) * 1_000_000_000_000));
            wait_until("it is flushed", || store.reader().health().flushes == part as u64 + 1);
        }
    }
    drop(store);
    let week = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let week = week.into_iter().find(|path| path.to_string_lossy().contains("-W")).unwrap();
    let mut files: Vec<_> = fs::read_dir(week).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 2, "{files:?}");
    (folder, files)
}

fn repair(folder: &Path, how: Repairing) -> Repair {
    store::repair(folder, how, at(3_000_000_000_000), |_| {}).unwrap()
}

/// Every file with its bytes, but the lock.
fn everything(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        match entry.is_dir() {
            true => found.extend(everything(&entry)),
            false if entry.ends_with("lock") => {}
            false => found.push((entry.clone(), fs::read(entry).unwrap())),
        }
    }
    found.sort();
    found
}

/// Which parts of each PV are there; none is there in part or wrong.
fn parts(folder: &Path) -> Vec<Vec<i64>> {
    let store = open(folder);
    let of = |(index, name): (usize, &&str)| {
        let Some(entry) = store.reader().find(name) else { return Vec::new() };
        let got = read(&store, entry.id, TimeRange::ALL);
        let parts: Vec<i64> = (0..3).filter(|part| got.contains(&samples(index, *part)[0])).collect();
        assert_eq!(got, parts.iter().flat_map(|part| samples(index, *part)).collect::<Vec<_>>(), "{name}");
        parts
    };
    PVS.iter().enumerate().map(of).collect()
}

fn is_clean(folder: &Path) -> bool {
    store::check(folder, |_| {}).unwrap().is_clean()
}

#[test]
fn a_look_says_what_a_repair_would_do_and_changes_nothing() {
    let (folder, files) = archive();
    assert_eq!(repair(folder.path(), Repairing::Look), Repair::default(), "nothing is to be done");
    let mut bytes = fs::read(&files[0]).unwrap();
    bytes[64 + 40] ^= 1;
    fs::write(&files[0], &bytes).unwrap();
    let before = everything(folder.path());
    let found = repair(folder.path(), Repairing::Look);
    assert_eq!((found.steps.len(), found.kept_blocks, found.lost_blocks), (1, 2, 1), "{found:?}");
    assert!(everything(folder.path()) == before);
    assert!(!is_clean(folder.path()));

    assert_eq!(repair(folder.path(), Repairing::Do), found);
    assert!(is_clean(folder.path()));
    let kept = everything(folder.path());
    assert!(kept.iter().any(|(path, content)| path.to_string_lossy().contains("quarantine") && *content == bytes));
    assert_eq!(repair(folder.path(), Repairing::Do), Repair::default(), "nothing is left to be done");
    assert_eq!(parts(folder.path()), [vec![1, 2], vec![0, 1, 2], vec![0, 1, 2]]);
}

#[test]
fn whatever_byte_of_a_segment_is_damaged_all_blocks_but_that_are_kept() {
    let (folder, files) = archive();
    let whole = fs::read(&files[0]).unwrap();
    let name = files[0].strip_prefix(folder.path()).unwrap();
    for place in (0..whole.len()).step_by(31) {
        let copy = tempfile::tempdir().unwrap();
        for (path, bytes) in everything(folder.path()) {
            let to = copy.path().join(path.strip_prefix(folder.path()).unwrap());
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::write(to, bytes).unwrap();
        }
        let mut damaged = whole.clone();
        damaged[place] ^= 0x20;
        fs::write(copy.path().join(name), &damaged).unwrap();
        if is_clean(copy.path()) {
            continue;
        }
        let done = match store::repair(copy.path(), Repairing::Do, at(0), |_| {}) {
            Ok(done) => done,
            Err(error) => {
                assert!(error.to_string().contains("use the newer program"), "byte {place}: {error}");
                continue;
            }
        };
        assert!(done.kept_blocks >= 2 && done.lost_blocks <= 1, "byte {place}: {done:?}");
        assert!(is_clean(copy.path()), "byte {place}: {done:?}");
        let lost = parts(copy.path()).iter().filter(|parts| **parts != [0, 1, 2]).count() as u64;
        assert_eq!(lost, done.lost_blocks, "byte {place}: {done:?}");
    }
}

#[test]
fn a_segment_without_its_end_and_one_that_is_gone_are_told_apart() {
    let (folder, files) = archive();
    let bytes = fs::read(&files[0]).unwrap();
    fs::write(&files[0], &bytes[..bytes.len() - 50]).unwrap();
    fs::remove_file(&files[1]).unwrap();
    let done = repair(folder.path(), Repairing::Do);
    assert_eq!((done.steps.len(), done.kept_blocks, done.lost_blocks), (2, 3, 3), "{done:?}");
    assert!(done.steps[1].contains("no such file"), "{done:?}");
    assert!(is_clean(folder.path()));
    assert_eq!(parts(folder.path()), [[0, 2], [0, 2], [0, 2]]);
}

#[test]
fn without_a_catalogue_one_is_made_of_segments_and_log() {
    for damage in ["gone", "garbage", "a block is damaged, too"] {
        let (folder, files) = archive();
        let catalogue = folder.path().join("catalogue.redb");
        match damage {
            "gone" => fs::remove_file(&catalogue).unwrap(),
            _ => fs::write(&catalogue, vec![7; 100_000]).unwrap(),
        }
        if damage.contains("block") {
            let mut bytes = fs::read(&files[1]).unwrap();
            bytes[64 + 40] ^= 1;
            fs::write(&files[1], &bytes).unwrap();
        }
        let error = Store::open(Config::new(folder.path()), at(0)).map(drop).unwrap_err();
        assert!(matches!(error, Error::NotAStore { .. } | Error::Catalogue { .. }), "{damage}: {error}");
        let before = everything(folder.path());
        let found = repair(folder.path(), Repairing::Look);
        assert!(everything(folder.path()) == before, "{damage}");
        let done = repair(folder.path(), Repairing::Do);
        assert_eq!(done.steps.len(), found.steps.len(), "{damage}: {done:?}");
        assert!(is_clean(folder.path()), "{damage}: {done:?}");
        let expected = if damage.contains("block") { vec![0, 2] } else { vec![0, 1, 2] };
        assert_eq!(parts(folder.path()), [expected, vec![0, 1, 2], vec![0, 1, 2]], "{damage}");
        let more = register(&open(folder.path()), &["D"]).unwrap();
        assert_eq!(more, [PvId(3)], "{damage}: numbers are not given twice");
    }
}

#[test]
fn a_running_archiver_or_a_folder_of_something_else_is_refused() {
    let (folder, _) = archive();
    let store = open(folder.path());
    let refused = |folder: &Path| store::repair(folder, Repairing::Do, at(0), |_| {}).unwrap_err();
    assert!(matches!(refused(folder.path()), Error::Locked { .. }));
    drop(store);
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("thesis.tex"), "precious").unwrap();
    assert!(matches!(refused(other.path()), Error::NotAStore { .. }));
    assert_eq!(fs::read_dir(other.path()).unwrap().count(), 1);
}

/// Opening removes what a merge leaves over, and once took all that was merged after the catalogue was copied for that.
#[test]
fn an_older_catalogue_put_back_by_hand_costs_no_merged_segment() {
    let (folder, _) = archive();
    let catalogue = folder.path().join("catalogue.redb");
    let older = fs::read(&catalogue).unwrap();
    let store = open(folder.path());
    store.tick(at(90_000_000_000_000));
    wait_until("the day is merged", || store.reader().health().merged_segments >= 2);
    store.close(at(90_000_000_000_001)).unwrap();
    let content =
        |path: &Path| everything(path).into_iter().filter(|(path, _)| path.to_string_lossy().contains(".seg"));
    let merged: Vec<Vec<u8>> = content(folder.path()).map(|(_, bytes)| bytes).collect();
    fs::write(&catalogue, older).unwrap();
    drop(open(folder.path()));
    let kept: Vec<Vec<u8>> = content(folder.path()).map(|(_, bytes)| bytes).collect();
    assert!(merged.iter().all(|bytes| kept.contains(bytes)), "{} of {} are left", kept.len(), merged.len());
}

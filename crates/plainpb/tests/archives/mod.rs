//! What the tests of whole archives share: their clock, the files they write, and the names that an archive lists.

#![allow(dead_code, reason = "each test file uses its part of it")]

use std::{fs, ops::ControlFlow, path::Path};

use archive::{PvName, Source};
use plainpb::PlainPb;
use sample::{TimeRange, Timestamp};

/// So many seconds after the beginning of 2026.
pub(crate) fn at(second: i64) -> Timestamp {
    let start = Timestamp::parse("2026-01-01T00:00:00Z").unwrap().seconds_and_nanos().0;
    Timestamp::from_seconds(start + second, 0)
}

pub(crate) fn range(t0: i64, t1: i64) -> TimeRange {
    TimeRange::new(at(t0), at(t1)).unwrap()
}

pub(crate) fn write(root: &Path, name: &str, bytes: &[u8]) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// All names, sorted.
pub(crate) fn names(archive: &PlainPb) -> Vec<String> {
    let mut names = Vec::new();
    let mut see = |name: PvName| {
        names.push(name.to_string());
        ControlFlow::Continue(())
    };
    archive.pvs(&mut see).unwrap();
    names.sort();
    names
}

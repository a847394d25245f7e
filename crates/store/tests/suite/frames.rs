//! Frames of several segments and the head that overlap in time, in ranges of any length: the same as if every array had been kept
//! as it came, though no more than a few are made at once.

use crate::common;

use std::{fs, path::PathBuf};

use archive::PvId;
use common::{append, at, by, read, register, wait_until};
use sample::{Alarm, Column, Sample, Severity, TimeRange, Value};
use store::{Config, Durable, Error, Store};
use tempfile::TempDir;

const SECOND: i64 = 1_000_000_000;
/// So much is made at once; where parts overlap two such pieces may become one batch.
const BYTES_AT_ONCE: usize = 256 << 10;

struct Archive {
    store: Store,
    pv: PvId,
    /// By part, as they came.
    parts: Vec<Vec<Sample>>,
    random: u64,
    folder: TempDir,
}

impl Archive {
    fn new(seed: u64) -> Archive {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(config(&folder), at(0)).unwrap();
        let pv = register(&store, &["FRAMES"]).unwrap()[0];
        let random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        Archive { store, pv, parts: Vec::new(), random, folder }
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) % limit
    }

    /// Arrays of one length, or nearly, of which a few elements change, within some hundred nanoseconds.
    fn record(&mut self, count: u64) {
        let from = self.below(40) as i64;
        self.record_from(from, count);
    }

    fn record_from(&mut self, from: i64, count: u64) {
        let len = 2000 + self.below(3) as usize * 1500;
        let mut elements: Vec<f64> = (0..len).map(|place| place as f64 * 0.5).collect();
        let (mut time, mut samples) = (from, Vec::new());
        for _ in 0..count {
            time += self.below(4) as i64;
            if self.below(30) == 0 {
                elements.push(0.25);
            }
            for _ in 0..self.below(3) {
                let place = self.below(elements.len() as u64) as usize;
                elements[place] = self.below(4) as f64;
            }
            let alarm = Alarm { severity: Severity::from_number(self.below(2) as i64), ..Alarm::default() };
            let value = Value::Array(Column::F64(elements.clone()));
            samples.push(Sample { alarm, pulse: self.below(2), ..common::sample(time, value) });
        }
        append(&self.store, self.pv, &samples).unwrap();
        self.parts.push(samples);
    }

    fn flush(&mut self) {
        self.store.tick(at(1000 * SECOND * self.parts.len() as i64));
        wait_until("the head is flushed", || self.store.reader().health().head_samples == 0);
    }

    /// All samples in order of time, of equal ones in that of their parts, without repeats.
    fn expected(&self, hidden: &[TimeRange]) -> Vec<Sample> {
        let mut all: Vec<Sample> = self.parts.concat();
        all.sort_by_key(|sample| sample.time);
        all.retain(|sample| !hidden.iter().any(|range| range.contains(sample.time)));
        let mut apart: Vec<Sample> = Vec::new();
        for sample in all {
            let mut same_time = apart.iter().rev().take_while(|other| other.time == sample.time);
            if !same_time.any(|other| other.identical(&sample)) {
                apart.push(sample);
            }
        }
        apart
    }

    fn check(&mut self, hidden: &[TimeRange], place: &str) {
        let all = self.expected(hidden);
        for round in 0..30 {
            let ends = [self.below(220) as i64 - 10, self.below(220) as i64 - 10];
            let (from, to) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
            let range = if round == 0 { TimeRange::ALL } else { TimeRange { t0: at(from), t1: at(to) } };
            let part: Vec<&Sample> = all.iter().filter(|sample| range.contains(sample.time)).collect();
            let found = read(&self.store, self.pv, range);
            let same = part.len() == found.len() && part.iter().zip(&found).all(|(own, other)| own.identical(other));
            assert!(same, "{place}, {from} to {to}: {} of {}", found.len(), part.len());
            for batch in self.store.reader().samples(self.pv, range).map(Result::unwrap) {
                let one = batch.values().byte_size() / batch.len();
                let bytes = batch.byte_size();
                assert!(batch.len() == 1 || bytes < 2 * BYTES_AT_ONCE + 2 * one, "{place}: {bytes} at once");
            }
            let last = all.iter().rev().find(|sample| sample.time <= range.t0);
            let found = self.store.reader().last_before(self.pv, range.t0).unwrap();
            let same = last.zip(found.as_ref()).is_some_and(|(own, other)| own.identical(other));
            assert!(same || (last.is_none() && found.is_none()), "{place}, before {from}");
        }
    }
}

fn config(folder: &TempDir) -> Config {
    Config { durable: Durable::Off, ..Config::new(folder.path()) }
}

#[test]
fn frames_of_many_parts_come_one_by_one_in_order() {
    for seed in 0..6 {
        let mut archive = Archive::new(seed);
        for part in 0..4 {
            let count = 10 + archive.below(70);
            archive.record(count);
            archive.check(&[], &format!("seed {seed}, {part} segments and a head"));
            archive.flush();
            archive.check(&[], &format!("seed {seed}, {} segments", part + 1));
        }
        let samples = archive.parts.concat();
        let mut hidden: Vec<TimeRange> = Vec::new();
        for _ in 0..2 {
            // From a sample on that is still there, so that there is something to delete.
            let from = samples[archive.below(samples.len() as u64) as usize].time;
            let range = TimeRange { t0: from, t1: at(from.nanos() + 1 + archive.below(40) as i64) };
            if !hidden.iter().any(|other| other.contains(from)) {
                archive.store.writer().delete_range(archive.pv, range, &by(0)).unwrap();
                hidden.push(range);
            }
        }
        archive.check(&hidden, &format!("seed {seed}, without {hidden:?}"));
    }
}

/// Files of blocks, the oldest first.
fn segments(folder: &TempDir) -> Vec<PathBuf> {
    let weeks = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let mut files: Vec<PathBuf> =
        weeks.flat_map(|week| fs::read_dir(week).unwrap().map(|entry| entry.unwrap().path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "seg"));
    files.sort();
    files
}

#[test]
fn a_damaged_block_of_frames_is_an_error_in_its_place_and_its_neighbours_are_served() {
    // Parts that follow one another, and such that overlap.
    for (seed, apart) in [(20, 1000), (21, 60), (22, 30)] {
        let mut archive = Archive::new(seed);
        for part in 0..3 {
            archive.record_from(part * apart, 60);
            archive.flush();
        }
        let Archive { store, pv, parts, folder, .. } = archive;
        store.close(at(4000 * SECOND)).unwrap();
        let damaged = &segments(&folder)[1];
        let mut bytes = fs::read(damaged).unwrap();
        bytes[200] ^= 0x10; // in its first block
        fs::write(damaged, bytes).unwrap();
        let store = Store::open(config(&folder), at(4000 * SECOND)).unwrap();
        assert_in_its_place(&store, pv, &parts, &format!("seed {seed}"));
    }
}

fn assert_in_its_place(store: &Store, pv: PvId, parts: &[Vec<Sample>], place: &str) {
    let (mut before, mut behind, mut lost) = (Vec::new(), Vec::new(), None);
    for batch in store.reader().samples(pv, TimeRange::ALL) {
        match batch {
            Ok(batch) if lost.is_none() => before.extend((0..batch.len()).map(|row| batch.get(row))),
            Ok(batch) => behind.extend((0..batch.len()).map(|row| batch.get(row))),
            Err(Error::CorruptBlock { t0, t1, .. }) => assert!(lost.replace((t0, t1)).is_none(), "{place}: twice"),
            Err(error) => panic!("{place}: {error}"),
        }
    }
    let (t0, t1) = lost.unwrap_or_else(|| panic!("{place}: nobody was told"));
    assert!(parts[1].iter().any(|sample| sample.time == t0), "{place}");
    assert!(before.iter().all(|sample: &Sample| sample.time <= t0) && behind.iter().all(|sample| sample.time >= t0));
    let all = [before, behind].concat();
    for part in [&parts[0], &parts[2]] {
        let is_there = |sample: &Sample| all.iter().any(|other| other.identical(sample));
        assert!(part.iter().all(is_there), "{place}: a neighbour is missing");
    }
    let is_lost = |sample: &&Sample| t0 < sample.time && sample.time < t1;
    let others = |sample: &Sample| parts[0].iter().chain(&parts[2]).any(|other| other.identical(sample));
    assert!(
        parts[1].iter().filter(is_lost).all(|sample| others(sample) || !all.iter().any(|one| one.identical(sample)))
    );
    let last = store.reader().last_before(pv, t1).unwrap().expect("there are samples before");
    assert!(all.iter().any(|sample| sample.identical(&last)) && last.time <= t1, "{place}");
}

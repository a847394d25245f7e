//! How often files are read: a query of one PV reads each segment three times at most, and a PV that is long dead does not make
//! every query look into all segments.

use crate::common;

use std::{
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

use archive::PvId;
use common::{append, at, read, register, sample, wait_until};
use sample::{Sample, TimeRange, Value};
use store::{
    Config, Store,
    disk::{Disk, Objects, RealDisk},
};

/// A disk that counts how often segments are read. Where this machine is busy, what lies in memory may be taken for what does not, and
/// fewer reads are made.
#[derive(Debug)]
struct Counting {
    disk: RealDisk,
    reads: AtomicU64,
    /// For so many milliseconds each read has to wait.
    waits: AtomicU64,
}

impl Counting {
    fn new(folder: &Path) -> Arc<Counting> {
        Arc::new(Counting { disk: RealDisk::new(folder), reads: AtomicU64::new(0), waits: AtomicU64::new(0) })
    }

    fn reads_of<T>(&self, run: impl FnOnce() -> T) -> (u64, T) {
        let before = self.reads.load(Relaxed);
        let result = run();
        (self.reads.load(Relaxed) - before, result)
    }
}

impl Objects for Counting {
    fn len(&self, key: &str) -> io::Result<u64> {
        self.disk.len(key)
    }

    fn read_at(&self, key: &str, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.reads.fetch_add(u64::from(key.ends_with(".seg")), Relaxed);
        thread::sleep(Duration::from_millis(self.waits.load(Relaxed)));
        self.disk.read_at(key, offset, bytes)
    }

    fn remove(&self, key: &str) -> io::Result<()> {
        self.disk.remove(key)
    }
}

impl Disk for Counting {
    fn create_folder(&self, folder: &str) -> io::Result<()> {
        self.disk.create_folder(folder)
    }

    fn write_at(&self, key: &str, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.disk.write_at(key, offset, bytes)
    }

    fn set_len(&self, key: &str, len: u64) -> io::Result<()> {
        self.disk.set_len(key, len)
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
}

fn open(disk: &Arc<Counting>) -> Store {
    Store::open_on(disk.clone(), Config::new("counted"), at(0)).unwrap()
}

fn walk(from: i64, count: i64) -> Vec<Sample> {
    (from..from + count).map(|i| sample(i * 1000 + i % 7, Value::F64((i * i % 1009) as f64 / 7.0))).collect()
}

/// A number of which no bit can be guessed.
fn noise(i: i64) -> f64 {
    let mixed = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    f64::from_bits((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 2)
}

/// One more segment with these samples. Those before it are of other weeks, or of other days, so that nothing is merged.
fn flush(disk: &Arc<Counting>, facts: &[(PvId, Vec<Sample>)], day: i64) {
    let store = open(disk);
    for (pv, samples) in facts {
        append(&store, *pv, samples).unwrap();
    }
    store.close(at(day * 7 * 86_400_000_000_000)).unwrap();
}

#[test]
fn a_query_of_many_blocks_reads_a_segment_a_few_times() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Counting::new(folder.path());
    let store = open(&disk);
    let pvs = register(&store, &["A", "B", "C"]).unwrap();
    drop(store);
    let samples: Vec<Vec<Sample>> = (0..3).map(|pv| walk(pv * 1000, 40_000)).collect();
    flush(&disk, &[(pvs[0], samples[0].clone()), (pvs[1], samples[1].clone()), (pvs[2], samples[2].clone())], 1);
    let store = open(&disk);
    let (first, found) = disk.reads_of(|| read(&store, pvs[1], TimeRange::ALL));
    assert_eq!(found.len(), 40_000);
    assert!((4..=5).contains(&first), "{first}: footer, page, index, the first blocks, all others at once");
    assert_eq!(found, samples[1]);
    let (again, found) = disk.reads_of(|| read(&store, pvs[0], TimeRange { t0: at(9_000_000), t1: at(33_000_000) }));
    assert_eq!((again, found.len()), (3, 24_000), "the footer is known, and all blocks are few bytes");
    let (apart, found) = disk.reads_of(|| read(&store, pvs[2], TimeRange { t0: at(0), t1: at(1_000_000) }));
    assert_eq!((apart, found.len()), (1, 0), "the directory says that it begins later");
}

/// Whoever asks for a week and does not read it holds what was read in advance for them.
#[test]
fn those_who_wait_hold_little_that_was_read_in_advance() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Counting::new(folder.path());
    let store = open(&disk);
    let pv = register(&store, &["A"]).unwrap()[0];
    drop(store);
    let samples: Vec<Sample> = (0..250_000).map(|i| sample(i * 1000, Value::F64(noise(i)))).collect();
    flush(&disk, &[(pv, samples.clone())], 1);
    let store = open(&disk);
    let whole = || disk.reads_of(|| read(&store, pv, TimeRange::ALL));
    whole();
    let alone = whole().0;
    // As few as two where this thread was kept waiting, which looks as if the disk had been.
    assert!((2..13).contains(&alone), "alone: {alone} reads, of 2 MB in runs");
    let wait = || {
        let mut waiting = store.reader().samples(pv, TimeRange::ALL);
        waiting.by_ref().take(2).for_each(|batch| assert!(batch.is_ok()));
        waiting
    };
    let waiting: Vec<_> = (0..24).map(|_| wait()).collect();
    let (reads, found) = whole();
    assert!(reads > 24, "{reads} reads of 2 MB in small pieces");
    assert!(found == samples);
    drop(waiting);
    assert!(whole().0 < 13, "alone again");
}

/// A query reads little at once of what lies in memory, and all that it wants next where it has to wait for a disk or a network.
#[test]
fn where_reads_have_to_be_waited_for_few_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Counting::new(folder.path());
    let store = open(&disk);
    let pv = register(&store, &["A"]).unwrap()[0];
    drop(store);
    let samples: Vec<Sample> = (0..200_000).map(|i| sample(i * 1000, Value::F64(noise(i)))).collect();
    flush(&disk, &[(pv, samples.clone())], 1);
    let store = open(&disk);
    disk.waits.store(2, Relaxed);
    let (reads, found) = disk.reads_of(|| read(&store, pv, TimeRange::ALL));
    assert_eq!(reads, 4, "footer, page, index, and 1.6 MB of blocks at once");
    assert!(found == samples);
    let (reads, found) = disk.reads_of(|| read(&store, pv, TimeRange::ALL));
    assert_eq!(reads, 2, "the index is remembered");
    assert!(found == samples);
}

#[test]
fn who_stops_after_the_first_batch_has_not_read_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Counting::new(folder.path());
    let store = open(&disk);
    let pv = register(&store, &["A"]).unwrap()[0];
    drop(store);
    (0..20).for_each(|part| flush(&disk, &[(pv, walk(part * 10_000, 10_000))], part));
    let store = open(&disk);
    assert_eq!(store.reader().health().segments, 20);
    let (reads, batch) = disk.reads_of(|| store.reader().samples(pv, TimeRange::ALL).next().unwrap().unwrap());
    assert_eq!(batch.len(), 8192);
    assert!(reads <= 4, "{reads} reads for the first batch of the first of 20 segments");
    let (reads, all) = disk.reads_of(|| read(&store, pv, TimeRange::ALL));
    assert_eq!(all.len(), 200_000);
    assert!(reads <= 19 * 4 + 3, "{reads}");
}

/// A stamp from the far future in one PV makes its segment seem to reach over all later ones.
#[test]
fn a_bad_stamp_of_one_pv_costs_others_one_look_into_its_segment() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Counting::new(folder.path());
    let store = open(&disk);
    let pvs = register(&store, &["A", "BAD"]).unwrap();
    drop(store);
    let future = sample(i64::MAX / 2, Value::F64(0.0));
    flush(&disk, &[(pvs[0], walk(0, 1000)), (pvs[1], vec![future])], 0);
    flush(&disk, &[(pvs[0], walk(1000, 1000))], 1);
    let store = open(&disk);
    read(&store, pvs[0], TimeRange::ALL);
    let (reads, found) = disk.reads_of(|| read(&store, pvs[0], TimeRange { t0: at(1_500_000), t1: at(1_600_000) }));
    assert_eq!(
        (reads, found.len()),
        (1 + 2, 100),
        "the segment is looked into; page and block, of which the page tells"
    );
}

#[test]
fn the_last_sample_of_a_dead_pv_is_found_without_looking_into_every_segment_again() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Counting::new(folder.path());
    let store = open(&disk);
    let pvs = register(&store, &["LIVE", "DEAD", "NEVER", "LATER"]).unwrap();
    drop(store);
    // The live ones have lower and higher numbers, so that no segment can be passed over for its numbers alone.
    flush(&disk, &[(pvs[1], walk(0, 10)), (pvs[0], walk(0, 10))], 0);
    (1..20).for_each(|week| flush(&disk, &[(pvs[0], walk(week * 10, 10)), (pvs[3], walk(week * 10, 10))], week));
    let store = open(&disk);
    let reader = store.reader();
    wait_until("past weeks are sealed", || reader.health().weeks_pending == 0);
    let last = |pv: PvId| reader.last_before(pv, at(i64::MAX)).unwrap();
    for pv in [pvs[2], pvs[1]] {
        let (_, first) = disk.reads_of(|| last(pv));
        let (reads, again) = disk.reads_of(|| last(pv));
        assert_eq!((reads, &again), (0, &first), "PV {}", pv.0);
        assert_eq!(first, (pv == pvs[1]).then(|| walk(9, 1)[0].clone()));
    }
    let early = reader.last_before(pvs[1], at(4_500)).unwrap();
    assert_eq!(early, Some(walk(4, 1)[0].clone()), "what is kept is no answer to an earlier time");
    // What is flushed later is seen: the newest of it, and the last of those of equal time.
    append(&store, pvs[1], &[sample(9002, Value::F64(7.0)), sample(8000, Value::F64(8.0))]).unwrap();
    store.tick(at(20 * 7 * 86_400_000_000_000));
    wait_until("the head is flushed", || reader.health().head_samples == 0);
    assert_eq!(last(pvs[1]), Some(sample(9002, Value::F64(7.0))));
    append(&store, pvs[2], &walk(3, 1)).unwrap();
    store.tick(at(21 * 7 * 86_400_000_000_000));
    wait_until("the head is flushed", || reader.health().head_samples == 0);
    assert_eq!(last(pvs[2]), Some(walk(3, 1)[0].clone()));
}

/// What was written since may have been merged with what was looked into already.
#[test]
fn a_pv_that_comes_back_to_life_is_seen_after_merges() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Counting::new(folder.path());
    let store = open(&disk);
    let reader = store.reader();
    let pvs = register(&store, &["LIVE", "DEAD", "LATER"]).unwrap();
    let (week, minute) = (7 * 86_400_000_000_000, 1_500_000_000_000);
    let flush = |now: i64, pv: PvId, value: f64| {
        let live = [pvs[0], pvs[2]].map(|live| (live, vec![sample(now, Value::F64(0.0))]));
        live.iter().for_each(|(live, samples)| append(&store, *live, samples).unwrap());
        append(&store, pv, &[sample(now, Value::F64(value))]).unwrap();
        store.tick(at(now + 1));
        store.tick(at(now + minute));
        wait_until("the head is flushed", || reader.health().head_samples == 0);
    };
    flush(week, pvs[1], 1.0);
    (2..10).for_each(|number| flush(number * week, pvs[0], 0.0));
    let last = || reader.last_before(pvs[1], at(i64::MAX)).unwrap();
    (0..4).for_each(|part| flush(20 * week + part * minute, pvs[0], 0.0));
    wait_until("past weeks are sealed", || reader.health().weeks_pending == 0);
    assert_eq!(last(), Some(sample(week, Value::F64(1.0))));
    let back = 20 * week + 4 * minute;
    flush(back, pvs[1], 2.0);
    (5..16).for_each(|part| flush(20 * week + part * minute, pvs[0], 0.0));
    wait_until("the day's are merged", || reader.health().segments < 15);
    assert_eq!(last(), Some(sample(back, Value::F64(2.0))));
}

//! The backup of a shard: an archive of one machine that has all that is durable, made while the owner goes on.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    fmt,
    ops::Range,
    path::Path,
    sync::{Arc, Mutex},
};

use archive::{PvId, Record, Sink};
use sample::{Batch, TimeRange};
use shared::{Created, Seq, Shard, Shared, Swapped, twin::Memory};
use store::{
    Config, Error, Purpose, ShardBackup, Store,
    disk::{Disk, RealDisk},
};
use tempfile::TempDir;

use crate::{
    common::{append, at, by, read, register, wait_until},
    shard::{Cluster, LATER, Node, begun, values},
};

const NAME: &str = "shard-3";

fn back_up(cluster: &Cluster, to: &Path) -> Result<ShardBackup, Error> {
    back_up_from(cluster.memory.clone(), to)
}

fn back_up_from(shared: Arc<dyn Shared>, to: &Path) -> Result<ShardBackup, Error> {
    let (shard, of) = (Shard::new(3, 'a').unwrap(), "shard-3 of the cluster ring");
    let made = store::backup_shard(&shared, &shard, (to, NAME, of), &Config::new("not this one"), at(9 * LATER))?;
    Ok(made.expect("a node has had the shard"))
}

fn samples_in(folder: &Path, pv: PvId) -> Vec<sample::Sample> {
    let report = store::check(folder, |_| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
    let config = Config { purpose: Purpose::Read, ..Config::new(folder) };
    let store = Store::open(config, at(10 * LATER)).unwrap();
    assert_eq!(store.reader().find("A").unwrap().id, pv);
    read(&store, pv, TimeRange::ALL)
}

/// Two owners, each with samples in segments and in the log alone; the second goes on.
fn recorded() -> (Cluster, crate::shard::Node, PvId) {
    let (cluster, node, pv) = begun();
    drop(node.shipped());
    let next = cluster.open(2 * LATER);
    next.store.replay().unwrap();
    append(&next.store, pv, &values(20..30)).unwrap();
    next.flush(4 * LATER);
    append(&next.store, pv, &values(30..40)).unwrap();
    let next = next.shipped();
    (cluster, next, pv)
}

#[test]
fn a_backup_of_a_shard_opens_without_the_cluster_and_the_owner_goes_on() {
    let ((cluster, node, pv), to) = (recorded(), TempDir::new().unwrap());
    let before = (cluster.memory.journal("3.a"), cluster.memory.value("lease/3.a").unwrap());
    let keys = cluster.memory.list("", "", 1000).unwrap();
    let done = back_up(&cluster, to.path()).unwrap();
    assert!(done.copied >= 3 && done.kept == 0, "{done:?}");
    assert_eq!((cluster.memory.journal("3.a"), cluster.memory.value("lease/3.a").unwrap()), before);
    assert_eq!(cluster.memory.list("", "", 1000).unwrap(), keys);
    let folder = to.path().join(NAME);
    assert_eq!(samples_in(&folder, pv), values(0..40));

    // Once more, with what has come since then: what was there is not fetched again.
    append(&node.store, pv, &values(40..50)).unwrap();
    node.flush(6 * LATER);
    let node = node.shipped();
    let again = back_up(&cluster, to.path()).unwrap();
    assert!(again.kept >= done.copied && again.copied >= 1, "{again:?} after {done:?}");
    assert_eq!(samples_in(&folder, pv), values(0..50));
    drop(node);

    // An archiver that recorded there would lose it with the next backup.
    let told = Store::open(Config::new(&folder), at(10 * LATER)).unwrap_err().to_string();
    assert!(told.contains("pvark take-over"), "{told}");
    store::take_over(&folder, &by(1)).unwrap();
    let archive = Store::open(Config::new(&folder), at(10 * LATER)).unwrap();
    append(&archive, pv, &values(50..60)).unwrap();
    archive.close(at(11 * LATER)).unwrap();
    let told = back_up(&cluster, to.path()).unwrap_err().to_string();
    assert!(told.contains("is no backup"), "{told}");
    assert_eq!(samples_in(&folder, pv), values(0..60));
}

#[test]
fn what_is_damaged_or_missing_is_named_and_the_backup_before_stays() {
    let ((cluster, _node, pv), to) = (recorded(), TempDir::new().unwrap());
    back_up(&cluster, to.path()).unwrap();
    let folder = to.path().join(NAME);
    let of = |part: &str| cluster.memory.list("3.a/", "", 1000).unwrap().into_iter().find(|key| key.contains(part));
    for part in ["/log/0000000000000002", "/seg/0000000000000001"] {
        let key = of(part).unwrap_or_else(|| panic!("nothing with {part}"));
        let bytes = cluster.memory.get(&key, 0..u64::MAX).unwrap().unwrap();
        cluster.memory.remove(&key).unwrap();
        let other = TempDir::new().unwrap();
        let told = back_up(&cluster, other.path()).unwrap_err().to_string();
        assert!(told.contains(&key), "{told}");
        assert!(std::fs::read_dir(other.path()).unwrap().next().is_none(), "nothing half is left");
        let mut wrong = bytes.clone();
        wrong[9] ^= 1;
        cluster.memory.put(&key, &wrong).unwrap();
        let told = back_up(&cluster, other.path()).unwrap_err().to_string();
        assert!(told.contains(key.rsplit_once('/').unwrap().0) && told.contains("checksum"), "{told}");
        cluster.memory.remove(&key).unwrap();
        cluster.memory.put(&key, &bytes).unwrap();
    }
    // A segment of which the backup before has each byte is not asked for at all.
    cluster.memory.remove(&of("/seg/0000000000000001").unwrap()).unwrap();
    back_up(&cluster, to.path()).unwrap();
    assert_eq!(samples_in(&folder, pv), values(0..40));
    // In the backup, too, a wrong byte is found, and then nothing replaces what is there.
    let log = of("/log/0000000000000002").unwrap();
    cluster.memory.remove(&log).unwrap();
    assert!(back_up(&cluster, to.path()).unwrap_err().to_string().contains(&log));
    assert_eq!(samples_in(&folder, pv), values(0..40));
}

#[test]
fn two_backups_into_one_folder_are_made_one_after_the_other() {
    let ((cluster, _node, _), to) = (recorded(), TempDir::new().unwrap());
    let other = RealDisk::new(to.path());
    assert!(other.lock("").unwrap());
    let refused = back_up(&cluster, to.path()).unwrap_err();
    assert!(matches!(refused, Error::Locked { .. }), "{refused}");
    assert!(!to.path().join("shard-3.new").exists(), "nothing was begun");
    other.unlock("");
    back_up(&cluster, to.path()).unwrap();
    back_up(&cluster, to.path()).expect("the lock was given back");
}

/// A shared store in which something happens just before an object is read.
struct Meanwhile<F> {
    memory: Arc<Memory>,
    before: F,
}

impl<F> fmt::Debug for Meanwhile<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("meanwhile")
    }
}

/// Whether the object is there all the same.
#[derive(PartialEq)]
enum Then {
    Read,
    Missing,
}

impl<F: Fn(&str) -> Then + Send + Sync + 'static> Shared for Meanwhile<F> {
    fn put(&self, key: &str, bytes: &[u8]) -> shared::Result<()> {
        self.memory.put(key, bytes)
    }

    fn get(&self, key: &str, range: Range<u64>) -> shared::Result<Option<Vec<u8>>> {
        if (self.before)(key) == Then::Missing {
            return Ok(None);
        }
        self.memory.get(key, range)
    }

    fn len(&self, key: &str) -> shared::Result<Option<u64>> {
        self.memory.len(key)
    }

    fn remove(&self, key: &str) -> shared::Result<()> {
        self.memory.remove(key)
    }

    fn list(&self, prefix: &str, after: &str, max: usize) -> shared::Result<Vec<String>> {
        self.memory.list(prefix, after, max)
    }

    fn create(&self, journal: &str, seq: Seq, row: &[u8]) -> shared::Result<Created> {
        self.memory.create(journal, seq, row)
    }

    fn row(&self, journal: &str, seq: Seq) -> shared::Result<Option<Vec<u8>>> {
        self.memory.row(journal, seq)
    }

    fn value(&self, name: &str) -> shared::Result<Option<Vec<u8>>> {
        self.memory.value(name)
    }

    fn swap(&self, name: &str, old: Option<&[u8]>, new: &[u8]) -> shared::Result<Swapped> {
        self.memory.swap(name, old, new)
    }

    fn beat(&self, node: &str, beat: &[u8]) -> shared::Result<()> {
        self.memory.beat(node, beat)
    }

    fn forget(&self, node: &str) -> shared::Result<()> {
        self.memory.forget(node)
    }

    fn beats(&self) -> shared::Result<Vec<(String, Vec<u8>)>> {
        self.memory.beats()
    }
}

/// The segments in a shared store, by their keys there.
fn segments(memory: &Memory) -> BTreeSet<String> {
    let keys = memory.list("3.a/seg/", "", 10_000).unwrap();
    keys.iter().filter_map(|key| Some(key.rsplit_once('/')?.0.to_owned())).collect()
}

/// An owner that appends ten samples at a time and makes a segment of them.
struct Recording {
    node: Node,
    pv: PvId,
    written: Cell<i64>,
}

/// The store merges this many segments of a day, if each was filled in minutes,
const PILE: i64 = 16;
/// that is in this many nanoseconds.
const FILLED_IN: i64 = 700_000_000_000;

impl Recording {
    fn flush(&self, times: i64) {
        for _ in 0..times {
            let from = self.written.get();
            let samples = values(from..from + 10);
            let records: Vec<_> = samples.iter().map(|of| (self.pv, Record::Samples(Batch::of(of)))).collect();
            self.node.store.writer().append(&records, at(from / 10 * FILLED_IN)).unwrap();
            self.written.set(from + 10);
            self.node.flush((from / 10 + 1) * FILLED_IN);
        }
        self.ship();
    }

    fn ship(&self) {
        wait_until("the journal has all", || {
            self.node.store.ship();
            self.node.store.shard().unwrap().waiting == 0
        });
        self.node.store.ship();
    }

    /// Flushes once more, after which all that was not merged is.
    fn merge(&self, memory: &Memory) {
        let merged = || self.node.store.reader().health().merged_segments as i64;
        let before = merged();
        self.flush(1);
        wait_until("they are merged", || merged() >= before + PILE);
        wait_until("what was merged goes", || {
            self.ship();
            segments(memory).len() as i64 == self.written.get() / 10 / PILE
        });
    }
}

#[test]
fn a_backup_ends_though_what_is_young_is_merged_while_the_old_is_fetched() {
    let (cluster, to) = (Cluster::new(), TempDir::new().unwrap());
    let node = cluster.open(0);
    node.store.replay().unwrap();
    let pv = register(&node.store, &["A"]).unwrap()[0];
    let owner = Recording { node, pv, written: Cell::new(0) };
    owner.flush(PILE - 1);
    owner.merge(&cluster.memory);
    let oldest = segments(&cluster.memory).pop_first().unwrap();
    owner.flush(PILE - 1);

    let (owner, memory) = (Mutex::new(owner), cluster.memory.clone());
    let merges = Mutex::new(5);
    let is_oldest = {
        let memory = memory.clone();
        move |key: &str| {
            let mut merges = merges.lock().unwrap();
            if key.starts_with(&oldest) && *merges > 0 {
                *merges -= 1;
                let owner = owner.lock().unwrap();
                owner.merge(&memory);
                owner.flush(PILE - 1);
            }
            Then::Read
        }
    };
    back_up_from(Arc::new(Meanwhile { memory, before: is_oldest }), to.path()).unwrap();
    assert_eq!(samples_in(&to.path().join(NAME), pv), values(0..(2 * PILE - 1) * 10));
}

#[test]
fn what_was_fetched_before_something_was_missing_is_not_fetched_again() {
    let ((cluster, node, pv), to) = (recorded(), TempDir::new().unwrap());
    let all = segments(&cluster.memory);
    assert!(all.len() > 2, "{all:?}");
    // Each but the newest is missing once, as if it had been merged.
    let reads: Arc<Mutex<BTreeMap<String, u32>>> = Arc::default();
    let counted = reads.clone();
    let newest = Mutex::new(None);
    let before = move |key: &str| {
        let Some((segment, _)) = key.rsplit_once('/').filter(|_| key.starts_with("3.a/seg/")) else {
            return Then::Read;
        };
        let newest = newest.lock().unwrap().get_or_insert_with(|| segment.to_owned()).clone();
        let mut reads = counted.lock().unwrap();
        let reads = reads.entry(segment.to_owned()).or_default();
        *reads += 1;
        if *reads == 1 && segment != newest { Then::Missing } else { Then::Read }
    };
    let done = back_up_from(Arc::new(Meanwhile { memory: cluster.memory.clone(), before }), to.path()).unwrap();
    assert_eq!(done.copied, all.len() as u64);
    let reads = reads.lock().unwrap().clone();
    // The newest once, the others once in vain before.
    let mut times: Vec<u32> = reads.into_values().collect();
    times.sort_unstable();
    assert_eq!(times, [vec![1], vec![2; all.len() - 1]].concat());
    assert_eq!(samples_in(&to.path().join(NAME), pv), values(0..40));
    let left: Vec<_> = std::fs::read_dir(to.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, [NAME]);
    drop(node);
}

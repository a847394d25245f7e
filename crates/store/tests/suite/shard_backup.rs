//! The backup of a shard: an archive of one machine that has all that is durable, made while the owner goes on.

use std::{path::Path, sync::Arc};

use archive::PvId;
use sample::TimeRange;
use shared::{Shard, Shared};
use store::{
    Config, Error, Purpose, ShardBackup, Store,
    disk::{Disk, RealDisk},
};
use tempfile::TempDir;

use crate::{
    common::{append, at, by, read},
    shard::{Cluster, LATER, begun, values},
};

const NAME: &str = "shard-3";

fn back_up(cluster: &Cluster, to: &Path) -> Result<ShardBackup, Error> {
    let shared: Arc<dyn Shared> = cluster.memory.clone();
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

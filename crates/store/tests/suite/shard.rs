//! A store that belongs to a shard, case by case: what is durable when, what the next owner finds, what stays while nothing can be
//! shipped, and what an owner does that was replaced in its sleep.

use std::{cell::Cell, collections::BTreeSet, sync::Arc, time::Duration};

use archive::{Directory, GapScope, Purge, PvId, Record, Sink, WeekState};
use sample::{Gap, GapCause, TimeRange, Value};
use shared::{
    Created, Owner, OwnerStanding, Seq, Settings, Shard, Shared,
    twin::{FaultRates, Link, Memory, Net, Seed},
};
use store::{
    Closed, Config, Durable, Error, Follower, LogFrames, Shipping, Store,
    disk::{Disk, RealDisk},
};

use crate::{
    common::{append, at, by, name, read, register, sample, settings, wait_until},
    sim::SimDisk,
};

pub(crate) struct Cluster {
    pub(crate) memory: Arc<Memory>,
    net: Arc<Net>,
}

const SETTINGS: Settings = Settings {
    piece: 4096,
    inline: 1000,
    run: 4096,
    commit_every: Duration::ZERO,
    changes_per_checkpoint: 1000,
    rows_per_checkpoint: 1000,
    keep_unnamed: Duration::ZERO,
};

const BY_HAND: Shipping =
    Shipping { every: None, patience: Duration::from_millis(1), grace: Duration::ZERO, unrelieved: Duration::ZERO };

fn config() -> Config {
    Config { durable: Durable::Every(Duration::from_millis(1)), log_file_bytes: 2000, ..Config::new("simulated") }
}

pub(crate) struct Node {
    pub(crate) store: Store,
    link: Arc<Link>,
    disk: Arc<SimDisk>,
}

impl Cluster {
    pub(crate) fn new() -> Cluster {
        let memory = Arc::new(Memory::default());
        Cluster { net: Net::new(memory.clone()), memory }
    }

    /// A node that takes the shard and opens it, at a time.
    pub(crate) fn open(&self, now: i64) -> Node {
        self.open_with(now, BY_HAND)
    }

    fn open_with(&self, now: i64, shipping: Shipping) -> Node {
        let link = self.net.link(FaultRates::default(), Seed::new(0), None);
        let shard = Shard::new(3, 'a').unwrap();
        let owner = Owner::take(link.clone(), shard, "node", 1, 1, SETTINGS).unwrap();
        let disk = Arc::new(SimDisk::default());
        let store = Store::open_shard(disk.clone(), config(), owner, shipping, at(now)).unwrap();
        Node { store, link, disk }
    }
}

impl Node {
    pub(crate) fn shipped(self) -> Node {
        wait_until("all is synced", || {
            self.store.ship();
            self.store.shard().unwrap().synced == self.store.reader().watermark().appended
        });
        self.store.ship();
        self
    }

    pub(crate) fn flush(&self, now: i64) {
        let before = self.store.reader().health().flushes;
        self.store.tick(at(now));
        wait_until("the head is flushed", || self.store.reader().health().flushes > before);
    }

    fn durable(&self) -> u64 {
        self.store.reader().watermark().durable
    }
}

pub(crate) fn values(samples: std::ops::Range<i64>) -> Vec<sample::Sample> {
    samples.map(|i| sample(i * 10, Value::F64(i as f64))).collect()
}

pub(crate) const LATER: i64 = 1_000_000_000_000;

#[test]
fn what_is_synced_here_is_durable_only_when_the_journal_has_it() {
    let cluster = Cluster::new();
    let node = cluster.open(0);
    node.store.replay().unwrap();
    let pv = register(&node.store, &["A"]).unwrap()[0];
    append(&node.store, pv, &values(0..10)).unwrap();
    wait_until("it is synced", || node.store.shard().unwrap().synced == 10);
    assert_eq!(node.durable(), 0);
    node.store.ship();
    assert_eq!(node.durable(), 10);
    assert_eq!(node.store.shard().unwrap().standing, OwnerStanding::Owning);
}

/// An owner that has ten samples in a segment, and ten in its log alone.
pub(crate) fn begun() -> (Cluster, Node, PvId) {
    let cluster = Cluster::new();
    let node = cluster.open(0);
    node.store.replay().unwrap();
    let pv = register(&node.store, &["A"]).unwrap()[0];
    append(&node.store, pv, &values(0..10)).unwrap();
    node.flush(LATER);
    append(&node.store, pv, &values(10..20)).unwrap();
    (cluster, node, pv)
}

#[test]
fn the_next_owner_finds_what_was_flushed_and_what_was_only_committed() {
    let (cluster, node, pv) = begun();
    // A gap is no sample, by whose number one could see that it is synced.
    let node = node.shipped();
    let syncs = node.store.reader().health().syncs;
    let gap = Gap { from: at(200), to: None, cause: GapCause::Disconnected, lost: 0 };
    node.store.writer().append(&[(pv, Record::Gap(gap))], at(LATER + 200)).unwrap();
    wait_until("the gap is synced", || node.store.reader().health().syncs > syncs);
    let node = node.shipped();
    assert_eq!(node.durable(), 20);
    append(&node.store, pv, &values(20..25)).unwrap(); // of this nothing is promised

    let next = cluster.open(2 * LATER);
    let again = next.store.reader().find("A").unwrap().id;
    assert_eq!(again, pv);
    append(&next.store, pv, &values(30..35)).unwrap(); // before anything is replayed
    next.store.replay().unwrap();
    let expected = [values(0..20), values(30..35)].concat();
    assert_eq!(read(&next.store, pv, TimeRange::ALL), expected);
    let gaps = next.store.reader().gaps(pv, TimeRange::ALL).unwrap();
    assert!(gaps.contains(&(GapScope::Pv, Gap { to: Some(at(LATER + 200)), ..gap })), "{gaps:?}");
    let stopped = Gap { from: at(LATER + 200), to: Some(at(2 * LATER)), cause: GapCause::ArchiverStopped, lost: 0 };
    assert!(gaps.contains(&(GapScope::Archiver, stopped)), "{gaps:?}");

    // The one before learns of it, and hands over what is left.
    node.store.ship();
    assert!(matches!(node.store.shard().unwrap().standing, OwnerStanding::Taken { .. }));
    assert!(matches!(append(&node.store, pv, &values(25..26)), Err(Error::Refused { .. })));
    let part = node.store.left_over().unwrap();
    let frames = LogFrames::new(node.disk.clone());
    assert!(next.store.take_part(&part, &frames).unwrap());
    assert!(next.store.take_part(&part, &frames).unwrap(), "once more changes nothing");
    let expected = [values(0..25), values(30..35)].concat();
    assert_eq!(read(&next.store, pv, TimeRange::ALL), expected);
    let next = next.shipped();
    assert_eq!(next.store.reader().watermark().durable, 30);

    // And so does whoever comes then.
    next.store.close(at(3 * LATER)).unwrap();
    let third = cluster.open(3 * LATER + 1);
    third.store.replay().unwrap();
    assert_eq!(read(&third.store, pv, TimeRange::ALL), expected);
    assert_eq!(third.store.reader().watermark().appended, 30);
}

#[test]
fn a_replay_that_broke_off_goes_on_behind_what_it_has_put_into_segments() {
    let cluster = Cluster::new();
    let mut node = cluster.open(0);
    node.store.replay().unwrap();
    let pv = register(&node.store, &["A"]).unwrap()[0];
    let pieces = || cluster.memory.list("3.a/log/", "", 10_000).unwrap();
    let files = || pieces().iter().filter_map(|key| key.split('/').nth(3).map(str::to_owned)).collect::<BTreeSet<_>>();
    let mut written = 0;
    while files().len() < 3 {
        append(&node.store, pv, &values(written..written + 10)).unwrap();
        written += 10;
        node = node.shipped();
    }
    let next = cluster.open(LATER);
    let last = pieces().pop().unwrap();
    let bytes = cluster.memory.get(&last, 0..u64::MAX).unwrap().unwrap();
    cluster.memory.remove(&last).unwrap();
    next.store.replay().unwrap_err();
    assert!(next.store.reader().health().segments > 0, "those of the files before");
    cluster.memory.put(&last, &bytes).unwrap();
    next.store.replay().unwrap();
    assert_eq!(read(&next.store, pv, TimeRange::ALL), values(0..written));
    let next = next.shipped();
    let third = cluster.open(2 * LATER);
    third.store.replay().unwrap();
    assert_eq!(read(&third.store, pv, TimeRange::ALL), values(0..written));
    drop((node, next));
}

#[test]
fn a_node_that_is_cut_off_goes_on_recording_and_ships_in_order_when_it_is_back() {
    let cluster = Cluster::new();
    let node = cluster.open(0);
    node.store.replay().unwrap();
    let pv = register(&node.store, &["A"]).unwrap()[0];
    node.store.ship();
    node.link.cut(u64::MAX);
    append(&node.store, pv, &values(0..100)).unwrap();
    node.flush(LATER);
    append(&node.store, pv, &values(100..200)).unwrap();
    node.flush(2 * LATER);
    node.store.ship();
    let health = node.store.shard().unwrap();
    assert!(matches!(health.standing, OwnerStanding::Detached { .. }) && health.waiting == 2, "{health:?}");
    assert_eq!((node.durable(), read(&node.store, pv, TimeRange::ALL).len()), (0, 200));
    // Nobody can be told that an order counts.
    assert!(node.store.writer().register(&[(name("B"), settings())], &by(0)).is_err());
    assert!(node.store.reader().find("B").is_none());
    let logs = || node.disk.keys().iter().filter(|key| key.starts_with("log/")).count();
    let kept = logs();
    assert!(kept > 2, "the log stays while the journal needs it");
    node.link.set(FaultRates::default());
    node.store.ship();
    assert_eq!(node.durable(), 200);
    assert!(logs() < kept, "then it goes");
    let next = cluster.open(3 * LATER);
    next.store.replay().unwrap();
    assert_eq!(read(&next.store, pv, TimeRange::ALL), values(0..200));
}

#[test]
fn an_order_that_came_in_doubt_is_seen_only_when_the_journal_has_it() {
    let cluster = Cluster::new();
    let node = cluster.open(0);
    node.store.replay().unwrap();
    node.store.ship();
    node.link.cut(u64::MAX);
    let ordered = node.store.writer().register(&[(name("A"), settings())], &by(0));
    assert!(matches!(ordered, Err(Error::Doubtful { .. })), "{ordered:?}");
    assert!(node.store.reader().find("A").is_none());
    node.link.set(FaultRates::default());
    wait_until("the journal has it", || {
        node.store.ship();
        node.store.shard().unwrap().waiting == 0
    });
    let pv = register(&node.store, &["B"]).unwrap()[0];
    let both = [node.store.reader().find("A").unwrap().id, pv];
    let next = cluster.open(1);
    assert_eq!(["A", "B"].map(|name| next.store.reader().find(name).unwrap().id), both);
}

#[test]
fn segments_that_were_merged_are_read_by_the_next_owner_and_the_old_ones_go() {
    let cluster = Cluster::new();
    let node = cluster.open(0);
    node.store.replay().unwrap();
    let pv = register(&node.store, &["A"]).unwrap()[0];
    let written = std::cell::Cell::new(0);
    wait_until("segments are merged", || {
        append(&node.store, pv, &values(written.get()..written.get() + 10)).unwrap();
        written.set(written.get() + 10);
        node.flush(written.get() * LATER);
        node.store.ship();
        node.store.reader().health().merged_segments > 0
    });
    let (node, written) = (node.shipped(), written.get());
    let listed = |memory: &Memory| {
        let mut keys = BTreeSet::new();
        for key in shared::Shared::list(memory, "3.a/seg/", "", 10_000).unwrap() {
            keys.insert(key.rsplit_once('/').unwrap().0.to_owned());
        }
        keys
    };
    let near = || node.disk.keys().into_iter().filter(|key| key.ends_with(".seg")).count();
    wait_until("what was merged goes here and there", || {
        node.store.ship();
        listed(&cluster.memory).len() == near()
    });
    assert!((near() as i64) < written / 10);
    let next = cluster.open((written + 1) * LATER);
    next.store.replay().unwrap();
    assert_eq!(read(&next.store, pv, TimeRange::ALL), values(0..written));
    drop(node);
}

/// Appends ten samples to what is written, and makes a segment of them.
fn append_ten(node: &Node, pv: PvId, written: &Cell<i64>) {
    append(&node.store, pv, &values(written.get()..written.get() + 10)).unwrap();
    written.set(written.get() + 10);
    node.flush(written.get() * LATER);
    node.store.ship();
}

/// An owner that has twenty samples in two segments, and the next one.
fn two_epochs() -> (Cluster, [Node; 2], PvId) {
    let (cluster, written) = (Cluster::new(), Cell::new(0));
    let node = cluster.open(0);
    node.store.replay().unwrap();
    let pv = register(&node.store, &["A"]).unwrap()[0];
    append_ten(&node, pv, &written);
    append_ten(&node, pv, &written);
    assert_eq!(node.store.reader().health().merged_segments, 0);
    let (node, next) = (node.shipped(), cluster.open((written.get() + 1) * LATER));
    next.store.replay().unwrap();
    (cluster, [node, next], pv)
}

#[test]
fn segments_of_epochs_before_are_merged_with_those_of_this_one() {
    let (cluster, [node, next], pv) = two_epochs();
    let written = Cell::new(20);
    wait_until("segments of both are merged", || {
        append_ten(&next, pv, &written);
        let health = next.store.reader().health();
        assert_eq!(health.problems, [] as [String; 0]);
        health.merged_segments > 2
    });
    let (next, after) = (next.shipped(), written.get());
    assert_eq!(read(&next.store, pv, TimeRange::ALL), values(0..after));
    let of_first = || shared::Shared::list(&*cluster.memory, "3.a/seg/0000000000000001/", "", 10_000).unwrap();
    wait_until("what was merged goes", || {
        next.store.ship();
        of_first().is_empty()
    });
    next.store.close(at((after + 1) * LATER)).unwrap();
    let third = cluster.open((after + 2) * LATER);
    third.store.replay().unwrap();
    assert_eq!(read(&third.store, pv, TimeRange::ALL), values(0..after));
    drop(node);
}

#[test]
fn an_answer_that_was_begun_before_a_merge_reads_segments_of_epochs_before_to_their_end() {
    let (cluster, [node, next], pv) = two_epochs();
    let written = Cell::new(20);
    let begun = written.get();
    let answer = next.store.reader().samples(pv, TimeRange { t0: at(0), t1: at(begun * 10) });
    wait_until("segments of both are merged", || {
        append_ten(&next, pv, &written);
        next.store.reader().health().merged_segments > 2
    });
    let next = next.shipped();
    wait_until("the journal has all changes", || {
        next.store.ship();
        next.store.shard().unwrap().waiting == 0
    });
    next.store.ship();
    assert_eq!(answer.map(|batch| batch.unwrap().len()).sum::<usize>() as i64, begun);
    wait_until("what was merged goes with its last reader", || {
        next.store.ship();
        shared::Shared::list(&*cluster.memory, "3.a/seg/0000000000000001/", "", 10_000).unwrap().is_empty()
    });
    drop(node);
}

#[test]
fn an_answer_that_was_begun_before_a_segment_of_an_epoch_before_was_sealed_reads_it_to_its_end() {
    let cluster = Cluster::new();
    let node = cluster.open(0);
    node.store.replay().unwrap();
    let pv = register(&node.store, &["A"]).unwrap()[0];
    append(&node.store, pv, &values(0..10)).unwrap();
    node.flush(LATER);
    let (node, next) = (node.shipped(), cluster.open(2 * LATER));
    next.store.replay().unwrap();
    let reader = next.store.reader();
    let answer = reader.samples(pv, TimeRange::ALL);
    let in_two_weeks = 1000 * LATER;
    next.store.tick(at(in_two_weeks));
    wait_until("the week is sealed", || reader.partitions()[0].state == WeekState::Sealed);
    next.store.writer().delete_range(pv, TimeRange { t0: at(0), t1: at(45) }, &by(in_two_weeks)).unwrap();
    next.store.writer().purge(Purge { pv: None, before: at(i64::MAX) }, &by(in_two_weeks)).unwrap();
    wait_until("the segment is written anew", || reader.health().purging == 0);
    wait_until("the journal has all changes", || {
        next.store.ship();
        next.store.shard().unwrap().waiting == 0
    });
    next.store.ship();
    assert_eq!(answer.map(|batch| batch.unwrap().len()).sum::<usize>(), 10);
    wait_until("what was purged goes with its last reader", || {
        next.store.ship();
        cluster.memory.list("3.a/seg/0000000000000001/", "", 10_000).unwrap().is_empty()
    });
    assert_eq!(read(&next.store, pv, TimeRange::ALL), values(5..10));
    assert_eq!(reader.health().problems, Vec::<String>::new());
    drop(node);
}

#[test]
fn a_copy_in_the_place_of_the_folder_serves_though_older_segments_lie_elsewhere() {
    let (cluster, node, pv) = begun();
    let node = node.shipped();
    let above = tempfile::tempdir().unwrap();
    let [data, moved] = ["data", "moved"].map(|name| above.path().join(name));
    let link = cluster.net.link(FaultRates::default(), Seed::new(0), None);
    let owner = Owner::take(link, Shard::new(3, 'a').unwrap(), "node", 1, 1, SETTINGS).unwrap();
    let config = Config { reserve_bytes: 0, folder: data.clone(), ..config() };
    let store = Store::open_shard(Arc::new(RealDisk::new(&data)), config, owner, BY_HAND, at(2 * LATER)).unwrap();
    store.replay().unwrap();
    let is_synced = |count: u64| store.shard().unwrap().synced == count;
    wait_until("it is synced", || is_synced(20));
    let copied = std::process::Command::new("cp").arg("-a").args([&data, &moved]).status().unwrap();
    assert!(copied.success());
    std::fs::remove_dir_all(&data).unwrap();
    append(&store, pv, &values(20..25)).unwrap();
    wait_until("it is told", || {
        store.tick(at(2 * LATER + 1));
        store.reader().health().problems.iter().any(|problem| problem.contains("nothing is written"))
    });
    let put_back = std::process::Command::new("cp").arg("-a").args([&moved, &data]).status().unwrap();
    assert!(put_back.success());
    wait_until("it goes on in the copy", || {
        store.tick(at(2 * LATER + 2));
        is_synced(25)
    });
    assert_eq!(store.reader().health().problems, [] as [String; 0]);
    assert_eq!(read(&store, pv, TimeRange::ALL), values(0..25));
    drop(node);
}

#[test]
fn a_shard_is_not_opened_over_something_else() {
    let cluster = Cluster::new();
    let node = cluster.open(0);
    let disk = node.disk.clone();
    node.store.close(at(1)).unwrap();
    let open = |config: Config, disk: Arc<SimDisk>| {
        let link = cluster.net.link(FaultRates::default(), Seed::new(0), None);
        let owner = Owner::take(link, Shard::new(3, 'a').unwrap(), "node", 1, 1, SETTINGS).unwrap();
        Store::open_shard(disk, config, owner, BY_HAND, at(2)).map(drop).unwrap_err().to_string()
    };
    let told = open(config(), Arc::new(disk.after(crate::sim::Crash::OfProcess)));
    assert!(told.contains("begins in an empty one"), "{told}");
    let told = open(Config { durable: Durable::Off, ..config() }, Arc::default());
    assert!(told.contains("durable"), "{told}");
}

/// For a follower.
fn disks() -> [Arc<dyn Disk>; 2] {
    [Arc::new(SimDisk::default()), Arc::new(SimDisk::default())]
}

#[test]
fn a_follower_knows_what_owners_have_journalled_one_after_the_other() {
    let cluster = Cluster::new();
    let node = cluster.open(0);
    node.store.replay().unwrap();
    let pv = register(&node.store, &["A"]).unwrap()[0];
    let shard = || Shard::new(3, 'a').unwrap();
    let follower = Follower::new(disks(), cluster.memory.clone(), shard());
    assert_eq!(follower.find("A"), None, "nothing is known yet");
    follower.catch_up().unwrap();
    assert_eq!(follower.find("A").map(|entry| entry.id), Some(pv));
    register(&node.store, &["B"]).unwrap();
    append(&node.store, pv, &values(0..10)).unwrap();
    node.flush(LATER);
    let node = node.shipped();
    assert_eq!(follower.find("B"), None);
    follower.catch_up().unwrap();
    let next = cluster.open(2 * LATER);
    next.store.replay().unwrap();
    register(&next.store, &["C"]).unwrap();
    follower.catch_up().unwrap();
    let names = |of: &dyn Directory| of.names().iter().map(|named| named.name.to_string()).collect::<Vec<_>>();
    assert_eq!(names(&follower), ["A", "B", "C"]);
    assert_eq!(names(&follower), names(&next.store.reader()));
    let own = |of: &dyn Directory| of.audit(u64::MAX, 100).unwrap();
    assert_eq!(own(&follower), own(&next.store.reader()));
    // One that begins now knows the same.
    let late = Follower::new(disks(), cluster.memory.clone(), shard());
    late.catch_up().unwrap();
    assert_eq!(names(&late), names(&follower));
    drop(node);
}

#[test]
fn a_follower_knows_what_stands_before_a_damaged_row() {
    let cluster = Cluster::new();
    let node = cluster.open(0);
    node.store.replay().unwrap();
    register(&node.store, &["A"]).unwrap();
    let shard = Shard::new(3, 'a').unwrap();
    let follower = Follower::new(disks(), cluster.memory.clone(), shard.clone());
    follower.catch_up().unwrap();
    register(&node.store, &["B"]).unwrap();
    // The first number that is free.
    let is_new = |seq| cluster.memory.create(shard.journal(), Seq(seq), b"no row").unwrap() == Created::Done;
    assert!((1..100).any(is_new));
    follower.catch_up().unwrap();
    assert!(follower.find("B").is_some(), "it is known though what follows is damaged");
    for _ in 0..2 {
        follower.catch_up().unwrap_err();
        assert!(follower.find("A").is_some() && follower.find("B").is_some());
    }
}

#[test]
fn a_follower_answers_with_what_it_knew_while_it_begins_anew() {
    let cluster = Cluster::new();
    let node = cluster.open(0);
    node.store.replay().unwrap();
    register(&node.store, &["A"]).unwrap();
    let sims = [Arc::new(SimDisk::default()), Arc::new(SimDisk::default())];
    let [one, other] = sims.clone();
    let follower = Follower::new([one, other], cluster.memory.clone(), Shard::new(3, 'a').unwrap());
    follower.catch_up().unwrap();
    let catalogues = || sims.each_ref().map(|disk| disk.keys().iter().any(|key| key == "catalogue.redb"));
    assert_eq!(catalogues(), [false, true]);
    let audit = |of: &dyn Directory| of.audit(u64::MAX, 100).unwrap();
    let known = audit(&node.store.reader());

    // A change that is too long for its row stands beside it.
    let keys = || cluster.memory.list("3.a/", "", 1000).unwrap();
    let before = keys();
    let names: Vec<String> = (0..100).map(|number| format!("B{number}")).collect();
    register(&node.store, &names.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
    let key = keys().into_iter().find(|key| !before.contains(key)).unwrap();
    let bytes = cluster.memory.get(&key, 0..u64::MAX).unwrap().unwrap();
    cluster.memory.remove(&key).unwrap();
    for _ in 0..3 {
        follower.catch_up().unwrap_err();
    }
    assert_eq!(catalogues(), [false, true], "it stays where it is read");
    assert_eq!(audit(&follower), known);
    cluster.memory.put(&key, &bytes).unwrap();
    follower.catch_up().unwrap();
    assert!(follower.find("B99").is_some());
    assert_eq!(audit(&follower), audit(&node.store.reader()));

    follower.catch_up().unwrap();
    assert_eq!(catalogues(), [true, false], "only that of the moment is left");
}

/// How long an owner waits to be relieved by the next one.
const HOUR: Duration = Duration::from_secs(3600);

/// An owner that has shipped ten samples of a PV, and the next one, of which it does not know yet.
fn replaced(cluster: &Cluster, unrelieved: Duration) -> (Node, Node, PvId) {
    let node = cluster.open_with(0, Shipping { unrelieved, ..BY_HAND });
    node.store.replay().unwrap();
    let pv = register(&node.store, &["A"]).unwrap()[0];
    append(&node.store, pv, &values(0..10)).unwrap();
    let node = node.shipped();
    let next = cluster.open(LATER);
    next.store.replay().unwrap();
    (node, next, pv)
}

fn learns_that_it_was_replaced(node: &Node) {
    wait_until("it is found to be replaced", || {
        node.store.ship();
        matches!(node.store.shard().unwrap().standing, OwnerStanding::Taken { .. })
    });
}

#[test]
fn an_owner_that_is_closed_when_it_was_just_replaced_hands_over_what_it_has() {
    for (unrelieved, knows_it) in [(HOUR, false), (HOUR, true), (Duration::ZERO, true)] {
        let (node, next, pv) = replaced(&Cluster::new(), unrelieved);
        append(&node.store, pv, &values(10..20)).unwrap();
        if knows_it {
            learns_that_it_was_replaced(&node);
        }
        let (disk, closed) = (node.disk.clone(), node.store.close_shard(at(LATER + 20)).unwrap());
        let Closed::Replaced { left: Some(part), has_last_copy: false } = closed else {
            panic!("{unrelieved:?} {knows_it}: {closed:?}")
        };
        assert!(next.store.take_part(&part, &LogFrames::new(disk)).unwrap());
        assert_eq!(read(&next.store, pv, TimeRange::ALL), values(0..20));
        assert!(matches!(next.store.close_shard(at(2 * LATER)).unwrap(), Closed::Whole));
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "an operator renames folders by other means than the store's")]
fn samples_that_came_while_the_folder_was_away_are_nowhere_else_until_they_are_shipped() {
    for is_replaced in [false, true] {
        let (cluster, above) = (Cluster::new(), tempfile::tempdir().unwrap());
        let (data, moved) = (above.path().join("data"), above.path().join("moved"));
        let shard = Shard::new(3, 'a').unwrap();
        let owner = Owner::take(cluster.memory.clone(), shard, "node", 1, 1, SETTINGS).unwrap();
        let config = Config { folder: data.clone(), reserve_bytes: 0, ..config() };
        let store = Store::open_shard(Arc::new(RealDisk::new(&data)), config, owner, BY_HAND, at(0)).unwrap();
        store.replay().unwrap();
        let pv = register(&store, &["A"]).unwrap()[0];
        append(&store, pv, &values(0..10)).unwrap();
        wait_until("it is shipped", || {
            store.ship();
            store.reader().watermark().durable == 10
        });
        std::fs::rename(&data, &moved).unwrap();
        wait_until("the folder is away", || {
            store.tick(at(1));
            store.reader().health().problems.iter().any(|problem| problem.contains("nothing is written"))
        });
        append(&store, pv, &values(10..20)).unwrap();
        assert!(!store.has_last_copy(), "there is no segment yet");
        std::fs::rename(&moved, &data).unwrap();
        wait_until("it is in a segment", || {
            store.tick(at(2));
            store.reader().health().segments == 1
        });
        assert!(store.has_last_copy());
        let next = is_replaced.then(|| cluster.open(LATER));
        store.ship();
        assert_eq!(store.has_last_copy(), is_replaced);
        let closed = store.close_shard(at(2 * LATER)).unwrap();
        match next {
            None => assert!(matches!(closed, Closed::Whole)),
            Some(_) => assert!(matches!(closed, Closed::Replaced { has_last_copy: true, .. }), "{closed:?}"),
        }
    }
}

#[test]
fn an_owner_that_was_replaced_does_not_hand_over_what_its_disk_did_not_take() {
    let (node, _next, pv) = replaced(&Cluster::new(), HOUR);
    append(&node.store, pv, &values(10..20)).unwrap();
    learns_that_it_was_replaced(&node);
    append(&node.store, pv, &values(20..30)).unwrap();
    node.disk.set_failing_syncs(true);
    node.store.close_shard(at(LATER + 20)).unwrap_err();
}

#[test]
fn an_owner_that_was_replaced_writes_down_for_a_while_what_is_still_under_way_to_it() {
    let (node, next, pv) = replaced(&Cluster::new(), HOUR);
    append(&node.store, pv, &values(10..12)).unwrap();
    learns_that_it_was_replaced(&node);
    append(&node.store, pv, &values(12..20)).unwrap();
    assert!(!node.store.shard().unwrap().is_over);
    let part = node.store.left_over().unwrap();
    wait_until("it is in the log", || node.store.shard().unwrap().synced == 20);
    assert!(next.store.take_part(&part, &LogFrames::new(node.disk.clone())).unwrap());
    assert_eq!(read(&next.store, pv, TimeRange::ALL), values(0..20));
    // It goes on, however long the next one takes to begin, and ends when it is told that this has.
    node.store.ship();
    assert!(!node.store.shard().unwrap().is_over);
    append(&node.store, pv, &values(20..21)).unwrap();
    node.store.relieve();
    wait_until("it ends", || {
        node.store.ship();
        node.store.shard().unwrap().is_over
    });
    append(&node.store, pv, &values(21..22)).unwrap_err();
}

#[test]
fn between_two_owners_of_which_both_record_a_gap_is_told_only_where_neither_had_the_pv() {
    let cluster = Cluster::new();
    let patient = Shipping { unrelieved: Duration::from_secs(3600), ..BY_HAND };
    let node = cluster.open_with(0, patient);
    node.store.replay().unwrap();
    let [heard, lost, away] = register(&node.store, &["A", "B", "C"]).unwrap()[..] else { panic!("three") };
    let gap = |from: i64, to: Option<i64>, cause| Gap { from: at(from), to: to.map(at), cause, lost: 0 };
    let tell = |node: &Node, pv: PvId, gap: Gap| {
        let now = gap.to.unwrap_or(gap.from);
        node.store.writer().append(&[(pv, Record::Gap(gap))], now).unwrap();
    };
    tell(&node, away, gap(50, None, GapCause::Disconnected));
    append(&node.store, heard, &values(0..10)).unwrap();
    let node = node.shipped();

    // The next begins at 100, and has its first values at 140. The one before loses one PV at 120, and lives until 190.
    let next = cluster.open(100);
    next.store.replay().unwrap();
    [heard, lost, away].into_iter().for_each(|pv| tell(&next, pv, gap(100, None, GapCause::NeverConnected)));
    append(&node.store, heard, &values(10..12)).unwrap();
    tell(&node, lost, gap(120, None, GapCause::Disconnected));
    [heard, lost].into_iter().for_each(|pv| tell(&next, pv, gap(100, Some(140), GapCause::NeverConnected)));
    append(&node.store, heard, &values(12..20)).unwrap();
    tell(&node, lost, gap(150, Some(160), GapCause::Disconnected));
    append(&node.store, heard, &values(19..20)).unwrap();
    next.flush(LATER);

    let told = |node: &Node, pv: PvId| node.store.reader().gaps(pv, TimeRange::ALL).unwrap();
    let stopped = told(&next, heard).into_iter().find(|(scope, _)| *scope == GapScope::Archiver);
    assert_eq!(stopped, Some((GapScope::Archiver, gap(90, Some(100), GapCause::ArchiverStopped))));
    node.store.relieve();
    wait_until("the one before ends", || {
        node.store.ship();
        node.store.shard().unwrap().is_over
    });
    let part = node.store.left_over().unwrap();
    assert!(next.store.take_part(&part, &LogFrames::new(node.disk.clone())).unwrap());
    let expected = [
        (heard, vec![]),
        (lost, vec![gap(100, Some(140), GapCause::NeverConnected), gap(120, Some(140), GapCause::Disconnected)]),
        (away, vec![gap(50, Some(100), GapCause::Disconnected), gap(100, None, GapCause::NeverConnected)]),
    ];
    let is_so = |node: &Node, last: Option<i64>| {
        for (pv, gaps) in &expected {
            let told: Vec<Gap> =
                told(node, *pv).into_iter().map(|(_, gap)| gap).filter(|of| of.from < at(LATER)).collect();
            let ended = |of: &Gap| Gap { to: of.to.or(last.map(at)), ..*of };
            assert_eq!(told, gaps.iter().map(ended).collect::<Vec<_>>(), "{pv:?}");
        }
    };
    is_so(&next, None);
    // Whoever comes then tells the same.
    next.store.close(at(LATER)).unwrap();
    let third = cluster.open(2 * LATER);
    third.store.replay().unwrap();
    is_so(&third, Some(LATER));
}

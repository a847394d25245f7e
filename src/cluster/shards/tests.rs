//! Two nodes with real stores, of which one takes the shard of the other while an answer is under way.

use std::{
    fs,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use acquire::Config;
use archive::{By, Copies, Method, Policies, Protocol, PvId, PvName, PvSettings, PvState, Record, Sink};
use cluster::{Board, Claims, Placement, Plan};
use sample::{Alarm, Batch, Sample, TimeRange, Timestamp, Value};
use shared::{
    OwnerStanding, Shared,
    twin::{FaultRates, Memory, Net, Seed},
};
use store::Store;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::{Folders, NodeShards, Running, ShardOpening};
use crate::{
    cluster::{List, peers::Links},
    host::clock::now,
};

/// More than a store has open at a time.
const SEGMENTS: i64 = 300;

struct Node {
    board: Arc<Board>,
    shards: Arc<NodeShards>,
    folders: Arc<Folders>,
    _data: TempDir,
}

impl Node {
    /// A node of a cluster that has one shard of PVs.
    fn new(name: &str, shared: &Arc<dyn Shared>, network: &Runtime) -> Node {
        let data = tempfile::tempdir().unwrap();
        let (placement, policies) = (Placement::new(1, Vec::new()).unwrap(), Policies::default());
        let plan = Plan { node: name.to_owned(), page: None, shards: 1, placement, policies, copies: Copies::One };
        let pairs = cluster::Pairs::new(1, Copies::One);
        let lists = (0..pairs.all()).map(|shard| List::new(data.path(), shared, pairs, shard).unwrap()).collect();
        let key = remote::Key::of(b"0123456789abcdef0123456789abcdef").unwrap();
        let board = Board::new(plan, Claims::new(shared.clone()), Arc::new(Links::new(key, 1)), lists);
        // Nobody is searched for: every list of addresses is empty.
        let acquire = Config {
            default_protocol: Protocol::Ca,
            resolve_aliases: false,
            queue_bytes_max: 1 << 20,
            policies: Policies::default(),
            groups: Vec::new(),
            ca: epics::ca::Config { auto_addresses: false, ..epics::ca::Config::default() },
            pva: epics::pva::Config { auto_addresses: false, ..epics::pva::Config::default() },
        };
        let store = store::Config { reserve_bytes: 0, ..store::Config::new(data.path()) };
        let opening = ShardOpening { store, acquire, network: network.handle().clone(), run: 1 };
        let folders = Arc::new(Folders::find(data.path()).unwrap());
        let shards = NodeShards::new(board.clone(), shared.clone(), opening, folders.clone());
        Node { board, shards, folders, _data: data }
    }

    /// Takes the shard, and waits until it is answered here.
    fn takes(&self) -> Arc<Running> {
        self.shards.begin_to_take(0).unwrap();
        wait_until("the shard is open", || self.board.open().contains_key(&0));
        self.shards.running()[&0].clone()
    }
}

fn wait_until(what: &str, done: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !done() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

fn value(time: Timestamp) -> Record {
    let sample = Sample { time, value: Value::F64(1.0), alarm: Alarm::default(), pulse: 0, stamp: None };
    Record::Samples(Batch::of(&sample))
}

fn registered(store: &Store) -> PvId {
    let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Paused);
    let by = By::new("a tester", now());
    store.writer().register(&[(PvName::new("A").unwrap(), settings)], &by).unwrap()[0].id
}

#[test]
fn an_answer_reads_the_segments_of_a_replaced_epoch_to_its_end() {
    let network = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let memory: Arc<dyn Shared> = Arc::new(Memory::default());
    let link = Net::new(memory.clone()).link(FaultRates::default(), Seed::new(0), None);
    let cuttable: Arc<dyn Shared> = link.clone();
    let (before, next) = (Node::new("a", &cuttable, &network), Node::new("b", &memory, &network));
    let running = before.takes();
    let ask = |ask: &dyn Fn(&Store) -> bool| running.with(|store, _| ask(store)).unwrap();
    let stands = |store: &Store| store.shard().unwrap().standing;
    let pv = running.with(|store, _| registered(store)).unwrap();

    // Cut off, a store merges nothing.
    link.cut(u64::MAX);
    let begun = now();
    for number in 0..SEGMENTS {
        running.with(|store, _| {
            let time = begun.saturating_add(Duration::from_millis(number as u64));
            store.writer().append(&[(pv, value(time))], now()).unwrap();
            store.writer().mark(Timestamp::MIN).unwrap(); // which flushes
        });
        wait_until("it is cut off", || ask(&|store| matches!(stands(store), OwnerStanding::Detached { .. })));
    }
    let answer = running.with(|store, _| store.reader().samples(pv, TimeRange::ALL)).unwrap();
    link.set(FaultRates::default());
    wait_until("the journal has all", || ask(&|store| store.shard().unwrap().waiting == 0));

    next.takes();
    wait_until("the owner before learns of the next", || {
        ask(&|store| {
            store.tick(now());
            matches!(stands(store), OwnerStanding::Taken { .. })
        })
    });
    before.board.closed(0);
    before.shards.running().remove(&0);
    before.shards.give_up(0, &running);
    wait_until("all that was left is handed over", || {
        before.folders.offer(&next.board);
        before.folders.waiting().is_empty()
    });
    assert_eq!(before.board.follow(), []);
    let path = &running.folder.path;
    assert_eq!(answer.map(|batch| batch.unwrap().len() as i64).sum::<i64>(), SEGMENTS);
    wait_until("the folder goes with its last reader", || {
        before.folders.offer(&next.board);
        !fs::exists(path).unwrap()
    });
    next.shards.close().unwrap();
}

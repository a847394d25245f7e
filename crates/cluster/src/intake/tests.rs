//! Three nodes in one process, each with real stores: a has shard 0, b has shard 1, and c none.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
};

use archive::{Key, Method, Principal, Protocol, PvName, PvSettings, PvState, Sent, Source};
use sample::{Alarm, Batch, Sample, TimeRange, Timestamp, Value};
use shared::twin::Memory;
use store::{Config, Store};

use super::*;
use crate::{
    Answers, Beat, SiteTokens,
    board::Board,
    numbers::global,
    seams::{Open, Peers},
    testing::{Link, NoList, NoParts, Unwilling, board, board_among},
};

const NODES: [&str; 3] = ["a", "b", "c"];
const SAMPLES: i64 = 500;
const PART: &str = "week 1";

/// What is wrong with node b.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Trouble {
    #[default]
    None,
    /// It runs a program from before nodes took shares.
    Older,
    /// It dies while its share is sent,
    Dies,
    /// or when it has entered it, before it says so.
    IsSilent,
    /// Nobody can ask it.
    Away,
}

/// All nodes, as each of them reaches the others.
#[derive(Default)]
struct Nodes {
    answers: Mutex<BTreeMap<String, Arc<Answers>>>,
    trouble: Mutex<Trouble>,
    shares: AtomicU32,
}

impl std::fmt::Debug for Nodes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Nodes")
    }
}

impl Nodes {
    fn answers(&self, node: &str) -> Arc<Answers> {
        self.answers.lock().unwrap()[node].clone()
    }

    fn trouble(&self, node: &str) -> Trouble {
        if node == "b" { *self.trouble.lock().unwrap() } else { Trouble::None }
    }
}

/// The way to the others.
#[derive(Clone, Debug)]
struct Ways(Arc<Nodes>);

impl Peers for Ways {
    fn ask(&self, node: &str, question: Vec<u8>, _: bool) -> Result<Vec<u8>, SourceError> {
        let lost = |cost, message: &str| SourceError { cost, message: message.to_owned() };
        match self.0.trouble(node) {
            Trouble::Away => Err(lost(Cost::UntilBack, "nobody answers there")),
            Trouble::Older => Err(lost(Cost::Answer, "this node does not understand what it was asked")),
            _ => self.0.answers(node).answer(&question).map_err(|message| lost(Cost::Answer, &message)),
        }
    }

    fn source(&self, node: &str) -> Option<Arc<dyn Source>> {
        let is_away = self.0.trouble(node) == Trouble::Away;
        Some(Arc::new(Link(is_away.then(|| "nobody answers there".to_owned()))))
    }

    fn share(&self, node: &str, question: Vec<u8>) -> Result<Box<dyn Share>, SourceError> {
        self.0.shares.fetch_add(1, Relaxed);
        let (nodes, node) = (self.0.clone(), node.to_owned());
        Ok(Box::new(Gathered { nodes, node, question, pieces: Vec::new() }))
    }

    fn know(&self, _: &[(String, String)]) {}
}

/// A share that is handed over when its answer is asked for.
struct Gathered {
    nodes: Arc<Nodes>,
    node: String,
    question: Vec<u8>,
    pieces: Vec<Result<Sent, String>>,
}

impl Share for Gathered {
    fn put(&mut self, pv: PvId, record: &Record) -> Result<(), SourceError> {
        if self.nodes.trouble(&self.node) == Trouble::Dies && !self.pieces.is_empty() {
            return Err(SourceError::piece("it broke off"));
        }
        self.pieces.push(Ok(Sent::Record(pv, record.clone())));
        Ok(())
    }

    fn end(&mut self, part: &str) -> Result<(), SourceError> {
        self.pieces.push(Ok(Sent::Part(part.to_owned())));
        Ok(())
    }

    fn answer(self: Box<Self>) -> Result<Vec<u8>, SourceError> {
        let answer = self.nodes.answers(&self.node).take(&self.question, &mut self.pieces.into_iter());
        match self.nodes.trouble(&self.node) {
            Trouble::IsSilent => Err(SourceError::piece("it does not answer in time")),
            _ => answer.map_err(SourceError::piece),
        }
    }
}

struct World {
    nodes: Arc<Nodes>,
    boards: Vec<Arc<Board>>,
    /// Of the shards.
    stores: Vec<Store>,
    folder: tempfile::TempDir,
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(1_700_000_000 + seconds, 0)
}

fn by() -> By {
    By::new(Principal::here("who imports"), at(0))
}

impl World {
    fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let (nodes, shared) = (Arc::new(Nodes::default()), Arc::<Memory>::default());
        let mut world = World { nodes: nodes.clone(), boards: Vec::new(), stores: Vec::new(), folder };
        for node in NODES {
            let board = board_among(node, vec![NoList, NoList, NoList], Arc::new(Ways(nodes.clone())), &shared);
            let beat =
                |shards: &[u32]| Beat { shards: shards.iter().map(|shard| (*shard, 3)).collect(), ..Beat::default() };
            let beats = [beat(&[0]), beat(&[1]), beat(&[])];
            board.heard(NODES.into_iter().zip(beats).map(|(node, beat)| (node.to_owned(), beat, true)).collect(), 0);
            let answers = Answers::new(board.clone(), Arc::new(Unwilling), Arc::new(AtomicBool::new(false)));
            nodes.answers.lock().unwrap().insert(node.to_owned(), Arc::new(answers));
            world.boards.push(board);
        }
        for shard in 0..2_u32 {
            let config = Config::new(world.folder.path().join(shard.to_string()));
            let store = Store::open(config, at(0)).unwrap();
            let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Paused);
            let name = PvName::new(&format!("P{shard}")).unwrap();
            store.writer().register(&[(name, settings)], &by()).unwrap();
            world.boards[shard as usize].opened(shard, open(&store));
            world.stores.push(store);
        }
        world
    }

    fn pv(&self, shard: u32) -> PvId {
        let name = format!("P{shard}");
        global(shard, self.stores[shard as usize].reader().find(&name).unwrap().id).unwrap()
    }

    fn is_in(&self, trouble: Trouble) {
        *self.nodes.trouble.lock().unwrap() = trouble;
    }

    /// An import through a node: the same samples of a PV of each shard.
    fn import(&self, node: usize) -> Result<ImportedPart, DirectoryError> {
        let mut intake = WholeIntake::new(Whole::new(self.boards[node].clone()), "old", &by());
        if let Some(known) = intake.part(PART)? {
            return Ok(ImportedPart { samples: 0, ..known });
        }
        for second in 0..SAMPLES {
            for shard in 0..2 {
                intake.append(&[(self.pv(shard), Record::Sample(sample(second)))])?;
            }
        }
        intake.finish_part(PART)
    }

    /// The seconds of the samples that a shard gives.
    fn seconds(&self, shard: u32) -> Vec<i64> {
        let (_, local) = split(self.pv(shard));
        let samples = self.stores[shard as usize].reader();
        let batches: Vec<Batch> =
            Source::samples(&samples, Key::Number(local), TimeRange::ALL).map(Result::unwrap).collect();
        let times = batches.iter().flat_map(|batch| batch.times().to_vec());
        times.map(|time| (time.nanos() - at(0).nanos()) / 1_000_000_000).collect()
    }

    fn has_all(&self) -> bool {
        (0..2).all(|shard| self.seconds(shard) == (0..SAMPLES).collect::<Vec<_>>())
    }

    fn is_empty(&self) -> bool {
        (0..2).all(|shard| self.seconds(shard).is_empty())
    }
}

fn sample(second: i64) -> Sample {
    let value = Value::F64(second as f64);
    Sample { time: at(second), value, alarm: Alarm::default(), pulse: 0, stamp: None }
}

fn open(store: &Store) -> Arc<Open> {
    let nothing = board("nobody", 1, &Arc::default());
    let whole = Arc::new(Whole::new(nothing.clone()));
    let reader = Arc::new(store.reader());
    Arc::new(Open {
        epoch: 3,
        directory: reader.clone(),
        source: reader.clone(),
        storage: reader,
        curator: Arc::new(store.writer()),
        orders: whole.clone(),
        rulebook: whole.clone(),
        standing: whole,
        tokens: Arc::new(SiteTokens::new(nothing)),
        parts: Arc::new(NoParts),
    })
}

#[test]
fn a_part_goes_to_whoever_has_its_shards_and_every_node_knows_it_then() {
    for (node, name) in NODES.iter().enumerate() {
        let world = World::new();
        assert_eq!(world.import(node).unwrap().samples, 2 * SAMPLES as u64, "through {name}");
        assert!(world.has_all());
        for (again, name) in NODES.iter().enumerate() {
            assert_eq!(world.import(again).unwrap().samples, 0, "{name} knows it");
        }
        assert!(world.has_all());
        for store in &world.stores {
            let lines = store.reader().audit(u64::MAX, 10).unwrap();
            let imported: Vec<_> = lines.iter().filter(|line| line.action == archive::Action::Imported).collect();
            assert_eq!(imported.len(), 1);
            assert_eq!(imported[0].by.who.established(), "who imports");
        }
    }
}

#[test]
fn a_node_that_dies_before_the_end_of_its_share_leaves_nothing_of_the_part() {
    let world = World::new();
    world.is_in(Trouble::Dies);
    let error = world.import(2).unwrap_err();
    assert_eq!(error.fault, Fault::NotNow);
    assert!(error.message.starts_with("node b broke off while it was sent its share of this part"), "{error}");
    assert!(error.message.contains("nothing of the part is entered"), "{error}");
    assert!(world.is_empty());
    world.is_in(Trouble::None);
    assert_eq!(world.import(0).unwrap().samples, 2 * SAMPLES as u64);
    assert!(world.has_all());
}

#[test]
fn a_share_whose_answer_is_lost_is_sent_again_and_nothing_of_it_is_there_twice() {
    let world = World::new();
    world.is_in(Trouble::IsSilent);
    let error = world.import(2).unwrap_err();
    assert_eq!(error.fault, Fault::NotNow);
    let told = "node b has not said that it has entered its share of this part (500 samples, 500 of ";
    assert!(error.message.starts_with(told), "{error}");
    assert!(!world.seconds(1).is_empty(), "it has entered it");
    world.is_in(Trouble::None);
    world.import(0).unwrap();
    assert!(world.has_all());
    assert_eq!(world.import(1).unwrap().samples, 0);
}

#[test]
fn a_node_that_takes_no_shares_is_named_and_sent_nothing() {
    let world = World::new();
    world.is_in(Trouble::Older);
    let error = world.import(0).unwrap_err();
    assert_eq!(error.fault, Fault::InTheWay);
    assert!(error.message.contains("send shard 1 to node b"), "{error}");
    assert_eq!(world.nodes.shares.load(Relaxed), 0);
    assert!(world.is_empty());
}

#[test]
fn pvs_whose_shard_nobody_has_are_named_before_anything_is_sent() {
    let world = World::new();
    world.is_in(Trouble::Away);
    let mut intake = WholeIntake::new(Whole::new(world.boards[2].clone()), "old", &by());
    let lacking = intake.not_taken(&[world.pv(0), world.pv(1)]);
    let [NotTaken { why, pvs }] = &lacking[..] else { panic!("{lacking:?}") };
    assert_eq!((why.fault, &pvs[..]), (Fault::NotNow, &[world.pv(1)][..]));
    assert!(why.message.contains("no node has shard 1"), "{why}");
    world.is_in(Trouble::None);
    assert_eq!(intake.not_taken(&[world.pv(0), world.pv(1)]), []);
    assert_eq!(world.nodes.shares.load(Relaxed), 2, "one for each node that has something of it");
}

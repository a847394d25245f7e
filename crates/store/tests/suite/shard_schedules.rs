//! Schedules of three nodes that take, lose and hand over one shard with real stores on disks that forget, while calls to the shared store
//! get lost, answers do, calls come late, and nodes sleep and die. Every sample that was durable is read once and in order, by every node
//! that answers and when all is over; every order that was acknowledged holds; no segment is named twice.
//!
//! The same without the seal has to fail, or nothing would be seen here.

use crate::sim;

#[path = "../../../shared/tests/sim/unsealed.rs"]
mod unsealed;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use crate::common::{at, by, name, sample, settings};
use archive::{Record, Sink};
use sample::{TimeRange, Value};
use shared::{
    Entry, Epoch, Image, Owner, OwnerStanding, Part, Row, Seq, Settings, Shard, Shared,
    twin::{FaultRates, Link, Memory, Net, Seed},
};
use sim::{Crash, SimDisk};
use store::{Config, Durable, Error, LogFrames, Shipping, Store};
use unsealed::Unsealed;

/// What went wrong, in words.
type Violation = String;

const NODES: usize = 3;
const PVS: [&str; 2] = ["A", "B"];
const SCHEDULES: u64 = 150;
const THREADS: usize = 16;
/// How often a node does something.
const ROUNDS: u64 = 45;

/// Small enough that bodies lie apart, objects have several pieces, and copies of the catalogue come.
const SETTINGS: Settings = Settings {
    piece: 2000,
    inline: 400,
    run: 500,
    commit_every: Duration::ZERO,
    changes_per_checkpoint: 4,
    rows_per_checkpoint: 15,
    keep_unnamed: Duration::ZERO,
};

fn config() -> Config {
    Config { durable: Durable::Every(Duration::from_millis(1)), log_file_bytes: 700, ..Config::new("simulated") }
}

/// Nothing is shipped but when the schedule says so, and nobody waits.
const SHIPPING: Shipping =
    Shipping { every: None, patience: Duration::ZERO, grace: Duration::ZERO, unrelieved: Duration::ZERO };

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fencing {
    Sealed,
    SealLeftOut,
}

/// What happened, so that it can be seen that everything did.
#[derive(Debug, Default)]
struct Counts(BTreeMap<&'static str, u64>);

impl Counts {
    fn add(&mut self, what: &'static str, count: u64) {
        *self.0.entry(what).or_default() += count;
    }
}

struct World {
    shard: Shard,
    memory: Arc<Memory>,
    net: Arc<Net>,
    unsealed: Option<Arc<Unsealed>>,
    /// Updates are numbered: number r goes to PV r % 2 at time 10 r with the value r.
    updates: u64,
    promised: BTreeSet<u64>,
    /// Those that lie on a disk, whole and synced.
    kept: BTreeSet<u64>,
    recorded: BTreeSet<u64>,
    names: BTreeSet<String>,
    counts: Counts,
}

impl World {
    fn seen(&self, link: Arc<dyn Shared>) -> Arc<dyn Shared> {
        match &self.unsealed {
            Some(unsealed) => Arc::new(unsealed.over(link)),
            None => link,
        }
    }

    fn image(&self) -> Result<Image, Violation> {
        let seen = self.seen(self.memory.clone());
        Image::read(&*seen, &self.shard, &mut ()).map_err(|error| format!("the journal cannot be read: {error}"))
    }
}

/// A store that is open.
struct Life {
    store: Store,
    epoch: Epoch,
    disk: Arc<SimDisk>,
    /// The updates that it took.
    mine: Vec<u64>,
}

struct Node {
    number: usize,
    seed: Seed,
    incarnation: u64,
    link: Arc<Link>,
    life: Option<Life>,
    /// The folders of epochs that have ended here.
    old: BTreeMap<Epoch, Arc<SimDisk>>,
}

impl Node {
    fn new(number: usize, world: &World, mut seed: Seed) -> Node {
        let link = world.net.link(FaultRates::default(), Seed::new(seed.number()), None);
        Node { number, seed, incarnation: 0, link, life: None, old: BTreeMap::new() }
    }

    fn begin(&mut self, world: &World, faults: FaultRates) {
        self.incarnation += 1;
        self.link = world.net.link(faults, Seed::new(self.seed.number()), None);
    }

    fn faults(&mut self) -> FaultRates {
        let mut often = |most: u64| self.seed.below(most + 1) as u32;
        match often(3) {
            0 => FaultRates { dies: 3, ..FaultRates::default() },
            1 => FaultRates { cut: often(20), cut_len: 30, dies: often(3), ..FaultRates::default() },
            _ => FaultRates {
                lost: often(50),
                unanswered: often(50),
                late: often(50),
                cut: often(6),
                cut_len: 20,
                dies: often(4),
            },
        }
    }

    fn shared(&self, world: &World) -> Arc<dyn Shared> {
        world.seen(self.link.clone())
    }

    fn take(&mut self, world: &mut World) -> Result<(), Violation> {
        let taken = Owner::take(
            self.shared(world),
            world.shard.clone(),
            &format!("node-{}", self.number),
            self.incarnation,
            1,
            SETTINGS,
        );
        let Some(owner) = harmless(taken.map_err(Error::from))? else { return Ok(()) };
        self.end(world, Crash::OfProcess);
        let (epoch, disk) = (owner.epoch(), Arc::new(SimDisk::default()));
        let now = at(world.updates as i64 * 10);
        let opened = Store::open_shard(disk.clone(), config(), owner, SHIPPING, now);
        let Some(store) = unless_replaced(world, epoch, opened)? else { return Ok(()) };
        world.counts.add("takeovers", 1);
        self.life = Some(Life { store, epoch, disk, mine: Vec::new() });
        Ok(())
    }

    /// The node has the store no longer open.
    fn end(&mut self, world: &mut World, crash: Crash) {
        let Some(Life { store, epoch, disk, mine }) = self.life.take() else { return };
        note(world, &store, &mine);
        if crash != Crash::OfProcess {
            disk.crash_after(disk.changes());
        }
        drop(store);
        if crash == Crash::OfProcess {
            world.kept.extend(mine);
        }
        self.old.insert(epoch, Arc::new(disk.after(crash)));
    }

    fn die(&mut self, world: &mut World) {
        world.counts.add("deaths", 1);
        let crash = match self.seed.below(3) {
            0 => Crash::OfProcess,
            1 => Crash::Forgetful,
            _ => Crash::Torn(self.seed.number()),
        };
        self.end(world, crash);
        if self.seed.happens(150) {
            // What lay on it is not promised by the disk any more.
            self.old.clear();
            world.kept.clear();
            world.counts.add("disks lost", 1);
        }
        let faults = self.faults();
        self.begin(world, faults);
    }

    fn round(&mut self, world: &mut World) -> Result<(), Violation> {
        let choice = self.seed.below(100);
        let Some(life) = &mut self.life else {
            return if choice < 35 { self.take(world) } else { Ok(()) };
        };
        for _ in 0..self.seed.below(3) {
            life.record(world)?;
        }
        match choice {
            0..40 => life.store.ship(),
            40..52 => life.flush(world),
            52..66 => {
                let replayed = life.store.replay();
                if unless_replaced(world, life.epoch, replayed)?.is_some() {
                    world.counts.add("replays", 1);
                }
            }
            66..74 => life.order(world)?,
            74..80 => life.check(world)?,
            80..83 => self.link.cut(20),
            83..86 => self.die(world),
            86..89 => self.close(world)?,
            89..93 => return self.take(world),
            // Time passes: what was appended is synced.
            _ => std::thread::sleep(Duration::from_millis(3)),
        }
        if let Some(life) = &self.life {
            note(world, &life.store, &life.mine);
            let standing = life.store.shard().expect("a shard").standing;
            world.counts.add("fenced", u64::from(matches!(standing, OwnerStanding::Taken { .. })));
            world.counts.add("detached", u64::from(matches!(standing, OwnerStanding::Detached { .. })));
            if matches!(standing, OwnerStanding::Taken { .. }) && self.seed.happens(300) {
                self.end(world, Crash::OfProcess);
            }
        }
        if self.link.is_dead() {
            self.die(world);
        }
        Ok(())
    }

    /// Ends as a program does that is told to.
    fn close(&mut self, world: &mut World) -> Result<(), Violation> {
        let Some(Life { store, epoch, disk, mine }) = self.life.take() else { return Ok(()) };
        note(world, &store, &mine);
        let closed = store.close(at(world.updates as i64 * 10));
        if harmless(closed)?.is_some() {
            world.counts.add("closed", 1);
        }
        world.kept.extend(mine);
        self.old.insert(epoch, Arc::new(disk.after(Crash::OfProcess)));
        Ok(())
    }

    /// Offers what it holds of epochs that have ended to an owner.
    fn offer(&mut self, world: &mut World, to: &Life) -> Result<bool, Violation> {
        let mut moved = false;
        let Ok(image) = Image::read(&*self.shared(world), &world.shard, &mut ()) else { return Ok(false) };
        let mut done = Vec::new();
        for (epoch, disk) in self.old.iter().filter(|(epoch, _)| **epoch < to.epoch) {
            let frames = LogFrames::new(disk.clone());
            let Some(extent) = frames.extent().map_err(|error| error.to_string())? else {
                done.push(*epoch);
                continue;
            };
            let part = Part::of_old_log(&image, &world.shard, *epoch, extent.end).map_err(|error| error.to_string())?;
            let Some(part) = part else {
                done.push(*epoch);
                continue;
            };
            let taken = to.store.take_part(&part, &frames);
            if unless_replaced(world, to.epoch, taken)? == Some(true) {
                world.counts.add("parts taken", 1);
                done.push(*epoch);
                moved = true;
            }
        }
        done.iter().for_each(|epoch| _ = self.old.remove(epoch));
        Ok(moved)
    }
}

impl Life {
    /// Takes the next update; both of two nodes that own the shard for all they know have the same one now and then.
    fn record(&mut self, world: &mut World) -> Result<(), Violation> {
        let number = match self.mine.last() {
            Some(last) if *last + 1 < world.updates => last + 1 + (world.updates - last) / 2,
            _ => world.updates,
        };
        let Some(entry) = self.store.reader().find(PVS[number as usize % 2]) else { return Ok(()) };
        let record = Record::Sample(sample(number as i64 * 10, Value::F64(number as f64)));
        match self.store.writer().append(&[(entry.id, record)], at(number as i64 * 10)) {
            Ok(()) => {
                world.updates = world.updates.max(number + 1);
                world.recorded.insert(number);
                self.mine.push(number);
                Ok(())
            }
            Err(Error::Refused { .. } | Error::Busy) => Ok(()),
            Err(other) => Err(other.to_string()),
        }
    }

    fn flush(&self, world: &mut World) {
        let before = self.store.reader().health().flushes;
        let health = self.store.shard().expect("a shard");
        self.store.tick(at(world.updates as i64 * 10 + 1_000_000_000_000));
        if health.is_whole && !matches!(health.standing, OwnerStanding::Taken { .. }) {
            for _ in 0..200 {
                if self.store.reader().health().flushes > before {
                    world.counts.add("flushes", 1);
                    return;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    /// Registers a PV more, or those that samples are for.
    fn order(&self, world: &mut World) -> Result<(), Violation> {
        let more = format!("N{}", world.names.len());
        let names: Vec<&str> = if self.store.reader().find(PVS[0]).is_none() { PVS.into() } else { vec![&*more] };
        let pvs: Vec<_> = names.iter().map(|text| (name(text), settings())).collect();
        match self.store.writer().register(&pvs, &by(0)) {
            Ok(_) => {
                world.names.extend(names.into_iter().map(str::to_owned));
                world.counts.add("orders", 1);
                Ok(())
            }
            Err(Error::Doubtful { .. } | Error::CannotDo { .. } | Error::Detached | Error::Refused { .. }) => Ok(()),
            Err(other) => harmless::<()>(Err(other)).map(drop),
        }
    }

    /// Reads all, if it is whole, and judges it.
    fn check(&self, world: &mut World) -> Result<(), Violation> {
        if !self.store.shard().expect("a shard").is_whole {
            return Ok(());
        }
        let promised = world.promised.clone();
        let read = self.read(world)?;
        let is_owner = world.image()?.epoch() == self.epoch;
        let Some(read) = read.filter(|_| is_owner) else { return Ok(()) };
        world.counts.add("readings", 1);
        self.judge(world, &read, &promised)
    }

    /// Everything, or nothing where something cannot be read at the moment.
    fn read(&self, world: &World) -> Result<Option<BTreeSet<u64>>, Violation> {
        let mut read = BTreeSet::new();
        for (index, pv) in PVS.into_iter().enumerate() {
            let Some(entry) = self.store.reader().find(pv) else { continue };
            let mut last = None;
            for batch in self.store.reader().samples(entry.id, TimeRange::ALL) {
                let Ok(batch) = batch else { return Ok(None) };
                for row in 0..batch.len() {
                    let sample = batch.get(row);
                    let number = (sample.time.nanos() / 10) as u64;
                    if sample.value != Value::F64(number as f64) || number as usize % 2 != index {
                        return Err(format!("{pv} has {sample:?}"));
                    }
                    if last >= Some(number) {
                        return Err(format!("update {number} is read behind {last:?}"));
                    }
                    if !world.recorded.contains(&number) {
                        return Err(format!("update {number} is read, and nobody recorded it"));
                    }
                    last = Some(number);
                    read.insert(number);
                }
            }
        }
        Ok(Some(read))
    }

    fn judge(&self, world: &World, read: &BTreeSet<u64>, due: &BTreeSet<u64>) -> Result<(), Violation> {
        let missing: Vec<u64> = due.difference(read).copied().collect();
        if !missing.is_empty() {
            return Err(format!("updates {missing:?} are durable and not read in epoch {}", self.epoch));
        }
        let lost = world.names.iter().find(|name| self.store.reader().find(name).is_none());
        lost.map_or(Ok(()), |name| Err(format!("{name} was acknowledged and is not there in epoch {}", self.epoch)))
    }
}

/// Takes note of what a store says is durable.
fn note(world: &mut World, store: &Store, mine: &[u64]) {
    let watermark = store.reader().watermark();
    let open = (watermark.appended - watermark.durable) as usize;
    let durable = mine.len().saturating_sub(open);
    let before = world.promised.len();
    world.promised.extend(&mine[..durable]);
    world.counts.add("durable", (world.promised.len() - before) as u64);
}

/// What a node may meet at any time is no violation: no answer, and a successor.
fn harmless<T>(result: Result<T, Error>) -> Result<Option<T>, Violation> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::Shared { source: shared::Error::Unknown { .. } | shared::Error::Taken { .. } }) => Ok(None),
        Err(Error::Doubtful { .. } | Error::CannotDo { .. } | Error::Detached | Error::Refused { .. }) => Ok(None),
        Err(other) => Err(other.to_string()),
    }
}

/// What an owner reads may be gone if it has a successor that it does not know of yet.
fn unless_replaced<T>(world: &World, epoch: Epoch, result: Result<T, Error>) -> Result<Option<T>, Violation> {
    match harmless(result) {
        Err(violation) if world.image()?.epoch() <= epoch => Err(violation),
        Err(_) => Ok(None),
        harmless => harmless,
    }
}

/// Epochs rise by seals, no row of an older one lies behind, and no segment is named twice.
fn walk(world: &World) -> Result<(), Violation> {
    let (mut epoch, mut listed) = (Epoch(0), BTreeSet::new());
    for (seq, bytes) in world.memory.journal(world.shard.journal()) {
        let row = Row::decode(&world.shard, Seq(seq), &bytes).map_err(|error| error.to_string())?;
        let Ok(entry) = row.open(&*world.memory, &world.shard, Seq(seq)) else { continue };
        match &entry {
            Entry::Seal(_) => epoch = row.epoch,
            _ if row.epoch < epoch => return Err(format!("row {seq} of epoch {} is behind the seal", row.epoch)),
            Entry::Change(change) => {
                if let Some(twice) = change.added.iter().find(|object| !listed.insert(object.key.clone())) {
                    return Err(format!("row {seq} names {} once more", twice.key));
                }
            }
            Entry::Commit(_) | Entry::Checkpoint(_) => {}
        }
    }
    Ok(())
}

fn schedule(seed: u64, fencing: Fencing) -> Result<Counts, Violation> {
    let mut seed = Seed::new(seed);
    let memory = Arc::new(Memory::default());
    let mut world = World {
        shard: Shard::new(17, 'a').expect("a shard"),
        net: Net::new(memory.clone()),
        memory,
        unsealed: (fencing == Fencing::SealLeftOut).then(Arc::default),
        updates: 1,
        promised: BTreeSet::new(),
        kept: BTreeSet::new(),
        recorded: BTreeSet::new(),
        names: BTreeSet::new(),
        counts: Counts::default(),
    };
    let mut nodes: Vec<Node> = (0..NODES).map(|number| Node::new(number, &world, Seed::new(seed.number()))).collect();
    for node in &mut nodes {
        let faults = node.faults();
        node.begin(&world, faults);
    }
    for _ in 0..ROUNDS * NODES as u64 {
        let which = seed.below(NODES as u64) as usize;
        nodes[which].round(&mut world)?;
        if seed.happens(150) {
            let (giver, taker) = (seed.below(NODES as u64) as usize, seed.below(NODES as u64) as usize);
            if let Some(life) = nodes[taker].life.take() {
                let offered = nodes[giver].offer(&mut world, &life);
                nodes[taker].life = Some(life);
                offered?;
            }
        }
    }
    finish(world, nodes, Seed::new(seed.number()))
}

/// Everything that was under way arrives, faults end, and one more node takes the shard and all that the others hold.
fn finish(mut world: World, mut nodes: Vec<Node>, seed: Seed) -> Result<Counts, Violation> {
    world.net.land().map_err(|error| error.to_string())?;
    for node in &mut nodes {
        node.end(&mut world, Crash::OfProcess);
        node.begin(&world, FaultRates::default());
    }
    let mut last = Node::new(NODES, &world, seed);
    last.begin(&world, FaultRates::default());
    last.take(&mut world)?;
    let life = last.life.take().ok_or("the last node cannot take the shard")?;
    life.store.replay().map_err(|error| error.to_string())?;
    while nodes.iter_mut().map(|node| node.offer(&mut world, &life)).collect::<Result<Vec<_>, _>>()?.contains(&true) {}
    if let Some(left) = nodes.iter().find_map(|node| node.old.keys().next()) {
        return Err(format!("nobody takes what is left of epoch {left}"));
    }
    let due: BTreeSet<u64> = world.promised.union(&world.kept).copied().collect();
    let read = life.read(&world)?.ok_or("something cannot be read though nothing is wrong any more")?;
    life.judge(&world, &read, &due)?;
    life.store.close(at(world.updates as i64 * 10)).map_err(|error| error.to_string())?;
    walk(&world)?;
    Ok(world.counts)
}

#[test]
fn schedules_with_real_stores_lose_nothing_and_read_nothing_twice() {
    let (next, failed) = (AtomicU64::new(0), std::sync::Mutex::new(Vec::new()));
    let schedules = std::env::var("PVARK_SCHEDULES").ok().and_then(|many| many.parse().ok()).unwrap_or(SCHEDULES);
    let counts = std::sync::Mutex::new(Counts::default());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Relaxed);
                    if seed >= schedules {
                        return;
                    }
                    match schedule(seed, Fencing::Sealed) {
                        Ok(of_one) => {
                            of_one.0.iter().for_each(|(what, count)| counts.lock().unwrap().add(what, *count))
                        }
                        Err(violation) => failed.lock().unwrap().push(format!("schedule {seed}: {violation}")),
                    }
                }
            });
        }
    });
    let (counts, failed) = (counts.into_inner().unwrap(), failed.into_inner().unwrap());
    eprintln!("{counts:?}");
    assert!(failed.is_empty(), "{} of {schedules} failed: {failed:#?}", failed.len());
    // A schedule in which nothing happens proves nothing.
    let happened = [
        "closed",
        "deaths",
        "detached",
        "disks lost",
        "durable",
        "fenced",
        "flushes",
        "orders",
        "parts taken",
        "readings",
        "replays",
        "takeovers",
    ];
    for what in happened {
        assert!(counts.0.get(what).copied().unwrap_or(0) >= schedules / 10, "too few {what}: {counts:?}");
    }
}

#[test]
fn without_the_seal_a_schedule_of_the_first_hundred_fails() {
    let found = (0..100).find_map(|seed| schedule(seed, Fencing::SealLeftOut).err().map(|violation| (seed, violation)));
    let (seed, violation) = found.expect("what gets lost without the seal is seen");
    eprintln!("schedule {seed} without the seal: {violation}");
}

//! Schedules of two recorders of the same PVs: the shard and its copy, with real stores at two of three nodes, of which one at a time is
//! killed with its disk, cut off from the shared store, or gives its shard to another node. Every update that the IOC sent is read once and
//! in order, bins are those of what is read, no gap is told where the other one has samples, and the copy has the PVs of its shard.
//!
//! Without the copy the same schedules must fail, or this test would prove nothing.

#[path = "../../store/tests/suite/sim/mod.rs"]
mod sim;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use archive::{
    AddRequest, Added, By, Change, Copies, DataFate, Directory, DirectoryError, FieldName, Method, Mirror, Mirrored,
    Names, OldName, Orders, Policies, Protocol, PvEntry, PvId, PvName, PvSettings, PvState, Record, Roster, Rules,
    Sink, Source, SourceError,
};
use cluster::{
    Board, Claims, CopiesOfShards, Follows, Held, Open, Pairs, Parts, Peers, Placement, Plan, SiteTokens, Whole, global,
};
use query::{Before, Cut, Query, Request};
use sample::{Alarm, Batch, Sample, TimeRange, Timestamp, Value};
use shared::{
    Owner, OwnerStanding, Part, Settings, Shared,
    twin::{FaultRates, Link, Memory, Net, Seed},
};
use sim::SimDisk;
use store::{Config, Durable, Error, Shipping, Store, Writer};

/// What went wrong, in words.
type Violation = String;

const PVS: [&str; 2] = ["A", "B"];
const NODES: usize = 3;
const SCHEDULES: u64 = 100;
const THREADS: usize = 8;
const ROUNDS: u64 = 60;

const SETTINGS: Settings = Settings {
    piece: 2000,
    inline: 400,
    run: 500,
    commit_every: Duration::ZERO,
    changes_per_checkpoint: 4,
    rows_per_checkpoint: 15,
};

/// Nothing is shipped but when the schedule says so, and nobody waits.
const SHIPPING: Shipping =
    Shipping { every: None, patience: Duration::ZERO, grace: Duration::ZERO, unrelieved: Duration::ZERO };

fn at(nanos: i64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}

fn by(nanos: i64) -> By {
    By::new("a tester", at(nanos))
}

fn twice() -> PvSettings {
    let rules = Rules { copies: Copies::Two, ..Rules::default() };
    PvSettings { rules: rules.shared(), ..PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Active) }
}

/// Acquisition that follows a list and hears nothing by itself.
struct ListAlone(Writer);

impl Orders for ListAlone {
    fn add(&self, _: Vec<AddRequest>, _: &By) -> Result<Vec<(PvEntry, Added)>, DirectoryError> {
        unreachable!("lists are changed by the schedule")
    }

    fn foresee(&self, _: Vec<AddRequest>) -> Result<Vec<Added>, DirectoryError> {
        unreachable!("lists are changed by the schedule")
    }

    fn enter_paused(&self, _: Vec<PvName>, _: &By) -> Result<usize, DirectoryError> {
        unreachable!("lists are changed by the schedule")
    }

    fn enter_fields(&self, _: &[(PvEntry, FieldName)], _: &By) -> Result<(), DirectoryError> {
        unreachable!("lists are changed by the schedule")
    }

    fn pause(&self, _: &[PvId], _: &By) -> Result<Vec<Change>, DirectoryError> {
        unreachable!("lists are changed by the schedule")
    }

    fn resume(&self, _: &[PvId], _: &By) -> Result<Vec<Change>, DirectoryError> {
        unreachable!("lists are changed by the schedule")
    }

    fn remove(&self, _: &[PvId], _: DataFate, _: &By) -> Result<Vec<Change>, DirectoryError> {
        unreachable!("lists are changed by the schedule")
    }

    fn rename(&self, _: PvId, _: &PvName, _: OldName, _: &By) -> Result<PvEntry, DirectoryError> {
        unreachable!("lists are changed by the schedule")
    }

    fn restore_all(
        &self,
        _: &[(PvId, Option<PvName>)],
        _: &By,
    ) -> Result<Vec<Result<PvEntry, DirectoryError>>, DirectoryError> {
        unreachable!("lists are changed by the schedule")
    }

    fn mirror(&self, list: &Mirror, by: &By) -> Result<Mirrored, DirectoryError> {
        Ok(Roster::mirror(&self.0, list, by)?)
    }
}

/// A list that nobody has read.
#[derive(Debug)]
struct Unread;

impl Directory for Unread {
    fn find(&self, _: &str) -> Option<PvEntry> {
        None
    }

    fn entry(&self, _: PvId) -> Option<PvEntry> {
        None
    }

    fn names(&self) -> Names {
        Names::default()
    }
}

impl Follows for Unread {
    fn list(&self) -> &dyn Directory {
        self
    }

    fn catch_up(&self) -> Result<(), String> {
        Ok(())
    }
}

#[derive(Debug)]
struct Nobody;

impl Peers for Nobody {
    fn ask(&self, _: &str, _: Vec<u8>, _: bool) -> Result<Vec<u8>, SourceError> {
        Err(SourceError::piece("nobody"))
    }

    fn source(&self, _: &str) -> Option<Arc<dyn Source>> {
        None
    }

    fn know(&self, _: &[(String, String)]) {}
}

struct NoParts;

impl Parts for NoParts {
    fn take(&self, _: &Part, _: &dyn Held) -> Result<bool, String> {
        Ok(false)
    }
}

fn board(shared: &Arc<Memory>) -> Arc<Board> {
    let plan = Plan {
        node: "asked".to_owned(),
        page: None,
        shards: 1,
        placement: Placement::new(1, Vec::new()).unwrap(),
        policies: Policies::default(),
        copies: Copies::Two,
    };
    Board::new(plan, Claims::new(shared.clone()), Arc::new(Nobody), vec![Unread, Unread, Unread])
}

/// A store that is open at a node.
struct Life {
    store: Store,
    link: Arc<Link>,
    node: usize,
}

/// One of the two that record.
struct Recorder {
    number: u32,
    life: Option<Life>,
    /// In so many rounds somebody takes it, or a cut ends.
    back_in: u64,
    incarnation: u64,
}

/// The present trouble, and which of the two recorders has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    Killed(usize),
    Cut(usize),
}

struct World {
    seed: Seed,
    memory: Arc<Memory>,
    net: Arc<Net>,
    board: Arc<Board>,
    pairs: Pairs,
    recorders: Vec<Recorder>,
    /// Owners that do not know yet that they were replaced.
    replaced: Vec<Life>,
    trouble: Option<Trouble>,
    /// Updates are numbered: number r goes to PV r % 2 at time 10 r with the value r.
    updates: u64,
    sent: BTreeSet<u64>,
    names: u64,
    counts: BTreeMap<&'static str, u64>,
}

impl World {
    fn new(seed: u64, copies: usize) -> Result<World, Violation> {
        let memory = Arc::new(Memory::default());
        let pairs = Pairs::new(1, Copies::Two);
        let recorder = |number| Recorder { number, life: None, back_in: 0, incarnation: 0 };
        let mut world = World {
            seed: Seed::new(seed),
            net: Net::new(memory.clone()),
            board: board(&memory),
            memory,
            pairs,
            recorders: [0, 2].into_iter().take(copies).map(recorder).collect(),
            replaced: Vec::new(),
            trouble: None,
            updates: 1,
            sent: BTreeSet::new(),
            names: 0,
            counts: BTreeMap::new(),
        };
        (0..copies).try_for_each(|which| world.take(which))?;
        let pvs: Vec<_> = PVS.into_iter().map(|name| (PvName::new(name).unwrap(), twice())).collect();
        let shard = &world.recorders[0].life.as_ref().ok_or("nobody has the shard")?.store;
        shard.writer().register(&pvs, &by(0)).map_err(|error| error.to_string())?;
        world.follow();
        Ok(world)
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    fn now(&self) -> Timestamp {
        at(self.updates as i64 * 10)
    }

    /// A node that does not have the other one of the pair takes it, into an empty folder.
    fn take(&mut self, which: usize) -> Result<(), Violation> {
        let other = self.recorders.iter().enumerate().find(|(index, _)| *index != which);
        let not_at = other.and_then(|(_, other)| Some(other.life.as_ref()?.node));
        let was_at = self.recorders[which].life.as_ref().map(|life| life.node);
        let free: Vec<usize> = (0..NODES).filter(|node| Some(*node) != not_at && Some(*node) != was_at).collect();
        let node = free[self.seed.below(free.len() as u64) as usize];
        let link = self.net.link(FaultRates::default(), Seed::new(self.seed.number()), None);
        let number = self.recorders[which].number;
        let archive = self.pairs.archive(number).ok_or("there is no such shard")?;
        self.recorders[which].incarnation += 1;
        let incarnation = self.recorders[which].incarnation;
        let shared: Arc<dyn Shared> = link.clone();
        let told = |error: &dyn std::fmt::Display| format!("{archive} cannot be taken: {error}");
        let owner = Owner::take(shared, archive.clone(), &format!("node-{node}"), incarnation, 1, SETTINGS);
        let owner = owner.map_err(|error| told(&error))?;
        let epoch = owner.epoch().0;
        let config =
            Config { durable: Durable::Every(Duration::from_millis(1)), log_file_bytes: 700, ..Config::new("sim") };
        let store = Store::open_shard(Arc::new(SimDisk::default()), config, owner, SHIPPING, self.now());
        let store = store.map_err(|error| told(&error))?;
        store.replay().map_err(|error| told(&error))?;
        let (reader, writer) = (Arc::new(store.reader()), store.writer());
        let nothing = Arc::new(Whole::new(board(&self.memory)));
        let open = Open {
            epoch,
            directory: reader.clone(),
            source: reader.clone(),
            storage: reader,
            curator: Arc::new(writer.clone()),
            orders: Arc::new(ListAlone(writer)),
            rulebook: nothing.clone(),
            standing: nothing.clone(),
            tokens: Arc::new(SiteTokens::new(nothing.board().clone())),
            parts: Arc::new(NoParts),
        };
        self.board.opened(number, Arc::new(open));
        let before = self.recorders[which].life.replace(Life { store, link, node });
        self.replaced.extend(before);
        self.count("taken");
        Ok(())
    }

    /// The copy does what was done at the shard.
    fn follow(&self) {
        self.board.mirror(&self.board.open_copies(), self.now());
    }

    /// The IOC sends an update to all that listen. A circuit drops one now and then; never both, and none while something else is wrong.
    fn send(&mut self) -> Result<(), Violation> {
        let number = self.updates;
        let dropped = if self.trouble.is_none() && self.recorders.len() == 2 && self.seed.happens(50) {
            self.count("dropped by a circuit");
            Some(self.seed.below(2) as usize)
        } else {
            None
        };
        let sample = Sample {
            time: at(number as i64 * 10),
            value: Value::F64(number as f64),
            alarm: Alarm::default(),
            pulse: 0,
            stamp: None,
        };
        let records = |store: &Store| {
            let Some(entry) = store.reader().find(PVS[number as usize % 2]) else { return Ok(()) };
            store.writer().append(&[(entry.id, Record::Sample(sample.clone()))], sample.time)
        };
        for (which, recorder) in self.recorders.iter().enumerate().filter(|(which, _)| Some(*which) != dropped) {
            let Some(life) = &recorder.life else { continue };
            let recorded = records(&life.store);
            if let Err(error) = recorded
                && self.trouble != Some(Trouble::Cut(which))
            {
                return Err(format!("recorder {which} refuses update {number}: {error}"));
            }
        }
        for life in &self.replaced {
            match records(&life.store) {
                Ok(()) | Err(Error::Refused { .. } | Error::Busy) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        self.sent.insert(number);
        self.updates += 1;
        Ok(())
    }

    /// All that was recorded is in the journals, and nothing is wrong.
    fn is_whole(&self) -> bool {
        self.trouble.is_none()
            && self.recorders.iter().all(|recorder| {
                recorder.life.as_ref().is_some_and(|life| {
                    let mark = life.store.reader().watermark();
                    let health = life.store.shard().expect("a shard");
                    mark.appended == mark.durable && health.is_whole && health.standing == OwnerStanding::Owning
                })
            })
    }

    fn settle(&mut self) -> Result<(), Violation> {
        self.follow();
        for _ in 0..2000 {
            for life in self.recorders.iter().filter_map(|recorder| recorder.life.as_ref()) {
                life.store.ship();
            }
            if self.is_whole() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let standing: Vec<_> = self.recorders.iter().filter_map(|of| Some(of.life.as_ref()?.store.shard())).collect();
        Err(format!("what is recorded is not shipped: {:?}, {standing:?}", self.trouble))
    }

    fn begin_trouble(&mut self) -> Result<(), Violation> {
        self.settle()?;
        let which = self.seed.below(self.recorders.len() as u64) as usize;
        self.recorders[which].back_in = 1 + self.seed.below(6);
        match self.seed.below(3) {
            0 => {
                self.board.closed(self.recorders[which].number);
                self.recorders[which].life = None; // and its disk is gone
                self.trouble = Some(Trouble::Killed(which));
                self.count("kills");
            }
            1 => {
                if let Some(life) = &self.recorders[which].life {
                    life.link.cut(1_000_000);
                }
                self.trouble = Some(Trouble::Cut(which));
                self.count("cuts");
            }
            _ => {
                self.count("moves");
                self.take(which)?;
            }
        }
        Ok(())
    }

    fn end_trouble(&mut self) -> Result<(), Violation> {
        let (Some(Trouble::Killed(which) | Trouble::Cut(which)), was) = (self.trouble, self.trouble) else {
            return Ok(());
        };
        self.recorders[which].back_in -= 1;
        if self.recorders[which].back_in > 0 {
            return Ok(());
        }
        match &self.recorders[which].life {
            Some(life) if self.seed.below(2) == 0 => life.link.set(FaultRates::default()),
            _ => {
                self.take(which)?;
                if matches!(was, Some(Trouble::Cut(_))) {
                    self.count("taken from who was cut off");
                }
            }
        }
        self.trouble = None;
        self.settle()
    }

    fn round(&mut self) -> Result<(), Violation> {
        for _ in 0..1 + self.seed.below(3) {
            self.send()?;
        }
        self.end_trouble()?;
        let choice = self.seed.below(100);
        match choice {
            0..40 => self.recorders.iter().filter_map(|of| of.life.as_ref()).for_each(|life| life.store.ship()),
            40..52 => {
                let now = at(self.now().nanos() + 1_000_000_000_000);
                self.recorders.iter().filter_map(|of| of.life.as_ref()).for_each(|life| life.store.tick(now));
                self.count("flushes");
            }
            52..64 => self.order()?,
            64..70 => self.follow(),
            70..82 if self.trouble.is_none() => self.begin_trouble()?,
            82..90 => {
                // Who was replaced finds it out at last, or dies before.
                self.replaced.iter().for_each(|life| life.link.set(FaultRates::default()));
                self.replaced.iter().for_each(|life| life.store.ship());
                self.replaced.clear();
            }
            90..100 if self.trouble.is_none() => {
                self.settle()?;
                self.judge()?;
            }
            _ => {}
        }
        Ok(())
    }

    /// A PV more, another name for one, or one out, at the shard alone.
    fn order(&mut self) -> Result<(), Violation> {
        if self.trouble == Some(Trouble::Cut(0)) {
            return Ok(());
        }
        let Some(life) = &self.recorders[0].life else { return Ok(()) };
        let (writer, by) = (life.store.writer(), by(self.now().nanos()));
        let more = life.store.reader().entries().into_iter().filter(|entry| entry.name.as_str().starts_with('N'));
        let more: Vec<PvEntry> = more.collect();
        let name = PvName::new(&format!("N{}", self.names)).unwrap();
        let one = more.get(self.seed.below(more.len().max(1) as u64) as usize);
        let done = match (self.seed.below(4), one) {
            (0, Some(entry)) => writer.rename(entry.id, &name, OldName::Alias, &by).map(drop),
            (1, Some(entry)) => writer.remove(&[entry.id], DataFate::Keep, &by),
            (2, Some(entry)) => {
                let paused = PvSettings { state: PvState::Paused, ..twice() };
                writer.register(&[(entry.name.clone(), paused)], &by).map(drop)
            }
            _ => writer.register(&[(name, twice())], &by).map(drop),
        };
        done.map_err(|error| format!("an order is refused: {error}"))?;
        self.names += 1;
        self.count("orders");
        Ok(())
    }

    fn judge(&mut self) -> Result<(), Violation> {
        self.count("readings");
        let whole = Whole::new(self.board.clone());
        let query = Query::over(whole.clone()).with(vec![Arc::new(CopiesOfShards::of(whole.clone()))]);
        for (index, name) in PVS.into_iter().enumerate() {
            let entry = whole.find(name).ok_or_else(|| format!("{name} is not there"))?;
            let request = Request { series: entry.id.into(), range: TimeRange::ALL, before: Before::None };
            let mut read = Vec::new();
            for batch in query.samples(&request) {
                let batch = batch.map_err(|error| error.to_string())?;
                read.extend((0..batch.len()).map(|row| batch.get(row)));
            }
            let numbers: Vec<u64> = read.iter().map(|sample| (sample.time.nanos() / 10) as u64).collect();
            let due: Vec<u64> = self.sent.iter().copied().filter(|number| *number as usize % 2 == index).collect();
            if numbers != due {
                let missing: Vec<_> = due.iter().filter(|number| !numbers.contains(number)).collect();
                return Err(format!("{name}: {missing:?} are missing of {} that were sent: {numbers:?}", due.len()));
            }
            self.judge_bins(&query, entry.id, &read)?;
            for (_, gap) in query.gaps(&entry.id.into(), TimeRange::ALL).map_err(|error| error.to_string())? {
                let to = gap.to.unwrap_or(Timestamp::MAX);
                if let Some(within) = read.iter().find(|sample| gap.from < sample.time && sample.time < to) {
                    return Err(format!("{name} has a gap {gap:?} with a sample of {} in it", within.time));
                }
            }
        }
        self.judge_lists()
    }

    /// Bins say what the samples say that were read.
    fn judge_bins(&self, query: &Query, pv: PvId, read: &[Sample]) -> Result<(), Violation> {
        let range = TimeRange { t0: at(0), t1: self.now() };
        let mut left = read.iter().peekable();
        for bin in query.bins(pv, range, Cut::Equal(7)).map_err(|error| error.to_string())? {
            let bin = bin.map_err(|error| error.to_string())?;
            let mut within: Option<Batch> = None;
            while let Some(sample) = left.next_if(|sample| sample.time < bin.t1) {
                match &mut within {
                    None => within = Some(Batch::of(sample)),
                    Some(within) => assert!(within.push(sample), "all are numbers"),
                }
            }
            let count = within.as_ref().map_or(0, Batch::len) as u64;
            let values: Vec<f64> =
                within.iter().flat_map(|of| (0..of.len()).filter_map(|row| of.values().f64_at(row))).collect();
            let (first, last) = (values.first().copied(), values.last().copied());
            let is_same = |told: f64, true_one: Option<f64>| true_one.map_or(told.is_nan(), |of| of == told);
            if bin.count != count || !is_same(bin.min, first) || !is_same(bin.max, last) {
                return Err(format!("a bin says {bin:?}, and there are {values:?}"));
            }
        }
        Ok(())
    }

    /// The copy has the PVs of its shard, under their names.
    fn judge_lists(&self) -> Result<(), Violation> {
        let told = |recorder: &Recorder| {
            let reader = recorder.life.as_ref().map(|life| life.store.reader())?;
            let aliases = reader.aliases().into_iter().map(|(alias, of)| (of.id, alias)).collect::<BTreeSet<_>>();
            let entries = reader.entries().into_iter().map(|of| (of.id, of.name, of.settings));
            Some((entries.collect::<Vec<_>>(), aliases))
        };
        match self.recorders.iter().map(told).collect::<Vec<_>>().as_slice() {
            [shard, copy] if shard != copy => Err(format!("the copy has {copy:?}, its shard {shard:?}")),
            _ => Ok(()),
        }
    }
}

fn schedule(seed: u64, copies: usize) -> Result<BTreeMap<&'static str, u64>, Violation> {
    let mut world = World::new(seed, copies)?;
    for _ in 0..ROUNDS {
        world.round()?;
    }
    while world.trouble.is_some() {
        world.end_trouble()?;
    }
    world.settle()?;
    world.judge()?;
    Ok(world.counts)
}

#[test]
fn what_two_recorders_hear_is_read_once_whoever_of_them_is_killed_or_cut_off() {
    let next = AtomicU64::new(0);
    let schedules = std::env::var("PVARK_SCHEDULES").ok().and_then(|many| many.parse().ok()).unwrap_or(SCHEDULES);
    let (failed, counts) = (Mutex::new(Vec::new()), Mutex::new(BTreeMap::<&str, u64>::new()));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Relaxed);
                    if seed >= schedules {
                        return;
                    }
                    match schedule(seed, 2) {
                        Ok(of_one) => {
                            let mut counts = counts.lock().unwrap();
                            of_one.iter().for_each(|(what, many)| *counts.entry(what).or_default() += many);
                        }
                        Err(violation) => failed.lock().unwrap().push(format!("schedule {seed}: {violation}")),
                    }
                }
            });
        }
    });
    let (counts, failed) = (counts.into_inner().unwrap(), failed.into_inner().unwrap());
    eprintln!("{counts:?}");
    assert!(failed.is_empty(), "{} of {schedules} failed: {:#?}", failed.len(), &failed[..failed.len().min(5)]);
    // A schedule in which nothing happens proves nothing.
    for what in [
        "cuts",
        "dropped by a circuit",
        "flushes",
        "kills",
        "moves",
        "orders",
        "readings",
        "taken",
        "taken from who was cut off",
    ] {
        assert!(counts.get(what).copied().unwrap_or(0) >= schedules / 5, "too few {what}: {counts:?}");
    }
}

#[test]
fn with_one_recorder_a_schedule_of_the_first_twenty_misses_something() {
    let found = (0..20).find_map(|seed| schedule(seed, 1).err().map(|violation| (seed, violation)));
    let (seed, violation) = found.expect("what one recorder misses is seen");
    eprintln!("schedule {seed} with one recorder: {violation}");
}

#[test]
fn a_pv_of_the_shard_is_found_at_the_copy_under_the_same_number() {
    let world = World::new(1, 2).unwrap();
    let numbers: Vec<_> = world.recorders.iter().map(|of| of.life.as_ref().unwrap().store.reader().find("B")).collect();
    assert!(numbers.iter().all(|found| found.as_ref().is_some_and(|entry| entry.id == PvId(1))));
    assert_eq!(Whole::new(world.board.clone()).find("B").map(|entry| entry.id), global(0, PvId(1)));
}

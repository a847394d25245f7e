//! Schedules of two recorders of the same PVs: the shard and its copy, with real stores at two of three nodes, of which one at a time is
//! killed with its disk, cut off from the shared store, or gives its shard to another node, which hears the IOC only a while later. A node
//! that was replaced records until it finds that out, and hands over what it has. Every update that the IOC sent is read once and in order, bins are
//! those of what is read, no gap is told in which there are samples, and the copy has the PVs of its shard. Days that are over go into the shard
//! meanwhile, and in the end the copy has nothing of them.
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
    AddRequest, Added, By, Change, Copies, Curator, DataFate, Deletion, Directory, DirectoryError, Fault, FieldName,
    Key, Method, Mirror, Mirrored, Names, OldName, Orders, Policies, Protocol, PvEntry, PvId, PvName, PvSettings,
    PvState, Record, Roster, Rules, Sink, Source, SourceError,
};
use cluster::{
    Board, Claims, CopiesOfShards, Days, Follows, Held, Open, Pairs, Parts, Peers, Placement, Plan, Share, SiteTokens,
    Whole, global,
};
use query::{Before, Cut, LeftOut, Query, Request};
use sample::{Alarm, Batch, Gap, GapCause, Sample, TimeRange, Timestamp, Value};
use shared::{
    Owner, OwnerStanding, Part, Settings, Shared,
    twin::{FaultRates, Link, Memory, Net, Seed},
};
use sim::SimDisk;
use store::{Config, Durable, Error, LogFrames, Shipping, Store, Writer};

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
    keep_unnamed: Duration::ZERO,
};

/// A day in which ten updates come; nobody waits for its end.
const DAYS: Days = Days { length: Duration::from_nanos(100), grace: Duration::ZERO, lacking: query::lacking };

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

    fn share(&self, _: &str, _: Vec<u8>) -> Result<Box<dyn Share>, SourceError> {
        Err(SourceError::piece("nothing is taken"))
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

/// A store that is open at a node, and as much of an acquisition as tells it that nothing has come yet.
struct Life {
    store: Store,
    disk: Arc<SimDisk>,
    link: Arc<Link>,
    node: usize,
    /// When it began, and of which of the PVs nothing has come since.
    opened: Timestamp,
    unheard: BTreeSet<PvId>,
    /// How many updates the IOC sends before this taker hears one.
    hears_in: u64,
    /// The last one.
    has_heard: Option<u64>,
}

impl Life {
    /// As acquisition does: from the beginning to the first value of each PV there is a gap.
    fn begin(&mut self) -> Result<(), Error> {
        let entries = self.store.reader().entries().into_iter();
        let archived = entries.filter(|entry| PVS.contains(&entry.name.as_str()));
        self.unheard = archived.map(|entry| entry.id).collect();
        let gap = Gap { from: self.opened, to: None, cause: GapCause::NeverConnected, lost: 0 };
        let gaps: Vec<_> = self.unheard.iter().map(|pv| (*pv, Record::Gap(gap))).collect();
        self.store.writer().append(&gaps, self.opened)
    }

    fn hear(&mut self, pv: &str, sample: &Sample) -> Result<(), Error> {
        if self.hears_in > 0 {
            self.hears_in -= 1;
            return Ok(());
        }
        let Some(entry) = self.store.reader().find(pv) else { return Ok(()) };
        let mut records = vec![(entry.id, Record::Sample(sample.clone()))];
        if self.unheard.contains(&entry.id) {
            let (from, to) = (self.opened, Some(sample.time));
            let gap = Gap { from, to, cause: GapCause::NeverConnected, lost: 0 };
            records.insert(0, (entry.id, Record::Gap(gap)));
        }
        self.store.writer().append(&records, sample.time)?;
        self.unheard.remove(&entry.id);
        self.has_heard = Some((sample.time.nanos() / 10) as u64);
        Ok(())
    }
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
    /// Owners that were replaced and have not handed over yet what they recorded, with which of the recorders each was.
    replaced: Vec<(usize, Life)>,
    trouble: Option<Trouble>,
    /// Updates are numbered: number r goes to PV r % 2 at time 10 r with the value r.
    updates: u64,
    sent: BTreeSet<u64>,
    /// Those that the copy does not have yet, or never heard.
    unheard_by_copy: BTreeSet<u64>,
    names: u64,
    /// What is older may have gone from the copy.
    merged_before: Timestamp,
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
            unheard_by_copy: BTreeSet::new(),
            names: 0,
            merged_before: Timestamp::MIN,
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
        let (disk, opened) = (Arc::new(SimDisk::default()), self.now());
        let store = Store::open_shard(disk.clone(), config, owner, SHIPPING, opened);
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
        let mut life = Life { store, disk, link, node, opened, unheard: BTreeSet::new(), hears_in: 0, has_heard: None };
        life.begin().map_err(|error| told(&error))?;
        let before = self.recorders[which].life.replace(life);
        self.replaced.extend(before.map(|life| (which, life)));
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
        let pv = PVS[number as usize % 2];
        for (which, recorder) in self.recorders.iter_mut().enumerate().filter(|(which, _)| Some(*which) != dropped) {
            let Some(life) = &mut recorder.life else { continue };
            if let Err(error) = life.hear(pv, &sample)
                && self.trouble != Some(Trouble::Cut(which))
            {
                return Err(format!("recorder {which} refuses update {number}: {error}"));
            }
        }
        for (_, life) in &mut self.replaced {
            match life.hear(pv, &sample) {
                Ok(()) | Err(Error::Refused { .. } | Error::Busy) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        let hears = |recorder: &Recorder| recorder.life.as_ref().is_some_and(|life| life.has_heard == Some(number));
        if !self.recorders.get(1).is_some_and(hears) {
            self.unheard_by_copy.insert(number);
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
                let hears_in = self.seed.below(4);
                if let Some(life) = &mut self.recorders[which].life {
                    life.hears_in = hears_in;
                }
            }
        }
        Ok(())
    }

    /// A node that was replaced finds that out, once its successor hears the IOC, and hands over what it has. What cannot be taken now is
    /// taken the next time.
    fn hand_over(&mut self) -> Result<(), Violation> {
        for (which, life) in std::mem::take(&mut self.replaced) {
            let taker = self.recorders[which].life.as_ref().filter(|taker| taker.hears_in == 0);
            let is_cut_off = self.trouble == Some(Trouble::Cut(which));
            let Some(taker) = taker.filter(|_| !is_cut_off) else {
                self.replaced.push((which, life));
                continue;
            };
            life.link.set(FaultRates::default());
            life.store.tick(at(self.updates as i64 * 10)); // who has nothing to ship hears of nobody
            life.store.ship();
            if !life.store.shard().expect("a shard").is_over {
                self.replaced.push((which, life)); // it was not asked yet
                continue;
            }
            let Some(part) = life.store.left_over() else { continue };
            let taken = taker.store.take_part(&part, &LogFrames::new(life.disk.clone()));
            match taken.map_err(|error| format!("what is handed over is not taken: {error}"))? {
                true => self.count("handed over"),
                false => self.replaced.push((which, life)),
            }
        }
        Ok(())
    }

    /// All that was recorded anywhere is where it belongs.
    fn rest(&mut self) -> Result<(), Violation> {
        self.recorders.iter_mut().filter_map(|of| of.life.as_mut()).for_each(|life| life.hears_in = 0);
        for _ in 0..2000 {
            self.settle()?;
            self.hand_over()?;
            if self.replaced.is_empty() {
                return self.settle();
            }
        }
        Err("what those who were replaced have is not taken".to_owned())
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
            64..67 => self.follow(),
            67..70 => drop(self.merge_days()),
            70..82 if self.trouble.is_none() => self.begin_trouble()?,
            82..90 => self.hand_over()?,
            90..100 if self.trouble == Some(Trouble::Killed(0)) => self.judge_copy()?,
            90..100 if self.trouble.is_none() => {
                self.rest()?;
                self.judge()?;
            }
            _ => {}
        }
        Ok(())
    }

    /// The shard takes over what the copy has of days that are over, or lets it go. Whatever is wrong at present may be in the way.
    fn merge_days(&mut self) -> Vec<(u32, String)> {
        let whole = Whole::new(self.board.clone());
        self.merged_before = self.now();
        let failed = whole.merge_days(&DAYS, self.now(), &|| true);
        self.count(if failed.is_empty() { "days" } else { "days that could not be merged" });
        failed
    }

    /// Everything that is past goes into the shard: the copy has nothing of it any more.
    fn merge_all(&mut self) -> Result<(), Violation> {
        let past = at(self.now().nanos() / 100 * 100);
        for _ in 0..20 {
            let failed = self.merge_days();
            self.settle()?;
            let Some(copy) = self.recorders.get(1).and_then(|of| of.life.as_ref()) else { return Ok(()) };
            let reader = copy.store.reader();
            let firsts = (0..PVS.len()).filter_map(|pv| reader.extent(PvId(pv as u32))).map(|(first, ..)| first);
            let first = firsts.min().unwrap_or(Timestamp::MAX);
            if failed.is_empty() && first >= past {
                return Ok(());
            }
        }
        Err(format!("the copy still has something of before {past}: {:?}", self.merge_days()))
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
        let (whole, query) = (Whole::new(self.board.clone()), self.query());
        for (index, name) in PVS.into_iter().enumerate() {
            let entry = whole.find(name).ok_or_else(|| format!("{name} is not there"))?;
            let request = Request { series: entry.id.into(), range: TimeRange::ALL, before: Before::None };
            let read = samples(&query, &request)?;
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

    /// Asks all recorders, and leaves out a shard or a copy that cannot be asked.
    fn query(&self) -> Query {
        let whole = Whole::new(self.board.clone());
        Query::over(whole.clone()).with(vec![Arc::new(CopiesOfShards::of(whole))]).noting()
    }

    /// While the shard has no node the copy answers, and it is said: nothing is missing but what the copy alone did not hear.
    fn judge_copy(&mut self) -> Result<(), Violation> {
        if self.replaced.iter().any(|(which, _)| *which == 1) {
            return Ok(()); // something of it has not been handed over yet
        }
        self.count("readings of the copy alone");
        let query = self.query();
        for (index, name) in PVS.into_iter().enumerate() {
            let pv = global(0, PvId(index as u32)).ok_or("there is no such number")?;
            let request = Request { series: pv.into(), range: TimeRange::ALL, before: Before::None };
            let read: Vec<Sample> = samples(&query, &request)?;
            let numbers: BTreeSet<u64> = read.iter().map(|sample| (sample.time.nanos() / 10) as u64).collect();
            let unheard = |number: &&u64| {
                let is_merged = at(**number as i64 * 10) < self.merged_before;
                **number as usize % 2 == index && !is_merged && !self.unheard_by_copy.contains(*number)
            };
            let missing: Vec<_> = self.sent.iter().filter(unheard).filter(|number| !numbers.contains(number)).collect();
            if !missing.is_empty() || numbers.len() != read.len() {
                return Err(format!("{name} by its copy: {missing:?} are missing of {numbers:?}"));
            }
            self.judge_bins(&query, pv, &read)?;
            let last = query.last_before(&pv.into(), Timestamp::MAX).map_err(|error| error.to_string())?;
            if last.as_ref() != read.last() {
                return Err(format!("{name} by its copy: the last is {last:?} and not {:?}", read.last()));
            }
            query.gaps(&pv.into(), TimeRange::ALL).map_err(|error| error.to_string())?;
        }
        match query.left_out().as_slice() {
            [LeftOut { part, .. }] if part == "shard 0 of the cluster" => Ok(()),
            left_out => Err(format!("of an answer without the shard it is said: {left_out:?}")),
        }
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

fn samples(query: &Query, request: &Request) -> Result<Vec<Sample>, Violation> {
    let mut read = Vec::new();
    for batch in query.samples(request) {
        let batch = batch.map_err(|error| error.to_string())?;
        read.extend((0..batch.len()).map(|row| batch.get(row)));
    }
    Ok(read)
}

fn schedule(seed: u64, copies: usize) -> Result<BTreeMap<&'static str, u64>, Violation> {
    let mut world = World::new(seed, copies)?;
    for _ in 0..ROUNDS {
        world.round()?;
    }
    while world.trouble.is_some() {
        world.end_trouble()?;
    }
    world.rest()?;
    world.judge()?;
    world.merge_all()?;
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
        "days",
        "dropped by a circuit",
        "flushes",
        "handed over",
        "kills",
        "moves",
        "orders",
        "readings",
        "readings of the copy alone",
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

/// A world in which so many updates were sent, and all that was recorded is where it belongs.
fn after(updates: u64) -> World {
    let mut world = World::new(7, 2).unwrap();
    (0..updates).for_each(|_| world.send().unwrap());
    world.settle().unwrap();
    world
}

fn numbers(world: &World, pv: PvId) -> Vec<u64> {
    let request = Request { series: pv.into(), range: TimeRange::ALL, before: Before::None };
    let read = samples(&world.query(), &request).unwrap();
    read.iter().map(|sample| (sample.time.nanos() / 10) as u64).collect()
}

#[test]
fn what_the_copy_alone_has_of_a_range_is_hidden_with_the_rest_and_shown_again() {
    let mut world = after(10);
    // The shard is lost with all that comes, and then another node takes it.
    world.board.closed(0);
    world.recorders[0].life = None;
    world.trouble = Some(Trouble::Killed(0));
    (0..10).for_each(|_| world.send().unwrap());
    world.take(0).unwrap();
    world.trouble = None;
    world.settle().unwrap();
    let whole = Whole::new(world.board.clone());
    let pv = global(0, PvId(0)).unwrap();
    let all = numbers(&world, pv);
    assert_eq!(all, (2..=20).step_by(2).collect::<Vec<u64>>());
    // A range of which the shard has nothing, one of which both have some, and one of which nobody has any.
    for (range, left) in [((120, 160), vec![2, 4, 6, 8, 10, 16, 18, 20]), ((60, 160), vec![2, 4, 16, 18, 20])] {
        let range = TimeRange::new(at(range.0), at(range.1)).unwrap();
        let deleted = Curator::delete_range(&whole, pv, range, &by(world.now().nanos())).unwrap();
        assert_eq!(numbers(&world, pv), left);
        Curator::restore_range(&whole, deleted.number, &by(world.now().nanos() + 1)).unwrap();
        assert_eq!(numbers(&world, pv), all);
    }
    let before = TimeRange::new(at(0), at(5)).unwrap();
    let error = Curator::delete_range(&whole, pv, before, &by(world.now().nanos())).unwrap_err();
    assert_eq!(error.fault, Fault::NothingThere);
}

#[test]
fn what_is_imported_of_a_pv_that_is_recorded_twice_is_read_once_and_deleted_as_any() {
    let world = after(4);
    let whole = Whole::new(world.board.clone());
    let pv = global(0, PvId(0)).unwrap();
    let old = |number: i64| Sample {
        time: at(number * 10 - 1000),
        value: Value::F64(number as f64),
        alarm: Alarm::default(),
        pulse: 0,
        stamp: None,
    };
    let mut intake = Curator::import(&whole, "of old", &by(world.now().nanos())).unwrap();
    let records: Vec<_> = (0..5).map(|number| (pv, Record::Sample(old(number)))).collect();
    intake.append(&records).unwrap();
    assert_eq!(intake.finish_part("part 1").unwrap().samples, 5);
    let times = || {
        let request = Request { series: pv.into(), range: TimeRange::ALL, before: Before::None };
        samples(&world.query(), &request).unwrap().iter().map(|sample| sample.time.nanos()).collect::<Vec<_>>()
    };
    let all = [-1000, -990, -980, -970, -960, 20, 40];
    assert_eq!(times(), all);
    let range = TimeRange::new(at(-985), at(30)).unwrap();
    let deleted = Curator::delete_range(&whole, pv, range, &by(world.now().nanos())).unwrap();
    assert_eq!(times(), [-1000, -990, 40], "of both, what was imported and what both recorded");
    Curator::restore_range(&whole, deleted.number, &by(world.now().nanos() + 1)).unwrap();
    assert_eq!(times(), all);
}

#[test]
fn an_answer_that_has_said_what_it_is_made_without_waits_for_the_shard() {
    let mut world = after(6);
    let (query, pv) = (world.query(), global(0, PvId(1)).unwrap());
    assert_eq!(query.left_out(), [], "all are there, and that is said");
    world.board.closed(0);
    world.recorders[0].life = None;
    let error = query.last_before(&pv.into(), Timestamp::MAX).unwrap_err().to_string();
    assert!(error.contains("no node has shard 0"), "{error}");
    let query = world.query();
    assert_eq!(query.last_before(&pv.into(), Timestamp::MAX).unwrap().map(|sample| sample.time), Some(at(50)));
    let left_out: Vec<String> = query.left_out().iter().map(LeftOut::to_string).collect();
    assert!(left_out.len() == 1 && left_out[0].ends_with("what its copy recorded is told alone"), "{left_out:?}");
    // Once it is said, more of the same may be told.
    assert_eq!(query.last_before(&pv.into(), at(30)).unwrap().map(|sample| sample.time), Some(at(30)));
}

/// The copy's own samples of a PV, by number.
fn of_copy(world: &World, pv: u32) -> Vec<u64> {
    let reader = world.recorders[1].life.as_ref().unwrap().store.reader();
    let read = Source::samples(&reader, Key::Number(PvId(pv)), TimeRange::ALL);
    let times = read.flat_map(|batch| batch.unwrap().times().to_vec());
    times.map(|time| (time.nanos() / 10) as u64).collect()
}

/// A world of so many updates of which the shard lacks those from 11 to 20.
fn with_a_hole(updates: u64) -> World {
    let mut world = after(10);
    world.board.closed(0);
    world.recorders[0].life = None;
    world.trouble = Some(Trouble::Killed(0));
    (0..10).for_each(|_| world.send().unwrap());
    world.take(0).unwrap();
    world.trouble = None;
    (20..updates).for_each(|_| world.send().unwrap());
    world.settle().unwrap();
    world
}

/// Both steps of a merge: all of the first PV is read as before, and the copy has only what the day that is not over has.
fn is_merged(world: &mut World, all: &[u64]) {
    (0..2).for_each(|_| assert_eq!(world.merge_days(), []));
    let pv = global(0, PvId(0)).unwrap();
    assert_eq!((numbers(world, pv), of_copy(world, 0)), (all.to_vec(), vec![30, 32, 34]));
}

/// Deletes a range of the first PV. Gives the deletion, and what can be read of the PV without it and with it.
fn delete_some(world: &World) -> (Deletion, Vec<u64>, Vec<u64>) {
    let (whole, pv) = (Whole::new(world.board.clone()), global(0, PvId(0)).unwrap());
    let all = numbers(world, pv);
    let range = TimeRange::new(at(120), at(170)).unwrap();
    let deletion = Curator::delete_range(&whole, pv, range, &by(world.now().nanos())).unwrap();
    let left = all.iter().copied().filter(|number| !(12..17).contains(number)).collect();
    (deletion, left, all)
}

/// Takes that back.
fn restore(world: &World, deletion: &Deletion, all: &[u64]) {
    let whole = Whole::new(world.board.clone());
    Curator::restore_range(&whole, deletion.number, &by(world.now().nanos() + 1)).unwrap();
    assert_eq!(numbers(world, deletion.pv), all);
}

#[test]
fn what_the_copy_alone_has_of_a_day_is_in_the_shard_alone_when_the_day_is_over() {
    let mut world = with_a_hole(35);
    let pv = global(0, PvId(0)).unwrap();
    let all = numbers(&world, pv);
    let gaps = world.query().gaps(&pv.into(), TimeRange::ALL).unwrap();
    let both = of_copy(&world, 0);
    assert_eq!(world.merge_days(), []);
    assert_eq!((numbers(&world, pv), of_copy(&world, 0)), (all.clone(), both), "what began before reads both");
    assert_eq!(world.merge_days(), []);
    assert_eq!(of_copy(&world, 0), [30, 32, 34], "the day that is not over");
    assert_eq!(numbers(&world, pv), all);
    assert_eq!(world.query().gaps(&pv.into(), TimeRange::ALL).unwrap(), gaps);
    world.judge().unwrap();
    // What is past needs the shard alone.
    world.board.closed(2);
    let shard = Query::over(Whole::new(world.board.clone()));
    let past = Request { series: pv.into(), range: TimeRange::new(at(0), at(300)).unwrap(), before: Before::None };
    let read: Vec<u64> =
        samples(&shard, &past).unwrap().iter().map(|sample| (sample.time.nanos() / 10) as u64).collect();
    assert_eq!(read, (2..30).step_by(2).collect::<Vec<_>>());
}

#[test]
fn what_comes_to_the_copy_behind_the_mark_is_not_given_up_with_the_day() {
    let mut world = with_a_hole(35);
    let pv = global(0, PvId(0)).unwrap();
    assert_eq!(world.merge_days(), []);
    let late = Sample { time: at(155), value: Value::F64(15.5), alarm: Alarm::default(), pulse: 0, stamp: None };
    let copy = &world.recorders[1].life.as_ref().unwrap().store;
    copy.writer().append(&[(PvId(0), Record::Sample(late))], world.now()).unwrap();
    world.settle().unwrap();
    let all = numbers(&world, pv);
    assert_eq!(all.len(), 18);
    assert_eq!(world.merge_days(), [], "the copy gives up what was there before");
    assert_eq!((numbers(&world, pv), of_copy(&world, 0)), (all.clone(), vec![15, 30, 32, 34]));
    assert_eq!((world.merge_days(), world.merge_days()), (vec![], vec![]));
    assert_eq!((numbers(&world, pv), of_copy(&world, 0)), (all, vec![30, 32, 34]));
}

#[test]
fn what_is_hidden_waits_at_the_copy_until_it_is_shown_again() {
    let mut world = with_a_hole(35);
    let (deletion, left, all) = delete_some(&world);
    let of_copy_left = of_copy(&world, 0);
    (0..2).for_each(|_| assert_eq!(world.merge_days(), []));
    assert_eq!((numbers(&world, deletion.pv), of_copy(&world, 0)), (left, of_copy_left), "nothing is given up of it");
    assert_eq!(of_copy(&world, 1), [31, 33, 35], "of the other PV all that is past is");
    restore(&world, &deletion, &all);
    is_merged(&mut world, &all);
}

#[test]
fn what_is_deleted_between_the_two_steps_is_hidden_of_what_was_taken_over_and_shown_again_with_it() {
    let mut world = with_a_hole(35);
    assert_eq!(world.merge_days(), []);
    let (deletion, left, all) = delete_some(&world);
    assert_eq!(numbers(&world, deletion.pv), left);
    let refused = world.merge_days();
    assert!(refused.len() == 1 && refused[0].1.contains("something was deleted meanwhile"), "{refused:?}");
    assert_eq!(numbers(&world, deletion.pv), left);
    restore(&world, &deletion, &all);
    is_merged(&mut world, &all);
}

#[test]
fn an_owner_that_dies_between_the_two_steps_leaves_the_rest_to_the_next() {
    let mut world = with_a_hole(35);
    let pv = global(0, PvId(0)).unwrap();
    let all = numbers(&world, pv);
    assert_eq!(world.merge_days(), []);
    world.settle().unwrap();
    // The copy changes its owner as well: what was marked in one epoch is not given up in another.
    (0..2).for_each(|which| world.take(which).unwrap());
    world.replaced.clear();
    world.settle().unwrap();
    let refused = world.merge_days();
    assert!(refused.len() == 1 && refused[0].1.contains("was marked in epoch"), "{refused:?}");
    assert_eq!(numbers(&world, pv), all);
    is_merged(&mut world, &all);
}

//! The shards that this node has: each is taken, opened, recorded into, and given up when another node has it. A shard has a store and an
//! acquisition of its own, so that one that goes takes nothing of the others with it.
//!
//! ```text
//!   take:     lease, seal ──► store in an empty folder ──► acquisition ──► what epochs before have committed ──► answers
//!   give up:  no new answers ──► acquisition ends ──► store ends ──► its folder is held for who has the shard now
//! ```

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use acquire::Acquire;
use cluster::{Board, Claim, Held, Open, Parts, Willing};
use sample::Timestamp;
use shared::{Owner, OwnerStanding, Part, Settings, Shared};
use store::{Closed, Offer, Shipping, Store, Writer, disk::RealDisk};
use tokio::runtime::Handle;

use super::handover::{EpochFolder, Folders, HandedFolder};
use crate::{failure::Failure, host::clock::now};

/// A taker reads no more rows of a journal than this, each a request to the shared store: five minutes of commits.
const ROWS_PER_CHECKPOINT: u64 = 300;
/// And no more changes of the catalogue.
const CHANGES_PER_CHECKPOINT: u64 = 200;
/// What could not be replayed is tried again so much later.
const AGAIN: Duration = Duration::from_secs(1);
/// At the end, what is being taken is waited for so long.
const TAKEN_WITHIN: Duration = Duration::from_secs(10);
/// And until others have taken over what is held for them.
const HANDED_WITHIN: Duration = Duration::from_secs(10);

/// How shards are opened here.
pub(super) struct ShardOpening {
    pub(super) store: store::Config,
    pub(super) acquire: acquire::Config,
    pub(super) network: Handle,
    pub(super) run: u64,
}

/// The shards of this node.
pub(super) struct NodeShards {
    board: Arc<Board>,
    shared: Arc<dyn Shared>,
    opening: ShardOpening,
    folders: Arc<Folders>,
    running: Mutex<BTreeMap<u32, Arc<Running>>>,
    taking: Mutex<BTreeSet<u32>>,
    /// Nothing is taken any more.
    closing: AtomicBool,
}

/// A shard that is recorded here.
struct Running {
    epoch: u64,
    folder: EpochFolder,
    /// None when it was given up.
    at_work: RwLock<Option<(Store, Acquire<Writer>)>>,
}

impl Running {
    /// What somebody wants of the store while there is one.
    fn with<T>(&self, ask: impl FnOnce(&Store, &Acquire<Writer>) -> T) -> Option<T> {
        let at_work = self.at_work.read().unwrap_or_else(PoisonError::into_inner);
        at_work.as_ref().map(|(store, acquire)| ask(store, acquire))
    }

    fn end(&self) -> Option<(Store, Acquire<Writer>)> {
        self.at_work.write().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// What is handed over, as the store wants it.
struct Offered<'a>(&'a dyn Held);

impl Offer for Offered<'_> {
    fn beginning_of(&self, frame: u64) -> std::io::Result<u64> {
        self.0.beginning_of(frame)
    }

    fn read(&self, from: u64, below: u64, max: usize) -> std::io::Result<Option<shared::LogRun>> {
        self.0.read(from, below, max)
    }
}

impl Parts for Running {
    fn take(&self, part: &Part, held: &dyn Held) -> Result<bool, String> {
        let taken = self.with(|store, _| store.take_part(part, &Offered(held)));
        taken.unwrap_or(Ok(false)).map_err(|error| error.to_string())
    }
}

impl NodeShards {
    pub(super) fn new(
        board: Arc<Board>,
        shared: Arc<dyn Shared>,
        opening: ShardOpening,
        folders: Arc<Folders>,
    ) -> Arc<NodeShards> {
        let (running, taking) = (Mutex::default(), Mutex::default());
        Arc::new(NodeShards { board, shared, opening, folders, running, taking, closing: AtomicBool::new(false) })
    }

    /// Those that are being taken.
    pub(super) fn taking(&self) -> BTreeSet<u32> {
        self.taking_now().clone()
    }

    fn taking_now(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        self.taking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<u32, Arc<Running>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to take a shard, on a thread of its own.
    pub(super) fn begin_to_take(self: &Arc<NodeShards>, shard: u32) -> Result<(), String> {
        if self.closing.load(Relaxed) {
            return Err("this node ends".to_owned());
        }
        if self.running().contains_key(&shard) || !self.taking_now().insert(shard) {
            return Err(format!("shard {shard} is at this node already"));
        }
        let shards = Arc::clone(self);
        let take = move || {
            let taken = shards.take(shard);
            shards.taking_now().remove(&shard);
            match taken {
                Ok(running) => shards.answer(shard, &running),
                Err(error) => shards.fails(shard, &format!("cannot be taken here: {error}")),
            }
        };
        let thread = thread::Builder::new().name(format!("shard {shard}")).spawn(take);
        thread.map(drop).map_err(|error| {
            self.taking_now().remove(&shard);
            format!("shard {shard} cannot be taken: {error}")
        })
    }

    /// Tells the operator, and the log once.
    fn fails(&self, shard: u32, why: &str) {
        if self.board.fails(shard, why) {
            tracing::warn!("shard {shard} {why}");
        }
    }

    /// Takes a shard and records into it.
    fn take(&self, shard: u32) -> Result<Arc<Running>, Failure> {
        let id = self.board.pairs().archive(shard).ok_or("no shard has this copy")?;
        let settings = Settings {
            rows_per_checkpoint: ROWS_PER_CHECKPOINT,
            changes_per_checkpoint: CHANGES_PER_CHECKPOINT,
            ..Settings::default()
        };
        let owner = Owner::take(self.shared.clone(), id, self.board.own(), self.opening.run, 1, settings)?;
        let epoch = owner.epoch().0;
        let path = self.folders.of(shard, epoch);
        fs::create_dir_all(&path)?;
        let config = store::Config { folder: path.clone(), ..self.opening.store.clone() };
        let started = now();
        let disk = Arc::new(RealDisk::new(&path));
        let folder = EpochFolder { path, disk: Arc::downgrade(&disk) };
        let store = Store::open_shard(disk, config, owner, Shipping::default(), started)?;
        let acquire = {
            let _tasks_run_here = self.opening.network.enter();
            Acquire::start(self.opening.acquire.clone(), store.writer(), started)?
        };
        let running = Arc::new(Running { epoch, folder, at_work: RwLock::new(Some((store, acquire))) });
        self.running().insert(shard, running.clone());
        self.board.recorded(shard, epoch);
        tracing::info!("shard {shard} is recorded here from epoch {epoch} on");
        Ok(running)
    }

    /// Answers from a shard as soon as all that epochs before have committed can be read.
    fn answer(&self, shard: u32, running: &Arc<Running>) {
        loop {
            match running.with(|store, _| store.replay()) {
                None => return,
                Some(Ok(())) => break,
                Some(Err(error)) => {
                    self.fails(shard, &format!("is recorded here, but not answered yet: {error}"));
                    if self.running().get(&shard).is_none_or(|now| !Arc::ptr_eq(now, running)) {
                        return;
                    }
                    thread::sleep(AGAIN);
                }
            }
        }
        let open = running.with(|store, acquire| {
            let (reader, writer, control) = (Arc::new(store.reader()), store.writer(), Arc::new(acquire.control()));
            Open {
                epoch: running.epoch,
                directory: reader.clone(),
                source: reader.clone(),
                storage: reader,
                curator: Arc::new(writer.clone()),
                orders: control.clone(),
                rulebook: control.clone(),
                standing: control,
                tokens: Arc::new(writer),
                parts: running.clone(),
            }
        });
        if let Some(open) = open
            && self.running().get(&shard).is_some_and(|now| Arc::ptr_eq(now, running))
        {
            self.board.opened(shard, Arc::new(open));
        }
    }

    /// To be called once a second: signs of life, and shards that other nodes have by now are given up.
    pub(super) fn tick(self: &Arc<NodeShards>, now: Timestamp) {
        let running = self.running().clone();
        for (shard, running) in running {
            let health = running.with(|store, acquire| {
                store.tick_heard(now, acquire.control().heard_until());
                store.shard()
            });
            let Some(health) = health.flatten() else { continue };
            if let OwnerStanding::Taken { by } = health.standing {
                self.board.closed(shard); // others answer for it; what is still under way to this node is written down meanwhile
                let records = |claim: Claim| claim.node != self.board.own() && claim.epoch >= by.0;
                if self.board.claim(shard).is_some_and(records) {
                    running.with(|store, _| store.relieve());
                }
            }
            if health.is_over && self.running().remove(&shard).is_some() {
                self.board.closed(shard);
                let shards = Arc::clone(self);
                let give_up = move || shards.give_up(shard, &running);
                if let Err(error) = thread::Builder::new().name(format!("shard {shard} ends")).spawn(give_up) {
                    tracing::error!("shard {shard} is not given up: {error}");
                }
            }
        }
    }

    /// Ends a shard that another node has taken, and hands over what that one does not have yet.
    fn give_up(&self, shard: u32, running: &Running) {
        let Some((store, acquire)) = running.end() else { return };
        tracing::info!("shard {shard} has another owner; it ends here");
        let _when = acquire.finish(); // what comes too late for the log is counted as refused
        let left = store.left_over();
        if store.has_last_copy() {
            self.folders.keep(shard, &running.folder.path);
        }
        drop(store);
        self.hand_over(shard, running, left);
    }

    /// Holds what is left of a shard that another node has until that one has taken it.
    fn hand_over(&self, shard: u32, running: &Running, left: Option<Part>) {
        match left {
            Some(part) => {
                tracing::info!("of shard {shard}, frames {} of epoch {} are handed over", part.frames, part.epoch);
                self.folders.hold(HandedFolder::new(shard, running.epoch, running.folder.clone(), part.frames));
            }
            None => self.folders.let_go(running.folder.clone()),
        }
    }

    /// Ends all of them, with everything shipped. What was recorded of a shard that another node has just taken is handed over to it, if
    /// that is done within a while, and else when this node starts again.
    pub(super) fn close(&self) -> Result<(), Failure> {
        self.closing.store(true, Relaxed);
        let begun = Instant::now();
        while !self.taking_now().is_empty() && begun.elapsed() < TAKEN_WITHIN {
            thread::sleep(Duration::from_millis(50));
        }
        let running = std::mem::take(&mut *self.running());
        let ends: Vec<String> = thread::scope(|scope| {
            let end = |shard: u32, running: Arc<Running>| {
                self.board.closed(shard);
                let (store, acquire) = running.end()?;
                let stopped = acquire.finish();
                match store.close_shard(stopped) {
                    Ok(Closed::Whole) => None,
                    Ok(Closed::Replaced { left, has_last_copy }) => {
                        if has_last_copy {
                            self.folders.keep(shard, &running.folder.path);
                        }
                        self.hand_over(shard, &running, left);
                        None
                    }
                    Err(error) => Some(format!("shard {shard}: {error}")),
                }
            };
            let ends: Vec<_> = running.into_iter().map(|(shard, one)| scope.spawn(move || end(shard, one))).collect();
            ends.into_iter().filter_map(|end| end.join().expect("no end of a shard panics")).collect()
        });
        let begun = Instant::now();
        while !self.folders.waiting().is_empty() && begun.elapsed() < HANDED_WITHIN {
            thread::sleep(Duration::from_millis(50)); // it is offered meanwhile
        }
        for waiting in self.folders.waiting() {
            tracing::warn!(
                "{waiting} waits for the node that has the shard, and is handed over when this node runs again"
            );
        }
        if ends.is_empty() { Ok(()) } else { Err(ends.join("; ").into()) }
    }
}

/// What other nodes may ask for.
pub(super) struct Wills(pub(super) Arc<NodeShards>, pub(super) Arc<Folders>);

impl Willing for Wills {
    fn take(&self, shard: u32) -> Result<(), String> {
        self.0.begin_to_take(shard)
    }

    fn held(&self, shard: u32, epoch: u64) -> Option<Arc<dyn Held>> {
        self.1.held(shard, epoch)
    }
}

#[cfg(test)]
mod tests;

//! What lies between a node and the shared store: calls that are lost, answers that are, calls that arrive long after nobody waits for
//! them, cuts, and the death of the node in the middle of a call. Any back end can be behind it.

use std::{
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    error::{Error, Result},
    ids::Seq,
    seam::{Created, Shared, Swapped},
    twin::{seed::Seed, turns::Turn},
};

/// How often things go wrong, in 1000 calls.
#[derive(Clone, Copy, Debug, Default)]
pub struct FaultRates {
    /// The call does not arrive.
    pub lost: u32,
    /// It does, and its answer does not.
    pub unanswered: u32,
    /// It arrives later, when the caller has given up. Reads are just lost.
    pub late: u32,
    /// From here on nothing arrives, for as many calls as `cut_len`.
    pub cut: u32,
    /// How many calls a cut lasts at most.
    pub cut_len: u64,
    /// The node dies: before the call arrives, or behind it.
    pub dies: u32,
}

/// A call that arrives when nobody waits for it any more.
#[derive(Debug)]
enum Late {
    Put(String, Vec<u8>),
    Remove(String),
    Create(String, Seq, Vec<u8>),
    Swap(String, Option<Vec<u8>>, Vec<u8>),
    Beat(String, Vec<u8>),
    Forget(String),
}

impl Late {
    fn arrive(self, shared: &dyn Shared) -> Result<()> {
        match self {
            Late::Put(key, bytes) => shared.put(&key, &bytes),
            Late::Remove(key) => shared.remove(&key),
            Late::Create(journal, seq, row) => shared.create(&journal, seq, &row).map(drop),
            Late::Swap(name, old, new) => shared.swap(&name, old.as_deref(), &new).map(drop),
            Late::Beat(node, beat) => shared.beat(&node, &beat),
            Late::Forget(node) => shared.forget(&node),
        }
    }
}

/// What is under way to the shared store from all nodes.
#[derive(Debug)]
pub struct Net {
    shared: Arc<dyn Shared>,
    late: Mutex<(u64, Vec<(u64, Late)>)>,
}

impl Net {
    /// A net in front of a store.
    pub fn new(shared: Arc<dyn Shared>) -> Arc<Net> {
        Arc::new(Net { shared, late: Mutex::default() })
    }

    /// A node's link to it. Between its calls `turn` lets others have theirs.
    pub fn link(self: &Arc<Net>, faults: FaultRates, seed: Seed, turn: Option<Turn>) -> Arc<Link> {
        let state = State { seed, faults, cut: 0, dead: false };
        Arc::new(Link { net: self.clone(), turn, state: Mutex::new(state) })
    }

    /// All that is under way arrives now. The first thing that the store refuses of it is told.
    pub fn land(&self) -> Result<()> {
        let late = std::mem::take(&mut self.late.lock().unwrap_or_else(PoisonError::into_inner).1);
        late.into_iter().try_for_each(|(_, late)| late.arrive(&*self.shared))
    }

    fn delay(&self, seed: &mut Seed, late: Late) {
        let mut state = self.late.lock().unwrap_or_else(PoisonError::into_inner);
        let due = state.0 + 1 + seed.below(60);
        state.1.push((due, late));
    }

    /// A call passes: what is due before it arrives first.
    fn pass(&self) -> Result<()> {
        let mut due = Vec::new();
        {
            let mut state = self.late.lock().unwrap_or_else(PoisonError::into_inner);
            state.0 += 1;
            let now = state.0;
            let mut at = 0;
            while at < state.1.len() {
                if state.1[at].0 <= now { due.push(state.1.remove(at).1) } else { at += 1 }
            }
        }
        due.into_iter().try_for_each(|late| late.arrive(&*self.shared))
    }
}

#[derive(Debug)]
struct State {
    seed: Seed,
    faults: FaultRates,
    /// So many calls more do not arrive.
    cut: u64,
    dead: bool,
}

/// A node's link to the shared store.
#[derive(Debug)]
pub struct Link {
    net: Arc<Net>,
    turn: Option<Turn>,
    state: Mutex<State>,
}

/// What becomes of a call.
enum Fate {
    Answered,
    Lost,
    Late,
    Unanswered,
    DiesBehind,
}

impl Link {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the node has died. Its link stays dead; the node that is started again has another one.
    pub fn is_dead(&self) -> bool {
        self.state().dead
    }

    /// The node dies.
    pub fn kill(&self) {
        self.state().dead = true;
    }

    /// From now on nothing arrives, for so many calls.
    pub fn cut(&self, calls: u64) {
        self.state().cut = calls;
    }

    /// From now on other things go wrong, and a cut ends.
    pub fn set(&self, faults: FaultRates) {
        let mut state = self.state();
        (state.faults, state.cut) = (faults, 0);
    }

    fn fate(&self) -> Fate {
        let mut state = self.state();
        let faults = state.faults;
        if state.dead {
            return Fate::Lost;
        }
        if state.cut > 0 {
            state.cut -= 1;
            return Fate::Lost;
        }
        if state.seed.happens(faults.dies) {
            state.dead = true;
            return if state.seed.happens(500) { Fate::Lost } else { Fate::DiesBehind };
        }
        if state.seed.happens(faults.cut) {
            state.cut = state.seed.below(faults.cut_len.max(1));
            return Fate::Lost;
        }
        let chance = state.seed.below(1000) as u32;
        match chance {
            _ if chance < faults.lost => Fate::Lost,
            _ if chance < faults.lost + faults.unanswered => Fate::Unanswered,
            _ if chance < faults.lost + faults.unanswered + faults.late => Fate::Late,
            _ => Fate::Answered,
        }
    }

    fn call<T>(
        &self,
        doing: &str,
        what: &str,
        call: impl FnOnce(&dyn Shared) -> Result<T>,
        late: impl FnOnce() -> Option<Late>,
    ) -> Result<T> {
        let unknown = || Error::Unknown { doing: format!("{doing} {what}"), reason: "no answer".into() };
        self.take_turn();
        self.net.pass()?;
        let fate = self.fate();
        let result = match fate {
            Fate::Lost => Err(unknown()),
            Fate::Late => {
                if let Some(late) = late() {
                    self.net.delay(&mut self.state().seed, late);
                }
                Err(unknown())
            }
            Fate::Unanswered | Fate::DiesBehind => call(&*self.net.shared).and_then(|_| Err(unknown())),
            Fate::Answered => call(&*self.net.shared),
        };
        self.take_turn();
        result
    }

    fn take_turn(&self) {
        if let Some(turn) = &self.turn {
            turn.pass();
        }
    }
}

impl Shared for Link {
    fn put(&self, key: &str, bytes: &[u8]) -> Result<()> {
        self.call("put", key, |shared| shared.put(key, bytes), || Some(Late::Put(key.into(), bytes.into())))
    }

    fn get(&self, key: &str, range: Range<u64>) -> Result<Option<Vec<u8>>> {
        self.call("get", key, |shared| shared.get(key, range), || None)
    }

    fn len(&self, key: &str) -> Result<Option<u64>> {
        self.call("measure", key, |shared| shared.len(key), || None)
    }

    fn remove(&self, key: &str) -> Result<()> {
        self.call("remove", key, |shared| shared.remove(key), || Some(Late::Remove(key.into())))
    }

    fn list(&self, prefix: &str, after: &str, max: usize) -> Result<Vec<String>> {
        self.call("list", prefix, |shared| shared.list(prefix, after, max), || None)
    }

    fn create(&self, journal: &str, seq: Seq, row: &[u8]) -> Result<Created> {
        let late = || Some(Late::Create(journal.into(), seq, row.into()));
        self.call("append to", journal, |shared| shared.create(journal, seq, row), late)
    }

    fn row(&self, journal: &str, seq: Seq) -> Result<Option<Vec<u8>>> {
        self.call("read", journal, |shared| shared.row(journal, seq), || None)
    }

    fn last(&self, journal: &str, known: Option<Seq>) -> Result<Option<(Seq, Vec<u8>)>> {
        self.call("find the end of", journal, |shared| shared.last(journal, known), || None)
    }

    fn rows(&self, journal: &str, from: Seq, max: usize) -> Result<Vec<Vec<u8>>> {
        self.call("read", journal, |shared| shared.rows(journal, from, max), || None)
    }

    fn value(&self, name: &str) -> Result<Option<Vec<u8>>> {
        self.call("read", name, |shared| shared.value(name), || None)
    }

    fn swap(&self, name: &str, old: Option<&[u8]>, new: &[u8]) -> Result<Swapped> {
        let late = || Some(Late::Swap(name.into(), old.map(Into::into), new.into()));
        self.call("swap", name, |shared| shared.swap(name, old, new), late)
    }

    fn beat(&self, node: &str, beat: &[u8]) -> Result<()> {
        self.call("beat as", node, |shared| shared.beat(node, beat), || Some(Late::Beat(node.into(), beat.into())))
    }

    fn forget(&self, node: &str) -> Result<()> {
        self.call("forget", node, |shared| shared.forget(node), || Some(Late::Forget(node.into())))
    }

    fn beats(&self) -> Result<Vec<(String, Vec<u8>)>> {
        self.call("read", "beats", |shared| shared.beats(), || None)
    }
}

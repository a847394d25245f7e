//! The board: which shard is open here, which node has each of the others, and how both are reached.

mod held;
mod problems;
mod reach;
mod unanswered;

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::{
        Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicI64, AtomicU32, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use archive::{Copies, Directory, NodeStanding, NodeState, Policies};
use sample::Timestamp;

pub(crate) use crate::seams::Open;
use crate::{
    beat::Beat,
    claims::Claims,
    days::Merging,
    figures::Said,
    mirror::Mirroring,
    pairs::Pairs,
    placement::Placement,
    seams::{Follows, Peers},
    wire,
};

/// Who asks for samples waits so long for a shard whose node has died: until another node has taken it.
pub(crate) const TAKEN_WITHIN: Duration = Duration::from_secs(20);
/// Clocks of nodes that differ by more seconds are told of: nodes that are set by NTP, and beats on their way, differ by less.
const CLOCKS_DIFFER_MAX: u64 = 30;
/// Troubles that last longer are listed among the problems.
const TOLD_AFTER: Duration = Duration::from_secs(15);

/// Who has a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The node.
    pub node: String,
    /// In which epoch.
    pub epoch: u64,
}

/// What is fixed of a cluster.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The name of this node.
    pub node: String,
    /// Where people open its page, if that is known.
    pub page: Option<String>,
    /// How many shards of PVs there are. One more is the site: it has what belongs to no PV.
    pub shards: u32,
    /// Where new PVs belong.
    pub placement: Placement,
    /// By which PVs are added.
    pub policies: Policies,
    /// Whether shards have copies, because some policy wants PVs to be recorded twice.
    pub copies: Copies,
}

/// All that a node knows of who has what.
#[derive(Debug)]
pub struct Board {
    // fixed after start
    pub(crate) plan: Plan,
    pub(crate) claims: Claims,
    pub(crate) peers: Arc<dyn Peers>,
    followers: Vec<Box<dyn Follows>>,
    /// What the other nodes say of themselves.
    pub(crate) said: Said,
    /// How copies follow their shards.
    pub(crate) mirroring: Mirroring,
    /// How copies are merged into their shards.
    pub(crate) merging: Merging,
    // guarded by locks that are held for a look only
    recorded: RwLock<BTreeMap<u32, u64>>,
    shards: RwLock<ShardBoard>,
    claimed: RwLock<BTreeMap<u32, Claim>>,
    nodes: RwLock<Vec<(String, Beat, bool)>>,
    orphaned: RwLock<BTreeMap<u32, (Instant, i64)>>,
    /// Shards that are at one node with their copies, and since when.
    together: RwLock<BTreeMap<u32, Instant>>,
    /// The shards whose lists have been read here since the start, and since when others cannot be, with the reason.
    listed: RwLock<BTreeSet<u32>>,
    behind: RwLock<BTreeMap<u32, (Instant, String)>>,
    /// Why shards cannot be taken, or answered, here.
    failing: RwLock<BTreeMap<u32, String>>,
    /// By how many seconds the clocks of nodes are ahead of this one's.
    clocks: RwLock<Vec<(String, i64)>>,
    /// In which way the shared store keeps less than it should.
    caveats: RwLock<Vec<String>>,
    // atomic
    format: AtomicU32,
    /// The time on this node's clock, in seconds since 1970, when it last heard of others.
    heard_at: AtomicI64,
}

/// The shards that are, or were, open here. One lock is for both: a shard that goes from one to the other is never in neither.
#[derive(Debug, Default)]
struct ShardBoard {
    open: BTreeMap<u32, Arc<Open>>,
    /// Those that were open until just now, for their lists.
    left: BTreeMap<u32, Arc<Open>>,
}

/// Where a shard is answered.
pub(crate) enum Seat {
    Here(Arc<Open>),
    There(String),
    Nowhere,
}

impl Board {
    /// With a follower for each shard, the site included.
    pub fn new(
        plan: Plan,
        claims: Claims,
        peers: Arc<dyn Peers>,
        followers: Vec<impl Follows + 'static>,
    ) -> Arc<Board> {
        let followers = followers.into_iter().map(|one| Box::new(one) as Box<dyn Follows>).collect();
        let (recorded, shards, claimed) = (RwLock::default(), RwLock::default(), RwLock::default());
        let (nodes, orphaned, format) = (RwLock::default(), RwLock::default(), AtomicU32::new(1));
        let (failing, clocks, caveats) = (RwLock::default(), RwLock::default(), RwLock::default());
        let (listed, behind, heard_at) = (RwLock::default(), RwLock::default(), AtomicI64::new(0));
        Arc::new(Board {
            plan,
            claims,
            peers,
            followers,
            said: Said::default(),
            mirroring: Mirroring::default(),
            merging: Merging::default(),
            recorded,
            shards,
            claimed,
            nodes,
            orphaned,
            together: RwLock::default(),
            listed,
            behind,
            failing,
            clocks,
            caveats,
            format,
            heard_at,
        })
    }

    /// The name of this node.
    pub fn own(&self) -> &str {
        &self.plan.node
    }

    /// The numbers of shards and of their copies.
    pub fn pairs(&self) -> Pairs {
        Pairs::new(self.plan.shards, self.plan.copies)
    }

    /// All shards, the site and copies included.
    pub fn all(&self) -> u32 {
        self.pairs().all()
    }

    /// The shards whose lists are the list of the cluster: copies have PVs of these.
    pub(crate) fn listing(&self) -> Range<u32> {
        0..self.plan.shards + 1
    }

    /// The shard of what belongs to no PV.
    pub fn site(&self) -> u32 {
        self.plan.shards
    }

    /// A shard is recorded here from now on, in an epoch; it may not be answered yet.
    pub fn recorded(&self, shard: u32, epoch: u64) {
        self.recorded.write().unwrap_or_else(PoisonError::into_inner).insert(shard, epoch);
    }

    /// A shard cannot be taken, or answered, here, for a reason that an operator must know. Says whether that is news.
    pub fn fails(&self, shard: u32, why: &str) -> bool {
        let mut failing = self.failing.write().unwrap_or_else(PoisonError::into_inner);
        failing.insert(shard, why.to_owned()).as_deref() != Some(why)
    }

    fn fails_no_more(&self, shard: u32) {
        self.failing.write().unwrap_or_else(PoisonError::into_inner).remove(&shard);
    }

    /// The shards that are recorded here, with their epochs.
    pub fn records(&self) -> BTreeMap<u32, u64> {
        self.recorded.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn shards(&self) -> RwLockReadGuard<'_, ShardBoard> {
        self.shards.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change_shards(&self) -> RwLockWriteGuard<'_, ShardBoard> {
        self.shards.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// A shard can be answered from here from now on.
    pub fn opened(&self, shard: u32, open: Arc<Open>) {
        let mut shards = self.change_shards();
        shards.open.insert(shard, open);
        shards.left.remove(&shard);
        drop(shards);
        self.lists(shard);
        self.fails_no_more(shard);
    }

    /// It is not any more. Its list is told on until that of the journal has come as far.
    pub fn closed(&self, shard: u32) {
        let mut shards = self.change_shards();
        if let Some(open) = shards.open.remove(&shard) {
            shards.left.insert(shard, open);
        }
        drop(shards);
        self.recorded.write().unwrap_or_else(PoisonError::into_inner).remove(&shard);
        self.fails_no_more(shard);
    }

    /// The shards that are open here.
    pub fn open(&self) -> BTreeMap<u32, Arc<Open>> {
        self.shards().open.clone()
    }

    pub(crate) fn open_here(&self, shard: u32) -> Option<Arc<Open>> {
        self.shards().open.get(&shard).cloned()
    }

    /// What nodes said last, and whether each lives. Of two that claim a shard the one with the higher epoch has it.
    /// `clock` is the time on this node's, in seconds since 1970.
    pub(crate) fn heard(&self, nodes: Vec<(String, Beat, bool)>, clock: i64) {
        self.heard_at.store(clock, Relaxed);
        let mut claimed: BTreeMap<u32, Claim> = BTreeMap::new();
        for (node, beat, _) in nodes.iter().filter(|(_, _, lives)| *lives) {
            for (shard, epoch) in &beat.shards {
                let claim = Claim { node: node.clone(), epoch: *epoch };
                let before = claimed.entry(*shard).or_insert_with(|| claim.clone());
                if before.epoch < claim.epoch {
                    *before = claim;
                }
            }
        }
        let others =
            |(node, beat, _): &(String, Beat, bool)| (node != self.own()).then(|| (node.clone(), beat.address.clone()));
        self.peers.know(&nodes.iter().filter_map(others).collect::<Vec<_>>());
        {
            let mut orphaned = self.orphaned.write().unwrap_or_else(PoisonError::into_inner);
            orphaned.retain(|shard, _| !claimed.contains_key(shard));
            for shard in (0..self.all()).filter(|shard| !claimed.contains_key(shard)) {
                orphaned.entry(shard).or_insert_with(|| (Instant::now(), clock));
            }
        }
        let node_of = |shard: u32| claimed.get(&shard).map(|claim| &claim.node);
        let pairs = self.pairs();
        let is_with_copy =
            |shard: &u32| pairs.copy_of(*shard).and_then(node_of).is_some_and(|node| Some(node) == node_of(*shard));
        {
            let mut together = self.together.write().unwrap_or_else(PoisonError::into_inner);
            together.retain(|shard, _| is_with_copy(shard));
            let found = self.listing().filter(is_with_copy);
            found.for_each(|shard| _ = together.entry(shard).or_insert_with(Instant::now));
        }
        let is_elsewhere = |shard: &u32| claimed.get(shard).is_some_and(|claim| claim.node != self.own());
        self.failing.write().unwrap_or_else(PoisonError::into_inner).retain(|shard, _| !is_elsewhere(shard));
        let ahead = |(node, beat, lives): &(String, Beat, bool)| {
            let ahead = beat.clock.filter(|_| *lives && node != self.own())?.saturating_sub(clock);
            (ahead.unsigned_abs() > CLOCKS_DIFFER_MAX).then(|| (node.clone(), ahead))
        };
        *self.clocks.write().unwrap_or_else(PoisonError::into_inner) = nodes.iter().filter_map(ahead).collect();
        nodes.iter().filter_map(|(_, beat, _)| beat.writes).for_each(|format| self.writes(format));
        *self.claimed.write().unwrap_or_else(PoisonError::into_inner) = claimed;
        *self.nodes.write().unwrap_or_else(PoisonError::into_inner) = nodes;
    }

    /// Who has a shard, for all that is known.
    pub fn claim(&self, shard: u32) -> Option<Claim> {
        self.claimed.read().unwrap_or_else(PoisonError::into_inner).get(&shard).cloned()
    }

    /// The nodes that were heard of, what each said last, and whether it lives.
    pub fn nodes(&self) -> Vec<(String, Beat, bool)> {
        self.nodes.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The other nodes that live and can be asked.
    pub(crate) fn others(&self) -> Vec<String> {
        let nodes = self.nodes().into_iter().filter(|(node, _, lives)| *lives && node != self.own());
        let is_there = |node: &String| self.peers.source(node).is_some_and(|link| link.away().is_none());
        nodes.map(|(node, ..)| node).filter(is_there).collect()
    }

    /// Who answers for a shard now: this node, another, or nobody.
    pub(crate) fn seat(&self, shard: u32) -> Seat {
        let claim = self.claim(shard);
        // This node may be the last to learn that another one has taken a shard.
        let is_taken = |open: &Open| claim.as_ref().is_some_and(|claim| claim.epoch > open.epoch);
        if let Some(open) = self.open_here(shard).filter(|open| !is_taken(open)) {
            return Seat::Here(open);
        }
        match claim {
            Some(claim) if claim.node != self.own() => Seat::There(claim.node),
            _ => Seat::Nowhere,
        }
    }

    /// The list of PVs of a shard, wherever it is recorded.
    pub(crate) fn list<T>(&self, shard: u32, ask: impl FnOnce(&dyn Directory) -> T) -> Option<T> {
        let known = {
            let shards = self.shards();
            shards.open.get(&shard).or_else(|| shards.left.get(&shard)).cloned()
        };
        match known {
            Some(open) => Some(ask(&*open.directory)),
            None => self.followers.get(shard as usize).map(|follower| ask(follower.list())),
        }
    }

    /// Takes what the journals of shards that are not open here have by now.
    pub fn follow(&self) -> Vec<(u32, String)> {
        let elsewhere = (0..self.all()).filter(|shard| self.open_here(*shard).is_none());
        elsewhere.filter_map(|shard| Some((shard, self.follow_one(shard).err()?))).collect()
    }

    pub(crate) fn follow_one(&self, shard: u32) -> Result<(), String> {
        if let Err(why) = self.followers.get(shard as usize).map_or(Ok(()), |follower| follower.catch_up()) {
            let mut behind = self.behind.write().unwrap_or_else(PoisonError::into_inner);
            behind.entry(shard).or_insert_with(|| (Instant::now(), String::new())).1.clone_from(&why);
            return Err(why);
        }
        self.change_shards().left.remove(&shard);
        self.lists(shard);
        Ok(())
    }

    /// The list of a shard is known here.
    fn lists(&self, shard: u32) {
        self.behind.write().unwrap_or_else(PoisonError::into_inner).remove(&shard);
        self.listed.write().unwrap_or_else(PoisonError::into_inner).insert(shard);
    }

    /// The shards whose lists have not been read here since the start.
    pub fn unlisted(&self) -> Vec<u32> {
        let listed = self.listed.read().unwrap_or_else(PoisonError::into_inner);
        self.listing().filter(|shard| !listed.contains(shard)).collect()
    }

    /// Whether the list of a shard is known here as its journal had it last.
    pub(crate) fn knows_list(&self, shard: u32) -> bool {
        self.is_listed(shard) && !self.behind.read().unwrap_or_else(PoisonError::into_inner).contains_key(&shard)
    }

    fn is_listed(&self, shard: u32) -> bool {
        self.listed.read().unwrap_or_else(PoisonError::into_inner).contains(&shard)
    }

    /// How the nodes stand, without what they say of themselves.
    pub(crate) fn standing(&self) -> Vec<NodeStanding> {
        let nodes = self.nodes().into_iter();
        nodes
            .map(|(name, beat, lives)| NodeStanding {
                state: state(&beat, lives),
                figures: None,
                name,
                address: beat.address,
                version: beat.version,
                format: beat.reads.unwrap_or(1),
                shards: beat.shards.into_iter().map(|(shard, _)| shard).collect(),
            })
            .collect()
    }

    /// The format in force, for all that is known.
    pub(crate) fn format(&self) -> u32 {
        self.format.load(Relaxed)
    }

    /// A format is in force. None that is older comes into force again.
    pub fn writes(&self, format: u32) {
        self.format.fetch_max(format, Relaxed);
    }

    /// Adds what is counted since the last row of the ledger; for `open_account`.
    pub(crate) fn account_of(row: Option<(i64, Vec<u64>)>) -> Option<(Timestamp, archive::ledger::Account)> {
        let (since, counts) = row?;
        Some((Timestamp::from_nanos(since), wire::account(&counts)?))
    }
}

/// How a node stands that has said this last.
fn state(beat: &Beat, lives: bool) -> NodeState {
    match (lives, beat.is_leaving) {
        (true, false) => NodeState::Lives,
        (true, true) => NodeState::Leaves,
        (false, true) if beat.shards.is_empty() => NodeState::Stopped,
        (false, _) => NodeState::Silent,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use archive::{Method, Names, Protocol, PvEntry, PvId, PvName, PvSettings, PvState};

    use super::*;
    use crate::testing::{board_with, empty_shard};

    /// A list with one PV, or with none before the journal was read.
    #[derive(Debug, Default, Clone)]
    struct OnePv {
        is_known: Arc<AtomicBool>,
        journal_answers: Arc<AtomicBool>,
    }

    impl Directory for OnePv {
        fn find(&self, name: &str) -> Option<PvEntry> {
            let (name, settings) =
                (PvName::new(name).unwrap(), PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Active));
            self.is_known.load(Relaxed).then(|| PvEntry {
                id: PvId(1),
                name,
                settings,
                added: Timestamp::from_nanos(0),
            })
        }

        fn entry(&self, _: PvId) -> Option<PvEntry> {
            None
        }

        fn names(&self) -> Names {
            Names::default()
        }
    }

    impl Follows for OnePv {
        fn list(&self) -> &dyn Directory {
            self
        }

        fn catch_up(&self) -> Result<(), String> {
            if !self.journal_answers.load(Relaxed) {
                return Err("no answer".to_owned());
            }
            self.is_known.store(true, Relaxed);
            Ok(())
        }
    }

    #[test]
    fn a_shard_that_has_just_gone_elsewhere_is_told_by_its_own_list_until_that_of_the_journal_has_come_as_far() {
        let of_journal = OnePv::default();
        let board = board_with("a", vec![of_journal.clone(), of_journal.clone()], &Arc::default());
        let is_known = || board.list(0, |list| list.find("A").is_some()).unwrap();
        assert!(!is_known(), "nobody has told this node of it yet");
        let own = OnePv { is_known: Arc::new(AtomicBool::new(true)), ..OnePv::default() };
        let shard = Arc::into_inner(empty_shard(3)).unwrap();
        board.opened(0, Arc::new(Open { directory: Arc::new(own), ..shard }));
        assert!(is_known(), "it was added here");

        board.closed(0);
        assert!(is_known(), "another node has it now, and the journal was not read since");
        assert_eq!(board.follow().len(), 2, "the journal cannot be read");
        assert!(is_known(), "so nothing is known better");
        of_journal.journal_answers.store(true, Relaxed);
        assert!(board.follow().is_empty());
        of_journal.is_known.store(false, Relaxed);
        assert!(!is_known(), "what the journal says now is what counts");

        board.opened(0, empty_shard(5));
        board.closed(0);
        of_journal.is_known.store(true, Relaxed);
        assert!(!is_known(), "of the epoch that was open last");
    }
}

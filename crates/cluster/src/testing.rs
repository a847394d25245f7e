//! What tests of this crate put in the place of a shard, of its list and of the other nodes: none of them has anything.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

use archive::{
    Copies, Cost, Directory, Extent, Key, Names, Policies, PvEntry, PvId, SampleStream, Source, SourceError,
};
use sample::{Sample, TimeRange, Timestamp};
use shared::{Part, twin::Memory};

use crate::{
    Beat, Willing,
    board::{Board, Plan},
    claims::Claims,
    curator::SiteTokens,
    placement::Placement,
    seams::{Follows, Held, Open, Parts, Peers, Share},
    whole::Whole,
    wire::{self, Answer},
};

#[derive(Debug)]
pub(crate) struct NoList;

impl Directory for NoList {
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

impl Follows for NoList {
    fn list(&self) -> &dyn Directory {
        self
    }

    fn catch_up(&self) -> Result<(), String> {
        Ok(())
    }
}

#[derive(Debug)]
pub(crate) struct Nobody;

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

pub(crate) struct NoParts;

impl Parts for NoParts {
    fn take(&self, _: &Part, _: &dyn Held) -> Result<bool, String> {
        Ok(false)
    }
}

/// The board of a node with so many shards, none of which anybody has.
pub(crate) fn board(node: &str, shards: u32, shared: &Arc<Memory>) -> Arc<Board> {
    board_with(node, (0..=shards).map(|_| NoList).collect(), shared)
}

/// The board of a node that follows these lists; one of them is that of the site.
pub(crate) fn board_with(node: &str, lists: Vec<impl Follows + 'static>, shared: &Arc<Memory>) -> Arc<Board> {
    board_among(node, lists, Arc::new(Nobody), shared)
}

/// The same among these other nodes.
pub(crate) fn board_among(
    node: &str,
    lists: Vec<impl Follows + 'static>,
    peers: Arc<dyn Peers>,
    shared: &Arc<Memory>,
) -> Arc<Board> {
    board_of(node, lists.len() as u32 - 1, Copies::One, (lists, peers), shared)
}

/// The same whose shards have copies; their lists stand behind that of the site.
pub(crate) fn board_of(
    node: &str,
    shards: u32,
    copies: Copies,
    (lists, peers): (Vec<impl Follows + 'static>, Arc<dyn Peers>),
    shared: &Arc<Memory>,
) -> Arc<Board> {
    let placement = Placement::new(shards, Vec::new()).unwrap();
    let (node, policies) = (node.to_owned(), Policies::default());
    let plan = Plan { node, page: None, shards, placement, policies, copies };
    Board::new(plan, Claims::new(shared.clone()), peers, lists)
}

/// A shard that is open in an epoch, and empty.
pub(crate) fn empty_shard(epoch: u64) -> Arc<Open> {
    let board = board("nobody", 1, &Arc::default());
    let whole = Arc::new(Whole::new(board.clone()));
    Arc::new(Open {
        epoch,
        directory: whole.clone(),
        source: whole.clone(),
        storage: whole.clone(),
        curator: whole.clone(),
        orders: whole.clone(),
        rulebook: whole.clone(),
        standing: whole,
        tokens: Arc::new(SiteTokens::new(board)),
        parts: Arc::new(NoParts),
    })
}

/// A link to a node, which is there or away.
#[derive(Debug)]
pub(crate) struct Link(pub(crate) Option<String>);

impl Source for Link {
    fn name(&self) -> &str {
        "node b"
    }

    fn away(&self) -> Option<String> {
        self.0.clone()
    }

    fn samples(&self, _: Key<'_>, _: TimeRange) -> SampleStream {
        Box::new(std::iter::empty())
    }

    fn last_before(&self, _: Key<'_>, _: Timestamp) -> Result<Option<Sample>, SourceError> {
        Ok(None)
    }

    fn extent(&self, _: Key<'_>) -> Result<Option<Extent>, SourceError> {
        Ok(None)
    }
}

/// A node that says one thing after the other; nothing: it is lost before it has answered.
#[derive(Debug)]
pub(crate) struct Says {
    answers: Mutex<VecDeque<Option<Answer>>>,
    pub(crate) asked: AtomicU32,
    away: Option<String>,
}

impl Peers for Says {
    fn ask(&self, _: &str, _: Vec<u8>, _: bool) -> Result<Vec<u8>, SourceError> {
        self.asked.fetch_add(1, Relaxed);
        let lost = || SourceError { cost: Cost::UntilBack, message: "the connection is gone".to_owned() };
        self.answers.lock().unwrap().pop_front().flatten().map(|answer| wire::bytes(&answer)).ok_or_else(lost)
    }

    fn source(&self, _: &str) -> Option<Arc<dyn Source>> {
        Some(Arc::new(Link(self.away.clone())))
    }

    fn share(&self, _: &str, _: Vec<u8>) -> Result<Box<dyn Share>, SourceError> {
        Err(SourceError::piece("nothing is taken"))
    }

    fn know(&self, _: &[(String, String)]) {}
}

/// The board of node a among b, which has shard 0 and says this.
pub(crate) fn says(answers: Vec<Option<Answer>>, away: Option<&str>) -> (Arc<Board>, Arc<Says>) {
    says_with(vec![NoList, NoList], answers, away)
}

/// The same that follows these lists.
pub(crate) fn says_with(
    lists: Vec<impl Follows + 'static>,
    answers: Vec<Option<Answer>>,
    away: Option<&str>,
) -> (Arc<Board>, Arc<Says>) {
    let peers = saying(answers, away);
    let board = board_among("a", lists, peers.clone(), &Arc::default());
    let beat = Beat { shards: vec![(0, 3)], ..Beat::default() };
    board.heard(vec![("b".to_owned(), beat, true)], 0);
    (board, peers)
}

/// A node that says this.
pub(crate) fn saying(answers: Vec<Option<Answer>>, away: Option<&str>) -> Arc<Says> {
    Arc::new(Says { answers: Mutex::new(answers.into()), asked: AtomicU32::new(0), away: away.map(str::to_owned) })
}

/// A node that is willing to nothing.
pub(crate) struct Unwilling;

impl Willing for Unwilling {
    fn take(&self, _: u32) -> Result<(), String> {
        Err("no".to_owned())
    }

    fn held(&self, _: u32, _: u64) -> Option<Arc<dyn Held>> {
        None
    }
}

//! What tests of this crate put in the place of a shard, of its list and of the other nodes: none of them has anything.

use std::sync::Arc;

use archive::{Directory, Names, Policies, PvEntry, PvId, Source, SourceError};
use shared::{Part, twin::Memory};

use crate::{
    board::{Board, Follows, Held, Open, Parts, Peers, Plan},
    claims::Claims,
    curator::SiteTokens,
    placement::Placement,
    whole::Whole,
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
    fn ask(&self, _: &str, _: Vec<u8>) -> Result<Vec<u8>, SourceError> {
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
    let shards = lists.len() as u32 - 1;
    let placement = Placement::new(shards, Vec::new()).unwrap();
    let plan = Plan { node: node.to_owned(), shards, placement, policies: Policies::default() };
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
        tokens: Arc::new(SiteTokens(board)),
        parts: Arc::new(NoParts),
    })
}

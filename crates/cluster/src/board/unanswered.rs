//! What nobody answers for at present, and why.

use std::sync::{PoisonError, atomic::Ordering::Relaxed};

use archive::Unanswered;
use sample::Timestamp;

use super::{Board, Seat, TOLD_AFTER};

impl Board {
    /// Why PVs may be missing from the list.
    pub(crate) fn list_lacks(&self) -> Option<String> {
        self.unlisted().first().map(|shard| self.unread(*shard))
    }

    fn unread(&self, shard: u32) -> String {
        let behind = self.behind.read().unwrap_or_else(PoisonError::into_inner);
        let why = behind.get(&shard).map(|(_, why)| format!(": {why}")).unwrap_or_default();
        format!("node {} has not read the list of shard {shard} of the cluster yet{why}", self.own())
    }

    /// Of a shard for which nobody answers at present: why. None of one that has no PVs, as nothing is missing then.
    pub(crate) fn unanswered(&self, shard: u32) -> Option<Unanswered> {
        let is_listed = self.is_listed(shard);
        let why = match self.seat(shard) {
            Seat::Here(_) => return None,
            Seat::There(node) => match self.peers.source(&node).map(|link| link.away()) {
                Some(None) if is_listed => return None,
                Some(None) => self.unread(shard),
                Some(Some(why)) => format!("node {node}, which has it, cannot be asked: {why}"),
                None => format!("nobody knows where node {node} is, which has it"),
            },
            Seat::Nowhere => {
                let failing = self.failing.read().unwrap_or_else(PoisonError::into_inner);
                let why = failing.get(&shard).map(|why| format!("; it {why}")).unwrap_or_default();
                format!("no node has it at present{why}")
            }
        };
        let names = self.list(shard, |list| list.names().len() as u64).filter(|_| is_listed);
        (names != Some(0)).then(|| Unanswered { part: format!("shard {shard} of the cluster"), names, why })
    }

    /// Whether nobody has had a shard for so long that it is no move any more.
    pub(crate) fn is_lost(&self, shard: u32) -> bool {
        let orphaned = self.orphaned.read().unwrap_or_else(PoisonError::into_inner);
        orphaned.get(&shard).is_some_and(|(since, _)| since.elapsed() > TOLD_AFTER)
    }

    /// Since when nobody answers for a shard, as far as this node has noticed.
    pub(crate) fn unanswered_since(&self, shard: u32) -> Timestamp {
        let orphaned = self.orphaned.read().unwrap_or_else(PoisonError::into_inner);
        let seconds = orphaned.get(&shard).map_or_else(|| self.heard_at.load(Relaxed), |(_, clock)| *clock);
        Timestamp::from_nanos(seconds.saturating_mul(1_000_000_000))
    }
}

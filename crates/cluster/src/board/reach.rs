//! How a shard is reached, its copy, and the node that has either.

use std::sync::Arc;

use archive::{Copies, Cost, DirectoryError, Fault, PvEntry, PvId, Source, SourceError};

use super::{Board, Seat};
use crate::{
    numbers::{global, split},
    wire::{self, Answer, Question},
};

impl Board {
    /// The source that has a shard now, with whether it is here; an error if nobody has it.
    pub(crate) fn source(&self, pv: PvId) -> Result<(Arc<dyn Source>, bool), SourceError> {
        let (shard, _) = split(pv);
        match self.seat(shard) {
            Seat::Here(open) => Ok((open.source.clone(), true)),
            Seat::There(node) => match self.peers.source(&node) {
                Some(source) => Ok((source, false)),
                None => Err(self.nobody(shard)),
            },
            Seat::Nowhere => Err(self.nobody(shard)),
        }
    }

    /// The same, if it can be asked.
    pub(crate) fn reached(&self, pv: PvId) -> Result<(Arc<dyn Source>, bool), SourceError> {
        let (source, is_here) = self.source(pv)?;
        match source.away().filter(|_| !is_here) {
            None => Ok((source, is_here)),
            Some(why) => {
                let (shard, _) = split(pv);
                let called = self.pairs().called(shard);
                let node = self.claim(shard).map(|claim| claim.node).unwrap_or_default();
                let message = format!("node {node}, which has {called} of the cluster, cannot be asked: {why}");
                Err(SourceError { cost: Cost::UntilBack, message })
            }
        }
    }

    /// The number of a PV in the copy of its shard, and what the list of the copy says of it; none if it was never recorded there.
    pub(crate) fn copied(&self, pv: PvId) -> Option<(PvId, PvEntry)> {
        let (shard, local) = split(pv);
        let copy = self.pairs().copy_of(shard)?;
        let entry = self.list(copy, |list| list.entry(local))??;
        Some((global(copy, local)?, entry))
    }

    /// The number of a PV in the copy of its shard, if both record it.
    pub(crate) fn twin(&self, pv: PvId) -> Option<PvId> {
        let (shard, local) = split(pv);
        let entry = self.list(shard, |list| list.entry(local))??;
        let (twin, _) = self.copied(pv)?;
        (entry.settings.rules().copies == Copies::Two).then_some(twin)
    }

    /// The number of a PV in the copy of its shard while nobody answers for the shard, and somebody does for the copy.
    pub(crate) fn stand_in(&self, pv: PvId) -> Option<PvId> {
        let twin = self.twin(pv)?;
        (self.reached(pv).is_err() && self.reached(twin).is_ok()).then_some(twin)
    }

    pub(crate) fn nobody(&self, shard: u32) -> SourceError {
        SourceError { cost: Cost::UntilBack, message: self.nobody_has(shard) }
    }

    pub(crate) fn nobody_has(&self, shard: u32) -> String {
        let called = self.pairs().called(shard);
        format!("no node has {called} of the cluster at present; another one takes it within seconds, ask again")
    }

    /// Why a PV cannot be answered from here.
    pub fn lacks(&self, pv: PvId) -> Option<String> {
        let (shard, _) = split(pv);
        self.open_here(shard)
            .is_none()
            .then(|| format!("{} is not open at node {}", self.pairs().called(shard), self.own()))
    }

    /// Asks the node that has a shard, which is not this one.
    pub(crate) fn ask(&self, node: &str, question: &Question) -> Result<Answer, DirectoryError> {
        let lost = |error: SourceError| DirectoryError { fault: Fault::NotNow, message: error.message };
        let answer = self.peers.ask(node, wire::bytes(question), question.is_order()).map_err(lost)?;
        match wire::read(&answer) {
            Some(Answer::Fault(fault, message)) => Err(wire::fault(fault, message)),
            Some(answer) => Ok(answer),
            None => Err(self.nonsense(node)),
        }
    }

    pub(crate) fn nonsense(&self, node: &str) -> DirectoryError {
        let message =
            format!("node {node} answered something else than what it was asked; run the same version on both");
        DirectoryError { fault: Fault::Failed, message }
    }
}

//! What is wrong with a cluster, in sentences for whoever runs it.

use std::sync::PoisonError;

use archive::NodeState;

use super::{Board, TOLD_AFTER};
use crate::beat::Beat;

impl Board {
    /// Lists that cannot be read any more, and tell what was so before.
    fn lists_behind(&self) -> Option<String> {
        let behind = self.behind.read().unwrap_or_else(PoisonError::into_inner);
        let long: Vec<_> = behind.iter().filter(|(_, (since, _))| since.elapsed() > TOLD_AFTER).collect();
        let (first, (since, why)) = long.first()?;
        let others = if long.len() > 1 { format!(" and of {} others", long.len() - 1) } else { String::new() };
        Some(format!(
            "the list of PVs of shard {first}{others} has not been read here for {} s, what is said of it is as old: {why}",
            since.elapsed().as_secs()
        ))
    }

    /// The shared store says so of itself.
    pub fn is_kept_with(&self, caveats: Vec<String>) {
        *self.caveats.write().unwrap_or_else(PoisonError::into_inner) = caveats;
    }

    /// What an operator must know, in sentences.
    pub fn problems(&self) -> Vec<String> {
        let orphaned = self.orphaned.read().unwrap_or_else(PoisonError::into_inner);
        let long = orphaned.iter().filter(|(_, (since, _))| since.elapsed() > TOLD_AFTER);
        let mut told: Vec<String> = long
            .map(|(shard, (since, _))| {
                let (called, so_long) = (self.pairs().called(*shard), since.elapsed().as_secs());
                let what = match self.pairs().copied(*shard) {
                    None => "its PVs are not recorded",
                    Some(_) => "its PVs are recorded once",
                };
                format!("no node has had {called} of the cluster for {so_long} s; {what}")
            })
            .collect();
        told.extend(self.at_one_node());
        told.extend(self.mirroring.problems(TOLD_AFTER));
        for node in self.standing().into_iter().filter(|of| of.state == NodeState::Silent) {
            let told_of = format!("node {} of the cluster is silent; the others record what it had", node.name);
            told.push(told_of + ". If it is gone for good: `pvark cluster forget`");
        }
        let failing = self.failing.read().unwrap_or_else(PoisonError::into_inner);
        told.extend(failing.iter().map(|(shard, why)| format!("{} {why}", self.pairs().called(*shard))));
        told.extend(self.unreached());
        told.extend(self.lists_behind());
        told.extend(self.caveats.read().unwrap_or_else(PoisonError::into_inner).iter().cloned());
        let clocks = self.clocks.read().unwrap_or_else(PoisonError::into_inner);
        told.extend(clocks.iter().map(|(node, ahead)| {
            let where_to = if *ahead > 0 { "ahead of" } else { "behind" };
            format!(
                "the clock of node {node} is {} s {where_to} this node's: set both by NTP, as times of IOCs are judged by them",
                ahead.unsigned_abs()
            )
        }));
        told
    }

    /// The shards that are at one node with their copies.
    fn at_one_node(&self) -> Option<String> {
        let together = self.together.read().unwrap_or_else(PoisonError::into_inner);
        let long = together.iter().filter(|(_, since)| since.elapsed() > TOLD_AFTER).map(|(shard, _)| *shard);
        let long: Vec<u32> = long.collect();
        let node = self.claim(*long.first()?)?.node;
        Some(format!(
            "node {node} records {} shards and their copies as well: with it the PVs that are to be recorded twice are lost; \
             start another node",
            long.len()
        ))
    }

    /// The nodes that live and cannot be asked from here, each with the reason.
    fn unreached(&self) -> Vec<String> {
        let stays = |(node, beat, lives): &(String, Beat, bool)| *lives && !beat.is_leaving && node != self.own();
        let unreached = |(node, beat, _): (String, Beat, bool)| {
            let why = self.peers.source(&node)?.away()?;
            Some(format!("node {node} of the cluster lives and cannot be asked at {}: {why}", beat.address))
        };
        self.nodes().into_iter().filter(stays).filter_map(unreached).collect()
    }
}

//! Imports into a cluster: any node takes a part, and each PV's samples go into its shard, by the node that has it.
//!
//! ```text
//!   part ──► this node ─┬─► shards that are open here      Shares
//!                       └─► a share for each other node ──► its Shares ──► entered, acknowledged
//! ```
//! All that was sent is on its way, and nothing entered, until the end of the part; then each node enters its share, and when all have, each
//! shard knows the part by its name. So a part of which some shard knows the name is entered everywhere, and one that was entered in some
//! shards alone is sent again, and what is there already is a repeat. A shard without a node is waited for; then nothing of the part is taken,
//! and whoever sends it is told of which PVs.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use archive::{By, Cost, Directory, DirectoryError, Fault, ImportedPart, Intake, NotTaken, PvId, Record, SourceError};

use crate::{
    board::Seat,
    elsewhere::WAITS,
    numbers::split,
    orders::not_now,
    seams::Share,
    shares::{Shares, add, known_here, sum_of},
    whole::Whole,
    wire::{self, Answer, Question},
};

/// A refusal names at most this many of the PVs of a share.
const NAMED_MAX: usize = 5;
/// What whoever sent a part is to do when something was lost on the way.
const AGAIN: &str = "send the part again: nothing of it is there twice then";

/// An import under way.
pub(crate) struct WholeIntake {
    whole: Whole,
    name: String,
    by: By,
    here: Shares,
    there: BTreeMap<String, OnItsWay>,
    /// Who takes the shards of this part.
    ways: BTreeMap<u32, WayIn>,
    /// The shards that have entered the part that was finished last.
    entered: BTreeSet<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum WayIn {
    Here,
    There(String),
}

/// What another node is sent of a part.
struct OnItsWay {
    share: Box<dyn Share>,
    /// How many samples of which PVs.
    samples: BTreeMap<PvId, u64>,
}

impl WholeIntake {
    pub(crate) fn new(whole: Whole, name: &str, by: &By) -> WholeIntake {
        WholeIntake {
            here: Shares::new(whole.board.clone(), name, by),
            whole,
            name: name.to_owned(),
            by: by.clone(),
            there: BTreeMap::new(),
            ways: BTreeMap::new(),
            entered: BTreeSet::new(),
        }
    }

    /// Who takes what comes for a shard.
    fn way(&mut self, shard: u32, until: Instant) -> Result<&WayIn, DirectoryError> {
        if !self.ways.contains_key(&shard) {
            let way = match self.whole.board.taker(shard, until)? {
                Seat::There(node) => {
                    self.begin(&node, shard)?;
                    WayIn::There(node)
                }
                _ => WayIn::Here,
            };
            self.ways.insert(shard, way);
        }
        self.ways.get(&shard).ok_or_else(|| not_now(self.whole.board.nobody_has(shard)))
    }

    /// Begins to send a node its share, if that is not begun.
    fn begin(&mut self, node: &str, shard: u32) -> Result<(), DirectoryError> {
        if self.there.contains_key(node) {
            return Ok(());
        }
        let lost = |error: SourceError| match error.cost {
            // An older program does not understand the question.
            Cost::Answer => DirectoryError { fault: Fault::InTheWay, message: self.alone(node, shard) },
            _ => not_now(error.message),
        };
        let peers = &self.whole.board.peers;
        peers.ask(node, wire::bytes(&Question::Known(self.name.clone(), String::new())), false).map_err(lost)?;
        let head = Question::Share(self.name.clone(), (&self.by).into());
        let share = peers.share(node, wire::bytes(&head)).map_err(|error| not_now(error.message))?;
        self.there.insert(node.to_owned(), OnItsWay { share, samples: BTreeMap::new() });
        Ok(())
    }

    /// That a node takes nothing of imports that were given to others.
    fn alone(&self, node: &str, shard: u32) -> String {
        let nodes = self.whole.board.nodes();
        let at = nodes.iter().find(|(name, ..)| name == node).map(|(_, beat, _)| beat.address.as_str());
        let at = at.map(|address| format!(" (it talks to other nodes at {address})")).unwrap_or_default();
        format!(
            "node {node} runs an older program, which takes samples of the past from nobody but whoever imports them: update it, or send \
             shard {shard} to node {node}{at} itself"
        )
    }

    /// The samples of a share, in words.
    fn told(&self, samples: &BTreeMap<PvId, u64>) -> String {
        let name = |pv: &PvId| self.whole.entry(*pv).map_or_else(|| format!("PV {}", pv.0), |of| of.name.to_string());
        let named: Vec<String> =
            samples.iter().take(NAMED_MAX).map(|(pv, count)| format!("{count} of {}", name(pv))).collect();
        let more = samples.len().saturating_sub(NAMED_MAX);
        let more = if more > 0 { format!(" and those of {more} more PVs") } else { String::new() };
        format!("{} samples, {}{more}", samples.values().sum::<u64>(), named.join(", "))
    }

    /// What another node knows of a part; nothing if it cannot say.
    fn known_at(&self, node: &str, part: &str) -> Option<ImportedPart> {
        let question = Question::Known(self.name.clone(), part.to_owned());
        match self.whole.board.ask(node, &question) {
            Ok(Answer::Imported(known)) => known.map(|row| row.part()),
            Ok(_) => None,
            Err(error) => {
                tracing::debug!("node {node} does not say whether it knows a part of an import: {error}");
                None
            }
        }
    }

    /// Each node enters what it has of a part.
    fn finished(&mut self, part: &str) -> Result<ImportedPart, DirectoryError> {
        self.entered = std::mem::take(&mut self.ways).into_keys().collect();
        let there = std::mem::take(&mut self.there);
        // The first looks, before it was sent, may have missed a node that was away.
        let known = there.keys().map(|node| Ok(self.known_at(node, part)));
        if let Some(known) = sum_of(known.chain([self.here.known(part)]))? {
            self.here.abandon();
            return Ok(known);
        }
        let mut waited_for = Vec::new();
        for (node, OnItsWay { mut share, samples }) in there {
            share.end(part).map_err(|error| self.lost(&node, &samples, &error))?;
            waited_for.push((node, share, samples));
        }
        let mut sum = ImportedPart::default();
        for (node, share, samples) in waited_for {
            let answer = share.answer().map_err(|error| self.lost(&node, &samples, &error))?;
            match wire::read(&answer) {
                Some(Answer::Imported(Some(row))) => add(&mut sum, &row.part()),
                Some(Answer::Fault(fault, message)) => {
                    let DirectoryError { fault, message } = wire::fault(fault, message);
                    let told = self.told(&samples);
                    let message =
                        format!("node {node} could not enter its share of this part ({told}): {message}; {AGAIN}");
                    return Err(DirectoryError { fault, message });
                }
                _ => return Err(self.whole.board.nonsense(&node)),
            }
        }
        add(&mut sum, &self.here.finish(part)?);
        Ok(sum)
    }

    /// That nobody knows whether a node has entered its share.
    fn lost(&self, node: &str, samples: &BTreeMap<PvId, u64>, error: &SourceError) -> DirectoryError {
        let told = self.told(samples);
        let why = &error.message;
        not_now(format!("node {node} has not said that it has entered its share of this part ({told}): {why}; {AGAIN}"))
    }
}

impl Intake for WholeIntake {
    /// A shard that took something of a part knows it once all of them have: so whichever can be asked tells it of all.
    fn part(&self, part: &str) -> Result<Option<ImportedPart>, DirectoryError> {
        let board = &self.whole.board;
        let there = board.others().into_iter().map(|node| Ok(self.known_at(&node, part)));
        sum_of(std::iter::once(known_here(board, &self.name, part, &self.by)).chain(there))
    }

    fn not_taken(&mut self, pvs: &[PvId]) -> Vec<NotTaken> {
        let until = Instant::now() + WAITS;
        let mut of: BTreeMap<u32, Vec<PvId>> = BTreeMap::new();
        pvs.iter().for_each(|pv| of.entry(split(*pv).0).or_default().push(*pv));
        let lacking = |(shard, pvs)| self.way(shard, until).err().map(|why| NotTaken { why, pvs });
        of.into_iter().filter_map(lacking).collect()
    }

    fn append(&mut self, records: &[(PvId, Record)]) -> Result<(), DirectoryError> {
        for (pv, record) in records {
            let WayIn::There(node) = self.way(split(*pv).0, Instant::now() + WAITS)?.clone() else {
                self.here.append(*pv, record.clone())?;
                continue;
            };
            let Some(way) = self.there.get_mut(&node) else { return Err(self.whole.board.nonsense(&node)) };
            *way.samples.entry(*pv).or_default() += record.samples() as u64;
            if let Err(SourceError { message, .. }) = way.share.put(*pv, record) {
                return Err(not_now(format!(
                    "node {node} broke off while it was sent its share of this part: {message}; nothing of the part is entered; {AGAIN}"
                )));
            }
        }
        Ok(())
    }

    /// All shards have what is theirs before one of them knows the part by its name: whoever sends it again after half of it was entered
    /// sends all of it.
    fn finish_part(&mut self, part: &str) -> Result<ImportedPart, DirectoryError> {
        let sum = self.finished(part)?;
        self.verified(part)?;
        Ok(sum)
    }

    fn finish_part_unverified(&mut self, part: &str) -> Result<ImportedPart, DirectoryError> {
        self.finished(part)
    }

    fn verified(&self, part: &str) -> Result<(), DirectoryError> {
        let (name, by) = (&self.name, &self.by);
        self.entered.iter().try_for_each(|shard| {
            let question = || Question::Verified(*shard, name.clone(), part.to_owned(), by.into());
            let here = |open: &crate::seams::Open| open.curator.import(name, by)?.verified(part);
            self.whole.board.at(*shard, here, question, wire::done)
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests;

//! The whole: the archive of a cluster as one list of PVs, whichever node has them. What is asked of it is asked of shards.

use std::sync::{Arc, Mutex, PoisonError};

use archive::{
    AuditRecord, Deletion, Directory, DirectoryError, Fault, LeavesOut, LookAtMemo, Named, Names, Numbered, PvEntry,
    PvId, PvName, RemovedPv, UndoPlan, UndoStep, UndoTo, Undoable,
};

use crate::{
    board::Board,
    numbers::{global, split},
    orders::not_now,
};

/// Bits of the number of a deletion, or of a line of the audit, that say which shard it is of.
const SHARD_BITS: u32 = 12;

/// The archive of a cluster. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Whole {
    pub(crate) board: Arc<Board>,
    names: Arc<Mutex<Merged>>,
    /// It has the samples of shards that are open here alone.
    pub(crate) is_here_only: bool,
    /// Of one answer: what it is made without. None where nothing may be left out.
    pub(crate) notes: Option<Arc<dyn LeavesOut>>,
}

/// The names of all shards, made anew when those of one have changed.
#[derive(Debug, Default)]
struct Merged {
    of: Vec<Names>,
    all: Names,
}

impl Whole {
    /// By that board.
    pub fn new(board: Arc<Board>) -> Whole {
        Whole { board, names: Arc::default(), is_here_only: false, notes: None }
    }

    /// The same for other nodes, which are told what is here and nothing that would have to be asked elsewhere: or two nodes would ask
    /// each other for ever.
    pub fn here(board: Arc<Board>) -> Whole {
        Whole { is_here_only: true, ..Whole::new(board) }
    }

    /// This cluster for a single answer; `notes` takes what the answer is made without.
    pub(crate) fn with(&self, notes: Option<Arc<dyn LeavesOut>>) -> Whole {
        Whole { notes, ..self.clone() }
    }

    /// The board.
    pub fn board(&self) -> &Arc<Board> {
        &self.board
    }

    fn each<T>(&self, ask: impl Fn(u32, &dyn Directory) -> Vec<T>) -> Vec<T> {
        self.board.listing().filter_map(|shard| self.board.list(shard, |list| ask(shard, list))).flatten().collect()
    }
}

/// An entry of a shard with its number in the cluster.
pub(crate) fn entry_of(shard: u32, entry: PvEntry) -> Option<PvEntry> {
    Some(PvEntry { id: global(shard, entry.id)?, ..entry })
}

pub(crate) fn removed_of(shard: u32, removed: RemovedPv) -> Option<RemovedPv> {
    Some(RemovedPv { entry: entry_of(shard, removed.entry)?, ..removed })
}

pub(crate) fn deletion_of(shard: u32, deletion: Deletion) -> Option<Deletion> {
    Some(Deletion { number: numbered(shard, deletion.number), pv: global(shard, deletion.pv)?, ..deletion })
}

fn order_of(shard: u32, order: Undoable) -> Undoable {
    Undoable { number: numbered(shard, order.number), ..order }
}

pub(crate) fn undo_of(shard: u32, plan: UndoPlan) -> UndoPlan {
    let of_step = |step: UndoStep| {
        let to = match step.to {
            UndoTo::Settings(entry) => UndoTo::Settings(entry_of(shard, entry)?),
            UndoTo::Back(entry) => UndoTo::Back(entry_of(shard, entry)?),
            to => to,
        };
        Some(UndoStep { pv: global(shard, step.pv)?, to, ..step })
    };
    UndoPlan { order: order_of(shard, plan.order), steps: plan.steps.into_iter().filter_map(of_step).collect() }
}

/// An error about an order, which has another number in its shard.
pub(crate) fn of_order(error: DirectoryError, number: u64) -> DirectoryError {
    if error.fault == Fault::NothingThere { DirectoryError::no_order(number) } else { error }
}

/// The number in the cluster of something that has this one in its shard.
pub(crate) fn numbered(shard: u32, number: u64) -> u64 {
    (number << SHARD_BITS) | u64::from(shard)
}

/// The shard, and the number there.
pub(crate) fn unnumbered(number: u64) -> (u32, u64) {
    ((number & ((1 << SHARD_BITS) - 1)) as u32, number >> SHARD_BITS)
}

impl Directory for Whole {
    fn find(&self, name: &str) -> Option<PvEntry> {
        self.board.listing().find_map(|shard| {
            self.board.list(shard, |list| list.find(name)).flatten().and_then(|entry| entry_of(shard, entry))
        })
    }

    fn entry(&self, pv: PvId) -> Option<PvEntry> {
        let (shard, local) = split(pv);
        self.board.list(shard, |list| list.entry(local))?.and_then(|entry| entry_of(shard, entry))
    }

    fn names(&self) -> Names {
        let now: Vec<Names> =
            self.board.listing().map(|shard| self.board.list(shard, |list| list.names()).unwrap_or_default()).collect();
        let mut merged = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = merged.of.len() == now.len() && merged.of.iter().zip(&now).all(|(a, b)| a.is_same(b));
        if !is_same {
            let of_shard = |(shard, names): (usize, &Names)| -> Vec<Named> {
                let named = |named: &Named| Some(Named { pv: global(shard as u32, named.pv)?, ..named.clone() });
                names.iter().filter_map(named).collect()
            };
            *merged = Merged { all: Names::of(now.iter().enumerate().flat_map(of_shard).collect()), of: now };
        }
        merged.all.clone()
    }

    fn aliases_of(&self, pv: PvId) -> Vec<PvName> {
        let (shard, local) = split(pv);
        self.board.list(shard, |list| list.aliases_of(local)).unwrap_or_default()
    }

    fn aliases(&self) -> Vec<(PvName, PvEntry)> {
        self.each(|shard, list| {
            let aliases = list.aliases().into_iter();
            aliases.filter_map(|(alias, entry)| Some((alias, entry_of(shard, entry)?))).collect()
        })
    }

    fn removed(&self) -> Vec<RemovedPv> {
        self.each(|shard, list| list.removed().into_iter().filter_map(|one| removed_of(shard, one)).collect())
    }

    fn deletions(&self) -> Vec<Deletion> {
        self.each(|shard, list| list.deletions().into_iter().filter_map(|one| deletion_of(shard, one)).collect())
    }

    /// Each shard has lines of its own: those with the highest numbers come first, which are roughly the newest.
    fn audit(&self, before: u64, limit: usize) -> Result<Vec<AuditRecord>, DirectoryError> {
        let mut lines: Vec<AuditRecord> = Vec::new();
        let (of, number) = unnumbered(before);
        for shard in self.board.listing() {
            let below = if shard < of { number.saturating_add(1) } else { number };
            let found = self.board.list(shard, |list| list.audit(below, limit)).transpose()?.unwrap_or_default();
            lines.extend(found.into_iter().map(|line| AuditRecord {
                number: numbered(shard, line.number),
                pv: line.pv.and_then(|pv| global(shard, pv)),
                pvs: line.pvs.iter().filter_map(|pv| global(shard, *pv)).collect(),
                ..line
            }));
        }
        lines.sort_by_key(|line| std::cmp::Reverse(line.number));
        lines.truncate(limit);
        Ok(lines)
    }

    /// Each shard has orders of its own: one about PVs of several is as many.
    fn undoable(&self) -> Result<Vec<Undoable>, DirectoryError> {
        let mut orders = Vec::new();
        for shard in self.board.listing() {
            let found = self.board.list(shard, |list| list.undoable()).transpose()?.unwrap_or_default();
            orders.extend(found.into_iter().map(|order| order_of(shard, order)));
        }
        orders.sort_by_key(|order| std::cmp::Reverse((order.by.at, order.number)));
        Ok(orders)
    }

    fn undo_plan(&self, number: u64) -> Result<UndoPlan, DirectoryError> {
        let (shard, local) = unnumbered(number);
        let plan =
            self.board.list(shard, |list| list.undo_plan(local)).unwrap_or(Err(DirectoryError::no_order(number)));
        Ok(undo_of(shard, plan.map_err(|error| of_order(error, number))?))
    }

    /// The site keeps them.
    fn memos(&self, before: u64, look: &mut LookAtMemo<'_>) -> Result<(), DirectoryError> {
        self.board.list(self.board.site(), |list| list.memos(before, look)).unwrap_or(Ok(()))
    }

    /// Reads the journal of the shard that has it, unless that shard is here.
    fn look_again(&self, at: Numbered) -> Result<(), DirectoryError> {
        let shard = match at {
            Numbered::Memo => self.board.site(),
            Numbered::Order(number) | Numbered::Deletion(number) => unnumbered(number).0,
        };
        if shard > self.board.site() || self.board.open_here(shard).is_some() {
            return Ok(());
        }
        let not_known = |why: String| not_now(format!("what other nodes were ordered last is not known here: {why}"));
        self.board.follow_one(shard).map_err(not_known)
    }

    fn ledger_of(&self, pv: PvId, name: &str) -> Option<(PvId, PvId)> {
        let (shard, local) = split(pv);
        let own = self.board.list(shard, |list| list.own(name))??;
        Some((global(shard, own)?, local))
    }

    fn lacks(&self) -> Option<String> {
        self.board.list_lacks()
    }

    fn expired_fields(&self, pv: PvId) -> Result<Vec<String>, DirectoryError> {
        let (shard, local) = split(pv);
        self.board.list(shard, |list| list.expired_fields(local)).unwrap_or_else(|| Ok(Vec::new()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

    use super::*;
    use crate::{
        seams::Follows,
        testing::{NoList, board_with, empty_shard},
    };

    /// A list of which it is counted how often its journal was read.
    #[derive(Clone, Debug, Default)]
    struct Counted {
        read: Arc<AtomicU32>,
        is_lost: Arc<AtomicBool>,
    }

    impl Follows for Counted {
        fn list(&self) -> &dyn Directory {
            &NoList
        }

        fn catch_up(&self) -> Result<(), String> {
            self.read.fetch_add(1, Relaxed);
            if self.is_lost.load(Relaxed) { Err("no answer".to_owned()) } else { Ok(()) }
        }
    }

    #[test]
    fn what_has_a_number_is_looked_for_in_the_journal_of_its_shard_alone() {
        let lists = [(); 3].map(|()| Counted::default());
        let board = board_with("a", lists.to_vec(), &Arc::default());
        let whole = Whole::new(board.clone());
        let read = || lists.clone().map(|list| list.read.swap(0, Relaxed));
        whole.look_again(Numbered::Memo).unwrap();
        assert_eq!(read(), [0, 0, 1], "the site has all notes and views");
        whole.look_again(Numbered::Order(numbered(1, 7))).unwrap();
        whole.look_again(Numbered::Deletion(numbered(0, 7))).unwrap();
        assert_eq!(read(), [1, 1, 0]);
        whole.look_again(Numbered::Order(u64::MAX)).unwrap();
        assert_eq!(read(), [0, 0, 0], "there is no such shard");
        board.opened(2, empty_shard(1));
        whole.look_again(Numbered::Memo).unwrap();
        assert_eq!(read(), [0, 0, 0], "what is here is known");
        lists[0].is_lost.store(true, Relaxed);
        let error = whole.look_again(Numbered::Order(numbered(0, 7))).unwrap_err();
        assert!(error.fault == Fault::NotNow && error.message.ends_with("no answer"), "{error}");
    }
}

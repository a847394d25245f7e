//! Changes of the list of PVs of which acquisition need not know, and tokens: made by the node that has their shard.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use archive::{
    Action, By, Curator, DataFate, Deletion, DirectoryError, Extent, Intake, Key, Memo, MemoText, Purge, Purged, PvId,
    PvName, RemovedPv, Source, TokenRow, Tokens, TokensError,
};
use sample::{Batch, TimeRange, Timestamp};

use crate::{
    board::Board,
    intake::WholeIntake,
    numbers::split,
    orders::not_now,
    rows::{DeletionRow, KeptTokenRow, MemoRow, PurgedRow},
    seams::Open,
    whole::{Whole, deletion_of, removed_of, unnumbered},
    wire::{self, Answer, Question},
};

impl Whole {
    /// What a purge takes of a shard.
    fn purged(&self, shard: u32, purge: Purge, by: Option<&By>) -> Result<Purged, DirectoryError> {
        let purge = Purge { pv: purge.pv.map(|pv| split(pv).1), ..purge };
        if self.board.open_here(shard).is_none()
            && let Err(why) = self.board.follow_one(shard)
        {
            let told = format!("what is removed of shard {shard} is not known here, so nothing is purged: {why}");
            return Err(not_now(told + "; give the order to the node that has the shard"));
        }
        if let Some(by) = by {
            self.purge_copy(shard, purge, by)?;
        }
        // Read before the purge: afterwards no list has the PVs that it took for good.
        let removed = self.board.list(shard, |list| list.removed()).unwrap_or_default();
        let here = |open: &Open| match by {
            None => open.curator.purgeable(purge),
            Some(by) => open.curator.purge(purge, by),
        };
        let question = || {
            let (pv, before) = (purge.pv.map(|pv| pv.0), purge.before.nanos());
            match by {
                None => Question::Purgeable(shard, pv, before),
                Some(by) => Question::Purge(shard, pv, before, by.into()),
            }
        };
        let read = |answer| match answer {
            Answer::Purged(row) => Some((purged_of(&row, &removed)?, row.pvs.len())),
            _ => None,
        };
        let counted = |found: Purged| {
            let count = found.pvs.len();
            (found, count)
        };
        let (found, count) = self.board.at(shard, |open| here(open).map(counted), question, read)?;
        if found.pvs.len() < count {
            return Err(removed_just_now(shard, &found, count, by));
        }
        Ok(Purged {
            pvs: found.pvs.into_iter().filter_map(|one| removed_of(shard, one)).collect(),
            ranges: found.ranges.into_iter().filter_map(|one| deletion_of(shard, one)).collect(),
            ..found
        })
    }

    /// Purges the copy of a shard, before the shard: a copy that was not there would show again what the shard does not know any more.
    fn purge_copy(&self, shard: u32, purge: Purge, by: &By) -> Result<(), DirectoryError> {
        let Some(copy) = self.board.pairs().copy_of(shard) else { return Ok(()) };
        self.board.told_copy(copy, by.at).map_err(|error| {
            not_now(format!("nothing of shard {shard} is purged, as its copy cannot be purged: {}", error.message))
        })?;
        let question = || Question::Purge(copy, purge.pv.map(|pv| pv.0), purge.before.nanos(), by.into());
        let purged = |answer| if let Answer::Purged(_) = answer { Some(()) } else { None };
        self.board.at(copy, |open| open.curator.purge(purge, by).map(drop), question, purged)
    }

    /// What of a range is to be hidden of a PV of which the copy has something there: from the first to the last sample of both, as the copy
    /// hides what the shard says, and nothing else. None where the copy has nothing.
    fn range_of_both(&self, pv: PvId, range: TimeRange, now: Timestamp) -> Option<TimeRange> {
        let (twin, _) = self.board.copied(pv)?;
        let until_now = TimeRange { t1: range.t1.min(now).max(range.t0), ..range };
        if self.board.reached(twin).is_err() {
            return Some(until_now); // it may have something
        }
        let held = match self.samples(Key::Number(twin), range).find(|batch| !batch.as_ref().is_ok_and(Batch::is_empty))
        {
            None => return None,
            Some(Ok(_)) => [pv, twin].map(|pv| self.extent(Key::Number(pv)).ok().flatten()),
            Some(Err(_)) => return Some(until_now),
        };
        let held = held.into_iter().flatten().reduce(Extent::with)?;
        let (t0, t1) = (range.t0.max(held.first), range.t1.min(held.last.saturating_add(Duration::from_nanos(1))));
        TimeRange::new(t0, t1).ok()
    }

    /// Purges the shard of the PV, or all shards. If one of them cannot be asked, those before it have been purged already: whoever gets the
    /// error orders the purge again.
    fn all_purged(&self, purge: Purge, by: Option<&By>) -> Result<Purged, DirectoryError> {
        if let Some(pv) = purge.pv {
            return self.purged(split(pv).0, purge, by);
        }
        let mut sum = Purged::default();
        for shard in self.board.listing() {
            let found = self.purged(shard, purge, by)?;
            sum.pvs.extend(found.pvs);
            sum.ranges.extend(found.ranges);
            sum.samples += found.samples;
            sum.bytes += found.bytes;
        }
        Ok(sum)
    }
}

/// That a purge is about PVs of which the list here does not say yet that they are removed.
fn removed_just_now(shard: u32, found: &Purged, count: usize, by: Option<&By>) -> DirectoryError {
    let news = format!("{} PVs of shard {shard} were removed a moment ago", count - found.pvs.len());
    if by.is_none() {
        return not_now(format!("{news}, of which this node does not know yet; ask again"));
    }
    let took = format!("{count} PVs, {} samples and {} bytes of this shard", found.samples, found.bytes);
    not_now(format!(
        "the purge is carried out, and it took {took}; {news}, and have no names here yet: the audit has them"
    ))
}

/// What another node says of a purge, without PVs that are not known here to be removed; none if it makes no sense.
fn purged_of(row: &PurgedRow, removed: &[RemovedPv]) -> Option<Purged> {
    let removed: HashMap<PvId, &RemovedPv> = removed.iter().map(|one| (one.entry.id, one)).collect();
    let known = |pv: &u32| removed.get(&PvId(*pv)).map(|one| (*one).clone());
    Some(Purged {
        pvs: row.pvs.iter().filter_map(known).collect(),
        ranges: row.ranges.iter().map(DeletionRow::deletion).collect::<Option<_>>()?,
        samples: row.samples,
        bytes: row.bytes,
    })
}

fn deletion(answer: Answer) -> Option<Deletion> {
    if let Answer::Deletion(row) = answer { row.deletion() } else { None }
}

fn full() -> DirectoryError {
    not_now("the shard is full")
}

impl Curator for Whole {
    fn decide_upon(&self, removed: &[PvId], data: DataFate, by: &By) -> Result<(), DirectoryError> {
        for (shard, some) in Whole::by_shard(removed, |pv| *pv) {
            let locals: Vec<PvId> = some.iter().map(|(_, local, _)| *local).collect();
            let question = || {
                let numbers = locals.iter().map(|pv| pv.0).collect();
                Question::DecideUpon(shard, numbers, data == DataFate::Delete, by.into())
            };
            self.board.at(shard, |open| open.curator.decide_upon(&locals, data, by), question, wire::done)?;
            self.board.tell_copy(shard, by.at);
        }
        Ok(())
    }

    fn add_aliases(
        &self,
        wanted: &[(PvId, PvName)],
        by: &By,
    ) -> Result<Vec<Result<(), DirectoryError>>, DirectoryError> {
        let mut added: Vec<Result<(), DirectoryError>> = wanted.iter().map(|_| Ok(())).collect();
        for (shard, mut some) in Whole::by_shard(wanted, |(pv, _)| *pv) {
            some.retain(|(place, _, (_, alias))| {
                added[*place] = self.claimed(alias, shard);
                added[*place].is_ok()
            });
            if some.is_empty() {
                continue;
            }
            let here = |open: &Open| {
                let some: Vec<_> = some.iter().map(|(_, local, (_, alias))| (*local, alias.clone())).collect();
                let each = open.curator.add_aliases(&some, by)?;
                Ok(each.into_iter().zip(some).map(|(one, (local, _))| one.map(|()| local)).collect::<Vec<_>>())
            };
            let question = || {
                let rows = some.iter().map(|(_, local, (_, alias))| (local.0, alias.to_string())).collect();
                Question::AddAliases(shard, rows, by.into())
            };
            let each = self.board.at(shard, here, question, wire::each)?;
            some.iter().zip(each).for_each(|((place, ..), one)| added[*place] = one.map(drop));
            self.board.tell_copy(shard, by.at);
        }
        Ok(added)
    }

    fn may_be_alias(&self, pv: PvId, alias: &PvName) -> Result<(), DirectoryError> {
        self.claimed(alias, split(pv).0)
    }

    fn remove_alias(&self, pv: PvId, alias: &PvName, by: &By) -> Result<(), DirectoryError> {
        let (shard, local) = split(pv);
        let question = || Question::RemoveAlias(shard, local.0, alias.to_string(), by.into());
        self.board.at(shard, |open| open.curator.remove_alias(local, alias, by), question, wire::done)?;
        self.board.tell_copy(shard, by.at);
        Ok(())
    }

    fn delete_range(&self, pv: PvId, range: TimeRange, by: &By) -> Result<Deletion, DirectoryError> {
        let (shard, local) = split(pv);
        let of_both = self.range_of_both(pv, range, by.at);
        let here = |open: &Open| match of_both {
            Some(of_both) => open.curator.delete_range_as_given(local, of_both, by),
            None => open.curator.delete_range(local, range, by),
        };
        let TimeRange { t0, t1 } = of_both.unwrap_or(range);
        let question =
            || Question::DeleteRange(shard, local.0, (t0.nanos(), t1.nanos()), by.into(), Some(of_both.is_some()));
        let deleted = self.board.at(shard, here, question, deletion)?;
        self.board.tell_copy(shard, by.at);
        deletion_of(shard, deleted).ok_or_else(full)
    }

    fn restore_range(&self, number: u64, by: &By) -> Result<Deletion, DirectoryError> {
        let (shard, local) = unnumbered(number);
        let question = || Question::RestoreRange(shard, local, by.into());
        let restored = self.board.at(shard, |open| open.curator.restore_range(local, by), question, deletion)?;
        self.board.tell_copy(shard, by.at);
        deletion_of(shard, restored).ok_or_else(full)
    }

    fn purgeable(&self, purge: Purge) -> Result<Purged, DirectoryError> {
        self.all_purged(purge, None)
    }

    fn purge(&self, purge: Purge, by: &By) -> Result<Purged, DirectoryError> {
        self.all_purged(purge, Some(by))
    }

    fn put_memos(&self, memos: &[(Option<Memo>, MemoText)], by: &By) -> Result<Vec<Memo>, DirectoryError> {
        let question = || {
            let row = |(before, text): &(Option<Memo>, MemoText)| (before.as_ref().map(MemoRow::from), text.into());
            Question::PutMemos(memos.iter().map(row).collect(), by.into())
        };
        let read = |answer| match answer {
            Answer::Memos(rows) => rows.iter().map(MemoRow::memo).collect(),
            _ => None,
        };
        self.board.at(self.board.site(), |open| open.curator.put_memos(memos, by), question, read)
    }

    fn remove_memo(&self, memo: &Memo, by: &By) -> Result<(), DirectoryError> {
        let question = || Question::RemoveMemo(Box::new(memo.into()), by.into());
        self.board.at(self.board.site(), |open| open.curator.remove_memo(memo, by), question, wire::done)
    }

    /// What belongs to no PV stands in the audit of the site.
    fn note(&self, action: Action, detail: &str, by: &By) -> Result<(), DirectoryError> {
        let question = || Question::Note(wire::action_row(action), detail.to_owned(), by.into());
        self.board.at(self.board.site(), |open| open.curator.note(action, detail, by), question, wire::done)
    }

    fn import(&self, name: &str, by: &By) -> Result<Box<dyn Intake>, DirectoryError> {
        Ok(Box::new(WholeIntake::new(self.clone(), name, by)))
    }
}

/// The tokens of a cluster, which its site keeps. Each node has all of them in memory, and reads them anew every few seconds.
pub struct SiteTokens {
    board: Arc<Board>,
    was_read: AtomicBool,
}

impl SiteTokens {
    /// Of the cluster of that board.
    pub fn new(board: Arc<Board>) -> SiteTokens {
        SiteTokens { board, was_read: AtomicBool::new(false) }
    }

    fn site<T>(
        &self,
        here: impl Fn(&dyn Tokens) -> Result<T, TokensError>,
        question: impl Fn() -> Question,
        read: impl Fn(Answer) -> Option<T>,
    ) -> Result<T, TokensError> {
        let here = |open: &Open| here(&*open.tokens).map_err(|error| not_now(error.to_string()));
        Ok(self.board.at(self.board.site(), here, question, read)?)
    }
}

impl Tokens for SiteTokens {
    /// A node that starts while nobody has the site knows none, and records.
    fn list(&self) -> Result<Vec<TokenRow>, TokensError> {
        let read = |answer| match answer {
            Answer::Tokens(rows) => rows.iter().map(KeptTokenRow::token).collect(),
            _ => None,
        };
        match self.site(|tokens| tokens.list(), || Question::Tokens, read) {
            Ok(tokens) => {
                self.was_read.store(true, Relaxed);
                Ok(tokens)
            }
            Err(error) if !self.was_read.load(Relaxed) => {
                tracing::warn!("no token is known yet: {error}");
                Ok(Vec::new())
            }
            Err(error) => Err(error),
        }
    }

    fn add(&self, token: &TokenRow) -> Result<(), TokensError> {
        self.site(|tokens| tokens.add(token), || Question::AddToken(token.into()), wire::done)
    }

    fn revoke(&self, id: &str, by: &By) -> Result<bool, TokensError> {
        let question = || Question::RevokeToken(id.to_owned(), by.into());
        let read = |answer| if let Answer::Done(was_there) = answer { Some(was_there) } else { None };
        self.site(|tokens| tokens.revoke(id, by), question, read)
    }

    fn touch(&self, used: &[(Box<str>, Timestamp)]) -> Result<(), TokensError> {
        let rows = || used.iter().map(|(id, day)| (id.to_string(), day.nanos())).collect();
        self.site(|tokens| tokens.touch(used), || Question::TouchTokens(rows()), wire::done)
    }
}

#[cfg(test)]
mod tests {
    use archive::{Directory, Fault};

    use super::*;
    use crate::{
        numbers::global,
        seams::Follows,
        testing::{NoList, says, says_with},
    };

    /// A list whose journal cannot be read.
    #[derive(Debug)]
    struct Unread;

    impl Follows for Unread {
        fn list(&self) -> &dyn Directory {
            &NoList
        }

        fn catch_up(&self) -> Result<(), String> {
            Err("row 7 is damaged".to_owned())
        }
    }

    fn of_one() -> Purge {
        Purge { pv: global(0, PvId(7)), before: Timestamp::MAX }
    }

    #[test]
    fn nothing_is_purged_of_a_shard_whose_removed_pvs_are_not_known() {
        let (board, peers) = says_with(vec![Unread, Unread], vec![], None);
        let error = Whole::new(board).purge(of_one(), &By::new("the test", Timestamp::MIN)).unwrap_err();
        assert_eq!(error.fault, Fault::NotNow);
        assert!(error.message.contains("so nothing is purged: row 7 is damaged"), "{error}");
        assert_eq!(peers.asked.load(Relaxed), 0);
    }

    #[test]
    fn what_was_removed_a_moment_ago_is_told_as_that_and_a_purge_that_is_done_as_done() {
        let purged = || Some(Answer::Purged(PurgedRow { pvs: vec![7], ranges: vec![], samples: 3, bytes: 90 }));
        let (board, _) = says(vec![purged(), purged()], None);
        let whole = Whole::new(board);
        let error = whole.purgeable(of_one()).unwrap_err();
        assert!(error.message.ends_with("ask again") && error.fault == Fault::NotNow, "{error}");
        let error = whole.purge(of_one(), &By::new("the test", Timestamp::MIN)).unwrap_err();
        let told = "the purge is carried out, and it took 1 PVs, 3 samples and 90 bytes of this shard";
        assert!(error.message.starts_with(told), "{error}");
    }
}

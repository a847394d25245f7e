//! Changes of the list of PVs of which acquisition need not know, and tokens: made where their shard is open, and refused elsewhere with
//! the name of the node that takes them.

use std::sync::Arc;

use archive::{
    Action, By, Curator, DataFate, Deletion, DirectoryError, Fault, Intake, Memo, MemoText, Purge, Purged, PvId,
    PvName, TokenRow, Tokens, TokensError,
};
use sample::{TimeRange, Timestamp};

use crate::{
    board::{Board, Seat},
    orders::{not_now, until_taken},
    whole::{Whole, deletion_of, removed_of, unnumbered},
    wire::{self, Answer, Question},
};

impl Whole {
    /// What the site of the cluster keeps is changed where that is open.
    fn at_site<T>(&self, change: impl FnOnce(&dyn Curator) -> Result<T, DirectoryError>) -> Result<T, DirectoryError> {
        let site = self.board.site();
        match self.board.seat(site) {
            Seat::Here(open) => change(&*open.curator),
            Seat::There(node) => {
                Err(not_now(format!("node {node} keeps the notes and views of the cluster: ask there")))
            }
            Seat::Nowhere => Err(not_now(self.board.nobody_has(site))),
        }
    }

    /// What a purge of some shards takes: of all of them it is asked where all are.
    fn purging(
        &self,
        purge: Purge,
        ask: impl Fn(&dyn Curator, Purge) -> Result<Purged, DirectoryError>,
    ) -> Result<Purged, DirectoryError> {
        let of = |shard: u32, found: Purged| Purged {
            pvs: found.pvs.into_iter().filter_map(|one| removed_of(shard, one)).collect(),
            ranges: found.ranges.into_iter().filter_map(|one| deletion_of(shard, one)).collect(),
            ..found
        };
        if let Some(pv) = purge.pv {
            let (shard, open, local) = self.only_here(pv)?;
            return Ok(of(shard, ask(&*open.curator, Purge { pv: Some(local), ..purge })?));
        }
        let mut sum = Purged::default();
        for (shard, open) in self.board.open() {
            let found = of(shard, ask(&*open.curator, purge)?);
            sum.pvs.extend(found.pvs);
            sum.ranges.extend(found.ranges);
            sum.samples += found.samples;
            sum.bytes += found.bytes;
        }
        Ok(sum)
    }
}

impl Curator for Whole {
    fn decide_upon(&self, removed: &[PvId], data: DataFate, by: &By) -> Result<(), DirectoryError> {
        removed.iter().try_for_each(|pv| {
            let (_, open, local) = self.only_here(*pv)?;
            open.curator.decide_upon(&[local], data, by)
        })
    }

    fn add_aliases(
        &self,
        wanted: &[(PvId, PvName)],
        by: &By,
    ) -> Result<Vec<Result<(), DirectoryError>>, DirectoryError> {
        let add = |(pv, alias): &(PvId, PvName)| {
            let (shard, open, local) = self.only_here(*pv)?;
            let claimed = self.board.claims.claim(alias.as_str(), shard);
            if claimed.map_err(|error| not_now(error.to_string()))? != shard {
                let message = format!("the name {alias} belongs to another shard of the cluster");
                return Ok(Err(DirectoryError { fault: Fault::NameTaken, message }));
            }
            Ok(open.curator.add_aliases(&[(local, alias.clone())], by)?.pop().unwrap_or(Ok(())))
        };
        wanted.iter().map(add).collect()
    }

    fn remove_alias(&self, pv: PvId, alias: &PvName, by: &By) -> Result<(), DirectoryError> {
        let (_, open, local) = self.only_here(pv)?;
        open.curator.remove_alias(local, alias, by)
    }

    fn delete_range(&self, pv: PvId, range: TimeRange, by: &By) -> Result<Deletion, DirectoryError> {
        let (shard, open, local) = self.only_here(pv)?;
        let deleted = open.curator.delete_range(local, range, by)?;
        deletion_of(shard, deleted).ok_or_else(|| not_now("the shard is full"))
    }

    fn restore_range(&self, number: u64, by: &By) -> Result<Deletion, DirectoryError> {
        let (shard, local) = unnumbered(number);
        match self.board.seat(shard) {
            Seat::Here(open) => {
                let restored = open.curator.restore_range(local, by)?;
                deletion_of(shard, restored).ok_or_else(|| not_now("the shard is full"))
            }
            Seat::There(node) => {
                Err(not_now(format!("node {node} has this deletion, and undoes it itself alone: ask there")))
            }
            Seat::Nowhere => Err(not_now(self.board.nobody_has(shard))),
        }
    }

    fn purgeable(&self, purge: Purge) -> Result<Purged, DirectoryError> {
        self.purging(purge, |curator, purge| curator.purgeable(purge))
    }

    fn purge(&self, purge: Purge, by: &By) -> Result<Purged, DirectoryError> {
        self.purging(purge, |curator, purge| curator.purge(purge, by))
    }

    fn put_memos(&self, memos: &[(Option<Memo>, MemoText)], by: &By) -> Result<Vec<Memo>, DirectoryError> {
        self.at_site(|curator| curator.put_memos(memos, by))
    }

    fn remove_memo(&self, memo: &Memo, by: &By) -> Result<(), DirectoryError> {
        self.at_site(|curator| curator.remove_memo(memo, by))
    }

    /// What belongs to no PV stands in the audit of the site.
    fn note(&self, action: Action, detail: &str, by: &By) -> Result<(), DirectoryError> {
        let site = self.board.site();
        until_taken(|| match self.board.seat(site) {
            Seat::Here(open) => open.curator.note(action, detail, by),
            Seat::There(node) => {
                let question = Question::Note(wire::action_row(action), detail.to_owned(), by.into());
                match self.board.ask(&node, &question)? {
                    Answer::Done(true) => Ok(()),
                    _ => Err(self.board.nonsense(&node)),
                }
            }
            Seat::Nowhere => Err(not_now(self.board.nobody_has(site))),
        })
    }

    fn import(&self, _name: &str, _by: &By) -> Result<Box<dyn Intake>, DirectoryError> {
        Err(DirectoryError { fault: Fault::Failed, message: "nothing can be imported into a cluster yet".to_owned() })
    }
}

/// The tokens of a cluster, which its site keeps.
pub struct SiteTokens(pub Arc<Board>);

impl SiteTokens {
    fn site<T>(&self, ask: impl Fn(&dyn Tokens) -> Result<T, TokensError>) -> Result<T, TokensError> {
        match self.0.seat(self.0.site()) {
            Seat::Here(open) => ask(&*open.tokens),
            Seat::There(node) => Err(format!("node {node} keeps the tokens of the cluster: ask there").into()),
            Seat::Nowhere => Err(self.0.nobody_has(self.0.site()).into()),
        }
    }
}

impl Tokens for SiteTokens {
    /// Where they are not kept, none is known: whoever shows one is told to ask the node that knows.
    fn list(&self) -> Result<Vec<TokenRow>, TokensError> {
        self.site(|tokens| tokens.list())
    }

    fn add(&self, token: &TokenRow) -> Result<(), TokensError> {
        self.site(|tokens| tokens.add(token))
    }

    fn revoke(&self, id: &str, by: &By) -> Result<bool, TokensError> {
        self.site(|tokens| tokens.revoke(id, by))
    }

    fn touch(&self, used: &[(Box<str>, Timestamp)]) -> Result<(), TokensError> {
        self.site(|tokens| tokens.touch(used))
    }
}

//! What a node answers to the others: orders about PVs of its shards, how these fare, and what it holds of epochs that have ended.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use archive::{
    Action, AddRequest, By, DirectoryError, FieldName, Principal, Purge, Purged, PvId, PvName, Sent, TokensError,
};
use sample::{TimeRange, Timestamp};
use shared::{Epoch, Frames, Part};

use crate::{
    board::Board,
    days::given_up,
    orders::{add_here, enter_here, not_now},
    pairs::Pairs,
    rows::{KeptTokenRow, MemoRow, MemoTextRow, PurgedRow, SizeRow, steps_rows},
    seams::{Held, Open},
    shares::{Shares, known_here},
    upkeep::{KeptRow, WeekRow},
    wire::{self, AddRow, Answer, ByWire, EachRow, FramesRow, MarkRow, PartRow, Question, StatusRow},
};

/// The most of frames that one answer has.
const FRAMES_BYTES_MAX: u64 = 4 << 20;

/// The most PVs whose sizes one answer has.
pub(crate) const SIZES_AT_ONCE: usize = 20_000;

/// Who looks whether a part of an import is known; that stands nowhere.
const ASKS: &str = "another node, which asks";

/// What a node can be asked to do.
pub trait Willing: Send + Sync {
    /// Takes a shard, whoever has it.
    fn take(&self, shard: u32) -> Result<(), String>;
    /// What this node holds of an epoch of a shard that has ended.
    fn held(&self, shard: u32, epoch: u64) -> Option<Arc<dyn Held>>;
}

/// Answers other nodes.
pub struct Answers {
    board: Arc<Board>,
    willing: Arc<dyn Willing>,
    leaving: Arc<AtomicBool>,
}

impl Answers {
    /// By that board. `leaving` is set when this node is to have no shards.
    pub fn new(board: Arc<Board>, willing: Arc<dyn Willing>, leaving: Arc<AtomicBool>) -> Answers {
        Answers { board, willing, leaving }
    }

    /// Answers a question in bytes.
    pub fn answer(&self, question: &[u8]) -> Result<Vec<u8>, String> {
        let question: Question = wire::read(question).ok_or("this node does not understand what it was asked")?;
        let answer = self.made(question).unwrap_or_else(|error| wire::fault_row(&error));
        Ok(wire::bytes(&answer))
    }

    /// Takes the share of an import that another node sends, and says in bytes what it brought when all of it is entered.
    pub fn take(
        &self,
        question: &[u8],
        pieces: &mut dyn Iterator<Item = Result<Sent, String>>,
    ) -> Result<Vec<u8>, String> {
        let Some(Question::Share(name, by)) = wire::read(question) else {
            return Err("this node does not understand what it was sent".to_owned());
        };
        let answer = self.shared_out(&name, &by, pieces).unwrap_or_else(|error| wire::fault_row(&error));
        Ok(wire::bytes(&answer))
    }

    fn shared_out(
        &self,
        name: &str,
        by: &ByWire,
        pieces: &mut dyn Iterator<Item = Result<Sent, String>>,
    ) -> Result<Answer, DirectoryError> {
        let mut shares = Shares::new(self.board.clone(), name, &by_of(by)?);
        for piece in pieces {
            match piece.map_err(not_now)? {
                Sent::Record(pv, record) => shares.append(pv, record)?,
                Sent::Part(part) => return Ok(Answer::Imported(Some((&shares.finish(&part)?).into()))),
            }
        }
        Err(senseless())
    }

    fn open(&self, shard: u32) -> Result<Arc<Open>, DirectoryError> {
        let away = || not_now(format!("shard {shard} is not open at node {} any more; ask again", self.board.own()));
        self.board.open_here(shard).ok_or_else(away)
    }

    /// The answer to a question of another node.
    pub(crate) fn made(&self, question: Question) -> Result<Answer, DirectoryError> {
        Ok(match question {
            Question::Briefs(shard, pvs) => {
                let briefs = self.open(shard)?.standing.briefs(&wire::locals(&pvs));
                Answer::Briefs(briefs.iter().map(|brief| brief.as_ref().map(StatusRow::from)).collect())
            }
            Question::Status(shard, pv) => {
                Answer::Status(self.open(shard)?.standing.status(PvId(pv)).as_ref().map(StatusRow::from))
            }
            Question::OpenAccount(shard, pv) => {
                let open = self.open(shard)?.standing.open_account(PvId(pv));
                Answer::Account(open.map(|(since, account)| (since.nanos(), wire::account_row(&account))))
            }
            Question::Offer(row) => self.offered(&row)?,
            Question::Frames(row, max) => {
                let held = self.held(&row)?;
                let run = held.read(row.first, row.end, max.min(FRAMES_BYTES_MAX) as usize).map_err(unread)?;
                Answer::Frames(run.map(|run| FramesRow {
                    first: run.frames.first,
                    end: run.frames.end,
                    file: run.file,
                    at: run.at,
                    bytes: run.bytes,
                }))
            }
            Question::Beginning(row) => Answer::Number(self.held(&row)?.beginning_of(row.first).map_err(unread)?),
            Question::Take(shard) => {
                self.willing.take(shard).map_err(not_now)?;
                Answer::Done(true)
            }
            Question::Leave(leaves) => {
                self.leaving.store(leaves, Relaxed);
                Answer::Done(true)
            }
            Question::Mirror(copy, at) => {
                self.board.mirror_here(copy, Timestamp::from_nanos(at)).map_err(not_now)?;
                Answer::Done(true)
            }
            Question::Figures => Answer::Figures((&self.board.own_figures()).into()),
            Question::Iocs => {
                let iocs = self.board.open().into_values().flat_map(|open| open.standing.iocs());
                Answer::Iocs(iocs.map(|ioc| (&ioc).into()).collect())
            }
            Question::Retention => Answer::Retention(self.board.kept_here().iter().map(KeptRow::of).collect()),
            Question::NextToGo(keep) => {
                Answer::NextToGo(self.board.next_to_go_here(Duration::from_nanos(keep)).as_ref().map(WeekRow::of))
            }
            Question::Known(name, part) => {
                let known = known_here(&self.board, &name, &part, &By::new(Principal::here(ASKS), Timestamp::MIN))?;
                Answer::Imported(known.as_ref().map(Into::into))
            }
            question => {
                let shard = self.shard_of(&question).ok_or_else(senseless)?;
                let Some(open) = self.board.open_here(shard) else { return Ok(Answer::Elsewhere) };
                match ordered(&open, question) {
                    Err(error) if self.board.is_gone(shard, &open, &error) => Answer::Elsewhere,
                    done => done?,
                }
            }
        })
    }

    /// The shard that is asked about by what `ordered` answers.
    fn shard_of(&self, question: &Question) -> Option<u32> {
        match question {
            Question::Add(shard, ..)
            | Question::Pause(shard, ..)
            | Question::Resume(shard, ..)
            | Question::Remove(shard, ..)
            | Question::Rename(shard, ..)
            | Question::Foresee(shard, ..)
            | Question::EnterPaused(shard, ..)
            | Question::EnterFields(shard, ..)
            | Question::Restore(shard, ..)
            | Question::Undo(shard, ..)
            | Question::DecideUpon(shard, ..)
            | Question::AddAliases(shard, ..)
            | Question::RemoveAlias(shard, ..)
            | Question::DeleteRange(shard, ..)
            | Question::RestoreRange(shard, ..)
            | Question::Purgeable(shard, ..)
            | Question::Purge(shard, ..)
            | Question::Mark(shard, ..)
            | Question::GiveUp(shard, ..)
            | Question::Verified(shard, ..)
            | Question::Sizes(shard, ..) => Some(*shard),
            Question::Note(..)
            | Question::PutMemos(..)
            | Question::RemoveMemo(..)
            | Question::Tokens
            | Question::AddToken(..)
            | Question::RevokeToken(..)
            | Question::TouchTokens(..) => Some(self.board.site()),
            _ => None,
        }
    }

    /// Another node holds what an owner before this one recorded and no journal has.
    fn offered(&self, row: &PartRow) -> Result<Answer, DirectoryError> {
        let open = self.open(row.shard)?;
        if open.epoch <= row.epoch {
            return Ok(Answer::Done(false));
        }
        let part = part_of(row, self.board.pairs())?;
        let held = self.board.held_at(&row.holder, &part);
        open.parts.take(&part, &held).map(Answer::Done).map_err(not_now)
    }

    fn held(&self, row: &PartRow) -> Result<Arc<dyn Held>, DirectoryError> {
        let gone = || not_now(format!("node {} holds nothing of epoch {}", self.board.own(), row.epoch));
        self.willing.held(row.shard, row.epoch).ok_or_else(gone)
    }
}

/// Carries an order about a shard out, or answers a question about it, that came from another node.
#[expect(clippy::too_many_lines, reason = "a branch for each question")]
fn ordered(open: &Open, question: Question) -> Result<Answer, DirectoryError> {
    Ok(match question {
        Question::Add(_, rows, by) => {
            let added = add_here(open, requests(&rows)?, &by_of(&by)?)?;
            Answer::Added(added.into_iter().map(|(entry, how)| (entry.id.0, wire::added_row(how))).collect())
        }
        Question::Pause(_, pvs, by) => {
            Answer::Changes(wire::changes_rows(&open.orders.pause(&wire::locals(&pvs), &by_of(&by)?)?))
        }
        Question::Resume(_, pvs, by) => {
            Answer::Changes(wire::changes_rows(&open.orders.resume(&wire::locals(&pvs), &by_of(&by)?)?))
        }
        Question::Remove(_, pvs, deletes, by) => {
            let made = open.orders.remove(&wire::locals(&pvs), wire::fate(deletes), &by_of(&by)?)?;
            Answer::Changes(wire::changes_rows(&made))
        }
        Question::Rename(_, pv, to, stays, by) => {
            let to = PvName::new(&to).map_err(|_| senseless())?;
            let renamed = open.orders.rename(PvId(pv), &to, wire::old_name(stays), &by_of(&by)?)?;
            Answer::Entry(renamed.id.0)
        }
        Question::Note(action, detail, by) => {
            let action = *Action::ALL.get(usize::from(action)).ok_or_else(senseless)?;
            open.curator.note(action, &detail, &by_of(&by)?)?;
            Answer::Done(true)
        }
        Question::Foresee(_, rows) => Answer::Foreseen(wire::added_rows(&open.orders.foresee(requests(&rows)?)?)),
        Question::EnterPaused(_, names, by) => {
            let names: Result<Vec<_>, _> = names.iter().map(|name| PvName::new(name)).collect();
            let entered = enter_here(open, names.map_err(|_| senseless())?, &by_of(&by)?)?;
            Answer::Number(entered as u64)
        }
        Question::EnterFields(_, fields, by) => {
            let field = |(pv, field): &(u32, String)| {
                let field = FieldName::new(field).map_err(|_| senseless())?;
                // One that has gone meanwhile needs no fields.
                Ok(open.directory.entry(PvId(*pv)).map(|owner| (owner, field)))
            };
            let fields: Result<Vec<_>, DirectoryError> = fields.iter().map(field).collect();
            let fields: Vec<_> = fields?.into_iter().flatten().collect();
            open.orders.enter_fields(&fields, &by_of(&by)?)?;
            Answer::Done(true)
        }
        Question::Restore(_, wanted, by) => {
            let named = |(pv, name): &(u32, Option<String>)| {
                let name = name.as_deref().map(PvName::new).transpose().map_err(|_| senseless())?;
                Ok((PvId(*pv), name))
            };
            let wanted: Result<Vec<_>, DirectoryError> = wanted.iter().map(named).collect();
            let restored = open.orders.restore_all(&wanted?, &by_of(&by)?)?;
            Answer::Each(restored.into_iter().map(|one| EachRow::of(one.map(|entry| entry.id))).collect())
        }
        Question::Undo(_, number, by) => Answer::Steps(steps_rows(&open.orders.undo(number, &by_of(&by)?)?)),
        Question::DecideUpon(_, pvs, deletes, by) => {
            open.curator.decide_upon(&wire::locals(&pvs), wire::fate(deletes), &by_of(&by)?)?;
            Answer::Done(true)
        }
        Question::AddAliases(_, wanted, by) => {
            let named = |(pv, alias): &(u32, String)| Some((PvId(*pv), PvName::new(alias).ok()?));
            let wanted = wanted.iter().map(named).collect::<Option<Vec<_>>>().ok_or_else(senseless)?;
            let added = open.curator.add_aliases(&wanted, &by_of(&by)?)?;
            let each = wanted.iter().zip(added).map(|((pv, _), one)| EachRow::of(one.map(|()| *pv)));
            Answer::Each(each.collect())
        }
        Question::RemoveAlias(_, pv, alias, by) => {
            let alias = PvName::recorded(&alias).map_err(|_| senseless())?;
            open.curator.remove_alias(PvId(pv), &alias, &by_of(&by)?)?;
            Answer::Done(true)
        }
        Question::DeleteRange(_, pv, (from, to), by, whole) => {
            let range = TimeRange::new(Timestamp::from_nanos(from), Timestamp::from_nanos(to));
            let (pv, range, by) = (PvId(pv), range.map_err(|_| senseless())?, by_of(&by)?);
            let deleted = match whole {
                Some(true) => open.curator.delete_range_as_given(pv, range, &by)?,
                _ => open.curator.delete_range(pv, range, &by)?,
            };
            Answer::Deletion((&deleted).into())
        }
        Question::RestoreRange(_, number, by) => {
            Answer::Deletion((&open.curator.restore_range(number, &by_of(&by)?)?).into())
        }
        Question::Purgeable(_, pv, before) => {
            Answer::Purged(purged_row(&open.curator.purgeable(purge_of(pv, before))?))
        }
        Question::Purge(_, pv, before, by) => {
            Answer::Purged(purged_row(&open.curator.purge(purge_of(pv, before), &by_of(&by)?)?))
        }
        Question::Mark(_, before) => {
            Answer::Marked(MarkRow::of(open.epoch, &open.curator.mark(Timestamp::from_nanos(before))?))
        }
        Question::GiveUp(_, pvs, row, by) => {
            given_up(open, &wire::locals(&pvs), (row.epoch, &row.mark()), &by_of(&by)?)?;
            Answer::Done(true)
        }
        Question::Verified(_, name, part, by) => {
            open.curator.import(&name, &by_of(&by)?)?.verified(&part)?;
            Answer::Done(true)
        }
        Question::PutMemos(memos, by) => {
            let one = |(before, text): &(Option<MemoRow>, MemoTextRow)| {
                let before = match before {
                    Some(row) => Some(row.memo()?),
                    None => None,
                };
                Some((before, text.text()?))
            };
            let memos = memos.iter().map(one).collect::<Option<Vec<_>>>().ok_or_else(senseless)?;
            Answer::Memos(open.curator.put_memos(&memos, &by_of(&by)?)?.iter().map(MemoRow::from).collect())
        }
        Question::RemoveMemo(memo, by) => {
            open.curator.remove_memo(&memo.memo().ok_or_else(senseless)?, &by_of(&by)?)?;
            Answer::Done(true)
        }
        Question::Tokens => {
            Answer::Tokens(open.tokens.list().map_err(unkept)?.iter().map(KeptTokenRow::from).collect())
        }
        Question::AddToken(token) => {
            open.tokens.add(&token.token().ok_or_else(senseless)?).map_err(unkept)?;
            Answer::Done(true)
        }
        Question::RevokeToken(id, by) => Answer::Done(open.tokens.revoke(&id, &by_of(&by)?).map_err(unkept)?),
        Question::TouchTokens(used) => {
            let used: Vec<(Box<str>, Timestamp)> =
                used.into_iter().map(|(id, day)| (id.into(), Timestamp::from_nanos(day))).collect();
            open.tokens.touch(&used).map_err(unkept)?;
            Answer::Done(true)
        }
        Question::Sizes(_, pv, Some(true)) => {
            let size = open.storage.size(PvId(pv));
            Answer::Sizes(size.iter().map(|size| SizeRow::of(PvId(pv), size)).collect())
        }
        Question::Sizes(_, from, _) => {
            let sizes = open.storage.sizes();
            let mut rows: Vec<SizeRow> =
                sizes.iter().filter(|(pv, _)| pv.0 >= from).map(|(pv, size)| SizeRow::of(*pv, size)).collect();
            rows.sort_unstable_by_key(|row| row.pv);
            rows.truncate(SIZES_AT_ONCE);
            Answer::Sizes(rows)
        }
        _ => return Err(senseless()),
    })
}

fn requests(rows: &[AddRow]) -> Result<Vec<AddRequest>, DirectoryError> {
    rows.iter().map(AddRow::request).collect::<Option<Vec<_>>>().ok_or_else(senseless)
}

fn purge_of(pv: Option<u32>, before: i64) -> Purge {
    Purge { pv: pv.map(PvId), before: Timestamp::from_nanos(before) }
}

fn purged_row(of: &Purged) -> PurgedRow {
    PurgedRow {
        pvs: of.pvs.iter().map(|removed| removed.entry.id.0).collect(),
        ranges: of.ranges.iter().map(Into::into).collect(),
        samples: of.samples,
        bytes: of.bytes,
    }
}

fn unkept(error: TokensError) -> DirectoryError {
    not_now(error.to_string())
}

fn part_of(row: &PartRow, pairs: Pairs) -> Result<Part, DirectoryError> {
    let shard = pairs.archive(row.shard).ok_or_else(senseless)?;
    Ok(Part { shard, epoch: Epoch(row.epoch), frames: Frames { first: row.first, end: row.end } })
}

fn by_of(row: &ByWire) -> Result<By, DirectoryError> {
    row.by().ok_or_else(senseless)
}

fn senseless() -> DirectoryError {
    not_now("what another node asks makes no sense here; run the same version on both")
}

fn unread(error: std::io::Error) -> DirectoryError {
    not_now(format!("what is held cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Unwilling, board, empty_shard};

    #[test]
    fn a_node_that_does_not_have_the_shard_of_an_order_says_so_and_has_done_nothing() {
        let board = board("a", 1, &Arc::default());
        let answers = Answers::new(board.clone(), Arc::new(Unwilling), Arc::default());
        let by = || ByWire::from(&By::new("the test", Timestamp::MIN));
        let orders = || {
            [
                Question::Add(0, Vec::new(), by()),
                Question::Pause(0, vec![1], by()),
                Question::Resume(0, vec![1], by()),
                Question::Remove(0, vec![1], false, by()),
                Question::Rename(0, 1, "B".to_owned(), false, by()),
                Question::Note(0, "something".to_owned(), by()),
                Question::DecideUpon(0, vec![1], true, by()),
            ]
        };
        for order in orders() {
            let told = format!("{order:?}");
            assert_eq!(answers.made(order), Ok(Answer::Elsewhere), "{told}");
        }
        // One that has it carries it out, or says why not.
        board.opened(0, empty_shard(1));
        board.opened(1, empty_shard(1));
        for order in orders().into_iter().take(2) {
            let told = format!("{order:?}");
            let done = answers.made(order);
            assert!(!matches!(done, Ok(Answer::Elsewhere)), "{told}: {done:?}");
        }
    }
}

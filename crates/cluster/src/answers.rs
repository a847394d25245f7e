//! What a node answers to the others: orders about PVs of its shards, how these fare, and what it holds of epochs that have ended.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use archive::{Action, By, DirectoryError, PvId, PvName};
use shared::{Epoch, Frames, Part, Shard};

use crate::{
    board::{Board, Held, Open},
    orders::{add_here, not_now},
    wire::{self, Answer, ByRow, FramesRow, PartRow, Question, StatusRow},
};

/// The most of frames that one answer has.
const FRAMES_BYTES_MAX: u64 = 4 << 20;

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

    fn open(&self, shard: u32) -> Result<Arc<Open>, DirectoryError> {
        let away = || not_now(format!("shard {shard} is not open at node {} any more; ask again", self.board.own()));
        self.board.open_here(shard).ok_or_else(away)
    }

    pub(crate) fn made(&self, question: Question) -> Result<Answer, DirectoryError> {
        Ok(match question {
            Question::Add(shard, rows, by) => {
                let requests =
                    rows.iter().map(|row| row.request()).collect::<Option<Vec<_>>>().ok_or_else(senseless)?;
                let added = add_here(&*self.open(shard)?, requests, &by_of(&by)?)?;
                Answer::Added(added.into_iter().map(|(entry, how)| (entry.id.0, wire::added_row(how))).collect())
            }
            Question::Pause(shard, pvs, by) => {
                let made = self.open(shard)?.orders.pause(&wire::locals(&pvs), &by_of(&by)?)?;
                Answer::Changes(wire::changes_rows(&made))
            }
            Question::Resume(shard, pvs, by) => {
                let made = self.open(shard)?.orders.resume(&wire::locals(&pvs), &by_of(&by)?)?;
                Answer::Changes(wire::changes_rows(&made))
            }
            Question::Remove(shard, pvs, deletes, by) => {
                let made = self.open(shard)?.orders.remove(&wire::locals(&pvs), wire::fate(deletes), &by_of(&by)?)?;
                Answer::Changes(wire::changes_rows(&made))
            }
            Question::Rename(shard, pv, to, stays, by) => {
                let to = PvName::new(&to).map_err(|_| senseless())?;
                let renamed = self.open(shard)?.orders.rename(PvId(pv), &to, wire::old_name(stays), &by_of(&by)?)?;
                Answer::Entry(renamed.id.0)
            }
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
            Question::Note(action, detail, by) => {
                let action = *Action::ALL.get(usize::from(action)).ok_or_else(senseless)?;
                self.open(self.board.site())?.curator.note(action, &detail, &by_of(&by)?)?;
                Answer::Done(true)
            }
        })
    }

    /// Another node holds what an owner before this one recorded and no journal has.
    fn offered(&self, row: &PartRow) -> Result<Answer, DirectoryError> {
        let open = self.open(row.shard)?;
        if open.epoch <= row.epoch {
            return Ok(Answer::Done(false));
        }
        let part = part_of(row)?;
        let held = self.board.held_at(&row.holder, &part);
        open.parts.take(&part, &held).map(Answer::Done).map_err(not_now)
    }

    fn held(&self, row: &PartRow) -> Result<Arc<dyn Held>, DirectoryError> {
        let gone = || not_now(format!("node {} holds nothing of epoch {}", self.board.own(), row.epoch));
        self.willing.held(row.shard, row.epoch).ok_or_else(gone)
    }
}

fn part_of(row: &PartRow) -> Result<Part, DirectoryError> {
    let shard = Shard::new(row.shard, 'a').ok_or_else(senseless)?;
    Ok(Part { shard, epoch: Epoch(row.epoch), frames: Frames { first: row.first, end: row.end } })
}

fn by_of(row: &ByRow) -> Result<By, DirectoryError> {
    row.by().ok_or_else(senseless)
}

fn senseless() -> DirectoryError {
    not_now("what another node asks makes no sense here; run the same version on both")
}

fn unread(error: std::io::Error) -> DirectoryError {
    not_now(format!("what is held cannot be read: {error}"))
}

//! Frames that a node holds of an epoch that has ended, and how they are offered to whoever has their shard.

use shared::Part;

use super::{Board, Seat};
use crate::{
    numbers::SHARDS_END,
    seams::Held,
    wire::{Answer, FramesRow, PartRow, Question},
};

impl Board {
    /// What was made of the journal of a moment: of what a node holds.
    pub fn held_at(&self, node: &str, part: &Part) -> impl Held + use<'_> {
        let row = PartRow {
            shard: self.pairs().number(&part.shard).unwrap_or(SHARDS_END),
            epoch: part.epoch.0,
            first: part.frames.first,
            end: part.frames.end,
            holder: node.to_owned(),
        };
        There { board: self, row }
    }

    /// Offers a part to whoever has its shard now, who takes it in pieces; true when it need not be held any more.
    pub fn offer(&self, part: &Part, held: &dyn Held) -> Result<bool, String> {
        let Some(shard) = self.pairs().number(&part.shard) else { return Ok(false) };
        match self.seat(shard) {
            Seat::Here(open) if open.epoch > part.epoch.0 => open.parts.take(part, held),
            Seat::There(node) => {
                let holder = self.own().to_owned();
                let Part { epoch, frames, .. } = part;
                let row = PartRow { shard, epoch: epoch.0, first: frames.first, end: frames.end, holder };
                match self.ask(&node, &Question::Offer(row)).map_err(|error| error.message)? {
                    Answer::Done(done) => Ok(done),
                    _ => Err(self.nonsense(&node).message),
                }
            }
            _ => Ok(false),
        }
    }
}

/// Frames that another node holds.
struct There<'b> {
    board: &'b Board,
    row: PartRow,
}

impl There<'_> {
    fn ask(&self, question: &Question) -> std::io::Result<Answer> {
        self.board.ask(&self.row.holder, question).map_err(|error| std::io::Error::other(error.message))
    }

    fn nonsense(&self) -> std::io::Error {
        std::io::Error::other(self.board.nonsense(&self.row.holder).message)
    }
}

impl Held for There<'_> {
    fn beginning_of(&self, frame: u64) -> std::io::Result<u64> {
        match self.ask(&Question::Beginning(PartRow { first: frame, ..self.row.clone() }))? {
            Answer::Number(number) => Ok(number),
            _ => Err(self.nonsense()),
        }
    }

    fn read(&self, from: u64, below: u64, max: usize) -> std::io::Result<Option<shared::LogRun>> {
        let row = PartRow { first: from, end: below, ..self.row.clone() };
        match self.ask(&Question::Frames(row, max as u64))? {
            Answer::Frames(None) => Ok(None),
            Answer::Frames(Some(FramesRow { first, end, file, at, bytes })) => {
                Ok(Some(shared::LogRun { frames: shared::Frames { first, end }, file, at, bytes }))
            }
            _ => Err(self.nonsense()),
        }
    }
}

//! Bins: what the samples between two edges amount to, exactly as if every sample had been looked at.
//!
//! What lies within one bin contributes its summary without being read, if the store keeps one: of a block, or of a row of a
//! level. The store gives summaries only of numbers that are all finite, and so are their sums; of all others it gives the
//! samples.
//!
//! ```text
//!   value │      ●──────●                        a number is held until the next sample,
//!         │ ─────┘      └─────────●────          in the first bin from the sample before it
//!         └────┬──────────┬──────────┬──► time   and in the last up to its end, or `held_until`
//! ```

use std::sync::Arc;

use archive::Cuts;
use sample::{Batch, Stretch, Summary, Timestamp};

use crate::{
    Error,
    ahead::Ahead,
    bin::Bin,
    stretches::Stretches,
    tally::{Held, Tally},
};

/// The bins of a range in order, empty ones too. A damaged block is left out and told by `damage`; other errors end it.
pub struct Bins {
    edges: Arc<[Timestamp]>,
    next: usize,
    stretches: Stretches,
    waiting: Option<Piece>,
    /// The number in force at the end of what was counted.
    held: Option<Held>,
    held_until: Timestamp,
    damage: Vec<Error>,
    failed: bool,
    /// Bins that are made at the same time as others.
    ahead: Option<Ahead>,
}

/// What is still to be counted: a summary, or the rows of a batch from `row` on.
enum Piece {
    Summary(Summary),
    Rows { batch: Batch, row: usize },
}

impl Piece {
    fn time(&self) -> Timestamp {
        match self {
            Piece::Summary(summary) => summary.t0,
            Piece::Rows { batch, row } => batch.times()[*row],
        }
    }
}

impl Bins {
    /// `held` is what was in force before the first bin.
    pub(crate) fn new(stretches: Stretches, edges: Arc<[Timestamp]>, held: Option<Held>) -> Bins {
        let (held_until, damage) = (Timestamp::MAX, Vec::new());
        Bins { edges, next: 0, stretches, waiting: None, held, held_until, damage, failed: false, ahead: None }
    }

    /// Where edges cut many blocks, several are made at the same time.
    pub(crate) fn made_by(self, ahead: Ahead) -> Bins {
        Bins { ahead: Some(ahead), ..self }
    }

    /// The last number is not held beyond this time: nobody knows what comes after now.
    pub fn held_until(self, time: Timestamp) -> Bins {
        Bins { held_until: time, ..self }
    }

    /// What was found damaged so far.
    pub fn damage(&self) -> &[Error] {
        &self.damage
    }

    /// The damage that was met, and the blocks that were cut, once all bins are made.
    pub(crate) fn into_damage(self) -> (Vec<Error>, Cuts) {
        let cuts = self.stretches.cuts();
        (self.damage, cuts)
    }

    /// The next one, if it is made at the same time as others.
    fn next_made(&mut self) -> Option<Result<Bin, Error>> {
        let (left, cuts) = (&self.edges[self.next..], self.stretches.cuts());
        self.ahead.as_mut()?.next(left, cuts, self.held_until, &mut self.damage)
    }

    /// What comes next, if it begins before `t1`.
    fn next_before(&mut self, t1: Timestamp) -> Result<Option<Piece>, Error> {
        while self.waiting.is_none() {
            self.waiting = match self.stretches.next().transpose() {
                Ok(None) => return Ok(None),
                Ok(Some(Stretch::Summary(summary))) => Some(Piece::Summary(summary)),
                Ok(Some(Stretch::Samples(batch))) => (!batch.is_empty()).then_some(Piece::Rows { batch, row: 0 }),
                Err(error) if error.is_damage() => {
                    self.damage.push(error);
                    None
                }
                Err(error) => return Err(error),
            };
        }
        Ok(self.waiting.take_if(|piece| piece.time() < t1))
    }

    /// Counts what lies in one bin: summaries as a whole, and rows.
    fn fill(&mut self, tally: &mut Tally, t0: Timestamp, t1: Timestamp) -> Result<(), Error> {
        while let Some(piece) = self.next_before(t1)? {
            tally.hold(self.held, t0, piece.time());
            match piece {
                Piece::Summary(summary) => {
                    tally.add_summary(&summary);
                    self.held = Held::of(summary.t1, Some(summary.last));
                }
                Piece::Rows { batch, row } => {
                    let end = row + batch.times()[row..].partition_point(|time| *time < t1);
                    tally.add_rows(&batch, row..end);
                    self.held = Held::of(batch.times()[end - 1], batch.values().f64_at(end - 1));
                    self.waiting = (end < batch.len()).then_some(Piece::Rows { batch, row: end });
                }
            }
        }
        tally.hold(self.held, t0, t1.min(self.held_until));
        Ok(())
    }
}

impl Iterator for Bins {
    type Item = Result<Bin, Error>;

    fn next(&mut self) -> Option<Result<Bin, Error>> {
        if self.failed || self.next + 1 >= self.edges.len() {
            return None;
        }
        if let Some(bin) = self.next_made() {
            self.next += 1;
            self.failed = bin.is_err();
            return Some(bin);
        }
        let (t0, t1) = (self.edges[self.next], self.edges[self.next + 1]);
        self.next += 1;
        let mut tally = Tally::default();
        let filled = self.fill(&mut tally, t0, t1);
        self.failed = filled.is_err();
        Some(filled.map(|()| tally.bin(t0, t1)))
    }
}

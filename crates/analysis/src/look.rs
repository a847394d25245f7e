//! Looks: what a condition was in a stretch of time, by summaries as far as these decide, and step by step where they do not. Short
//! stretches are looked at side by side.

use std::sync::Arc;

use query::{Error, Query, side_by_side};
use sample::Timestamp;

use crate::{
    bounds::Bounds,
    cells,
    columns::{Columns, Stretch},
    program::{Program, Scratch},
    search::{WIDTHS, edges_between},
    steps::{DAMAGE_TOLD, Gaps, StepError, range_of},
};

/// A look at a short stretch ends after this many pieces, or this many numbers.
const PIECES_MAX: usize = 1024;
const NUMBERS_MAX: u64 = 128 << 10;

/// True, false or not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Truth {
    True,
    False,
    Unknown,
}

impl Truth {
    pub(crate) fn of(number: f64) -> Truth {
        match number {
            _ if number.is_nan() => Truth::Unknown,
            0.0 => Truth::False,
            _ => Truth::True,
        }
    }
}

/// A stretch of one truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) from: i64,
    pub(crate) to: i64,
    pub(crate) truth: Truth,
}

/// A stretch of which it is not known yet.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    pub(crate) from: i64,
    pub(crate) to: i64,
    /// It is to be cut into cells of that width, or looked at step by step behind the last.
    pub(crate) level: usize,
    /// The numbers that some of the tracks are known to hold throughout.
    pub(crate) held: Vec<Option<f64>>,
}

/// What cells leave of a stretch.
pub(crate) enum Left {
    /// It is so.
    Decided(Piece),
    Open(Open),
}

/// What was seen of a stretch.
#[derive(Default)]
pub(crate) struct Looked {
    /// They follow each other from its beginning on.
    pub(crate) pieces: Vec<Piece>,
    /// For how many nanoseconds summaries have decided.
    pub(crate) by_summaries: i64,
    /// How many numbers were read.
    pub(crate) read: u64,
    /// Sentences about what is damaged.
    pub(crate) damage: Vec<String>,
    pub(crate) failed: Option<StepError>,
    /// The stretches still to be looked at; the next one is the last.
    pub(crate) rest: Vec<Left>,
}

/// What looks: a program over an archive. There is one `Gaps` for each of its tracks.
pub(crate) struct Looker<'s> {
    pub(crate) query: &'s Query,
    pub(crate) program: &'s Program,
    pub(crate) gaps: &'s [Gaps],
}

impl Looker<'_> {
    /// Looks at short stretches, with this many threads.
    pub(crate) fn look_at(&self, stretches: &[Open], threads: usize) -> Vec<Looked> {
        side_by_side(stretches, threads, |stretch| self.look(stretch.clone()))
    }

    fn look(&self, stretch: Open) -> Looked {
        let mut looked = Looked::default();
        looked.rest.push(Left::Open(stretch));
        // A look that ends early has got somewhere, or it would begin again for ever.
        while looked.pieces.is_empty() || !looked.is_full() {
            let ended = match looked.rest.pop() {
                Some(Left::Decided(piece)) => {
                    looked.by_summaries += piece.to - piece.from;
                    looked.put(piece);
                    Ok(())
                }
                Some(Left::Open(open)) if open.level < WIDTHS.len() => {
                    self.cut(open).map(|left| looked.rest.extend(left)).map_err(StepError::from)
                }
                Some(Left::Open(open)) => self.read(open, &mut looked),
                None => break,
            };
            if let Err(error) = ended {
                looked.failed = Some(error);
                break;
            }
        }
        looked
    }

    /// Reads a stretch step by step, up to its end or until it is enough.
    fn read(&self, open: Open, looked: &mut Looked) -> Result<(), StepError> {
        let mut reading = self.begin(&open)?;
        loop {
            let is_over = reading.go_on(self.program, looked)?;
            let until = looked.pieces.last().map_or(open.from, |piece| piece.to);
            if is_over {
                return Ok(());
            }
            if looked.is_full() && until > open.from {
                looked.rest.push(Left::Open(Open { from: until, ..open }));
                return Ok(());
            }
        }
    }

    /// Begins to read a stretch step by step.
    pub(crate) fn begin(&self, open: &Open) -> Result<Reading, StepError> {
        let range = range_of(open.from, open.to);
        let columns = Columns::beside(self.query, &self.program.tracks, range, self.gaps, &open.held)?;
        Ok(Reading { columns, to: open.to, pending: None, scratch: Scratch::default() })
    }

    /// Cuts a stretch into cells. Gives what these leave of it, in reverse order.
    pub(crate) fn cut(&self, open: Open) -> Result<Vec<Left>, Error> {
        let mut scratch = Scratch::default();
        let (edges, end) = edges_between(open.from, open.to, WIDTHS[open.level]);
        let edges: Arc<[Timestamp]> = edges.into_iter().map(Timestamp::from_nanos).collect();
        let mut tracks: Vec<Vec<Bounds>> = Vec::new();
        for ((track, gaps), held) in self.program.tracks.iter().zip(self.gaps).zip(&open.held) {
            tracks.push(match held {
                Some(held) => vec![Bounds::one(*held); edges.len() - 1],
                None => cells::bounds(self.query, track, &edges, gaps)?,
            });
        }
        let mut left: Vec<Left> = Vec::new();
        for (cell, ends) in edges.windows(2).enumerate() {
            let (from, to) = (ends[0].nanos(), ends[1].nanos());
            match (left.last_mut(), self.outcome(cell, &tracks, &mut scratch)) {
                (Some(Left::Decided(last)), Ok(truth)) if last.truth == truth => last.to = to,
                (_, Ok(truth)) => left.push(Left::Decided(Piece { from, to, truth })),
                (Some(Left::Open(last)), Err(held)) if last.held == held => last.to = to,
                (_, Err(held)) => left.push(Left::Open(Open { from, to, level: open.level + 1, held })),
            }
        }
        if end < open.to {
            left.push(Left::Open(Open { from: end, ..open }));
        }
        left.reverse();
        Ok(left)
    }

    /// What holds throughout a cell, or what is known of the tracks that have to be looked at.
    fn outcome(&self, cell: usize, tracks: &[Vec<Bounds>], scratch: &mut Scratch) -> Result<Truth, Vec<Option<f64>>> {
        if let Some(decided) = self.program.bounds(|track| tracks[track][cell]).decided() {
            return Ok(Truth::of(decided));
        }
        // Bounds do not tell which of the two zeros it is, which matters to who divides by it.
        let divides = self.program.divides();
        let is_told = |number: &f64| *number != 0.0 || !divides;
        let held: Vec<Option<f64>> = tracks.iter().map(|bounds| bounds[cell].decided().filter(is_told)).collect();
        match held.iter().map(|number| number.map(|number| vec![number])).collect::<Option<Vec<_>>>() {
            Some(columns) => Ok(Truth::of(self.program.run(&columns, 1, scratch)[0])),
            None => Err(held),
        }
    }
}

/// A stretch that is being read.
pub(crate) struct Reading {
    columns: Columns,
    to: i64,
    /// The truth since the last piece.
    pending: Option<(i64, Truth)>,
    scratch: Scratch,
}

impl Reading {
    /// Adds what comes next of it; whether that was the end.
    pub(crate) fn go_on(&mut self, program: &Program, looked: &mut Looked) -> Result<bool, StepError> {
        let before = self.columns.read();
        let stretch = self.columns.next();
        looked.read += self.columns.read() - before;
        looked.damage.extend(self.columns.take_damage());
        looked.damage.truncate(DAMAGE_TOLD);
        if let Some(stretch) = stretch? {
            self.add(&stretch, program, looked);
            return Ok(false);
        }
        if let Some((from, truth)) = self.pending.take() {
            looked.put(Piece { from, to: self.to, truth });
        }
        Ok(true)
    }

    fn add(&mut self, stretch: &Stretch, program: &Program, looked: &mut Looked) {
        let result = program.run(&stretch.columns, stretch.times.len(), &mut self.scratch);
        for (time, number) in stretch.times.iter().zip(&result) {
            let truth = Truth::of(*number);
            match self.pending {
                Some((_, last)) if last == truth => {}
                Some((from, last)) => {
                    looked.put(Piece { from, to: *time, truth: last });
                    self.pending = Some((*time, truth));
                }
                None => self.pending = Some((*time, truth)),
            }
        }
        self.scratch.give(result);
        if let (Some((from, truth)), Some(last)) = (self.pending, stretch.times.last()) {
            looked.put(Piece { from, to: *last, truth });
            self.pending = Some((*last, truth));
        }
    }
}

impl Looked {
    fn is_full(&self) -> bool {
        self.pieces.len() >= PIECES_MAX || self.read >= NUMBERS_MAX
    }

    /// Adds a stretch of one truth, which follows what was added before.
    fn put(&mut self, piece: Piece) {
        match self.pieces.last_mut() {
            _ if piece.from >= piece.to => {}
            Some(last) if last.truth == piece.truth => last.to = piece.to,
            _ => self.pieces.push(piece),
        }
    }
}

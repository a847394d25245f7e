//! Batches in pieces: what is waiting of an answer in lines is a small chunk of it, whatever the store reads at a time.

use std::{ops::Range, sync::Arc};

use sample::{Alarm, Batch, Column, Timestamp};

use crate::crowd::is_crowded;

/// The lines of a piece are about so many bytes. Room for more is not found again where that of others was, and each page of it is
/// made anew.
const PIECE_BYTES: usize = 96 << 10;
/// And no more rows than this.
const ROWS_MAX: usize = 4096;
/// The first piece of an answer has so many at most, so that its first byte is not late.
const ROWS_FIRST: usize = 1024;
/// So many where many answers are under way.
const ROWS_IN_CROWD: usize = 512;

/// A stretch of a batch, which other pieces may share.
#[derive(Clone)]
pub(crate) struct Piece {
    batch: Arc<Batch>,
    rows: Range<usize>,
}

impl From<Batch> for Piece {
    fn from(batch: Batch) -> Piece {
        Piece { rows: 0..batch.len(), batch: Arc::new(batch) }
    }
}

impl Piece {
    /// The batch of which it is a stretch.
    pub(crate) fn batch(&self) -> &Batch {
        &self.batch
    }

    /// The rows of the batch that it has.
    pub(crate) fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn values(&self) -> &Column {
        self.batch.values()
    }

    /// Of its rows.
    pub(crate) fn times(&self) -> &[Timestamp] {
        &self.batch.times()[self.rows()]
    }

    /// Each alarm state with the rows of the batch that have it, as far as they are of this piece.
    pub(crate) fn alarms(&self) -> impl Iterator<Item = (Range<usize>, &Alarm)> {
        self.batch.alarms().within(self.rows())
    }

    /// The first `rows` of it.
    pub(crate) fn first(&self, rows: usize) -> Piece {
        let end = self.rows.end.min(self.rows.start + rows);
        Piece { batch: Arc::clone(&self.batch), rows: self.rows.start..end }
    }

    /// These rows of its batch, which are of the piece.
    pub(crate) fn part(&self, rows: Range<usize>) -> Piece {
        Piece { batch: Arc::clone(&self.batch), rows }
    }

    /// A batch with nothing else in it.
    pub(crate) fn into_batch(self) -> Batch {
        if self.rows == (0..self.batch.len()) { Arc::unwrap_or_clone(self.batch) } else { self.batch.slice(self.rows) }
    }
}

/// The same samples in pieces of so many rows at most.
pub(crate) struct Pieces<I> {
    batches: I,
    /// What is left of a batch.
    rest: Option<Piece>,
    rows_max: usize,
    is_begun: bool,
}

impl<I> Pieces<I> {
    pub(crate) fn of(batches: I) -> Pieces<I> {
        Pieces { batches, rest: None, rows_max: ROWS_FIRST, is_begun: false }
    }

    /// That a line of the next piece takes about so many bytes.
    pub(crate) fn expect_lines_of(&mut self, bytes: usize) {
        self.rows_max = match self.is_begun {
            true => (PIECE_BYTES / bytes.max(1)).clamp(1, ROWS_MAX),
            false => ROWS_FIRST,
        };
    }

    /// Whether the next one is in memory.
    pub(crate) fn is_at_hand(&self) -> bool {
        self.rest.is_some()
    }

    /// The next piece of what is left.
    fn piece_of(&mut self, rest: Piece) -> Piece {
        let rows_max = if is_crowded() { ROWS_IN_CROWD.min(self.rows_max) } else { self.rows_max };
        self.is_begun = true;
        if rest.len() <= rows_max {
            return rest;
        }
        let piece = rest.first(rows_max);
        self.rest = Some(rest.part(piece.rows.end..rest.rows.end));
        piece
    }
}

impl<I: Iterator<Item = Result<Batch, E>>, E> Iterator for Pieces<I> {
    type Item = Result<Piece, E>;

    fn next(&mut self) -> Option<Result<Piece, E>> {
        if let Some(rest) = self.rest.take() {
            return Some(Ok(self.piece_of(rest)));
        }
        let batch = self.batches.next()?;
        Some(batch.map(|batch| self.piece_of(batch.into())))
    }
}

#[cfg(test)]
mod tests {
    use sample::Runs;

    use super::*;

    #[test]
    fn pieces_are_the_whole_and_none_is_large() {
        let rows = 3 * ROWS_FIRST + 5;
        let (mut alarms, mut pulses) = (Runs::default(), Runs::default());
        alarms.push(&Alarm::default(), ROWS_FIRST - 1);
        alarms.push(&Alarm { status: 3, ..Alarm::default() }, rows - ROWS_FIRST + 1);
        pulses.push(&0, rows);
        let times: Vec<Timestamp> = (0..rows as i64).map(Timestamp::from_nanos).collect();
        let values = Column::I64((0..rows as i64).collect());
        let whole = Batch::from_columns(times, values, alarms, pulses).unwrap();
        let batches = [Ok(whole.clone()), Err("damage"), Ok(whole.slice(0..3)), Ok(whole.slice(0..3))];
        let mut reader = Pieces::of(batches.into_iter());
        let mut pieces = Vec::new();
        for line_bytes in [1000, 1000, PIECE_BYTES / 1000, 1, 1, 2 * PIECE_BYTES, 1, 1] {
            reader.expect_lines_of(line_bytes);
            pieces.extend(reader.next());
        }
        let lengths: Vec<_> =
            pieces.iter().map(|piece| piece.as_ref().map(Piece::len).map_err(|error| *error)).collect();
        let second = PIECE_BYTES / 1000;
        let third = PIECE_BYTES / (PIECE_BYTES / 1000);
        let last = rows - ROWS_FIRST - second - third;
        assert_eq!(lengths, [Ok(ROWS_FIRST), Ok(second), Ok(third), Ok(last), Err("damage"), Ok(1), Ok(2), Ok(3)]);
        let mut again = Batch::new(whole.value_type());
        for piece in pieces.iter().flatten().take(4) {
            let states: usize = piece.alarms().map(|(rows, _)| rows.len()).sum();
            assert_eq!((states, piece.times().len()), (piece.len(), piece.len()));
            let part = piece.clone().into_batch();
            assert!(again.extend_from(&part, 0..part.len()));
        }
        assert_eq!(again, whole);
    }
}

//! Batches in pieces: what is waiting of an answer in lines is a small chunk of it, whatever the store reads at a time.

use std::{collections::VecDeque, ops::Range, sync::Arc};

use sample::{Alarm, Batch, Column, Timestamp};

use crate::delivery::crowd::is_crowded;

/// The rows of a piece make 20 to 100 kB of lines. With larger pieces the process takes more memory.
const ROWS_MAX: usize = 1024;
/// The same where many answers are under way.
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
    /// What is left of a batch. Each piece goes with its memory when it is sent, while a batch would stay to its last row.
    rest: VecDeque<Batch>,
}

impl<I> Pieces<I> {
    pub(crate) fn of(batches: I) -> Pieces<I> {
        Pieces { batches, rest: VecDeque::new() }
    }

    /// Whether the next one is in memory.
    pub(crate) fn is_at_hand(&self) -> bool {
        !self.rest.is_empty()
    }
}

impl<I: Iterator<Item = Result<Batch, E>>, E> Iterator for Pieces<I> {
    type Item = Result<Piece, E>;

    fn next(&mut self) -> Option<Result<Piece, E>> {
        if let Some(piece) = self.rest.pop_front() {
            return Some(Ok(piece.into()));
        }
        let rows_max = if is_crowded() { ROWS_IN_CROWD } else { ROWS_MAX };
        let batch = match self.batches.next()? {
            Ok(batch) if batch.len() > rows_max => batch,
            small => return Some(small.map(Piece::from)),
        };
        let starts = (0..batch.len()).step_by(rows_max);
        self.rest.extend(starts.map(|start| batch.slice(start..batch.len().min(start + rows_max))));
        self.rest.pop_front().map(|piece| Ok(piece.into()))
    }
}

#[cfg(test)]
mod tests {
    use sample::Runs;

    use super::*;

    #[test]
    fn pieces_are_the_whole_and_none_is_large() {
        let rows = 2 * ROWS_MAX + 5;
        let (mut alarms, mut pulses) = (Runs::default(), Runs::default());
        alarms.push(&Alarm::default(), ROWS_MAX - 1);
        alarms.push(&Alarm { status: 3, ..Alarm::default() }, rows - ROWS_MAX + 1);
        pulses.push(&0, rows);
        let times: Vec<Timestamp> = (0..rows as i64).map(Timestamp::from_nanos).collect();
        let values = Column::I64((0..rows as i64).collect());
        let whole = Batch::from_columns(times, values, alarms, pulses).unwrap();
        let batches = [Ok(whole.clone()), Err("damage"), Ok(whole.slice(0..3))];
        let pieces: Vec<_> = Pieces::of(batches.into_iter()).collect();
        let lengths: Vec<_> =
            pieces.iter().map(|piece| piece.as_ref().map(Piece::len).map_err(|error| *error)).collect();
        assert_eq!(lengths, [Ok(ROWS_MAX), Ok(ROWS_MAX), Ok(5), Err("damage"), Ok(3)]);
        let mut again = Batch::new(whole.value_type());
        for piece in pieces.iter().flatten().take(3) {
            let states: usize = piece.alarms().map(|(rows, _)| rows.len()).sum();
            assert_eq!((states, piece.times().len()), (piece.len(), piece.len()));
            let part = piece.clone().into_batch();
            assert!(again.extend_from(&part, 0..part.len()));
        }
        assert_eq!(again, whole);
    }
}

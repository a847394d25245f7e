//! Batches in pieces: what is waiting of an answer in lines is a small chunk of it, whatever the store reads at a time.

use std::{ops::Range, sync::Arc};

use sample::{Alarm, Batch, Column, Timestamp};

/// The rows of a piece that is cut make 20 to 100 kB of lines.
const ROWS_MAX: usize = 1024;

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

    /// The first `rows` of it, and the others.
    pub(crate) fn split(self, rows: usize) -> (Piece, Piece) {
        let first = self.first(rows);
        let rest = self.part(first.rows.end..self.rows.end);
        (first, rest)
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

/// Batches as pieces, the last of which can be given back in part.
pub(crate) struct Pieces<I> {
    batches: I,
    rest: Option<Piece>,
}

impl<I> Pieces<I> {
    pub(crate) fn of(batches: I) -> Pieces<I> {
        Pieces { batches, rest: None }
    }

    /// The first rows of a piece, so many as are written at once where each may carry something. The others come next.
    pub(crate) fn cut(&mut self, piece: Piece) -> Piece {
        let (first, rest) = piece.split(ROWS_MAX);
        self.rest = Some(rest).filter(|rest| !rest.is_empty());
        first
    }
}

impl<I: Iterator<Item = Result<Batch, E>>, E> Iterator for Pieces<I> {
    type Item = Result<Piece, E>;

    fn next(&mut self) -> Option<Result<Piece, E>> {
        match self.rest.take() {
            Some(rest) => Some(Ok(rest)),
            None => self.batches.next().map(|batch| batch.map(Piece::from)),
        }
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
        let (mut whole_ones, mut pieces) = (Pieces::of(batches.into_iter()), Vec::new());
        while let Some(piece) = whole_ones.next() {
            pieces.push(piece.map(|piece| whole_ones.cut(piece)));
        }
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

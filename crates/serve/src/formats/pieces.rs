//! Batches in pieces: what is waiting of an answer in lines is a small chunk of it, whatever the store reads at a time.

use std::collections::VecDeque;

use sample::Batch;

use crate::crowd::is_crowded;

/// So many rows are 45 to 200 kB of lines.
const ROWS_MAX: usize = 2048;
/// The same where many answers are under way.
const ROWS_IN_CROWD: usize = 512;

/// The same samples in batches of so many rows at most.
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
    type Item = Result<Batch, E>;

    fn next(&mut self) -> Option<Result<Batch, E>> {
        if let Some(piece) = self.rest.pop_front() {
            return Some(Ok(piece));
        }
        let rows_max = if is_crowded() { ROWS_IN_CROWD } else { ROWS_MAX };
        let batch = match self.batches.next()? {
            Ok(batch) if batch.len() > rows_max => batch,
            small => return Some(small),
        };
        let starts = (0..batch.len()).step_by(rows_max);
        self.rest.extend(starts.map(|start| batch.slice(start..batch.len().min(start + rows_max))));
        self.rest.pop_front().map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use sample::{Alarm, Column, Runs, Timestamp};

    use super::*;

    #[test]
    fn pieces_are_the_whole_and_none_is_large() {
        let rows = 2 * ROWS_MAX + 5;
        let (mut alarms, mut pulses) = (Runs::default(), Runs::default());
        alarms.push(&Alarm::default(), rows);
        pulses.push(&0, rows);
        let times: Vec<Timestamp> = (0..rows as i64).map(Timestamp::from_nanos).collect();
        let values = Column::I64((0..rows as i64).collect());
        let whole = Batch::from_columns(times, values, alarms, pulses).unwrap();
        let batches = [Ok(whole.clone()), Err("damage"), Ok(whole.slice(0..3))];
        let pieces: Vec<_> = Pieces::of(batches.into_iter()).collect();
        let lengths: Vec<_> =
            pieces.iter().map(|piece| piece.as_ref().map(Batch::len).map_err(|error| *error)).collect();
        assert_eq!(lengths, [Ok(ROWS_MAX), Ok(ROWS_MAX), Ok(5), Err("damage"), Ok(3)]);
        let mut again = Batch::new(whole.value_type());
        for piece in pieces.iter().flatten().take(3) {
            assert!(again.extend_from(piece, 0..piece.len()));
        }
        assert_eq!(again, whole);
    }
}

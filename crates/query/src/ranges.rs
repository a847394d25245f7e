//! Several ranges of one PV, one after the other. Each may begin with the last sample before it; what an earlier range has given
//! is not given again.

use sample::{Batch, Timestamp};

use crate::Error;

/// The batches of all ranges, which are in order of time.
pub struct Ranges<I> {
    left: std::vec::IntoIter<I>,
    current: Option<I>,
    /// The newest time that was given, and the one that was when the present range began.
    newest: Option<Timestamp>,
    given_before: Option<Timestamp>,
}

impl<I> Ranges<I> {
    /// Those of each source in turn.
    pub fn new(sources: Vec<I>) -> Ranges<I> {
        let mut left = sources.into_iter();
        let current = left.next();
        Ranges { left, current, newest: None, given_before: None }
    }

    /// What earlier ranges have not given of a batch; none if that is nothing. An empty batch, by which a source says that it is
    /// still at work, passes.
    fn new_in(&mut self, batch: Batch) -> Option<Batch> {
        let times = batch.times();
        let given = self.given_before.map_or(0, |newest| times.partition_point(|time| *time <= newest));
        self.newest = self.newest.max(times.last().copied());
        match batch.len() - given {
            0 if given > 0 => None,
            _ if given == 0 => Some(batch),
            _ => Some(batch.slice(given..batch.len())),
        }
    }
}

impl<I: Iterator<Item = Result<Batch, Error>>> Iterator for Ranges<I> {
    type Item = Result<Batch, Error>;

    fn next(&mut self) -> Option<Result<Batch, Error>> {
        loop {
            match self.current.as_mut()?.next() {
                Some(Ok(batch)) => {
                    if let Some(batch) = self.new_in(batch) {
                        return Some(Ok(batch));
                    }
                }
                Some(Err(error)) => return Some(Err(error)),
                None => {
                    self.current = self.left.next();
                    self.given_before = self.newest;
                }
            }
        }
    }
}

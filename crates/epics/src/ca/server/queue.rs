//! The queue of one subscription: the numbers of the updates that are still to be sent, as runs.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::VecDeque;

use super::Depth;

/// Numbers that rise, in runs of neighbours: an unbroken backlog is one run, however long.
#[derive(Debug, Default)]
pub(super) struct Queue {
    runs: VecDeque<(u64, u64)>,
    len: u64,
}

impl Queue {
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds an update; true if it took the place of the one before, as there was room for `depth` only.
    pub(super) fn push(&mut self, number: u64, depth: Depth) -> bool {
        let is_full = matches!(depth, Depth::Places(places) if self.len >= places.max(1) as u64);
        if is_full {
            self.pop_back();
        }
        match self.runs.back_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => self.runs.push_back((number, number)),
        }
        self.len += 1;
        is_full
    }

    pub(super) fn pop(&mut self) -> Option<u64> {
        let (first, last) = self.runs.front_mut()?;
        let number = *first;
        if first == last {
            self.runs.pop_front();
        } else {
            *first += 1;
        }
        self.len -= 1;
        Some(number)
    }

    fn pop_back(&mut self) {
        if let Some((first, last)) = self.runs.back_mut() {
            if first == last {
                self.runs.pop_back();
            } else {
                *last -= 1;
            }
            self.len -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drained(queue: &mut Queue) -> Vec<u64> {
        std::iter::from_fn(|| queue.pop()).collect()
    }

    #[test]
    fn a_lossless_queue_keeps_everything_in_one_run() {
        let mut queue = Queue::default();
        for number in 5..100_005 {
            assert!(!queue.push(number, Depth::Lossless));
        }
        assert_eq!((queue.len(), queue.runs.len()), (100_000, 1));
        assert!(drained(&mut queue).into_iter().eq(5..100_005));
        assert!(queue.is_empty());
    }

    #[test]
    fn a_full_queue_gives_the_last_place_to_the_newest() {
        let mut queue = Queue::default();
        let replaced = (1..=10).filter(|number| queue.push(*number, Depth::Places(4))).count();
        assert_eq!((replaced, drained(&mut queue)), (6, vec![1, 2, 3, 10]));
    }
}

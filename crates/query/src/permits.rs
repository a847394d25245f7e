//! Permits: bound how many may do something at the same time.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A number of permits, of which each is taken and given back.
#[derive(Debug)]
pub struct Permits {
    taken: AtomicUsize,
    most: usize,
}

/// One that is taken, until it is dropped.
#[derive(Debug)]
pub struct Permit<'p>(&'p Permits);

impl Permits {
    /// This many.
    pub const fn of(most: usize) -> Permits {
        Permits { taken: AtomicUsize::new(0), most }
    }

    /// Takes one; none if all are taken.
    pub fn take(&self) -> Option<Permit<'_>> {
        let more = |taken: usize| (taken < self.most).then_some(taken + 1);
        self.taken.fetch_update(Relaxed, Relaxed, more).ok().map(|_| Permit(self))
    }

    /// How many are taken.
    pub fn taken(&self) -> usize {
        self.taken.load(Relaxed)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_are_taken_than_there_are_and_each_comes_back() {
        let permits = Permits::of(2);
        let (one, two) = (permits.take(), permits.take());
        assert!(one.is_some() && two.is_some() && permits.take().is_none());
        drop(one);
        assert_eq!(permits.taken(), 1);
        assert!(permits.take().is_some());
    }
}

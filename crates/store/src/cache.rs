//! The cache: levels, the indexes and summaries of blocks, what pieces of blocks amount to, and outlines of blocks, that were read, verified
//! and decoded, for whoever asks for bins again. A page that shows a year does so every few seconds, and most of what it takes to answer is the
//! same each time. How much it may hold of each stands in `read/parts.rs`.
//!
//! ```text
//!   read ──► young ──── once they take half of the memory for it ────► old ──► forgotten
//!              ▲                                                        │
//!              └──────────────────────── asked for again ───────────────┘
//! ```

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex},
};

use archive::PvId;

/// The number of a segment, and a PV of which it has samples.
pub(crate) type Place = (u64, PvId);

/// What can be remembered.
pub(crate) trait Remember {
    /// About what it takes of memory.
    fn bytes(&self) -> usize;
}

/// What was asked for lately, of one kind.
#[derive(Debug)]
pub(crate) struct Remembered<T, P = Place> {
    generations: Mutex<Generations<T, P>>,
}

#[derive(Debug)]
struct Generations<T, P> {
    /// The young take so many bytes at most, and so do the old.
    half_bytes_max: usize,
    young: HashMap<P, Arc<T>>,
    young_bytes: usize,
    old: HashMap<P, Arc<T>>,
}

impl<T: Remember, P: Hash + Eq> Remembered<T, P> {
    /// In at most so many bytes.
    pub(crate) fn within(bytes_max: usize) -> Remembered<T, P> {
        let (young, old) = (HashMap::new(), HashMap::new());
        Remembered {
            generations: Mutex::new(Generations { half_bytes_max: bytes_max / 2, young, young_bytes: 0, old }),
        }
    }

    pub(crate) fn get(&self, place: P) -> Option<Arc<T>> {
        let mut generations = self.generations.lock().expect("no holder of this lock panics");
        if let Some(young) = generations.young.get(&place) {
            return Some(young.clone());
        }
        let old = generations.old.remove(&place)?;
        generations.put(place, old.clone());
        Some(old)
    }

    pub(crate) fn put(&self, place: P, value: Arc<T>) {
        self.generations.lock().expect("no holder of this lock panics").put(place, value);
    }
}

impl<T: Remember, P: Hash + Eq> Generations<T, P> {
    fn put(&mut self, place: P, value: Arc<T>) {
        let bytes = value.bytes();
        if bytes > self.half_bytes_max {
            return;
        }
        if self.young_bytes + bytes > self.half_bytes_max {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        self.young_bytes += bytes;
        if let Some(before) = self.young.insert(place, value) {
            self.young_bytes -= before.bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES_MAX: usize = 32 << 20;

    struct Kilobytes(usize);

    impl Remember for Kilobytes {
        fn bytes(&self) -> usize {
            self.0 << 10
        }
    }

    #[test]
    fn what_is_asked_for_again_stays_and_all_of_it_takes_a_bounded_memory() {
        let remembered = Remembered::within(BYTES_MAX);
        let place = |number| (number, PvId(7));
        for number in 0..2000 {
            remembered.put(place(number), Arc::new(Kilobytes(100)));
            assert!(remembered.get(place(0)).is_some(), "{number}: it is asked for all the time");
        }
        assert!(remembered.get(place(1)).is_none(), "nobody asked for it since");
        assert!(remembered.get(place(1999)).is_some());
        remembered.put(place(2000), Arc::new(Kilobytes(1 + BYTES_MAX / 2 / 1024)));
        assert!(remembered.get(place(2000)).is_none(), "it would take the place of all others");
        let Generations { young, young_bytes, old, .. } = remembered.generations.into_inner().expect("nobody panicked");
        let bytes = |of: &HashMap<Place, Arc<Kilobytes>>| of.values().map(|value| value.bytes()).sum::<usize>();
        assert_eq!(young_bytes, bytes(&young));
        assert!(bytes(&young) <= BYTES_MAX / 2 && bytes(&old) <= BYTES_MAX / 2);
        assert!(bytes(&young) + bytes(&old) > BYTES_MAX / 2, "it is made use of");
    }

    #[test]
    fn what_takes_the_place_of_another_is_counted_once() {
        let remembered = Remembered::within(BYTES_MAX);
        for kilobytes in [100, 300, 200] {
            remembered.put((1, PvId(7)), Arc::new(Kilobytes(kilobytes)));
        }
        assert_eq!(remembered.generations.into_inner().expect("nobody panicked").young_bytes, 200 << 10);
    }
}

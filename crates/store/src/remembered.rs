//! What is remembered: levels, and the indexes and summaries of blocks, that were read, verified and decoded, for who asks for bins
//! again. A page that shows a year does so every few seconds, and most of what it takes to answer is the same each time.
//!
//! ```text
//!   read ──► young ──── once they take half of all memory for it ────► old ──► forgotten
//!              ▲                                                        │
//!              └──────────────────────── asked for again ───────────────┘
//! ```

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use sample::PvId;

/// The young of a kind take so many bytes at most, and so do the old: levels of ten minutes of six PVs, or the indexes of five, that
/// came at 10 Hz for a year.
const HALF_BYTES_MAX: usize = 16 << 20;

/// The number of a segment, and a PV of which it has samples.
pub(crate) type Place = (u64, PvId);

/// What can be remembered.
pub(crate) trait Remember {
    /// About what it takes of memory.
    fn bytes(&self) -> usize;
}

/// What was asked for lately, of one kind.
#[derive(Debug)]
pub(crate) struct Remembered<T> {
    generations: Mutex<Generations<T>>,
}

#[derive(Debug)]
struct Generations<T> {
    young: HashMap<Place, Arc<T>>,
    young_bytes: usize,
    old: HashMap<Place, Arc<T>>,
}

impl<T> Default for Remembered<T> {
    fn default() -> Remembered<T> {
        let (young, old) = (HashMap::new(), HashMap::new());
        Remembered { generations: Mutex::new(Generations { young, young_bytes: 0, old }) }
    }
}

impl<T: Remember> Remembered<T> {
    pub(crate) fn get(&self, place: Place) -> Option<Arc<T>> {
        let mut generations = self.generations.lock().expect("no holder of this lock panics");
        if let Some(young) = generations.young.get(&place) {
            return Some(young.clone());
        }
        let old = generations.old.remove(&place)?;
        generations.put(place, old.clone());
        Some(old)
    }

    pub(crate) fn put(&self, place: Place, value: Arc<T>) {
        self.generations.lock().expect("no holder of this lock panics").put(place, value);
    }
}

impl<T: Remember> Generations<T> {
    fn put(&mut self, place: Place, value: Arc<T>) {
        let bytes = value.bytes();
        if bytes > HALF_BYTES_MAX {
            return;
        }
        if self.young_bytes + bytes > HALF_BYTES_MAX {
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

    struct Kilobytes(usize);

    impl Remember for Kilobytes {
        fn bytes(&self) -> usize {
            self.0 << 10
        }
    }

    #[test]
    fn what_is_asked_for_again_stays_and_all_of_it_takes_a_bounded_memory() {
        let remembered = Remembered::default();
        let place = |number| (number, PvId(7));
        for number in 0..2000 {
            remembered.put(place(number), Arc::new(Kilobytes(100)));
            assert!(remembered.get(place(0)).is_some(), "{number}: it is asked for all the time");
        }
        assert!(remembered.get(place(1)).is_none(), "nobody asked for it since");
        assert!(remembered.get(place(1999)).is_some());
        remembered.put(place(2000), Arc::new(Kilobytes(1 + HALF_BYTES_MAX / 1024)));
        assert!(remembered.get(place(2000)).is_none(), "it would take the place of all others");
        let Generations { young, young_bytes, old } = remembered.generations.into_inner().expect("nobody panicked");
        let bytes = |of: &HashMap<Place, Arc<Kilobytes>>| of.values().map(|value| value.bytes()).sum::<usize>();
        assert_eq!(young_bytes, bytes(&young));
        assert!(bytes(&young) <= HALF_BYTES_MAX && bytes(&old) <= HALF_BYTES_MAX);
        assert!(bytes(&young) + bytes(&old) > HALF_BYTES_MAX, "it is made use of");
    }

    #[test]
    fn what_takes_the_place_of_another_is_counted_once() {
        let remembered = Remembered::default();
        for kilobytes in [100, 300, 200] {
            remembered.put((1, PvId(7)), Arc::new(Kilobytes(kilobytes)));
        }
        assert_eq!(remembered.generations.into_inner().expect("nobody panicked").young_bytes, 200 << 10);
    }
}

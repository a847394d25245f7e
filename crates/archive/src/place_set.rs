//! Place sets: which of neighbouring places in the order of names are meant, a bit for each.

use std::ops::Range;

/// Some of the places of a stretch. What lies outside of the stretch is never in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceSet {
    within: Range<usize>,
    words: Vec<u64>,
}

const WORD: usize = u64::BITS as usize;

impl PlaceSet {
    /// None of these places.
    pub fn none_of(within: Range<usize>) -> PlaceSet {
        PlaceSet { words: vec![0; within.len().div_ceil(WORD)], within }
    }

    /// What a set takes of so many places.
    pub fn bytes_of(places: usize) -> usize {
        places.div_ceil(WORD) * size_of::<u64>()
    }

    /// Puts places in.
    pub fn put(&mut self, places: Range<usize>) {
        for (word, bits) in self.bits_of(places) {
            self.words[word] |= bits;
        }
    }

    /// Takes a place out.
    pub fn take(&mut self, place: usize) {
        for (word, bits) in self.bits_of(place..place + 1) {
            self.words[word] &= !bits;
        }
    }

    /// Whether a place is in it.
    pub fn has(&self, place: usize) -> bool {
        self.count(place..place + 1) == 1
    }

    /// How many of these places are in it.
    pub fn count(&self, places: Range<usize>) -> usize {
        self.bits_of(places).map(|(word, bits)| (self.words[word] & bits).count_ones() as usize).sum()
    }

    /// The first place in it that does not come before this one.
    pub fn next(&self, from: usize) -> Option<usize> {
        let from = from.saturating_sub(self.within.start);
        let first = from / WORD;
        let rest = self.words.get(first)? & (!0 << (from % WORD));
        let words = std::iter::once(rest).chain(self.words[first + 1..].iter().copied());
        let (word, bits) = (first..).zip(words).find(|(_, bits)| *bits != 0)?;
        Some(self.within.start + word * WORD + bits.trailing_zeros() as usize)
    }

    /// The words in which places lie, as far as they are of the stretch, and the bits of each.
    fn bits_of(&self, places: Range<usize>) -> impl Iterator<Item = (usize, u64)> + use<> {
        let Range { start, end } = self.within;
        let (first, behind) = (places.start.clamp(start, end) - start, places.end.clamp(start, end) - start);
        let words = if first < behind { first / WORD..behind.div_ceil(WORD) } else { 0..0 };
        words.map(move |word| {
            let (low, high) = (word * WORD, (word + 1) * WORD);
            (word, (!0 << first.saturating_sub(low)) & (!0 >> high.saturating_sub(behind)))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn places_come_and_go_as_in_a_plain_set(
            start in 0..200_usize,
            len in 0..300_usize,
            steps in proptest::collection::vec((0..600_usize, 0..200_usize, any::<bool>()), 0..20),
        ) {
            let within = start..start + len;
            let (mut set, mut plain) = (PlaceSet::none_of(within.clone()), BTreeSet::new());
            for (first, len, is_put) in steps {
                if is_put {
                    set.put(first..first + len);
                    plain.extend((first..first + len).filter(|place| within.contains(place)));
                } else {
                    set.take(first);
                    plain.remove(&first);
                }
                prop_assert_eq!(set.count(first..first + len), plain.range(first..first + len).count());
                prop_assert_eq!(set.next(first), plain.range(first..).next().copied());
                prop_assert_eq!(set.has(first), plain.contains(&first));
            }
            prop_assert_eq!(set.count(0..usize::MAX), plain.len());
        }
    }
}

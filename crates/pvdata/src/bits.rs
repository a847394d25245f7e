//! Sets of field numbers: which fields of a structure an update carries.
//!
//! ```text
//!   bitset := size byte*size        whole groups of eight in the message's byte order, the rest low byte first
//! ```

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use crate::{
    Error,
    types::{FIELDS_MAX, check},
    wire::{Reader, Writer},
};

/// Field numbers: which fields of a structure an update carries. Up to 64 fields cost no allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BitSet {
    first: u64,
    more: Vec<u64>,
}

impl BitSet {
    /// Adds a field number.
    pub fn insert(&mut self, bit: usize) {
        let (word, mask) = (bit / 64, 1 << (bit % 64));
        if word == 0 {
            self.first |= mask;
            return;
        }
        if self.more.len() < word {
            self.more.resize(word, 0);
        }
        if let Some(bits) = self.more.get_mut(word - 1) {
            *bits |= mask;
        }
    }

    /// Whether the field is in it.
    pub fn contains(&self, bit: usize) -> bool {
        self.word(bit / 64) >> (bit % 64) & 1 == 1
    }

    /// Whether no field is in it.
    pub fn is_empty(&self) -> bool {
        self.first == 0 && self.more.iter().all(|bits| *bits == 0)
    }

    /// The lowest field number in it from `bit` on.
    pub fn next_from(&self, bit: usize) -> Option<usize> {
        let mut index = bit / 64;
        let mut bits = self.word(index) & (u64::MAX << (bit % 64));
        while bits == 0 {
            index += 1;
            if index > self.more.len() {
                return None;
            }
            bits = self.word(index);
        }
        Some(index * 64 + bits.trailing_zeros() as usize)
    }

    /// Adds all field numbers of the other.
    pub fn insert_all(&mut self, other: &BitSet) {
        self.first |= other.first;
        if self.more.len() < other.more.len() {
            self.more.resize(other.more.len(), 0);
        }
        self.more.iter_mut().zip(&other.more).for_each(|(bits, more)| *bits |= more);
    }

    /// The field numbers that are in both.
    pub fn common(&self, other: &BitSet) -> BitSet {
        let more = self.more.iter().zip(&other.more).map(|(a, b)| a & b).collect();
        BitSet { first: self.first & other.first, more }
    }

    /// The field numbers in it, rising.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let mut at = 0;
        std::iter::from_fn(move || {
            let found = self.next_from(at)?;
            at = found + 1;
            Some(found)
        })
    }

    fn word(&self, index: usize) -> u64 {
        if index == 0 { self.first } else { self.more.get(index - 1).copied().unwrap_or(0) }
    }
}

impl FromIterator<usize> for BitSet {
    fn from_iter<I: IntoIterator<Item = usize>>(bits: I) -> BitSet {
        let mut set = BitSet::default();
        bits.into_iter().for_each(|bit| set.insert(bit));
        set
    }
}

impl Reader<'_> {
    /// A set of field numbers.
    pub fn bits(&mut self) -> Result<BitSet, Error> {
        let what = "a bit set";
        let size = self.count(what)?;
        check(what, size, FIELDS_MAX / 8)?;
        let mut bytes = Reader::new(self.take(size, what)?, self.order());
        let mut set = BitSet::default();
        for word in 0.. {
            let bits = match bytes.rest().len() {
                0 => break,
                8.. => bytes.u64(what)?,
                few => bytes.take(few, what)?.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte)),
            };
            if word == 0 { set.first = bits } else { set.more.push(bits) }
        }
        Ok(set)
    }
}

impl Writer {
    /// A set of field numbers, without trailing zero bytes.
    pub fn bits(&mut self, set: &BitSet) {
        let words: Vec<u64> = std::iter::once(set.first).chain(set.more.iter().copied()).collect();
        let last = words.iter().rposition(|word| *word != 0).unwrap_or(0);
        let top = words.get(last).copied().unwrap_or(0);
        let top_bytes = (64 - top.leading_zeros() as usize).div_ceil(8);
        self.size(Some(last * 8 + top_bytes));
        words.iter().take(last).for_each(|word| self.u64(*word));
        match top_bytes {
            8 => self.u64(top),
            few => top.to_le_bytes().iter().take(few).for_each(|byte| self.u8(*byte)),
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panic")]
mod tests {
    use super::*;
    use crate::wire::Order;

    #[test]
    fn sets_are_joined_and_compared_across_words() {
        let set = |bits: &[usize]| bits.iter().copied().collect::<BitSet>();
        let (short, long) = (set(&[1, 5]), set(&[5, 63, 64, 130]));
        assert_eq!(short.common(&long).iter().collect::<Vec<_>>(), [5]);
        assert_eq!(long.common(&set(&[64, 131, 200])).iter().collect::<Vec<_>>(), [64]);
        let mut joined = short.clone();
        joined.insert_all(&long);
        assert_eq!(joined.iter().collect::<Vec<_>>(), [1, 5, 63, 64, 130]);
        assert!(short.common(&set(&[64])).is_empty());
    }

    #[test]
    fn bit_sets_round_trip_across_words_in_both_orders() {
        for order in [Order::Little, Order::Big] {
            for bits in [vec![], vec![0], vec![7, 8], vec![63], vec![64], vec![1, 63, 64, 130], vec![200]] {
                let set: BitSet = bits.iter().copied().collect();
                let mut writer = Writer::new(order);
                writer.bits(&set);
                let bytes = writer.into_bytes();
                let read = Reader::new(&bytes, order).bits().unwrap();
                let mut found = vec![];
                let mut at = 0;
                while let Some(bit) = read.next_from(at) {
                    assert!(read.contains(bit));
                    found.push(bit);
                    at = bit + 1;
                }
                assert_eq!(found, bits, "{order:?}");
                assert_eq!(read.is_empty(), bits.is_empty());
            }
        }
    }
}

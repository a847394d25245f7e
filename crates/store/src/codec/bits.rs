//! Bits: numbers of a common width, packed without padding, lowest bits first.
//!
//! 64 numbers of `width` bits are `width` whole words, so that all work is done in groups of 64: for each width there is one
//! function without a branch, whose shifts the compiler knows. That unpacks a number in a third of a nanosecond where a loop
//! that carries bits from number to number takes two.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::ops::Range;

use crate::bytes::{Cursor, Malformed};

/// Numbers that are packed and unpacked together.
pub(crate) const GROUP: usize = 64;

/// So few are packed one by one in less time than a group takes.
const FEW: usize = 24;

/// How many bits the number needs.
pub(crate) fn width(number: u64) -> u32 {
    u64::BITS - number.leading_zeros()
}

/// How many bytes `count` numbers of that width take.
pub(crate) fn packed_len(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

/// Numbers of one width that are still packed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed<'a> {
    bytes: &'a [u8],
    count: usize,
    width: usize,
}

impl<'a> Packed<'a> {
    /// Takes `count` numbers of `width` bits, still packed.
    pub(crate) fn take(cursor: &mut Cursor<'a>, count: usize, width: u32) -> Result<Packed<'a>, Malformed> {
        if width > 64 {
            return Err(Malformed("a packed number has more than 64 bits"));
        }
        let bits = count.checked_mul(width as usize).ok_or(Malformed("a count is too large"))?;
        Ok(Packed { bytes: cursor.take(bits.div_ceil(8))?, count, width: width as usize })
    }

    /// Its bytes, and how many bits each number has.
    pub(crate) fn bits(&self) -> (&'a [u8], u32) {
        (self.bytes, self.width as u32)
    }

    /// One number; 0 beyond them all.
    pub(crate) fn get(&self, row: usize) -> u64 {
        if self.width == 0 || row >= self.count {
            return 0;
        }
        let (byte, shift) = (row * self.width / 8, row * self.width % 8);
        let bytes = self.bytes.get(byte..).unwrap_or_default();
        // The bits of a number lie in nine bytes at most.
        let places = bytes.first_chunk().copied().unwrap_or_else(|| {
            let mut places = [0; 16];
            places.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            places
        });
        (u128::from_le_bytes(places) >> shift) as u64 & (u64::MAX >> (64 - self.width))
    }

    /// Unpacks some of so few numbers that they fill only a small part of a group.
    fn each_of_few(&self, rows: Range<usize>, mut each: impl FnMut(usize, &mut [u64])) {
        let mask = if self.width == 0 { 0 } else { u64::MAX >> (GROUP - self.width) };
        let (mut numbers, mut bytes) = ([0; FEW], self.bytes);
        let (mut bits, mut filled) = (0u128, 0);
        for number in numbers.iter_mut().take(rows.end) {
            if filled < self.width {
                let word = match bytes.split_first_chunk() {
                    Some((word, rest)) => {
                        bytes = rest;
                        u64::from_le_bytes(*word)
                    }
                    None => std::mem::take(&mut bytes).iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
                };
                bits |= u128::from(word) << filled;
                filled += GROUP;
            }
            *number = bits as u64 & mask;
            bits >>= self.width;
            filled -= self.width;
        }
        if let Some(wanted) = numbers.get_mut(rows.clone()).filter(|wanted| !wanted.is_empty()) {
            each(rows.start, wanted);
        }
    }

    /// Unpacks the numbers of some rows, in groups of at most 64 that end where a multiple of 64 begins; `each` gets the row
    /// of the first of a group and the group.
    pub(crate) fn each(&self, rows: Range<usize>, mut each: impl FnMut(usize, &mut [u64])) {
        let end = rows.end.min(self.count);
        if end <= FEW {
            return self.each_of_few(rows.start..end, each);
        }
        let unpack = UNPACK.get(self.width).copied().unwrap_or(unpack::<0>);
        let group_len = self.width * (GROUP / 8);
        let mut numbers = [0; GROUP];
        let mut group = rows.start - rows.start % GROUP;
        while group < end {
            let bytes = self.bytes.get(group / GROUP * group_len..).unwrap_or_default();
            if let Some((whole, _)) = bytes.split_at_checked(group_len) {
                unpack(whole, &mut numbers);
            } else {
                let mut padded = [0; GROUP * 8];
                padded.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
                unpack(&padded, &mut numbers);
            }
            let first = rows.start.max(group);
            if let Some(wanted) = numbers.get_mut(first - group..(end - group).min(GROUP)) {
                each(first, wanted);
            }
            group += GROUP;
        }
    }
}

/// Repeats a statement for each place in a group.
macro_rules! each_place {
    ($step:ident) => {
        each_place!($step: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
            32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63)
    };
    ($step:ident: $($place:literal)*) => { $($step!($place);)* };
}

/// One function for each width from 0 to 64.
macro_rules! of_each_width {
    ($function:ident) => {
        of_each_width!($function: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
            32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64)
    };
    ($function:ident: $($width:literal)*) => { [$($function::<$width>),*] };
}

type Unpack = fn(&[u8], &mut [u64; GROUP]);
type Pack = fn(&[u64; GROUP], &mut [u8; GROUP * 8]);

const UNPACK: [Unpack; 65] = of_each_width!(unpack);
const PACK: [Pack; 65] = of_each_width!(pack_group);

/// Unpacks a group of `W` words.
#[expect(clippy::indexing_slicing, reason = "every index is known when this is compiled, and less than 65")]
fn unpack<const W: usize>(bytes: &[u8], numbers: &mut [u64; GROUP]) {
    let mut words = [0u64; GROUP + 1];
    for (word, bytes) in words.iter_mut().take(W).zip(bytes.as_chunks().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    let mask = if W == 0 { 0 } else { u64::MAX >> (GROUP - W.max(1)) };
    macro_rules! number {
        ($place:literal) => {
            let (word, shift) = ($place * W / 64, $place * W % 64);
            let high = if shift + W > 64 { words[word + 1] << (64 - shift) } else { 0 };
            numbers[$place] = (words[word] >> shift | high) & mask;
        };
    }
    each_place!(number);
}

/// Packs a group into `W` words. No number has more than `W` bits.
#[expect(clippy::indexing_slicing, reason = "every index is known when this is compiled, and less than 65")]
fn pack_group<const W: usize>(numbers: &[u64; GROUP], bytes: &mut [u8; GROUP * 8]) {
    let mut words = [0u64; GROUP + 1];
    macro_rules! number {
        ($place:literal) => {
            let (word, shift) = ($place * W / 64, $place * W % 64);
            words[word] |= numbers[$place] << shift;
            if shift + W > 64 {
                words[word + 1] |= numbers[$place] >> (64 - shift);
            }
        };
    }
    each_place!(number);
    for (word, bytes) in words.iter().take(W).zip(bytes.as_chunks_mut().0) {
        *bytes = word.to_le_bytes();
    }
}

/// Packs numbers that fill only a small part of a group.
fn pack_few(out: &mut Vec<u8>, numbers: impl Iterator<Item = u64>, width: u32) {
    let (mut bits, mut filled) = (0u128, 0);
    for number in numbers {
        bits |= u128::from(number) << filled;
        filled += width;
        if filled >= 64 {
            out.extend_from_slice(&(bits as u64).to_le_bytes());
            bits >>= 64;
            filled -= 64;
        }
    }
    out.extend(bits.to_le_bytes().iter().take(filled.div_ceil(8) as usize));
}

/// Appends numbers, of each its lowest `width` bits.
pub(crate) fn pack(out: &mut Vec<u8>, mut numbers: impl ExactSizeIterator<Item = u64>, width: u32) {
    let end = out.len() + packed_len(numbers.len(), width);
    out.reserve(end - out.len());
    let pack = PACK.get(width as usize).copied().unwrap_or(pack_group::<64>);
    let mask = if width == 0 { 0 } else { u64::MAX >> (64 - width.min(64)) };
    if numbers.len() <= FEW {
        return pack_few(out, numbers.map(|number| number & mask), width);
    }
    let mut bytes = [0; GROUP * 8];
    while numbers.len() > 0 {
        let mut group = [0; GROUP];
        group.iter_mut().zip(&mut numbers).for_each(|(to, number)| *to = number & mask);
        pack(&group, &mut bytes);
        let len = (width as usize * 8).min(end - out.len());
        out.extend_from_slice(bytes.get(..len).unwrap_or_default());
    }
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test may panic")]
mod tests {
    use super::*;

    fn noise(count: usize, bits: u32) -> Vec<u64> {
        let mask = if bits == 0 { 0 } else { u64::MAX >> (64 - bits) };
        (0..count as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(7) & mask).collect()
    }

    fn unpacked(packed: &[u8], count: usize, bits: u32, rows: Range<usize>) -> Vec<u64> {
        let mut cursor = Cursor::new(packed);
        let mut numbers = Vec::new();
        let packed = Packed::take(&mut cursor, count, bits).expect("there are as many bytes as it takes");
        packed.each(rows.clone(), |first, group| {
            assert_eq!(first, rows.start + numbers.len());
            numbers.extend_from_slice(group);
        });
        assert!(cursor.is_empty());
        numbers
    }

    #[test]
    fn numbers_of_every_width_and_count_come_back() {
        for bits in 0..=64u32 {
            for count in [0usize, 1, 7, 24, 25, 63, 64, 65, 129, 200] {
                let numbers = noise(count, bits);
                let mut packed = vec![7];
                pack(&mut packed, numbers.iter().copied(), bits);
                assert_eq!(packed.len(), 1 + packed_len(count, bits));
                assert_eq!(unpacked(&packed[1..], count, bits, 0..count), numbers, "{bits} bits, {count} numbers");
            }
        }
    }

    #[test]
    fn a_number_lies_where_the_format_says() {
        for bits in 1..=64u32 {
            let numbers = noise(150, bits);
            let mut packed = Vec::new();
            pack(&mut packed, numbers.iter().copied(), bits);
            for (row, number) in numbers.iter().enumerate() {
                for bit in 0..bits as usize {
                    let place = row * bits as usize + bit;
                    assert_eq!(u64::from(packed[place / 8] >> (place % 8) & 1), number >> bit & 1, "{bits} bits");
                }
            }
        }
    }

    #[test]
    fn any_rows_are_read_without_the_others() {
        let numbers = noise(300, 13);
        let mut packed = Vec::new();
        pack(&mut packed, numbers.iter().copied(), 13);
        for rows in [0..0, 0..1, 5..64, 63..65, 64..128, 70..299, 299..300, 300..300] {
            assert_eq!(unpacked(&packed, 300, 13, rows.clone()), numbers[rows]);
        }
        for bits in 0..=64u32 {
            let numbers = noise(70, bits);
            let mut packed = Vec::new();
            pack(&mut packed, numbers.iter().copied(), bits);
            let packed =
                Packed::take(&mut Cursor::new(&packed), 70, bits).expect("there are as many bytes as it takes");
            assert!((0..70).all(|row| packed.get(row) == numbers[row]), "{bits} bits");
            assert_eq!(packed.get(70), 0);
        }
    }
}

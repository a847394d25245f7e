//! Bits: numbers of a common width, packed without padding, lowest bits first.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use crate::bytes::{Cursor, Malformed};

/// How many bits the number needs.
pub(crate) fn width(number: u64) -> u32 {
    u64::BITS - number.leading_zeros()
}

/// How many bytes `count` numbers of that width take.
pub(crate) fn packed_len(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

/// Appends numbers of at most `width` bits.
pub(crate) fn pack(out: &mut Vec<u8>, numbers: impl Iterator<Item = u64>, width: u32) {
    let mut pending = 0u128;
    let mut bits = 0;
    for number in numbers {
        pending |= u128::from(number) << bits;
        bits += width;
        if bits >= 64 {
            out.extend_from_slice(&(pending as u64).to_le_bytes());
            pending >>= 64;
            bits -= 64;
        }
    }
    let (last, len) = ((pending as u64).to_le_bytes(), bits.div_ceil(8) as usize);
    out.extend(last.into_iter().take(len));
}

/// Takes `count` numbers of `width` bits.
pub(crate) fn unpack(cursor: &mut Cursor, count: usize, width: u32) -> Result<Vec<u64>, Malformed> {
    if width > 64 {
        return Err(Malformed("a packed number has more than 64 bits"));
    }
    if width == 0 {
        return Ok(vec![0; count]);
    }
    let bytes = cursor.take(count.checked_mul(width as usize).ok_or(Malformed("a count is too large"))?.div_ceil(8))?;
    let mask = u64::MAX >> (64 - width);
    let mut numbers = Vec::with_capacity(count);
    let mut words = bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
        u64::from_le_bytes(word)
    });
    let (mut pending, mut bits) = (0u128, 0);
    for _ in 0..count {
        if bits < width {
            pending |= u128::from(words.next().unwrap_or(0)) << bits;
            bits += 64;
        }
        numbers.push(pending as u64 & mask);
        pending >>= width;
        bits -= width;
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_width_and_count_come_back() {
        for bits in 0..=64u32 {
            for count in [0usize, 1, 7, 64, 65, 129] {
                let mask = if bits == 0 { 0 } else { u64::MAX >> (64 - bits) };
                let numbers: Vec<u64> =
                    (0..count as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(7) & mask).collect();
                let mut packed = Vec::new();
                pack(&mut packed, numbers.iter().copied(), bits);
                assert_eq!(packed.len(), packed_len(count, bits));
                assert_eq!(unpack(&mut Cursor::new(&packed), count, bits), Ok(numbers), "{bits} bits, {count} numbers");
            }
        }
    }
}

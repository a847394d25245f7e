//! The numbers in the names of parts of an import: what a part holds, in 64 bits.
//!
//! A part that was entered is known for ever by its name, so whoever names the same bytes must come to the same number, by whatever
//! program. It is XXH3-64 with the seed 0, of all bytes of the part. Older programs took what the standard library of Rust had, which
//! promises nothing: SipHash-1-3 with a key of zeros, and behind a text the byte FF. An import that one of them began is known by that.

use xxhash_rust::xxh3::xxh3_64;

/// The number of a part.
pub fn part_hash(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}

/// The number that older programs gave to a part of bytes.
pub fn old_part_hash(bytes: &[u8]) -> u64 {
    sip_1_3(bytes)
}

/// The number that older programs gave to a part of text.
pub fn old_text_hash(text: &str) -> u64 {
    sip_1_3(&[text.as_bytes(), &[0xFF]].concat())
}

/// SipHash with one round for each word and three at the end, and a key of zeros.
fn sip_1_3(bytes: &[u8]) -> u64 {
    // "somepseudorandomlygeneratedbytes", as the specification begins.
    let mut v = [0x736f_6d65_7073_6575, 0x646f_7261_6e64_6f6d, 0x6c79_6765_6e65_7261, 0x7465_6462_7974_6573];
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    last[7] = bytes.len() as u8;
    for word in words.iter().chain([&last]) {
        let word = u64::from_le_bytes(*word);
        v[3] ^= word;
        round(&mut v);
        v[0] ^= word;
    }
    v[2] ^= 0xFF;
    (0..3).for_each(|_| round(&mut v));
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

fn round([a, b, c, d]: &mut [u64; 4]) {
    *a = a.wrapping_add(*b);
    *c = c.wrapping_add(*d);
    *b = b.rotate_left(13) ^ *a;
    *d = d.rotate_left(16) ^ *c;
    *a = a.rotate_left(32);
    *c = c.wrapping_add(*b);
    *a = a.wrapping_add(*d);
    *b = b.rotate_left(17) ^ *c;
    *d = d.rotate_left(21) ^ *a;
    *c = c.rotate_left(32);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Length of the bytes, what `DefaultHasher` of Rust 1.95 made of them as bytes, and as a text.
    const RECORDED: [(usize, u64, u64); 12] = [
        (0, 0xd1fba762150c532c, 0x30406ea523c53def),
        (1, 0x407448d2b89b1813, 0x719b50b9a4f0e9f3),
        (7, 0xe2d305073cb5948f, 0xa01bf4bf98484ea6),
        (8, 0x49b2f74c68118c16, 0x825db0a412254721),
        (9, 0x307e930c77787cee, 0x75262eb75724fd50),
        (15, 0x27d3891b5ea2c5ae, 0xdd954eec19973c01),
        (16, 0xb4ae402c0de66d4c, 0xbc92984421ef594f),
        (63, 0xa6f6372bd5e7b051, 0x4b00cf5c8d54654c),
        (64, 0x1ae07ef40d3d6e27, 0x2a825db3611ff01d),
        (65, 0x7c5c36d310c6f973, 0xb1abc7f9a97142e3),
        (255, 0x0708f633d2af60fa, 0xb5cfeaee10d3432f),
        (1000, 0x42a62f01373c88fb, 0x6bcf6a4349cd2fb2),
    ];

    #[test]
    fn what_older_programs_called_a_part_is_still_its_number() {
        for (len, of_bytes, of_text) in RECORDED {
            let text: String = (0..len).map(|i| char::from(b'a' + (i * 7 % 26) as u8)).collect();
            assert_eq!((old_part_hash(text.as_bytes()), old_text_hash(&text)), (of_bytes, of_text), "{len} bytes");
        }
    }

    /// These stand in catalogues: they never change.
    #[test]
    fn the_number_of_a_part_is_that_of_the_specification() {
        assert_eq!(part_hash(b""), 0x2d06_8005_38d3_94c2);
    }
}

//! Random words and their hashes: tokens and sessions are nothing else.

use ring::{
    digest,
    rand::{SecureRandom, SystemRandom},
};

/// Digits and letters: what needs no quotes in a shell, a header or a URL.
const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// 43 letters of 62 are 256 bits.
pub(crate) const SECRET_LETTERS: usize = 43;

/// Makes a text of so many letters, each of which is equally likely.
pub(crate) fn letters(count: usize) -> String {
    let mut text = String::with_capacity(count);
    let mut bytes = [0_u8; 64];
    while text.len() < count {
        SystemRandom::new().fill(&mut bytes).expect("the kernel gives random bytes once it has started");
        // 248 is the last multiple of 62 in a byte: beyond it the first letters would come more often.
        let fair = bytes.iter().filter(|byte| **byte < 248).map(|byte| char::from(LETTERS[usize::from(*byte) % 62]));
        text.extend(fair.take(count - text.len()));
    }
    text
}

/// Whether a text is so many of these letters.
pub(crate) fn are_letters(text: &str, count: usize) -> bool {
    text.len() == count && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// The SHA-256 of a text.
pub(crate) fn hash(text: &str) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest::digest(&digest::SHA256, text.as_bytes()).as_ref());
    hash
}

/// Whether two hashes are the same, in a time that does not tell where they differ.
pub(crate) fn same(one: &[u8; 32], other: &[u8; 32]) -> bool {
    one.iter().zip(other).fold(0, |differs, (one, other)| differs | (one ^ other)) == 0
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn letters_are_as_many_as_asked_for_and_never_the_same_twice() {
        let all: HashSet<String> = (0..1000).map(|_| letters(SECRET_LETTERS)).collect();
        assert_eq!(all.len(), 1000);
        assert!(all.iter().all(|text| are_letters(text, SECRET_LETTERS)));
        let seen: HashSet<char> = all.iter().flat_map(|text| text.chars()).collect();
        assert_eq!(seen.len(), LETTERS.len());
    }

    #[test]
    fn hashes_are_those_of_sha_256() {
        let hex: String = hash("abc").iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert!(same(&hash("abc"), &hash("abc")) && !same(&hash("abc"), &hash("abd")));
    }
}

//! Bytes from the shared store, taken apart without ever trusting a length in them.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use xxhash_rust::xxh3::xxh3_64;

/// Why bytes could not be read as what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

/// What is left of some bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor(bytes)
    }

    /// All that is left.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(Malformed("it ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or(Malformed("it ends too early"))?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    /// Seven bits a byte, the lowest first; the top bit says that more follow.
    pub(crate) fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Malformed("a number has more than 64 bits"))
    }

    /// How many things follow, each of at least `least` bytes: never more than there is room for.
    pub(crate) fn count(&mut self, least: usize) -> Result<usize, Malformed> {
        let count = usize::try_from(self.varint()?).map_err(|_| Malformed("a count is too large"))?;
        if count > self.0.len() / least.max(1) {
            return Err(Malformed("a count is too large"));
        }
        Ok(count)
    }

    /// A length followed by so many bytes.
    pub(crate) fn blob(&mut self) -> Result<&'a [u8], Malformed> {
        let len = self.count(1)?;
        self.take(len)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, Malformed> {
        std::str::from_utf8(self.blob()?).map_err(|_| Malformed("a text is not UTF-8"))
    }

    /// Says that nothing may be left.
    pub(crate) fn end(&self) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed("it goes on behind its end")) }
    }
}

pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn put_blob(out: &mut Vec<u8>, blob: &[u8]) {
    put_varint(out, blob.len() as u64);
    out.extend_from_slice(blob);
}

/// Enters the checksum into the eight bytes that were left for it.
pub(crate) fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    if let Some((check, rest)) = bytes.split_first_chunk_mut::<8>() {
        *check = xxh3_64(rest).to_le_bytes();
    }
    bytes
}

/// The version of bytes whose checksum is right, and what follows it.
pub(crate) fn unsealed(bytes: &[u8]) -> std::result::Result<(u16, Cursor<'_>), Malformed> {
    let mut cursor = Cursor::new(bytes);
    let check = cursor.u64()?;
    if xxh3_64(cursor.clone().rest()) != check {
        return Err(Malformed("its checksum is wrong"));
    }
    let version = cursor.u16()?;
    if version == 0 {
        return Err(Malformed("it has no version"));
    }
    Ok((version, cursor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length_come_back() {
        for value in [0, 1, 127, 128, 16_383, 16_384, u64::MAX] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            let mut cursor = Cursor::new(&bytes);
            assert_eq!(cursor.varint(), Ok(value));
            assert_eq!(cursor.end(), Ok(()));
        }
        assert!(Cursor::new(&[0xff; 10]).varint().is_err(), "70 bits");
    }

    #[test]
    fn a_count_is_never_more_than_what_follows_can_hold() {
        assert!(Cursor::new(&[200, 1, 0, 0]).count(1).is_err());
        assert_eq!(Cursor::new(&[2, 0, 0, 0, 0]).count(2), Ok(2));
        assert!(Cursor::new(&[3, 0, 0, 0, 0]).count(2).is_err());
    }
}

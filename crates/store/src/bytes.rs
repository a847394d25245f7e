//! Bytes from disk, taken apart without ever trusting a length in them.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

/// Why bytes could not be read as what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

/// What is left of some bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes }
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The next byte, which stays where it is.
    pub(crate) fn first(&self) -> Option<u8> {
        self.bytes.first().copied()
    }

    /// The next `len` bytes.
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.bytes.split_at_checked(len).ok_or(Malformed("it ends too early"))?;
        self.bytes = rest;
        Ok(taken)
    }

    /// All that is left.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.bytes)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.bytes.split_first_chunk::<N>().ok_or(Malformed("it ends too early"))?;
        self.bytes = rest;
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

    pub(crate) fn i64(&mut self) -> Result<i64, Malformed> {
        self.array().map(i64::from_le_bytes)
    }

    /// Seven bits a byte, the lowest first; the top bit says that more follow.
    pub(crate) fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(Malformed("a number has more than 64 bits"));
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Malformed("a number has more than 64 bits"))
    }

    /// A signed number as a varint: 0, -1, 1, -2, … as 0, 1, 2, 3, ….
    pub(crate) fn zigzag(&mut self) -> Result<i64, Malformed> {
        self.varint().map(|v| (v >> 1) as i64 ^ -((v & 1) as i64))
    }

    /// A length that counts things of at least one bit each, or is below a limit that the caller states.
    pub(crate) fn count(&mut self, max: usize) -> Result<usize, Malformed> {
        usize::try_from(self.varint()?).ok().filter(|count| *count <= max).ok_or(Malformed("a count is too large"))
    }

    /// A length followed by so many bytes.
    pub(crate) fn blob(&mut self) -> Result<&'a [u8], Malformed> {
        let len = self.count(self.len())?;
        self.take(len)
    }
}

pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn put_zigzag(out: &mut Vec<u8>, value: i64) {
    put_varint(out, (value << 1 ^ value >> 63) as u64);
}

pub(crate) fn put_blob(out: &mut Vec<u8>, blob: &[u8]) {
    put_varint(out, blob.len() as u64);
    out.extend_from_slice(blob);
}

/// The same for bytes that are written in their place, before their number is known. Most are few, and nothing moves.
pub(crate) fn put_blob_of(out: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.push(0);
    put(out);
    let len = out.len() - start - 1;
    if len < 0x80 {
        out.iter_mut().skip(start).take(1).for_each(|place| *place = len as u8);
        return;
    }
    let mut head = Vec::with_capacity(10);
    put_varint(&mut head, len as u64);
    let room = start + head.len();
    out.resize(room + len, 0);
    out.copy_within(start + 1..start + 1 + len, room);
    let (_, blob) = out.split_at_mut(start);
    blob.iter_mut().zip(head).for_each(|(place, byte)| *place = byte);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length_come_back() {
        for value in [0, 1, -1, 63, 64, -64, -65, i64::MAX, i64::MIN] {
            let mut bytes = Vec::new();
            put_zigzag(&mut bytes, value);
            put_varint(&mut bytes, value as u64);
            let mut cursor = Cursor::new(&bytes);
            assert_eq!((cursor.zigzag(), cursor.varint()), (Ok(value), Ok(value as u64)));
            assert!(cursor.is_empty());
        }
    }

    #[test]
    fn a_blob_written_in_its_place_is_as_one_that_was_copied() {
        for len in [0, 1, 127, 128, 300, 16_383, 16_384, 100_000] {
            let blob: Vec<u8> = (0..len).map(|i| (i * 7 % 251) as u8).collect();
            let (mut copied, mut written) = (vec![9], vec![9]);
            put_blob(&mut copied, &blob);
            put_blob_of(&mut written, |out| out.extend_from_slice(&blob));
            assert_eq!(written, copied, "{len}");
        }
    }

    #[test]
    fn a_number_without_end_or_beyond_64_bits_is_malformed() {
        assert!(Cursor::new(&[0x80; 3]).varint().is_err());
        assert!(Cursor::new(&[0xff; 10]).varint().is_err());
        assert!(Cursor::new(&[5, 1, 2]).blob().is_err());
    }
}

//! Lines: how messages are escaped, and the protobuf fields of one message, one by one.
//!
//! ```text
//!   line  := escaped(message) 0A           1B, 0A and 0D within the message are 1B 01, 1B 02 and 1B 03
//!   field := key:varint value              key = number << 3 | kind
//! ```

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use memchr::{memchr, memchr3};
use prost::encoding::decode_varint;

/// A field's value as it stands in a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wire<'a> {
    Varint(u64),
    Fixed32([u8; 4]),
    Fixed64([u8; 8]),
    Bytes(&'a [u8]),
}

impl Wire<'_> {
    /// An unsigned number of 32 bits.
    pub(crate) fn u32(self) -> Option<u32> {
        match self {
            Wire::Varint(number) => u32::try_from(number).ok(),
            _ => None,
        }
    }

    /// A signed number of 32 bits as `int32` has it.
    pub(crate) fn i32(self) -> Option<i32> {
        match self {
            Wire::Varint(number) => i32::try_from(number as i64).ok(),
            _ => None,
        }
    }
}

/// Shows each field of a message to `see`, which may refuse one; none if a field is refused or the message is not whole.
#[inline]
pub(crate) fn walk<'a>(mut bytes: &'a [u8], mut see: impl FnMut(u32, Wire<'a>) -> Option<()>) -> Option<()> {
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let wire = match key & 7 {
            0 => Wire::Varint(varint(&mut bytes)?),
            1 => Wire::Fixed64(array(&mut bytes)?),
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                let (inside, rest) = bytes.split_at_checked(length)?;
                bytes = rest;
                Wire::Bytes(inside)
            }
            5 => Wire::Fixed32(array(&mut bytes)?),
            _ => return None,
        };
        see(u32::try_from(key >> 3).ok().filter(|number| *number > 0)?, wire)?;
    }
    Some(())
}

/// A variable-length number.
#[inline]
pub(crate) fn varint(bytes: &mut &[u8]) -> Option<u64> {
    match bytes.split_first() {
        Some((first, rest)) if *first < 0x80 => {
            *bytes = rest;
            Some(u64::from(*first))
        }
        _ => decode_varint(bytes).ok(),
    }
}

/// The next so many bytes.
#[inline]
pub(crate) fn array<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (inside, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*inside)
}

/// A signed number of which small magnitudes are short.
pub(crate) fn zigzag(number: u64) -> Option<i32> {
    let number = u32::try_from(number).ok()?;
    Some((number >> 1) as i32 ^ -((number & 1) as i32))
}

/// The message of a line, in `scratch` if anything in it is escaped; none if an escape is none.
pub(crate) fn unescape<'a>(line: &'a [u8], scratch: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    let Some(mut escape) = memchr(0x1b, line) else { return Some(line) };
    scratch.clear();
    let mut rest = line;
    loop {
        let (before, escaped) = rest.split_at_checked(escape)?;
        scratch.extend_from_slice(before);
        scratch.push(match escaped.get(1)? {
            1 => 0x1b,
            2 => b'\n',
            3 => b'\r',
            _ => return None,
        });
        rest = escaped.get(2..)?;
        match memchr(0x1b, rest) {
            Some(next) => escape = next,
            None => {
                scratch.extend_from_slice(rest);
                return Some(scratch);
            }
        }
    }
}

/// Appends a message as a line.
pub fn put_line(out: &mut Vec<u8>, message: &[u8]) {
    put_escaped(out, message);
    out.push(b'\n');
}

/// Appends a part of a message as it stands in a line.
pub fn put_escaped(out: &mut Vec<u8>, bytes: &[u8]) {
    let mut rest = bytes;
    while let Some((plain, [escaped, behind @ ..])) =
        memchr3(0x1b, b'\n', b'\r', rest).and_then(|at| rest.split_at_checked(at))
    {
        out.extend_from_slice(plain);
        out.extend_from_slice(match escaped {
            b'\n' => &[0x1b, 2],
            b'\r' => &[0x1b, 3],
            _ => &[0x1b, 1],
        });
        rest = behind;
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_come_back_and_others_are_refused() {
        let mut scratch = Vec::new();
        assert_eq!(unescape(b"a\x1b\x01b\x1b\x02\x1b\x03", &mut scratch), Some(&b"a\x1bb\n\r"[..]));
        assert_eq!(unescape(b"plain", &mut scratch), Some(&b"plain"[..]));
        for wrong in [&b"a\x1b\x04"[..], b"a\x1b", b"\x1b\x1b\x01"] {
            assert_eq!(unescape(wrong, &mut scratch), None, "{wrong:?}");
        }
    }

    #[test]
    fn messages_that_are_not_whole_are_refused() {
        let seen = |bytes: &[u8]| {
            let mut numbers = Vec::new();
            walk(bytes, |number, wire| {
                numbers.push((number, wire.u32()));
                Some(())
            })
            .map(|()| numbers)
        };
        assert_eq!(seen(b"\x08\x96\x01\x10\x07"), Some(vec![(1, Some(150)), (2, Some(7))]));
        for wrong in [
            &b"\x08"[..],
            b"\x08\x96",
            b"\x1a\x05abc",
            b"\x19\0\0\0",
            b"\x00\x01",
            b"\x0b",
            b"\x1a\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
        ] {
            assert_eq!(seen(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn small_magnitudes_are_short() {
        assert_eq!([0, 1, 2, 3, u64::from(u32::MAX)].map(zigzag), [0, -1, 1, -2, i32::MIN].map(Some));
        assert_eq!(zigzag(1 << 32), None);
    }
}

//! The alphabet of pvAccess: integers in either byte order, sizes, strings, bit sets and message headers.
//!
//! ```text
//!   size   := u8 (0..=253) | 0xFE i32 | 0xFE 0x7FFFFFFF i64 | 0xFF (none)
//!   string := size utf8*size
//!   bitset := size byte*size        whole groups of eight in the message's byte order, the rest low byte first
//!   header := 0xCA version flags command u32      the last is the payload's length, or the datum of a control message
//! ```
//!
//! A [`Reader`] never allocates more than the bytes it was given can hold.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{borrow::Cow, fmt};

/// Why bytes are no pvAccess, or why a value cannot be written as such.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The bytes end too early.
    Truncated {
        /// Within what.
        what: &'static str,
    },
    /// The first byte of a message is not 0xCA.
    NotPva {
        /// What it is.
        byte: u8,
    },
    /// Something is larger than this client accepts.
    TooLarge {
        /// What.
        what: &'static str,
        /// Its size.
        size: u64,
        /// The largest accepted.
        limit: u64,
    },
    /// A size is negative or missing where one must stand.
    BadSize {
        /// Of what.
        what: &'static str,
    },
    /// A type description begins with a code that means nothing.
    BadTypeCode {
        /// The code.
        code: u8,
    },
    /// A type description refers to one that the server never sent on this circuit.
    UnknownType {
        /// Its number.
        id: u16,
    },
    /// A union selects a member that it does not have.
    BadSelector {
        /// The member's index.
        selector: usize,
    },
    /// A value does not have the shape that its type description says.
    Mismatch {
        /// What does not fit.
        what: &'static str,
    },
    /// Bytes are left over where a value should end.
    Trailing {
        /// How many.
        bytes: usize,
    },
    /// A message of a segmented one is missing.
    Segments,
    /// The server refuses the circuit itself.
    Refused {
        /// Its words.
        message: String,
    },
    /// The server is silent for too long.
    Silent,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Truncated { what } => write!(f, "the bytes end within {what}"),
            Error::NotPva { byte } => write!(f, "a message begins with {byte:#04x} instead of 0xca"),
            Error::TooLarge { what, size, limit } => {
                write!(f, "{what} has a size of {size}, more than the {limit} that this client accepts")
            }
            Error::BadSize { what } => write!(f, "{what} has no or a negative size"),
            Error::BadTypeCode { code } => write!(f, "{code:#04x} is no type code of pvAccess"),
            Error::UnknownType { id } => write!(f, "type {id} is used before it was described"),
            Error::BadSelector { selector } => write!(f, "a union has no member number {selector}"),
            Error::Mismatch { what } => write!(f, "{what} does not fit its type description"),
            Error::Trailing { bytes } => write!(f, "{bytes} bytes are left over after the value"),
            Error::Segments => write!(f, "a part of a segmented message is missing"),
            Error::Refused { message } => write!(f, "the server refuses the circuit: {message}"),
            Error::Silent => write!(f, "the server has been silent for too long"),
        }
    }
}

impl std::error::Error for Error {}

/// In which order the bytes of a number stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Lowest byte first.
    Little,
    /// Highest byte first.
    Big,
}

/// Length of a message header.
pub const HEADER_BYTES: usize = 8;

/// First byte of every message.
const MAGIC: u8 = 0xca;
/// The protocol version that this client speaks.
const VERSION: u8 = 2;

const FLAG_CONTROL: u8 = 0x01;
const FLAG_SEGMENTS: u8 = 0x30;
const FLAG_BIG: u8 = 0x80;

/// Which part of a segmented message this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words say it")]
pub enum Segment {
    Whole,
    First,
    Middle,
    Last,
}

/// What stands before every message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// A control message has no payload; its `size` is its datum.
    pub control: bool,
    /// Whether more messages belong to this one.
    pub segment: Segment,
    /// The byte order of header and payload.
    pub order: Order,
    /// What the message is.
    pub command: u8,
    /// Length of the payload in bytes, or the datum of a control message.
    pub size: u32,
}

impl Header {
    /// Reads the eight bytes of a header.
    pub fn decode(bytes: &[u8]) -> Result<Header, Error> {
        let mut reader = Reader::new(bytes, Order::Little);
        let [magic, _version, flags, command] = reader.array("a message header")?;
        if magic != MAGIC {
            return Err(Error::NotPva { byte: magic });
        }
        reader.order = if flags & FLAG_BIG == 0 { Order::Little } else { Order::Big };
        let segment = match flags & FLAG_SEGMENTS {
            0x10 => Segment::First,
            0x20 => Segment::Last,
            0x30 => Segment::Middle,
            _ => Segment::Whole,
        };
        let control = flags & FLAG_CONTROL != 0;
        Ok(Header { control, segment, order: reader.order, command, size: reader.u32("a message header")? })
    }

    /// How many bytes of payload follow.
    pub fn payload_bytes(self) -> usize {
        if self.control { 0 } else { self.size as usize }
    }
}

/// Takes bytes apart, front to back.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    order: Order,
}

impl<'a> Reader<'a> {
    /// Begins at the front of `bytes`.
    pub fn new(bytes: &'a [u8], order: Order) -> Reader<'a> {
        Reader { rest: bytes, order }
    }

    /// What has not been read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The byte order of its numbers.
    pub fn order(&self) -> Order {
        self.order
    }

    /// The next `count` bytes.
    pub fn take(&mut self, count: usize, what: &'static str) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Error::Truncated { what })?;
        self.rest = rest;
        Ok(taken)
    }

    /// The next `N` bytes, as they stand.
    pub fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Error> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(Error::Truncated { what })?;
        self.rest = rest;
        Ok(*taken)
    }

    /// The next byte.
    pub fn u8(&mut self, what: &'static str) -> Result<u8, Error> {
        let [byte] = self.array(what)?;
        Ok(byte)
    }

    /// The next two bytes as a number.
    pub fn u16(&mut self, what: &'static str) -> Result<u16, Error> {
        let bytes = self.array(what)?;
        Ok(match self.order {
            Order::Little => u16::from_le_bytes(bytes),
            Order::Big => u16::from_be_bytes(bytes),
        })
    }

    /// The next four bytes as a number.
    pub fn u32(&mut self, what: &'static str) -> Result<u32, Error> {
        let bytes = self.array(what)?;
        Ok(match self.order {
            Order::Little => u32::from_le_bytes(bytes),
            Order::Big => u32::from_be_bytes(bytes),
        })
    }

    /// The next eight bytes as a number.
    pub fn u64(&mut self, what: &'static str) -> Result<u64, Error> {
        let bytes = self.array(what)?;
        Ok(match self.order {
            Order::Little => u64::from_le_bytes(bytes),
            Order::Big => u64::from_be_bytes(bytes),
        })
    }

    /// A size, or none.
    pub fn size(&mut self, what: &'static str) -> Result<Option<usize>, Error> {
        let size = match self.u8(what)? {
            255 => return Ok(None),
            254 => match self.u32(what)? as i32 {
                i32::MAX => self.u64(what)? as i64,
                size => i64::from(size),
            },
            short => i64::from(short),
        };
        usize::try_from(size).map(Some).map_err(|_| Error::BadSize { what })
    }

    /// A number of things of which each takes at least one byte, so that a count beyond the remaining bytes is refused
    /// before anything is allocated.
    pub fn count(&mut self, what: &'static str) -> Result<usize, Error> {
        let count = self.size(what)?.ok_or(Error::BadSize { what })?;
        if count > self.rest.len() { Err(Error::Truncated { what }) } else { Ok(count) }
    }

    /// The bytes of a string; none counts as empty, as in all implementations.
    pub fn string_bytes(&mut self, what: &'static str) -> Result<&'a [u8], Error> {
        match self.size(what)? {
            Some(size) => self.take(size, what),
            None => Ok(&[]),
        }
    }

    /// A string.
    pub fn string(&mut self, what: &'static str) -> Result<String, Error> {
        self.string_bytes(what).map(|bytes| text(bytes).into_owned())
    }

    /// A set of field numbers.
    pub fn bits(&mut self) -> Result<BitSet, Error> {
        let what = "a bit set";
        let size = self.count(what)?;
        let mut bytes = Reader::new(self.take(size, what)?, self.order);
        let mut set = BitSet::default();
        for word in 0.. {
            let bits = match bytes.rest.len() {
                0 => break,
                8.. => bytes.u64(what)?,
                few => bytes.take(few, what)?.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte)),
            };
            if word == 0 { set.first = bits } else { set.more.push(bits) }
        }
        Ok(set)
    }
}

/// UTF-8, or Latin-1 as older IOCs send it (degree signs in units).
pub(crate) fn text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect()),
    }
}

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

/// Puts bytes together.
#[derive(Clone, Debug)]
pub struct Writer {
    bytes: Vec<u8>,
    order: Order,
}

impl Writer {
    /// Begins with nothing.
    pub fn new(order: Order) -> Writer {
        Writer { bytes: Vec::new(), order }
    }

    /// What has been written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Takes what has been written, leaving nothing.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// How many bytes have been written.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing has been written.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// From now on numbers are written in this order.
    pub fn set_order(&mut self, order: Order) {
        self.order = order;
    }

    /// The byte order of its numbers.
    pub fn order(&self) -> Order {
        self.order
    }

    /// Bytes as they stand.
    pub fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// One byte.
    pub fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// Two bytes.
    pub fn u16(&mut self, value: u16) {
        self.put(&match self.order {
            Order::Little => value.to_le_bytes(),
            Order::Big => value.to_be_bytes(),
        });
    }

    /// Four bytes.
    pub fn u32(&mut self, value: u32) {
        self.put(&match self.order {
            Order::Little => value.to_le_bytes(),
            Order::Big => value.to_be_bytes(),
        });
    }

    /// Eight bytes.
    pub fn u64(&mut self, value: u64) {
        self.put(&match self.order {
            Order::Little => value.to_le_bytes(),
            Order::Big => value.to_be_bytes(),
        });
    }

    /// A size; none is what unions without a member have.
    pub fn size(&mut self, size: Option<usize>) {
        match size {
            None => self.u8(255),
            Some(short @ 0..=253) => self.u8(short as u8),
            Some(long) => {
                self.u8(254);
                match i32::try_from(long) {
                    Ok(size) if size < i32::MAX => self.u32(size as u32),
                    _ => {
                        self.u32(i32::MAX as u32);
                        self.u64(long as u64);
                    }
                }
            }
        }
    }

    /// A string.
    pub fn string(&mut self, text: &str) {
        self.size(Some(text.len()));
        self.put(text.as_bytes());
    }

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
            few => self.bytes.extend(top.to_le_bytes().iter().take(few)),
        }
    }

    /// Writes a message of the client: header, then what `payload` writes.
    pub fn message(&mut self, command: u8, payload: impl FnOnce(&mut Writer)) {
        let flags = if self.order == Order::Big { FLAG_BIG } else { 0 };
        self.put(&[MAGIC, VERSION, flags, command]);
        let at = self.len();
        self.u32(0);
        payload(self);
        let mut size = Writer::new(self.order);
        size.u32((self.len() - at - 4) as u32);
        if let Some(place) = self.bytes.get_mut(at..at + 4) {
            place.copy_from_slice(&size.bytes);
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panic")]
mod tests {
    use super::*;

    fn sizes_round_trip(order: Order) {
        for size in [None, Some(0), Some(253), Some(254), Some(255), Some(70_000), Some(i32::MAX as usize)] {
            let mut writer = Writer::new(order);
            writer.size(size);
            let bytes = writer.into_bytes();
            assert_eq!(Reader::new(&bytes, order).size("x"), Ok(size));
        }
    }

    #[test]
    fn sizes_of_every_length_round_trip_in_both_orders() {
        sizes_round_trip(Order::Little);
        sizes_round_trip(Order::Big);
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

    #[test]
    fn a_negative_size_and_a_count_beyond_the_bytes_are_refused() {
        let negative = [254, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(Reader::new(&negative, Order::Little).size("x"), Err(Error::BadSize { what: "x" }));
        assert_eq!(Reader::new(&[5, 0, 0], Order::Little).count("x"), Err(Error::Truncated { what: "x" }));
    }
}

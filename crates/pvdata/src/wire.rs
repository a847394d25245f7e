//! The alphabet of pvData: integers in either byte order, sizes and strings.
//!
//! ```text
//!   size   := u8 (0..=253) | 0xFE i32 | 0xFE 0x7FFFFFFF i64 | 0xFF (none)
//!   string := size utf8*size
//! ```
//!
//! A [`Reader`] never allocates more than the bytes it was given can hold, and what is made of them has a bound of its own: one byte
//! on the wire can be a hundred in memory.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::borrow::Cow;

use crate::Error;

/// What may be made of the bytes of one message, in bytes of memory: as much as the largest message has on the wire.
pub const DECODED_BYTES_MAX: usize = 256 << 20;

/// What a text takes besides its bytes: its length and place, and what the allocator keeps with it.
pub(crate) const TEXT_BYTES: usize = size_of::<String>() + 8;

/// In which order the bytes of a number stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Lowest byte first.
    Little,
    /// Highest byte first.
    Big,
}

/// Takes bytes apart, front to back.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    order: Order,
    /// How many more bytes of memory may be taken for what is read.
    room: usize,
}

impl<'a> Reader<'a> {
    /// Begins at the front of `bytes`, of which at most [`DECODED_BYTES_MAX`] may be made.
    pub fn new(bytes: &'a [u8], order: Order) -> Reader<'a> {
        Reader { rest: bytes, order, room: DECODED_BYTES_MAX }
    }

    /// The same reader, which may charge `room` bytes.
    pub fn with_room(self, room: usize) -> Reader<'a> {
        Reader { room, ..self }
    }

    /// To be called before so much memory is taken for what is read; refused beyond the bound.
    pub fn charge(&mut self, bytes: usize, what: &'static str) -> Result<(), Error> {
        let beyond = Error::NoRoom { what, bytes: bytes as u64, left: self.room as u64 };
        self.room = self.room.checked_sub(bytes).ok_or(beyond)?;
        Ok(())
    }

    /// How much memory may still be taken.
    pub fn room(&self) -> usize {
        self.room
    }

    /// What has not been read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The byte order of its numbers.
    pub fn order(&self) -> Order {
        self.order
    }

    /// From now on numbers are read in this order.
    pub fn set_order(&mut self, order: Order) {
        self.order = order;
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
        let bytes = self.string_bytes(what)?;
        self.charge(TEXT_BYTES + bytes.len(), what)?;
        Ok(text(bytes).into_owned())
    }
}

/// UTF-8, or Latin-1 as older IOCs send it (degree signs in units).
pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect()),
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

    /// Writes a number of four bytes over those at `at`, which must have been written already.
    pub fn overwrite_u32(&mut self, at: usize, value: u32) {
        let bytes = match self.order {
            Order::Little => value.to_le_bytes(),
            Order::Big => value.to_be_bytes(),
        };
        if let Some(place) = self.bytes.get_mut(at..at + 4) {
            place.copy_from_slice(&bytes);
        }
    }

    /// Gives what has been written for a buffer to write on into, after what stands in that.
    pub fn swap(&mut self, bytes: &mut Vec<u8>) {
        std::mem::swap(&mut self.bytes, bytes);
    }

    /// What has been written from `at` on, to be changed.
    pub fn written_from(&mut self, at: usize) -> &mut [u8] {
        self.bytes.get_mut(at..).unwrap_or_default()
    }

    /// Forgets what has been written from `at` on.
    pub fn truncate(&mut self, at: usize) {
        self.bytes.truncate(at);
    }

    /// Numbers of `N` bytes each, one after the other; `bytes` gives those of one in the writer's order.
    pub(crate) fn numbers<const N: usize, T: Copy>(&mut self, all: &[T], bytes: impl Fn(T) -> [u8; N]) {
        let at = self.bytes.len();
        self.bytes.resize(at + N * all.len(), 0);
        let places = self.bytes.get_mut(at..).unwrap_or_default().as_chunks_mut::<N>().0;
        places.iter_mut().zip(all).for_each(|(place, number)| *place = bytes(*number));
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
}

#[cfg(test)]
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
    fn a_negative_size_and_a_count_beyond_the_bytes_are_refused() {
        let negative = [254, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(Reader::new(&negative, Order::Little).size("x"), Err(Error::BadSize { what: "x" }));
        assert_eq!(Reader::new(&[5, 0, 0], Order::Little).count("x"), Err(Error::Truncated { what: "x" }));
    }
}

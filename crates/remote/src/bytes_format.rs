//! The smallest parts of what nodes say to each other: numbers of as many bytes as they need, texts, times.
//!
//! ```text
//!   uint := 7 bits a byte, the lowest first, the highest bit says that more follow
//!   int  := uint, the sign in the lowest bit        text := uint bytes        time := int, nanoseconds since 1970
//! ```

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

use sample::{Alarm, Severity, TimeRange, Timestamp};

/// Takes up what is written.
#[derive(Debug, Default)]
pub(crate) struct Out(pub(crate) Vec<u8>);

impl Out {
    pub(crate) fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    pub(crate) fn uint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    pub(crate) fn size(&mut self, number: usize) {
        self.uint(number as u64);
    }

    pub(crate) fn int(&mut self, number: i64) {
        self.uint(((number << 1) ^ (number >> 63)).cast_unsigned());
    }

    pub(crate) fn float(&mut self, number: f64) {
        self.0.extend_from_slice(&number.to_bits().to_le_bytes());
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.size(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(crate) fn time(&mut self, time: Timestamp) {
        self.int(time.nanos());
    }

    pub(crate) fn range(&mut self, range: TimeRange) {
        self.time(range.t0);
        self.time(range.t1);
    }

    /// Whether there is something, and it.
    pub(crate) fn option<T>(&mut self, of: Option<T>, write: impl FnOnce(&mut Out, T)) {
        self.byte(of.is_some().into());
        if let Some(of) = of {
            write(self, of);
        }
    }

    pub(crate) fn alarm(&mut self, alarm: &Alarm) {
        self.byte(alarm.severity as u8);
        self.uint(alarm.status.into());
        self.option(alarm.message.as_deref(), Out::text);
    }
}

/// What is left to be read. Nothing is taken for true before it was looked at: each reading is none if there is not what it wants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct In<'a>(pub(crate) &'a [u8]);

impl<'a> In<'a> {
    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    pub(crate) fn uint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return None;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    pub(crate) fn size(&mut self) -> Option<usize> {
        usize::try_from(self.uint()?).ok()
    }

    /// How many follow, each of at least so many bytes: never more than there is room for.
    pub(crate) fn count(&mut self, bytes_min: usize) -> Option<usize> {
        self.size().filter(|count| count.checked_mul(bytes_min).is_some_and(|bytes| bytes <= self.0.len()))
    }

    pub(crate) fn int(&mut self) -> Option<i64> {
        let number = self.uint()?;
        Some((number >> 1).cast_signed() ^ -((number & 1).cast_signed()))
    }

    pub(crate) fn float(&mut self) -> Option<f64> {
        let bits = self.0.split_first_chunk().map(|(bits, rest)| {
            self.0 = rest;
            u64::from_le_bytes(*bits)
        })?;
        Some(f64::from_bits(bits))
    }

    pub(crate) fn take(&mut self, size: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(size)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let size = self.size()?;
        self.take(size)
    }

    pub(crate) fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    pub(crate) fn time(&mut self) -> Option<Timestamp> {
        self.int().map(Timestamp::from_nanos)
    }

    pub(crate) fn range(&mut self) -> Option<TimeRange> {
        TimeRange::new(self.time()?, self.time()?).ok()
    }

    /// Outer none: what is there makes no sense.
    pub(crate) fn option<T>(&mut self, read: impl FnOnce(&mut In<'a>) -> Option<T>) -> Option<Option<T>> {
        match self.byte()? {
            0 => Some(None),
            1 => read(self).map(Some),
            _ => None,
        }
    }

    pub(crate) fn alarm(&mut self) -> Option<Alarm> {
        let severity = Some(self.byte()?).filter(|number| *number <= Severity::Undefined as u8)?;
        let severity = Severity::from_number(severity.into());
        let status = u16::try_from(self.uint()?).ok()?;
        Some(Alarm { severity, status, message: self.option(In::text)?.map(Into::into) })
    }

    /// Whether all was read.
    pub(crate) fn is_empty(self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_at_every_edge_come_back_and_more_than_64_bits_are_refused() {
        let numbers = (0..64).flat_map(|shift| [1_u64 << shift, (1 << shift) - 1]).chain([u64::MAX]);
        for number in numbers {
            let mut out = Out::default();
            out.uint(number);
            out.int(number.cast_signed());
            let mut read = In(&out.0);
            assert_eq!((read.uint(), read.int()), (Some(number), Some(number.cast_signed())));
            assert!(read.is_empty());
        }
        assert_eq!(In(&[0xff; 10]).uint(), None);
        assert_eq!(In(&[0x80, 0x80]).uint(), None, "it has no end");
        assert_eq!(In(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]).uint(), None);
    }

    #[test]
    fn more_than_there_is_room_for_is_not_counted() {
        assert_eq!(In(&[3, 0, 0, 0]).count(1), Some(3));
        assert_eq!(In(&[4, 0, 0, 0]).count(1), None);
        assert_eq!(In(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]).count(8), None);
    }
}

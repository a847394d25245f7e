//! A stream of bytes -> whole messages.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use super::wire::{Error, HEADER_BYTES, Header, Segment};

/// The largest message, in one piece or segments: a picture of 8,000 x 8,000 pixels of 4 bytes.
pub const MESSAGE_BYTES_MAX: usize = 256 << 20;

/// A buffer that once held a large message is given back beyond this.
const KEPT_BYTES_MAX: usize = 4 << 20;

/// Holds the beginning of a message until its end arrives.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    partial: Vec<u8>,
    segments: Option<(Header, Vec<u8>)>,
}

/// A message of which the head is here and not yet the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// What it takes until it is whole, as far as is known: of a message in segments those that have begun.
    pub bytes: usize,
    /// How many more bytes may make it whole.
    pub missing: usize,
}

impl Frames {
    /// The message that is on its way.
    pub(crate) fn unfinished(&self) -> Option<Unfinished> {
        let joined = self.segments.as_ref().map_or(0, |(_, whole)| whole.len());
        let partial = self.partial.len();
        let size = match self.partial.split_at_checked(HEADER_BYTES).map(|(head, _)| Header::decode(head)) {
            Some(Ok(header)) => HEADER_BYTES + header.payload_bytes(),
            _ => partial,
        };
        // Segments are copied behind those before, whose memory doubles when it is full.
        let bytes = size + 2 * joined;
        (bytes > 0).then_some(Unfinished { bytes, missing: size.saturating_sub(partial).max(1) })
    }

    /// There is memory for the message that is on its way: it is taken at once, as doubling it again and again would take twice as much.
    pub(crate) fn make_room(&mut self) {
        if self.segments.is_none()
            && let Some(Unfinished { bytes, .. }) = self.unfinished()
        {
            self.partial.reserve_exact(bytes.saturating_sub(self.partial.len()));
        }
    }

    /// Takes what arrived and passes on each message that is whole. The buffer grows only with what arrives.
    pub(crate) fn feed(
        &mut self,
        bytes: &[u8],
        mut message: impl FnMut(Header, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.partial.is_empty() {
            let rest = split(bytes, &mut self.segments, &mut message)?;
            self.partial.extend_from_slice(rest);
            return Ok(());
        }
        self.partial.extend_from_slice(bytes);
        let rest = split(&self.partial, &mut self.segments, &mut message)?.len();
        self.partial.drain(..self.partial.len() - rest);
        if self.partial.len() < KEPT_BYTES_MAX && self.partial.capacity() > KEPT_BYTES_MAX {
            self.partial.shrink_to(self.unfinished().map_or(0, |message| message.bytes).min(KEPT_BYTES_MAX));
        }
        Ok(())
    }
}

fn split<'a>(
    mut bytes: &'a [u8],
    segments: &mut Option<(Header, Vec<u8>)>,
    message: &mut impl FnMut(Header, &[u8]) -> Result<(), Error>,
) -> Result<&'a [u8], Error> {
    while let Some((head, after)) = bytes.split_at_checked(HEADER_BYTES) {
        let header = Header::decode(head)?;
        limit(header.payload_bytes())?;
        let Some((payload, rest)) = after.split_at_checked(header.payload_bytes()) else { break };
        if header.control || header.segment == Segment::Whole {
            message(header, payload)?;
        } else {
            join(header, payload, segments, message)?;
        }
        bytes = rest;
    }
    Ok(bytes)
}

/// Control messages may stand between segments, other messages may not.
fn join(
    header: Header,
    payload: &[u8],
    segments: &mut Option<(Header, Vec<u8>)>,
    message: &mut impl FnMut(Header, &[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    if header.segment == Segment::First {
        *segments = Some((header, payload.to_vec()));
        return Ok(());
    }
    let (first, mut whole) = segments.take().ok_or(Error::Segments)?;
    if first.command != header.command {
        return Err(Error::Segments);
    }
    limit(whole.len() + payload.len())?;
    whole.extend_from_slice(payload);
    if header.segment == Segment::Last {
        return message(first, &whole);
    }
    *segments = Some((first, whole));
    Ok(())
}

fn limit(size: usize) -> Result<(), Error> {
    let limit = MESSAGE_BYTES_MAX as u64;
    if size > MESSAGE_BYTES_MAX {
        Err(pvdata::Error::TooLarge { what: "a message", size: size as u64, limit }.into())
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: [u8; 10] = [0xca, 2, 0x40, 18, 2, 0, 0, 0, b'h', b'i'];
    const FIRST: [u8; 9] = [0xca, 2, 0x50, 18, 1, 0, 0, 0, b'a'];
    const CONTROL: [u8; 8] = [0xca, 2, 0x41, 0, 9, 0, 0, 0];
    const MIDDLE: [u8; 9] = [0xca, 2, 0x70, 18, 1, 0, 0, 0, b'b'];
    const LAST: [u8; 9] = [0xca, 2, 0x60, 18, 1, 0, 0, 0, b'c'];

    fn feed_in_pieces_of(size: usize, bytes: &[u8]) -> Result<Vec<(u8, Vec<u8>)>, Error> {
        let mut frames = Frames::default();
        let mut found = Vec::new();
        for piece in bytes.chunks(size) {
            frames.feed(piece, |header, payload| {
                found.push((header.command, payload.to_vec()));
                Ok(())
            })?;
        }
        Ok(found)
    }

    #[test]
    fn messages_are_whole_however_the_bytes_arrive() {
        let stream = [&WHOLE[..], &FIRST, &CONTROL, &MIDDLE, &LAST, &WHOLE].concat();
        let expected =
            [(18, b"hi".to_vec()), (0, vec![]), (18, b"abc".to_vec()), (18, b"hi".to_vec())].map(|(c, p)| (c, p));
        for size in 1..=stream.len() {
            assert_eq!(feed_in_pieces_of(size, &stream), Ok(expected.to_vec()), "{size}");
        }
    }

    #[test]
    fn a_segment_without_its_first_and_a_monstrous_size_end_the_circuit() {
        assert_eq!(feed_in_pieces_of(100, &MIDDLE), Err(Error::Segments));
        let monster = [0xca, 2, 0x40, 18, 0xff, 0xff, 0xff, 0x7f];
        assert!(matches!(feed_in_pieces_of(100, &monster), Err(Error::Data(pvdata::Error::TooLarge { .. }))));
    }
}

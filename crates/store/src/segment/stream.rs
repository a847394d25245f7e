//! A stream: a stretch of a segment that a merge reads once from its beginning to its end, in large pieces, without a copy.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use super::Segment;
use crate::Error;

/// What was read last.
#[derive(Debug)]
pub(crate) struct Stream {
    /// So much is read at once.
    piece: usize,
    at: u64,
    bytes: Vec<u8>,
}

impl Stream {
    pub(crate) fn new(piece: usize) -> Stream {
        Stream { piece, at: 0, bytes: Vec::new() }
    }

    /// Some bytes of the segment, and with them what lies behind them if they were not read before.
    pub(crate) fn bytes(&mut self, segment: &Segment, offset: u64, len: usize) -> Result<&[u8], Error> {
        if self.start(offset, len).is_none() {
            let left = segment.manifest.bytes.saturating_sub(offset);
            let piece = len.max(self.piece.min(usize::try_from(left).unwrap_or(usize::MAX)));
            self.at = offset;
            // What is bad may lie behind what is wanted.
            segment.read_into(offset, piece, &mut self.bytes).or_else(|error| match piece > len {
                true => segment.read_into(offset, len, &mut self.bytes),
                false => Err(error),
            })?;
        }
        let start = self.start(offset, len).unwrap_or_default();
        Ok(self.bytes.get(start..start + len).unwrap_or_default())
    }

    /// Where so many bytes begin in what was read, if they are there.
    fn start(&self, offset: u64, len: usize) -> Option<usize> {
        let start = usize::try_from(offset.checked_sub(self.at)?).ok()?;
        (start.checked_add(len)? <= self.bytes.len()).then_some(start)
    }
}

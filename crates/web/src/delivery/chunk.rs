//! Chunks of an answer: bytes, or rows whose text any thread can make.

use std::sync::Arc;

use axum::body::Bytes;
use sample::Column;

use crate::delivery::pieces::Piece;

/// Of so many rows the text is made at a time: 20 to 100 kB of lines. With twice as many the process takes half as much memory more.
const ROWS_AT_ONCE: usize = 1024;
/// Where little is to be made at a time, of so much fewer, unless they are few because they are long.
const SMALL_PART: usize = 2;
/// But of no more than hold so many bytes, unless one does: arrays are long.
const BYTES_AT_ONCE: usize = 64 << 10;
/// A row takes so much of an answer whose first rows are being made.
const ROW_BYTES: usize = 64;

/// What comes next of an answer.
pub(crate) enum Chunk {
    Made(Bytes),
    Rows(Rows),
}

impl From<Bytes> for Chunk {
    fn from(made: Bytes) -> Chunk {
        Chunk::Made(made)
    }
}

impl From<Vec<u8>> for Chunk {
    fn from(made: Vec<u8>) -> Chunk {
        Chunk::Made(made.into())
    }
}

impl From<Rows> for Chunk {
    fn from(rows: Rows) -> Chunk {
        Chunk::Rows(rows)
    }
}

impl Chunk {
    /// Whether it has rows that are arrays.
    pub(super) fn is_of_arrays(&self) -> bool {
        matches!(self, Chunk::Rows(rows) if matches!(rows.piece.values(), Column::Array(_)))
    }

    /// The memory that it holds.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Chunk::Made(bytes) => bytes.len(),
            Chunk::Rows(rows) => rows.bytes(),
        }
    }
}

/// Of how many rows the text is made at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextRows {
    Usual,
    /// So that the first byte goes out soon, and a crowd holds little.
    Small,
}

/// Writes the text of rows behind what is there.
type Put = dyn Fn(&mut Vec<u8>, &Piece) + Send + Sync;

/// Rows whose text is the same whoever makes it, and whatever is made before.
pub(crate) struct Rows {
    piece: Piece,
    put: Arc<Put>,
    /// So many are made at a time.
    at_once: usize,
    row_bytes: usize,
}

impl Rows {
    /// Rows that are a text each, so that they can be made some at a time.
    pub(crate) fn lines(piece: Piece, put: impl Fn(&mut Vec<u8>, &Piece) + Send + Sync + 'static) -> Rows {
        let row_bytes = row_bytes(&piece);
        let at_once = (BYTES_AT_ONCE / row_bytes).clamp(1, ROWS_AT_ONCE);
        Rows { piece, put: Arc::new(put), at_once, row_bytes }
    }

    /// Rows that are one text.
    pub(crate) fn whole(piece: Piece, put: impl Fn(&mut Vec<u8>, &Piece) + Send + Sync + 'static) -> Rows {
        let row_bytes = row_bytes(&piece);
        Rows { piece, put: Arc::new(put), at_once: usize::MAX, row_bytes }
    }

    pub(super) fn len(&self) -> usize {
        self.piece.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.piece.is_empty()
    }

    /// What they hold of the memory of their batch.
    pub(super) fn bytes(&self) -> usize {
        self.len() * self.row_bytes
    }

    /// Takes the first out, as many as are made at a time.
    pub(super) fn take_first(&mut self, size: TextRows) -> Rows {
        let rows = self.piece.rows();
        let count = match size {
            TextRows::Small if self.at_once == ROWS_AT_ONCE => (self.at_once / SMALL_PART).max(1),
            _ => self.at_once,
        };
        let count = count.min(self.len());
        let (first, rest) = (rows.start..rows.start + count, rows.start + count..rows.end);
        let first = self.with(first);
        self.piece = self.piece.part(rest);
        first
    }

    /// Takes the last out, as many as are made at a time.
    pub(super) fn take_last(&mut self) -> Rows {
        let rows = self.piece.rows();
        let start = rows.end - self.at_once.min(self.len());
        let last = self.with(start..rows.end);
        self.piece = self.piece.part(rows.start..start);
        last
    }

    fn with(&self, rows: std::ops::Range<usize>) -> Rows {
        Rows { piece: self.piece.part(rows), put: Arc::clone(&self.put), ..*self }
    }

    /// Their text, in a room for so many bytes of each.
    pub(super) fn made(self, bytes_each: usize) -> Bytes {
        let bytes_each = if bytes_each == 0 { ROW_BYTES } else { bytes_each };
        let mut made = Vec::with_capacity(bytes_each.saturating_mul(self.len()));
        (self.put)(&mut made, &self.piece);
        made.into()
    }
}

fn row_bytes(piece: &Piece) -> usize {
    (piece.batch().byte_size() / piece.batch().len().max(1)).max(1)
}

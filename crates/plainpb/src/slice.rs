//! Slices: what a store holds of a PV in a stretch of time, as its own bytes, to be sent elsewhere and decoded there.
//!
//! Stretches that follow each other have every byte of every file once between them, whatever stands in it.

use std::io;

use archive::{PvName, SourceError};
use memchr::memrchr;
use sample::TimeRange;

use crate::{PlainPb, file::PbFile, scan::LINE_BYTES_MAX};

/// The lines of a file between two times.
#[derive(Debug)]
pub struct Slice {
    file: PbFile,
    /// The file, for messages.
    pub path: String,
    next: u64,
    end: u64,
}

/// A piece of a slice.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    /// A header and whole lines, with the empty line that ends a chunk.
    Lines(Vec<u8>),
    /// A last line without its end: so many bytes, which nobody can read.
    Torn(u64),
    /// A line that is longer than any sample can be.
    TooLong(u64),
}

impl Slice {
    pub(crate) fn new(file: PbFile, path: String, range: std::ops::Range<u64>) -> Slice {
        Slice { file, path, next: range.start, end: range.end }
    }

    /// The next piece of about so many bytes at most, or one longer line; none at the end.
    pub fn next(&mut self, bytes_max: usize) -> io::Result<Option<Piece>> {
        if self.next >= self.end {
            return Ok(None);
        }
        let left = usize::try_from(self.end - self.next).unwrap_or(usize::MAX);
        let mut piece = self.file.header_line().to_vec();
        let head = piece.len();
        piece.resize(head + left.min(bytes_max), 0);
        let read = self.file.read_at(&mut piece[head..], self.next)?;
        piece.truncate(head + read);
        if read == 0 {
            self.next = self.end;
            return Ok(None);
        }
        let Some(last) = memrchr(b'\n', &piece[head..]) else {
            return Ok(Some(self.one_line(piece, head, read < bytes_max)?));
        };
        piece.truncate(head + last + 1);
        piece.push(b'\n');
        self.next += last as u64 + 1;
        Ok(Some(Piece::Lines(piece)))
    }

    /// A line that is longer than was asked for, if a sample can be so long; one without an end is told.
    fn one_line(&mut self, mut piece: Vec<u8>, head: usize, is_last: bool) -> io::Result<Piece> {
        let begun = self.next;
        // How long a file is that is packed shows at its end only.
        let (end, is_whole) =
            if is_last { (begun + (piece.len() - head) as u64, false) } else { self.file.line_end(begun)? };
        self.next = if is_whole { end } else { self.end };
        let bytes = end - begun;
        match usize::try_from(bytes) {
            _ if !is_whole => Ok(Piece::Torn(bytes)),
            Ok(size) if size <= LINE_BYTES_MAX => {
                piece.resize(head + size, 0);
                let read = self.file.read_at(&mut piece[head..], begun)?;
                piece.truncate(head + read);
                piece.push(b'\n');
                Ok(Piece::Lines(piece))
            }
            _ => Ok(Piece::TooLong(bytes)),
        }
    }
}

impl PlainPb {
    /// The slices of a PV in a stretch of time.
    pub fn slices(&self, pv: &PvName, range: TimeRange) -> Result<Vec<Slice>, SourceError> {
        let mut slices = Vec::new();
        for part in self.parts(pv)? {
            if part.range.t0 >= range.t1 || part.range.t1 <= range.t0 {
                continue;
            }
            let Some(file) = self.open(&part, pv) else { continue };
            let path = part.place.path.display().to_string();
            // The first stretch has whatever stands at the beginning of a file, the last one whatever stands at its end.
            let bounds = || -> io::Result<std::ops::Range<u64>> {
                let start = if part.range.t0 >= range.t0 { file.begins() } else { file.first_from(range.t0)? };
                let end = if part.range.t1 <= range.t1 { file.len() } else { file.first_from(range.t1)? };
                Ok(start..end)
            };
            let bounds = bounds().map_err(|error| SourceError::piece(format!("cannot read {path}: {error}")))?;
            slices.push(Slice::new(file, path, bounds));
        }
        Ok(slices)
    }

    /// From and to when the names of a PV's files say that there is something.
    pub fn span(&self, pv: &PvName) -> Result<Option<TimeRange>, SourceError> {
        let parts = self.parts(pv)?;
        let ranges = parts.iter().map(|part| part.range);
        Ok(ranges.reduce(|a, b| TimeRange { t0: a.t0.min(b.t0), t1: a.t1.max(b.t1) }))
    }
}

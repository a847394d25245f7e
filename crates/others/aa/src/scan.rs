//! A scan: the lines of a tape from an offset on, or of anything that is read, one at a time, with memory for the longest of them.

use std::io;

use archive::VALUE_BYTES_MAX;
use memchr::memchr;

use crate::tape::Tape;

/// The first read of a scan is short, as often a few lines are all that is wanted; later reads are longer.
const FIRST_BYTES: usize = 16 << 10;
const READ_BYTES: usize = 256 << 10;
/// A line of the largest value of which each byte is escaped. What is longer is no line, and passed over.
pub(crate) const LINE_BYTES_MAX: usize = 2 * VALUE_BYTES_MAX;

#[derive(Debug)]
pub(crate) struct Scan {
    buffer: Vec<u8>,
    /// What of the buffer is not given out yet.
    next: usize,
    filled: usize,
    /// Where the next read begins.
    offset: u64,
    /// How much is read next.
    reads: usize,
    /// The rest of a line that is too long is being passed over.
    overlong: bool,
}

/// What a scan finds.
pub(crate) enum Found<'a> {
    /// A line without its line feed, and where it begins.
    Line(u64, &'a [u8]),
    /// A line that is too long, passed over.
    Overlong,
    /// Bytes behind the last line feed.
    Torn,
    /// Nothing any more.
    End,
}

impl Scan {
    pub(crate) fn from(offset: u64) -> Scan {
        Scan { buffer: Vec::new(), next: 0, filled: 0, offset, reads: FIRST_BYTES, overlong: false }
    }

    /// Where the next line begins.
    pub(crate) fn at(&self) -> u64 {
        self.offset - (self.filled - self.next) as u64
    }

    /// How much it takes in memory.
    #[cfg(test)]
    fn buffered(&self) -> usize {
        self.buffer.len()
    }

    /// The next line.
    pub(crate) fn next<'a>(&'a mut self, tape: &Tape) -> io::Result<Found<'a>> {
        self.next_by(|buffer, offset| tape.read_at(buffer, offset))
    }

    /// The next line of what is read by `read`, which is told where it is.
    pub(crate) fn next_by<'a>(
        &'a mut self,
        mut read: impl FnMut(&mut [u8], u64) -> io::Result<usize>,
    ) -> io::Result<Found<'a>> {
        let mut searched = 0;
        loop {
            let waiting = &self.buffer[self.next..self.filled];
            if let Some(end) = memchr(b'\n', &waiting[searched..]) {
                let line = self.next..self.next + searched + end;
                self.next = line.end + 1;
                if std::mem::take(&mut self.overlong) {
                    return Ok(Found::Overlong);
                }
                let begins = self.offset - (self.filled - line.start) as u64;
                return Ok(Found::Line(begins, &self.buffer[line]));
            }
            searched = waiting.len();
            if searched > LINE_BYTES_MAX {
                (self.overlong, self.next, searched) = (true, self.filled, 0);
            }
            if self.fill(&mut read)? == 0 {
                let torn = self.overlong || self.next < self.filled;
                (self.overlong, self.next) = (false, self.filled);
                return Ok(if torn { Found::Torn } else { Found::End });
            }
        }
    }

    /// Reads on behind what waits, which moves to the front.
    fn fill(&mut self, read: &mut impl FnMut(&mut [u8], u64) -> io::Result<usize>) -> io::Result<usize> {
        self.buffer.copy_within(self.next..self.filled, 0);
        (self.filled, self.next) = (self.filled - self.next, 0);
        // A long line doubles the room, so that it is moved a few times only.
        let room = (self.filled * 2).max(self.reads);
        self.reads = READ_BYTES;
        if self.buffer.len() < room {
            self.buffer.resize(room, 0);
        }
        let read = read(&mut self.buffer[self.filled..], self.offset)?;
        self.filled += read;
        self.offset += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::Place;

    #[test]
    fn lines_come_whole_whatever_their_length_and_a_torn_end_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pb");
        let long = vec![b'x'; 3 * READ_BYTES + 7];
        let bytes = [b"one\n\n", long.as_slice(), b"\nlast\ntorn"].concat();
        std::fs::write(&path, &bytes).unwrap();
        let tape = Tape::open(&Place::of(&path)).unwrap();
        let mut scan = Scan::from(0);
        let mut seen = Vec::new();
        loop {
            match scan.next(&tape).unwrap() {
                Found::Line(at, line) => seen.push((at as usize, line.to_vec())),
                Found::Torn => break seen.push((0, b"(torn)".to_vec())),
                Found::Overlong | Found::End => panic!("there is neither"),
            }
        }
        let behind = 5 + long.len() + 1;
        let expected =
            [(0, b"one".to_vec()), (4, Vec::new()), (5, long), (behind, b"last".to_vec()), (0, b"(torn)".to_vec())];
        assert!(seen == expected, "{:?}", seen.iter().map(|(at, line)| (at, line.len())).collect::<Vec<_>>());
        assert!(scan.buffered() < 8 * READ_BYTES);
        assert!(matches!(scan.next(&tape).unwrap(), Found::End));
    }
}

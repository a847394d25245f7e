//! Relays: the lines of a raw answer as they come in, gathered into chunks that can be sent on as they are. Only times are looked at.

use std::io::{self, Read};

use sample::{TimeRange, Timestamp};

use crate::{
    header::Header,
    rows::time_of_line,
    scan::{Found, Scan},
};

/// A raw answer that is passed on.
#[derive(Debug)]
pub struct Relay<R> {
    source: R,
    range: TimeRange,
    scan: Scan,
    /// The last header, and its line.
    header: Option<(Header, Vec<u8>)>,
    is_first: bool,
    ended: bool,
    failed: Option<io::Error>,
    scratch: Vec<u8>,
    /// The newest sample before the range, which such an answer begins with.
    pub before: Option<Timestamp>,
    /// The oldest sample within the range.
    pub first: Option<Timestamp>,
    /// The newest sample within the range.
    pub last: Option<Timestamp>,
}

impl<R: Read> Relay<R> {
    /// What `source` gives of a range.
    pub fn new(source: R, range: TimeRange) -> Relay<R> {
        Relay {
            source,
            range,
            scan: Scan::from(0),
            header: None,
            is_first: true,
            ended: false,
            failed: None,
            scratch: Vec::new(),
            before: None,
            first: None,
            last: None,
        }
    }

    /// The next chunk of about so many bytes: a header, lines of the range, an empty line; none at the end. A line that is no sample, or
    /// has no end, is an error: answers are not damaged like files.
    ///
    /// What came before a failure is given out before it.
    pub fn next(&mut self, bytes_max: usize) -> io::Result<Option<Vec<u8>>> {
        if let Some(failed) = self.failed.take() {
            self.ended = true;
            return Err(failed);
        }
        let mut chunk = Vec::new();
        if let Err(error) = self.fill(&mut chunk, bytes_max) {
            if chunk.is_empty() {
                return Err(error);
            }
            self.failed = Some(error);
        }
        if !chunk.is_empty() {
            chunk.push(b'\n');
        }
        Ok((!chunk.is_empty()).then_some(chunk))
    }

    fn fill(&mut self, chunk: &mut Vec<u8>, bytes_max: usize) -> io::Result<()> {
        while !self.ended && chunk.len() < bytes_max {
            let source = &mut self.source;
            match self.scan.next_by(|buffer, _| read_on(source, buffer))? {
                Found::Line(_, []) => self.is_first = true,
                Found::Line(_, line) => {
                    if std::mem::take(&mut self.is_first)
                        && let Some(header) = Header::of_line(line)
                    {
                        self.header = Some((header, [line, b"\n"].concat()));
                        if chunk.is_empty() {
                            continue;
                        }
                        break;
                    }
                    let (header, header_line) = self.header.as_ref().ok_or_else(no_sample)?;
                    let time = time_of_line(header, line, &mut self.scratch).ok_or_else(no_sample)?;
                    if time < self.range.t0 {
                        self.before = self.before.max(Some(time));
                    } else if time < self.range.t1 {
                        self.first = Some(self.first.map_or(time, |first| first.min(time)));
                        self.last = self.last.max(Some(time));
                        if chunk.is_empty() {
                            chunk.extend_from_slice(header_line);
                        }
                        chunk.extend_from_slice(line);
                        chunk.push(b'\n');
                    }
                }
                Found::Overlong => return Err(no_sample()),
                Found::Torn => return Err(io::Error::other("its answer broke off within a line")),
                Found::End => self.ended = true,
            }
        }
        Ok(())
    }
}

fn no_sample() -> io::Error {
    io::Error::other("there is a line in its answer that is no sample")
}

/// Reads what there is, however often a signal comes between.
pub(crate) fn read_on(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match source.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_chunks;

    /// A header of `A`, a double of 2026.
    const HEADER: &[u8] = b"\x08\x06\x12\x01A\x18\xea\x0f\n";

    fn line(second: u8) -> Vec<u8> {
        [&[8, second, 16, 0, 0x19][..], &f64::from(second).to_le_bytes(), b"\n"].concat()
    }

    fn range(t0: i64, t1: i64) -> TimeRange {
        let start = Timestamp::parse("2026-01-01T00:00:00Z").unwrap().seconds_and_nanos().0;
        TimeRange { t0: Timestamp::from_seconds(start + t0, 0), t1: Timestamp::from_seconds(start + t1, 0) }
    }

    #[test]
    fn lines_of_the_range_pass_in_chunks_and_the_one_before_is_told() {
        let lines: Vec<u8> = (1..=9).filter(|second| *second != 5).flat_map(line).collect();
        let answer = [HEADER, b"\n", HEADER, &lines, b"\n", HEADER, &line(9)].concat();
        let mut relay = Relay::new(&answer[..], range(3, 9));
        let (mut seconds, mut chunks) = (0, 0);
        while let Some(chunk) = relay.next(40).unwrap() {
            let (read, damage) = read_chunks(&chunk);
            assert!(damage.is_none() && chunk.ends_with(b"\n\n"));
            seconds += read.iter().flat_map(|chunk| &chunk.batches).map(|batch| batch.len()).sum::<usize>();
            chunks += 1;
        }
        assert_eq!((seconds, relay.before, relay.last), (5, Some(range(2, 3).t0), Some(range(8, 9).t0)));
        assert!(chunks >= 2);
    }

    #[test]
    fn an_answer_that_is_none_is_an_error() {
        for wrong in [&b"<html>\n"[..], &[HEADER, b"<html>\n"].concat(), &[HEADER, b"\x08\x01\x10"].concat()] {
            assert!(Relay::new(wrong, range(0, 9)).next(100).is_err(), "{wrong:?}");
        }
        let torn = [HEADER, &line(1), b"\x08\x01\x10"].concat();
        let mut relay = Relay::new(&torn[..], range(0, 9));
        assert!(
            relay.next(100).unwrap().is_some_and(|chunk| chunk.starts_with(HEADER) && chunk.len() > HEADER.len() + 13)
        );
        assert!(relay.next(100).is_err());
        assert_eq!(Relay::new(&b""[..], range(0, 9)).next(100).unwrap(), None);
    }
}

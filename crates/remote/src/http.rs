//! The little of HTTP/1.1 that a node needs to ask another: one POST, whose body may come in chunks, and an answer in chunks that are taken apart into frames while they
//! come. Whoever answers has proved to have the key; still no more is kept than the frame that is being read.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

use std::io;

use crate::{
    call::{Call, ROOT},
    frame::{BYTES_MAX, HEAD_BYTES, Item},
};

/// The longest head of an answer, and the longest line between chunks.
const HEAD_MAX: usize = 16 << 10;
const LINE_MAX: usize = 256;

/// Reads some bytes behind those that are there, and says how many; 0 at the end.
pub(crate) type Fill<'a> = dyn FnMut(&mut Vec<u8>) -> io::Result<usize> + 'a;

/// The bytes of a request.
pub(crate) fn request(call: &Call, host: &str) -> Vec<u8> {
    let arguments = call.arguments();
    let head = format!(
        "POST {ROOT}{} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/octet-stream\r\ncontent-length: {}\r\n\r\n",
        call.name(),
        arguments.len()
    );
    [head.as_bytes(), &arguments].concat()
}

/// The head of a request whose body comes in chunks.
pub(crate) fn head(name: &str, host: &str) -> Vec<u8> {
    let head = format!(
        "POST {ROOT}{name} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/octet-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    head.into_bytes()
}

/// A chunk of it; one of no bytes ends the body.
pub(crate) fn chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

/// An answer while it comes.
#[derive(Debug)]
pub(crate) struct Answer {
    /// What was read and is not taken apart yet, from `at` on.
    raw: Vec<u8>,
    at: usize,
    /// What is left of the chunk.
    chunk: usize,
    /// A chunk was begun before, so that a line ends it.
    within: bool,
    /// What is there of the next frame, with its size before it.
    frame: Vec<u8>,
}

fn wrong(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

impl Answer {
    /// Reads the head.
    pub(crate) fn begin(fill: &mut Fill<'_>) -> io::Result<Answer> {
        let mut raw = Vec::new();
        let end = loop {
            if let Some(end) = raw.windows(4).position(|four| four == b"\r\n\r\n") {
                break end;
            }
            if raw.len() > HEAD_MAX {
                return Err(wrong("the head of its answer has no end"));
            }
            if fill(&mut raw)? == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it hung up without an answer"));
            }
        };
        let head =
            raw.get(..end).and_then(|head| std::str::from_utf8(head).ok()).ok_or_else(|| wrong("it is no HTTP"))?;
        let mut lines = head.split("\r\n");
        let status =
            lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 ")).ok_or_else(|| wrong("it is no HTTP"))?;
        if !status.starts_with("200") {
            return Err(wrong(format!("it answers {status:?}")));
        }
        let is_chunked = lines.filter_map(|line| line.split_once(':')).any(|(name, value)| {
            name.eq_ignore_ascii_case("transfer-encoding") && value.trim().eq_ignore_ascii_case("chunked")
        });
        if !is_chunked {
            return Err(wrong("its answer does not come in chunks"));
        }
        Ok(Answer { raw, at: end + 4, chunk: 0, within: false, frame: Vec::new() })
    }

    /// The next piece, be it that somebody works on one.
    pub(crate) fn next(&mut self, fill: &mut Fill<'_>) -> io::Result<Item> {
        self.frame.clear();
        self.take(HEAD_BYTES, fill)?;
        let size = self.frame.first_chunk().map_or(0, |size| u32::from_le_bytes(*size)) as usize;
        if size == 0 || size > BYTES_MAX {
            return Err(wrong(format!("a piece of its answer has {size} bytes")));
        }
        self.frame.clear();
        self.take(size, fill)?;
        let item = Item::read(&self.frame).ok_or_else(|| wrong("a piece of its answer makes no sense"))?;
        // One large array must not be held as long as the connection.
        self.frame.shrink_to(1 << 20);
        Ok(item)
    }

    /// Whether the answer ends here, so that another may come by the same connection.
    pub(crate) fn ends(&mut self, fill: &mut Fill<'_>) -> io::Result<bool> {
        Ok(self.chunk == 0 && !self.next_chunk(fill)? && self.at == self.raw.len())
    }

    /// So many bytes of the body, which come into `frame`: room is made as they come.
    fn take(&mut self, mut wanted: usize, fill: &mut Fill<'_>) -> io::Result<()> {
        while wanted > 0 {
            if self.chunk == 0 && !self.next_chunk(fill)? {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "its answer ends too early"));
            }
            if self.at == self.raw.len() {
                self.more(fill)?;
            }
            let there = self.raw.get(self.at..).unwrap_or_default();
            let some = there.get(..there.len().min(wanted).min(self.chunk)).unwrap_or_default();
            self.frame.extend_from_slice(some);
            let size = some.len();
            self.at += size;
            self.chunk -= size;
            wanted -= size;
        }
        Ok(())
    }

    /// Reads the line that says how long the next chunk is; false if there is none any more.
    fn next_chunk(&mut self, fill: &mut Fill<'_>) -> io::Result<bool> {
        if self.within {
            let end = self.line(fill)?;
            if !end.is_empty() {
                return Err(wrong("a chunk of its answer is longer than it said"));
            }
        }
        let line = self.line(fill)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| wrong("a chunk of its answer has no size"))?;
        self.within = size > 0;
        self.chunk = size;
        if size == 0 && !self.line(fill)?.is_empty() {
            return Err(wrong("something follows its answer"));
        }
        Ok(size > 0)
    }

    fn line(&mut self, fill: &mut Fill<'_>) -> io::Result<String> {
        loop {
            let there = self.raw.get(self.at..).unwrap_or_default();
            if let Some(end) = there.windows(2).position(|two| two == b"\r\n") {
                let line = there.get(..end).and_then(|line| std::str::from_utf8(line).ok()).map(str::to_owned);
                self.at += end + 2;
                return line.ok_or_else(|| wrong("it is no HTTP"));
            }
            if there.len() > LINE_MAX {
                return Err(wrong("a line of its answer has no end"));
            }
            self.more(fill)?;
        }
    }

    fn more(&mut self, fill: &mut Fill<'_>) -> io::Result<()> {
        self.raw.drain(..self.at);
        self.at = 0;
        match fill(&mut self.raw)? {
            0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it broke off")),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives bytes in pieces of so many.
    fn pieces(bytes: &[u8], size: usize) -> impl FnMut(&mut Vec<u8>) -> io::Result<usize> {
        let mut rest = bytes.to_vec();
        move |buffer| {
            let some: Vec<u8> = rest.drain(..size.min(rest.len())).collect();
            buffer.extend_from_slice(&some);
            Ok(some.len())
        }
    }

    fn answer(chunks: &[&[u8]]) -> Vec<u8> {
        let mut bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        for chunk in chunks {
            bytes.extend(format!("{:x}\r\n", chunk.len()).bytes().chain(chunk.iter().copied()).chain(*b"\r\n"));
        }
        bytes.extend(b"0\r\n\r\n");
        bytes
    }

    #[test]
    fn frames_come_whole_however_they_were_cut() {
        let frames =
            [Item::Name("A".to_owned()), Item::Alive, Item::End(1)].map(|item| item.frame().expect("it is short"));
        let [name, alive, end] = &frames;
        let whole = answer(&[&[&name[..], &alive[..3]].concat(), &alive[3..], end]);
        for size in 1..=whole.len() {
            let mut fill = pieces(&whole, size);
            let mut read = Answer::begin(&mut fill).expect("there is a head");
            let items = [(); 3].map(|()| read.next(&mut fill).expect("a piece"));
            assert_eq!(items, [Item::Name("A".to_owned()), Item::Alive, Item::End(1)]);
            assert!(read.ends(&mut fill).expect("it ends"));
        }
        for cut in 0..whole.len() {
            let mut fill = pieces(&whole[..cut], 9);
            let ends = Answer::begin(&mut fill).and_then(|mut read| {
                for _ in 0..3 {
                    read.next(&mut fill)?;
                }
                read.ends(&mut fill)
            });
            assert!(!ends.is_ok_and(|ends| ends), "cut at {cut}");
        }
    }

    #[test]
    fn what_is_no_answer_is_told_in_words() {
        let cases: [(&[u8], &str); 5] = [
            (b"", "hung up"),
            (b"HTTP/1.1 404 Not Found\r\n\r\n", "404 Not Found"),
            (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", "chunks"),
            (b"SSH-2.0-OpenSSH\r\n\r\n", "no HTTP"),
            (&[b'x'; 20_000], "no end"),
        ];
        for (bytes, told) in cases {
            let error = Answer::begin(&mut pieces(bytes, 1000)).expect_err("it is none").to_string();
            assert!(error.contains(told), "{error}");
        }
        let long = answer(&[&[0xff; 8]]);
        let mut fill = pieces(&long, 1000);
        let error = Answer::begin(&mut fill).expect("a head").next(&mut fill).expect_err("it is too long").to_string();
        assert!(error.contains("4294967295 bytes"), "{error}");
    }
}

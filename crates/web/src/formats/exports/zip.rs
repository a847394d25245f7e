//! A zip whose files are stored as they are, written into a draft as they come, and gone on with behind the last file that was finished.
//!
//! ```text
//!   zip   := file* central* [end64 locator] end          file    := header name room bytes
//!   room  := 20 bytes for lengths beyond 4 GB; below that a field that no reader knows and all pass over
//! ```
//! The format stands in PKWARE's APPNOTE. Times are those of the first day that it knows, so that the same files are the same bytes.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex, MutexGuard},
};

use flate2::Crc;
use service::Draft;

use crate::refusal::{Code, Refusal};

const FILE: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END_64: u32 = 0x0606_4b50;
const LOCATOR_64: u32 = 0x0706_4b50;
/// Readers must know long files.
const VERSION: u16 = 45;
/// Names are UTF-8.
const FLAGS: u16 = 1 << 11;
/// 1 January 1980.
const DATE: u16 = 0x0021;
const HEADER_BYTES: u64 = 30;
/// The field for long files, and one that says nothing.
const LONG: u16 = 0x0001;
const ROOM: u16 = 0x7670;
const ROOM_BYTES: u16 = 20;
/// Where a number does not fit it stands elsewhere.
const ELSEWHERE: u32 = u32::MAX;

/// The zip. Cheap to clone: all are one.
#[derive(Clone)]
pub(super) struct Zip(Arc<Mutex<Writing>>);

struct Writing {
    draft: Draft,
    files: Vec<Stored>,
    current: Option<(Stored, Crc)>,
}

struct Stored {
    name: String,
    offset: u64,
    crc: u32,
    len: u64,
}

impl Zip {
    /// Behind the files that the draft has already.
    pub(super) fn go_on(draft: &Draft) -> Result<Zip, Refusal> {
        let (mut files, mut offset, end) = (Vec::new(), 0, draft.position());
        while offset < end {
            let stored = Stored::read(draft, offset)?;
            offset = stored.end();
            files.push(stored);
        }
        if offset != end {
            return Err(broken());
        }
        Ok(Zip(Arc::new(Mutex::new(Writing { draft: draft.clone(), files, current: None }))))
    }

    fn writing(&self) -> MutexGuard<'_, Writing> {
        self.0.lock().expect("no holder of this lock panics")
    }

    /// Another file, whose bytes are written into the zip.
    pub(super) fn begin(&self, name: &str) -> Result<(), Refusal> {
        let mut writing = self.writing();
        let stored = Stored { name: name.to_owned(), offset: writing.draft.position(), crc: 0, len: 0 };
        writing.draft.put(&stored.header())?;
        writing.current = Some((stored, Crc::new()));
        Ok(())
    }

    /// The file is whole.
    pub(super) fn end(&self) -> Result<(), Refusal> {
        let mut writing = self.writing();
        let Some((mut stored, crc)) = writing.current.take() else { return Ok(()) };
        (stored.crc, stored.len) = (crc.sum(), writing.draft.position() - stored.data());
        writing.draft.patch(stored.offset, &stored.header())?;
        writing.files.push(stored);
        Ok(())
    }

    /// There are no more.
    pub(super) fn finish(&self) -> Result<(), Refusal> {
        let writing = self.writing();
        let begin = writing.draft.position();
        for file in &writing.files {
            writing.draft.put(&file.central())?;
        }
        let (len, count) = (writing.draft.position() - begin, writing.files.len() as u64);
        let is_long = begin >= u64::from(ELSEWHERE) || len >= u64::from(ELSEWHERE) || count >= u64::from(u16::MAX);
        let mut end = Vec::new();
        if is_long {
            let at = begin + len;
            put_32(&mut end, END_64);
            put_64(&mut end, 44); // what follows
            put_16(&mut end, VERSION);
            put_16(&mut end, VERSION);
            put_64(&mut end, 0); // both disks
            [count, count, len, begin].iter().for_each(|number| put_64(&mut end, *number));
            put_32(&mut end, LOCATOR_64);
            put_32(&mut end, 0);
            put_64(&mut end, at);
            put_32(&mut end, 1);
        }
        put_32(&mut end, END);
        put_32(&mut end, 0); // both disks
        let count = if is_long { u16::MAX } else { count as u16 };
        put_16(&mut end, count);
        put_16(&mut end, count);
        put_32(&mut end, if is_long { ELSEWHERE } else { len as u32 });
        put_32(&mut end, if is_long { ELSEWHERE } else { begin as u32 });
        put_16(&mut end, 0); // no comment
        writing.draft.put(&end)
    }
}

impl Write for Zip {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut writing = self.writing();
        if let Some((_, crc)) = &mut writing.current {
            crc.update(bytes);
        }
        writing.draft.put(bytes).map(|()| bytes.len()).map_err(io::Error::other)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stored {
    fn data(&self) -> u64 {
        self.offset + HEADER_BYTES + self.name.len() as u64 + u64::from(ROOM_BYTES)
    }

    fn end(&self) -> u64 {
        self.data() + self.len
    }

    fn is_long(&self) -> bool {
        self.len >= u64::from(ELSEWHERE)
    }

    /// What stands before the bytes.
    fn header(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_32(&mut out, FILE);
        self.put_facts(&mut out);
        put_16(&mut out, ROOM_BYTES);
        out.extend_from_slice(self.name.as_bytes());
        put_16(&mut out, if self.is_long() { LONG } else { ROOM });
        put_16(&mut out, ROOM_BYTES - 4);
        put_64(&mut out, self.len);
        put_64(&mut out, self.len);
        out
    }

    /// What headers and the central directory say alike.
    fn put_facts(&self, out: &mut Vec<u8>) {
        put_16(out, VERSION);
        put_16(out, FLAGS);
        put_16(out, 0); // stored
        put_16(out, 0); // midnight
        put_16(out, DATE);
        put_32(out, self.crc);
        let len = if self.is_long() { ELSEWHERE } else { self.len as u32 };
        put_32(out, len);
        put_32(out, len);
        put_16(out, self.name.len() as u16);
    }

    fn central(&self) -> Vec<u8> {
        let mut long = Vec::new();
        if self.is_long() {
            put_64(&mut long, self.len);
            put_64(&mut long, self.len);
        }
        let is_far = self.offset >= u64::from(ELSEWHERE);
        if is_far {
            put_64(&mut long, self.offset);
        }
        let mut out = Vec::new();
        put_32(&mut out, CENTRAL);
        put_16(&mut out, VERSION);
        self.put_facts(&mut out);
        put_16(&mut out, if long.is_empty() { 0 } else { 4 + long.len() as u16 });
        put_16(&mut out, 0); // no comment
        put_16(&mut out, 0); // disk
        put_16(&mut out, 0); // no text
        put_32(&mut out, 0); // attributes
        put_32(&mut out, if is_far { ELSEWHERE } else { self.offset as u32 });
        out.extend_from_slice(self.name.as_bytes());
        if !long.is_empty() {
            put_16(&mut out, LONG);
            put_16(&mut out, long.len() as u16);
            out.extend_from_slice(&long);
        }
        out
    }

    /// One that was finished.
    fn read(draft: &Draft, offset: u64) -> Result<Stored, Refusal> {
        let mut head = [0; HEADER_BYTES as usize];
        draft.read_at(offset, &mut head)?;
        let name_len = u16::from_le_bytes([head[26], head[27]]);
        if head[..4] != FILE.to_le_bytes() || head[28..] != ROOM_BYTES.to_le_bytes() {
            return Err(broken());
        }
        let mut rest = vec![0; usize::from(name_len + ROOM_BYTES)];
        draft.read_at(offset + HEADER_BYTES, &mut rest)?;
        let (name, room) = rest.split_at(usize::from(name_len));
        let name = String::from_utf8(name.to_vec()).map_err(|_| broken())?;
        let len = room[4..12].first_chunk().map_or(0, |len| u64::from_le_bytes(*len));
        let crc = head[14..18].first_chunk().map_or(0, |crc| u32::from_le_bytes(*crc));
        Ok(Stored { name, offset, crc, len })
    }
}

fn broken() -> Refusal {
    Refusal::new(Code::Internal, "what was made of the export before is not what was left")
}

fn put_16(out: &mut Vec<u8>, number: u16) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_32(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_64(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_have_one_length_however_long_the_file_is() {
        let stored = |len| Stored { name: "a.parquet".to_owned(), offset: 7, crc: 5, len };
        for len in [0, 1, u64::from(u32::MAX) - 1, u64::from(u32::MAX), 1 << 40] {
            let stored = stored(len);
            assert_eq!(stored.offset + stored.header().len() as u64, stored.data(), "{len}");
        }
        assert_eq!(stored(5).central().len(), 46 + 9);
        assert_eq!(stored(1 << 33).central().len(), 46 + 9 + 20);
        let far = Stored { offset: 1 << 33, ..stored(1 << 33) };
        assert_eq!(far.central().len(), 46 + 9 + 28);
    }
}

//! Zip files: which files a PV's zip file holds, and where. The directory stands at the end; what stands behind 4 GiB is told in 64 bits.
//!
//! ```text
//!   entry*  directory  ( zip64 end  zip64 locator )?  end          entry := head name extra bytes
//! ```

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::io;

use crate::tape::{Content, Member, Tape};

/// The end without its comment, and the longest comment.
const END_BYTES: u64 = 22;
const COMMENT_BYTES_MAX: u64 = 65_535;
const DIRECTORY_BYTES_MAX: u64 = 64 << 20;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// All files within, with those that are damaged, encrypted or packed in another way as what cannot be read; an error where the
/// directory is missing or has not as many entries as the end says.
pub(crate) fn members(tape: &Tape) -> io::Result<Vec<Member>> {
    let no_zip = || io::Error::new(io::ErrorKind::InvalidData, "it is no whole zip file");
    let Directory { start, size, entries } = directory(tape)?.ok_or_else(no_zip)?;
    if size > DIRECTORY_BYTES_MAX || start.saturating_add(size) > tape.len() {
        return Err(no_zip());
    }
    let mut bytes = vec![0; usize::try_from(size).map_err(|_| no_zip())?];
    tape.read_at(&mut bytes, start)?;
    let (mut members, mut rest) = (Vec::new(), bytes.as_slice());
    while rest.starts_with(b"PK\x01\x02") {
        let (entry, after) = Entry::read(rest).ok_or_else(no_zip)?;
        rest = after;
        let name = entry.name.rsplit('/').next().unwrap_or_default().to_owned();
        let content = match content(tape, &entry)? {
            Ok(content) => content,
            Err(why) => Content::Unreadable(format!("{name} in it {why}").into()),
        };
        members.push(Member { name, content });
    }
    if members.len() as u64 != entries {
        let text = format!("its list of files has {} of {entries} entries", members.len());
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    Ok(members)
}

/// How the file of an entry is kept, or why it cannot be read.
fn content(tape: &Tape, entry: &Entry) -> io::Result<Result<Content, &'static str>> {
    let head = read(tape, entry.head, 30)?.filter(|head| head.starts_with(b"PK\x03\x04")).unwrap_or_default();
    let (Some(name), Some(extra)) = (u16_at(&head, 26), u16_at(&head, 28)) else {
        return Ok(Err("has no head where it should begin"));
    };
    let begin = entry.head.saturating_add(30 + u64::from(name) + u64::from(extra));
    Ok(match entry.method {
        _ if entry.is_encrypted => Err("is encrypted"),
        _ if begin.saturating_add(entry.packed) > tape.len() => Err("is longer than what there is"),
        STORED => Ok(Content::Piece(begin, entry.packed)),
        DEFLATED => Ok(Content::Deflated { start: begin, len: entry.packed, crc: entry.crc }),
        _ => Err("is neither stored nor deflated"),
    })
}

/// Where the directory stands, how long it is, and how many entries it has.
struct Directory {
    start: u64,
    size: u64,
    entries: u64,
}

/// The directory that the end tells of.
fn directory(tape: &Tape) -> io::Result<Option<Directory>> {
    let tail = tape.len().saturating_sub(END_BYTES + COMMENT_BYTES_MAX);
    let Some(bytes) = read(tape, tail, usize::try_from(tape.len() - tail).unwrap_or(0))? else { return Ok(None) };
    let Some(place) = memchr::memmem::rfind(&bytes, b"PK\x05\x06") else { return Ok(None) };
    let end = bytes.get(place..).unwrap_or_default();
    let (Some(entries), Some(size), Some(start)) = (u16_at(end, 10), u32_at(end, 12), u32_at(end, 16)) else {
        return Ok(None);
    };
    let short = Directory { start: start.into(), size: size.into(), entries: entries.into() };
    let is_long = size == u32::MAX || start == u32::MAX;
    if !is_long && entries != u16::MAX {
        return Ok(Some(short));
    }
    let locator = match (tail + place as u64).checked_sub(20) {
        Some(locator) => read(tape, locator, 20)?.filter(|bytes| bytes.starts_with(b"PK\x06\x07")),
        None => None,
    };
    // There may be just as many entries as have room in 16 bits.
    let Some(locator) = locator else { return Ok((!is_long).then_some(short)) };
    let Some(long) = u64_at(&locator, 8) else { return Ok(None) };
    let long = read(tape, long, 56)?.filter(|bytes| bytes.starts_with(b"PK\x06\x06"));
    Ok(long.and_then(|long| {
        Some(Directory { start: u64_at(&long, 48)?, size: u64_at(&long, 40)?, entries: u64_at(&long, 32)? })
    }))
}

/// A row of the directory.
struct Entry {
    name: String,
    method: u16,
    is_encrypted: bool,
    crc: u32,
    packed: u64,
    /// Where its own head stands.
    head: u64,
}

impl Entry {
    fn read(bytes: &[u8]) -> Option<(Entry, &[u8])> {
        let lengths = [u16_at(bytes, 28)?, u16_at(bytes, 30)?, u16_at(bytes, 32)?].map(usize::from);
        let [name, extra, comment] = lengths;
        let (fixed, rest) = bytes.split_at_checked(46)?;
        let (name, rest) = rest.split_at_checked(name)?;
        let (extra, rest) = rest.split_at_checked(extra)?;
        let (_, rest) = rest.split_at_checked(comment)?;
        let mut long = long_field(extra);
        let mut wide = |short: u32| -> Option<u64> {
            if short != u32::MAX {
                return Some(short.into());
            }
            let number = u64_at(long, 0)?;
            long = long.get(8..)?;
            Some(number)
        };
        // They stand in this order, and only those that have no room in 32 bits.
        let (_size, packed, head) = (wide(u32_at(fixed, 24)?)?, wide(u32_at(fixed, 20)?)?, wide(u32_at(fixed, 42)?)?);
        let entry = Entry {
            name: String::from_utf8_lossy(name).into_owned(),
            method: u16_at(fixed, 10)?,
            is_encrypted: u16_at(fixed, 8)? & 1 != 0,
            crc: u32_at(fixed, 16)?,
            packed,
            head,
        };
        Some((entry, rest))
    }
}

/// The field with numbers of 64 bits.
fn long_field(mut extra: &[u8]) -> &[u8] {
    while let (Some(id), Some(len)) = (u16_at(extra, 0), u16_at(extra, 2)) {
        let end = 4 + usize::from(len);
        if id == 1 {
            return extra.get(4..end).unwrap_or_default();
        }
        extra = extra.get(end..).unwrap_or_default();
    }
    &[]
}

/// So many bytes; none if there are fewer.
fn read(tape: &Tape, at: u64, size: usize) -> io::Result<Option<Vec<u8>>> {
    if at.saturating_add(size as u64) > tape.len() {
        return Ok(None);
    }
    let mut bytes = vec![0; size];
    Ok((tape.read_at(&mut bytes, at)? == size).then_some(bytes))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

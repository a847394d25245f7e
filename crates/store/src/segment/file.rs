//! The file of a segment, as bytes at their places: its header and its footer, and nothing beyond its end.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::io;

use super::directory::{self, BadFooter, Footer};
use crate::{
    Error,
    bytes::{Cursor, Malformed},
    disk::{Objects, fault_of_file},
    segment::format::{IDENTITY_AT, MAGIC, TAIL_LEN, TAIL_MAGIC, VERSION},
};

/// So much of the end is read at once: with it comes the footer of most segments, up to about 180,000 PVs.
const END_BYTES: u64 = 16 << 10;

/// For which archive a segment was written, and under which key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) archive: u64,
    /// As `key_number` makes it.
    pub(crate) key: u64,
}

/// The footer of a file of so many bytes, from one read where it is not too long. Nothing before `tables_at` is read: the blocks may
/// lie in a slower place.
pub(super) fn read_footer(disk: &dyn Objects, key: &str, bytes: u64, tables_at: u64) -> Result<Footer, Error> {
    let len = bytes.saturating_sub(tables_at).min(END_BYTES);
    let mut end = read_bytes(disk, key, bytes, bytes - len, len)?;
    let Some((rest, tail)) = end.split_last_chunk::<TAIL_LEN>() else {
        return Err(corrupt(key, "it is shorter than a segment can be".to_owned()));
    };
    let mut cursor = Cursor::new(tail);
    let (len, zeros, magic) = (cursor.u32(), cursor.u32(), cursor.array::<8>());
    let (Ok(len), Ok(0), Ok(TAIL_MAGIC)) = (len, zeros, magic) else {
        return Err(corrupt(key, "its last bytes are not those of a segment".to_owned()));
    };
    let known = rest.len();
    let footer = match known.checked_sub(len as usize) {
        Some(start) => rest.get(start..).unwrap_or_default(),
        None => {
            let offset = (bytes - TAIL_LEN as u64).checked_sub(u64::from(len));
            let offset = offset.ok_or_else(|| corrupt(key, "its footer is longer than the file".to_owned()))?;
            end = read_bytes(disk, key, bytes, offset, u64::from(len))?;
            &end
        }
    };
    directory::footer(footer).map_err(|bad| match bad {
        BadFooter::Newer(version) => Error::TooNew { path: key.to_owned(), version, supported: VERSION },
        BadFooter::Malformed(Malformed(reason)) => corrupt(key, format!("its footer: {reason}")),
    })
}

pub(super) fn read_bytes(
    disk: &dyn Objects,
    key: &str,
    file_len: u64,
    offset: u64,
    len: u64,
) -> Result<Vec<u8>, Error> {
    within(key, file_len, offset, len)?;
    let mut bytes = vec![0; len as usize];
    disk.read_at(key, offset, &mut bytes).map_err(|error| io_error(key, error))?;
    Ok(bytes)
}

/// The fields of a header before its checksum: the sequence, and for which archive and under which key it was written.
pub(crate) fn take_header(fields: &[u8]) -> Result<(u64, Option<Identity>), Malformed> {
    let mut cursor = Cursor::new(fields);
    let is_ours = cursor.array::<8>()? == MAGIC && (1..=VERSION).contains(&cursor.u16()?);
    cursor.take(6)?;
    let sequence = cursor.u64()?;
    let mut cursor = Cursor::new(fields);
    cursor.take(IDENTITY_AT)?;
    let identity = Identity { archive: cursor.u64()?, key: cursor.u64()? };
    match is_ours {
        true => Ok((sequence, Some(identity).filter(|identity| identity.archive != 0))),
        false => Err(Malformed("it is damaged")),
    }
}

pub(super) fn within(key: &str, file_len: u64, offset: u64, len: u64) -> Result<(), Error> {
    match offset.checked_add(len).is_none_or(|end| end > file_len) {
        true => Err(corrupt(key, format!("byte {offset} and {len} more lie beyond its end"))),
        false => Ok(()),
    }
}

pub(super) fn corrupt(key: &str, reason: String) -> Error {
    Error::CorruptSegment { path: key.to_owned(), reason }
}

/// A file that is missing or cannot be read costs what is in it, and nothing else.
pub(super) fn io_error(key: &str, source: io::Error) -> Error {
    match fault_of_file(&source) {
        Some(reason) => corrupt(key, reason.to_owned()),
        None => Error::UnreadSegment { path: key.to_owned(), source },
    }
}

//! Texts and structures: byte strings of any length.
//!
//! ```text
//!   0 list        integers (lengths) bytes
//!   1 dictionary  distinct:varint integers (lengths) bytes integers (indices)
//!   bytes := len:varint stored:varint content[stored]        stored < len: zstd; stored = len: as they are
//! ```

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{cell::RefCell, collections::HashMap};

use sample::{Blobs, Strings};
use zstd::bulk::Compressor;

use super::{Effort, int};
use crate::bytes::{Cursor, Malformed, put_blob, put_blob_of, put_varint};

const LIST: u8 = 0;
const DICTIONARY: u8 = 1;

/// No block holds more bytes than this in one column.
pub(crate) const COLUMN_BYTES_MAX: usize = 1 << 30;

/// zstd makes nothing smaller of so few bytes.
const PACKED_BYTES_MIN: usize = 11;

/// The memory that zstd takes for more bytes goes back at once.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// zstd makes bytes at most so many bits fewer: a block of 128 KiB takes four bytes at least.
const RATIO_BITS: u32 = 15;

pub(crate) fn put<'a>(out: &mut Vec<u8>, blobs: impl ExactSizeIterator<Item = &'a [u8]>, effort: Effort) {
    let blobs: Vec<&[u8]> = blobs.collect();
    if blobs.is_empty() {
        return;
    }
    let mut places: HashMap<&[u8], i64> = HashMap::new();
    let mut distinct = Vec::new();
    let mut indices = Vec::with_capacity(blobs.len());
    for blob in &blobs {
        indices.push(*places.entry(blob).or_insert_with(|| {
            distinct.push(*blob);
            distinct.len() as i64 - 1
        }));
    }
    if distinct.len() * 2 <= blobs.len() {
        out.push(DICTIONARY);
        put_varint(out, distinct.len() as u64);
        put_list(out, &distinct, effort);
        int::put(out, &indices, effort);
    } else {
        put_different(out, &blobs, effort);
    }
}

/// Without looking for repeats: names, say, have none.
pub(crate) fn put_different(out: &mut Vec<u8>, blobs: &[&[u8]], effort: Effort) {
    if !blobs.is_empty() {
        out.push(LIST);
        put_list(out, blobs, effort);
    }
}

fn put_list(out: &mut Vec<u8>, blobs: &[&[u8]], effort: Effort) {
    let lengths: Vec<i64> = blobs.iter().map(|blob| blob.len() as i64).collect();
    int::put(out, &lengths, effort);
    match blobs {
        [one] => put_bytes(out, one, effort),
        many => put_bytes(out, &many.concat(), effort),
    }
}

pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8], effort: Effort) {
    let level = match effort {
        Effort::Flush => 1,
        Effort::Merge => 3,
    };
    put_varint(out, bytes.len() as u64);
    if bytes.len() > KEPT_BYTES_MAX {
        return put_blob_of(out, |out| pack_large(out, bytes, level));
    }
    let packed = if bytes.len() < PACKED_BYTES_MIN { None } else { packed(bytes, level) };
    put_blob(out, packed.as_deref().filter(|packed| packed.len() < bytes.len()).unwrap_or(bytes));
}

/// Appends what zstd makes of bytes, or these, without taking memory for both.
fn pack_large(out: &mut Vec<u8>, bytes: &[u8], level: i32) {
    let start = out.len();
    out.resize(start + zstd::zstd_safe::compress_bound(bytes.len()), 0);
    let (_, room) = out.split_at_mut(start);
    let packed = zstd::bulk::compress_to_buffer(bytes, room, level).ok().filter(|packed| *packed < bytes.len());
    out.truncate(start + packed.unwrap_or(0));
    if packed.is_none() {
        out.extend_from_slice(bytes);
    }
}

/// What zstd makes of bytes. The memory that it works in stays with the thread: for small blocks, taking it would be most of the
/// work.
fn packed(bytes: &[u8], level: i32) -> Option<Vec<u8>> {
    thread_local! {
        static WORKS: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    }
    WORKS.with_borrow_mut(|works| {
        if works.is_none() {
            *works = Compressor::new(level).ok();
        }
        let works = works.as_mut()?;
        works.set_compression_level(level).ok()?;
        works.compress(bytes).ok()
    })
}

pub(super) fn take_bytes(cursor: &mut Cursor) -> Result<Vec<u8>, Malformed> {
    let len = cursor.count(COLUMN_BYTES_MAX)?;
    let stored = cursor.blob()?;
    if stored.len() < len >> RATIO_BITS {
        return Err(Malformed("bytes of zstd claim to be more than they can be"));
    }
    if stored.len() == len {
        return Ok(stored.to_vec());
    }
    let bytes = zstd::bulk::decompress(stored, len).map_err(|_| Malformed("bytes of zstd cannot be decoded"))?;
    if bytes.len() == len { Ok(bytes) } else { Err(Malformed("bytes of zstd have another length")) }
}

/// The caller vouches for `count`: the memory for so many lengths is taken, whatever the bytes are.
pub(crate) fn take(cursor: &mut Cursor, count: usize) -> Result<Blobs, Malformed> {
    if count == 0 {
        return Ok(Blobs::default());
    }
    match cursor.u8()? {
        LIST => take_list(cursor, count),
        DICTIONARY => {
            let len = cursor.count(count)?;
            let distinct = take_list(cursor, len)?;
            let mut blobs = Blobs::default();
            let mut room = COLUMN_BYTES_MAX;
            for index in int::take(cursor, count)? {
                let index = usize::try_from(index).ok().filter(|index| *index < distinct.len());
                let blob = distinct.get(index.ok_or(Malformed("an index lies outside the dictionary"))?);
                room = room.checked_sub(blob.len()).ok_or(Malformed("a column of texts is too large"))?;
                blobs.push(blob);
            }
            Ok(blobs)
        }
        _ => Err(Malformed("no such codec of texts")),
    }
}

fn take_list(cursor: &mut Cursor, count: usize) -> Result<Blobs, Malformed> {
    let lengths = int::take(cursor, count)?;
    let bytes = take_bytes(cursor)?;
    let mut rest = Cursor::new(&bytes);
    let mut blobs = Blobs::default();
    for length in lengths {
        blobs.push(rest.take(usize::try_from(length).map_err(|_| Malformed("a length is negative"))?)?);
    }
    if rest.is_empty() { Ok(blobs) } else { Err(Malformed("text lengths do not add up")) }
}

pub(crate) fn strings(blobs: Blobs) -> Result<Strings, Malformed> {
    Strings::from_blobs(blobs).ok_or(Malformed("a text is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_whether_they_repeat_or_not() {
        let all_different: Vec<String> = (0..300).map(|i| format!("shot {i}")).collect();
        let few: Vec<String> =
            ["OPEN", "OPEN", "", "CLOSED"].map(str::to_owned).into_iter().cycle().take(300).collect();
        for texts in [all_different, few, vec!["µ".to_owned()]] {
            let mut bytes = Vec::new();
            put(&mut bytes, texts.iter().map(|text| text.as_bytes()), Effort::Flush);
            let mut cursor = Cursor::new(&bytes);
            let back = take(&mut cursor, texts.len()).and_then(strings).expect("it was written just now");
            assert!(cursor.is_empty());
            assert!(texts.iter().map(String::as_str).eq(back.iter()));
        }
    }
}

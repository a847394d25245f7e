//! Objects longer than a piece: put piece by piece, read wherever a range lies, checked as a whole.

use std::{
    io::{self, Read},
    ops::Range,
};

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::{
    error::{Error, Result},
    keys::{self, Shard},
    seam::Shared,
    settle,
};

/// How long pieces are. With CQL, pieces of 64 KiB are read and written with half the processor time of 16 KiB rows and pieces of 256 KiB
/// with half of that again, while 1 MiB gains nothing more and takes three times as long until it answers (decision 0011).
pub const PIECE_LEN: u32 = 256 << 10;

/// No piece is longer, whatever a row says.
pub(crate) const PIECE_LEN_MAX: u64 = 4 << 20;

/// No object has more, so that the keys of its pieces are in order.
const MAX_PIECES: u64 = 1_000_000;

/// An object in pieces, as a row of the journal names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its key within the shard.
    pub key: String,
    /// How long it is.
    pub len: u64,
    /// XXH3-64 of its bytes.
    pub check: u64,
    /// How long its pieces are; the last one may be shorter.
    pub piece: u32,
}

impl Object {
    /// The keys of its pieces in the shared store.
    pub(crate) fn pieces(&self, shard: &Shard) -> impl Iterator<Item = String> {
        let key = shard.full(&self.key);
        (0..self.len.div_ceil(u64::from(self.piece.max(1)))).map(move |index| keys::piece(&key, index))
    }

    /// Whether it can be one that this crate has put.
    pub(crate) fn is_sound(&self) -> bool {
        keys::is_key(&self.key)
            && (1..=PIECE_LEN_MAX).contains(&u64::from(self.piece))
            && self.len.div_ceil(self.piece.into()) <= MAX_PIECES
    }
}

/// How far an object is put, for somebody who comes back after an unknown outcome.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    key: String,
    pieces: u64,
}

/// Puts what can be read from `source` under a key, except pieces that are put already.
pub(crate) fn put(
    shared: &dyn Shared,
    shard: &Shard,
    key: String,
    source: &mut dyn Read,
    piece: u32,
    progress: &mut Progress,
) -> Result<Object> {
    if progress.key != key {
        *progress = Progress { key: key.clone(), pieces: 0 };
    }
    let full = shard.full(&key);
    let (mut hash, mut len, mut index) = (Xxh3::new(), 0, 0);
    let mut bytes = Vec::with_capacity(piece as usize);
    loop {
        bytes.clear();
        let read = source.take(piece.into()).read_to_end(&mut bytes);
        let read = read.map_err(|source| Error::Local { doing: format!("read {key}"), source })?;
        if read == 0 {
            break;
        }
        if index == MAX_PIECES {
            let reason = format!("it has more than {MAX_PIECES} pieces of {piece} bytes");
            return Err(Error::Refused { doing: format!("put {full}"), reason });
        }
        hash.update(&bytes);
        len += read as u64;
        if index >= progress.pieces {
            settle::put(shared, &keys::piece(&full, index), &bytes)?;
            progress.pieces = index + 1;
        }
        index += 1;
    }
    *progress = Progress::default();
    Ok(Object { key, len, check: hash.digest(), piece })
}

/// Removes an object's pieces.
pub(crate) fn remove(shared: &dyn Shared, shard: &Shard, object: &Object) -> Result<()> {
    object.pieces(shard).try_for_each(|key| settle::remove(shared, &key))
}

/// A whole object, whose checksum is right. It takes as much memory as has arrived, whatever its row says.
pub fn read_whole(shared: &dyn Shared, shard: &Shard, object: &Object) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut reader = Reader::new(shared, shard, object);
    while let Some(piece) = reader.next()? {
        bytes.extend_from_slice(&piece);
    }
    if xxh3_64(&bytes) != object.check {
        return Err(Error::damaged(shard.full(&object.key), "its checksum is wrong"));
    }
    Ok(bytes)
}

/// Reads an object piece by piece, and gives it to `take`; an error behind the last if its checksum is wrong.
fn each(shared: &dyn Shared, shard: &Shard, object: &Object, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let (mut reader, mut hash) = (Reader::new(shared, shard, object), Xxh3::new());
    while let Some(piece) = reader.next()? {
        hash.update(&piece);
        take(&piece)?;
    }
    if hash.digest() == object.check {
        return Ok(());
    }
    Err(Error::damaged(shard.full(&object.key), "its checksum is wrong"))
}

/// Reads an object, whose checksum is to be right.
pub(crate) fn verify(shared: &dyn Shared, shard: &Shard, object: &Object) -> Result<()> {
    each(shared, shard, object, &mut |_| Ok(()))
}

/// Writes an object somewhere. It is whole only if there is no error.
pub fn copy(shared: &dyn Shared, shard: &Shard, object: &Object, to: &mut dyn io::Write) -> Result<()> {
    let failed = |source| Error::Local { doing: format!("write a copy of {}", shard.full(&object.key)), source };
    each(shared, shard, object, &mut |piece| to.write_all(piece).map_err(failed))
}

/// Fills `bytes` from a place of an object. Only as a whole does it have a checksum: whoever reads a part has one of the part.
pub fn read_at(shared: &dyn Shared, shard: &Shard, object: &Object, at: u64, bytes: &mut [u8]) -> Result<()> {
    let piece = u64::from(object.piece);
    let end = at.saturating_add(bytes.len() as u64);
    if end > object.len {
        let reason = format!("bytes up to {end} are asked for, and it has {}", object.len);
        return Err(Error::damaged(shard.full(&object.key), reason));
    }
    let (mut at, mut rest) = (at, bytes);
    while !rest.is_empty() {
        let within = at % piece;
        let len = (piece - within).min(rest.len() as u64);
        let (part, behind) = rest.split_at_mut(len as usize);
        part.copy_from_slice(&get(shared, shard, object, at / piece, within..within + len)?);
        (at, rest) = (at + len, behind);
    }
    Ok(())
}

/// Tells the shared store that a reader found an object damaged: no cache answers for it the next time.
pub fn doubt(shared: &dyn Shared, shard: &Shard, object: &Object) {
    object.pieces(shard).for_each(|key| shared.doubt(&key));
}

/// A range of a piece, exactly.
fn get(shared: &dyn Shared, shard: &Shard, object: &Object, index: u64, range: Range<u64>) -> Result<Vec<u8>> {
    let key = keys::piece(&shard.full(&object.key), index);
    let found = settle::read(|| shared.get(&key, range.clone()))?;
    let bytes = found.ok_or_else(|| Error::damaged(&key, "it is not there"))?;
    if bytes.len() as u64 != range.end - range.start {
        let reason = format!("{} bytes are there of {} to {}", bytes.len(), range.start, range.end);
        return Err(Error::damaged(key, reason));
    }
    Ok(bytes)
}

/// The pieces of an object one after the other.
pub(crate) struct Reader<'a> {
    shared: &'a dyn Shared,
    shard: &'a Shard,
    object: &'a Object,
    index: u64,
    hash: Xxh3,
    piece: io::Cursor<Vec<u8>>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(shared: &'a dyn Shared, shard: &'a Shard, object: &'a Object) -> Reader<'a> {
        Reader { shared, shard, object, index: 0, hash: Xxh3::new(), piece: io::Cursor::default() }
    }

    /// The next piece; none behind the last.
    fn next(&mut self) -> Result<Option<Vec<u8>>> {
        let piece = u64::from(self.object.piece);
        let len = self.object.len.saturating_sub(self.index * piece).min(piece);
        if len == 0 {
            return Ok(None);
        }
        let bytes = get(self.shared, self.shard, self.object, self.index, 0..len)?;
        self.index += 1;
        Ok(Some(bytes))
    }
}

/// Reads it as a file, which ends with an error if the checksum is wrong.
impl Read for Reader<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.piece.position() == self.piece.get_ref().len() as u64 {
            match self.next().map_err(io::Error::other)? {
                Some(piece) => {
                    self.hash.update(&piece);
                    self.piece = io::Cursor::new(piece);
                }
                None if self.hash.digest() == self.object.check => return Ok(0),
                None => {
                    let what = self.shard.full(&self.object.key);
                    return Err(io::Error::other(Error::damaged(what, "its checksum is wrong")));
                }
            }
        }
        self.piece.read(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::twin::Memory;

    fn stored(len: usize) -> (Memory, Shard, Object, Vec<u8>) {
        let (memory, shard) = (Memory::default(), Shard::new(0, 'a').unwrap());
        let bytes: Vec<u8> = (0..len).map(|i| (i * 31 % 251) as u8).collect();
        let mut progress = Progress::default();
        let object = put(&memory, &shard, "seg/x".into(), &mut &bytes[..], 64, &mut progress).unwrap();
        (memory, shard, object, bytes)
    }

    #[test]
    fn any_range_of_an_object_is_what_was_put() {
        for len in [0, 1, 63, 64, 65, 300] {
            let (memory, shard, object, bytes) = stored(len);
            assert_eq!(object.pieces(&shard).count(), len.div_ceil(64));
            assert_eq!(read_whole(&memory, &shard, &object).unwrap(), bytes);
            let mut copy = Vec::new();
            Reader::new(&memory, &shard, &object).read_to_end(&mut copy).unwrap();
            assert_eq!(copy, bytes);
            for (at, end) in (0..=len).flat_map(|at| (at..=len).map(move |end| (at, end))) {
                let mut part = vec![0; end - at];
                read_at(&memory, &shard, &object, at as u64, &mut part).unwrap();
                assert_eq!(part, bytes[at..end], "{at}..{end} of {len}");
            }
            assert!(read_at(&memory, &shard, &object, len as u64, &mut [0]).is_err(), "behind the end");
        }
    }

    #[test]
    fn a_piece_that_is_missing_or_has_a_wrong_byte_is_damage() {
        let (memory, shard, object, bytes) = stored(200);
        let key = object.pieces(&shard).nth(1).unwrap();
        memory.remove(&key).unwrap();
        assert!(matches!(read_whole(&memory, &shard, &object), Err(Error::Damaged { what, .. }) if what == key));
        memory.put(&key, &bytes[..64]).unwrap();
        assert!(matches!(read_whole(&memory, &shard, &object), Err(Error::Damaged { .. })));
        assert!(Reader::new(&memory, &shard, &object).read_to_end(&mut Vec::new()).is_err());
    }
}

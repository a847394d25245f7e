//! The rows of the journal: what an owner says of its shard, and what a taker reads.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

pub(crate) mod format;

use crate::{
    bytes::{Cursor, Malformed, put_blob, put_varint, sealed, unsealed},
    error::{Error, Result},
    ids::{Epoch, Frames, Seq},
    image::Image,
    journal::format::{
        APART, CHANGE, CHECKPOINT, COMMIT, INLINE, MAX_BODY_LEN, NO_CHECKPOINT, OBJECT_LEAST, SEAL, VERSION,
    },
    keys::{self, Shard, is_key},
    pieces::{self, Object},
    seam::Shared,
};

type Parsed<T> = std::result::Result<T, Malformed>;

/// A row: who wrote it, and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The epoch of its writer.
    pub epoch: Epoch,
    /// Which row of that epoch.
    pub id: u64,
    /// The newest checkpoint before it.
    pub checkpoint: Option<Seq>,
    pub(crate) kind: u8,
    pub(crate) body: Body,
}

/// Where the body of a row is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    Inline(Vec<u8>),
    Apart(Object),
}

/// What a row says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Frames of the log are there.
    Commit(Commit),
    /// A transaction of the catalogue.
    Change(Change),
    /// All that the rows before it amount to.
    Checkpoint(Box<Checkpoint>),
    /// An epoch begins, and those before it end.
    Seal(Seal),
}

/// Frames of the log of the row's epoch that are there, one run behind the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    /// Where they lie.
    pub runs: Vec<Run>,
}

/// Frames that lie in one object, in the form that they have in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Which frames.
    pub frames: Frames,
    /// Where.
    pub object: Object,
}

/// A transaction of the catalogue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The segments that there are from now on.
    pub added: Vec<Object>,
    /// The keys, within the shard, of those that there are no longer.
    pub removed: Vec<String>,
    /// Of the frames of an epoch those below are in segments now.
    pub flushed: Vec<(Epoch, u64)>,
    /// The transaction itself, as the catalogue wrote it.
    pub catalogue: Vec<u8>,
}

/// What all rows before it amount to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// What the protocol has to know.
    pub image: Image,
    /// The copy of the catalogue.
    pub catalogue: Option<Object>,
}

/// The beginning of an epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seal {
    /// The number of its first frame.
    pub first: u64,
    /// The node that begins it.
    pub owner: String,
}

impl Run {
    /// Which file of the log has the frames.
    pub fn file(&self) -> Option<u64> {
        keys::file_of_log(&self.object.key)
    }
}

impl Row {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; 8];
        bytes.extend(VERSION.to_le_bytes());
        bytes.push(self.kind);
        bytes.push(if matches!(self.body, Body::Inline(_)) { INLINE } else { APART });
        bytes.extend(self.epoch.0.to_le_bytes());
        bytes.extend(self.id.to_le_bytes());
        bytes.extend(self.checkpoint.map_or(NO_CHECKPOINT, |seq| seq.0).to_le_bytes());
        match &self.body {
            Body::Inline(body) => bytes.extend_from_slice(body),
            Body::Apart(object) => {
                bytes.extend(object.len.to_le_bytes());
                bytes.extend(object.check.to_le_bytes());
                bytes.extend(object.piece.to_le_bytes());
            }
        }
        sealed(bytes)
    }

    /// Reads a row of a shard's journal.
    pub fn decode(shard: &Shard, seq: Seq, bytes: &[u8]) -> Result<Row> {
        let damaged = |Malformed(reason)| Error::damaged(name(shard, seq), reason);
        let (version, mut cursor) = unsealed(bytes).map_err(damaged)?;
        if version > VERSION {
            return Err(Error::TooNew { what: name(shard, seq), version, supported: VERSION });
        }
        Row::fields(&mut cursor).map_err(damaged)
    }

    pub(crate) fn fields(cursor: &mut Cursor<'_>) -> Parsed<Row> {
        let (kind, place) = (cursor.u8()?, cursor.u8()?);
        let (epoch, id, checkpoint) = (Epoch(cursor.u64()?), cursor.u64()?, cursor.u64()?);
        let body = match place {
            INLINE => Body::Inline(cursor.rest().to_vec()),
            APART => {
                let (len, check, piece) = (cursor.u64()?, cursor.u64()?, cursor.u32()?);
                cursor.end()?;
                let object = Object { key: keys::body(epoch, id), len, check, piece };
                if !object.is_sound() || len > MAX_BODY_LEN {
                    return Err(Malformed("its body cannot be so long"));
                }
                Body::Apart(object)
            }
            _ => return Err(Malformed("its body is nowhere")),
        };
        let checkpoint = (checkpoint != NO_CHECKPOINT).then_some(Seq(checkpoint));
        Ok(Row { epoch, id, checkpoint, kind, body })
    }

    /// The newest checkpoint up to this row, which has the number `seq`.
    pub(crate) fn newest_checkpoint(&self, seq: Seq) -> Option<Seq> {
        if self.kind == CHECKPOINT { Some(seq) } else { self.checkpoint }
    }

    /// The object that holds its body, if that is not in the row.
    pub(crate) fn apart(&self) -> Option<&Object> {
        match &self.body {
            Body::Inline(_) => None,
            Body::Apart(object) => Some(object),
        }
    }

    /// What the row says. A body that lies apart is fetched.
    pub fn open(&self, shared: &dyn Shared, shard: &Shard, seq: Seq) -> Result<Entry> {
        let fetched;
        let body = match &self.body {
            Body::Inline(body) => body,
            Body::Apart(object) => {
                fetched = pieces::read_whole(shared, shard, object)?;
                &fetched
            }
        };
        Entry::decode(self.kind, body).map_err(|Malformed(reason)| Error::damaged(name(shard, seq), reason))
    }
}

/// What a row is called in errors.
pub(crate) fn name(shard: &Shard, seq: Seq) -> String {
    format!("row {seq} of the journal of shard {shard}")
}

impl Entry {
    pub(crate) fn kind(&self) -> u8 {
        match self {
            Entry::Commit(_) => COMMIT,
            Entry::Change(_) => CHANGE,
            Entry::Checkpoint(_) => CHECKPOINT,
            Entry::Seal(_) => SEAL,
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Entry::Commit(commit) => put_all(&mut out, &commit.runs, put_run),
            Entry::Change(change) => {
                put_all(&mut out, &change.added, put_object);
                put_all(&mut out, &change.removed, |out, key| put_blob(out, key.as_bytes()));
                put_all(&mut out, &change.flushed, |out, (epoch, end)| {
                    put_varint(out, epoch.0);
                    put_varint(out, *end);
                });
                put_blob(&mut out, &change.catalogue);
            }
            Entry::Checkpoint(checkpoint) => {
                checkpoint.image.put(&mut out);
                out.push(u8::from(checkpoint.catalogue.is_some()));
                checkpoint.catalogue.iter().for_each(|object| put_object(&mut out, object));
            }
            Entry::Seal(seal) => {
                put_varint(&mut out, seal.first);
                put_blob(&mut out, seal.owner.as_bytes());
            }
        }
        out
    }

    pub(crate) fn decode(kind: u8, body: &[u8]) -> Parsed<Entry> {
        let mut cursor = Cursor::new(body);
        let cursor = &mut cursor;
        let entry = match kind {
            COMMIT => Entry::Commit(Commit { runs: take_all(cursor, OBJECT_LEAST + 2, take_run)? }),
            CHANGE => Entry::Change(Change {
                added: take_all(cursor, OBJECT_LEAST, take_object)?,
                removed: take_all(cursor, 2, take_key)?,
                flushed: take_all(cursor, 2, |cursor| Ok((Epoch(cursor.varint()?), cursor.varint()?)))?,
                catalogue: cursor.blob()?.to_vec(),
            }),
            CHECKPOINT => {
                let image = Image::take(cursor)?;
                let catalogue = match cursor.u8()? {
                    0 => None,
                    1 => Some(take_object(cursor)?),
                    _ => return Err(Malformed("nobody knows whether it has a copy of the catalogue")),
                };
                Entry::Checkpoint(Box::new(Checkpoint { image, catalogue }))
            }
            SEAL => Entry::Seal(Seal { first: cursor.varint()?, owner: take_key(cursor)? }),
            _ => return Err(Malformed("it is of an unknown kind")),
        };
        cursor.end()?;
        Ok(entry)
    }
}

pub(crate) fn put_all<'a, T: 'a>(
    out: &mut Vec<u8>,
    all: impl IntoIterator<Item = &'a T, IntoIter: ExactSizeIterator>,
    put: impl Fn(&mut Vec<u8>, &T),
) {
    let all = all.into_iter();
    put_varint(out, all.len() as u64);
    all.for_each(|one| put(out, one));
}

/// Things of at least `least` bytes each, so that their number allocates no more than has arrived.
pub(crate) fn take_all<T>(
    cursor: &mut Cursor<'_>,
    least: usize,
    take: impl Fn(&mut Cursor<'_>) -> Parsed<T>,
) -> Parsed<Vec<T>> {
    let count = cursor.count(least)?;
    (0..count).map(|_| take(cursor)).collect()
}

pub(crate) fn put_run(out: &mut Vec<u8>, run: &Run) {
    put_varint(out, run.frames.first);
    put_varint(out, run.frames.end);
    put_object(out, &run.object);
}

pub(crate) fn take_run(cursor: &mut Cursor<'_>) -> Parsed<Run> {
    let (first, end, object) = (cursor.varint()?, cursor.varint()?, take_object(cursor)?);
    if first >= end {
        return Err(Malformed("a run has no frames"));
    }
    Ok(Run { frames: Frames { first, end }, object })
}

pub(crate) fn put_object(out: &mut Vec<u8>, object: &Object) {
    put_blob(out, object.key.as_bytes());
    put_varint(out, object.len);
    out.extend(object.check.to_le_bytes());
    put_varint(out, object.piece.into());
}

pub(crate) fn take_object(cursor: &mut Cursor<'_>) -> Parsed<Object> {
    let (key, len, check, piece) = (take_key(cursor)?, cursor.varint()?, cursor.u64()?, cursor.varint()?);
    let piece = u32::try_from(piece).map_err(|_| Malformed("pieces cannot be so long"))?;
    let object = Object { key, len, check, piece };
    if object.is_sound() { Ok(object) } else { Err(Malformed("an object cannot have such pieces")) }
}

pub(crate) fn take_key(cursor: &mut Cursor<'_>) -> Parsed<String> {
    let key = cursor.text()?;
    if is_key(key) { Ok(key.to_owned()) } else { Err(Malformed("a key has other characters than keys can have")) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
mod tests;

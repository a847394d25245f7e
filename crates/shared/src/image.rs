//! The image: what the rows of a journal amount to, as far as the protocol has to know, and the rules that every row must keep.
//!
//! ```text
//!   image     := next:varint epoch:varint positions segments
//!   positions := count:varint (epoch:varint first:varint committed:varint flushed:varint runs)*      runs := count:varint run*
//!   segments  := count:varint object*
//! ```

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{collections::BTreeMap, io::Read};

use crate::{
    bytes::{Cursor, Malformed, put_varint},
    error::{Error, Result},
    ids::{Epoch, Frames, Seq},
    journal::{
        self, Change, Checkpoint, Commit, Entry, Row, Run, Seal, format::OBJECT_LEAST, put_all, put_object, put_run,
        take_all, take_object, take_run,
    },
    keys::Shard,
    pieces::{Object, Reader},
    seam::Shared,
    settle,
};

/// A reader asks for at most this many rows at a time.
const ROWS: usize = 1000;

/// What keeps the transactions of a shard: the catalogue that a taker brings up to date.
pub trait Catalogue {
    /// Begins anew with a copy; with nothing if there is none.
    fn restore(&mut self, copy: Option<&mut dyn Read>) -> std::io::Result<()>;
    /// Takes a transaction, which was journalled under that number.
    fn apply(&mut self, seq: Seq, change: &[u8]) -> std::io::Result<()>;
}

/// For those who need no catalogue.
impl Catalogue for () {
    fn restore(&mut self, _copy: Option<&mut dyn Read>) -> std::io::Result<()> {
        Ok(())
    }

    fn apply(&mut self, _seq: Seq, _change: &[u8]) -> std::io::Result<()> {
        Ok(())
    }
}

/// What became of the frames of an epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EpochPosition {
    /// The number of its first frame.
    pub first: u64,
    /// Those below were committed.
    pub committed: u64,
    /// Those below are in segments.
    pub flushed: u64,
    /// Where those lie that are committed and not in segments; the first may begin below.
    pub runs: Vec<Run>,
}

impl EpochPosition {
    /// Frames below are safe in the shared store, one way or the other.
    pub fn durable(&self) -> u64 {
        self.committed.max(self.flushed)
    }

    /// What is committed and in no segment yet.
    pub fn tail(&self) -> Option<Frames> {
        (self.flushed < self.committed).then_some(Frames { first: self.flushed, end: self.committed })
    }
}

/// What the rows of a journal amount to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    next: Seq,
    epoch: Epoch,
    checkpoint: Option<Seq>,
    catalogue: Option<Object>,
    positions: BTreeMap<Epoch, EpochPosition>,
    segments: BTreeMap<String, Object>,
    /// The bodies of rows that lie apart, from the newest checkpoint on.
    bodies: BTreeMap<String, Object>,
    changes: u64,
}

impl Image {
    /// The number that the next row will have.
    pub fn next(&self) -> Seq {
        self.next
    }

    /// The epoch that was sealed last.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The newest checkpoint.
    pub fn checkpoint(&self) -> Option<Seq> {
        self.checkpoint
    }

    /// Changes since then.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// What became of the frames of each epoch.
    pub fn positions(&self) -> &BTreeMap<Epoch, EpochPosition> {
        &self.positions
    }

    /// The segments that there are, by their keys within the shard.
    pub fn segments(&self) -> &BTreeMap<String, Object> {
        &self.segments
    }

    /// The copy of the catalogue in the newest checkpoint.
    pub(crate) fn catalogue(&self) -> Option<&Object> {
        self.catalogue.as_ref()
    }

    /// The bodies of rows that lie apart, from the newest checkpoint on.
    pub(crate) fn bodies(&self) -> impl Iterator<Item = &Object> {
        self.bodies.values()
    }

    /// All that the journal names.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &Object> {
        let runs = self.positions.values().flat_map(|position| position.runs.iter().map(|run| &run.object));
        self.catalogue.iter().chain(self.bodies.values()).chain(self.segments.values()).chain(runs)
    }

    /// Whether something within the shard that has this key is named by the journal.
    pub(crate) fn names(&self, key: &str) -> bool {
        let copy = self.catalogue.as_ref().is_some_and(|object| object.key == key);
        let mut runs = self.positions.values().flat_map(|position| &position.runs);
        copy || self.segments.contains_key(key)
            || self.bodies.contains_key(key)
            || runs.any(|run| run.object.key == key)
    }

    /// Reads the journal of a shard up to its last row. The owner goes on meanwhile: what an image names may be gone when it is asked for,
    /// as [`Error::Damaged`] says, and then a newer image names something else.
    pub fn read(shared: &dyn Shared, shard: &Shard, catalogue: &mut dyn Catalogue) -> Result<Image> {
        let last = settle::read(|| shared.last(shard.journal(), None))?;
        let Some((seq, bytes)) = last else {
            restored(shard, catalogue.restore(None))?;
            return Ok(Image::default());
        };
        let checkpoint = Row::decode(shard, seq, &bytes)?.newest_checkpoint(seq);
        Image::read_to(shared, shard, checkpoint, seq.next(), catalogue)
    }

    /// Reads the journal from a checkpoint on, up to the row before `end`.
    pub(crate) fn read_to(
        shared: &dyn Shared,
        shard: &Shard,
        checkpoint: Option<Seq>,
        end: Seq,
        catalogue: &mut dyn Catalogue,
    ) -> Result<Image> {
        let mut image = Image { next: checkpoint.unwrap_or_default(), ..Image::default() };
        if checkpoint.is_none() {
            restored(shard, catalogue.restore(None))?;
        }
        while image.next < end {
            let max = ROWS.min((end.0 - image.next.0) as usize);
            let rows = settle::read(|| shared.rows(shard.journal(), image.next, max))?;
            if rows.is_empty() {
                return Err(Error::damaged(journal::name(shard, image.next), "it is not there"));
            }
            for bytes in rows {
                let seq = image.next;
                let row = Row::decode(shard, seq, &bytes)?;
                let entry = row.open(shared, shard, seq)?;
                if let Entry::Checkpoint(checkpoint_row) = &entry
                    && checkpoint == Some(seq)
                {
                    restore(shared, shard, checkpoint_row, catalogue)?;
                    image = Image { next: seq, ..checkpoint_row.image.clone() };
                }
                if let Entry::Change(change) = &entry {
                    restored(shard, catalogue.apply(seq, &change.catalogue))?;
                }
                image.apply(shard, &row, &entry)?;
            }
        }
        Ok(image)
    }

    /// Takes the next row.
    pub(crate) fn apply(&mut self, shard: &Shard, row: &Row, entry: &Entry) -> Result<()> {
        let seq = self.next;
        let damaged = |Malformed(reason)| Error::damaged(journal::name(shard, seq), reason);
        self.keep(seq, row, entry).map_err(damaged)?;
        if let Some(object) = row.apart() {
            self.bodies.insert(object.key.clone(), object.clone());
        }
        self.next = seq.next();
        Ok(())
    }

    fn keep(&mut self, seq: Seq, row: &Row, entry: &Entry) -> std::result::Result<(), Malformed> {
        if let Entry::Seal(seal) = entry {
            return self.seal(row.epoch, seal);
        }
        if row.epoch != self.epoch {
            return Err(Malformed("it is of another epoch than the one that was sealed last"));
        }
        match entry {
            Entry::Commit(commit) => self.commit(commit),
            Entry::Change(change) => self.change(change),
            Entry::Checkpoint(checkpoint) => self.begin_anew(seq, checkpoint),
            Entry::Seal(_) => Ok(()),
        }
    }

    fn seal(&mut self, epoch: Epoch, seal: &Seal) -> std::result::Result<(), Malformed> {
        if epoch <= self.epoch {
            return Err(Malformed("it seals an epoch that is not higher than the one before"));
        }
        self.epoch = epoch;
        let Seal { first, .. } = *seal;
        self.positions.insert(epoch, EpochPosition { first, committed: first, flushed: first, runs: Vec::new() });
        Ok(())
    }

    fn commit(&mut self, commit: &Commit) -> std::result::Result<(), Malformed> {
        let position = self.positions.get_mut(&self.epoch).ok_or(Malformed("its epoch was never sealed"))?;
        let (Some(first), Some(last)) = (commit.runs.first(), commit.runs.last()) else {
            return Err(Malformed("it commits nothing"));
        };
        let joined = commit.runs.windows(2).all(|pair| matches!(pair, [a, b] if a.frames.end == b.frames.first));
        if first.frames.first > position.durable() || !joined {
            return Err(Malformed("it leaves out frames of the log"));
        }
        if last.frames.end <= position.durable() {
            return Err(Malformed("it commits what is durable already"));
        }
        position.committed = last.frames.end;
        position.runs.extend_from_slice(&commit.runs);
        Ok(())
    }

    fn change(&mut self, change: &Change) -> std::result::Result<(), Malformed> {
        for key in &change.removed {
            self.segments.remove(key).ok_or(Malformed("it removes a segment that is not listed"))?;
        }
        for object in &change.added {
            if self.segments.insert(object.key.clone(), object.clone()).is_some() {
                return Err(Malformed("it lists a segment that is listed already"));
            }
        }
        for (epoch, end) in &change.flushed {
            let position = self.positions.get_mut(epoch).ok_or(Malformed("it flushes frames of an unknown epoch"))?;
            if *end < position.flushed {
                return Err(Malformed("it flushes frames that are flushed already"));
            }
            position.flushed = *end;
            position.runs.retain(|run| run.frames.end > *end);
        }
        self.changes += 1;
        Ok(())
    }

    fn begin_anew(&mut self, seq: Seq, checkpoint: &Checkpoint) -> std::result::Result<(), Malformed> {
        let image = &checkpoint.image;
        if (image.next, image.epoch) != (self.next, self.epoch)
            || image.positions != self.positions
            || image.segments != self.segments
        {
            return Err(Malformed("its checkpoint is not what the rows before it amount to"));
        }
        self.checkpoint = Some(seq);
        self.catalogue.clone_from(&checkpoint.catalogue);
        self.bodies.clear();
        self.changes = 0;
        Ok(())
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        put_varint(out, self.next.0);
        put_varint(out, self.epoch.0);
        put_varint(out, self.positions.len() as u64);
        for (epoch, position) in &self.positions {
            [epoch.0, position.first, position.committed, position.flushed].iter().for_each(|n| put_varint(out, *n));
            put_all(out, &position.runs, put_run);
        }
        put_varint(out, self.segments.len() as u64);
        self.segments.values().for_each(|object| put_object(out, object));
    }

    pub(crate) fn take(cursor: &mut Cursor<'_>) -> std::result::Result<Image, Malformed> {
        let (next, epoch) = (Seq(cursor.varint()?), Epoch(cursor.varint()?));
        let positions = take_all(cursor, 5, |cursor| {
            let epoch = Epoch(cursor.varint()?);
            let (first, committed, flushed) = (cursor.varint()?, cursor.varint()?, cursor.varint()?);
            Ok((
                epoch,
                EpochPosition { first, committed, flushed, runs: take_all(cursor, OBJECT_LEAST + 2, take_run)? },
            ))
        })?;
        let by_key = |object: Object| (object.key.clone(), object);
        let segments = take_all(cursor, OBJECT_LEAST, take_object)?;
        Ok(Image {
            next,
            epoch,
            positions: positions.into_iter().collect(),
            segments: segments.into_iter().map(by_key).collect(),
            ..Image::default()
        })
    }
}

fn restore(shared: &dyn Shared, shard: &Shard, checkpoint: &Checkpoint, catalogue: &mut dyn Catalogue) -> Result<()> {
    match &checkpoint.catalogue {
        None => restored(shard, catalogue.restore(None)),
        Some(object) => restored(shard, catalogue.restore(Some(&mut Reader::new(shared, shard, object)))),
    }
}

/// What became of the catalogue. An error of the shared store comes back as it was.
pub(crate) fn restored(shard: &Shard, result: std::io::Result<()>) -> Result<()> {
    result.map_err(|source| match source.downcast::<Error>() {
        Ok(error) => error,
        Err(source) => Error::Local { doing: format!("bring the catalogue of shard {shard} up to date"), source },
    })
}

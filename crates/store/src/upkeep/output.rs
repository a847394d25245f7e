//! What a merge writes: segments, one after the other, under keys that no file has.

use std::{io, sync::Arc};

use archive::PvId;
use sample::Timestamp;

use crate::{
    Error,
    engine::Engine,
    segment::{
        Segment, SegmentWriter,
        manifest::{Level, Manifest},
    },
    upkeep::{merge_policy::SEGMENT_BYTES_MAX, trim::Trimmings},
};

/// What the merged segments are to be.
pub(crate) struct Plan<'a> {
    pub(crate) run: &'a [Arc<Segment>],
    pub(crate) level: Level,
    /// Rules of retention by which PVs are left out, as a number; they are chosen by `leave_out`.
    pub(crate) trimmed: u64,
    pub(crate) leave_out: &'a dyn Fn(PvId) -> bool,
    /// PVs of which only some fields are left out.
    pub(crate) trimmings: &'a Trimmings,
}

pub(super) fn unfinished(key: &str) -> String {
    format!("{key}.tmp")
}

/// The segments that a merge writes, one after the other.
pub(super) struct Output<'a> {
    engine: &'a Engine,
    /// What they have in common, with the key of the one that is being written.
    manifest: Manifest,
    now: Timestamp,
    /// Parts that other segments of the same sequence have.
    taken: Vec<u32>,
    writer: Option<SegmentWriter>,
    pub(super) written: Vec<Manifest>,
}

impl<'a> Output<'a> {
    pub(super) fn new(engine: &'a Engine, plan: &Plan) -> Result<Output<'a>, Error> {
        let manifests = || plan.run.iter().map(|segment| &segment.manifest);
        let first = manifests().next().expect("a run has segments");
        let ids: Vec<_> = manifests().map(Manifest::id).collect();
        let snapshot = engine.snapshot();
        let others = snapshot.segments.iter().map(|segment| segment.manifest.id());
        let taken = others.filter(|id| id.0 == first.sequence && !ids.contains(id)).map(|(_, part)| part).collect();
        let manifest = Manifest {
            last: manifests().map(|manifest| manifest.last).max().unwrap_or(first.last),
            generation: manifests().map(|manifest| manifest.generation).max().unwrap_or(0) + 1,
            level: plan.level,
            written: (
                manifests().map(|manifest| manifest.written.0).min().unwrap_or(first.written.0),
                manifests().map(|manifest| manifest.written.1).max().unwrap_or(first.written.1),
            ),
            place: None,
            trimmed: plan.trimmed,
            ..first.clone()
        };
        let now = engine.alive();
        Ok(Output { engine, manifest, now, taken, writer: None, written: Vec::new() })
    }

    /// What to write the next PV with.
    pub(super) fn writer(&mut self) -> Result<&mut SegmentWriter, Error> {
        if self.writer.as_ref().is_some_and(|writer| writer.offset() >= SEGMENT_BYTES_MAX) {
            self.finish()?;
        }
        if self.writer.is_none() {
            self.name_next()?;
        }
        let (disk, key) = (self.engine.disk.clone(), unfinished(&self.manifest.key));
        let (sequence, now, archive) = (self.manifest.sequence, self.now, self.engine.home.archive());
        let begin = || SegmentWriter::new(disk, key, sequence, now).identified(archive, &self.manifest.key);
        Ok(self.writer.get_or_insert_with(begin))
    }

    /// Finds a key that no file has: that of a segment that was replaced may still be read, and goes when its reader is done.
    fn name_next(&mut self) -> Result<(), Error> {
        let next = self.written.last().map_or(0, |last| last.part + 1);
        let mut free = (next..).filter(|part| !self.taken.contains(part));
        self.manifest.part = free.next().expect("parts do not end");
        loop {
            let Manifest { sequence, last, generation, part, .. } = self.manifest;
            let folder = self.manifest.folder();
            let key = format!("{folder}/{sequence:012}-{last:012}-{generation}-{part:03}.seg");
            match self.engine.disk.len(&key) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let create = self.engine.make_week(folder);
                    create.map_err(|source| Error::Io { doing: "create the folder of", path: key.clone(), source })?;
                    self.manifest.key = key;
                    return Ok(());
                }
                Err(source) => return Err(Error::Io { doing: "look for", path: key, source }),
                Ok(_) => self.manifest.generation += 1,
            }
        }
    }

    /// Ends the segment that is being written, if there is one.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let key = self.manifest.key.clone();
        let finished = writer.finish_with(&|pvs| self.engine.names_of(pvs)).map_err(|source| Error::Io {
            doing: "write the segment",
            path: key.clone(),
            source,
        });
        let Some(found) = finished? else { return Ok(()) };
        let Manifest { sequence, part, last, generation, level, written, trimmed, .. } = self.manifest;
        self.written.push(Manifest { key, sequence, part, last, generation, level, written, trimmed, ..found });
        Ok(())
    }

    /// Removes what was written.
    pub(super) fn abandon(self) {
        let current = self.writer.as_ref().map(|_| unfinished(&self.manifest.key));
        let finished = self.written.iter().map(|manifest| unfinished(&manifest.key));
        finished.chain(current).for_each(|key| self.engine.remove_unfinished(&key));
    }
}

impl Engine {
    pub(crate) fn remove_unfinished(&self, key: &str) {
        if let Err(error) = self.disk.remove(key)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!("cannot remove the unfinished {key}: {error}");
        }
    }
}

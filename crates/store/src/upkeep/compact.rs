//! Compaction: many small segments become few large ones, so that a query opens few files and blocks are full.
//!
//! `merge_policy.rs` says what and when. Peak memory is that of one PV's blocks, one from each segment of the run, of a block of each type
//! that is merged, and of the tables of the segment that is written. A damaged segment is left where it is; the others are merged
//! without it.

use std::{
    io,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use archive::{PvId, Work};
use sample::{Batch, Shape, TimeRange, Timestamp, ValueType};

use crate::{
    Error, Samples,
    block::rows::overlap,
    catalog::Told,
    codec::{
        Effort,
        limits::{BLOCK_BYTES_MAX, BLOCK_ROWS_MAX, FRAMES_BYTES_MAX, frames_bytes_max},
    },
    disk::read_ahead::ReadAhead,
    engine::Engine,
    places::{Places, tables_key},
    read::parts::{Lookup, Part},
    segment::{
        Segment, SegmentWriter,
        fill::{emptied, write_blocks},
        manifest::{Level, Manifest},
    },
    upkeep::{
        gather::{Gathering, Unwritten, follow},
        merge_policy::{self, Task, View},
        output::{Output, Plan, unfinished},
        sources::{Piece, Source},
        trim::Trimmings,
    },
};

/// How a merge ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compaction {
    /// Segments were merged; there may be more to do.
    Done,
    /// There is nothing to merge.
    Nothing,
    /// It was told to stop.
    Stopped,
}

impl Engine {
    /// Does the next thing that the policy wants, if there is one. `go_on` is asked now and then.
    pub(crate) fn compact(&self, now: Timestamp, go_on: &dyn Fn() -> bool) -> Result<Compaction, Error> {
        self.settle()?;
        let segments = self.snapshot().segments.clone();
        let chosen = |indices: Vec<usize>| -> Vec<_> { indices.iter().map(|index| segments[*index].clone()).collect() };
        self.purge_old(now)?;
        match self.go_on_purging(now, go_on)? {
            Compaction::Nothing => {}
            other => return Ok(other),
        }
        let mut views = views(&segments, &self.places);
        let stays = |segment: &Segment| self.is_behind_a_deletion(segment) || self.is_behind_the_mark(segment);
        views.iter_mut().zip(&*segments).for_each(|(view, segment)| view.kept |= stays(segment));
        match merge_policy::next(&views, now) {
            None => Ok(Compaction::Nothing),
            Some(Task::Seal(indices)) => self.seal(&chosen(indices)),
            Some(Task::Merge(indices, level)) => self.merge(&chosen(indices), level, go_on),
        }
    }

    pub(crate) fn merge(
        &self,
        run: &[Arc<Segment>],
        level: Level,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Compaction, Error> {
        let is_purged = |pv| self.registry().is_purged(pv);
        let trimmed = run.iter().map(|segment| segment.manifest.trimmed).min().unwrap_or(0);
        match self
            .rewrite(&Plan { run, level, trimmed, leave_out: &is_purged, trimmings: &Trimmings::default() }, go_on)
        {
            // It is left out from now on.
            Err(ref error @ (Error::CorruptBlock { ref path, .. } | Error::CorruptSegment { ref path, .. }))
                if run.iter().any(|segment| segment.manifest.key == *path) =>
            {
                for segment in run.iter().filter(|segment| segment.manifest.key == *path) {
                    segment.doubt();
                    segment.keep();
                }
                self.counters.problem(format!("{error}; it stays as it is, and other segments are merged without it"));
                Ok(Compaction::Done)
            }
            result => result,
        }
    }

    /// Whether a segment has samples in a deleted range that were written after the deletion. Merged with older ones they would
    /// be taken for deleted; so it waits until the deletion is purged or undone.
    fn is_behind_a_deletion(&self, segment: &Segment) -> bool {
        let manifest = &segment.manifest;
        let registry = self.registry();
        let behind = registry.deletions().filter(|hiding| {
            let meets = overlap(manifest.t0, manifest.t1, hiding.of.range);
            manifest.sequence >= hiding.below && manifest.may_hold(hiding.of.pv) && meets
        });
        behind.map(|hiding| &hiding.of).any(|deletion| match segment.record(deletion.pv) {
            Ok(record) => record.is_some_and(|record| overlap(record.t0, record.t1, deletion.range)),
            Err(_) => true, // whoever reads it tells
        })
    }

    /// Writes the samples of a run anew and puts the result in its place.
    fn rewrite(&self, plan: &Plan, go_on: &dyn Fn() -> bool) -> Result<Compaction, Error> {
        let Some(written) = self.write_plan(plan, go_on)? else { return Ok(Compaction::Stopped) };
        let bytes = written.iter().map(|manifest| manifest.bytes).sum();
        let entered = self.enter(plan.run, written, Told::default())?;
        if entered == Compaction::Done {
            self.counters.merged_segments.fetch_add(plan.run.len() as u64, Relaxed);
            self.counters.merged_bytes.fetch_add(bytes, Relaxed);
        }
        Ok(entered)
    }

    /// Writes the samples of a run anew, to files that are synced but not named yet; none if it was told to stop.
    pub(crate) fn write_plan(&self, plan: &Plan, go_on: &dyn Fn() -> bool) -> Result<Option<Vec<Manifest>>, Error> {
        let mut output = Output::new(self, plan)?;
        let written = self.write_merged(plan, &mut output, go_on);
        self.counters.set_work("merging", None);
        if let Ok(Compaction::Done) = written {
            return Ok(Some(output.written));
        }
        output.abandon();
        written.map(|_| None)
    }

    /// Writes what is in the segments of a run.
    fn write_merged(&self, plan: &Plan, output: &mut Output, go_on: &dyn Fn() -> bool) -> Result<Compaction, Error> {
        let ahead = |segment: &Arc<Segment>| {
            let manifest = &segment.manifest;
            let disk = ReadAhead::new(self.disk_of(manifest), manifest.bytes);
            Arc::new(Segment::new(Arc::new(disk), manifest.clone()))
        };
        let mut sources: Vec<_> = plan.run.iter().map(|segment| Source::new(ahead(segment), plan.run.len())).collect();
        let bytes_total = plan.run.iter().map(|segment| segment.manifest.bytes).sum();
        let (mut pieces, mut room, mut told) = (Vec::new(), Room::default(), None);
        loop {
            let mut next = None;
            for source in &mut sources {
                next = next.into_iter().chain(source.next_pv()?).min();
            }
            let Some(pv) = next else { break };
            if !go_on() {
                return Ok(Compaction::Stopped);
            }
            let bytes = sources.iter().map(|source| source.bytes).sum();
            if told != Some(bytes) {
                let work = Work::new("merging", &plan.run[0].manifest.key, bytes, bytes_total);
                self.counters.set_work("merging", Some(work));
                told = Some(bytes);
            }
            pieces.clear();
            for (number, source) in sources.iter_mut().enumerate() {
                let Some(record) = source.take_record(pv) else { continue };
                source.add_pieces(&mut pieces, number, &record)?;
            }
            if (plan.leave_out)(pv) {
                continue;
            }
            if plan.trimmings.contains(pv) {
                let left = |batch| plan.trimmings.trimmed(pv, batch);
                self.write_samples(output.writer()?, pv, &pieces, &sources, &mut room, &left)?;
            } else {
                self.write_pieces(output.writer()?, pv, &pieces, &mut sources, &mut room)?;
            }
        }
        output.finish()?;
        Ok(Compaction::Done)
    }

    /// Writes the blocks of a PV: gathered where they follow one another, else merged sample by sample.
    fn write_pieces(
        &self,
        writer: &mut SegmentWriter,
        pv: PvId,
        pieces: &[Piece],
        sources: &mut [Source],
        room: &mut Room,
    ) -> Result<(), Error> {
        if follow(pieces) && !self.registry().has_deletions(pv) {
            return match room.gathering.write(writer, pv, pieces, sources) {
                Ok(()) => Ok(()),
                Err(Unwritten::Refused(source)) => Err(refused(writer, source)),
                Err(Unwritten::Unread(unread)) => {
                    let (piece, error) = *unread;
                    Err(self.lookup(pv, &sources[piece.source]).note_damage(error))
                }
            };
        }
        self.write_samples(writer, pv, pieces, sources, room, &Some)
    }

    /// Writes what is left of the samples of a PV, merged one by one.
    fn write_samples(
        &self,
        writer: &mut SegmentWriter,
        pv: PvId,
        pieces: &[Piece],
        sources: &[Source],
        room: &mut Room,
        left: &dyn Fn(Batch) -> Option<Batch>,
    ) -> Result<(), Error> {
        // Like a flush: each run of one type for itself, so that samples of equal time stay in their order.
        for run in pieces.chunk_by(|a, b| a.entry.value_type == b.entry.value_type) {
            let of_one = run.chunk_by(|a, b| a.source == b.source).enumerate();
            let part = |(order, pieces): (usize, &[Piece])| {
                let entries = pieces.iter().map(|piece| piece.entry).collect();
                Part::blocks(self.lookup(pv, &sources[pieces[0].source]), entries, order as u64)
            };
            let samples = Samples::new(TimeRange::ALL, of_one.filter_map(part).collect());
            let left = samples.filter_map(|batch| batch.map(left).transpose());
            write_run(writer, pv, run[0].entry.value_type, left, room)?;
        }
        Ok(())
    }

    fn lookup(&self, pv: PvId, source: &Source) -> Lookup {
        let hidden = self.registry().purged_in(pv, &source.segment.manifest);
        Lookup::of_samples(pv, source.segment.clone(), self.counters.clone(), hidden)
    }

    /// Names what was written and puts it in place of a run: on disk, in the catalogue, for readers.
    pub(crate) fn enter(&self, run: &[Arc<Segment>], written: Vec<Manifest>, told: Told) -> Result<Compaction, Error> {
        let name = || -> io::Result<()> {
            for manifest in &written {
                self.disk.rename(&unfinished(&manifest.key), &manifest.key)?;
            }
            written.first().map_or(Ok(()), |manifest| self.disk.sync_folder(manifest.folder()))
        };
        name().map_err(|source| Error::Io { doing: "name the segment", path: run[0].manifest.key.clone(), source })?;
        let keys: Vec<String> = written.iter().map(|manifest| manifest.key.clone()).collect();
        let entered = self.replace_segments(run, written, told)?;
        if entered != Compaction::Done {
            keys.iter().for_each(|key| self.remove_unfinished(key));
        }
        Ok(entered)
    }

    /// Marks segments as sealed: their files stay as they are.
    fn seal(&self, segments: &[Arc<Segment>]) -> Result<Compaction, Error> {
        let sealed = |segment: &Arc<Segment>| Manifest { level: Level::Week, ..segment.manifest.clone() };
        self.replace_segments(segments, segments.iter().map(sealed).collect(), Told::default())
    }

    /// Puts segments in the place of others: in the catalogue, then for readers. Files that are no longer named go when nobody
    /// reads them. Nothing is done, and `Stopped` said, if somebody else has replaced one of the old segments meanwhile.
    pub(crate) fn replace_segments(
        &self,
        old: &[Arc<Segment>],
        new: Vec<Manifest>,
        told: Told,
    ) -> Result<Compaction, Error> {
        let _arranging = self.settled(|| self.arranging.lock().expect("no holder of this lock panics"))?;
        let snapshot = self.snapshot();
        let is_current = |segment: &Arc<Segment>| snapshot.segments.iter().any(|current| Arc::ptr_eq(current, segment));
        if !old.iter().all(is_current) {
            return Ok(Compaction::Stopped);
        }
        let ids: Vec<(u64, u32)> = old.iter().map(|segment| segment.manifest.id()).collect();
        self.catalog.replace_segments(&ids, &new, told)?;
        self.take_over(old, new);
        Ok(Compaction::Done)
    }

    /// Lets readers see segments in the place of others, whose files go when nobody reads them.
    pub(crate) fn take_over(&self, old: &[Arc<Segment>], new: Vec<Manifest>) {
        for Manifest { key, place, .. } in old.iter().map(|segment| &segment.manifest) {
            let stays = |manifest: &Manifest| manifest.key == *key && manifest.place.is_some();
            if place.is_some() && !new.iter().any(stays) {
                self.remove_unfinished(&tables_key(key)); // who still reads finds them in the far file
            }
        }
        for segment in old {
            if !new.iter().any(|manifest| manifest.is_of_one_file_with(&segment.manifest)) {
                segment.replace();
            }
        }
        self.change_snapshot(|snapshot| {
            new.into_iter().for_each(|manifest| self.show(snapshot, manifest));
            let segments = Arc::make_mut(&mut snapshot.segments);
            segments.retain(|segment| !old.iter().any(|old| Arc::ptr_eq(old, segment)));
        });
    }
}

/// What the policy sees.
pub(crate) fn views<'a>(segments: &'a [Arc<Segment>], places: &Places) -> Vec<View<'a>> {
    let view = |segment: &'a Arc<Segment>| {
        let manifest = &segment.manifest;
        View { manifest, kept: segment.is_kept(), away: !places.reach(manifest) }
    };
    segments.iter().map(view).collect()
}

fn refused(writer: &SegmentWriter, source: io::Error) -> Error {
    Error::Io { doing: "write the segment", path: writer.key().to_owned(), source }
}

/// The memory of a merge, used for one PV after the other: asked of the system anew for each block of arrays it came with pages to be
/// cleared, which took longer than all else of a merge, and whoever wanted memory meanwhile waited.
#[derive(Default)]
struct Room {
    gathering: Gathering,
    /// What is merged sample by sample, and the block of it that is written.
    whole: Option<Batch>,
    block: Option<Batch>,
}

/// No more is kept of a batch: a value may be larger than any block should be.
const ROOM_BYTES_MAX: usize = 2 * FRAMES_BYTES_MAX;

impl Room {
    /// Gives back what one very large value took.
    fn bound(&mut self) {
        for room in [&mut self.whole, &mut self.block] {
            room.take_if(|batch| batch.memory() > ROOM_BYTES_MAX);
        }
    }
}

/// Merges blocks of one type and writes them as full ones.
fn write_run(
    writer: &mut SegmentWriter,
    pv: PvId,
    value_type: ValueType,
    run: impl Iterator<Item = Result<Batch, Error>>,
    room: &mut Room,
) -> Result<(), Error> {
    let path = writer.key().to_owned();
    let io = |source| Error::Io { doing: "write the segment", path: path.clone(), source };
    let bytes_max = |batch: &Batch| match batch.value_type().shape {
        Shape::Array if !batch.is_empty() => frames_bytes_max(batch.values().byte_size_at(0)),
        _ => 4 * BLOCK_BYTES_MAX,
    };
    let whole = emptied(&mut room.whole, value_type);
    for batch in run {
        let batch = batch?;
        let fits = whole.extend_from(&batch, 0..batch.len());
        assert!(fits, "a run has one type");
        if whole.len() >= BLOCK_ROWS_MAX && whole.value_type().is_numeric_scalar() {
            let rest = whole.slice(BLOCK_ROWS_MAX..whole.len());
            let full = whole.slice(0..BLOCK_ROWS_MAX);
            *whole = rest;
            write_blocks(writer, pv, &full, Effort::Merge, &mut room.block).map_err(io)?;
        } else if whole.byte_size() >= bytes_max(whole) {
            write_blocks(writer, pv, whole, Effort::Merge, &mut room.block).map_err(io)?;
            whole.clear();
        }
    }
    write_blocks(writer, pv, whole, Effort::Merge, &mut room.block).map_err(io)?;
    room.bound();
    Ok(())
}

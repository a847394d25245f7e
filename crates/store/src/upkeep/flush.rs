//! The flush: a head becomes a segment.
//!
//! ```text
//!   take the head, begin a new log file ► write segment.tmp ► sync ► rename ► sync folder
//!                                       ► one transaction {segment, gaps, metadata, position of the log} ► remove old log files
//! ```
//! A crash before the transaction leaves the samples in the log and a file that the catalogue does not know; a crash after it
//! leaves log files whose frames lie before the position and are skipped. When a step fails the head stays where it is,
//! readable, and the next flush begins with it. Success makes everything appended until then durable, whatever became of the
//! log: so this is also the way out of a full or failing disk.

use std::{
    io,
    sync::{
        Arc,
        atomic::Ordering::{Relaxed, Release},
    },
    time::Duration,
};

use archive::PvId;
use sample::{Batch, Timestamp};

use crate::{
    Error,
    block::repeats::without_repeats,
    catalog::tables::Position,
    codec::{Effort, frames, limits::BLOCK_BYTES_MAX},
    engine::{Engine, Flushing, Pending},
    head::{Chunk, Head},
    log::{files, format},
    owned::Owned,
    segment::{
        SegmentWriter,
        fill::write_blocks,
        manifest::{Level, Manifest},
        week,
    },
};

/// Texts and structures of a PV are put together up to so many bytes: what was late finds its place, and no more is copied.
const RUN_BYTES_MAX: usize = 16 << 20;

/// A head that took so long to fill needs no merge to be the segment of an hour.
const HOUR_FROM: Duration = Duration::from_secs(30 * 60);

impl Engine {
    /// Flushes what is in the heads, into the folder of the week of `now`.
    pub(crate) fn flush(&self, now: Timestamp) -> Result<(), Error> {
        let mut flushing = self.flushing.lock().expect("no holder of this lock panics");
        if self.owned.as_ref().is_some_and(Owned::holds_flushes) {
            return Ok(());
        }
        self.at_home()?;
        let started = std::time::Instant::now();
        self.flush_wanted.store(false, Relaxed);
        if flushing.pending.is_some() {
            self.flush_pending(&mut flushing, now)?; // an earlier flush failed
        }
        if let Some(pending) = self.take_head(flushing.next_segment) {
            flushing.next_segment += 1;
            self.flushing_segment.store(pending.sequence, Relaxed);
            flushing.pending = Some(pending);
            self.flush_pending(&mut flushing, now)?;
        }
        self.counters.last_flush_micros.store(started.elapsed().as_micros() as u64, Relaxed);
        Ok(())
    }

    /// Puts a new head and a new log file in place of those that are written to; none if there is nothing to flush.
    fn take_head(&self, sequence: u64) -> Option<Pending> {
        let mut ingest = self.ingest();
        self.end_holding_back(&mut ingest);
        let head = ingest.head.clone();
        if head.samples() == 0 && head.facts().is_empty() && ingest.refusal.is_none() {
            return None;
        }
        let pending = Pending {
            head,
            sequence,
            frame: ingest.log.next_frame(),
            appended: self.counters.appended.load(Relaxed),
            since: ingest.head_since.unwrap_or(self.alive()),
            alive: self.alive(),
            log_file: ingest.log.rotate(),
            untold: ingest.tail.untold().clone(),
            refused: ingest.refusal.is_some(),
            tried: false,
        };
        ingest.head_since = None;
        let pages = ingest.pages.clone();
        ingest.head = Arc::new(Head::new(&pages));
        self.change_snapshot(|snapshot| snapshot.heads.push(ingest.head.clone()));
        self.head_room.notify_all();
        Some(pending)
    }

    /// Does the work; the head stays pending if it fails.
    pub(crate) fn flush_pending(&self, flushing: &mut Flushing, now: Timestamp) -> Result<(), Error> {
        let Some(pending) = &mut flushing.pending else { return Ok(()) };
        let sequence = pending.sequence;
        self.counters.repeats_dropped.fetch_add(pending.head.take_repeats(), Relaxed);
        let entered = if pending.tried { self.entered(sequence)? } else { None };
        let manifest = match entered {
            Some(entered) => Some(entered),
            None => self.write_segment(&pending.head, sequence, now)?,
        };
        pending.tried = true;
        let manifest = manifest.map(|manifest| {
            let hour = now >= pending.since.saturating_add(HOUR_FROM);
            let level = if hour { Level::Hour } else { Level::Minutes };
            Manifest { level, written: (pending.since.min(now), now), ..manifest }
        });
        let position = Position {
            frame: pending.frame,
            appended: pending.appended,
            alive: Some(pending.alive),
            next_segment: flushing.next_segment,
        };
        let facts = pending.head.facts().clone().without(|pv| self.registry().is_purged(pv));
        let written = (manifest.as_ref(), pending.head.samples());
        self.catalog.commit_flush(written, &facts, position, &pending.untold)?;
        self.counters.flushed_bytes.fetch_add(manifest.as_ref().map_or(0, |manifest| manifest.bytes), Relaxed);
        self.change_snapshot(|snapshot| {
            snapshot.heads.retain(|head| !Arc::ptr_eq(head, &pending.head));
            manifest.into_iter().for_each(|manifest| self.show(snapshot, manifest));
        });
        if sequence + 1 < flushing.next_segment {
            self.newest.forget(); // an import came between a try that failed and this one
        }
        // Told only if it is where it will be looked for. If not, the next flush tells of it.
        match &self.owned {
            Some(owned) => owned.note_flushed(pending.appended, pending.frame, pending.log_file),
            None => {
                if self.at_home().is_ok() {
                    self.counters.durable.fetch_max(pending.appended, Relaxed);
                }
                self.remove_log_files(pending.log_file);
            }
        }
        self.counters.flushes.fetch_add(1, Relaxed);
        if pending.refused {
            self.take_again();
        }
        flushing.pending = None;
        self.flushing_segment.store(u64::MAX, Release);
        self.head_room.notify_all();
        Ok(())
    }

    /// The segment of a flush that the catalogue has, though that was told as failed. Written again its file might be another one than the
    /// catalogue means, as a PV may have got another name meanwhile; and it may be on its way to the shared store, where a key never has
    /// other bytes.
    fn entered(&self, sequence: u64) -> Result<Option<Manifest>, Error> {
        let segments = self.catalog.segments()?;
        Ok(segments.into_iter().find(|manifest| manifest.id() == (sequence, 0)))
    }

    /// Everything appended is in blocks: what became of the log no longer matters.
    fn take_again(&self) {
        self.owned.iter().for_each(Owned::note_unlogged);
        let mut ingest = self.ingest();
        if !ingest.closed && !self.owned.as_ref().is_some_and(Owned::is_fenced) {
            tracing::info!("everything is in blocks; the store takes samples again");
            ingest.refusal = None;
            *self.counters.refusal.lock().expect("no holder of this lock panics") = None;
        }
    }

    /// Removes the files of the log before `first`. One that cannot be removed costs space, nothing else.
    pub(crate) fn remove_log_files(&self, first: u64) {
        let _syncing = self.syncing.lock().expect("no holder of this lock panics");
        let mut files = self.log_files(); // what is still to be written would make them anew, without their beginning
        files.forget_before(first);
        self.ingest().log.forget_before(first);
        let result = files::files(&*self.disk).and_then(|numbers| {
            let mut old = numbers.into_iter().filter(|number| *number < first);
            old.try_for_each(|number| self.disk.remove(&format::key(number)))
        });
        if let Err(error) = result {
            tracing::warn!("cannot remove files of the log whose samples are in blocks: {error}");
        }
        self.counters.log_bytes.store(files::bytes(&*self.disk), Relaxed);
    }

    /// Makes the folder of a week, if need be. One that holds segments and is not there was taken away: made anew, the week would lie in
    /// two folders.
    pub(crate) fn make_week(&self, folder: &str) -> io::Result<()> {
        let snapshot = self.snapshot();
        let is_here = |key| self.owned.as_ref().is_none_or(|owned| !owned.is_far(key));
        let manifests = snapshot.segments.iter().map(|segment| &segment.manifest);
        let mut near = manifests.filter(|manifest| manifest.place.is_none() && is_here(&manifest.key));
        let is_used = near.any(|manifest| manifest.folder() == folder);
        if is_used && self.disk.list(folder).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            let told = format!(
                "the folder {folder}, which holds segments, is gone; put it back, or end the archiver and run `pvark repair`"
            );
            return Err(io::Error::other(told));
        }
        self.disk.create_folder(folder)
    }

    /// Writes a head as a segment under its final key; none if it has no samples.
    pub(crate) fn write_segment(&self, head: &Head, sequence: u64, now: Timestamp) -> Result<Option<Manifest>, Error> {
        if head.samples() == 0 {
            return Ok(None);
        }
        let folder = week::folder(now);
        let key = format!("{folder}/{sequence:012}.seg");
        let unfinished = format!("{key}.tmp");
        let write = || -> io::Result<Option<Manifest>> {
            self.make_week(&folder)?;
            let writer = SegmentWriter::new(self.disk.clone(), unfinished.clone(), sequence, now);
            let mut writer = writer.identified(self.home.archive(), &key);
            for pv in head.pvs() {
                if !self.registry().is_purged(pv) {
                    self.write_pv(&mut writer, pv, head.chunks(pv))?;
                }
            }
            let Some(manifest) = writer.finish_with(&|pvs| self.names_of(pvs))? else { return Ok(None) };
            self.disk.rename(&unfinished, &key)?;
            self.disk.sync_folder(&folder)?;
            self.disk.sync_folder("")?;
            Ok(Some(Manifest { key: key.clone(), ..manifest }))
        };
        write().map_err(|source| {
            self.remove_unfinished(&unfinished);
            Error::Io { doing: "write the segment", path: key.clone(), source }
        })
    }

    /// Writes the samples of a PV, each run of one type for itself, so that samples of equal time stay in their order.
    /// Frames and large values are not put together with others: what overlaps them has blocks of its own.
    fn write_pv(&self, writer: &mut SegmentWriter, pv: PvId, chunks: Vec<Chunk>) -> io::Result<()> {
        let (mut chunks, mut room) = (chunks.into_iter().peekable(), None);
        while let Some(first) = chunks.next() {
            let first = match first {
                Chunk::Frames(frames) => {
                    writer.add_frames(pv, &frames, Effort::Flush)?;
                    continue;
                }
                Chunk::Rows(batch) => batch,
            };
            let may_grow = |run: &Batch, next: &Batch| {
                let value_type = run.value_type();
                let bytes_max = match value_type {
                    _ if value_type.is_numeric_scalar() => usize::MAX,
                    _ if frames::may_be(value_type) => BLOCK_BYTES_MAX,
                    _ => RUN_BYTES_MAX,
                };
                value_type == next.value_type() && run.byte_size().saturating_add(next.byte_size()) < bytes_max
            };
            let is_next = |run: &Batch, next: &Chunk| matches!(next, Chunk::Rows(next) if may_grow(run, next));
            let is_alone = !chunks.peek().is_some_and(|next| is_next(&first, next));
            if is_alone && first.times().is_sorted_by(|earlier, later| earlier < later) {
                write_blocks(writer, pv, &first, Effort::Flush, &mut room)?;
                continue;
            }
            let mut run = Arc::unwrap_or_clone(first);
            while let Some(Chunk::Rows(next)) = chunks.next_if(|next| is_next(&run, next)) {
                let fits = run.extend_from(&next, 0..next.len());
                assert!(fits, "the types were compared above");
            }
            let (run, repeats) = without_repeats(run.sorted());
            self.counters.repeats_dropped.fetch_add(repeats, Relaxed);
            write_blocks(writer, pv, &run, Effort::Flush, &mut room)?;
        }
        Ok(())
    }
}

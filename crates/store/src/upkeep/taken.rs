//! What earlier epochs recorded and did not put into segments: it is read from their logs, and becomes segments here.
//!
//! ```text
//!   the committed pieces of the log in the shared store ─┐
//!                                                        ├─ file by file ─► a head of its own ─► segment ─► one change: flushed up to here
//!   the log of an owner that was replaced (an offer) ────┘
//! ```
//! An epoch's frames become part of the archive in the order of their numbers, and each once: the change says up to which they are.

use std::{collections::BTreeMap, io, sync::atomic::Ordering::Relaxed};

use archive::PvId;
use sample::Timestamp;
use shared::{Epoch, EpochPosition, LogRun, Part, Wanted, read_whole};

use crate::{
    Error,
    catalog::{
        Taken,
        unfinished::{Tail, Untold},
    },
    engine::Engine,
    facts::Facts,
    head::Head,
    log::{
        arrays::{Differences, Lasts},
        scan,
    },
    owned::{LogFrames, Owned},
    rescue::recover::set_aside,
    segment::manifest::{Level, Manifest},
};

/// So much of an offer is read at a time.
const READ_BYTES: usize = 1 << 20;

/// What somebody holds of the log of an epoch.
pub trait Offer {
    /// The number of the first frame of the file that has this frame.
    fn beginning_of(&self, frame: u64) -> io::Result<u64>;
    /// Frames from this number on and below another, as they lie in one file: about `max` bytes, one at least. None if there is none
    /// below.
    fn read(&self, from: u64, below: u64, max: usize) -> io::Result<Option<LogRun>>;
}

impl Offer for LogFrames {
    fn beginning_of(&self, frame: u64) -> io::Result<u64> {
        LogFrames::beginning_of(self, frame)
    }

    fn read(&self, from: u64, below: u64, max: usize) -> io::Result<Option<LogRun>> {
        LogFrames::read(self, from, below, max)
    }
}

/// Frames of one file.
struct Gathered {
    epoch: Epoch,
    head: Head,
    arrays: Lasts,
    differences: Differences,
    file: u64,
    /// Frames below were taken.
    end: u64,
    /// How many samples were found that are not the archive's own.
    found: u64,
    since: Option<Timestamp>,
    alive: Option<Timestamp>,
}

impl Gathered {
    fn new(engine: &Engine, epoch: Epoch, file: u64, end: u64) -> Gathered {
        let pages = engine.ingest().pages.clone();
        let (head, arrays, differences) = (Head::new(&pages), Lasts::default(), Differences::default());
        Gathered { epoch, head, arrays, differences, file, end, found: 0, since: None, alive: None }
    }

    /// Takes the frames of a run. Those below `self.end` are in segments already, and only what follows may build on them.
    fn take(&mut self, engine: &Engine, tail: &mut Tail, run: &LogRun) -> Result<(), Error> {
        let found = scan::scan(&run.bytes).frames;
        let numbers = found.iter().map(|frame| frame.number);
        if !numbers.eq(run.frames.first..run.frames.end) {
            let what = format!("frames {} of epoch {} of the log", run.frames, self.epoch);
            return Err(damaged(what, "others lie there"));
        }
        for frame in found {
            let bytes = &run.bytes[frame.records.clone()];
            let known = frame.number < self.end;
            let (head, differences, count) = (&self.head, &mut self.differences, &mut self.found);
            let mut give = |pv: PvId, record| {
                if !known {
                    *count += tail.note_replayed(pv, &record);
                    head.append(&[(pv, record)], differences);
                }
            };
            let arrays = &mut self.arrays;
            let whole = scan::records(bytes).is_ok_and(|records| {
                let restored = records.into_iter().map(|record| arrays.restore(frame.number, record, &mut give));
                restored.filter(Result::is_err).count() == 0
            });
            if known {
                continue;
            }
            self.end = frame.number + 1;
            self.since.get_or_insert(frame.now);
            self.alive = self.alive.max(Some(frame.now));
            if !whole {
                let (name, mut told) = (format!("log/epoch-{}-file-{}", self.epoch, self.file), Vec::new());
                set_aside(&*engine.disk, &name, run.at + frame.records.start as u64, bytes, &mut told)?;
                told.into_iter().for_each(|sentence| engine.counters.problem(sentence));
            }
        }
        Ok(())
    }
}

fn damaged(what: String, reason: &str) -> Error {
    Error::Shared { source: shared::Error::Damaged { what, reason: reason.into() } }
}

/// For what frames are entered.
enum As<'a> {
    /// Of the journal: what came behind the last rows of the ledger is counted.
    Tail(&'a Untold),
    /// Of an offer: the gap of the whole archiver ends later than was known.
    Part,
}

impl Engine {
    /// Puts into segments what epochs before have committed of their logs. Until then flushes wait, and readers do not see it.
    pub(crate) fn replay(&self) -> Result<(), Error> {
        let Some(owned) = &self.owned else { return Ok(()) };
        let _replaying = owned.replaying.lock().expect("no holder of this lock panics");
        if owned.whole.load(Relaxed) {
            return Ok(());
        }
        self.settle()?;
        let positions = owned.owner().image().map(|image| image.positions().clone()).unwrap_or_default();
        let began = self.catalog.began()?;
        let position = self.catalog.position()?;
        let untold = self.catalog.untold(position, self.registry().next())?;
        let mut tail = Tail::new(&self.registry(), untold);
        let mut alive = position.alive;
        let mut numbers = self.numbers_left(owned)?;
        for (epoch, position) in positions.iter().filter(|(epoch, _)| **epoch < owned.epoch) {
            self.replay_epoch(owned, (*epoch, position), &mut tail, &mut alive, &mut numbers)?;
        }
        let first = positions.get(&owned.epoch).map_or(1, |own| own.first);
        self.catalog.commit_epoch(owned.epoch.0, first, (alive, owned.opened), tail.untold())?;
        *self.unfinished.lock().expect("no holder of this lock panics") = tail.unfinished(began, alive);
        self.ingest().tail.put_before(tail.untold());
        self.unentered.lock().expect("no holder of this lock panics").retain(|number| !owned.reserved.contains(number));
        owned.whole.store(true, Relaxed);
        Ok(())
    }

    /// The reserved numbers that no segment has: a replay that broke off has entered some.
    fn numbers_left(&self, owned: &Owned) -> Result<std::ops::Range<u64>, Error> {
        let segments = self.catalog.segments()?;
        let numbers = segments.iter().map(|manifest| manifest.sequence);
        let last = numbers.filter(|number| owned.reserved.contains(number)).max();
        Ok(last.map_or(owned.reserved.start, |last| last + 1)..owned.reserved.end)
    }

    fn replay_epoch(
        &self,
        owned: &Owned,
        (epoch, position): (Epoch, &EpochPosition),
        tail: &mut Tail,
        alive: &mut Option<Timestamp>,
        numbers: &mut std::ops::Range<u64>,
    ) -> Result<(), Error> {
        let from = position.flushed.max(self.catalog.taken(epoch.0)?);
        let mut gathered: Option<Gathered> = None;
        for run in position.runs.iter().filter(|run| run.frames.end > from) {
            let bytes = read_whole(&*owned.shared, &owned.shard, &run.object)?;
            let file = run.file().ok_or_else(|| damaged(run.object.key.clone(), "its key is none of a log"))?;
            if gathered.as_ref().is_some_and(|gathered| gathered.file != file)
                && let Some(full) = gathered.take()
            {
                *alive = (*alive).max(full.alive);
                self.enter_taken(full, numbers.next().unwrap_or(owned.reserved.end), &As::Tail(tail.untold()))?;
            }
            let gathered = gathered.get_or_insert_with(|| Gathered::new(self, epoch, file, from));
            if self.catalog.epoch()? < epoch.0
                && let Some(first) = scan::scan(&bytes).frames.first()
            {
                // It began when nobody knew how long the one before had lived.
                self.catalog.commit_epoch(epoch.0, position.first, (*alive, first.now), tail.untold())?;
            }
            gathered.take(self, tail, &LogRun { frames: run.frames, file, at: 0, bytes })?;
        }
        if let Some(rest) = gathered {
            *alive = (*alive).max(rest.alive);
            self.enter_taken(rest, numbers.next().unwrap_or(owned.reserved.end), &As::Tail(tail.untold()))?;
        }
        Ok(())
    }

    /// Takes what a node holds of an epoch that has ended, as far as it is due. Says whether all of it is in segments that the journal
    /// knows.
    pub(crate) fn take_part(&self, part: &Part, offer: &dyn Offer) -> Result<bool, Error> {
        let Some(owned) = &self.owned else { return Ok(false) };
        let _replaying = owned.replaying.lock().expect("no holder of this lock panics");
        if owned.holds_flushes() {
            return Ok(false);
        }
        self.settle()?;
        self.ship();
        if !owned.outbox.is_empty() {
            return Ok(false);
        }
        let frames = match owned.owner().wanted(part)? {
            Wanted::Nothing => return Ok(true),
            Wanted::NotYet(_) => return Ok(false),
            Wanted::Frames(frames) => frames,
        };
        let from = frames.first.max(self.catalog.taken(part.epoch.0)?);
        let mut tail = Tail::new(&self.registry(), Untold::new(false));
        let read = |source| Error::Io { doing: "read what is handed over of", path: part.name(), source };
        let mut at = if from < frames.end { offer.beginning_of(from).map_err(read)? } else { frames.end };
        let mut gathered: Option<Gathered> = None;
        while let Some(run) = offer.read(at, frames.end, READ_BYTES).map_err(read)? {
            if run.frames.first != at || run.frames.end <= at || run.frames.end > frames.end {
                return Err(damaged(format!("part {}", part.name()), "it gives other frames than are asked for"));
            }
            at = run.frames.end;
            if gathered.as_ref().is_some_and(|gathered| gathered.file != run.file)
                && let Some(full) = gathered.take()
            {
                self.enter_part(full)?;
            }
            let gathered = gathered.get_or_insert_with(|| Gathered::new(self, part.epoch, run.file, from));
            gathered.take(self, &mut tail, &run)?;
        }
        if at != frames.end {
            return Err(damaged(format!("part {}", part.name()), "it ends before it should"));
        }
        if let Some(rest) = gathered {
            self.enter_part(rest)?;
        }
        owned.outbox.wait()?;
        Ok(true)
    }

    /// What an owner that was replaced told of gaps counts as long as the next one had nothing of the PV. What is still open ends with it.
    fn leave_to_next(&self, facts: &mut Facts, epoch: Epoch, lived: Timestamp) -> Result<(), Error> {
        let Some(next) = self.catalog.turnovers()?.into_iter().find(|of| of.epoch > epoch.0) else { return Ok(()) };
        let (snapshot, mut left) = (self.snapshot(), BTreeMap::new());
        let mut firsts: Option<(PvId, Option<Timestamp>)> = None;
        for ((pv, from, cause), mut gap) in std::mem::take(&mut facts.gaps) {
            // The gaps of a PV come one after the other.
            let first = match firsts {
                Some((of, first)) if of == pv => first,
                _ => next.first_value(&self.own_gaps(&snapshot, pv, Timestamp::MAX)?),
            };
            firsts = Some((pv, first));
            if first.is_none_or(|first| from < first) {
                let to = gap.to.unwrap_or(lived);
                gap.to = Some(first.map_or(to, |first| to.min(first)).max(from));
                left.insert((pv, from, cause), gap);
            }
        }
        facts.gaps = left;
        Ok(())
    }

    fn enter_part(&self, gathered: Gathered) -> Result<(), Error> {
        let mut flushing = self.flushing.lock().expect("no holder of this lock panics");
        if flushing.pending.is_some() {
            self.flush_pending(&mut flushing, self.alive())?;
        }
        let sequence = flushing.next_segment;
        flushing.next_segment += 1;
        self.enter_taken(gathered, sequence, &As::Part)
    }

    /// Makes a segment of frames, and enters it.
    fn enter_taken(&self, gathered: Gathered, sequence: u64, how: &As<'_>) -> Result<(), Error> {
        let Gathered { epoch, head, end, found, since, alive, .. } = gathered;
        let now = self.alive();
        self.counters.repeats_dropped.fetch_add(head.take_repeats(), Relaxed);
        let manifest = self.write_segment(&head, sequence, now)?;
        let written = (since.unwrap_or(now).min(now), now);
        let manifest = manifest.map(|manifest| Manifest { level: Level::Minutes, written, ..manifest });
        let mut facts = head.facts().clone().without(|pv| self.registry().is_purged(pv));
        if let (As::Part, Some(lived)) = (how, alive) {
            self.leave_to_next(&mut facts, epoch, lived)?;
        }
        let taken = Taken {
            epoch: epoch.0,
            end,
            appended: found,
            samples: head.samples(),
            lived: alive,
            next_segment: sequence + 1,
            untold: match how {
                As::Tail(untold) => Some(untold),
                As::Part => None,
            },
        };
        if !self.catalog.commit_taken(manifest.as_ref(), &facts, &taken)? {
            return Ok(()); // a try before was told as failed, and held
        }
        self.change_snapshot(|snapshot| manifest.into_iter().for_each(|manifest| self.show(snapshot, manifest)));
        self.newest.forget();
        let Some(owned) = &self.owned else { return Ok(()) };
        // A sync under way has counted without these, and would set the count back to that.
        let _syncing = self.syncing.lock().expect("no holder of this lock panics");
        let ingest = self.ingest();
        let appended = self.counters.appended.fetch_add(found, Relaxed) + found;
        owned.synced.fetch_add(found, Relaxed);
        match how {
            As::Tail(_) => _ = self.counters.durable.fetch_add(found, Relaxed), // as it was already
            As::Part => owned.mark(ingest.log.next_frame(), appended),
        }
        Ok(())
    }
}

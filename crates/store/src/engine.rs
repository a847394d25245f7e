//! The engine: the open archive, which writer, readers and threads share, and the way of records into head and log.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use archive::{PvId, Record, Unfinished, VALUE_BYTES_MAX};
use sample::{Metadata, TimeRange, Timestamp};

use crate::{
    Config, Error,
    catalog::{
        Catalog,
        last_names::LastNames,
        registry::Registry,
        unfinished::{Tail, Untold},
    },
    disk::{Disk, Objects, reserve::Reserve, watched::Watched},
    head::{Head, SlabPool},
    health::Counters,
    log::{Log, arrays::Differences, files::LogFiles},
    owned::Owned,
    places::{LastRoom, Places, home::Home},
    read::{newest::Newest, parts::Memory},
    segment::{Segment, manifest::Manifest},
};

/// An append waits so long for room in the head before it is refused as `Busy`. Acquisition has a queue of its own; a writer
/// that waits longer only hides that the disk is too slow.
const ROOM_WAIT: Duration = Duration::from_millis(200);

/// The open archive.
#[derive(Debug)]
pub(crate) struct Engine {
    // fixed after start
    pub(crate) config: Config,
    /// Its part in a cluster; none for an archive of one machine.
    pub(crate) owned: Option<Owned>,
    /// Segments that a repair gave up.
    pub(crate) lost: Vec<Manifest>,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) room: LastRoom,
    /// What `disk` falls back on.
    pub(crate) reserve: Arc<Reserve>,
    /// What `reserve` writes to.
    pub(crate) watched: Arc<Watched>,
    /// What `watched` writes to.
    pub(crate) home: Arc<Home>,
    pub(crate) catalog: Catalog,
    pub(crate) places: Places,
    // guarded by lock
    /// Held while segments take the place of others: merges, moves and removals may come to it with the same ones.
    pub(crate) arranging: Mutex<()>,
    pub(crate) ingest: Mutex<Ingest>,
    pub(crate) flushing: Mutex<Flushing>,
    /// Locked before `ingest`, never after it: whoever appends does not wait for who writes.
    pub(crate) log_files: Mutex<LogFiles>,
    /// Held while files of the log are synced or removed, so that none vanishes in between, and from the count of samples before a sync to
    /// the note of it after. Locked before `log_files` and `ingest`.
    pub(crate) syncing: Mutex<()>,
    /// Held while the catalogue learns of a change of PVs, so that the registry itself is free for those who append.
    pub(crate) registering: Mutex<()>,
    /// Numbers of segments that imports have written and not entered yet.
    pub(crate) unentered: Mutex<BTreeSet<u64>>,
    /// What may be given up: segments with lower numbers than this, as far as they are older than that. In memory alone: after a restart
    /// nobody gives up what was marked before.
    pub(crate) marked: Mutex<Option<(u64, Timestamp)>>,
    registry: RwLock<Registry>,
    snapshot: RwLock<Arc<Snapshot>>,
    pub(crate) newest: Newest,
    /// What bins were made of lately.
    pub(crate) memory: Arc<Memory>,
    pub(crate) last_names: LastNames,
    /// What was found at the opening that the ledger does not tell of.
    pub(crate) unfinished: Mutex<Unfinished>,
    // signals
    /// With `ingest`: there is something to write, or the end has come. The thread `log-write` (upkeep/threads.rs) waits for it.
    pub(crate) log_waiting: Condvar,
    /// With `ingest`: the head has room again.
    pub(crate) head_room: Condvar,
    // atomic
    pub(crate) counters: Arc<Counters>,
    /// The thread `flush` (upkeep/threads.rs) looks at it twenty times a second.
    pub(crate) flush_wanted: AtomicBool,
    /// The last sign of life, in nanoseconds. Changed with `ingest` locked and read without: whoever appends has that lock nearly
    /// all the time where there is much to do.
    alive: AtomicI64,
    /// The number of the segment that a flush is about, which lets readers see it; `u64::MAX` for none.
    pub(crate) flushing_segment: AtomicU64,
    /// The number of the last merge: no segment that is or was there since the start has a higher one.
    pub(crate) merges: AtomicU32,
    /// Segments with lower numbers may have been taken over from another recorder: a deletion that began before is for them too.
    pub(crate) taken_over_below: AtomicU64,
}

/// Where the archive lies, each in front of the next.
#[derive(Debug)]
pub(crate) struct Disks {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) places: Places,
    pub(crate) reserve: Arc<Reserve>,
    pub(crate) watched: Arc<Watched>,
    pub(crate) home: Arc<Home>,
}

/// What is written to.
#[derive(Debug)]
pub(crate) struct Ingest {
    pub(crate) log: Log,
    /// What changes in the arrays that are appended; kept for its memory.
    pub(crate) differences: Differences,
    /// The last of the snapshot's.
    pub(crate) head: Arc<Head>,
    /// Counts what the ledger does not tell of.
    pub(crate) tail: Tail,
    /// Memory of heads that were flushed, for those that come.
    pub(crate) pages: Arc<SlabPool>,
    /// When the oldest record in the head was appended.
    pub(crate) head_since: Option<Timestamp>,
    /// Why nothing is taken: a write or sync of the log failed, or the store is closed.
    pub(crate) refusal: Option<String>,
    /// What is appended goes into the head alone: the folder is away.
    pub(crate) unlogged: bool,
    pub(crate) closed: bool,
}

/// What the flush of the moment, or the next one, must know.
#[derive(Debug)]
pub(crate) struct Flushing {
    /// A head that was taken from the writers but is not in a segment yet: its flush is running, or has failed.
    pub(crate) pending: Option<Pending>,
    pub(crate) next_segment: u64,
}

/// A head that is no longer written to, and what the catalogue must be told when it is in a segment.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) head: Arc<Head>,
    /// The number of its segment, which stays its own when a try fails: the catalogue may have learned of that one.
    pub(crate) sequence: u64,
    /// The first frame that is not in this head.
    pub(crate) frame: u64,
    pub(crate) appended: u64,
    /// When its first record was appended.
    pub(crate) since: Timestamp,
    pub(crate) alive: Timestamp,
    /// The first file of the log that has none of its frames.
    pub(crate) log_file: u64,
    /// What came behind the last rows of the ledger, up to that frame.
    pub(crate) untold: Untold,
    /// The log had failed: with this head in a segment, nothing depends on it any more.
    pub(crate) refused: bool,
    /// A try before failed when its segment was written: the catalogue may have it.
    pub(crate) tried: bool,
}

/// What readers see at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    /// In the order in which they were filled; the last one is written to.
    pub(crate) heads: Vec<Arc<Head>>,
    /// In the order of their writing.
    pub(crate) segments: Arc<Vec<Arc<Segment>>>,
}

impl Engine {
    pub(crate) fn new(
        config: Config,
        Disks { disk, places, reserve, watched, home }: Disks,
        catalog: Catalog,
        registry: Registry,
        snapshot: Snapshot,
        ingest: Ingest,
        (next_segment, alive): (u64, Timestamp),
    ) -> Engine {
        Engine {
            catalog,
            log_files: Mutex::new(LogFiles::new(disk.clone(), &config)),
            config,
            disk,
            room: LastRoom::default(),
            places,
            reserve,
            watched,
            home,
            arranging: Mutex::default(),
            ingest: Mutex::new(ingest),
            flushing: Mutex::new(Flushing { pending: None, next_segment }),
            syncing: Mutex::default(),
            registering: Mutex::default(),
            unentered: Mutex::default(),
            marked: Mutex::default(),
            registry: RwLock::new(registry),
            snapshot: RwLock::new(Arc::new(snapshot)),
            owned: None,
            lost: Vec::new(),
            newest: Newest::default(),
            memory: Arc::default(),
            last_names: LastNames::default(),
            unfinished: Mutex::default(),
            log_waiting: Condvar::new(),
            head_room: Condvar::new(),
            counters: Arc::default(),
            flush_wanted: AtomicBool::new(false),
            alive: AtomicI64::new(alive.nanos()),
            flushing_segment: AtomicU64::new(u64::MAX),
            merges: AtomicU32::new(0),
            taken_over_below: AtomicU64::new(0),
        }
    }

    pub(crate) fn registry(&self) -> RwLockReadGuard<'_, Registry> {
        self.registry.read().expect("no holder of this lock panics")
    }

    pub(crate) fn registry_mut(&self) -> RwLockWriteGuard<'_, Registry> {
        self.registry.write().expect("no holder of this lock panics")
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.read().expect("no holder of this lock panics").clone()
    }

    pub(crate) fn change_snapshot(&self, change: impl FnOnce(&mut Snapshot)) {
        let mut current = self.snapshot.write().expect("no holder of this lock panics");
        let mut next = Snapshot::clone(&current);
        change(&mut next);
        *current = Arc::new(next);
    }

    /// Lets readers see a segment, in the place of the one that has its number, if there is one. If both are one file it is shared, so that
    /// it does not go before those who read the former one are done.
    pub(crate) fn show(&self, snapshot: &mut Snapshot, manifest: Manifest) {
        self.merges.fetch_max(manifest.generation, Relaxed);
        let segments = Arc::make_mut(&mut snapshot.segments);
        let place = segments.binary_search_by_key(&manifest.id(), |segment| segment.manifest.id());
        let former = place.ok().map(|at| &segments[at]).filter(|of| of.manifest.is_of_one_file_with(&manifest));
        let segment = Arc::new(match former {
            Some(former) => former.told_anew(manifest),
            None => Segment::new(self.disk_of(&manifest), manifest),
        });
        match place {
            Ok(at) => segments[at] = segment,
            Err(at) => segments.insert(at, segment),
        }
    }

    /// With what a segment is read: it lies on the own disk, in a place, or in the shared store.
    pub(crate) fn disk_of(&self, manifest: &Manifest) -> Arc<dyn Objects> {
        match &self.owned {
            None => self.places.disk_for(&self.disk, manifest),
            Some(owned) => owned.disk_for(&self.disk, manifest),
        }
    }

    /// The last sign of life.
    pub(crate) fn alive(&self) -> Timestamp {
        Timestamp::from_nanos(self.alive.load(Relaxed))
    }

    /// The archiver was alive then.
    pub(crate) fn note_alive(&self, then: Timestamp) {
        self.alive.fetch_max(then.nanos(), Relaxed);
    }

    pub(crate) fn ingest(&self) -> MutexGuard<'_, Ingest> {
        self.ingest.lock().expect("no holder of this lock panics")
    }

    /// Refuses once the store is closed, as another process may have the archive open by now.
    pub(crate) fn refuse_if_closed(&self) -> Result<(), Error> {
        let ingest = self.ingest();
        let closed = ingest.refusal.as_ref().filter(|_| ingest.closed);
        closed.map_or(Ok(()), |reason| Err(Error::Refused { reason: reason.clone() }))
    }

    /// Takes records: into the log's buffer and into the head, or not at all.
    pub(crate) fn append(&self, records: &[(PvId, Record)], now: Timestamp) -> Result<(), Error> {
        let result = self.try_append(records, now);
        if result.is_err() {
            let samples = records.iter().map(|(_, record)| record.samples() as u64).sum();
            self.counters.refused_appends.fetch_add(1, Relaxed);
            self.counters.refused_samples.fetch_add(samples, Relaxed);
        }
        result
    }

    /// The same without counting what is refused.
    fn try_append(&self, records: &[(PvId, Record)], now: Timestamp) -> Result<(), Error> {
        let survey = self.survey(records)?;
        let news = if survey.has_metadata { self.without_known_metadata(records)? } else { None };
        let records = news.as_deref().unwrap_or(records);
        let mut ingest = self.with_room()?;
        let was_waiting = ingest.log.is_waiting();
        let Ingest { log, head, differences, tail, unlogged, .. } = &mut *ingest;
        head.append(records, differences);
        tail.note(records);
        if !*unlogged {
            log.append(records, differences, self.counters.appended.load(Relaxed), now);
            if log.is_full() || !was_waiting {
                self.log_waiting.notify_one();
            }
        }
        self.note_alive(now);
        ingest.head_since.get_or_insert(now);
        self.counters.appended.fetch_add(survey.samples, Relaxed);
        if ingest.head.bytes() >= self.config.head_bytes_max {
            self.flush_wanted.store(true, Relaxed);
        }
        drop(ingest);
        if survey.has_metadata {
            let registry = self.registry();
            let described = records.iter().filter(|(_, record)| matches!(record, Record::Metadata(..)));
            described.for_each(|(pv, _)| registry.touches.note(*pv));
        }
        Ok(())
    }

    /// Checks the records before any of them is taken.
    fn survey(&self, records: &[(PvId, Record)]) -> Result<Survey, Error> {
        let next = self.registry().next();
        let (mut has_metadata, mut samples) = (false, 0);
        for (pv, record) in records {
            if pv.0 >= next {
                return Err(Error::UnknownPv { pv: *pv });
            }
            has_metadata |= matches!(record, Record::Metadata(..));
            samples += record.samples() as u64;
            if let Some(bytes) = too_large(record) {
                return Err(Error::TooLarge { pv: *pv, bytes });
            }
        }
        Ok(Survey { has_metadata, samples })
    }

    /// The records without the metadata that adds nothing to what is in force; none if all of them are news, as nearly always.
    fn without_known_metadata(&self, records: &[(PvId, Record)]) -> Result<Option<Vec<(PvId, Record)>>, Error> {
        let mut known = HashSet::new();
        let mut in_force: HashMap<PvId, Arc<Metadata>> = HashMap::new(); // behind the records that were looked at
        for (index, (pv, record)) in records.iter().enumerate() {
            let Record::Metadata(since, metadata) = record else { continue };
            let before = match in_force.remove(pv) {
                Some(before) => Some(before),
                None => {
                    self.metadata(*pv, TimeRange { t0: *since, t1: *since })?.pop().map(|(_, before)| before.into())
                }
            };
            // What adds nothing leaves in force what was, with which the next one is compared.
            let kept = before.filter(|before| metadata.adds_nothing_to(before));
            if kept.is_some() {
                known.insert(index);
            }
            in_force.insert(*pv, kept.unwrap_or_else(|| metadata.clone()));
        }
        let news =
            || records.iter().enumerate().filter(|(index, _)| !known.contains(index)).map(|(_, news)| news.clone());
        Ok((!known.is_empty()).then(|| news().collect()))
    }

    /// The metadata in force at the beginning of `range`, then each change within it.
    pub(crate) fn metadata(&self, pv: PvId, range: TimeRange) -> Result<Vec<(Timestamp, Metadata)>, Error> {
        let snapshot = self.snapshot();
        let mut all: BTreeMap<_, _> = self.catalog.metadata(pv, range.t0, range.t1)?.into_iter().collect();
        for head in &snapshot.heads {
            let facts = head.facts();
            let own = facts.metadata.range((pv, Timestamp::MIN)..=(pv, Timestamp::MAX));
            all.extend(own.map(|((_, since), metadata)| (*since, Metadata::clone(metadata))));
        }
        let in_force = all.range(..=range.t0).next_back().map_or(range.t0, |(since, _)| *since);
        let shown = |since: &Timestamp| *since >= in_force && (*since < range.t1 || *since == in_force);
        Ok(all.into_iter().filter(|(since, _)| shown(since)).collect())
    }

    /// The lock to write with, once the head has room.
    fn with_room(&self) -> Result<MutexGuard<'_, Ingest>, Error> {
        let deadline = std::time::Instant::now() + ROOM_WAIT;
        let mut ingest = self.ingest();
        loop {
            if let Some(reason) = &ingest.refusal {
                return Err(Error::Refused { reason: reason.clone() });
            }
            // What waits for the log counts as if it were in the head too, so that two heads are all that there ever is.
            let (bytes_max, unwritten) = (self.config.head_bytes_max, ingest.log.unwritten());
            let is_last = ingest.unlogged || self.snapshot().heads.len() > 1;
            let head_full = ingest.head.bytes() + unwritten >= bytes_max && is_last;
            let full = head_full || unwritten >= bytes_max / 2;
            if !full {
                return Ok(ingest);
            }
            let left = deadline.saturating_duration_since(std::time::Instant::now());
            if left.is_zero() {
                let problem = self.home.problem().filter(|_| ingest.unlogged);
                return Err(problem.map_or(Error::Busy, |reason| Error::Refused { reason }));
            }
            ingest = self.head_room.wait_timeout(ingest, left).expect("no holder of this lock panics").0;
        }
    }

    /// Writes what waits in the log. A failure closes the store for writing until everything is in blocks.
    pub(crate) fn write_log(&self) -> Result<(), Error> {
        self.write_log_with(&mut self.log_files()).map(|_| ())
    }

    /// The same with the files locked. Gives how many samples were appended before, and the number of the next frame.
    pub(crate) fn write_log_with(&self, files: &mut LogFiles) -> Result<(u64, u64), Error> {
        let (pieces, appended) = {
            let mut ingest = self.ingest();
            if let Some(reason) = &ingest.refusal {
                return Err(Error::Refused { reason: reason.clone() });
            }
            if ingest.unlogged {
                return Err(Error::Away { reason: self.home.problem().unwrap_or_default() });
            }
            (ingest.log.take_pieces(), (self.counters.appended.load(Relaxed), ingest.log.next_frame()))
        };
        let result = files.write(&pieces);
        let mut ingest = self.ingest();
        self.head_room.notify_all();
        ingest.log.reuse(pieces);
        drop(ingest);
        result.or_else(|error| self.log_failed(format!("the log cannot be written: {error}")))?;
        Ok(appended)
    }

    pub(crate) fn log_files(&self) -> MutexGuard<'_, LogFiles> {
        self.log_files.lock().expect("no holder of this lock panics")
    }

    /// What cannot be written because the folder is away waits in the heads; all else is refused.
    pub(crate) fn log_failed(&self, reason: String) -> Result<(), Error> {
        self.at_home()?;
        Err(self.refuse(&mut self.ingest(), reason))
    }

    /// Takes nothing any more, and says why. The file of the log is given up.
    fn refuse(&self, ingest: &mut Ingest, reason: String) -> Error {
        ingest.log.give_up();
        if ingest.refusal.is_none() {
            tracing::error!("the store takes no more samples: {reason}");
            ingest.refusal = Some(reason.clone());
            *self.counters.refusal.lock().expect("no holder of this lock panics") = Some(reason.clone());
        }
        self.flush_wanted.store(true, Relaxed);
        Error::Refused { reason }
    }
}

/// What there is among some records.
struct Survey {
    has_metadata: bool,
    samples: u64,
}

/// The bytes of a sample that is larger than any may be.
#[inline]
pub(crate) fn too_large(record: &Record) -> Option<usize> {
    let largest = match record {
        Record::Sample(sample) | Record::LedgerRow(sample) => sample.value.byte_size(),
        Record::Samples(batch) if batch.values().byte_size() > VALUE_BYTES_MAX => {
            (0..batch.len()).map(|row| batch.values().byte_size_at(row)).max().unwrap_or(0)
        }
        Record::Array(batch) => batch.values().byte_size_at(0),
        Record::Samples(_) | Record::Gap(_) | Record::Metadata(..) => return None,
    };
    (largest > VALUE_BYTES_MAX).then_some(largest)
}

//! The owner of a shard: what it ships, what it says in the journal, and how it learns that it is none any longer.
//!
//! ```text
//!            ┌──────────── advance: change by change, then the log, in order ───────────┐
//!   Owning ──┤                                                                          ├──► Taken: hands over, appends nothing
//!            └─► Detached: no answer; goes on recording, and comes back with the same ──┘
//! ```
//!
//! One row at a time is under way. If its outcome is not known, that very row is settled before anything else is appended: so the journal
//! has a row twice under no circumstances, and rows in no other order than they were made.

use std::{
    collections::VecDeque,
    fmt,
    io::{self, Read},
    sync::Arc,
    time::Duration,
};

use crate::{
    bytes::Malformed,
    error::{Error, Result},
    handover::Part,
    ids::{Epoch, Frames, Seq},
    image::{Catalogue, Image},
    journal::{
        Body, Change, Checkpoint, Commit, Entry, Row, Run,
        format::{INLINE_LEN, MAX_BODY_LEN},
        name,
    },
    keys::{self, Shard},
    orphans::Inventory,
    pieces::{self, Object, PIECE_LEN, Progress},
    seam::{Created, Shared},
    settle,
};

/// So many runs go into one commit; what is more goes into the next.
const RUNS: usize = 64;

/// So many keys that nobody needs any more are remembered; what is more is found as an orphan later.
const PASSED: usize = 10_000;

/// How an owner works.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How long pieces are.
    pub piece: u32,
    /// Bodies of rows that are longer are put beside the journal.
    pub inline: usize,
    /// How many bytes of the log are read at a time; a longer frame is read whole.
    pub run: usize,
    /// So much time passes between two commits at least.
    pub commit_every: Duration,
    /// A checkpoint is due after so many changes,
    pub changes_per_checkpoint: u64,
    /// or after so many rows: a taker reads no more of them than that.
    pub rows_per_checkpoint: u64,
    /// What no row names any more and others may still read stays so long: a segment of an epoch before, from which an answer comes that
    /// the owner before has begun, a copy of the catalogue, the body of a row.
    pub keep_unnamed: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            piece: PIECE_LEN,
            inline: INLINE_LEN,
            run: 1 << 20,
            commit_every: Duration::from_secs(1),
            changes_per_checkpoint: 1000,
            rows_per_checkpoint: 10_000,
            keep_unnamed: Duration::from_secs(600),
        }
    }
}

/// What lies on the owner's own disk, synced.
pub trait Local {
    /// Frames of the log from the one with that number on, as they lie in one file: about `max` bytes, a whole frame at least. None if
    /// there is nothing more that is synced.
    fn log(&self, from: u64, max: usize) -> io::Result<Option<LogRun>>;
    /// A segment. Under one key there are never other bytes, however often it is asked for.
    fn segment(&self, key: &str) -> io::Result<Box<dyn Read + '_>>;
    /// Whether somebody here still reads an object, by its key within the shard, though the journal names it no more.
    fn is_read(&self, _key: &str) -> bool {
        false
    }
}

/// A stretch of a file of the log.
#[derive(Clone, Debug)]
pub struct LogRun {
    /// Which frames it holds.
    pub frames: Frames,
    /// The number of the file.
    pub file: u64,
    /// Where in it they begin.
    pub at: u64,
    /// Their bytes, headers and checksums included.
    pub bytes: Vec<u8>,
}

/// A transaction of the catalogue that is to be journalled.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Segments that it adds, by their keys on the own disk.
    pub segments: Vec<String>,
    /// The keys, within the shard, of those that it removes.
    pub removed: Vec<String>,
    /// Of the frames of an epoch, those below are in segments with it.
    pub flushed: Vec<(Epoch, u64)>,
    /// The transaction, as the catalogue wrote it.
    pub catalogue: Vec<u8>,
}

/// How an owner stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnerStanding {
    /// The shard is its own, as far as anyone can know.
    Owning,
    /// The shared store gives no answer since then.
    Detached {
        /// When that was found, on the clock of who calls.
        since: Duration,
    },
    /// It has another owner.
    Taken {
        /// The epoch of that one.
        by: Epoch,
    },
}

/// A row on its way, whose outcome is not known yet.
struct RowInDoubt {
    row: Row,
    bytes: Vec<u8>,
    entry: Entry,
    /// What the journal amounts to with it, if that had to be tried out.
    after: Option<Image>,
}

/// What no row names any more and others may still read.
struct Unnamed {
    object: Object,
    /// When that was seen first.
    since: Option<Duration>,
}

/// The owner of a shard in one epoch.
pub struct Owner {
    // fixed from the seal on
    pub(crate) shared: Arc<dyn Shared>,
    pub(crate) shard: Shard,
    pub(crate) epoch: Epoch,
    settings: Settings,
    /// The first number behind the seal.
    begun: Seq,
    // the journal as this owner knows it
    next: Seq,
    checkpoint: Option<Seq>,
    image: Option<Image>,
    durable: u64,
    ids: u64,
    standing: OwnerStanding,
    // what is on its way
    doubt: Option<RowInDoubt>,
    plans: VecDeque<Plan>,
    put: Vec<Object>,
    shipped: Vec<Run>,
    progress: Progress,
    committed_at: Option<Duration>,
    passed: Vec<Object>,
    unnamed: Vec<Unnamed>,
    /// Why a transaction can never be journalled; all behind it would be without it.
    refused: Option<String>,
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "owner of shard {} in epoch {}, {:?}", self.shard, self.epoch, self.standing)
    }
}

impl Owner {
    /// The owner behind its seal, which has the number before `next`.
    pub(crate) fn sealed(
        shared: Arc<dyn Shared>,
        shard: Shard,
        epoch: Epoch,
        first: u64,
        next: Seq,
        checkpoint: Option<Seq>,
        settings: Settings,
    ) -> Owner {
        Owner {
            shared,
            shard,
            epoch,
            settings,
            begun: next,
            next,
            checkpoint,
            image: None,
            durable: first,
            ids: 1, // the seal was the first row of the epoch
            standing: OwnerStanding::Owning,
            doubt: None,
            plans: VecDeque::new(),
            put: Vec::new(),
            shipped: Vec::new(),
            progress: Progress::default(),
            committed_at: None,
            passed: Vec::new(),
            unnamed: Vec::new(),
            refused: None,
        }
    }

    /// Why the shard must be given up: a transaction holds here that no journal can take, so that nothing behind it can be shipped. What
    /// was recorded is handed over as by an owner that was replaced.
    pub fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// Its epoch.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The shared store by which it owns.
    pub fn shared(&self) -> &Arc<dyn Shared> {
        &self.shared
    }

    /// Its shard.
    pub fn shard(&self) -> &Shard {
        &self.shard
    }

    /// How it stands.
    pub fn standing(&self) -> OwnerStanding {
        self.standing
    }

    /// Frames of this epoch below are safe in the shared store.
    pub fn durable(&self) -> u64 {
        self.durable
    }

    /// How many rows it has added to the journal behind its seal.
    pub fn rows(&self) -> u64 {
        self.next.0 - self.begun.0
    }

    /// What the journal amounts to, once it was read.
    pub fn image(&self) -> Option<&Image> {
        self.image.as_ref()
    }

    /// What this epoch has of the shard now, for a look for orphans; none before the journal was read.
    pub fn inventory(&self) -> Option<Inventory> {
        let image = self.image.clone()?;
        Some(Inventory { shared: self.shared.clone(), shard: self.shard.clone(), epoch: self.epoch, image })
    }

    /// How many transactions are not known to be journalled: the last so many of those that were given. One that no journal can take is
    /// among them for ever.
    pub fn waiting(&self) -> usize {
        let under_way = self.doubt.as_ref().is_some_and(|doubt| matches!(doubt.entry, Entry::Change(_)));
        self.plans.len() + usize::from(under_way || self.refused.is_some())
    }

    /// Reads the journal from its newest checkpoint on, and brings the catalogue up to date. Recording and commits need not wait for it.
    pub fn read_image(&mut self, catalogue: &mut dyn Catalogue) -> Result<&Image> {
        let image = Image::read_to(&*self.shared, &self.shard, self.checkpoint, self.next, catalogue)?;
        Ok(self.image.insert(image))
    }

    /// A transaction to be journalled behind those that wait already.
    pub fn change(&mut self, plan: Plan) {
        self.plans.push_back(plan);
    }

    /// Ships what there is, in order: settles the row on its way, journals the transactions that wait, puts what is synced of the log
    /// and commits it. `now` is time that has passed since any moment, as it passes for this node alone. If no answer comes, the next
    /// call goes on where this one ended.
    pub fn advance(&mut self, now: Duration, local: &dyn Local) -> Result<()> {
        let result = self.ship(now, local);
        self.stand(now, &result);
        result
    }

    /// Whether a checkpoint is due: never before all transactions are journalled.
    pub fn checkpoint_is_due(&self) -> bool {
        let rows = self.next.0 - self.checkpoint.map_or(0, |seq| seq.0);
        let changes = self.image.as_ref().map_or(0, Image::changes);
        let many = changes >= self.settings.changes_per_checkpoint || rows >= self.settings.rows_per_checkpoint;
        many && self.is_quiet()
    }

    /// Whether nothing is on its way or waits: then the catalogue is what the journal says.
    pub fn is_quiet(&self) -> bool {
        self.image.is_some() && self.doubt.is_none() && self.plans.is_empty()
    }

    /// Writes a checkpoint with a copy of the catalogue as it is; nothing while something waits.
    pub fn checkpoint(&mut self, now: Duration, copy: Option<&mut dyn Read>) -> Result<()> {
        let result = self.write_checkpoint(copy);
        self.stand(now, &result);
        result
    }

    /// What a taken owner holds that no commit covers, up to the end of its log: the next owner takes it from there.
    pub fn left_over(&self, end: u64) -> Option<Part> {
        let frames = Frames { first: self.durable, end };
        let over = matches!(self.standing, OwnerStanding::Taken { .. }) || self.refused.is_some();
        (over && frames.first < frames.end).then(|| Part { shard: self.shard.clone(), epoch: self.epoch, frames })
    }

    fn stand(&mut self, now: Duration, result: &Result<()>) {
        self.standing = match (result, self.standing) {
            (_, taken @ OwnerStanding::Taken { .. }) => taken,
            (Ok(()), _) => OwnerStanding::Owning,
            (Err(Error::Unknown { .. }), OwnerStanding::Owning) => OwnerStanding::Detached { since: now },
            (Err(_), standing) => standing,
        };
    }

    fn ship(&mut self, now: Duration, local: &dyn Local) -> Result<()> {
        self.settle()?;
        while !self.plans.is_empty() {
            self.ship_plan(local)?;
        }
        self.ship_log(now, local)?;
        self.remove_passed();
        self.remove_unnamed(now, local);
        Ok(())
    }

    /// Puts the segments of the first transaction that waits, and appends it.
    fn ship_plan(&mut self, local: &dyn Local) -> Result<()> {
        let Some(plan) = self.plans.front() else { return Ok(()) };
        while let Some(key) = plan.segments.get(self.put.len()) {
            let mut segment = open(local, key)?;
            let (to, piece) = (keys::segment_key(self.epoch, key), self.settings.piece);
            let object = pieces::put(&*self.shared, &self.shard, to, &mut segment, piece, &mut self.progress)?;
            self.put.push(object);
        }
        let added = std::mem::take(&mut self.put);
        let Plan { removed, flushed, catalogue, .. } = self.plans.pop_front().expect("it was there");
        let appended = self.append(Entry::Change(Change { added, removed, flushed, catalogue }));
        if let Err(error) = &appended
            && self.doubt.is_none()
            && !matches!(self.standing, OwnerStanding::Taken { .. })
        {
            // It was never sent, and is gone: whoever went on without it would journal a catalogue that nobody has.
            self.refused = Some(error.to_string());
        }
        appended
    }

    fn ship_log(&mut self, now: Duration, local: &dyn Local) -> Result<()> {
        loop {
            while self.shipped.len() < RUNS
                && let Some(run) = self.put_run(local)?
            {
                self.shipped.push(run);
            }
            let full = self.shipped.len() == RUNS;
            let waited = self.committed_at.is_none_or(|at| now.saturating_sub(at) >= self.settings.commit_every);
            if self.shipped.is_empty() || !(full || waited) {
                return Ok(());
            }
            self.committed_at = Some(now);
            let runs = std::mem::take(&mut self.shipped);
            self.append(Entry::Commit(Commit { runs }))?;
        }
    }

    /// Puts what comes next of the log.
    fn put_run(&mut self, local: &dyn Local) -> Result<Option<Run>> {
        let from = self.shipped.last().map_or(self.durable, |run| run.frames.end);
        let run = local.log(from, self.settings.run);
        let run = run.map_err(|source| Error::Local { doing: format!("read the log from frame {from} on"), source })?;
        let Some(LogRun { frames, file, at, bytes }) = run else { return Ok(None) };
        assert!(frames.first == from && frames.end > from, "the log gives {frames} where {from} is asked for");
        let key = keys::log(self.epoch, file, at, bytes.len() as u64);
        let (shared, piece) = (&*self.shared, self.settings.piece);
        let object = pieces::put(shared, &self.shard, key, &mut &bytes[..], piece, &mut self.progress)?;
        Ok(Some(Run { frames, object }))
    }

    fn write_checkpoint(&mut self, copy: Option<&mut dyn Read>) -> Result<()> {
        self.settle()?;
        let image = match &self.image {
            Some(image) if self.plans.is_empty() => image.clone(),
            _ => return Ok(()),
        };
        let mut catalogue = None;
        if let Some(copy) = copy {
            let (shared, key) = (&*self.shared, keys::image(self.epoch, self.ids));
            // The copy may be another one when this is tried again: so it has a key of its own.
            self.ids += 1;
            let object = pieces::put(shared, &self.shard, key, copy, self.settings.piece, &mut Progress::default())?;
            catalogue = Some(object);
        }
        self.append(Entry::Checkpoint(Box::new(Checkpoint { image, catalogue })))
    }

    /// Appends a row behind all others; never one that no taker could read.
    fn append(&mut self, entry: Entry) -> Result<()> {
        assert!(self.doubt.is_none(), "one row at a time is under way");
        let (body, kind, id) = (entry.encode(), entry.kind(), self.ids);
        let refused = |reason: &str| {
            let doing = format!("append to the journal of shard {}", self.shard);
            Error::Refused { doing, reason: reason.to_owned() }
        };
        if body.len() as u64 > MAX_BODY_LEN {
            return Err(refused("it is longer than any row may be"));
        }
        Entry::decode(kind, &body).map_err(|Malformed(reason)| refused(reason))?;
        let body =
            if body.len() <= self.settings.inline { Body::Inline(body) } else { Body::Apart(self.apart(id, &body)) };
        let row = Row { epoch: self.epoch, id, checkpoint: self.checkpoint, kind, body };
        let mut after = None;
        if let (Entry::Change(_), Some(image)) = (&entry, &self.image) {
            let mut image = image.clone();
            image.apply(&self.shard, &row, &entry).map_err(|error| refused(&error.to_string()))?;
            after = Some(image);
        }
        self.ids += 1;
        self.doubt = Some(RowInDoubt { bytes: row.encode(), row, entry, after });
        self.settle()
    }

    /// Where a body that is too long for a row will lie.
    fn apart(&self, id: u64, body: &[u8]) -> Object {
        let check = xxhash_rust::xxh3::xxh3_64(body);
        Object { key: keys::body(self.epoch, id), len: body.len() as u64, check, piece: self.settings.piece }
    }

    /// Brings the row on its way to an end, and learns from it.
    fn settle(&mut self) -> Result<()> {
        if let OwnerStanding::Taken { by } = self.standing {
            return Err(Error::Taken { shard: self.shard.to_string(), epoch: by });
        }
        if let Some(reason) = &self.refused {
            let doing = format!("go on with the journal of shard {}", self.shard);
            return Err(Error::Refused { doing, reason: reason.clone() });
        }
        let Some(doubt) = &self.doubt else { return Ok(()) };
        if let Some(object) = doubt.row.apart() {
            let (body, key, piece) = (doubt.entry.encode(), object.key.clone(), object.piece);
            pieces::put(&*self.shared, &self.shard, key, &mut &body[..], piece, &mut self.progress)?;
        }
        let found = match settle::append(&*self.shared, self.shard.journal(), self.next, &doubt.bytes)? {
            Created::Done => return self.learn(),
            Created::Taken(found) => found,
        };
        let row = Row::decode(&self.shard, self.next, &found)?;
        if row.epoch <= self.epoch {
            let reason = format!("it is of epoch {}, and lies behind the seal of epoch {}", row.epoch, self.epoch);
            return Err(Error::damaged(name(&self.shard, self.next), reason));
        }
        self.standing = OwnerStanding::Taken { by: row.epoch };
        Err(Error::Taken { shard: self.shard.to_string(), epoch: row.epoch })
    }

    /// Takes note of the own row that stands in the journal now.
    fn learn(&mut self) -> Result<()> {
        let RowInDoubt { row, entry, after, .. } = self.doubt.take().expect("it was on its way");
        let seq = self.next;
        self.next = seq.next();
        self.checkpoint = row.newest_checkpoint(seq);
        let before = self.durable;
        match &entry {
            Entry::Commit(commit) => self.durable = commit.runs.last().map_or(before, |run| run.frames.end),
            Entry::Change(change) => {
                let own = change.flushed.iter().filter(|(epoch, _)| *epoch == self.epoch);
                self.durable = own.map(|(_, end)| *end).fold(before, u64::max);
                self.pass(change);
            }
            Entry::Checkpoint(_) => self.pass_copies(),
            Entry::Seal(_) => {}
        }
        match (after, &mut self.image) {
            (Some(after), image) => *image = Some(after),
            (None, Some(image)) => image.apply(&self.shard, &row, &entry)?,
            (None, None) => {}
        }
        Ok(())
    }

    /// Remembers what nobody needs behind a change: log that is in segments, and segments that it removed.
    fn pass(&mut self, change: &Change) {
        let durable = self.durable;
        let (passed, kept) = self.shipped.drain(..).partition(|run| run.frames.end <= durable);
        self.shipped = kept;
        let mut objects: Vec<Object> = Vec::from_iter(passed).into_iter().map(|run: Run| run.object).collect();
        if let Some(image) = &self.image {
            for (epoch, end) in &change.flushed {
                let runs = image.positions().get(epoch).into_iter().flat_map(|position| &position.runs);
                objects.extend(runs.filter(|run| run.frames.end <= *end).map(|run| run.object.clone()));
            }
            let is_own = |of: &Object| keys::segment_of(&of.key).is_some_and(|(epoch, _)| epoch == self.epoch);
            let segments = change.removed.iter().filter_map(|key| image.segments().get(key).cloned());
            let (own, before): (Vec<_>, Vec<_>) = segments.partition(is_own);
            objects.extend(own);
            self.keep_for_readers(before);
        }
        objects.truncate(PASSED.saturating_sub(self.passed.len()));
        self.passed.append(&mut objects);
    }

    /// Removes what was passed, as far as an answer comes; what is left, or is refused, is found as orphans.
    fn remove_passed(&mut self) {
        while let Some(object) = self.passed.last() {
            if let Err(Error::Unknown { .. }) = pieces::remove(&*self.shared, &self.shard, object) {
                return;
            }
            self.passed.pop();
        }
    }

    /// Remembers what nobody needs behind a checkpoint: the copy of the catalogue before it, and the bodies of rows.
    fn pass_copies(&mut self) {
        let Some(image) = &self.image else { return };
        let copies = image.catalogue().into_iter().chain(image.bodies()).cloned().collect();
        self.keep_for_readers(copies);
    }

    fn keep_for_readers(&mut self, objects: Vec<Object>) {
        let room = PASSED.saturating_sub(self.unnamed.len());
        self.unnamed.extend(objects.into_iter().take(room).map(|object| Unnamed { object, since: None }));
    }

    /// Removes what no row has named for a while, unless it is read here.
    fn remove_unnamed(&mut self, now: Duration, local: &dyn Local) {
        let Owner { unnamed, shared, shard, settings, .. } = self;
        let mut answers = true;
        unnamed.retain_mut(|of| {
            let since = *of.since.get_or_insert(now);
            let is_due = now.saturating_sub(since) >= settings.keep_unnamed && !local.is_read(&of.object.key);
            if is_due && answers {
                let removed = pieces::remove(&**shared, shard, &of.object);
                answers = !matches!(removed, Err(Error::Unknown { .. }));
            }
            !(is_due && answers)
        });
    }
}

fn open<'a>(local: &'a dyn Local, key: &str) -> Result<Box<dyn Read + 'a>> {
    local.segment(key).map_err(|source| Error::Local { doing: format!("read segment {key}"), source })
}

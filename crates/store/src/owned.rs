//! A store that belongs to a cluster: what it records here first goes to the shared store, in order, and the journal there says what counts.
//!
//! ```text
//!   append ► log, synced ──────────────┐
//!   flush, merge, order ► catalogue ► outbox ► ship: {segments, change}, then {log pieces, commit} ► journal of the shard
//!                                                                           └► now it is durable, and files may go
//! ```
//! The catalogue is ahead of the journal by what lies in the outbox: so a flush waits for no network, and all is recorded here while no
//! answer comes. Nothing that is only here is promised. Whoever gives an order waits until the journal has it; files of the log and
//! replaced segments stay until the journal does not need them. An owner that was replaced takes nothing back: its folder is that of one
//! epoch, and the next begins in an empty one, with what the journal says and nothing else.

pub(crate) mod far;
pub(crate) mod frames;
pub(crate) mod opening;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use archive::{ShardLag, Watermark};
use sample::Timestamp;
use shared::{Epoch, Image, Object, Owner, OwnerStanding, Shard, Shared};

use self::far::{Far, InUse, NearSegment};
pub use self::frames::LogFrames;
use crate::{
    disk::{Disk, Objects},
    outbox::Outbox,
    segment::manifest::Manifest,
};

/// How a store ships.
#[derive(Clone, Copy, Debug)]
pub struct Shipping {
    /// So often it looks whether there is something to ship; none if somebody else calls `Store::ship`.
    pub every: Option<Duration>,
    /// So long whoever gives an order waits until the journal has it, and whoever closes the store until all is shipped.
    pub patience: Duration,
    /// How long an owner that was replaced goes on recording after [`crate::Store::relieve`]: what came while it slept is still under way
    /// to it, and is handed over with the rest of its log. The next owner hears the same IOCs meanwhile, so there is no gap between the two.
    pub grace: Duration,
    /// The longest that it goes on while nobody says that it is relieved: the next owner may have died before it recorded anything.
    pub unrelieved: Duration,
}

impl Default for Shipping {
    fn default() -> Shipping {
        Shipping {
            every: Some(Duration::from_millis(100)),
            patience: Duration::from_secs(20),
            grace: Duration::from_secs(3),
            unrelieved: Duration::from_secs(20),
        }
    }
}

/// How a shard stands that a node has open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardHealth {
    /// Which.
    pub shard: Shard,
    /// In which epoch this node has it.
    pub epoch: Epoch,
    /// Whether it is still its own, and whether the shared store answers.
    pub standing: OwnerStanding,
    /// For how long no answer has come.
    pub detached_for: Option<Duration>,
    /// What other epochs have committed can be read here.
    pub is_whole: bool,
    /// Samples up to this one are synced on this node. What is durable in the cluster stands in the watermark.
    pub synced: u64,
    /// Changes of the catalogue that the journal does not have yet.
    pub waiting: u64,
    /// The last thing that went wrong beyond an answer that did not come.
    pub trouble: Option<String>,
    /// It takes nothing any more, and is to be given up: another node has it, or its catalogue cannot be journalled.
    pub is_over: bool,
}

/// That the shared store gives no answer.
#[derive(Debug)]
pub(crate) struct Silence {
    pub(crate) since: Instant,
    /// What is known of the cause.
    pub(crate) why: String,
}

/// Of a cause no more letters are told.
const WHY_LETTERS_MAX: usize = 300;

/// What may go when the journal has the change of that number.
#[derive(Debug)]
pub(crate) enum Leaving {
    /// Files of the log before this one.
    LogBefore(u64),
    /// A segment.
    Segment(String),
}

/// What an engine has of the cluster.
#[derive(Debug)]
pub(crate) struct Owned {
    // fixed after start
    pub(crate) shard: Shard,
    pub(crate) epoch: Epoch,
    pub(crate) shared: Arc<dyn Shared>,
    pub(crate) shipping: Shipping,
    /// When this epoch began here.
    pub(crate) opened: Timestamp,
    /// Segments of epochs before, by their keys in the catalogue.
    far: Arc<HashMap<String, Object>>,
    pub(crate) outbox: Arc<Outbox>,
    /// Numbers for the segments of what epochs before have in their logs.
    pub(crate) reserved: std::ops::Range<u64>,
    pub(crate) since: Instant,
    // guarded by lock
    owner: Mutex<Owner>,
    pub(crate) frames: LogFrames,
    /// How many samples were appended up to a frame of the own log.
    pub(crate) marks: Mutex<BTreeMap<u64, u64>>,
    pub(crate) leaving: Arc<Mutex<Vec<(u64, Leaving)>>>,
    in_use: InUse,
    pub(crate) trouble: Mutex<Option<String>>,
    pub(crate) detached: Mutex<Option<Silence>>,
    pub(crate) replaying: Mutex<()>,
    // atomic
    /// When it was found that the shard has another owner.
    pub(crate) replaced: OnceLock<Instant>,
    /// When it was said that the next owner records.
    pub(crate) relieved: OnceLock<Instant>,
    pub(crate) fenced: OnceLock<Epoch>,
    pub(crate) whole: AtomicBool,
    /// Frames below are synced, and so many samples.
    pub(crate) synced_frame: AtomicU64,
    pub(crate) synced: AtomicU64,
    /// Rows that this epoch has added to the journal.
    pub(crate) rows: AtomicU64,
    /// Up to this change of the catalogue there may be one of samples that no log has.
    unlogged: AtomicU64,
}

/// What an epoch begins with.
pub(crate) struct Begun {
    pub(crate) owner: Owner,
    pub(crate) shared: Arc<dyn Shared>,
    pub(crate) shipping: Shipping,
    pub(crate) opened: Timestamp,
    pub(crate) far: Arc<HashMap<String, Object>>,
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) reserved: std::ops::Range<u64>,
    pub(crate) frames: LogFrames,
}

impl Owned {
    pub(crate) fn new(begun: Begun, first: u64, appended: u64) -> Owned {
        let Begun { owner, shared, shipping, opened, far, outbox, reserved, frames } = begun;
        Owned {
            shard: owner.shard().clone(),
            epoch: owner.epoch(),
            shared,
            shipping,
            opened,
            in_use: Arc::new(Mutex::new(far.values().map(|object| object.key.clone()).collect())),
            far,
            outbox,
            reserved,
            since: Instant::now(),
            owner: Mutex::new(owner),
            frames,
            marks: Mutex::default(),
            leaving: Arc::default(),
            trouble: Mutex::default(),
            detached: Mutex::default(),
            replaying: Mutex::default(),
            replaced: OnceLock::new(),
            relieved: OnceLock::new(),
            fenced: OnceLock::new(),
            whole: AtomicBool::new(false),
            synced_frame: AtomicU64::new(first),
            synced: AtomicU64::new(appended),
            rows: AtomicU64::new(0),
            unlogged: AtomicU64::new(0),
        }
    }

    pub(crate) fn owner(&self) -> MutexGuard<'_, Owner> {
        self.owner.lock().expect("no holder of this lock panics")
    }

    /// Whether the shard has another owner.
    pub(crate) fn is_fenced(&self) -> bool {
        self.fenced.get().is_some()
    }

    /// Whether an owner that was replaced need not go on to write down what arrives.
    pub(crate) fn may_end(&self) -> bool {
        let Shipping { grace, unrelieved, .. } = self.shipping;
        let replaced = self.replaced.get_or_init(Instant::now);
        self.relieved.get().is_some_and(|at| at.elapsed() >= grace) || replaced.elapsed() >= unrelieved
    }

    /// Whether a flush must wait: before it, what epochs before have in their logs is to be in segments.
    pub(crate) fn holds_flushes(&self) -> bool {
        self.is_fenced() || self.replaced.get().is_some() || !self.whole.load(Relaxed)
    }

    /// Whether segments stay as they are: what is replaced takes room until the journal knows of it.
    pub(crate) fn holds_merges(&self) -> bool {
        self.holds_flushes() || !matches!(self.outbox.standing(), OwnerStanding::Owning)
    }

    /// Segments that lie in the shared store alone, by their keys.
    pub(crate) fn far(&self) -> &Arc<HashMap<String, Object>> {
        &self.far
    }

    /// Whether a segment lies in the shared store alone, as an epoch before has written it.
    pub(crate) fn is_far(&self, key: &str) -> bool {
        self.far.contains_key(key)
    }

    /// Whether a reader may still use a segment of an epoch before, by its key within the shard.
    pub(crate) fn is_in_use(&self, key: &str) -> bool {
        self.in_use.lock().expect("no holder of this lock panics").contains(key)
    }

    /// With what a segment is read.
    pub(crate) fn disk_for(&self, near: &Arc<dyn Disk>, manifest: &Manifest) -> Arc<dyn Objects> {
        match self.far.get(&manifest.key) {
            Some(object) => {
                let (shared, in_use) = (self.shared.clone(), self.in_use.clone());
                Arc::new(Far::new(shared, self.shard.clone(), object.clone(), in_use))
            }
            None => Arc::new(NearSegment::new(near.clone(), self.outbox.clone(), self.leaving.clone())),
        }
    }

    /// So many samples and frames are safe on this node.
    pub(crate) fn note_synced(&self, appended: u64, frame: u64) {
        self.synced_frame.fetch_max(frame, Relaxed);
        self.synced.fetch_max(appended, Relaxed);
    }

    /// When frames below are durable, so many samples are.
    pub(crate) fn mark(&self, frame: u64, appended: u64) {
        let mut marks = self.marks.lock().expect("no holder of this lock panics");
        let mark = marks.entry(frame).or_default();
        *mark = appended.max(*mark);
    }

    /// A flush has put what was appended before a frame into a segment; the files of the log before one are of no use any more once the
    /// journal knows that.
    pub(crate) fn note_flushed(&self, appended: u64, frame: u64, log_file: u64) {
        self.mark(frame, appended);
        self.synced.fetch_max(appended, Relaxed);
        let leaving = (self.outbox.made(), Leaving::LogBefore(log_file));
        self.leaving.lock().expect("no holder of this lock panics").push(leaving);
    }

    /// What a flush has just put into a segment was not in the log, which had been given up.
    pub(crate) fn note_unlogged(&self) {
        self.unlogged.fetch_max(self.outbox.made(), Relaxed);
    }

    /// Whether some samples are in segments here alone, of which no journal knows and which no log has.
    pub(crate) fn has_last_copy(&self) -> bool {
        self.outbox.journalled() < self.unlogged.load(Relaxed)
    }

    /// What an operator must know, in sentences.
    pub(crate) fn problems(&self) -> Vec<String> {
        let ShardHealth { shard, waiting, trouble, .. } = self.health();
        let silence = self.detached.lock().expect("no holder of this lock panics");
        let detached = silence.as_ref().map(|Silence { since, why }| {
            let why: String = why.chars().take(WHY_LETTERS_MAX).collect();
            format!(
                "shard {shard}: the shared store has given no answer for {} s; samples are recorded on this node and are not durable in \
                 the cluster, {waiting} changes wait: {why}",
                since.elapsed().as_secs()
            )
        });
        let trouble = trouble.filter(|_| detached.is_none()).map(|trouble| format!("shard {shard}: {trouble}"));
        detached.into_iter().chain(trouble).collect()
    }

    /// How far the journal is behind.
    pub(crate) fn lag(&self, watermark: Watermark) -> ShardLag {
        let ShardHealth { shard, epoch, detached_for, waiting, .. } = self.health();
        ShardLag {
            shard: shard.number(),
            epoch: epoch.0,
            rows: self.rows.load(Relaxed),
            samples: watermark.appended.saturating_sub(watermark.durable),
            changes: waiting,
            detached_seconds: detached_for.map(|since| since.as_secs()),
        }
    }

    pub(crate) fn health(&self) -> ShardHealth {
        let silent_since =
            self.detached.lock().expect("no holder of this lock panics").as_ref().map(|silence| silence.since);
        ShardHealth {
            shard: self.shard.clone(),
            epoch: self.epoch,
            standing: self.outbox.standing(),
            detached_for: silent_since.map(|since| since.elapsed()),
            is_whole: self.whole.load(Relaxed),
            synced: self.synced.load(Relaxed),
            waiting: self.outbox.waiting(),
            trouble: self.trouble.lock().expect("no holder of this lock panics").clone(),
            is_over: self.is_fenced(),
        }
    }
}

/// The segments that a journal names, by their keys in the catalogue.
pub(crate) fn far(image: &Image) -> HashMap<String, Object> {
    let near = |key: &str| shared::segment_of(key).map(|(_, local)| local.to_owned());
    image.segments().iter().filter_map(|(key, object)| Some((near(key)?, object.clone()))).collect()
}

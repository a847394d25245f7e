//! How the store is doing: what every thread counts, out of which `Health` is made.

use std::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
};

use archive::{Health, ScrubHealth, Watermark, Work};

/// The counters themselves, written from every thread.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// What went by purging since the last line in the audit.
    pub(crate) purged_samples: AtomicU64,
    pub(crate) purged_bytes: AtomicU64,
    pub(crate) appended: AtomicU64,
    pub(crate) durable: AtomicU64,
    /// As of the last file that was begun or removed: asking the disk is not for every look at a status page.
    pub(crate) log_bytes: AtomicU64,
    pub(crate) syncs: AtomicU64,
    pub(crate) last_sync_micros: AtomicU64,
    pub(crate) flushes: AtomicU64,
    pub(crate) last_flush_micros: AtomicU64,
    pub(crate) merged_segments: AtomicU64,
    pub(crate) flushed_bytes: AtomicU64,
    pub(crate) merged_bytes: AtomicU64,
    pub(crate) moved_segments: AtomicU64,
    pub(crate) moved_bytes: AtomicU64,
    pub(crate) expired_segments: AtomicU64,
    pub(crate) expired_samples: AtomicU64,
    pub(crate) expired_bytes: AtomicU64,
    /// The folder of the archive is away: what cannot be read meanwhile is no problem of its own.
    pub(crate) away: AtomicBool,
    /// What is done in the background, each kind once.
    pub(crate) work: Mutex<Vec<Work>>,
    pub(crate) repeats_dropped: AtomicU64,
    pub(crate) corrupt_blocks: AtomicU64,
    /// What queries hold that they have read in advance.
    pub(crate) run_bytes: AtomicUsize,
    pub(crate) refused_appends: AtomicU64,
    pub(crate) refused_samples: AtomicU64,
    pub(crate) refusal: Mutex<Option<String>>,
    pub(crate) problems: Mutex<Vec<String>>,
    /// Why the last flush failed; none when it did not.
    pub(crate) flush_trouble: Mutex<Option<String>>,
    pub(crate) scrub: Mutex<ScrubHealth>,
    pub(crate) scrubbed_segments: AtomicU64,
}

/// Problems beyond this many are counted by `Health::corrupt_blocks` and the like, but no longer told one by one.
const PROBLEMS_MAX: usize = 100;

impl Counters {
    pub(crate) fn watermark(&self) -> Watermark {
        let durable = self.durable.load(Relaxed);
        Watermark { appended: self.appended.load(Relaxed).max(durable), durable }
    }

    /// What is done of this kind at the moment.
    pub(crate) fn set_work(&self, doing: &'static str, now: Option<Work>) {
        let mut work = self.work.lock().expect("no holder of this lock panics");
        work.retain(|work| work.doing != doing);
        work.extend(now);
    }

    pub(crate) fn problem(&self, sentence: String) {
        tracing::error!("{sentence}");
        let mut problems = self.problems.lock().expect("no holder of this lock panics");
        let is_news = !self.away.load(Relaxed) && problems.len() < PROBLEMS_MAX;
        if is_news && !problems.contains(&sentence) {
            problems.push(sentence);
        }
    }

    /// Everything that does not need the snapshot of heads and segments.
    pub(crate) fn health(&self) -> Health {
        let mut problems = self.problems.lock().expect("no holder of this lock panics").clone();
        problems.extend(self.flush_trouble.lock().expect("no holder of this lock panics").clone());
        Health {
            refusal: self.refusal.lock().expect("no holder of this lock panics").clone(),
            problems,
            scrub: self.scrub.lock().expect("no holder of this lock panics").clone(),
            scrubbed_segments: self.scrubbed_segments.load(Relaxed),
            log_bytes: self.log_bytes.load(Relaxed),
            syncs: self.syncs.load(Relaxed),
            last_sync_micros: self.last_sync_micros.load(Relaxed),
            flushes: self.flushes.load(Relaxed),
            last_flush_micros: self.last_flush_micros.load(Relaxed),
            merged_segments: self.merged_segments.load(Relaxed),
            flushed_bytes: self.flushed_bytes.load(Relaxed),
            merged_bytes: self.merged_bytes.load(Relaxed),
            moved_segments: self.moved_segments.load(Relaxed),
            moved_bytes: self.moved_bytes.load(Relaxed),
            expired_segments: self.expired_segments.load(Relaxed),
            expired_samples: self.expired_samples.load(Relaxed),
            expired_bytes: self.expired_bytes.load(Relaxed),
            work: self.work.lock().expect("no holder of this lock panics").clone(),
            repeats_dropped: self.repeats_dropped.load(Relaxed),
            corrupt_blocks: self.corrupt_blocks.load(Relaxed),
            refused_appends: self.refused_appends.load(Relaxed),
            refused_samples: self.refused_samples.load(Relaxed),
            ..Health::default()
        }
    }
}

//! The threads that make exports, one after the other, again where it does not work now, and never after they were removed.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use super::Desk;
use crate::{
    ask::Ask,
    clock::now,
    exports::{Draft, ExportState, job::Job},
    refusal::{Code, Refusal},
};

/// How often the desk looks for exports that have been kept long enough.
const LOOK_EACH: Duration = Duration::from_secs(20);
/// Where there is no memory for one now, or what it reads is away, it is tried again, so often, so long after.
const TRIES_MAX: usize = 600;
const TRY_AFTER: Duration = Duration::from_secs(1);

/// How an attempt to make one ended.
enum Attempt {
    Made,
    Failed(Refusal),
    /// There is no memory for it now, or what it reads is away.
    Later(Refusal),
    /// It was removed, or the program ends.
    Unwanted,
}

impl Desk {
    pub(super) fn work(self: Arc<Self>) {
        while let Some(job) = self.next() {
            self.make(&job);
        }
    }

    /// The next to be made, when there is one; none at the end. Whoever has nothing under way comes first.
    fn next(&self) -> Option<Arc<Job>> {
        loop {
            self.clear();
            let jobs = self.jobs();
            // Whoever ends it holds this lock too, so that nobody sleeps through it.
            if self.stopping.load(Relaxed) {
                return None;
            }
            let waiting = || jobs.values().filter(|job| matches!(job.inner().state, ExportState::Waiting));
            let has_one = |owner: &str| jobs.values().any(|job| job.owner == owner && job.is_running());
            if let Some(job) = waiting().find(|job| !has_one(&job.owner)).or_else(|| waiting().next()) {
                job.inner().state = ExportState::Running;
                return Some(Arc::clone(job));
            }
            drop(self.changed.wait_timeout(jobs, LOOK_EACH));
        }
    }

    fn make(self: &Arc<Self>, job: &Arc<Job>) {
        let told = |told: io::Result<()>| {
            if let Err(error) = told {
                tracing::warn!("how far export {} is cannot be written down: {error}", job.number);
            }
        };
        told(self.put_record(job));
        let mut tries = 0;
        let attempt = loop {
            match self.attempt(job) {
                Attempt::Later(_) if tries < TRIES_MAX && !self.stopping.load(Relaxed) => {
                    tries += 1;
                    thread::sleep(TRY_AFTER);
                }
                attempt => break attempt,
            }
        };
        let state = match attempt {
            Attempt::Made => ExportState::Done { since: now() },
            Attempt::Later(_) if self.stopping.load(Relaxed) => ExportState::Waiting,
            Attempt::Failed(why) | Attempt::Later(why) => ExportState::Failed { since: now(), why },
            Attempt::Unwanted => ExportState::Waiting,
        };
        if let ExportState::Failed { why, .. } = &state {
            tracing::warn!("export {} has failed: {why}", job.number);
            if let Err(error) = self.cut(job, 0) {
                tracing::warn!("the file of export {} cannot be cut off: {error}", job.number);
            }
            job.inner().tally.bytes = 0;
        }
        let is_at_end = matches!(state, ExportState::Done { .. } | ExportState::Failed { .. });
        let mut inner = job.inner();
        (inner.state, inner.goes_at) =
            (state, is_at_end.then(|| Instant::now().checked_add(self.config.keep)).flatten());
        drop(inner);
        told(self.put_record(job));
        // Whoever has removed it meanwhile has either seen that it is at its end, or is seen here.
        if job.removed.load(Relaxed) {
            self.remove_files(job);
        }
    }

    fn attempt(self: &Arc<Self>, job: &Arc<Job>) -> Attempt {
        let is_gone = {
            let (desk, job) = (Arc::clone(self), Arc::clone(job));
            move || job.removed.load(Relaxed) || desk.stopping.load(Relaxed)
        };
        let lease = Arc::new(self.budget.lease());
        let ask = Ask::new(Arc::clone(&self.service), "an export".into(), lease, is_gone.clone());
        let place = job.inner().place;
        let (file, place) = match self.cut(job, place) {
            Ok((file, len)) => (file, job.goes_on_from(len)),
            Err(error) => {
                let message = format!("the file of the export cannot be made: {error}");
                return Attempt::Failed(Refusal::new(Code::StoreRefused, message));
            }
        };
        let draft = Draft::new(Arc::clone(self), Arc::clone(job), ask.clone(), file, place);
        let made = catch_unwind(AssertUnwindSafe(|| (self.make)(&ask, &job.wanted, &draft)));
        let made = made.unwrap_or_else(|_| Err(Refusal::new(Code::Internal, "the export panicked; see the log")));
        let made = made.and_then(|()| draft.finish());
        match made {
            _ if is_gone() => Attempt::Unwanted,
            Ok(bytes) => {
                let without: Vec<String> = ask.left_out().iter().map(|copy| format!("made {copy}")).collect();
                job.tell(|tally| {
                    (tally.bytes, tally.progress, tally.pvs_done) = (bytes, 1.0, job.wanted.pvs.len());
                    tally.notes.extend(without);
                });
                Attempt::Made
            }
            Err(refusal) => match draft.why() {
                Some(why) => Attempt::Failed(why),
                None if matches!(refusal.code(), Code::Busy | Code::StoreRefused) => Attempt::Later(refusal),
                None => Attempt::Failed(refusal),
            },
        }
    }
}

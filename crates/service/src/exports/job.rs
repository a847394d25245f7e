//! An export that was ordered: what is wanted, by whom, and how far it is.

use std::{
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::Instant,
};

use archive::{PvId, Right};
use sample::Timestamp;

use super::{ExportState, ExportTally, ExportWanted, record::Record};
use crate::{
    ask::Ask,
    refusal::{Code, Refusal},
};

pub(super) struct Job {
    // fixed
    pub(super) number: u64,
    pub(super) owner: String,
    pub(super) ordered: Timestamp,
    pub(super) bytes_planned: u64,
    pub(super) wanted: Arc<ExportWanted>,
    // atomic
    pub(super) removed: AtomicBool,
    /// The bytes that this export holds of the room for exports, in its file and beside it.
    pub(super) taken: AtomicU64,
    // guarded by locks; whoever has both has taken `files` first
    /// Held by whoever writes or removes what lies under its name.
    pub(super) files: Mutex<()>,
    inner: Mutex<Inner>,
}

pub(super) struct Inner {
    pub(super) state: ExportState,
    pub(super) tally: ExportTally,
    /// Up to here whole PVs are in the file, and what they amount to.
    pub(super) place: u64,
    pub(super) kept: ExportTally,
    pub(super) resumed: u32,
    /// When it goes, once it is at its end: the clock of the wall may jump meanwhile.
    pub(super) goes_at: Option<Instant>,
}

impl Job {
    pub(super) fn new(number: u64, record: Record) -> Arc<Job> {
        let Record { owner, ordered, bytes_planned, wanted, state, tally, place, resumed } = record;
        let inner = Inner { state, kept: tally.clone(), tally, place, resumed, goes_at: None };
        Arc::new(Job {
            number,
            owner,
            ordered,
            bytes_planned,
            wanted: Arc::new(wanted),
            removed: AtomicBool::new(false),
            taken: AtomicU64::new(0),
            files: Mutex::default(),
            inner: Mutex::new(inner),
        })
    }

    pub(super) fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no holder of this lock panics")
    }

    pub(super) fn files(&self) -> MutexGuard<'_, ()> {
        self.files.lock().expect("no holder of this lock panics")
    }

    pub(super) fn taken(&self) -> u64 {
        self.taken.load(Relaxed)
    }

    pub(super) fn seen(&self) -> ExportTally {
        self.inner().tally.clone()
    }

    /// Counts what has come.
    pub(super) fn tell(&self, count: impl FnOnce(&mut ExportTally)) {
        count(&mut self.inner().tally);
    }

    /// From its place if the file reaches there, else from the beginning. Gives from where.
    pub(super) fn goes_on_from(&self, len: u64) -> u64 {
        let mut inner = self.inner();
        if len != inner.place {
            let notes = std::mem::take(&mut inner.kept.notes);
            (inner.place, inner.kept) = (0, ExportTally { notes, ..ExportTally::default() });
        }
        inner.tally = inner.kept.clone();
        inner.place
    }

    pub(super) fn seen_state(&self) -> ExportState {
        self.inner().state.clone()
    }

    pub(super) fn is_under_way(&self) -> bool {
        matches!(self.inner().state, ExportState::Waiting | ExportState::Running)
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.inner().state, ExportState::Running)
    }

    pub(super) fn is_seen_by(&self, ask: &Ask) -> bool {
        self.owner == ask.established() || ask.may_with_all(Right::Administer)
    }

    /// Rights may have been taken away, and PVs renamed, since it was ordered.
    pub(super) fn is_still_seen_by(&self, ask: &Ask) -> Result<(), Refusal> {
        if ask.may_with_all(Right::Read) {
            return Ok(());
        }
        for pv in self.wanted.each_pv() {
            let own = match &pv.series.field {
                Some(field) => pv.name.strip_suffix(&format!(".{field}")).unwrap_or(&pv.name),
                None => &pv.name,
            };
            let may = |pv: PvId| ask.needs(Right::Read, pv).and_then(|()| ask.needs_named(Right::Read, own));
            may(pv.series.pv).map_err(|_| {
                let message = format!("export {} holds samples of PVs that you may not see any more", self.number);
                Refusal::new(Code::Forbidden, message).hint("order another one, of those that you may see")
            })?;
        }
        Ok(())
    }

    pub(super) fn record(&self) -> Record {
        let inner = self.inner();
        let is_at_end = !matches!(inner.state, ExportState::Waiting | ExportState::Running);
        Record {
            owner: self.owner.clone(),
            ordered: self.ordered,
            bytes_planned: self.bytes_planned,
            wanted: (*self.wanted).clone(),
            state: inner.state.clone(),
            tally: if is_at_end { inner.tally.clone() } else { inner.kept.clone() },
            place: inner.place,
            resumed: inner.resumed,
        }
    }
}

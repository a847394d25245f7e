//! Giving up: samples that another archive has by now need not be here any more. They go as purged ones do, at once for readers and in
//! the background from segments; the PVs, their gaps and what comes later stay.
//!
//! ```text
//!   mark ─────► { before, below }      what is older than this, in segments with lower numbers
//!     ...       another archive reads it and has it for good
//!   give up ──► final deletions ──► segments are written anew without it
//! ```

use archive::{Action, AuditRecord, By, Deletion, Mark, PvId};
use sample::{TimeRange, Timestamp};

use crate::{Error, Writer, catalog::deletion::Hiding, engine::Engine, owned::Owned, segment::Segment};

impl Writer {
    /// Where this archive stands; see `Curator`.
    pub fn mark(&self, before: Timestamp) -> Result<Mark, Error> {
        let engine = &self.engine;
        if engine.owned.as_ref().is_some_and(Owned::holds_flushes) {
            return Err(Error::Busy);
        }
        engine.flush(engine.alive())?;
        let flushing = engine.flushing.lock().expect("no holder of this lock panics");
        let _registering = engine.settled(|| engine.registering.lock().expect("no holder of this lock panics"))?;
        let below = flushing.next_segment;
        let unentered = engine.unentered.lock().expect("no holder of this lock panics").first().copied();
        if flushing.pending.is_some() || unentered.is_some_and(|number| number < below) {
            return Err(Error::Busy); // what is in those would be given up, and may not be readable yet
        }
        *engine.marked.lock().expect("no holder of this lock panics") = Some((below, before));
        Ok(Mark { before, below, deletion: engine.catalog.next_deletion()?, hidden: engine.hidden_pvs() })
    }

    /// Gives up what was here when the mark was made; see `Curator`.
    pub fn give_up(&self, pvs: &[PvId], mark: &Mark, by: &By) -> Result<(), Error> {
        let engine = &self.engine;
        let not_now = |reason: &str| {
            let doing = "give up what another archive has taken over";
            Error::CannotDo { doing, reason: format!("{reason}; it is taken over again, and given up then") }
        };
        let range = TimeRange { t0: Timestamp::MIN, t1: mark.before };
        engine.change(|registry, change| {
            let marked = *engine.marked.lock().expect("no holder of this lock panics");
            if marked != Some((mark.below, mark.before)) {
                return Err(not_now("that was said of a state of which nobody knows any more"));
            }
            if engine.catalog.next_deletion()? != mark.deletion {
                return Err(not_now("something was deleted meanwhile"));
            }
            let is_known = |pv: &PvId| registry.entry(*pv).is_some() || registry.removed().contains_key(pv);
            for (number, pv) in (mark.deletion..).zip(pvs.iter().copied().filter(is_known)) {
                let of = Deletion { number, pv, range, by: by.clone(), is_final: true };
                change.deleted.push(Hiding { of, below: mark.below });
            }
            let detail = format!("of {} PVs, which another archive has by now", change.deleted.len());
            change.audit.push(AuditRecord { range: Some(range), detail, ..AuditRecord::new(Action::PurgeOrdered, by) });
            Ok(())
        })?;
        *engine.marked.lock().expect("no holder of this lock panics") = None;
        Ok(())
    }
}

impl Engine {
    /// The PVs of which something is hidden that can come back.
    pub(crate) fn hidden_pvs(&self) -> Vec<PvId> {
        let registry = self.registry();
        let mut hidden: Vec<PvId> =
            registry.deletions().filter(|hiding| !hiding.of.is_final).map(|hiding| hiding.of.pv).collect();
        hidden.dedup();
        hidden
    }

    /// Whether a segment has something of the time of the last mark that came later: merged with what was there it would be given up as well.
    pub(crate) fn is_behind_the_mark(&self, segment: &Segment) -> bool {
        let marked = *self.marked.lock().expect("no holder of this lock panics");
        marked.is_some_and(|(below, before)| segment.manifest.sequence >= below && segment.manifest.t0 < before)
    }
}

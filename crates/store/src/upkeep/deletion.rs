//! Deletions of ranges: what was recorded of a PV until now is hidden, and comes back when that is undone.

use std::{sync::atomic::Ordering::Relaxed, time::Duration};

use archive::{Action, AuditRecord, By, Deletion, PvId};
use sample::{TimeRange, Timestamp};

use crate::{
    Error, Writer,
    block::rows::overlap,
    catalog::deletion::{Deletions, Hiding},
    engine::Engine,
    upkeep::purge::Size,
};

impl Writer {
    /// Hides what was recorded of a PV in a range until now; what comes later stays visible, an import for instance. It can be
    /// undone until it is purged.
    pub fn delete_range(&self, pv: PvId, range: TimeRange, by: &By) -> Result<Deletion, Error> {
        self.hide(pv, range, by, Hides::WhatIsHere)
    }

    /// Hides exactly this range, even where this archive has no samples in it: another archive records the PV too, may have some, and
    /// follows this deletion.
    pub fn delete_range_as_given(&self, pv: PvId, range: TimeRange, by: &By) -> Result<Deletion, Error> {
        self.hide(pv, range, by, Hides::AllOfIt)
    }

    fn hide(&self, pv: PvId, range: TimeRange, by: &By, hides: Hides) -> Result<Deletion, Error> {
        let engine = &self.engine;
        let name = engine.registry().entry(pv).map(|entry| entry.name.clone()).ok_or(Error::UnknownPv { pv })?;
        let alive = engine.alive();
        engine.flush(alive.max(by.at))?; // a deletion is for segments
        let below = engine.flushing.lock().expect("no holder of this lock panics").next_segment;
        let mut deletion = Deletion { number: 0, pv, range, by: by.clone(), is_final: false };
        // Up to the last sample: what comes is not meant, and segments that hold none of it need not be told apart.
        let Held { extent, unreadable } = engine.held_in_segments(pv);
        if let (Some((first, last)), Hides::WhatIsHere) = (extent, hides) {
            deletion.range.t0 = range.t0.max(first);
            deletion.range.t1 = range.t1.min(last.saturating_add(Duration::from_nanos(1)));
        }
        let is_some = deletion.range.t0 < deletion.range.t1;
        let others = engine.registry().deletions_of(pv);
        let mut hiding = Hiding { of: deletion, below };
        let size = if is_some { engine.size_of_range(&hiding, &others)? } else { Size::default() };
        let Size { samples, bytes } = size;
        let may_have = unreadable.iter().any(|(t0, t1)| overlap(*t0, *t1, hiding.of.range));
        if hides == Hides::WhatIsHere && samples == 0 && !(is_some && may_have) {
            return Err(Error::NothingThere { what: format!("sample of {name} from {} to {}", range.t0, range.t1) });
        }
        engine.change(|_, change| {
            hiding.of.number = engine.catalog.next_deletion()?;
            // The order is also for what this archive took over a moment ago: until then another one gave it to readers.
            hiding.below = hiding.below.max(engine.taken_over_below.load(Relaxed));
            let record = hiding.line(Action::RangeDeleted, name.to_string(), by);
            change.audit.push(AuditRecord { samples, bytes, ..record });
            change.deleted.push(hiding.clone());
            Ok(())
        })?;
        Ok(hiding.of)
    }

    /// Undoes the deletion of a range.
    pub fn restore_range(&self, number: u64, by: &By) -> Result<Deletion, Error> {
        self.engine.change(|registry, change| {
            let found = registry.deletions().find(|hiding| hiding.of.number == number && !hiding.of.is_final);
            let hiding = found.ok_or_else(|| Error::NothingThere {
                what: format!("deletion with the number {number} that could be undone"),
            })?;
            change.audit.push(hiding.line(Action::RangeRestored, registry.name_of(hiding.of.pv), by));
            change.undeleted.push(hiding.of.clone());
            Ok(hiding.of.clone())
        })
    }
}

/// What a deletion of a range is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hides {
    /// What of it this archive has; an error if that is nothing.
    WhatIsHere,
    /// All of it, whoever has it.
    AllOfIt,
}

/// What segments may have of a PV.
struct Held {
    extent: Option<(Timestamp, Timestamp)>,
    /// First and last time of the segments of which nobody can tell.
    unreadable: Vec<(Timestamp, Timestamp)>,
}

impl Engine {
    /// From where to where there may be samples of a PV: what cannot be read now may be readable later.
    fn held_in_segments(&self, pv: PvId) -> Held {
        let (mut ends, mut unreadable) = (Vec::new(), Vec::new());
        for segment in self.snapshot().segments.iter().filter(|segment| segment.manifest.may_hold(pv)) {
            // With what other deletions hide: it stays hidden by this one when they are undone.
            match self.extent_in(segment, pv, &Deletions::default()) {
                Ok(extent) => ends.extend(extent.map(|(t0, t1, _)| (t0, t1))),
                Err(_) => unreadable.push((segment.manifest.t0, segment.manifest.t1)), // whoever reads it tells
            }
        }
        ends.extend(&unreadable);
        let extent = ends.into_iter().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        Held { extent, unreadable }
    }
}

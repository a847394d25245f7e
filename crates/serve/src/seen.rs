//! PVs as lists see them: what acquisition and the store say of some hundred at a time, so that for each of a million nothing is locked
//! or copied that its row does not need.

use std::{sync::Arc, vec::IntoIter};

use acquire::Brief;
use sample::{PvEntry, PvId, Timestamp};

use crate::{app::App, call::Call, lists::pvs_in_turn, refusal::Refusal};

/// So many PVs are looked at together: others wait no longer for a lock than for that.
const PVS_AT_ONCE: usize = 512;

/// How much is asked of a PV.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Look {
    /// What it is.
    Entry,
    /// And how it fares.
    Fares,
    /// And whether there may be samples of it.
    Samples,
    /// And metadata.
    Metadata,
}

/// A PV, with as much as was asked of it.
pub(crate) struct Seen {
    pub(crate) entry: PvEntry,
    /// None if acquisition does not know it (yet, or any more).
    pub(crate) brief: Option<Brief>,
    /// False where there are certainly no samples.
    pub(crate) may_have_samples: bool,
    /// False where there is certainly no metadata.
    pub(crate) may_have_metadata: bool,
}

impl Seen {
    /// When its newest sample was. What was taken in this run is known without the store.
    pub(crate) fn last_sample(&self, call: &Call) -> Option<Timestamp> {
        let taken = self.brief.and_then(|brief| brief.last_sample);
        let stored = || Some(call.app.query.last_before(&self.entry.id.into(), Timestamp::MAX).ok()??.time);
        taken.or_else(|| self.may_have_samples.then(stored).flatten())
    }
}

/// Looks at things that stand for PVs, some hundred at a time, each as its PV is when their turn comes; none if there is no such PV.
pub(crate) fn seen<T, I, P>(
    call: &Call,
    items: I,
    pv: P,
    look: Look,
) -> impl Iterator<Item = Result<(T, Option<Seen>), Refusal>> + use<T, I, P>
where
    I: Iterator<Item = T>,
    P: Fn(&T) -> Option<PvId>,
{
    let app = Arc::clone(&call.app);
    let mut items = items.fuse();
    let mut ready = Ready::default();
    std::iter::from_fn(move || {
        if let Some(one) = ready.next() {
            return Some(Ok(one));
        }
        let some: Vec<T> = items.by_ref().take(PVS_AT_ONCE).collect();
        let entries = app.reader.entries_of(some.iter().map(&pv));
        match Ready::of(&app, some, entries, look) {
            Ok(next) => ready = next,
            Err(refusal) => return Some(Err(refusal)),
        }
        ready.next().map(Ok)
    })
}

/// What was learnt of some things, each with its PV, put together when its turn comes: nothing is copied twice.
struct Ready<T> {
    items: IntoIter<T>,
    entries: IntoIter<Option<PvEntry>>,
    /// Of those that there are, as the next two; as many of each as were asked for.
    briefs: IntoIter<Option<Brief>>,
    samples: IntoIter<bool>,
    metadata: IntoIter<bool>,
}

impl<T> Default for Ready<T> {
    fn default() -> Ready<T> {
        let (items, entries) = (Vec::new().into_iter(), Vec::new().into_iter());
        let (briefs, samples, metadata) = (Vec::new().into_iter(), Vec::new().into_iter(), Vec::new().into_iter());
        Ready { items, entries, briefs, samples, metadata }
    }
}

impl<T> Ready<T> {
    fn of(app: &App, items: Vec<T>, entries: Vec<Option<PvEntry>>, look: Look) -> Result<Ready<T>, Refusal> {
        let pvs: Vec<PvId> = match look {
            Look::Entry => Vec::new(),
            Look::Fares | Look::Samples | Look::Metadata => entries.iter().flatten().map(|entry| entry.id).collect(),
        };
        let briefs = if look >= Look::Fares { app.control.briefs(&pvs) } else { Vec::new() };
        let samples = if look >= Look::Samples { app.query.may_have_samples(&pvs) } else { Vec::new() };
        let metadata = if look >= Look::Metadata { app.query.may_have_metadata(&pvs)? } else { Vec::new() };
        Ok(Ready {
            items: items.into_iter(),
            entries: entries.into_iter(),
            briefs: briefs.into_iter(),
            samples: samples.into_iter(),
            metadata: metadata.into_iter(),
        })
    }

    fn next(&mut self) -> Option<(T, Option<Seen>)> {
        let (item, entry) = (self.items.next()?, self.entries.next()?);
        let Some(entry) = entry else { return Some((item, None)) };
        let seen = Seen {
            entry,
            brief: self.briefs.next().flatten(),
            may_have_samples: self.samples.next().unwrap_or(true),
            may_have_metadata: self.metadata.next().unwrap_or(true),
        };
        Some((item, Some(seen)))
    }
}

/// All PVs in the order of their names.
pub(crate) fn all_seen(call: &Call, look: Look) -> impl Iterator<Item = Result<Seen, Refusal>> + Send + use<> {
    let (app, mut turns, mut ready) = (Arc::clone(&call.app), pvs_in_turn(&call.app.reader), Ready::default());
    std::iter::from_fn(move || {
        loop {
            if let Some(((), seen)) = ready.next() {
                return seen.map(Ok);
            }
            let entries: Vec<Option<PvEntry>> = turns.next()?.into_iter().map(Some).collect();
            match Ready::of(&app, vec![(); entries.len()], entries, look) {
                Ok(next) => ready = next,
                Err(refusal) => return Some(Err(refusal)),
            }
        }
    })
}

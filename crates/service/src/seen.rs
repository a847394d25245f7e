//! PVs as lists see them: what acquisition and the store say of some hundred at a time, so that for each of a million nothing is locked
//! or copied that its row does not need.

use std::vec::IntoIter;

use archive::{Brief, PvEntry, PvId};
use sample::Timestamp;

use crate::{ask::Ask, refusal::Refusal, service::Service, unanswered::short};

/// How many PVs are looked at together, so that others wait for the locks only that long.
pub(crate) const PVS_AT_ONCE: usize = 512;

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
pub struct Seen {
    /// What it is.
    pub entry: PvEntry,
    /// None if acquisition does not know it (yet, or any more).
    pub brief: Option<Brief>,
    /// False where there are certainly no samples.
    pub may_have_samples: bool,
    /// False where there is certainly no metadata.
    pub may_have_metadata: bool,
}

impl Seen {
    /// Whether nobody answers for it.
    pub fn is_unanswered(&self) -> bool {
        self.brief.is_some_and(|brief| brief.is_unknown())
    }

    /// When its newest sample was. What was taken in this run is known without the store.
    pub fn last_sample(&self, ask: &Ask) -> Option<Timestamp> {
        if self.is_unanswered() {
            return None;
        }
        let taken = self.brief.and_then(|brief| brief.last_sample);
        let stored = || Some(ask.last_before(&self.entry.id.into(), Timestamp::MAX).ok()??.time);
        taken.or_else(|| self.may_have_samples.then(stored).flatten())
    }
}

/// Looks at things that stand for PVs, some hundred at a time, each as its PV is when their turn comes; none if there is no such PV.
pub(crate) fn seen<T, I, P>(
    ask: &Ask,
    items: I,
    pv: P,
    look: Look,
) -> impl Iterator<Item = Result<(T, Option<Seen>), Refusal>> + use<T, I, P>
where
    I: Iterator<Item = T>,
    P: Fn(&T) -> Option<PvId>,
{
    let (asked, mut items) = (ask.clone(), items.fuse());
    let chunk = move || {
        let some: Vec<T> = items.by_ref().take(PVS_AT_ONCE).collect();
        let pvs: Vec<Option<PvId>> = some.iter().map(&pv).collect();
        let mut entries = asked.listed().behind.directory.entries_of(&pvs);
        if !asked.sees_all() {
            entries.iter_mut().for_each(|entry| *entry = entry.take().filter(|entry| asked.sees(entry)));
        }
        (!some.is_empty()).then_some((some, entries))
    };
    looked_at(ask, look, chunk, Some)
}

/// All PVs in the order of their names, if somebody answers for each of them: these are lists whose clients take a short one for whole.
pub(crate) fn all_seen(ask: &Ask, look: Look) -> impl Iterator<Item = Result<Seen, Refusal>> + Send + use<> {
    let refused = if look == Look::Entry { Ok(()) } else { ask.needs_answers() };
    let mut turns = ask.pvs_in_turn();
    let chunk = move || {
        let entries = turns.next()?;
        Some((vec![(); entries.len()], entries))
    };
    let known = |seen: Seen| if seen.is_unanswered() { Err(unanswered(&seen)) } else { Ok(seen) };
    let all = looked_at(ask, look, chunk, |((), seen)| seen).map(move |seen| seen.and_then(known));
    refused.err().map(Err).into_iter().chain(all)
}

/// Nobody has answered for a PV since the list was begun.
pub(crate) fn unanswered(seen: &Seen) -> Refusal {
    short(&format!("nobody answers for {} at present", seen.entry.name))
}

/// Looks at the PVs of one chunk of things after the other, each when the rows of the chunk before are taken, and gives what `make` makes
/// of each thing and its PV, where it makes something of them.
fn looked_at<T, N, M, O>(
    ask: &Ask,
    look: Look,
    mut chunk: N,
    make: M,
) -> impl Iterator<Item = Result<O, Refusal>> + use<T, N, M, O>
where
    N: FnMut() -> Option<(Vec<T>, Vec<Option<PvEntry>>)>,
    M: Fn((T, Option<Seen>)) -> Option<O>,
{
    let (asked, mut ready) = (ask.clone(), Ready::default());
    std::iter::from_fn(move || {
        loop {
            while let Some(one) = ready.next() {
                if let Some(made) = make(one) {
                    return Some(Ok(made));
                }
            }
            let (items, entries) = chunk()?;
            // A list that leaves most of them out makes no rows by which it would be noticed that nobody waits any more.
            match asked.go_on().and_then(|()| Ready::of(asked.listed(), items, entries, look)) {
                Ok(next) => ready = next,
                Err(refusal) => return Some(Err(refusal)),
            }
        }
    })
}

/// A chunk of things and what was learnt of their PVs, put together one by one as they are taken, so that nothing is copied twice.
struct Ready<T> {
    items: IntoIter<T>,
    entries: IntoIter<Option<PvEntry>>,
    /// One for each PV that exists, if briefs were asked for.
    briefs: IntoIter<Option<Brief>>,
    /// One for each of them for which somebody answers; so is the next.
    samples: IntoIter<bool>,
    metadata: IntoIter<bool>,
}

impl<T> Default for Ready<T> {
    fn default() -> Ready<T> {
        Ready {
            items: IntoIter::default(),
            entries: IntoIter::default(),
            briefs: IntoIter::default(),
            samples: IntoIter::default(),
            metadata: IntoIter::default(),
        }
    }
}

impl<T> Ready<T> {
    fn of(service: &Service, items: Vec<T>, entries: Vec<Option<PvEntry>>, look: Look) -> Result<Ready<T>, Refusal> {
        let pvs: Vec<PvId> = match look {
            Look::Entry => Vec::new(),
            Look::Fares | Look::Samples | Look::Metadata => entries.iter().flatten().map(|entry| entry.id).collect(),
        };
        let briefs = if look >= Look::Fares { service.behind.standing.briefs(&pvs) } else { Vec::new() };
        // Nothing more is asked about PVs whose state is unknown.
        let mut fares = briefs.iter();
        let pvs: Vec<PvId> = pvs
            .into_iter()
            .filter(|_| !fares.next().is_some_and(|one| one.is_some_and(|one| one.is_unknown())))
            .collect();
        let samples = if look >= Look::Samples { service.behind.query.may_have_samples(&pvs) } else { Vec::new() };
        let metadata = if look >= Look::Metadata { service.behind.query.may_have_metadata(&pvs)? } else { Vec::new() };
        Ok(Ready {
            items: items.into_iter(),
            entries: entries.into_iter(),
            briefs: briefs.into_iter(),
            samples: samples.into_iter(),
            metadata: metadata.into_iter(),
        })
    }

    #[inline(always)]
    fn next(&mut self) -> Option<(T, Option<Seen>)> {
        let (item, entry) = (self.items.next()?, self.entries.next()?);
        let Some(entry) = entry else { return Some((item, None)) };
        let brief = self.briefs.next().flatten();
        let is_unknown = brief.is_some_and(|brief| brief.is_unknown());
        let next = |of: &mut IntoIter<bool>| if is_unknown { true } else { of.next().unwrap_or(true) };
        let (may_have_samples, may_have_metadata) = (next(&mut self.samples), next(&mut self.metadata));
        Some((item, Some(Seen { entry, brief, may_have_samples, may_have_metadata })))
    }
}

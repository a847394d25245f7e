//! PVs as lists see them: what acquisition and the store say of some hundred at a time, so that for each of a million nothing is locked
//! or copied that its row does not need.
//!
//! ```text
//!   names of one moment ──► a neighbourhood ──► outlines ──► briefs ──► samples, metadata ──► a Sight of each ──► rows
//!                                                └── what is left out is asked no further
//! ```

use std::vec::IntoIter;

use archive::{Brief, NameChunk, NameKind, NamePlace, Named, Names, Outline, PvEntry, PvId, PvName, Right};
use sample::Timestamp;

use crate::{ask::Ask, refusal::Refusal, service::Service, unanswered::short};

/// How many PVs are looked at together, so that others wait for the locks only that long.
pub(crate) const PVS_AT_ONCE: usize = 512;

/// How much is asked of a PV.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Look {
    /// What it is.
    Outline,
    /// And how it fares.
    Fares,
    /// And whether there may be samples of it.
    Samples,
    /// And metadata.
    Metadata,
}

/// A PV as a list looks at it, with as much as was asked of it.
#[derive(Clone, Copy)]
pub struct Sight<'l> {
    /// Its own name.
    pub name: &'l PvName,
    /// Its number.
    pub pv: PvId,
    /// What it is.
    pub outline: Outline,
    /// None if acquisition does not know it (yet, or any more).
    pub brief: Option<&'l Brief>,
    /// False where there are certainly no samples.
    pub may_have_samples: bool,
    /// False where there is certainly no metadata.
    pub may_have_metadata: bool,
}

impl Sight<'_> {
    /// Whether nobody answers for it.
    pub fn is_unanswered(&self) -> bool {
        self.brief.is_some_and(Brief::is_unknown)
    }

    /// When its newest sample was. What was taken in this run is known without the store.
    pub fn last_sample(&self, ask: &Ask) -> Option<Timestamp> {
        if self.is_unanswered() {
            return None;
        }
        let taken = self.brief.and_then(|brief| brief.last_sample);
        let stored = || Some(ask.last_before(&self.pv.into(), Timestamp::MAX).ok()??.time);
        taken.or_else(|| self.may_have_samples.then(stored).flatten())
    }

    /// To be kept.
    pub(crate) fn kept(&self) -> Seen {
        Seen {
            name: self.name.clone(),
            pv: self.pv,
            outline: self.outline,
            brief: self.brief.copied(),
            may_have_samples: self.may_have_samples,
            may_have_metadata: self.may_have_metadata,
        }
    }
}

/// The same, to be kept.
pub struct Seen {
    name: PvName,
    pv: PvId,
    outline: Outline,
    brief: Option<Brief>,
    may_have_samples: bool,
    may_have_metadata: bool,
}

impl Seen {
    /// To be looked at.
    pub fn sight(&self) -> Sight<'_> {
        Sight {
            name: &self.name,
            pv: self.pv,
            outline: self.outline,
            brief: self.brief.as_ref(),
            may_have_samples: self.may_have_samples,
            may_have_metadata: self.may_have_metadata,
        }
    }
}

/// Whom a list of everything tells of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whom {
    /// PVs by their own names, if somebody answers for each of them: these are lists whose clients take a short one for whole.
    Pvs,
    /// Each name and alias, whether or not somebody answers for its PV.
    Names,
}

/// A PV when its turn comes in a list of everything.
pub(crate) struct Turn<'l> {
    /// By which name, and where that stands.
    pub(crate) named: &'l Named,
    pub(crate) place: NamePlace,
    pub(crate) sight: Sight<'l>,
}

/// All PVs in the order of some names, each as it is when its turn comes: what `make` makes of each, where it makes something of it. Those
/// that are not meant are left out before more is asked of them.
pub(crate) fn all_seen<O, M, I>(
    ask: &Ask,
    names: Names,
    (whom, look): (Whom, Look),
    is_meant: I,
    mut make: M,
) -> impl Iterator<Item = Result<O, Refusal>> + use<O, M, I>
where
    I: Fn(&Outline, Option<&Brief>) -> bool,
    M: FnMut(&Turn<'_>) -> Result<Option<O>, Refusal>,
{
    let needs_answers = whom == Whom::Pvs && look != Look::Outline;
    let refused = if needs_answers { ask.needs_answers().err() } else { None };
    let mut turns = NameTurns {
        ask: ask.clone(),
        names,
        whom,
        look,
        is_meant,
        chunk: 0,
        next: 0,
        looked: Neighbourhood::default(),
    };
    refused.map(Err).into_iter().chain(std::iter::from_fn(move || turns.next(&mut make).transpose()))
}

struct NameTurns<I> {
    ask: Ask,
    names: Names,
    whom: Whom,
    look: Look,
    is_meant: I,
    /// The neighbourhood behind the one that was looked at.
    chunk: usize,
    /// Whose turn it is in that.
    next: usize,
    looked: Neighbourhood,
}

impl<I: Fn(&Outline, Option<&Brief>) -> bool> NameTurns<I> {
    fn next<O>(
        &mut self,
        make: &mut impl FnMut(&Turn<'_>) -> Result<Option<O>, Refusal>,
    ) -> Result<Option<O>, Refusal> {
        loop {
            while let Some(turn) = self.looked.turn(&self.names, self.chunk.wrapping_sub(1), self.next) {
                self.next += 1;
                if self.whom == Whom::Pvs && turn.sight.is_unanswered() {
                    return Err(unanswered(turn.sight.name));
                }
                if let Some(made) = make(&turn)? {
                    return Ok(Some(made));
                }
            }
            let Some(chunk) = self.names.chunks().get(self.chunk) else { return Ok(None) };
            // A list that leaves most of them out makes no rows by which it would be noticed that nobody waits any more.
            self.ask.go_on()?;
            self.looked = Neighbourhood::at(&self.ask, chunk, (self.whom, self.look), &self.is_meant)?;
            (self.chunk, self.next) = (self.chunk + 1, 0);
        }
    }
}

/// A neighbourhood, and what was learnt of its PVs.
#[derive(Default)]
struct Neighbourhood {
    /// The outline of each name's PV; none where the list does not tell of the PV by this name.
    outlines: Vec<Option<Outline>>,
    /// The PVs of aliases that are told, by their rows.
    owners: Vec<(u16, PvName)>,
    /// One for each outline that is there, if briefs were asked for.
    briefs: Vec<Option<Brief>>,
    meant: Vec<MeantRow>,
    /// One for each that is meant, if that was asked for; so is the next.
    samples: Vec<bool>,
    metadata: Vec<bool>,
}

/// A PV that is meant: the row of its name, and the place of its brief.
#[derive(Clone, Copy)]
struct MeantRow {
    row: u16,
    brief: u16,
}

impl Neighbourhood {
    fn at(
        ask: &Ask,
        chunk: &NameChunk,
        (whom, look): (Whom, Look),
        is_meant: impl Fn(&Outline, Option<&Brief>) -> bool,
    ) -> Result<Neighbourhood, Refusal> {
        let (behind, rows) = (&ask.listed().behind, chunk.rows());
        let mut looked = Neighbourhood { outlines: behind.directory.outlines_of(rows), ..Neighbourhood::default() };
        if whom == Whom::Names {
            looked.add_aliases(ask, rows);
        }
        if !ask.sees_all() {
            let may = ask.may_among(Right::Read, chunk, 0..rows.len());
            looked.outlines.iter_mut().zip(may).for_each(|(outline, may)| *outline = outline.filter(|_| may));
        }
        if look >= Look::Fares {
            let known = rows.iter().zip(&looked.outlines).filter(|(_, outline)| outline.is_some());
            looked.briefs = behind.standing.briefs(&known.map(|(named, _)| named.pv).collect::<Vec<_>>());
        }
        let outlines = looked.outlines.iter().enumerate().filter_map(|(row, outline)| Some((row, outline.as_ref()?)));
        for (place, (row, outline)) in outlines.enumerate() {
            let brief = looked.briefs.get(place).and_then(Option::as_ref);
            if is_meant(outline, brief) || brief.is_some_and(Brief::is_unknown) {
                looked.meant.push(MeantRow { row: row as u16, brief: place as u16 });
            }
        }
        // Nothing more is asked about PVs whose state is unknown.
        if look >= Look::Samples {
            looked.samples = looked.asked(rows, |pvs| Ok(behind.query.may_have_samples(pvs)))?;
        }
        if look >= Look::Metadata {
            looked.metadata = looked.asked(rows, |pvs| Ok(behind.query.may_have_metadata(pvs)?))?;
        }
        Ok(looked)
    }

    /// The PVs of aliases, as far as they are seen.
    fn add_aliases(&mut self, ask: &Ask, rows: &[Named]) {
        let aliases = || rows.iter().enumerate().filter(|(_, named)| named.kind == NameKind::Alias);
        let pvs: Vec<Option<PvId>> = aliases().map(|(_, named)| Some(named.pv)).collect();
        if pvs.is_empty() {
            return;
        }
        for ((row, _), entry) in aliases().zip(ask.listed().behind.directory.entries_of(&pvs)) {
            if let Some(entry) = entry.filter(|entry| ask.sees_all() || ask.sees(entry)) {
                self.outlines[row] = Some(Outline::from(&entry));
                self.owners.push((row as u16, entry.name));
            }
        }
    }

    /// Asks about those that are meant and known; the answer is true for the others.
    fn asked(
        &self,
        rows: &[Named],
        ask: impl FnOnce(&[PvId]) -> Result<Vec<bool>, Refusal>,
    ) -> Result<Vec<bool>, Refusal> {
        let is_known = |of: &&MeantRow| !self.briefs.get(usize::from(of.brief)).is_some_and(is_unknown);
        let known = self.meant.iter().filter(is_known).map(|of| rows[usize::from(of.row)].pv);
        let known: Vec<PvId> = known.collect();
        let told = ask(&known)?;
        if known.len() == self.meant.len() {
            return Ok(told);
        }
        let mut told = told.into_iter();
        let each = |of: &MeantRow| if is_known(&of) { told.next().unwrap_or(true) } else { true };
        Ok(self.meant.iter().map(each).collect())
    }

    /// The PV whose turn is in that place.
    #[inline(always)]
    fn turn<'l>(&'l self, names: &'l Names, chunk: usize, place: usize) -> Option<Turn<'l>> {
        let MeantRow { row, brief } = *self.meant.get(place)?;
        let row_of = usize::from(row);
        let named = names.chunks().get(chunk)?.rows().get(row_of)?;
        let outline = self.outlines.get(row_of).copied()??;
        let owner = match named.kind {
            NameKind::Own => &named.name,
            NameKind::Alias => &self.owners[self.owners.binary_search_by_key(&row, |(row, _)| *row).ok()?].1,
        };
        let brief = self.briefs.get(usize::from(brief)).and_then(Option::as_ref);
        let told = |of: &[bool]| of.get(place).copied().unwrap_or(true);
        let (may_have_samples, may_have_metadata) = (told(&self.samples), told(&self.metadata));
        let sight = Sight { name: owner, pv: named.pv, outline, brief, may_have_samples, may_have_metadata };
        Some(Turn { named, place: NamePlace::new(chunk, row_of), sight })
    }
}

fn is_unknown(brief: &Option<Brief>) -> bool {
    brief.as_ref().is_some_and(Brief::is_unknown)
}

/// Nobody has answered for a PV since the list was begun.
pub(crate) fn unanswered(pv: &PvName) -> Refusal {
    short(&format!("nobody answers for {pv} at present"))
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
    let (asked, mut items, mut ready) = (ask.clone(), items.fuse(), Ready::default());
    std::iter::from_fn(move || {
        loop {
            if let Some(one) = ready.next() {
                return Some(Ok(one));
            }
            let some: Vec<T> = items.by_ref().take(PVS_AT_ONCE).collect();
            if some.is_empty() {
                return None;
            }
            let pvs: Vec<Option<PvId>> = some.iter().map(&pv).collect();
            let mut entries = asked.listed().behind.directory.entries_of(&pvs);
            if !asked.sees_all() {
                entries.iter_mut().for_each(|entry| *entry = entry.take().filter(|entry| asked.sees(entry)));
            }
            match asked.go_on().and_then(|()| Ready::of(asked.listed(), some, entries, look)) {
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
            Look::Outline => Vec::new(),
            Look::Fares | Look::Samples | Look::Metadata => entries.iter().flatten().map(|entry| entry.id).collect(),
        };
        let briefs = if look >= Look::Fares { service.behind.standing.briefs(&pvs) } else { Vec::new() };
        // Nothing more is asked about PVs whose state is unknown.
        let mut fares = briefs.iter();
        let pvs: Vec<PvId> = pvs.into_iter().filter(|_| !fares.next().is_some_and(is_unknown)).collect();
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

    fn next(&mut self) -> Option<(T, Option<Seen>)> {
        let (item, entry) = (self.items.next()?, self.entries.next()?);
        let Some(entry) = entry else { return Some((item, None)) };
        let brief = self.briefs.next().flatten();
        let is_unknown = is_unknown(&brief);
        let next = |of: &mut IntoIter<bool>| if is_unknown { true } else { of.next().unwrap_or(true) };
        let (may_have_samples, may_have_metadata) = (next(&mut self.samples), next(&mut self.metadata));
        let outline = Outline::from(&entry);
        let seen = Seen { name: entry.name, pv: entry.id, outline, brief, may_have_samples, may_have_metadata };
        Some((item, Some(seen)))
    }
}

//! PVs by where they stand: paused, never connected, without connection, new, changed, arrays.

use std::net::SocketAddr;

use archive::{Brief, Connection, Method, Outline, PvEntry, PvId, PvName, PvState};
use sample::{Shape, TimeRange, Timestamp, ValueType};

use super::{each, ranked};
use crate::{
    ask::Ask,
    lists::{Item, ItemName},
    names::Pattern,
    refusal::Refusal,
    seen::{Look, Seen, Sight, Whom, all_seen, seen, unanswered},
};

/// A PV with a time: when it was added, or changed last.
#[derive(Clone, Debug)]
pub struct ChangedRow {
    /// Which.
    pub name: PvName,
    /// When.
    pub at: Timestamp,
}

/// A PV whose connection is lost.
#[derive(Clone, Debug)]
pub struct DisconnectedRow {
    /// Which.
    pub name: PvName,
    /// Since when it stands so, in this run.
    pub since: Timestamp,
    /// Which IOC served it in this run.
    pub server: Option<SocketAddr>,
    /// When its newest sample was.
    pub last_sample: Option<Timestamp>,
}

/// A PV whose values are arrays.
#[derive(Clone, Debug)]
pub struct WaveformRow {
    /// Which.
    pub name: PvName,
    /// Of which type they are.
    pub value_type: ValueType,
    /// How many elements they have; 0 if that is not known.
    pub element_count: u64,
    /// How they are sampled.
    pub method: Method,
}

/// When a PV was added, and when its newest sample was.
#[derive(Clone, Debug)]
pub struct TimeSpanRow {
    /// Which.
    pub name: PvName,
    /// When it was added.
    pub added: Timestamp,
    /// When its newest sample was, if that was asked for and there is one.
    pub last_sample: Option<Timestamp>,
    /// Whether it is paused.
    pub state: PvState,
}

/// A name that is asked about, and the PV that it means, if there is one.
pub struct NamedRow<T> {
    /// What was asked about.
    pub asked: T,
    /// The PV and how it fares.
    pub seen: Option<Seen>,
}

impl Ask {
    /// The PVs that are paused, with when they were changed last, as far back as the audit is looked at.
    pub fn paused_pvs(&self) -> Result<impl Iterator<Item = Result<ChangedRow, Refusal>> + Send + use<>, Refusal> {
        let changes = self.listed().last_changes()?;
        let is_paused = |outline: &Outline, _: Option<&Brief>| outline.state == PvState::Paused;
        let row = move |of: &Sight<'_>| {
            Ok(Some(ChangedRow { at: changes.of(of.pv, of.outline.added), name: of.name.clone() }))
        };
        Ok(pvs(self, Look::Outline, is_paused, row))
    }

    /// The PVs by age, the newest first.
    pub fn recently_added(
        &self,
        limit: usize,
    ) -> Result<impl Iterator<Item = Result<ChangedRow, Refusal>> + Send + use<>, Refusal> {
        let rows = ranked(self, limit, Look::Outline, each, |of| Some((of.outline.added, ())))?;
        Ok(rows.map(|row| row.map(|(name, at, ())| ChangedRow { name, at })))
    }

    /// Those that were added, paused, resumed, renamed or restored, the newest change first.
    pub fn recently_modified(
        &self,
        limit: usize,
    ) -> Result<impl Iterator<Item = Result<ChangedRow, Refusal>> + Send + use<>, Refusal> {
        let changes = self.listed().last_changes()?;
        let changed = |of: &Sight<'_>| Some((changes.of(of.pv, of.outline.added), ()));
        let rows = ranked(self, limit, Look::Outline, each, changed)?;
        Ok(rows.map(|row| row.map(|(name, at, ())| ChangedRow { name, at })))
    }

    /// The PVs for which no IOC has ever answered, with when they were added.
    pub fn never_connected(&self) -> impl Iterator<Item = Result<ChangedRow, Refusal>> + Send + use<> {
        let asked = self.clone();
        pvs(self, Look::Metadata, is_searching, move |of| {
            let row = || ChangedRow { at: of.outline.added, name: of.name.clone() };
            Ok(has_never_connected(&asked, of)?.then(row))
        })
    }

    /// Whether nobody has ever answered for a PV: no IOC does now, and nothing was recorded in earlier runs either.
    pub fn is_never_connected(&self, entry: &PvEntry) -> Result<bool, Refusal> {
        let mut found = seen(self, std::iter::once(entry.id), |pv| Some(*pv), Look::Metadata);
        let Some((_, Some(seen))) = found.next().transpose()? else { return Ok(false) };
        let of = seen.sight();
        if of.is_unanswered() {
            return Err(unanswered(of.name));
        }
        Ok(is_searching(&of.outline, of.brief) && has_never_connected(self, &of)?)
    }

    /// The PVs without connection that were connected once, in this run or before it. Of a connection that was lost before this run it
    /// is told since when this run has been looking for the PV.
    pub fn disconnected(&self) -> impl Iterator<Item = Result<DisconnectedRow, Refusal>> + Send + use<> {
        let asked = self.clone();
        let is_without = |_: &Outline, brief: Option<&Brief>| {
            brief.is_some_and(|brief| matches!(brief.connection, Connection::Disconnected | Connection::Searching))
        };
        pvs(self, Look::Metadata, is_without, move |of| {
            let Some(brief) = of.brief else { return Ok(None) };
            if is_searching(&of.outline, of.brief) && has_never_connected(&asked, of)? {
                return Ok(None);
            }
            Ok(Some(DisconnectedRow {
                since: brief.since,
                server: brief.server,
                last_sample: of.last_sample(&asked),
                name: of.name.clone(),
            }))
        })
    }

    /// The PVs whose values are arrays.
    pub fn waveforms(&self) -> impl Iterator<Item = Result<WaveformRow, Refusal>> + Send + use<> {
        let asked = self.clone();
        pvs(self, Look::Metadata, each, move |of| {
            if !of.may_have_metadata {
                return Ok(None);
            }
            let newest = asked.metadata_at_end(of.pv, TimeRange::ALL)?;
            let Some((_, metadata)) = newest else { return Ok(None) };
            let is_array = |value_type: &ValueType| value_type.shape == Shape::Array;
            Ok(metadata.value_type.filter(is_array).map(|value_type| WaveformRow {
                value_type,
                element_count: metadata.element_count.unwrap_or(0),
                method: of.outline.method,
                name: of.name.clone(),
            }))
        })
    }

    /// When each PV whose name fits was added and when its newest sample was. Aliases are not told apart.
    pub fn time_spans(
        &self,
        pattern: &Pattern,
    ) -> Result<impl Iterator<Item = Result<TimeSpanRow, Refusal>> + Send + use<>, Refusal> {
        let asked = self.clone();
        let row = move |of: &Sight<'_>| TimeSpanRow { last_sample: of.last_sample(&asked), ..time_span(of) };
        matching(self, pattern, Look::Samples, row)
    }

    /// The same without newest samples.
    pub fn creations(
        &self,
        pattern: &Pattern,
    ) -> Result<impl Iterator<Item = Result<TimeSpanRow, Refusal>> + Send + use<>, Refusal> {
        matching(self, pattern, Look::Outline, time_span)
    }

    /// How the PVs fare that some things stand for, each as its PV is when its turn comes.
    pub fn fares<T, I, P>(&self, items: I, pv: P) -> impl Iterator<Item = Result<NamedRow<T>, Refusal>> + use<T, I, P>
    where
        I: Iterator<Item = T>,
        P: Fn(&T) -> Option<PvId>,
    {
        seen(self, items, pv, Look::Samples).map(|row| row.map(|(asked, seen)| NamedRow { asked, seen }))
    }

    /// How the PVs of all names and aliases fare, each as it is when its turn comes.
    pub fn all_fares(&self) -> impl Iterator<Item = Result<NamedRow<Item>, Refusal>> + Send + use<> {
        let names = self.listed().behind.directory.names();
        all_seen(self, names, (Whom::Names, Look::Samples), each, |of| {
            let asked = Item { name: ItemName::Own(of.named.name.clone()), pv: Some(of.named.pv) };
            Ok(Some(NamedRow { asked, seen: Some(of.sight.kept()) }))
        })
    }
}

/// All PVs in the order of their names, if somebody answers for each of them.
fn pvs<O, I, R>(ask: &Ask, look: Look, is_meant: I, row: R) -> impl Iterator<Item = Result<O, Refusal>> + use<O, I, R>
where
    I: Fn(&Outline, Option<&Brief>) -> bool,
    R: Fn(&Sight<'_>) -> Result<Option<O>, Refusal>,
{
    let names = ask.listed().behind.directory.names();
    all_seen(ask, names, (Whom::Pvs, look), is_meant, move |of| row(&of.sight))
}

fn time_span(of: &Sight<'_>) -> TimeSpanRow {
    TimeSpanRow { added: of.outline.added, name: of.name.clone(), last_sample: None, state: of.outline.state }
}

/// Whether a PV is looked for, and was not found in this run.
fn is_searching(outline: &Outline, brief: Option<&Brief>) -> bool {
    outline.state == PvState::Active && brief.is_none_or(|brief| brief.connection == Connection::Searching)
}

/// Whether nothing was recorded of one that is looked for.
fn has_never_connected(ask: &Ask, of: &Sight<'_>) -> Result<bool, Refusal> {
    Ok((!of.may_have_samples || ask.extent(of.pv)?.is_none())
        && (!of.may_have_metadata || ask.metadata_at_end(of.pv, TimeRange::ALL)?.is_none()))
}

/// Rows of PVs, one after the other, as far as they were looked at.
type Rows<O> = Box<dyn Iterator<Item = Result<O, Refusal>> + Send>;

/// The PVs whose names a pattern fits. Aliases are not told apart.
fn matching<O: Send + 'static>(
    ask: &Ask,
    pattern: &Pattern,
    look: Look,
    row: impl Fn(&Sight<'_>) -> O + Send + 'static,
) -> Result<Rows<O>, Refusal> {
    if matches!(pattern, Pattern::Everything) {
        return Ok(Box::new(pvs(ask, look, each, move |of| Ok(Some(row(of))))));
    }
    let all = seen(ask, ask.fitting(pattern)?.into_iter(), |item| item.pv, look);
    Ok(Box::new(all.filter_map(move |one| match one {
        Ok((item, Some(seen))) => {
            let of = seen.sight();
            let told = || (of.name.as_str() == item.name.as_str()).then(|| Ok(row(&of)));
            if of.is_unanswered() { Some(Err(unanswered(of.name))) } else { told() }
        }
        Ok((_, None)) => None,
        Err(refusal) => Some(Err(refusal)),
    })))
}

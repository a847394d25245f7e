//! PVs by where they stand: paused, never connected, without connection, new, changed, arrays.

use std::net::SocketAddr;

use archive::{Connection, Method, PvEntry, PvName, PvState};
use sample::{Shape, TimeRange, Timestamp, ValueType};

use super::{Looks, ranked};
use crate::{
    ask::Ask,
    names::Pattern,
    refusal::Refusal,
    seen::{Look, Seen, all_seen, seen, unanswered},
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
        self.listed().look_at_changes()?;
        let asked = self.clone();
        let row = move |seen: Seen| {
            let paused = Some(seen.entry).filter(|entry| entry.settings.state == PvState::Paused)?;
            Some(ChangedRow { at: asked.listed().known_change(&paused), name: paused.name })
        };
        Ok(all_seen(self, Look::Entry).filter_map(move |seen| seen.map(&row).transpose()))
    }

    /// The PVs by age, the newest first.
    pub fn recently_added(
        &self,
        limit: usize,
    ) -> Result<impl Iterator<Item = Result<ChangedRow, Refusal>> + Send + use<>, Refusal> {
        let looks = Looks { key: Look::Entry, row: Look::Entry };
        let rows = ranked(self, limit, looks, |seen| Some(seen.entry.added))?;
        Ok(rows.map(|row| row.map(|(seen, at)| ChangedRow { name: seen.entry.name, at })))
    }

    /// Those that were added, paused, resumed, renamed or restored, the newest change first.
    pub fn recently_modified(
        &self,
        limit: usize,
    ) -> Result<impl Iterator<Item = Result<ChangedRow, Refusal>> + Send + use<>, Refusal> {
        self.listed().look_at_changes()?;
        let looks = Looks { key: Look::Entry, row: Look::Entry };
        let rows = ranked(self, limit, looks, |seen| Some(self.listed().known_change(&seen.entry)))?;
        Ok(rows.map(|row| row.map(|(seen, at)| ChangedRow { name: seen.entry.name, at })))
    }

    /// The PVs for which no IOC has ever answered, with when they were added.
    pub fn never_connected(&self) -> impl Iterator<Item = Result<ChangedRow, Refusal>> + Send + use<> {
        let asked = self.clone();
        all_seen(self, Look::Metadata).filter_map(move |seen| {
            let row = |seen: Seen| {
                let is_so = has_never_connected(&asked, &seen)?;
                Ok(is_so.then_some(ChangedRow { at: seen.entry.added, name: seen.entry.name }))
            };
            seen.and_then(row).transpose()
        })
    }

    /// Whether nobody has ever answered for a PV: no IOC does now, and nothing was recorded in earlier runs either.
    pub fn is_never_connected(&self, entry: &PvEntry) -> Result<bool, Refusal> {
        let mut found = seen(self, std::iter::once(entry.id), |pv| Some(*pv), Look::Metadata);
        match found.next().transpose()? {
            Some((_, Some(seen))) if seen.is_unanswered() => Err(unanswered(&seen)),
            Some((_, Some(seen))) => has_never_connected(self, &seen),
            _ => Ok(false),
        }
    }

    /// The PVs without connection that were connected once, in this run or before it. Of a connection that was lost before this run it
    /// is told since when this run has been looking for the PV.
    pub fn disconnected(&self) -> impl Iterator<Item = Result<DisconnectedRow, Refusal>> + Send + use<> {
        let asked = self.clone();
        all_seen(self, Look::Metadata).filter_map(move |seen| {
            let row = |seen: Seen| {
                let Some(brief) = seen.brief else { return Ok(None) };
                let is_lost = match brief.connection {
                    Connection::Disconnected => true,
                    Connection::Searching => !has_never_connected(&asked, &seen)?,
                    Connection::Connected | Connection::Paused | Connection::Unknown => false,
                };
                Ok(is_lost.then(|| DisconnectedRow {
                    since: brief.since,
                    server: brief.server,
                    last_sample: seen.last_sample(&asked),
                    name: seen.entry.name,
                }))
            };
            seen.and_then(row).transpose()
        })
    }

    /// The PVs whose values are arrays.
    pub fn waveforms(&self) -> impl Iterator<Item = Result<WaveformRow, Refusal>> + Send + use<> {
        let asked = self.clone();
        all_seen(self, Look::Metadata).filter_map(move |seen| {
            let row = |seen: Seen| {
                if !seen.may_have_metadata {
                    return Ok(None);
                }
                let newest = asked.metadata_at_end(seen.entry.id, TimeRange::ALL)?;
                let Some((_, metadata)) = newest else { return Ok(None) };
                let is_array = |value_type: &ValueType| value_type.shape == Shape::Array;
                Ok(metadata.value_type.filter(is_array).map(|value_type| WaveformRow {
                    value_type,
                    element_count: metadata.element_count.unwrap_or(0),
                    method: seen.entry.settings.method,
                    name: seen.entry.name,
                }))
            };
            seen.and_then(row).transpose()
        })
    }

    /// When each PV whose name fits was added and when its newest sample was. Aliases are not told apart.
    pub fn time_spans(
        &self,
        pattern: &Pattern,
    ) -> Result<impl Iterator<Item = Result<TimeSpanRow, Refusal>> + Send + use<>, Refusal> {
        let asked = self.clone();
        let with_last = move |seen: Seen| {
            let last_sample = seen.last_sample(&asked);
            TimeSpanRow { last_sample, ..time_span(seen) }
        };
        Ok(matching(self, pattern, Look::Samples)?.map(move |seen| seen.map(&with_last)))
    }

    /// The same without newest samples.
    pub fn creations(
        &self,
        pattern: &Pattern,
    ) -> Result<impl Iterator<Item = Result<TimeSpanRow, Refusal>> + Send + use<>, Refusal> {
        Ok(matching(self, pattern, Look::Entry)?.map(|seen| seen.map(time_span)))
    }

    /// How the PVs fare that some things stand for, each as its PV is when its turn comes.
    pub fn fares<T, I, P>(&self, items: I, pv: P) -> impl Iterator<Item = Result<NamedRow<T>, Refusal>> + use<T, I, P>
    where
        I: Iterator<Item = T>,
        P: Fn(&T) -> Option<archive::PvId>,
    {
        seen(self, items, pv, Look::Samples).map(|row| row.map(|(asked, seen)| NamedRow { asked, seen }))
    }
}

fn time_span(seen: Seen) -> TimeSpanRow {
    let state = seen.entry.settings.state;
    TimeSpanRow { added: seen.entry.added, name: seen.entry.name, last_sample: None, state }
}

fn has_never_connected(ask: &Ask, seen: &Seen) -> Result<bool, Refusal> {
    let (pv, is_active) = (seen.entry.id, seen.entry.settings.state == PvState::Active);
    let is_searching = is_active && seen.brief.is_none_or(|brief| brief.connection == Connection::Searching);
    Ok(is_searching
        && (!seen.may_have_samples || ask.extent(pv)?.is_none())
        && (!seen.may_have_metadata || ask.metadata_at_end(pv, TimeRange::ALL)?.is_none()))
}

/// PVs one after the other, as far as they were looked at.
type AllSeen = Box<dyn Iterator<Item = Result<Seen, Refusal>> + Send>;

/// The PVs whose names a pattern fits. Aliases are not told apart.
fn matching(ask: &Ask, pattern: &Pattern, look: Look) -> Result<AllSeen, Refusal> {
    if matches!(pattern, Pattern::Everything) {
        return Ok(Box::new(all_seen(ask, look)));
    }
    let found = ask.fitting(pattern)?.into_iter();
    let all = seen(ask, found, |item| item.pv, look);
    Ok(Box::new(all.filter_map(|one| match one {
        Ok((_, Some(seen))) if seen.is_unanswered() => Some(Err(unanswered(&seen))),
        Ok((item, Some(seen))) => (seen.entry.name.as_str() == item.name.as_str()).then_some(Ok(seen)),
        Ok((_, None)) => None,
        Err(refusal) => Some(Err(refusal)),
    })))
}

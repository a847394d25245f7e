//! PVs: lists of those that match, a page at a time, and everything about one but its samples.

use std::vec::IntoIter;

use archive::{Brief, Connection, Extent, Named, PvEntry, PvId, PvName, PvSettings, PvState, Recorder, Status};
use sample::{Element, Metadata, Sample, TimeRange, Timestamp, ValueType};

use crate::{
    ask::Ask,
    clock::now,
    names::Pattern,
    refusal::{Code, Refusal},
    seen::PVS_AT_ONCE,
};

/// Which PVs are listed.
pub struct PvsWanted {
    /// Those whose names or aliases it fits.
    pub pattern: Pattern,
    /// And that stand there; all without it.
    pub state: Option<Connection>,
    /// So many are passed over.
    pub offset: usize,
    /// And no more than so many are listed.
    pub limit: usize,
}

/// A page of a list of PVs, each as it is when its turn comes.
pub struct PvPage {
    /// How many there are on all pages.
    pub total: usize,
    shown: IntoIter<Named>,
    ask: Ask,
}

impl Iterator for PvPage {
    type Item = Result<PvRow, Refusal>;

    /// The next that has not been removed meanwhile.
    fn next(&mut self) -> Option<Result<PvRow, Refusal>> {
        loop {
            let named = self.shown.next()?;
            let Some(entry) = self.ask.entry(named.pv) else { continue };
            let (name, alias_of) =
                if entry.name == named.name { (named.name, None) } else { (named.name, Some(entry.name.clone())) };
            return Some(row(&self.ask, &entry).map(|row| PvRow { name, alias_of, ..row }));
        }
    }
}

/// What a list says about a PV.
#[derive(Clone, Debug)]
pub struct PvRow {
    /// By which name it was found.
    pub name: PvName,
    /// Its own name, if that is an alias.
    pub alias_of: Option<PvName>,
    /// How it is archived.
    pub settings: PvSettings,
    /// Where it stands.
    pub connection: Connection,
    /// Since when it stands there.
    pub since: Timestamp,
    /// Of which type its newest sample is, or will be.
    pub value_type: Option<ValueType>,
    /// Its units.
    pub units: Option<String>,
    /// What the record says of itself, as far as that was recorded.
    pub description: Option<String>,
    /// Its newest sample.
    pub last: Option<Sample>,
    /// Why nothing is said of it but what the list has; none where all is said.
    pub unanswered: Option<String>,
}

/// Everything about one PV but its samples.
#[derive(Clone, Debug)]
pub struct Details {
    /// What a list says about it.
    pub row: PvRow,
    /// Its other names.
    pub aliases: Vec<PvName>,
    /// When it was added.
    pub added: Timestamp,
    /// How it fares.
    pub status: Status,
    /// Its newest metadata, and since when that is in force.
    pub metadata: Option<(Timestamp, Metadata)>,
    /// The first and last time of its samples, and how many the store has.
    pub extent: Option<Extent>,
    /// The fields that the structure last recorded has; none if its newest value is no structure.
    pub fields: Vec<(String, ValueType)>,
    /// Who records it, if it is recorded twice.
    pub recorders: Vec<Recorder>,
}

impl Ask {
    /// A page of the PVs that match.
    pub fn pvs(&self, wanted: &PvsWanted) -> Result<PvPage, Refusal> {
        let names = self.listed().behind.directory.names();
        let mut found = wanted.pattern.among(&names, self)?;
        if let Some(state) = wanted.state {
            found = in_state(self, &found, state);
        }
        let total = found.len();
        let shown: Vec<Named> = found.into_iter().skip(wanted.offset).take(wanted.limit).cloned().collect();
        Ok(PvPage { total, shown: shown.into_iter(), ask: self.clone() })
    }

    /// Everything about a PV but its samples.
    pub fn details(&self, entry: &PvEntry) -> Result<Details, Refusal> {
        let status = status(self, entry);
        let row = whole_row(self, entry)?;
        let metadata = self.metadata_at_end(entry.id, TimeRange::ALL)?;
        let extent = self.extent(entry.id)?;
        let is_structure = row.value_type.is_some_and(|value_type| value_type == ValueType::scalar(Element::Structure));
        let fields = if is_structure { self.fields(entry.id)? } else { Vec::new() };
        let aliases = self.aliases_of(entry.id)?;
        let recorders = self.recorders(entry.id);
        Ok(Details { row, aliases, added: entry.added, status, metadata, extent, fields, recorders })
    }
}

/// Those of some names whose PVs stand there.
fn in_state<'n>(ask: &Ask, found: &[&'n Named], state: Connection) -> Vec<&'n Named> {
    let mut in_it = Vec::new();
    for some in found.chunks(PVS_AT_ONCE) {
        let pvs: Vec<PvId> = some.iter().map(|named| named.pv).collect();
        let briefs = ask.listed().behind.standing.briefs(&pvs);
        let is_in_it = |(named, brief): (&Named, Option<Brief>)| match brief {
            Some(brief) => brief.connection == state,
            None => ask.entry(named.pv).is_some_and(|entry| standing(&entry) == state),
        };
        in_it.extend(
            some.iter().zip(briefs).filter(|(named, brief)| is_in_it((named, *brief))).map(|(named, _)| *named),
        );
    }
    in_it
}

/// Where a PV stands that acquisition does not know (yet, or any more).
fn standing(entry: &PvEntry) -> Connection {
    match entry.settings.state {
        PvState::Active => Connection::Searching,
        PvState::Paused => Connection::Paused,
    }
}

/// What a list says about a PV under its own name. Where nobody answers for the PV it has what the list of PVs does, as long as the answer
/// can still say so.
pub(crate) fn row(ask: &Ask, entry: &PvEntry) -> Result<PvRow, Refusal> {
    if let Some(why) = ask.without(entry)? {
        return Ok(listed_row(ask, entry, why));
    }
    match whole_row(&ask.unsaid(), entry) {
        Ok(row) if row.connection != Connection::Unknown => Ok(row),
        Err(refusal) if refusal.code() != Code::StoreRefused => Err(refusal),
        told => match (ask.without(entry)?, told) {
            (Some(why), _) => Ok(listed_row(ask, entry, why)),
            (None, told) => told,
        },
    }
}

fn listed_row(ask: &Ask, entry: &PvEntry, why: String) -> PvRow {
    PvRow {
        name: entry.name.clone(),
        alias_of: None,
        settings: ask.as_seen(&entry.settings),
        connection: Connection::Unknown,
        since: entry.added,
        value_type: None,
        units: None,
        description: None,
        last: None,
        unanswered: Some(why),
    }
}

fn whole_row(ask: &Ask, entry: &PvEntry) -> Result<PvRow, Refusal> {
    let status = status(ask, entry);
    let newest = ask.metadata_at_end(entry.id, TimeRange { t0: now(), t1: Timestamp::MAX })?;
    let last = ask.last_before(&entry.id.into(), Timestamp::MAX)?;
    let known_type = newest.as_ref().and_then(|(_, metadata)| metadata.value_type);
    Ok(PvRow {
        name: entry.name.clone(),
        alias_of: None,
        settings: ask.as_seen(&entry.settings),
        connection: status.connection,
        since: status.since,
        value_type: last.as_ref().map(|sample| sample.value.value_type()).or(known_type),
        description: newest.as_ref().and_then(|(_, metadata)| metadata.description.clone()),
        units: newest.and_then(|(_, metadata)| metadata.units),
        last,
        unanswered: None,
    })
}

/// How a PV fares; one that acquisition does not know (yet, or any more) stands as its settings say.
fn status(ask: &Ask, entry: &PvEntry) -> Status {
    ask.pv_status(entry.id).unwrap_or_else(|| Status::standing(standing(entry), entry.added))
}

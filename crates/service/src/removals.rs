//! Removals: PVs taken out of the archive by their names and brought back, one or many at a time. Many are one change of the catalogue.

use std::collections::{BTreeMap, HashMap, HashSet};

use archive::{Change, DataFate, Deletion, Purge, Purged, PvEntry, PvId, PvName, PvState, RemovedPv, Right};

use crate::{
    ask::Ask,
    refusal::{Code, Refusal},
};

/// What a removed PV takes while its name is looked up.
const NAMED_BYTES: usize = 400;

/// Whether an order about many PVs is carried out, or it is only said what would become of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carry {
    /// It is carried out.
    Out,
    /// Nothing is changed.
    Plan,
}

/// What became of a PV that was to be paused or recorded again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switched {
    /// It is as it was to be.
    Done,
    /// Nothing had to be done.
    Already,
    /// There is none of that name.
    Unknown,
}

/// What became of a PV that was to be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// It is out of the archive, with its data if that was asked for.
    Removed,
    /// Nothing had to be done.
    Already,
    /// There is none of that name.
    Unknown,
}

/// What became of a PV that was to be brought back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restoration {
    /// It is archived again.
    Restored,
    /// It had not been removed.
    Already,
    /// No removed PV has that name.
    Unknown,
    /// It cannot be, and why.
    Refused(String),
}

/// A deleted range with the name of its PV, which may have been removed since.
#[derive(Clone, Debug)]
pub struct DeletedRange {
    /// What was deleted.
    pub deletion: Deletion,
    /// Of which PV; none if that is gone for good.
    pub name: Option<PvName>,
}

/// The names of PVs, those that were removed included.
pub struct EveryName {
    ask: Ask,
    removed: HashMap<PvId, PvName>,
}

impl EveryName {
    /// A deletion with the name of its PV.
    pub fn of(&self, deletion: Deletion) -> DeletedRange {
        let name = self.name(deletion.pv);
        DeletedRange { deletion, name }
    }

    /// The name of a PV; none if it is gone for good.
    pub fn name(&self, pv: PvId) -> Option<PvName> {
        self.ask.entry(pv).map(|entry| entry.name).or_else(|| self.removed.get(&pv).cloned())
    }
}

impl Ask {
    /// Pauses PVs, or records them again, all in one change, and says of each name what became of it.
    pub fn switch_named(
        &self,
        names: Vec<String>,
        to: PvState,
        carry: Carry,
    ) -> Result<Vec<(String, Switched)>, Refusal> {
        let (mut switched, mut told) = (Vec::new(), Vec::with_capacity(names.len()));
        let mut seen = HashSet::new();
        for name in names {
            let outcome = match self.find(&name) {
                None => Switched::Unknown,
                Some(entry) if entry.settings.state == to || !seen.insert(entry.id) => Switched::Already,
                Some(entry) => {
                    switched.push(entry.id);
                    Switched::Done
                }
            };
            told.push((name, outcome));
        }
        if switched.is_empty() {
            return Ok(told);
        }
        match (carry, to) {
            (Carry::Plan, _) => _ = self.ordered(Right::Operate, &switched)?,
            (Carry::Out, PvState::Paused) => _ = self.pause(&switched)?,
            (Carry::Out, PvState::Active) => _ = self.resume(&switched)?,
        }
        Ok(told)
    }

    /// Takes PVs out of the archive, all in one change, and says of each name what became of it. With their data those go again that were
    /// removed without.
    pub fn remove_named(
        &self,
        names: Vec<String>,
        fate: DataFate,
        carry: Carry,
    ) -> Result<Vec<(String, Removal)>, Refusal> {
        let gone = last_removed(self);
        let (mut out, mut again, mut told) = (Vec::new(), Vec::new(), Vec::with_capacity(names.len()));
        let mut seen: HashSet<PvId> = HashSet::new();
        for name in names {
            let found = self.find(&name).map(|entry| entry.id);
            let removal = match (found, gone.get(name.as_str())) {
                (Some(pv), _) if !seen.insert(pv) => Removal::Removed, // it is asked for twice, perhaps by another of its names
                (Some(pv), _) => {
                    out.push(pv);
                    Removal::Removed
                }
                (None, Some(removed)) if is_news(removed, fate) => {
                    again.push(removed.entry.id);
                    Removal::Removed
                }
                (None, Some(_)) => Removal::Already,
                (None, None) => Removal::Unknown,
            };
            told.push((name, removal));
        }
        if carry == Carry::Plan {
            self.ordered(Right::Administer, &out)?;
            self.ordered(Right::Administer, &again)?;
            return Ok(told);
        }
        if !out.is_empty() {
            self.remove(&out, fate)?;
        }
        if !again.is_empty() {
            self.decide_upon_removed(&again, fate)?;
        }
        Ok(told)
    }

    /// Takes one PV out of the archive, or decides anew upon the data of one that was removed already; gives its own name.
    pub fn remove_one(&self, name: &str, fate: DataFate) -> Result<(PvName, Removal), Refusal> {
        let entry = match self.pv(name) {
            Ok(entry) => entry,
            Err(unknown) => {
                let removed = self.removed_named(name).pop().ok_or(unknown)?;
                if !is_news(&removed, fate) {
                    return Ok((removed.entry.name, Removal::Already));
                }
                self.decide_upon_removed(&[removed.entry.id], fate)?;
                return Ok((removed.entry.name, Removal::Removed));
            }
        };
        match self.remove(&[entry.id], fate)?.as_slice() {
            [Change::Done] => Ok((entry.name, Removal::Removed)),
            _ => Err(Refusal::unknown_pv(entry.name.as_str())),
        }
    }

    /// Brings PVs back, all in one change, and says of each name what became of it: of several that had the same name the one comes
    /// back that was removed last.
    pub fn restore_named(&self, names: Vec<String>, carry: Carry) -> Result<Vec<(String, Restoration)>, Refusal> {
        let gone = last_removed(self);
        let number = |name: &String| gone.get(name.as_str()).map(|removed| removed.entry.id);
        let mut asked = HashSet::new();
        let wanted: Vec<PvId> = names.iter().filter_map(number).filter(|pv| asked.insert(*pv)).collect();
        let done = match carry {
            _ if wanted.is_empty() => Vec::new(),
            Carry::Out => self.restore_all(&wanted)?,
            Carry::Plan => self.restorable(&wanted)?,
        };
        let refused = |done: Result<PvEntry, Refusal>| done.err().map(|error| error.message().to_owned());
        let outcomes: HashMap<PvId, Option<String>> = wanted.into_iter().zip(done.into_iter().map(refused)).collect();
        let told = |name: String| {
            let restoration = match number(&name).and_then(|pv| outcomes.get(&pv)) {
                None if self.find(&name).is_some() => Restoration::Already,
                None => Restoration::Unknown,
                Some(None) => Restoration::Restored,
                Some(Some(why)) => Restoration::Refused(why.clone()),
            };
            (name, restoration)
        };
        Ok(names.into_iter().map(told).collect())
    }

    /// What bringing PVs back would come to: whether the name of each is free.
    fn restorable(&self, wanted: &[PvId]) -> Result<Vec<Result<PvEntry, Refusal>>, Refusal> {
        self.ordered(Right::Administer, wanted)?;
        let removed = self.removed().into_iter().map(|removed| (removed.entry.id, removed.entry));
        let removed: HashMap<PvId, PvEntry> = removed.collect();
        let taken = |entry: &PvEntry| format!("there is a PV called {} already", entry.name);
        let one = |pv: &PvId| {
            let entry = removed.get(pv).cloned();
            let entry = entry.ok_or_else(|| Refusal::new(Code::UnknownPv, "it came back meanwhile"))?;
            match self.listed().behind.directory.find(entry.name.as_str()) {
                None => Ok(entry),
                Some(_) => Err(Refusal::new(Code::Conflict, taken(&entry))),
            }
        };
        Ok(wanted.iter().map(one).collect())
    }

    /// Of the removed PVs that had a name the one that was removed last, unless a number says which.
    pub fn last_removed(&self, name: &str, number: Option<u32>) -> Result<RemovedPv, Refusal> {
        let mut candidates = self.removed_named(name);
        candidates.retain(|removed| number.is_none_or(|number| removed.entry.id.0 == number));
        candidates.pop().ok_or_else(|| {
            Refusal::new(Code::UnknownPv, format!("no removed PV is called {name:?}"))
                .hint("GET /api/v1/removed lists them")
        })
    }

    /// The removed PVs that had a name, the last removed one last.
    fn removed_named(&self, name: &str) -> Vec<RemovedPv> {
        let mut removed = self.removed();
        removed.retain(|removed| removed.entry.name.as_str() == name);
        removed.sort_by_key(|removed| removed.since);
        removed
    }

    /// The names of PVs, those that were removed included.
    pub fn every_name(&self) -> Result<EveryName, Refusal> {
        let removed = self.removed();
        self.lease.grow_by(removed.len(), NAMED_BYTES)?;
        let removed = removed.into_iter().map(|removed| (removed.entry.id, removed.entry.name)).collect();
        Ok(EveryName { ask: self.clone(), removed })
    }

    /// What would be or is purged of what was deleted before a time: removed PVs and ranges.
    pub fn purged_ranges(&self, purged: &Purged) -> Result<Vec<DeletedRange>, Refusal> {
        let names = self.every_name()?;
        Ok(purged.ranges.iter().map(|range| names.of(range.clone())).collect())
    }

    /// The purge of what was deleted before a time, of one PV alone if its name is given: one that it has or had, or `#` and its number.
    pub fn purge_of(&self, name: Option<&str>, before: sample::Timestamp) -> Result<Purge, Refusal> {
        Ok(Purge { pv: name.map(|name| self.number_of(name)).transpose()?, before })
    }
}

/// Whether it changes anything to remove it with that fate; the other way is to restore it.
fn is_news(removed: &RemovedPv, fate: DataFate) -> bool {
    fate == DataFate::Delete && removed.data == DataFate::Keep
}

/// Of the removed PVs of each name the one that was removed last.
fn last_removed(ask: &Ask) -> BTreeMap<String, RemovedPv> {
    let mut removed = ask.removed();
    removed.sort_by_key(|removed| removed.since);
    removed.into_iter().map(|removed| (removed.entry.name.as_str().to_owned(), removed)).collect()
}

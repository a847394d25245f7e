//! The names that one change gives, of which no two PVs may get one.

use std::collections::{HashMap, HashSet};

use archive::{Action, AuditRecord, By, OldName, PvEntry, PvId, PvName, RemovedPv};
use sample::{Gap, GapCause, Timestamp};

use crate::{
    Error,
    catalog::{change::Change, registry::Registry},
};

/// The names that a change gives away, one after the other, over those that are taken already.
pub(super) struct GivenNames<'a> {
    registry: &'a Registry,
    names: HashMap<PvName, PvEntry>,
    pvs: HashSet<PvId>,
}

impl<'a> GivenNames<'a> {
    pub(super) fn over(registry: &'a Registry) -> GivenNames<'a> {
        GivenNames { registry, names: HashMap::new(), pvs: HashSet::new() }
    }

    /// Whose a name is, before the change or by it.
    pub(super) fn owner(&self, name: &PvName) -> Option<&PvEntry> {
        self.registry.find(name.as_str()).or_else(|| self.names.get(name))
    }

    pub(super) fn give(&mut self, name: &PvName, to: &PvEntry) {
        self.names.insert(name.clone(), to.clone());
        self.pvs.insert(to.id);
    }

    pub(super) fn rename(
        &mut self,
        change: &mut Change,
        pv: PvId,
        to: &PvName,
        old: OldName,
        by: &By,
    ) -> Result<PvEntry, Error> {
        let entry = self.registry.entry(pv).ok_or(Error::UnknownPv { pv })?;
        let owner = self.owner(to);
        // A PV that this change renames already has the name that it got first.
        if let Some(owner) = owner.filter(|owner| owner.id != pv || owner.name == *to || self.pvs.contains(&pv)) {
            return Err(taken(to, owner));
        }
        if self.pvs.contains(&pv) {
            return Err(taken(to, entry));
        }
        if owner.is_some() {
            change.aliases_removed.push(to.clone()); // its own alias becomes its name
        }
        if old == OldName::Alias {
            change.aliases_added.push((entry.name.clone(), pv));
        }
        change.audit.push(AuditRecord::of_pv(Action::Renamed, by, entry, to.as_str()));
        let renamed = PvEntry { name: to.clone(), ..entry.clone() };
        change.put.push(renamed.clone());
        self.give(to, &renamed);
        Ok(renamed)
    }

    pub(super) fn restore(
        &mut self,
        change: &mut Change,
        pv: PvId,
        name: Option<&PvName>,
        by: &By,
    ) -> Result<PvEntry, Error> {
        let removed = self.removed(pv)?;
        let name = name.unwrap_or(&removed.entry.name);
        let restored = self.bring_back(change, pv, name, by)?;
        change.audit.push(AuditRecord::of_pv(Action::Restored, by, &removed.entry, name.as_str()));
        Ok(restored)
    }

    /// A PV that is out of the archive, and that this change has not brought back.
    fn removed(&self, pv: PvId) -> Result<&'a RemovedPv, Error> {
        let removed = self.registry.removed().get(&pv).filter(|_| !self.pvs.contains(&pv));
        removed.ok_or_else(|| Error::NothingThere {
            what: format!("removed PV with the number {} that could come back", pv.0),
        })
    }

    /// Puts a PV back into the archive, with a gap for the time in between.
    pub(super) fn bring_back(
        &mut self,
        change: &mut Change,
        pv: PvId,
        name: &PvName,
        by: &By,
    ) -> Result<PvEntry, Error> {
        let removed = self.removed(pv)?;
        if let Some(owner) = self.owner(name) {
            return Err(taken(name, owner));
        }
        let restored = PvEntry { name: name.clone(), ..removed.entry.clone() };
        self.give(name, &restored);
        for alias in &removed.aliases {
            if self.owner(alias).is_none() {
                self.give(alias, &restored);
                change.aliases_added.push((alias.clone(), pv));
            }
        }
        change.gaps.extend(absence(removed, by.at));
        change.put.push(restored.clone());
        Ok(restored)
    }
}

/// The time for which a PV was out of the archive.
pub(super) fn absence(removed: &RemovedPv, until: Timestamp) -> Option<(PvId, Gap)> {
    let from = removed.since;
    let gap = Gap { from, to: Some(until), cause: GapCause::NotArchived, lost: 0 };
    (from < until).then_some((removed.entry.id, gap))
}

pub(super) fn taken(name: &PvName, owner: &PvEntry) -> Error {
    Error::NameTaken { name: name.to_string(), owner: owner.name.to_string() }
}

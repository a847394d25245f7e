//! Orders: what changes the archive. Each stands in the audit under the name of who asks.

use acquire::{AddRequest, Added, Change, Manual, Plan, Policies};
use archive::{DataFate, FieldName, Group, OldName, PvEntry, PvId, PvName, RuleName};
use sample::TimeRange;
use store::{Deletion, Import, Purge, Purged};

use crate::{ask::Ask, refusal::Refusal};

impl Ask {
    /// Adds PVs, or archives those that are there in another way.
    pub fn add(&self, requests: Vec<AddRequest>) -> Result<Vec<(PvEntry, Added)>, Refusal> {
        Ok(self.control().add(requests, &self.by())?)
    }

    /// Adds PVs that are paused from the beginning, such as those of an import; gives how many are new.
    pub fn enter_paused(&self, names: Vec<PvName>) -> Result<usize, Refusal> {
        Ok(self.control().enter_paused(names, &self.by())?)
    }

    /// Adds fields of PVs as PVs of their own, paused.
    pub fn enter_fields(&self, fields: &[(PvEntry, FieldName)]) -> Result<(), Refusal> {
        Ok(self.control().enter_fields(fields, &self.by())?)
    }

    /// Records nothing more of these PVs until they are resumed.
    pub fn pause(&self, pvs: &[PvId]) -> Result<Vec<Change>, Refusal> {
        Ok(self.control().pause(pvs, &self.by())?)
    }

    /// Records paused PVs again.
    pub fn resume(&self, pvs: &[PvId]) -> Result<Vec<Change>, Refusal> {
        Ok(self.control().resume(pvs, &self.by())?)
    }

    /// Takes PVs out of the archive; their data is kept, or hidden until it is purged.
    pub fn remove(&self, pvs: &[PvId], data: DataFate) -> Result<Vec<Change>, Refusal> {
        Ok(self.control().remove(pvs, data, &self.by())?)
    }

    /// Decides anew upon the data of PVs that were removed already.
    pub fn decide_upon_removed(&self, pvs: &[PvId], data: DataFate) -> Result<(), Refusal> {
        self.control().roster().remove(pvs, data, &self.by())?;
        Ok(())
    }

    /// Brings a removed PV back, under another name if one is given.
    pub fn restore(&self, pv: PvId, name: Option<&PvName>) -> Result<PvEntry, Refusal> {
        Ok(self.control().restore(pv, name, &self.by())?)
    }

    /// Brings removed PVs back in one change; each has an outcome of its own.
    pub fn restore_all(&self, wanted: &[(PvId, Option<PvName>)]) -> Result<Vec<Result<PvEntry, Refusal>>, Refusal> {
        let restored = self.control().restore_all(wanted, &self.by())?;
        Ok(restored.into_iter().map(|one| one.map_err(Refusal::from)).collect())
    }

    /// Gives a PV another name.
    pub fn rename(&self, pv: PvId, to: &PvName, old: OldName) -> Result<PvEntry, Refusal> {
        Ok(self.control().rename(pv, to, old, &self.by())?)
    }

    /// Gives a PV one more name.
    pub fn add_alias(&self, pv: PvId, alias: &PvName) -> Result<(), Refusal> {
        self.control().roster().add_alias(pv, alias, &self.by())?;
        Ok(())
    }

    /// Gives PVs one more name each, those that are free in one change, and says of each what became of it.
    pub fn add_aliases(&self, wanted: &[(PvId, PvName)]) -> Result<Vec<Result<(), Refusal>>, Refusal> {
        let added = self.control().roster().add_aliases(wanted, &self.by())?;
        Ok(added.into_iter().map(|one| one.map_err(Refusal::from)).collect())
    }

    /// Takes one of its names from a PV.
    pub fn remove_alias(&self, pv: PvId, alias: &PvName) -> Result<(), Refusal> {
        self.control().roster().remove_alias(pv, alias, &self.by())?;
        Ok(())
    }

    /// Hides what was recorded of a PV in a range until now; it can be undone until it is purged.
    pub fn delete_range(&self, pv: PvId, range: TimeRange) -> Result<Deletion, Refusal> {
        Ok(self.control().roster().delete_range(pv, range, &self.by())?)
    }

    /// Undoes the deletion of a range.
    pub fn restore_range(&self, number: u64) -> Result<Deletion, Refusal> {
        Ok(self.control().roster().restore_range(number, &self.by())?)
    }

    /// What a purge would take.
    pub fn purgeable(&self, purge: Purge) -> Result<Purged, Refusal> {
        Ok(self.control().roster().purgeable(purge)?)
    }

    /// Gives up what was deleted: it cannot come back.
    pub fn purge(&self, purge: Purge) -> Result<Purged, Refusal> {
        Ok(self.control().roster().purge(purge, &self.by())?)
    }

    /// Makes a group or gives it other switches; none if it stands in the config file.
    pub fn set_group(&self, group: &Group) -> Result<Option<()>, Refusal> {
        Ok(self.control().set_group(group, &self.by())?)
    }

    /// Makes those of some groups that are not there.
    pub fn make_groups(&self, groups: Vec<Group>) -> Result<(), Refusal> {
        Ok(self.control().make_groups(groups, &self.by())?)
    }

    /// Takes the switches of a group away; none if it stands in the config file.
    pub fn remove_group(&self, name: &RuleName) -> Result<Option<Change>, Refusal> {
        Ok(self.control().remove_group(name, &self.by())?)
    }

    /// What applying policies anew would change.
    pub fn plan(&self, policies: &Policies, manual: Manual) -> Plan {
        self.control().plan(policies, manual)
    }

    /// Applies policies anew.
    pub fn apply(&self, policies: &Policies, manual: Manual) -> Result<Plan, Refusal> {
        Ok(self.control().apply(policies, manual, &self.by())?)
    }

    /// Applies the groups of the config file anew; gives those that differed.
    pub fn apply_groups(&self, of_file: &[Group]) -> Vec<RuleName> {
        self.control().apply_groups(of_file)
    }

    /// Begins an import, or goes on with the one of that name.
    pub fn import(&self, name: &str) -> Import {
        self.control().roster().import(name, &self.by())
    }
}

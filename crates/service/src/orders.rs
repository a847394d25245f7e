//! Orders: what changes the archive. Each needs its right, and stands in the audit under the name of who asks.

use archive::{
    AddRequest, Added, Change, Copies, DataFate, Deletion, DirectoryError, Group, Numbered, OldName, Purge, Purged,
    PvEntry, PvId, PvName, Right, RuleName,
};
use sample::TimeRange;

use crate::{
    ask::{Ask, Ordered},
    refusal::{Code, Refusal},
};

impl Ask {
    /// Adds PVs, or archives those that are there in another way.
    pub fn add(&self, requests: Vec<AddRequest>) -> Result<Vec<(PvEntry, Added)>, Refusal> {
        let orders = self.ordered_named(Right::Operate, requests.iter().map(|request| request.name.as_str()))?;
        let groups = requests.iter().filter_map(|request| request.wishes.groups.as_ref()).flatten();
        groups.into_iter().try_for_each(|group| self.may_join(group))?;
        self.has_nodes_for(&requests)?;
        Ok(orders.orders.add(requests, &self.by())?)
    }

    /// Refuses to record PVs twice where there is one node alone.
    fn has_nodes_for(&self, requests: &[AddRequest]) -> Result<(), Refusal> {
        let wants_two = |request: &&AddRequest| request.wishes.copies == Some(Copies::Two);
        match requests.iter().find(wants_two).filter(|_| self.listed().behind.nodes.is_none()) {
            None => Ok(()),
            Some(request) => Err(Refusal::new(
                Code::BadRequest,
                format!("{} cannot be recorded twice: this archiver is no node of a cluster", request.name),
            )
            .hint("leave out `copies`, or let a second archiver record it as well, as docs/pair.md says")),
        }
    }

    /// What adding them would do, in their order.
    pub fn foresee(&self, requests: Vec<AddRequest>) -> Result<Vec<Added>, Refusal> {
        let orders = self.ordered_named(Right::Operate, requests.iter().map(|request| request.name.as_str()))?;
        Ok(orders.orders.foresee(requests)?)
    }

    /// Refuses to put PVs into a group whose switches are not all seen: when they are recorded would tell of these.
    fn may_join(&self, group: &RuleName) -> Result<(), Refusal> {
        if self.sees_group(group) {
            return Ok(());
        }
        Err(Refusal::new(
            Code::RightMissing,
            format!("this needs the right read to all PVs that switch the group {group}"),
        ))
    }

    /// Adds PVs that are paused from the beginning, such as those of an import; gives how many are new.
    pub(crate) fn enter_paused(&self, names: Vec<PvName>) -> Result<usize, Refusal> {
        let orders = self.ordered_named(Right::Operate, names.iter().map(PvName::as_str))?;
        Ok(orders.orders.enter_paused(names, &self.by())?)
    }

    /// Records nothing more of these PVs until they are resumed.
    pub fn pause(&self, pvs: &[PvId]) -> Result<Vec<Change>, Refusal> {
        Ok(self.ordered(Right::Operate, pvs)?.orders.pause(pvs, &self.by())?)
    }

    /// Records paused PVs again.
    pub fn resume(&self, pvs: &[PvId]) -> Result<Vec<Change>, Refusal> {
        Ok(self.ordered(Right::Operate, pvs)?.orders.resume(pvs, &self.by())?)
    }

    /// Takes PVs out of the archive; their data is kept, or hidden until it is purged.
    pub fn remove(&self, pvs: &[PvId], data: DataFate) -> Result<Vec<Change>, Refusal> {
        Ok(self.ordered(Right::Administer, pvs)?.orders.remove(pvs, data, &self.by())?)
    }

    /// Decides anew upon the data of PVs that were removed already.
    pub(crate) fn decide_upon_removed(&self, pvs: &[PvId], data: DataFate) -> Result<(), Refusal> {
        self.ordered(Right::Administer, pvs)?.curator.decide_upon(pvs, data, &self.by())?;
        Ok(())
    }

    /// Brings a removed PV back, under another name if one is given.
    pub fn restore(&self, pv: PvId, name: Option<&PvName>) -> Result<PvEntry, Refusal> {
        self.ordered_named(Right::Administer, name.map(PvName::as_str))?;
        let orders = self.ordered(Right::Administer, &[pv])?.orders;
        self.only(orders.restore_all(&[(pv, name.cloned())], &self.by())?)
    }

    /// Brings removed PVs back in one change; each has an outcome of its own.
    pub(crate) fn restore_all(&self, pvs: &[PvId]) -> Result<Vec<Result<PvEntry, Refusal>>, Refusal> {
        let wanted: Vec<(PvId, Option<PvName>)> = pvs.iter().map(|pv| (*pv, None)).collect();
        let restored = self.ordered(Right::Administer, pvs)?.orders.restore_all(&wanted, &self.by())?;
        Ok(restored.into_iter().map(|one| one.map_err(|error| self.failed(error))).collect())
    }

    /// Gives a PV another name.
    pub fn rename(&self, pv: PvId, to: &PvName, old: OldName) -> Result<PvEntry, Refusal> {
        self.ordered_named(Right::Administer, [to.as_str()])?;
        let orders = self.ordered(Right::Administer, &[pv])?.orders;
        orders.rename(pv, to, old, &self.by()).map_err(|error| self.failed(error))
    }

    /// Gives a PV one more name.
    pub fn add_alias(&self, pv: PvId, alias: &PvName) -> Result<(), Refusal> {
        self.ordered_named(Right::Administer, [alias.as_str()])?;
        let curator = self.ordered(Right::Administer, &[pv])?.curator;
        self.only(curator.add_aliases(&[(pv, alias.clone())], &self.by())?)
    }

    /// Refuses an alias that whoever asks may not give to the PV of a name. One that is new may get one from who adds it; one that is there
    /// already is given another name by administrators alone.
    pub fn may_give_alias(&self, pv: &str, alias: &str) -> Result<(), Refusal> {
        let is_new = self.listed().behind.directory.find(pv).is_none();
        let right = if is_new { Right::Operate } else { Right::Administer };
        self.may_order(right, pv)?;
        self.may_order(right, alias)
    }

    /// Gives PVs one more name each, as was allowed before they were added: those that are free in one change. Says of each what became
    /// of it.
    pub fn add_aliases(&self, wanted: &[(PvId, PvName)]) -> Result<Vec<Result<(), Refusal>>, Refusal> {
        self.ordered_named(Right::Operate, wanted.iter().map(|(_, alias)| alias.as_str()))?;
        let pvs: Vec<PvId> = wanted.iter().map(|(pv, _)| *pv).collect();
        let added = self.ordered(Right::Operate, &pvs)?.curator.add_aliases(wanted, &self.by())?;
        Ok(added.into_iter().map(|one| one.map_err(|error| self.failed(error))).collect())
    }

    /// Takes one of its names from a PV.
    pub fn remove_alias(&self, pv: PvId, alias: &PvName) -> Result<(), Refusal> {
        let curator = self.ordered(Right::Administer, &[pv])?.curator;
        if !self.sees_name(alias.as_str()) {
            let of = self.entry(pv).map(|entry| entry.name.to_string()).unwrap_or_default();
            return Err(Refusal::new(Code::UnknownPv, format!("there is no alias {alias} of the PV {of}")));
        }
        self.needs_named(Right::Administer, alias.as_str())?;
        curator.remove_alias(pv, alias, &self.by())?;
        Ok(())
    }

    /// Hides what was recorded of a PV in a range until now; it can be undone until it is purged.
    pub fn delete_range(&self, pv: PvId, range: TimeRange) -> Result<Deletion, Refusal> {
        Ok(self.ordered(Right::Administer, &[pv])?.curator.delete_range(pv, range, &self.by())?)
    }

    /// Undoes the deletion of a range.
    pub fn restore_range(&self, number: u64) -> Result<Deletion, Refusal> {
        let directory = &self.listed().behind.directory;
        let known = || directory.deletions().into_iter().find(|deletion| deletion.number == number).map(|of| of.pv);
        let of = match known() {
            Some(pv) => Some(pv),
            // It may have been ordered at another node a moment ago.
            None => directory.look_again(Numbered::Deletion(number)).map(|()| known())?,
        };
        let none = |_| Refusal::new(Code::UnknownPv, format!("there is no deletion {number}"));
        let orders = match of {
            Some(pv) => {
                self.needs(Right::Read, pv).map_err(none)?;
                self.ordered(Right::Administer, &[pv])?
            }
            // The store says that it is not there; or it is, and the list here is behind that of another node.
            None => self.ordered_of_all(Right::Administer).map_err(none)?,
        };
        Ok(orders.curator.restore_range(number, &self.by())?)
    }

    /// What a purge would take.
    pub fn purgeable(&self, purge: Purge) -> Result<Purged, Refusal> {
        Ok(self.ordered_purge(Right::Read, purge)?.curator.purgeable(purge)?)
    }

    /// Gives up what was deleted: it cannot come back.
    pub fn purge(&self, purge: Purge) -> Result<Purged, Refusal> {
        Ok(self.ordered_purge(Right::Administer, purge)?.curator.purge(purge, &self.by())?)
    }

    fn ordered_purge(&self, right: Right, purge: Purge) -> Result<Ordered<'_>, Refusal> {
        match purge.pv {
            Some(pv) => self.ordered(right, &[pv]),
            None => self.ordered_of_all(right),
        }
    }

    /// Makes a group or gives it other switches; none if it stands in the config file.
    pub fn set_group(&self, group: &Group) -> Result<Option<()>, Refusal> {
        Ok(self.ordered_of_all(Right::Operate)?.rulebook.set_group(group, &self.by())?)
    }

    /// Makes those of some groups that are not there, which as yet have no PVs.
    pub fn make_groups(&self, groups: Vec<Group>) -> Result<(), Refusal> {
        let switches = groups.iter().flat_map(|group| &group.switches).map(|switch| switch.pv.as_str());
        Ok(self.ordered_named(Right::Operate, switches)?.rulebook.make_groups(groups, &self.by())?)
    }

    /// Takes the switches of a group away; none if it stands in the config file.
    pub fn remove_group(&self, name: &RuleName) -> Result<Option<Change>, Refusal> {
        Ok(self.ordered_of_all(Right::Operate)?.rulebook.remove_group(name, &self.by())?)
    }

    /// What became of an order about one PV.
    fn only<T>(&self, mut each: Vec<Result<T, DirectoryError>>) -> Result<T, Refusal> {
        let untold = || Refusal::new(Code::Internal, "nobody says what became of the order");
        each.pop().ok_or_else(untold)?.map_err(|error| self.failed(error))
    }
}

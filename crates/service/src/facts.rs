//! Facts: which PVs there are, how each fares, and who changed what. PVs that whoever asks does not see are as if they were not there.

use std::{collections::HashMap, sync::Arc};

use archive::{
    Brief, Deletion, Group, PvEntry, PvId, PvName, PvSettings, PvSize, Recorder, RemovedPv, RuleName, Sense, Status,
};
use sample::Timestamp;

use crate::{
    ask::Ask,
    clock::now,
    refusal::Refusal,
    table::{Asked, Table},
};

impl Ask {
    /// Under which name the archive stands where archives name their members.
    pub fn identity(&self) -> &str {
        &self.listed().identity
    }

    /// Since when it is there.
    pub fn started(&self) -> Timestamp {
        self.listed().started
    }

    /// Whether there are other sources than the archive itself.
    pub fn has_others(&self) -> bool {
        self.listed().behind.query.has_others()
    }

    /// Room for so many bytes for each name that there is.
    pub fn room_for_each_name(&self, bytes: usize) -> Result<(), Refusal> {
        self.lease.grow_by(self.names_len(), bytes)
    }

    /// How many names and aliases there are, seen or not.
    pub(crate) fn names_len(&self) -> usize {
        self.listed().behind.directory.names().len()
    }

    /// The other names of a PV.
    pub(crate) fn aliases_of(&self, pv: PvId) -> Result<Vec<PvName>, Refusal> {
        let mut aliases = self.recorded(pv)?.listed.aliases_of(pv);
        aliases.retain(|alias| self.sees_name(alias.as_str()));
        Ok(aliases)
    }

    /// Every alias with its PV.
    pub fn aliases(&self) -> Vec<(PvName, PvEntry)> {
        let mut aliases = self.listed().behind.directory.aliases();
        aliases.retain(|(alias, entry)| self.sees_as(entry, alias.as_str()));
        aliases
    }

    /// The PVs that were removed and can come back.
    pub fn removed(&self) -> Vec<RemovedPv> {
        let mut removed = self.listed().behind.directory.removed();
        removed.retain(|removed| self.sees(&removed.entry));
        removed
    }

    /// The ranges that were deleted.
    pub fn deletions(&self) -> Vec<Deletion> {
        self.seen_of(self.listed().behind.directory.deletions())
    }

    /// Those deletions of PVs that are seen.
    pub(crate) fn seen_of(&self, mut deletions: Vec<Deletion>) -> Vec<Deletion> {
        deletions.retain(|deletion| self.recorded(deletion.pv).is_ok());
        deletions
    }

    /// Whether all PVs that switch a group may be seen; one without switches may.
    pub(crate) fn sees_group(&self, name: &RuleName) -> bool {
        let status = || self.listed().behind.rulebook.group(name);
        self.sees_all() || status().is_none_or(|status| self.sees_switches(&status.group))
    }

    /// The same of a group that is known.
    pub(crate) fn sees_switches(&self, group: &Group) -> bool {
        group.switches.iter().all(|switch| self.sees_name(switch.pv.as_str()))
    }

    /// Settings without groups whose switches are not seen.
    pub(crate) fn as_seen(&self, settings: &PvSettings) -> PvSettings {
        let mut settings = settings.clone();
        if !self.sees_all() && settings.rules().groups.iter().any(|group| !self.sees_group(group)) {
            let mut rules = settings.rules().clone();
            rules.groups.retain(|group| self.sees_group(group));
            settings.rules = rules.shared();
        }
        settings
    }

    /// What a PV has in segments; none if that is nothing.
    pub fn size(&self, pv: PvId) -> Result<Option<PvSize>, Refusal> {
        self.recorded(pv)?;
        Ok(self.listed().behind.storage.size(pv))
    }

    /// The same of every PV that has something there, for lists of those that are seen.
    pub(crate) fn sizes(&self) -> HashMap<PvId, PvSize> {
        self.listed().behind.storage.sizes()
    }

    /// How another archiver was told to archive a PV, in its own words.
    pub fn configuration(&self, pv: PvId) -> Option<String> {
        self.recorded(pv).ok()?.query.configuration(pv)
    }

    /// How a PV fares; none if acquisition does not know it (yet, or any more).
    pub fn pv_status(&self, pv: PvId) -> Option<Status> {
        self.acquired(pv)?.status(pv)
    }

    /// Who records a PV that is recorded twice.
    pub(crate) fn recorders(&self, pv: PvId) -> Vec<Recorder> {
        self.acquired(pv).map(|standing| standing.recorders(pv)).unwrap_or_default()
    }

    /// The same in short.
    pub(crate) fn brief(&self, pv: PvId) -> Option<Brief> {
        self.acquired(pv)?.briefs(&[pv]).pop()?
    }

    /// What the record of a PV says of itself, if that is known; asked for if it is not.
    pub fn description(&self, pv: PvId) -> Option<String> {
        self.acquired(pv)?.description(pv, now())
    }

    /// The PV that switches the PVs of a group that has its name.
    pub(crate) fn controlling_pv(&self, groups: &[RuleName]) -> Option<PvName> {
        let [name] = groups else { return None };
        let group = self.listed().behind.rulebook.group(name)?.group;
        let [switch] = group.switches.as_slice() else { return None };
        let is_told = self.sees_name(switch.pv.as_str());
        (is_told && switch.sense == Sense::Enables && switch.pv.as_str() == name.as_str()).then(|| switch.pv.clone())
    }

    /// When a PV was changed last, or added.
    pub(crate) fn last_change(&self, entry: &PvEntry) -> Result<Timestamp, Refusal> {
        self.recorded(entry.id)?;
        Ok(self.listed().last_changes()?.of(entry.id, entry.added))
    }

    /// The number of a PV that there is or was: by its name, or `#` and the number.
    pub(crate) fn number_of(&self, name: &str) -> Result<PvId, Refusal> {
        let number = name.strip_prefix('#').and_then(|number| number.parse().ok()).map(PvId);
        let removed = || {
            let all = self.removed().into_iter();
            let alike: Vec<PvId> =
                all.map(|pv| pv.entry).filter(|pv| pv.name.as_str() == name).map(|pv| pv.id).collect();
            if let [only] = alike.as_slice() { Some(*only) } else { None }
        };
        let present = || self.find(name).map(|entry| entry.id);
        number.or_else(removed).or_else(present).ok_or_else(|| {
            Refusal::unknown_pv(name)
                .hint("several removed PVs of one name are told apart as pv=%23NUMBER; see /api/v1/removed")
        })
    }

    /// All PVs as they stand now.
    pub(crate) fn table_now(&self, with_sizes: bool) -> Result<Arc<Table>, Refusal> {
        let service = self.listed();
        let behind = &service.behind;
        let asked = Asked {
            directory: &*behind.directory,
            standing: &*behind.standing,
            storage: &*behind.storage,
            query: &service.archive_alone,
        };
        service.tables.now(&asked, with_sizes, &self.lease)
    }

    /// Those things whose PVs are seen.
    pub(crate) fn those_seen<T>(&self, mut things: Vec<T>, pv: impl Fn(&T) -> Option<PvId>) -> Vec<T> {
        if !self.sees_all() {
            let pvs: Vec<Option<PvId>> = things.iter().map(&pv).collect();
            let mut entries = self.listed().behind.directory.entries_of(&pvs).into_iter();
            things.retain(|_| entries.next().flatten().is_some_and(|entry| self.sees(&entry)));
        }
        things
    }
}

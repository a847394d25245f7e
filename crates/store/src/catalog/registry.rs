//! The registry: which PVs there are, in memory, so that names are found without touching the disk.
//!
//! A name is one allocation that everybody shares; besides it a PV takes its entry, a place in the hash table and one in the
//! sorted names.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use archive::{
    DataFate, Deletion, Group, Keep, NameKind, Named, Names, PvEntry, PvId, PvName, RemovedPv, RuleName, Touches,
};

use crate::{
    catalog::{
        change::Change,
        deletion::{Deletions, Hidden, Hiding},
    },
    segment::manifest::Manifest,
};

/// What the catalogue has of PVs.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) entries: Vec<PvEntry>,
    pub(crate) aliases: Vec<(PvName, PvId)>,
    pub(crate) removed: Vec<RemovedPv>,
    pub(crate) purging: BTreeSet<PvId>,
    pub(crate) purged: HashSet<PvId>,
    pub(crate) deletions: Vec<Hiding>,
    pub(crate) own: Vec<PvEntry>,
    pub(crate) groups: Vec<Group>,
}

/// All PVs that are to be archived, and what is known of those that were removed.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    /// Names and aliases of PVs that are to be archived.
    by_name: HashMap<PvName, PvId>,
    /// By number; none where there is no such PV (any more).
    entries: Vec<Option<PvEntry>>,
    names: Names,
    aliases: BTreeMap<PvId, Vec<PvName>>,
    removed: BTreeMap<PvId, RemovedPv>,
    /// Of the removed ones those that come back when their name is registered; of equal names the last that was removed.
    kept: HashMap<PvName, PvId>,
    /// Removed for good: a purge was ordered.
    purged: HashSet<PvId>,
    /// Of those the ones whose samples may still be in segments.
    purging: BTreeSet<PvId>,
    /// Ranges that were deleted, by PV.
    deletions: BTreeMap<PvId, Vec<Hiding>>,
    /// Those that the archive keeps for itself: no name leads to them.
    own: BTreeMap<PvId, PvEntry>,
    /// The groups that have switches.
    groups: BTreeMap<RuleName, Group>,
    /// The smallest number never given to a PV.
    next: u32,
    /// Higher after every change.
    version: u64,
    /// Which PVs were changed or described anew, for who keeps something of all of them.
    pub(crate) touches: Touches,
}

impl Registry {
    /// From what the catalogue has, in any order.
    pub(crate) fn new(rows: Rows) -> Registry {
        let mut registry = Registry { purging: rows.purging, ..Registry::default() };
        registry.purged = rows.purged.into_iter().chain(registry.purging.iter().copied()).collect();
        registry.next = registry.purged.iter().map(|pv| pv.0 + 1).max().unwrap_or(0);
        rows.own.into_iter().for_each(|entry| registry.put_own(entry));
        registry.groups = rows.groups.into_iter().map(|group| (group.name.clone(), group)).collect();
        let mut removed = rows.removed;
        removed.sort_by_key(|removed| removed.since);
        removed.into_iter().for_each(|removed| registry.remember(removed));
        let named = |name: &PvName, pv: PvId, kind: NameKind| Named { name: name.clone(), pv, kind };
        let of_aliases = rows.aliases.iter().map(|(alias, pv)| named(alias, *pv, NameKind::Alias));
        let of_pvs = rows.entries.iter().map(|entry| named(&entry.name, entry.id, NameKind::Own));
        let names: Vec<Named> = of_pvs.chain(of_aliases).collect();
        registry.by_name = names.iter().map(|row| (row.name.clone(), row.pv)).collect();
        registry.names = Names::of(names);
        registry.entries.reserve_exact(rows.entries.last().map_or(0, |last| last.id.0 as usize + 1));
        rows.entries.into_iter().for_each(|entry| registry.enter(entry));
        for (alias, pv) in rows.aliases {
            registry.aliases.entry(pv).or_default().push(alias);
        }
        rows.deletions.into_iter().for_each(|deletion| registry.put_deletion(deletion));
        registry
    }

    /// The PVs of which it is said one by one how long they are kept, those that were removed and can come back included.
    pub(crate) fn keeps(&self) -> BTreeMap<Keep, Vec<PvId>> {
        let mut keeps: BTreeMap<Keep, Vec<PvId>> = BTreeMap::new();
        let removed = self.removed.values().map(|removed| &removed.entry);
        for entry in self.entries.iter().flatten().chain(removed) {
            if let Some(keep) = entry.settings.rules().keep {
                keeps.entry(keep).or_default().push(entry.id);
            }
        }
        keeps
    }

    /// By name or alias.
    pub(crate) fn find(&self, name: &str) -> Option<&PvEntry> {
        self.entry(*self.by_name.get(name)?)
    }

    pub(crate) fn entry(&self, pv: PvId) -> Option<&PvEntry> {
        self.entries.get(pv.0 as usize)?.as_ref()
    }

    /// How long it is said of this one PV that it is kept, whether or not it is archived at present.
    pub(crate) fn keep_of(&self, pv: PvId) -> Option<Keep> {
        let entry = self.entry(pv).or_else(|| self.removed.get(&pv).map(|removed| &removed.entry))?;
        entry.settings.rules().keep
    }

    /// All names and aliases in order.
    pub(crate) fn names(&self) -> Names {
        self.names.clone()
    }

    /// The PVs in the order of their names.
    pub(crate) fn entries(&self) -> Vec<PvEntry> {
        let of = |row: &Named| self.entry(row.pv).filter(|entry| entry.name == row.name).cloned();
        self.names.iter().filter_map(of).collect()
    }

    pub(crate) fn aliases(&self, pv: PvId) -> &[PvName] {
        self.aliases.get(&pv).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn all_aliases(&self) -> Vec<(PvName, PvEntry)> {
        let of_one = |(pv, own): (&PvId, &Vec<PvName>)| {
            let entry = self.entry(*pv)?.clone();
            Some(own.iter().map(move |alias| (alias.clone(), entry.clone())).collect::<Vec<_>>())
        };
        self.aliases.iter().filter_map(of_one).flatten().collect()
    }

    pub(crate) fn removed(&self) -> &BTreeMap<PvId, RemovedPv> {
        &self.removed
    }

    /// The PV that comes back when this name is registered.
    pub(crate) fn kept(&self, name: &PvName) -> Option<PvId> {
        self.kept.get(name).copied()
    }

    /// Whether nobody may see its data.
    pub(crate) fn is_deleted(&self, pv: PvId) -> bool {
        self.is_purged(pv) || self.removed.get(&pv).is_some_and(|removed| removed.data == DataFate::Delete)
    }

    /// Whether its data need not be kept.
    pub(crate) fn is_purged(&self, pv: PvId) -> bool {
        self.purged.contains(&pv)
    }

    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    /// Another one after every change.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Takes the place of another.
    pub(crate) fn replace(&mut self, other: Registry) {
        let touches = std::mem::take(&mut self.touches);
        touches.note_all();
        *self = Registry { version: self.version + 1, touches, ..other };
    }

    /// What the catalogue has taken, in the same order.
    pub(crate) fn apply(&mut self, change: &Change) {
        self.version += 1;
        let removed = change.removed.iter().map(|removed| removed.entry.id);
        let of_aliases = change.aliases_added.iter().map(|(_, pv)| *pv);
        let without_aliases = change.aliases_removed.iter().filter_map(|alias| self.by_name.get(alias).copied());
        let touched = removed.chain(change.put.iter().map(|entry| entry.id)).chain(of_aliases).chain(without_aliases);
        touched.for_each(|pv| self.touches.note(pv));
        change.removed.iter().for_each(|removed| self.remove(removed.clone()));
        change.put.iter().for_each(|entry| self.put(entry.clone()));
        change.own.iter().for_each(|entry| self.put_own(entry.clone()));
        change.aliases_removed.iter().for_each(|alias| self.remove_alias(alias));
        change.aliases_added.iter().for_each(|(alias, pv)| self.put_alias(alias.clone(), *pv));
        change.purged.iter().for_each(|entry| self.purge(entry.id));
        change.purge_done.iter().for_each(|pv| _ = self.purging.remove(pv));
        change.deleted.iter().for_each(|deletion| self.put_deletion(deletion.clone()));
        change.undeleted.iter().for_each(|deletion| self.remove_deletion(deletion));
        self.groups.extend(change.groups_set.iter().map(|group| (group.name.clone(), group.clone())));
        change.groups_removed.iter().for_each(|name| _ = self.groups.remove(name));
    }

    /// The groups that have switches.
    pub(crate) fn groups(&self) -> &BTreeMap<RuleName, Group> {
        &self.groups
    }

    /// Adds or changes a PV, or brings it back; a former name is no longer its own.
    fn put(&mut self, entry: PvEntry) {
        if let Some(former) = self.removed.remove(&entry.id) {
            self.forget_kept(&former.entry);
        }
        if let Some(former) = self.entry(entry.id).filter(|former| former.name != entry.name) {
            let former = former.name.clone();
            self.unname(&former);
        }
        self.name(&entry.name, entry.id, NameKind::Own);
        self.enter(entry);
    }

    fn enter(&mut self, entry: PvEntry) {
        let place = entry.id.0 as usize;
        if self.entries.len() <= place {
            self.entries.resize(place + 1, None);
        }
        self.next = self.next.max(entry.id.0 + 1);
        self.entries[place] = Some(entry);
    }

    fn put_own(&mut self, entry: PvEntry) {
        self.next = self.next.max(entry.id.0 + 1);
        self.own.insert(entry.id, entry);
    }

    /// The PVs that the archive keeps for itself.
    pub(crate) fn own(&self) -> &BTreeMap<PvId, PvEntry> {
        &self.own
    }

    /// Lets a name lead to a PV. An alias of it may become its own name.
    fn name(&mut self, name: &PvName, pv: PvId, kind: NameKind) {
        let former =
            if self.entry(pv).is_some_and(|entry| entry.name == *name) { NameKind::Own } else { NameKind::Alias };
        if self.by_name.insert(name.clone(), pv) != Some(pv) || former != kind {
            self.names.insert(Named { name: name.clone(), pv, kind });
        }
    }

    fn unname(&mut self, name: &PvName) {
        self.by_name.remove(name);
        self.names.remove(name);
    }

    fn put_alias(&mut self, alias: PvName, pv: PvId) {
        self.name(&alias, pv, NameKind::Alias);
        self.aliases.entry(pv).or_default().push(alias);
    }

    fn remove_alias(&mut self, alias: &PvName) {
        let Some(pv) = self.by_name.get(alias).copied() else { return };
        let Some(own) = self.aliases.get_mut(&pv) else { return };
        own.retain(|other| other != alias);
        if own.is_empty() {
            self.aliases.remove(&pv);
        }
        if self.entry(pv).is_none_or(|entry| entry.name != *alias) {
            self.unname(alias);
        }
    }

    /// Takes a PV out. One that is out already gets the new fate.
    fn remove(&mut self, removed: RemovedPv) {
        let pv = removed.entry.id;
        if let Some(entry) = self.entries.get_mut(pv.0 as usize).and_then(Option::take) {
            self.unname(&entry.name);
            for alias in self.aliases.remove(&pv).unwrap_or_default() {
                self.unname(&alias);
            }
        }
        self.forget_kept(&removed.entry);
        self.remember(removed);
    }

    fn remember(&mut self, removed: RemovedPv) {
        self.next = self.next.max(removed.entry.id.0 + 1);
        if removed.data == DataFate::Keep {
            self.kept.insert(removed.entry.name.clone(), removed.entry.id);
        }
        self.removed.insert(removed.entry.id, removed);
    }

    fn forget_kept(&mut self, entry: &PvEntry) {
        if self.kept.get(&entry.name) == Some(&entry.id) {
            self.kept.remove(&entry.name);
        }
    }

    /// A removed PV is gone for good.
    fn purge(&mut self, pv: PvId) {
        if let Some(removed) = self.removed.remove(&pv) {
            self.forget_kept(&removed.entry);
        }
        self.deletions.remove(&pv);
        self.purging.insert(pv);
        self.purged.insert(pv);
    }

    /// What a PV is or was called; nothing if it is purged.
    pub(crate) fn name_of(&self, pv: PvId) -> String {
        let removed = self.removed.get(&pv).map(|removed| &removed.entry);
        self.entry(pv).or(removed).map(|entry| entry.name.to_string()).unwrap_or_default()
    }

    /// The purged PVs of which segments may still hold samples.
    pub(crate) fn purging(&self) -> &BTreeSet<PvId> {
        &self.purging
    }

    /// Every range that is deleted and can come back, or is being purged.
    pub(crate) fn deletions(&self) -> impl Iterator<Item = &Hiding> {
        self.deletions.values().flatten()
    }

    fn put_deletion(&mut self, deletion: Hiding) {
        let own = self.deletions.entry(deletion.of.pv).or_default();
        own.retain(|other| other.of.number != deletion.of.number);
        own.push(deletion);
    }

    fn remove_deletion(&mut self, deletion: &Deletion) {
        let Some(own) = self.deletions.get_mut(&deletion.pv) else { return };
        own.retain(|other| other.of.number != deletion.number);
        if own.is_empty() {
            self.deletions.remove(&deletion.pv);
        }
    }

    /// Which ranges of a PV are left out when a segment is written anew.
    pub(crate) fn purged_in(&self, pv: PvId, segment: &Manifest) -> Hidden {
        let own = self.deletions.get(&pv).map_or(&[][..], Vec::as_slice);
        let meant = own.iter().filter(|hiding| hiding.of.is_final && hiding.is_for(segment));
        Hidden::of(meant.map(|hiding| hiding.of.range).collect())
    }

    pub(crate) fn has_deletions(&self, pv: PvId) -> bool {
        self.deletions.contains_key(&pv)
    }

    /// The deletions of a PV, for whoever must go on with those of one moment.
    pub(crate) fn deletions_of(&self, pv: PvId) -> Deletions {
        Deletions::of(self.deletions.get(&pv).map_or(&[], Vec::as_slice))
    }
}

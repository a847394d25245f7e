//! A list of PVs that follows that of another archive, or a part of it: whatever was ordered there becomes one change here.

use std::collections::{HashMap, HashSet};

use archive::{By, DataFate, Mirror, Mirrored, PvEntry, PvId, PvName, RemovedPv};

use super::{given_names::absence, removal};
use crate::{
    Error, Writer,
    catalog::{change::Change, registry::Registry},
};

impl Writer {
    /// Makes the list what that of another archive is; see `Roster`.
    pub fn mirror(&self, list: &Mirror, by: &By) -> Result<Mirrored, Error> {
        self.engine.change(|registry, change| {
            let mut mirroring = Mirroring { registry, change, by, done: Mirrored::default() };
            mirroring.take_out(list);
            mirroring.put(list);
            mirroring.name(list);
            mirroring.untie();
            Ok(mirroring.done)
        })
    }
}

/// A change that makes the list another one.
struct Mirroring<'a> {
    registry: &'a Registry,
    change: &'a mut Change,
    by: &'a By,
    done: Mirrored,
}

impl Mirroring<'_> {
    /// What is not there goes here; what was taken out there gets the fate that it has there.
    fn take_out(&mut self, list: &Mirror) {
        let there: HashSet<PvId> = list.entries.iter().map(|entry| entry.id).collect();
        let removed: HashMap<PvId, &RemovedPv> = list.removed.iter().map(|of| (of.entry.id, of)).collect();
        for entry in self.registry.entries().iter().filter(|entry| !there.contains(&entry.id)) {
            // Of what is not known there any more nobody can tell: it is kept.
            let (data, by) = removed.get(&entry.id).map_or((DataFate::Keep, self.by), |of| (of.data, &of.by));
            self.change.removed.push(RemovedPv { by: by.clone(), ..removal(self.registry, entry, data, self.by) });
            self.done.out.push(entry.id);
        }
        for of in self.registry.removed().values() {
            let Some(other) = removed.get(&of.entry.id).filter(|other| other.data != of.data) else { continue };
            self.change.removed.push(RemovedPv { data: other.data, by: other.by.clone(), ..of.clone() });
            self.done.fates += 1;
        }
    }

    fn put(&mut self, list: &Mirror) {
        for wanted in &list.entries {
            let (present, former) = (self.registry.entry(wanted.id), self.registry.removed().get(&wanted.id));
            let is_so = |entry: &PvEntry| entry.name == wanted.name && entry.settings == wanted.settings;
            if present.is_some_and(is_so) {
                continue;
            }
            if self.registry.own().contains_key(&wanted.id) || self.registry.is_purged(wanted.id) {
                self.done.refused.push(wanted.name.clone());
                continue;
            }
            let holder = self.registry.find(wanted.name.as_str()).map(|holder| holder.id);
            let goes = |holder: PvId| holder == wanted.id || self.done.out.contains(&holder);
            if !holder.is_none_or(goes) {
                self.done.waiting.push(wanted.name.clone());
                continue;
            }
            if holder == Some(wanted.id) && present.is_some_and(|entry| entry.name != wanted.name) {
                self.change.aliases_removed.push(wanted.name.clone()); // its own alias becomes its name
            }
            self.change.gaps.extend(former.and_then(|former| absence(former, self.by.at)));
            let known = present.or(former.map(|former| &former.entry));
            let entry = PvEntry { added: known.map_or(self.by.at, |known| known.added), ..wanted.clone() };
            self.change.put.push(entry.clone());
            self.done.put.push(entry);
        }
    }

    fn name(&mut self, list: &Mirror) {
        let wanted: HashMap<&PvName, PvId> = list.aliases.iter().map(|(alias, pv)| (alias, *pv)).collect();
        for (alias, entry) in self.registry.all_aliases() {
            let is_gone = self.done.out.contains(&entry.id) || self.change.aliases_removed.contains(&alias);
            if !is_gone && wanted.get(&alias) != Some(&entry.id) {
                self.change.aliases_removed.push(alias);
                self.done.aliases += 1;
            }
        }
        for (alias, pv) in &list.aliases {
            let put = self.done.put.iter().find(|entry| entry.id == *pv);
            let Some(entry) = put.or(self.registry.entry(*pv)) else { continue };
            let is_free = match self.registry.find(alias.as_str()) {
                None => self.done.put.iter().all(|entry| entry.name != *alias),
                // It gives up this name in the same change.
                Some(holder) => holder.id == *pv && holder.name == *alias && entry.name != *alias,
            };
            if is_free {
                self.change.aliases_added.push((alias.clone(), *pv));
                self.done.aliases += 1;
            }
        }
    }

    /// PVs that wait for each other's names: one gives up its own, and comes back with the next change.
    fn untie(&mut self) {
        if self.done.is_change() {
            return;
        }
        let Some(waiting) = self.done.waiting.first().and_then(|name| self.registry.find(name.as_str())) else {
            return;
        };
        self.change.removed.push(removal(self.registry, waiting, DataFate::Keep, self.by));
        self.done.out.push(waiting.id);
    }
}

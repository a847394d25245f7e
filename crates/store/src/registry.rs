//! The registry: which PVs there are, in memory, so that names are found without touching the disk.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
};

use sample::{PvEntry, PvId, PvName};

/// All PVs that are to be archived, and what is known of those that were removed.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    by_name: HashMap<PvName, PvId>,
    by_id: HashMap<PvId, PvEntry>,
    /// Removed, with data that comes back when the name is registered again.
    hidden: HashMap<PvName, PvId>,
    hidden_entries: HashMap<PvId, PvEntry>,
    /// Removed, with data that nobody may see again.
    deleted: HashSet<PvId>,
    /// The smallest number never given to a PV.
    next: u32,
    /// Sorted by name; made when asked for, because PVs are often added one by one.
    sorted: Mutex<Option<Arc<[PvEntry]>>>,
}

impl Registry {
    pub(crate) fn new(entries: Vec<PvEntry>, hidden: Vec<PvEntry>, deleted: HashSet<PvId>, next: u32) -> Registry {
        let mut registry = Registry { deleted, next, ..Registry::default() };
        for entry in hidden {
            registry.hidden.insert(entry.name.clone(), entry.id);
            registry.hidden_entries.insert(entry.id, entry);
        }
        entries.into_iter().for_each(|entry| registry.put(entry));
        registry
    }

    pub(crate) fn find(&self, name: &str) -> Option<&PvEntry> {
        let name = PvName::new(name).ok()?;
        self.by_id.get(self.by_name.get(&name)?)
    }

    pub(crate) fn entry(&self, pv: PvId) -> Option<&PvEntry> {
        self.by_id.get(&pv)
    }

    pub(crate) fn entries(&self) -> Arc<[PvEntry]> {
        let mut sorted = self.sorted.lock().expect("no holder of this lock panics");
        sorted
            .get_or_insert_with(|| {
                let mut entries: Vec<PvEntry> = self.by_id.values().cloned().collect();
                entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
                entries.into()
            })
            .clone()
    }

    /// The number that a name had before it was removed.
    pub(crate) fn hidden(&self, name: &PvName) -> Option<PvId> {
        self.hidden.get(name).copied()
    }

    /// The PV that was removed but has its data.
    pub(crate) fn hidden_entry(&self, pv: PvId) -> Option<&PvEntry> {
        self.hidden_entries.get(&pv)
    }

    pub(crate) fn is_deleted(&self, pv: PvId) -> bool {
        self.deleted.contains(&pv)
    }

    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    /// Adds or changes a PV.
    pub(crate) fn put(&mut self, entry: PvEntry) {
        self.hidden.remove(&entry.name).map(|pv| self.hidden_entries.remove(&pv));
        self.next = self.next.max(entry.id.0 + 1);
        self.by_name.insert(entry.name.clone(), entry.id);
        self.by_id.insert(entry.id, entry);
        self.sorted = Mutex::default();
    }

    /// Forgets a PV; its data can come back with the name.
    pub(crate) fn hide(&mut self, pv: PvId) {
        if let Some(entry) = self.by_id.remove(&pv) {
            self.by_name.remove(&entry.name);
            self.hidden.insert(entry.name.clone(), pv);
            self.hidden_entries.insert(pv, entry);
        }
        self.sorted = Mutex::default();
    }

    /// Forgets a PV and its data.
    pub(crate) fn delete(&mut self, pv: PvId) {
        if let Some(entry) = self.by_id.remove(&pv) {
            self.by_name.remove(&entry.name);
        }
        self.hidden.retain(|_, hidden| *hidden != pv);
        self.hidden_entries.remove(&pv);
        self.deleted.insert(pv);
        self.sorted = Mutex::default();
    }
}

//! The writer: takes what acquisition records.

use std::{collections::HashMap, sync::Arc};

use sample::{DataFate, PvEntry, PvId, PvName, PvSettings, Record, Sink, Timestamp};

use crate::{Error, engine::Engine, registry::Registry};

/// Appends records and keeps the list of PVs. Cheap to clone; all clones write to the same log.
#[derive(Clone, Debug)]
pub struct Writer {
    engine: Arc<Engine>,
}

impl Writer {
    pub(crate) fn new(engine: Arc<Engine>) -> Writer {
        Writer { engine }
    }
}

impl Sink for Writer {
    type Error = Error;

    fn register(&self, pvs: &[(PvName, PvSettings)], now: Timestamp) -> Result<Vec<PvEntry>, Error> {
        let _registering = self.engine.registering.lock().expect("no holder of this lock panics");
        let entries = new_entries(&self.engine.registry(), pvs, now);
        self.engine.catalog.put_pvs(&entries)?;
        let mut registry = self.engine.registry_mut();
        entries.iter().for_each(|entry| registry.put(entry.clone()));
        Ok(entries)
    }

    fn remove(&self, pv: PvId, data: DataFate) -> Result<(), Error> {
        let _registering = self.engine.registering.lock().expect("no holder of this lock panics");
        let Some(entry) = self.engine.registry().entry(pv).cloned() else { return Ok(()) };
        self.engine.catalog.remove_pv(&entry, data)?;
        let mut registry = self.engine.registry_mut();
        match data {
            DataFate::Keep => registry.hide(pv),
            DataFate::Delete => registry.delete(pv),
        }
        Ok(())
    }

    fn entries(&self) -> Vec<PvEntry> {
        self.engine.registry().entries().to_vec()
    }

    fn append(&self, records: &[(PvId, Record)], now: Timestamp) -> Result<(), Error> {
        self.engine.append(records, now)
    }
}

/// What the entries are to be: settings as given, numbers and times of those that are known.
fn new_entries(registry: &Registry, pvs: &[(PvName, PvSettings)], now: Timestamp) -> Vec<PvEntry> {
    let mut next = registry.next();
    let mut news: HashMap<&PvName, PvEntry> = HashMap::new();
    let mut entries = Vec::with_capacity(pvs.len());
    for (name, settings) in pvs {
        let known = news.get(name).or_else(|| registry.find(name.as_str()));
        let entry = match known {
            Some(known) => PvEntry { settings: *settings, ..known.clone() },
            None => {
                let id = registry.hidden(name).unwrap_or_else(|| {
                    next += 1;
                    PvId(next - 1)
                });
                PvEntry { id, name: name.clone(), settings: *settings, added: now }
            }
        };
        news.insert(name, entry.clone());
        entries.push(entry);
    }
    entries
}

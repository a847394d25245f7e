//! The writer: takes what acquisition records.

use std::sync::{Arc, atomic::Ordering::Relaxed};

use sample::{DataFate, PvEntry, PvId, PvName, PvSettings, Record, Sink, Timestamp};

use crate::{Error, store::Core};

/// Appends records and keeps the list of PVs. Cheap to clone; all clones write to the same log.
#[derive(Clone, Debug)]
pub struct Writer {
    core: Arc<Core>,
}

impl Writer {
    pub(crate) fn new(core: Arc<Core>) -> Writer {
        Writer { core }
    }
}

impl Sink for Writer {
    type Error = Error;

    fn register(&self, pvs: &[(PvName, PvSettings)], now: Timestamp) -> Result<Vec<PvEntry>, Error> {
        let mut registry = self.core.registry_mut();
        let mut entries = Vec::with_capacity(pvs.len());
        for (name, settings) in pvs {
            let known = registry.find(name.as_str()).cloned();
            let id = known.as_ref().map(|entry| entry.id).or_else(|| registry.hidden(name));
            let entry = PvEntry {
                id: id.unwrap_or(PvId(registry.next())),
                name: name.clone(),
                settings: *settings,
                added: known.map_or(now, |entry| entry.added),
            };
            registry.put(entry.clone());
            entries.push(entry);
        }
        Ok(entries)
    }

    fn remove(&self, pv: PvId, data: DataFate) -> Result<(), Error> {
        let mut registry = self.core.registry_mut();
        match data {
            DataFate::Keep => registry.hide(pv),
            DataFate::Delete => registry.delete(pv),
        }
        Ok(())
    }

    fn entries(&self) -> Vec<PvEntry> {
        self.core.registry().entries().to_vec()
    }

    fn append(&self, records: &[(PvId, Record)], _now: Timestamp) -> Result<(), Error> {
        let next = self.core.registry().next();
        if let Some((pv, _)) = records.iter().find(|(pv, _)| pv.0 >= next) {
            return Err(Error::UnknownPv { pv: *pv });
        }
        let _ingest = self.core.ingest.lock().expect("no holder of this lock panics");
        let snapshot = self.core.snapshot();
        let head = snapshot.heads.last().expect("there is always a head to write to");
        for (pv, record) in records {
            if let Record::Samples(batch) = record {
                self.core.counters.appended.fetch_add(batch.len() as u64, Relaxed);
            }
            head.append(*pv, record);
        }
        Ok(())
    }
}

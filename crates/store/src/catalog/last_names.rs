//! The names in segments: what a segment tells of its PVs besides their samples. One flush after the other has the same PVs, so
//! the table is made anew only when they are others, or when anything about any PV has changed.

use std::sync::{Arc, Mutex};

use sample::PvId;

use crate::{
    catalog,
    engine::Engine,
    segment::{Named, names_bytes},
};

/// The table that was made last.
#[derive(Debug, Default)]
pub(crate) struct LastNames(Mutex<Option<Made>>);

#[derive(Debug)]
struct Made {
    /// Of the registry when it was made.
    version: u64,
    pvs: Vec<PvId>,
    table: Arc<[u8]>,
}

impl Engine {
    /// The table of names of these PVs, as it stands in a segment.
    pub(crate) fn names_of(&self, pvs: &[PvId]) -> Arc<[u8]> {
        let mut last = self.last_names.0.lock().expect("no holder of this lock panics");
        let version = self.registry().version();
        if let Some(made) = last.as_ref().filter(|made| made.version == version && made.pvs == pvs) {
            return made.table.clone();
        }
        let named: Vec<Named> = pvs.iter().filter_map(|pv| self.named(*pv)).collect();
        let table: Arc<[u8]> = names_bytes(&named).into();
        // What changes meanwhile has a higher version.
        *last = Some(Made { version, pvs: pvs.to_vec(), table: table.clone() });
        table
    }

    /// What a segment keeps of a PV besides its samples.
    pub(crate) fn named(&self, pv: PvId) -> Option<Named> {
        let registry = self.registry();
        let (name, row) = match registry.entry(pv) {
            Some(entry) => (&entry.name, catalog::archived_bytes(entry)),
            None => match registry.own().get(&pv) {
                Some(own) => (&own.name, catalog::own_bytes(own)),
                None => {
                    let removed = registry.removed().get(&pv)?;
                    (&removed.entry.name, catalog::removed_bytes(removed))
                }
            },
        };
        Some(Named { pv, name: name.clone(), row })
    }
}

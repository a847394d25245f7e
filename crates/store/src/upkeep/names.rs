//! The names that a segment carries: what it tells of its PVs besides their samples.

use std::sync::Arc;

use archive::PvId;

use crate::{
    catalog,
    engine::Engine,
    segment::{Named, names_bytes},
};

impl Engine {
    /// The table of names of these PVs, as it stands in a segment.
    pub(crate) fn names_of(&self, pvs: &[PvId]) -> Arc<[u8]> {
        let made = || {
            let named: Vec<Named> = pvs.iter().filter_map(|pv| self.named(*pv)).collect();
            names_bytes(&named).into()
        };
        self.last_names.table(|| self.registry().version(), pvs, made)
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

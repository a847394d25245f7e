//! The names in segments: what a segment tells of its PVs besides their samples. One flush after the other has the same PVs, so
//! the table is made anew only when they are others, or when anything about any PV has changed.

use std::sync::{Arc, Mutex};

use archive::PvId;

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

impl LastNames {
    /// The table of these PVs at a version of the registry: the last one, or one that is made now. What changes meanwhile has a higher
    /// version.
    pub(crate) fn table(&self, version: impl Fn() -> u64, pvs: &[PvId], make: impl FnOnce() -> Arc<[u8]>) -> Arc<[u8]> {
        let mut last = self.0.lock().expect("no holder of this lock panics");
        let version = version();
        if let Some(made) = last.as_ref().filter(|made| made.version == version && made.pvs == pvs) {
            return made.table.clone();
        }
        let table = make();
        *last = Some(Made { version, pvs: pvs.to_vec(), table: table.clone() });
        table
    }
}

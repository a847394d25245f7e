//! A series: a PV, or one field of a PV whose values are structures; what one line of a plot shows.

use std::sync::Arc;

use archive::PvId;

/// Whose samples: a PV's, or those of one field where its values are structures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// The PV.
    pub pv: PvId,
    /// The names of the fields that lead to the one that is wanted, with dots between them; none for whole values.
    pub field: Option<Arc<str>>,
}

impl From<PvId> for Series {
    fn from(pv: PvId) -> Series {
        Series { pv, field: None }
    }
}

//! What became of each PV of an order over many, done or only said beforehand.

use serde::Serialize;
use service::Carry;

use crate::url::Params;

/// The most PVs that one request may add.
pub(crate) const ADD_MAX: usize = 100_000;

/// `plan=true` says what an order would do.
pub(super) fn carry(query: &Params) -> Carry {
    if query.switch("plan") { Carry::Plan } else { Carry::Out }
}

/// What became of each PV of a list, in its order. As values of JSON those of 25,000 would be 30 MB.
#[derive(Serialize)]
pub(super) struct AllTold {
    /// Of how many something was changed, or would be.
    changes: usize,
    /// Whether nothing was changed.
    plan: bool,
    pvs: Vec<Told>,
}

impl AllTold {
    pub(super) fn of(pvs: Vec<Told>, carry: Carry) -> AllTold {
        let is_change = |told: &&Told| CHANGES.contains(&told.status);
        AllTold { changes: pvs.iter().filter(is_change).count(), plan: carry == Carry::Plan, pvs }
    }
}

/// What becomes of PVs of which something is changed.
const CHANGES: [&str; 6] = ["added", "changed", "paused", "resumed", "removed", "restored"];

#[derive(Serialize)]
pub(super) struct Told {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<String>,
    pub(super) name: String,
    pub(super) status: &'static str,
}

impl Told {
    pub(super) fn refused(name: String, why: &str) -> Told {
        Told { message: Some(why.to_owned()), name, status: "refused" }
    }
}

//! The members of a JSON object that say what an answer lacks.

use archive::Unanswered;
use serde_json::{Value, json};

/// The parts of the archive for which nobody answers; none if there are none.
pub(crate) fn parts(parts: &[Unanswered]) -> Option<(String, Value)> {
    let part = |of: &Unanswered| json!({ "part": of.part, "names": of.names, "why": of.why });
    let parts: Vec<_> = parts.iter().map(part).collect();
    (!parts.is_empty()).then(|| ("incomplete".to_owned(), parts.into()))
}

/// The PVs that were asked for and of which nothing is said, each with the reason; none if there are none.
pub(crate) fn pvs(untold: &[(String, String)]) -> Option<(String, Value)> {
    let row = |(pv, why): &(String, String)| json!({ "pv": pv, "why": why });
    let rows: Vec<_> = untold.iter().map(row).collect();
    (!rows.is_empty()).then(|| ("unanswered".to_owned(), rows.into()))
}

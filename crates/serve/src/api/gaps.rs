//! `GET /api/v1/pvs/{pv}/gaps` and `…/metadata`: where there are no samples and why, and what the numbers mean.

use sample::{Gap, Timestamp};
use serde_json::{Value, json};
use store::GapScope;

use crate::{
    answer::{Answer, json},
    call::Call,
    formats::metadata::as_json,
};

/// `GET /pvs/{pv}/gaps`
pub(crate) fn list(call: &Call) -> Answer {
    let ((entry, series), range) = (call.pv_or_field()?, call.range()?);
    let gaps = call.app.query.gaps(&series, range)?;
    let rows: Vec<Value> = gaps.iter().map(|(scope, gap)| row(*scope, gap)).collect();
    json(&json!({ "pv": entry.name.as_str(), "gaps": rows }))
}

fn row(scope: GapScope, gap: &Gap) -> Value {
    json!({
        "from": gap.from.to_string(),
        "to": gap.to.map(|to| to.to_string()),
        "from_seconds": gap.from.seconds_f64(),
        "to_seconds": gap.to.map(Timestamp::seconds_f64),
        "cause": gap.cause.name(),
        "lost": gap.lost,
        "scope": match scope {
            GapScope::Pv => "pv",
            GapScope::Archiver => "archiver",
        },
    })
}

/// `GET /pvs/{pv}/metadata`
pub(crate) fn metadata(call: &Call) -> Answer {
    let (entry, range) = (call.pv()?, call.range()?);
    let history = call.app.query.metadata(entry.id, range)?;
    let rows: Vec<Value> = history.iter().map(|(since, metadata)| as_json(*since, metadata)).collect();
    json(&json!({ "pv": entry.name.as_str(), "metadata": rows }))
}

//! `GET /api/v1/slow`: the requests of the last day that took longest.

use serde_json::{Value, json};
use service::now;

use crate::{
    call::Call,
    delivery::answer::{Answer, json},
    slow::SlowRequest,
};

/// So many are kept at most.
const LIMIT_MAX: usize = 250;

/// `GET /slow`
pub(crate) fn list(call: &Call) -> Answer {
    // They name PVs.
    call.ask.needs_all(archive::Right::Read)?;
    let told = call.app.slow.told(now(), call.query.limit(LIMIT_MAX)?);
    json(&json!({ "slow": told.iter().map(row).collect::<Vec<_>>() }))
}

fn row(of: &SlowRequest) -> Value {
    json!({
        "time": of.at.to_string(),
        "seconds": of.took.as_secs_f64(),
        "who": of.who,
        "what": of.what,
        "rows": of.rows,
    })
}

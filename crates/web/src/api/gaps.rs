//! `GET /api/v1/pvs/{pv}/gaps` and `…/metadata`: where there are no samples and why, and what the numbers mean.

use archive::GapScope;
use archive::PvEntry;
use sample::{Gap, Timestamp};
use serde_json::{Map, Value, json};

use crate::{
    call::Call,
    delivery::answer::Answer,
    formats::{list::Frame, metadata::as_json},
};

/// What a gap takes until it is sent, and what metadata does.
const GAP_BYTES: usize = 128;
const METADATA_BYTES: usize = 1024;

/// `GET /pvs/{pv}/gaps`
pub(crate) fn list(call: &Call) -> Answer {
    let ((entry, series), range) = (call.pv_or_field()?, call.query.range()?);
    let gaps = call.ask.gaps(&series, range)?;
    call.ask.lease.grow_by(gaps.len(), GAP_BYTES)?;
    let rows = gaps.into_iter().map(|(scope, gap)| Ok(Some(row(scope, &gap))));
    call.rows(Frame::member("gaps", &of(&entry))?, rows)
}

pub(super) fn row(scope: GapScope, gap: &Gap) -> Value {
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
    let (entry, range) = (call.pv()?, call.query.range()?);
    let history = call.ask.metadata(entry.id, range)?;
    call.ask.lease.grow_by(history.len(), METADATA_BYTES)?;
    let rows = history.into_iter().map(|(since, metadata)| Ok(Some(as_json(since, &metadata))));
    call.rows(Frame::member("metadata", &of(&entry))?, rows)
}

fn of(entry: &PvEntry) -> Map<String, Value> {
    Map::from_iter([("pv".to_owned(), entry.name.as_str().into())])
}

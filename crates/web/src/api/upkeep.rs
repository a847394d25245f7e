//! `GET /api/v1/upkeep`: how long what is kept, what goes next, and which backups the archive was told of.

use archive::{BackupMade, KeptPvs, RuleName};
use serde_json::{Value, json};
use service::Retained;

use crate::{
    call::Call,
    delivery::answer::{Answer, json},
};

/// `GET /upkeep`
pub(crate) fn show(call: &Call) -> Answer {
    let backups = call.ask.backups()?;
    json(&json!({
        "retention": call.ask.retention().iter().map(kept).collect::<Vec<_>>(),
        "backups": backups.iter().map(backup).collect::<Vec<_>>(),
    }))
}

fn kept(of: &Retained) -> Value {
    let (what, rule, pvs) = match &of.pvs {
        KeptPvs::WithSetting(pvs) => ("setting", None, Some(pvs)),
        KeptPvs::Rule(names) => ("rule", Some(names), None),
        KeptPvs::Others => ("others", None, None),
    };
    json!({
        "of": what,
        "rule": rule,
        "pvs": pvs,
        "policies": of.policies.iter().map(RuleName::as_str).collect::<Vec<_>>(),
        "keep_seconds": of.keep.map(|keep| keep.as_secs()),
        "next": of.next.as_ref().map(|next| json!({ "week": next.week, "at": next.at.to_string() })),
    })
}

fn backup(of: &BackupMade) -> Value {
    json!({ "at": of.at.to_string(), "to": of.to, "bytes": of.bytes, "whole": of.is_whole })
}

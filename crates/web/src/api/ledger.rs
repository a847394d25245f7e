//! `GET /api/v1/pvs/{pv}/ledger` and `…/explain`: what became of every update, and why there is no data.

use archive::PvEntry;
use sample::{TimeRange, Timestamp};
use serde_json::{Value, json};
use service::{Counter, Explanation, LedgerAnswer, Reason, Step, now};

use crate::{
    call::Call,
    delivery::answer::{Answer, json},
    formats::{counts::account, list::Frame},
    refusal::Code,
};

const MINUTE: u64 = 60;

/// `GET /pvs/{pv}/ledger`
pub(crate) fn show(call: &Call) -> Answer {
    let (entry, range) = (call.pv()?, call.query.range()?);
    let seconds: u64 = call.query.number("step")?.unwrap_or(MINUTE);
    let LedgerAnswer { steps, total } = call.ask.ledger(&entry, range, seconds)?;
    let head = [
        ("pv", entry.name.as_str().into()),
        ("from", range.t0.to_string().into()),
        ("to", range.t1.to_string().into()),
        ("step", seconds.into()),
        ("total", account(&total.account)),
        ("covered_seconds", seconds_of(total.covered).into()),
    ];
    let head = head.map(|(name, value): (&str, Value)| (name.to_owned(), value)).into_iter().collect();
    let rows = steps.into_iter().map(|(at, step)| Ok((step.covered > 0).then(|| row(at, &step))));
    call.rows(Frame::member("steps", &head)?, rows)
}

fn row(from: Timestamp, step: &Step) -> Value {
    let mut row = account(&step.account);
    row["from"] = from.to_string().into();
    row["from_seconds"] = from.seconds_f64().into();
    row["covered_seconds"] = seconds_of(step.covered).into();
    row["origin"] = match (step.incomplete, step.rebuilt) {
        (true, _) => "rebuilt_in_part",
        (_, true) => "rebuilt",
        _ => "counted",
    }
    .into();
    row
}

fn seconds_of(nanos: i64) -> f64 {
    nanos as f64 / 1e9
}

/// `GET /pvs/{pv}/explain`
pub(crate) fn explain(call: &Call) -> Answer {
    let ((entry, series), range) = (call.pv_or_field()?, call.query.range()?);
    let range = TimeRange { t0: range.t0, t1: range.t1.min(now()).max(range.t0) };
    let counter = match call.query.word("proof", &["auto", "counter", "pulse"], Code::BadRequest)? {
        "counter" => Some(Counter::Value),
        "pulse" => Some(Counter::Pulse),
        _ => None,
    };
    let known = call.ask.explain(&entry, series.field.as_deref(), range, counter)?;
    json(&explanation(&entry, range, counter, &known))
}

fn explanation(entry: &PvEntry, range: TimeRange, counter: Option<Counter>, known: &Explanation) -> Value {
    json!({
        "pv": entry.name.as_str(),
        "from": range.t0.to_string(),
        "to": range.t1.to_string(),
        "samples": known.samples,
        "complete": known.verdict.name(),
        "text": known.text,
        "reasons": known.reasons.iter().map(reason).collect::<Vec<_>>(),
        "account": account(&known.told.account),
        "covered_seconds": seconds_of(known.told.covered),
        "proof": known.proof.as_ref().map(|proof| json!({
            "by": if counter == Some(Counter::Value) { "counter" } else { "pulse" },
            "samples": proof.samples,
            "missing": proof.missing,
            "restarts": proof.restarts,
            "whole": proof.whole,
        })),
        "now": known.status.as_ref().map(|status| json!({
            "connection": status.connection.name(),
            "since": status.since.to_string(),
            "server": status.server.as_ref().map(|server| server.to_string()),
            "refusal": status.refusal,
        })),
    })
}

fn reason(reason: &Reason) -> Value {
    json!({
        "kind": reason.kind,
        "from": reason.from.to_string(),
        "to": reason.to.to_string(),
        "from_seconds": reason.from.seconds_f64(),
        "to_seconds": reason.to.seconds_f64(),
        "lost": reason.lost,
        "text": reason.text,
    })
}

//! `GET /api/v1/pvs/{pv}/ledger` and `…/explain`: what became of every update, and why there is no data.

use std::time::Duration;

use archive::ledger::Account;
use sample::{TimeRange, Timestamp};
use serde_json::Value;

use crate::{
    answer::{Answer, json},
    app::now,
    call::Call,
    explain,
    formats::list::{Frame, json_rows},
    ledger::{Ledger, Step, account},
    proof::Counter,
    refusal::{Code, Refusal},
};

const MINUTE: u64 = 60;

/// What a step takes until it is sent.
const STEP_BYTES: usize = 256;

/// More steps are not answered.
const STEPS_MAX: i64 = 100_000;

/// `GET /pvs/{pv}/ledger`
pub(crate) fn show(call: &Call) -> Answer {
    let (entry, range) = (call.pv()?, call.range()?);
    let seconds: u64 = call.number("step")?.unwrap_or(MINUTE);
    let step = Duration::from_secs(seconds).as_nanos();
    let step = i64::try_from(step).ok().filter(|_| seconds > 0 && seconds.is_multiple_of(MINUTE)).ok_or_else(|| {
        Refusal::new(Code::BadRequest, format!("step is {seconds}, expected seconds that are whole minutes"))
    })?;
    let count = (range.t1.nanos().saturating_sub(range.t0.nanos())) / step;
    if count > STEPS_MAX {
        let message = format!("the range has {count} steps, at most {STEPS_MAX} are answered");
        return Err(Refusal::new(Code::TooLarge, message).hint("ask for a longer step"));
    }
    call.lease.grow_by(usize::try_from(count).unwrap_or(0), STEP_BYTES)?;
    let open = call.app.control.open_account(entry.id);
    let until = open.map_or(Timestamp::MAX, |(since, _)| since);
    let mut steps = Ledger { reader: &call.app.reader, pv: entry.id, until }.steps(range, step)?;
    if let Some(open) = open {
        add_open_minute(open, &mut steps, step);
    }
    let mut total = Step::default();
    for (_, step) in &steps {
        total.account += step.account;
        total.covered += step.covered;
    }
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
    json_rows(call, Frame::member("steps", &head)?, rows)
}

/// What has been counted since the last row.
fn add_open_minute((since, open): (Timestamp, Account), steps: &mut [(Timestamp, Step)], step: i64) {
    let now = now();
    for (from, at) in steps {
        let until = Timestamp::from_nanos(from.nanos().saturating_add(step));
        if (*from..until).contains(&since) {
            at.account += open;
            at.covered += (now.nanos() - since.nanos()).max(1);
        }
    }
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
    let ((entry, series), range) = (call.pv_or_field()?, call.range()?);
    let range = TimeRange { t0: range.t0, t1: range.t1.min(now()).max(range.t0) };
    let counter = match call.word("proof", &["auto", "counter", "pulse"], Code::BadRequest)? {
        "counter" => Some(Counter::Value),
        "pulse" => Some(Counter::Pulse),
        _ => None,
    };
    json(&explain::explain(&call.app, &entry, series.field.as_deref(), range, counter)?)
}

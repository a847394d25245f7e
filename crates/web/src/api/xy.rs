//! `/api/v1/xy`: what two expressions were at the same time, as pairs.

use std::time::Duration;

use analysis::{Pairs, PairsBy};
use sample::TimeRange;
use serde_json::{Map, Value, json};
use service::PairsWanted;

use super::{aligned::PULSE_TOLERANCE, computed::number, when::units};
use crate::{
    call::Call,
    delivery::answer::Answer,
    formats::table::{Table, TableColumn},
    refusal::{Code, Refusal},
    url::Params,
};

/// So many pairs are made if nothing else is said.
const LIMIT: usize = 100_000;

/// `GET` or `POST /xy`
pub(crate) fn show(call: &Call) -> Answer {
    let ([x, y], range) = (expressions(call)?, call.query.range()?);
    let format = call.query.word("format", &["json", "csv", "arrow"], Code::UnknownFormat)?;
    let limit: Option<usize> = call.query.number("limit")?;
    let wanted = PairsWanted { x, y, by: by(&call.query)?, limit: limit.unwrap_or(LIMIT) };
    let (pairs, units) = call.ask.pairs(&wanted, range, units(&call.query)?)?;
    if let Some(until) = pairs.until.filter(|_| format == "csv" && limit.is_none()) {
        let message = format!("there are more than {LIMIT} pairs, and this format has no place to tell that");
        let hint = format!("raise limit=, take json or arrow, or go on from {until}; by=mean&step= makes fewer");
        return Err(Refusal::new(Code::TooLarge, message).hint(hint));
    }
    let facts = facts(&wanted, range, &pairs, units);
    let Pairs { times, x, y, .. } = pairs;
    let columns =
        vec![("time", TableColumn::Times(times)), ("x", TableColumn::Numbers(x)), ("y", TableColumn::Numbers(y))];
    call.table(Table { facts, rows_are: "pairs", columns }, format)
}

/// Both in the URL, or in the body of a POST as JSON.
fn expressions(call: &Call) -> Result<[String; 2], Refusal> {
    if call.body.is_empty() {
        return Ok([call.query.needed("x")?.to_owned(), call.query.needed("y")?.to_owned()]);
    }
    let unread = |why: &str| {
        let message = format!("the body is no pair of expressions: {why}");
        Refusal::new(Code::BadRequest, message).hint(r#"{"x":"SR:CURRENT","y":"2 * SR:VAC"}"#)
    };
    let body: Value = serde_json::from_slice(&call.body).map_err(|error| unread(&error.to_string()))?;
    let text = |name: &str| {
        body[name].as_str().map(str::to_owned).ok_or_else(|| unread(&format!("it has no text called {name}")))
    };
    Ok([text("x")?, text("y")?])
}

fn by(query: &Params) -> Result<PairsBy, Refusal> {
    let by = query.word("by", &["last", "stamp", "grid", "mean", "pulse"], Code::BadRequest)?;
    let takes = match by {
        "grid" | "mean" => Some("step"),
        "pulse" => Some("tolerance"),
        _ => None,
    };
    if let Some(other) =
        ["step", "tolerance"].into_iter().find(|name| takes != Some(*name) && query.get(name).is_some())
    {
        return Err(Refusal::new(Code::BadRequest, format!("by={by} takes no {other}=")));
    }
    Ok(match by {
        "stamp" => PairsBy::Stamp,
        "grid" => PairsBy::Grid(needed_step(query)?),
        "mean" => PairsBy::Mean(needed_step(query)?),
        "pulse" => {
            let tolerance =
                nanos(query, "tolerance")?.map_or(PULSE_TOLERANCE, |nanos| Duration::from_nanos(nanos as u64));
            PairsBy::Pulse(tolerance)
        }
        _ => PairsBy::Last,
    })
}

fn needed_step(query: &Params) -> Result<i64, Refusal> {
    let missing = || Refusal::new(Code::BadRequest, "step= is missing, the seconds from one time to the next");
    nanos(query, "step")?.ok_or_else(missing)
}

/// A length of time in seconds, as nanoseconds, at least one.
pub(crate) fn nanos(query: &Params, name: &str) -> Result<Option<i64>, Refusal> {
    let Some(seconds) = query.number::<f64>(name)? else { return Ok(None) };
    let nanos = (seconds * 1e9).round();
    if !(nanos >= 1.0 && nanos < (i64::MAX / 4) as f64) {
        let message = format!("{name} is {seconds:?}, expected seconds, at least 1e-9");
        return Err(Refusal::new(Code::BadRequest, message));
    }
    Ok(Some(nanos as i64))
}

fn facts(wanted: &PairsWanted, range: TimeRange, pairs: &Pairs, [x, y]: [Option<String>; 2]) -> Map<String, Value> {
    let (by, step) = match wanted.by {
        PairsBy::Last => ("last", None),
        PairsBy::Stamp => ("stamp", None),
        PairsBy::Grid(step) => ("grid", Some(step)),
        PairsBy::Mean(step) => ("mean", Some(step)),
        PairsBy::Pulse(_) => ("pulse", None),
    };
    let count = pairs.times.len();
    let made_of = match pairs.by_summaries {
        0 => "samples",
        told if told == count && pairs.read == 0 => "summaries",
        _ => "both",
    };
    let facts = json!({
        "x": wanted.x,
        "y": wanted.y,
        "from": range.t0.to_string(),
        "to": range.t1.to_string(),
        "by": by,
        "step": step.map(|nanos| nanos as f64 / 1e9),
        "units": { "x": x, "y": y },
        "count": count,
        "unpaired": pairs.unpaired,
        "until": pairs.until.map(|until| until.to_string()),
        "correlation": number(pairs.correlation),
        "slope": number(pairs.slope),
        "intercept": number(pairs.intercept),
        "made_of": made_of,
        "read": pairs.read,
        "damage": pairs.damage,
    });
    if let Value::Object(facts) = facts { facts } else { Map::new() }
}

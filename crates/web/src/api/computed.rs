//! `/api/v1/formula` and `/api/v1/stats`: what an expression over PVs comes to in a range.

use std::iter;

use analysis::{FormulaBin, Results, Statistics, StatisticsWanted, Wants};
use sample::{TimeRange, Timestamp};
use serde_json::{Map, Value, json};
use service::{FormulaSteps, shortened};

use super::when::{expression, units};
use crate::{
    call::Call,
    delivery::answer::{self, Answer, CSV, JSON},
    formats::{
        array_steps::{ArrayStepsArrow, ArrayStepsCsv, ArrayStepsJson, Giving},
        arrow,
        list::Frame,
        table::{Table, TableColumn},
        value::put_cell,
    },
    refusal::{Code, Refusal},
    url::Params,
};

const FORMATS: [&str; 2] = ["json", "csv"];
/// So many steps are made at a time.
const STEPS_AT_ONCE: usize = 1000;
/// What a step takes while steps are put together for an Arrow stream.
const STEP_BYTES: usize = 64;
/// So many steps are given if nothing else is said.
const LIMIT: usize = 100_000;

/// `GET` or `POST /formula`
pub(crate) fn formula(call: &Call) -> Answer {
    let (text, range) = (expression(call)?, call.query.range()?);
    let format = call.query.word("format", &["json", "csv", "arrow"], Code::UnknownFormat)?;
    let with_extremes = call.query.word("extremes", &["false", "true"], Code::BadRequest)? == "true";
    let wants = if with_extremes { Wants::Extremes } else { Wants::Mean };
    match call.query.number("bins")? {
        Some(count) => bins(call, text, range, (count, wants), format),
        None => steps(call, text, range, format),
    }
}

/// What is said of an answer to an expression.
pub(crate) fn head(text: String, range: TimeRange, units: Option<String>) -> Map<String, Value> {
    let TimeRange { t0, t1 } = range;
    let members = [
        ("expression", text.into()),
        ("from", t0.to_string().into()),
        ("to", t1.to_string().into()),
        ("units", units.into()),
    ];
    members.map(|(name, value)| (name.to_owned(), value)).into_iter().collect()
}

fn bins(call: &Call, text: String, range: TimeRange, (count, wants): (usize, Wants), format: &str) -> Answer {
    let (bins, units) = call.ask.formula_bins(&text, range, units(&call.query)?, count, wants)?;
    if format == "arrow" {
        let bins = bins.collect::<Result<Vec<FormulaBin>, _>>().map_err(Refusal::from)?;
        return call.table(table_of_bins(&bins, head(text, range, units)), format);
    }
    let rows = bins.map(|bin| bin.map(Some).map_err(Refusal::from));
    if format == "csv" {
        let heading = if wants == Wants::Extremes {
            "start,end,mean,min,max,covered,made_of\n"
        } else {
            "start,end,mean,covered,made_of\n"
        };
        return call.list(CSV, Frame::headed(heading), rows, |out, bin| {
            put_csv(out, &bin);
            Ok(())
        });
    }
    call.rows(Frame::member("bins", &head(text, range, units))?, rows.map(|row| row.map(|bin| bin.map(as_json))))
}

fn table_of_bins(bins: &[FormulaBin], facts: Map<String, Value>) -> Table {
    let times = |of: fn(&FormulaBin) -> Timestamp| TableColumn::Times(bins.iter().map(of).collect());
    let numbers = |of: fn(&FormulaBin) -> f64| TableColumn::Numbers(bins.iter().map(of).collect());
    let mut columns =
        vec![("start", times(|bin| bin.t0)), ("end", times(|bin| bin.t1)), ("mean", numbers(|bin| bin.mean))];
    if bins.iter().any(|bin| bin.extremes.is_some()) {
        columns.push(("min", numbers(|bin| bin.extremes.map_or(f64::NAN, |(min, _)| min))));
        columns.push(("max", numbers(|bin| bin.extremes.map_or(f64::NAN, |(_, max)| max))));
    }
    columns.push(("covered", numbers(|bin| bin.covered as f64 / 1e9)));
    columns.push(("made_of", TableColumn::Words(bins.iter().map(|bin| bin.made_of.name()).collect())));
    Table { facts, rows_are: "bins", columns }
}

fn put_csv(out: &mut Vec<u8>, bin: &FormulaBin) {
    out.extend_from_slice(format!("{},{}", bin.t0, bin.t1).as_bytes());
    let extremes = bin.extremes.into_iter().flat_map(|(min, max)| [min, max]);
    for number in iter::once(bin.mean).chain(extremes).chain([bin.covered as f64 / 1e9]) {
        out.push(b',');
        put_cell(out, number);
    }
    out.extend_from_slice(format!(",{}\n", bin.made_of.name()).as_bytes());
}

fn as_json(bin: FormulaBin) -> Value {
    let mut row = json!({
        "start": bin.t0.to_string(),
        "end": bin.t1.to_string(),
        "mean": number(bin.mean),
        "covered": bin.covered as f64 / 1e9,
        "made_of": bin.made_of.name(),
    });
    if let Some((min, max)) = bin.extremes {
        (row["min"], row["max"]) = (number(min), number(max));
    }
    row
}

/// NaN, which here means that there is no number, as null; infinities as texts.
pub(crate) fn number(number: f64) -> Value {
    match number {
        _ if number.is_nan() => Value::Null,
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        _ => number.into(),
    }
}

/// Each time at which the result changes, up to a number of them.
fn steps(call: &Call, text: String, range: TimeRange, format: &str) -> Answer {
    let limit = call.query.number("limit")?;
    let (steps, units) = call.ask.formula_steps(&text, range, units(&call.query)?)?;
    let facts = head(text, range, units);
    match steps {
        FormulaSteps::Numbers(results) => number_steps(call, *results, facts, limit.unwrap_or(LIMIT), format),
        FormulaSteps::Arrays(steps) => {
            let giving = Giving::new(*steps, facts, limit);
            match format {
                "csv" => call.chunks(CSV, ArrayStepsCsv::new(giving)),
                "arrow" => call.chunks(arrow::CONTENT_TYPE, ArrayStepsArrow::new(giving)?),
                _ => call.chunks(JSON, ArrayStepsJson::new(giving)),
            }
        }
    }
}

fn number_steps(call: &Call, mut results: Results, facts: Map<String, Value>, limit: usize, format: &str) -> Answer {
    if format == "arrow" {
        let (mut times, mut numbers) = (Vec::new(), Vec::new());
        while times.len() < limit {
            let Some(some) = results.steps(STEPS_AT_ONCE.min(limit - times.len())).map_err(Refusal::from)? else {
                break;
            };
            call.ask.lease.grow_by(some.len(), STEP_BYTES)?;
            times.extend(some.iter().map(|(time, _)| *time));
            numbers.extend(some.iter().map(|(_, number)| *number));
        }
        let columns = vec![("time", TableColumn::Times(times)), ("value", TableColumn::Numbers(numbers))];
        return call.table(Table { facts, rows_are: "steps", columns }, format);
    }
    let (mut left, mut steps) = (limit, Vec::new().into_iter());
    let rows = iter::from_fn(move || {
        left = left.checked_sub(1)?;
        loop {
            if let Some(step) = steps.next() {
                return Some(Ok(Some(step)));
            }
            match results.steps(STEPS_AT_ONCE) {
                Ok(more) => steps = more?.into_iter(),
                Err(error) => return Some(Err(Refusal::from(error))),
            }
        }
    });
    if format == "csv" {
        return call.list(CSV, Frame::headed("time,value\n"), rows, |out, (time, number)| {
            out.extend_from_slice(format!("{time},").as_bytes());
            put_cell(out, number);
            out.push(b'\n');
            Ok(())
        });
    }
    let row = |(time, value): (Timestamp, f64)| json!({ "time": time.to_string(), "value": number(value) });
    let rows = rows.map(move |found: Result<_, Refusal>| found.map(|step| step.map(row)));
    call.rows(Frame::member("steps", &facts)?, rows)
}

/// `GET` or `POST /stats`
pub(crate) fn stats(call: &Call) -> Answer {
    let (text, range) = (expression(call)?, call.query.range()?);
    let format = call.query.word("format", &FORMATS, Code::UnknownFormat)?;
    let wanted = StatisticsWanted {
        percentiles: percentiles(&call.query)?,
        above: above(&call.query)?,
        histogram: call.query.number("histogram")?.unwrap_or(0),
    };
    let (found, units) = call.ask.statistics(&text, range, units(&call.query)?, wanted)?;
    let mut facts = head(text, range, units);
    facts.extend(as_facts(&found));
    match format {
        "csv" => Ok(answer::whole(CSV, csv(&found))),
        _ => Ok(answer::whole(JSON, Value::Object(facts).to_string())),
    }
}

/// The limit above which times are added up; any number but NaN, beside which nothing lies.
fn above(query: &Params) -> Result<Option<f64>, Refusal> {
    let Some(given) = query.get("above") else { return Ok(None) };
    let number = given.parse().ok().filter(|number: &f64| !number.is_nan());
    let refusal = || Refusal::new(Code::BadRequest, format!("above is {:?}, expected a number", shortened(given)));
    number.map(Some).ok_or_else(refusal)
}

/// `5,50,95`
fn percentiles(query: &Params) -> Result<Vec<f64>, Refusal> {
    let given = query.get("percentiles").unwrap_or("5,50,95");
    let read = given.split(',').map(|text| text.trim().parse());
    let refusal = |_| {
        Refusal::new(Code::BadRequest, format!("percentiles is {:?}, expected numbers like 5,50,95", shortened(given)))
    };
    read.collect::<Result<_, std::num::ParseFloatError>>().map_err(refusal)
}

fn as_facts(found: &Statistics) -> Map<String, Value> {
    let pairs = |of: &[(f64, f64)], names: [&str; 2]| -> Value {
        of.iter().map(|(a, b)| json!({ names[0]: number(*a), names[1]: number(*b) })).collect()
    };
    let parts = found.histogram.iter();
    let parts: Value =
        parts.map(|(low, high, seconds)| json!({ "low": low, "high": high, "seconds": seconds })).collect();
    let facts = json!({
        "covered": found.covered,
        "unknown": found.unknown,
        "mean": number(found.mean),
        "std": number(found.std),
        "min": number(found.min),
        "max": number(found.max),
        "percentiles": pairs(&found.percentiles, ["percent", "value"]),
        "percentiles_within": found.percentiles_within,
        "above": found.above,
        "histogram": parts,
        "states": pairs(&found.states, ["value", "seconds"]),
        "made_of": "samples",
        "read": found.read,
        "damage": found.damage,
    });
    if let Value::Object(facts) = facts { facts } else { Map::new() }
}

/// A line for each number.
fn csv(found: &Statistics) -> Vec<u8> {
    let mut out = b"what,value\n".to_vec();
    let mut put = |what: &str, number: f64| {
        out.extend_from_slice(what.as_bytes());
        out.push(b',');
        put_cell(&mut out, number);
        out.push(b'\n');
    };
    let Statistics { covered, unknown, mean, std, min, max, .. } = *found;
    for (what, number) in
        [("covered", covered), ("unknown", unknown), ("mean", mean), ("std", std), ("min", min), ("max", max)]
    {
        put(what, number);
    }
    found.percentiles.iter().for_each(|(percent, number)| put(&format!("p{percent}"), *number));
    found.above.iter().for_each(|seconds| put("above", *seconds));
    found.histogram.iter().for_each(|(low, high, seconds)| put(&format!("{low} to {high}"), *seconds));
    found.states.iter().for_each(|(number, seconds)| put(&format!("state {number}"), *seconds));
    out
}

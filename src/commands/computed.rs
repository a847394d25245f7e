//! `pvark formula`, `pvark stats` and `pvark histogram`: what an expression over PVs comes to in a range.

use serde_json::{Value, json};

use super::{
    get::posted,
    http::encoded,
    print::{print_line, print_rows},
    table::{aligned, list, text},
};
use crate::{
    cli::{Computed, Format, Formula, HistogramArgs, Stats},
    failure::Failure,
    host::clock::now,
};

/// Steps that a table shows; more is for the other formats.
const TABLE_ROWS_MAX: u32 = 100_000;

pub(crate) fn formula(command: &Formula) -> Result<(), Failure> {
    let mut more = String::new();
    match command.bins {
        Some(bins) => more.push_str(&format!("&bins={bins}&extremes={}", command.extremes)),
        None if command.of.format == Format::Table => more.push_str(&format!("&limit={TABLE_ROWS_MAX}")),
        None => {}
    }
    let Some(answer) = ask(&command.of, "formula", &more)? else { return Ok(()) };
    match command.bins {
        Some(_) if command.extremes => {
            print_rows(&answer["bins"], &["start", "mean", "min", "max", "covered", "made_of"])
        }
        Some(_) => print_rows(&answer["bins"], &["start", "mean", "covered", "made_of"]),
        None => {
            print_rows(&answer["steps"], &["time", "value"])?;
            told_of_arrays(&answer)
        }
    }
}

/// What is told beside arrays.
fn told_of_arrays(answer: &Value) -> Result<(), Failure> {
    let unequal = &answer["unequal"];
    if unequal["count"].as_u64().unwrap_or(0) > 0 {
        let (first, count) = (&unequal["first"], &unequal["count"]);
        eprintln!(
            "arrays of different lengths at {count} moments, first {} at {}",
            first["lengths"],
            text(&first["time"])
        );
    }
    list(&answer["damage"]).iter().for_each(|damage| eprintln!("DAMAGE  {}", text(damage)));
    match &answer["until"] {
        Value::String(until) => Err(format!("there are more steps from {until} on: go on from there").into()),
        _ => Ok(()),
    }
}

pub(crate) fn stats(command: &Stats) -> Result<(), Failure> {
    let mut more = format!("&percentiles={}&histogram={}", command.percentiles, command.histogram);
    if let Some(above) = command.above {
        more.push_str(&format!("&above={above}"));
    }
    let Some(answer) = ask(&command.of, "stats", &more)? else { return Ok(()) };
    let units = answer["units"].as_str().map(|units| format!(" {units}")).unwrap_or_default();
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut put = |what: String, number: &Value, units: &str| {
        let told = if number.is_null() { "-".to_owned() } else { format!("{}{units}", text(number)) };
        rows.push(vec![what, told]);
    };
    for what in ["mean", "std", "min", "max"] {
        put(what.to_owned(), &answer[what], &units);
    }
    for one in list(&answer["percentiles"]) {
        put(format!("{} %", text(&one["percent"])), &one["value"], &units);
    }
    if let Some(above) = command.above {
        put(format!("above {above}"), &answer["above"], " s");
    }
    for state in list(&answer["states"]) {
        put(format!("at {}", text(&state["value"])), &state["seconds"], " s");
    }
    for part in list(&answer["histogram"]) {
        put(format!("{} to {}", text(&part["low"]), text(&part["high"])), &part["seconds"], " s");
    }
    put("known for".to_owned(), &answer["covered"], " s");
    put("not known for".to_owned(), &answer["unknown"], " s");
    aligned(&rows).iter().try_for_each(|line| print_line(line))?;
    list(&answer["damage"]).iter().for_each(|damage| eprintln!("DAMAGE  {}", text(damage)));
    Ok(())
}

pub(crate) fn histogram(command: &HistogramArgs) -> Result<(), Failure> {
    let mut more = format!("&weight={}", command.weight);
    match &command.edges {
        Some(edges) => more.push_str(&format!("&edges={}", encoded(edges))),
        None => more.push_str(&format!("&bins={}", command.bins)),
    }
    for (name, end) in [("low", command.low), ("high", command.high)] {
        more.push_str(&end.map(|end| format!("&{name}={end}")).unwrap_or_default());
    }
    let Some(answer) = ask(&command.of, "histogram", &more)? else { return Ok(()) };
    let wanted: &[&str] = match &*command.weight {
        "time" => &["seconds"],
        "count" => &["count"],
        _ => &["seconds", "count"],
    };
    let mut rows = vec![[&["low", "high"], wanted].concat().into_iter().map(str::to_owned).collect::<Vec<_>>()];
    let cells = |of: &Value| wanted.iter().map(|name| text(&of[*name])).collect::<Vec<String>>();
    for part in list(&answer["bins"]) {
        rows.push([vec![text(&part["low"]), text(&part["high"])], cells(part)].concat());
    }
    // Beside the parts, what there is of it.
    for place in ["below", "above", "infinite", "minus_infinite", "nan", "gaps", "before"] {
        let is_there = |name: &&str| answer[place][*name].as_f64().is_some_and(|much| much > 0.0);
        if wanted.iter().any(is_there) {
            rows.push([vec![place.replace('_', " "), String::new()], cells(&answer[place])].concat());
        }
    }
    aligned(&rows).iter().try_for_each(|line| print_line(line))?;
    list(&answer["damage"]).iter().for_each(|damage| eprintln!("DAMAGE  {}", text(damage)));
    Ok(())
}

/// The answer for a table; in other formats it is printed as it comes.
pub(super) fn ask(of: &Computed, what: &str, more: &str) -> Result<Option<Value>, Failure> {
    if of.format == Format::Arrow && what == "stats" {
        return Err(format!("pvark {what} has no Arrow: take csv or json").into());
    }
    let (from, to) = of.range.ends(now())?;
    let path = format!("{what}?from={from}&to={to}&units={}{more}", of.units);
    posted(&of.server.url, &path, json!({ "expression": of.expression }), of.format)
}

//! `pvark when`: the times in which a condition over PVs held, a line each as they are found; how far the search is stands on standard error.

use std::{
    io::{BufRead, BufReader, IsTerminal, stderr},
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{
    get::pass_on,
    http::{agent, checked},
    print::print_line,
    table::{list, text},
};
use crate::{
    cli::{Format, WhenArgs},
    failure::Failure,
    host::clock::now,
};

/// So often it says how far it is.
const TOLD_EACH: Duration = Duration::from_secs(2);

pub(crate) fn run(command: &WhenArgs) -> Result<(), Failure> {
    let (from, to) = command.range.ends(now())?;
    let format = match command.format {
        Format::Table => "lines",
        format => format.in_url(),
    };
    let WhenArgs { server, limit, units, expression, .. } = command;
    let url = format!("{}/api/v1/when?from={from}&to={to}&limit={limit}&units={units}&format={format}", server.url);
    let mut answer =
        checked(agent().post(&url).send_json(serde_json::json!({ "expression": expression })), &server.url)?;
    if command.format != Format::Table {
        return pass_on(answer.body_mut().as_reader());
    }
    let (mut told, is_watched) = (Instant::now(), stderr().is_terminal());
    for line in BufReader::new(answer.body_mut().as_reader()).lines() {
        let line: Value = serde_json::from_str(&line?)?;
        if let Some(found) = line.get("found") {
            print_line(&interval(found))?;
        }
        if let Some(progress) = line.get("progress").filter(|_| is_watched && told.elapsed() >= TOLD_EACH) {
            told = Instant::now();
            let done = progress["done"].as_f64().unwrap_or(0.0) * 100.0;
            eprintln!("{done:.0} %, up to {}, {} found", text(&progress["until"]), progress["intervals"]);
        }
        if let Some(tally) = line.get("tally") {
            return summed_up(tally);
        }
    }
    Err("the answer broke off before its end".into())
}

/// `2026-11-21T08:10:00Z  2026-11-21T08:12:30Z  150 s`, with what is to be said of its ends.
fn interval(found: &Value) -> String {
    let ends = match (found["begins"].as_str(), found["ends"].as_str()) {
        (Some("change"), Some("change")) => String::new(),
        (begins, ends) => {
            let told = |which: &str, edge: Option<&str>| match edge {
                Some("range") => format!("  {which} with the range"),
                Some("unknown") => format!("  {which} where it is not known"),
                _ => String::new(),
            };
            format!("{}{}", told("begins", begins), told("ends", ends))
        }
    };
    format!("{}  {}  {} s{ends}", text(&found["from"]), text(&found["to"]), found["seconds"])
}

fn summed_up(tally: &Value) -> Result<(), Failure> {
    let [intervals, held, unknown, read] = ["intervals", "held", "unknown", "read"].map(|name| &tally[name]);
    eprintln!("{intervals} intervals, {held} s together; not known for {unknown} s; {read} numbers were read");
    list(&tally["damage"]).iter().for_each(|damage| eprintln!("DAMAGE  {}", text(damage)));
    match tally["whole"].as_bool() {
        Some(true) => Ok(()),
        _ => {
            Err(format!("it was looked up to {} only: go on from there, or raise --limit", text(&tally["until"]))
                .into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_off_is_said_behind_an_interval() {
        let found = |begins: &str, ends: &str| serde_json::json!({ "from": "A", "to": "B", "seconds": 1.5, "begins": begins, "ends": ends });
        assert_eq!(interval(&found("change", "change")), "A  B  1.5 s");
        let cut = "A  B  1.5 s  begins with the range  ends where it is not known";
        assert_eq!(interval(&found("range", "unknown")), cut);
    }
}

//! The commands that look at a running archiver and switch its PVs: list, iocs, status, report, pause, resume.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{
    bytes::bytes_text,
    http::{ANSWER_BYTES_MAX, Method, agent, ask, by, checked, encoded},
    print::{print_line, print_rows},
    table::{aligned, list, text},
    typed::names,
};
use crate::{
    cli::{Iocs, List, Report, Server, Status, Switch, Upkeep},
    failure::Failure,
};

/// How many PVs are asked for at a time: the most that the archiver gives.
const PVS_AT_ONCE: usize = 10_000;

/// `pvark list`: the PVs that fit, a line each, and how many there are.
pub(crate) fn list_pvs(command: &List) -> Result<(), Failure> {
    let (mut shown, wanted) = (0, command.limit.unwrap_or(usize::MAX));
    let mut query = format!("state={}", encoded(&command.state));
    let own = [
        ("words", &command.words),
        ("sort", &command.sort),
        ("order", &command.order),
        ("policy", &command.policy),
        ("group", &command.group),
        ("ioc", &command.ioc),
        ("added_by", &command.added_by),
    ];
    let is_sorted = command.counts || own.iter().any(|(_, value)| value.is_some());
    let own = own.into_iter().chain([("match", &command.pattern)]);
    for (name, value) in own {
        query.extend(value.iter().map(|value| format!("&{name}={}", encoded(value))));
    }
    if command.counts {
        return counts(&ask(&command.server, Method::Get, &format!("pvs?{query}&sort=name&limit=0"))?);
    }
    let columns: &[&str] = match is_sorted {
        true => &["name", "state", "rate", "bytes_per_day", "last.time", "last.value", "units", "ioc", "description"],
        false => &["name", "protocol", "state", "since", "last.time", "last.value"],
    };
    let mut place = if is_sorted { String::new() } else { "&offset=0".to_owned() };
    loop {
        let limit = PVS_AT_ONCE.min(wanted - shown);
        let page = ask(&command.server, Method::Get, &format!("pvs?{query}&limit={limit}{place}"))?;
        let pvs = list(&page["pvs"]);
        if command.names {
            pvs.iter().try_for_each(|pv| print_line(pv["name"].as_str().unwrap_or_default()))?;
        } else {
            let mut lines = Vec::new();
            if shown == 0 {
                let heading = |column: &&str| match *column {
                    "last.time" => "last".to_owned(),
                    "last.value" => "value".to_owned(),
                    column => column.to_owned(),
                };
                lines.push(columns.iter().map(heading).collect());
            }
            lines.extend(pvs.iter().map(|pv| columns.iter().map(|column| cell(pv, column)).collect()));
            aligned(&lines).iter().try_for_each(|line| print_line(line))?;
        }
        shown += pvs.len();
        let total = page["total"].as_u64().unwrap_or(0);
        let next = page["next"].as_str();
        let is_over = if is_sorted { next.is_none() } else { pvs.is_empty() || shown as u64 >= total };
        if is_over || shown >= wanted {
            eprintln!("{shown} of {total} PVs");
            let near: Vec<String> = list(&page["near"]).iter().map(text).collect();
            if !near.is_empty() {
                eprintln!("did you mean {}?", near.join(" or "));
            }
            return Ok(());
        }
        place = next.map_or_else(|| format!("&offset={shown}"), |next| format!("&cursor={next}"));
    }
}

/// What stands in a column of a PV; rates with three digits behind the point at most.
fn cell(pv: &Value, column: &str) -> String {
    let value = column.split('.').fold(pv, |value, member| &value[member]);
    match value.as_f64() {
        Some(number) if matches!(column, "rate" | "bytes_per_day") => ((number * 1e3).round() / 1e3).to_string(),
        _ => text(value),
    }
}

/// How many PVs there are of each kind.
fn counts(page: &Value) -> Result<(), Failure> {
    let mut lines = vec![["what", "which", "PVs"].map(str::to_owned).to_vec()];
    let facets = &page["facets"];
    for (state, pvs) in facets["state"].as_object().into_iter().flatten() {
        lines.push(vec!["state".to_owned(), state.clone(), text(pvs)]);
    }
    for what in ["policy", "group", "ioc", "added_by"] {
        let of_one = |count: &Value| vec![what.to_owned(), text(&count["name"]), text(&count["pvs"])];
        lines.extend(list(&facets[what]).iter().map(of_one));
    }
    aligned(&lines).iter().try_for_each(|line| print_line(line))?;
    eprintln!("{} PVs", text(&page["total"]));
    Ok(())
}

/// `pvark iocs`: the IOCs, those with the most lost PVs first.
pub(crate) fn iocs(command: &Iocs) -> Result<(), Failure> {
    let address = command.address.as_deref().map(|address| format!("&match={}", encoded(address))).unwrap_or_default();
    let state = if command.lost { "disconnected" } else { "any" };
    let answer = ask(&command.server, Method::Get, &format!("iocs?state={state}{address}"))?;
    if command.json {
        return Ok(print_line(&serde_json::to_string_pretty(&answer)?)?);
    }
    let columns =
        ["address", "pvs", "connected", "disconnected", "rate", "circuits", "since", "restarts", "last_beacon"];
    let mut lines = vec![columns.map(str::to_owned).to_vec()];
    let iocs = list(&answer["iocs"]);
    lines.extend(iocs.iter().map(|ioc| columns.iter().map(|column| cell(ioc, column)).collect()));
    aligned(&lines).iter().try_for_each(|line| print_line(line))?;
    eprintln!("{} IOCs", iocs.len());
    Ok(())
}

/// `pvark status`: all that the archiver says of itself, a line each, its problems last.
pub(crate) fn status(command: &Status) -> Result<(), Failure> {
    let status = ask(&command.server, Method::Get, "status")?;
    if command.json {
        return Ok(print_line(&serde_json::to_string_pretty(&status)?)?);
    }
    let mut lines = Vec::new();
    flatten("", &status, &mut lines);
    aligned(&lines).iter().try_for_each(|line| print_line(line))?;
    let problems = list(&status["problems"]);
    problems.iter().try_for_each(|problem| print_line(&format!("PROBLEM  {}", text(problem))))?;
    match problems.len() {
        0 => Ok(print_line("nothing is wrong")?),
        many => Err(format!("{many} problems").into()),
    }
}

/// `pvark upkeep`: how long what is kept, what goes next, and the last backups.
pub(crate) fn upkeep(command: &Upkeep) -> Result<(), Failure> {
    let answer = ask(&command.server, Method::Get, "upkeep")?;
    if command.json {
        return Ok(print_line(&serde_json::to_string_pretty(&answer)?)?);
    }
    let mut lines = vec![["PVs", "kept", "next to go", "from"].map(str::to_owned).to_vec()];
    lines.extend(list(&answer["retention"]).iter().map(|row| {
        let next = &row["next"];
        vec![kept_pvs(row), kept_for(row["keep_seconds"].as_u64()), text(&next["week"]), text(&next["at"])]
    }));
    aligned(&lines).iter().try_for_each(|line| print_line(line))?;
    let backups = list(&answer["backups"]);
    if backups.is_empty() {
        return Ok(print_line("no backup is known of; `pvark backup` tells the archive of each that it makes")?);
    }
    let mut lines = vec![["backup", "bytes", "the archive was", "folder"].map(str::to_owned).to_vec()];
    lines.extend(backups.iter().map(|backup| {
        let was = if backup["whole"] == true { "whole" } else { "DAMAGED" };
        let bytes = bytes_text(backup["bytes"].as_u64().unwrap_or(0));
        vec![text(&backup["at"]), bytes, was.to_owned(), text(&backup["to"])]
    }));
    Ok(aligned(&lines).iter().try_for_each(|line| print_line(line))?)
}

/// Which PVs a row of retention is about.
fn kept_pvs(row: &Value) -> String {
    let policies: Vec<String> = list(&row["policies"]).iter().map(text).collect();
    match row["of"].as_str() {
        Some("rule") => text(&row["rule"]),
        Some("others") => "all others".to_owned(),
        _ if policies.is_empty() => format!("{} by hand", text(&row["pvs"])),
        _ => format!("{} by {}", text(&row["pvs"]), policies.join(", ")),
    }
}

fn kept_for(seconds: Option<u64>) -> String {
    const DAY: u64 = 86_400;
    match seconds {
        None => "for ever".to_owned(),
        Some(seconds) if seconds % DAY == 0 => format!("{} d", seconds / DAY),
        Some(seconds) => format!("{} h", seconds.div_ceil(3600)),
    }
}

/// Members of objects by their path; lists by their length.
fn flatten(path: &str, value: &Value, lines: &mut Vec<Vec<String>>) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| flatten(&below(name), value, lines)),
        Value::Array(items) if items.iter().any(Value::is_object) => {
            lines.push(vec![path.to_owned(), format!("{} entries, see --json", items.len())]);
        }
        Value::Array(_) if path == "problems" => {}
        other => lines.push(vec![path.to_owned(), text(other)]),
    }
}

/// `pvark report`: which PVs never connected, are away, silent, fast, large and so on.
pub(crate) fn report(command: &Report) -> Result<(), Failure> {
    let limit = command.limit.map(|limit| format!("?limit={limit}")).unwrap_or_default();
    let url = format!("{}/mgmt/bpl/{}{limit}", command.server.url, command.which.path());
    let mut answer = checked(agent().get(&url).call(), &command.server.url)?;
    let rows: Value = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_json()?;
    let named: Vec<&Map<String, Value>> = list(&rows).iter().filter_map(Value::as_object).collect();
    let others: BTreeSet<&str> = named.iter().flat_map(|row| row.keys()).map(String::as_str).collect();
    let is_first = |column: &&str| *column == "pvName";
    let (first, rest): (Vec<&str>, Vec<&str>) = others.into_iter().partition(is_first);
    let columns = [first, rest].concat();
    if !named.is_empty() {
        print_rows(&rows, &columns)?;
    }
    eprintln!("{} PVs", named.len());
    Ok(())
}

/// `pvark pause` and `pvark resume`: PVs by their names and patterns, all of them in one change.
pub(crate) fn switch(command: &Switch, action: &str) -> Result<(), Failure> {
    let names = names(&command.names)?;
    let done = post(&command.server, &format!("{action}ArchivingPV"), &names)?;
    let rows = if done.is_object() { vec![done] } else { list(&done).to_vec() };
    let mut refused = 0;
    for row in &rows {
        let name = text(&row["pvName"]);
        match row["validation"].as_str() {
            Some(objection) => {
                refused += 1;
                print_line(&format!("{name}  {objection}"))?;
            }
            None => print_line(&format!("{name}  {action}d"))?,
        }
    }
    if rows.is_empty() {
        return Err("no PV has such a name".into());
    }
    if refused > 0 { Err(format!("{refused} of {} PVs stay as they are", rows.len()).into()) } else { Ok(()) }
}

fn post(server: &Server, command: &str, names: &[String]) -> Result<Value, Failure> {
    let sent = agent().post(format!("{}/mgmt/bpl/{command}?by={}", server.url, by())).send_json(names);
    Ok(checked(sent, &server.url)?.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_json()?)
}

//! The commands that look at a running archiver and switch its PVs: list, status, report, pause, resume.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{
    http::{ANSWER_BYTES_MAX, Method, agent, ask, by, checked, encoded},
    print::{print_line, print_rows},
    table::{aligned, list, text},
    typed::names,
};
use crate::{
    cli::{List, Report, Server, Status, Switch},
    failure::Failure,
};

/// How many PVs are asked for at a time: the most that the archiver gives.
const PVS_AT_ONCE: usize = 10_000;

/// `pvark list`: the PVs that fit, a line each, and how many there are.
pub(crate) fn list_pvs(command: &List) -> Result<(), Failure> {
    let (mut shown, wanted) = (0, command.limit.unwrap_or(usize::MAX));
    let pattern = command.pattern.as_deref().map(|pattern| format!("&match={}", encoded(pattern))).unwrap_or_default();
    loop {
        let limit = PVS_AT_ONCE.min(wanted - shown);
        let path = format!("pvs?offset={shown}&limit={limit}&state={}{pattern}", command.state);
        let page = ask(&command.server, Method::Get, &path)?;
        let pvs = list(&page["pvs"]);
        if command.names {
            pvs.iter().try_for_each(|pv| print_line(pv["name"].as_str().unwrap_or_default()))?;
        } else {
            let mut lines = Vec::new();
            if shown == 0 {
                lines.push(["name", "protocol", "state", "since", "last", "value"].map(str::to_owned).to_vec());
            }
            for pv in pvs {
                let own = ["name", "protocol", "state", "since"].map(|column| text(&pv[column]));
                lines.push([own.as_slice(), &[text(&pv["last"]["time"]), text(&pv["last"]["value"])]].concat());
            }
            aligned(&lines).iter().try_for_each(|line| print_line(line))?;
        }
        shown += pvs.len();
        let total = page["total"].as_u64().unwrap_or(0);
        if pvs.is_empty() || shown >= wanted || shown as u64 >= total {
            eprintln!("{shown} of {total} PVs");
            return Ok(());
        }
    }
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

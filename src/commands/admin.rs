//! The commands that change which PVs there are and what is kept of them, over HTTP: rename, alias, remove,
//! restore, delete, purge, audit.

use serde_json::{Value, json};

use super::{
    http::{Method, ask, encoded},
    print::{print_line, print_rows},
    table::{list, text},
    typed::{moment, names, range},
};
use crate::{
    cli::{AliasArgs, Audit, Delete, PurgeArgs, Remove, Rename, Restore, Server, Undelete, Undo},
    failure::Failure,
    host::clock::now,
};

/// Prints what became of a PV.
fn tell(answer: &Value) -> Result<(), Failure> {
    Ok(print_line(&format!("{}  {}", text(&answer["name"]), text(&answer["status"])))?)
}

pub(crate) fn rename(command: &Rename) -> Result<(), Failure> {
    let body = json!({ "to": command.to, "alias": !command.no_alias });
    tell(&ask(&command.server, Method::Post(body), &format!("pvs/{}/rename", encoded(&command.pv)))?)
}

pub(crate) fn alias(command: &AliasArgs) -> Result<(), Failure> {
    let (Some(pv), Some(alias)) = (&command.pv, &command.alias) else {
        return print_rows(&ask(&command.server, Method::Get, "aliases")?["aliases"], &["alias", "name"]);
    };
    let method = if command.remove { Method::Delete } else { Method::Put(Value::Null) };
    tell(&ask(&command.server, method, &format!("pvs/{}/aliases/{}", encoded(pv), encoded(alias)))?)
}

pub(crate) fn remove(command: &Remove) -> Result<(), Failure> {
    let data = if command.delete_data { "delete" } else { "keep" };
    let done = move_many(&command.server, "remove", &names(&command.pvs)?, |pvs| json!({ "pvs": pvs, "data": data }));
    let until = if command.delete_data { " until it is purged" } else { "" };
    print_line(&format!("`pvark restore NAME` brings each back{until}"))?;
    done
}

pub(crate) fn restore(command: &Restore) -> Result<(), Failure> {
    let pvs = names(&command.pvs)?;
    match pvs.as_slice() {
        [] if command.pvs.is_empty() => {
            let removed = ask(&command.server, Method::Get, "removed")?;
            print_rows(&removed["removed"], &["number", "name", "data", "since", "by"])
        }
        [pv] => restore_one(command, pv),
        _ if command.number.is_some() || command.name.is_some() => {
            Err(format!("--number and --as are for one PV, {} are given", pvs.len()).into())
        }
        pvs => move_many(&command.server, "restore", pvs, |pvs| json!({ "pvs": pvs })),
    }
}

fn restore_one(command: &Restore, pv: &str) -> Result<(), Failure> {
    let number = command.number.map(|number| format!("number={number}"));
    let name = command.name.as_ref().map(|name| format!("as={}", encoded(name)));
    let query = number.into_iter().chain(name).collect::<Vec<_>>().join("&");
    let path = format!("pvs/{}/restore?{query}", encoded(pv));
    tell(&ask(&command.server, Method::Post(Value::Null), path.trim_end_matches('?'))?)
}

/// How many PVs are moved in one change: the most that the archiver takes.
const PVS_AT_ONCE: usize = 100_000;

/// Takes PVs out, or brings them back, and prints what became of each. An error if some stay where they are.
fn move_many(server: &Server, verb: &str, pvs: &[String], body: impl Fn(&[String]) -> Value) -> Result<(), Failure> {
    let mut stay = 0;
    for some in pvs.chunks(PVS_AT_ONCE) {
        for row in list(&ask(server, Method::Post(body(some)), verb)?["pvs"]) {
            match row["message"].as_str() {
                Some(why) => {
                    stay += 1;
                    print_line(&format!("{}  {why}", text(&row["name"])))?;
                }
                None => tell(row)?,
            }
        }
    }
    if stay > 0 { Err(format!("{stay} of {} PVs stay where they are", pvs.len()).into()) } else { Ok(()) }
}

pub(crate) fn delete(command: &Delete) -> Result<(), Failure> {
    let now = now();
    let (from, to) = range(&command.from, &command.to, now)?;
    let path = format!("pvs/{}/samples?from={from}&to={to}", encoded(&command.pv));
    let deletion = ask(&command.server, Method::Delete, &path)?;
    let (number, from, to) = (text(&deletion["number"]), text(&deletion["from"]), text(&deletion["to"]));
    Ok(print_line(&format!(
        "deleted from {from} to {to}; `pvark undelete {number}` brings it back until it is purged"
    ))?)
}

pub(crate) fn undelete(command: &Undelete) -> Result<(), Failure> {
    let Some(number) = command.number else {
        let deletions = ask(&command.server, Method::Get, "deletions")?;
        return print_rows(&deletions["deletions"], &["number", "name", "from", "to", "deleted", "by"]);
    };
    let deletion = ask(&command.server, Method::Post(Value::Null), &format!("deletions/{number}/undo"))?;
    Ok(print_line(&format!("{}  restored", text(&deletion["name"])))?)
}

pub(crate) fn undo(command: &Undo) -> Result<(), Failure> {
    let Some(number) = command.number else {
        let orders = ask(&command.server, Method::Get, "undo")?;
        return print_rows(&orders["orders"], &["number", "time", "by", "action", "pvs", "detail", "until"]);
    };
    let method = if command.plan { Method::Get } else { Method::Post(Value::Null) };
    let answer = ask(&command.server, method, &format!("undo/{number}"))?;
    for row in list(&answer["pvs"]) {
        match row["message"].as_str() {
            Some(why) => print_line(&format!("{}  stays: {why}", text(&row["name"])))?,
            None => tell(row)?,
        }
    }
    let (changes, refused) = (text(&answer["changes"]), text(&answer["refused"]));
    let would = if command.plan { "would become" } else { "are" };
    print_line(&format!("{changes} PVs {would} what they were before, {refused} stay as they are"))?;
    let is_partial = !command.plan && answer["refused"] != json!(0);
    if is_partial { Err(format!("{refused} PVs were changed again since and stay as they are").into()) } else { Ok(()) }
}

pub(crate) fn purge(command: &PurgeArgs) -> Result<(), Failure> {
    let before = moment(&command.before, now())?;
    let pv = command.pv.as_ref().map(|pv| format!("&pv={}", encoded(pv))).unwrap_or_default();
    let path = format!("purge?before={before}{pv}");
    let purged = match command.yes {
        true => ask(&command.server, Method::Post(Value::Null), &format!("{path}&confirm=true"))?,
        false => ask(&command.server, Method::Get, &path)?,
    };
    list(&purged["pvs"]).iter().try_for_each(|name| print_line(&format!("{}  all samples", text(name))))?;
    for range in list(&purged["ranges"]) {
        let (name, from, to) = (text(&range["name"]), text(&range["from"]), text(&range["to"]));
        print_line(&format!("{name}  from {from} to {to}"))?;
    }
    let size = format!("{} samples in {} bytes", text(&purged["samples"]), text(&purged["bytes"]));
    let outcome =
        if command.yes { "go; the space is freed in the background" } else { "would go; --yes does it for good" };
    Ok(print_line(&format!("{size} {outcome}"))?)
}

pub(crate) fn audit(command: &Audit) -> Result<(), Failure> {
    let given = [
        ("pv", &command.pv),
        ("who", &command.who),
        ("action", &command.action),
        ("from", &command.from),
        ("to", &command.to),
    ];
    let given = given.into_iter().filter_map(|(name, value)| Some(format!("&{name}={}", encoded(value.as_ref()?))));
    let narrowed: String = given.collect();
    let mut rows: Vec<Value> = Vec::new();
    let mut before = String::new();
    loop {
        let limit = (command.limit as usize - rows.len()).min(AUDIT_LINES_AT_ONCE);
        let mut answer = ask(&command.server, Method::Get, &format!("audit?limit={limit}{narrowed}{before}"))?;
        if let Some(lines) = answer["audit"].as_array_mut() {
            rows.append(lines);
        }
        match answer["next"].as_u64() {
            Some(next) if rows.len() < command.limit as usize => before = format!("&before={next}"),
            _ => break,
        }
    }
    if command.csv {
        print_line(&AUDIT_COLUMNS.join(","))?;
        let line = |row: &Value| AUDIT_COLUMNS.map(|column| csv_field(&text(&row[column]))).join(",");
        return Ok(rows.iter().try_for_each(|row| print_line(&line(row)))?);
    }
    print_rows(&Value::Array(rows), &AUDIT_COLUMNS)
}

/// The most lines of the audit that one answer has.
const AUDIT_LINES_AT_ONCE: usize = 10_000;
const AUDIT_COLUMNS: [&str; 10] = ["time", "by", "action", "name", "pvs", "detail", "from", "to", "samples", "bytes"];

/// A field of CSV, in quotes where it has to be.
fn csv_field(text: &str) -> String {
    let must_be_quoted = text.contains([',', '"', '\n', '\r']);
    if must_be_quoted { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

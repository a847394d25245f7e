//! `pvark add`: tells a running archiver to archive PVs, by their names or out of files that the archiver reads.

use std::{fs::File, io::Read, path::Path};

use archive::settings::Given;
use serde_json::Value;

use super::{
    http::{ANSWER_BYTES_MAX, agent, by, checked},
    print::print_line,
    table::{list, text},
    typed::names,
};
use crate::{cli::Add, failure::Failure};

/// A longer file the archiver would not take.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// So many PVs are added by one request.
const ADDED_AT_ONCE: usize = 50_000;

pub(crate) fn run(command: &Add) -> Result<(), Failure> {
    let given = names(&command.names)?;
    let (mut pvs, mut paused, mut refused) = (Vec::new(), Vec::new(), 0);
    if command.check && !given.is_empty() {
        refused += read(command, "the command line", given.join("\n"), &mut pvs, &mut paused)?;
    } else {
        pvs.extend(given.iter().map(|name| with_settings(command, serde_json::json!({ "name": name }))));
    }
    for file in &command.files {
        let text = text_of(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        refused += read(command, &file.display().to_string(), text, &mut pvs, &mut paused)?;
    }
    if !command.check {
        for some in pvs.chunks(ADDED_AT_ONCE) {
            refused += add(command, some)?;
        }
        if !paused.is_empty() {
            let url = format!("{}/api/v1/pause?by={}", command.server.url, by());
            checked(agent().post(&url).send_json(serde_json::json!({ "pvs": paused })), &command.server.url)?;
            print_line(&format!("{} PVs are paused, as they were at the Appliance", paused.len()))?;
        }
    }
    if refused > 0 { Err(format!("{refused} names were refused").into()) } else { Ok(()) }
}

fn text_of(file: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let mut from: Box<dyn Read> = match file.as_os_str().as_encoded_bytes() {
        b"-" => Box::new(std::io::stdin().lock()),
        _ => Box::new(File::open(file)?),
    };
    let length = from.by_ref().take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if length as u64 > FILE_BYTES_MAX {
        return Err(std::io::Error::other(format!(
            "it has more than {} MB; cut it into several",
            FILE_BYTES_MAX >> 20
        )));
    }
    Ok(text)
}

/// Lets the archiver read a text, tells of each name that is not simply new, and gives how many were refused.
fn read(
    command: &Add,
    of: &str,
    given: String,
    pvs: &mut Vec<Value>,
    paused: &mut Vec<String>,
) -> Result<usize, Failure> {
    let url = format!("{}/api/v1/names?by={}", command.server.url, by());
    let sent = agent().post(&url).header("Content-Type", "text/plain").send(given);
    let mut answer = checked(sent, &command.server.url)?;
    let told = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_json::<Value>()?;
    let (mut new, mut known, mut refused) = (0, 0, 0);
    for row in list(&told["names"]) {
        let (line, name) = (text(&row["line"]), text(&row["name"]));
        match row["status"].as_str() {
            Some("refused") => {
                print_line(&format!("{of}:{line}  {name}  refused: {}", text(&row["message"])))?;
                refused += 1;
                continue;
            }
            Some("known") => known += 1,
            _ => {
                new += 1;
                if row["paused"] == true {
                    paused.push(bare(&name).to_owned());
                }
            }
        }
        if command.check {
            let policy = row["policy"].as_str().map_or("no policy".to_owned(), |policy| format!("policy {policy}"));
            print_line(&format!("{name}  {}, {policy}", text(&row["status"])))?;
        }
        pvs.push(with_settings(command, row["pv"].clone()));
    }
    eprintln!("{of}: {new} new, {known} known, {refused} refused, read as {}", text(&told["form"]));
    Ok(refused)
}

fn bare(name: &str) -> &str {
    name.split_once("://").map_or(name, |(_, name)| name)
}

fn add(command: &Add, pvs: &[Value]) -> Result<usize, Failure> {
    let url = format!("{}/api/v1/pvs", command.server.url);
    let sent = agent().post(&url).send_json(serde_json::json!({ "pvs": pvs }));
    let answer =
        checked(sent, &command.server.url)?.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_json::<Value>()?;
    let mut refused = 0;
    for pv in answer["pvs"].as_array().into_iter().flatten() {
        let (name, status) = (pv["name"].as_str().unwrap_or("?"), pv["status"].as_str().unwrap_or("?"));
        match pv["message"].as_str() {
            Some(message) => print_line(&format!("{name}  {status}: {message}"))?,
            None => print_line(&format!("{name}  {status}"))?,
        }
        refused += usize::from(status == "refused");
    }
    Ok(refused)
}

/// What is said of a PV, with what the command says over it.
fn with_settings(command: &Add, mut pv: Value) -> Value {
    if let Some(policy) = &command.policy {
        pv["policy"] = policy.as_str().into();
    }
    for (key, given) in command.settings.0.iter() {
        pv[key] = plain(given);
    }
    pv
}

/// A value of a setting as JSON.
fn plain(given: &Given) -> Value {
    match given {
        Given::Nothing => Value::Null,
        Given::Switch(is_on) => (*is_on).into(),
        Given::Number(number) => (*number).into(),
        Given::Count(count) => (*count).into(),
        Given::Text(text) => text.as_str().into(),
        Given::Texts(texts) => texts.clone().into(),
        Given::Burst { rate, .. } => plain(rate),
        Given::Members(members) => members.iter().map(|(name, given)| ((*name).to_owned(), plain(given))).collect(),
    }
}

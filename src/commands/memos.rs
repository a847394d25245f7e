//! `pvark note` and `pvark view`: what people write beside the samples, over HTTP.

use std::{fs, io::Read, path::Path};

use serde_json::{Map, Value, json};

use super::{
    http::{Method, ask, encoded},
    print::print_line,
    table::{aligned, list, text},
    typed::moment,
};
use crate::{
    cli::{NoteArgs, NoteCommand, NoteList, Server, ViewCommand, ViewList},
    failure::Failure,
    host::clock::now,
};

/// How many memos one request asks for.
const PAGE: usize = 1000;

pub(crate) fn note(command: &NoteArgs) -> Result<(), Failure> {
    match &command.what {
        NoteCommand::Add(add) => {
            let time = |text: &Option<String>| text.as_ref().map(|text| moment(text, now())).transpose();
            let (from, to) = (time(&add.from)?, time(&add.to)?);
            let body = json!({
                "text": add.text,
                "pvs": add.pvs,
                "from": from.map(|time| time.to_string()),
                "to": to.map(|time| time.to_string()),
            });
            let kept = ask(&add.server, Method::Post(body), "notes")?;
            Ok(print_line(&format!("note {}", text(&kept["notes"][0]["number"])))?)
        }
        NoteCommand::List(wanted) => list_notes(wanted),
        NoteCommand::Remove(remove) => take_away(&remove.server, "notes", remove.number),
        NoteCommand::Import(import) => bring(&import.server, "notes", &import.file),
    }
}

fn list_notes(wanted: &NoteList) -> Result<(), Failure> {
    let mut query = vec![format!("match={}", encoded(&wanted.words.join(" ")))];
    query.extend(wanted.pv.iter().map(|pv| format!("pv={}", encoded(pv))));
    query.extend(wanted.from.iter().map(|from| format!("from={}", encoded(from))));
    query.extend(wanted.to.iter().map(|to| format!("to={}", encoded(to))));
    let notes = all(&wanted.server, "notes", &query.join("&"))?;
    told(notes, "notes", wanted.json, &["number", "from", "to", "pvs", "text", "by"])
}

pub(crate) fn view(command: &ViewCommand) -> Result<(), Failure> {
    match command {
        ViewCommand::Save(save) => {
            let query = save.query.split_once('?').map_or(save.query.as_str(), |(_, query)| query);
            let body = json!({ "name": save.name, "query": query, "text": save.text, "pvs": save.pvs });
            let kept = ask(&save.server, Method::Post(body), "views")?;
            let link = text(&kept["views"][0]["link"]);
            Ok(print_line(&format!("{}{link}", save.server.url.trim_end_matches('/')))?)
        }
        ViewCommand::List(wanted) => list_views(wanted),
        ViewCommand::Show(wanted) => {
            let view = named(&wanted.server, &wanted.name)?;
            let url = wanted.server.url.trim_end_matches('/');
            print_line(&format!("{url}/?{}", clean(&text(&view["query"]))))?;
            Ok(print_line(&clean(&text(&view["text"])))?)
        }
        ViewCommand::Remove(remove) => {
            let number = named(&remove.server, &remove.name)?["number"].as_u64();
            let number = number.ok_or("the answer has no number of the view")?;
            take_away(&remove.server, "views", number)
        }
        ViewCommand::Import(import) => bring(&import.server, "views", &import.file),
    }
}

fn list_views(wanted: &ViewList) -> Result<(), Failure> {
    let mut query = vec![format!("match={}", encoded(&wanted.words.join(" ")))];
    query.extend(wanted.folder.iter().map(|folder| format!("folder={}", encoded(folder))));
    let views = all(&wanted.server, "views", &query.join("&"))?;
    told(views, "views", wanted.json, &["number", "name", "link", "text", "by", "time"])
}

/// The view of a name.
fn named(server: &Server, name: &str) -> Result<Value, Failure> {
    let answer = ask(server, Method::Get, &format!("views?name={}&limit=1", encoded(name)))?;
    let found = list(&answer["views"]).first().cloned();
    Ok(found.ok_or_else(|| format!("there is no view {name:?}; `pvark view list` lists them"))?)
}

/// All memos that fit, page by page.
fn all(server: &Server, kind: &str, query: &str) -> Result<Vec<Value>, Failure> {
    let (mut found, mut before) = (Vec::new(), String::new());
    loop {
        let answer = ask(server, Method::Get, &format!("{kind}?{query}&limit={PAGE}{before}"))?;
        let page = list(&answer[kind]);
        found.extend(page.iter().cloned());
        match page.last() {
            Some(last) if page.len() == PAGE => before = format!("&before={}", text(&last["number"])),
            _ => return Ok(found),
        }
    }
}

/// As a table, or as the JSON that `import` reads.
fn told(memos: Vec<Value>, kind: &str, as_json: bool, columns: &[&str]) -> Result<(), Failure> {
    if as_json {
        return Ok(print_line(&Value::from(Map::from_iter([(kind.to_owned(), memos.into())])).to_string())?);
    }
    let mut lines: Vec<Vec<String>> = vec![columns.iter().map(|column| (*column).to_owned()).collect()];
    for memo in &memos {
        lines.push(columns.iter().map(|column| clean(&cell(&memo[column]))).collect());
    }
    aligned(&lines).iter().try_for_each(|line| print_line(line)).map_err(Failure::from)
}

fn cell(value: &Value) -> String {
    match value {
        Value::Array(all) => all.iter().map(text).collect::<Vec<_>>().join(","),
        value => text(value),
    }
}

/// What others wrote, without what a terminal would act upon.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn take_away(server: &Server, kind: &str, number: u64) -> Result<(), Failure> {
    let gone = ask(server, Method::Delete, &format!("{kind}/{number}"))?;
    let what = if gone["name"].is_null() { &gone["text"] } else { &gone["name"] };
    Ok(print_line(&format!("removed {}", clean(&text(what))))?)
}

/// Writes what an export has.
fn bring(server: &Server, kind: &str, file: &Path) -> Result<(), Failure> {
    let mut written = String::new();
    match file.to_str() {
        Some("-") => _ = std::io::stdin().lock().read_to_string(&mut written)?,
        _ => written = fs::read_to_string(file)?,
    }
    let body: Value =
        serde_json::from_str(&written).map_err(|error| format!("{} is no export: {error}", file.display()))?;
    let kept = ask(server, Method::Post(body), kind)?;
    Ok(print_line(&format!("{} {kind}", list(&kept[kind]).len()))?)
}

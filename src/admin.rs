//! The commands that change which PVs there are and what is kept of them, over HTTP: rename, alias, remove, restore, audit.

use serde_json::{Value, json};

use crate::{
    Failure,
    cli::{Alias, Audit, Remove, Rename, Restore, Server},
    client::{ANSWER_BYTES_MAX, agent, checked, encoded, print_line},
    table::{aligned, list, text},
};

/// What a request does.
enum Method {
    Get,
    Post(Value),
    Put,
    Delete,
}

/// Sends a request and gives the answer. Who sends it goes along, for the audit.
fn ask(server: &Server, method: Method, path: &str) -> Result<Value, Failure> {
    let by = std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_default();
    let separator = if path.contains('?') { '&' } else { '?' };
    let url = format!("{}/api/v1/{path}{separator}by={}", server.url, encoded(&by));
    let sent = match method {
        Method::Get => agent().get(format!("{}/api/v1/{path}", server.url)).call(),
        Method::Post(Value::Null) => agent().post(&url).send_empty(),
        Method::Post(body) => agent().post(&url).send_json(body),
        Method::Put => agent().put(&url).send_empty(),
        Method::Delete => agent().delete(&url).call(),
    };
    Ok(checked(sent, &server.url)?.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_json()?)
}

/// Prints what became of a PV.
fn tell(answer: &Value) -> Result<(), Failure> {
    Ok(print_line(&format!("{}  {}", text(&answer["name"]), text(&answer["status"])))?)
}

/// Prints rows of an answer, some of their members as columns.
fn print_rows(rows: &Value, columns: &[&str]) -> Result<(), Failure> {
    let mut lines = vec![columns.iter().map(|column| (*column).to_owned()).collect()];
    for row in list(rows) {
        lines.push(columns.iter().map(|column| text(&row[column])).collect::<Vec<String>>());
    }
    aligned(&lines).iter().try_for_each(|line| print_line(line)).map_err(Failure::from)
}

pub(crate) fn rename(command: &Rename) -> Result<(), Failure> {
    let body = json!({ "to": command.to, "alias": !command.no_alias });
    tell(&ask(&command.server, Method::Post(body), &format!("pvs/{}/rename", encoded(&command.pv)))?)
}

pub(crate) fn alias(command: &Alias) -> Result<(), Failure> {
    let (Some(pv), Some(alias)) = (&command.pv, &command.alias) else {
        return print_rows(&ask(&command.server, Method::Get, "aliases")?["aliases"], &["alias", "name"]);
    };
    let method = if command.remove { Method::Delete } else { Method::Put };
    tell(&ask(&command.server, method, &format!("pvs/{}/aliases/{}", encoded(pv), encoded(alias)))?)
}

pub(crate) fn remove(command: &Remove) -> Result<(), Failure> {
    let data = if command.delete_data { "delete" } else { "keep" };
    for pv in &command.pvs {
        tell(&ask(&command.server, Method::Delete, &format!("pvs/{}?data={data}", encoded(pv)))?)?;
    }
    let until = if command.delete_data { " until it is purged" } else { "" };
    Ok(print_line(&format!("`pvark restore NAME` brings each back{until}"))?)
}

pub(crate) fn restore(command: &Restore) -> Result<(), Failure> {
    let Some(pv) = &command.pv else {
        let removed = ask(&command.server, Method::Get, "removed")?;
        return print_rows(&removed["removed"], &["number", "name", "data", "since", "by"]);
    };
    let number = command.number.map(|number| format!("number={number}"));
    let name = command.name.as_ref().map(|name| format!("as={}", encoded(name)));
    let query = number.into_iter().chain(name).collect::<Vec<_>>().join("&");
    let path = format!("pvs/{}/restore?{query}", encoded(pv));
    tell(&ask(&command.server, Method::Post(Value::Null), path.trim_end_matches('?'))?)
}

pub(crate) fn audit(command: &Audit) -> Result<(), Failure> {
    let answer = ask(&command.server, Method::Get, &format!("audit?limit={}", command.limit))?;
    print_rows(&answer["audit"], &["time", "by", "action", "name", "detail", "from", "to", "samples", "bytes"])
}

//! `pvark policy` and `pvark group`: how PVs are archived by their names, and which PVs switch others, over HTTP.

use serde_json::{Value, json};

use super::{
    http::{Method, ask, encoded},
    print::{print_line, print_rows},
    table::{aligned, list, text},
};
use crate::{
    cli::{Group, Policy, PolicyCommand, PolicyOptions},
    failure::Failure,
};

pub(crate) fn policy(command: &Policy) -> Result<(), Failure> {
    match &command.what {
        PolicyCommand::List(server) => {
            print_rows(&ask(server, Method::Get, "policies")?["policies"], &["name", "match", "pvs", "settings"])
        }
        PolicyCommand::Plan(options) => print_plan(options, "plan", "would change"),
        PolicyCommand::Apply(options) => print_plan(options, "apply", "changed"),
    }
}

fn print_plan(options: &PolicyOptions, verb: &str, outcome: &str) -> Result<(), Failure> {
    let path = format!("policies/{verb}?include_manual={}&limit={}", options.include_manual, options.limit);
    let plan = ask(&options.server, Method::Post(Value::Null), &path)?;
    let changes = list(&plan["changes"]);
    let mut lines = vec![["pv", "policy", "from", "to"].map(str::to_owned).to_vec()];
    lines.extend(changes.iter().map(|row| ["name", "policy", "from", "to"].map(|column| text(&row[column])).to_vec()));
    if !changes.is_empty() {
        aligned(&lines).iter().try_for_each(|line| print_line(line))?;
    }
    let total = plan["total"].as_u64().unwrap_or(0);
    if total > changes.len() as u64 {
        print_line(&format!("and {} more", total - changes.len() as u64))?;
    }
    for row in list(&plan["policies"]) {
        let name = if row["name"].is_null() { "no policy".to_owned() } else { text(&row["name"]) };
        print_line(&format!("{name}: {} PVs, {} {outcome}", text(&row["pvs"]), text(&row["changes"])))?;
    }
    let groups: Vec<String> = list(&plan["groups"]).iter().map(text).collect();
    if !groups.is_empty() {
        print_line(&format!("groups {outcome}: {}", groups.join(", ")))?;
    }
    Ok(print_line(&format!("{} left alone: their settings were given by hand", text(&plan["by_hand"])))?)
}

pub(crate) fn group(command: &Group) -> Result<(), Failure> {
    let Some(name) = &command.name else {
        let columns = ["name", "enabled", "pvs", "enabled_by", "disabled_by", "disabled_now_by", "kept_by"];
        return print_rows(&ask(&command.server, Method::Get, "groups")?["groups"], &columns);
    };
    let body = json!({ "enabled_by": command.enabled_by, "disabled_by": command.disabled_by });
    let method = if command.remove { Method::Delete } else { Method::Put(body) };
    let answer = ask(&command.server, method, &format!("groups/{}", encoded(name)))?;
    Ok(print_line(&format!("{}  {}", text(&answer["name"]), text(&answer["status"])))?)
}

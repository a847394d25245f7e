//! `pvark access` and `pvark token`: who may do what; and how an archiver begins to look at that, and looks anew.

use std::path::Path;

use access::{Access, Explanation, InMemory};
use archive::{Right, Tokens};
use serde_json::{Value, json};

use super::{
    http::{Method, ask, encoded},
    print::{print_line, print_rows},
};
use crate::{cli, config::Config, failure::Failure};

/// As a config has it, with the tokens of an archive. Without a config everything is open.
pub(crate) fn begin(config: Option<access::Config>, tokens: impl Tokens + 'static) -> Result<Access, Failure> {
    match config {
        None => Ok(Access::open()),
        Some(config) => Ok(Access::new(config, Box::new(tokens)).map_err(|error| error as Failure)?),
    }
}

/// Reads `[access]` of a config file anew. What cannot be used changes nothing.
pub(crate) fn reload(access: &Access, file: Option<&Path>) {
    let Some(file) = file else { return };
    match (Config::access_of(file), access.is_open()) {
        (Ok(None), true) => {}
        (Ok(Some(config)), false) => {
            if config.socket != access.config().socket {
                tracing::warn!("the socket of [access] stays where it is until a restart");
            }
            match access.reload(config) {
                Ok(()) => tracing::info!("[access] of {} was read anew and is in force", file.display()),
                Err(error) => tracing::error!("[access] stays as it was: {error}"),
            }
        }
        (Ok(_), _) => {
            tracing::error!("[access] has come into {} or gone from it; that needs a restart", file.display())
        }
        (Err(error), _) => tracing::error!("[access] stays as it was: {error}"),
    }
}

/// `pvark access explain`
pub(crate) fn explain(command: &cli::AccessExplain) -> Result<(), Failure> {
    let (is_allowed, lines) = match &command.config {
        Some(file) => by_file(command, file)?,
        None => by_archiver(command)?,
    };
    for line in lines {
        print_line(&line)?;
    }
    if is_allowed { Ok(()) } else { Err("that is not allowed".into()) }
}

/// By a config file alone: tokens are not known then.
fn by_file(command: &cli::AccessExplain, file: &Path) -> Result<(bool, Vec<String>), Failure> {
    let access = match Config::access_of(file)? {
        None => Access::open(),
        Some(config) => Access::new(config, Box::new(InMemory::default())).map_err(|error| error as Failure)?,
    };
    let who = web::somebody(&access, &command.user)?;
    let needed = web::needed_for(&command.method, &command.what)?;
    let groups: Vec<Box<str>> = command.groups.iter().map(|group| group.as_str().into()).collect();
    let Explanation { is_allowed, text } = web::explained(&access, &who, &groups, &needed, (Right::Administer, true));
    Ok((is_allowed, text.lines().map(str::to_owned).collect()))
}

fn by_archiver(command: &cli::AccessExplain) -> Result<(bool, Vec<String>), Failure> {
    let groups: String = command.groups.iter().map(|group| format!("&group={}", encoded(group))).collect();
    let (user, method, what) = (encoded(&command.user), encoded(&command.method), encoded(&command.what));
    let path = format!("access/explain?user={user}&method={method}&what={what}{groups}");
    let answer = ask(&command.server, Method::Get, &path)?;
    let lines = answer["why"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    Ok((answer["allowed"] == true, lines.collect()))
}

/// `pvark token …`
pub(crate) fn token(command: &cli::TokenArgs) -> Result<(), Failure> {
    match &command.what {
        cli::TokenCommand::Add(command) => add(command),
        cli::TokenCommand::List(command) => list(command),
        cli::TokenCommand::Revoke(command) => revoke(command),
    }
}

fn add(command: &cli::TokenAdd) -> Result<(), Failure> {
    let wanted = json!({
        "name": command.name, "right": command.right, "pvs": command.pvs, "expires": command.expires,
    });
    let answer = ask(&command.server, Method::Post(wanted), "tokens")?;
    // The token alone on standard output, so that it can be led into a file.
    eprintln!(
        "token:{} may {} {} until {}; this is the only time that it is seen:",
        command.name,
        command.right,
        command.pvs.join(", "),
        answer["expires"].as_str().unwrap_or("?"),
    );
    Ok(print_line(answer["token"].as_str().ok_or("the archiver has answered without a token")?)?)
}

fn list(command: &cli::TokenList) -> Result<(), Failure> {
    let answer = ask(&command.server, Method::Get, "tokens")?;
    print_rows(&answer, &["id", "name", "right", "pvs", "expires", "expired", "used", "made_by"])
}

fn revoke(command: &cli::TokenRevoke) -> Result<(), Failure> {
    ask(&command.server, Method::Delete, &format!("tokens/{}", encoded(&command.id)))?;
    Ok(print_line(&format!("the token {} is revoked", command.id))?)
}

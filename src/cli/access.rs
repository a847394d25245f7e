//! Tokens, and the question who may do what.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::server::Server;

#[derive(Args, Debug)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    pub(crate) what: TokenCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token; it is printed once, and only its hash is kept
    Add(TokenAdd),
    /// List the tokens: who made them, what they may do, until when, and when they were last used
    List(TokenList),
    /// End a token at once
    Revoke(TokenRevoke),
}

#[derive(Args, Debug)]
pub(crate) struct TokenAdd {
    #[command(flatten)]
    pub(crate) server: Server,
    /// What it is called, as `token:NAME` in the audit and in grants
    pub(crate) name: String,
    /// What it may do: read, operate, administer
    #[arg(long, default_value = "read")]
    pub(crate) right: String,
    /// To which PVs: globs, or regular expressions behind ~
    #[arg(long, value_name = "PATTERN", default_value = "*")]
    pub(crate) pvs: Vec<String>,
    /// For how long, as 90d, or until when
    #[arg(long, value_name = "TIME")]
    pub(crate) expires: String,
}

#[derive(Args, Debug)]
pub(crate) struct TokenList {
    #[command(flatten)]
    pub(crate) server: Server,
}

#[derive(Args, Debug)]
pub(crate) struct TokenRevoke {
    #[command(flatten)]
    pub(crate) server: Server,
    /// The id of the token, which is the part of it between the first and the second _
    pub(crate) id: String,
}

#[derive(Args, Debug)]
pub(crate) struct AccessCommand {
    #[command(subcommand)]
    pub(crate) what: AccessQuestion,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AccessQuestion {
    /// Say why somebody may do something, or why not, and which line of the config decides
    Explain(AccessExplain),
}

#[derive(Args, Debug)]
pub(crate) struct AccessExplain {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Who: oidc:NAME, ldap:NAME, proxy:NAME, token:NAME, certificate:NAME, local:UID, anonymous, or a name alone
    pub(crate) user: String,
    /// A method of HTTP, or a right: read, operate, administer
    pub(crate) method: String,
    /// A URL of the archiver, or the name of a PV
    #[arg(value_name = "URL|PV")]
    pub(crate) what: String,
    /// A group in which they are
    #[arg(long = "group", value_name = "NAME")]
    pub(crate) groups: Vec<String>,
    /// Ask this config file, and no running archiver
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

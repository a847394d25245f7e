//! What the command line can do, a file for each command or family of them.
//!
//! ```text
//!   over HTTP, to a running archiver     add, get, when, formula, stats, snapshot, diff, explain, export, look, admin, memos, access, policy, import, cluster, capacity --live
//!   on the files of an archive           check, repair, backup, audit --verify
//!   on what a cluster shares             check --cluster, backup --cluster
//!   both                                 compare
//!   an archiver of its own               demo
//! ```
//! They share `http` (requests), `typed` (what people type), `zone` (whose times these are), `print`, `table`, `bytes`, `progress` and `lines` (what they say and
//! write down), and `appliance`, the client of another archiver.

pub(crate) mod access;
mod add;
mod admin;
mod appliance;
mod audit;
mod backup;
mod bytes;
pub(crate) mod capacity;
mod check;
mod cluster;
mod compare;
mod computed;
mod demo;
mod diff;
mod explain;
mod export;
mod get;
mod http;
mod import;
mod lines;
mod look;
mod memos;
mod patience;
mod policy;
mod print;
mod progress;
mod relations;
mod repair;
pub(crate) mod setting_options;
mod shards;
mod socket;
mod table;
mod typed;
mod view;
mod when;
mod zone;

use archive::AddRequest;

use crate::{
    cli::{AccessQuestion, Cli, Command},
    config::Config,
    failure::Failure,
    host::process,
};

/// Does what the command line says. `run` and `demo` end with `archive`, which is given the PVs to add at the start.
pub(crate) fn run(
    cli: &Cli,
    archive: impl FnOnce(Config, &[AddRequest]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if let Some(authorities) = &cli.ca {
        http::trust(authorities)?;
    }
    if let Some(server) = &cli.server {
        http::show(server, cli.token_file.as_deref(), cli.socket.as_deref())?;
    }
    zone::choose(cli.zone.as_deref(), cli.server.as_deref())?;
    match &cli.command {
        Command::Run(options) => archive(Config::load(options, process::env)?, &[]),
        Command::Add(command) => add::run(command),
        Command::List(command) => look::list_pvs(command),
        Command::Iocs(command) => look::iocs(command),
        Command::Status(command) => look::status(command),
        Command::Upkeep(command) => look::upkeep(command),
        Command::Report(command) => look::report(command),
        Command::Pause(command) => look::switch(command, "pause"),
        Command::Resume(command) => look::switch(command, "resume"),
        Command::Get(command) => get::run(command),
        Command::When(command) => when::run(command),
        Command::Formula(command) => computed::formula(command),
        Command::Stats(command) => computed::stats(command),
        Command::Histogram(command) => computed::histogram(command),
        Command::Xy(command) => relations::xy(command),
        Command::Fft(command) => relations::fft(command),
        Command::Snapshot(command) => diff::snapshot(command),
        Command::Diff(command) => diff::diff(command),
        Command::Export(command) => export::run(command),
        Command::Explain(command) => explain::run(command),
        Command::Rename(command) => admin::rename(command),
        Command::Alias(command) => admin::alias(command),
        Command::Remove(command) => admin::remove(command),
        Command::Restore(command) => admin::restore(command),
        Command::Delete(command) => admin::delete(command),
        Command::Undelete(command) => admin::undelete(command),
        Command::Undo(command) => admin::undo(command),
        Command::Note(command) => memos::note(command),
        Command::View(command) => match &command.what {
            Some(named) => memos::view(named),
            None => view::run(command),
        },
        Command::Purge(command) => admin::purge(command),
        Command::Import(command) => import::import(command),
        Command::Compare(command) => compare::run(command),
        Command::Audit(command) if command.verify => audit::verify(command),
        Command::Audit(command) => admin::audit(command),
        Command::Token(command) => access::token(command),
        Command::Access(command) => match &command.what {
            AccessQuestion::Explain(command) => access::explain(command),
        },
        Command::Policy(command) => policy::policy(command),
        Command::Group(command) => policy::group(command),
        Command::Cluster(command) => cluster::run(command),
        Command::Check(command) => match &command.cluster {
            Some(config) => shards::check(config),
            None => check::run(command),
        },
        Command::Repair(command) => repair::run(command),
        Command::Backup(command) => match &command.cluster {
            Some(config) => shards::backup(config, &command.to),
            None => backup::run(command),
        },
        Command::TakeOver(command) => backup::take_over(command),
        Command::Capacity(command) => capacity::run(command),
        Command::Demo(command) => demo::run(command, archive),
    }
}

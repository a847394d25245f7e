//! The command line: one definition for the parser and its help. What a command takes stands in the file of its family.

mod access;
mod add;
mod admin;
mod analysis;
mod capacity;
mod cluster;
mod compare;
mod files;
mod import;
mod look;
mod memos;
mod output;
mod policy;
mod range;
mod read;
mod run;
mod server;

use std::path::PathBuf;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

pub(crate) use self::{
    access::{AccessCommand, AccessExplain, AccessQuestion, TokenAdd, TokenArgs, TokenCommand, TokenList, TokenRevoke},
    add::Add,
    admin::{AliasArgs, Audit, Delete, PurgeArgs, Remove, Rename, Restore, Undelete, Undo},
    analysis::{Computed, Fft, Formula, HistogramArgs, Stats, WhenArgs, Xy},
    capacity::Capacity,
    cluster::{Cluster, ClusterOrder},
    compare::CompareArgs,
    files::{BackupArgs, CheckArgs, RepairArgs, TakeOver},
    import::{Csv, FromAppliance, FromConfig, Import, ImportFrom},
    look::{Iocs, List, Report, Status, Switch, Upkeep},
    memos::{NoteArgs, NoteCommand, NoteList, ViewArgs, ViewCommand, ViewList},
    output::Format,
    policy::{Group, Policy, PolicyCommand, PolicyOptions},
    range::RangeArgs,
    read::{Diff, Explain, ExportArgs, Get, SnapshotArgs},
    run::{Demo, LogFormat, Run},
    server::Server,
};

/// An archiver for EPICS process variables.
#[derive(Debug, Parser)]
#[command(name = "pvark", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// By which authorities servers with https:// are known, in PEM [default: those that all the world knows]
    #[arg(long, value_name = "FILE", env = "PVARK_CA", global = true)]
    pub(crate) ca: Option<PathBuf>,
    /// A file with the token by which the archiver is asked; nobody else may read it
    #[arg(long, value_name = "FILE", env = "PVARK_TOKEN_FILE", global = true)]
    pub(crate) token_file: Option<PathBuf>,
    /// Ask by this socket of the archiver's machine ([access] socket) instead of by network
    #[arg(long, value_name = "FILE", env = "PVARK_SOCKET", global = true)]
    pub(crate) socket: Option<PathBuf>,
    /// The zone of times that are typed without one, and of those in tables: utc, site, or a name like Europe/Stockholm [default: site, which is
    /// utc where the archiver's config says none]
    #[arg(long, value_name = "ZONE", env = "PVARK_ZONE", global = true)]
    pub(crate) zone: Option<String>,
    /// The archiver that is asked, whichever the command is
    #[arg(skip)]
    pub(crate) server: Option<String>,
}

impl Cli {
    /// What was typed.
    pub(crate) fn typed() -> Cli {
        let typed = Cli::command().get_matches();
        let cli = Cli::from_arg_matches(&typed).unwrap_or_else(|error| error.exit());
        Cli { server: server_of(&typed), ..cli }
    }
}

/// What a command, or one below it, has as `--server`.
fn server_of(typed: &ArgMatches) -> Option<String> {
    // `import` has one, and so have the commands below it, to which it is given.
    let below = typed.subcommand().and_then(|(_, typed)| server_of(typed));
    below.or_else(|| typed.try_get_one::<String>("url").ok().flatten().cloned())
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Archive PVs and answer clients, until SIGTERM or Ctrl-C
    Run(Run),
    /// Tell a running archiver to archive PVs
    Add(Add),
    /// List the PVs of a running archiver: how they stand, and their last values
    List(List),
    /// List the IOCs of the PVs: since when they are connected, how many of their PVs are lost, restarts
    Iocs(Iocs),
    /// Say how a running archiver fares
    Status(Status),
    /// Say how long what is kept, what goes next, and how old the last backups are
    Upkeep(Upkeep),
    /// Say which PVs never connected, are away, silent, fast or large
    Report(Report),
    /// Stop taking samples of PVs; what was recorded stays
    Pause(Switch),
    /// Take samples of PVs again
    Resume(Switch),
    /// Print what a running archiver has recorded of a PV
    Get(Get),
    /// Say when a condition over PVs held, such as 'SR:CURRENT > 3 while SR:SHUTTER = OPEN for >= 10 s'
    When(WhenArgs),
    /// Compute a formula over PVs, such as 'SR:CURRENT - 2*SR:OFFSET', in bins or step by step
    Formula(Formula),
    /// Say what a PV or a formula amounts to in a range: mean, deviation, percentiles, time at each value
    Stats(Stats),
    /// Say for how long a PV or a formula lay between which edges, or how many samples did
    Histogram(HistogramArgs),
    /// Print what two PVs or formulas were at the same time, in pairs
    Xy(Xy),
    /// Say how strong each frequency is in a PV or a formula
    Fft(Fft),
    /// Print the values that many PVs had at one time
    Snapshot(SnapshotArgs),
    /// Say which of many PVs changed between two times, those first that changed most beside what they usually do
    Diff(Diff),
    /// Export many PVs as one file that the archiver makes: CSV, Parquet, Arrow, XLSX or MAT; goes on where a connection broke off
    Export(ExportArgs),
    /// Say why there is no data of a PV in a range, or not all
    Explain(Explain),
    /// Give a PV another name; its samples stay where they are
    Rename(Rename),
    /// Give a PV one more name, or take one from it; without a name list all aliases
    Alias(AliasArgs),
    /// Take PVs out of the archive; they can be restored
    Remove(Remove),
    /// Bring back a PV that was removed; without a name list what can come back
    Restore(Restore),
    /// Delete what was recorded of a PV in a range; `undelete` brings it back
    Delete(Delete),
    /// Undo the deletion of a range; without a number list what was deleted
    Undelete(Undelete),
    /// Take back an order about PVs of the last day: settings, pauses, policies, removals; without a number list them
    Undo(Undo),
    /// Write notes on times and PVs, find them, take them away
    Note(NoteArgs),
    /// Print bins of many PVs as the page draws them; or save such a view under a name, with a short link, find views, take them away
    View(ViewArgs),
    /// Free the space of what was deleted, for good; without --yes say what would go
    Purge(PurgeArgs),
    /// Import samples of the past: from CSV files, or with a subcommand from another archiver
    Import(Import),
    /// Compare with another archiver, sample by sample, and say who lost what and why
    Compare(CompareArgs),
    /// Print who changed what is in the archive, the newest first
    Audit(Audit),
    /// Make tokens by which programs are known, list and revoke them
    Token(TokenArgs),
    /// Say who may do what
    Access(AccessCommand),
    /// Say what the policies of the config file would change of the PVs that there are, or change it
    Policy(Policy),
    /// List the groups and what switches them, or set the switches of one
    Group(Group),
    /// Say how a cluster stands, move a shard to a node, let a node have none, or forget one
    Cluster(Cluster),
    /// Read a whole archive, verify every checksum and say what was found
    Check(CheckArgs),
    /// Keep what can be read of a damaged archive, whose archiver must be stopped; says first what it would do
    Repair(RepairArgs),
    /// Copy an archive, beside a running archiver if need be; a second time only what is new
    Backup(BackupArgs),
    /// Make a backup an archive of its own, in which an archiver may record
    TakeOver(TakeOver),
    /// Say what a list of PVs will need of a machine, and which of its resources is exhausted first
    Capacity(Capacity),
    /// Start a real EPICS IOC with a hundred lively PVs and archive them
    Demo(Demo),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_asked_is_said_behind_the_last_of_the_commands() {
        let server = |typed: &[&str]| {
            let typed = Cli::command().try_get_matches_from(typed);
            server_of(&typed.unwrap_or_else(|error| panic!("{error}")))
        };
        let url = "http://archiver:1";
        let appliance = ["pvark", "import", "archiver-appliance", "/old", "--server", url];
        assert_eq!(server(&appliance).as_deref(), Some(url));
        assert_eq!(server(&["pvark", "list", "--server", url]).as_deref(), Some(url));
        assert_eq!(server(&["pvark", "import", "--pv", "A", "--server", url, "samples.csv"]).as_deref(), Some(url));
    }
}

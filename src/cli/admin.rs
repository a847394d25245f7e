//! Orders about PVs and what was recorded of them: names, removals, deletions, and the audit of them.

use std::path::PathBuf;

use clap::Args;

use super::server::Server;

#[derive(Args, Debug)]
pub(crate) struct Rename {
    #[command(flatten)]
    pub(crate) server: Server,
    /// The PV's name
    pub(crate) pv: String,
    /// Its new name, under which its IOC serves it from now on
    pub(crate) to: String,
    /// Do not keep the old name as an alias
    #[arg(long)]
    pub(crate) no_alias: bool,
}

#[derive(Args, Debug)]
pub(crate) struct AliasArgs {
    #[command(flatten)]
    pub(crate) server: Server,
    /// The PV's name
    #[arg(requires = "alias")]
    pub(crate) pv: Option<String>,
    /// The other name
    pub(crate) alias: Option<String>,
    /// Take the other name away
    #[arg(long, requires = "alias")]
    pub(crate) remove: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Remove {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Names of PVs; `-` reads them from standard input, one a line
    #[arg(required = true)]
    pub(crate) pvs: Vec<String>,
    /// Their samples are to go too: hidden at once, and freed by `pvark purge`
    #[arg(long)]
    pub(crate) delete_data: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Restore {
    #[command(flatten)]
    pub(crate) server: Server,
    /// The names that the PVs had; `-` reads them from standard input, one a line
    pub(crate) pvs: Vec<String>,
    /// Which of several that had the name
    #[arg(long, value_name = "N", requires = "pvs")]
    pub(crate) number: Option<u32>,
    /// Another name, if the PV's own is taken
    #[arg(long = "as", value_name = "NAME", requires = "pvs")]
    pub(crate) name: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Delete {
    #[command(flatten)]
    pub(crate) server: Server,
    /// The PV's name
    pub(crate) pv: String,
    /// Beginning, in the zone of --zone if it says none: 2026-11-21 08:30, 8:00, yesterday, -8h, ±10min
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) from: String,
    /// End (not included): as for --from, or `now`, or +1h
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) to: String,
}

#[derive(Args, Debug)]
pub(crate) struct Undelete {
    #[command(flatten)]
    pub(crate) server: Server,
    /// The number of the deletion
    pub(crate) number: Option<u64>,
}

#[derive(Args, Debug)]
pub(crate) struct Undo {
    #[command(flatten)]
    pub(crate) server: Server,
    /// The number of the order
    pub(crate) number: Option<u64>,
    /// List the orders that can be taken back, as without a number
    #[arg(long, conflicts_with = "number")]
    pub(crate) list: bool,
    /// Say what it would do, PV by PV, and change nothing
    #[arg(long, requires = "number")]
    pub(crate) plan: bool,
}

#[derive(Args, Debug)]
pub(crate) struct PurgeArgs {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Of this PV alone: a name that it has or had, or `#` and its number
    #[arg(long, value_name = "NAME")]
    pub(crate) pv: Option<String>,
    /// Only what was deleted before: 2026-11-21, -30d and the like
    #[arg(long, default_value = "now", allow_hyphen_values = true)]
    pub(crate) before: String,
    /// Do it; it cannot be undone
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Audit {
    #[command(flatten)]
    pub(crate) server: Server,
    /// How many lines
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: u32,
    /// Only lines about these PVs, by their names now or then: a part of a name, a glob, or ~ and a regular expression
    #[arg(long, value_name = "NAME")]
    pub(crate) pv: Option<String>,
    /// Only lines of whom this is a part
    #[arg(long, value_name = "WHO")]
    pub(crate) who: Option<String>,
    /// Only lines in which this was done, as `added`, `paused`, `changed` or `removed`
    #[arg(long, value_name = "ACTION")]
    pub(crate) action: Option<String>,
    /// Only lines of this time or later, as `-7d` or `2026-11-21 08:30`
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) from: Option<String>,
    /// Only lines from before this time
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) to: Option<String>,
    /// Print CSV
    #[arg(long)]
    pub(crate) csv: bool,
    /// Prove that no line was changed, taken out or put in between, from the files of the archive
    #[arg(long)]
    pub(crate) verify: bool,
    /// Folder of the archive, for --verify
    #[arg(long, value_name = "DIR", default_value = "pvark-data")]
    pub(crate) data: PathBuf,
    /// A log of the archiver, for --verify: each end of the audit that it tells of must be there; `-` reads standard input
    #[arg(long, value_name = "FILE", requires = "verify")]
    pub(crate) log: Vec<PathBuf>,
    /// A backup, for --verify: the end of the audit that it has must be there
    #[arg(long, value_name = "DIR", requires = "verify")]
    pub(crate) backup: Vec<PathBuf>,
}

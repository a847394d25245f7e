//! The command line: one definition for the parser and its help.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use crate::capacity::HeadSettings;

/// An archiver for EPICS process variables.
#[derive(Debug, Parser)]
#[command(name = "pvark", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Archive PVs and answer clients, until SIGTERM or Ctrl-C
    Run(Run),
    /// Tell a running archiver to archive PVs
    Add(Add),
    /// Print what a running archiver has recorded of a PV
    Get(Get),
    /// Say why there is no data of a PV in a range, or not all
    Explain(Explain),
    /// Give a PV another name; its samples stay where they are
    Rename(Rename),
    /// Give a PV one more name, or take one from it; without a name list all aliases
    Alias(Alias),
    /// Take PVs out of the archive; they can be restored
    Remove(Remove),
    /// Bring back a PV that was removed; without a name list what can come back
    Restore(Restore),
    /// Delete what was recorded of a PV in a range; `undelete` brings it back
    Delete(Delete),
    /// Undo the deletion of a range; without a number list what was deleted
    Undelete(Undelete),
    /// Free the space of what was deleted, for good; without --yes say what would go
    Purge(Purge),
    /// Import samples of the past: from CSV files, or with a subcommand from another archiver
    Import(Import),
    /// Print who changed what is in the archive, the newest first
    Audit(Audit),
    /// Say what the policies of the config file would change of the PVs that there are, or change it
    Policy(Policy),
    /// List the groups and what switches them, or set the switches of one
    Group(Group),
    /// Read a whole archive, verify every checksum and say what was found
    Check(Check),
    /// Keep what can be read of a damaged archive, whose archiver must be stopped; says first what it would do
    Repair(Repair),
    /// Copy an archive, beside a running archiver if need be; a second time only what is new
    Backup(Backup),
    /// Say what a list of PVs will need of a machine, and which of its resources is exhausted first
    Capacity(Capacity),
    /// Start a real EPICS IOC with a hundred lively PVs and archive them
    Demo(Demo),
}

#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Run {
    /// Config file (see docs/operate.md); everything has a default
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Folder of the archive [default: ./pvark-data]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Where to listen for clients [default: 127.0.0.1:17665]
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: Option<String>,
    /// How log lines are written to standard error [default: text]
    #[arg(long, value_enum)]
    pub(crate) log_format: Option<LogFormat>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people
    #[default]
    Text,
    /// One JSON object a line
    Json,
}

/// The archiver that a command talks to.
#[derive(Args, Debug)]
pub(crate) struct Server {
    /// The archiver's URL
    #[arg(long = "server", value_name = "URL", env = "PVARK_URL", default_value = "http://127.0.0.1:17665")]
    pub(crate) url: String,
}

#[derive(Args, Debug)]
pub(crate) struct Add {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Names, with ca:// or pva:// to choose the protocol; `-` reads them from standard input, one a line
    #[arg(required = true)]
    pub(crate) names: Vec<String>,
    /// Take the newest value once in so many seconds instead of every update
    #[arg(long, value_name = "SECONDS")]
    pub(crate) scan: Option<f64>,
    /// By this policy, whatever their names fit
    #[arg(long, value_name = "NAME")]
    pub(crate) policy: Option<String>,
    /// Leave out what moves no further than this: 0.5, or 5% of the last sample
    #[arg(long, value_name = "WIDTH")]
    pub(crate) deadband: Option<String>,
    /// Take at most so many samples a second
    #[arg(long, value_name = "PER_SECOND")]
    pub(crate) rate_cap: Option<f64>,
    /// Fields that get a history of their own: HIHI,EGU
    #[arg(long, value_name = "FIELDS", value_delimiter = ',')]
    pub(crate) fields: Vec<String>,
    /// Groups that the PVs are in
    #[arg(long, value_name = "GROUPS", value_delimiter = ',')]
    pub(crate) groups: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Policy {
    #[command(subcommand)]
    pub(crate) what: PolicyCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Print the policies by which PVs are added now
    List(Server),
    /// Say which PVs would change, from what to what
    Plan(PolicyOptions),
    /// Change them; the archiver goes on recording
    Apply(PolicyOptions),
}

#[derive(Args, Debug)]
pub(crate) struct PolicyOptions {
    #[command(flatten)]
    pub(crate) server: Server,
    /// PVs too whose settings somebody gave by hand
    #[arg(long)]
    pub(crate) include_manual: bool,
    /// The most PVs to print
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    pub(crate) limit: u32,
}

#[derive(Args, Debug)]
pub(crate) struct Group {
    #[command(flatten)]
    pub(crate) server: Server,
    /// The group to be set or removed; without one all are listed
    pub(crate) name: Option<String>,
    /// PVs: the group is enabled while their values are not zero
    #[arg(long, value_name = "PVS", value_delimiter = ',', requires = "name")]
    pub(crate) enabled_by: Vec<String>,
    /// PVs: the group is disabled while one of their values is above zero
    #[arg(long, value_name = "PVS", value_delimiter = ',', requires = "name")]
    pub(crate) disabled_by: Vec<String>,
    /// Take its switches away: it is always enabled then
    #[arg(long, requires = "name", conflicts_with_all = ["enabled_by", "disabled_by"])]
    pub(crate) remove: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Capacity {
    /// PVs, one a line: name,type,rate,length,changes,count (see docs/operate.md); `-` reads standard input
    pub(crate) list: Option<String>,
    /// Look at an archiver that runs: its load if there is no list, and how fast its machine is
    #[arg(long, value_name = "URL")]
    pub(crate) live: Option<String>,
    /// For so long
    #[arg(long, default_value_t = 5.0)]
    pub(crate) seconds: f64,
    /// Cores that there are [default: those of this machine]
    #[arg(long)]
    pub(crate) cores: Option<f64>,
    /// GB of memory that there are [default: those of this machine]
    #[arg(long, value_name = "GB")]
    pub(crate) memory: Option<f64>,
    /// Mb/s that the network carries
    #[arg(long, value_name = "MBITS")]
    pub(crate) network: Option<f64>,
    /// MB/s that the disk takes
    #[arg(long, value_name = "MB")]
    pub(crate) disk: Option<f64>,
    #[command(flatten)]
    pub(crate) head: HeadSettings,
    /// Another model, as `pvark-lab capacity --write` makes it
    #[arg(long, value_name = "FILE")]
    pub(crate) model: Option<PathBuf>,
    /// One JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

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
pub(crate) struct Alias {
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
    /// Names of PVs
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
    /// The name that the PV had
    pub(crate) pv: Option<String>,
    /// Which of several of that name
    #[arg(long, value_name = "N", requires = "pv")]
    pub(crate) number: Option<u32>,
    /// Another name, if its own is taken
    #[arg(long = "as", value_name = "NAME", requires = "pv")]
    pub(crate) name: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Delete {
    #[command(flatten)]
    pub(crate) server: Server,
    /// The PV's name
    pub(crate) pv: String,
    /// Beginning: ISO 8601 like 2026-11-21T08:30:00Z, or back from now like -8h
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) from: String,
    /// End (not included): as for --from, or `now`
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
pub(crate) struct Purge {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Of this PV alone: a name that it has or had, or `#` and its number
    #[arg(long, value_name = "NAME")]
    pub(crate) pv: Option<String>,
    /// Only what was deleted before: ISO 8601, or back from now like -30d
    #[arg(long, default_value = "now", allow_hyphen_values = true)]
    pub(crate) before: String,
    /// Do it; it cannot be undone
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Import {
    #[command(subcommand)]
    pub(crate) from: Option<ImportFrom>,
    #[command(flatten)]
    pub(crate) csv: Csv,
}

/// Other archivers.
#[derive(Debug, Subcommand)]
pub(crate) enum ImportFrom {
    /// Import the samples, PVs and aliases of an Archiver Appliance; begun again it goes on where it was
    ArchiverAppliance(FromAppliance),
    /// Turn configurations of other archivers into PVs and a config file, and say what could not be carried over
    Config(FromConfig),
}

#[derive(Args, Debug)]
pub(crate) struct FromConfig {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Write the config file here instead of to standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Archive the PVs that were found, from now on
    #[arg(long)]
    pub(crate) add: bool,
    /// Which appliance of appliances.xml this archiver takes the place of [default: the first]
    #[arg(long, value_name = "NAME")]
    pub(crate) identity: Option<String>,
    /// Ask a ChannelFinder for PVs, as http://HOST:8080/ChannelFinder
    #[arg(long, value_name = "URL")]
    pub(crate) channel_finder: Option<String>,
    /// Its property that says how a PV is archived, as monitor@1 or scan@10
    #[arg(long, value_name = "NAME", default_value = "archive")]
    pub(crate) property: String,
    /// policies.py, archappl.properties, appliances.xml, engineconfig.xml, lists of PVs
    #[arg(required_unless_present = "channel_finder")]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct FromAppliance {
    #[command(flatten)]
    pub(crate) server: Server,
    /// The name of the import: begun again under the same name it goes on where it was
    #[arg(long, default_value = "archiver-appliance")]
    pub(crate) name: String,
    /// JSON of PVTypeInfos, as its exportConfig gives it, or a folder of such files
    #[arg(long, value_name = "PATH")]
    pub(crate) type_info: Option<PathBuf>,
    /// JSON of its getAllAliases
    #[arg(long, value_name = "FILE")]
    pub(crate) aliases: Option<PathBuf>,
    /// Archive the PVs that were not paused there from now on
    #[arg(long, requires = "type_info")]
    pub(crate) activate: bool,
    /// Read everything and say what would be imported, and what is damaged
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Root folders of its stores: short, medium and long term
    #[arg(required = true, value_name = "FOLDER")]
    pub(crate) folders: Vec<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Csv {
    #[command(flatten)]
    pub(crate) server: Server,
    /// The PV, which must be in the archive
    #[arg(long, required = true)]
    pub(crate) pv: Option<String>,
    /// The name of the import: begun again under the same name it goes on where it was
    #[arg(long, default_value = "csv")]
    pub(crate) name: String,
    /// Type of the values
    #[arg(long = "type", value_name = "TYPE", default_value = "f64", value_parser = ["f64", "f32", "i32", "i64", "string", "bool"])]
    pub(crate) value_type: String,
    /// Files with lines time,value,severity,status; the last two may be left out, the first line may be a head
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Audit {
    #[command(flatten)]
    pub(crate) server: Server,
    /// How many lines
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: u32,
}

#[derive(Args, Debug)]
pub(crate) struct Get {
    #[command(flatten)]
    pub(crate) server: Server,
    /// The PV's name
    pub(crate) pv: String,
    /// Beginning: ISO 8601 like 2026-11-21T08:30:00Z, or back from now like -90s, -15m, -8h, -7d
    #[arg(long, default_value = "-1h", allow_hyphen_values = true)]
    pub(crate) from: String,
    /// End (not included): as for --from, or `now`
    #[arg(long, default_value = "now", allow_hyphen_values = true)]
    pub(crate) to: String,
    /// Reduce to so many bins with count, minimum, maximum, mean, first and last
    #[arg(long, value_name = "N")]
    pub(crate) bins: Option<u32>,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(Args, Debug)]
pub(crate) struct Explain {
    #[command(flatten)]
    pub(crate) server: Server,
    /// The PV's name
    pub(crate) pv: String,
    /// Beginning: ISO 8601 like 2026-11-21T08:30:00Z, or back from now like -90s, -15m, -8h, -7d
    #[arg(long, default_value = "-1h", allow_hyphen_values = true)]
    pub(crate) from: String,
    /// End (not included): as for --from, or `now`
    #[arg(long, default_value = "now", allow_hyphen_values = true)]
    pub(crate) to: String,
    /// What proves that nothing is missing: values that rise by one with each update, or pulse ids
    #[arg(long, value_name = "WHAT", default_value = "auto", value_parser = ["auto", "counter", "pulse"])]
    pub(crate) proof: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned columns for people
    Table,
    /// Comma-separated values
    Csv,
    /// The JSON of the HTTP interface
    Json,
    /// An Arrow IPC stream
    Arrow,
}

#[derive(Args, Debug)]
pub(crate) struct Check {
    /// Folder of the archive
    #[arg(long, value_name = "DIR", default_value = "pvark-data")]
    pub(crate) data: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct Repair {
    /// Folder of the archive
    #[arg(long, value_name = "DIR", default_value = "pvark-data")]
    pub(crate) data: PathBuf,
    /// Do it, instead of only saying what would be done
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Backup {
    /// Folder of the archive
    #[arg(long, value_name = "DIR", default_value = "pvark-data")]
    pub(crate) data: PathBuf,
    /// Folder of the backup: new, empty, or an earlier backup of the same archive
    #[arg(long, value_name = "DIR")]
    pub(crate) to: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// A Python that has the packages epicscorelibs and pvxslibs
    #[arg(long, value_name = "PATH", default_value = "python3")]
    pub(crate) python: PathBuf,
    /// Folder of the demo's archive
    #[arg(long, value_name = "DIR", default_value = "pvark-demo")]
    pub(crate) data: PathBuf,
    /// Where to listen for clients
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:17665")]
    pub(crate) listen: String,
}

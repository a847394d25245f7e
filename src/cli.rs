//! The command line: one definition for the parser and its help.

use std::{path::PathBuf, time::Duration};

use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

pub(crate) use crate::commands::{capacity::HeadSettings, setting_options::SettingOptions};

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
    let own = typed.try_get_one::<String>("url").ok().flatten();
    own.cloned().or_else(|| server_of(typed.subcommand()?.1))
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

#[derive(Args, Debug)]
pub(crate) struct Cluster {
    #[command(flatten)]
    pub(crate) server: Server,
    #[command(subcommand)]
    pub(crate) order: ClusterOrder,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClusterOrder {
    /// List the nodes, how they stand, and which shards each has
    Status,
    /// Let a node take a shard, whoever has it; nothing is lost in between
    Move {
        /// The number of the shard
        shard: u32,
        /// The name of the node
        node: String,
    },
    /// Let a node have no shards: the others take them
    Drain {
        /// The name of the node
        node: String,
    },
    /// Let a node that was drained have its share again
    Join {
        /// The name of the node
        node: String,
    },
    /// Reckon no longer with a node that is gone for good
    Forget {
        /// The name of the node
        node: String,
    },
    /// Write what nodes share in the newest format that all of them read, when the last one is updated
    Raise,
}

/// The archiver that a command talks to.
#[derive(Args, Debug)]
pub(crate) struct Server {
    /// The archiver's URL
    #[arg(long = "server", value_name = "URL", env = "PVARK_URL", default_value = "http://127.0.0.1:17665")]
    pub(crate) url: String,
}

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

#[derive(Args, Debug)]
pub(crate) struct Add {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Names, with ca:// or pva:// to choose the protocol; `-` reads them from standard input, one a line
    #[arg(required = true)]
    pub(crate) names: Vec<String>,
    /// By this policy, whatever their names fit
    #[arg(long, value_name = "NAME", display_order = SettingOptions::BEHIND_METHOD)]
    pub(crate) policy: Option<String>,
    #[command(flatten)]
    pub(crate) settings: SettingOptions,
}

#[derive(Args, Debug)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) server: Server,
    /// A part of the name, a glob with * or ?, or ~ and a regular expression [default: all]
    pub(crate) pattern: Option<String>,
    /// Only PVs that stand so: connected, searching, disconnected, paused, unknown
    #[arg(long, default_value = "any")]
    pub(crate) state: String,
    /// Only PVs with all of these words, in names, descriptions, units, groups, policies or IOCs
    #[arg(long, value_name = "WORDS")]
    pub(crate) words: Option<String>,
    /// By what they are sorted: name, rate, bytes_per_day, bytes, last, since, added, state, policy, ioc
    #[arg(long, value_name = "WHAT")]
    pub(crate) sort: Option<String>,
    /// Which come first: asc, desc
    #[arg(long, value_name = "ORDER")]
    pub(crate) order: Option<String>,
    /// Only PVs to which this policy was applied; - for none
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) policy: Option<String>,
    /// Only PVs in this group; - for none
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) group: Option<String>,
    /// Only PVs that this IOC serves, or did: its address, with or without the port
    #[arg(long, value_name = "ADDRESS", allow_hyphen_values = true)]
    pub(crate) ioc: Option<String>,
    /// How many PVs there are of each state, policy, group and IOC, in place of the PVs
    #[arg(long, conflicts_with = "names")]
    pub(crate) counts: bool,
    /// The most PVs to print
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Names only, to be piped into other commands
    #[arg(long)]
    pub(crate) names: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Iocs {
    #[command(flatten)]
    pub(crate) server: Server,
    /// A part of the address [default: all]
    pub(crate) address: Option<String>,
    /// Only IOCs of which PVs are lost
    #[arg(long)]
    pub(crate) lost: bool,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Status {
    #[command(flatten)]
    pub(crate) server: Server,
    /// All of it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Report {
    #[command(flatten)]
    pub(crate) server: Server,
    /// What about
    #[arg(value_enum)]
    pub(crate) which: ReportName,
    /// The most PVs to print
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportName {
    /// No IOC has ever answered
    NeverConnected,
    /// The connection is lost now
    Disconnected,
    /// By lost connections
    LostConnections,
    /// By how long they have been silent
    Silent,
    /// Paused
    Paused,
    /// By samples a second
    EventRate,
    /// By bytes a day
    StorageRate,
    /// By their bytes
    Storage,
    /// By samples lost for want of room
    Dropped,
    /// By age, the newest first
    Added,
    /// By their last change, the newest first
    Modified,
}

impl ReportName {
    /// Where it is asked for.
    pub(crate) fn path(self) -> &'static str {
        match self {
            ReportName::NeverConnected => "getNeverConnectedPVs",
            ReportName::Disconnected => "getCurrentlyDisconnectedPVs",
            ReportName::LostConnections => "getLostConnectionsReport",
            ReportName::Silent => "getSilentPVsReport",
            ReportName::Paused => "getPausedPVsReport",
            ReportName::EventRate => "getEventRateReport",
            ReportName::StorageRate => "getStorageRateReport",
            ReportName::Storage => "getPVsByStorageConsumed",
            ReportName::Dropped => "getPVsByDroppedEventsBuffer",
            ReportName::Added => "getRecentlyAddedPVs",
            ReportName::Modified => "getRecentlyModifiedPVs",
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct Switch {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Names, or patterns with * and ?; `-` reads them from standard input, one a line
    #[arg(required = true)]
    pub(crate) names: Vec<String>,
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
    /// Beginning, in UTC if no zone is given: 2026-11-21 08:30, 8:00, yesterday, -8h, ±10min
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
pub(crate) struct NoteArgs {
    #[command(subcommand)]
    pub(crate) what: NoteCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum NoteCommand {
    /// Write a note
    Add(NoteAdd),
    /// List notes, the newest first
    List(NoteList),
    /// Take a note away
    Remove(NoteRemove),
    /// Write the notes that `list --json` printed, perhaps of another archive
    Import(MemoImport),
}

#[derive(Args, Debug)]
pub(crate) struct NoteAdd {
    #[command(flatten)]
    pub(crate) server: Server,
    /// What it says
    pub(crate) text: String,
    /// About these PVs
    #[arg(long = "pv", value_name = "NAME", value_delimiter = ',')]
    pub(crate) pvs: Vec<String>,
    /// About a time: this moment, or from here: 2026-11-21 08:30, 8:00, -8h
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) from: Option<String>,
    /// Until here (not included)
    #[arg(long, allow_hyphen_values = true, requires = "from")]
    pub(crate) to: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct NoteList {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Those that have all of these words, in any order
    pub(crate) words: Vec<String>,
    /// Those about this PV
    #[arg(long, value_name = "NAME")]
    pub(crate) pv: Option<String>,
    /// Those about a time from here on
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) from: Option<String>,
    /// Those about a time before
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) to: Option<String>,
    /// As JSON, which `import` reads
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct NoteRemove {
    #[command(flatten)]
    pub(crate) server: Server,
    /// The number of the note
    pub(crate) number: u64,
}

#[derive(Args, Debug)]
pub(crate) struct MemoImport {
    #[command(flatten)]
    pub(crate) server: Server,
    /// The file; `-` reads standard input
    pub(crate) file: PathBuf,
}

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct ViewArgs {
    #[command(subcommand)]
    pub(crate) what: Option<ViewCommand>,
    #[command(flatten)]
    pub(crate) server: Server,
    /// Names, and at most one pattern: a glob, or ~ and a regular expression; - for names on standard input
    #[arg(required = true, value_name = "PV")]
    pub(crate) pvs: Vec<String>,
    #[command(flatten)]
    pub(crate) range: RangeArgs,
    /// At most so many bins of a round width
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) bins: u32,
    /// Bins of this width, such as 10min, at multiples of it
    #[arg(long, value_name = "LENGTH", value_parser = span, conflicts_with = "bins")]
    pub(crate) width: Option<Duration>,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ViewCommand {
    /// Save a view and print its short link
    Save(ViewSave),
    /// List views, the newest first
    List(ViewList),
    /// Print the address that a view stands for
    Show(ViewNamed),
    /// Take a view away
    Remove(ViewNamed),
    /// Save the views that `list --json` printed, perhaps of another archive
    Import(MemoImport),
}

#[derive(Args, Debug)]
pub(crate) struct ViewSave {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Its name, behind its folders: operation/trips/water
    pub(crate) name: String,
    /// The page's address, or what stands behind its `?`
    pub(crate) query: String,
    /// What there is to say of it
    #[arg(long, default_value = "")]
    pub(crate) text: String,
    /// About these PVs: whoever does not see them does not see it
    #[arg(long = "pv", value_name = "NAME", value_delimiter = ',')]
    pub(crate) pvs: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct ViewList {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Those that have all of these words, in any order
    pub(crate) words: Vec<String>,
    /// Those in this folder, or in one within it
    #[arg(long)]
    pub(crate) folder: Option<String>,
    /// As JSON, which `import` reads
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ViewNamed {
    #[command(flatten)]
    pub(crate) server: Server,
    /// The name of the view
    pub(crate) name: String,
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
    #[arg(long)]
    pub(crate) activate: bool,
    /// Read everything and say what would be imported, and what is damaged
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Only these PVs: names, or patterns with * and ? (from an archiver that runs)
    #[arg(long = "pv", value_name = "PATTERN")]
    pub(crate) pvs: Vec<String>,
    /// Nothing older than this (from an archiver that runs)
    #[arg(long, value_name = "TIME", default_value = "1990-01-01T00:00:00Z", allow_hyphen_values = true)]
    pub(crate) from: String,
    /// At most so many MB a second (from an archiver that runs)
    #[arg(long, value_name = "MB")]
    pub(crate) throttle: Option<f64>,
    /// Where it gives samples, if that is neither URL/retrieval nor what it says itself
    #[arg(long, value_name = "URL")]
    pub(crate) retrieval: Option<String>,
    /// Write down what has come, and go on from there (from an archiver that runs) [default: pvark-import-NAME.jsonl]
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
    /// Root folders of its stores: short, medium and long term; or the URL of an archiver that runs
    #[arg(required = true, value_name = "FOLDER|URL")]
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
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Read this folder of an archive whose archiver does not run, instead of asking one
    #[arg(long, value_name = "DIR", conflicts_with_all = ["follow", "follow_for"])]
    pub(crate) data: Option<PathBuf>,
    /// The other archiver: an Archiver Appliance, or all that answers to its URLs
    #[arg(long = "with", value_name = "URL")]
    pub(crate) other: String,
    /// Where it gives samples, if that is neither URL/retrieval nor what it says itself
    #[arg(long, value_name = "URL")]
    pub(crate) retrieval: Option<String>,
    /// PVs, or patterns with * and ? [default: all that the other archiver has]
    pub(crate) pvs: Vec<String>,
    /// More PVs, one a line; `-` reads them from standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) list: Option<PathBuf>,
    /// Beginning, in UTC if no zone is given: 2026-11-21 08:30, 8:00, yesterday, -8h, ±10min [default: -7d; with --follow now]
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) from: Option<String>,
    /// End (not included): as for --from, or `now`, or +1h
    #[arg(long, default_value = "now", allow_hyphen_values = true, conflicts_with_all = ["follow", "follow_for"])]
    pub(crate) to: String,
    /// Go on while both record, until SIGTERM or Ctrl-C, and compare all of that time at the end
    #[arg(long)]
    pub(crate) follow: bool,
    /// Follow for so long
    #[arg(long = "for", value_name = "SPAN", value_parser = span)]
    pub(crate) follow_for: Option<Duration>,
    /// What is younger is not compared: one of the two may not have it yet
    #[arg(long, value_name = "SPAN", default_value = "1min", value_parser = span)]
    pub(crate) lag: Duration,
    /// Equal samples whose stamps are no further apart are one sample with two stamps
    #[arg(long, value_name = "SPAN", default_value = "100ms", value_parser = span)]
    pub(crate) stamps_within: Duration,
    /// Differences that count as equal: lost_there, lost_here, value, type, stamp, alarm, metadata
    #[arg(long, value_name = "KINDS", value_delimiter = ',',
          value_parser = ["lost_there", "lost_here", "value", "type", "stamp", "alarm", "metadata"])]
    pub(crate) accept: Vec<String>,
    /// So many PVs at a time
    #[arg(long, value_name = "COUNT", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) jobs: u8,
    /// Write down what has been compared; what broke off or failed goes on from there when it is begun again with the same words
    /// [default: beside the report]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["follow", "follow_for"])]
    pub(crate) state: Option<PathBuf>,
    /// Write a report to be signed, as .html or .md
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// One JSON object a line instead of a table: one for each PV, then the total
    #[arg(long)]
    pub(crate) json: bool,
    /// The most PVs to print
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    pub(crate) limit: usize,
}

/// A time like 90s, 10m or 8h.
fn span(text: &str) -> Result<Duration, String> {
    sample::parse_span(text).ok_or_else(|| "expected a time like 90s, 10m, 8h or 7d".to_owned())
}

#[derive(Args, Debug)]
pub(crate) struct Audit {
    #[command(flatten)]
    pub(crate) server: Server,
    /// How many lines
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: u32,
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

/// The range that a command looks at.
#[derive(Args, Debug)]
pub(crate) struct RangeArgs {
    /// Beginning, in UTC if no zone is given: 2026-11-21 08:30, 8:00, yesterday, -8h, ±10min
    #[arg(long, default_value = "-1h", allow_hyphen_values = true)]
    pub(crate) from: String,
    /// End (not included): as for --from, or `now`, or +1h
    #[arg(long, default_value = "now", allow_hyphen_values = true)]
    pub(crate) to: String,
}

#[derive(Args, Debug)]
pub(crate) struct Get {
    #[command(flatten)]
    pub(crate) server: Server,
    /// The PV's name
    pub(crate) pv: String,
    #[command(flatten)]
    pub(crate) range: RangeArgs,
    /// Reduce to so many bins with count, minimum, maximum, mean, first and last
    #[arg(long, value_name = "N")]
    pub(crate) bins: Option<u32>,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(Args, Debug)]
pub(crate) struct WhenArgs {
    #[command(flatten)]
    pub(crate) server: Server,
    /// The condition, as docs/analysis.md says
    pub(crate) expression: String,
    #[command(flatten)]
    pub(crate) range: RangeArgs,
    /// No more intervals than that
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) limit: u64,
    /// Whether numbers of different units may be added and compared
    #[arg(long, value_name = "WHICH", default_value = "same", value_parser = ["same", "any"])]
    pub(crate) units: String,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

/// An expression and its range.
#[derive(Args, Debug)]
pub(crate) struct Computed {
    #[command(flatten)]
    pub(crate) server: Server,
    /// The formula, as docs/analysis.md says; a PV's name is one
    pub(crate) expression: String,
    #[command(flatten)]
    pub(crate) range: RangeArgs,
    /// Whether numbers of different units may be added and compared
    #[arg(long, value_name = "WHICH", default_value = "same", value_parser = ["same", "any"])]
    pub(crate) units: String,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(Args, Debug)]
pub(crate) struct Formula {
    #[command(flatten)]
    pub(crate) of: Computed,
    /// The mean over time in so many equal parts of the range, instead of each step
    #[arg(long, value_name = "N")]
    pub(crate) bins: Option<u32>,
    /// Also the least and the greatest in each part, for which every sample is read
    #[arg(long, requires = "bins")]
    pub(crate) extremes: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Stats {
    #[command(flatten)]
    pub(crate) of: Computed,
    /// Which percentiles
    #[arg(long, value_name = "LIST", default_value = "5,50,95")]
    pub(crate) percentiles: String,
    /// For how long it was above this
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    pub(crate) above: Option<f64>,
    /// For how long it was in each of so many parts between the least and the greatest
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) histogram: u32,
}

#[derive(Args, Debug)]
pub(crate) struct HistogramArgs {
    #[command(flatten)]
    pub(crate) of: Computed,
    /// In so many parts of equal width
    #[arg(long, value_name = "N", default_value_t = 50, conflicts_with = "edges")]
    pub(crate) bins: u32,
    /// Where the first part begins; at the least number if it is not given
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true, conflicts_with = "edges")]
    pub(crate) low: Option<f64>,
    /// Where the last part ends; at the greatest number if it is not given
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true, conflicts_with = "edges")]
    pub(crate) high: Option<f64>,
    /// The edges of the parts, such as 0,1,2.5
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) edges: Option<String>,
    /// What is counted: the time for which a number held, samples, or both
    #[arg(long, value_name = "WHAT", default_value = "time", value_parser = ["time", "count", "both"])]
    pub(crate) weight: String,
}

#[derive(Args, Debug)]
pub(crate) struct Xy {
    #[command(flatten)]
    pub(crate) server: Server,
    /// What is drawn to the right: a PV, or a formula as docs/analysis.md says
    pub(crate) x: String,
    /// What is drawn upwards
    pub(crate) y: String,
    #[command(flatten)]
    pub(crate) range: RangeArgs,
    /// Which numbers are put together: each sample of X with what Y held; only those of one stamp; what both held at each --step; means
    /// over each --step; samples with one pulse id
    #[arg(long, value_name = "HOW", default_value = "last", value_parser = ["last", "stamp", "grid", "mean", "pulse"])]
    pub(crate) by: String,
    /// From one time to the next, such as 10s
    #[arg(long, value_name = "LENGTH", value_parser = span)]
    pub(crate) step: Option<Duration>,
    /// How far samples of one pulse may be stamped apart
    #[arg(long, value_name = "LENGTH", value_parser = span)]
    pub(crate) tolerance: Option<Duration>,
    /// No more pairs than that
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u32>,
    /// Whether numbers of different units may be added and compared
    #[arg(long, value_name = "WHICH", default_value = "same", value_parser = ["same", "any"])]
    pub(crate) units: String,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(Args, Debug)]
pub(crate) struct Fft {
    #[command(flatten)]
    pub(crate) of: Computed,
    /// By what points are multiplied first
    #[arg(long, value_name = "WHICH", default_value = "none", value_parser = ["none", "hann"])]
    pub(crate) window: String,
    /// The amplitude of sines, or their square by hertz
    #[arg(long, value_name = "WHICH", default_value = "amplitude", value_parser = ["amplitude", "density"])]
    pub(crate) output: String,
    /// What is taken off first
    #[arg(long, value_name = "WHICH", default_value = "mean", value_parser = ["mean", "linear", "none"])]
    pub(crate) detrend: String,
    /// How far a stamp may lie from its place, in steps [default: 0.05]
    #[arg(long, value_name = "STEPS", conflicts_with = "step")]
    pub(crate) tolerance: Option<f64>,
    /// Resample: a point each so long, such as 100ms
    #[arg(long, value_name = "LENGTH", value_parser = span)]
    pub(crate) step: Option<Duration>,
    /// What a point is then: what held, on a line between samples, or the mean of the step
    #[arg(long, value_name = "HOW", default_value = "previous", requires = "step", value_parser = ["previous", "linear", "mean"])]
    pub(crate) resample: String,
    /// Only so many frequencies, the strongest first
    #[arg(long, value_name = "N")]
    pub(crate) strongest: Option<usize>,
}

#[derive(Args, Debug)]
pub(crate) struct SnapshotArgs {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Names, and at most one pattern: a glob, or ~ and a regular expression; - for names on standard input
    #[arg(required = true, value_name = "PV")]
    pub(crate) pvs: Vec<String>,
    /// The time, in UTC if no zone is given: 2026-11-21 08:30, 8:00, yesterday, -8h
    #[arg(long, default_value = "now", allow_hyphen_values = true)]
    pub(crate) time: String,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(Args, Debug)]
pub(crate) struct Diff {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Names, and at most one pattern: a glob, or ~ and a regular expression; - for names on standard input
    #[arg(required = true, value_name = "PV")]
    pub(crate) pvs: Vec<String>,
    /// The first time, in UTC if no zone is given: 2026-11-21 08:30, 8:00, yesterday, -8h
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) before: String,
    /// The second time
    #[arg(long, default_value = "now", allow_hyphen_values = true)]
    pub(crate) after: String,
    /// For how long before the first time it is looked what PVs usually do, such as 1d
    #[arg(long, value_name = "LENGTH", default_value = "1d", value_parser = span)]
    pub(crate) usual: Duration,
    /// PVs that did not change, too
    #[arg(long)]
    pub(crate) unchanged: bool,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(Args, Debug)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Names, and at most one pattern: a glob, or ~ and a regular expression; - for names on standard input
    #[arg(required_unless_present_any = ["list", "fetch", "remove"], value_name = "PV")]
    pub(crate) pvs: Vec<String>,
    #[command(flatten)]
    pub(crate) range: RangeArgs,
    /// Into which file, or folder; the archiver names it if nothing is said
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// csv, parquet, arrow, xlsx or mat; by the name of the file if nothing is said
    #[arg(long)]
    pub(crate) format: Option<String>,
    /// All PVs on the same times, a thousand if neither --period nor --times-of is given
    #[arg(long)]
    pub(crate) aligned: bool,
    /// A row every so many seconds
    #[arg(long, value_name = "SECONDS", conflicts_with = "times_of")]
    pub(crate) period: Option<f64>,
    /// A row for each sample of this PV
    #[arg(long, value_name = "PV")]
    pub(crate) times_of: Option<String>,
    /// Which value a row takes
    #[arg(long, default_value = "previous", value_parser = ["previous", "linear", "nearest", "pulse"])]
    pub(crate) method: String,
    /// How many seconds a sample may lie from its row
    #[arg(long, value_name = "SECONDS")]
    pub(crate) tolerance: Option<f64>,
    /// Severities beside the values of rows
    #[arg(long)]
    pub(crate) severity: bool,
    /// The sample in force at the beginning comes first, where there are no rows
    #[arg(long)]
    pub(crate) before: bool,
    /// Say how large it would be and what of it does not go into the format, and order nothing
    #[arg(long)]
    pub(crate) plan: bool,
    /// List exports
    #[arg(long, conflicts_with_all = ["plan", "fetch", "remove"])]
    pub(crate) list: bool,
    /// Fetch the export of this number, or the rest of it
    #[arg(long, value_name = "N", conflicts_with_all = ["plan", "remove"])]
    pub(crate) fetch: Option<u64>,
    /// End the export of this number, and take its file away
    #[arg(long, value_name = "N", conflicts_with = "plan")]
    pub(crate) remove: Option<u64>,
}

#[derive(Args, Debug)]
pub(crate) struct Explain {
    #[command(flatten)]
    pub(crate) server: Server,
    /// The PV's name
    pub(crate) pv: String,
    #[command(flatten)]
    pub(crate) range: RangeArgs,
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

impl Format {
    /// As URLs name it; a table is made of JSON.
    pub(crate) fn in_url(self) -> &'static str {
        match self {
            Format::Table | Format::Json => "json",
            Format::Csv => "csv",
            Format::Arrow => "arrow",
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// Folder of the archive
    #[arg(long, value_name = "DIR", default_value = "pvark-data")]
    pub(crate) data: PathBuf,
    /// Check what a cluster shares instead, beside its nodes: the config file of one of them
    #[arg(long, value_name = "FILE", conflicts_with = "data")]
    pub(crate) cluster: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct RepairArgs {
    /// Folder of the archive
    #[arg(long, value_name = "DIR", default_value = "pvark-data")]
    pub(crate) data: PathBuf,
    /// Do it, instead of only saying what would be done
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Args, Debug)]
pub(crate) struct BackupArgs {
    /// Folder of the archive
    #[arg(long, value_name = "DIR", default_value = "pvark-data")]
    pub(crate) data: PathBuf,
    /// Back up what a cluster shares instead, beside its nodes, as an archive of one machine for each shard: the config file of a node
    #[arg(long, value_name = "FILE", conflicts_with_all = ["data", "verify"])]
    pub(crate) cluster: Option<PathBuf>,
    /// Folder of the backup: new, empty, or an earlier backup of the same archive or cluster
    #[arg(long, value_name = "DIR")]
    pub(crate) to: PathBuf,
    /// Read again what earlier backups have copied, verify every checksum of it, and copy anew what is damaged
    #[arg(long)]
    pub(crate) verify: bool,
}

#[derive(Args, Debug)]
pub(crate) struct TakeOver {
    /// Folder of the backup
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
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

//! How an archiver fares, its PVs and IOCs; and PVs that are paused and resumed.

use clap::{Args, ValueEnum};

use super::server::Server;

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
    /// By what they are sorted: name, rate, bytes_per_day, bytes, last, since, added, state, policy, ioc, added_by
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
    /// Only PVs that this one has added; - for those of which the audit does not say it
    #[arg(long, value_name = "WHO", allow_hyphen_values = true)]
    pub(crate) added_by: Option<String>,
    /// How many PVs there are of each state, policy, group and IOC, and by whom they were added, in place of the PVs
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
pub(crate) struct Upkeep {
    #[command(flatten)]
    pub(crate) server: Server,
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

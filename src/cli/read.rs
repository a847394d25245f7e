//! What was recorded: samples, values at one time, files of many PVs, and why there is nothing.

use std::{path::PathBuf, time::Duration};

use clap::Args;

use super::{
    output::Format,
    range::{RangeArgs, span},
    server::Server,
};

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
    /// Of arrays in bins, at most so many rows each: neighbouring elements are put together
    #[arg(long, value_name = "N", requires = "bins")]
    pub(crate) elements: Option<u32>,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(Args, Debug)]
pub(crate) struct SnapshotArgs {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Names, and at most one pattern: a glob, or ~ and a regular expression; - for names on standard input
    #[arg(required = true, value_name = "PV")]
    pub(crate) pvs: Vec<String>,
    /// The time, in the zone of --zone if it says none: 2026-11-21 08:30, 8:00, yesterday, -8h
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
    /// The first time, in the zone of --zone if it says none: 2026-11-21 08:30, 8:00, yesterday, -8h
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

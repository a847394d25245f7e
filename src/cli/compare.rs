//! How another archiver is compared with this one.

use std::{path::PathBuf, time::Duration};

use clap::Args;

use super::{range::span, server::Server};

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
    /// Beginning, in the zone of --zone if it says none: 2026-11-21 08:30, 8:00, yesterday, -8h, ±10min [default: -7d; with --follow now]
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

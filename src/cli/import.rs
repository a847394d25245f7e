//! What is imported, and from where.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand};

use super::{range::span, server::Server};

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
    /// How long to wait while the archiver takes nothing, as while a shard of a cluster has no node
    #[arg(long, value_name = "SPAN", default_value = "5m", value_parser = span)]
    pub(crate) patience: Duration,
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
    /// How long to wait while the archiver takes nothing, as while a shard of a cluster has no node
    #[arg(long, value_name = "SPAN", default_value = "5m", value_parser = span)]
    pub(crate) patience: Duration,
    /// Files with lines time,value,severity,status; the last two may be left out, the first line may be a head
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
}

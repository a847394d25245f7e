//! What a list of PVs will need of a machine.

use std::path::PathBuf;

use clap::Args;

use crate::commands::capacity::HeadSettings;

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

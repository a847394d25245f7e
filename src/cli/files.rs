//! Commands on the files of an archive, of which no archiver is asked.

use std::path::PathBuf;

use clap::Args;

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

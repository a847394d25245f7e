//! Policies, and groups with what switches them.

use clap::{Args, Subcommand};

use super::server::Server;

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

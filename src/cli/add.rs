//! PVs that are to be archived, and their settings.

use std::path::PathBuf;

use clap::Args;

use super::server::Server;
use crate::commands::setting_options::SettingOptions;

#[derive(Args, Debug)]
pub(crate) struct Add {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Names, with ca:// or pva:// to choose the protocol; `-` reads them from standard input, one a line
    #[arg(required_unless_present = "files")]
    pub(crate) names: Vec<String>,
    /// Names of a file: a list with `,scan,10` behind names, a database of an IOC (.db), or what the Archiver Appliance's exportConfig or
    /// getAllPVs gives, with its settings; what is refused is told by line
    #[arg(long = "file", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Only say what would be added, by which policy, what is known already, and what is refused and why
    #[arg(long)]
    pub(crate) check: bool,
    /// By this policy, whatever their names fit
    #[arg(long, value_name = "NAME", display_order = SettingOptions::BEHIND_METHOD)]
    pub(crate) policy: Option<String>,
    #[command(flatten)]
    pub(crate) settings: SettingOptions,
}

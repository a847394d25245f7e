//! PVs that are to be archived, and their settings.

use clap::Args;

use super::server::Server;
use crate::commands::setting_options::SettingOptions;

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

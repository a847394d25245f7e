//! Which archiver a command asks.

use clap::Args;

/// The archiver that a command talks to.
#[derive(Args, Debug)]
pub(crate) struct Server {
    /// The archiver's URL
    #[arg(long = "server", value_name = "URL", env = "PVARK_URL", default_value = "http://127.0.0.1:17665")]
    pub(crate) url: String,
}

//! An archiver that runs: recording, or the demo.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Run {
    /// Config file (see docs/operate.md); everything has a default
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Folder of the archive [default: ./pvark-data]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Where to listen for clients [default: 127.0.0.1:17665]
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: Option<String>,
    /// How log lines are written to standard error [default: text]
    #[arg(long, value_enum)]
    pub(crate) log_format: Option<LogFormat>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people
    #[default]
    Text,
    /// One JSON object a line
    Json,
}

#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// A Python that has the packages epicscorelibs and pvxslibs
    #[arg(long, value_name = "PATH", default_value = "python3")]
    pub(crate) python: PathBuf,
    /// Folder of the demo's archive
    #[arg(long, value_name = "DIR", default_value = "pvark-demo")]
    pub(crate) data: PathBuf,
    /// Where to listen for clients
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:17665")]
    pub(crate) listen: String,
}

//! The log of the program, on standard error.

use std::io;

use tracing_subscriber::EnvFilter;

use crate::cli::LogFormat;

/// Log lines go to standard error; RUST_LOG chooses which (`info` if it is not set).
pub(crate) fn start(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_target(false);
    match format {
        LogFormat::Text => log.with_ansi(io::IsTerminal::is_terminal(&io::stderr())).init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
}

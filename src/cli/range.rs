//! The range that a command looks at, and lengths of time, as people type them.

use std::time::Duration;

use clap::Args;

/// A time like 90s, 10m or 8h.
pub(super) fn span(text: &str) -> Result<Duration, String> {
    sample::parse_span(text).ok_or_else(|| "expected a time like 90s, 10m, 8h or 7d".to_owned())
}

/// The range that a command looks at.
#[derive(Args, Debug)]
pub(crate) struct RangeArgs {
    /// Beginning, in the zone of --zone if it says none: 2026-11-21 08:30, 8:00, yesterday, -8h, ±10min
    #[arg(long, default_value = "-1h", allow_hyphen_values = true)]
    pub(crate) from: String,
    /// End (not included): as for --from, or `now`, or +1h
    #[arg(long, default_value = "now", allow_hyphen_values = true)]
    pub(crate) to: String,
}

//! What can be set: where the data lies, how soon it is safe, how much memory the head may take.

use std::{path::PathBuf, time::Duration};

/// How soon samples are safe from a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durable {
    /// The log is synced this often: at most so much is lost when the power fails, nothing when only the program dies.
    Every(Duration),
    /// The log is written but never synced; the operating system decides. The watermark then moves at each flush only.
    Off,
}

/// The settings of a store.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where everything lies.
    pub folder: PathBuf,
    /// How soon samples are safe.
    pub durable: Durable,
    /// How large the head may grow before it is flushed to blocks, in bytes of memory.
    pub head_bytes_max: usize,
    /// How old the oldest sample in the head may become before it is flushed.
    pub flush_after: Duration,
}

impl Config {
    /// The defaults: synced each second, 256 MiB of head, flushed at latest after ten minutes.
    pub fn new(folder: impl Into<PathBuf>) -> Config {
        Config {
            folder: folder.into(),
            durable: Durable::Every(Duration::from_secs(1)),
            head_bytes_max: 256 << 20,
            flush_after: Duration::from_secs(600),
        }
    }
}

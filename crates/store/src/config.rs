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

/// How fast segments are read in the background, to find damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scrub {
    /// They are not.
    Off,
    /// So many bytes a second.
    Rate(u64),
    /// All of them once in so long a time.
    Pass(Duration),
}

/// What an archive is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Samples are to be recorded in it. A backup is refused: the next one would remove them.
    Record,
    /// Somebody wants to read what it has.
    Read,
}

/// The settings of a store.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where everything lies.
    pub folder: PathBuf,
    /// What it is opened for.
    pub purpose: Purpose,
    /// How soon samples are safe.
    pub durable: Durable,
    /// How large the head may grow before it is flushed to blocks, in bytes of memory.
    pub head_bytes_max: usize,
    /// How large a file of the log becomes before the next is begun, in bytes.
    pub log_file_bytes: u64,
    /// Room that is kept for the day on which the disk is full, in bytes; at most a quarter of what is free.
    pub reserve_bytes: u64,
    /// How old the oldest sample in the head may become before it is flushed.
    pub flush_after: Duration,
    /// How fast segments are read to find damage.
    pub scrub: Scrub,
    /// Where sealed segments go later, in the order in which they go there.
    pub places: Vec<Place>,
    /// How long what was recorded is kept.
    pub retention: Retention,
    /// How long after its deletion data is purged without being asked; none: never.
    pub purge_after: Option<Duration>,
}

/// A place for blocks besides the folder of the archive, as a slower or larger disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its name in the catalogue; it must not change while it holds segments.
    pub name: String,
    /// Where it is; it may change.
    pub folder: PathBuf,
    /// How long after the end of its day or week a segment comes here.
    pub after: Duration,
    /// At most so much is copied there each second.
    pub megabytes_per_second: Option<u32>,
    /// Whoever reads there waits for an answer so long and no longer.
    pub answers_within: Duration,
}

impl Place {
    /// How long readers wait for a place that was not told otherwise.
    pub const ANSWERS_WITHIN: Duration = Duration::from_secs(10);
}

/// How long what was recorded is kept, by PV.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Of all PVs that no rule names; none: for ever.
    pub keep: Option<Duration>,
    /// The first that fits a PV's name decides.
    pub rules: Vec<Rule>,
}

/// How long PVs are kept whose names are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Their names, with `*` for any characters and `?` for one.
    pub pvs: String,
    /// None: for ever.
    pub keep: Option<Duration>,
}

impl Config {
    /// The defaults: to record, synced each second, 256 MiB of head, flushed at latest after ten minutes, nothing scrubbed, nothing purged
    /// unasked.
    pub fn new(folder: impl Into<PathBuf>) -> Config {
        Config {
            folder: folder.into(),
            purpose: Purpose::Record,
            durable: Durable::Every(Duration::from_secs(1)),
            head_bytes_max: 256 << 20,
            log_file_bytes: 64 << 20,
            reserve_bytes: 256 << 20,
            flush_after: Duration::from_secs(600),
            scrub: Scrub::Off,
            places: Vec::new(),
            retention: Retention::default(),
            purge_after: None,
        }
    }
}

//! What a check tells: how far it has come, and what it found.

use std::fmt;

use archive::{PvId, PvName};
use sample::TimeRange;

/// How far a check has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes read.
    pub bytes: u64,
    /// Bytes to read in all, as far as known.
    pub bytes_total: u64,
}

/// What a check has read, and what is wrong.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// Segments read.
    pub segments: u64,
    /// Blocks read.
    pub blocks: u64,
    /// Samples in them.
    pub samples: u64,
    /// Frames of the log read.
    pub log_frames: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Each damaged block.
    pub bad_blocks: Vec<BadBlock>,
    /// Everything else that is wrong, in sentences.
    pub problems: Vec<String>,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.bad_blocks.is_empty() && self.problems.is_empty()
    }
}

/// A damaged block.
#[derive(Clone, Debug, PartialEq)]
pub struct BadBlock {
    /// In which file.
    pub file: String,
    /// Where in the file.
    pub offset: u64,
    /// Whose samples it held.
    pub pv: PvId,
    /// The name of that PV, where the catalogue could be read.
    pub name: Option<PvName>,
    /// The times that it covered.
    pub range: TimeRange,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for BadBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BadBlock { file, offset, pv, range, reason, .. } = self;
        let name = self.name.as_ref().map_or_else(|| format!("number {}", pv.0), |name| name.to_string());
        write!(f, "{file}, byte {offset}: {reason}; it held the samples of PV {name} from {} to {}", range.t0, range.t1)
    }
}

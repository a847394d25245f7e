//! How whatever holds the samples is doing: figures for status pages and metrics.

use sample::Timestamp;

use crate::ShardLag;

/// How many samples were ever appended and how many of them are known to be on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watermark {
    /// All samples ever appended, counted over restarts.
    pub appended: u64,
    /// Those that a power cut cannot take away any more.
    pub durable: u64,
}

/// Something long that the store does in the background.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// What is done: `merging` or `moving`.
    pub doing: &'static str,
    /// To which segment.
    pub key: String,
    /// Bytes that are done.
    pub bytes: u64,
    /// Bytes in all.
    pub bytes_total: u64,
}

impl Work {
    /// How many bytes of a segment are done, and how many it has.
    pub fn new(doing: &'static str, key: &str, bytes: u64, bytes_total: u64) -> Work {
        Work { doing, key: key.to_owned(), bytes, bytes_total }
    }
}

/// How far the scrub has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScrubHealth {
    /// The segment that was read last; empty at the beginning of a pass.
    pub position: String,
    /// Bytes that this pass has read.
    pub bytes: u64,
    /// Bytes of all segments.
    pub bytes_total: u64,
    /// When the last whole pass ended.
    pub last_pass: Option<Timestamp>,
    /// How much damage was found, ever; each is a problem, too.
    pub findings: u64,
}

/// The room on a disk, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// What can still be written.
    pub free: u64,
    /// All, of which others may have a part.
    pub total: u64,
}

/// How a place is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceHealth {
    /// Its name in the configuration; that of the folder of the archive is empty.
    pub name: String,
    /// Why it cannot be used; none while it can.
    pub trouble: Option<String>,
    /// How much room its disk has, of a few seconds ago; none while that is not known.
    pub room: Option<Room>,
    /// Segments whose blocks lie there.
    pub segments: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Segments that are to be moved there.
    pub moves_waiting: u64,
}

/// How many segments have come how far, and their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelHealth {
    /// `minutes`, `hour`, `day` or `week`; the last are sealed.
    pub level: &'static str,
    /// How many.
    pub segments: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A snapshot of the counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Why the store takes no samples now; none while it does.
    pub refusal: Option<String>,
    /// What an operator should know: quarantined log frames, files set aside, segments that cannot be read.
    pub problems: Vec<String>,
    /// How far the scrub has come.
    pub scrub: ScrubHealth,
    /// Segments that were scrubbed since the start.
    pub scrubbed_segments: u64,
    /// Bytes in the log.
    pub log_bytes: u64,
    /// Bytes left of the reserve for a full disk.
    pub reserve_bytes: u64,
    /// How many there should be.
    pub reserve_bytes_max: u64,
    /// For how long the oldest call to the disk has not come back, in microseconds; next to nothing while the disk answers.
    pub disk_silent_micros: u64,
    /// Bytes in segments.
    pub block_bytes: u64,
    /// Blocks in segments.
    pub blocks: u64,
    /// Segments.
    pub segments: u64,
    /// Memory that the heads take.
    pub head_bytes: u64,
    /// Samples in the heads.
    pub head_samples: u64,
    /// Syncs of the log since the start.
    pub syncs: u64,
    /// How long the last sync took, in microseconds.
    pub last_sync_micros: u64,
    /// Heads flushed to segments since the start.
    pub flushes: u64,
    /// How long the last flush took, in microseconds.
    pub last_flush_micros: u64,
    /// Weeks in which segments wait to be merged or sealed.
    pub weeks_pending: u64,
    /// Segments merged into larger ones since the start.
    pub merged_segments: u64,
    /// Bytes of the segments that flushes wrote since the start.
    pub flushed_bytes: u64,
    /// Bytes of the segments that merges wrote since the start.
    pub merged_bytes: u64,
    /// Segments moved to other places since the start.
    pub moved_segments: u64,
    /// Their bytes.
    pub moved_bytes: u64,
    /// Segments that retention has taken away or written anew since the start.
    pub expired_segments: u64,
    /// Samples that went with them.
    pub expired_samples: u64,
    /// Bytes that went with them.
    pub expired_bytes: u64,
    /// Segments by how far they have come.
    pub levels: Vec<LevelHealth>,
    /// The folder of the archive, then the other places.
    pub places: Vec<PlaceHealth>,
    /// What is done in the background at this moment.
    pub work: Vec<Work>,
    /// Samples that were dropped because they repeat another one exactly, found when heads were flushed since the start.
    pub repeats_dropped: u64,
    /// Removed PVs and deleted ranges whose purge was ordered and is not done yet.
    pub purging: u64,
    /// Blocks that were found damaged when they were read, since the start.
    pub corrupt_blocks: u64,
    /// Appends that were refused since the start, and the samples in them.
    pub refused_appends: u64,
    /// Samples in the appends that were refused.
    pub refused_samples: u64,
    /// The shards of a cluster that are recorded here.
    pub shards: Vec<ShardLag>,
}

impl Health {
    /// The health of a shard, under the number that the shard has in its cluster.
    #[must_use]
    pub fn numbered(mut self, number: u32) -> Health {
        self.shards.iter_mut().for_each(|shard| shard.shard = number);
        self
    }
}

//! The seam to whatever holds the samples, as an operator sees it: how it is doing, and how much lies where, by week and by PV.

use std::{collections::HashMap, time::Duration};

use sample::Timestamp;

use crate::{Health, PvId, Watermark};

/// Whatever holds the samples, as an operator sees it.
pub trait Storage: Send + Sync {
    /// How it is doing: counters, and what an operator should know. It waits for no disk.
    fn health(&self) -> Health;

    /// How many samples were ever appended, and how many of them are safe. It waits for nothing.
    fn watermark(&self) -> Watermark;

    /// The weeks that it has, in order. It waits for no disk.
    fn partitions(&self) -> Vec<Partition>;

    /// The size of every PV of which it holds something. It may read from the disk where things lie, for as long as that takes.
    fn sizes(&self) -> HashMap<PvId, PvSize>;

    /// That of one PV; none if nothing of it is held. It reads from the disk as well.
    fn size(&self, pv: PvId) -> Option<PvSize> {
        self.sizes().remove(&pv)
    }

    /// How long what it has is kept, the rules in the order in which they decide; none where nothing is ever taken away.
    fn retention(&self) -> Vec<KeptFor> {
        Vec::new()
    }

    /// When it takes away the samples of the next week that are to be kept for so long; none if it has no such week.
    fn next_to_go(&self, _keep: Duration) -> Option<WeekToGo> {
        None
    }

    /// The backups that it was told of, the newest first. It may read from the disk.
    fn backups(&self) -> Vec<BackupMade> {
        Vec::new()
    }
}

/// Of which PVs it is said how long they are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptPvs {
    /// So many PVs with a setting of their own, which goes before rules.
    WithSetting(usize),
    /// Those that a rule fits.
    Rule(String),
    /// All others.
    Others,
}

/// How long some PVs are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptFor {
    /// Which.
    pub pvs: KeptPvs,
    /// None: for ever.
    pub keep: Option<Duration>,
}

/// A week of samples that is taken away when it has been over for long enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeekToGo {
    /// As in `2026-W47`.
    pub week: String,
    /// From when on.
    pub at: Timestamp,
}

/// A backup, as its archive was told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupMade {
    /// When it came to its end.
    pub at: Timestamp,
    /// Into which folder.
    pub to: String,
    /// Its bytes.
    pub bytes: u64,
    /// Whether the archive was found whole, and so is the backup.
    pub is_whole: bool,
}

/// How far a week has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeekState {
    /// It is not over.
    Open,
    /// It is over, but not all of its segments are sealed yet.
    Sealing,
    /// Its files do not change any more.
    Sealed,
}

/// A week of the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// As in `2026-W47`.
    pub week: String,
    /// How far it has come.
    pub state: WeekState,
    /// Its segments.
    pub segments: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their samples.
    pub samples: u64,
}

/// What the segments hold of a PV. Recent samples, which are not packed yet, are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PvSize {
    /// Samples, repeats included.
    pub samples: u64,
    /// Bytes of their blocks and of the tables that belong to them.
    pub bytes: u64,
    /// When the first of them was.
    pub first: Timestamp,
    /// When the last of them was.
    pub last: Timestamp,
}

//! The manifest: what the catalogue knows of a segment, without its file being opened.

use archive::PvId;
use sample::Timestamp;

/// How far a segment has come on its way from a flush to a sealed week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Level {
    /// From a flush, as it came.
    Minutes = 0,
    /// About an hour of writing, or many flushes in one.
    Hour = 1,
    /// All that was written on a day.
    Day = 2,
    /// Of a week that is over: it is never merged again.
    Week = 3,
}

impl Level {
    pub(crate) const ALL: [Level; 4] = [Level::Minutes, Level::Hour, Level::Day, Level::Week];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Level::Minutes => "minutes",
            Level::Hour => "hour",
            Level::Day => "day",
            Level::Week => "week",
        }
    }

    pub(crate) fn from_number(number: u8) -> Option<Level> {
        Level::ALL.get(usize::from(number)).copied()
    }
}

/// What the catalogue knows of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// The order of writing: of segments with samples of equal time the one with the lower number was written earlier.
    pub(crate) sequence: u64,
    /// Which of the segments it is that one merge wrote, each for other PVs; they have the same sequence.
    pub(crate) part: u32,
    /// The highest number of the segments that were merged into this one; its own if it came from a flush.
    pub(crate) last: u64,
    /// The number of the merge that wrote it, 0 if none did. It rises with each merge, so that no key is given twice; programs before
    /// counted how often its samples were merged.
    pub(crate) generation: u32,
    pub(crate) key: String,
    pub(crate) bytes: u64,
    /// Where its blocks end: what follows can lie in another place than they.
    pub(crate) tables_at: u64,
    pub(crate) blocks: u64,
    pub(crate) samples: u64,
    pub(crate) t0: Timestamp,
    pub(crate) t1: Timestamp,
    pub(crate) first_pv: PvId,
    pub(crate) last_pv: PvId,
    pub(crate) level: Level,
    /// When its first and its last sample were written.
    pub(crate) written: (Timestamp, Timestamp),
    /// The place in which its blocks lie; none for the folder of the archive itself.
    pub(crate) place: Option<String>,
    /// Which rules of retention it was last written by.
    pub(crate) trimmed: u64,
    /// The checksum of its footer; none in a row that an older program wrote.
    pub(crate) digest: Option<u64>,
}

impl Manifest {
    /// A file of which nothing is known yet but where it is.
    pub(crate) fn unknown(key: String, bytes: u64) -> Manifest {
        let nothing = Timestamp::default();
        Manifest {
            sequence: 0,
            part: 0,
            last: 0,
            generation: 0,
            key,
            bytes,
            tables_at: bytes,
            blocks: 0,
            samples: 0,
            t0: nothing,
            t1: nothing,
            first_pv: PvId(0),
            last_pv: PvId(u32::MAX),
            level: Level::Minutes,
            written: (nothing, nothing),
            place: None,
            trimmed: 0,
            digest: None,
        }
    }

    /// In what a file that says of itself what `found` does differs from what is meant; nothing if it is that segment.
    pub(crate) fn differs(&self, found: &Manifest) -> Option<String> {
        let numbers = |of: &Manifest| {
            [
                ("number", of.sequence),
                ("bytes", of.bytes),
                ("bytes of blocks", of.tables_at),
                ("blocks", of.blocks),
                ("samples", of.samples),
                ("first PV", u64::from(of.first_pv.0)),
                ("last PV", u64::from(of.last_pv.0)),
            ]
        };
        let mut pairs = numbers(self).into_iter().zip(numbers(found));
        if let Some(((what, wanted), (_, is))) = pairs.find(|((_, wanted), (_, is))| wanted != is) {
            return Some(format!("its {what}: {is}, in the catalogue {wanted}"));
        }
        if (self.t0, self.t1) != (found.t0, found.t1) {
            return Some(format!(
                "its times: {} to {}, in the catalogue {} to {}",
                found.t0, found.t1, self.t0, self.t1
            ));
        }
        let other = self.digest.is_some() && found.digest.is_some() && self.digest != found.digest;
        other.then(|| "its checksum is not the one in the catalogue".to_owned())
    }

    /// The folder of the week to which it belongs.
    pub(crate) fn folder(&self) -> &str {
        self.key.split('/').next().unwrap_or_default()
    }

    /// Whether it may hold samples of a PV.
    pub(crate) fn may_hold(&self, pv: PvId) -> bool {
        (self.first_pv..=self.last_pv).contains(&pv)
    }

    /// What tells it from all other segments of the catalogue; also their order.
    pub(crate) fn id(&self) -> (u64, u32) {
        (self.sequence, self.part)
    }

    /// Whether it is told of the same file.
    pub(crate) fn is_of_one_file_with(&self, other: &Manifest) -> bool {
        self.key == other.key && self.place == other.place
    }

    /// Whether both may have samples of one PV and one time, so that it matters which of them was written earlier.
    pub(crate) fn meets(&self, other: &Manifest) -> bool {
        let times = self.t0 <= other.t1 && other.t0 <= self.t1;
        let pvs = self.first_pv <= other.last_pv && other.first_pv <= self.last_pv;
        times && pvs
    }
}

//! The seam to whatever holds samples: this archive's own store, files of other archivers, another node, a cluster.
//!
//! ```text
//!   store, cluster ──┐  by number
//!   files ───────────┼─► query merges them by time: samples, bins, values at a time, gaps, metadata
//!   another node ────┘  by name
//! ```
//! A source is asked batch by batch and piece by piece, never sample by sample. Only its samples, the newest before a time and the extent
//! of a PV are owed; whatever else it can tell has an answer here for one that cannot.

use std::{fmt, ops::ControlFlow, sync::Arc, time::Duration};

use sample::{Alarm, Batch, Gap, Metadata, Sample, Stretch, TimeRange, Timestamp};

use crate::{Directory, PvId, PvName, structure::of_field};

/// Samples in order of time, in batches of one type. An error stands in the place of what cannot be read; the next item goes on behind it.
pub type SampleStream = Box<dyn Iterator<Item = Result<Batch, SourceError>> + Send>;

/// Samples, and summaries of pieces of them that no edge cuts, in order of time.
pub type StretchStream = Box<dyn Stretches>;

/// What samples carry besides values, in order of time. One without fields is no sample: it says how far has been looked, so that who reads
/// samples beside need not wait for the next that carries something.
pub type CarriedStream = Box<dyn Iterator<Item = Result<Carried, SourceError>> + Send>;

/// Notes what one answer is made without, until the answer says so.
pub trait LeavesOut: fmt::Debug + Send + Sync {
    /// Leaves a part out for a reason; false if that cannot be said any more, so that it must not be.
    fn leave_out(&self, part: &str, why: &str) -> bool;
}

/// Something that holds samples of PVs.
pub trait Source: fmt::Debug + Send + Sync {
    /// What it is called in messages.
    fn name(&self) -> &str;

    /// What it is to this archive.
    fn role(&self) -> Role {
        Role::Other
    }

    /// Why it cannot be asked at present; none if it can. Waits for nothing.
    fn away(&self) -> Option<String> {
        None
    }

    /// This source for a single answer, for which it may leave out a part and must note that; none if it never leaves anything out.
    fn noting(&self, notes: Arc<dyn LeavesOut>) -> Option<Arc<dyn Source>> {
        let _ = notes;
        None
    }

    /// Announces that the answer will contain a PV, so that the source can note in time what it has to leave out of it.
    fn foresee(&self, key: Key<'_>) {
        let _ = key;
    }

    /// By what it knows PVs: it is asked for no others.
    fn keyed_by(&self) -> KeyedBy {
        KeyedBy::Name
    }

    /// The samples of a range. Identical repeats may be among them.
    fn samples(&self, key: Key<'_>, range: TimeRange) -> SampleStream;

    /// One field of the samples of a range whose values are structures.
    fn samples_of_field(&self, key: Key<'_>, field: &str, range: TimeRange) -> SampleStream {
        let field: Arc<str> = field.into();
        let fields = move |batch: Result<Batch, SourceError>| match batch {
            Ok(batch) => of_field(batch, Some(&field)).into_iter().map(Ok).collect::<Vec<_>>(),
            Err(error) => vec![Err(error)],
        };
        Box::new(self.samples(key, range).flat_map(fields))
    }

    /// The samples of a range, or of one field of them, as bins are made of them, if that can be had without looking at each; none if the
    /// samples have to be read. Who tells of samples so gives out no repeats.
    fn stretches(
        &self,
        key: Key<'_>,
        field: Option<&str>,
        range: TimeRange,
        edges: &Arc<[Timestamp]>,
    ) -> Result<Option<StretchStream>, SourceError> {
        let _ = (key, field, range, edges);
        Ok(None)
    }

    /// The newest sample at or before a time; of equal times the one that arrived last.
    fn last_before(&self, key: Key<'_>, time: Timestamp) -> Result<Option<Sample>, SourceError>;

    /// Between which times its samples of a PV lie; none if there are no samples.
    fn extent(&self, key: Key<'_>) -> Result<Option<Extent>, SourceError>;

    /// The metadata in force at the beginning of a range, or the first that is known of, then each change within it.
    fn metadata(&self, key: Key<'_>, range: TimeRange) -> Result<Vec<(Timestamp, Metadata)>, SourceError> {
        let _ = (key, range);
        Ok(Vec::new())
    }

    /// The gaps of a PV, or of one field of it, that overlap a range, by beginning.
    fn gaps(&self, key: Key<'_>, field: Option<&str>, range: TimeRange) -> Result<Vec<(GapScope, Gap)>, SourceError> {
        let _ = (key, field, range);
        Ok(Vec::new())
    }

    /// Where a copy lacks samples: its gaps, and the time before it recorded the PV; none if it does not record the PV at all.
    fn lacks(
        &self,
        key: Key<'_>,
        field: Option<&str>,
        range: TimeRange,
    ) -> Result<Option<Vec<(GapScope, Gap)>>, SourceError> {
        self.gaps(key, field, range).map(Some)
    }

    /// Of which of these PVs there may be samples, each in its place; of the others there are none.
    fn may_have_samples(&self, pvs: &[PvId]) -> Vec<bool> {
        vec![true; pvs.len()]
    }

    /// Of which of these PVs there may be metadata; of the others there is none.
    fn may_have_metadata(&self, pvs: &[PvId]) -> Result<Vec<bool>, SourceError> {
        Ok(vec![true; pvs.len()])
    }

    /// Shows the name of every PV that is to be entered into the list of this archive because the source has it, in any order, until told
    /// to stop.
    fn pvs(&self, found: &mut dyn FnMut(PvName) -> ControlFlow<()>) -> Result<(), SourceError> {
        let _ = found;
        Ok(())
    }

    /// What samples of a range carry besides values; those that carry nothing, or not the field that is named, are left out.
    fn carried(&self, key: Key<'_>, range: TimeRange, name: Option<&str>) -> CarriedStream {
        let _ = (key, range, name);
        Box::new(std::iter::empty())
    }

    /// What the first file that holds anything of a range says of the PV in its header: names and texts as they stand there.
    fn headers(&self, key: Key<'_>, range: TimeRange) -> Result<Vec<(String, String)>, SourceError> {
        let _ = (key, range);
        Ok(Vec::new())
    }

    /// How another archiver was told to archive the PV, in its own words (JSON); none if that is not known.
    fn configuration(&self, key: Key<'_>) -> Option<String> {
        let _ = key;
        None
    }

    /// How it is doing; none if that is told elsewhere.
    fn health(&self) -> Option<SourceHealth> {
        None
    }
}

/// What a source is to the archive beside which it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It recorded by itself: what it lacks says nothing of what the archive has.
    Other,
    /// It recorded the same PVs at the same time, as this archive does. Where it is away the answer goes on without it, and says so.
    Copy,
}

/// By what a source knows PVs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyedBy {
    /// By the numbers that this archive gave them: whatever they are called, it is asked once.
    Number,
    /// By names: it is asked for the present name of a PV, and for each of its aliases.
    Name,
}

/// Which PV a source is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key<'a> {
    /// The one of that number.
    Number(PvId),
    /// The one of that name.
    Name(&'a PvName),
}

impl<'a> Key<'a> {
    /// The number; none if a name was given.
    pub fn number(self) -> Option<PvId> {
        if let Key::Number(pv) = self { Some(pv) } else { None }
    }

    /// The name; none if a number was given.
    pub fn name(self) -> Option<&'a PvName> {
        if let Key::Name(name) = self { Some(name) } else { None }
    }
}

/// Who knows under which names a source that knows no numbers may have a PV.
pub trait KnownNames: Send + Sync {
    /// The present name and the aliases; none if there is no such PV.
    fn names_of(&self, pv: PvId) -> Vec<PvName>;
}

impl<D: Directory> KnownNames for D {
    fn names_of(&self, pv: PvId) -> Vec<PvName> {
        self.entry(pv).into_iter().map(|entry| entry.name).chain(self.aliases_of(pv)).collect()
    }
}

/// Samples, and summaries of pieces of them that no edge cuts, in order of time.
pub trait Stretches: Iterator<Item = Result<Stretch, SourceError>> + Send {
    /// How many blocks were read so far because edges cut them.
    fn cuts(&self) -> Cuts {
        Cuts::default()
    }
}

/// A block that takes longer comes from a disk: to read and cut one that is in memory takes up to 15 µs.
pub const FROM_MEMORY_MAX: Duration = Duration::from_micros(40);

/// Blocks that were read because edges cut them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cuts {
    /// How many.
    pub blocks: usize,
    /// How long all of them took.
    pub took: Duration,
}

impl Cuts {
    /// Adds others.
    pub fn add(&mut self, others: Cuts) {
        self.blocks += others.blocks;
        self.took += others.took;
    }

    /// Whether most of the time went into waiting for a disk.
    pub fn are_from_disk(self) -> bool {
        self.took > FROM_MEMORY_MAX * u32::try_from(self.blocks).unwrap_or(u32::MAX)
    }
}

/// Whether a gap is one PV's or the whole archiver's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GapScope {
    /// Of this PV.
    Pv,
    /// Of all PVs, because the archiver was not running.
    Archiver,
}

/// Between which times samples of a PV lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// No sample comes before it.
    pub first: Timestamp,
    /// No sample comes after it.
    pub last: Timestamp,
    /// How many samples there are, in which repeats may be counted; 0 if the source does not count.
    pub samples: u64,
}

impl Extent {
    /// Of both.
    pub fn with(self, other: Extent) -> Extent {
        Extent {
            first: self.first.min(other.first),
            last: self.last.max(other.last),
            samples: self.samples + other.samples,
        }
    }

    /// Whether samples may lie in a range.
    pub fn overlaps(self, range: TimeRange) -> bool {
        self.first < range.t1 && self.last >= range.t0
    }
}

/// What a sample carries besides its value: texts with names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carried {
    /// When the sample was taken.
    pub time: Timestamp,
    /// Its alarm.
    pub alarm: Alarm,
    /// Names and texts, in the order in which they were written.
    pub fields: Vec<(String, String)>,
    /// Whether they changed then, as the other archiver says; others it repeats once a day.
    pub is_change: bool,
}

/// How a source is doing that consists of files of another archiver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceHealth {
    /// What it is called.
    pub name: String,
    /// PVs that were found in it.
    pub pvs: u64,
    /// Files, or pieces of files, that were found.
    pub files: u64,
    /// Files that cannot be read at all.
    pub files_bad: u64,
    /// Lines that were read and are no samples, counted each time they are read.
    pub lines_bad: u64,
    /// Samples that were left out for standing behind later ones.
    pub out_of_order: u64,
    /// Whether all names have been looked for since the start.
    pub scanned: bool,
    /// What went wrong last.
    pub problem: Option<String>,
}

/// Why something of a source cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceError {
    /// What it costs.
    pub cost: Cost,
    /// What went wrong, as a sentence for an operator.
    pub message: String,
}

/// What it costs that a source cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// A piece: the rest of the answer can be had.
    Piece,
    /// The answer, until what is away comes back.
    UntilBack,
    /// The answer.
    Answer,
}

impl SourceError {
    /// Of a piece that is damaged or cannot be read, so that the rest of an answer can be had.
    pub fn piece(message: impl Into<String>) -> SourceError {
        SourceError { cost: Cost::Piece, message: message.into() }
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SourceError {}

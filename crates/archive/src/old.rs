//! The seam to archives of other archivers: what queries ask of them, whatever their files are like.

use crate::PvName;
use sample::{Alarm, Batch, Gap, Metadata, Sample, Stretch, TimeRange, Timestamp};
use std::{fmt, ops::ControlFlow, sync::Arc};

/// Samples of an old archive, in order of time, in batches of one type.
pub type OldSamples = Box<dyn Iterator<Item = Result<Batch, OldError>> + Send>;

/// What the samples of an old archive amount to, in order of time, each of its pieces between two neighbouring edges.
pub type OldStretches = Box<dyn Iterator<Item = Result<Stretch, OldError>> + Send>;

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

/// What samples of an old archive carry, in order of time. One without fields is no sample: it says how far has been looked, so that who
/// reads samples beside need not wait for the next that carries something.
pub type OldFields = Box<dyn Iterator<Item = Result<Carried, OldError>> + Send>;

/// An archive of another archiver, which is read where it lies and never written to.
pub trait OldArchive: fmt::Debug + Send + Sync {
    /// What it is called in messages.
    fn name(&self) -> &str;

    /// Shows the name of every PV that it has samples of, in any order, until told to stop.
    fn pvs(&self, found: &mut dyn FnMut(PvName) -> ControlFlow<()>) -> Result<(), OldError>;

    /// The samples of a range. What is damaged is left out and counted in `health`.
    fn samples(&self, pv: &PvName, range: TimeRange) -> OldSamples;

    /// The samples of a range as bins are made of them, if that can be had without looking at each, which no edge cuts; none if the
    /// samples have to be read. Only samples whose times rise from each to the next are told of so.
    fn stretches(
        &self,
        pv: &PvName,
        range: TimeRange,
        edges: &Arc<[Timestamp]>,
    ) -> Result<Option<OldStretches>, OldError> {
        let _ = (pv, range, edges);
        Ok(None)
    }

    /// The newest sample at or before a time.
    fn last_before(&self, pv: &PvName, time: Timestamp) -> Result<Option<Sample>, OldError>;

    /// A time that no sample of the PV comes before, and one that none comes after; none if there are no samples.
    fn extent(&self, pv: &PvName) -> Result<Option<(Timestamp, Timestamp)>, OldError>;

    /// What is known of the PV at a time, and since when.
    fn metadata(&self, pv: &PvName, time: Timestamp) -> Result<Option<(Timestamp, Metadata)>, OldError>;

    /// The losses of connection that end in a range, by beginning.
    fn gaps(&self, pv: &PvName, range: TimeRange) -> Result<Vec<Gap>, OldError>;

    /// What samples of a range carry besides values; those that carry nothing, or not the field that is named, are left out.
    fn fields(&self, pv: &PvName, range: TimeRange, name: Option<&str>) -> OldFields;

    /// What the first file that holds anything of a range says of the PV in its header: names and texts as they stand there.
    fn headers(&self, pv: &PvName, range: TimeRange) -> Result<Vec<(String, String)>, OldError>;

    /// How the other archiver was told to archive the PV, in its own words (JSON); none if that is not known.
    fn configuration(&self, pv: &PvName) -> Option<String>;

    /// How it is doing.
    fn health(&self) -> OldHealth;
}

/// How an old archive is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OldHealth {
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

/// Why something of an old archive cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OldError(pub String);

impl fmt::Display for OldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OldError {}

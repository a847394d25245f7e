//! Imports: samples of the past come in part by part, beside those that are recorded.

use crate::{DirectoryError, Fault, PvId, Record};

/// What a part brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportedPart {
    /// Samples, without repeats within the part.
    pub samples: u64,
    /// Bytes of segments.
    pub bytes: u64,
    /// Gaps.
    pub gaps: u64,
    /// Changes of metadata.
    pub metadata: u64,
}

/// PVs of which nothing can be taken at present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotTaken {
    /// Why not.
    pub why: DirectoryError,
    /// Which.
    pub pvs: Vec<PvId>,
}

/// A piece of what one node of a cluster sends to another of a part.
#[derive(Clone, Debug, PartialEq)]
pub enum Sent {
    /// Something of a PV, which has the number of the whole cluster.
    Record(PvId, Record),
    /// The end of the part, with its name.
    Part(String),
}

/// An import under way. What a part brings is gathered and then entered, all of it or nothing; dropped before the end of a part it leaves
/// nothing of it. Each call may wait for a disk.
pub trait Intake: Send {
    /// What a part brought that was entered before; none: it is to be imported.
    fn part(&self, part: &str) -> Result<Option<ImportedPart>, DirectoryError>;

    /// Says that another archive recorded what comes from now on until the end of the part. The part is refused if anything is deleted
    /// meanwhile, as it would bring that back. Gives the PVs of which something is hidden already.
    fn takes_over(&mut self) -> Result<Vec<PvId>, DirectoryError> {
        let message = "nothing of another recorder can be taken over here".to_owned();
        Err(DirectoryError { fault: Fault::Failed, message })
    }

    /// Which of these PVs cannot be taken at present, after waiting a while for them: none on one machine.
    fn not_taken(&mut self, _pvs: &[PvId]) -> Vec<NotTaken> {
        Vec::new()
    }

    /// Takes samples, in any order, gaps and metadata into the part that is being gathered.
    fn append(&mut self, records: &[(PvId, Record)]) -> Result<(), DirectoryError>;

    /// Writes what was gathered so far to the disk, so that it takes no memory any more. It is not entered by that.
    fn write_out(&mut self) -> Result<(), DirectoryError> {
        Ok(())
    }

    /// Enters what was appended since the last part, which is known by its name from now on: all of it is there and durable when this
    /// returns, or nothing. One that is known already is not entered again.
    fn finish_part(&mut self, part: &str) -> Result<ImportedPart, DirectoryError>;

    /// The same, but the part is not known by its name until `verified` is called. If it comes again before, it is entered again: what is
    /// there already is a repeat.
    fn finish_part_unverified(&mut self, part: &str) -> Result<ImportedPart, DirectoryError>;

    /// All of a part that was finished unverified has been found: it is known from now on.
    fn verified(&self, part: &str) -> Result<(), DirectoryError>;
}

//! What the catalogue knows of the parts of imports.

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

/// Whether a part is known when it has been entered, or when all of it has been found again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    None,
    Waits,
}

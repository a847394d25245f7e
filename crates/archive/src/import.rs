//! Imports: samples of the past, part by part.

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

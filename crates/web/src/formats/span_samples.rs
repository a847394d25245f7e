//! What an answer to the Archiver Appliance's clients is made of: samples as they were recorded, or reduced, or a field's.
//!
//! Damaged lines of old archives are passed over, as the Appliance does, and counted there. A damaged block of the store, or a file
//! of an old archive that cannot be read on, is an error in its place, of which each format has to tell.

use query::{FieldSamples, Ranges, Reduced, Samples};
use sample::Batch;

/// The field that tells, on the sample behind a damaged block, that samples are missing before it.
pub(crate) const DAMAGED: [&str; 2] = ["damaged", "samples before this one cannot be read, pvark check tells more"];

pub(crate) enum SpanSamples {
    Recorded(Box<Samples>),
    Reduced(Box<Reduced>),
    OfField(Box<FieldSamples>),
}

impl Iterator for SpanSamples {
    type Item = Result<Batch, query::Error>;

    fn next(&mut self) -> Option<Result<Batch, query::Error>> {
        match self {
            SpanSamples::Recorded(samples) => samples.next(),
            SpanSamples::Reduced(reduced) => reduced.next(),
            SpanSamples::OfField(samples) => samples.next(),
        }
    }
}

/// The samples of all spans of a request. Each span begins with the last sample at or before it, unless the one before
/// it has sent that sample already.
pub(crate) type InSpans = Ranges<SpanSamples>;

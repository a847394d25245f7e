//! What an answer to the Archiver Appliance's clients is made of: samples as they were recorded, or reduced, or a field's.

use query::{FieldSamples, Reduced, Samples};
use sample::Batch;

pub(crate) enum Source {
    Recorded(Box<Samples>),
    Reduced(Box<Reduced>),
    OfField(Box<FieldSamples>),
}

impl Iterator for Source {
    type Item = Result<Batch, query::Error>;

    fn next(&mut self) -> Option<Result<Batch, query::Error>> {
        match self {
            Source::Recorded(samples) => samples.next(),
            Source::Reduced(reduced) => reduced.next(),
            Source::OfField(samples) => samples.next(),
        }
    }
}

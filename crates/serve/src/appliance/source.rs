//! What an answer to the Archiver Appliance's clients is made of: samples as they were recorded, or reduced.

use query::{Reduced, Samples};
use sample::Batch;

pub(crate) enum Source {
    Recorded(Box<Samples>),
    Reduced(Box<Reduced>),
}

impl Iterator for Source {
    type Item = Result<Batch, query::Error>;

    fn next(&mut self) -> Option<Result<Batch, query::Error>> {
        match self {
            Source::Recorded(samples) => samples.next(),
            Source::Reduced(reduced) => reduced.next(),
        }
    }
}

//! What samples carry besides values, from several sources in one order of time.

use archive::{Carried, CarriedStream};
use sample::Timestamp;

use crate::Error;

/// What samples of several sources carry, in order of time. Of a sample that two have the first source tells.
pub struct AllCarried {
    sources: Vec<std::iter::Peekable<CarriedStream>>,
    last: Option<Timestamp>,
}

impl AllCarried {
    pub(crate) fn new(sources: Vec<CarriedStream>) -> AllCarried {
        AllCarried { sources: sources.into_iter().map(Iterator::peekable).collect(), last: None }
    }
}

impl Iterator for AllCarried {
    type Item = Result<Carried, Error>;

    /// A source that cannot be read on is an error in place of what it would have told.
    fn next(&mut self) -> Option<Result<Carried, Error>> {
        loop {
            // An error has no time, and comes first.
            let mut earliest: Option<(Option<Timestamp>, usize)> = None;
            for (index, source) in self.sources.iter_mut().enumerate() {
                let Some(carried) = source.peek() else { continue };
                let time = carried.as_ref().ok().map(|carried| carried.time);
                if earliest.is_none_or(|(earliest, _)| time < earliest) {
                    earliest = Some((time, index));
                }
            }
            match self.sources.get_mut(earliest?.1)?.next()? {
                Ok(looked) if looked.fields.is_empty() => return Some(Ok(looked)),
                Ok(carried) if self.last.replace(carried.time) == Some(carried.time) => {}
                carried => return Some(carried.map_err(Error::from)),
            }
        }
    }
}

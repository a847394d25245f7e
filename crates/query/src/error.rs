//! Why there is no answer, or no more of it.

use std::fmt;

use archive::{Cost, SourceError};

use crate::array_bins::ELEMENTS_MAX;

/// The most bins that one request may ask for: a few for each pixel of the widest screen.
pub(crate) const BINS_MAX: usize = 100_000;

/// Why there is no answer, or no more of it.
#[derive(Debug)]
pub enum Error {
    /// A source could not read.
    Source(SourceError),
    /// Bins that nobody can draw, or none at all.
    BinCount {
        /// How many were asked for.
        count: usize,
    },
    /// Rows of elements that nobody can draw, or none at all.
    ElementCount {
        /// How many were asked for.
        count: usize,
    },
    /// So few aligned bins cannot cover the range.
    TooFewBins {
        /// How many were asked for.
        count: usize,
    },
    /// A bin that holds more samples than its operator can deal with in sensible time.
    TooManySamples {
        /// How many it can deal with.
        max: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Source(error) => write!(f, "{error}"),
            Error::BinCount { count } => write!(f, "{count} bins were asked for, 1 to {BINS_MAX} are possible"),
            Error::ElementCount { count } => {
                write!(f, "{count} rows of elements were asked for, 1 to {ELEMENTS_MAX} are possible")
            }
            Error::TooFewBins { count } => write!(
                f,
                "no {count} aligned bins cover the range, because it crosses 1970 or is too long; ask for more, or a shorter range"
            ),
            Error::TooManySamples { max } => {
                write!(
                    f,
                    "a bin holds more than {max} samples, which this operator cannot deal with; choose shorter bins"
                )
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Source(error) => Some(error),
            Error::BinCount { .. }
            | Error::ElementCount { .. }
            | Error::TooFewBins { .. }
            | Error::TooManySamples { .. } => None,
        }
    }
}

impl Error {
    /// Whether it costs a piece of what a source has only, so that the rest of the answer can be had.
    pub fn is_damage(&self) -> bool {
        matches!(self, Error::Source(SourceError { cost: Cost::Piece, .. }))
    }
}

impl From<SourceError> for Error {
    fn from(error: SourceError) -> Error {
        Error::Source(error)
    }
}

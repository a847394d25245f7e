//! Why bytes are no pvAccess, in words for an operator.

use std::fmt;

/// Why bytes are no pvAccess, or why a circuit cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A value or its type description is malformed.
    Data(pvdata::Error),
    /// The first byte of a message is not 0xCA.
    NotPva {
        /// What it is.
        byte: u8,
    },
    /// A part of a segmented message is missing.
    Segments,
    /// The server refuses the circuit itself.
    Refused {
        /// Its words.
        message: String,
    },
    /// The server is silent for too long.
    Silent,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Data(error) => error.fmt(f),
            Error::NotPva { byte } => write!(f, "a message begins with {byte:#04x} instead of 0xca"),
            Error::Segments => write!(f, "a part of a segmented message is missing"),
            Error::Refused { message } => write!(f, "the server refuses the circuit: {message}"),
            Error::Silent => write!(f, "the server has been silent for too long"),
        }
    }
}

impl std::error::Error for Error {}

impl From<pvdata::Error> for Error {
    fn from(error: pvdata::Error) -> Error {
        Error::Data(error)
    }
}

//! What can go wrong, as sentences for an operator.

use std::{fmt, io};

use crate::ids::Epoch;

/// What a call gives.
pub type Result<T> = std::result::Result<T, Error>;

/// Why something could not be done.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// No answer came: a read told nothing, and a change may have happened, may happen yet, or never will.
    Unknown {
        /// What was asked for, as in "put 17.a/seg/…".
        doing: String,
        /// What is known of the cause.
        reason: String,
    },
    /// The shared store said no, and changed nothing.
    Refused {
        /// What was asked for.
        doing: String,
        /// What it says.
        reason: String,
    },
    /// The shard has another owner.
    Taken {
        /// Which shard.
        shard: String,
        /// The epoch that has replaced this one.
        epoch: Epoch,
    },
    /// Bytes in the shared store are not what was put there, or the rules of the journal were broken.
    Damaged {
        /// Which row or key.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Written by a newer version of the program.
    TooNew {
        /// Which row or lease.
        what: String,
        /// Its format version.
        version: u16,
        /// The newest version known here.
        supported: u16,
    },
    /// What was to be shipped could not be read here, or what was fetched could not be taken.
    Local {
        /// What was being done, as in "read segment …".
        doing: String,
        /// What the operating system says.
        source: io::Error,
    },
}

impl Error {
    /// Whether nobody knows yet if the call had its effect.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Error::Unknown { .. })
    }

    pub(crate) fn damaged(what: impl Into<String>, reason: impl Into<String>) -> Error {
        Error::Damaged { what: what.into(), reason: reason.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Unknown { doing, reason } => {
                write!(f, "the shared store gave no answer to \"{doing}\", which may have happened or not: {reason}")
            }
            Error::Refused { doing, reason } => write!(f, "the shared store refused to {doing}: {reason}"),
            Error::Taken { shard, epoch } => {
                write!(
                    f,
                    "shard {shard} has another owner since epoch {epoch}; what was not committed is handed over to it"
                )
            }
            Error::Damaged { what, reason } => write!(f, "{what} in the shared store is damaged: {reason}"),
            Error::TooNew { what, version, supported } => write!(
                f,
                "{what} in the shared store is of version {version}, newer than {supported}, which this program knows: update it"
            ),
            Error::Local { doing, source } => write!(f, "cannot {doing}: {source}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Local { source, .. } => Some(source),
            _ => None,
        }
    }
}

//! Why bytes are no pvData, in words for an operator.

use std::fmt;

/// Why bytes are no pvData, or why a value cannot be written as such.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The bytes end too early.
    Truncated {
        /// Within what.
        what: &'static str,
    },
    /// Something is larger than this client accepts.
    TooLarge {
        /// What.
        what: &'static str,
        /// Its size.
        size: u64,
        /// The largest accepted.
        limit: u64,
    },
    /// What is made of a message would take more memory than one message may.
    NoRoom {
        /// What is made.
        what: &'static str,
        /// What it takes, in bytes.
        bytes: u64,
        /// What the message may still take.
        left: u64,
    },
    /// A size is negative or missing where one must stand.
    BadSize {
        /// Of what.
        what: &'static str,
    },
    /// A type description begins with a code that means nothing.
    BadTypeCode {
        /// The code.
        code: u8,
    },
    /// A type description refers to one that the server never sent on this circuit.
    UnknownType {
        /// Its number.
        id: u16,
    },
    /// A union selects a member that it does not have.
    BadSelector {
        /// The member's index.
        selector: usize,
    },
    /// A value does not have the shape that its type description says.
    Mismatch {
        /// What does not fit.
        what: &'static str,
    },
    /// Bytes are left over where a value should end.
    Trailing {
        /// How many.
        bytes: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Truncated { what } => write!(f, "the bytes end within {what}"),
            Error::TooLarge { what, size, limit } => {
                write!(f, "{what} has a size of {size}, more than the {limit} that this client accepts")
            }
            Error::NoRoom { what, bytes, left } => {
                write!(f, "{what} would take {bytes} bytes of memory, of which the message has {left} left")
            }
            Error::BadSize { what } => write!(f, "{what} has no or a negative size"),
            Error::BadTypeCode { code } => write!(f, "{code:#04x} is no type code of pvAccess"),
            Error::UnknownType { id } => write!(f, "type {id} is used before it was described"),
            Error::BadSelector { selector } => write!(f, "a union has no member number {selector}"),
            Error::Mismatch { what } => write!(f, "{what} does not fit its type description"),
            Error::Trailing { bytes } => write!(f, "{bytes} bytes are left over after the value"),
        }
    }
}

impl std::error::Error for Error {}

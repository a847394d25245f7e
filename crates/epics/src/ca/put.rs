//! Writing to an IOC: the one place that can, and only with the feature `put`.
//!
//! Everything else in this crate can at most read. A program built without the feature holds neither these messages nor
//! [`MARKER`], and a test may look for that.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::fmt;

use super::{
    dbr::FieldType,
    wire::{Header, put_message},
};

/// Text that is in every program that can write, and in no other.
pub const MARKER: &str = "pvark-ca-put-encoder";

const WRITE: u16 = 4;
const WRITE_NOTIFY: u16 = 19;

/// A string on the wire, with its closing zero.
const STRING_BYTES: usize = 40;

/// A value to write; the IOC converts it to the type of the record's field.
#[derive(Clone, Debug, PartialEq)]
pub enum PutValue {
    /// A number.
    Double(f64),
    /// A whole number.
    Long(i32),
    /// The index of a state.
    Enum(u16),
    /// A text of at most 39 bytes.
    String(String),
}

/// Why nothing was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PutError {
    /// The text has no room in a message.
    TooLong {
        /// Its bytes.
        bytes: usize,
    },
    /// There is no channel to write to.
    NotConnected,
    /// The connection was lost before the IOC answered: it may have written or not.
    Unanswered,
    /// The IOC refused.
    Refused {
        /// Its words.
        message: String,
    },
}

impl fmt::Display for PutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PutError::TooLong { bytes } => {
                write!(f, "{MARKER}: a text of {bytes} bytes is longer than the 39 of a string")
            }
            PutError::NotConnected => write!(f, "{MARKER}: the PV is not connected, so nothing was written"),
            PutError::Unanswered => write!(f, "{MARKER}: the connection was lost before the IOC answered"),
            PutError::Refused { message } => write!(f, "{MARKER}: the IOC refused the value: {message}"),
        }
    }
}

impl std::error::Error for PutError {}

/// Whether the IOC is to answer when the record has processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// No answer.
    Unheard,
    /// An answer with this number.
    Answered(u32),
}

/// Appends a write of `value` to the channel that the server calls `sid`.
pub fn put(out: &mut Vec<u8>, sid: u32, value: &PutValue, completion: Completion) -> Result<(), PutError> {
    let (field, payload) = match value {
        PutValue::Double(number) => (FieldType::Double, number.to_be_bytes().to_vec()),
        PutValue::Long(number) => (FieldType::Long, number.to_be_bytes().to_vec()),
        PutValue::Enum(index) => (FieldType::Enum, index.to_be_bytes().to_vec()),
        PutValue::String(text) if text.len() < STRING_BYTES => {
            let mut bytes = text.as_bytes().to_vec();
            bytes.resize(STRING_BYTES, 0);
            (FieldType::String, bytes)
        }
        PutValue::String(text) => return Err(PutError::TooLong { bytes: text.len() }),
    };
    let (command, parameter2) = match completion {
        Completion::Unheard => (WRITE, 0),
        Completion::Answered(number) => (WRITE_NOTIFY, number),
    };
    let header = Header { command, size: 0, data_type: field as u16, count: 1, parameter1: sid, parameter2 };
    put_message(out, header, &payload);
    Ok(())
}

/// The number and status of an answer to a write; none if the message is no such answer.
pub fn answer(header: &Header) -> Option<(u32, u32)> {
    (header.command == WRITE_NOTIFY).then_some((header.parameter2, header.parameter1))
}

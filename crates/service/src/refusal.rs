//! A refusal: why a request gets no answer, with a code for programs, a sentence for people, and what to do instead.

use std::fmt;

use archive::{Cost, DirectoryError, Fault, NameError, SourceError};
use sample::{TimeError, Timestamp};

/// What kind of refusal; the names are part of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Something in it cannot be.
    BadRequest,
    /// What an operator needs is missing in the name that calls it; it is told as `bad_request`.
    NoNumber,
    /// A time cannot be read.
    BadTime,
    /// A range that ends before it begins.
    BadRange,
    /// There is no such PV, or no such thing of a PV.
    UnknownPv,
    /// No answer is written so.
    UnknownFormat,
    /// There is no such operator.
    UnknownOperator,
    /// There is no such path.
    UnknownUrl,
    /// Another server was meant.
    UnknownHost,
    /// The path is there, and not for that method.
    MethodNotAllowed,
    /// It, or its answer, would be too large.
    TooLarge,
    /// The URL is too long; it is told as `too_large`.
    UrlTooLong,
    /// The request did not come to its end in time; it is told as `bad_request`.
    TooSlow,
    /// It may not be done so, whoever asks.
    Forbidden,
    /// Whoever asks has no right to it; it is told as `forbidden`, or as `unauthorized` to who has not shown who it is.
    RightMissing,
    /// Something that is there is in the way.
    Conflict,
    /// The store takes nothing at present.
    StoreRefused,
    /// There is no room or time for it now.
    Busy,
    /// Something failed here.
    Internal,
}

impl Code {
    /// Its name in answers.
    pub fn name(self) -> &'static str {
        match self {
            Code::BadRequest | Code::NoNumber | Code::TooSlow => "bad_request",
            Code::BadTime => "bad_time",
            Code::BadRange => "bad_range",
            Code::UnknownPv => "unknown_pv",
            Code::UnknownFormat => "unknown_format",
            Code::UnknownOperator => "unknown_operator",
            Code::UnknownUrl => "unknown_url",
            Code::UnknownHost => "unknown_host",
            Code::MethodNotAllowed => "method_not_allowed",
            Code::TooLarge | Code::UrlTooLong => "too_large",
            Code::Forbidden | Code::RightMissing => "forbidden",
            Code::Conflict => "conflict",
            Code::StoreRefused => "store_refused",
            Code::Busy => "busy",
            Code::Internal => "internal",
        }
    }
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub struct Refusal {
    code: Code,
    message: String,
    hint: Option<String>,
    untaken: Vec<Untaken>,
}

/// What a part of an import has of a PV, of which nothing is taken at present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untaken {
    /// The name of the PV.
    pub pv: String,
    /// How many samples.
    pub samples: usize,
    /// The times of the first and the last of them.
    pub times: Option<(Timestamp, Timestamp)>,
}

impl Refusal {
    /// Of a kind, with a sentence.
    pub fn new(code: Code, message: impl Into<String>) -> Refusal {
        Refusal { code, message: message.into(), hint: None, untaken: Vec::new() }
    }

    /// A part of an import is not taken, for want of whoever takes these.
    pub(crate) fn not_taken(self, untaken: Vec<Untaken>) -> Refusal {
        Refusal { untaken, ..self }
    }

    /// With what to do instead.
    pub fn hint(self, hint: impl Into<String>) -> Refusal {
        Refusal { hint: Some(hint.into()), ..self }
    }

    /// There is no room or time for it now: it may come again.
    pub fn busy(message: impl Into<String>) -> Refusal {
        Refusal::new(Code::Busy, message)
    }

    /// No PV is called so.
    pub fn unknown_pv(name: &str) -> Refusal {
        Refusal::new(Code::UnknownPv, format!("no PV of this archive is called {:?}", shortened(name)))
    }

    /// The same of one of several things that were asked.
    pub fn within(self, name: &str) -> Refusal {
        Refusal { message: format!("{name}: {}", self.message), ..self }
    }

    /// Of which kind it is.
    pub fn code(&self) -> Code {
        self.code
    }

    /// What to do instead, if that is known.
    pub fn what_to_do(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Where it is a part of an import that is not taken: whose samples are waited for.
    pub fn untaken(&self) -> &[Untaken] {
        &self.untaken
    }

    /// The message alone, for answers that have their own form.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

/// So much of what a client has written is told to it again.
const TOLD_BYTES_MAX: usize = 1000;

/// What a client has written, as far as it is told to it again.
pub fn shortened(text: &str) -> &str {
    match text.char_indices().find(|(at, character)| at + character.len_utf8() > TOLD_BYTES_MAX) {
        Some((at, _)) => &text[..at],
        None => text,
    }
}

/// The first of many names with something between them, and how many more there are.
pub fn first_few(names: impl ExactSizeIterator<Item = String>, most: usize, between: &str) -> String {
    let more = names.len().saturating_sub(most);
    let told: Vec<String> = names.take(most).collect();
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    told.join(between) + &rest
}

impl From<TimeError> for Refusal {
    fn from(error: TimeError) -> Refusal {
        let code = if matches!(error, TimeError::Reversed { .. }) { Code::BadRange } else { Code::BadTime };
        Refusal::new(code, error.to_string())
    }
}

impl From<NameError> for Refusal {
    fn from(error: NameError) -> Refusal {
        Refusal::new(Code::BadRequest, error.to_string())
    }
}

impl From<DirectoryError> for Refusal {
    fn from(DirectoryError { fault, message }: DirectoryError) -> Refusal {
        let code = match fault {
            Fault::NotNow => Code::StoreRefused,
            Fault::NameTaken | Fault::InTheWay => Code::Conflict,
            Fault::NothingThere => Code::UnknownPv,
            Fault::NoRoom => Code::TooLarge,
            Fault::Failed => Code::Internal,
        };
        Refusal::new(code, message)
    }
}

impl From<query::OperatorError> for Refusal {
    fn from(error: query::OperatorError) -> Refusal {
        let text = error.to_string();
        match error {
            query::OperatorError::Unknown { .. } => Refusal::new(Code::UnknownOperator, text),
            // The Appliance's status, by which its clients know it.
            query::OperatorError::NoNumber { .. } => Refusal::new(Code::NoNumber, text),
            _ => Refusal::new(Code::BadRequest, text),
        }
    }
}

impl From<query::Error> for Refusal {
    fn from(error: query::Error) -> Refusal {
        match error {
            query::Error::Source(SourceError { cost: Cost::UntilBack, message }) => {
                Refusal::new(Code::StoreRefused, message)
            }
            query::Error::Source(SourceError { message, .. }) => Refusal::new(Code::Internal, message),
            query::Error::BinCount { .. }
            | query::Error::ElementCount { .. }
            | query::Error::TooFewBins { .. }
            | query::Error::TooManySamples { .. } => Refusal::new(Code::BadRequest, error.to_string()),
        }
    }
}

//! A refusal: why a request gets no answer, in a form that both programs and people can use.

use archive::NameError;
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use sample::TimeError;
use serde_json::json;

/// What kind of refusal; the names are part of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    BadRequest,
    BadTime,
    BadRange,
    UnknownPv,
    UnknownFormat,
    UnknownOperator,
    UnknownUrl,
    UnknownHost,
    MethodNotAllowed,
    TooLarge,
    Forbidden,
    Conflict,
    StoreRefused,
    Busy,
    Internal,
}

impl Code {
    fn name(self) -> &'static str {
        match self {
            Code::BadRequest => "bad_request",
            Code::BadTime => "bad_time",
            Code::BadRange => "bad_range",
            Code::UnknownPv => "unknown_pv",
            Code::UnknownFormat => "unknown_format",
            Code::UnknownOperator => "unknown_operator",
            Code::UnknownUrl => "unknown_url",
            Code::UnknownHost => "unknown_host",
            Code::MethodNotAllowed => "method_not_allowed",
            Code::TooLarge => "too_large",
            Code::Forbidden => "forbidden",
            Code::Conflict => "conflict",
            Code::StoreRefused => "store_refused",
            Code::Busy => "busy",
            Code::Internal => "internal",
        }
    }

    fn status(self) -> StatusCode {
        match self {
            Code::BadRequest | Code::BadTime | Code::BadRange | Code::UnknownFormat | Code::UnknownOperator => {
                StatusCode::BAD_REQUEST
            }
            Code::UnknownPv | Code::UnknownUrl => StatusCode::NOT_FOUND,
            Code::UnknownHost => StatusCode::MISDIRECTED_REQUEST,
            Code::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Code::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Code::Forbidden => StatusCode::FORBIDDEN,
            Code::Conflict => StatusCode::CONFLICT,
            Code::StoreRefused | Code::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Code::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) struct Refusal {
    code: Code,
    status: StatusCode,
    message: String,
    hint: Option<String>,
}

impl Refusal {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Refusal {
        Refusal { code, status: code.status(), message: message.into(), hint: None }
    }

    /// With what to do instead.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Refusal {
        Refusal { hint: Some(hint.into()), ..self }
    }

    /// With a status that says more than the usual one of its code.
    pub(crate) fn with_status(self, status: StatusCode) -> Refusal {
        Refusal { status, ..self }
    }

    /// There is no room or time for it now: it may come again.
    pub(crate) fn busy(message: impl Into<String>) -> Refusal {
        Refusal::new(Code::Busy, message)
    }

    pub(crate) fn unknown_pv(name: &str) -> Refusal {
        Refusal::new(Code::UnknownPv, format!("no PV of this archive is called {:?}", shortened(name)))
    }

    #[cfg(test)]
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// The message alone, for answers that have their own form.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        if self.code == Code::Internal {
            tracing::error!("a request failed: {}", self.message);
        }
        let mut error = json!({ "code": self.code.name(), "message": self.message });
        if let Some(hint) = self.hint {
            error["hint"] = hint.into();
        }
        let body = json!({ "error": error }).to_string();
        let mut response = (self.status, [(header::CONTENT_TYPE, "application/json")], body).into_response();
        if self.code == Code::Busy {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// So much of what a client has written is told to it again.
const TOLD_BYTES_MAX: usize = 1000;

/// What a client has written, as far as it is told to it again.
pub(crate) fn shortened(text: &str) -> &str {
    match text.char_indices().find(|(at, character)| at + character.len_utf8() > TOLD_BYTES_MAX) {
        Some((at, _)) => &text[..at],
        None => text,
    }
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

impl From<store::Error> for Refusal {
    fn from(error: store::Error) -> Refusal {
        let code = match error {
            store::Error::Refused { .. } | store::Error::Busy => Code::StoreRefused,
            ref away if away.is_away() => Code::StoreRefused,
            store::Error::NameTaken { .. } => Code::Conflict,
            store::Error::NothingThere { .. } | store::Error::UnknownPv { .. } => Code::UnknownPv,
            _ => Code::Internal,
        };
        Refusal::new(code, error.to_string())
    }
}

impl From<query::OperatorError> for Refusal {
    fn from(error: query::OperatorError) -> Refusal {
        let text = error.to_string();
        match error {
            query::OperatorError::Unknown { .. } => Refusal::new(Code::UnknownOperator, text),
            // The Appliance's status, by which its clients know it.
            query::OperatorError::NoNumber { .. } => {
                Refusal::new(Code::BadRequest, text).with_status(StatusCode::NOT_FOUND)
            }
            _ => Refusal::new(Code::BadRequest, text),
        }
    }
}

impl From<query::Error> for Refusal {
    fn from(error: query::Error) -> Refusal {
        match error {
            query::Error::Store(error) => error.into(),
            query::Error::Old(error) => Refusal::new(Code::Internal, error.to_string()),
            query::Error::BinCount { .. } | query::Error::TooFewBins { .. } | query::Error::TooManySamples { .. } => {
                Refusal::new(Code::BadRequest, error.to_string())
            }
        }
    }
}

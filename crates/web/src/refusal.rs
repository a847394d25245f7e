//! Refusals over HTTP: the status and the JSON of each.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use service::Untaken;

pub(crate) use service::{Code, Refusal, first_few, shortened};

/// The status of a kind of refusal.
fn status(code: Code) -> StatusCode {
    match code {
        Code::BadRequest | Code::BadTime | Code::BadRange | Code::UnknownFormat | Code::UnknownOperator => {
            StatusCode::BAD_REQUEST
        }
        // The Appliance's status for an operator that lacks its number, by which its clients know it.
        Code::UnknownPv | Code::UnknownUrl | Code::NoNumber => StatusCode::NOT_FOUND,
        Code::UnknownHost => StatusCode::MISDIRECTED_REQUEST,
        Code::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        Code::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Code::UrlTooLong => StatusCode::URI_TOO_LONG,
        Code::TooSlow => StatusCode::REQUEST_TIMEOUT,
        Code::Forbidden | Code::RightMissing => StatusCode::FORBIDDEN,
        Code::Conflict => StatusCode::CONFLICT,
        Code::StoreRefused | Code::Busy => StatusCode::SERVICE_UNAVAILABLE,
        Code::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The answer that a refusal is.
pub(crate) fn refused(refusal: Refusal) -> Response {
    refused_with(status(refusal.code()), refusal)
}

/// The same with a status that says more than the usual one of its code.
pub(crate) fn refused_with(status: StatusCode, refusal: Refusal) -> Response {
    if refusal.code() == Code::Internal {
        tracing::error!("a request failed: {}", refusal.message());
    }
    let mut error = error(refusal.code().name(), refusal.message(), refusal.what_to_do());
    if !refusal.untaken().is_empty() {
        error["not_taken"] = refusal.untaken().iter().map(untaken).collect();
    }
    let mut response = answer(status, &error);
    if refusal.code() == Code::Busy {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// What every refusal says: by which name programs know it, what was wrong, and what to do instead.
pub(crate) fn told(status: StatusCode, code: &str, message: &str, hint: Option<&str>) -> Response {
    answer(status, &error(code, message, hint))
}

fn error(code: &str, message: &str, hint: Option<&str>) -> Value {
    let mut error = json!({ "code": code, "message": message });
    if let Some(hint) = hint {
        error["hint"] = hint.into();
    }
    error
}

/// What waits of a PV, where a part of an import is not taken.
fn untaken(of: &Untaken) -> Value {
    let (first, last) = of.times.map(|(first, last)| (first.to_string(), last.to_string())).unzip();
    json!({ "pv": of.pv, "samples": of.samples, "first": first, "last": last })
}

fn answer(status: StatusCode, error: &Value) -> Response {
    let body = json!({ "error": error }).to_string();
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

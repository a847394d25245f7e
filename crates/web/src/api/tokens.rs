//! `/api/v1/tokens`: tokens of programs, made, listed and revoked.

use std::time::Duration;

use access::{TokenError, TokenWish};
use archive::{Right, TokenRow};
use axum::http::{HeaderValue, header};
use sample::{Timestamp, parse_span};
use serde::{Deserialize, Serialize};
use service::now;

use crate::{
    call::Call,
    delivery::answer::{Answer, json},
    refusal::{Code, Refusal},
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    name: String,
    right: String,
    #[serde(default = "all")]
    pvs: Vec<String>,
    /// A time, or a span from now on.
    expires: String,
}

fn all() -> Vec<String> {
    vec!["*".to_owned()]
}

/// What may be seen of a token.
#[derive(Serialize)]
struct Row<'a> {
    id: &'a str,
    name: &'a str,
    right: &'static str,
    pvs: &'a [Box<str>],
    made_by: String,
    made: String,
    expires: String,
    expired: bool,
    /// The day of its last use, in UTC; none if it was never used.
    used: Option<String>,
    /// The token itself, once: when it has been made.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<&'a str>,
}

fn row<'a>(row: &'a TokenRow, token: Option<&'a str>) -> Row<'a> {
    Row {
        id: &row.id,
        name: &row.name,
        right: row.right.name(),
        pvs: &row.pvs,
        made_by: row.made.who.established().to_owned(),
        made: row.made.at.to_string(),
        expires: row.expires.to_string(),
        expired: row.expires <= now(),
        used: row.used.map(|day| day.to_string()[..DAY_BYTES].to_owned()),
        token,
    }
}

/// A date without its time.
const DAY_BYTES: usize = "2026-01-01".len();

/// `GET /tokens`
pub(crate) fn list(call: &Call) -> Answer {
    call.ask.needs_all(Right::Administer)?;
    let tokens = call.app.access.tokens();
    json(&tokens.iter().map(|token| row(token, None)).collect::<Vec<_>>())
}

/// `POST /tokens`
pub(crate) fn add(call: &Call) -> Answer {
    call.ask.needs_all(Right::Administer)?;
    let wanted: Wanted = serde_json::from_slice(&call.body).map_err(|error| {
        Refusal::new(Code::BadRequest, format!("the body is not a token that is wanted: {error}"))
            .hint(r#"send {"name":"ingest","right":"operate","pvs":["SR*"],"expires":"90d"}"#)
    })?;
    let right = Right::from_name(&wanted.right).ok_or_else(|| {
        Refusal::new(Code::BadRequest, format!("right is {:?}, expected read, operate or administer", wanted.right))
    })?;
    let wish = TokenWish { name: wanted.name, right, pvs: wanted.pvs, expires: until(&wanted.expires)? };
    match call.app.access.add_token(&call.asker, wish, call.by()) {
        Ok(new) => {
            let mut answer = json(&row(&new.row, Some(new.reveal())))?;
            answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            Ok(answer)
        }
        Err(error) => failed(call, error),
    }
}

/// `DELETE /tokens/{id}`
pub(crate) fn revoke(call: &Call) -> Answer {
    call.ask.needs_all(Right::Administer)?;
    let id = call.path_part("id");
    match call.app.access.revoke_token(id, &call.by()) {
        Ok(true) => json(&serde_json::json!({ "id": id, "revoked": true })),
        Ok(false) => {
            let message = format!("there is no token with the id {:?}", service::shortened(id));
            Err(Refusal::new(Code::UnknownUrl, message).hint("GET /api/v1/tokens lists them"))
        }
        Err(error) => failed(call, error),
    }
}

fn failed(call: &Call, error: TokenError) -> Answer {
    match error {
        TokenError::Refused(why) => call.refused(&why),
        TokenError::Unkept(error) => {
            Err(Refusal::new(Code::StoreRefused, format!("the table of tokens cannot be changed: {error}")))
        }
    }
}

/// The end of a token's time: a span from now on, or a time.
fn until(text: &str) -> Result<Timestamp, Refusal> {
    match parse_span(text) {
        Some(span) if span > Duration::ZERO => Ok(now().saturating_add(span)),
        _ => Ok(Timestamp::typed(text, now())?),
    }
}

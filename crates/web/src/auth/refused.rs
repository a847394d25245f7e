//! How the refusal of a client is answered over HTTP, and how many there were.

use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed};

use access::{Access, Identity, Kind, Reason, Refused};
use axum::{
    http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use prometheus_client::{
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};
use service::now;

use crate::{
    peer::{Client, Peer},
    refusal::{Code, Refusal, told},
};

/// The log tells of at most this many refusals a second; the metric counts all of them.
const TOLD_EACH_SECOND: u32 = 10;

/// What is counted of refusals, and told of them.
pub(crate) struct Refusals {
    counted: Family<[(&'static str, &'static str); 1], Counter>,
    second: AtomicI64,
    told: AtomicU32,
    untold: AtomicU64,
}

impl Refusals {
    /// Each reason has its counter from the beginning.
    pub(crate) fn new() -> Refusals {
        let counted = Family::default();
        for reason in Reason::ALL {
            drop(counted.get_or_create(&[("reason", reason.name())]));
        }
        Refusals { counted, second: AtomicI64::new(0), told: AtomicU32::new(0), untold: AtomicU64::new(0) }
    }

    /// As a scrape shows them.
    pub(crate) fn registry(&self) -> Registry {
        let mut registry = Registry::with_prefix("pvark_access");
        registry.register("refused", "Requests refused for who sent them", self.counted.clone());
        registry
    }

    fn count(&self, reason: Reason) {
        self.counted.get_or_create(&[("reason", reason.name())]).inc();
    }

    /// Whether one more is to be told of in this second.
    fn is_told(&self) -> bool {
        let second = now().nanos() / 1_000_000_000;
        if self.second.swap(second, Relaxed) != second {
            self.told.store(0, Relaxed);
            let untold = self.untold.swap(0, Relaxed);
            if untold > 0 {
                tracing::info!("{untold} more requests were refused for who sent them");
            }
        }
        let is_told = self.told.fetch_add(1, Relaxed) < TOLD_EACH_SECOND;
        if !is_told {
            self.untold.fetch_add(1, Relaxed);
        }
        is_told
    }
}

/// What of a request a refusal is told with.
#[derive(Clone, Debug)]
pub(crate) struct RequestLine {
    method: Method,
    uri: Uri,
    /// None if the program itself asks.
    from: Option<Client>,
    /// Whether a person looks at the answer who could log in instead.
    pub(crate) is_page: bool,
}

impl RequestLine {
    pub(crate) fn of(method: &Method, uri: &Uri, headers: &HeaderMap, peer: Option<&Peer>) -> RequestLine {
        let from = peer.map(|peer| peer.client);
        RequestLine { method: method.clone(), uri: uri.clone(), from, is_page: is_page(method, headers) }
    }
}

/// Whether a browser asks for something that is to be shown by itself.
fn is_page(method: &Method, headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).unwrap_or("");
    let is_navigation = matches!(text("sec-fetch-mode"), "navigate" | "");
    method == Method::GET
        && is_navigation
        && text("accept").contains("text/html")
        && text("user-agent").starts_with("Mozilla/")
        && !headers.contains_key(header::AUTHORIZATION)
}

/// The answer that a refusal is. People who have shown nothing are sent to where they can log in.
pub(crate) fn refused(refusals: &Refusals, access: &Access, asked: &RequestLine, refused: &Refused) -> Response {
    refusals.count(refused.reason);
    if refusals.is_told() {
        let (path, reason) = (in_log(asked.uri.path()), refused.reason.name());
        let from = asked.from.map_or_else(|| "the program".to_owned(), |client| client.to_string());
        tracing::info!("{} {path} of {from} was refused ({reason}): {refused}", asked.method);
    }
    let may_log_in = matches!(refused.reason, Reason::Anonymous | Reason::Session) && access.has_logins();
    if asked.is_page && may_log_in {
        return to_login(&asked.uri);
    }
    let code = match refused.kind {
        Kind::Unproved { .. } => "unauthorized",
        Kind::Malformed => "bad_request",
        Kind::Forbidden { .. } => "forbidden",
        Kind::TooMany { .. } => "too_many_requests",
        Kind::Unavailable { .. } => "busy",
    };
    let status = StatusCode::from_u16(refused.status()).expect("each kind has a status of HTTP");
    let mut response = told(status, code, &refused.message, hint(access, refused));
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Kind::Unproved { challenge } = &refused.kind
        && let Ok(challenge) = HeaderValue::from_str(challenge)
    {
        headers.insert(header::WWW_AUTHENTICATE, challenge);
    }
    if let Some(seconds) = refused.retry_after_seconds() {
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

/// The log shows at most this many letters of a path.
const PATH_LETTERS_MAX: usize = 200;

/// A path as the log tells it: not all of a long one, no characters that a terminal obeys, and no token that somebody put there.
fn in_log(path: &str) -> String {
    if path.contains("pvk_") {
        return "(a path with a token)".to_owned();
    }
    let letter = |letter: char| match letter.is_ascii_graphic() {
        true => letter.to_string(),
        false => letter.escape_unicode().to_string(),
    };
    let more = if path.chars().nth(PATH_LETTERS_MAX).is_some() { "…" } else { "" };
    path.chars().take(PATH_LETTERS_MAX).map(letter).collect::<String>() + more
}

fn hint(access: &Access, refused: &Refused) -> Option<&'static str> {
    match refused.reason {
        Reason::Anonymous if access.has_logins() => Some("log in at /login, or send a token: Authorization: Bearer …"),
        Reason::Anonymous => {
            Some("send a token: Authorization: Bearer …; an administrator makes one with `pvark token add`")
        }
        Reason::Listener => Some("ask at another of the archiver's addresses"),
        Reason::Right => Some("`pvark access explain` says which grant is missing; an administrator can add it"),
        _ => None,
    }
}

fn to_login(uri: &Uri) -> Response {
    let wanted = uri.path_and_query().map_or("/", |path| path.as_str());
    let to = format!("/login?return={}", utf8_percent_encode(wanted, NON_ALPHANUMERIC));
    (StatusCode::FOUND, [(header::LOCATION, to), (header::CACHE_CONTROL, "no-store".to_owned())]).into_response()
}

/// A right that the service found missing, as who asks is told: whoever has shown nothing may show something.
pub(crate) fn missing(identity: &Identity, refusal: &Refusal) -> Option<Refused> {
    (refusal.code() == Code::RightMissing).then(|| identity.refused(refusal.message()))
}

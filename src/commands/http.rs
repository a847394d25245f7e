//! Requests to a running archiver, as the commands send them.

use std::{
    fmt::Display,
    fs::File,
    io::Read,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::OnceLock,
    time::Duration,
};

use serde_json::Value;
use ureq::{
    Body, Error, SendBody,
    config::ConfigBuilder,
    http::{
        HeaderValue, Request, Response, Uri,
        header::AUTHORIZATION,
        uri::{Authority, Scheme},
    },
    middleware::MiddlewareNext,
    tls::{PemItem, RootCerts, TlsConfig, parse_pem},
    typestate::AgentScope,
    unversioned::resolver::DefaultResolver,
};

use super::{
    patience::{Patience, patiently},
    socket::SocketWay,
};
use crate::{cli::Server, failure::Failure};

/// The largest JSON answer that a table is made from.
pub(crate) const ANSWER_BYTES_MAX: u64 = 256 << 20;

/// What a request does.
pub(crate) enum Method {
    Get,
    Post(Value),
    Put(Value),
    Delete,
}

/// Who gives an order, as a part of a URL.
pub(crate) fn by() -> String {
    encoded(&std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_default())
}

/// Sends a request and gives the answer. Who sends it goes along, for the audit.
pub(crate) fn ask(server: &Server, method: Method, path: &str) -> Result<Value, Failure> {
    read(checked(send(server, &method, path), &server.url)?)
}

/// The same, but what the archiver cannot do at present is asked of it again.
pub(crate) fn ask_patiently(
    patience: Patience,
    server: &Server,
    method: &Method,
    path: &str,
) -> Result<Value, Failure> {
    read(patiently(patience, &server.url, || send(server, method, path))?)
}

fn send(server: &Server, method: &Method, path: &str) -> Result<Response<Body>, Error> {
    let separator = if path.contains('?') { '&' } else { '?' };
    let url = format!("{}/api/v1/{path}{separator}by={}", server.url, by());
    match method {
        Method::Get => agent().get(format!("{}/api/v1/{path}", server.url)).call(),
        Method::Post(Value::Null) => agent().post(&url).send_empty(),
        Method::Post(body) => agent().post(&url).send_json(body),
        Method::Put(Value::Null) => agent().put(&url).send_empty(),
        Method::Put(body) => agent().put(&url).send_json(body),
        Method::Delete => agent().delete(&url).call(),
    }
}

fn read(mut answer: Response<Body>) -> Result<Value, Failure> {
    Ok(answer.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_json()?)
}

/// By which authorities servers with https are known.
static TRUSTED: OnceLock<RootCerts> = OnceLock::new();

/// Takes the authorities in a file for those that are trusted, from here on.
pub(crate) fn trust(file: &Path) -> Result<(), Failure> {
    let cannot = |error: &dyn Display| format!("{} holds no certificates in PEM: {error}", file.display());
    let text = std::fs::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    let mut certificates = Vec::new();
    for item in parse_pem(&text) {
        if let PemItem::Certificate(certificate) = item.map_err(|error| cannot(&error))? {
            certificates.push(certificate);
        }
    }
    if certificates.is_empty() {
        return Err(cannot(&"there is none").into());
    }
    TRUSTED.set(RootCerts::from(certificates)).map_err(|_| "authorities were named twice".into())
}

/// How servers with https are spoken to.
fn tls() -> TlsConfig {
    let roots = TRUSTED.get().cloned().unwrap_or(RootCerts::WebPki);
    TlsConfig::builder().root_certs(roots).build()
}

pub(crate) fn agent() -> ureq::Agent {
    let config = ureq::Agent::config_builder().timeout_connect(Some(Duration::from_secs(5)));
    agent_of(config)
}

/// The same that waits otherwise.
pub(crate) fn agent_of(config: ConfigBuilder<AgentScope>) -> ureq::Agent {
    let config = config.http_status_as_error(false).tls_config(tls()).middleware(with_token).build();
    let by_socket = |uri: &Uri| ours(uri)?.socket.as_deref();
    ureq::Agent::with_parts(config, SocketWay::new(by_socket), DefaultResolver::default())
}

/// The archiver that a command asks, by what it is asked, and by which way.
struct Ours {
    scheme: Scheme,
    authority: Authority,
    token: Option<HeaderValue>,
    socket: Option<PathBuf>,
}

static OURS: OnceLock<Ours> = OnceLock::new();

/// Nobody but its owner may read a file with a token.
const OTHERS: u32 = 0o077;

/// Shows the token in a file to an archiver, and to no other server, and asks it by a socket if there is one, from here on.
pub(crate) fn show(server: &str, token: Option<&Path>, socket: Option<&Path>) -> Result<(), Failure> {
    if token.is_none() && socket.is_none() {
        return Ok(());
    }
    let uri: Uri = server.parse().map_err(|error| format!("--server {server:?} is no URL: {error}"))?;
    let (Some(scheme), Some(authority)) = (uri.scheme().cloned(), uri.authority().cloned()) else {
        return Err(format!("--server {server:?} is no URL like http://127.0.0.1:17665").into());
    };
    if socket.is_some() && scheme != Scheme::HTTP {
        return Err("a socket has no TLS: leave --socket out, or give --server a URL with http://".into());
    }
    let (token, socket) = (token.map(read_token).transpose()?, socket.map(Path::to_owned));
    OURS.set(Ours { scheme, authority, token, socket }).map_err(|_| "the archiver was named twice".into())
}

/// The token in a file, as a header.
fn read_token(file: &Path) -> Result<HeaderValue, Failure> {
    let cannot = |why: &dyn Display| format!("the token in {} cannot be used: {why}", file.display());
    let mut opened = File::open(file).map_err(|error| cannot(&error))?;
    let mode = opened.metadata().map_err(|error| cannot(&error))?.permissions().mode();
    if mode & OTHERS != 0 {
        return Err(format!("{}; chmod 600 it", cannot(&"others may read it")).into());
    }
    let mut text = String::new();
    opened.read_to_string(&mut text).map_err(|error| cannot(&error))?;
    let mut header = HeaderValue::from_str(&format!("Bearer {}", text.trim()))
        .map_err(|_| cannot(&"it has characters that no token has"))?;
    header.set_sensitive(true);
    Ok(header)
}

/// Whether a URL is one of the archiver that is asked.
fn ours(uri: &Uri) -> Option<&'static Ours> {
    OURS.get().filter(|ours| uri.scheme() == Some(&ours.scheme) && uri.authority() == Some(&ours.authority))
}

fn with_token(mut request: Request<SendBody>, next: MiddlewareNext) -> Result<Response<Body>, Error> {
    if let Some(token) = ours(request.uri()).and_then(|ours| ours.token.clone()) {
        request.headers_mut().entry(AUTHORIZATION).or_insert(token);
    }
    next.handle(request)
}

/// An answer that is a success; otherwise the archiver's own words.
pub(crate) fn checked(sent: Result<Response<Body>, Error>, server: &str) -> Result<Response<Body>, Failure> {
    let mut answer =
        sent.map_err(|error| format!("no archiver answers at {server} ({error}); start one with `pvark run`"))?;
    if answer.status().is_success() {
        return Ok(answer);
    }
    let status = answer.status();
    let text = answer.body_mut().read_to_string().unwrap_or_default();
    let json: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
    let message = json["error"]["message"].as_str().unwrap_or(text.trim());
    let hint = json["error"]["hint"].as_str().map(|hint| format!(" ({hint})")).unwrap_or_default();
    Err(format!("{message}{hint} [HTTP {}]", status.as_u16()).into())
}

/// A name as a part of a URL's path.
pub(crate) fn encoded(name: &str) -> String {
    name.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b':' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_encoded_for_paths() {
        assert_eq!(encoded("SR:C01{BPM:1}x/y"), "SR:C01%7BBPM:1%7Dx%2Fy");
    }
}

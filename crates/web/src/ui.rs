//! The web page, embedded in the program: the files of `ui/dist` as they were when it was built.

use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::{
    call::Call,
    delivery::{answer::Answer, leased::OfProgram},
    refusal::{Code, Refusal},
};

/// One embedded file.
struct File {
    path: &'static str,
    bytes: &'static [u8],
    /// The same, compressed, if the build left that beside it.
    gzip: Option<&'static [u8]>,
    /// Changes with the content.
    etag: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Where the page's own URLs end and those of programs begin.
const NOT_FOR_PAGES: [&str; 6] = ["/api", "/retrieval", "/mgmt", "/metrics", "/engine", "/etl"];
/// The build puts a hash of the content into the names of files here, so they never change.
const IMMUTABLE: &str = "assets/";

/// Whether a path can belong to the page: one of its files, or a link into it.
pub(crate) fn may_show(path: &str) -> bool {
    let claimed =
        |prefix: &&str| path.strip_prefix(*prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    !NOT_FOR_PAGES.iter().any(claimed)
}

/// `GET /mgmt/ui/…` and `/retrieval/ui/…`: the Archiver Appliance's pages are this one, with the PVs that the link names. Its pages for
/// whoever runs it lead to ours for them, which says where the old address has gone.
pub(crate) fn instead(call: &Call) -> Answer {
    let pvs = call.query.all("pv").map(|pv| format!("pv={}", utf8_percent_encode(pv, NON_ALPHANUMERIC)));
    let pvs: Vec<String> = pvs.collect();
    let managed = call.url_path.strip_prefix("/mgmt/ui").map(|page| page.trim_matches('/'));
    let to = match managed {
        _ if !pvs.is_empty() => format!("/?{}", pvs.join("&")),
        Some(page) if !page.is_empty() => format!("/manage?came={}", utf8_percent_encode(page, NON_ALPHANUMERIC)),
        Some(_) => "/manage".to_owned(),
        None => "/".to_owned(),
    };
    Ok((StatusCode::FOUND, [(header::LOCATION, to)]).into_response())
}

/// `GET /`, and the page's other files.
pub(crate) fn show(call: &Call) -> Answer {
    match call.url_path.trim_start_matches('/') {
        "" => index(call),
        path => file(call, path),
    }
}

/// The page itself, at whichever of its links.
pub(crate) fn index(call: &Call) -> Answer {
    file(call, "index.html")
}

fn file(call: &Call, wanted: &str) -> Answer {
    let file = FILES
        .iter()
        .find(|file| file.path == wanted)
        .ok_or_else(|| Refusal::new(Code::UnknownUrl, format!("the web page has no file {wanted:?}")))?;
    let sent = |name: HeaderName| call.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("");
    if sent(header::IF_NONE_MATCH).split(',').any(|tag| tag.trim().trim_start_matches("W/") == file.etag) {
        return Ok(with_headers(file, StatusCode::NOT_MODIFIED.into_response()));
    }
    let takes_gzip = sent(header::ACCEPT_ENCODING).split(',').any(|coding| coding.trim().starts_with("gzip"));
    let mut response = match file.gzip.filter(|_| takes_gzip) {
        Some(gzip) => {
            let mut response = Response::new(Body::from(gzip));
            response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            response
        }
        None => Response::new(Body::from(file.bytes)),
    };
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type(file.path)));
    Ok(with_headers(file, response))
}

fn with_headers(file: &File, mut response: Response) -> Response {
    let cache = if file.path.starts_with(IMMUTABLE) { "public, max-age=31536000, immutable" } else { "no-cache" };
    response.extensions_mut().insert(OfProgram);
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    headers.insert(header::ETAG, HeaderValue::from_static(file.etag));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    response
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or("") {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "wasm" => "application/wasm",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_never_get_the_page_instead_of_an_error() {
        for path in ["/api/v1/nothing", "/retrieval/x", "/mgmt", "/metrics/x"] {
            assert!(!may_show(path), "{path}");
        }
        for path in ["/", "/pv/A:B", "/assets/main.js", "/apiary"] {
            assert!(may_show(path), "{path}");
        }
    }

    #[test]
    fn there_is_always_a_page() {
        let index = FILES.iter().find(|file| file.path == "index.html").expect("build.rs writes one");
        assert!(index.bytes.starts_with(b"<!doctype html>") || index.bytes.starts_with(b"<!DOCTYPE html>"));
        assert!(index.etag.starts_with('"') && index.etag.ends_with('"'));
    }
}

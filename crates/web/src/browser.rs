//! What keeps pages of other sites from changing anything by the browser of somebody who may: a change that a browser sends must
//! come from a page of ours, and browsers are told not to show ours within another or to take an answer for what it is not.
//!
//! Over plain HTTP browsers send no `Sec-Fetch-Site`, but to `localhost`, and nothing at all that says where an image of a page without
//! referrer comes from. So what counts is a proof that a page of ours sent it; that nothing speaks against it is not enough.
//! `docs/decisions/0008-browsers.md` lists what Chromium sends.

use axum::http::{HeaderMap, HeaderValue, header};

use crate::{
    host::Authority,
    refusal::{Code, Refusal},
};

/// A header that other sites' pages cannot have sent: browsers ask first whether they may, and are not told so.
const PROOF: &str = "x-pvark";

/// What every answer says to browsers: take it for what it is; let a page have what it needs from here only, and stand in no other
/// page; and say to nobody else from which page a link came.
pub(crate) const HEADERS: [(&str, &str); 3] = [
    ("x-content-type-options", "nosniff"),
    (
        "content-security-policy",
        "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
    ),
    ("referrer-policy", "same-origin"),
];

/// Puts them into an answer.
pub(crate) fn tell(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// The same as lines, for an answer that is written as text.
pub(crate) fn lines() -> String {
    HEADERS.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect()
}

/// Refuses a change that a browser sends, unless a page of ours made it do so. Programs are no browsers and need no proof.
pub(crate) fn may_change(headers: &HeaderMap, ours: Option<&Authority>) -> Result<(), Refusal> {
    let is_proved = headers.get(PROOF).is_some_and(|proof| proof == "1");
    if is_proved || !is_of_browser(headers) || is_of_our_page(headers, ours) {
        return Ok(());
    }
    let message = "a browser sends this, and not for a page of this archiver: it may only read";
    Err(Refusal::new(Code::Forbidden, message).hint(
        "use the archiver's own page or a command line; a program that calls itself Mozilla adds the header X-Pvark: 1 to what it sends",
    ))
}

fn is_of_browser(headers: &HeaderMap) -> bool {
    let says_so = headers.get(header::USER_AGENT).is_some_and(|agent| agent.as_bytes().starts_with(b"Mozilla/"));
    let by_headers = |name: &str| name.starts_with("sec-fetch-") || ["origin", "referer", "cookie"].contains(&name);
    says_so || headers.keys().any(|name| by_headers(name.as_str()))
}

/// The one that says most decides: a browser that tells the site tells the truth of it, and a page can leave out its `Referer` but
/// change neither that nor its `Origin`.
fn is_of_our_page(headers: &HeaderMap, ours: Option<&Authority>) -> bool {
    let leads_here = |url: &HeaderValue| ours.zip(url.to_str().ok()).is_some_and(|(ours, url)| ours.is_that_of(url));
    if let Some(site) = headers.get("sec-fetch-site") {
        return site == "same-origin";
    }
    headers.get(header::ORIGIN).or_else(|| headers.get(header::REFERER)).is_some_and(leads_here)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderName;

    use super::*;

    const BROWSER: (&str, &str) = ("user-agent", "Mozilla/5.0 (X11; Linux x86_64) Chrome/140");

    fn may(headers: &[(&str, &str)]) -> bool {
        let ours = Authority::parse("archiver:17665");
        let name = |name: &str| name.parse::<HeaderName>().unwrap();
        let headers = headers.iter().map(|(key, value)| (name(key), value.parse().unwrap())).collect();
        may_change(&headers, ours.as_ref()).is_ok()
    }

    #[test]
    fn programs_may_change_and_browsers_for_our_pages() {
        assert!(may(&[]));
        assert!(may(&[("user-agent", "curl/8.5.0"), ("accept", "*/*")]));
        assert!(may(&[("user-agent", "python-requests/2.32"), ("content-type", "application/json")]));
        assert!(may(&[BROWSER, ("origin", "http://archiver:17665")]));
        assert!(may(&[BROWSER, ("referer", "http://archiver:17665/?pv=A")]));
        assert!(may(&[BROWSER, ("sec-fetch-site", "same-origin")]));
        assert!(may(&[BROWSER, ("x-pvark", "1")]));
        // A proxy in between asked by a name of its own.
        assert!(may(&[BROWSER, ("x-pvark", "1"), ("origin", "https://proxy.lab.example")]));
    }

    #[test]
    fn browsers_may_change_nothing_for_other_pages_or_none() {
        assert!(!may(&[BROWSER]), "an image of a page without referrer sends no more than this");
        for (name, value) in [
            ("origin", "http://evil.example"),
            ("origin", "http://archiver:17666"),
            ("origin", "null"),
            ("referer", "http://evil.example/?http://archiver:17665/"),
            ("referer", ""),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
            ("sec-fetch-site", "none"),
            ("sec-fetch-mode", "navigate"),
            ("cookie", "session=1"),
            ("x-pvark", "2"),
        ] {
            assert!(!may(&[BROWSER, (name, value)]), "{name}: {value}");
            if name != "x-pvark" {
                assert!(!may(&[(name, value)]), "{name}: {value} without the name of a browser");
            }
        }
        assert!(!may(&[("sec-fetch-site", "none"), ("referer", "http://archiver:17665/")]));
        assert!(!may(&[("origin", "http://evil.example"), ("referer", "http://archiver:17665/")]));
        let (name, value) = BROWSER;
        let headers = [(name.parse::<HeaderName>().unwrap(), value.parse().unwrap())].into_iter().collect();
        assert!(may_change(&headers, None).is_err());
    }
}

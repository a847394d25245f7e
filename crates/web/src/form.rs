//! Bodies of POSTs as clients of the Archiver Appliance send them. What a form says counts as if it stood in the URL, as a servlet has
//! it; JSON is JSON whatever its type is called: `curl -d` calls everything a form, and some clients name no type at all.

use axum::http::{HeaderMap, header};

/// What a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Form,
    Json,
    /// Names, separated by commas or ends of lines.
    Lines,
}

/// A body, with what it is.
#[derive(Clone, Copy)]
pub(crate) struct Sent<'b> {
    pub(crate) kind: Kind,
    pub(crate) body: &'b [u8],
}

impl Kind {
    pub(crate) fn of(headers: &HeaderMap, body: &[u8]) -> Kind {
        let stated = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
        let stated = stated.to_ascii_lowercase();
        let body = body.trim_ascii_start();
        if stated.contains("json") || (!stated.starts_with("text/") && matches!(body.first(), Some(b'[' | b'{'))) {
            Kind::Json
        } else if (stated.is_empty() || stated.contains("form-urlencoded")) && begins_with_a_parameter(body) {
            Kind::Form
        } else {
            Kind::Lines
        }
    }
}

/// Whether a body begins like `name=`, with a name of letters only: no name of a PV is so, as these have no `=`.
fn begins_with_a_parameter(body: &[u8]) -> bool {
    let end = body.iter().position(|byte| !byte.is_ascii_alphabetic());
    end.is_some_and(|end| end > 0 && body.get(end) == Some(&b'='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_what_it_is_called_unless_it_is_plainly_json() {
        let form = Some("application/x-www-form-urlencoded; charset=UTF-8");
        for (stated, body, kind) in [
            (form, "pv=A&at=2026", Kind::Form),
            (form, "A\nB", Kind::Lines),
            (form, "retrieval=1", Kind::Form),
            (form, " [\"A\"]", Kind::Json),
            (Some("application/json"), "A", Kind::Json),
            (None, "[\"A\"]", Kind::Json),
            (None, "{\"pv\": 1}", Kind::Json),
            (None, "pv=A,B", Kind::Form),
            (None, "SR:A,SR:B", Kind::Lines),
            (None, "A\r\nB=C", Kind::Lines),
            (None, "", Kind::Lines),
            (Some("text/plain"), "pv=A", Kind::Lines),
            (Some("text/plain"), "[A]", Kind::Lines),
        ] {
            let mut headers = HeaderMap::new();
            stated.map(|stated| headers.insert(header::CONTENT_TYPE, stated.parse().unwrap()));
            assert_eq!(Kind::of(&headers, body.as_bytes()), kind, "{stated:?} {body:?}");
        }
    }
}

//! Tests of what requests show: which of several things counts, and what is refused at once.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail")]

use proptest::{collection::vec, prelude::*};

use super::*;

const HERE: From = From::Network(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST));

fn far() -> From {
    From::Network("10.0.0.7".parse().unwrap())
}

fn proxy() -> Proxy {
    toml::from_str("from = [\"127.0.0.1/32\"]\nuser = \"X-Forwarded-User\"\ngroups = \"X-Forwarded-Groups\"\n").unwrap()
}

/// The credential of a request, or the reason for which the request is refused.
fn shown<'a>(from: From, transport: Transport, headers: &'a [(&'a str, &'a [u8])]) -> Result<Credential<'a>, Reason> {
    let presented = Presented { from, transport, ceiling: Right::Administer, headers, certificate: None };
    presented.credential(Some(&proxy())).map_err(|refused| {
        assert_eq!(refused.status(), 400);
        refused.reason
    })
}

#[test]
fn the_first_that_is_shown_counts() {
    let certificate = Certificate { name: "tools".into(), not_before: Timestamp::MIN, not_after: Timestamp::MAX };
    let all: [(&str, &[u8]); 4] = [
        ("x-forwarded-user", b"ana"),
        ("x-forwarded-groups", b" operators , ,staff"),
        ("cookie", b"a=b; pvark=word; c"),
        ("authorization", b"Bearer token"),
    ];
    let with = |count: usize, certificate| {
        let headers = &all[..count];
        let presented =
            Presented { from: HERE, transport: Transport::Plain, ceiling: Right::Read, headers, certificate };
        presented.credential(Some(&proxy())).unwrap()
    };
    assert_eq!(with(4, Some(&certificate)), Credential::Certificate(&certificate));
    assert_eq!(with(4, None), Credential::Bearer("token"));
    assert_eq!(with(3, None), Credential::Cookie("word"));
    assert_eq!(with(2, None), Credential::Proxy { user: "ana", groups: vec!["operators", "staff"] });
    assert_eq!(with(0, None), Credential::Nothing);
}

#[test]
fn headers_of_the_proxy_come_from_the_proxy_and_once() {
    let value: &[u8] = b"ana";
    for name in ["X-Forwarded-User", "x-forwarded-user", "X_Forwarded_User", "X-FORWARDED-GROUPS"] {
        for value in [value, b""] {
            assert_eq!(shown(far(), Transport::Tls, &[(name, value)]), Err(Reason::ProxyForeign), "{name}");
        }
    }
    // A better credential beside it does not make it right.
    let beside: [(&str, &[u8]); 2] = [("authorization", b"Bearer token"), ("x-forwarded-user", b"ana")];
    assert_eq!(shown(far(), Transport::Tls, &beside), Err(Reason::ProxyForeign));
    let wrong: [&[(&str, &[u8])]; 5] = [
        &[("x-forwarded-user", b"ana"), ("x-forwarded-user", b"root")],
        &[("x-forwarded-user", b"ana"), ("x-forwarded-groups", b"a"), ("x-forwarded-groups", b"b")],
        &[("x-forwarded-user", b"ana, root")],
        &[("x-forwarded-groups", b"operators")],
        &[("x-forwarded-user", b"\xff")],
    ];
    for headers in wrong {
        assert_eq!(shown(HERE, Transport::Plain, headers), Err(Reason::ProxyDoubled), "{headers:?}");
    }
    // The proxy itself passes on what a client spells otherwise.
    for name in ["X_Forwarded_User", "x-forwarded_groups", "X_FORWARDED_GROUPS"] {
        let headers: [(&str, &[u8]); 2] = [("x-forwarded-user", b"ana"), (name, b"root")];
        assert_eq!(shown(HERE, Transport::Plain, &headers), Err(Reason::ProxyForeign), "{name}");
        assert_eq!(shown(HERE, Transport::Plain, &headers[1..]), Err(Reason::ProxyForeign), "{name}");
    }
    assert_eq!(shown(HERE, Transport::Plain, &[("x-forwarded-user", b"")]), Ok(Credential::Nothing));
}

#[test]
fn credentials_come_once_and_in_a_known_form() {
    let basic = |text: &str| format!("basic {}", BASE64_STANDARD.encode(text));
    let ask = |headers: &[(&str, &str)]| {
        let headers: Vec<(&str, &[u8])> = headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
        shown(far(), Transport::Tls, &headers).map(|credential| format!("{credential:?}"))
    };
    let show = |authorization: &str| ask(&[("Authorization", authorization)]);
    assert_eq!(show("bearer  x "), Ok("Bearer(\"x\")".to_owned()));
    assert_eq!(show(&basic("ana:a:b")), Ok("Basic { user: \"ana\", password: \"a:b\" }".to_owned()));
    assert_eq!(ask(&[("x-api-key", "x")]), Ok("Bearer(\"x\")".to_owned()));
    for wrong in ["", "Bearer", "Bearer ", "Digest x", "Basic", "Basic %", "x", &basic("ana"), &"x".repeat(20_000)] {
        assert_eq!(show(wrong), Err(Reason::Malformed), "{wrong}");
    }
    assert_eq!(ask(&[("authorization", "Bearer x"), ("authorization", "Bearer x")]), Err(Reason::Doubled));
    assert_eq!(ask(&[("authorization", "Bearer x"), ("x-api-key", "x")]), Err(Reason::Doubled));
}

#[test]
fn a_cookie_counts_only_where_it_could_have_been_set() {
    let ask = |from, transport, cookie: &'static [u8]| {
        shown(from, transport, &[("cookie", cookie)]).map(|shown| format!("{shown:?}"))
    };
    let word = |word: &str| Ok(format!("Cookie({word:?})"));
    assert_eq!(ask(far(), Transport::Tls, b"pvark=plain; __Host-pvark=safe"), word("safe"));
    assert_eq!(ask(HERE, Transport::Plain, b"pvark=plain; __Host-pvark=safe"), word("plain"));
    assert_eq!(ask(far(), Transport::Plain, b"pvark=plain; __Host-pvark=safe"), Ok("Nothing".to_owned()));
    assert_eq!(ask(far(), Transport::Tls, b"__Host-pvark=a; __Host-pvark=b"), Err(Reason::Doubled));
    assert_eq!(ask(far(), Transport::Tls, b"\xff"), Ok("Nothing".to_owned()));
}

proptest! {
    /// Whatever comes, it is shown or refused, and nothing that was not there is shown.
    #[test]
    fn arbitrary_headers_are_read_or_refused(
        headers in vec((0..7_usize, vec(any::<u8>(), 0..60)), 0..6),
        texts in vec("(Bearer|Basic|__Host-pvark|pvk|[;=, :._])*[ -~]{0,20}", 0..6),
        here in any::<bool>(),
    ) {
        let names = ["authorization", "x-api-key", "cookie", "x-forwarded-user", "x-forwarded-groups", "X_FORWARDED_USER", ""];
        let texts = texts.iter().enumerate().map(|(index, text)| (names[index % 5], text.as_bytes()));
        let headers: Vec<(&str, &[u8])> =
            headers.iter().map(|(name, value)| (names[*name], value.as_slice())).chain(texts).collect();
        for transport in [Transport::Plain, Transport::Tls] {
            let from = if here { HERE } else { far() };
            if let Ok(Credential::Proxy { .. }) = shown(from, transport, &headers) {
                prop_assert!(here, "only the proxy says who asks");
            }
        }
    }
}

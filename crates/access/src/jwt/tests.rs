//! Tests of tokens that a provider has signed: each refusal that protects anything, with keys made here.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail")]

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::idp::{Idp, Pair, base64};

/// When all of this happens.
const NOW: i64 = 1_800_000_000;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(seconds, 0)
}

fn provider(idp: &Idp, more: &str) -> Provider {
    let text = format!("issuer = {:?}\nclient = \"pvark-page\"\naudience = [\"pvark\"]\n{more}", idp.url);
    Provider::new(toml::from_str(&text).unwrap()).unwrap()
}

fn claims(idp: &Idp) -> Value {
    json!({
        "iss": idp.url, "aud": "pvark", "sub": "operator1", "exp": NOW + 300, "iat": NOW, "nbf": NOW, "typ": "Bearer",
        "groups": ["operators", "staff"],
    })
}

fn header(algorithm: &str, kid: &str) -> Value {
    json!({"alg": algorithm, "kid": kid, "typ": "JWT"})
}

/// A provider with one key of each kind, and what believes it.
struct Bench {
    idp: Idp,
    rsa: Pair,
    p256: Pair,
    ed25519: Pair,
    provider: Provider,
}

impl Bench {
    fn new() -> Bench {
        let (idp, rsa, p256, ed25519) = (Idp::start(), Pair::rsa(), Pair::p256(), Pair::ed25519());
        idp.set_keys(vec![rsa.shown("r", "sig"), p256.shown("p", "sig"), ed25519.shown("e", "sig")]);
        let provider = provider(&idp, "");
        Bench { idp, rsa, p256, ed25519, provider }
    }

    fn show(&self, token: &str) -> Result<Said, TokenFault> {
        self.provider.access_token(token, at(NOW))
    }

    /// A token that is right but for some claims, which are removed where they are null.
    fn with(&self, changes: &Value) -> Result<Said, TokenFault> {
        let mut claims = claims(&self.idp);
        for (name, value) in changes.as_object().unwrap() {
            claims[name] = value.clone();
            if value.is_null() {
                claims.as_object_mut().unwrap().remove(name);
            }
        }
        self.show(&self.rsa.sign(&header("RS256", "r"), &claims))
    }
}

#[test]
fn what_the_provider_has_signed_is_believed() {
    let bench = Bench::new();
    let signed = [
        (&bench.rsa, "RS256", "r"),
        (&bench.rsa, "PS256", "r"),
        (&bench.p256, "ES256", "p"),
        (&bench.ed25519, "EdDSA", "e"),
    ];
    for (pair, algorithm, kid) in signed {
        let said = bench.show(&pair.sign(&header(algorithm, kid), &claims(&bench.idp))).unwrap();
        assert_eq!(said.who.to_string(), "oidc:operator1", "{algorithm}");
        assert_eq!(*said.groups, ["operators".into(), "staff".into()]);
        assert_eq!(said.until, at(NOW + 360));
    }
    assert_eq!(bench.idp.fetches(), 1);
    bench.with(&json!({"aud": ["account", "pvark"]})).unwrap();
    bench.with(&json!({"typ": null, "nbf": null, "iat": null})).unwrap();
    bench.with(&json!({"exp": NOW - 59, "nbf": NOW + 59, "iat": NOW + 59})).unwrap();
    assert!(bench.with(&json!({"groups": null})).unwrap().groups.is_empty());
}

#[test]
fn claims_that_do_not_hold_are_refused() {
    let bench = Bench::new();
    let cases = [
        (json!({"exp": NOW - 60}), "the token has expired"),
        (json!({"exp": null}), "the token never expires"),
        (json!({"exp": "soon"}), "a time in the token is none"),
        (json!({"exp": -1}), "a time in the token is none"),
        (json!({"nbf": NOW + 61}), "the token does not hold yet"),
        (json!({"iat": NOW + 61}), "the token does not hold yet"),
        (json!({"iss": format!("{}/", bench.idp.url)}), "the token is of another issuer"),
        (json!({"iss": null}), "the token is of another issuer"),
        (json!({"iss": [bench.idp.url]}), "the token is of another issuer"),
        (json!({"aud": "account"}), "the token is for somebody else"),
        (json!({"aud": ["pvark-page", "pvark2"]}), "the token is for somebody else"),
        (json!({"aud": null}), "the token is for somebody else"),
        (json!({"aud": {"pvark": true}}), "the token is for somebody else"),
        // An ID token, in each of the ways by which one is known, even if it is for us.
        (json!({"typ": "ID"}), "this is no access token"),
        (json!({"typ": "Refresh"}), "this is no access token"),
        (json!({"nonce": "n"}), "this is no access token"),
        (json!({"at_hash": "h"}), "this is no access token"),
        (json!({"events": {}}), "this is no access token"),
        (json!({"sub": null}), "the token does not say who it is for"),
        (json!({"sub": 7}), "the token does not say who it is for"),
        (json!({"sub": ""}), "the token does not say who it is for"),
        (json!({"sub": "a\nb"}), "the token does not say who it is for"),
    ];
    for (changes, message) in cases {
        assert_eq!(bench.with(&changes), Err(TokenFault::Token(message)), "{changes}");
    }
}

#[test]
fn signatures_and_headers_that_do_not_hold_are_refused() {
    let bench = Bench::new();
    let (idp, rsa) = (&bench.idp, &bench.rsa);
    let claims = claims(idp);
    let refused = |token: &str| match bench.show(token) {
        Err(TokenFault::Token(message)) => message,
        other => panic!("{token}: {other:?}"),
    };
    let good = rsa.sign(&header("RS256", "r"), &claims);
    let (message, signature) = good.rsplit_once('.').unwrap();
    let payload = message.split_once('.').unwrap().1;
    let not_taken = "the token is signed in a way that is not taken here";

    // Nothing, and what anybody can make who has the public key.
    let unsigned = base64(json!({"alg": "none", "typ": "JWT"}).to_string());
    assert_eq!(refused(&format!("{unsigned}.{payload}.")), not_taken);
    assert_eq!(refused(&format!("{unsigned}.{payload}.{signature}")), not_taken);
    let public = rsa.shown("r", "sig")["n"].as_str().unwrap().to_owned();
    let shared = format!("{}.{payload}", base64(header("HS256", "r").to_string()));
    let mac = ring::hmac::sign(&ring::hmac::Key::new(ring::hmac::HMAC_SHA256, public.as_bytes()), shared.as_bytes());
    assert_eq!(refused(&format!("{shared}.{}", base64(mac))), not_taken);

    let wrong = "the signature of the token is wrong";
    assert_eq!(refused(&Pair::rsa().sign(&header("RS256", "r"), &claims)), wrong, "a foreign key under a known id");
    assert_eq!(refused(&format!("{message}.")), wrong);
    assert_eq!(refused(&format!("{message}.{}", base64([0; 256]))), wrong);
    let mut other = claims.clone();
    other["sub"] = json!("root");
    let header_of_good = message.split_once('.').unwrap().0;
    assert_eq!(refused(&format!("{header_of_good}.{}.{signature}", base64(other.to_string()))), wrong);

    let no_key = "the token is signed by no key of the provider";
    assert_eq!(refused(&rsa.sign(&header("RS256", "p"), &claims)), no_key, "a key of another kind");
    assert_eq!(refused(&bench.p256.sign(&header("RS256", "p"), &claims)), no_key);
    // One key of its kind needs no id, and of two nobody knows which.
    let nameless = rsa.sign(&json!({"alg": "RS256"}), &claims);
    bench.show(&nameless).unwrap();
    idp.set_keys(vec![rsa.shown("r", "sig"), Pair::rsa().shown("s", "sig")]);
    assert_eq!(provider(idp, "").access_token(&nameless, at(NOW)), Err(TokenFault::Token(no_key)));
}

#[test]
fn what_is_no_token_is_refused() {
    let bench = Bench::new();
    let refused = |token: &str| matches!(bench.show(token), Err(TokenFault::Token(_)));
    for text in ["", ".", "..", "a.b.c", "a.b", "é.é.é", "e30.e30.", "bnVsbA.bnVsbA.x"] {
        assert!(refused(text), "{text}");
    }
    let mut long = claims(&bench.idp);
    long["padding"] = json!("x".repeat(17 << 10));
    let long = bench.rsa.sign(&header("RS256", "r"), &long);
    assert_eq!(bench.show(&long), Err(TokenFault::Token("the token is longer than 16 KiB")));
    for header in [
        json!({"alg": "RS256", "kid": "r", "crit": ["b64"], "b64": false}),
        json!({"alg": "RS256", "kid": 7}),
        json!({"alg": "RS256", "kid": "r", "typ": "logout+jwt"}),
        json!({"alg": "RS256", "kid": "r", "typ": 1}),
        json!({"alg": "rs256", "kid": "r"}),
        json!({"kid": "r"}),
    ] {
        assert!(refused(&bench.rsa.sign(&header, &claims(&bench.idp))), "{header}");
    }
}

#[test]
fn a_key_for_encryption_signs_nothing() {
    let (idp, pair) = (Idp::start(), Pair::rsa());
    let token = pair.sign(&header("RS256", "k"), &claims(&idp));
    let no_key = Err(TokenFault::Token("the token is signed by no key of the provider"));
    let without_use = |operations: Value| {
        let mut key = pair.shown("k", "sig");
        key.as_object_mut().unwrap().remove("use");
        key["key_ops"] = operations;
        key
    };
    for key in [pair.shown("k", "enc"), without_use(json!(["encrypt", "wrapKey"])), pair.shown("other", "sig")] {
        idp.set_keys(vec![key]);
        assert_eq!(provider(&idp, "").access_token(&token, at(NOW)), no_key);
    }
    // A provider that does not say what a key is for means anything.
    for key in [without_use(Value::Null), without_use(json!(["verify"]))] {
        idp.set_keys(vec![key]);
        provider(&idp, "").access_token(&token, at(NOW)).unwrap();
    }
    idp.set_keys(vec![pair.shown("k", "enc"), pair.shown("k", "sig")]);
    provider(&idp, "").access_token(&token, at(NOW)).unwrap();
    assert_eq!(provider(&idp, "algorithms = [\"ES256\"]\n").access_token(&token, at(NOW)).unwrap_err(), {
        TokenFault::Token("the token is signed in a way that is not taken here")
    });
}

#[test]
fn a_new_key_is_fetched_once_and_unknown_ones_are_not_fetched_for_ever() {
    let bench = Bench::new();
    bench.with(&json!({})).unwrap();
    let new = Pair::rsa();
    bench.idp.set_keys(vec![new.shown("new", "sig")]);
    let token = new.sign(&header("RS256", "new"), &claims(&bench.idp));
    let show = |token: &str, seconds: i64| bench.provider.access_token(token, at(NOW + seconds));
    assert!(show(&token, 29).is_err(), "it was fetched 29 s ago");
    show(&token, 30).unwrap();
    assert_eq!(bench.idp.fetches(), 2);

    // A thousand ids that nobody knows, within 10 s.
    for number in 0..1000 {
        let unknown = header("RS256", &format!("unknown {number}"));
        let unknown = format!("{}.e30.x", base64(unknown.to_string()));
        assert!(matches!(show(&unknown, 60 + number / 100), Err(TokenFault::Token(_))));
    }
    assert_eq!(bench.idp.fetches(), 3);
}

#[test]
fn keys_are_believed_for_a_day_while_the_provider_is_away_and_withdrawn_ones_for_an_hour() {
    let bench = Bench::new();
    let mut long = claims(&bench.idp);
    long["exp"] = json!(NOW + 1_000_000);
    let token = bench.rsa.sign(&header("RS256", "r"), &long);
    let show = |hours: i64| bench.provider.access_token(&token, at(NOW + hours * 3600)).map(|_| ());
    bench.idp.set_away(true);
    assert_eq!(show(0), Err(TokenFault::Away));
    bench.idp.set_away(false);
    assert_eq!(show(0), Err(TokenFault::Away), "it was asked just now");
    assert_eq!(show(1), Ok(()));
    bench.idp.set_away(true);
    assert_eq!((show(3), show(24), show(25)), (Ok(()), Ok(()), Err(TokenFault::Away)));
    bench.idp.set_away(false);
    assert_eq!(show(26), Ok(()));
    bench.idp.set_keys(vec![]);
    assert_eq!(show(26), Ok(()));
    assert!(matches!(show(27), Err(TokenFault::Token(_))));
}

#[test]
fn a_provider_that_is_another_or_could_be_overheard_is_not_believed() {
    for (key, value) in [
        ("issuer", json!("https://other.example")),
        ("jwks_uri", json!("http://keys.example/jwks")),
        ("token_endpoint", json!("http://idp.example/token")),
        ("issuer", Value::Null),
    ] {
        let bench = Bench::new();
        bench.idp.set_discovery(key, value);
        assert_eq!(bench.with(&json!({})), Err(TokenFault::Away), "{key}");
    }
}

#[test]
fn names_and_groups_are_found_where_the_config_says() {
    let bench = Bench::new();
    let mut claims = claims(&bench.idp);
    claims["preferred_username"] = json!("ana");
    claims["realm_access"] = json!({"roles": ["a", 7, "", "b"]});
    claims["https://lab.example/group"] = json!("one");
    let token = bench.rsa.sign(&header("RS256", "r"), &claims);
    let said = |more: &str| provider(&bench.idp, more).access_token(&token, at(NOW)).unwrap();
    let roles = said("user_claim = \"preferred_username\"\ngroups_claim = \"realm_access.roles\"\n");
    assert_eq!((roles.who.to_string().as_str(), &*roles.groups), ("oidc:ana", ["a".into(), "b".into()].as_slice()));
    assert_eq!(*said("groups_claim = \"https://lab.example/group\"\n").groups, ["one".into()]);
    assert!(said("groups_claim = \"realm_access.roles.x\"\n").groups.is_empty());
}

proptest! {
    /// Whatever comes is no token, and costs no fetch but the first.
    #[test]
    fn arbitrary_texts_are_no_tokens(header in "\\PC{0,80}", claims in "\\PC{0,80}", rest in "\\PC{0,20}", shape in 0..3) {
        static BENCH: LazyLock<Bench> = LazyLock::new(Bench::new);
        let text = match shape {
            0 => format!("{header}.{claims}.{rest}"),
            1 => format!("{}.{}.{rest}", base64(&header), base64(&claims)),
            _ => format!("{}.{}.{}", base64(json!({"alg": "RS256", "kid": "r", "x": header}).to_string()), base64(&claims), base64(&rest)),
        };
        prop_assert!(matches!(BENCH.show(&text), Err(TokenFault::Token(_))));
        prop_assert!(BENCH.idp.fetches() <= 1);
    }
}

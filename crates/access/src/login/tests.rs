//! Tests of logins by an OpenID provider: the whole way, and each thing on it that somebody could change.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};

use super::*;
use crate::idp::{Idp, Pair};

const NOW: i64 = 1_800_000_000;
const CALLBACK: &str = "https://archiver.lab.example/login/callback";

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(NOW + seconds, 0)
}

/// A provider that gives for each code, once, an ID token with the nonce of the login, if the verifier is the one whose hash it has.
struct Bench {
    idp: Idp,
    pair: Arc<Pair>,
    provider: Provider,
    logins: Logins,
    /// What is changed of the ID token.
    changes: Arc<Mutex<Value>>,
    /// Code → (nonce, hash of the verifier)
    codes: Arc<Mutex<HashMap<String, (String, String)>>>,
}

/// A login that has begun.
struct Under {
    cookie: String,
    parameters: HashMap<String, String>,
}

impl Bench {
    fn new() -> Bench {
        Bench::with("")
    }

    fn with(more: &str) -> Bench {
        let (idp, pair) = (Idp::start(), Arc::new(Pair::p256()));
        idp.set_keys(vec![pair.shown("k", "sig")]);
        let text = format!("issuer = {:?}\nclient = \"pvark page\"\naudience = [\"pvark\"]\n{more}", idp.url);
        let provider = Provider::new(toml::from_str(&text).unwrap()).unwrap();
        let (changes, codes) = (Arc::new(Mutex::new(json!({}))), Arc::<Mutex<HashMap<_, _>>>::default());
        let bench = Bench { idp, pair, provider, logins: Logins::default(), changes, codes };
        bench.give_tokens();
        bench
    }

    fn give_tokens(&self) {
        let (pair, changes, codes) = (Arc::clone(&self.pair), Arc::clone(&self.changes), Arc::clone(&self.codes));
        let url = self.idp.url.clone();
        self.idp.on_token(move |form: &HashMap<String, String>| {
            let Some((nonce, challenge)) = codes.lock().unwrap().remove(&form["code"]) else {
                return (400, json!({"error": "invalid_grant"}));
            };
            let hash = BASE64_URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, form["code_verifier"].as_bytes()));
            let fits = form["redirect_uri"] == CALLBACK && form["client_id"] == "pvark page" && hash == challenge;
            if !fits || form["grant_type"] != "authorization_code" {
                return (400, json!({"error": "invalid_grant"}));
            }
            let mut claims = json!({
                "iss": url, "aud": "pvark page", "sub": "operator1", "exp": NOW + 1000, "iat": NOW, "nonce": nonce,
                "groups": ["operators"], "sid": "s1",
            });
            for (name, value) in changes.lock().unwrap().as_object().unwrap() {
                claims[name] = value.clone();
            }
            (200, json!({"id_token": pair.sign(&json!({"alg": "ES256", "kid": "k"}), &claims), "access_token": "x"}))
        });
    }

    fn begin(&self, return_to: &str) -> Under {
        let redirect = self.logins.begin(&self.provider, CALLBACK, return_to, Transport::Tls, at(0)).unwrap();
        let (endpoint, query) = redirect.location.split_once('?').unwrap();
        assert_eq!(endpoint, format!("{}/authorize", self.idp.url));
        let plain = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8().unwrap().into_owned();
        let pairs = query.split('&').map(|pair| pair.split_once('=').unwrap());
        let parameters: HashMap<String, String> = pairs.map(|(name, value)| (name.to_owned(), plain(value))).collect();
        let cookie = redirect.set_cookie.strip_prefix("__Host-pvark-login=").unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        Under { cookie, parameters }
    }

    /// The user has proved who it is: the provider has a code for it.
    fn code(&self, under: &Under) -> String {
        let code = random::letters(10);
        let of = (under.parameters["nonce"].clone(), under.parameters["code_challenge"].clone());
        self.codes.lock().unwrap().insert(code.clone(), of);
        code
    }

    fn finish(&self, cookie: &str, state: &str, code: &str, seconds: i64) -> Result<LoginDone, Failed> {
        let brought = Callback { code: Some(code), state: Some(state), issuer: Some(&self.idp.url), error: None };
        self.logins.finish(&self.provider, CALLBACK, cookie, brought, at(seconds))
    }

    /// A login of which nothing is changed but the claims of the ID token.
    fn logged_in(&self, changes: Value) -> Result<LoginDone, Failed> {
        *self.changes.lock().unwrap() = changes;
        let under = self.begin("/");
        self.finish(&under.cookie, &under.parameters["state"], &self.code(&under), 1)
    }
}

fn reason(failed: Result<LoginDone, Failed>) -> String {
    match failed {
        Err(Failed::Wrong(message)) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn whoever_logs_in_comes_back_to_where_they_were() {
    let bench = Bench::new();
    let under = bench.begin("/pv/SR1?t=1h#x");
    assert_eq!(under.parameters["response_type"], "code");
    assert_eq!(under.parameters["redirect_uri"], CALLBACK);
    assert_eq!(under.parameters["client_id"], "pvark page");
    assert_eq!(under.parameters["scope"], "openid profile");
    assert_eq!(under.parameters["code_challenge_method"], "S256");
    let done = bench.finish(&under.cookie, &under.parameters["state"], &bench.code(&under), 599).unwrap();
    assert_eq!((done.logged.who.to_string().as_str(), done.return_to.as_str()), ("oidc:operator1", "/pv/SR1?t=1h#x"));
    assert_eq!(*done.logged.groups, ["operators".into()]);
}

#[test]
fn what_somebody_changes_on_the_way_is_noticed() {
    let bench = Bench::new();
    let (under, other) = (bench.begin("/"), bench.begin("/"));
    let (state, code) = (&under.parameters["state"], bench.code(&under));
    let anew = "no login is under way; begin anew";
    let of_another = "the answer of the provider belongs to another login; begin anew";
    assert_eq!(reason(bench.finish(&under.cookie, &other.parameters["state"], &code, 1)), of_another);
    assert_eq!(reason(bench.finish(&other.cookie, state, &code, 1)), of_another);
    assert_eq!(reason(bench.finish("", state, &code, 1)), anew);
    assert_eq!(
        reason(bench.finish(&under.cookie.replacen(&**state, &"0".repeat(43), 1), &"0".repeat(43), &code, 1)),
        anew
    );
    assert_eq!(reason(bench.finish(&under.cookie, state, &code, 600)), anew, "ten minutes later");
    let of_this = Bench::new();
    assert_eq!(reason(of_this.finish(&under.cookie, state, &code, 1)), anew, "another process");

    let brought = |issuer, error| {
        let brought = Callback { code: Some(&code), state: Some(state), issuer, error };
        reason(bench.logins.finish(&bench.provider, CALLBACK, &under.cookie, brought, at(1)))
    };
    assert_eq!(brought(Some("https://evil.example"), None), "the answer comes from another provider");
    assert_eq!(brought(None, None), "the answer does not say from which provider it comes");
    let url = bench.idp.url.as_str();
    assert_eq!(brought(Some(url), Some("access_denied<b>")), "the provider lets nobody in: access_deniedb");
    // A code that another login got, of an attacker say, does not fit the verifier of this one.
    let wrong_code = "the provider takes the code for wrong (400); begin anew";
    assert_eq!(reason(bench.finish(&under.cookie, state, &bench.code(&other), 1)), wrong_code);
    bench.finish(&under.cookie, state, &code, 1).unwrap();
    assert_eq!(reason(bench.finish(&under.cookie, state, &code, 1)), wrong_code, "a second time");
}

#[test]
fn an_id_token_that_is_not_of_this_login_is_refused() {
    let bench = Bench::new();
    let another_client = "the provider's token is for another client";
    for (changes, message) in [
        (json!({"nonce": "another"}), "the provider's token belongs to another login; begin anew"),
        (json!({"nonce": null}), "the provider's token belongs to another login; begin anew"),
        (json!({"aud": "pvark"}), "the token is for somebody else"),
        (json!({"aud": ["pvark page", "other"]}), another_client),
        (json!({"azp": "other"}), another_client),
        (json!({"iss": "https://evil.example"}), "the token is of another issuer"),
        (json!({"exp": NOW - 60}), "the token has expired"),
        (json!({"sub": null}), "the provider does not say who has logged in"),
    ] {
        assert_eq!(reason(bench.logged_in(changes.clone())), message, "{changes}");
    }
    bench.logged_in(json!({"aud": ["pvark page", "other"], "azp": "pvark page"})).unwrap();
}

#[test]
fn a_path_to_come_back_to_is_one_of_ours() {
    for ours in ["/", "/pv/SR1?x=1#y", "/a//b", "/%2F%2Fevil.example"] {
        assert_eq!(own_path(ours), ours);
    }
    let long = format!("/{}", "x".repeat(RETURN_BYTES_MAX));
    for evil in [
        "",
        "//evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "https://evil.example",
        "evil.example",
        " //evil.example",
        "/\t/evil.example",
        "/x\\y",
        "/x\r\nSet-Cookie: a=b",
        "javascript:alert(1)",
        "/ü",
        &long,
    ] {
        assert_eq!(own_path(evil), "/", "{evil:?}");
    }
}

#[test]
fn what_the_id_token_leaves_out_the_provider_says_besides_of_the_same_user() {
    let bench = Bench::with("user_claim = \"preferred_username\"\n");
    bench.idp.set_userinfo(json!({"sub": "operator1", "preferred_username": "ana", "groups": ["root"]}));
    let done = bench.logged_in(json!({})).unwrap();
    assert_eq!(done.logged.who.to_string(), "oidc:ana");
    assert_eq!(*done.logged.groups, ["operators".into()], "what is signed goes first");
    bench.idp.set_userinfo(json!({"sub": "another", "preferred_username": "root"}));
    assert_eq!(reason(bench.logged_in(json!({}))), "the provider does not say who has logged in");
}

#[test]
fn a_provider_that_is_away_is_told_from_a_login_that_is_wrong() {
    let bench = Bench::new();
    let under = bench.begin("/");
    let code = bench.code(&under);
    bench.idp.set_away(true);
    assert_eq!(bench.finish(&under.cookie, &under.parameters["state"], &code, 1).unwrap_err(), Failed::Away);
    bench.idp.set_away(false);
    bench.finish(&under.cookie, &under.parameters["state"], &code, 1).unwrap();
}

#[test]
fn a_logout_token_says_whose_sessions_end_and_nothing_else_is_one() {
    let bench = Bench::new();
    let event = "http://schemas.openid.net/event/backchannel-logout";
    let token = |changes: Value| {
        let mut claims = json!({
            "iss": bench.idp.url, "aud": "pvark page", "iat": NOW, "exp": NOW + 120, "jti": "j", "sid": "s1", "sub": "operator1",
            "events": {event: {}},
        });
        for (name, value) in changes.as_object().unwrap() {
            claims[name] = value.clone();
            if value.is_null() {
                claims.as_object_mut().unwrap().remove(name);
            }
        }
        let header = json!({"alg": "ES256", "kid": "k", "typ": "logout+jwt"});
        bench.provider.logout_token(&bench.pair.sign(&header, &claims), at(1))
    };
    let said = LoggedOut { subject: Some("operator1".into()), provider: Some("s1".into()) };
    assert_eq!(token(json!({})), Ok(said));
    assert_eq!(token(json!({"sub": null})), Ok(LoggedOut { subject: None, provider: Some("s1".into()) }));
    for changes in [
        json!({"events": null}),
        json!({"events": {"other": {}}}),
        json!({"nonce": "n"}),
        json!({"aud": "pvark"}),
        json!({"sub": null, "sid": null}),
        json!({"exp": NOW - 100}),
    ] {
        assert!(matches!(token(changes.clone()), Err(TokenFault::Token(_))), "{changes}");
    }
}

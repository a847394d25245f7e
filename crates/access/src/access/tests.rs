//! Tests of access as a whole: who gets in, with which rights, and what happens when they go.

use std::time::Duration;

use Right::{Administer, Operate, Read};
use archive::By;
use serde_json::json;

use super::*;
use crate::{
    explain::Question,
    identity::Denied,
    idp::{Idp, Pair},
    presented::Certificate,
    sessions::Transport,
    tokens::{TokenError, TokenWish},
};

const CONFIG: &str = r#"
anonymous = "none"
limits = { requests_per_second = 10, burst = 5, long_answers = 1 }
[[grant]]
to = ["group:operators", "user:ana", "token:ingest", "certificate:tools"]
right = "operate"
pvs = ["SR*", "~LAB:[A-Z]+"]
[[grant]]
to = "local:7"
right = "administer"
[[grant]]
to = "anonymous"
right = "read"
pvs = "PUBLIC:*"
[proxy]
from = ["127.0.0.1/32"]
user = "X-Forwarded-User"
groups = "X-Forwarded-Groups"
"#;

fn access() -> Access {
    Access::new(toml::from_str(CONFIG).unwrap(), Box::new(InMemory::default())).unwrap()
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(seconds, 0)
}

/// A request from another machine over TLS.
fn request<'a>(headers: &'a [(&'a str, &'a [u8])]) -> Presented<'a> {
    let from = From::Network("10.0.0.7".parse().unwrap());
    Presented { from, transport: Transport::Tls, ceiling: Administer, headers, certificate: None }
}

fn local(uid: u32) -> Presented<'static> {
    Presented { from: From::Local { uid }, ..request(&[]) }
}

fn by_proxy(access: &Access, user: &str, groups: &str) -> Identity {
    let headers = [("x-forwarded-user", user.as_bytes()), ("x-forwarded-groups", groups.as_bytes())];
    let from = From::Network("127.0.0.1".parse().unwrap());
    access.identify(&Presented { from, ..request(&headers) }, at(0)).unwrap()
}

fn bearer(access: &Access, token: &str, now: i64) -> Result<Identity, Refused> {
    access.identify(&request(&[("authorization", format!("Bearer {token}").as_bytes())]), at(now))
}

fn wish(name: &str, right: Right, pvs: &[&str], expires: i64) -> TokenWish {
    let pvs = pvs.iter().map(|&text| text.to_owned()).collect();
    TokenWish { name: name.to_owned(), right, pvs, expires: at(expires) }
}

fn root(access: &Access) -> Identity {
    access.identify(&local(0), at(0)).unwrap()
}

/// What the audit keeps of somebody who gives an order.
fn by(identity: &Identity, seconds: i64) -> By {
    By::new(identity.principal(), at(seconds))
}

#[test]
fn each_way_in_has_its_name_and_the_rights_of_its_grants() {
    let access = access();
    let anonymous = access.identify(&request(&[]), at(0)).unwrap();
    assert_eq!(anonymous.principal().to_string(), "10.0.0.7");
    assert_eq!((anonymous.who.to_string().as_str(), anonymous.rights.most()), ("anonymous", Some(Read)));
    assert!(anonymous.rights.sees("PUBLIC:X") && !anonymous.rights.sees("SR1"));

    let ana = by_proxy(&access, "ana", "");
    assert_eq!(ana.principal().to_string(), "proxy:ana");
    assert!(ana.rights.may(Operate, "SR1") && !ana.rights.sees("X") && ana.rights.sees("PUBLIC:X"));
    let member = by_proxy(&access, "bob", "staff,operators");
    assert!(member.rights.may(Operate, "LAB:A") && !member.rights.may(Operate, "LAB:1"));
    assert_eq!(by_proxy(&access, "operators", "staff").rights.most(), Some(Read));

    let root = root(&access);
    assert_eq!((root.principal().to_string().as_str(), root.rights.may_all(Administer)), ("local:0", true));
    let tools = Certificate { name: "tools".into(), not_before: at(0), not_after: at(10) };
    let with_certificate = |now| access.identify(&Presented { certificate: Some(&tools), ..request(&[]) }, at(now));
    let identity = with_certificate(1).unwrap();
    assert_eq!(identity.principal().established(), "certificate:tools");
    assert!(identity.rights.may(Operate, "SR1"));
    assert_eq!(with_certificate(10).unwrap_err().reason, Reason::Certificate);
    assert_eq!(with_certificate(-1).unwrap_err().status(), 401);
    assert!(access.again(&identity, at(9)).is_ok());
    assert_eq!(access.again(&identity, at(10)).unwrap_err().reason, Reason::Certificate);
}

#[test]
fn a_token_gets_in_until_it_expires_or_is_revoked() {
    let access = access();
    let made = access.add_token(&root(&access), wish("meter", Read, &["X*"], 100), by(&root(&access), 1)).unwrap();
    let identity = bearer(&access, made.reveal(), 2).unwrap();
    assert_eq!(identity.principal().to_string(), "token:meter");
    assert!(identity.rights.sees("X1") && !identity.rights.may(Operate, "X1") && !identity.rights.sees("SR1"));
    let key = access.identify(&request(&[("x-api-key", made.reveal().as_bytes())]), at(2)).unwrap();
    assert_eq!(key.who, identity.who);
    assert!(access.again(&identity, at(99)).is_ok());
    for now in [100, 101] {
        let refused = bearer(&access, made.reveal(), now).unwrap_err();
        assert_eq!((refused.status(), refused.reason), (401, Reason::TokenExpired));
    }
    assert_eq!(access.again(&identity, at(100)).unwrap_err().reason, Reason::TokenExpired);

    let before = access.changes();
    assert!(access.revoke_token(&made.row.id, &by(&root(&access), 3)).unwrap());
    assert!(!access.revoke_token(&made.row.id, &by(&root(&access), 3)).unwrap());
    assert_ne!(access.changes(), before);
    assert_eq!(access.again(&identity, at(3)).unwrap_err().reason, Reason::Token);
    let refused = bearer(&access, made.reveal(), 3).unwrap_err();
    let Kind::Unproved { challenge } = &refused.kind else { panic!("{refused:?}") };
    assert_eq!(challenge, "Bearer realm=\"pvark\", error=\"invalid_token\"");
}

#[test]
fn what_is_shown_and_wrong_is_never_anonymous() {
    let access = access();
    let made = access.add_token(&root(&access), wish("meter", Read, &["X*"], 100), by(&root(&access), 1)).unwrap();
    let token = made.reveal();
    let last = if token.ends_with('a') { "b" } else { "a" };
    let other_secret = format!("{}{last}", &token[..token.len() - 1]);
    let other_id = token.replacen(&*made.row.id, "00000000", 1);
    for wrong in
        [&other_secret, &other_id, "pvk_", "pvk__", "x", &token[..20], &format!("{token}a"), &token.to_uppercase()]
    {
        let refused = bearer(&access, wrong, 2).map(|identity| identity.who).unwrap_err();
        assert!(matches!(refused.status(), 401 | 429), "{wrong} {refused:?}");
        assert!(!refused.message.contains(wrong) || wrong.len() < 5, "{refused}");
    }
    let cookie = format!("__Host-pvark={}", "0".repeat(43));
    let refused = access.identify(&request(&[("cookie", cookie.as_bytes())]), at(100)).unwrap_err();
    assert_eq!((refused.status(), refused.reason), (401, Reason::Session));
}

#[test]
fn wrong_credentials_are_counted_by_their_address() {
    let access = access();
    let refused: Vec<u16> = (0..7).map(|_| bearer(&access, "x", 0).unwrap_err().status()).collect();
    assert_eq!(refused, [401, 401, 401, 401, 401, 429, 429]);
    let made = access.add_token(&root(&access), wish("meter", Read, &["X*"], 100), by(&root(&access), 0)).unwrap();
    bearer(&access, made.reveal(), 0).unwrap();
}

#[test]
fn nobody_gives_more_than_they_have_nor_for_longer() {
    let access = access();
    let ana = by_proxy(&access, "ana", "");
    access.add_token(&ana, wish("sr", Operate, &["SR1*"], 100), by(&ana, 1)).unwrap();
    access.add_token(&ana, wish("ingest", Read, &["SR1"], 100), by(&ana, 1)).unwrap();
    let refused = |maker: &Identity, wish| match access.add_token(maker, wish, by(maker, 1)) {
        Err(TokenError::Refused(refused)) => refused.status(),
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(&ana, wish("all", Operate, &["*"], 100)), 403);
    assert_eq!(refused(&ana, wish("more", Administer, &["SR1"], 100)), 403);
    // By its name alone this one would operate SR*, which this reader does not.
    let reader = access.add_token(&root(&access), wish("reader", Read, &["*"], 50), by(&root(&access), 1)).unwrap();
    let reader = bearer(&access, reader.reveal(), 2).unwrap();
    assert_eq!(refused(&reader, wish("ingest", Read, &["X"], 40)), 403);
    assert_eq!(refused(&reader, wish("longer", Read, &["X"], 51)), 403);
    access.add_token(&reader, wish("shorter", Read, &["X"], 50), by(&reader, 1)).unwrap();
    for senseless in
        [wish("", Read, &["X"], 9), wish("a b", Read, &["X"], 9), wish("a", Read, &[], 9), wish("a", Read, &["X"], 1)]
    {
        assert_eq!(refused(&root(&access), senseless), 400);
    }
}

#[test]
fn the_day_of_the_last_use_is_kept_once_a_day_and_nothing_secret_is() {
    let access = access();
    let made =
        access.add_token(&root(&access), wish("meter", Read, &["X*"], 10_000_000), by(&root(&access), 1)).unwrap();
    assert_eq!(access.tokens()[0].used, None);
    bearer(&access, made.reveal(), 86_400 * 3 + 5).unwrap();
    access.tend().unwrap();
    assert_eq!(access.tokens()[0].used, Some(at(86_400 * 3)));
    let debug = format!("{access:?} {made:?} {:?}", access.tokens());
    assert!(!debug.contains(made.reveal()) && debug.contains("meter"));
}

#[test]
fn refusals_say_which_right_is_missing_and_hidden_pvs_do_not_exist() {
    let access = access();
    let ana = by_proxy(&access, "ana", "");
    assert_eq!(ana.need(Operate), Ok(()));
    let missing = ana.need(Administer).unwrap_err();
    assert_eq!((missing.status(), &missing.kind), (403, &Kind::Forbidden { right: Administer }));
    assert!(missing.message.contains("administer") && missing.message.contains("proxy:ana"), "{missing}");
    assert_eq!(ana.need_for(Operate, &["SR1"]), Ok(()));
    assert_eq!(ana.need_for(Operate, &["SR1", "ALIAS"]), Err(Denied::Hidden));
    assert_eq!(ana.need_for(Read, &["SECRET"]), Err(Denied::Hidden));
    let Err(Denied::Refused(refused)) = ana.need_for(Operate, &["PUBLIC:X"]) else { panic!("it is seen") };
    assert_eq!(refused.status(), 403);
    assert_eq!(ana.need_all(Read).unwrap_err().status(), 403);
    let anonymous = access.identify(&request(&[]), at(0)).unwrap();
    assert_eq!(anonymous.need(Operate).unwrap_err().status(), 401);
    // Where nobody may do it, showing who one is does not help.
    let office = access.identify(&Presented { ceiling: Read, ..request(&[]) }, at(0)).unwrap();
    let refused = office.need(Operate).unwrap_err();
    assert_eq!((refused.status(), refused.reason), (403, Reason::Listener));
}

#[test]
fn without_access_in_the_config_nothing_is_looked_at_and_all_is_allowed() {
    let access = Access::open();
    let headers: [(&str, &[u8]); 3] =
        [("authorization", b"Bearer x"), ("x-forwarded-user", b"root"), ("cookie", b"__Host-pvark=x")];
    let identity = access.identify(&request(&headers), at(0)).unwrap();
    assert_eq!(identity.principal().to_string(), "10.0.0.7");
    assert!(identity.rights.may_all(Administer));
    (0..1000).for_each(|_| access.admit(&identity, at(0)).unwrap());
    let read_only = access.identify(&Presented { ceiling: Read, ..request(&headers) }, at(0)).unwrap();
    assert_eq!(read_only.need(Operate).unwrap_err().status(), 403);
}

#[test]
fn limits_hold_each_principal_and_no_administrator_of_the_machine() {
    let access = access();
    let (ana, bob) = (by_proxy(&access, "ana", ""), by_proxy(&access, "bob", ""));
    let taken = (0..10).filter(|_| access.admit(&ana, at(0)).is_ok()).count();
    assert_eq!(taken, 5);
    access.admit(&bob, at(0)).unwrap();
    let long = access.long_answer(&ana).unwrap();
    assert_eq!(access.long_answer(&ana).unwrap_err().status(), 429);
    access.long_answer(&bob).unwrap();
    drop(long);
    access.long_answer(&ana).unwrap();
    (0..100).for_each(|_| access.admit(&root(&access), at(0)).unwrap());
}

#[test]
fn who_logs_in_is_known_by_a_cookie_until_they_log_out() {
    let access = access();
    let ana = Who::parse("ldap:ana").unwrap();
    let log_in = || {
        let groups = Arc::new(["operators".into()]);
        let logged = LoginSession { who: ana.clone(), groups, subject: None, provider: None };
        access.log_in(logged, Transport::Tls, at(0))
    };
    let cookie = log_in();
    let cookie = cookie.split(';').next().unwrap();
    let shown = [("cookie", cookie.as_bytes())];
    let identity = access.identify(&request(&shown), at(1)).unwrap();
    assert_eq!((&identity.who, identity.rights.may(Operate, "LAB:A")), (&ana, true));
    let gone = access.log_out(&request(&shown));
    assert_eq!(gone, "__Host-pvark=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0");
    assert_eq!(access.again(&identity, at(1)).unwrap_err().reason, Reason::Session);
    assert_eq!(access.identify(&request(&shown), at(100)).unwrap_err().reason, Reason::Session);
    let changes = access.changes();
    assert_eq!(access.log_out(&request(&shown)), gone, "its cookie goes all the same");
    assert_eq!(access.changes(), changes, "and nobody is looked at anew for it");
    log_in();
    assert_eq!(access.end_sessions(&ana), 1);
}

#[test]
fn a_token_does_for_a_password_and_another_one_must_not_be_overheard() {
    let access = access();
    let made = access.add_token(&root(&access), wish("meter", Read, &["X*"], 100), by(&root(&access), 1)).unwrap();
    let ask = |transport, password: &str| {
        access.identify_password(&Presented { transport, ..request(&[]) }, "anybody", password, at(2))
    };
    assert_eq!(ask(Transport::Plain, made.reveal()).unwrap().who.to_string(), "token:meter");
    assert_eq!(ask(Transport::Plain, "secret").unwrap_err().reason, Reason::Plain);
    assert_eq!(ask(Transport::Tls, "secret").unwrap_err().reason, Reason::Password);
}

/// Access that believes a provider, and one of its tokens, which holds until a time.
fn with_provider(until: i64) -> (Idp, Access, String) {
    let (idp, pair) = (Idp::start(), Pair::p256());
    idp.set_keys(vec![pair.shown("k", "sig")]);
    let oidc = format!("[oidc]\nissuer = {:?}\nclient = \"page\"\naudience = \"pvark\"\n", idp.url);
    let access =
        Access::new(toml::from_str(&(CONFIG.to_owned() + &oidc)).unwrap(), Box::new(InMemory::default())).unwrap();
    let claims = json!({"iss": idp.url, "aud": "pvark", "sub": "ana", "exp": until, "groups": ["staff"]});
    let token = pair.sign(&json!({"alg": "ES256", "kid": "k"}), &claims);
    (idp, access, token)
}

#[test]
fn a_token_of_the_provider_gets_in_while_it_holds_also_when_the_provider_is_away() {
    let (idp, access, token) = with_provider(1000);
    let authorization = format!("Bearer {token}");
    let headers = [("authorization", authorization.as_bytes())];
    assert!(access.may_block(&request(&headers)), "its keys are to be fetched");
    let identity = bearer(&access, &token, 0).unwrap();
    assert_eq!(identity.principal().to_string(), "oidc:ana");
    assert!(identity.rights.may(Operate, "SR1"), "user:ana");
    assert!(!access.may_block(&request(&headers)), "it is known by now");
    idp.set_away(true);
    bearer(&access, &token, 1059).unwrap();
    access.again(&identity, at(1059)).unwrap();
    let refused = bearer(&access, &token, 1060).unwrap_err();
    assert_eq!((refused.status(), refused.reason), (401, Reason::Jwt));
    assert_eq!(access.again(&identity, at(1060)).unwrap_err().reason, Reason::Jwt);
    let Kind::Unproved { challenge } = &refused.kind else { panic!("{refused:?}") };
    assert_eq!(challenge, "Bearer realm=\"pvark\", error=\"invalid_token\"");

    let (idp, access, token) = with_provider(1000);
    idp.set_away(true);
    let refused = bearer(&access, &token, 0).unwrap_err();
    assert_eq!((refused.status(), refused.reason, refused.retry_after_seconds()), (503, Reason::Away, Some(10)));
    let made = access.add_token(&root(&access), wish("meter", Read, &["X*"], 100), by(&root(&access), 1)).unwrap();
    bearer(&access, made.reveal(), 2).unwrap();
}

#[test]
fn another_config_forgets_what_a_provider_said_that_is_trusted_no_more() {
    let (_idp, access, token) = with_provider(1000);
    bearer(&access, &token, 0).unwrap();
    access.reload(toml::from_str(CONFIG).unwrap()).unwrap();
    assert_eq!(bearer(&access, &token, 1).unwrap_err().reason, Reason::Token);
    let missing = "[oidc]\nissuer = \"https://i\"\nclient = \"c\"\naudience = \"a\"\nca = \"/nowhere/ca.pem\"\n";
    let error = access.reload(toml::from_str(missing).unwrap()).unwrap_err().to_string();
    assert!(error.contains("[access.oidc] ca = \"/nowhere/ca.pem\""), "{error}");
    assert!(access.config().oidc.is_none(), "nothing of it was taken");
}

#[test]
fn the_provider_ends_the_sessions_that_it_means() {
    let (idp, pair) = (Idp::start(), Pair::p256());
    idp.set_keys(vec![pair.shown("k", "sig")]);
    let oidc = format!("[oidc]\nissuer = {:?}\nclient = \"page\"\naudience = \"pvark\"\n", idp.url);
    let access = Access::new(toml::from_str(&oidc).unwrap(), Box::new(InMemory::default())).unwrap();
    let log_in = |how, subject: &str, sid: &str| {
        let who = Who::new(how, subject).unwrap();
        let logged =
            LoginSession { who, groups: Arc::default(), subject: Some(subject.into()), provider: Some(sid.into()) };
        access.log_in(logged, Transport::Tls, at(0))
    };
    let cookies = [
        log_in(How::Oidc, "ana", "1"),
        log_in(How::Oidc, "ana", "2"),
        log_in(How::Oidc, "bob", "3"),
        log_in(How::Ldap, "ana", "1"),
    ];
    let there = || {
        let is_there = |cookie: &String| {
            access.identify(&request(&[("cookie", cookie.split(';').next().unwrap().as_bytes())]), at(1)).is_ok()
        };
        cookies.iter().map(is_there).collect::<Vec<_>>()
    };
    let log_out = |who: serde_json::Value| {
        let event = json!({"http://schemas.openid.net/event/backchannel-logout": {}});
        let mut claims = json!({"iss": idp.url, "aud": "page", "iat": 0, "exp": 100, "events": event});
        claims.as_object_mut().unwrap().extend(who.as_object().unwrap().clone());
        access.log_out_by_provider(&request(&[]), &pair.sign(&json!({"alg": "ES256", "kid": "k"}), &claims), at(1))
    };
    assert_eq!(log_out(json!({"sub": "ana", "sid": "3"})), Ok(0));
    assert_eq!(log_out(json!({"sid": "2"})), Ok(1));
    assert_eq!(there(), [true, false, true, true]);
    assert_eq!(log_out(json!({"sub": "ana"})), Ok(1));
    assert_eq!(there(), [false, false, true, true]);
    assert_eq!(log_out(json!({})).unwrap_err().status(), 400);
}

#[test]
fn another_config_holds_for_who_is_there_already() {
    let access = access();
    let ana = by_proxy(&access, "ana", "");
    let before = access.changes();
    access.reload(toml::from_str("anonymous = \"read\"\n").unwrap()).unwrap();
    assert_ne!(access.changes(), before);
    let again = access.again(&ana, at(1)).unwrap();
    assert!(again.rights.sees_all() && !again.rights.may(Operate, "SR1"));
    let soon = Duration::from_secs(1);
    assert!(access.again(&root(&access), at(1).saturating_add(soon)).unwrap().rights.may_all(Administer));
}

#[test]
fn an_explanation_names_the_line_that_decides() {
    let access = access();
    let ask = |who: &str, groups: &[&str], right, pv| {
        let groups = groups.iter().map(|&group| group.into()).collect();
        access.explain(&Question {
            who: Who::parse(who).unwrap(),
            groups,
            right,
            pv,
            ceiling: Administer,
            tells_others: true,
        })
    };
    let yes = ask("oidc:bob", &["operators"], Operate, Some("SR1"));
    assert!(yes.is_allowed);
    assert_eq!(
        yes.text,
        "oidc:bob (in operators) may operate SR1\n\
        \x20 anonymous = \"none\": not enough\n\
        \x20 [[access.grant]] number 1 (to = [\"group:operators\", \"user:ana\", \"token:ingest\", \"certificate:tools\"], \
         right = \"operate\", pvs = [\"SR*\", \"~LAB:[A-Z]+\"]): this decides\n\
        \x20 [[access.grant]] number 2 (to = [\"local:7\"], right = \"administer\", pvs = [\"*\"]): \
         would allow it, and is not for oidc:bob\n\
        \x20 [[access.grant]] number 3 (to = [\"anonymous\"], right = \"read\", pvs = [\"PUBLIC:*\"]): \
         gives read and not operate\n"
    );
    let no = ask("oidc:bob", &["operators"], Operate, Some("X"));
    assert!(!no.is_allowed && no.text.contains("may not operate X") && no.text.contains("number 1"), "{}", no.text);
    assert!(no.text.contains("is not for X"), "{}", no.text);
    assert!(ask("oidc:bob", &["operators"], Administer, Some("SR1")).text.contains("gives operate and not administer"));
    assert!(!ask("oidc:ana", &[], Operate, None).is_allowed);
    let capped = Question {
        who: Who::parse("oidc:ana").unwrap(),
        groups: Vec::new(),
        right: Operate,
        pv: Some("SR1"),
        ceiling: Read,
        tells_others: false,
    };
    assert!(access.explain(&capped).text.contains("the listener allows read"));
}

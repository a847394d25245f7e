//! Every URL for everybody: who has shown nothing, something wrong, or something that is not enough is refused, and nothing happens
//! then; who may is not refused; and a PV that is not seen is answered as one that never was.
//!
//! `matrix/needed.txt` says by hand what each URL needs. A URL that does not stand there fails the test.

use std::{collections::BTreeSet, net::SocketAddr, thread::sleep, time::Duration};

use access::{Access, Identity, TokenWish};
use archive::{By, Principal, Right};
use serde_json::Value;
use serve::{At, HostName, Listener};
use served::{Answer, Archive, Connection, PVS, fill};

mod served;

const NEEDED: &str = include_str!("matrix/needed.txt");

/// What the archive's `[access]` says.
const NOBODY: &str = "anonymous = \"none\"\n";

/// A URL with what it needs.
#[derive(Clone, Debug)]
struct Row {
    method: &'static str,
    path: &'static str,
    right: Option<Right>,
}

fn rows() -> Vec<Row> {
    let row = |line: &'static str| {
        let [method, path, right] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line:?} is no row") };
        let right = (right != "none").then(|| Right::from_name(right).unwrap());
        Row { method, path, right }
    };
    NEEDED.lines().map(row).collect()
}

impl Row {
    /// The URL for a PV, which stands in the path or behind it.
    fn target(&self, pv: &str) -> String {
        let target = self.path.replace("{pv}", pv).replace("{alias}", "T:ALIAS").replace("{group}", "beam");
        let target = target.replace("{number}", "1").replace("{id}", "abcdefgh").replace("{page}", "index.html");
        let target = target.replace("{call}", if self.method == "POST" { "getDataForPVs" } else { "getData.json" });
        format!("{target}?pv={pv}")
    }
}

/// How somebody comes.
struct Comer {
    name: &'static str,
    headers: Vec<(&'static str, String)>,
    /// What they may do to the PVs of the history; none if nothing, and what they show is wrong if that is so.
    may: Result<Option<Right>, ()>,
}

struct Served {
    archive: Archive,
    /// Where nobody may do more than read.
    reading: SocketAddr,
    comers: Vec<Comer>,
}

fn token(access: &Access, name: &str, right: Right, pvs: &[&str], expires: Duration) -> (String, Box<str>) {
    let wish = TokenWish {
        name: name.to_owned(),
        right,
        pvs: pvs.iter().map(|&pvs| pvs.to_owned()).collect(),
        expires: service::now().saturating_add(expires),
    };
    let by = By::new(Principal::here("the test"), service::now());
    let made = access.add_token(&Identity::of_program(), wish, by).unwrap();
    (made.reveal().to_owned(), made.row.id)
}

fn start(config: &str) -> (Archive, SocketAddr) {
    let reading = Listener {
        rights: Right::Read,
        hosts: HostName::new("archive.test").into_iter().collect(),
        ..Listener::new(At::Address("127.0.0.1:0".parse().unwrap()))
    };
    let config = toml::from_str(config).unwrap();
    let archive = Archive::start_with(
        |store| fill(store, PVS),
        |config| serve::Config { listeners: config.listeners.iter().cloned().chain([reading]).collect(), ..config },
        Vec::new(),
        |tokens| Access::new(config, Box::new(tokens)).unwrap(),
    );
    let reading =
        archive.urls().last().unwrap().strip_prefix("http://").unwrap().trim_end_matches('/').parse().unwrap();
    (archive, reading)
}

fn served() -> Served {
    let (archive, reading) = start(NOBODY);
    let access = &archive.access;
    let day = Duration::from_secs(86_400);
    let (read, _) = token(access, "read", Right::Read, &["*"], day);
    let (operate, _) = token(access, "operate", Right::Operate, &["*"], day);
    let (administer, _) = token(access, "administer", Right::Administer, &["*"], day);
    let (elsewhere, _) = token(access, "elsewhere", Right::Operate, &["OTHER:*"], day);
    let (expired, _) = token(access, "expired", Right::Administer, &["*"], Duration::from_millis(1500));
    let (revoked, id) = token(access, "revoked", Right::Administer, &["*"], day);
    assert!(access.revoke_token(&id, &By::new(Principal::here("the test"), service::now())).unwrap());
    sleep(Duration::from_millis(1600));
    let forged = format!("{}{}", &administer[..administer.len() - 4], "AAAA");
    let bearer = |token: &str| vec![("authorization", format!("Bearer {token}"))];
    let comer = |name, headers, may| Comer { name, headers, may };
    let comers = vec![
        comer("nobody", Vec::new(), Ok(None)),
        comer("read", bearer(&read), Ok(Some(Right::Read))),
        comer("operate", vec![("x-api-key", operate)], Ok(Some(Right::Operate))),
        comer("operate elsewhere", bearer(&elsewhere), Ok(None)),
        comer("administer", bearer(&administer), Ok(Some(Right::Administer))),
        comer("expired", bearer(&expired), Err(())),
        comer("revoked", bearer(&revoked), Err(())),
        comer("forged", bearer(&forged), Err(())),
        comer("garbage", bearer("pvk_garbage"), Err(())),
        comer("a token of another server", bearer("eyJhbGciOiJub25lIn0.eyJhdWQiOiJ4In0."), Err(())),
        comer("a password", vec![("authorization", "Basic YW5hOmFuYQ==".to_owned())], Err(())),
        comer("a session that never was", vec![("cookie", format!("pvark={}", "A".repeat(43)))], Err(())),
    ];
    Served { archive, reading, comers }
}

impl Served {
    fn comer(&self, name: &str) -> &Comer {
        self.comers.iter().find(|comer| comer.name == name).unwrap()
    }

    fn ask(&self, address: SocketAddr, method: &str, target: &str, comer: &Comer) -> Answer {
        let mut headers: Vec<(&str, &str)> =
            comer.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        headers.extend([("x-pvark", "1"), ("content-length", "0")]);
        Connection::to(address).ask(method, target, &headers, b"")
    }

    /// What is there, as an administrator sees it.
    fn state(&self) -> Vec<Value> {
        let administer = self.comer("administer");
        let get = |target: &str| self.ask(self.archive.address, "GET", target, administer).json();
        let mut state: Vec<Value> = [
            "/api/v1/pvs",
            "/api/v1/audit",
            "/api/v1/aliases",
            "/api/v1/removed",
            "/api/v1/deletions",
            "/api/v1/groups",
        ]
        .into_iter()
        .map(get)
        .collect();
        let tokens = get("/api/v1/tokens");
        let tokens = tokens.as_array().unwrap().iter().map(|token| token["id"].clone());
        state.push(tokens.collect());
        state
    }
}

/// What is to be answered to somebody at a listener, if that does not depend on the PV.
fn expected(row: &Row, comer: &Comer, ceiling: Right) -> Option<u16> {
    let is_session = comer.headers.iter().any(|(name, _)| *name == "cookie");
    match (row.right, comer.may) {
        // Whoever has shown something wrong is told so, but that a session is over keeps nobody from logging in.
        (None, Err(())) if is_session => None,
        (_, Err(())) => Some(401),
        (None, _) => None,
        (Some(right), _) if right > ceiling => Some(403),
        (Some(right), Ok(None)) if comer.name == "operate elsewhere" => (right > Right::Operate).then_some(403),
        (Some(_), Ok(None)) => Some(401),
        (Some(right), Ok(Some(may))) => (right > may).then_some(403),
    }
}

#[test]
fn every_url_is_described_here() {
    let description: Value = serde_json::from_str(include_str!("../../../testdata/openapi.json")).unwrap();
    let described: BTreeSet<String> = description["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, operations)| {
            operations.as_object().unwrap().keys().map(move |method| format!("{} {path}", method.to_uppercase()))
        })
        .collect();
    let here: BTreeSet<String> = rows().iter().map(|row| format!("{} {}", row.method, row.path)).collect();
    assert_eq!(described, here, "tests/matrix/needed.txt says by hand what each URL needs");
}

#[test]
fn every_url_refuses_who_may_not_and_nothing_happens_then() {
    let served = served();
    let before = served.state();
    let (mut refused, mut asked) = (0, 0);
    for (address, ceiling) in [(served.archive.address, Right::Administer), (served.reading, Right::Read)] {
        for row in rows().iter().filter(|row| row.path != "/api/v1/live") {
            let methods: &[&str] = if row.method == "GET" { &["GET", "HEAD"] } else { &[row.method] };
            for (method, comer) in
                methods.iter().flat_map(|method| served.comers.iter().map(move |comer| (method, comer)))
            {
                let Some(status) = expected(row, comer, ceiling) else { continue };
                let answer = served.ask(address, method, &row.target("T:DOUBLE"), comer);
                let what = || format!("{method} {} of {}: {}", row.path, comer.name, answer.text());
                assert_eq!(answer.status, status, "{}", what());
                assert_eq!(answer.header("www-authenticate").is_some(), status == 401, "{}", what());
                if *method != "HEAD" {
                    let error = &answer.json()["error"];
                    assert!(error["message"].as_str().is_some_and(|text| !text.is_empty()), "{}", what());
                    for (_, secret) in &comer.headers {
                        let secret = secret.rsplit(['_', ' ', '=']).next().unwrap();
                        assert!(secret.len() < 8 || !answer.text().contains(secret), "{}", what());
                    }
                }
                refused += 1;
            }
            let preflight = served.ask(address, "OPTIONS", &row.target("T:DOUBLE"), &served.comers[0]);
            assert!(matches!(preflight.status, 204 | 405), "{}: {}", row.path, preflight.status);
            asked += 1;
        }
    }
    assert!(refused > 2000 && asked > 200, "{refused} were refused");
    assert_eq!(served.state(), before);
}

#[test]
fn orders_about_pvs_of_others_are_refused_and_nothing_happens_then() {
    let served = served();
    let before = served.state();
    let elsewhere = served.comer("operate elsewhere");
    let mut refused = 0;
    for row in rows().iter().filter(|row| row.right == Some(Right::Operate)) {
        let answer = served.ask(served.archive.address, row.method, &row.target("T:DOUBLE"), elsewhere);
        // Some URLs take an order and have nothing to do, as there is one store.
        let is_refused = matches!(answer.status, 400 | 403 | 404 | 405 | 415 | 422);
        refused += usize::from(is_refused);
        assert!(
            is_refused || answer.status < 300 || answer.status == 409,
            "{} {}: {}",
            row.method,
            row.path,
            answer.status
        );
        assert!(!answer.text().contains("T:LONG"), "{}: {}", row.path, answer.text());
    }
    assert!(refused > 10, "{refused} were refused");
    assert_eq!(served.state(), before);
}

#[test]
fn who_may_is_refused_nothing() {
    for name in ["read", "operate", "administer"] {
        let served = served();
        let comer = served.comer(name);
        let mut done = 0;
        for row in rows().iter().filter(|row| row.path != "/api/v1/live") {
            if expected(row, comer, Right::Administer).is_some() {
                continue;
            }
            let answer = served.ask(served.archive.address, row.method, &row.target("T:DOUBLE"), comer);
            let is_password = row.path == "/api/v1/login/oidc" || row.path == "/api/v1/login/callback";
            assert!(
                !matches!(answer.status, 401 | 403) || is_password,
                "{} {}: {}",
                row.method,
                row.path,
                answer.text()
            );
            done += 1;
        }
        assert!(done > 60, "{done} were asked by {name}");
    }
}

#[test]
fn a_pv_that_is_not_seen_is_answered_as_one_that_never_was_and_stands_nowhere() {
    let (archive, _) = start(NOBODY);
    let hidden = ["T:DOUBLE", "T:ENUM", "T:OTHER"];
    let (few, _) = token(&archive.access, "few", Right::Operate, &["T:LONG", "T:BYTE"], Duration::from_secs(3600));
    let (all, _) = token(&archive.access, "all", Right::Administer, &["*"], Duration::from_secs(3600));
    let ask = |method: &str, target: &str, token: &str| {
        let token = format!("Bearer {token}");
        let headers = [("authorization", token.as_str()), ("x-pvark", "1"), ("content-length", "0")];
        Connection::to(archive.address).ask(method, target, &headers, b"")
    };
    // A PV with another name, a deleted range, and a removed one beside it.
    for (method, target) in [
        ("PUT", "/api/v1/pvs/T:DOUBLE/aliases/T:OTHER"),
        ("DELETE", "/api/v1/pvs/T:DOUBLE/samples?from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:00.1Z"),
        ("DELETE", "/api/v1/pvs/T:ENUM"),
        ("POST", "/api/v1/pvs/T:DOUBLE/pause"),
    ] {
        let answer = ask(method, target, &all);
        assert!(answer.status < 300, "{method} {target}: {}", answer.text());
    }
    let (mut compared, mut looked) = (0, 0);
    for row in rows().iter().filter(|row| row.path != "/api/v1/live" && row.right != Some(Right::Administer)) {
        for (name, never) in [("T:DOUBLE", "T:DOUBLX"), ("T:OTHER", "T:OTHEX")] {
            if row.path == "/metrics" {
                continue; // counters, of which each request makes more
            }
            let (one, other) = (ask(row.method, &row.target(name), &few), ask(row.method, &row.target(never), &few));
            let (one_text, other_text) = (timeless(&one.text(), name), timeless(&other.text(), never));
            assert_eq!((one.status, one_text), (other.status, other_text), "{} {}", row.method, row.path);
            compared += 1;
        }
        if row.method == "GET" {
            let text = ask("GET", &row.target("T:LONG"), &few).text();
            let bare = ask("GET", row.path.split('{').next().unwrap(), &few).text();
            for name in hidden {
                let is_example = row.path == "/api/v1/openapi.json";
                assert!(
                    is_example || !text.contains(name) && !bare.contains(name),
                    "{}: {name} in {text} {bare}",
                    row.path
                );
            }
            looked += 1;
        }
    }
    assert!(compared > 100 && looked > 60, "{compared} were compared, {looked} looked at");
}

/// An answer without the name that was asked for, and without numbers, as times and counts are others each time.
fn timeless(text: &str, name: &str) -> String {
    let mut out = String::new();
    for letter in text.replace(name, "PV").chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter }) {
        if letter != '0' || !out.ends_with(['0', '.']) {
            out.push(letter);
        }
    }
    out
}

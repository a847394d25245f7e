//! Every URL for everybody: who has shown nothing, something wrong, or something that is not enough is refused, and nothing happens
//! then; who may is not refused; and a PV that is not seen is answered as one that never was.
//!
//! `matrix/needed.txt` says by hand what each URL needs. A URL that does not stand there fails the test.

use std::{collections::BTreeSet, net::SocketAddr, thread::sleep, time::Duration};

use access::{Access, Identity, TokenWish};
use archive::{By, Principal, Right};
use serde_json::Value;
use served::{Answer, Archive, Connection, PVS, fill};
use web::{At, HostName, Listener};

use crate::served;

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
        let target = target.replace("{shard}", "1").replace("{node}", "b");
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
        |config| web::Config { listeners: config.listeners.iter().cloned().chain([reading]).collect(), ..config },
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
    let description: Value = serde_json::from_str(include_str!("../../../../testdata/openapi.json")).unwrap();
    let described: BTreeSet<String> = description["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, operations)| {
            operations.as_object().unwrap().keys().map(move |method| format!("{} {path}", method.to_uppercase()))
        })
        .collect();
    let here: BTreeSet<String> = rows().iter().map(|row| format!("{} {}", row.method, row.path)).collect();
    assert_eq!(described, here, "tests/suite/matrix/needed.txt says by hand what each URL needs");
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
                let is_session = comer.headers.iter().any(|(name, _)| *name == "cookie");
                assert_eq!(answer.header("set-cookie").is_some(), is_session && status == 401, "{}", what());
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

/// One PV of somebody's own and one that is hidden, and who asks: `few` may operate `T:*` but for what is called `SECRET:`.
struct Apart {
    archive: Archive,
    few: String,
    all: String,
}

impl Apart {
    fn start() -> Apart {
        let (archive, _) =
            start("anonymous = \"none\"\n[[grant]]\nto = \"token:other\"\nright = \"read\"\npvs = \"SECRET:*\"\n");
        let hour = Duration::from_secs(3600);
        let (few, _) = token(&archive.access, "few", Right::Administer, &["T:*"], hour);
        let (all, _) = token(&archive.access, "all", Right::Administer, &["*"], hour);
        let apart = Apart { archive, few, all };
        apart.done(
            "POST",
            "/api/v1/pvs",
            r#"{"pvs":[{"name":"SECRET:X"},{"name":"SECRET:SW"},{"name":"T:A"},{"name":"T:C"}]}"#,
        );
        apart.done("PUT", "/api/v1/pvs/SECRET:X/aliases/T:ALIASX", "");
        apart.done("PUT", "/api/v1/pvs/T:A/aliases/SECRET:ALIASA", "");
        apart.done("PUT", "/api/v1/groups/SECRET:SW", r#"{"enabled_by":["SECRET:SW"]}"#);
        apart
    }

    fn ask(&self, token: &str, method: &str, target: &str, body: &str) -> Answer {
        let token = format!("Bearer {token}");
        let length = body.len().to_string();
        let mut headers = vec![("authorization", token.as_str()), ("content-type", "application/json")];
        if body.is_empty() {
            headers.push(("content-length", &length));
        }
        Connection::to(self.archive.address).ask(method, target, &headers, body.as_bytes())
    }

    /// By who may do everything.
    fn done(&self, method: &str, target: &str, body: &str) -> Answer {
        let answer = self.ask(&self.all, method, target, body);
        assert!(answer.status < 300, "{method} {target}: {}", answer.text());
        answer
    }

    /// By who may do little.
    fn tried(&self, method: &str, target: &str, body: &str) -> Answer {
        let answer = self.ask(&self.few, method, target, body);
        assert!(!answer.text().contains("SECRET:X"), "{method} {target}: {}", answer.text());
        answer
    }
}

#[test]
fn nobody_learns_whose_a_hidden_name_is() {
    let apart = Apart::start();
    for (method, target, body) in [
        ("GET", "/mgmt/bpl/archivePV?pv=T:ALIASX", ""),
        ("POST", "/api/v1/pvs/T:A/rename", r#"{"to":"T:ALIASX"}"#),
        ("PUT", "/api/v1/pvs/T:A/aliases/T:ALIASX", ""),
        ("POST", "/api/v1/pvs", r#"{"pvs":[{"name":"T:ALIASX"}]}"#),
    ] {
        let status = apart.tried(method, target, body).status;
        assert!(matches!(status, 400 | 403 | 409), "{method} {target}: {status}");
    }
    // A name that another PV has taken meanwhile.
    apart.done("DELETE", "/api/v1/pvs/T:C", "");
    apart.done("PUT", "/api/v1/pvs/SECRET:X/aliases/T:C", "");
    assert_eq!(apart.tried("POST", "/api/v1/pvs/T:C/restore", "").status, 409);
    apart.tried("POST", "/api/v1/restore", r#"{"pvs":["T:C"]}"#);
    // Aliases that are hidden are as if they were not there, and stay.
    let hidden = apart.tried("DELETE", "/api/v1/pvs/T:A/aliases/SECRET:ALIASA", "");
    let never = apart.tried("DELETE", "/api/v1/pvs/T:A/aliases/SECRET:ALIASB", "");
    assert_eq!((hidden.status, hidden.text().replace("ALIASA", "ALIASB")), (never.status, never.text()));
    assert_eq!(apart.done("GET", "/api/v1/pvs/SECRET:ALIASA", "").json()["name"], "T:A");
}

#[test]
fn the_audit_tells_no_hidden_name() {
    let apart = Apart::start();
    apart.done("POST", "/api/v1/pvs/T:C/rename", r#"{"to":"SECRET:WASC"}"#);
    apart.done("POST", "/api/v1/pvs/SECRET:WASC/rename", r#"{"to":"T:C"}"#);
    let audit = apart.tried("GET", "/api/v1/audit?limit=1000", "").text();
    assert!(audit.contains("T:A") && !audit.contains("SECRET"), "{audit}");
    assert!(apart.done("GET", "/api/v1/audit?limit=1000", "").text().contains("SECRET:WASC"));
}

#[test]
fn nobody_learns_from_a_group_what_its_switches_say() {
    let apart = Apart::start();
    let joins = r#"{"pvs":[{"name":"T:SPY","groups":["SECRET:SW"]}]}"#;
    assert_eq!(apart.tried("POST", "/api/v1/pvs", joins).status, 403);
    assert_eq!(apart.done("GET", "/api/v1/pvs?match=T:SPY", "").json()["total"], 0);
    apart.done("POST", "/api/v1/pvs", r#"{"pvs":[{"name":"T:A","groups":["SECRET:SW"]}]}"#);
    for target in ["/api/v1/pvs/T:A", "/api/v1/groups", "/mgmt/bpl/exportConfig", "/mgmt/bpl/getPVTypeInfo?pv=T:A"] {
        let text = apart.tried("GET", target, "").text();
        assert!(!text.contains("SECRET"), "{target}: {text}");
    }
    assert!(apart.done("GET", "/api/v1/pvs/T:A", "").text().contains("SECRET:SW"));
    let plan = apart.tried("POST", "/api/v1/policies/plan?include_manual=true", "").text();
    assert!(!plan.contains("SECRET"), "{plan}");
    // What is refused leaves nothing behind.
    let import = r#"[{"pvName":"T:I1","controllingPV":"T:CTRL"},{"pvName":"SECRET:I2"}]"#;
    assert_eq!(apart.tried("POST", "/mgmt/bpl/importConfig", import).status, 403);
    assert!(!apart.done("GET", "/api/v1/groups", "").text().contains("T:CTRL"));
}

#[test]
fn nobody_keeps_out_what_others_import_and_aliases_are_given_by_administrators() {
    let apart = Apart::start();
    let pv = |name: &str| apart.done("GET", &format!("/api/v1/pvs/{name}"), "").json();
    let number = apart.archive.store.reader().find("SECRET:X").unwrap().id.0;
    let (operate, _) = token(&apart.archive.access, "operate", Right::Operate, &["T:*"], Duration::from_secs(3600));
    let part = format!("/api/v1/import?import=future&part=1%20of%20PV%20{number}");
    let poisoned = apart.ask(&operate, "POST", &part, "\n");
    assert!(poisoned.status < 500, "{}", poisoned.text());
    let csv = "time,value\n2026-01-01T00:00:01Z,1.5\n";
    let target = "/api/v1/pvs/SECRET:X/import?import=future&part=1&type=f64";
    let token = format!("Bearer {}", apart.all);
    let headers = [("authorization", token.as_str()), ("content-type", "text/csv")];
    let taken = Connection::to(apart.archive.address).ask("POST", target, &headers, csv.as_bytes());
    assert_eq!(taken.json()["samples"], 1, "{}", taken.text());
    assert_ne!(taken.json()["status"], "already_imported");
    let alias = r#"[{"pv":"T:A","alias":"T:OPALIAS"},{"pv":"T:BRANDNEW"}]"#;
    assert_eq!(apart.ask(&operate, "POST", "/mgmt/bpl/archivePV", alias).status, 403);
    assert_eq!(apart.done("GET", "/api/v1/pvs?match=T:BRANDNEW", "").json()["total"], 0, "nothing of it is done");
    let new = r#"[{"pv":"T:NEW","alias":"T:NEWALIAS"}]"#;
    assert_eq!(apart.ask(&operate, "POST", "/mgmt/bpl/archivePV", new).status, 200);
    assert_eq!(pv("T:NEWALIAS")["name"], "T:NEW");
}

#[test]
fn what_is_granted_to_others_is_told_to_administrators() {
    let apart = Apart::start();
    let asked = "/api/v1/access/explain?user=token:few&method=read&what=SECRET:Y";
    let own = apart.tried("GET", asked, "").text();
    assert!(own.contains("may not") && !own.contains("token:other"), "{own}");
    assert!(apart.done("GET", asked, "").text().contains("token:other"));
}

//! Pages of other sites in the browser of somebody who may change what is archived: they change nothing, by whatever they make it send.

use crate::served;

use std::io::Write;

use serde_json::Value;
use served::{Answer, Archive, Connection};

const MOZILLA: (&str, &str) = ("user-agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36");

/// Method, target and right of every URL, with a PV of the history where one is named.
fn routes() -> Vec<(String, String, String)> {
    let description: Value = serde_json::from_str(include_str!("../../../../testdata/openapi.json")).unwrap();
    let mut routes = Vec::new();
    for (path, operations) in description["paths"].as_object().unwrap() {
        let target: String = path
            .split('/')
            .map(|part| match part {
                "{pv}" => "T:DOUBLE",
                "{alias}" => "T:ALIAS",
                "{group}" => "beam",
                "{number}" => "1",
                "{call}" => "getData.json",
                "{page}" => "index.html",
                part => part,
            })
            .collect::<Vec<_>>()
            .join("/");
        for (method, operation) in operations.as_object().unwrap() {
            let right = operation["x-right"].as_str().unwrap().to_owned();
            routes.push((method.to_uppercase(), format!("{target}?pv=T:DOUBLE"), right));
        }
    }
    routes
}

/// Asked for by that host, and with nothing else that is not said here.
fn ask_for(archive: &Archive, host: &str, first_line: &str, headers: &[(&str, &str)]) -> Answer {
    let mut connection = Connection::to(archive.address);
    let mut head = format!("{first_line}\r\n{host}");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    connection.stream.get_mut().write_all(format!("{head}\r\n").as_bytes()).unwrap();
    connection.read_answer(first_line.split(' ').next().unwrap())
}

fn listed(archive: &Archive) -> (Value, Value) {
    (archive.get("/api/v1/pvs").json(), archive.get("/api/v1/audit").json())
}

#[test]
fn a_browser_changes_nothing_for_another_page_or_for_none() {
    let archive = Archive::with_history();
    let before = listed(&archive);
    let sent: [&[(&str, &str)]; 9] = [
        &[],
        &[("referer", "http://evil.example/")],
        &[("origin", "http://evil.example")],
        &[("origin", "http://archive.test:17666")],
        &[("origin", "null")],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site"), ("referer", "http://archive.test/")],
        &[("sec-fetch-site", "none")],
        &[("x-pvark", "yes")],
    ];
    let mut refused = 0;
    for (method, target, right) in routes().into_iter().filter(|(_, target, _)| !target.contains("/live")) {
        // To read everybody may, however it is sent; and logging in and out is more.
        let reads = right == "Read" || right == "None" && method == "GET";
        for headers in sent.iter().take(if reads { 2 } else { sent.len() }) {
            let headers = [&[MOZILLA, ("content-length", "0")], *headers].concat();
            let line = format!("{method} {target} HTTP/1.1");
            let answer = ask_for(&archive, "host: archive.test\r\n", &line, &headers);
            assert_eq!(answer.status == 403, !reads, "{line} {headers:?}: {}", answer.text());
            if !reads && method == "GET" {
                let line = format!("HEAD {target} HTTP/1.1");
                assert_eq!(ask_for(&archive, "host: archive.test\r\n", &line, &headers).status, 403, "{line}");
            }
            refused += usize::from(!reads);
        }
    }
    assert!(refused > 9 * 40, "only {refused} changes were asked for");
    let told = ask_for(&archive, "host: archive.test\r\n", "GET /mgmt/bpl/pauseArchivingPV?pv=* HTTP/1.1", &[MOZILLA]);
    assert_eq!(told.json()["error"]["code"], "forbidden");
    assert!(told.json()["error"]["hint"].as_str().unwrap().contains("X-Pvark: 1"), "{}", told.text());
    assert_eq!(listed(&archive), before);
}

#[test]
fn our_own_page_and_programs_change_what_they_may() {
    let archive = Archive::with_history();
    let own: [&[(&str, &str)]; 7] = [
        &[("user-agent", "curl/8.5.0")],
        &[("user-agent", "python-requests/2.32.3")],
        &[("user-agent", "Java/17.0.12")],
        &[MOZILLA, ("origin", "http://archive.test")],
        &[MOZILLA, ("referer", "http://archive.test/?pv=T:DOUBLE")],
        &[MOZILLA, ("sec-fetch-site", "same-origin")],
        &[MOZILLA, ("x-pvark", "1"), ("origin", "https://proxy.lab.example")],
    ];
    for headers in own {
        for verb in ["pause", "resume"] {
            let by_post =
                Connection::to(archive.address).ask("POST", &format!("/api/v1/pvs/T:DOUBLE/{verb}"), headers, b"");
            assert_eq!(by_post.status, 200, "{headers:?}: {}", by_post.text());
            let by_get = Connection::to(archive.address).ask(
                "GET",
                &format!("/mgmt/bpl/{verb}ArchivingPV?pv=T:LONG"),
                headers,
                b"",
            );
            assert_eq!(by_get.status, 200, "{headers:?}: {}", by_get.text());
        }
    }
    // A program of a time before there was Host.
    let old = ask_for(&archive, "", "GET /mgmt/bpl/pauseArchivingPV?pv=T:DOUBLE HTTP/1.0", &[]);
    assert_eq!(old.status, 200, "{}", old.text());
    assert_eq!(ask_for(&archive, "", "GET /mgmt/bpl/resumeArchivingPV?pv=T:DOUBLE HTTP/1.0", &[MOZILLA]).status, 403);
}

#[test]
fn nothing_is_answered_under_a_name_that_is_not_known() {
    let archive = Archive::with_history();
    let before = listed(&archive);
    let mut targets = routes();
    targets.extend(
        ["/", "/assets/none.js", "/pv/T:DOUBLE", "/nothing.txt", "/api/v1/nothing"]
            .map(|target| ("GET".to_owned(), target.to_owned(), "Read".to_owned())),
    );
    for (method, target, _) in &targets {
        let line = format!("{method} {target} HTTP/1.1");
        // As after the name of a page has been made to lead here: for the browser it is one site.
        let turned =
            [MOZILLA, ("origin", "http://evil.example:7"), ("sec-fetch-site", "same-origin"), ("content-length", "0")];
        let answer = ask_for(&archive, "host: evil.example:7\r\n", &line, &turned);
        assert_eq!(answer.status, 421, "{line}");
        let error = &answer.json()["error"];
        assert_eq!(error["code"], "unknown_host");
        assert!(error["hint"].as_str().unwrap().contains("hosts = [\"evil.example\"]"), "{error}");
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
    let get = "GET /api/v1/status HTTP/1.1";
    for (host, status) in [
        ("", 400),
        ("host: localhost\r\nhost: localhost\r\n", 400),
        ("host: localhost\r\nhost: evil.example\r\n", 400),
        ("host: localhost@evil.example\r\n", 400),
        ("host:\r\n", 400),
        ("host: LOCALHOST.:1\r\n", 200),
        ("host: [::1]:17665\r\n", 200),
        ("host: 10.0.0.1\r\n", 200),
        ("host: archive.test\r\n", 200),
    ] {
        assert_eq!(ask_for(&archive, host, get, &[]).status, status, "{host:?}");
    }
    for (target, status) in [
        ("http://evil.example/api/v1/status", 421),
        ("http://evil.example//api/v1/status", 421),
        ("http://me@localhost/api/v1/status", 400),
        ("http://localhost/api/v1/status", 200),
    ] {
        let answer = ask_for(&archive, "host: localhost\r\n", &format!("GET {target} HTTP/1.1"), &[]);
        assert_eq!(answer.status, status, "{target}");
    }
    assert_eq!(listed(&archive), before);
}

#[test]
fn other_sites_get_no_leave_to_send_the_header_of_our_page() {
    let archive = Archive::with_history();
    for target in
        ["/api/v1/pvs", "/mgmt/bpl/pauseArchivingPV", "/retrieval/data/getData.json", "/retrieval/bpl/getVersion"]
    {
        let wants = [
            MOZILLA,
            ("origin", "http://evil.example"),
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", "x-pvark"),
        ];
        let answer = Connection::to(archive.address).ask("OPTIONS", target, &wants, b"");
        let leave = answer.header("access-control-allow-headers").unwrap_or_default().to_ascii_lowercase();
        assert!(!leave.contains("x-pvark") && !leave.contains('*'), "{target}: {leave}");
        assert_eq!(answer.status, if target.starts_with("/retrieval/") { 204 } else { 405 });
    }
}

/// The first line of a request, its host, what else is in its head, and the status of the answer.
type Asked<'a> = (String, &'a str, Vec<(&'a str, &'a str)>, u16);

#[test]
fn every_answer_tells_browsers_what_it_is_and_where_it_may_stand() {
    let archive = Archive::start(
        |store| served::fill(store, served::PVS),
        |config| web::Config { body_bytes_max: 1000, ..config },
    );
    let page = archive.get("/");
    let (tag, host) = (page.header("etag").unwrap().to_owned(), "host: archive.test\r\n");
    let script =
        page.text().split('"').find(|word| word.starts_with("assets/") && word.ends_with(".js")).map(str::to_owned);
    let long = "x".repeat(10 << 20);
    let get = |target: &str| format!("GET {target} HTTP/1.1");
    let mut asked: Vec<Asked<'_>> = vec![
        (get("/"), host, vec![], 200),
        (get("/"), host, vec![("if-none-match", tag.as_str())], 304),
        (get("/api/v1/status"), host, vec![("accept-encoding", "gzip")], 200),
        (get("/api/v1/pvs/T:DOUBLE/samples?from=2020-01-01T00:00:00Z"), host, vec![], 200),
        (get("/api/v1/pvs/T:DOUBLE/samples?from=2020-01-01T00:00:00Z&format=csv"), host, vec![], 200),
        (get("/retrieval/data/getData.svg?pv=T:DOUBLE&from=2020-01-01T00:00:00Z"), host, vec![], 200),
        (get("/api/v1/live?pv=T:DOUBLE"), host, vec![], 200),
        (get("/metrics"), host, vec![], 200),
        (get("/mgmt/ui/index.html"), host, vec![], 302),
        (get("/api/v1/pvs/NOBODY"), host, vec![], 404),
        (get("/nothing.txt"), host, vec![], 404),
        ("DELETE /api/v1/status HTTP/1.1".to_owned(), host, vec![], 405),
        (
            "OPTIONS /retrieval/bpl/getVersion HTTP/1.1".to_owned(),
            host,
            vec![("access-control-request-method", "GET")],
            204,
        ),
        ("POST /api/v1/pvs HTTP/1.1".to_owned(), host, vec![("content-length", "5000")], 413),
        (get("/mgmt/bpl/pauseArchivingPV?pv=T:DOUBLE"), host, vec![MOZILLA], 403),
        (get("/"), "host: evil.example\r\n", vec![], 421),
        (get("/"), host, vec![("x-much", long.as_str())], 431),
        ("GET / and nonsense".to_owned(), "", vec![], 400),
    ];
    asked.extend(script.map(|script| (get(&format!("/{script}")), host, vec![], 200)));
    for (line, host, headers, status) in asked {
        let mut connection = Connection::to(archive.address);
        let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        connection.stream.get_mut().write_all(format!("{line}\r\n{host}{more}\r\n").as_bytes()).unwrap();
        let (answered, headers) = connection.read_head();
        assert_eq!(answered, status, "{line}");
        expect_rules(&headers, &line);
    }
}

#[test]
fn who_is_turned_away_is_told_the_same() {
    let archive = Archive::start(|_| {}, |config| web::Config { connections_max: 0, ..config });
    let (status, headers) = Connection::to(archive.address).read_head();
    assert_eq!(status, 503);
    expect_rules(&headers, "a crowd");
}

fn expect_rules(headers: &[(String, String)], of: &str) {
    let values =
        |name: &str| headers.iter().filter(|(n, _)| n == name).map(|(_, value)| value.as_str()).collect::<Vec<_>>();
    assert_eq!(values("x-content-type-options"), ["nosniff"], "{of}: {headers:?}");
    assert_eq!(values("referrer-policy"), ["same-origin"], "{of}");
    let policy = values("content-security-policy");
    assert_eq!(policy.len(), 1, "{of}");
    let rules: Vec<&str> = policy[0].split("; ").collect();
    assert!(rules.contains(&"default-src 'self'") && rules.contains(&"frame-ancestors 'none'"), "{of}: {rules:?}");
}

//! Several listeners: each with the most that anybody may do there, names and sites of its own, and a socket of this machine.

use crate::served;

use std::{
    io::{Read, Write},
    net::SocketAddr,
    os::unix::net::UnixStream,
};

use archive::Right;
use serde_json::Value;
use served::{Archive, Connection, PVS, fill};
use web::{At, HostName, Listener, Site};

/// Method, target and right of every URL, with a PV of the history where one is named.
fn routes() -> Vec<(String, String, String)> {
    let description: Value = serde_json::from_str(include_str!("../../../../testdata/openapi.json")).unwrap();
    let mut routes = Vec::new();
    for (path, operations) in description["paths"].as_object().unwrap() {
        let target = path.replace("{pv}", "T:DOUBLE").replace("{alias}", "T:ALIAS").replace("{group}", "beam");
        let target = target.replace("{number}", "1").replace("{call}", "getData.json").replace("{page}", "index.html");
        for (method, operation) in operations.as_object().unwrap() {
            let right = operation["x-right"].as_str().unwrap().to_owned();
            routes.push((method.to_uppercase(), format!("{target}?pv=T:DOUBLE"), right));
        }
    }
    routes
}

/// The usual listener, and one like the given.
fn with(more: Listener) -> (Archive, SocketAddr) {
    let archive = Archive::start(
        |store| fill(store, PVS),
        |config| web::Config { listeners: config.listeners.iter().cloned().chain([more]).collect(), ..config },
    );
    let address =
        archive.urls().last().unwrap().strip_prefix("http://").unwrap().trim_end_matches('/').parse().unwrap();
    (archive, address)
}

fn anywhere() -> Listener {
    let hosts = HostName::new("archive.test").into_iter().collect();
    Listener { hosts, ..Listener::new(At::Address("127.0.0.1:0".parse().unwrap())) }
}

fn listed(archive: &Archive) -> (Value, Value) {
    (archive.get("/api/v1/pvs").json(), archive.get("/api/v1/audit").json())
}

#[test]
fn nobody_may_do_more_than_the_listener_lets_and_nothing_happens_then() {
    for (ceiling, refused) in [(Right::Read, &["Operate", "Administer"][..]), (Right::Operate, &["Administer"])] {
        let (archive, address) = with(Listener { rights: ceiling, ..anywhere() });
        let before = listed(&archive);
        let mut count = 0;
        for (method, target, right) in routes().into_iter().filter(|(_, target, _)| !target.contains("/live")) {
            if !refused.contains(&&*right) && right != "Read" {
                continue; // it would be done
            }
            let methods: &[&str] = if method == "GET" { &["GET", "HEAD"] } else { &[&method] };
            for method in methods {
                // Not even the archiver's own page, or a program that says so.
                let answer =
                    Connection::to(address).ask(method, &target, &[("x-pvark", "1"), ("content-length", "0")], b"");
                assert_eq!(answer.status == 403, right != "Read", "{method} {target}: {}", answer.text());
                if right != "Read" && *method != "HEAD" {
                    let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
                    assert!(message.contains(&right.to_lowercase()) && message.contains(ceiling.name()), "{message}");
                }
                count += usize::from(right != "Read");
            }
        }
        assert!(count >= 20, "only {count} were refused");
        assert_eq!(listed(&archive), before);
        // Where more may be done, it is.
        assert_eq!(archive.ask("POST", "/api/v1/pvs/T:DOUBLE/resume").status, 200);
    }
}

#[test]
fn each_listener_has_names_of_its_own() {
    let office = Listener { hosts: HostName::new("office.test").into_iter().collect(), ..anywhere() };
    let (archive, address) = with(office);
    let status = |address, host: &str| {
        let mut connection = Connection::to(address);
        let head = format!("GET /retrieval/ping HTTP/1.1\r\nhost: {host}\r\n\r\n");
        connection.stream.get_mut().write_all(head.as_bytes()).unwrap();
        connection.read_answer("GET").status
    };
    assert_eq!((status(address, "office.test"), status(archive.address, "office.test")), (200, 421));
    assert_eq!((status(address, "archive.test"), status(archive.address, "archive.test")), (421, 200));
    assert_eq!((status(address, "localhost"), status(address, "127.0.0.1")), (200, 200));
}

#[test]
fn pages_of_the_sites_of_a_listener_may_read_and_no_more() {
    let site = "https://viewer.lab.example";
    let (archive, address) = with(Listener { sites: Site::new(site).into_iter().collect(), ..anywhere() });
    let ask = |address, method: &str, target: &str, origin: &str, more: &[(&str, &str)]| {
        let headers = [&[("origin", origin), ("content-length", "0")], more].concat();
        Connection::to(address).ask(method, target, &headers, b"")
    };
    let leave = |answer: &served::Answer| answer.header("access-control-allow-origin").map(str::to_owned);
    for (target, of_any) in [("/api/v1/status", None), ("/retrieval/bpl/getVersion", Some("*"))] {
        let named = ask(address, "GET", target, site, &[]);
        assert_eq!(leave(&named).as_deref(), Some(site));
        assert_eq!(named.header("access-control-allow-credentials"), Some("true"));
        assert!(named.headers.iter().any(|(name, value)| name == "vary" && value.eq_ignore_ascii_case("origin")));
        for origin in ["https://evil.example", "http://viewer.lab.example", "null", "https://viewer.lab.example:444"] {
            let other = ask(address, "GET", target, origin, &[]);
            assert_eq!(leave(&other).as_deref(), of_any, "{origin}");
            assert_eq!(other.header("access-control-allow-credentials"), None);
            assert!(other.headers.iter().any(|(name, value)| name == "vary" && value.eq_ignore_ascii_case("origin")));
        }
        assert_eq!(leave(&ask(archive.address, "GET", target, site, &[])).as_deref(), of_any);
    }
    let before = listed(&archive);
    let change = ask(address, "POST", "/api/v1/pvs/T:DOUBLE/pause", site, &[]);
    assert_eq!((change.status, leave(&change)), (403, None));
    let wants = [("access-control-request-method", "POST"), ("access-control-request-headers", "x-pvark")];
    let first = ask(address, "OPTIONS", "/api/v1/samples", site, &wants);
    assert_eq!((first.status, leave(&first).as_deref()), (204, Some(site)));
    let headers = first.header("access-control-allow-headers").unwrap();
    assert!(headers.contains("authorization") && !headers.contains("x-pvark") && !headers.contains('*'), "{headers}");
    assert_eq!(ask(address, "OPTIONS", "/api/v1/samples", "https://evil.example", &wants).status, 405);
    assert_eq!(listed(&archive), before);
}

#[test]
fn orders_by_a_socket_of_the_machine_are_those_of_its_user() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("admin.sock");
    let archive = Archive::start(
        |store| fill(store, PVS),
        |config| {
            let socket = Listener { hosts: Vec::new(), ..Listener::new(At::Socket(path.clone())) };
            web::Config { listeners: config.listeners.iter().cloned().chain([socket]).collect(), ..config }
        },
    );
    let mut stream = UnixStream::connect(&path).unwrap();
    let request = "POST /api/v1/pvs/T:DOUBLE/resume?by=ana HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let number = answer.lines().find_map(|line| line.strip_prefix("x-request-id: ")).unwrap();

    let line = &archive.get("/api/v1/audit?limit=1").json()["audit"][0];
    let user = format!("local:{}", rustix::process::getuid().as_raw());
    let expected = serde_json::json!({ "by": format!("{user} (calls itself ana)"), "principal": user, "how": "local", "said": "ana", "address": null,
        "listener": path.display().to_string(), "request": number });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&line[name], value, "{name}");
    }
    assert_eq!(archive.ask("POST", "/api/v1/pvs/T:DOUBLE/pause?by=token:x").status, 200);
    let line = &archive.get("/api/v1/audit?limit=1").json()["audit"][0];
    assert_eq!(
        (&line["principal"], &line["how"], &line["said"]),
        (&"127.0.0.1".into(), &"address".into(), &"token:x".into())
    );
    assert_eq!((&line["address"], &line["listener"]), (&"127.0.0.1".into(), &archive.address.to_string().into()));
}

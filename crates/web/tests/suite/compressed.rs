//! Answers in gzip and zstd are the same answers, and are there only for those who ask for them.

use crate::served;

use std::io::Read;

use archive::Protocol;
use flate2::read::GzDecoder;
use sample::{Metadata, Severity, Value};
use served::{Answer, Archive, Connection, PVS, Recorded, fill};

const RANGE: &str = "from=2025-12-31T23:59:59Z&to=2026-01-01T00:00:05Z";

fn ask(archive: &Archive, method: &str, target: &str, accept: &str) -> Answer {
    Connection::to(archive.address).ask(method, target, &[("accept-encoding", accept)], b"")
}

/// Answers of which are whole when they are sent, and answers that go in pieces.
const SOME: Recorded = of("T:SOME", || samples(100));
const MANY: Recorded = of("T:MANY", || samples(20_000));

const fn of(name: &'static str, samples: fn() -> Vec<(f64, Value, Severity)>) -> Recorded {
    Recorded { name, protocol: Protocol::Ca, metadata: Metadata::default, samples }
}

fn samples(count: u32) -> Vec<(f64, Value, Severity)> {
    (0..count).map(|n| (f64::from(n) / 1e4, Value::F64(f64::from(n).sqrt()), Severity::None)).collect()
}

fn gunzipped(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut plain).unwrap();
    plain
}

#[test]
fn what_is_coded_is_what_is_sent_without_a_coding() {
    let fill = |store: &_| [PVS, &[SOME, MANY]].into_iter().for_each(|pvs| fill(store, pvs));
    let archive = Archive::start(fill, |config| config);
    let targets = [
        format!("/api/v1/pvs/T:SOME/samples?{RANGE}"),
        format!("/api/v1/pvs/T:MANY/samples?{RANGE}"),
        format!("/api/v1/samples?match=T:*&{RANGE}&format=csv"),
        format!("/api/v1/samples?match=T:*&{RANGE}&format=arrow"),
        "/api/v1/openapi.json".to_owned(),
        format!("/retrieval/data/getData.json?pv=T:MANY&{RANGE}"),
    ];
    for target in targets {
        let plain = archive.get(&target);
        assert_eq!((plain.status, plain.header("content-encoding")), (200, None), "{target}");
        assert_eq!(plain.header("vary"), Some("accept-encoding"), "{target}");
        let gzip = ask(&archive, "GET", &target, "gzip, deflate");
        assert_eq!((gzip.header("content-encoding"), gzip.whole), (Some("gzip"), true), "{target}");
        assert_eq!(gunzipped(&gzip.body), plain.body, "{target}");
        let zstd = ask(&archive, "GET", &target, "gzip, zstd");
        assert_eq!(zstd.header("content-encoding"), Some("zstd"), "{target}");
        assert_eq!(zstd::stream::decode_all(&*zstd.body).unwrap(), plain.body, "{target}");
    }
}

#[test]
fn raw_answers_short_ones_and_heads_stay_as_they_are() {
    let archive = Archive::with_history();
    for (method, target) in [
        ("GET", format!("/retrieval/data/getData.raw?pv=T:DOUBLE&{RANGE}")),
        ("GET", format!("/api/v1/pvs/T:DOUBLE/samples?{RANGE}&format=npy")),
        ("GET", format!("/api/v1/pvs/T:DOUBLE/samples?{RANGE}")),
        ("GET", "/retrieval/bpl/getVersion".to_owned()),
        ("GET", "/api/v1/pvs/T:NOSUCH".to_owned()),
        ("HEAD", "/api/v1/openapi.json".to_owned()),
    ] {
        let answer = ask(&archive, method, &target, "gzip, zstd");
        assert_eq!(answer.header("content-encoding"), None, "{target}");
    }
}

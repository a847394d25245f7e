//! Exports over HTTP: each form holds what `/samples` and `/aligned` say, the same order gives the same bytes, a download goes on where it
//! broke off, and what cannot be is refused, or said beforehand.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use axum::body::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;
use service::ExportsConfig;

use crate::served::{Answer, Archive, Connection, PVS, fill};

const RANGE: &str = "from=2025-12-31T23:59:59Z&to=2026-01-02T00:00:00Z";
const SCALARS: &str = "pv=T:DOUBLE&pv=T:LONG&pv=T:ENUM&pv=T:STRING&pv=T:NONE";
const ALL: &str = "match=T:*";

/// Exports lie beside the archive, in a folder of their own.
fn archive() -> (Archive, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let exports =
        ExportsConfig { folder: Some(folder.path().join("exports")), free_min: Some(0), ..ExportsConfig::default() };
    let archive = Archive::start(|store| fill(store, PVS), |config| web::Config { exports, ..config });
    (archive, folder)
}

fn post(archive: &Archive, query: &str) -> Answer {
    archive.ask("POST", &format!("/api/v1/exports?{query}"))
}

/// Waits until a job has come to its end.
fn ended(archive: &Archive, number: u64) -> Value {
    let begun = Instant::now();
    loop {
        let job = archive.get(&format!("/api/v1/exports/{number}")).json();
        if !["waiting", "running"].contains(&job["state"].as_str().unwrap()) {
            return job;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not come to its end: {job}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Orders an export, and gives it with its file.
fn made(archive: &Archive, query: &str) -> (Value, Vec<u8>) {
    let ordered = post(archive, query);
    assert_eq!(ordered.status, 201, "{query}: {}", ordered.text());
    let number = ordered.json()["number"].as_u64().unwrap();
    assert_eq!(ordered.header("location"), Some(&*format!("/api/v1/exports/{number}")));
    let job = ended(archive, number);
    assert_eq!(job["state"], "done", "{query}: {job}");
    let file = archive.get(job["url"].as_str().unwrap());
    assert_eq!((file.status, file.whole), (200, true), "{query}");
    assert_eq!(job["bytes"], file.body.len() as u64, "{query}");
    assert_eq!(file.header("etag"), job["etag"].as_str());
    assert_eq!(file.header("content-type"), job["content_type"].as_str());
    assert_eq!(job["progress"], 1.0);
    (job, file.body)
}

/// The files of a zip in which they are stored as they are, by the central directory alone.
fn unzipped(zip: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let u16_at = |at: usize| usize::from(u16::from_le_bytes([zip[at], zip[at + 1]]));
    let u32_at = |at: usize| u32::from_le_bytes(*zip[at..].first_chunk().unwrap()) as usize;
    let end = zip.len() - 22;
    assert_eq!(&zip[end..end + 4], b"PK\x05\x06");
    let (count, mut at) = (u16_at(end + 10), u32_at(end + 16));
    let mut files = BTreeMap::new();
    for _ in 0..count {
        assert_eq!(&zip[at..at + 4], b"PK\x01\x02");
        let (crc, len, name_len, offset) = (u32_at(at + 16), u32_at(at + 24), u16_at(at + 28), u32_at(at + 42));
        let name = String::from_utf8(zip[at + 46..at + 46 + name_len].to_vec()).unwrap();
        assert_eq!(
            (&zip[offset..offset + 4], u32_at(offset + 14), u32_at(offset + 22)),
            (&b"PK\x03\x04"[..], crc, len)
        );
        let data = offset + 30 + u16_at(offset + 26) + u16_at(offset + 28);
        let bytes = zip[data..data + len].to_vec();
        assert_eq!(checksum(&bytes), crc as u32, "{name}");
        assert!(files.insert(name, bytes).is_none());
        at += 46 + name_len + u16_at(at + 30);
    }
    files
}

/// The checksum of zip files, bit by bit: not by the code that is tested.
fn checksum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 })
    })
}

fn rows(batches: &[RecordBatch]) -> Vec<String> {
    let of = |batch: &RecordBatch| {
        let row = |row: usize| batch.columns().iter().map(|column| format!("{:?}", column.slice(row, 1))).collect();
        (0..batch.num_rows()).map(row).collect::<Vec<String>>()
    };
    batches.iter().flat_map(of).collect()
}

fn in_parquet(bytes: Vec<u8>) -> Vec<RecordBatch> {
    ParquetRecordBatchReaderBuilder::try_new(Bytes::from(bytes)).unwrap().build().unwrap().map(Result::unwrap).collect()
}

fn in_arrow_file(bytes: Vec<u8>) -> Vec<RecordBatch> {
    FileReader::try_new(std::io::Cursor::new(bytes), None).unwrap().map(Result::unwrap).collect()
}

fn streamed(archive: &Archive, target: &str) -> Vec<RecordBatch> {
    StreamReader::try_new(archive.get(target).body.as_slice(), None).unwrap().map(Result::unwrap).collect()
}

#[test]
fn every_form_holds_what_the_answers_hold_and_the_same_order_is_the_same_bytes() {
    let (archive, _folder) = archive();
    let (job, csv) = made(&archive, &format!("{ALL}&{RANGE}&format=csv"));
    assert_eq!(csv, archive.get(&format!("/api/v1/samples?{ALL}&{RANGE}&format=csv")).body);
    assert_eq!((&job["without"], &job["pvs_done"]), (&serde_json::json!(["T:NONE"]), &PVS.len().into()));
    assert_eq!(
        job["gaps"],
        archive.get(&format!("/api/v1/pvs/T:DOUBLE/gaps?{RANGE}")).json()["gaps"].as_array().unwrap().len()
    );
    let lines = csv.iter().filter(|byte| **byte == b'\n').count() as u64;
    assert!(job["samples"].as_u64().unwrap() < lines, "{job}");

    let aligned = format!("{SCALARS}&{RANGE}&period=3600&severity=true");
    let (job, csv) = made(&archive, &format!("{aligned}&rows=aligned&format=csv"));
    assert_eq!(csv, archive.get(&format!("/api/v1/aligned?{aligned}&format=csv")).body);
    assert_eq!(job["samples"], csv.iter().filter(|byte| **byte == b'\n').count() - 1);

    for format in ["parquet", "arrow"] {
        let (_, zip) = made(&archive, &format!("{ALL}&{RANGE}&format={format}"));
        let files = unzipped(&zip);
        let read = if format == "parquet" { in_parquet } else { in_arrow_file };
        for recorded in PVS {
            let name = recorded.name.replace(':', "_");
            let mut found = rows(&read(files[&format!("{name}.{format}")].clone()));
            if recorded.name == "T:CHANGE" {
                for part in 2..=4 {
                    found.extend(rows(&read(files[&format!("{name}.{part}.{format}")].clone())));
                }
                let csv = archive.get(&format!("/api/v1/pvs/T:CHANGE/samples?{RANGE}&format=csv"));
                assert_eq!(found.len(), csv.text().lines().count() - 1);
                continue;
            }
            let streamed = streamed(&archive, &format!("/api/v1/pvs/{}/samples?{RANGE}&format=arrow", recorded.name));
            assert_eq!(found, rows(&streamed), "{name} in {format}");
        }
        assert_eq!(files.len(), PVS.len() + 3);
        let (_, file) = made(&archive, &format!("{aligned}&rows=aligned&format={format}"));
        let streamed = streamed(&archive, &format!("/api/v1/aligned?{aligned}&format=arrow"));
        assert_eq!(rows(&read(file)), rows(&streamed), "{format}");
    }
    for format in ["csv", "parquet", "arrow", "xlsx", "mat"] {
        for rows in [format!("{ALL}&rows=raw"), format!("{SCALARS}&rows=aligned&period=3600")] {
            let order = format!("{rows}&{RANGE}&format={format}");
            let (first, again) = (made(&archive, &order), made(&archive, &order));
            assert!(first.1 == again.1, "{order} is not the same again");
            assert!(first.1.len() > 500, "{order}");
            for job in [first.0, again.0] {
                let removed = archive.ask("DELETE", &format!("/api/v1/exports/{}", job["number"]));
                assert_eq!((removed.status, &removed.json()["state"]), (200, &"done".into()));
                assert_eq!(archive.get(job["url"].as_str().unwrap()).status, 404);
            }
        }
    }
    let audit = archive.get("/api/v1/audit?limit=1").json();
    assert_eq!(audit["audit"][0]["action"], "export_ordered", "{audit}");
}

#[test]
fn a_missing_integer_of_64_bits_can_be_told_from_0_in_mat() {
    let (archive, _folder) = archive();
    let order = |pv: &str| made(&archive, &format!("pv={pv}&{RANGE}&rows=aligned&period=3600&format=mat")).1;
    let count = |file: &[u8], word: &[u8]| file.windows(word.len()).filter(|window| *window == word).count();
    let (double, long) = (order("T:DOUBLE"), order("T:LONG"));
    // What the header says of it, and in no structure of doubles anything else.
    assert_eq!((count(&double, b"where severity is 255"), count(&double, b"severity")), (1, 1));
    // The column comes last: a byte for each row, of which the first is before the first sample.
    let at = long.windows(8).rposition(|window| window == b"severity").unwrap();
    let rows = &long[at + 8 + 8..];
    assert_eq!((rows[0], rows[1]), (255, 0), "{rows:?}");
}

#[test]
fn a_download_goes_on_where_it_broke_off() {
    let (archive, _folder) = archive();
    let (job, whole) = made(&archive, &format!("{ALL}&{RANGE}&format=csv"));
    let (url, etag) = (job["url"].as_str().unwrap(), job["etag"].as_str().unwrap());
    let ask = |headers: &[(&str, &str)]| Connection::to(archive.address).ask("GET", url, headers, b"");
    let half = whole.len() / 2;
    let part = ask(&[("range", &format!("bytes={half}-")), ("if-range", etag), ("accept-encoding", "gzip")]);
    assert_eq!((part.status, part.body.as_slice()), (206, &whole[half..]));
    let last = whole.len() - 1;
    assert_eq!(part.header("content-range"), Some(&*format!("bytes {half}-{last}/{}", whole.len())));
    assert_eq!((part.header("etag"), part.header("content-encoding")), (Some(etag), None));
    let few = ask(&[("range", "bytes=-5")]);
    assert_eq!((few.status, few.body.as_slice()), (206, &whole[whole.len() - 5..]));
    let other = ask(&[("range", &format!("bytes={half}-")), ("if-range", "\"another\"")]);
    assert_eq!((other.status, other.body == whole), (200, true));
    let beyond = ask(&[("range", &format!("bytes={}-", whole.len()))]);
    assert_eq!((beyond.status, beyond.header("content-range")), (416, Some(&*format!("bytes */{}", whole.len()))));
    assert_eq!(ask(&[("if-none-match", etag)]).status, 304);
    let head = Connection::to(archive.address).ask("HEAD", url, &[], b"");
    assert_eq!((head.status, head.header("content-length")), (200, Some(&*whole.len().to_string())));
    assert_eq!(head.header("accept-ranges"), Some("bytes"));
}

#[test]
fn what_cannot_be_exported_is_refused_and_says_why() {
    let (archive, _folder) = archive();
    for (query, status, code, words) in [
        (format!("pv=T:DOUBLE&{RANGE}&format=docx"), 400, "unknown_format", "csv, parquet, arrow, xlsx, mat"),
        ("pv=T:DOUBLE&from=2026-01-02&to=2026-01-01".to_owned(), 400, "bad_range", ""),
        ("pv=T:DOUBLE&from=2099-01-01&to=2099-01-02".to_owned(), 400, "bad_range", "passed"),
        (format!("pv=T:DOUBEL&{RANGE}"), 404, "unknown_pv", "T:DOUBLE"),
        (format!("match=NOTHING*&{RANGE}"), 404, "unknown_pv", ""),
        (RANGE.to_owned(), 400, "bad_request", "no PV is named"),
        (format!("pv=T:DOUBLE&{RANGE}&period=1"), 400, "bad_request", "rows=aligned"),
        (format!("pv=T:DOUBLE&{RANGE}&rows=aligned&before=false"), 400, "bad_request", "rows=raw"),
        (format!("pv=T:DOUBLE&{RANGE}&rows=aligned&period=0"), 400, "bad_request", "period"),
        (format!("pv=T:ARRAY&{RANGE}&rows=aligned"), 400, "bad_request", "T:ARRAY"),
        (format!("pv=T:STRING&{RANGE}&rows=aligned&method=linear"), 400, "bad_request", "T:STRING"),
        (format!("pv=T:DOUBLE&{RANGE}&rows=aligned&period=0.0001&format=xlsx"), 413, "too_large", "sheets"),
        (format!("pv=T:DOUBLE&{RANGE}&rows=aligned&period=0.0001&format=mat"), 413, "too_large", "MAT"),
        (format!("pv=T:DOUBLE&{RANGE}&rows=aligned&period=1e-9"), 413, "too_large", "rows"),
        (format!("pv=T:DOUBLE&{RANGE}&fromat=csv"), 400, "bad_request", "fromat"),
    ] {
        let answer = post(&archive, &query);
        let error = answer.json()["error"].clone();
        assert_eq!((answer.status, &error["code"]), (status, &code.into()), "{query}: {error}");
        assert!(error.to_string().contains(words), "{query}: {error}");
    }
    let million: Vec<String> = (0..1_000_000).map(|number| format!("P{number}")).collect();
    let body = serde_json::to_vec(&million).unwrap();
    let answer = archive.post(&format!("/api/v1/exports?{RANGE}"), "application/json", &body);
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (413, &"too_large".into()), "{}", answer.text());
    for target in ["/api/v1/exports/77", "/api/v1/exports/77/file"] {
        assert_eq!(archive.get(target).json()["error"]["code"], "unknown_pv");
    }
    assert_eq!(archive.get("/api/v1/exports/x").status, 400);
    let listed = archive.get("/api/v1/exports").json();
    assert_eq!((&listed["exports"], &listed["limits"]["jobs_each_max"]), (&serde_json::json!([]), &5.into()));
    // Where there is no folder there are none, and it says so.
    let without = Archive::with_history();
    let refused = post(&without, &format!("pv=T:DOUBLE&{RANGE}"));
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (409, &"conflict".into()));
}

#[test]
fn a_plan_says_what_comes_and_what_does_not_fit() {
    let (archive, _folder) = archive();
    let plan = |query: &str| {
        let answer = post(&archive, &format!("{query}&{RANGE}&plan=true"));
        assert_eq!(answer.status, 200, "{query}: {}", answer.text());
        answer.json()
    };
    let of_csv = plan(&format!("{SCALARS}&format=csv"));
    let csv = made(&archive, &format!("{SCALARS}&format=csv&before=false&{RANGE}"));
    assert_eq!((&of_csv["samples"], &of_csv["refused"]), (&csv.0["samples"], &Value::Null));
    let [bytes, reckoned] = [csv.1.len() as u64, of_csv["bytes"].as_u64().unwrap()];
    assert!(reckoned >= bytes / 2, "{reckoned} bytes were reckoned, and there are {bytes}");
    assert!(of_csv["notes"].to_string().contains("formulas") && of_csv["notes"].to_string().contains("no samples"));
    let split = plan("pv=T:DOUBLE&rows=aligned&period=0.05&format=xlsx");
    assert_eq!((&split["rows_count"], &split["refused"]), (&1_728_020.into(), &Value::Null), "{split}");
    assert!(split["notes"].to_string().contains("2 sheets"), "{split}");
    let refused = plan("pv=T:DOUBLE&rows=aligned&period=0.0001&format=xlsx");
    assert_eq!(refused["refused"]["code"], "too_large");
    assert!(refused["refused"]["hint"].as_str().unwrap().contains("parquet"));
    assert_eq!(archive.get("/api/v1/exports").json()["exports"].as_array().unwrap().len(), 1, "plans are no exports");
    let named = plan("pv=T:DOUBLE&format=mat");
    assert!(named["notes"].to_string().contains("letters, digits"), "{named}");
}

#[test]
fn one_client_that_orders_a_thousand_gets_a_few_and_others_get_theirs() {
    let (archive, _folder) = archive();
    let mut connection = Connection::to(archive.address);
    let mut ordered = 0;
    for _ in 0..1000 {
        let answer = connection.ask("POST", &format!("/api/v1/exports?{ALL}&{RANGE}&format=xlsx"), &[], b"");
        match answer.status {
            201 => ordered += 1,
            503 => {
                assert_eq!(answer.json()["error"]["code"], "busy");
                assert!(answer.json()["error"]["hint"].is_string());
            }
            status => panic!("{status}: {}", answer.text()),
        }
    }
    assert!((1..=25).contains(&ordered), "{ordered} were ordered");
    let listed = archive.get("/api/v1/exports").json();
    assert_eq!(listed["exports"].as_array().unwrap().len(), ordered);
    for job in listed["exports"].as_array().unwrap() {
        assert_eq!(archive.ask("DELETE", &format!("/api/v1/exports/{}", job["number"])).status, 200);
    }
    made(&archive, &format!("{ALL}&{RANGE}&format=xlsx"));
}

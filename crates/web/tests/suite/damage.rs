//! A damaged block in the middle of what was asked for: every format tells of it, by a note, by breaking off or by a refusal.

use crate::served;

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use archive::{By, Method, Protocol, PvName, PvSettings, PvState, Record, Sink};
use sample::{Alarm, Batch, Column, Runs, Timestamp};
use served::{Answer, Archive, Connection, time};
use store::Store;

const BLOCK: i64 = 8192;
const BLOCKS: i64 = 3;
const RANGE: &str = "from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z";

/// Three blocks of numbers that no codec makes small, in one segment.
fn fill(store: &Store) {
    let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Paused);
    let writer = store.writer();
    let pv =
        writer.register(&[(PvName::new("T:BROKEN").unwrap(), settings)], &By::new("test", time(0.0))).unwrap()[0].id;
    for block in 0..BLOCKS {
        let rows = block * BLOCK..(block + 1) * BLOCK;
        let (mut alarms, mut pulses) = (Runs::default(), Runs::default());
        alarms.push(&Alarm::default(), BLOCK as usize);
        pulses.push(&0, BLOCK as usize);
        let times = rows.clone().map(|row| Timestamp::from_nanos(time(0.0).nanos() + row * 1_000_000)).collect();
        let values = Column::F64(rows.map(|row| ((row * 7919) as f64).sin()).collect());
        let batch = Batch::from_columns(times, values, alarms, pulses).unwrap();
        writer.append(&[(pv, Record::Samples(batch))], time(0.0)).unwrap();
    }
    let (reader, begun) = (store.reader(), Instant::now());
    let flushes = reader.health().flushes;
    store.tick(served::clock().saturating_add(Duration::from_secs(7200)));
    while reader.health().flushes == flushes {
        assert!(begun.elapsed() < Duration::from_secs(30), "the store does not flush");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn segments(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = entries.flat_map(|path| if path.is_dir() { segments(&path) } else { vec![path] });
    below.filter(|path| path.extension().is_some_and(|extension| extension == "seg")).collect()
}

/// Turns a bit in the middle of the segment, and back.
fn turn_a_bit(archive: &Archive) {
    let segments = segments(archive.folder());
    let [segment] = &segments[..] else { panic!("{} segments in place of one", segments.len()) };
    let mut bytes = fs::read(segment).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    fs::write(segment, bytes).unwrap();
}

fn tells(answer: &Answer) -> &'static str {
    let noted = |word: &str| answer.body.windows(word.len()).any(|found| found == word.as_bytes());
    let has_note = match answer.header("content-type") {
        Some("application/json") => noted("\"damage\":[\"") || noted("\"damaged\""),
        Some("application/x-protobuf") => noted("damaged"),
        Some("application/vnd.apache.arrow.stream") => noted("damage"),
        _ => false,
    };
    match (answer.status, answer.whole) {
        (200, false) => "by breaking off",
        (200, true) if has_note => "by a note",
        (200, true) => "not at all",
        (500, _) if answer.json()["error"]["message"].is_string() => "by a refusal",
        (status, _) => panic!("{status}: {}", answer.text()),
    }
}

#[test]
fn every_format_tells_of_a_block_that_is_damaged_in_the_middle() {
    let archive = Archive::start(fill, |config| config);
    let appliance = |format: &str| format!("/retrieval/data/getData.{format}?pv=T:BROKEN&{RANGE}");
    let many = |format: &str| format!("/retrieval/data/getDataForPVs.{format}?pv=T:BROKEN,T:BROKEN&{RANGE}");
    let own = |format: &str| format!("/api/v1/pvs/T:BROKEN/samples?{RANGE}&format={format}");
    let own_many = |format: &str| format!("/api/v1/samples?pv=T:BROKEN&{RANGE}&format={format}");
    let aligned = |format: &str| format!("/api/v1/aligned?pv=T:BROKEN&{RANGE}&format={format}&times_of=T:BROKEN");
    let mut urls: Vec<(String, &[&str])> = Vec::new();
    let (note, off, refused) = (&["by a note"][..], &["by breaking off"][..], &["by a refusal"][..]);
    let either = &["by a refusal", "by breaking off"][..];
    urls.extend(["json", "raw"].map(|format| (appliance(format), note)));
    urls.extend(["json", "raw"].map(|format| (many(format), note)));
    urls.extend(["csv", "txt", "qw", "jplot", "flx"].map(|format| (appliance(format), off)));
    urls.extend(["svg", "mat"].map(|format| (appliance(format), refused)));
    urls.extend([(own("json"), note), (own("csv"), off), (own("npy"), refused)]);
    urls.extend(["arrow", "parquet"].map(|format| (own(format), either)));
    urls.extend([(own_many("json"), note), (own_many("arrow"), note), (own_many("csv"), off)]);
    urls.extend(["json", "csv", "arrow"].map(|format| (aligned(format), either)));

    let whole: Vec<Answer> = urls.iter().map(|(url, _)| archive.get(url)).collect();
    for ((url, _), answer) in urls.iter().zip(&whole) {
        assert_eq!((answer.status, answer.whole, tells(answer)), (200, true, "not at all"), "{url}");
    }
    turn_a_bit(&archive);
    for (url, expected) in &urls {
        let answer = archive.get(url);
        assert!(expected.contains(&tells(&answer)), "{url}: {}", tells(&answer));
        for coding in ["gzip", "zstd"] {
            let answer = Connection::to(archive.address).ask("GET", url, &[("accept-encoding", coding)], b"");
            let is_coded = answer.header("content-encoding").is_some();
            // What was noted before is noted within; what broke off breaks off.
            assert!(is_coded && expected == &note || expected.contains(&tells(&answer)), "{url} in {coding}");
        }
    }
    turn_a_bit(&archive);
    for ((url, _), before) in urls.iter().zip(&whole) {
        if !url.contains(".svg") && !url.contains(".mat") {
            assert!(archive.get(url).body == before.body, "{url} is not as it was");
        }
    }
}

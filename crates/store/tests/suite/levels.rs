//! Levels that say something else than their samples, with every checksum right: only a check against the samples finds them.

use crate::common;

use std::path::{Path, PathBuf};

use archive::{Record, Sink};
use common::{at, only, register, wait_until};
use sample::{Alarm, Batch, Element, Sample, Value, ValueType};
use store::{Config, Scrub, Store};
use xxhash_rust::xxh3::xxh3_64;

const SECOND: i64 = 1_000_000_000;
/// So many samples of one PV that a flush writes their levels: of 1 min, 5 min and 30 min.
const SAMPLES: i64 = 140_000;

/// An archive with one segment.
fn write(folder: &Path) -> PathBuf {
    let store = Store::open(Config::new(folder), at(0)).unwrap();
    let pv = register(&store, &["A"]).unwrap()[0];
    let mut batch = Batch::new(ValueType::scalar(Element::F64));
    for row in 0..SAMPLES {
        let value = Value::F64((row * row % 100_003) as f64 / 100.0);
        let time = at(row * SECOND / 100);
        assert!(batch.push(&Sample { time, value, alarm: Alarm::default(), pulse: 0, stamp: None }));
    }
    store.writer().append(&[(pv, Record::Samples(batch))], at(SECOND)).unwrap();
    store.close(at(2 * SECOND)).unwrap();
    only(folder, "seg")
}

fn u32_at(bytes: &[u8], place: usize) -> usize {
    u32::from_le_bytes(bytes[place..place + 4].try_into().unwrap()) as usize
}

fn u64_at(bytes: &[u8], place: usize) -> usize {
    u64::from_le_bytes(bytes[place..place + 8].try_into().unwrap()) as usize
}

fn varint(bytes: &[u8], place: &mut usize) -> usize {
    let (mut number, mut shift) = (0, 0);
    loop {
        let byte = bytes[*place];
        *place += 1;
        number |= usize::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            return number;
        }
    }
}

fn seal(bytes: &mut [u8], check_at: usize, from: usize, to: usize) {
    let check = xxh3_64(&bytes[from..to]);
    bytes[check_at..check_at + 8].copy_from_slice(&check.to_le_bytes());
}

/// Changes the last value of one of the last rows of the finest level, and every checksum that covers it.
fn forge(bytes: &mut [u8]) {
    let footer = bytes.len() - 16 - u32_at(bytes, bytes.len() - 16);
    let (page, names) = (u64_at(bytes, footer + 64), u64_at(bytes, footer + 72));
    let record = page + 8;
    let lens = [48, 52, 56].map(|place| u32_at(bytes, record + place));
    let start = u64_at(bytes, record + 40) + lens[0] + lens[1];
    let end = start + lens[2];
    let mut place = start + 8;
    assert_eq!(varint(bytes, &mut place), 20, "the type is f64");
    let levels = varint(bytes, &mut place);
    assert_eq!(levels, 3);
    let mut len = 0;
    for _ in 0..levels {
        let _seconds = varint(bytes, &mut place);
        len = varint(bytes, &mut place);
        place += 8;
    }
    bytes[end - 2] ^= 1; // the last column holds the last values, decimals as packed integers
    seal(bytes, place - 8, end - len, end);
    seal(bytes, start, start + 8, place);
    seal(bytes, record + 80, start, end);
    seal(bytes, page, record, names);
}

#[test]
fn a_level_that_is_not_that_of_its_samples_is_found_although_every_checksum_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let segment = write(folder.path());
    let report = store::check(folder.path(), |_| {}).unwrap();
    assert!(report.is_clean() && report.samples == SAMPLES as u64, "{report:?}");
    let mut bytes = std::fs::read(&segment).unwrap();
    forge(&mut bytes);
    std::fs::write(&segment, bytes).unwrap();
    let report = store::check(folder.path(), |_| {}).unwrap();
    assert_eq!(report.bad_blocks, []);
    let [problem] = &report.problems[..] else { panic!("one problem was expected: {:?}", report.problems) };
    assert!(problem.ends_with("the level of 60 s of PV 0 is not that of its samples"), "{problem}");

    // So does the scrub.
    let config = Config { scrub: Scrub::Rate(1 << 40), ..Config::new(folder.path()) };
    let store = Store::open(config, at(3 * SECOND)).unwrap();
    let health = || store.reader().health();
    wait_until("it is told", || health().scrub.findings > 0);
    let problems = health().problems;
    assert!(problems.iter().any(|found| found.contains("the level of 60 s of PV 0 is not that")), "{problems:?}");
}

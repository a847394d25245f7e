//! Large values through the whole store: around each limit at which they are kept in another way, up to the largest there is, and
//! one of 100 MB from the append to the backup. With `PVARK_LARGE=1` it is noise in every bit instead of a signal.

use crate::common;

use std::{
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use archive::{PvId, Record, Sink, VALUE_BYTES_MAX};
use common::{at, read, register, sample};
use pvdata::{
    Array, Data, Extent, Scalar, Tree, Type,
    wire::{Order, Writer},
};
use sample::{Batch, Column, Sample, TimeRange, Value};
use store::{Config, Durable, Error, Kept, Repairing, Store, Stretch};

const WEEK: i64 = 7 * 86_400_000_000_000;
const MIB: usize = 1 << 20;

/// Held by each test: all at once they would take 7 GB of memory.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn config(folder: &Path) -> Config {
    let durable = Durable::Every(Duration::from_millis(5));
    Config { durable, head_bytes_max: 2 << 30, reserve_bytes: 0, ..Config::new(folder) }
}

/// Waits until `done`, longer than other tests do: there is much to be packed, and other programs may be running.
fn wait_until(what: &str, done: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(300);
    while !done() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn noise(i: usize) -> u64 {
    (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// A ramp of floats of which the first one changes.
fn ramp(bytes: usize, row: i64) -> Value {
    Value::Array(Column::F64((0..bytes / 8).map(|i| if i == 0 { row as f64 } else { 0.1 * i as f64 }).collect()))
}

/// Integers of which every one changes.
fn integers(bytes: usize, row: i64) -> Value {
    Value::Array(Column::I32((0..bytes / 4).map(|i| noise(i + row as usize * 77) as i32).collect()))
}

/// Texts that take so many bytes, eight of them for the end of each.
fn texts(bytes: usize, row: i64) -> Value {
    let text = |i: usize| format!("{:056}", noise(i + row as usize));
    Value::Array(Column::String((0..bytes / 64).map(text).collect::<Vec<_>>().iter().map(String::as_str).collect()))
}

fn one_text(bytes: usize, row: i64) -> Value {
    Value::String(format!("{row}{}", "x".repeat(bytes - row.to_string().len())).into())
}

/// A structure with a picture.
fn picture(bytes: usize, row: i64) -> Value {
    let pixels = (0..bytes).map(|i| (noise(i / 8) >> (8 * (i % 8))) as u8 & 15 | row as u8 & 16).collect();
    let fields = [("uniqueId", Type::Scalar(Scalar::I32)), ("value", Type::Array(Scalar::U8, Extent::Variable))];
    let ty = Type::structure("test:picture", fields).unwrap();
    let value = Tree::Structure(vec![Tree::I32(row as i32), Tree::Array(Array::U8(pixels))]);
    let mut writer = Writer::new(Order::Little);
    Data { ty, value }.encode(&mut writer).unwrap();
    Value::Structure(writer.into_bytes().into())
}

/// What a PV sends: the value of a row that has so many bytes.
type Kind = fn(usize, i64) -> Value;

/// Around these sizes a value is kept in another way: as long as one shares a block with others, goes into a frame of the log with
/// others and is written as one column, and as long as several that hardly differ share a block.
const BORDERS: [usize; 3] = [256 << 10, MIB, BLOCK];
const BLOCK: usize = 16 * MIB;

/// One PV for each kind and size, with the bytes of an element.
fn pvs() -> Vec<(String, Kind, usize)> {
    let kinds: [(&str, Kind, usize); 5] = [
        ("RAMP", ramp, 8),
        ("INTEGERS", integers, 4),
        ("TEXTS", texts, 64),
        ("TEXT", one_text, 1),
        ("PICTURE", picture, 1),
    ];
    let mut pvs = Vec::new();
    for (name, kind, element) in kinds {
        for border in BORDERS {
            let sizes = match (name, border) {
                ("INTEGERS", BLOCK) => vec![border + element],
                (_, BLOCK) if name != "RAMP" => vec![], // the largest of all are in tests of their own
                _ => vec![border - element, border, border + element],
            };
            pvs.extend(sizes.into_iter().map(|bytes| (format!("{name}:{bytes}"), kind, bytes)));
        }
    }
    pvs
}

fn expected(kind: Kind, bytes: usize, rows: i64) -> Vec<Sample> {
    (0..rows).map(|row| sample(row * 10, kind(bytes, row))).collect()
}

fn append(store: &Store, pvs: &[(PvId, Vec<Sample>)], rows: std::ops::Range<usize>) {
    for row in rows {
        for (pv, samples) in pvs {
            let sample = samples[row].clone();
            let now = sample.time;
            let record = if row % 2 == 0 { Record::Sample(sample) } else { Record::Samples(Batch::of(&sample)) };
            store.writer().append(&[(*pv, record)], now).unwrap();
        }
    }
}

fn assert_all_there(store: &Store, pvs: &[(PvId, Vec<Sample>)], rows: usize, when: &str) {
    for (pv, samples) in pvs {
        let name = store.reader().entry(*pv).unwrap().name;
        assert!(read(store, *pv, TimeRange::ALL) == samples[..rows], "{name} {when}");
        let last = store.reader().last_before(*pv, at(15)).unwrap();
        assert!(last.as_ref() == samples.get(1), "{name} {when}, at a time");
    }
    assert_eq!(store.reader().health().problems, Vec::<String>::new(), "{when}");
}

fn flush(store: &Store, now: i64) {
    let flushes = store.reader().health().flushes;
    store.tick(at(now));
    wait_until("it is flushed", || store.reader().health().flushes > flushes);
}

fn assert_whole(folder: &Path) {
    let check = store::check(folder, |_| {}).unwrap();
    assert_eq!((check.problems, check.bad_blocks.len()), (Vec::new(), 0));
}

#[test]
fn values_around_each_limit_are_read_back_from_head_log_blocks_and_merged_blocks() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(config(folder.path()), at(0)).unwrap();
    let kinds = pvs();
    let names: Vec<&str> = kinds.iter().map(|(name, ..)| name.as_str()).collect();
    let ids = register(&store, &names).unwrap();
    let rows = |bytes: usize| if bytes < 2 * MIB { 3 } else { 2 };
    let samples = kinds.iter().map(|(_, kind, bytes)| expected(*kind, *bytes, rows(*bytes)));
    let pvs: Vec<(PvId, Vec<Sample>)> = ids.into_iter().zip(samples).collect();
    append(&store, &pvs, 0..2);
    assert_all_there(&store, &pvs, 2, "in the head");
    drop(store); // as a crash would
    let store = Store::open(config(folder.path()), at(20)).unwrap();
    assert_all_there(&store, &pvs, 2, "from the log");
    flush(&store, WEEK);
    let few: Vec<_> = pvs.into_iter().filter(|(_, samples)| samples.len() > 2).collect();
    append(&store, &few, 2..3);
    assert_all_there(&store, &few, 3, "in blocks and head");
    store.close(at(WEEK + 1)).unwrap();
    let store = Store::open(config(folder.path()), at(3 * WEEK)).unwrap();
    wait_until("the week is merged", || store.reader().health().segments == 1);
    assert_all_there(&store, &few, 3, "merged");
    drop(store);
    assert_whole(folder.path());
}

#[test]
fn one_of_100_megabytes_goes_all_the_way() {
    let _alone = alone();
    let is_noise = std::env::var_os("PVARK_LARGE").is_some();
    let value = |row: i64| match is_noise {
        true => integers(100_000_000, row),
        false => Value::Array(Column::F64((0..12_500_000).map(|i| (i as i64 * 7 % 1009 + row) as f64 * 0.5).collect())),
    };
    let (folder, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = Store::open(config(folder.path()), at(0)).unwrap();
    let pv = register(&store, &["LARGE"]).unwrap()[0];
    let all = [sample(0, value(0)), sample(10, value(1))];
    store.writer().append(&[(pv, Record::Sample(all[0].clone()))], at(0)).unwrap();
    drop(store); // as a crash would
    let store = Store::open(config(folder.path()), at(5)).unwrap();
    assert!(read(&store, pv, TimeRange::ALL) == all[..1], "from the log");
    flush(&store, WEEK);
    store.writer().append(&[(pv, Record::Sample(all[1].clone()))], at(10)).unwrap();
    store.close(at(WEEK + 1)).unwrap();
    let store = Store::open(config(folder.path()), at(3 * WEEK)).unwrap();
    wait_until("the week is merged", || store.reader().health().segments == 1);
    assert!(read(&store, pv, TimeRange::ALL) == all, "merged");
    assert_eq!(store.reader().last_before(pv, at(9)).unwrap().as_ref(), all.first());
    let stretches = store.reader().stretches(pv, TimeRange::ALL, [at(5)].into());
    let rows = stretches.map(|stretch| match stretch.unwrap() {
        Stretch::Samples(batch) => batch.len(),
        Stretch::Summary(summary) => summary.count as usize,
    });
    assert_eq!(rows.sum::<usize>(), 2);
    drop(store);
    store::backup(folder.path(), copy.path(), Kept::Trusted, |_| {}).unwrap();
    store::repair(copy.path(), Repairing::Look, at(4 * WEEK), |_| {}).unwrap();
    for folder in [folder.path(), copy.path()] {
        assert_whole(folder);
    }
}

#[test]
fn what_is_larger_than_any_value_may_be_is_refused_and_what_is_not_is_taken_however_it_comes() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(config(folder.path()), at(0)).unwrap();
    let pv = register(&store, &["LIMIT"]).unwrap()[0];
    let bytes = |len: usize| Value::Array(Column::U8(vec![7; len]));
    let mut beside = Batch::of(&sample(1, bytes(10)));
    assert!(beside.push(&sample(2, bytes(VALUE_BYTES_MAX + 1))));
    let text = Value::String("x".repeat(VALUE_BYTES_MAX + 1).into());
    let refused = [
        Record::Sample(sample(1, bytes(VALUE_BYTES_MAX + 1))),
        Record::Samples(beside),
        Record::Sample(sample(1, text)),
    ];
    for record in refused {
        let small = Record::Sample(sample(0, bytes(1)));
        let error = store.writer().append(&[(pv, small), (pv, record)], at(5)).unwrap_err();
        assert!(matches!(error, Error::TooLarge { .. }), "{error}");
        assert!(error.to_string().contains("134217729 bytes, more than the 128 MiB"), "{error}");
    }
    assert_eq!(store.reader().health().refused_samples, 2 + 3 + 2);
    assert!(read(&store, pv, TimeRange::ALL).is_empty(), "nothing is half taken");
    let mut beside = Batch::of(&sample(10, bytes(10)));
    assert!(beside.push(&sample(20, bytes(VALUE_BYTES_MAX))));
    store.writer().append(&[(pv, Record::Samples(beside))], at(5)).unwrap();
    flush(&store, WEEK);
    let found = read(&store, pv, TimeRange::ALL);
    assert!(found == [sample(10, bytes(10)), sample(20, bytes(VALUE_BYTES_MAX))]);
}

/// Acquisition asks again when the store is busy; it must not be so for ever.
#[test]
fn values_larger_than_the_head_and_the_file_of_the_log_get_through() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let config = || Config { head_bytes_max: MIB, log_file_bytes: 64 << 10, ..config(folder.path()) };
    let store = Store::open(config(), at(0)).unwrap();
    let pv = register(&store, &["LARGE"]).unwrap()[0];
    let all = expected(integers, 5 * MIB, 8);
    for sample in &all {
        let record = [(pv, Record::Sample(sample.clone()))];
        wait_until("the store takes it", || match store.writer().append(&record, sample.time) {
            Ok(()) => true,
            Err(Error::Busy) => false,
            Err(error) => panic!("{error}"),
        });
    }
    drop(store);
    let store = Store::open(config(), at(100)).unwrap();
    assert!(read(&store, pv, TimeRange::ALL) == all);
    assert_eq!(store.reader().health().problems, Vec::<String>::new());
}

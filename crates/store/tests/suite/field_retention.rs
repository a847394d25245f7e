//! Retention of single fields of structures: a field goes when its week has been over for as long as it is kept, its bytes are freed,
//! the rest of the structures stays, readers are told, and neither merges, restarts nor power cuts bring it back or take more.

use crate::common;
use crate::sim;

use std::{collections::BTreeSet, path::Path, sync::Arc, time::Duration};

use archive::{By, Keep, Purge, PvId, PvSettings, Rules};
use common::{append, at, by, name, read, register, sample, settings, wait_until};
use pvdata::{
    Array, Data, Extent, Scalar, Tree, Type,
    wire::{Order, Writer},
};
use sample::{Alarm, GapCause, Sample, Severity, TimeRange, Value};
use sim::{Crash, SimDisk};
use store::{Config, Durable, Retention, Rule, Store, check, disk::Disk};

const DAY: i64 = 86_400_000_000_000;
const SECOND: i64 = 1_000_000_000;

/// A structure with a number, a waveform that cannot be packed, and an alarm.
fn structure(row: i64) -> Value {
    let mut noise = row as u64 ^ 0x9e37_79b9_7f4a_7c15;
    let mut next = || {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (noise >> 11) as f64
    };
    let wave: Vec<f64> = (0..100).map(|_| next()).collect();
    let value = [("rms", Type::Scalar(Scalar::F64)), ("wave", Type::Array(Scalar::F64, Extent::Variable))];
    let fields = [
        ("value", Type::structure("", value).unwrap()),
        ("alarm", Type::structure("alarm_t", [("severity", Type::Scalar(Scalar::I32))]).unwrap()),
    ];
    let trees = vec![
        Tree::Structure(vec![Tree::F64(row as f64 / 3.0), Tree::Array(Array::F64(wave))]),
        Tree::Structure(vec![Tree::I32((row % 3) as i32)]),
    ];
    let mut writer = Writer::new(Order::Little);
    let data = Data { ty: Type::structure("lab:wave", fields).unwrap(), value: Tree::Structure(trees) };
    data.encode(&mut writer).unwrap();
    Value::Structure(writer.into_bytes().into())
}

fn samples(day: i64, rows: i64) -> Vec<Sample> {
    let alarm = |row| Alarm { severity: Severity::from_number(row % 3), status: 4, message: None };
    let structured =
        |row| Sample { alarm: alarm(row), ..sample(day * DAY + row * SECOND, structure(day * 1000 + row)) };
    (0..rows).map(structured).collect()
}

fn numbers(day: i64, rows: i64) -> Vec<Sample> {
    (0..rows).map(|row| sample(day * DAY + row * SECOND, Value::F64((row * row) as f64 / 7.0))).collect()
}

fn rule(pvs: &str, days: Option<u64>) -> Rule {
    Rule { pvs: pvs.into(), keep: days.map(|days| Duration::from_secs(days * 86_400)) }
}

fn config(folder: &Path, rules: &[Rule]) -> Config {
    let retention = Retention { keep: None, rules: rules.to_vec() };
    Config { durable: Durable::Every(Duration::from_millis(1)), retention, ..Config::new(folder) }
}

/// A segment of samples of X, which are structures, and of N.
fn record(store: &Store, pvs: &[PvId], day: i64, rows: i64) {
    let flushes = store.reader().health().flushes;
    append(store, pvs[0], &samples(day, rows)).unwrap();
    append(store, pvs[1], &numbers(day, rows)).unwrap();
    store.tick(at(day * DAY + DAY / 2));
    wait_until("the head is flushed", || store.reader().health().flushes > flushes);
}

fn field(store: &Store, pv: PvId, path: &str) -> Vec<Sample> {
    let batches = store.reader().samples(pv, TimeRange::ALL).of_field(path).map(|batch| batch.unwrap());
    batches.flat_map(|batch| (0..batch.len()).map(move |row| batch.get(row)).collect::<Vec<_>>()).collect()
}

fn paths(store: &Store, pv: PvId, time: i64) -> Vec<String> {
    store.reader().fields(pv, at(time)).unwrap().into_iter().map(|(path, _)| path).collect()
}

/// From, to and samples of each gap that retention left in a field.
fn taken(store: &Store, pv: PvId, path: &str) -> Vec<(i64, i64, u64)> {
    let gaps = store.reader().gaps_of_field(pv, path, TimeRange::ALL).unwrap();
    let expired = gaps.iter().map(|(_, gap)| gap).filter(|gap| gap.cause == GapCause::Expired);
    expired.map(|gap| (gap.from.nanos(), gap.to.unwrap().nanos(), gap.lost)).collect()
}

/// Bytes of all segments.
fn bytes(folder: &Path) -> u64 {
    let weeks = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let files = weeks.flat_map(|week| std::fs::read_dir(week).unwrap().map(|entry| entry.unwrap()));
    files.filter(|file| file.path().extension().is_some_and(|e| e == "seg")).map(|f| f.metadata().unwrap().len()).sum()
}

fn expired_lines(store: &Store) -> Vec<(String, u64, u64)> {
    let lines = store.reader().audit(u64::MAX, 100).unwrap();
    let expired = lines.into_iter().filter(|line| line.action.name() == "expired");
    expired.map(|line| (line.detail, line.samples, line.bytes)).collect()
}

#[test]
fn a_field_goes_after_its_week_and_all_else_of_its_structures_stays() {
    let folder = tempfile::tempdir().unwrap();
    let rules = [rule("X.value.wave", Some(7)), rule("X", None)];
    let open = |rules: &[Rule], day| Store::open(config(folder.path(), rules), at(day * DAY)).unwrap();
    let store = open(&rules, 0);
    let pvs = register(&store, &["X", "N"]).unwrap();
    for day in [5, 6, 12] {
        record(&store, &pvs, day, 500);
    }
    let before = (
        field(&store, pvs[0], "value.rms"),
        field(&store, pvs[0], "alarm.severity"),
        read(&store, pvs[1], TimeRange::ALL),
    );
    let waves = field(&store, pvs[0], "value.wave");
    assert_eq!((before.0.len(), waves.len()), (1500, 1500));
    store.tick(at(17 * DAY));
    wait_until("the first week is sealed", || store.reader().health().weeks_pending == 0);
    assert_eq!((field(&store, pvs[0], "value.wave").len(), expired_lines(&store)), (1500, vec![]), "it is too early");
    wait_until("what was merged is gone", || bytes(folder.path()) == store.reader().health().block_bytes);
    let whole = bytes(folder.path());

    store.tick(at(18 * DAY + DAY / 2)); // the first week has been over for a week
    wait_until("the waveforms of the first week are gone", || field(&store, pvs[0], "value.wave").len() == 500);
    let as_before = |store: &Store, context: &str| {
        assert_eq!(field(store, pvs[0], "value.rms"), before.0, "{context}");
        assert_eq!(field(store, pvs[0], "alarm.severity"), before.1, "{context}");
        assert_eq!(read(store, pvs[1], TimeRange::ALL), before.2, "{context}");
    };
    as_before(&store, "trimmed");
    assert_eq!(field(&store, pvs[0], "value.wave"), waves[1000..]);
    assert_eq!(paths(&store, pvs[0], 7 * DAY), ["value.rms", "alarm.severity"]);
    assert_eq!(paths(&store, pvs[0], 13 * DAY), ["value.rms", "value.wave", "alarm.severity"]);
    wait_until("the old file is removed", || bytes(folder.path()) < whole - 1000 * 600);
    wait_until("what was trimmed is gone", || bytes(folder.path()) == store.reader().health().block_bytes);
    let freed = whole - bytes(folder.path());
    let lines = expired_lines(&store);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].0.ends_with(", the fields X.value.wave") && lines[0].1 == 0 && lines[0].2 == freed, "{lines:?}");
    let of_first = (5 * DAY, 6 * DAY + 499 * SECOND + 1, 1000);
    assert_eq!(taken(&store, pvs[0], "value.wave"), [of_first]);
    assert_eq!(taken(&store, pvs[0], "value.rms"), []);

    store.tick(at(25 * DAY + DAY / 2));
    wait_until("all waveforms are gone", || field(&store, pvs[0], "value.wave").is_empty());
    as_before(&store, "trimmed twice");
    let all = (5 * DAY, 12 * DAY + 499 * SECOND + 1, 1500);
    assert_eq!(taken(&store, pvs[0], "value.wave"), [all], "weeks that follow one another are one gap");
    assert_eq!(store.reader().expired_fields(pvs[0]).unwrap(), ["value.wave"]);
    store.close(at(26 * DAY)).unwrap();

    // After a restart with other rules, what is gone stays gone, and the new rules are applied.
    let store = open(&[], 27);
    assert!(field(&store, pvs[0], "value.wave").is_empty());
    assert_eq!(taken(&store, pvs[0], "value.wave"), [all]);
    as_before(&store, "opened again");
    let range = TimeRange::new(at(0), at(6 * DAY)).unwrap();
    store.writer().delete_range(pvs[1], range, &by(27 * DAY)).unwrap();
    store.writer().purge(Purge { pv: None, before: at(i64::MAX) }, &by(27 * DAY)).unwrap();
    wait_until("a purge has written the segment anew", || store.reader().health().purging == 0);
    assert_eq!(field(&store, pvs[0], "value.rms"), before.0);
    assert!(field(&store, pvs[0], "value.wave").is_empty() && read(&store, pvs[1], TimeRange::ALL) == before.2[500..]);
    store.close(at(28 * DAY)).unwrap();
    let store = open(&[rule("*.value", Some(1))], 29);
    wait_until("what the new rule means is gone", || field(&store, pvs[0], "value.rms").is_empty());
    assert_eq!(field(&store, pvs[0], "alarm.severity"), before.1);
    assert_eq!(taken(&store, pvs[0], "value.rms"), [(5 * DAY, 12 * DAY + 499 * SECOND + 1, 1500)]);
    store.close(at(29 * DAY)).unwrap();
    let report = check(folder.path(), |_| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
}

#[test]
fn a_field_that_is_kept_outlives_its_pv_and_what_was_said_of_a_pv_speaks_for_its_fields() {
    let folder = tempfile::tempdir().unwrap();
    let rules = [rule("*.value.rms", None), rule("*", Some(7))];
    let store = Store::open(config(folder.path(), &rules), at(0)).unwrap();
    let pvs = register(&store, &["X", "N"]).unwrap();
    let by_hand = Rules { keep: Some(Keep::For(Duration::from_secs(86_400))), ..Rules::default() };
    let by_hand = PvSettings { rules: by_hand.shared(), ..settings() };
    let own = store.writer().register(&[(name("OWN"), by_hand)], &By::new("test", at(0))).unwrap()[0].id;
    append(&store, own, &samples(5, 50)).unwrap();
    record(&store, &pvs, 5, 300);
    let rms = field(&store, pvs[0], "value.rms");
    store.tick(at(40 * DAY));
    wait_until("N is gone", || read(&store, pvs[1], TimeRange::ALL).is_empty());
    assert_eq!(field(&store, pvs[0], "value.rms"), rms);
    assert_eq!(paths(&store, pvs[0], 50 * DAY), ["value.rms"]);
    let times = |samples: &[Sample]| samples.iter().map(|s| (s.time, s.alarm.clone())).collect::<Vec<_>>();
    assert_eq!(times(&read(&store, pvs[0], TimeRange::ALL)), times(&samples(5, 300)), "times and alarms stay");
    assert!(read(&store, own, TimeRange::ALL).is_empty(), "it was said of all of it");
    store.close(at(41 * DAY)).unwrap();
    assert!(check(folder.path(), |_| {}).unwrap().is_clean());
}

#[test]
fn rules_that_no_structure_fits_leave_segments_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let rules = [rule("*.nothing", Some(7)), rule("N.value", Some(7))];
    let store = Store::open(config(folder.path(), &rules), at(0)).unwrap();
    let pvs = register(&store, &["X", "N"]).unwrap();
    record(&store, &pvs, 5, 300);
    store.tick(at(12 * DAY));
    wait_until("the week is sealed", || store.reader().health().weeks_pending == 0);
    let (whole, merged) = (bytes(folder.path()), store.reader().health().merged_segments);
    let before = (read(&store, pvs[0], TimeRange::ALL), read(&store, pvs[1], TimeRange::ALL));
    store.close(at(13 * DAY)).unwrap();
    let store = Store::open(config(folder.path(), &rules), at(40 * DAY)).unwrap();
    for day in 41..44 {
        record(&store, &pvs, day, 10);
    }
    let old = TimeRange::new(at(0), at(40 * DAY)).unwrap();
    assert_eq!((read(&store, pvs[0], old), read(&store, pvs[1], old)), before);
    assert!(bytes(folder.path()) > whole && merged == 0 && expired_lines(&store).is_empty());
    wait_until("the rule that means nothing is told", || !store.reader().health().problems.is_empty());
    let expected = "the rule of retention for \"N.value\" means nothing: the newest value of N is no structure but f64";
    assert_eq!(store.reader().health().problems, [expected]);
}

/// What is there of X and N: the waveforms and all else.
fn held(store: &Store, pvs: &[PvId]) -> (Vec<Sample>, [Vec<Sample>; 3]) {
    let all_else = [
        field(store, pvs[0], "value.rms"),
        field(store, pvs[0], "alarm.severity"),
        read(store, pvs[1], TimeRange::ALL),
    ];
    (field(store, pvs[0], "value.wave"), all_else)
}

#[test]
fn a_power_cut_at_any_change_takes_a_field_wholly_or_not_at_all() {
    let rules = [rule("X.value.wave", Some(1))];
    let open = |disk: &Arc<SimDisk>, day: i64| {
        let places: Vec<Arc<dyn Disk>> = Vec::new();
        Store::open_on_disks(disk.clone(), places, config(Path::new("simulated"), &rules), at(day * DAY)).unwrap()
    };
    let mut results = BTreeSet::new();
    for cut in 0.. {
        let disk = Arc::new(SimDisk::default());
        let store = open(&disk, 0);
        let pvs = register(&store, &["X", "N"]).unwrap();
        record(&store, &pvs, 5, 60);
        let (waves, all_else) = held(&store, &pvs);
        disk.crash_after(disk.changes() + cut);
        store.tick(at(14 * DAY));
        let gone = || field(&store, pvs[0], "value.wave").is_empty();
        wait_until("it is taken away or the power is gone", || disk.has_crashed() || gone());
        let over = gone() && !disk.has_crashed();
        drop(store);
        for crash in [Crash::OfProcess, Crash::Forgetful, Crash::Torn(cut)] {
            let store = open(&Arc::new(disk.after(crash)), 9); // too early to go on
            let context = format!("cut after {cut}, {crash:?}");
            let (left, rest) = held(&store, &pvs);
            assert_eq!(rest, all_else, "{context}");
            assert!(left == waves || left.is_empty(), "{context}: {} waveforms", left.len());
            assert_eq!(taken(&store, pvs[0], "value.wave").len(), usize::from(left.is_empty()), "{context}");
            results.insert(left.is_empty());
            store.tick(at(15 * DAY));
            wait_until("it is taken away", || field(&store, pvs[0], "value.wave").is_empty());
            assert_eq!(held(&store, &pvs).1, all_else, "{context}");
            let gap = (5 * DAY, 5 * DAY + 59 * SECOND + 1, 60);
            assert_eq!(taken(&store, pvs[0], "value.wave"), [gap], "{context}: it is told once");
        }
        if over {
            break;
        }
    }
    assert_eq!(results.len(), 2, "cuts came before and after");
}

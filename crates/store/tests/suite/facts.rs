//! Facts besides samples: gaps over restarts, the history of metadata, PVs with their numbers and settings.

use crate::common;

use std::time::Duration;

use archive::{
    Action, By, GapScope, LedgerScale, Method, Protocol, PvId, PvName, PvSettings, PvState, Record, Roster, Sink,
    ledger_share,
};
use common::{append, at, register, sample, settings, wait_until};
use sample::{Gap, GapCause, Limits, Metadata, TimeRange, Value};
use store::{Config, Store};

fn open(folder: &tempfile::TempDir, now: i64) -> Store {
    Store::open(Config::new(folder.path()), at(now)).unwrap()
}

fn units(text: &str) -> Metadata {
    Metadata { units: Some(text.to_owned()), ..Metadata::default() }
}

#[test]
fn a_restart_ends_open_gaps_and_leaves_one_of_the_archiver() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, 100);
    let pv = register(&store, &["A"]).unwrap()[0];
    let lost = |from, to| Gap { from: at(from), to, cause: GapCause::Disconnected, lost: 0 };
    assert_eq!(store.reader().gaps(pv, TimeRange::ALL).unwrap(), [], "the first start is no gap");
    store.writer().append(&[(pv, Record::Gap(lost(110, None)))], at(111)).unwrap();
    store.close(at(200)).unwrap();

    let store = open(&folder, 300);
    let archiver = |from, to| Gap { from: at(from), to: Some(at(to)), cause: GapCause::ArchiverStopped, lost: 0 };
    let after_close = [(GapScope::Pv, lost(110, Some(at(200)))), (GapScope::Archiver, archiver(200, 300))];
    assert_eq!(store.reader().gaps(pv, TimeRange::ALL).unwrap(), after_close);
    store.writer().append(&[(pv, Record::Gap(lost(310, None)))], at(310)).unwrap();
    store.tick(at(350)); // the last sign of life
    wait_until("the log is synced", || store.reader().health().syncs > 0);
    drop(store);

    let store = open(&folder, 400);
    let gaps = store.reader().gaps(pv, TimeRange::ALL).unwrap();
    let after_crash = [(GapScope::Pv, lost(310, Some(at(350)))), (GapScope::Archiver, archiver(350, 400))];
    assert_eq!(gaps, [after_close, after_crash].concat());
    let some = TimeRange::new(at(200), at(320)).unwrap();
    assert_eq!(store.reader().gaps(pv, some).unwrap(), gaps[1..3]);
}

/// A gap that a crash left open was ended in memory only: the next crash before a flush found it open again, and ended it at
/// its own last sign of life, over all samples in between.
#[test]
fn a_gap_that_a_crash_left_open_ends_there_after_a_second_crash_too() {
    let folder = tempfile::tempdir().unwrap();
    let gap = |from, to| Gap { from: at(from), to, cause: GapCause::NeverConnected, lost: 0 };
    let store = open(&folder, 100);
    let pv = register(&store, &["A"]).unwrap()[0];
    store.writer().append(&[(pv, Record::Gap(gap(100, None)))], at(100)).unwrap();
    store.tick(at(150));
    wait_until("the log is synced", || store.reader().health().syncs > 0);
    drop(store);
    for (opened, alive) in [(200, 250), (300, 350), (400, 450)] {
        let store = open(&folder, opened);
        store.tick(at(alive));
        wait_until("the log is synced", || store.reader().health().syncs > 0);
        let gaps = store.reader().gaps(pv, TimeRange::ALL).unwrap();
        assert_eq!(gaps[0], (GapScope::Pv, gap(100, Some(at(150)))), "opened at {opened}");
        drop(store);
    }
}

/// Whatever a flush takes out of the log, before or behind a row of the ledger: after a kill the samples behind the row are counted.
#[test]
fn what_came_behind_the_last_row_of_the_ledger_is_counted_wherever_flushes_fall() {
    for flushes in 0..16 {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder, 0);
        let pvs = register(&store, &["A", "B"]).unwrap();
        let names: Vec<PvName> = LedgerScale::Minute.names().map(|name| PvName::recorded(&name).unwrap()).collect();
        let own = store.writer().own(&names, at(0)).unwrap();
        let flush = |step: u32, now: i64| {
            if flushes & 1 << step != 0 {
                let before = store.reader().health().flushes;
                store.tick(at(now * 3_600_000_000_000));
                wait_until("it is flushed", || store.reader().health().flushes > before);
            }
        };
        let samples = |pv: PvId, times: std::ops::Range<i64>| {
            append(&store, pv, &times.map(|time| sample(time, Value::I32(7))).collect::<Vec<_>>()).unwrap();
        };
        samples(pvs[0], 1..11);
        samples(pvs[1], 1..11);
        flush(0, 1);
        samples(pvs[0], 11..16);
        let row = sample(0, Value::Array(sample::Column::U8(vec![1])));
        store.writer().append(&[(own[ledger_share(pvs[0])], Record::LedgerRow(row.clone()))], at(16)).unwrap();
        flush(1, 2);
        samples(pvs[0], 20..23);
        flush(2, 3);
        samples(pvs[0], 30..34);
        flush(3, 4);
        samples(pvs[1], 40..41);
        drop(store);

        let store = open(&folder, 50 * 3_600_000_000_000);
        for _ in 0..2 {
            let unfinished = store.writer().unfinished();
            let share = |pv: PvId| &unfinished.shares[ledger_share(pv)];
            assert_eq!(share(pvs[0]).samples.clone().into_iter().collect::<Vec<_>>(), [(pvs[0], 7)], "{flushes:b}");
            assert_eq!(share(pvs[1]).samples.clone().into_iter().collect::<Vec<_>>(), [(pvs[1], 11)], "{flushes:b}");
            assert!(unfinished.shares.iter().all(|share| share.is_whole), "{flushes:b}");
            assert_eq!((share(pvs[0]).last_row.as_ref(), share(pvs[1]).last_row.as_ref()), (Some(&row), None));
            assert_eq!(unfinished.began, Some(at(0)));
        }
        drop(store);
        let again = open(&folder, 60 * 3_600_000_000_000).writer().unfinished();
        let samples = |pv: &PvId| again.shares[ledger_share(*pv)].samples[pv];
        assert_eq!(pvs.iter().map(samples).collect::<Vec<_>>(), [7, 11], "it was killed before a row was written");
    }
}

#[test]
fn metadata_is_kept_when_it_changes_and_only_then() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, 0);
    let pvs = register(&store, &["A", "B"]).unwrap();
    let record = |since, text| (pvs[0], Record::Metadata(at(since), units(text).into()));
    store.writer().append(&[record(10, "mA"), record(20, "mA")], at(20)).unwrap();
    store.writer().append(&[record(30, "mA")], at(30)).unwrap();
    store.writer().append(&[(pvs[1], Record::Metadata(at(5), units("K").into()))], at(30)).unwrap();
    store.close(at(31)).unwrap();
    let store = open(&folder, 32);
    store.writer().append(&[record(40, "mA")], at(40)).unwrap();
    store.writer().append(&[record(50, "A")], at(50)).unwrap();
    let of = |t0, t1| -> Vec<(i64, String)> {
        let range = TimeRange::new(at(t0), at(t1)).unwrap();
        let changes = store.reader().metadata(pvs[0], range).unwrap();
        changes.into_iter().map(|(since, metadata)| (since.nanos(), metadata.units.unwrap())).collect()
    };
    assert_eq!(of(35, 60), [(10, "mA".to_owned()), (50, "A".to_owned())]);
    assert_eq!(of(55, 60), [(50, "A".to_owned())]);
    assert_eq!(of(0, 9), []);
    assert_eq!(of(0, 11), [(10, "mA".to_owned())]);
}

/// By Channel Access the first value tells type and server, and what the IOC says of the PV comes after it, for the same time.
#[test]
fn starts_add_no_metadata_while_the_ioc_says_the_same_and_one_row_when_it_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let unset = Some(Limits { low: f64::NAN, high: f64::NAN });
    let bare = Metadata { server: Some("127.0.0.1:5064".to_owned()), ..Metadata::default() };
    let full = |text| Metadata { display: unset, warning: unset, server: bare.server.clone(), ..units(text) };
    let moved = |of: &Metadata| Metadata { server: Some("127.0.0.1:5065".to_owned()), ..of.clone() };
    let rows = |store: &Store, pv: PvId| -> Vec<(i64, Metadata)> {
        let rows = store.reader().metadata(pv, TimeRange::ALL).unwrap();
        rows.into_iter().map(|(since, row)| (since.nanos(), row)).collect()
    };
    let mut expected = Vec::new();
    let says = [full("mA"), full("mA"), full("A"), full("A"), moved(&full("A")), moved(&full("A"))];
    for (start, said) in (1..).zip(&says) {
        for together in [true, false] {
            let now = if together { start * 100 } else { start * 100 + 10 };
            let store = open(&folder, now);
            let pv = register(&store, &["A"]).unwrap()[0];
            let server = said.server.clone();
            let first = Metadata { server: server.clone(), ..bare.clone() };
            let records = [first, said.clone()].map(|told| (pv, Record::Metadata(at(now), told.into())));
            if expected.last().is_none_or(|(_, last)| last != said) {
                expected.push((now, said.clone()));
            }
            match together {
                true => store.writer().append(&records, at(now)).unwrap(),
                // A flush may come in between, and the archiver may end before the IOC has said anything.
                false => {
                    store.writer().append(&records[..1], at(now)).unwrap();
                    store.close(at(now + 1)).unwrap();
                    let store = open(&folder, now + 2);
                    store.writer().append(&records, at(now + 3)).unwrap();
                    assert_eq!(rows(&store, pv), expected, "start {start}");
                    drop(store); // as a crash ends it
                    continue;
                }
            }
            assert_eq!(rows(&store, pv), expected, "start {start}");
            store.close(at(now + 1)).unwrap();
        }
    }
    let store = open(&folder, 9_000);
    let pv = register(&store, &["A"]).unwrap()[0];
    assert_eq!(rows(&store, pv), expected);
    assert_eq!(expected.len(), 3, "the first, other units, another server");
}

#[test]
fn settings_and_numbers_of_pvs_survive_and_names_are_sorted() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, 7);
    let pvs = register(&store, &["B", "A", "B"]).unwrap();
    assert_eq!(pvs[0], pvs[2], "one name is one PV");
    let method = Method::Scan { period: Duration::from_millis(1500) };
    let paused = PvSettings::plain(Protocol::Pva, method, PvState::Paused);
    let changed =
        store.writer().register(&[(PvName::new("A").unwrap(), paused.clone())], &By::new("test", at(9))).unwrap();
    assert_eq!((changed[0].id, changed[0].added), (pvs[1], at(0)));
    store.writer().register(&[(PvName::new("A").unwrap(), paused.clone())], &By::new("nobody", at(9))).unwrap();
    let told: Vec<_> = store.reader().audit(u64::MAX, 10).unwrap();
    let told: Vec<_> =
        told.iter().map(|line| (line.action, line.by.who.established(), &*line.name, &*line.detail)).collect();
    let changed = (Action::Changed, "test", "A", "ca, monitor → pva, scan 1.5s");
    assert_eq!(told, [changed, (Action::Paused, "test", "A", ""), (Action::Added, "test", "", "")]);
    drop(store); // durable when register returns
    let store = open(&folder, 10);
    let entries = store.reader().entries();
    let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["A", "B"]);
    assert_eq!((&entries[0].settings, &entries[1].settings), (&paused, &settings()));
    assert_eq!(register(&store, &["C"]).unwrap()[0].0, 2);
}

#[test]
fn a_hundred_thousand_pvs_are_added_in_one_go() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, 0);
    let pvs: Vec<_> = (0..100_000).map(|i| (PvName::new(&format!("PV:{i:06}")).unwrap(), settings())).collect();
    assert_eq!(store.writer().register(&pvs, &By::new("test", at(1))).unwrap().len(), 100_000);
    drop(store);
    let store = open(&folder, 2);
    assert_eq!(store.reader().entries().len(), 100_000);
    assert_eq!(store.reader().find("PV:099999").map(|entry| entry.id.0), Some(99_999));
}

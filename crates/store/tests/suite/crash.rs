//! The power goes at every single write, sync, rename and removal of a short life: appends, a flush, more appends, a close. After
//! each crash everything that was reported as durable is there, nothing is there twice, and nothing that was never appended.

use crate::common;
use crate::sim;

use std::{sync::Arc, time::Duration};

use archive::{GapScope, Record, Sink, Watermark};
use common::{append, at, read, register, sample, wait_until};
use sample::{Gap, GapCause, Sample, TimeRange, Value};
use sim::{Crash, SimDisk};
use store::{Config, Durable, Error, Store};

const PVS: [&str; 2] = ["A", "B"];

fn config() -> Config {
    Config {
        durable: Durable::Every(Duration::from_millis(1)),
        log_file_bytes: 1000,
        flush_after: Duration::from_nanos(1000),
        ..Config::new("simulated")
    }
}

/// What the outside world was told before the power went.
#[derive(Debug, Default)]
struct Told {
    registered: bool,
    durable: u64,
    flushed: bool,
    closed: bool,
}

fn samples() -> Vec<Sample> {
    (0..40).map(|i| sample(i * 10, Value::F64(i as f64 * 0.1))).collect()
}

/// Sample i goes to PV i % 2. Appended counts samples in this order.
fn live(disk: &Arc<SimDisk>) -> Told {
    let mut told = Told::default();
    let _: Result<(), Error> = try_to_live(disk, &mut told); // an error is what the power cut looks like
    told
}

fn try_to_live(disk: &Arc<SimDisk>, told: &mut Told) -> Result<(), Error> {
    let store = Store::open_on(disk.clone(), config(), at(0))?;
    let lived = live_in(&store, disk, told);
    told.durable = store.reader().watermark().durable;
    lived?;
    store.close(at(500))?;
    told.closed = true;
    Ok(())
}

fn live_in(store: &Store, disk: &SimDisk, told: &mut Told) -> Result<(), Error> {
    let pvs = register(store, &PVS)?;
    told.registered = true;
    let samples = samples();
    for (part, some) in samples.chunks(10).enumerate() {
        for (index, one) in some.iter().enumerate() {
            append(store, pvs[index % 2], std::slice::from_ref(one))?;
        }
        let gap = Gap { from: at(part as i64), to: None, cause: GapCause::Disconnected, lost: 0 };
        store.writer().append(&[(pvs[0], Record::Gap(gap))], at(part as i64))?;
        let over = |appended| {
            disk.has_crashed()
                || store.reader().health().refusal.is_some()
                || store.reader().watermark().durable == appended
        };
        wait_until("the samples are durable", || over((part as u64 + 1) * 10));
        if part == 1 {
            store.tick(at(100_000));
            wait_until("the head is flushed", || disk.has_crashed() || store.reader().health().flushes == 1);
            told.flushed = store.reader().health().flushes == 1;
        }
    }
    Ok(())
}

/// Opens what a crash left, and compares it with what was told.
fn verify(disk: SimDisk, told: &Told, context: &str) {
    let disk = Arc::new(disk);
    let store = Store::open_on(disk.clone(), config(), at(1_000_000)).unwrap_or_else(|e| panic!("{context}: {e}"));
    let reader = store.reader();
    let all = samples();
    if told.registered {
        assert_eq!(reader.entries().len(), 2, "{context}");
    }
    let watermark = reader.watermark();
    assert!(watermark.appended == watermark.durable && watermark.durable >= told.durable, "{context}: {watermark:?}");
    let mut found = 0;
    for (index, name) in PVS.into_iter().enumerate() {
        let Some(entry) = reader.find(name) else { continue };
        let own: Vec<Sample> = all.iter().skip(index).step_by(2).cloned().collect();
        let got = read(&store, entry.id, TimeRange::ALL);
        assert_eq!(got, own[..got.len().min(own.len())], "{context}: {name}");
        let promised = (told.durable as usize + 1 - index) / 2;
        assert!(got.len() >= promised, "{context}: {name} has {} of {promised} durable samples", got.len());
        found += got.len() as u64;
    }
    assert_eq!(found, watermark.appended, "{context}");
    assert_eq!(held(&store), found, "{context}: a sample is held twice, which reading hides");
    verify_gaps(&store, told, context);

    // The archive goes on as if nothing had been.
    let pvs = register(&store, &PVS).unwrap();
    append(&store, pvs[0], &[sample(2_000_000, Value::F64(-1.0))]).unwrap();
    let (before, after) = (read(&store, pvs[0], TimeRange::ALL), reader.watermark().appended);
    store.close(at(2_000_001)).unwrap();
    let store = Store::open_on(disk, config(), at(2_000_002)).unwrap();
    assert_eq!(read(&store, pvs[0], TimeRange::ALL), before, "{context}");
    assert_eq!(store.reader().watermark(), Watermark { appended: after, durable: after }, "{context}");
    assert_eq!(held(&store), after, "{context}: a sample is held twice, which reading hides");
    assert_eq!(store.reader().health().problems, Vec::<String>::new(), "{context}");
}

/// Samples in heads and blocks. Reading drops repeats, so only here is it seen when recovery replays what is in blocks already.
fn held(store: &Store) -> u64 {
    let reader = store.reader();
    assert_eq!(reader.health().repeats_dropped, 0, "nothing was appended twice");
    reader.entries().iter().filter_map(|entry| reader.extent(entry.id)).map(|(.., count)| count).sum()
}

fn verify_gaps(store: &Store, told: &Told, context: &str) {
    let Some(entry) = store.reader().find(PVS[0]) else { return };
    let gaps = store.reader().gaps(entry.id, TimeRange::ALL).unwrap();
    assert!(gaps.iter().all(|(_, gap)| gap.to.is_some()), "{context}: an open gap in {gaps:?}");
    let lost = gaps.iter().filter(|(scope, _)| *scope == GapScope::Pv).count() as u64;
    // The gap after each ten samples may lie behind what was synced when the power went.
    assert!(lost + 1 >= told.durable / 10, "{context}: {gaps:?}");
    if told.durable > 0 {
        let stopped = gaps.iter().filter(|(scope, gap)| *scope == GapScope::Archiver && gap.to == Some(at(1_000_000)));
        assert_eq!(stopped.count(), 1, "{context}: {gaps:?}");
    }
}

#[test]
fn a_power_cut_at_any_change_loses_nothing_that_was_durable() {
    let disk = Arc::new(SimDisk::default());
    let told = live(&disk);
    assert!(told.closed && told.flushed && told.durable == 40, "without a crash all goes well: {told:?}");
    let changes = disk.changes();
    verify(disk.after(Crash::Forgetful), &told, "no crash");
    for cut in 0..changes + 5 {
        let disk = Arc::new(SimDisk::default());
        disk.crash_after(cut);
        let told = live(&disk);
        for crash in [Crash::OfProcess, Crash::Forgetful, Crash::Torn(cut), Crash::Torn(cut + 1000)] {
            verify(disk.after(crash), &told, &format!("power cut after {cut} of {changes} changes, {crash:?}"));
        }
    }
}

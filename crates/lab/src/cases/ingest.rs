//! Ingest: from `append` to synced segments.

use std::time::Duration;

use archive::{PvId, Record};

use crate::{
    measure::{self, Stopwatch},
    store_bench::{CaseBench, Outcome, append, flush, merge, now, register, wait},
    workload::{Kind, Pace, Signal},
};

/// An append brings so many PVs at most.
const APPEND_PVS: usize = 1000;

fn mix(bench: &CaseBench, pvs: usize) -> Vec<Signal> {
    bench.signals(pvs, |number, seed| Signal::new(Kind::of_mix(number), Pace::Late100us, seed))
}

/// As acquisition hands them over: a sample that is alone is no batch.
fn records(pvs: &[PvId], signals: &mut [Signal], rows: usize) -> Vec<(PvId, Record)> {
    let record = |signal: &mut Signal| match rows {
        1 => Record::Sample(signal.batch(1).get(0)),
        _ => Record::Samples(signal.batch(rows)),
    };
    pvs.iter().zip(signals).map(|(pv, signal)| (*pv, record(signal))).collect()
}

/// Many PVs in turn, `rows` samples each time, until all is in segments. The making of the samples does not count.
pub(super) fn ingest(bench: &CaseBench, pvs: usize, rows: usize) -> Outcome<()> {
    let store = bench.new_store("ingest", |_| {})?;
    let ids = register(&store, pvs)?;
    let mut signals = mix(bench, pvs);
    let rounds = (12e6 * bench.scale.max(1.0) / (pvs * rows) as f64).ceil() as usize;
    let mut refused = 0;
    let mut clock = Stopwatch::start();
    for _ in 0..rounds {
        for (ids, signals) in ids.chunks(APPEND_PVS).zip(signals.chunks_mut(APPEND_PVS)) {
            let records = clock.set_aside(|| records(ids, signals, rows));
            refused += append(&store, &records)?;
            clock.set_aside(|| drop(records));
        }
    }
    let reader = store.reader();
    store.close(now())?;
    let passed = clock.passed();
    let samples = (rounds * pvs * rows) as f64;
    bench.tell("ingest per CPU-second", samples / passed.cpu / 1e6, "M samples/s");
    bench.tell("by the wall, samples made meanwhile", samples / passed.wall / 1e6, "M samples/s");
    bench.tell("bytes per sample before merging", reader.health().block_bytes as f64 / samples, "B");
    bench.tell("samples", samples / 1e6, "M");
    bench.tell("appends refused as busy", f64::from(refused), "");
    bench.tell("peak memory", measure::peak_memory_mib(), "MiB");
    Ok(())
}

/// When samples go into segments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Flushes {
    /// As the store decides: when the head is full.
    Own,
    /// In eight parts, whether the head is full or not.
    Eight,
}

/// The same with ten samples at a time, flushed, and the flushes merged into one segment.
pub(super) fn all_in(bench: &CaseBench, pvs: usize, rows: usize, flushes: Flushes) -> Outcome<()> {
    let store = bench.new_store("all-in", |_| {})?;
    let ids = register(&store, pvs)?;
    let mut signals = mix(bench, pvs);
    let rounds = rows * bench.scale.max(1.0) as usize / 80;
    let mut clock = Stopwatch::start();
    for _ in 0..8 {
        for _ in 0..rounds {
            for (ids, signals) in ids.chunks(APPEND_PVS).zip(signals.chunks_mut(APPEND_PVS)) {
                let records = clock.set_aside(|| records(ids, signals, 10));
                append(&store, &records)?;
                clock.set_aside(|| drop(records));
            }
        }
        if flushes == Flushes::Eight {
            flush(&store)?;
        }
    }
    store.tick(now().saturating_add(Duration::from_secs(3600)));
    wait(|| store.reader().health().head_samples == 0)?; // a flush may be under way, and the last head not be taken yet
    let flushed = clock.passed();
    merge(&store, now())?;
    let passed = clock.passed();
    let samples = (rounds * pvs * 80) as f64;
    bench.tell("ingest and merge per CPU-second", samples / passed.cpu / 1e6, "M samples/s");
    bench.tell("without the merge", samples / flushed.cpu / 1e6, "M samples/s");
    bench.tell("by the wall, samples made meanwhile", samples / passed.wall / 1e6, "M samples/s");
    let health = store.reader().health();
    bench.tell("bytes per sample", health.block_bytes as f64 / samples, "B");
    let written = (health.flushed_bytes + health.merged_bytes) as f64;
    bench.tell("bytes written per byte kept", written / health.block_bytes as f64, "");
    bench.tell("samples per PV", samples / pvs as f64, "");
    bench.tell("flushes", health.flushes as f64, "");
    Ok(())
}

//! Sizes: how small the samples of a PV become with everything, and how fast they are written and read.

use std::hint::black_box;

use sample::TimeRange;

use crate::{
    measure::Stopwatch,
    shares::SegmentShares,
    store_bench::{CaseBench, Outcome, fill, register, wait},
    workload::{Kind, Pace, Signal},
};

/// Scans are repeated, and the best one counts: what is slower is the machine's.
const SCANS: usize = 5;

/// Four PVs of one kind.
pub(super) fn kind(bench: &CaseBench, kind: Kind, pace: Pace) -> Outcome<()> {
    measure(bench, bench.signals(4, |_, seed| Signal::new(kind, pace, seed)), 216_000)
}

/// Twenty PVs of five kinds.
pub(super) fn mix(bench: &CaseBench) -> Outcome<()> {
    let signals = bench.signals(20, |number, seed| Signal::new(Kind::of_mix(number), Pace::Late100us, seed));
    measure(bench, signals, 432_000)
}

fn measure(bench: &CaseBench, mut signals: Vec<Signal>, rows: usize) -> Outcome<()> {
    let rows = (rows as f64 * bench.scale.max(1.0)) as usize;
    let samples = (rows * signals.len()) as f64;
    let store = bench.new_store("sizes", |_| {})?;
    let pvs = register(&store, signals.len())?;
    let made = Stopwatch::start();
    signals.clone().iter_mut().for_each(|signal| drop(signal.batch(rows)));
    let made = made.passed().cpu;
    let clock = Stopwatch::start();
    fill(&store, &pvs, &mut signals, rows)?;
    let filled = clock.passed().cpu - made;
    let reader = store.reader();
    bench.tell("bytes per sample", reader.health().block_bytes as f64 / samples, "B");
    let mut shares = SegmentShares::default();
    // Files of what was merged go when the last reader is done with them.
    wait(|| {
        shares = SegmentShares::of(&bench.folder("sizes")).unwrap_or_default();
        shares.segments == reader.health().segments
    })?;
    let percent = |part: u64| part as f64 / shares.blocks as f64 * 100.0;
    bench.tell("index beside blocks", percent(shares.index), "%");
    bench.tell("all but blocks beside blocks", percent(shares.all - shares.blocks), "%");
    bench.tell("log, flush, merge per CPU-second", samples / filled / 1e6, "M samples/s");
    let mut best = f64::INFINITY;
    for _ in 0..SCANS {
        let clock = Stopwatch::start();
        let mut read = 0;
        for pv in &pvs {
            for batch in reader.samples(*pv, TimeRange::ALL) {
                read += black_box(batch?).len();
            }
        }
        best = best.min(clock.passed().cpu);
        if read as f64 != samples {
            return Err(format!("{samples} samples were written, {read} were read").into());
        }
    }
    bench.tell("scan per CPU-second", samples / best / 1e6, "M samples/s");
    Ok(())
}

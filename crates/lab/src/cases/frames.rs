//! Arrays: what is left of frames of which little changes, and how fast they pass.

use std::hint::black_box;

use archive::Record;
use sample::TimeRange;

use crate::{
    measure::Stopwatch,
    store_bench::{CaseBench, Outcome, append, flush, register},
    workload::{Frame, Frames},
};

/// Frames come so many at a time.
const FRAMES: usize = 16;

pub(super) fn frames(bench: &CaseBench, frame: Frame, len: usize) -> Outcome<()> {
    let mut frames = Frames::new(frame, len, bench.seed);
    let frame_bytes = frames.bytes();
    let bursts = ((1e9 * bench.scale) as usize / frame_bytes / FRAMES).max(2);
    let total = (bursts * FRAMES * frame_bytes) as f64 / 1e9;
    let store = bench.new_store("frames", |config| config.head_bytes_max = 2 << 30)?;
    let pv = register(&store, 1)?[0];
    let mut clock = Stopwatch::start();
    for _ in 0..bursts {
        let batch = clock.set_aside(|| frames.batch(FRAMES));
        append(&store, &[(pv, Record::Samples(batch))])?;
    }
    let appended = clock.passed().cpu;
    flush(&store)?;
    let flushed = clock.passed().cpu;
    let reader = store.reader();
    bench.tell("ratio", total * 1e9 / reader.health().block_bytes as f64, ": 1");
    bench.tell("append to log and head", total / appended, "GB/CPU-s");
    bench.tell("flush", total / (flushed - appended), "GB/CPU-s");
    bench.tell("all together", total / flushed, "GB/CPU-s");
    let clock = Stopwatch::start();
    let mut read = 0;
    for batch in reader.samples(pv, TimeRange::ALL) {
        read += black_box(batch?).len();
    }
    if read != bursts * FRAMES {
        return Err(format!("{} frames were written, {read} were read", bursts * FRAMES).into());
    }
    bench.tell("read", total / clock.passed().cpu, "GB/CPU-s");
    Ok(())
}

//! The test of the HALF paper (Sun et al., ICALEPCS 2023): writing in batches, reading at random.
//!
//! Times are stamped in whole milliseconds that scatter, values are integers that walk, alarms are rare. The paper has 2,000 PVs
//! at 10 Hz for four days, 7 · 10⁹ samples; what is read here is of 20 PVs, of which a scale of 100 gives as many samples.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use archive::{PvId, Record};
use sample::{TimeRange, Timestamp};
use store::Durable;

use crate::{
    measure::{Stopwatch, median},
    store_bench::{CaseBench, Outcome, append, fill, now, register, wait},
    workload::{Kind, Noise, Pace, START, Signal},
};

const READS: usize = 500;

fn signals(bench: &CaseBench, count: usize) -> Vec<Signal> {
    bench.signals(count, |_, seed| Signal::new(Kind::Walk, Pace::Millis, seed))
}

/// Fig. 4: what 2,000 PVs gather in 6 to 60 seconds is written at once; it counts as written when it is safe on the disk.
pub(super) fn write(bench: &CaseBench) -> Outcome<()> {
    let store = bench.new_store("half-write", |config| config.durable = Durable::Every(Duration::from_millis(20)))?;
    let pvs = register(&store, 2000)?;
    let mut signals = signals(bench, pvs.len());
    for seconds in [6, 30, 60] {
        let (mut by_wall, mut by_cpu) = (Vec::new(), Vec::new());
        let rounds = ((180.0 * bench.scale) as usize / seconds).max(3);
        for _ in 0..rounds {
            let records: Vec<(PvId, Record)> = pvs
                .iter()
                .zip(&mut signals)
                .map(|(pv, signal)| (*pv, Record::Samples(signal.batch(seconds * 10))))
                .collect();
            let samples = (pvs.len() * seconds * 10) as f64;
            let clock = Stopwatch::start();
            for records in records.chunks(1000) {
                append(&store, records)?;
            }
            let reader = store.reader();
            let appended = reader.watermark().appended;
            wait(|| reader.watermark().durable >= appended)?;
            let passed = clock.passed();
            by_wall.push(samples / passed.wall / 1e6);
            by_cpu.push(samples / passed.cpu / 1e6);
        }
        bench.tell(&format!("batches of {seconds} s, safe, by the wall"), median(&mut by_wall), "M samples/s");
        bench.tell(&format!("batches of {seconds} s, safe, per CPU-second"), median(&mut by_cpu), "M samples/s");
    }
    store.close(now())?;
    Ok(())
}

/// Fig. 3: 500 random reads of each size, of the newest samples of a PV and of older ones.
pub(super) fn read(bench: &CaseBench) -> Outcome<()> {
    let store = bench.new_store("half-read", |_| {})?;
    let (count, rows) = (20, ((3_456_000.0 * bench.scale) as usize).max(400_000));
    let pvs = register(&store, count)?;
    let mut signals = signals(bench, count);
    let clock = Stopwatch::start();
    fill(&store, &pvs, &mut signals, rows)?;
    let samples = (count * rows) as f64;
    bench.tell("samples", samples / 1e6, "M");
    bench.tell("all in, samples made meanwhile", samples / clock.passed().cpu / 1e6, "M/CPU-s");
    bench.tell("bytes per sample", store.reader().health().block_bytes as f64 / samples, "B");
    let mut noise = Noise::new(bench.seed);
    for wanted in [14_400usize, 36_000, 100_000, 360_000] {
        for newest in [true, false] {
            let (started, clock) = (Instant::now(), Stopwatch::start());
            let mut read = 0;
            for _ in 0..READS {
                let first = if newest { rows - wanted } else { noise.below((rows - wanted) as u64) as usize };
                let time = |row: usize| Timestamp::from_nanos(START + row as i64 * 100_000_000 - 50_000_000);
                let range = TimeRange { t0: time(first), t1: time(first + wanted) };
                for batch in store.reader().samples(pvs[noise.below(count as u64) as usize], range) {
                    read += black_box(batch?).len();
                }
            }
            if read != wanted * READS {
                return Err(format!("{READS} reads of {wanted} samples gave {read}").into());
            }
            let which = if newest { "newest" } else { "older" };
            bench.tell(
                &format!("{wanted} {which}, by the wall"),
                read as f64 / started.elapsed().as_secs_f64() / 1e6,
                "M samples/s",
            );
            bench.tell(
                &format!("{wanted} {which}, per CPU-second"),
                read as f64 / clock.passed().cpu / 1e6,
                "M samples/s",
            );
        }
    }
    Ok(())
}

//! Queries of one PV, whose files are in memory.

use std::time::Instant;

use sample::{TimeRange, Timestamp};

use crate::{
    store_bench::{Bench, Outcome, fill, register},
    workload::{Kind, Noise, Pace, START, Signal},
};

const QUERIES: usize = 101;

pub(super) fn queries(bench: &Bench) -> Outcome<()> {
    let store = bench.new_store("queries", |_| {})?;
    let (count, rows) = (40, 432_000);
    let pvs = register(&store, count)?;
    let mut signals = bench.signals(count, |number, seed| Signal::new(Kind::of_mix(number), Pace::Late100us, seed));
    fill(&store, &pvs, &mut signals, rows)?;
    let reader = store.reader();
    let mut noise = Noise::new(bench.seed);
    for wanted in [14_400usize, 36_000, 100_000, 360_000] {
        let mut millis = Vec::new();
        for _ in 0..QUERIES {
            let first = noise.below((rows - wanted) as u64) as i64;
            let t0 = Timestamp::from_nanos(START + first * Pace::Late100us.period());
            let t1 = Timestamp::from_nanos(START + (first + wanted as i64) * Pace::Late100us.period());
            let pv = pvs[noise.below(count as u64) as usize];
            let started = Instant::now();
            let mut read = 0;
            for batch in reader.samples(pv, TimeRange { t0, t1 }) {
                read += batch?.len();
            }
            millis.push(started.elapsed().as_secs_f64() * 1e3);
            if read != wanted {
                return Err(format!("a query of {wanted} samples gave {read}").into());
            }
        }
        millis.sort_by(f64::total_cmp);
        bench.tell(&format!("{wanted} samples, p50"), millis[QUERIES / 2], "ms");
        bench.tell(&format!("{wanted} samples, p99"), millis[QUERIES * 99 / 100], "ms");
    }
    Ok(())
}

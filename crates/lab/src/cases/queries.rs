//! Queries of one PV among others, with the files in memory and not.

use std::{hint::black_box, path::PathBuf, time::Instant};

use archive::PvId;
use sample::{TimeRange, Timestamp};
use store::Reader;

use crate::{
    measure::{Reads, Stopwatch, forget_files, median, percentile},
    store_bench::{CaseBench, Outcome, fill, register},
    workload::{Kind, Noise, Pace, START, Signal},
};

pub(super) fn queries(bench: &CaseBench) -> Outcome<()> {
    let store = bench.new_store("queries", |_| {})?;
    let (count, rows) = (40, 432_000);
    let pvs = register(&store, count)?;
    let mut signals = bench.signals(count, |number, seed| Signal::new(Kind::of_mix(number), Pace::Late100us, seed));
    fill(&store, &pvs, &mut signals, rows)?;
    let archive = Archive { folder: bench.folder("queries"), reader: store.reader(), pvs, rows };
    let mut noise = Noise::new(bench.seed);
    for wanted in [14_400usize, 36_000, 100_000, 360_000] {
        let (mut warm, mut cpu) = (Vec::new(), Vec::new());
        for _ in 0..101 {
            let clock = Stopwatch::start();
            warm.push(archive.query(wanted, &mut noise)?.0);
            cpu.push(clock.passed().cpu * 1e3);
        }
        bench.tell(&format!("{wanted} samples, warm p50"), median(&mut warm), "ms");
        bench.tell(&format!("{wanted} samples, processor p50"), median(&mut cpu), "ms");
        bench.tell(&format!("{wanted} samples, warm p99"), percentile(&mut warm, 99), "ms");
        let (mut cold, mut cold_reads) = (Vec::new(), Vec::new());
        for _ in 0..15 {
            forget_files(&archive.folder)?;
            let (millis, reads) = archive.query(wanted, &mut noise)?;
            cold.push(millis);
            cold_reads.push(reads);
        }
        bench.tell(&format!("{wanted} samples, cold p50"), median(&mut cold), "ms");
        bench.tell(&format!("{wanted} samples, cold reads"), median(&mut cold_reads), "");
    }
    Ok(())
}

struct Archive {
    folder: PathBuf,
    reader: Reader,
    pvs: Vec<PvId>,
    rows: usize,
}

impl Archive {
    /// Milliseconds, and how often files were read.
    fn query(&self, wanted: usize, noise: &mut Noise) -> Outcome<(f64, f64)> {
        let first = noise.below((self.rows - wanted) as u64) as i64;
        let t0 = Timestamp::from_nanos(START + first * Pace::Late100us.period());
        let t1 = Timestamp::from_nanos(START + (first + wanted as i64) * Pace::Late100us.period());
        let pv = self.pvs[noise.below(self.pvs.len() as u64) as usize];
        let (reads, started) = (Reads::start(), Instant::now());
        let mut read = 0;
        for batch in self.reader.samples(pv, TimeRange { t0, t1 }) {
            read += black_box(batch?).len();
        }
        let millis = started.elapsed().as_secs_f64() * 1e3;
        if read == wanted {
            Ok((millis, reads.count()))
        } else {
            Err(format!("a query of {wanted} samples gave {read}").into())
        }
    }
}

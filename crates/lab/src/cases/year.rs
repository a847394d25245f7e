//! Long times in a thousand bins: a year of 10 Hz, and ten years.

use std::{path::PathBuf, time::Instant};

use archive::{Record, Sink};
use query::{Cut, Query};
use sample::{TimeRange, Timestamp};
use store::Store;

use crate::{
    measure::{Reads, Stopwatch, forget_files, median},
    store_bench::{AFTER_THE_WEEK, CaseBench, Outcome, merge, open, register},
    workload::{Kind, Noise, Pace, START, Signal},
};

const SECOND: i64 = 1_000_000_000;
const YEAR: i64 = 365 * 86_400 * SECOND;
const BINS: usize = 1000;

/// A range of time that one PV fills.
pub(super) struct Span {
    name: &'static str,
    length: i64,
    /// Samples a second at a scale of 1; more than ten are never taken.
    rate: f64,
}

pub(super) const ONE_YEAR: Span = Span { name: "year", length: YEAR, rate: 40.0 };
pub(super) const TEN_YEARS: Span = Span { name: "ten-years", length: 10 * YEAR, rate: 10.0 };

impl Span {
    /// The archive has the rate in its name, so that a kept one is used again only if it is the same.
    fn name(&self, bench: &CaseBench) -> String {
        format!("{}-{}ms-seed{}", self.name, self.period(bench) / 1_000_000, bench.seed)
    }

    fn period(&self, bench: &CaseBench) -> i64 {
        (1e9 / (self.rate * bench.scale).min(10.0)) as i64
    }
}

/// Writes the archive as it would have grown: `now` goes with the samples, so that each week has its folder.
pub(super) fn write(bench: &CaseBench, span: &Span) -> Outcome<()> {
    let name = span.name(bench);
    let done = bench.folder(&name).join(".whole");
    if done.exists() {
        return Ok(());
    }
    let store = bench.new_kept_store(&name, |config| config.durable = store::Durable::Off)?;
    let pv = register(&store, 1)?[0];
    let rows = (span.length / span.period(bench)) as usize;
    let mut signal = Signal::new(Kind::Adc, Pace::Every(span.period(bench)), bench.seed);
    let mut clock = Stopwatch::start();
    let mut written = 0;
    while written < rows {
        let batch = clock.set_aside(|| signal.batch(8192.min(rows - written)));
        let time = batch.times()[batch.len() - 1];
        store.tick(time);
        written += batch.len();
        let records = [(pv, Record::Samples(batch))];
        while let Err(error) = store.writer().append(&records, time) {
            if !matches!(error, store::Error::Busy) {
                return Err(error.into());
            }
        }
    }
    let end = Timestamp::from_nanos(START + span.length);
    merge(&store, end)?;
    let reader = store.reader();
    store.close(end)?;
    let passed = clock.passed();
    bench.tell("samples", rows as f64 / 1e6, "M");
    bench.tell("ingest and merge per CPU-second", rows as f64 / passed.cpu / 1e6, "M samples/s");
    bench.tell("bytes per sample", reader.health().block_bytes as f64 / rows as f64, "B");
    bench.tell("segments", reader.health().segments as f64, "");
    std::fs::write(done, "")?;
    Ok(())
}

/// Asks for bins, with the files in memory and not: a thousand of whole tens of minutes, at most a thousand of a round length, and
/// a thousand of any length.
pub(super) fn bins(bench: &CaseBench, span: &Span) -> Outcome<()> {
    let folder = bench.folder(&span.name(bench));
    if !folder.join(".whole").exists() {
        return Err(format!(
            "there is no archive in {}; run {}-write before, with the same --folder",
            folder.display(),
            span.name
        )
        .into());
    }
    let after = Timestamp::from_nanos(START + span.length).saturating_add(2 * AFTER_THE_WEEK);
    let grid = 600 * SECOND;
    let aligned = (span.length / BINS as i64 / grid).max(1) * grid;
    let mut noise = Noise::new(bench.seed);
    let whole = move || range(START, aligned * BINS as i64);
    let any =
        move || range(START + noise.below(grid as u64) as i64, span.length - grid - noise.below(grid as u64) as i64);
    let archive = YearOfSamples { folder, after };
    archive.ask(bench, "aligned", Cut::Equal(BINS), whole)?;
    archive.ask(bench, "round", Cut::Aligned(BINS), whole)?;
    archive.ask(bench, "arbitrary", Cut::Equal(BINS), any)
}

fn range(from: i64, length: i64) -> TimeRange {
    TimeRange { t0: Timestamp::from_nanos(from), t1: Timestamp::from_nanos(from + length) }
}

struct YearOfSamples {
    folder: PathBuf,
    /// A time at which all weeks are sealed.
    after: Timestamp,
}

impl YearOfSamples {
    fn ask(&self, bench: &CaseBench, what: &str, cut: Cut, mut range: impl FnMut() -> TimeRange) -> Outcome<()> {
        let (mut cold, mut cold_reads) = (Vec::new(), Vec::new());
        for _ in 0..5 {
            // Neither the kernel nor the store remembers anything.
            let store = open(&self.folder, self.after, |_| {})?;
            forget_files(&self.folder)?;
            let (millis, reads) = once(&store, cut, range())?;
            cold.push(millis);
            cold_reads.push(reads);
            store.close(self.after)?;
        }
        let store = open(&self.folder, self.after, |_| {})?;
        let (mut warm, mut cpu) = (Vec::new(), Vec::new());
        for _ in 0..15 {
            let clock = Stopwatch::start();
            warm.push(once(&store, cut, range())?.0);
            cpu.push(clock.passed().cpu * 1e3);
        }
        bench.tell(&format!("{what}, warm p50"), median(&mut warm), "ms");
        bench.tell(&format!("{what}, processor p50"), median(&mut cpu), "ms");
        bench.tell(&format!("{what}, cold p50"), median(&mut cold), "ms");
        bench.tell(&format!("{what}, cold reads"), median(&mut cold_reads), "");
        store.close(self.after)?;
        Ok(())
    }
}

/// Milliseconds, and how often files were read.
fn once(store: &Store, cut: Cut, range: TimeRange) -> Outcome<(f64, f64)> {
    let query = Query::over(store.reader());
    let pv = store.reader().find("LAB:0000000").ok_or("the archive has no PV")?.id;
    let (reads, started) = (Reads::start(), Instant::now());
    let mut samples = 0;
    for bin in query.bins(pv, range, cut)? {
        samples += bin?.count;
    }
    let millis = started.elapsed().as_secs_f64() * 1e3;
    if samples == 0 { Err("the bins are empty".into()) } else { Ok((millis, reads.count())) }
}

//! When a condition of two PVs held in five years of 10 Hz: where summaries decide nearly everything, and where they decide nothing.

use std::time::Instant;

use analysis::{Expression, Found, Known, Search, Units};
use archive::{PvId, Record, Sink};
use query::Query;
use sample::{Alarm, Batch, Column, Runs, TimeRange, Timestamp};
use store::Store;

use crate::{
    measure::{Stopwatch, forget_files, median},
    store_bench::{AFTER_THE_WEEK, CaseBench, Outcome, merge, open, register},
    workload::{Noise, START},
};

const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400 * SECOND;
const LENGTH: i64 = 5 * 365 * DAY;
/// How many samples of both PVs go to the store at a time.
const ROWS: usize = 8192;

/// A current and a switch that is on but for a day a month. The current is noise between 0 and 2, and five times a day beyond 3.
fn batches(number: usize, from: i64, period: i64, noise: &mut Noise) -> Batch {
    let mut times = Vec::with_capacity(ROWS);
    let mut numbers = Vec::with_capacity(ROWS);
    for row in 0..ROWS as i64 {
        let time = from + row * period;
        let since = time - START;
        let is_peak = since.rem_euclid(DAY / 5) < 40 * SECOND;
        let current = noise.below(2001) as f64 / 1000.0 + if is_peak { 3.5 } else { 0.0 };
        let is_on = since.div_euclid(DAY) % 30 != 29;
        times.push(Timestamp::from_nanos(time));
        numbers.push(if number == 0 { current } else { f64::from(u8::from(is_on)) });
    }
    let (mut alarms, mut pulses) = (Runs::default(), Runs::default());
    alarms.push(&Alarm::default(), ROWS);
    pulses.push(&0, ROWS);
    Batch::from_columns(times, Column::F64(numbers), alarms, pulses).expect("columns of one length")
}

fn period(bench: &CaseBench) -> i64 {
    (1e9 / (40.0 * bench.scale).min(10.0)) as i64
}

fn name(bench: &CaseBench) -> String {
    format!("when-{}ms-seed{}", period(bench) / 1_000_000, bench.seed)
}

/// Writes the archive as it would have grown.
pub(super) fn write(bench: &CaseBench) -> Outcome<()> {
    let (name, period) = (name(bench), period(bench));
    let done = bench.folder(&name).join(".whole");
    if done.exists() {
        return Ok(());
    }
    let store = bench.new_kept_store(&name, |config| config.durable = store::Durable::Off)?;
    let pvs = register(&store, 2)?;
    let (mut clock, mut noise, mut time, mut samples) = (Stopwatch::start(), Noise::new(bench.seed), START, 0);
    while time < START + LENGTH {
        let records: Vec<(PvId, Record)> = clock.set_aside(|| {
            let of = |(number, pv): (usize, &PvId)| (*pv, Record::Samples(batches(number, time, period, &mut noise)));
            pvs.iter().enumerate().map(of).collect()
        });
        time += ROWS as i64 * period;
        samples += records.len() * ROWS;
        let now = Timestamp::from_nanos(time);
        store.tick(now);
        while let Err(error) = store.writer().append(&records, now) {
            if !matches!(error, store::Error::Busy) {
                return Err(error.into());
            }
        }
    }
    let end = Timestamp::from_nanos(time);
    merge(&store, end)?;
    let reader = store.reader();
    store.close(end)?;
    bench.tell("samples", samples as f64 / 1e6, "M");
    bench.tell("ingest and merge per CPU-second", samples as f64 / clock.passed().cpu / 1e6, "M samples/s");
    bench.tell("bytes per sample", reader.health().block_bytes as f64 / samples as f64, "B");
    std::fs::write(done, "")?;
    Ok(())
}

/// Asks where days decide, where a few minutes of each day have to be read, and where every sample has to be.
pub(super) fn search(bench: &CaseBench) -> Outcome<()> {
    let folder = bench.folder(&name(bench));
    if !folder.join(".whole").exists() {
        return Err(
            format!("no archive is in {}; run when-write before, with the same --folder", folder.display()).into()
        );
    }
    let after = Timestamp::from_nanos(START + LENGTH).saturating_add(2 * AFTER_THE_WEEK);
    for (what, text, times) in [
        ("days decide", "LAB:0000000 > 10 while LAB:0000001 = 1 for >= 10 s", 5),
        ("peaks are read", "LAB:0000000 > 3 while LAB:0000001 = 1 for >= 10 s", 3),
        ("all is read", "LAB:0000000 > 1 while LAB:0000001 = 1 for >= 10 s", 1),
    ] {
        forget_files(&folder)?;
        let store = open(&folder, after, |_| {})?;
        let cold = once(&store, text)?;
        let (mut warm, mut cpu) = (Vec::new(), Vec::new());
        for _ in 0..times {
            let clock = Stopwatch::start();
            warm.push(once(&store, text)?.seconds);
            cpu.push(clock.passed().cpu);
        }
        bench.tell(&format!("{what}, processor p50"), median(&mut cpu), "s");
        bench.tell(&format!("{what}, warm p50"), median(&mut warm), "s");
        bench.tell(&format!("{what}, cold"), cold.seconds, "s");
        bench.tell(&format!("{what}, found"), cold.found as f64, "");
        bench.tell(&format!("{what}, numbers read"), cold.read as f64 / 1e6, "M");
        store.close(after)?;
    }
    Ok(())
}

struct Once {
    seconds: f64,
    found: usize,
    read: u64,
}

fn once(store: &Store, text: &str) -> Outcome<Once> {
    let (started, reader) = (Instant::now(), store.reader());
    let find = &mut |name: &str| -> Result<Option<Known>, analysis::ExpressionFault> {
        let entry = reader.find(name);
        Ok(entry.map(|entry| Known { series: entry.id.into(), value_type: None, units: None, labels: Vec::new() }))
    };
    let program = Expression::parse(text)?.bind(Units::Same, find, |fault| fault)?;
    let range = TimeRange { t0: Timestamp::from_nanos(START), t1: Timestamp::from_nanos(START + LENGTH) };
    let mut search = Search::new(Query::over(reader.clone()), program, range)?;
    let mut found = 0;
    for one in search.by_ref() {
        found += usize::from(matches!(one?, Found::Interval(_)));
    }
    if !search.is_whole() {
        return Err("the search ended early".into());
    }
    Ok(Once { seconds: started.elapsed().as_secs_f64(), found, read: search.tally().read })
}

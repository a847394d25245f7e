//! The storage engine: ingest, bytes per sample, scans and queries, in this process without network.

use std::{error::Error, path::PathBuf, time::Instant};

use clap::Args;
use sample::{Batch, Method, Protocol, PvId, PvName, PvSettings, PvState, Record, Runs, Sink, TimeRange, Timestamp};
use store::{Config, Store};

use crate::{
    measure::{self, Clock, Form, Passed, Result as Measured},
    workload::{self, Kind, Noise},
};

/// 2026-11-01, when all workloads begin.
const START: i64 = 1_793_491_200_000_000_000;
const QUERIES: usize = 51;

#[derive(Args)]
pub(crate) struct Options {
    /// One JSON object a line instead of a table.
    #[arg(long)]
    json: bool,
    /// The seed of all workloads.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How much of everything: 1 takes about a minute.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Where to put the archives; a temporary folder if not given.
    #[arg(long)]
    folder: Option<PathBuf>,
}

type Outcome<T> = Result<T, Box<dyn Error>>;

pub(crate) fn run(options: &Options) -> Outcome<()> {
    let temporary = tempfile::tempdir()?;
    let folder = options.folder.clone().unwrap_or_else(|| temporary.path().to_owned());
    let bench = Bench { folder, options, form: if options.json { Form::Json } else { Form::Table } };
    bench.ingest(2_000, 10)?;
    bench.ingest(2_000, 100)?;
    bench.ingest(100_000, 10)?;
    for kind in Kind::ALL {
        bench.kind(kind)?;
    }
    bench.queries()
}

struct Bench<'a> {
    folder: PathBuf,
    options: &'a Options,
    form: Form,
}

impl Bench<'_> {
    fn tell(&self, case: &str, measure: &'static str, value: f64, unit: &'static str) {
        measure::print(&Measured { bench: "store", case: case.to_owned(), measure, value, unit }, self.form);
    }

    fn open(&self, name: &str) -> Outcome<Store> {
        let folder = self.folder.join(name);
        if folder.exists() {
            return Err(format!("{} is there already; give an empty folder", folder.display()).into());
        }
        Ok(Store::open(Config::new(folder), Timestamp::from_nanos(START))?)
    }

    /// Many PVs in turn, `rows` samples each time, through log, head and flush, until all is in blocks.
    fn ingest(&self, pvs: usize, rows: usize) -> Outcome<()> {
        let case = format!("{pvs} PVs, {rows} samples a batch");
        let store = self.open(&format!("ingest-{pvs}-{rows}"))?;
        let ids = register(&store, pvs)?;
        let total = 6e6 * self.options.scale;
        let rounds = (total / (pvs * rows) as f64).ceil() as usize;
        let appends = self.appends(&ids, rows, rounds);
        let (mut samples, mut refused) = (0, 0);
        let clock = Clock::start()?;
        for records in &appends {
            // Full heads are answered by waiting, as acquisition does.
            while let Err(error) = store.writer().append(records, Timestamp::from_nanos(START)) {
                if !matches!(error, store::Error::Busy) {
                    return Err(error.into());
                }
                refused += 1;
            }
            samples += records.len() * rows;
        }
        let appended = clock.passed()?;
        let reader = store.reader();
        store.close(Timestamp::from_nanos(START + 1))?;
        let Passed { wall, cpu } = clock.passed()?;
        let samples = samples as f64;
        self.tell(&case, "ingest per CPU-second", samples / cpu / 1e6, "M samples/s");
        self.tell(&case, "ingest by the wall", samples / wall / 1e6, "M samples/s");
        self.tell(&case, "append only, by the wall", samples / appended.wall / 1e6, "M samples/s");
        self.tell(&case, "bytes per sample", reader.health().block_bytes as f64 / samples, "B");
        self.tell(&case, "appends refused as busy", f64::from(refused), "");
        self.tell(&case, "peak memory", measure::peak_memory_mib(), "MiB");
        Ok(())
    }

    /// Appends of up to 1000 PVs each, made beforehand.
    fn appends(&self, ids: &[PvId], rows: usize, rounds: usize) -> Vec<Vec<(PvId, Record)>> {
        let mut noise = Noise::new(self.options.seed);
        let kinds = [Kind::Adc, Kind::Adc, Kind::Decimal, Kind::Sine, Kind::Setpoint, Kind::Constant];
        let mut appends = Vec::new();
        for round in 0..rounds {
            let start = START + (round * rows) as i64 * 100_000_000;
            for some in ids.chunks(1000) {
                let record =
                    |pv: &PvId| (*pv, Record::Samples(batch(kinds[pv.0 as usize % 6], &mut noise, start, rows)));
                appends.push(some.iter().map(record).collect());
            }
        }
        appends
    }

    /// One kind of PV: how small it becomes, and how fast it is read.
    fn kind(&self, kind: Kind) -> Outcome<()> {
        let store = self.open(&format!("kind-{kind:?}"))?;
        let rows = (200_000.0 * self.options.scale) as usize;
        let ids = register(&store, 5)?;
        for pv in &ids {
            let mut noise = Noise::new(self.options.seed + u64::from(pv.0));
            let all = batch(kind, &mut noise, START, rows);
            for start in (0..rows).step_by(8192) {
                let part = all.slice(start..rows.min(start + 8192));
                store.writer().append(&[(*pv, Record::Samples(part))], Timestamp::from_nanos(START))?;
            }
        }
        let reader = store.reader();
        let clock = Clock::start()?;
        store.close(Timestamp::from_nanos(START + 1))?;
        let samples = (rows * ids.len()) as f64;
        let flush = clock.passed()?;
        self.tell(kind.name(), "bytes per sample", reader.health().block_bytes as f64 / samples, "B");
        self.tell(kind.name(), "flush per CPU-second", samples / flush.cpu / 1e6, "M samples/s");
        let clock = Clock::start()?;
        let mut read = 0;
        for _ in 0..20 {
            for pv in &ids {
                for batch in reader.samples(*pv, TimeRange::ALL) {
                    read += batch?.len();
                }
            }
        }
        self.tell(kind.name(), "scan per CPU-second", read as f64 / clock.passed()?.cpu / 1e6, "M samples/s");
        Ok(())
    }

    /// One PV among others: how long queries of two sizes take when the files are in memory.
    fn queries(&self) -> Outcome<()> {
        let store = self.open("queries")?;
        let rows = 864_000;
        let ids = register(&store, 4)?;
        for pv in &ids {
            let mut noise = Noise::new(self.options.seed + u64::from(pv.0));
            let all = batch(Kind::Adc, &mut noise, START, rows);
            for start in (0..rows).step_by(8192) {
                let part = all.slice(start..rows.min(start + 8192));
                store.writer().append(&[(*pv, Record::Samples(part))], Timestamp::from_nanos(START))?;
            }
        }
        let reader = store.reader();
        store.close(Timestamp::from_nanos(START + 1))?;
        let mut noise = Noise::new(self.options.seed);
        for count in [14_400usize, 360_000] {
            let mut micros = Vec::new();
            for query in 0..QUERIES {
                let first = (noise.bits() % (rows - count) as u64) as i64;
                let t0 = Timestamp::from_nanos(START + first * 100_000_000);
                let t1 = Timestamp::from_nanos(START + (first + count as i64) * 100_000_000);
                let started = Instant::now();
                let mut read = 0;
                for batch in reader.samples(ids[query % ids.len()], TimeRange { t0, t1 }) {
                    read += batch?.len();
                }
                micros.push(started.elapsed().as_secs_f64() * 1e6);
                if read.abs_diff(count) > 1 {
                    return Err(format!("a query of {count} samples gave {read}").into());
                }
            }
            micros.sort_by(f64::total_cmp);
            let case = format!("query of {count} samples");
            self.tell(&case, "p50", micros[QUERIES / 2], "µs");
            self.tell(&case, "p99", micros[QUERIES - 1], "µs");
        }
        Ok(())
    }
}

fn register(store: &Store, count: usize) -> Outcome<Vec<PvId>> {
    let settings = PvSettings { protocol: Protocol::Ca, method: Method::Monitor, state: PvState::Active };
    let names: Result<Vec<_>, _> = (0..count).map(|i| PvName::new(&format!("LAB:{i:06}"))).collect();
    let pvs: Vec<_> = names?.into_iter().map(|name| (name, settings)).collect();
    let entries = store.writer().register(&pvs, Timestamp::from_nanos(START))?;
    Ok(entries.iter().map(|entry| entry.id).collect())
}

fn batch(kind: Kind, noise: &mut Noise, start: i64, rows: usize) -> Batch {
    let mut pulses = Runs::default();
    pulses.push(&0, rows);
    let (times, values) = (workload::times(noise, start, rows), kind.values(noise, rows));
    Batch::from_columns(times, values, workload::alarms(noise, rows), pulses).expect("all columns have that many rows")
}

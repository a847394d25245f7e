//! The same writes and reads through pvark, DuckDB with Parquet, and PostgreSQL 15, one after the other in one run.
//!
//! The samples are those of HALF's test. pvark and DuckDB work in the process that asks, PostgreSQL in its own, reached by a local
//! socket. Each answers one request at a time, with the files in memory; the work of clients and servers counts, the making of the
//! samples does not. The rivals are driven by `crates/lab/rivals/rival.py`.

use std::{
    fs::{self, File},
    hint::black_box,
    io::{BufWriter, Write},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use archive::{PvId, Record};
use query::{Cut, Query};
use sample::{Batch, Column, TimeRange, Timestamp};
use serde_json::json;
use store::{Durable, Reader};

use crate::{
    measure::{Stopwatch, median},
    store_bench::{CaseBench, Outcome, append, fill, register, wait},
    workload::{Kind, Noise, Pace, START, Signal},
};

/// PVs that are read.
const PVS: usize = 10;
/// PVs of a batch, its seconds, and how many batches there are.
const BATCH_PVS: usize = 2000;
const BATCH_ROWS: usize = 600;
const BATCHES: usize = 5;
const SIZES: [usize; 4] = [14_400, 36_000, 100_000, 360_000];
const BINS: usize = 1000;
const PERIOD: i64 = 100_000_000;

/// What is asked of everyone: PV, beginning and end.
type RivalQuestion = (usize, i64, i64);

struct Questions {
    rows: usize,
    reads: Vec<(usize, Vec<RivalQuestion>)>,
    bins: Vec<RivalQuestion>,
}

pub(super) fn rivals(bench: &CaseBench) -> Outcome<()> {
    let folder = bench.folder("rivals");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let questions = questions(bench);
    let batches = make_batches(bench);
    write_workload(bench, &folder, &questions, &batches)?;
    insert(bench, batches)?;
    read(bench, &questions)?;
    ["duckdb", "postgresql"].iter().try_for_each(|rival| run_rival(bench, rival))?;
    Ok(fs::remove_dir_all(&folder)?)
}

fn signals(bench: &CaseBench, count: usize) -> Vec<Signal> {
    bench.signals(count, |_, seed| Signal::new(Kind::Walk, Pace::Millis, seed))
}

fn questions(bench: &CaseBench) -> Questions {
    let rows = ((432_000.0 * bench.scale) as usize).max(400_000);
    let count = ((50.0 * bench.scale) as usize).max(10);
    let mut noise = Noise::new(bench.seed);
    // Between two samples, so that their scatter does not matter.
    let time = |row: usize| START + row as i64 * PERIOD - PERIOD / 2;
    let mut range = |wanted: usize| {
        let first = noise.below((rows - wanted) as u64) as usize;
        (noise.below(PVS as u64) as usize, time(first), time(first + wanted))
    };
    let reads = SIZES.map(|wanted| (wanted, (0..count).map(|_| range(wanted)).collect())).into();
    let whole = rows - rows % BINS;
    let bins = (0..PVS).map(|pv| (pv, time(0), time(whole))).collect();
    Questions { rows, reads, bins }
}

fn make_batches(bench: &CaseBench) -> Vec<Vec<Batch>> {
    let mut signals = signals(bench, BATCH_PVS);
    (0..BATCHES).map(|_| signals.iter_mut().map(|signal| signal.batch(BATCH_ROWS)).collect()).collect()
}

/// Everything as the rivals read it: a file for each column, the questions as JSON.
fn write_workload(bench: &CaseBench, folder: &Path, questions: &Questions, batches: &[Vec<Batch>]) -> Outcome<()> {
    let whole: Vec<Batch> = signals(bench, PVS).iter_mut().map(|signal| signal.batch(questions.rows)).collect();
    write_columns(&folder.join("all"), &whole)?;
    let mut told = Vec::new();
    for (number, batch) in batches.iter().enumerate() {
        let name = format!("batch{number}");
        write_columns(&folder.join(&name), batch)?;
        told.push(json!({ "folder": name, "samples": BATCH_PVS * BATCH_ROWS }));
    }
    let reads: Vec<_> =
        questions.reads.iter().map(|(wanted, queries)| json!({ "samples": wanted, "queries": queries })).collect();
    let bin = |(pv, t0, t1): &RivalQuestion| json!({ "pv": pv, "t0": t0, "t1": t1, "count": BINS, "samples": (t1 - t0) / PERIOD });
    let bins: Vec<_> = questions.bins.iter().map(bin).collect();
    let samples = questions.rows * PVS;
    let workload = json!({ "samples": samples, "batches": told, "reads": reads, "bins": bins });
    Ok(fs::write(folder.join("workload.json"), workload.to_string())?)
}

fn write_columns(folder: &Path, pvs: &[Batch]) -> Outcome<()> {
    fs::create_dir_all(folder)?;
    let create = |name: &str| Ok::<_, std::io::Error>(BufWriter::new(File::create(folder.join(name))?));
    let (mut pv, mut time, mut value) = (create("pv")?, create("time")?, create("value")?);
    let (mut severity, mut status) = (create("severity")?, create("status")?);
    for (number, batch) in pvs.iter().enumerate() {
        let Column::I32(values) = batch.values() else { return Err("HALF's values are integers".into()) };
        for ((at, number_of), alarm) in batch.times().iter().zip(values).zip(batch.alarms().rows()) {
            pv.write_all(&(number as u32).to_le_bytes())?;
            time.write_all(&at.nanos().to_le_bytes())?;
            value.write_all(&number_of.to_le_bytes())?;
            severity.write_all(&(alarm.severity as i16).to_le_bytes())?;
            status.write_all(&(alarm.status as i16).to_le_bytes())?;
        }
    }
    [pv, time, value, severity, status].iter_mut().try_for_each(|file| Ok(file.flush()?))
}

fn insert(bench: &CaseBench, batches: Vec<Vec<Batch>>) -> Outcome<()> {
    let store =
        bench.new_store("rivals-batches", |config| config.durable = Durable::Every(Duration::from_millis(20)))?;
    let pvs = register(&store, BATCH_PVS)?;
    let samples = (BATCH_PVS * BATCH_ROWS) as f64 / 1e6;
    let (mut by_wall, mut by_cpu) = (Vec::new(), Vec::new());
    for batch in batches {
        let records: Vec<(PvId, Record)> =
            pvs.iter().zip(batch).map(|(pv, batch)| (*pv, Record::Samples(batch))).collect();
        let clock = Stopwatch::start();
        for records in records.chunks(1000) {
            append(&store, records)?;
        }
        let reader = store.reader();
        let appended = reader.watermark().appended;
        wait(|| reader.watermark().durable >= appended)?;
        let passed = clock.passed();
        by_wall.push(samples / passed.wall);
        by_cpu.push(samples / passed.cpu);
    }
    bench.tell("batches of 60 s, safe, by the wall", median(&mut by_wall), "M samples/s");
    bench.tell("batches of 60 s, safe, per CPU-second", median(&mut by_cpu), "M samples/s");
    Ok(())
}

fn read(bench: &CaseBench, questions: &Questions) -> Outcome<()> {
    let store = bench.new_store("rivals-pvark", |_| {})?;
    let pvs = register(&store, PVS)?;
    let mut signals = signals(bench, PVS);
    let made = Stopwatch::start();
    signals.clone().iter_mut().for_each(|signal| drop(signal.batch(questions.rows)));
    let made = made.passed().cpu;
    let clock = Stopwatch::start();
    fill(&store, &pvs, &mut signals, questions.rows)?;
    let samples = (questions.rows * PVS) as f64;
    let reader = store.reader();
    bench.tell("all in, per CPU-second", samples / (clock.passed().cpu - made) / 1e6, "M samples/s");
    bench.tell("bytes per sample", reader.health().block_bytes as f64 / samples, "B");
    for (wanted, queries) in &questions.reads {
        queries.iter().take(queries.len() / 5).try_for_each(|query| samples_of(&reader, &pvs, query).map(drop))?;
        let clock = Stopwatch::start();
        let mut millis = Vec::new();
        for query in queries {
            let started = Instant::now();
            let read = samples_of(&reader, &pvs, query)?;
            millis.push(started.elapsed().as_secs_f64() * 1e3);
            if read != *wanted {
                return Err(format!("a read of {wanted} samples gave {read}").into());
            }
        }
        let passed = clock.passed();
        let all = (wanted * queries.len()) as f64 / 1e6;
        bench.tell(&format!("{wanted} samples, p50"), median(&mut millis), "ms");
        bench.tell(&format!("{wanted} samples, by the wall"), all / passed.wall, "M samples/s");
        bench.tell(&format!("{wanted} samples, per CPU-second"), all / passed.cpu, "M samples/s");
    }
    let query = Query::over(reader);
    let mut millis = Vec::new();
    for (pv, t0, t1) in &questions.bins {
        let started = Instant::now();
        let mut found = 0;
        for bin in query.bins(pvs[*pv], range(*t0, *t1), Cut::Equal(BINS))? {
            found += bin?.count as i64;
        }
        millis.push(started.elapsed().as_secs_f64() * 1e3);
        if found != (t1 - t0) / PERIOD {
            return Err(format!("the bins hold {found} samples, not {}", (t1 - t0) / PERIOD).into());
        }
    }
    bench.tell("1000 bins of all of a PV, p50", median(&mut millis), "ms");
    Ok(())
}

fn range(t0: i64, t1: i64) -> TimeRange {
    TimeRange { t0: Timestamp::from_nanos(t0), t1: Timestamp::from_nanos(t1) }
}

fn samples_of(reader: &Reader, pvs: &[PvId], (pv, t0, t1): &RivalQuestion) -> Outcome<usize> {
    let mut read = 0;
    for batch in reader.samples(pvs[*pv], range(*t0, *t1)) {
        read += black_box(batch?).len();
    }
    Ok(read)
}

/// Runs the script; code 3 means that the database is not installed, which it has said.
fn run_rival(bench: &CaseBench, rival: &str) -> Outcome<()> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("rivals/rival.py");
    let mut command = Command::new(&bench.python);
    let output = command.arg(script).arg(rival).arg(bench.folder("")).stderr(Stdio::inherit()).output()?;
    String::from_utf8(output.stdout)?.lines().try_for_each(|line| bench.pass_on(line))?;
    match output.status.code() {
        Some(0 | 3) => Ok(()),
        _ => Err(format!("{rival} failed: {}", output.status).into()),
    }
}

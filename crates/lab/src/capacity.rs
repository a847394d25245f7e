//! `pvark-lab capacity`: fits the lines by which `pvark capacity` predicts, and holds a prediction against a measured ramp.
//!
//! ```text
//!   trials of few and many PVs, slow and fast, small and large ─► lines ─► model.json ─► pvark capacity ─► saturation at …
//!   the same load in steps until something is lost ──────────────────────────────────────────────────────► saturation at …
//! ```

mod fit;

use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
};

use clap::Args;
use serde_json::{Value, json};

use crate::{
    farm::Plan,
    measure::{self, Measurement},
    store_bench::Outcome,
    trial::{self, Findings, Setup},
};

/// The loads through which the lines are drawn: what each needs differs from the others' in another way.
const LOADS: [&str; 11] = [
    "name=C:,count=1,rate=1",
    "name=C:,count=50000,rate=0.2,slices=50",
    "name=C:,count=10000,rate=10,slices=20",
    "name=C:,count=20000,rate=20,slices=20",
    "name=C:,count=50000,rate=20,slices=20",
    "name=C:,count=100,length=10000,type=i32,rate=14,slices=20",
    "name=C:,count=100,length=50000,type=i32,rate=8,slices=20",
    "name=C:,count=4000,length=1000,type=i32,rate=40,slices=20",
    "name=C:,count=5000,length=1000,type=i32,rate=28,slices=20",
    "name=C:,count=5000,length=1000,type=i32,rate=14,slices=20",
    "name=C:,count=2000,length=200,type=i32,rate=14,slices=20",
];

/// How often there is a flush where they are looked at, in seconds, and how many.
const FLUSH_AFTER: f64 = 2.0;
const FLUSHES: f64 = 3.0;

/// Lines go through no fewer.
const ROWS_MIN: usize = 8;

/// However fast updates come, threads wake up for them no more often than about this, and for what else has come by then at once: a
/// busy archiver takes less for each.
const WAKES_MAX: f64 = 1000.0;

/// The load whose saturation is predicted and measured: waveforms of 4 kB, of which there are more and more.
const RAMP_PVS: u32 = 2000;
const RAMP_RATE: f64 = 14.0;

#[derive(Args)]
pub(crate) struct Options {
    /// How long each trial is.
    #[arg(long, default_value_t = 4.0)]
    seconds: f64,
    /// Where the model goes.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// So many cores the archiver has (--archiver-cores): a load is raised until something is lost, and the prediction for it
    /// held against that.
    #[arg(long, value_name = "CORES")]
    ramp: Option<f64>,
    /// How long each step of it is: in a short one what is too much waits in the queue unseen.
    #[arg(long, default_value_t = 12.0)]
    ramp_seconds: f64,
    #[command(flatten)]
    setup: Setup,
}

/// What a trial took of everything.
struct Row {
    load: &'static str,
    pvs: f64,
    /// Per second: of scalars, and of arrays that are compared with the ones before.
    updates: f64,
    frames: f64,
    bytes: f64,
    /// Of the arrays of all PVs once.
    held: f64,
    /// Samples in the head.
    in_head: f64,
    found: Findings,
}

pub(crate) fn run(options: &Options) -> Outcome<()> {
    let tell = |case: &str, metric: &str, value: f64, unit: &str| {
        measure::print(&Measurement { bench: "capacity", case, metric, value, unit }, options.setup.form());
    };
    let mut with_flushes = options.setup.clone();
    with_flushes.config.push(format!("flush_after = \"{FLUSH_AFTER}s\""));
    let (mut rows, mut flushing) = (Vec::new(), Vec::new());
    for load in LOADS {
        let row_of = |seconds, setup| row(load, seconds, setup);
        let (row, flushed) = (row_of(options.seconds, &options.setup)?, row_of(FLUSHES * FLUSH_AFTER, &with_flushes)?);
        if !row.found.is_steady()? || !flushed.found.is_steady()? {
            tell(short(load), "left out of the model, as it was too much", 1.0, "");
            continue;
        }
        tell(short(load), "CPU with flushes", flushed.found.archiver.cpu_percent(), "% of a core");
        tell(short(load), "CPU", row.found.archiver.cpu_percent(), "% of a core");
        tell(short(load), "RAM", row.found.archiver.memory_gb(), "GB");
        rows.push(row);
        flushing.push(flushed);
    }
    if rows.len() < ROWS_MIN {
        return Err(format!("all but {} loads were too much for a model", rows.len()).into());
    }
    let model = model(&rows, &flushing, &tell);
    let text = serde_json::to_string_pretty(&model)? + "\n";
    let folder = tempfile::tempdir()?;
    let file = options.write.clone().unwrap_or_else(|| folder.path().join("model.json"));
    fs::write(&file, text)?;
    let Some(cores) = options.ramp else { return Ok(()) };
    let predicted = predicted(&file, cores, options)?;
    tell("ramp", "predicted saturation", predicted * f64::from(RAMP_PVS) * RAMP_RATE, "frames/s");
    let step = |times: f64| trial::run(&[ramp(times)], options.ramp_seconds, &options.setup);
    let (ceiling, faults) = trial::ceiling(predicted / 2.0, 4, step)?;
    let best = ceiling.best.map_or(f64::NAN, |(times, _)| times);
    let measured = (best * ceiling.too_much).sqrt();
    tell("ramp", "without a loss", best * f64::from(RAMP_PVS) * RAMP_RATE, "frames/s");
    tell("ramp", "too much", ceiling.too_much * f64::from(RAMP_PVS) * RAMP_RATE, "frames/s");
    tell("ramp", "prediction beside the measured", 100.0 * (predicted / measured - 1.0), "%");
    if faults.is_empty() { Ok(()) } else { Err(faults.join("; ").into()) }
}

fn short(load: &str) -> &str {
    load.trim_start_matches("name=C:,")
}

fn row(load: &'static str, seconds: f64, setup: &Setup) -> Outcome<Row> {
    let found = trial::run(&[load.to_owned()], seconds, setup)?;
    let plan = Plan::new(vec![load.parse()?], 0);
    let group = plan.group(0);
    let value = f64::from(group.elements()) * group.kind.bytes() as f64;
    let (pvs, stored) = (f64::from(plan.len()), found.stored as f64 / found.seconds);
    let bytes = stored * value;
    let (updates, frames, held) = match group.length {
        Some(_) => (0.0, stored, pvs * value),
        None => (stored, 0.0, 0.0),
    };
    Ok(Row {
        load,
        pvs,
        updates,
        frames,
        bytes,
        held,
        in_head: found.status["store"]["head_samples"].as_f64().unwrap_or(0.0),
        found,
    })
}

/// The lines of all resources: what the processor does for flushes is seen where there are some.
fn model(rows: &[Row], flushing: &[Row], tell: &dyn Fn(&str, &str, f64, &str)) -> Value {
    let wakes = |updates: f64| updates * WAKES_MAX / (updates + WAKES_MAX);
    let of_threads =
        |row: &Row, of_pvs| [1.0, wakes(row.updates + row.frames), of_pvs, row.updates, row.frames, row.bytes];
    let names = |of_pvs| ["base", "wake", of_pvs, "update", "frame", "byte"];
    let rates = |row: &Row| of_threads(row, row.pvs);
    let with_flushes = |row: &Row| of_threads(row, row.pvs / FLUSH_AFTER);
    let cores = |row: &Row| row.found.archiver.cpu_percent() / 100.0;
    let memory = |row: &Row| row.found.archiver.memory_gb() * 1e9 - head(row);
    let received = |row: &Row| row.found.received_bytes / row.found.seconds;
    let samples = |row: &Row| of_kind(row, row.found.frames.stored as f64);
    let per_pv = |row: &Row| [row.pvs, samples(row)[0], samples(row)[1]];
    let in_head = |row: &Row| [row.pvs, of_kind(row, row.in_head)[0], of_kind(row, row.in_head)[1], row.held];
    let on_the_way = |row: &Row| [1.0, row.pvs, row.held, row.updates, row.bytes];
    let writer = |row: &Row| row.found.archiver.writer_percent() / 100.0;
    let line = |name: &str, (slopes, errors): (Value, Vec<f64>)| {
        let largest = rows.iter().zip(errors).max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
        if let Some((row, error)) = largest {
            tell(name, &format!("largest error of the fit, at {}", short(row.load)), error, "%");
        }
        slopes
    };
    json!({
        "machine": machine(),
        "wakes_max": WAKES_MAX,
        "cores": line("cores", draw(flushing, names("flush"), with_flushes, cores, 0.05)),
        "writer": line("writer", draw(rows, names("pv"), rates, writer, 0.05)),
        "memory": line("memory", draw(rows, ["base", "pv", "held", "update", "byte"], on_the_way, memory, 5e7)),
        "head": line("head", draw(rows, ["pv", "update", "frame", "held"], in_head, head, 2e7)),
        "network": line("network", draw(rows, ["update", "frame", "byte"], |row| [row.updates, row.frames, row.bytes], received, 1e6)),
        "disk": line("disk", draw(rows, ["pv", "update", "frame"], per_pv, written, 1e6)),
        "kept": line("kept", draw(rows, ["pv", "update", "frame"], per_pv, kept, 1e6)),
    })
}

/// So many samples as those of scalars, or as those of arrays.
fn of_kind(row: &Row, samples: f64) -> [f64; 2] {
    if row.held > 0.0 { [0.0, samples] } else { [samples, 0.0] }
}

/// The slopes of a line by their names, and its errors in percent.
fn draw<const N: usize>(
    rows: &[Row],
    columns: [&str; N],
    x: impl Fn(&Row) -> [f64; N],
    y: impl Fn(&Row) -> f64,
    least: f64,
) -> (Value, Vec<f64>) {
    let rows: Vec<([f64; N], f64)> = rows.iter().map(|row| (x(row), y(row))).collect();
    let slopes = fit::fit(&rows, least);
    let named = columns.iter().zip(slopes).map(|(column, slope)| ((*column).to_owned(), json!(slope)));
    (Value::Object(named.collect()), fit::errors(&rows, &slopes, least))
}

/// Bytes of the head at the end.
fn head(row: &Row) -> f64 {
    row.found.status["store"]["head_bytes"].as_f64().unwrap_or(0.0)
}

/// Bytes of the one flush of a trial, without the first array of each PV: these compress well, others' may not.
fn kept(row: &Row) -> f64 {
    row.found.segment_bytes as f64
}

/// Bytes of log, segments and catalogue that were written in the trial, without the first array of each PV.
fn written(row: &Row) -> f64 {
    (row.found.archiver.written_bytes() - row.held).max(0.0)
}

fn machine() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")).and_then(|line| line.split_once(": "));
    name.map_or_else(|| "unknown".to_owned(), |(_, name)| name.to_owned())
}

fn ramp(times: f64) -> String {
    format!("name=C:,count={},length=1000,type=i32,rate={RAMP_RATE},slices=20", (f64::from(RAMP_PVS) * times).round())
}

/// At how many times the load of the ramp `pvark capacity` says that the processor is exhausted.
fn predicted(model: &std::path::Path, cores: f64, options: &Options) -> Outcome<f64> {
    let list = format!("C,i32,{RAMP_RATE},1000,0,{RAMP_PVS}\n");
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("list");
    fs::write(&file, list)?;
    let mut command = Command::new(options.setup.program()?);
    command
        .args(["capacity", "--json", "--cores", &cores.to_string(), "--memory", "1000", "--model"])
        .arg(model)
        .arg(&file);
    let said: Value = serde_json::from_slice(&command.stderr(Stdio::inherit()).output()?.stdout)?;
    let times = |name: &str| {
        let rows = said["resources"].as_array().into_iter().flatten();
        rows.filter(|row| row["resource"] == name).find_map(|row| row["exhausted_at"].as_f64())
    };
    let first = times("processor").zip(times("thread of the writer")).map(|(all, writer)| all.min(writer));
    first.ok_or_else(|| "pvark capacity says nothing of the processor".into())
}

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
    measure::{self, Measured},
    store_bench::Outcome,
    trial::{self, Findings, Setup},
};

/// The loads through which the lines are drawn: what each needs differs from the others' in another way.
const LOADS: [&str; 9] = [
    "name=C:,count=1,rate=1",
    "name=C:,count=50000,rate=0.2,slices=50",
    "name=C:,count=10000,rate=10,slices=20",
    "name=C:,count=20000,rate=20,slices=20",
    "name=C:,count=100,length=10000,type=i32,rate=14,slices=20",
    "name=C:,count=100,length=50000,type=i32,rate=8,slices=20",
    "name=C:,count=5000,length=1000,type=i32,rate=7,slices=20",
    "name=C:,count=5000,length=1000,type=i32,rate=14,slices=20",
    "name=C:,count=2000,length=100,type=f64,rate=14,slices=20",
];

/// The load whose saturation is predicted and measured: 2,000 waveforms of 4 kB, so many times a second.
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
    #[command(flatten)]
    setup: Setup,
}

/// What a trial took of everything.
struct Row {
    pvs: f64,
    /// Per second.
    updates: f64,
    bytes: f64,
    /// Of the arrays of all PVs once.
    held: f64,
    /// Samples in the head.
    in_head: f64,
    found: Findings,
}

pub(crate) fn run(options: &Options) -> Outcome<()> {
    let tell = |case: &str, metric: &str, value: f64, unit: &str| {
        measure::print(&Measured { bench: "capacity", case, metric, value, unit }, options.setup.form());
    };
    let mut rows = Vec::new();
    for load in LOADS {
        let row = row(load, options)?;
        if !row.found.is_loss_free()? {
            return Err(format!("{load} was too much for a model: something was lost").into());
        }
        tell(load.trim_start_matches("name=C:,"), "CPU", row.found.archiver.cpu_percent(), "% of a core");
        tell(load.trim_start_matches("name=C:,"), "RAM", row.found.archiver.memory_gb(), "GB");
        rows.push(row);
    }
    let model = model(&rows, &tell)?;
    let text = serde_json::to_string_pretty(&model)? + "\n";
    let folder = tempfile::tempdir()?;
    let file = options.write.clone().unwrap_or_else(|| folder.path().join("model.json"));
    fs::write(&file, text)?;
    let Some(cores) = options.ramp else { return Ok(()) };
    let predicted = predicted(&file, cores, options)?;
    tell("ramp", "predicted saturation", predicted * f64::from(RAMP_PVS) * RAMP_RATE, "frames/s");
    let step = |times: f64| trial::run(&[ramp(times)], options.seconds, &options.setup);
    let (ceiling, faults) = trial::ceiling(predicted / 2.0, 4, step)?;
    let best = ceiling.best.map_or(f64::NAN, |(times, _)| times);
    let measured = (best * ceiling.too_much).sqrt();
    tell("ramp", "without a loss", best * f64::from(RAMP_PVS) * RAMP_RATE, "frames/s");
    tell("ramp", "too much", ceiling.too_much * f64::from(RAMP_PVS) * RAMP_RATE, "frames/s");
    tell("ramp", "prediction beside the measured", 100.0 * (predicted / measured - 1.0), "%");
    if faults.is_empty() { Ok(()) } else { Err(faults.join("; ").into()) }
}

fn row(load: &str, options: &Options) -> Outcome<Row> {
    let found = trial::run(&[load.to_owned()], options.seconds, &options.setup)?;
    let plan = Plan::new(vec![load.parse()?], 0);
    let group = plan.group(0);
    let value = f64::from(group.elements()) * group.kind.bytes() as f64;
    let (pvs, updates) = (f64::from(plan.len()), found.stored as f64 / found.seconds);
    let held = if group.length.is_some() { pvs * value } else { 0.0 };
    Ok(Row {
        pvs,
        updates,
        bytes: updates * value,
        held,
        in_head: found.status["store"]["head_samples"].as_f64().unwrap_or(0.0),
        found,
    })
}

/// The lines of all resources.
fn model(rows: &[Row], tell: &dyn Fn(&str, &str, f64, &str)) -> Outcome<Value> {
    let draw = |name: &str, columns: &[&str; 4], x: &dyn Fn(&Row) -> [f64; 4], y: &dyn Fn(&Row) -> f64, least: f64| {
        let rows: Vec<([f64; 4], f64)> = rows.iter().map(|row| (x(row), y(row))).collect();
        let slopes = fit::fit(&rows, least);
        tell(name, "largest error of the fit", fit::worst(&rows, &slopes, least), "%");
        let line = columns.iter().zip(slopes).filter(|(column, _)| !column.is_empty());
        line.map(|(column, slope)| ((*column).to_owned(), json!(slope))).collect::<serde_json::Map<_, _>>()
    };
    let rates = |row: &Row| [1.0, row.pvs, row.updates, row.bytes];
    let names = ["base", "pv", "update", "byte"];
    let memory = |row: &Row| row.found.archiver.memory_gb() * 1e9 - head(row);
    let seconds = |row: &Row| row.found.seconds + row.found.connected_after;
    let received = |row: &Row| row.found.report.value("sent on circuits").unwrap_or(0.0) * 1e6 / seconds(row);
    Ok(json!({
        "machine": machine(),
        "cores": draw("cores", &names, &rates, &|row| row.found.archiver.cpu_percent() / 100.0, 0.02),
        "writer": draw("writer", &names, &rates, &|row| row.found.archiver.writer_percent() / 100.0, 0.02),
        "memory": draw("memory", &["base", "pv", "held", ""], &|row| [1.0, row.pvs, row.held, 0.0], &memory, 3e7),
        "head": draw("head", &["update", "held", "", ""], &|row| [row.in_head, row.held, 0.0, 0.0], &head, 2e7),
        "network": draw("network", &["", "", "update", "byte"], &|row| [0.0, 0.0, row.updates, row.bytes], &received, 1e4),
        "disk": draw("disk", &["", "", "update", ""], &|row| [0.0, 0.0, row.updates, 0.0], &|row| written(row) / seconds(row), 5e5),
        "kept": draw("kept", &["", "", "update", ""], &|row| [0.0, 0.0, row.updates, 0.0], &|row| kept(row) / seconds(row), 5e5),
    }))
}

/// Bytes of the head at the end.
fn head(row: &Row) -> f64 {
    row.found.status["store"]["head_bytes"].as_f64().unwrap_or(0.0)
}

/// Bytes that are in segments after the end, without the first array of each PV.
fn kept(row: &Row) -> f64 {
    (row.found.disk_bytes as f64 - row.held).max(0.0)
}

/// Bytes of the log and of segments that were written in the trial, without the first array of each PV.
fn written(row: &Row) -> f64 {
    (row.found.archiver.written_bytes() - row.held).max(0.0)
}

fn machine() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")).and_then(|line| line.split_once(": "));
    name.map_or_else(|| "unknown".to_owned(), |(_, name)| name.to_owned())
}

fn ramp(times: f64) -> String {
    format!("name=C:,count={RAMP_PVS},length=1000,type=i32,rate={},slices=20", RAMP_RATE * times)
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

//! `pvark capacity`: what a list of PVs will need of a machine, and which of its resources is exhausted first.

mod list;
mod live;
mod model;

use std::{fs, io::Read, thread};

use list::Load;
pub(crate) use model::HeadSettings;
use model::{Limits, Model, Need};
use serde_json::json;

use super::{print::print_line, table};
use crate::{cli::Capacity, failure::Failure};

/// What was fitted on the machine of the developers.
const FITTED: &str = include_str!("capacity/model.json");

pub(crate) fn run(command: &Capacity) -> Result<(), Failure> {
    let text = command.model.as_ref().map_or(Ok(FITTED.to_owned()), fs::read_to_string)?;
    let model: Model = serde_json::from_str(&text).map_err(|error| format!("the model cannot be read: {error}"))?;
    let live = command.live.as_deref().map(|url| live::watch(url, command.seconds)).transpose()?;
    let load = match (&command.list, &live) {
        (Some(file), _) => list::read(&contents(file)?)?,
        (None, Some(live)) => live.load,
        (None, None) => return Err("there is no list of PVs; give a file, - or --live URL".into()),
    };
    let factor = live.as_ref().map_or(1.0, |live| live.factor(&model, command.head));
    let need = |times: f64| model.need(&load.times(times), command.head).slower(factor);
    let rows = rows(&need, &limits(command)?);
    if let Some(live) = live.as_ref().filter(|_| !command.json) {
        print_line(&live.in_words(&model, command.head))?;
    }
    let kept = need(1.0).kept_gb_a_day;
    if command.json { print_line(&as_json(&load, &rows, kept)) } else { print(&load, &rows, kept) }
        .map_err(Failure::from)
}

fn contents(file: &str) -> Result<String, Failure> {
    if file != "-" {
        return fs::read_to_string(file).map_err(|error| format!("{file} cannot be read: {error}").into());
    }
    let mut text = String::new();
    std::io::stdin().lock().read_to_string(&mut text)?;
    Ok(text)
}

fn limits(command: &Capacity) -> Result<Limits, Failure> {
    let cores = thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64);
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let memory = memory.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let memory_gb = memory.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    Ok(Limits {
        cores: command.cores.unwrap_or(cores),
        memory_gb: command.memory.or(memory_gb.map(|kib| kib * 1024.0 / 1e9)).unwrap_or(f64::INFINITY),
        network_mbits: command.network.unwrap_or(f64::INFINITY),
        disk_mb: command.disk.unwrap_or(f64::INFINITY),
    })
}

/// A resource.
struct Row {
    name: &'static str,
    needed: f64,
    limit: f64,
    unit: &'static str,
    /// At so many times the load there is none left.
    exhausted_at: f64,
}

fn rows(need: &dyn Fn(f64) -> Need, limits: &Limits) -> [Row; 5] {
    let row = |name, of: fn(&Need) -> f64, limit, unit| {
        let needed = |times| of(&need(times));
        Row { name, needed: needed(1.0), limit, unit, exhausted_at: model::exhausted_at(needed, limit) }
    };
    [
        row("processor", |need| need.cores, limits.cores, "cores"),
        row("thread of the writer", |need| need.writer, 1.0, "cores"),
        row("memory", |need| need.memory_gb, limits.memory_gb, "GB"),
        row("network", |need| need.network_mbits, limits.network_mbits, "Mb/s"),
        row("writing to disk", |need| need.disk_mb, limits.disk_mb, "MB/s"),
    ]
}

fn print(load: &Load, rows: &[Row], kept_gb_a_day: f64) -> std::io::Result<()> {
    let Load { pvs, updates, bytes, .. } = load;
    print_line(&format!("{pvs} PVs, {updates:.1} updates/s, {:.3} MB/s of values", bytes / 1e6))?;
    let mut lines = vec![["resource", "needed", "there is", "", "exhausted at"].map(str::to_owned).to_vec()];
    let shown = |value: f64| if value.is_finite() { format!("{value:.3}") } else { "?".to_owned() };
    for Row { name, needed, limit, unit, exhausted_at } in rows {
        let times =
            if exhausted_at.is_finite() { format!("{exhausted_at:.2} times this load") } else { "?".to_owned() };
        lines.push(vec![(*name).to_owned(), shown(*needed), shown(*limit), (*unit).to_owned(), times]);
    }
    table::aligned(&lines).iter().try_for_each(|line| print_line(line))?;
    print_line(&format!("at most {kept_gb_a_day:.3} GB a day stay on disk"))?;
    let first = rows.iter().min_by(|a, b| a.exhausted_at.total_cmp(&b.exhausted_at));
    let Some(first) = first.filter(|row| row.exhausted_at.is_finite()) else { return Ok(()) };
    print_line(&format!("The first to be exhausted is: {}, at {:.2} times this load.", first.name, first.exhausted_at))
}

fn as_json(load: &Load, rows: &[Row], kept_gb_a_day: f64) -> String {
    let finite = |value: f64| value.is_finite().then_some(value);
    let row = |row: &Row| {
        json!({
            "resource": row.name, "needed": row.needed, "limit": finite(row.limit), "unit": row.unit,
            "exhausted_at": finite(row.exhausted_at),
        })
    };
    json!({
        "pvs": load.pvs, "updates_per_second": load.updates, "bytes_per_second": load.bytes,
        "resources": rows.iter().map(row).collect::<Vec<_>>(), "kept_gb_a_day": kept_gb_a_day,
    })
    .to_string()
}

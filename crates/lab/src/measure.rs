//! Clocks and results.

use std::{
    fs::{self, File},
    io,
    path::Path,
    time::{Duration, Instant},
};

use rustix::{
    fs::{Advice, fadvise},
    time::{ClockId, clock_gettime},
};

use crate::bars;

/// Time by the wall and by the processors, over all threads of this process.
pub(crate) struct Stopwatch {
    wall: Instant,
    cpu: Duration,
    /// What `set_aside` took.
    aside: Duration,
}

/// What passed.
#[derive(Clone, Copy)]
pub(crate) struct Elapsed {
    pub(crate) wall: f64,
    pub(crate) cpu: f64,
}

impl Stopwatch {
    pub(crate) fn start() -> Stopwatch {
        Stopwatch { wall: Instant::now(), cpu: time_of(ClockId::ProcessCPUTime), aside: Duration::ZERO }
    }

    /// Does something whose processor time, on this thread, does not count: the making of a workload. The wall goes on.
    pub(crate) fn set_aside<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let started = time_of(ClockId::ThreadCPUTime);
        let result = work();
        self.aside += time_of(ClockId::ThreadCPUTime).saturating_sub(started);
        result
    }

    pub(crate) fn passed(&self) -> Elapsed {
        let cpu = time_of(ClockId::ProcessCPUTime).saturating_sub(self.cpu + self.aside);
        Elapsed { wall: self.wall.elapsed().as_secs_f64(), cpu: cpu.as_secs_f64().max(1e-9) }
    }
}

fn time_of(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The most memory this process ever had, in MiB.
pub(crate) fn peak_memory_mib() -> f64 {
    memory("VmHWM:")
}

/// From now on the peak is counted anew.
pub(crate) fn forget_peak_memory() -> io::Result<()> {
    fs::write("/proc/self/clear_refs", "5")
}

/// The memory that this process has now, in MiB.
pub(crate) fn memory_mib() -> f64 {
    memory("VmRSS:")
}

fn memory(field: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok()).map_or(f64::NAN, |kib| kib / 1024.0)
}

/// Counts how often this process reads from files.
pub(crate) struct Reads {
    before: u64,
    /// What looking at the counter itself takes.
    looking: u64,
}

impl Reads {
    pub(crate) fn start() -> Reads {
        let first = reads();
        let before = reads();
        Reads { before, looking: before - first }
    }

    pub(crate) fn count(&self) -> f64 {
        (reads() - self.before).saturating_sub(self.looking) as f64
    }
}

fn reads() -> u64 {
    let io = fs::read_to_string("/proc/self/io").unwrap_or_default();
    io.lines().find_map(|line| line.strip_prefix("syscr: ")?.parse().ok()).unwrap_or(0)
}

/// Makes the system forget what it keeps in memory of the files in a folder and the folders below, so that the next read of each
/// goes to the disk. Files may go meanwhile.
pub(crate) fn forget_files(folder: &Path) -> io::Result<()> {
    let forget = |path: &Path| -> io::Result<()> {
        if path.is_dir() {
            return forget_files(path);
        }
        let file = File::open(path)?;
        file.sync_data()?;
        Ok(fadvise(&file, 0, None, Advice::DontNeed)?)
    };
    for entry in fs::read_dir(folder)? {
        match forget(&entry?.path()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Of several measurements of one thing the middle one.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    percentile(values, 50)
}

pub(crate) fn percentile(values: &mut [f64], percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() * percent / 100).copied().unwrap_or(f64::NAN)
}

/// One measured number.
#[derive(Clone, Copy)]
pub(crate) struct Measurement<'a> {
    pub(crate) bench: &'a str,
    pub(crate) case: &'a str,
    pub(crate) metric: &'a str,
    pub(crate) value: f64,
    pub(crate) unit: &'a str,
}

/// How results are printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Table,
    Json,
}

#[expect(clippy::print_stdout, reason = "printing is what this program is for")]
pub(crate) fn print(measured: &Measurement, form: Form) {
    let Measurement { bench, case, metric, value, unit } = measured;
    match form {
        Form::Table => {
            let bar = bars::find(bench, case, metric).map(|bar| bar.beside(*value)).unwrap_or_default();
            let case = if *bench == "store" { (*case).to_owned() } else { format!("{case} {bench}") };
            println!("{case:<22} {metric:<34} {value:>12.3} {unit:<12} {bar}");
        }
        Form::Json => {
            let line = serde_json::json!({
                "bench": bench, "case": case, "metric": metric, "value": value, "unit": unit,
            });
            println!("{line}");
        }
    }
}

/// Prints a number, and beside it what a paper reports of another archiver, if it does.
pub(crate) fn print_beside(measured: &Measurement, reported: &str, form: Form) {
    let Measurement { bench, case, metric, value, unit } = measured;
    match form {
        Form::Table => {
            let reported = if reported.is_empty() { String::new() } else { format!("paper {reported}") };
            tell(format!("{case:<22} {metric:<34} {value:>12.3} {unit:<12} {reported}").trim_end());
        }
        Form::Json => {
            let line = serde_json::json!({
                "bench": bench, "case": case, "metric": metric, "value": value, "unit": unit, "paper": reported,
            });
            tell(&line.to_string());
        }
    }
}

/// Prints a line for people.
#[expect(clippy::print_stdout, reason = "printing is what this program is for")]
pub(crate) fn tell(line: &str) {
    println!("{line}");
}

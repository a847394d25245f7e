//! Clocks and results.

use std::{
    fs, io,
    time::{Duration, Instant},
};

/// Clock ticks of `/proc/self/stat` in a second, the same on every Linux.
const TICKS: f64 = 100.0;

/// Time by the wall and by the processors, over all threads of this process.
pub(crate) struct Clock {
    wall: Instant,
    cpu: Duration,
}

/// What passed.
#[derive(Clone, Copy)]
pub(crate) struct Passed {
    pub(crate) wall: f64,
    pub(crate) cpu: f64,
}

impl Clock {
    pub(crate) fn start() -> io::Result<Clock> {
        Ok(Clock { wall: Instant::now(), cpu: cpu_time()? })
    }

    pub(crate) fn passed(&self) -> io::Result<Passed> {
        let cpu = cpu_time()?.saturating_sub(self.cpu).as_secs_f64();
        Ok(Passed { wall: self.wall.elapsed().as_secs_f64(), cpu: cpu.max(0.5 / TICKS) })
    }
}

/// Time in user and system mode, with threads that have ended.
fn cpu_time() -> io::Result<Duration> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let behind_name = stat.rsplit(") ").next().unwrap_or_default();
    let ticks: u64 = behind_name.split(' ').skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Ok(Duration::from_secs_f64(ticks as f64 / TICKS))
}

/// The most memory this process ever had, in MiB.
pub(crate) fn peak_memory_mib() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok()).map_or(f64::NAN, |kib| kib / 1024.0)
}

/// One measured number.
pub(crate) struct Result {
    pub(crate) bench: &'static str,
    pub(crate) case: String,
    pub(crate) measure: &'static str,
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
}

/// How results are printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Table,
    Json,
}

#[expect(clippy::print_stdout, reason = "printing is what this program is for")]
pub(crate) fn print(result: &Result, form: Form) {
    let Result { bench, case, measure, value, unit } = result;
    match form {
        Form::Table => println!("{bench:<7} {case:<34} {measure:<26} {value:>12.3} {unit}"),
        Form::Json => {
            let line = serde_json::json!({
                "bench": bench, "case": case, "measure": measure, "value": value, "unit": unit,
            });
            println!("{line}");
        }
    }
}

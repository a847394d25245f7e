//! What the process takes of the machine, for `/metrics`, as the system tells it.

use std::{fs, sync::atomic::AtomicU64};

use prometheus_client::{
    metrics::{counter::Counter, gauge::Gauge},
    registry::Registry,
};

/// Linux tells processor time in steps of 10 ms, whatever its own clock is.
const STEPS_PER_SECOND: f64 = 100.0;

/// Processor time and memory under the names that all such programs use; nothing where the system does not tell.
pub(crate) fn registry() -> Registry {
    let mut registry = Registry::with_prefix("process");
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    if let Some(seconds) = cpu_seconds(&stat) {
        let counter = Counter::<f64, AtomicU64>::default();
        counter.inc_by(seconds);
        registry.register("cpu_seconds", "Processor time of all threads, in seconds", counter);
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    if let Some(bytes) = resident_bytes(&status) {
        let gauge = Gauge::<i64>::default();
        gauge.set(bytes);
        registry.register("resident_memory_bytes", "Memory that is not swapped out", gauge);
    }
    registry
}

/// User and system time. The name of the program may hold blanks, what follows does not.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let (user, system) = (fields.next()?.parse::<f64>().ok()?, fields.next()?.parse::<f64>().ok()?);
    Some((user + system) / STEPS_PER_SECOND)
}

fn resident_bytes(status: &str) -> Option<i64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse::<i64>().ok()?.checked_mul(1024)
}

/// How many programs wanted to run, on average over the last minute; none where the system does not tell.
pub(crate) fn load_average() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}

/// How much of the machine's memory the program has, in percent.
pub(crate) fn memory_percent() -> Option<f64> {
    let total = fs::read_to_string("/proc/meminfo").ok()?;
    let total = total
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?
        .split_whitespace()
        .next()?
        .parse::<f64>()
        .ok()?;
    let resident = resident_bytes(&fs::read_to_string("/proc/self/status").ok()?)?;
    Some(resident as f64 / 1024.0 / total * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_tells_is_understood_whatever_the_program_is_called() {
        let stat = "7 (a ) b) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 9 0 1 2 3";
        assert_eq!(cpu_seconds(stat), Some(2.0));
        assert_eq!(cpu_seconds("7 (short) S 1"), None);
        assert_eq!(resident_bytes("VmPeak: 9 kB\nVmRSS:\t    12 kB\n"), Some(12_288));
    }
}

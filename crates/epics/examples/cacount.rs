//! Measures the Channel Access client: subscribes to many counters and says how fast they connect and whether any count is missing.
//!
//! `cacount PREFIX COUNT SECONDS [ABSENT]` subscribes to `PREFIX0` … and to ABSENT names that nobody serves. The PVs are to count up by one with
//! each update (`calc` records with `VAL+1`), so that a jump is a lost update.

#![expect(clippy::print_stdout, reason = "a program that prints")]

use std::{
    env, fs,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use epics::{
    Event, Key, Value,
    ca::{Client, Config, Monitor},
};

#[derive(Default)]
struct Tally {
    connected: AtomicU64,
    first_values: AtomicU64,
    updates: AtomicU64,
    lost: AtomicU64,
    disconnects: AtomicU64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [prefix, count, seconds, rest @ ..] = arguments.as_slice() else {
        return Err("usage: cacount PREFIX COUNT SECONDS [ABSENT]".into());
    };
    let count: u64 = count.parse()?;
    let absent: u64 = rest.first().map_or(Ok(0), |text| text.parse())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let _entered = runtime.enter();
    let tally = Arc::new(Tally::default());
    let last: Arc<[AtomicU64]> = (0..count + absent).map(|_| AtomicU64::new(u64::MAX)).collect();
    let heard = Arc::clone(&tally);
    let start = Instant::now();
    let client = Client::start(Config::from_env(|key| env::var(key).ok())?, move |key: Key, event| {
        note(&heard, &last[key.0 as usize], event);
    })?;
    for number in 0..count {
        client.subscribe(Key(number), &format!("{prefix}{number}"), Monitor::default());
    }
    for number in 0..absent {
        client.subscribe(Key(count + number), &format!("nobody:serves:this:{number}"), Monitor::default());
    }
    while tally.first_values.load(Relaxed) < count && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(1));
    }
    println!(
        "{} of {count} have a value after {:.3} s, {:.3} s of CPU, {}",
        tally.first_values.load(Relaxed),
        start.elapsed().as_secs_f64(),
        cpu_seconds(),
        memory()
    );
    let end = Instant::now() + Duration::from_secs_f64(seconds.parse()?);
    while Instant::now() < end {
        let (updates, cpu) = (tally.updates.load(Relaxed), cpu_seconds());
        std::thread::sleep(Duration::from_secs(1));
        let (updates, cpu) = (tally.updates.load(Relaxed) - updates, cpu_seconds() - cpu);
        println!(
            "{updates} updates/s, {:.3} us of CPU each, {} connected, {} lost, {} disconnects, {:?}",
            cpu * 1e6 / (updates.max(1) as f64),
            tally.connected.load(Relaxed),
            tally.lost.load(Relaxed),
            tally.disconnects.load(Relaxed),
            client.counters()
        );
    }
    println!("{}", memory());
    Ok(())
}

fn note(tally: &Tally, last: &AtomicU64, event: Event) {
    match event {
        Event::Connected { .. } => {
            tally.connected.fetch_add(1, Relaxed);
        }
        Event::Disconnected { .. } => {
            tally.connected.fetch_sub(1, Relaxed);
            tally.disconnects.fetch_add(1, Relaxed);
            last.store(u64::MAX, Relaxed);
        }
        Event::Updated(reading) => {
            tally.updates.fetch_add(1, Relaxed);
            let Value::F64(value) = reading.value else { return };
            match last.swap(value as u64, Relaxed) {
                u64::MAX => tally.first_values.fetch_add(1, Relaxed),
                before => tally.lost.fetch_add((value as u64).saturating_sub(before + 1), Relaxed),
            };
        }
        Event::Identified { .. }
        | Event::Restarted
        | Event::Described(_)
        | Event::Crowded { .. }
        | Event::Filtered
        | Event::Unfiltered
        | Event::Refused { .. } => {}
    }
}

/// User and system time of this process, in Linux' clock ticks of 10 ms.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = |field: usize| stat.split(' ').nth(field).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(13) + ticks(14)) / 100.0
}

fn memory() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or("VmRSS unknown").to_owned()
}

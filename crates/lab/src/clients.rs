//! `pvark-lab clients`: the Channel Access client at scale, against a farm in a process of its own.
//!
//! First values of all PVs, updates without a jump, then the farm is killed, and started again at the same ports.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use clap::Args;
use epics::{
    Event, Key, Value,
    ca::{Client, Config, Monitor},
};

use crate::{
    farm_process::FarmProcess,
    measure::{self, Clock, Form, Measured},
    store_bench::Outcome,
};

/// Nothing is waited for longer.
const PATIENCE: Duration = Duration::from_secs(300);

#[derive(Args)]
pub(crate) struct Options {
    /// PVs.
    #[arg(long, default_value_t = 25_000)]
    count: u32,
    /// Updates of each per second.
    #[arg(long, default_value_t = 1.0)]
    rate: f64,
    /// Servers among which they are divided.
    #[arg(long, default_value_t = 1)]
    servers: u32,
    /// Names besides that nobody serves.
    #[arg(long, default_value_t = 0)]
    absent: u32,
    /// How long updates are counted, in seconds.
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// How long the farm is gone, in seconds; it stays if 0.
    #[arg(long, default_value_t = 10.0)]
    outage: f64,
    /// One JSON object a line instead of a table.
    #[arg(long)]
    json: bool,
}

/// What the client was told.
struct Heard {
    connected: AtomicU64,
    valued: AtomicU64,
    updates: AtomicU64,
    lost: AtomicU64,
    /// Of each PV the newest count; none since it was connected.
    newest: Vec<AtomicU64>,
}

const NONE: u64 = u64::MAX;

pub(crate) fn run(options: &Options) -> Outcome<()> {
    let case = format!("{}", options.count);
    let form = if options.json { Form::Json } else { Form::Table };
    let tell =
        |metric, value, unit| measure::print(&Measured { bench: "clients", case: &case, metric, value, unit }, form);
    let mut farm = FarmProcess::start(&farm_arguments(options, 0))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let _entered = runtime.enter();
    let heard = Arc::new(Heard::new(options.count));
    let clock = Clock::start();
    let client = subscribe(options, &farm.ca, Arc::clone(&heard))?;
    let all = u64::from(options.count);
    wait("all first values", || heard.valued.load(Relaxed) == all)?;
    let passed = clock.passed();
    tell("first values", passed.wall, "s");
    tell("processor time until then", passed.cpu, "s");
    tell("memory then", measure::memory_mib(), "MiB");
    tell("searches until then", client.counters().searches as f64, "");
    updates(options, &heard, &tell);
    if options.outage > 0.0 {
        let port = farm.ca[0].port();
        farm.kill()?;
        let searches = Searches::watch(&client);
        wait("the loss of all", || searches.look(&client) && heard.connected.load(Relaxed) == 0)?;
        let away = Instant::now();
        while away.elapsed().as_secs_f64() < options.outage {
            searches.look(&client);
            thread::sleep(Duration::from_millis(20));
        }
        tell("searches per second, outage, most", searches.most(), "/s");
        let clock = Clock::start();
        let again = FarmProcess::start(&farm_arguments(options, port))?;
        tell("farm came back after", clock.passed().wall, "s");
        wait("all to be back", || searches.look(&client) && heard.valued.load(Relaxed) == all)?;
        tell("all back after", clock.passed().wall, "s");
        tell("searches per second, most", searches.most(), "/s");
        updates(options, &heard, &tell);
        farm = again;
    }
    tell("peak memory", measure::peak_memory_mib(), "MiB");
    farm.end()?;
    Ok(())
}

/// Ports that follow one another, so that the farm can have the same again.
fn farm_arguments(options: &Options, port: u16) -> Vec<String> {
    let group =
        format!("name=C:,count={},rate={},slices={}", options.count, options.rate, options.count.div_ceil(1000));
    let port = if port == 0 && options.servers > 1 { 21_000 } else { port };
    let words =
        ["--queue", "0", "--group", &group, "--servers", &options.servers.to_string(), "--port", &port.to_string()];
    words.map(str::to_owned).into()
}

fn subscribe(options: &Options, servers: &[SocketAddr], heard: Arc<Heard>) -> Outcome<Client> {
    let config =
        Config { addresses: servers.to_vec(), auto_addresses: false, repeater_port: 50_999, ..Config::default() };
    let client = Client::start(config, move |key: Key, event| heard.note(key, &event))?;
    for number in 0..u64::from(options.count) {
        client.subscribe(Key(number), &format!("C:{number}"), Monitor::default());
    }
    for number in 0..u64::from(options.absent) {
        client.subscribe(Key(NONE - number), &format!("nobody:serves:{number}"), Monitor::default());
    }
    Ok(client)
}

/// Counts updates for a while.
fn updates(options: &Options, heard: &Heard, tell: &impl Fn(&'static str, f64, &'static str)) {
    let (before, clock) = (heard.updates.load(Relaxed), Clock::start());
    thread::sleep(Duration::from_secs_f64(options.seconds));
    let (updates, passed) = ((heard.updates.load(Relaxed) - before) as f64, clock.passed());
    tell("updates", updates / passed.wall, "/s");
    tell("processor time per update", passed.cpu * 1e6 / updates.max(1.0), "µs");
    tell("lost", heard.lost.load(Relaxed) as f64, "");
}

fn wait(what: &str, is_so: impl Fn() -> bool) -> Outcome<()> {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        if Instant::now() > end {
            return Err(format!("waited in vain for {what}").into());
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// How many names are asked for in a second.
struct Searches {
    seconds: std::cell::RefCell<Vec<(Instant, u64)>>,
    most: std::cell::Cell<f64>,
}

impl Searches {
    fn watch(client: &Client) -> Searches {
        let start = (Instant::now(), client.counters().searches);
        Searches { seconds: vec![start].into(), most: 0.0.into() }
    }

    /// Looks at the counter once a second; always true, so that it fits into conditions.
    fn look(&self, client: &Client) -> bool {
        let mut seconds = self.seconds.borrow_mut();
        let (then, before) = seconds[seconds.len() - 1];
        let passed = then.elapsed().as_secs_f64();
        if passed >= 1.0 {
            let searches = client.counters().searches;
            self.most.set(self.most.get().max((searches - before) as f64 / passed));
            seconds.push((Instant::now(), searches));
        }
        true
    }

    fn most(&self) -> f64 {
        self.most.get()
    }
}

impl Heard {
    fn new(count: u32) -> Heard {
        let newest = (0..count).map(|_| AtomicU64::new(NONE)).collect();
        let zero = AtomicU64::default;
        Heard { connected: zero(), valued: zero(), updates: zero(), lost: zero(), newest }
    }

    fn note(&self, key: Key, event: &Event) {
        let Some(newest) = self.newest.get(key.0 as usize) else { return };
        match event {
            Event::Connected { .. } => {
                self.connected.fetch_add(1, Relaxed);
            }
            Event::Disconnected { .. } => {
                self.connected.fetch_sub(1, Relaxed);
                if newest.swap(NONE, Relaxed) != NONE {
                    self.valued.fetch_sub(1, Relaxed);
                }
            }
            Event::Updated(reading) => {
                self.updates.fetch_add(1, Relaxed);
                let Value::F64(value) = reading.value else { return };
                match newest.swap(value as u64, Relaxed) {
                    NONE => self.valued.fetch_add(1, Relaxed),
                    before => self.lost.fetch_add((value as u64).saturating_sub(before + 1), Relaxed),
                };
            }
            Event::Described(_) | Event::Refused { .. } | Event::Crowded { .. } => {}
        }
    }
}

//! `pvark-lab clients`: a client at scale, against a farm in a process of its own.
//!
//! First values of all PVs, updates without a jump, then the farm is killed, moved or stopped, and comes back.

mod either;

use std::{
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use clap::{Args, ValueEnum};
use either::Either;
use epics::{Event, Key, Value};

use crate::{
    farm::FarmProtocol,
    farm_process::FarmProcess,
    measure::{self, Form, Measurement, Stopwatch},
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
    /// By which protocol.
    #[arg(long, value_enum, default_value_t = FarmProtocol::Ca)]
    protocol: FarmProtocol,
    /// How long the farm is gone, in seconds; it stays if 0.
    #[arg(long, default_value_t = 10.0)]
    outage: f64,
    /// What happens to it.
    #[arg(long, value_enum, default_value_t = Fate::Killed)]
    fate: Fate,
    /// One JSON object a line instead of a table.
    #[arg(long)]
    json: bool,
}

/// What happens to the farm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Fate {
    /// It is killed, and started again at the same ports.
    Killed,
    /// It is killed, and started again at other ports, where the client searches too.
    Moved,
    /// It is stopped: its circuits stay open and nobody answers, until it goes on.
    Stopped,
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
        |metric, value, unit| measure::print(&Measurement { bench: "clients", case: &case, metric, value, unit }, form);
    let (port, other) = (free_port()?, free_port()?);
    let mut farm = FarmProcess::start(&farm_arguments(options, port))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let _entered = runtime.enter();
    let heard = Arc::new(Heard::new(options.count));
    let clock = Stopwatch::start();
    let client = subscribe(options, [port, other], Arc::clone(&heard))?;
    let all = u64::from(options.count);
    wait("all first values", || heard.valued.load(Relaxed) == all)?;
    let passed = clock.passed();
    tell("first values", passed.wall, "s");
    tell("processor time until then", passed.cpu, "s");
    tell("memory then", measure::memory_mib(), "MiB");
    tell("searches until then", client.searches() as f64, "");
    updates(options, &heard, &tell);
    if options.outage > 0.0 {
        let clock = Stopwatch::start();
        if options.fate == Fate::Stopped {
            farm.signal("STOP")?
        } else {
            farm.kill()?
        }
        let searches = Searches::watch(&client);
        wait("the loss of all", || searches.look(&client) && heard.connected.load(Relaxed) == 0)?;
        tell("loss of all noticed after", clock.passed().wall, "s");
        let away = Instant::now();
        while away.elapsed().as_secs_f64() < options.outage {
            searches.look(&client);
            thread::sleep(Duration::from_millis(20));
        }
        tell("searches per second, outage, most", searches.most(), "/s");
        let clock = Stopwatch::start();
        match options.fate {
            Fate::Killed => farm = FarmProcess::start(&farm_arguments(options, port))?,
            Fate::Moved => farm = FarmProcess::start(&farm_arguments(options, other))?,
            Fate::Stopped => farm.signal("CONT")?,
        }
        tell("farm came back after", clock.passed().wall, "s");
        wait("all to be back", || searches.look(&client) && heard.valued.load(Relaxed) == all)?;
        tell("all back after", clock.passed().wall, "s");
        tell("searches per second, most", searches.most(), "/s");
        updates(options, &heard, &tell);
    }
    tell("peak memory", measure::peak_memory_mib(), "MiB");
    farm.end()?;
    Ok(())
}

/// A port that nobody has at the moment. Several servers take those that follow it.
fn free_port() -> Outcome<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn farm_arguments(options: &Options, port: u16) -> Vec<String> {
    let group =
        format!("name=C:,count={},rate={},slices={}", options.count, options.rate, options.count.div_ceil(1000));
    let (servers, port) = (options.servers.to_string(), port.to_string());
    let (protocol, at) = if options.protocol == FarmProtocol::Pva { ("pva", "--pva-port") } else { ("ca", "--port") };
    let words = ["--queue", "0", "--group", &group, "--servers", &servers, "--protocol", protocol, at, &port];
    words.map(str::to_owned).into()
}

fn subscribe(options: &Options, ports: [u16; 2], heard: Arc<Heard>) -> Outcome<Either> {
    let ports = ports.into_iter().flat_map(|first| (0..options.servers).map(move |n| first.saturating_add(n as u16)));
    let addresses = ports.map(|port| ([127, 0, 0, 1], port).into()).collect();
    let client = Either::start(options.protocol, addresses, move |key: Key, event| heard.note(key, &event))?;
    for number in 0..u64::from(options.count) {
        client.subscribe(Key(number), &format!("C:{number}"));
    }
    for number in 0..u64::from(options.absent) {
        client.subscribe(Key(NONE - number), &format!("nobody:serves:{number}"));
    }
    Ok(client)
}

/// Counts updates for a while.
fn updates(options: &Options, heard: &Heard, tell: &impl Fn(&'static str, f64, &'static str)) {
    let (before, clock) = (heard.updates.load(Relaxed), Stopwatch::start());
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
    fn watch(client: &Either) -> Searches {
        let start = (Instant::now(), client.searches());
        Searches { seconds: vec![start].into(), most: 0.0.into() }
    }

    /// Looks at the counter once a second; always true, so that it fits into conditions.
    fn look(&self, client: &Either) -> bool {
        let mut seconds = self.seconds.borrow_mut();
        let (then, before) = seconds[seconds.len() - 1];
        let passed = then.elapsed().as_secs_f64();
        if passed >= 1.0 {
            let searches = client.searches();
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
            Event::Identified { .. }
            | Event::Restarted
            | Event::Described(_)
            | Event::Refused { .. }
            | Event::Crowded { .. }
            | Event::Filtered
            | Event::Unfiltered => {}
        }
    }
}

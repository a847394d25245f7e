//! Prints what pvAccess PVs send: `pvmonitor [--once] [--json] NAME…`, with the network set by `EPICS_PVA_*`.
//!
//! `--stdin` reads the names from standard input, one a line; `--once` ends after the first value of each; `--json`
//! prints one object a line, for programs; `--count` prints only, twice a second, how many PVs are connected and how
//! many updates came, for measurements.

mod json;

use std::{
    collections::HashSet,
    io::{self, BufWriter, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    time::Duration,
};

use epics::{
    Description, Event, Key, Reading,
    pva::{Client, Config, Monitor},
};
use json::{limits, string, value};

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (options, names): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|arg| arg.starts_with("--"));
    let names = if options.iter().any(|option| option == "--stdin") {
        io::read_to_string(io::stdin())?.lines().map(str::to_owned).collect()
    } else {
        names
    };
    let has = |name: &str| options.iter().any(|option| option == name);
    let config = Config::from_env(|key| std::env::var(key).ok())?;
    if has("--count") {
        return count(config, &names).await;
    }
    let (sender, events) = mpsc::channel();
    let client = Client::start(config, move |key, event| drop(sender.send((key, event))))?;
    subscribe(&client, &names);
    let (once, json) = (has("--once"), has("--json"));
    tokio::task::spawn_blocking(move || print(&names, &events, once, json)).await??;
    drop(client);
    Ok(())
}

fn subscribe(client: &Client, names: &[String]) {
    for (at, name) in names.iter().enumerate() {
        client.subscribe(Key(at as u64), name, Monitor::default());
    }
}

/// Events come faster than a terminal can show them, so that nothing is printed per event.
async fn count(config: Config, names: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    let counts: Arc<[AtomicU64; 4]> = Arc::default();
    let counted = Arc::clone(&counts);
    let client = Client::start(config, move |_, event| {
        let kind = match event {
            Event::Connected { .. } => 0,
            Event::Updated(_) => 1,
            Event::Disconnected { .. } => 2,
            Event::Refused { .. } => 3,
            Event::Identified { .. }
            | Event::Restarted
            | Event::Described(_)
            | Event::Crowded { .. }
            | Event::Filtered
            | Event::Unfiltered => return,
        };
        counted[kind].fetch_add(1, Ordering::Relaxed);
    })?;
    let begin = std::time::Instant::now();
    subscribe(&client, names);
    for round in 1_u32.. {
        tokio::time::sleep_until((begin + Duration::from_millis(500) * round).into()).await;
        let [connected, updated, lost, refused] = counts.each_ref().map(|count| count.load(Ordering::Relaxed));
        writeln!(
            io::stdout(),
            "{:.1} s: connected {connected}, updates {updated}, disconnected {lost}, refused {refused}, {:?}",
            begin.elapsed().as_secs_f64(),
            client.counters()
        )?;
    }
    Ok(())
}

#[derive(Default)]
struct Shown {
    description: Description,
    server: String,
}

fn print(names: &[String], events: &mpsc::Receiver<(Key, Event)>, once: bool, json: bool) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout());
    let mut shown: Vec<Shown> = names.iter().map(|_| Shown::default()).collect();
    let mut missing: HashSet<u64> = (0..names.len() as u64).collect();
    while let Ok((key, event)) = events.recv() {
        let (name, shown) = (&names[key.0 as usize], &mut shown[key.0 as usize]);
        match event {
            Event::Identified { .. } | Event::Restarted => {}
            Event::Connected { server } => shown.server = server.to_string(),
            Event::Described(description) => shown.description = *description,
            Event::Updated(reading) if once && !missing.remove(&key.0) => drop(reading),
            Event::Updated(reading) if json => writeln!(out, "{}", object(name, &reading, shown))?,
            Event::Updated(reading) => writeln!(
                out,
                "{name} {}.{:09} {} {} {} {}",
                reading.seconds,
                reading.nanos,
                value(&reading.value).1,
                reading.severity,
                reading.status,
                reading.message.as_deref().unwrap_or_default()
            )?,
            Event::Disconnected { reason } => eprintln!("{name} disconnected: {reason}"),
            Event::Refused { message } => eprintln!("{name} refused: {message}"),
            Event::Crowded { duration } => {
                eprintln!("{name}: its server may have had no room to send for {duration:?}")
            }
            Event::Filtered | Event::Unfiltered => {}
        }
        out.flush()?;
        if once && missing.is_empty() {
            return Ok(());
        }
    }
    Ok(())
}

fn object(name: &str, reading: &Reading, shown: &Shown) -> String {
    let (ty, text) = value(&reading.value);
    let d = &shown.description;
    let labels: Vec<String> = d.labels.iter().map(|label| string(label)).collect();
    let optional = |text: &Option<String>| text.as_ref().map_or("null".to_owned(), |text| string(text));
    format!(
        "{{\"name\":{},\"value\":{text},\"type\":\"{ty}\",\"seconds\":{},\"nanos\":{},\"severity\":{},\"status\":{},\"message\":{},\
         \"user_tag\":{},\"units\":{},\"precision\":{},\"description\":{},\"display\":{},\"control\":{},\"warning\":{},\"alarm\":{},\
         \"labels\":[{}],\"server\":{}}}",
        string(name),
        reading.seconds,
        reading.nanos,
        reading.severity,
        reading.status,
        reading.message.as_ref().map_or("null".to_owned(), |text| string(text)),
        reading.user_tag,
        optional(&d.units),
        d.precision.map_or("null".to_owned(), |digits| digits.to_string()),
        optional(&d.description),
        limits(d.display),
        limits(d.control),
        limits(d.warning),
        limits(d.alarm),
        labels.join(","),
        string(&shown.server),
    )
}

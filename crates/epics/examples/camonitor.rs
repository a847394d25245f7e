//! Prints what Channel Access says about PVs, until it is stopped or (`--once`) each has sent a value.
//!
//! `camonitor [--once] [--json] [--wait SECONDS] NAME…`, with the `EPICS_CA_*` environment of any other client. `--json` prints one object per
//! line. Exits with 1 if some PV has sent nothing within `--wait`.

#![expect(clippy::print_stdout, reason = "a program that prints")]

mod json;

use std::{collections::HashMap, env, process::ExitCode, time::Duration};

use epics::{
    Description, Event, Key, Reading, Value,
    ca::{Client, Config, Monitor},
};
use json::{limits, string};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

struct Options {
    once: bool,
    json: bool,
    wait: Option<Duration>,
    names: Vec<String>,
}

/// What is known of one PV.
#[derive(Default)]
struct Pv {
    server: Option<String>,
    description: Option<Description>,
    reading: Option<Reading>,
    printed: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    match watch(&options).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn options() -> Result<Options, String> {
    let mut options = Options { once: false, json: false, wait: None, names: Vec::new() };
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--once" => options.once = true,
            "--json" => options.json = true,
            "--wait" => {
                let seconds = arguments.next().and_then(|text| text.parse().ok());
                options.wait = Some(seconds.map(Duration::from_secs_f64).ok_or("--wait takes a number of seconds")?);
            }
            name => options.names.push(name.to_owned()),
        }
    }
    if options.names.is_empty() {
        return Err("usage: camonitor [--once] [--json] [--wait SECONDS] NAME...".to_owned());
    }
    Ok(options)
}

/// True if every PV has sent a value.
async fn watch(options: &Options) -> Result<bool, Box<dyn std::error::Error>> {
    let (events, mut queue) = mpsc::unbounded_channel();
    let handler = move |key, event| {
        // Nobody listens any more once the program ends.
        let _ = events.send((key, event));
    };
    let client = Client::start(Config::from_env(|key| env::var(key).ok())?, handler)?;
    for (name, number) in options.names.iter().zip(0..) {
        client.subscribe(Key(number), name, Monitor::default());
    }
    let deadline = Instant::now() + options.wait.unwrap_or(Duration::from_secs(30 * 365 * 86_400));
    let mut pvs: HashMap<Key, Pv> = HashMap::new();
    let mut printed = 0;
    while !(options.once && printed == options.names.len()) {
        let (key, event) = tokio::select! {
            Some(event) = queue.recv() => event,
            () = sleep_until(deadline) => break,
        };
        let name = &options.names[usize::try_from(key.0)?];
        let pv = pvs.entry(key).or_default();
        if take(pv, name, event, options) {
            printed += 1;
        }
    }
    Ok(printed == options.names.len())
}

/// Notes what came and prints the value; true if it was the first of this PV.
fn take(pv: &mut Pv, name: &str, event: Event, options: &Options) -> bool {
    match event {
        Event::Connected { server } => {
            pv.server = Some(server.to_string());
            return false;
        }
        Event::Identified { .. } | Event::Restarted => return false,
        Event::Described(description) => {
            pv.description = Some(*description);
            if !options.once && !options.json {
                return false; // a line for people has no units
            }
        }
        Event::Updated(reading) => pv.reading = Some(reading),
        Event::Refused { message } => {
            eprintln!("{name}: {message}");
            return false;
        }
        Event::Disconnected { reason } => {
            eprintln!("{name}: disconnected: {reason}");
            return false;
        }
        Event::Filtered | Event::Unfiltered => return false,
        Event::Crowded { duration } => {
            eprintln!("{name}: its server may have had no room to send for {duration:?}");
            return false;
        }
    }
    // With `--once` a value waits for its description, so that one line says everything.
    let Some(reading) = pv.reading.as_ref().filter(|_| !options.once || pv.description.is_some()) else {
        return false;
    };
    if pv.printed && options.once {
        return false;
    }
    match options.json {
        true => println!("{}", object(name, pv, reading)),
        false => println!("{}", line(name, reading, pv.description.as_ref())),
    }
    !std::mem::replace(&mut pv.printed, true)
}

fn line(name: &str, reading: &Reading, description: Option<&Description>) -> String {
    let label = match (&reading.value, description) {
        (Value::Enum(index), Some(description)) => {
            usize::try_from(*index).ok().and_then(|index| description.labels.get(index)).cloned()
        }
        _ => None,
    };
    let value = label.unwrap_or_else(|| json::value(&reading.value).1);
    let severity = ["", "MINOR", "MAJOR", "INVALID"].get(reading.severity as usize).copied().unwrap_or("UNDEFINED");
    format!("{name} {}.{:09} {value} {severity} {}", reading.seconds, reading.nanos, reading.status)
}

fn object(name: &str, pv: &Pv, reading: &Reading) -> String {
    let (kind, value) = json::value(&reading.value);
    let server = pv.server.as_deref().map_or("null".to_owned(), string);
    let described = pv.description.as_ref().map_or(String::new(), json_description);
    format!(
        "{{\"name\":{},\"type\":\"{kind}\",\"value\":{value},\"seconds\":{},\"nanos\":{},\"severity\":{},\"status\":{},\"server\":{server}{described}}}",
        string(name),
        reading.seconds,
        reading.nanos,
        reading.severity,
        reading.status,
    )
}

fn json_description(description: &Description) -> String {
    let labels: Vec<String> = description.labels.iter().map(|label| string(label)).collect();
    format!(
        ",\"count\":{},\"units\":{},\"precision\":{},\"display\":{},\"control\":{},\"warning\":{},\"alarm\":{},\"labels\":[{}]",
        description.element_count.map_or("null".to_owned(), |count| count.to_string()),
        description.units.as_deref().map_or("null".to_owned(), string),
        description.precision.map_or("null".to_owned(), |digits| digits.to_string()),
        limits(description.display),
        limits(description.control),
        limits(description.warning),
        limits(description.alarm),
        labels.join(","),
    )
}

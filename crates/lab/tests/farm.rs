//! The farm as its users meet it: a program that serves, disturbs, counts, and ends when told.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader},
    net::SocketAddr,
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
    time::{Duration, Instant},
};

use epics::{
    Event, Key, Value,
    ca::{Client, Config, Monitor},
};

const PATIENCE: Duration = Duration::from_secs(60);

struct Farm {
    process: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
    address: SocketAddr,
}

impl Farm {
    fn start(arguments: &[&str]) -> Farm {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pvark-lab"));
        let mut process =
            command.args(["ioc", "--json"]).args(arguments).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut lines = BufReader::new(process.stdout.take().expect("it was ordered")).lines();
        let line = lines.next().expect("it serves").expect("text");
        let serving: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        let address = serving["ca"][0].as_str().expect("an address").parse().expect("an address");
        Farm { process, lines, address }
    }

    /// Ends it as Ctrl-C would, and returns its figures.
    fn end(mut self) -> HashMap<String, f64> {
        let ended = Command::new("kill").args(["-TERM", &self.process.id().to_string()]).status().expect("kill");
        assert!(ended.success());
        let lines = self.lines.by_ref().map(|line| serde_json::from_str(&line.expect("text")).expect("JSON"));
        let figure = |line: serde_json::Value| {
            (line["metric"].as_str().expect("a name").to_owned(), line["value"].as_f64().expect("a number"))
        };
        let figures = lines.map(figure).collect();
        assert!(self.process.wait().expect("it ends").success());
        figures
    }
}

impl Drop for Farm {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A client of so many PVs `X0`, `X1` ..., and what it hears.
struct Listener {
    _runtime: tokio::runtime::Runtime,
    _client: Client,
    heard: Receiver<(Key, Event)>,
}

impl Listener {
    fn start(farm: &Farm, count: u64) -> Listener {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("tokio");
        let entered = runtime.enter();
        let (tell, heard) = mpsc::channel();
        let config =
            Config { addresses: vec![farm.address], auto_addresses: false, repeater_port: 1, ..Config::default() };
        let client = Client::start(config, move |key, event| drop(tell.send((key, event)))).expect("a client");
        (0..count).for_each(|number| client.subscribe(Key(number), &format!("X{number}"), Monitor::default()));
        drop(entered);
        Listener { _runtime: runtime, _client: client, heard }
    }
}

/// What is posted is sent or left out for a reason, to the last update.
fn adds_up(figures: &HashMap<String, f64>) {
    let left = [
        "sent",
        "dropped: a newer took its place",
        "dropped: held back by the client",
        "dropped: subscription ended",
        "still waiting",
    ];
    let sum: f64 = left.iter().map(|metric| figures[*metric]).sum();
    assert_eq!(figures["updates posted to subscriptions"], sum, "{figures:?}");
}

#[test]
fn every_update_comes_once_and_in_order() {
    let farm = Farm::start(&["--group", "name=X,count=300,rate=100", "--queue", "0", "--drain", "30"]);
    let listener = Listener::start(&farm, 300);
    let mut newest = HashMap::<Key, f64>::new();
    let mut updates = 0;
    while newest.len() < 300 || newest.values().any(|count| *count < 100.0) {
        let (key, event) = listener.heard.recv_timeout(PATIENCE).expect("more comes");
        if let Event::Updated(reading) = event {
            let Value::F64(count) = reading.value else { panic!("a float") };
            let before = newest.insert(key, count);
            assert!(before.is_none_or(|before| before + 1.0 == count), "{key:?}: {before:?}, then {count}");
            updates += 1;
        }
    }
    let figures = farm.end();
    adds_up(&figures);
    assert_eq!(figures["dropped: a newer took its place"], 0.0);
    assert!(figures["sent"] + 300.0 >= f64::from(updates), "{figures:?}, {updates} heard");
}

#[test]
fn pvs_come_back_after_storms_restarts_and_nonsense() {
    let group = "name=X,count=20,rate=50";
    let farm = Farm::start(&["--group", group, "--storm", "0.9", "--restart", "1.3", "--nonsense", "0.3"]);
    let listener = Listener::start(&farm, 20);
    let (mut lost, mut back, mut nonsense) = (HashMap::<Key, u32>::new(), HashMap::<Key, u32>::new(), 0);
    let end = Instant::now() + PATIENCE;
    while back.len() < 20 || back.values().any(|times| *times < 4) {
        assert!(Instant::now() < end, "not all came back four times: {back:?}, lost {lost:?}");
        let (key, event) = listener.heard.recv_timeout(PATIENCE).expect("more comes");
        match event {
            Event::Disconnected { .. } => *lost.entry(key).or_default() += 1,
            Event::Updated(reading) if matches!(reading.value, Value::F64(_)) => {
                let times = lost.get(&key).copied().unwrap_or(0);
                back.insert(key, times);
            }
            Event::Updated(_) => nonsense += 1,
            _ => {}
        }
    }
    let figures = farm.end();
    adds_up(&figures);
    assert_eq!(nonsense, 0, "what makes no sense is not taken for a value");
    assert!(figures["circuits ended"] >= 4.0, "{figures:?}");
}

#[test]
fn a_killed_farm_is_found_again_without_a_storm_of_searches() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pvark-lab"));
    command.args(["clients", "--json", "--count", "3000", "--rate", "2", "--seconds", "1.2", "--outage", "1"]);
    let output = command.stderr(Stdio::inherit()).output().expect("it runs");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("text");
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of = |metric: &str| -> Vec<f64> {
        lines.iter().filter(|line| line["metric"] == metric).filter_map(|line| line["value"].as_f64()).collect()
    };
    assert_eq!(of("lost"), [0.0, 0.0]);
    assert!(of("updates").iter().all(|rate| *rate > 0.0), "{text}");
    // The first searches after a loss go at once, at most one a name; the others share 5,000 a second.
    assert!(of("searches per second, most")[0] <= 3000.0 + 5500.0, "{text}");
}

#[test]
fn names_are_listed_as_they_are_added() {
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_pvark-lab")).args(arguments).output().expect("it runs");
        (output.status.success(), String::from_utf8(output.stdout).expect("text"))
    };
    let (done, names) = run(&["ioc", "--preset", "excas", "--list-pvs"]);
    let names: Vec<&str> = names.lines().collect();
    assert!(done && names.len() == 1005, "{}", names.len());
    assert_eq!((names[0], names[4], names[1004]), ("fred", "alan", "jane999"));
    assert!(!run(&["ioc"]).0, "a farm without PVs is refused");
}

//! `pvark-lab versus OLD NEW`: how fast two programs answer the same questions, in turns, so that what else the machine does meets
//! both of them. The medians of the rounds are compared: the wall, the processor of the server, the first byte and the memory.

use std::{
    collections::hash_map::DefaultHasher,
    hash::Hasher,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use clap::Args;

use super::{
    archive::{self, FEW, WEEK},
    cell::{Server, answers},
    place, time,
};
use crate::{
    http::{Connection, address},
    measure::{self, Measurement, median, percentile},
    store_bench::Outcome,
    trial::{Archiver, Setup},
    workload::START,
};

const BENCH: &str = "versus";

#[derive(Args)]
pub(crate) struct Options {
    /// The program that the other is held against.
    old: PathBuf,
    /// The program whose figures must reach the bars.
    new: PathBuf,
    /// How often each of them is asked in turn.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// For how long in each round; each client asks once at least.
    #[arg(long, default_value_t = 0.7)]
    seconds: f64,
    /// Only the questions whose names begin so, as csv-360k or raw.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Lines for the configuration of the new program alone, before its sections.
    #[arg(long = "new-config", value_name = "LINE")]
    new_config: Vec<String>,
    #[command(flatten)]
    setup: Setup,
}

/// A question, by so many clients at a time.
struct Case {
    name: &'static str,
    clients: usize,
    path: String,
    may_differ: bool,
}

/// One of the two, on an archive of its own.
struct Contender {
    archiver: Archiver,
    server: Server,
    _scratch: Option<tempfile::TempDir>,
}

/// What the rounds of one of them gave, each a number a round.
#[derive(Default)]
struct Rounds {
    answer: Vec<f64>,
    processor: Vec<f64>,
    first_byte: Vec<f64>,
    memory: Vec<f64>,
}

pub(crate) fn run(options: &Options) -> Outcome<()> {
    let mut old = Contender::start(&options.old, "versus-old", &options.setup, &[])?;
    let mut new = Contender::start(&options.new, "versus-new", &options.setup, &options.new_config)?;
    let mut faults = Vec::new();
    for case in cases() {
        if !options.only.is_empty() && !options.only.iter().any(|only| case.name.starts_with(only)) {
            continue;
        }
        let [before, after] = [&old.server, &new.server].map(|server| first(server, &case));
        let ((before, old_first), (after, new_first)) = (before?, after?);
        tell_both(&case, "first answer", "ms", (old_first, new_first), options);
        if before != after {
            measure::tell(&format!(
                "{:<22} the answers differ{}",
                case.name,
                if case.may_differ { ", as they may" } else { "" }
            ));
            faults.extend((!case.may_differ).then(|| format!("{}: the answers differ", case.name)));
        }
        let [mut before, mut after] = [Rounds::default(), Rounds::default()];
        for round in 0..options.rounds {
            // Whoever comes second finds what the first has left of the machine.
            let turns = [(&old.server, &mut before), (&new.server, &mut after)];
            let turns: Vec<_> =
                if round % 2 == 0 { turns.into_iter().collect() } else { turns.into_iter().rev().collect() };
            for (server, rounds) in turns {
                rounds.add(server, &case, options.seconds)?;
            }
        }
        tell(&case, before, after, options);
    }
    old.archiver.end()?;
    new.archiver.end()?;
    if faults.is_empty() { Ok(()) } else { Err(faults.join("; ").into()) }
}

impl Contender {
    fn start(program: &Path, name: &str, setup: &Setup, more: &[String]) -> Outcome<Contender> {
        let scratch = if setup.folder.is_none() { Some(setup.scratch()?) } else { None };
        let folder = match (&setup.folder, &scratch) {
            (Some(folder), _) => folder.join(name),
            (None, scratch) => scratch.as_ref().map_or_else(PathBuf::new, |scratch| scratch.path().to_owned()),
        };
        std::fs::create_dir_all(&folder)?;
        archive::make(&folder, &[&FEW, &WEEK], &[])?;
        let old_archive = folder.join("arch");
        place::make(&old_archive)?;
        // What an earlier run kept of the files would make the first answer one of many.
        match std::fs::remove_dir_all(folder.join("data/digests")) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let config = setup.config.iter().chain(more).cloned().chain([place::config(&old_archive)]);
        let config: Vec<String> = config.collect();
        let archiver = Archiver::start(program, setup.archiver_cores.as_deref(), &folder, &[], &config)?;
        let server = Server::at(BENCH, address(archiver.url())?, Some((archiver.id(), None)))?;
        Ok(Contender { archiver, server, _scratch: scratch })
    }
}

/// What is asked. Raw answers have lost a field that says nothing since the commit that others are held against.
fn cases() -> Vec<Case> {
    let (from, few, week) = (time(START), time(FEW.end()), time(WEEK.end()));
    let appliance =
        |format: &str, pv: &str, to: &str| format!("/retrieval/data/getData.{format}?pv={pv}&from={from}&to={to}");
    let own = |format: &str| format!("/api/v1/samples?format={format}&pv={}&from={from}&to={few}", FEW.name);
    let alone = |format: &str| format!("/api/v1/pvs/{}/samples?format={format}&from={from}&to={few}", FEW.name);
    let case = |name, clients, path| Case { name, clients, path, may_differ: false };
    vec![
        Case { may_differ: true, ..case("raw-360k", 1, appliance("raw", FEW.name, &few)) },
        case("csv-360k", 1, appliance("csv", FEW.name, &few)),
        case("json-360k", 1, appliance("json", FEW.name, &few)),
        case("csv-7d", 1, appliance("csv", WEEK.name, &week)),
        case("csv-360k x10", 10, appliance("csv", FEW.name, &few)),
        case("csv-10s", 1, appliance("csv", FEW.name, &time(START + 10_000_000_000))),
        case("csv-10s x10", 10, appliance("csv", FEW.name, &time(START + 10_000_000_000))),
        case("txt-360k", 1, appliance("txt", FEW.name, &few)),
        case("qw-360k", 1, appliance("qw", FEW.name, &few)),
        case("jplot-360k", 1, appliance("jplot", FEW.name, &few)),
        case("api-csv-360k", 1, alone("csv")),
        case("api-json-360k", 1, alone("json")),
        case("api-csv-pv-360k", 1, own("csv")),
        // The first time as digests are made, then with them; how means are summed up may show in their last digits.
        Case {
            may_differ: true,
            ..case("place-mean_600-7d", 1, appliance("json", &format!("mean_600({})", place::WEEK_NAME), &week))
        },
        Case { may_differ: true, ..case("place-raw-360k", 1, appliance("raw", place::FEW_NAME, &few)) },
        case("place-csv-360k", 1, appliance("csv", place::FEW_NAME, &few)),
        case("place-json-360k", 1, appliance("json", place::FEW_NAME, &few)),
    ]
}

/// The first answer as a number that is the same for the same answer, and how long it took, in milliseconds. A PV of files in place is
/// waited for: it is looked for at the start.
fn first(server: &Server, case: &Case) -> Outcome<(u64, f64)> {
    let patience = Instant::now() + Duration::from_secs(20);
    loop {
        let asked = Instant::now();
        match hash(server, &case.path) {
            Ok(hash) => return Ok((hash, 1e3 * asked.elapsed().as_secs_f64())),
            Err(error) if Instant::now() > patience => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

/// A number that is the same for the same answer.
fn hash(server: &Server, path: &str) -> Outcome<u64> {
    let (mut bytes, mut hasher) = (0, DefaultHasher::new());
    let answer = Connection::open(server.address())?.get(path, |piece| {
        // Byte by byte: the pieces of two answers are cut at other places.
        piece.iter().for_each(|byte| hasher.write_u8(*byte));
        bytes += piece.len();
    })?;
    match answer.status {
        200 if bytes > 0 => Ok(hasher.finish()),
        status => Err(format!("{path} was answered with {status} and {bytes} bytes").into()),
    }
}

impl Rounds {
    fn add(&mut self, server: &Server, case: &Case, seconds: f64) -> Outcome<()> {
        let mut cell = answers(server, &case.path, case.clients, seconds)?;
        let usage = cell.usage.as_ref().ok_or("the processor of a server that was not started here is not known")?;
        self.processor.push(1e3 * usage.cpu_seconds() / cell.answers());
        self.memory.push(1e3 * usage.memory_gb());
        self.answer.push(1e3 * percentile(&mut cell.whole, 50));
        self.first_byte.push(1e3 * percentile(&mut cell.first_byte, 50));
        Ok(())
    }
}

fn tell(case: &Case, mut old: Rounds, mut new: Rounds, options: &Options) {
    let figures = [
        ("answer", "ms", &mut old.answer, &mut new.answer),
        ("processor", "ms", &mut old.processor, &mut new.processor),
        ("first byte", "ms", &mut old.first_byte, &mut new.first_byte),
        ("memory", "MB", &mut old.memory, &mut new.memory),
    ];
    for (metric, unit, old, new) in figures {
        tell_both(case, metric, unit, (median(old), median(new)), options);
    }
}

/// A figure of the old program and of the new one.
fn tell_both(case: &Case, metric: &str, unit: &'static str, (old, new): (f64, f64), options: &Options) {
    let name = if case.clients == 1 { format!("{} x1", case.name) } else { case.name.to_owned() };
    let tell = |metric: &str, value, unit| {
        measure::print(&Measurement { bench: BENCH, case: &name, metric, value, unit }, options.setup.form());
    };
    tell(&format!("{metric}, old"), old, unit);
    tell(&format!("{metric}, new"), new, unit);
    tell(&format!("{metric}, new : old"), new / old, "");
}

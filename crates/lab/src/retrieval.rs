//! `pvark-lab retrieval`: how fast answers come, by the URLs that are shared with the Archiver Appliance, and beside any other
//! server that has such URLs.
//!
//! ```text
//!   an archive made here ──► pvark run (a process)  ◄──┐
//!                            --against (any server) ◄──┴── 1, 10, 100 clients (threads here), which count what arrives
//! ```

mod archive;
mod cell;
mod crowd;
mod page;
mod place;
mod table3;
pub(crate) mod versus;

use std::path::PathBuf;

use clap::Args;
use sample::Timestamp;

use self::archive::{DAY, FEW, Frames, Numbers, WEEK, YEAR};
use crate::{
    http::address,
    measure::{self, Form, Measurement, percentile},
    store_bench::Outcome,
    trial::{Archiver, Setup},
    workload::START,
};
use cell::{Server, answers};
use page::Page;
use table3::Row;

/// Frames of a scenario that are kept at most: more would not change a rate.
const FRAMES_MAX: i64 = 3600;

#[derive(Args)]
pub(crate) struct Options {
    /// Another server with the URLs of the Archiver Appliance, like http://archiver:17668, to be asked the same. It must hold the PVs
    /// LAB:360K and LAB:7D too, or the one of --pv.
    #[arg(long, value_name = "URL")]
    against: Option<String>,
    /// A running pvark, in place of one that is started here on an archive made here.
    #[arg(long, value_name = "URL", requires = "pv")]
    server: Option<String>,
    /// What is asked for in place of what is made here: one PV that all servers hold …
    #[arg(long, requires_all = ["from", "to"])]
    pv: Option<String>,
    /// … from when …
    #[arg(long)]
    from: Option<String>,
    /// … to when.
    #[arg(long)]
    to: Option<String>,
    /// How many ask at a time.
    #[arg(long, value_delimiter = ',', default_value = "1,10,100")]
    clients: Vec<usize>,
    /// For how long each of them asks again and again; each asks once at least.
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Only these parts: formats, operators, memory, table3, crowd, hostile.
    #[arg(long, value_delimiter = ',', default_value = "formats,operators,memory,table3,crowd,hostile")]
    only: Vec<String>,
    /// Megabytes that all clients of a cell of Table 3 read together.
    #[arg(long, default_value_t = 500)]
    megabytes: usize,
    /// How many clients there are in a crowd, and how many hostile ones; the system must allow so many files.
    #[arg(long, default_value_t = 1000)]
    crowd: usize,
    /// See --crowd.
    #[arg(long, default_value_t = 10_000)]
    hostile: usize,
    /// Writes the figures into a page as well.
    #[arg(long)]
    page: Option<PathBuf>,
    #[command(flatten)]
    setup: Setup,
}

/// Prints what is measured, and keeps it for the page.
pub(super) struct Report {
    form: Form,
    lines: Vec<Line>,
}

/// A figure.
pub(super) struct Line {
    bench: &'static str,
    case: String,
    metric: String,
    value: f64,
    unit: &'static str,
    paper: String,
}

impl Report {
    fn tell(&mut self, bench: &'static str, case: &str, metric: &str, value: f64, unit: &'static str) {
        measure::print(&Measurement { bench, case, metric, value, unit }, self.form);
        self.keep(bench, case, metric, value, unit, "");
    }

    fn tell_beside(&mut self, case: &str, metric: &str, value: f64, unit: &'static str, paper: &str) {
        measure::print_beside(&Measurement { bench: OURS, case, metric, value, unit }, paper, self.form);
        self.keep(OURS, case, metric, value, unit, paper);
    }

    fn keep(&mut self, bench: &'static str, case: &str, metric: &str, value: f64, unit: &'static str, paper: &str) {
        let (case, metric, paper) = (case.to_owned(), metric.to_owned(), paper.to_owned());
        self.lines.push(Line { bench, case, metric, value, unit, paper });
    }
}

const OURS: &str = "retrieval";
const THEIRS: &str = "retrieval-against";

/// A question whose answer is measured.
struct Question {
    case: String,
    path: String,
    /// Lines that the answer has, or nearly; none where it is in no lines.
    samples: Option<u64>,
    is_everywhere: bool,
}

pub(crate) fn run(options: &Options) -> Outcome<()> {
    let mut report = Report { form: options.setup.form(), lines: Vec::new() };
    let page = options.page.as_ref().map(|file| Page::begin(file, options));
    let wants = |part: &str| options.only.iter().any(|only| only == part);
    let mut faults = Vec::new();
    if ["formats", "operators", "table3"].iter().any(|part| wants(part)) {
        let rows = if wants("table3") { table3::rows()? } else { Vec::new() };
        let (mut started, server) = server(options, &rows)?;
        let against = options.against.as_deref().map(|url| Server::at(THEIRS, address(url)?, None)).transpose()?;
        let questions = questions(options, &wants)?;
        for server in std::iter::once(&server).chain(&against) {
            for question in &questions {
                if let Err(error) = measured(question, server, options, &mut report) {
                    faults.push(format!("{} {}: {error}", server.bench, question.case));
                }
            }
        }
        for row in &rows {
            scenario(row, &server, options, &mut report)?;
        }
        started.iter_mut().try_for_each(Archiver::end)?;
    }
    if wants("memory") && options.server.is_none() {
        memory(&options.setup, &mut report)?;
    }
    if wants("crowd") {
        faults.extend(crowd::crowd(options.crowd, &options.setup, &mut report)?);
    }
    if wants("hostile") {
        faults.extend(crowd::hostile(options.hostile, &options.setup, &mut report)?);
    }
    if let Some(page) = page {
        page.write(&report.lines, &faults)?;
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("; ").into()) }
}

/// Ours: the one that runs, or one that is started.
fn server(options: &Options, rows: &[Row]) -> Outcome<(Option<Archiver>, Server)> {
    if let Some(url) = &options.server {
        return Ok((None, Server::at(OURS, address(url)?, None)?));
    }
    let setup = &options.setup;
    let scratch = if setup.folder.is_none() { Some(setup.scratch()?) } else { None };
    let folder = match (&setup.folder, &scratch) {
        (Some(folder), _) => folder.join("retrieval"),
        (None, scratch) => scratch.as_ref().map_or_else(PathBuf::new, |scratch| scratch.path().to_owned()),
    };
    std::fs::create_dir_all(&folder)?;
    let frames: Vec<Frames> = rows
        .iter()
        .filter(|row| row.clients == 1)
        .map(|row| Frames { scenario: &row.scenario, count: frames_of(row, options.megabytes) })
        .collect();
    let wants_year = options.only.iter().any(|only| only == "operators") && options.pv.is_none();
    let numbers: &[&Numbers] = if wants_year { &[&FEW, &WEEK, &YEAR] } else { &[&FEW, &WEEK] };
    archive::make(&folder, numbers, &frames)?;
    let archiver = Archiver::start(&setup.program()?, setup.archiver_cores.as_deref(), &folder, &[], &setup.config)?;
    let server = Server::at(OURS, address(archiver.url())?, Some((archiver.id(), scratch)))?;
    Ok((Some(archiver), server))
}

fn time(nanos: i64) -> String {
    Timestamp::from_nanos(nanos).to_string()
}

fn questions(options: &Options, wants: &dyn Fn(&str) -> bool) -> Outcome<Vec<Question>> {
    let mut questions = Vec::new();
    let mut ask = |case: String, path: String, samples: Option<u64>, is_everywhere: bool| {
        questions.push(Question { case, path, samples, is_everywhere });
    };
    let appliance = |format: &str, pv: &str, from: &str, to: &str| {
        format!("/retrieval/data/getData.{format}?pv={pv}&from={from}&to={to}")
    };
    let arrow = |pv: &str, from: &str, to: &str| {
        format!("/api/v1/samples?format=arrow&columns=needed&pv={pv}&from={from}&to={to}")
    };
    if let (Some(pv), Some(from), Some(to)) = (&options.pv, &options.from, &options.to) {
        for format in ["csv", "raw", "json"] {
            ask(format!("{format}-given"), appliance(format, pv, from, to), None, true);
        }
        ask("arrow-given".to_owned(), arrow(pv, from, to), None, false);
        return Ok(questions);
    }
    let from = time(START);
    if wants("formats") {
        for (name, numbers) in [("360k", &FEW), ("7d", &WEEK)] {
            let (to, samples) = (time(numbers.end()), numbers.samples as u64);
            for format in ["csv", "raw", "json"] {
                ask(format!("{format}-{name}"), appliance(format, numbers.name, &from, &to), Some(samples), true);
            }
            ask(format!("arrow-{name}"), arrow(numbers.name, &from, &to), None, false);
        }
    }
    if wants("operators") {
        let one = time(START + DAY / 2);
        ask("one-sample".to_owned(), appliance("raw", WEEK.name, &one, &one), Some(1), true);
        let of = |operator: &str, numbers: &Numbers| {
            appliance("raw", &format!("{operator}({})", numbers.name), &from, &time(numbers.end()))
        };
        ask("mean_600-7d".to_owned(), of("mean_600", &WEEK), Some(7 * 144), true);
        ask("optimized_1000-7d".to_owned(), of("optimized_1000", &WEEK), Some(1000), true);
        ask("optimized_1000-year".to_owned(), of("optimized_1000", &YEAR), Some(1000), false);
    }
    Ok(questions)
}

/// One question by 1, 10, 100 clients.
fn measured(question: &Question, server: &Server, options: &Options, report: &mut Report) -> Outcome<()> {
    let is_ours = server.bench == OURS;
    if !is_ours && !question.is_everywhere {
        return Ok(());
    }
    let samples = cell::checked(server, &question.path, question.samples)?;
    for clients in &options.clients {
        let mut cell = answers(server, &question.path, *clients, options.seconds)?;
        let case = format!("{} x{clients}", question.case);
        let mut tell = |metric: &str, value: f64, unit: &'static str| {
            report.tell(server.bench, &case, metric, value, unit);
        };
        tell("samples", cell.answers() * samples as f64 / cell.wall / 1e6, "M/s");
        tell("rate", cell.bytes as f64 / cell.wall / 1e6, "MB/s");
        tell("answer, half within", 1e3 * percentile(&mut cell.whole, 50), "ms");
        tell("answer, 99 % within", 1e3 * percentile(&mut cell.whole, 99), "ms");
        tell("first byte, half within", 1e3 * percentile(&mut cell.first_byte, 50), "ms");
        tell("first byte, 99 % within", 1e3 * percentile(&mut cell.first_byte, 99), "ms");
        if let Some(usage) = &cell.usage {
            tell("processor", usage.cpu_seconds() / (cell.bytes as f64 / 1e9), "s/GB");
            tell("most memory", 1e3 * usage.memory_gb(), "MB");
        }
    }
    Ok(())
}

/// What a client costs that asks for a week and does not read it; of each format by an archiver that was started just now, as one
/// that has answered before has memory left.
fn memory(setup: &Setup, report: &mut Report) -> Outcome<()> {
    let clients = 200;
    let scratch = setup.scratch()?;
    archive::make(scratch.path(), &[&WEEK], &[])?;
    let (from, to) = (time(START), time(WEEK.end()));
    for (format, path) in [
        ("csv", "/retrieval/data/getData.csv"),
        ("raw", "/retrieval/data/getData.raw"),
        ("json", "/retrieval/data/getData.json"),
        ("arrow", "/api/v1/samples?format=arrow&columns=needed"),
    ] {
        let mark = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{mark}pv={}&from={from}&to={to}", WEEK.name);
        let cores = setup.archiver_cores.as_deref();
        let mut archiver = Archiver::start(&setup.program()?, cores, scratch.path(), &[], &setup.config)?;
        let server = Server::at(OURS, address(archiver.url())?, Some((archiver.id(), None)))?;
        let bytes = cell::memory_of_waiting(&server, &path, clients)?;
        archiver.end()?;
        report.tell(OURS, &format!("memory-{format}"), "of a client that does not read", bytes / 1e3, "kB");
    }
    Ok(())
}

/// For so long at least a cell of Table 3 is asked.
const CELL_SECONDS: f64 = 1.0;

/// The frames of a scenario that the archive has.
fn frames_of(row: &Row, megabytes: usize) -> i64 {
    let enough = (megabytes * 1_000_000 / row.scenario.line_bytes()) as i64;
    row.scenario.frames().min(FRAMES_MAX).min(enough.max(1))
}

/// A row of Table 3, over as much of the hour as the bound leaves.
fn scenario(row: &Row, server: &Server, options: &Options, report: &mut Report) -> Outcome<()> {
    let scenario = &row.scenario;
    let share = frames_of(row, options.megabytes / row.clients);
    let archive = Frames { scenario, count: frames_of(row, options.megabytes) };
    let (from, to) = (time(START), time(archive.end(share)));
    let path = format!("/retrieval/data/getData.csv?pv={}&from={from}&to={to}", scenario.name);
    // The first time reads the files; then so often that what was counted in hundredths of a second says something.
    answers(server, &path, row.clients, 0.0)?;
    let cell = answers(server, &path, row.clients, CELL_SECONDS)?;
    if cell.lines as f64 != (share + 1) as f64 * cell.answers() {
        return Err(
            format!("{}: {} lines came in {} answers of {share}", scenario.name, cell.lines, cell.answers()).into()
        );
    }
    let rounds = cell.answers() / row.clients as f64;
    let case = format!("{} x{}", scenario.name, row.clients);
    let mut tell = |metric: &str, value: f64, unit: &'static str, column: &str| {
        report.tell_beside(&case, metric, value, unit, row.paper(column));
    };
    if let Some(usage) = &cell.usage {
        tell("CPU producer", usage.cpu_percent(), "%", "CPU producer");
        tell("RAM producer", usage.memory_gb(), "GB", "RAM producer");
        tell("processor", usage.cpu_seconds() / (cell.bytes as f64 / 1e9), "s/GB", "");
    }
    tell("CPU consumer", 100.0 * cell.client_cpu / cell.wall, "%", "CPU consumer");
    tell("RAM consumer", cell.client_gb, "GB", "RAM consumer");
    tell("network traffic", cell.bytes as f64 * 8e-6 / cell.wall, "Mb/s", "Mb/s");
    tell("rate", cell.bytes as f64 / 1e6 / cell.wall, "MB/s", "");
    tell("data retrieved", cell.bytes as f64 / 1e9 / rounds, "GB", "GB");
    tell("retrieval time", cell.wall / rounds, "s", "s");
    tell("values", cell.lines as f64 * scenario.points as f64 / cell.wall / 1e6, "M/s", "");
    Ok(())
}

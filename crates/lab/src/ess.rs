//! `pvark-lab ess`: the storage study of ESS again, each scenario with a farm, the archiver and a check of every frame.
//!
//! ```text
//!   farm (a process) ──Channel Access──► pvark run (a process, a fresh folder) ──► every frame read back, compared, counted
//! ```

mod archiver;
mod frames;
mod scenario;
mod usage;

use std::{
    path::PathBuf,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use clap::Args;

use crate::{
    farm::Plan,
    farm_process::{FarmProcess, FarmReport},
    measure::{self, Form, Measured},
    store_bench::Outcome,
};
use archiver::Archiver;
use frames::Frames;
use scenario::Scenario;
use usage::Usage;

/// All PVs are to be connected after so long; an overload may need it.
const CONNECT_PATIENCE: Duration = Duration::from_secs(120);

/// The archiver is to be done with what it has after so long.
const END_PATIENCE: Duration = Duration::from_secs(600);

#[derive(Args)]
pub(crate) struct Options {
    /// Only these, as AAPS-0620; all that the table has if none is given.
    #[arg(long, value_name = "SCENARIO", value_delimiter = ',')]
    scenario: Vec<String>,
    /// The scenarios and what the study reports of each.
    #[arg(long)]
    list: bool,
    /// Another table of scenarios, in the columns of crates/lab/scenarios.csv.
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    /// How long frames are sent once all PVs are connected; in the study an hour. Rates are never scaled.
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// The archiver; the one beside this program if not given.
    #[arg(long, value_name = "FILE")]
    pvark: Option<PathBuf>,
    /// Where archives are made, each in a folder that is deleted afterwards.
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Servers of the farm.
    #[arg(long, default_value_t = 1)]
    servers: u32,
    /// One JSON object a line instead of a table.
    #[arg(long)]
    json: bool,
}

/// What a run showed.
struct Findings {
    connected_after: f64,
    seconds: f64,
    farm: Usage,
    archiver: Usage,
    report: FarmReport,
    /// Frames that the archiver itself says it dropped.
    dropped_archiver: u64,
    /// From the end of the farm to the orderly end of the archiver.
    drained_after: f64,
    disk_bytes: u64,
    frames: Frames,
}

pub(crate) fn run(options: &Options) -> Outcome<()> {
    let scenarios = scenario::read(options.table.as_deref(), &options.scenario)?;
    if options.list {
        scenarios.iter().for_each(|scenario| measure::tell(&scenario.in_words()));
        return Ok(());
    }
    let mut wrong = Vec::new();
    for scenario in &scenarios {
        match one(scenario, options) {
            Ok(findings) if findings.unexplained()? == 0 && findings.frames.wrong == 0 => {
                tell(scenario, &findings, options)?
            }
            Ok(findings) => {
                tell(scenario, &findings, options)?;
                wrong.push(format!(
                    "{}: {} frames are missing without a count, {} are wrong",
                    scenario.name,
                    findings.unexplained()?,
                    findings.frames.wrong
                ));
            }
            Err(error) => wrong.push(format!("{}: {error}", scenario.name)),
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ").into()) }
}

fn one(scenario: &Scenario, options: &Options) -> Outcome<Findings> {
    let folder = match &options.folder {
        Some(folder) => tempfile::tempdir_in(folder)?,
        None => tempfile::tempdir()?,
    };
    let group = scenario.group();
    let arguments = ["--group", &group, "--servers", &options.servers.to_string(), "--drain", "30"].map(str::to_owned);
    let farm = FarmProcess::start(&arguments)?;
    let plan = Arc::new(Plan::new(vec![group.parse()?], farm.start));
    let mut archiver = Archiver::start(&program(options)?, folder.path(), &farm.ca)?;
    let begun = Instant::now();
    archiver.add((0..plan.len()).map(|pv| plan.name(pv)))?;
    let all = u64::from(plan.len());
    archiver.wait_for("all PVs to connect", CONNECT_PATIENCE, |status| status["pvs"]["connected"] == all)?;
    let connected_after = begun.elapsed().as_secs_f64();
    let (mut of_farm, mut of_archiver) = (Usage::watch(farm.id()), Usage::watch(archiver.id()));
    let measured = Instant::now();
    while measured.elapsed().as_secs_f64() < options.seconds {
        thread::sleep(Duration::from_millis(100));
        of_farm.look();
        of_archiver.look();
    }
    let seconds = measured.elapsed().as_secs_f64();
    let ended = Instant::now();
    let report = farm.end()?;
    archiver.wait_for("the end of all circuits", END_PATIENCE, |status| {
        status["pvs"]["connected"] == 0 && status["queue"]["bytes"] == 0
    })?;
    let dropped_archiver = archiver.dropped()?;
    archiver.end()?;
    let drained_after = ended.elapsed().as_secs_f64();
    let disk_bytes = usage::folder_bytes(&archiver.data)?;
    let frames = frames::check(&plan, &archiver.data)?;
    Ok(Findings {
        connected_after,
        seconds,
        farm: of_farm,
        archiver: of_archiver,
        report,
        dropped_archiver,
        drained_after,
        disk_bytes,
        frames,
    })
}

fn program(options: &Options) -> Outcome<PathBuf> {
    let beside = std::env::current_exe()?.with_file_name("pvark");
    let program = options.pvark.clone().unwrap_or(beside);
    if program.is_file() {
        Ok(program)
    } else {
        Err(format!("there is no archiver at {}; give --pvark", program.display()).into())
    }
}

impl Findings {
    /// Frames for which an archiver that loses nothing would have been asked: the first of each PV, and all that followed.
    fn offered(&self) -> Outcome<u64> {
        Ok(self.report.count("updates posted to subscriptions")? + self.frames.pvs)
    }

    /// Frames that the IOC left out for a client that did not keep up.
    fn dropped_ioc(&self) -> Outcome<u64> {
        let of = |metric| self.report.count(metric);
        Ok(of("dropped: a newer took its place")? + of("dropped: subscription ended")? + of("still waiting")?)
    }

    fn unexplained(&self) -> Outcome<i64> {
        let known = self.frames.stored + self.dropped_ioc()? + self.dropped_archiver;
        Ok(self.offered()?.cast_signed() - known.cast_signed())
    }
}

fn tell(scenario: &Scenario, found: &Findings, options: &Options) -> Outcome<()> {
    let form = if options.json { Form::Json } else { Form::Table };
    let offered = found.offered()?;
    let percent = |count: u64| 100.0 * count as f64 / offered.max(1) as f64;
    let bytes = |frames: u64| frames as f64 * scenario.frame_bytes() as f64;
    let lines = [
        ("CPU producer", found.farm.cpu_percent(), "% of a core", "aa_cpu_producer"),
        ("RAM producer", found.farm.memory_gb(), "GB", "aa_ram_producer"),
        ("CPU consumer", found.archiver.cpu_percent(), "% of a core", "aa_cpu_consumer"),
        ("RAM consumer", found.archiver.memory_gb(), "GB", "aa_ram_consumer"),
        ("disk consumer", found.disk_bytes as f64 / 1e9, "GB", "aa_disk"),
        ("network traffic", found.report.value("sent on circuits")? * 8.0 / found.seconds, "Mb/s", "aa_network"),
        ("dropped frames", percent(offered - found.frames.stored.min(offered)), "%", "aa_dropped"),
        ("dropped by the IOC", found.dropped_ioc()? as f64, "frames", ""),
        ("dropped by the archiver", found.dropped_archiver as f64, "frames", ""),
        ("dropped without a count", found.unexplained()? as f64, "frames", ""),
        ("wrong", found.frames.wrong as f64, "frames", ""),
        ("offered", offered as f64, "frames", ""),
        ("stored", found.frames.stored as f64, "frames", ""),
        ("goodput", bytes(found.frames.stored) / found.seconds / 1e6, "MB/s", ""),
        ("packed", bytes(found.frames.stored) / found.disk_bytes.max(1) as f64, ": 1", ""),
        ("all connected after", found.connected_after, "s", ""),
        ("frames sent for", found.seconds, "s", ""),
        ("latest frame late by", found.report.value("latest by")?, "ms", ""),
        ("drained and ended after", found.drained_after, "s", ""),
    ];
    for (metric, value, unit, column) in lines {
        measure::print_beside(
            &Measured { bench: "ess", case: &scenario.name, metric, value, unit },
            &scenario.paper(column),
            form,
        );
    }
    Ok(())
}

//! `pvark-lab ess`: the storage study of ESS again, each scenario with a farm, the archiver and a check of every frame.
//!
//! ```text
//!   farm (a process) ──Channel Access──► pvark run (a process, a fresh folder) ──► every frame read back, compared, counted
//! ```

mod scenario;

use std::path::PathBuf;

use clap::Args;

use crate::{
    measure::{self, Measurement},
    store_bench::Outcome,
    trial::{self, Findings, Setup},
};
use scenario::Scenario;

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
    #[command(flatten)]
    setup: Setup,
}

pub(crate) fn run(options: &Options) -> Outcome<()> {
    let scenarios = scenario::read(options.table.as_deref(), &options.scenario)?;
    if options.list {
        scenarios.iter().for_each(|scenario| measure::tell(&scenario.in_words()));
        return Ok(());
    }
    let mut wrong = Vec::new();
    for scenario in &scenarios {
        let mut setup = options.setup.clone();
        if !setup.config.iter().any(|line| line.starts_with("head_megabytes_max")) {
            setup.config.push(format!("head_megabytes_max = {}", scenario.head_megabytes()));
        }
        match trial::run(&[scenario.group()], options.seconds, &setup) {
            Ok(found) => {
                tell(scenario, &found, options)?;
                wrong.extend(found.faults()?.into_iter().map(|fault| format!("{}: {fault}", scenario.name)));
            }
            Err(error) => wrong.push(format!("{}: {error}", scenario.name)),
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ").into()) }
}

fn tell(scenario: &Scenario, found: &Findings, options: &Options) -> Outcome<()> {
    let form = options.setup.form();
    let (frames, ledger) = (&found.frames, &found.frames.ledger);
    let bytes = |frames: u64| frames as f64 * scenario.frame_bytes() as f64;
    let missing_at = frames.missing_at.unwrap_or((f64::NAN, f64::NAN));
    let per_million = |usage: &trial::Usage| usage.cpu_seconds() * 1e6 / found.stored.max(1) as f64;
    let lines = [
        ("CPU producer", found.farm.cpu_percent(), "% of a core", "aa_cpu_producer"),
        ("RAM producer", found.farm.memory_gb(), "GB", "aa_ram_producer"),
        ("CPU consumer", found.archiver.cpu_percent(), "% of a core", "aa_cpu_consumer"),
        ("RAM consumer", found.archiver.memory_gb(), "GB", "aa_ram_consumer"),
        ("disk consumer", found.disk_bytes as f64 / 1e9, "GB", "aa_disk"),
        ("head", scenario.head_megabytes() as f64, "MB at most", ""),
        ("network traffic", found.received_bytes * 8.0 / 1e6 / found.seconds, "Mb/s", "aa_network"),
        ("dropped frames", found.dropped_percent()?, "%", "aa_dropped"),
        ("dropped by the IOC", found.dropped_ioc()? as f64, "frames", ""),
        ("dropped by the archiver", found.dropped_archiver as f64, "frames", ""),
        ("dropped without a count", found.unexplained()? as f64, "frames", ""),
        ("wrong", frames.wrong as f64, "frames", ""),
        ("offered", found.offered()? as f64, "frames", ""),
        ("stored", frames.stored as f64, "frames", ""),
        ("missing once all had been connected", frames.missing_later as f64, "frames", ""),
        ("first missing after", missing_at.0, "s", ""),
        ("last missing after", missing_at.1, "s", ""),
        ("PVs the ledger is wrong about", ledger.false_pvs as f64, "", ""),
        ("PVs that the IOC left out of", ledger.short_pvs as f64, "", ""),
        ("of these not suspected", ledger.unsuspected_pvs as f64, "", ""),
        ("goodput", bytes(found.stored) / found.seconds / 1e6, "MB/s", ""),
        ("CPU consumer per million frames", per_million(&found.archiver), "s", ""),
        ("CPU producer per million frames", per_million(&found.farm), "s", ""),
        ("packed", bytes(frames.stored) / found.disk_bytes.max(1) as f64, ": 1", ""),
        ("all connected after", found.connected_after, "s", ""),
        ("frames sent for", found.seconds, "s", ""),
        ("latest frame late by", found.report.value("latest by")?, "ms", ""),
        ("recovered after", found.drained_after, "s", ""),
    ];
    for (metric, value, unit, column) in lines {
        measure::print_beside(
            &Measurement { bench: "ess", case: &scenario.name, metric, value, unit },
            &scenario.paper(column),
            form,
        );
    }
    Ok(())
}

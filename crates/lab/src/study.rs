//! `pvark-lab study`: the page of acquisition: the storage study of ESS, rates, an overload and the model of capacity, measured
//! and written beside what the study reports of the Archiver Appliance.

use std::{collections::HashMap, fs, num::NonZero, path::PathBuf, process::Stdio};

use clap::Args;
use serde_json::Value;

use crate::{
    farm_process,
    figures::{conditions, digits, said},
    store_bench::Outcome,
};

#[derive(Args)]
pub(crate) struct Options {
    /// The page to be written.
    #[arg(long, default_value = "docs/ess.md")]
    page: PathBuf,
    /// How long each scenario sends; in the study an hour. Rates are never scaled.
    #[arg(long, default_value_t = 4.0)]
    seconds: f64,
    /// Only these scenarios, as AAPS-0620; all if none is given.
    #[arg(long, value_name = "SCENARIO", value_delimiter = ',')]
    scenario: Vec<String>,
    /// How long the overload is.
    #[arg(long, default_value_t = 20.0)]
    overload_seconds: f64,
    /// Only these parts: ess, rate, overload, capacity.
    #[arg(long, value_delimiter = ',', default_value = "ess,rate,overload,capacity")]
    only: Vec<String>,
    /// A Python that has epicscorelibs, for the client by libca.
    #[arg(long)]
    python: Option<PathBuf>,
}

/// A part of the page: a command, what it measures, and the words above its table.
struct Part {
    name: &'static str,
    title: &'static str,
    text: &'static str,
    arguments: Vec<String>,
}

/// A line of a command.
struct Line {
    case: String,
    metric: String,
    value: Option<f64>,
    unit: String,
    paper: String,
}

pub(crate) fn run(options: &Options) -> Outcome<()> {
    let conditions = conditions();
    let mut page = format!(
        "# The storage study of ESS, and what acquisition takes\n\nMade by `make ess`; whoever wants other figures runs it again, \
         nobody edits this page.\n\n{conditions}\n"
    );
    let mut failed = Vec::new();
    for part in parts(options).into_iter().filter(|part| options.only.iter().any(|only| only == part.name)) {
        let (lines, fault) = measured(&part)?;
        page += &format!(
            "\n## {}\n\n{}\n\n`{}pvark-lab {}`\n\n",
            part.title,
            part.text,
            prefix(&part),
            part.arguments.join(" ")
        );
        page += &if part.name == "ess" { scenarios(&lines, options.seconds) } else { table(&lines) };
        if !fault.is_empty() {
            page += &format!("\n**Not as it must be:** {fault}\n");
            failed.push(format!("{}: {fault}", part.name));
        }
        fs::write(&options.page, &page)?;
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("; ").into()) }
}

/// The farm and the archiver share two cores in the scenarios, where there is taskset.
fn prefix(part: &Part) -> &'static str {
    if part.name == "ess" && !said("taskset", &["--version"]).is_empty() { "taskset -c 0,1 " } else { "" }
}

fn parts(options: &Options) -> Vec<Part> {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let [overload_cores, capacity_cores] = cores(std::thread::available_parallelism().map_or(1, NonZero::get));
    let mut ess = [words("ess --seconds"), vec![options.seconds.to_string()]].concat();
    if !options.scenario.is_empty() {
        ess.extend(["--scenario".to_owned(), options.scenario.join(",")]);
    }
    let mut rate = words("rate --seconds 10 --ceiling 2");
    if let Some(python) = &options.python {
        rate.extend(["--libca".to_owned(), python.display().to_string()]);
    }
    vec![
        Part {
            name: "ess",
            title: "The 48 scenarios",
            text: "R. Fernandes et al., *An Archiver Appliance performance and resources consumption study* (ICALEPCS 2021), Tables 1 and \
                   2. Each cell has ours first and behind it, in brackets, what the study reports of the Archiver Appliance. The study \
                   ran each scenario for an hour, producer and archiver on machines of their own (24 cores, 1 Gb/s between them); here \
                   both share the cores of the command for some seconds, and the network is loopback. CPU is in percent of one core \
                   here, of the machine there; disk is in GB for the time of the run, here seconds, there an hour; the network is what \
                   the archiver received meanwhile. Every frame of \
                   every PV is read back and compared. `head_megabytes_max` is a quarter more than all arrays together, from 256 \
                   to 1024. *IOC*: frames that the simulated IOC left out because the archiver did not read them in time; *own*: those that the archiver counted as lost; *uncounted*: those that nobody counted; *ledger*: \
                   PVs of which the archiver's ledger says anything else than what is in the archive, or whose losses at the IOC it \
                   does not suspect.",
            arguments: ess,
        },
        Part {
            name: "rate",
            title: "Scalars per second",
            text: "64-bit floats by Channel Access into the store on disk, from one simulated IOC and then from several, the rate raised \
                   until an update is lost once all PVs have been connected for a second, in two tries. *libca*: a client by EPICS Base's own library that does nothing but count, of the same \
                   PVs; ours decodes, queues, logs and packs them.",
            arguments: rate,
        },
        Part {
            name: "overload",
            title: "Overload",
            text: "Waveforms of 1,000 integers at 150 % of what the archiver takes without a loss, which has cores of its own here, and the \
                   producers others. Two clients ask 25 times a second each, for the status and for the last 30 s of \
                   a quiet PV in bins, before, meanwhile and after. They run on the cores of the archiver at real-time priority \
                   (`chrt --fifo`), before all else: so they measure the archiver and not their own wait for a core, and a client of \
                   ordinary priority may wait longer than these figures say.",
            arguments: [
                words("overload"),
                words(overload_cores),
                words("--seconds"),
                vec![options.overload_seconds.to_string()],
            ]
            .concat(),
        },
        Part {
            name: "capacity",
            title: "The model of capacity",
            text: "Eleven loads, each with and without flushes, through which lines are drawn (what `pvark capacity` predicts by), and a prediction beside a \
                   ramp that is raised until something is lost.",
            arguments: [words("capacity"), words(capacity_cores), words("--seconds 3 --ramp 1")].concat(),
        },
    ]
}

/// Of so many cores, which the archiver has and which the farm has: in an overload, and where one core is looked at.
fn cores(count: usize) -> [&'static str; 2] {
    match count {
        1 => ["--archiver-cores 0 --farm-cores 0"; 2],
        2 | 3 => ["--archiver-cores 0 --farm-cores 1"; 2],
        _ => ["--archiver-cores 0,3 --farm-cores 1,2", "--archiver-cores 0 --farm-cores 1,2"],
    }
}

/// What a command prints, and what it says at the end if it fails.
fn measured(part: &Part) -> Outcome<(Vec<Line>, String)> {
    let program = std::env::current_exe()?;
    let cores = if prefix(part).is_empty() { None } else { Some("0,1") };
    let mut command = farm_process::on_cores(cores, &program);
    let output = command.args(&part.arguments).arg("--json").stderr(Stdio::piped()).output()?;
    let text = String::from_utf8(output.stdout)?;
    let fault = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let fault = if output.status.success() { String::new() } else { fault };
    Ok((text.lines().map(line).collect::<Outcome<_>>()?, fault))
}

fn line(text: &str) -> Outcome<Line> {
    let line: Value = serde_json::from_str(text)?;
    let word = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
    let value = line["value"].as_f64();
    Ok(Line { case: word("case"), metric: word("metric"), value, unit: word("unit"), paper: word("paper") })
}

fn table(lines: &[Line]) -> String {
    let mut page = String::from("| case | figure | | |\n|---|---|--:|---|\n");
    for Line { case, metric, value, unit, .. } in lines {
        let value = value.map_or_else(|| "–".to_owned(), digits);
        page += &format!("| {case} | {metric} | {value} | {unit} |\n");
    }
    page
}

const COLUMNS: [(&str, &str); 7] = [
    ("CPU producer", "CPU producer, %"),
    ("RAM producer", "RAM producer, GB"),
    ("CPU consumer", "CPU consumer, %"),
    ("RAM consumer", "RAM consumer, GB"),
    ("disk consumer", "disk, GB"),
    ("network traffic", "network, Mb/s"),
    ("dropped frames", "dropped, %"),
];

const COUNTS: [(&str, &str); 5] = [
    ("dropped by the IOC", "IOC"),
    ("dropped by the archiver", "own"),
    ("dropped without a count", "uncounted"),
    ("PVs the ledger is wrong about", "ledger"),
    ("of these not suspected", "ledger"),
];

/// A row for each scenario, in the columns of Table 2; each sent for so many seconds.
fn scenarios(lines: &[Line], seconds: f64) -> String {
    let mut page = String::from("| scenario |");
    COLUMNS.iter().for_each(|(_, title)| page += &format!(" {title} |"));
    page += " IOC | own | uncounted | ledger |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n";
    let mut names: Vec<&str> = lines.iter().map(|line| line.case.as_str()).collect();
    names.dedup();
    let mut loss_free = 0;
    for name in &names {
        let of: HashMap<&str, &Line> =
            lines.iter().filter(|line| line.case == *name).map(|line| (line.metric.as_str(), line)).collect();
        page += &format!("| {name} |");
        for (metric, _) in COLUMNS {
            let Some(line) = of.get(metric) else { continue };
            let ours = line.value.map_or_else(|| "–".to_owned(), digits);
            let theirs = if line.paper.is_empty() { "not run" } else { &line.paper };
            page += &format!(" {ours} ({theirs}) |");
        }
        let count = |metric: &str| of.get(metric).and_then(|line| line.value).unwrap_or(f64::NAN);
        let [ioc, own, uncounted, wrong, unsuspected] = COUNTS.map(|(metric, _)| count(metric));
        page += &format!(" {ioc} | {own} | {uncounted} | {} |\n", wrong + unsuspected);
        loss_free += usize::from(count("dropped frames") == 0.0);
    }
    page + &format!(
        "\nWithout a loss: {loss_free} of {}, each of which sent for {seconds} s; in the study it was an hour.\n",
        names.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_is_a_row_beside_the_paper_and_losses_are_counted() {
        let mut text = String::new();
        for (case, dropped) in [("AAPS-0010", 0.0), ("AAPS-0020", 7.5)] {
            for (metric, _) in COLUMNS.iter().chain(&COUNTS) {
                let value = if *metric == "dropped frames" { dropped } else { 3.0 };
                let paper = if *metric == "RAM consumer" { "13.8" } else { "" };
                let of =
                    serde_json::json!({"case": case, "metric": metric, "value": value, "unit": "", "paper": paper});
                text += &format!("{of}\n");
            }
        }
        let lines: Vec<Line> = text.lines().map(|text| line(text).expect("a line")).collect();
        let page = scenarios(&lines, 4.0);
        let row = page.lines().find(|line| line.starts_with("| AAPS-0020")).expect("a row");
        assert_eq!(row.matches('|').count(), page.lines().next().expect("a head").matches('|').count());
        assert!(
            row.contains("3 (13.8)") && row.contains("7.5 (not run)") && row.ends_with("| 3 | 3 | 3 | 6 |"),
            "{row}"
        );
        assert!(page.ends_with("Without a loss: 1 of 2, each of which sent for 4 s; in the study it was an hour.\n"));
    }
}

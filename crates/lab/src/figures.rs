//! The page of figures: what `store --json` has measured, with the machine, the bars, and what papers and rivals have.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
};

use clap::Args;

use crate::{
    bars, cases, papers,
    store_bench::{self, Outcome},
};

#[derive(Args)]
pub(crate) struct Options {
    /// The page to be written.
    #[arg(long, default_value = "docs/figures.md")]
    page: PathBuf,
    /// How much of everything.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Where large archives are kept between runs.
    #[arg(long)]
    folder: Option<PathBuf>,
    /// The Python with what tools/requirements-rivals.txt names.
    #[arg(long, default_value = "python3")]
    python: PathBuf,
}

/// A line of the bench.
struct Line {
    bench: String,
    case: String,
    metric: String,
    value: f64,
    unit: String,
}

/// A table of the page: the cases whose names begin with one of these words.
struct Group {
    title: &'static str,
    text: &'static str,
    only: &'static str,
}

const GROUPS: &[Group] = &[
    Group {
        title: "Ingest",
        text: "From `append` through log, head and flush to synced segments; *all in* with the merge of all flushes into one \
               segment: of eight, or of those that the store began by itself when its head was full. The processor time of all threads counts, that of making the samples does not.",
        only: "ingest,all-in",
    },
    Group {
        title: "Bytes per sample",
        text: "Everything in the segment over the samples in it: times, values, alarms, index, summaries, levels, checksums. 10 Hz \
               with stamps to the nanosecond, late by half a gaussian of 100 µs unless the case says otherwise; such times \
               alone carry 2.21 bytes of entropy. Four PVs of six hours each.",
        only: "size",
    },
    Group {
        title: "Scans and queries",
        text: "Decoded, with every checksum verified. *Cold*: the system was told to forget the files; the reads are those that the \
               kernel counts.",
        only: "scan,query",
    },
    Group {
        title: "Long times in a thousand bins",
        text: "Count, least, greatest, mean and the rest, exactly as from the samples. *Aligned*: a thousand bins of whole tens of \
               minutes; *round*: at most a thousand of the shortest round length; *arbitrary*: a thousand from and to any \
               nanosecond, of which 10 ms are asked for as of any range, 20 ms cold. *Warm*: asked before, of the same PV; *cold*: by an archive that was opened just now, with files that \
               the system was told to forget.",
        only: "year,ten-years",
    },
    Group {
        title: "When something held",
        text: "Five years of two PVs at 10 Hz: a number that is beyond 3 for 40 s five times a day, and a switch. *Days decide*: the summary of a \
               day says that it never was beyond 10; *peaks are read*: a few minutes of each day have to be; *all is read*: beyond 1 it is at \
               every other sample. *Cold*: the system was told to forget the files.",
        only: "when",
    },
    Group {
        title: "Many PVs",
        text: "Memory as the system counts it for the whole process, less the workload's own. It is that of the store alone: the \
               program with a million PVs, none of which anybody serves, takes 1.0 GB (`pvark-lab lists`).",
        only: "live,million,ledger",
    },
    Group { title: "Arrays", text: "Frames at 14 Hz; GB are of elements as they lie in memory.", only: "frames" },
    Group {
        title: "Values of 100 MB",
        text: "One a second through log, head, flush and merge. Memory is the most that was taken besides what was there before, in \
               values of 100 MB; that of the first append has its copy in the head.",
        only: "large",
    },
    Group {
        title: "HALF's test",
        text: "Integers that walk, times in whole milliseconds that scatter, rare alarms. Written in batches of 2,000 PVs until they \
               are safe on the disk, as there. Read by one client in this process, from an archive of 20 PVs with as many samples as \
               the table says, which fits into memory: the paper's has 2,000 PVs and 7 · 10⁹ samples, and is read through a server.",
        only: "half",
    },
];

pub(crate) fn run(options: &Options) -> Outcome<()> {
    let began = conditions();
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["store", "--json", "--scale", &options.scale.to_string()]).arg("--python").arg(&options.python);
    if let Some(folder) = &options.folder {
        command.arg("--folder").arg(folder);
    }
    let output = command.stderr(Stdio::inherit()).output()?;
    let whole = if output.status.success() { "" } else { "- a case failed: its figures are missing\n" };
    let lines = String::from_utf8(output.stdout)?.lines().map(read_line).collect::<Outcome<Vec<Line>>>()?;
    let page = page(&lines, options.scale, &format!("{began}- load after the run: {}\n{whole}", load()));
    Ok(fs::write(&options.page, page)?)
}

fn read_line(line: &str) -> Outcome<Line> {
    let object: serde_json::Value = serde_json::from_str(line)?;
    let text = |key: &str| object[key].as_str().map(str::to_owned).ok_or_else(|| format!("{line} has no {key}"));
    let value = object["value"].as_f64().ok_or_else(|| format!("{line} has no value"))?;
    Ok(Line { bench: text("bench")?, case: text("case")?, metric: text("metric")?, value, unit: text("unit")? })
}

/// The machine and the version, as a list.
pub(crate) fn conditions() -> String {
    let first = |path: &str, key: &str| {
        let text = fs::read_to_string(path).unwrap_or_default();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(key).map(|rest| rest.trim_matches([' ', '\t', ':'])).map(str::to_owned));
        line.unwrap_or_else(|| "unknown".to_owned())
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let changes =
        if said("git", &["status", "--porcelain", "--untracked-files=no"]).is_empty() { "" } else { ", with changes" };
    format!(
        "- machine: {}, {cores} cores, {} of memory, Linux {}\n- load before the run: {}\n- date: {}\n- commit: {}{changes}\n- built by {}\n",
        first("/proc/cpuinfo", "model name"),
        first("/proc/meminfo", "MemTotal"),
        said("uname", &["-r"]),
        load(),
        said("date", &["-u", "+%Y-%m-%d"]),
        said("git", &["log", "-1", "--format=%h %s"]),
        said("rustc", &["--version"]),
    )
}

/// How many processes wanted to run, in the mean of the last minute.
fn load() -> String {
    fs::read_to_string("/proc/loadavg").unwrap_or_default().split(' ').next().unwrap_or_default().to_owned()
}

/// What a program answers; nothing if it is not there.
pub(crate) fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}

fn page(lines: &[Line], scale: f64, conditions: &str) -> String {
    let mut page = format!(
        "# Figures\n\nMade by `make figures{}`; whoever wants other figures runs it again, nobody edits this page. Each case ran \
         once, in a process of its own, from seed 1.\n\n{conditions}\n\
         *CPU-s* and *per CPU-second* are processor seconds of all threads, so that a busy machine changes them little; times by the \
         wall are as long as the machine let them be. A bar has what must be reached and what is aimed at. The last column \
         is how many times better a figure by the wall is than what papers report of others by the wall. That is no race: their \
         machines were others and older; what they wrote and read went through a server and a network, while here the store alone \
         works in the process that asks, with its files in memory, and records by no protocol. What the whole program gives over \
         HTTP stands in [retrieval.md](retrieval.md), what it records in [ess.md](ess.md).\n\n{}\n",
        if scale == 1.0 { String::new() } else { format!(" SCALE={scale}") },
        papers::SOURCES,
    );
    for group in GROUPS {
        let scale = if scale == 1.0 { String::new() } else { format!(" --scale {scale}") };
        let Group { title, text, only } = group;
        page += &format!("\n## {title}\n\n{text}\n\n`pvark-lab store --only {only}{scale}`\n\n");
        page += "| case | figure | | | must | aim | bar | beside papers |\n|---|---|--:|---|--:|--:|---|---|\n";
        let wanted = store_bench::wanted(&only.split(',').map(str::to_owned).collect::<Vec<_>>());
        for case in wanted {
            page += &rows(case, lines);
        }
    }
    page + &rivals(lines)
}

fn rows(case: &cases::Case, lines: &[Line]) -> String {
    let mut rows = String::new();
    let mut name = format!("{}: {}", case.name, case.what);
    for line in lines.iter().filter(|line| line.bench == "store" && line.case == case.name) {
        let bar = bars::find("store", case.name, &line.metric);
        let (must, aim) = bar.map_or_else(Default::default, |bar| (bar.must_text(), bar.aim_text()));
        let verdict = bar.map_or("", |bar| bar.verdict(line.value));
        let beside: Vec<String> = papers::reported(case.name, &line.metric)
            .map(|reported| format!("{} × {}", digits(reported.times_better(line.value)), reported.of))
            .collect();
        let (metric, value, unit) = (&line.metric, digits(line.value), &line.unit);
        rows +=
            &format!("| {name} | {metric} | {value} | {unit} | {must} | {aim} | {verdict} | {} |\n", beside.join(", "));
        name.clear();
    }
    rows
}

const RIVALS: [(&str, &str); 2] = [("duckdb", "DuckDB, Parquet"), ("postgresql", "PostgreSQL 15")];

fn rivals(lines: &[Line]) -> String {
    let mut page = String::from(
        "\n## Beside DuckDB with Parquet and PostgreSQL 15\n\n\
         The same samples (HALF's: 10 PVs of 12 hours at 10 Hz), the same reads and bins, one after the other in one run, one \
         client, files in memory, medians. pvark and DuckDB (one thread) work in the process that asks and give columns; PostgreSQL \
         sends its rows as binary COPY through a local socket to psql, which drops them. Processor time of client and server \
         counts, that of making the samples does not. A batch is 2,000 PVs of 60 s, written until it is safe: by pvark into its log \
         and head, by DuckDB into a table without index, by PostgreSQL into a table with a B-tree over PV and time. *All in*: \
         by pvark log, flush and merge, by DuckDB a sorted Parquet file (zstd, version 2), by PostgreSQL COPY, index and VACUUM. pvark \
         verifies a checksum of everything that it reads; PostgreSQL's are off, as by default. Settings stand in `crates/lab/rivals/`.\n\n\
         `pvark-lab store --only rivals`\n\n\
         | figure | | pvark | DuckDB, Parquet | PostgreSQL 15 | pvark is better by |\n|---|---|--:|--:|--:|---|\n",
    );
    let find = |bench: &str, metric: &str| {
        lines.iter().find(|line| line.bench == bench && line.case == "rivals" && line.metric == metric)
    };
    for ours in lines.iter().filter(|line| line.bench == "store" && line.case == "rivals") {
        let more_is_better = ours.unit.ends_with("/s");
        let (mut cells, mut ratios) = (Vec::new(), Vec::new());
        for (bench, name) in RIVALS {
            let theirs = find(bench, &ours.metric);
            cells.push(theirs.map_or("–".to_owned(), |theirs| digits(theirs.value)));
            if let Some(theirs) = theirs {
                let ratio = if more_is_better { ours.value / theirs.value } else { theirs.value / ours.value };
                ratios.push(format!("{} × {name}", digits(ratio)));
            }
        }
        let Line { metric, unit, value, .. } = ours;
        page +=
            &format!("| {metric} | {unit} | {} | {} | {} |\n", digits(*value), cells.join(" | "), ratios.join(", "));
    }
    page
}

/// Three digits, as many as such measurements have.
pub(crate) fn digits(value: f64) -> String {
    let places = match value.abs() {
        0.0 => 0,
        size => (2 - size.log10().floor() as i64).clamp(0, 4) as usize,
    };
    let text = format!("{value:.places$}");
    if places > 0 { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits() {
        let texts = [0.0, 0.012_345, 1.999_9, 12.34, 123.4, 12_345.6].map(digits);
        assert_eq!(texts, ["0", "0.0123", "2", "12.3", "123", "12346"]);
    }

    #[test]
    fn a_figure_stands_beside_its_bar_and_what_papers_report() {
        let line = r#"{"bench":"store","case":"half-read","metric":"100000 older, by the wall","value":210.0,"unit":"M samples/s"}"#;
        let rival = r#"{"bench":"store","case":"rivals","metric":"360000 samples, p50","value":4.0,"unit":"ms"}"#;
        let duck = r#"{"bench":"duckdb","case":"rivals","metric":"360000 samples, p50","value":26.0,"unit":"ms"}"#;
        let lines: Vec<Line> = [line, rival, duck].into_iter().map(|line| read_line(line).unwrap()).collect();
        let page = page(&lines, 1.0, "");
        let read = page.lines().find(|line| line.contains("100000 older, by the wall")).unwrap();
        let beside = "150 × TimescaleDB over its network (HALF), 350 × Archiver Appliance over its network (HALF)";
        assert!(read.ends_with(&format!("| 210 | M samples/s | ≥ 100 |  | reached | {beside} |")), "{read}");
        let read = page.lines().find(|line| line.contains("360000 samples, p50")).unwrap();
        assert_eq!(read, "| 360000 samples, p50 | ms | 4 | 26 | – | 6.5 × DuckDB, Parquet |");
    }

    #[test]
    fn every_case_has_its_table_and_every_bar_its_case() {
        let shown: Vec<&str> = GROUPS
            .iter()
            .flat_map(|group| store_bench::wanted(&group.only.split(',').map(str::to_owned).collect::<Vec<_>>()))
            .map(|case| case.name)
            .collect();
        for case in cases::ALL.iter().filter(|case| case.name != "rivals") {
            assert_eq!(shown.iter().filter(|name| **name == case.name).count(), 1, "{}", case.name);
        }
        for name in bars::cases().chain(papers::cases()) {
            assert!(shown.contains(&name), "{name} is no case");
        }
    }
}

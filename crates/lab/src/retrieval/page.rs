//! The page of retrieval: the figures with their bars, and Table 3 beside the paper.

use std::{collections::BTreeMap, fs, path::PathBuf};

use super::{Line, OURS, Options, THEIRS};
use crate::{
    bars,
    figures::{conditions, digits},
    store_bench::Outcome,
};

/// Columns of Table 3, each with how our figure is called.
const COLUMNS: [(&str, &str); 8] = [
    ("CPU producer", "CPU producer, %"),
    ("RAM producer", "RAM producer, GB"),
    ("CPU consumer", "CPU consumer, %"),
    ("RAM consumer", "RAM consumer, GB"),
    ("network traffic", "network, Mb/s"),
    ("data retrieved", "retrieved, GB"),
    ("retrieval time", "time, s"),
    ("values", "M values/s"),
];

/// A page that is being measured.
pub(super) struct Page {
    file: PathBuf,
    head: String,
}

impl Page {
    pub(super) fn begin(file: &std::path::Path, options: &Options) -> Page {
        let head = format!(
            "# Retrieval\n\nMade by `pvark-lab retrieval --page docs/retrieval.md`; whoever wants other figures runs it again, nobody \
             edits this page. Clients and server share this machine and talk through loopback, so the clients' reading takes its \
             share of the processors.\n\n{}- parts: {}\n",
            conditions(),
            options.only.join(", "),
        );
        Page { file: file.to_owned(), head }
    }

    pub(super) fn write(self, lines: &[Line], faults: &[String]) -> Outcome<()> {
        let mut page = self.head + &figures(lines) + &table3(lines);
        faults.iter().for_each(|fault| page += &format!("\n**Not as it must be:** {fault}\n"));
        Ok(fs::write(self.file, page)?)
    }
}

fn figures(lines: &[Line]) -> String {
    let mut page = String::from(
        "\n## Formats, operators, load\n\n`LAB:360K` has 360,000 doubles of 10 Hz, `7d` seven days of them, every bit noise; `year` a \
         year of an ADC at 10 Hz. `x10` is ten clients. Arrow is `/api/v1/samples?columns=needed`; all else are URLs of the Archiver \
         Appliance. The processor is that of the server. *Of a client that does not read* is what an answer holds while nobody takes \
         it; what a client that reads waveforms takes stands below Table 3.\n\n\
         | case | figure | ours | | other server | must | aim | bar |\n|---|---|--:|---|--:|--:|--:|---|\n",
    );
    let theirs: BTreeMap<(&str, &str), f64> = lines
        .iter()
        .filter(|line| line.bench == THEIRS)
        .map(|line| ((line.case.as_str(), line.metric.as_str()), line.value))
        .collect();
    let mut case_before = "";
    for line in lines.iter().filter(|line| line.bench == OURS && !line.case.starts_with("AAPS")) {
        let Line { case, metric, value, unit, .. } = line;
        let bar = bars::find(OURS, case, metric);
        let (must, aim) = bar.map_or_else(Default::default, |bar| (bar.must_text(), bar.aim_text()));
        let verdict = bar.map_or("", |bar| bar.verdict(*value));
        let beside = theirs.get(&(case.as_str(), metric.as_str())).map_or_else(String::new, |value| digits(*value));
        let shown = if case == case_before { "" } else { case };
        case_before = case;
        page +=
            &format!("| {shown} | {metric} | {} | {unit} | {beside} | {must} | {aim} | {verdict} |\n", digits(*value));
    }
    page
}

fn table3(lines: &[Line]) -> String {
    let mut rows: Vec<(&str, Vec<&Line>)> = Vec::new();
    for line in lines.iter().filter(|line| line.case.starts_with("AAPS")) {
        match rows.last_mut() {
            Some((case, of)) if *case == line.case => of.push(line),
            _ => rows.push((&line.case, vec![line])),
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let mut page = String::from(
        "\n## Table 3 of the study of ESS\n\nR. Fernandes et al., *An Archiver Appliance performance and resources consumption study* \
         (ICALEPCS 2021). An hour of a waveform as CSV, by 1, 10 and 100 clients. Each cell has ours and, in brackets, the paper's: \
         there two machines of 24 and 8 cores with 1 Gb/s between them, and the whole hour; here one machine, and as much of the \
         hour as *retrieved* says. CPU is in percent of one core here, of the machine there.\n\n| scenario, clients |",
    );
    COLUMNS.iter().for_each(|(_, title)| page += &format!(" {title} |"));
    page += &format!("\n|---|{}\n", "--:|".repeat(COLUMNS.len()));
    for (case, of) in &rows {
        page += &format!("| {case} |");
        for (metric, _) in COLUMNS {
            let line = of.iter().find(|line| line.metric == metric);
            let ours = line.map_or_else(|| "–".to_owned(), |line| digits(line.value));
            let paper = line.map_or("", |line| line.paper.as_str());
            page += &if paper.is_empty() { format!(" {ours} |") } else { format!(" {ours} ({paper}) |") };
        }
        page.push('\n');
    }
    page + &bars_of(&rows)
}

/// What must be reached in Table 3, and what is aimed at, of each scenario.
fn bars_of(rows: &[(&str, Vec<&Line>)]) -> String {
    let of = |scenario: &str, clients: &str, metric: &str| -> Option<f64> {
        let (_, of) = rows.iter().find(|(case, _)| *case == format!("{scenario} {clients}"))?;
        Some(of.iter().find(|line| line.metric == metric)?.value)
    };
    let mut page = String::from(
        "\n## Bars of Table 3\n\n*Processor* is that of the server, at the number of clients where it is most. *Memory of a client* is \
         what 100 of them take more than one, over 99; its bar is for arrays of at most 100 kB.\n\n\
         | scenario | one client, MB/s | 100 : 10 clients | processor, s/GB | memory of a client, MB |\n|---|---|---|---|---|\n",
    );
    let scenarios = rows.iter().filter_map(|(case, _)| case.strip_suffix(" x1"));
    for scenario in scenarios {
        let ratio = || Some(of(scenario, "x100", "rate")? / of(scenario, "x10", "rate")?);
        let processor =
            || ["x1", "x10", "x100"].iter().filter_map(|clients| of(scenario, clients, "processor")).reduce(f64::max);
        let memory =
            || Some((of(scenario, "x100", "RAM producer")? - of(scenario, "x1", "RAM producer")?) * 1e3 / 99.0);
        let figures = [of(scenario, "x1", "rate"), ratio(), processor(), memory()];
        page += &format!("| {scenario} |");
        for (metric, figure) in
            ["one client", "100 : 10 clients", "processor", "memory of a client"].iter().zip(figures)
        {
            let bar = bars::of_table3(scenario, metric);
            page += &match (figure, bar) {
                (None, _) => " – |".to_owned(),
                (Some(figure), None) => format!(" {} |", digits(figure)),
                (Some(figure), Some(bar)) => format!(" {}: {} |", digits(figure), bar.beside(figure)),
            };
        }
        page.push('\n');
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(bench: &'static str, case: &str, metric: &str, value: f64, paper: &str) -> Line {
        Line { bench, case: case.to_owned(), metric: metric.to_owned(), value, unit: "", paper: paper.to_owned() }
    }

    #[test]
    fn figures_stand_beside_their_bars_and_the_other_server() {
        let lines = [line(OURS, "csv-7d x1", "rate", 450.0, ""), line(THEIRS, "csv-7d x1", "rate", 138.0, "")];
        let page = figures(&lines);
        assert_eq!(page.lines().last(), Some("| csv-7d x1 | rate | 450 |  | 138 | ≥ 300 | ≥ 500 | enough |"));
    }

    #[test]
    fn a_scenario_is_a_row_beside_the_paper() {
        let lines = [
            line(OURS, "AAPS-0120 x1", "network traffic", 3000.0, "151"),
            line(OURS, "AAPS-0120 x1", "values", 90.0, ""),
        ];
        let page = table3(&lines);
        let row = page.lines().find(|line| line.starts_with("| AAPS-0120 x1 |")).unwrap();
        assert_eq!(row, "| AAPS-0120 x1 | – | – | – | – | 3000 (151) | – | – | 90 |");
    }

    #[test]
    fn each_scenario_has_its_bars() {
        let of = |case: &str, metric: &str, value| line(OURS, case, metric, value, "");
        let lines = [
            of("AAPS-0100 x1", "RAM producer", 0.13),
            of("AAPS-0100 x1", "rate", 500.0),
            of("AAPS-0100 x1", "processor", 2.5),
            of("AAPS-0100 x10", "rate", 1000.0),
            of("AAPS-0100 x100", "rate", 800.0),
            of("AAPS-0100 x100", "RAM producer", 0.229),
            of("AAPS-0120 x1", "RAM producer", 0.1),
            of("AAPS-0120 x100", "RAM producer", 1.09),
        ];
        let page = table3(&lines);
        let rows: Vec<_> = page.lines().rev().take(2).collect();
        assert_eq!(
            rows[1],
            "| AAPS-0100 | 500: must ≥ 450, aim ≥ 700: enough | 0.8: must ≥ 0.9, aim ≥ 1: MISSED | 2.5: must ≤ 3, aim ≤ 2: enough | \
             1: must ≤ 4, aim ≤ 1.5: reached |"
        );
        assert_eq!(rows[0], "| AAPS-0120 | – | – | – | 10 |");
    }
}

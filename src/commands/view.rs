//! `pvark view` with names: bins of many PVs as the page draws them, in one answer.

use sample::{Severity, Timestamp};
use serde_json::Value;

use super::{
    diff::{Named, all_answered, ask},
    print::print_line,
    table::{aligned, list, text},
    zone::told,
};
use crate::{cli::ViewArgs, failure::Failure, host::clock::now};

/// The numbers of a bin that a table shows.
const COLUMNS: [&str; 6] = ["count", "min", "mean", "max", "first", "last"];

pub(crate) fn run(command: &ViewArgs) -> Result<(), Failure> {
    let (from, to) = command.range.ends(now())?;
    let cut = match command.width {
        Some(width) => format!("width={}", width.as_secs_f64()),
        None => format!("bins={}", command.bins),
    };
    let path = format!("view?from={from}&to={to}&{cut}");
    let Some(answer) = ask(&command.server.url, &path, &Named::of(&command.pvs)?, command.format)? else {
        return Ok(());
    };
    let heading = [&["pv", "start"], COLUMNS.as_slice(), &["severity"]].concat();
    let mut rows: Vec<Vec<String>> = vec![heading.into_iter().map(str::to_owned).collect()];
    for part in list(&answer["pvs"]) {
        rows.extend(bins_of(part));
    }
    aligned(&rows).iter().try_for_each(|line| print_line(line))?;
    for part in list(&answer["pvs"]) {
        list(&part["damage"]).iter().for_each(|damage| eprintln!("DAMAGE  {}: {}", text(&part["pv"]), text(damage)));
        let gaps = list(&part["gaps"]).len() as u64 + part["gaps_left_out"].as_u64().unwrap_or(0);
        if gaps > 0 {
            eprintln!("{} has {gaps} gaps in this range", text(&part["pv"]));
        }
    }
    let untold = list(&answer["pvs"]).iter().filter(|part| !part["unanswered"].is_null());
    all_answered(untold.map(|part| (&part["pv"], &part["unanswered"])))
}

/// A row for each bin that has samples.
fn bins_of(part: &Value) -> Vec<Vec<String>> {
    let bins = &part["bins"];
    let is_there = |row: &usize| bins["count"][*row].as_u64() != Some(0);
    let cells = |row: usize| {
        let start = Timestamp::from_nanos((bins["start"][row].as_f64().unwrap_or(0.0) * 1e6).round() as i64 * 1000);
        let severity = bins["severity"][row].as_i64().map_or("-", |number| Severity::from_number(number).name());
        let numbers = COLUMNS.iter().map(|column| text(&bins[*column][row]));
        [text(&part["pv"]), told(start)].into_iter().chain(numbers).chain([severity.to_owned()]).collect()
    };
    (0..list(&bins["start"]).len()).filter(is_there).map(cells).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_without_samples_have_no_row() {
        let part = serde_json::json!({
            "pv": "A",
            "bins": {
                "start": [1_800_000_000, 1_800_000_060.5], "count": [0, 2], "min": [null, 1.5], "mean": [null, 2.0], "max": [null, 2.5],
                "first": [null, 2.5], "last": [null, 1.5], "severity": [0, 2],
            },
        });
        let row = ["A", "2027-01-15T08:01:00.500000000Z", "2", "1.5", "2.0", "2.5", "2.5", "1.5", "MAJOR"];
        assert_eq!(bins_of(&part), [row.map(str::to_owned).to_vec()]);
    }
}

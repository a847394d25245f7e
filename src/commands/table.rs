//! Answers of the HTTP interface as aligned lines for people.

use sample::{Severity, Timestamp};
use serde_json::Value;

use super::zone::{retold, told};

/// Lines for an answer of `/samples`.
pub(crate) fn samples(answer: &Value) -> Vec<String> {
    let mut rows = vec![["time", "value", "severity", "status"].map(str::to_owned).to_vec()];
    let labels = &answer["metadata"]["labels"];
    for chunk in list(&answer["chunks"]) {
        for (row, seconds) in list(&chunk["seconds"]).iter().enumerate() {
            let nanos = chunk["nanos"][row].as_u64().unwrap_or(0);
            let time = Timestamp::from_seconds(seconds.as_i64().unwrap_or(0), u32::try_from(nanos).unwrap_or(0));
            let value = if chunk["type"] == "enum" {
                state(&chunk["values"][row], labels)
            } else {
                text(&chunk["values"][row])
            };
            let severity = Severity::from_number(chunk["severity"][row].as_i64().unwrap_or(4));
            rows.push(vec![told(time), value, severity.name().to_owned(), text(&chunk["status"][row])]);
        }
    }
    let mut lines = aligned(&rows);
    if answer["truncated"] == true {
        lines.push("… and more: choose a shorter range, --bins, or another --format".to_owned());
    }
    lines
}

/// Lines for an answer of `/bins`.
pub(crate) fn bins(answer: &Value) -> Vec<String> {
    if let Some(bins) = answer["array_bins"].as_array() {
        return array_bins(bins);
    }
    let columns = ["count", "min", "mean", "max", "first", "last"];
    let mut rows =
        vec![[&["start"], columns.as_slice(), &["severity"]].concat().into_iter().map(str::to_owned).collect()];
    let bins = &answer["bins"];
    for (row, start) in list(&bins["start"]).iter().enumerate() {
        let mut cells = vec![start_of(start)];
        cells.extend(columns.map(|column| text(&bins[column][row])));
        cells.push(severity_of(&bins["severity"][row]));
        rows.push(cells);
    }
    aligned(&rows)
}

/// A line for each row of elements of each bin of arrays: which elements, and what they were.
fn array_bins(bins: &[Value]) -> Vec<String> {
    let mut rows = vec![["start", "arrays", "elements", "min", "mean", "max", "severity"].map(str::to_owned).to_vec()];
    for bin in bins {
        let (start, arrays, severity) = (start_of(&bin["start"]), text(&bin["arrays"]), severity_of(&bin["severity"]));
        let (each, length) =
            (bin["elements_per_row"].as_u64().unwrap_or(1).max(1), bin["length"].as_u64().unwrap_or(0));
        let counts = list(&bin["count"]);
        if counts.is_empty() {
            let nothing = || "-".to_owned();
            rows.push(vec![start, arrays, nothing(), nothing(), nothing(), nothing(), severity]);
            continue;
        }
        for (row, first) in (0..counts.len()).zip((0..).step_by(usize::try_from(each).unwrap_or(1))) {
            let last = (first + each).min(length).saturating_sub(1);
            let elements = if last <= first { first.to_string() } else { format!("{first}-{last}") };
            let [min, mean, max] = ["min", "mean", "max"].map(|column| text(&bin[column][row]));
            rows.push(vec![start.clone(), arrays.clone(), elements, min, mean, max, severity.clone()]);
        }
    }
    aligned(&rows)
}

/// Where a bin begins, which is told in seconds with a fraction.
fn start_of(seconds: &Value) -> String {
    told(Timestamp::from_nanos((seconds.as_f64().unwrap_or(0.0) * 1e6).round() as i64 * 1000))
}

fn severity_of(number: &Value) -> String {
    number.as_i64().map_or("-", |number| Severity::from_number(number).name()).to_owned()
}

/// `Open (1)`, or the bare index where it has no name.
fn state(value: &Value, labels: &Value) -> String {
    let index = value.as_u64().and_then(|index| usize::try_from(index).ok());
    match index.and_then(|index| labels[index].as_str()) {
        Some(label) => format!("{label} ({value})"),
        None => value.to_string(),
    }
}

pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => retold(text).unwrap_or_else(|| text.escape_debug().to_string()),
        other => other.to_string(),
    }
}

/// Columns as wide as their widest cell, except the last.
pub(crate) fn aligned(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_of_arrays_are_lines_for_elements_that_are_together() {
        let empty = serde_json::json!({
            "start": 1_800_000_060.0, "arrays": 0, "severity": 0, "length": 0, "elements_per_row": 1,
            "count": [], "min": [], "max": [], "mean": [],
        });
        let bin = serde_json::json!({
            "start": 1_800_000_000.0, "arrays": 7, "severity": 1, "length": 3, "elements_per_row": 2,
            "count": [14, 0], "min": [-1.5, null], "max": [95.0, null], "mean": [20.25, null],
        });
        let expected = [
            "start                           arrays  elements  min   mean   max   severity",
            "2027-01-15T08:00:00.000000000Z  7       0-1       -1.5  20.25  95.0  MINOR",
            "2027-01-15T08:00:00.000000000Z  7       2         -     -      -     MINOR",
            "2027-01-15T08:01:00.000000000Z  0       -         -     -      -     NO_ALARM",
        ];
        assert_eq!(bins(&serde_json::json!({ "array_bins": [bin, empty] })), expected);
    }

    #[test]
    fn samples_are_lines_with_names_for_states() {
        let answer = serde_json::json!({
            "metadata": { "labels": ["Closed", "Open"] },
            "chunks": [{ "type": "enum", "seconds": [1_800_000_000], "nanos": [5], "values": [1], "severity": [2], "status": [7] }],
        });
        let expected = [
            "time                            value     severity  status",
            "2027-01-15T08:00:00.000000005Z  Open (1)  MAJOR     7",
        ];
        assert_eq!(samples(&answer), expected);
    }
}

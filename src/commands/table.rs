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
    let columns = ["count", "min", "mean", "max", "first", "last"];
    let mut rows =
        vec![[&["start"], columns.as_slice(), &["severity"]].concat().into_iter().map(str::to_owned).collect()];
    let bins = &answer["bins"];
    for (row, start) in list(&bins["start"]).iter().enumerate() {
        let start = Timestamp::from_nanos((start.as_f64().unwrap_or(0.0) * 1e6).round() as i64 * 1000);
        let mut cells = vec![told(start)];
        cells.extend(columns.map(|column| text(&bins[column][row])));
        cells
            .push(bins["severity"][row].as_i64().map_or("-", |number| Severity::from_number(number).name()).to_owned());
        rows.push(cells);
    }
    aligned(&rows)
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

//! Table 3 of the study of ESS: twelve scenarios, each read as CSV by 1, 10 and 100 clients.

use crate::store_bench::Outcome;

const TABLE: &str = include_str!("../../retrieval.csv");

/// A waveform that was recorded for an hour.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RecordedWaveform {
    pub(super) name: String,
    /// Elements of a frame.
    pub(super) points: usize,
    pub(super) is_integer: bool,
    /// Frames a second.
    pub(super) rate: i64,
}

impl RecordedWaveform {
    /// Of an hour.
    pub(super) fn frames(&self) -> i64 {
        3600 * self.rate
    }

    /// Of a frame in CSV: each element but the first is a zero and a comma.
    pub(super) fn line_bytes(&self) -> usize {
        self.points * if self.is_integer { 2 } else { 4 }
    }
}

/// A row of the table: what it says, by the names of its columns.
pub(super) struct Row {
    pub(super) scenario: RecordedWaveform,
    pub(super) clients: usize,
    paper: Vec<(&'static str, &'static str)>,
}

impl Row {
    /// What the paper has in a column.
    pub(super) fn paper(&self, column: &str) -> &'static str {
        self.paper.iter().find(|(name, _)| *name == column).map_or("", |(_, text)| text)
    }
}

/// All rows.
pub(super) fn rows() -> Outcome<Vec<Row>> {
    let mut lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    let columns: Vec<&'static str> = lines.next().unwrap_or_default().split(',').collect();
    lines
        .map(|line| {
            let paper: Vec<_> = columns.iter().copied().zip(line.split(',')).collect();
            let row = Row { scenario: RecordedWaveform::of(line)?, clients: 0, paper };
            Ok(Row { clients: row.paper("clients").parse()?, ..row })
        })
        .collect()
}

impl RecordedWaveform {
    /// `AAPS-00N0` and what the first tables of the study say of it.
    fn of(line: &str) -> Outcome<RecordedWaveform> {
        let name = line.split(',').next().unwrap_or_default().to_owned();
        let number: usize = name.strip_prefix("AAPS-").ok_or("a scenario without a number")?.parse()?;
        let place = (number / 10).checked_sub(1).filter(|place| *place < 12).ok_or("a scenario of many waveforms")?;
        let points = [1000, 10_000, 100_000][place / 4];
        Ok(RecordedWaveform { name, points, is_integer: place % 4 < 2, rate: if place % 2 == 0 { 1 } else { 14 } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_36_rows_whose_data_are_as_long_as_ours_would_be() {
        let rows = rows().unwrap();
        assert_eq!(rows.len(), 36);
        for row in rows {
            let paper: f64 = row.paper("GB").trim_start_matches("< ").parse().unwrap();
            let ours = (row.scenario.line_bytes() as i64 * row.scenario.frames() * row.clients as i64) as f64 / 1e9;
            // 0.1 GB of 10 clients of AAPS-0020 is a misprint for 1: its network carried 429 Mb/s for 8 s.
            let misprint = row.scenario.name == "AAPS-0020" && row.clients == 10;
            assert!(misprint || (ours - paper).abs() <= 0.1 + 0.1 * paper, "{} {ours} {paper}", row.scenario.name);
        }
    }
}

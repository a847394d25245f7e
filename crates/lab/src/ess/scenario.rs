//! The table of scenarios: a CSV that anyone may extend.

use std::{collections::HashMap, fs, path::Path};

use crate::store_bench::Outcome;

/// The study's own.
const TABLE: &str = include_str!("../../scenarios.csv");

/// Updates of a scenario are spread over its period in at most so many parts.
const PARTS_MAX: u32 = 20;

/// The default of `head_megabytes_max`, and the most that it is set to.
const HEAD_MEGABYTES: (u64, u64) = (256, 1024);

/// One row.
pub(super) struct Scenario {
    pub(super) name: String,
    waveforms: u32,
    points: u32,
    /// In the words of farms.
    kind: &'static str,
    rate: f64,
    /// What is reported of another archiver, by the names of the columns.
    paper: HashMap<String, String>,
}

/// Those of the table that have these names; all, if there are no names.
pub(super) fn read(table: Option<&Path>, names: &[String]) -> Outcome<Vec<Scenario>> {
    let text = table.map_or(Ok(TABLE.to_owned()), fs::read_to_string)?;
    let mut lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let columns: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let all: Vec<Scenario> = lines.map(|line| row(&columns, line)).collect::<Result<_, _>>()?;
    if let Some(unknown) = names.iter().find(|name| !all.iter().any(|scenario| scenario.name == **name)) {
        return Err(format!("the table has no scenario {unknown}; --list shows those it has").into());
    }
    Ok(all.into_iter().filter(|scenario| names.is_empty() || names.contains(&scenario.name)).collect())
}

fn row(columns: &[&str], line: &str) -> Result<Scenario, String> {
    let mut cells: HashMap<String, String> =
        columns.iter().map(|column| (*column).to_owned()).zip(line.split(',').map(str::to_owned)).collect();
    let mut take = |column: &str| cells.remove(column).ok_or_else(|| format!("{line:?} has no {column}"));
    let (name, kind) = (take("scenario")?, take("type")?);
    let mut number = |column: &str| -> Result<f64, String> {
        let text = take(column)?;
        text.parse().map_err(|_| format!("{column} of {name} is {text:?}, expected a number"))
    };
    let (waveforms, points, rate) = (number("waveforms")? as u32, number("points")? as u32, number("rate")?);
    let kind = match kind.as_str() {
        "integer" => "i32",
        "double" => "f64",
        _ => return Err(format!("the type of {name} is {kind:?}, expected integer or double")),
    };
    Ok(Scenario { name, waveforms, points, kind, rate, paper: cells })
}

impl Scenario {
    /// The group of PVs of a farm.
    pub(super) fn group(&self) -> String {
        let Scenario { waveforms, points, kind, rate, .. } = self;
        let parts = PARTS_MAX.min(*waveforms);
        format!("name=ESS:,count={waveforms},length={points},type={kind},rate={rate},slices={parts}")
    }

    /// The head that an archiver of such PVs is to have, as docs/operate.md says: more than all arrays together take, but no less
    /// than the default, and no more than a small machine can give.
    pub(super) fn head_megabytes(&self) -> u64 {
        let held = u64::from(self.waveforms) * self.frame_bytes();
        ((held * 5 / 4) >> 20).clamp(HEAD_MEGABYTES.0, HEAD_MEGABYTES.1)
    }

    pub(super) fn frame_bytes(&self) -> u64 {
        u64::from(self.points) * if self.kind == "i32" { 4 } else { 8 }
    }

    /// What is reported in a column; nothing if nothing is.
    pub(super) fn paper(&self, column: &str) -> String {
        self.paper.get(column).cloned().unwrap_or_default()
    }

    pub(super) fn in_words(&self) -> String {
        let Scenario { name, waveforms, points, kind, rate, .. } = self;
        let load = f64::from(*waveforms) * self.frame_bytes() as f64 * rate / 1e6;
        let dropped = match self.paper("aa_dropped") {
            text if text.is_empty() => "was not run".to_owned(),
            text => format!("dropped {text} %"),
        };
        format!(
            "{name}  {waveforms:>6} x {points:>6} {kind} at {rate:>2} Hz  {load:>9.3} MB/s  the Archiver Appliance {dropped}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_scenarios_of_the_study_are_there() {
        let all = read(None, &[]).expect("the table");
        assert_eq!(all.len(), 48);
        let load: f64 = all.iter().map(|s| f64::from(s.waveforms) * s.frame_bytes() as f64 * s.rate).sum();
        // (1 + 100 + 1,000 + 10,000) × (1,000 + 10,000 + 100,000) × (4 + 8) × (1 + 14)
        assert_eq!(load, 11_101.0 * 111_000.0 * 12.0 * 15.0);
        let one = &read(None, &["AAPS-0620".to_owned()]).expect("it is there")[0];
        assert_eq!(
            (one.group().as_str(), one.paper("aa_dropped").as_str()),
            ("name=ESS:,count=10000,length=1000,type=i32,rate=14,slices=20", "66")
        );
        assert!(read(None, &["AAPS-9999".to_owned()]).is_err());
    }
}

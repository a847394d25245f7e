//! What all forms of an export share: the parts that samples come in, rows of all PVs as they come, and names that can stand in a file.

use std::collections::{HashMap, HashSet};

use query::{AlignError, AlignRequest, AlignedRows, AlignedTable, Rows};
use sample::{Batch, Element, Metadata, TimeRange, Timestamp, ValueType};
use service::{Ask, Draft, ExportPv, ExportRows, ExportWanted, Form, RowTimes};

use crate::{
    formats::{metadata, rows::Error as RowsError},
    refusal::{Code, Refusal},
};

/// A stretch of the samples of one PV that have one type.
pub(super) struct Part<'a> {
    pub(super) pv: &'a ExportPv,
    /// Which PV.
    pub(super) index: usize,
    /// Which stretch of it, from 0.
    pub(super) number: usize,
    pub(super) value_type: ValueType,
    pub(super) range: TimeRange,
    /// What the IOC said of it: in force at the beginning, and each change.
    pub(super) history: &'a [(Timestamp, Metadata)],
}

impl Part<'_> {
    /// What stands in the file beside the samples.
    pub(super) fn facts(&self) -> HashMap<String, String> {
        metadata::facts(&self.pv.name, self.range, self.history.last().map(|(since, newest)| (*since, newest)))
    }
}

/// A form into which samples are written, a PV after the other.
pub(super) trait RawForm {
    /// The samples of a part follow.
    fn begin(&mut self, part: &Part) -> Result<(), Refusal>;
    /// Some of them.
    fn put(&mut self, part: &Part, batch: Batch) -> Result<(), Refusal>;
    /// The part is whole.
    fn end(&mut self, part: &Part) -> Result<(), Refusal>;
    /// All PVs are there.
    fn finish(&mut self) -> Result<(), Refusal>;
}

/// A form into which rows of all PVs are written.
pub(super) trait RowForm {
    /// Some rows.
    fn put(&mut self, rows: AlignedRows) -> Result<(), Refusal>;
    /// All are there.
    fn finish(&mut self) -> Result<(), Refusal>;
}

/// The type to say where there are no samples.
pub(super) fn usual(
    ask: &Ask,
    pv: &ExportPv,
    range: TimeRange,
    history: &[(Timestamp, Metadata)],
) -> Result<ValueType, Refusal> {
    let known = match pv.series.field {
        None => history.last().and_then(|(_, metadata)| metadata.value_type),
        Some(_) => ask.last_before(&pv.series, range.t1)?.map(|sample| sample.value.value_type()),
    };
    Ok(known.unwrap_or(ValueType::scalar(Element::F64)))
}

/// What is to be aligned of some of the PVs.
pub(super) fn align(wanted: &ExportWanted, pvs: &[ExportPv]) -> AlignRequest {
    let ExportRows::Aligned { alignment, times, tolerance, .. } = &wanted.rows else {
        unreachable!("only rows of all PVs are aligned");
    };
    let rows = match times {
        RowTimes::Every(period) => Rows::Every(*period),
        RowTimes::Of(pv) => Rows::Of(pv.series.clone()),
    };
    let series = pvs.iter().map(|pv| pv.series.clone()).collect();
    AlignRequest { series, range: wanted.range, rows, alignment: *alignment, tolerance: *tolerance }
}

/// Rows as they come, each counted.
pub(super) fn each_rows(
    table: AlignedTable,
    names: &[String],
    pv: usize,
    draft: &Draft,
    put: &mut dyn FnMut(AlignedRows) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    for rows in table {
        draft.go_on()?;
        let rows = rows.map_err(|error: AlignError| RowsError::Align(error, names.to_vec()))?;
        let (count, last) = (rows.times.len() as u64, rows.times.last().copied().unwrap_or_default());
        put(rows)?;
        draft.wrote(count, pv, last);
    }
    Ok(())
}

/// A name for each PV that can stand for a file, a sheet or a variable, no two of them alike even where case does not count.
pub(super) fn safe_names(pvs: &[ExportPv], form: Form) -> Vec<String> {
    let (len_max, is_variable) = match form {
        Form::Xlsx => (19, false), // 31 with a number for each of two PVs alike, and for each sheet of one
        Form::Mat => (52, true),
        Form::Csv | Form::Arrow | Form::Parquet => (120, false),
    };
    let is_safe = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || (!is_variable && letter == '-');
    // The first sheet is called `PVs`, spreadsheets keep `History` for themselves, and two variables are of no PV.
    let mut taken: HashSet<String> = ["pvs", "history", "header", "times"].into_iter().map(str::to_owned).collect();
    let name = |pv: &ExportPv| {
        let mut safe: String =
            pv.name.chars().map(|letter| if is_safe(letter) { letter } else { '_' }).take(len_max).collect();
        if is_variable && !safe.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
            safe = format!("pv_{safe}");
        }
        let mut unique = safe.clone();
        for number in 2_usize.. {
            if taken.insert(unique.to_ascii_lowercase()) {
                break;
            }
            unique = format!("{safe}_{number}");
        }
        unique
    };
    pvs.iter().map(name).collect()
}

/// The name of a part: that of its PV, with a number if it is not the first.
pub(super) fn part_name(names: &[String], part: &Part) -> String {
    let name = &names[part.index];
    if part.number == 0 { name.clone() } else { format!("{name}.{}", part.number + 1) }
}

pub(super) fn failed(error: impl std::fmt::Display) -> Refusal {
    Refusal::new(Code::Internal, format!("the file cannot be written: {error}"))
}

#[cfg(test)]
mod tests {
    use archive::PvId;

    use super::*;

    #[test]
    fn names_of_files_sheets_and_variables_are_safe_and_differ() {
        let pvs: Vec<ExportPv> = ["../../etc/passwd", "A:B", "a_b", "A_B", "1st", &"X".repeat(200), &"X".repeat(201)]
            .into_iter()
            .map(|name| ExportPv { name: name.to_owned(), series: PvId(1).into() })
            .collect();
        assert_eq!(safe_names(&pvs[..5], Form::Parquet), ["______etc_passwd", "A_B", "a_b_2", "A_B_3", "1st"]);
        assert_eq!(safe_names(&pvs[..5], Form::Mat), ["pv_______etc_passwd", "A_B", "a_b_2", "A_B_3", "pv_1st"]);
        for form in Form::ALL {
            let names = safe_names(&pvs, form);
            let distinct: HashSet<String> = names.iter().map(|name| name.to_lowercase()).collect();
            assert_eq!(distinct.len(), pvs.len(), "{names:?}");
            assert!(names.iter().all(|name| name.len() <= if form == Form::Xlsx { 25 } else { 126 }), "{names:?}");
        }
    }
}

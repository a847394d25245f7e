//! Exports: what was ordered, written into a draft in the form that was ordered.
//!
//! ```text
//!   raw      a PV after the other ──► parts of one type each ──► lines, a file in a zip, a sheet, a variable
//!   aligned  rows of all PVs ──► lines, columns, sheets; of MAT a PV after the other, as its columns follow each other
//! ```
//! Damaged blocks are passed over in raw exports and said of the job; rows of all PVs end with them, as those of `/api/v1/aligned` do.

mod columns;
mod lines;
mod mat;
mod sheets;
mod zip;

use std::collections::{HashMap, HashSet};

use query::{AlignError, AlignRequest, AlignedRows, AlignedTable, Before, Request, Rows};
use sample::{Batch, Element, Metadata, TimeRange, Timestamp, ValueType};
use service::{Ask, Draft, ExportPv, ExportRows, ExportWanted, Form, RowTimes};

use self::{
    columns::{ArrowRows, ParquetRows, ZippedArrow, ZippedParquet},
    lines::{RawLines, RowLines},
    mat::{MatRows, MatVariables},
    sheets::{RawSheets, RowSheets},
};
use super::{
    metadata,
    rows::{Error as RowsError, RowsHeading},
};
use crate::refusal::{Code, Refusal};

/// What the writer of a form takes: of Parquet a group of rows with what is written of it, of others a batch and buffers.
const fn form_bytes(form: Form) -> usize {
    match form {
        Form::Parquet => 48 << 20,
        Form::Xlsx | Form::Mat => 8 << 20,
        Form::Csv | Form::Arrow => 2 << 20,
    }
}

/// What reading a PV takes.
const BATCH_BYTES: usize = 200 << 10;

/// A stretch of the samples of one PV that have one type.
struct Part<'a> {
    pv: &'a ExportPv,
    /// Which PV.
    index: usize,
    /// Which stretch of it, from 0.
    number: usize,
    value_type: ValueType,
    range: TimeRange,
    /// What the IOC said of it: in force at the beginning, and each change.
    history: &'a [(Timestamp, Metadata)],
}

impl Part<'_> {
    /// What stands in the file beside the samples.
    fn facts(&self) -> HashMap<String, String> {
        metadata::facts(&self.pv.name, self.range, self.history.last().map(|(since, newest)| (*since, newest)))
    }
}

/// A form into which samples are written, a PV after the other.
trait RawForm {
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
trait RowForm {
    /// Some rows.
    fn put(&mut self, rows: AlignedRows) -> Result<(), Refusal>;
    /// All are there.
    fn finish(&mut self) -> Result<(), Refusal>;
}

/// Writes what is wanted into a draft.
pub(crate) fn make(ask: &Ask, wanted: &ExportWanted, draft: &Draft) -> Result<(), Refusal> {
    ask.lease.grow(form_bytes(wanted.form))?;
    match &wanted.rows {
        ExportRows::Raw { before } => {
            ask.lease.grow(BATCH_BYTES)?;
            let names = safe_names(&wanted.pvs, wanted.form);
            let mut form: Box<dyn RawForm> = match wanted.form {
                Form::Csv => Box::new(RawLines::new(draft)?),
                Form::Arrow => Box::new(ZippedArrow::new(draft, names)?),
                Form::Parquet => Box::new(ZippedParquet::new(draft, names)?),
                Form::Xlsx => Box::new(RawSheets::new(draft, wanted, names)?),
                Form::Mat => Box::new(MatVariables::new(draft, wanted.range, names)?),
            };
            raw(ask, wanted, *before, draft, &mut *form)
        }
        ExportRows::Aligned { .. } if wanted.form == Form::Mat => MatRows::new(draft, wanted).write(ask),
        ExportRows::Aligned { with_severity, .. } => {
            ask.lease.grow_by(wanted.pvs.len(), BATCH_BYTES)?;
            let (types, table) = ask.aligned(&align(wanted, &wanted.pvs))?;
            let names: Vec<String> = wanted.pvs.iter().map(|pv| pv.name.clone()).collect();
            let heading = || RowsHeading {
                names: names.clone(),
                types: types.clone(),
                range: wanted.range,
                with_severity: *with_severity,
            };
            let mut form: Box<dyn RowForm> = match wanted.form {
                Form::Csv => Box::new(RowLines::new(draft, heading())?),
                Form::Arrow => Box::new(ArrowRows::new(draft, &heading())?),
                Form::Parquet => Box::new(ParquetRows::new(draft, &heading())?),
                Form::Xlsx | Form::Mat => Box::new(RowSheets::new(draft, heading())?),
            };
            each_rows(table, &names, 0, draft, &mut |rows| form.put(rows))?;
            form.finish()
        }
    }
}

/// Every sample, a PV after the other.
fn raw(ask: &Ask, wanted: &ExportWanted, before: Before, draft: &Draft, form: &mut dyn RawForm) -> Result<(), Refusal> {
    for (index, pv) in wanted.pvs.iter().enumerate().skip(draft.first_pv()) {
        draft.go_on()?;
        let range = wanted.range;
        let history = ask.metadata(pv.series.pv, range)?;
        let (mut number, mut current, mut within) = (0, None, 0);
        let part = |number, value_type| Part { pv, index, number, value_type, range, history: &history };
        let request = Request { series: pv.series.clone(), range, before };
        for batch in ask.samples(&request)? {
            draft.go_on()?;
            let batch = match batch {
                Ok(batch) => batch,
                Err(error) if error.is_damage() => {
                    draft.damaged(format!("{}: {error}", pv.name));
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let value_type = batch.value_type();
            if current != Some(value_type) {
                if let Some(former) = current.replace(value_type) {
                    form.end(&part(number, former))?;
                    number += 1;
                }
                form.begin(&part(number, value_type))?;
            }
            let Some(last) = batch.times().last().copied() else { continue };
            let (count, in_range) = (batch.len() as u64, batch.rows_within(range).len() as u64);
            within += in_range;
            form.put(&part(number, value_type), batch)?;
            draft.wrote(count, index, last);
        }
        let value_type = match current {
            Some(value_type) => value_type,
            None => {
                // A PV without samples is there all the same.
                let value_type = usual(ask, pv, range, &history)?;
                form.begin(&part(number, value_type))?;
                value_type
            }
        };
        form.end(&part(number, value_type))?;
        let gaps = ask.gaps(&pv.series, range)?.len() as u64;
        draft.passed(index, &pv.name, within, gaps)?;
    }
    form.finish()
}

/// The type to say where there are no samples.
fn usual(ask: &Ask, pv: &ExportPv, range: TimeRange, history: &[(Timestamp, Metadata)]) -> Result<ValueType, Refusal> {
    let known = match pv.series.field {
        None => history.last().and_then(|(_, metadata)| metadata.value_type),
        Some(_) => ask.last_before(&pv.series, range.t1)?.map(|sample| sample.value.value_type()),
    };
    Ok(known.unwrap_or(ValueType::scalar(Element::F64)))
}

/// What is to be aligned of some of the PVs.
fn align(wanted: &ExportWanted, pvs: &[ExportPv]) -> AlignRequest {
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
fn each_rows(
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
fn safe_names(pvs: &[ExportPv], form: Form) -> Vec<String> {
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
fn part_name(names: &[String], part: &Part) -> String {
    let name = &names[part.index];
    if part.number == 0 { name.clone() } else { format!("{name}.{}", part.number + 1) }
}

fn failed(error: impl std::fmt::Display) -> Refusal {
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

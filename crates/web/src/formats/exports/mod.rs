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
mod parts;
mod sheets;
mod zip;

use query::{Before, Request};
use service::{Ask, Draft, ExportRows, ExportWanted, Form};

use self::{
    columns::{ArrowRows, ParquetRows, ZippedArrow, ZippedParquet},
    lines::{RawLines, RowLines},
    mat::{MatRows, MatVariables},
    parts::{Part, RawForm, RowForm, align, each_rows, safe_names, usual},
    sheets::{RawSheets, RowSheets},
};
use super::rows::RowsHeading;
use crate::refusal::Refusal;

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

//! What an export will be: how many samples and bytes, about, and what of it does not go into its form.
//!
//! Samples of numbers are counted in summaries, of few PVs exactly. Of all else, and of very many PVs, the number is reckoned from how many
//! there are in all and which part of their time is wanted.

use query::{Cut, Series};
use sample::{Element, Sample, Shape, TimeRange, Value, ValueType};

use super::{ExportPlan, ExportRows, ExportWanted, Form, RowTimes};
use crate::{
    ask::Ask,
    refusal::{Code, Refusal},
};

/// The rows of a sheet, without its heading.
pub const SHEET_ROWS_MAX: u64 = 1_048_575;
/// The columns of a sheet.
const SHEET_COLUMNS_MAX: usize = 16_384;
/// The sheets of a workbook, as many as are easily found one's way in; each keeps a file open while it is made.
pub const SHEETS_MAX: u64 = 250;
/// The longest text in a cell.
pub const CELL_CHARS_MAX: usize = 32_767;
/// The longest name of a sheet, in characters.
const SHEET_NAME_MAX: usize = 31;
/// The longest name of a variable.
const VARIABLE_NAME_MAX: usize = 63;
/// The longest variable of a MAT file of version 5.
const VARIABLE_BYTES_MAX: u64 = (1 << 31) - 1;
/// Of so many PVs samples are counted, of others reckoned.
const COUNTED_PVS_MAX: usize = 1000;
/// What a PV takes while it is looked at.
const PV_BYTES: usize = 64;

/// One PV.
struct Counted<'w> {
    name: &'w str,
    samples: u64,
    value_type: ValueType,
    /// Of a value as text, and as numbers.
    text_bytes: u64,
    value_bytes: u64,
}

pub(super) fn plan(ask: &Ask, wanted: &ExportWanted, bytes_left: u64) -> Result<ExportPlan, Refusal> {
    ask.lease.grow_by(wanted.pvs.len(), PV_BYTES)?;
    let is_counted = wanted.pvs.len() <= COUNTED_PVS_MAX;
    let mut counted = Vec::with_capacity(wanted.pvs.len());
    for pv in &wanted.pvs {
        ask.go_on()?;
        counted.push(count(ask, &pv.name, &pv.series, wanted.range, is_counted)?);
    }
    let samples = counted.iter().map(|pv| pv.samples).sum();
    let rows = match &wanted.rows {
        ExportRows::Raw { .. } => samples,
        ExportRows::Aligned { times: RowTimes::Every(period), .. } => {
            let length = u128::from(wanted.range.t1.nanos().abs_diff(wanted.range.t0.nanos()));
            u64::try_from(length.div_ceil(period.as_nanos().max(1))).unwrap_or(u64::MAX)
        }
        ExportRows::Aligned { times: RowTimes::Of(pv), .. } => {
            count(ask, &pv.name, &pv.series, wanted.range, true)?.samples
        }
    };
    let bytes = bytes(wanted, &counted, rows);
    let (mut notes, mut refused) = (Vec::new(), None);
    match wanted.form {
        Form::Xlsx => refused = workbook(wanted, &counted, rows, &mut notes),
        Form::Mat => refused = variables(wanted, &counted, rows, &mut notes),
        Form::Csv => {
            if counted.iter().any(|pv| pv.value_type.element == Element::String) {
                notes.push("texts stand in CSV as they were recorded, also those that a spreadsheet takes for formulas; XLSX keeps them texts".to_owned());
            }
        }
        Form::Arrow | Form::Parquet if wanted.is_zip() => {
            notes.push("a zip with a file for each PV, as each has a type of its own".to_owned());
        }
        Form::Arrow | Form::Parquet => {}
    }
    let empty = counted.iter().filter(|pv| pv.samples == 0).count();
    if empty > 0 && matches!(wanted.rows, ExportRows::Raw { .. }) {
        notes.push(format!("{empty} of {} PVs have no samples in the range", counted.len()));
    }
    Ok(ExportPlan { samples, rows, bytes, bytes_left, notes, refused })
}

fn count<'w>(
    ask: &Ask,
    name: &'w str,
    series: &Series,
    range: TimeRange,
    is_counted: bool,
) -> Result<Counted<'w>, Refusal> {
    let newest = ask.last_before(series, range.t1)?;
    let value_type = newest.as_ref().map_or(ValueType::scalar(Element::F64), |sample| sample.value.value_type());
    let samples = match is_counted && value_type.is_numeric_scalar() && series.field.is_none() {
        true => {
            let mut samples = 0;
            for bin in ask.bins(series.clone(), range, Cut::Equal(1))? {
                match bin {
                    Ok(bin) => samples += bin.count,
                    Err(error) if error.is_damage() => {}
                    Err(error) => return Err(error.into()),
                }
            }
            samples
        }
        false => reckoned(ask, series, range)?,
    };
    let (text_bytes, value_bytes) = newest.as_ref().map_or((8, 8), sizes);
    Ok(Counted { name, samples, value_type, text_bytes, value_bytes })
}

/// As many as come to the range if all come evenly.
fn reckoned(ask: &Ask, series: &Series, range: TimeRange) -> Result<u64, Refusal> {
    let Some(extent) = ask.extent(series.pv)? else { return Ok(0) };
    let (first, last) = (extent.first.seconds_f64(), extent.last.seconds_f64());
    let (from, to) = (range.t0.seconds_f64().max(first), range.t1.seconds_f64().min(last));
    if to < from {
        return Ok(0);
    }
    let part = if last > first { ((to - from) / (last - first)).clamp(0.0, 1.0) } else { 1.0 };
    Ok((extent.samples as f64 * part).ceil() as u64)
}

/// How many bytes a value is as text, and as itself.
fn sizes(sample: &Sample) -> (u64, u64) {
    let value_bytes = 8 + sample.value.byte_size() as u64; // that of numbers is 0
    let text_bytes = match &sample.value {
        Value::String(text) => text.len() as u64,
        Value::Structure(bytes) => 3 * bytes.len() as u64,
        Value::Array(elements) => 10 * elements.len() as u64 + 2,
        Value::F64(number) => number.to_string().len().min(18) as u64,
        Value::F32(_) => 9,
        _ => 4,
    };
    (text_bytes, value_bytes)
}

/// What a row takes beside its values, and which part of a value is left when it is packed: within a third of what seventeen PVs with
/// sines of six digits came to in each form, raw and aligned.
fn bytes(wanted: &ExportWanted, counted: &[Counted], rows: u64) -> u64 {
    let with_severity = matches!(wanted.rows, ExportRows::Aligned { with_severity: true, .. });
    let each = |pv: &Counted| -> u64 {
        let (text, value) = (pv.text_bytes, pv.value_bytes);
        let by_itself = match wanted.form {
            Form::Csv => 42 + pv.name.len() as u64 + text,
            Form::Arrow => 24 + value,
            Form::Parquet => 5 + value,
            Form::Xlsx => 34 + text / 2,
            Form::Mat => 19 + value.max(8),
        };
        let in_row = u64::from(with_severity) * 2
            + match wanted.form {
                Form::Csv => 1 + text,
                Form::Arrow | Form::Parquet => value,
                Form::Xlsx => 2 + text / 2,
                Form::Mat => 9,
            };
        match wanted.rows {
            ExportRows::Raw { .. } => pv.samples.saturating_mul(by_itself).saturating_add(500),
            ExportRows::Aligned { .. } => rows.saturating_mul(in_row),
        }
    };
    let of_times = match (wanted.form, &wanted.rows) {
        (_, ExportRows::Raw { .. }) => 0,
        (Form::Csv, _) => 31,
        (Form::Xlsx, _) => 14,
        (Form::Mat, _) => 16,
        (Form::Arrow | Form::Parquet, _) => 8,
    };
    let values = counted.iter().map(each).fold(4096_u64, u64::saturating_add);
    values.saturating_add(rows.saturating_mul(of_times))
}

fn workbook(wanted: &ExportWanted, counted: &[Counted], rows: u64, notes: &mut Vec<String>) -> Option<Refusal> {
    let sheets_of = |rows: u64| rows.div_ceil(SHEET_ROWS_MAX).max(1);
    let sheets = match wanted.rows {
        ExportRows::Raw { .. } => counted.iter().map(|pv| sheets_of(pv.samples)).sum(),
        ExportRows::Aligned { .. } => sheets_of(rows),
    };
    let columns =
        2 + counted.len() * if matches!(wanted.rows, ExportRows::Aligned { with_severity: true, .. }) { 2 } else { 1 };
    let mut split = counted.iter().filter(|pv| pv.samples > SHEET_ROWS_MAX);
    match (&wanted.rows, split.next()) {
        (ExportRows::Raw { .. }, Some(pv)) => notes.push(format!(
            "{} has some {} samples, more than the 1,048,576 rows of a sheet: it goes on on {} sheets{}",
            pv.name,
            pv.samples,
            sheets_of(pv.samples),
            if split.next().is_some() { ", and so do others" } else { "" }
        )),
        (ExportRows::Aligned { .. }, _) if sheets > 1 => {
            notes.push(format!("{rows} rows are more than the 1,048,576 of a sheet: they go on on {sheets} sheets"))
        }
        _ => {}
    }
    if matches!(wanted.rows, ExportRows::Raw { .. }) {
        let longer = counted.iter().find(|pv| pv.name.chars().count() > SHEET_NAME_MAX);
        notes.extend(longer.map(|pv| {
            format!(
                "{} is longer than the 31 characters of a sheet's name: the first sheet says which sheet is whose",
                pv.name
            )
        }));
    }
    let too_large = |message: String, hint: &str| Some(Refusal::new(Code::TooLarge, message).hint(hint));
    if sheets > SHEETS_MAX {
        let message = format!("{sheets} sheets would be needed, and a workbook may have {SHEETS_MAX}");
        return too_large(message, "export them as parquet or csv, or fewer PVs, or a shorter range");
    }
    if matches!(wanted.rows, ExportRows::Aligned { .. }) && columns > SHEET_COLUMNS_MAX {
        return too_large(format!("{columns} columns are more than the 16,384 of a sheet"), "export fewer PVs");
    }
    let is_long = |pv: &&Counted| pv.text_bytes as usize > CELL_CHARS_MAX && pv.samples > 0;
    if let Some(pv) = counted.iter().find(is_long) {
        let message =
            format!("a value of {} has some {} characters, and a cell at most 32,767", pv.name, pv.text_bytes);
        return too_large(message, "leave it out, or export it as parquet or arrow");
    }
    None
}

fn variables(wanted: &ExportWanted, counted: &[Counted], rows: u64, notes: &mut Vec<String>) -> Option<Refusal> {
    let is_renamed = |name: &str| {
        name.len() > VARIABLE_NAME_MAX || name.bytes().any(|byte| !byte.is_ascii_alphanumeric() && byte != b'_')
    };
    if counted.iter().any(|pv| is_renamed(pv.name)) {
        notes.push("variables are named by letters, digits and _ alone, at most 63 of them: the PV's name stands in the field `name`".to_owned());
    }
    let bytes_of = |pv: &Counted| match wanted.rows {
        ExportRows::Raw { .. } => {
            let value = if pv.value_type.shape == Shape::Array { 64 + pv.value_bytes } else { pv.value_bytes.max(8) };
            pv.samples.saturating_mul(19 + value)
        }
        ExportRows::Aligned { .. } => rows.saturating_mul(9),
    };
    let largest = counted.iter().max_by_key(|pv| bytes_of(pv)).filter(|pv| bytes_of(pv) > VARIABLE_BYTES_MAX)?;
    let message = format!(
        "{} would take some {} bytes, and a variable of a MAT file of version 5 at most 2,147,483,647",
        largest.name,
        bytes_of(largest)
    );
    Some(Refusal::new(Code::TooLarge, message).hint("take a shorter range, or parquet, which MATLAB reads too"))
}

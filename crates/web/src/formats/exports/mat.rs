//! Exports as MAT files of version 5: a structure for each PV, whose columns wait beside the file until it is known how long they are.
//!
//! ```text
//!   raw      header { source, from, to }    A_B { name, type, units, labels, epochSeconds, nanos, values, severity, status }  …
//!   aligned  header …    times { epochSeconds, nanos }    A_B { name, type, units, labels, values, severity }  …
//! ```
//! Numbers are doubles, integers of 64 bits int64 or uint64, so that all are exact. Where aligned rows have no value, doubles are NaN; integers
//! of 64 bits, which know no NaN, are 0 with the severity 255, and so have that column always, as the header says in `absent`. Texts are a cell
//! of texts, arrays a cell of columns of doubles, structures a cell of JSON. A PV whose type changes has a structure for each stretch.

use query::{AlignedColumn, AlignedRows};
use sample::{Batch, Column, Element, Metadata, Shape, TimeRange, Timestamp, ValueType};
use service::{Ask, Draft, ExportPv, ExportRows, ExportWanted, Form, Scratch};

use super::parts::{Part, RawForm, align, each_rows, safe_names, usual};
use crate::{
    formats::{
        matlab::{
            CELL_CLASS, DOUBLE, DOUBLE_CLASS, INT64, INT64_CLASS, MATRIX, TEXT_CLASS, UINT8, UINT8_CLASS, UINT16,
            UINT16_CLASS, UINT64, UINT64_CLASS, UTF8, beginning, head, put, structure_head,
        },
        value::{Dialect, put as put_value},
    },
    refusal::{Code, Refusal},
};

const TITLE: &str = "MATLAB 5.0 MAT-file, Platform: pvark";
/// The longest variable that MATLAB reads.
const VARIABLE_BYTES_MAX: u64 = (1 << 31) - 1;
/// What stands before an element: its type and its length.
const TAG_BYTES: u64 = 8;

/// What stands for no value in aligned rows.
const ABSENT: &str = "NaN; of integers of 64 bits 0 where severity is 255";

/// A column that waits.
struct WaitingColumn {
    name: &'static str,
    class: u32,
    data: u32,
    bytes: Scratch,
    rows: u64,
}

impl WaitingColumn {
    fn new(draft: &Draft, name: &'static str, class: u32, data: u32) -> Result<WaitingColumn, Refusal> {
        Ok(WaitingColumn { name, class, data, bytes: draft.scratch()?, rows: 0 })
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        self.rows += 1;
        self.bytes.put(bytes)
    }

    /// Its bytes, with zeros up to a multiple of eight.
    fn padded(&self) -> u64 {
        self.bytes.len().next_multiple_of(8)
    }

    fn head(&self) -> Vec<u8> {
        head(self.class, [usize::try_from(self.rows).unwrap_or(usize::MAX), 1], self.name)
    }

    /// With the tag before it, as it stands in its structure. A cell is what its elements are.
    fn len(&self) -> u64 {
        let tag = if self.class == CELL_CLASS { 0 } else { TAG_BYTES };
        TAG_BYTES + self.head().len() as u64 + tag + self.padded()
    }

    fn pour(&mut self, draft: &Draft) -> Result<(), Refusal> {
        let (head, padding) = (self.head(), self.padded() - self.bytes.len());
        let mut out = Vec::new();
        put_tag(&mut out, MATRIX, self.len() - TAG_BYTES);
        out.extend_from_slice(&head);
        if self.class != CELL_CLASS {
            put_tag(&mut out, self.data, self.bytes.len());
        }
        draft.put(&out)?;
        self.bytes.pour()?;
        self.rows = 0;
        draft.put(&vec![0; padding as usize])
    }
}

fn put_tag(out: &mut Vec<u8>, data: u32, len: u64) {
    out.extend_from_slice(&data.to_be_bytes());
    out.extend_from_slice(&(len as u32).to_be_bytes());
}

/// A member that is a text.
fn text(name: &str, text: &str) -> Vec<u8> {
    let mut matrix = head(TEXT_CLASS, [usize::from(!text.is_empty()), text.chars().count()], name);
    put(&mut matrix, UTF8, text.as_bytes());
    let mut out = Vec::new();
    put(&mut out, MATRIX, &matrix);
    out
}

/// A member that is a cell of texts.
fn texts(name: &str, of: &[String]) -> Vec<u8> {
    let mut matrix = head(CELL_CLASS, [of.len(), 1], name);
    of.iter().for_each(|one| matrix.extend_from_slice(&text("", one)));
    let mut out = Vec::new();
    put(&mut out, MATRIX, &matrix);
    out
}

/// Writes a structure out of members that are there, and columns that wait.
fn structure(
    draft: &Draft,
    name: &str,
    told: &str,
    texts: &[(&str, Vec<u8>)],
    columns: &mut [WaitingColumn],
) -> Result<(), Refusal> {
    let names = texts.iter().map(|(name, _)| *name).chain(columns.iter().map(|column| column.name));
    let mut body = structure_head(name, names.collect::<Vec<_>>().into_iter());
    texts.iter().for_each(|(_, bytes)| body.extend_from_slice(bytes));
    let len = body.len() as u64 + columns.iter().map(WaitingColumn::len).sum::<u64>();
    if len > VARIABLE_BYTES_MAX {
        let message =
            format!("{told} takes {len} bytes, and a variable of a MAT file of version 5 at most {VARIABLE_BYTES_MAX}");
        return Err(
            Refusal::new(Code::TooLarge, message).hint("take a shorter range, or parquet, which MATLAB reads too")
        );
    }
    let mut out = Vec::new();
    put_tag(&mut out, MATRIX, len);
    out.extend_from_slice(&body);
    draft.put(&out)?;
    columns.iter_mut().try_for_each(|column| column.pour(draft))
}

/// What a file begins with, and what is to be said of all of it.
fn begin(draft: &Draft, range: TimeRange, more: &[(&'static str, &str)]) -> Result<(), Refusal> {
    draft.put(&beginning(TITLE))?;
    let (t0, t1) = (range.t0.to_string(), range.t1.to_string());
    let members: Vec<(&str, Vec<u8>)> = [("source", "pvark"), ("from", &*t0), ("to", &*t1)]
        .iter()
        .chain(more)
        .map(|(name, said)| (*name, text(name, said)))
        .collect();
    structure(draft, "header", "the header", &members, &mut [])
}

/// What is said of a PV.
fn told(pv: &ExportPv, value_type: ValueType, history: &[(Timestamp, Metadata)]) -> [(&'static str, Vec<u8>); 4] {
    let newest = history.last().map(|(_, metadata)| metadata.clone()).unwrap_or_default();
    [
        ("name", text("name", &pv.name)),
        ("type", text("type", &value_type.to_string())),
        ("units", text("units", &newest.units.unwrap_or_default())),
        ("labels", texts("labels", &newest.labels)),
    ]
}

/// The column for values of a type.
fn values(draft: &Draft, value_type: ValueType) -> Result<WaitingColumn, Refusal> {
    let (class, data) = match value_type {
        ValueType { shape: Shape::Array, .. } => (CELL_CLASS, MATRIX),
        ValueType { element: Element::String | Element::Structure, .. } => (CELL_CLASS, MATRIX),
        ValueType { element: Element::I64, .. } => (INT64_CLASS, INT64),
        ValueType { element: Element::U64, .. } => (UINT64_CLASS, UINT64),
        _ => (DOUBLE_CLASS, DOUBLE),
    };
    WaitingColumn::new(draft, "values", class, data)
}

fn put_one(column: &mut WaitingColumn, values: &Column, row: usize) -> Result<(), Refusal> {
    match values {
        Column::I64(v) => column.put(&v[row].to_be_bytes()),
        Column::U64(v) => column.put(&v[row].to_be_bytes()),
        Column::String(v) => column.put(&text("", v.get(row))),
        Column::Array(arrays) if !matches!(arrays.elements(), Column::String(_) | Column::Structure(_)) => {
            let (range, elements) = (arrays.range(row), arrays.elements());
            let mut matrix = head(DOUBLE_CLASS, [range.len(), 1], "");
            let bytes: Vec<u8> =
                range.flat_map(|index| elements.f64_at(index).unwrap_or(f64::NAN).to_be_bytes()).collect();
            put(&mut matrix, DOUBLE, &bytes);
            let mut out = Vec::new();
            put(&mut out, MATRIX, &matrix);
            column.put(&out)
        }
        Column::Array(_) | Column::Structure(_) => {
            let mut json = Vec::new();
            put_value(&mut json, values, row, Dialect::Exact);
            column.put(&text("", &String::from_utf8_lossy(&json)))
        }
        numbers => column.put(&numbers.f64_at(row).unwrap_or(f64::NAN).to_be_bytes()),
    }
}

fn times(draft: &Draft) -> Result<[WaitingColumn; 2], Refusal> {
    Ok([
        WaitingColumn::new(draft, "epochSeconds", INT64_CLASS, INT64)?,
        WaitingColumn::new(draft, "nanos", INT64_CLASS, INT64)?,
    ])
}

fn put_time(columns: &mut [WaitingColumn], time: Timestamp) -> Result<(), Refusal> {
    let (seconds, nanos) = time.seconds_and_nanos();
    columns[0].put(&seconds.to_be_bytes())?;
    columns[1].put(&i64::from(nanos).to_be_bytes())
}

/// Every sample, a structure for each PV.
pub(super) struct MatVariables {
    draft: Draft,
    names: Vec<String>,
    /// Times, values, severities, statuses.
    columns: Vec<WaitingColumn>,
}

impl MatVariables {
    pub(super) fn new(draft: &Draft, range: TimeRange, names: Vec<String>) -> Result<MatVariables, Refusal> {
        if draft.position() == 0 {
            begin(draft, range, &[])?;
        }
        Ok(MatVariables { draft: draft.clone(), names, columns: Vec::new() })
    }
}

impl RawForm for MatVariables {
    fn begin(&mut self, part: &Part) -> Result<(), Refusal> {
        let [seconds, nanos] = times(&self.draft)?;
        self.columns = vec![
            seconds,
            nanos,
            values(&self.draft, part.value_type)?,
            WaitingColumn::new(&self.draft, "severity", UINT8_CLASS, UINT8)?,
            WaitingColumn::new(&self.draft, "status", UINT16_CLASS, UINT16)?,
        ];
        Ok(())
    }

    fn put(&mut self, _part: &Part, batch: Batch) -> Result<(), Refusal> {
        for row in 0..batch.len() {
            let alarm = batch.alarms().get(row);
            put_time(&mut self.columns, batch.times()[row])?;
            put_one(&mut self.columns[2], batch.values(), row)?;
            self.columns[3].put(&[alarm.severity as u8])?;
            self.columns[4].put(&alarm.status.to_be_bytes())?;
        }
        Ok(())
    }

    fn end(&mut self, part: &Part) -> Result<(), Refusal> {
        let mut name = self.names[part.index].clone();
        if part.number > 0 {
            name = format!("{name}_part{}", part.number + 1);
            while self.names.contains(&name) {
                name.push('_');
            }
        }
        let members = told(part.pv, part.value_type, part.history);
        structure(&self.draft, &name, &part.pv.name, &members, &mut self.columns)?;
        self.columns.clear();
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Refusal> {
        Ok(())
    }
}

/// All PVs on the same times, a structure for each PV.
pub(super) struct MatRows<'a> {
    draft: &'a Draft,
    wanted: &'a ExportWanted,
}

impl<'a> MatRows<'a> {
    pub(super) fn new(draft: &'a Draft, wanted: &'a ExportWanted) -> MatRows<'a> {
        MatRows { draft, wanted }
    }

    /// Columns follow each other in the file, so one PV is read after the other, each on the same times.
    pub(super) fn write(&self, ask: &Ask) -> Result<(), Refusal> {
        begin(self.draft, self.wanted.range, &[("absent", ABSENT)])?;
        let with_severity = matches!(self.wanted.rows, ExportRows::Aligned { with_severity: true, .. });
        let names = safe_names(&self.wanted.pvs, Form::Mat);
        for (index, (pv, name)) in self.wanted.pvs.iter().zip(&names).enumerate() {
            let history = ask.metadata(pv.series.pv, self.wanted.range)?;
            let (types, table) = ask.aligned(&align(self.wanted, std::slice::from_ref(pv)))?;
            let value_type = match types.first() {
                Some(value_type) => *value_type,
                None => usual(ask, pv, self.wanted.range, &history)?,
            };
            let mut times = times(self.draft)?;
            let mut columns = vec![values(self.draft, value_type)?];
            if with_severity || has_no_nan(value_type) {
                columns.push(WaitingColumn::new(self.draft, "severity", UINT8_CLASS, UINT8)?);
            }
            each_rows(table, std::slice::from_ref(&pv.name), index, self.draft, &mut |rows: AlignedRows| {
                if index == 0 {
                    rows.times.iter().try_for_each(|time| put_time(&mut times, *time))?;
                }
                let Some(column) = rows.columns.first() else { return Ok(()) };
                (0..rows.times.len()).try_for_each(|row| put_aligned(&mut columns, column, row))
            })?;
            if index == 0 {
                structure(self.draft, "times", "the times", &[], &mut times)?;
            }
            structure(self.draft, name, &pv.name, &told(pv, value_type, &history), &mut columns)?;
            self.draft.passed(index, &pv.name, 1, 0)?;
        }
        Ok(())
    }
}

/// Whether only the severity can say that a number is none.
fn has_no_nan(value_type: ValueType) -> bool {
    value_type.shape == Shape::Scalar && matches!(value_type.element, Element::I64 | Element::U64)
}

/// A value of a row, with its severity if that has a column; 255 where there is none.
fn put_aligned(columns: &mut [WaitingColumn], from: &AlignedColumn, row: usize) -> Result<(), Refusal> {
    let is_there = from.present[row];
    match (&from.values, is_there) {
        (values, true) => put_one(&mut columns[0], values, row)?,
        (Column::String(_), false) => columns[0].put(&text("", ""))?,
        (Column::I64(_) | Column::U64(_), false) => columns[0].put(&[0; 8])?,
        (_, false) => columns[0].put(&f64::NAN.to_be_bytes())?,
    }
    match columns.get_mut(1) {
        Some(severities) => severities.put(&[if is_there { from.severities[row] as u8 } else { u8::MAX }]),
        None => Ok(()),
    }
}

//! Rows of several PVs on the same times, as JSON, CSV and one Arrow stream.

use std::{collections::HashMap, fmt, sync::Arc};

use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt8Array, make_array};
use arrow_buffer::NullBuffer;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema, TimeUnit};
use axum::body::Bytes;
use query::{AlignError, AlignedColumn, AlignedRows, AlignedTable};
use sample::{Column, TimeRange, ValueType};

use super::{
    arrow::{times, values},
    csv::{put_field, put_value},
    ended::next_chunk,
    value::{Dialect, put, put_json, put_list},
};
use crate::refusal::{Code, Refusal};

/// What an answer says before its rows.
pub(crate) struct RowsHeading {
    pub(crate) names: Vec<String>,
    pub(crate) types: Vec<ValueType>,
    pub(crate) range: TimeRange,
    pub(crate) with_severity: bool,
}

/// Why rows end early.
#[derive(Debug)]
pub(crate) enum Error {
    /// With the names of the PVs.
    Align(AlignError, Vec<String>),
    Arrow(ArrowError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Align(error, names) => f.write_str(&error.among(names)),
            Error::Arrow(error) => write!(f, "the Arrow stream cannot be written: {error}"),
        }
    }
}

impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Error {
        Error::Arrow(error)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        match error {
            Error::Align(AlignError::Query(error), _) => error.into(),
            Error::Align(..) => Refusal::new(Code::Conflict, error.to_string())
                .hint("leave it out, or ask for the times before and after apart"),
            Error::Arrow(_) => Refusal::new(Code::Internal, error.to_string()),
        }
    }
}

/// `{"from", "to", "pvs", "types", "chunks": [{"seconds", "nanos", "values": [[…], …], "severity"?: [[…], …]}]}`
pub(crate) struct RowsJson {
    heading: RowsHeading,
    table: AlignedTable,
    chunks: usize,
    ended: bool,
}

impl RowsJson {
    pub(crate) fn new(heading: RowsHeading, table: AlignedTable) -> RowsJson {
        RowsJson { heading, table, chunks: 0, ended: false }
    }

    fn put_head(&self, out: &mut Vec<u8>) {
        let types: Vec<String> = self.heading.types.iter().map(ToString::to_string).collect();
        let TimeRange { t0, t1 } = self.heading.range;
        out.extend_from_slice(format!("{{\"from\":\"{t0}\",\"to\":\"{t1}\",\"pvs\":").as_bytes());
        put_json(out, &self.heading.names);
        out.extend_from_slice(b",\"types\":");
        put_json(out, &types);
        out.extend_from_slice(b",\"chunks\":[");
    }
}

impl Iterator for RowsJson {
    type Item = Result<Bytes, Error>;

    fn next(&mut self) -> Option<Result<Bytes, Error>> {
        if self.ended {
            return None;
        }
        let mut out = Vec::new();
        if self.chunks == 0 {
            self.put_head(&mut out);
        }
        match self.table.next() {
            Some(Ok(rows)) => {
                out.extend_from_slice(if self.chunks == 0 { b"\n" } else { b",\n" });
                self.chunks += 1;
                put_chunk(&mut out, &rows, self.heading.with_severity);
            }
            Some(Err(error)) => {
                self.ended = true;
                return Some(Err(Error::Align(error, std::mem::take(&mut self.heading.names))));
            }
            None => {
                self.ended = true;
                out.extend_from_slice(b"]}\n");
            }
        }
        Some(Ok(out.into()))
    }
}

fn put_chunk(out: &mut Vec<u8>, rows: &AlignedRows, with_severity: bool) {
    out.extend_from_slice(b"{\"seconds\":");
    put_list(out, rows.times.iter(), |out, time| put_json(out, &time.seconds_and_nanos().0));
    out.extend_from_slice(b",\"nanos\":");
    put_list(out, rows.times.iter(), |out, time| put_json(out, &time.seconds_and_nanos().1));
    out.extend_from_slice(b",\"values\":");
    put_list(out, rows.columns.iter(), |out, column| {
        put_list(out, 0..column.present.len(), |out, row| match column.present[row] {
            true => put(out, &column.values, row, Dialect::Exact),
            false => out.extend_from_slice(b"null"),
        });
    });
    if with_severity {
        out.extend_from_slice(b",\"severity\":");
        put_list(out, rows.columns.iter(), |out, column| {
            let severities = column.severities.iter().zip(&column.present);
            put_list(out, severities, |out, (severity, present)| {
                put_json(out, &present.then_some(*severity as u8));
            });
        });
    }
    out.push(b'}');
}

/// A line each; fields are empty where there is no value.
pub(crate) struct RowsCsv {
    heading: RowsHeading,
    table: AlignedTable,
    begun: bool,
}

impl RowsCsv {
    pub(crate) fn new(heading: RowsHeading, table: AlignedTable) -> RowsCsv {
        RowsCsv { heading, table, begun: false }
    }
}

/// The names of the columns.
pub(super) fn put_csv_head(out: &mut Vec<u8>, heading: &RowsHeading) {
    out.extend_from_slice(b"time");
    for name in &heading.names {
        out.push(b',');
        put_field(out, name);
        if heading.with_severity {
            out.push(b',');
            put_field(out, &format!("{name}.severity"));
        }
    }
    out.push(b'\n');
}

pub(super) fn put_csv_rows(out: &mut Vec<u8>, rows: &AlignedRows, with_severity: bool) {
    for (row, time) in rows.times.iter().enumerate() {
        out.extend_from_slice(time.to_string().as_bytes());
        for AlignedColumn { values, present, severities } in &rows.columns {
            out.push(b',');
            if present[row] {
                put_value(out, values, row);
            }
            if with_severity {
                out.push(b',');
                let severity = present[row].then(|| (severities[row] as u8).to_string());
                out.extend_from_slice(severity.unwrap_or_default().as_bytes());
            }
        }
        out.push(b'\n');
    }
}

impl Iterator for RowsCsv {
    type Item = Result<Bytes, Error>;

    fn next(&mut self) -> Option<Result<Bytes, Error>> {
        let mut out = Vec::new();
        if !std::mem::replace(&mut self.begun, true) {
            put_csv_head(&mut out, &self.heading);
        }
        match self.table.next() {
            Some(Ok(rows)) => put_csv_rows(&mut out, &rows, self.heading.with_severity),
            Some(Err(error)) => return Some(Err(Error::Align(error, self.heading.names.clone()))),
            None => return (!out.is_empty()).then(|| Ok(out.into())),
        }
        Some(Ok(out.into()))
    }
}

/// Columns of the PVs' own types, null where there is no value.
pub(crate) struct RowsArrow {
    names: Vec<String>,
    table: AlignedTable,
    schema: Arc<Schema>,
    writer: StreamWriter<Vec<u8>>,
    with_severity: bool,
    ended: bool,
}

impl RowsArrow {
    pub(crate) fn new(heading: RowsHeading, table: AlignedTable) -> Result<RowsArrow, Error> {
        let schema = Arc::new(rows_schema(&heading));
        let writer = StreamWriter::try_new(Vec::new(), &schema)?;
        let RowsHeading { names, with_severity, .. } = heading;
        Ok(RowsArrow { names, table, schema, writer, with_severity, ended: false })
    }

    fn chunk(&mut self) -> Result<Bytes, Error> {
        match self.table.next().transpose().map_err(|error| Error::Align(error, self.names.clone()))? {
            Some(rows) => {
                let columns = rows_columns(rows, self.with_severity)?;
                self.writer.write(&RecordBatch::try_new(Arc::clone(&self.schema), columns)?)?;
            }
            None => {
                self.ended = true;
                self.writer.finish()?;
            }
        }
        Ok(std::mem::take(self.writer.get_mut()).into())
    }
}

/// Columns of the PVs' own types.
pub(super) fn rows_schema(heading: &RowsHeading) -> Schema {
    let mut fields = vec![Field::new("time", DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())), false)];
    for (name, value_type) in heading.names.iter().zip(&heading.types) {
        let empty = values(Column::new(*value_type));
        let facts = HashMap::from([("type".to_owned(), value_type.to_string())]);
        fields.push(Field::new(name, empty.data_type().clone(), true).with_metadata(facts));
        if heading.with_severity {
            fields.push(Field::new(format!("{name}.severity"), DataType::UInt8, true));
        }
    }
    let TimeRange { t0, t1 } = heading.range;
    let facts = HashMap::from([("from".to_owned(), t0.to_string()), ("to".to_owned(), t1.to_string())]);
    Schema::new(fields).with_metadata(facts)
}

pub(super) fn rows_columns(rows: AlignedRows, with_severity: bool) -> Result<Vec<ArrayRef>, ArrowError> {
    let mut columns = vec![times(rows.times)];
    for column in rows.columns {
        let rows = column.severities.iter().zip(&column.present);
        let severities = rows.map(|(severity, present)| present.then_some(*severity as u8));
        let severities = with_severity.then(|| severities.collect::<UInt8Array>());
        columns.push(with_nulls(column.values, &column.present)?);
        columns.extend(severities.map(|severities| Arc::new(severities) as ArrayRef));
    }
    Ok(columns)
}

fn with_nulls(column: Column, present: &[bool]) -> Result<ArrayRef, ArrowError> {
    if present.iter().all(|present| *present) {
        return Ok(values(column));
    }
    if let Column::String(texts) = &column {
        let texts = texts.iter().zip(present).map(|(text, present)| present.then_some(text));
        return Ok(Arc::new(texts.collect::<StringArray>()));
    }
    let nulls = NullBuffer::from(present);
    let data = values(column).to_data().into_builder().nulls(Some(nulls)).build()?;
    Ok(make_array(data))
}

impl Iterator for RowsArrow {
    type Item = Result<Bytes, Error>;

    fn next(&mut self) -> Option<Result<Bytes, Error>> {
        next_chunk(self, |answer| &mut answer.ended, Self::chunk)
    }
}

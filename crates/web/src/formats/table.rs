//! A table of few columns, with facts beside it: JSON with a row in braces for each, CSV with a heading, or one Arrow stream with the facts
//! in the metadata of its schema.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{Field, Schema};
use axum::body::Bytes;
use sample::Timestamp;
use serde_json::{Map, Value};

use super::{
    arrow,
    list::Frame,
    value::{put_cell, put_json, put_known},
};
use crate::refusal::Refusal;

/// A column of a table.
pub(crate) enum TableColumn {
    /// Times.
    Times(Vec<Timestamp>),
    /// Numbers; NaN stands for none.
    Numbers(Vec<f64>),
    /// Counts, if they were asked for.
    Counts(Vec<Option<u64>>),
    /// Numbers, if they were asked for.
    Perhaps(Vec<Option<f64>>),
    /// Words of ours.
    Words(Vec<&'static str>),
}

/// All of it, in memory.
pub(crate) struct Table {
    /// What stands beside the rows.
    pub(crate) facts: Map<String, Value>,
    /// How rows are called in JSON.
    pub(crate) rows_are: &'static str,
    /// Equally long.
    pub(crate) columns: Vec<(&'static str, TableColumn)>,
}

impl TableColumn {
    fn len(&self) -> usize {
        match self {
            TableColumn::Times(times) => times.len(),
            TableColumn::Numbers(numbers) => numbers.len(),
            TableColumn::Counts(counts) => counts.len(),
            TableColumn::Perhaps(numbers) => numbers.len(),
            TableColumn::Words(words) => words.len(),
        }
    }

    fn put_json(&self, out: &mut Vec<u8>, row: usize) {
        match self {
            TableColumn::Times(times) => put_json(out, &times[row].to_string()),
            TableColumn::Numbers(numbers) => put_known(out, numbers[row]),
            TableColumn::Counts(counts) => put_json(out, &counts[row]),
            TableColumn::Perhaps(numbers) => put_known(out, numbers[row].unwrap_or(f64::NAN)),
            TableColumn::Words(words) => put_json(out, &words[row]),
        }
    }

    fn put_csv(&self, out: &mut Vec<u8>, row: usize) {
        match self {
            TableColumn::Times(times) => out.extend_from_slice(times[row].to_string().as_bytes()),
            TableColumn::Numbers(numbers) => put_cell(out, numbers[row]),
            TableColumn::Counts(counts) => counts[row].iter().for_each(|count| put_json(out, count)),
            TableColumn::Perhaps(numbers) => numbers[row].iter().for_each(|number| put_cell(out, *number)),
            TableColumn::Words(words) => out.extend_from_slice(words[row].as_bytes()),
        }
    }

    fn into_arrow(self) -> ArrayRef {
        match self {
            TableColumn::Times(times) => arrow::times(times),
            TableColumn::Numbers(numbers) => Arc::new(Float64Array::from(numbers)),
            TableColumn::Counts(counts) => Arc::new(UInt64Array::from(counts)),
            TableColumn::Perhaps(numbers) => Arc::new(Float64Array::from(numbers)),
            TableColumn::Words(words) => Arc::new(StringArray::from(words)),
        }
    }
}

impl Table {
    pub(crate) fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// What stands around rows in JSON.
    pub(crate) fn json_frame(&self) -> Result<Frame, Refusal> {
        Frame::member(self.rows_are, &self.facts)
    }

    pub(crate) fn put_json(&self, out: &mut Vec<u8>, row: usize) {
        for (index, (name, column)) in self.columns.iter().enumerate() {
            out.extend_from_slice(if index == 0 { b"{\"" } else { b",\"" });
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b"\":");
            column.put_json(out, row);
        }
        out.push(b'}');
    }

    /// The names of the columns.
    pub(crate) fn csv_frame(&self) -> Frame {
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| *name).collect();
        Frame::headed(&format!("{}\n", names.join(",")))
    }

    pub(crate) fn put_csv(&self, out: &mut Vec<u8>, row: usize) {
        for (index, (_, column)) in self.columns.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            column.put_csv(out, row);
        }
        out.push(b'\n');
    }

    /// One stream, with one record batch. Facts that are null are left out; those that are no texts are JSON.
    pub(crate) fn into_arrow(self) -> Result<Bytes, Refusal> {
        let facts = arrow::texts(&self.facts);
        let columns = self.columns.into_iter().map(|(name, column)| (name, column.into_arrow()));
        let columns: Vec<(&str, ArrayRef)> = columns.collect();
        let fields: Vec<Field> =
            columns.iter().map(|(name, column)| Field::new(*name, column.data_type().clone(), true)).collect();
        let schema = Arc::new(Schema::new(fields).with_metadata(facts));
        let columns = columns.into_iter().map(|(_, column)| column).collect();
        let made = || -> Result<Vec<u8>, arrow_schema::ArrowError> {
            let mut writer = StreamWriter::try_new(Vec::new(), &schema)?;
            writer.write(&RecordBatch::try_new(Arc::clone(&schema), columns)?)?;
            writer.into_inner()
        };
        Ok(made().map_err(arrow::Error::from)?.into())
    }
}

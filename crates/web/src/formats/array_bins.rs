//! Bins of arrays as JSON, CSV and Arrow, bin by bin: in JSON an object for each bin, else a row for each element of it.

use std::{collections::HashMap, io::Write, sync::Arc};

use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch, UInt8Array, UInt64Array};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{Field, Schema};
use axum::body::Bytes;
use query::{ArrayBin, ArrayBins, Elements};
use sample::Timestamp;
use serde_json::{Map, Value};

use super::{
    arrow,
    ended::next_chunk,
    plain::{put_cell, put_json, put_known, put_list},
};

const CSV_HEAD: &str = "start,end,arrays,severity,element,elements,count,min,max,mean\n";

/// The object that holds the bins. What was damaged stands behind them.
pub(crate) struct ArrayBinsJson {
    /// The members before the bins; none once they are sent.
    head: Option<Map<String, Value>>,
    bins: ArrayBins,
    is_first: bool,
    ended: bool,
}

impl ArrayBinsJson {
    pub(crate) fn new(head: Map<String, Value>, bins: ArrayBins) -> ArrayBinsJson {
        ArrayBinsJson { head: Some(head), bins, is_first: true, ended: false }
    }

    fn chunk(&mut self) -> Result<Bytes, query::Error> {
        let mut out = Vec::new();
        if let Some(head) = self.head.take() {
            put_json(&mut out, &head);
            out.pop();
            out.extend_from_slice(b",\n\"array_bins\":[");
            return Ok(out.into());
        }
        match self.bins.next().transpose()? {
            Some(bin) => {
                let is_first = std::mem::replace(&mut self.is_first, false);
                out.extend_from_slice(if is_first { b"\n" } else { b",\n" });
                put_bin(&mut out, &bin);
            }
            None => {
                self.ended = true;
                out.extend_from_slice(b"],\n\"damage\":");
                let damage: Vec<String> = self.bins.damage().iter().map(ToString::to_string).collect();
                put_json(&mut out, &damage);
                out.extend_from_slice(b"}\n");
            }
        }
        Ok(out.into())
    }
}

impl Iterator for ArrayBinsJson {
    type Item = Result<Bytes, query::Error>;

    fn next(&mut self) -> Option<Result<Bytes, query::Error>> {
        next_chunk(self, |answer| &mut answer.ended, Self::chunk)
    }
}

/// A bin as an object.
pub(crate) fn put_bin(out: &mut Vec<u8>, bin: &ArrayBin) {
    let numbers = |out: &mut Vec<u8>, name: &str, number: fn(&Elements) -> f64| {
        out.extend_from_slice(format!(",\"{name}\":").as_bytes());
        put_list(out, bin.rows.iter(), |out, row| put_known(out, number(row)));
    };
    let (start, end, severity) = (bin.t0.seconds_f64(), bin.t1.seconds_f64(), bin.severity_max as u8);
    out.extend_from_slice(b"{\"start\":");
    put_json(out, &start);
    out.extend_from_slice(b",\"end\":");
    put_json(out, &end);
    let ArrayBin { count, invalid_count, length, elements_per_row, .. } = bin;
    let told = format!(
        ",\"arrays\":{count},\"severity\":{severity},\"invalid\":{invalid_count},\"length\":{length},\"elements_per_row\":{elements_per_row}"
    );
    out.extend_from_slice(told.as_bytes());
    out.extend_from_slice(b",\"count\":");
    put_list(out, bin.rows.iter(), |out, row| put_json(out, &row.count));
    numbers(out, "min", |row| row.min);
    numbers(out, "max", |row| row.max);
    numbers(out, "mean", |row| row.mean);
    out.push(b'}');
}

/// A line for each row of elements. Bins without arrays have none.
pub(crate) struct ArrayBinsCsv {
    bins: ArrayBins,
    head: Option<&'static str>,
    ended: bool,
}

impl ArrayBinsCsv {
    pub(crate) fn new(bins: ArrayBins) -> ArrayBinsCsv {
        ArrayBinsCsv { bins, head: Some(CSV_HEAD), ended: false }
    }

    fn chunk(&mut self) -> Result<Bytes, query::Error> {
        if let Some(head) = self.head.take() {
            return Ok(head.into());
        }
        let mut out = Vec::new();
        while out.is_empty() && !self.ended {
            match self.bins.next().transpose()? {
                Some(bin) => put_lines(&mut out, &bin),
                None => self.ended = true,
            }
        }
        Ok(out.into())
    }
}

impl Iterator for ArrayBinsCsv {
    type Item = Result<Bytes, query::Error>;

    fn next(&mut self) -> Option<Result<Bytes, query::Error>> {
        next_chunk(self, |answer| &mut answer.ended, Self::chunk)
    }
}

fn put_lines(out: &mut Vec<u8>, bin: &ArrayBin) {
    let ArrayBin { t0, t1, count, severity_max, .. } = bin;
    let bin_cells = format!("{t0},{t1},{count},{}", *severity_max as u8);
    for ((element, elements), row) in places(bin).zip(&bin.rows) {
        write!(out, "{bin_cells},{element},{elements},{}", row.count).expect("a vector takes every byte");
        for number in [row.min, row.max, row.mean] {
            out.push(b',');
            put_cell(out, number);
        }
        out.push(b'\n');
    }
}

/// The first element of each row, and how many it has: the last may have fewer.
pub(super) fn places(bin: &ArrayBin) -> impl Iterator<Item = (usize, usize)> {
    let (length, each) = (bin.length, bin.elements_per_row);
    (0..bin.rows.len()).map(move |row| (row * each, each.min(length - row * each)))
}

/// A record batch for each bin that has arrays.
pub(crate) struct ArrayBinsArrow {
    bins: ArrayBins,
    schema: Arc<Schema>,
    writer: StreamWriter<Vec<u8>>,
    ended: bool,
}

impl ArrayBinsArrow {
    pub(crate) fn new(bins: ArrayBins, facts: HashMap<String, String>) -> Result<ArrayBinsArrow, arrow::Error> {
        let none = ArrayBin {
            t0: Timestamp::default(),
            t1: Timestamp::default(),
            count: 0,
            invalid_count: 0,
            severity_max: sample::Severity::None,
            length: 0,
            elements_per_row: 1,
            rows: Vec::new(),
        };
        let fields =
            columns(&none).into_iter().map(|(name, column)| Field::new(name, column.data_type().clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()).with_metadata(facts));
        let writer = StreamWriter::try_new(Vec::new(), &schema)?;
        Ok(ArrayBinsArrow { bins, schema, writer, ended: false })
    }

    fn chunk(&mut self) -> Result<Bytes, arrow::Error> {
        let filled = self.bins.find(|bin| bin.as_ref().map_or(true, |bin| !bin.rows.is_empty())).transpose()?;
        if let Some(bin) = filled {
            let columns = columns(&bin).into_iter().map(|(_, column)| column).collect();
            self.writer.write(&RecordBatch::try_new(Arc::clone(&self.schema), columns)?)?;
        } else {
            self.ended = true;
            self.writer.finish()?;
        }
        Ok(std::mem::take(self.writer.get_mut()).into())
    }
}

impl Iterator for ArrayBinsArrow {
    type Item = Result<Bytes, arrow::Error>;

    fn next(&mut self) -> Option<Result<Bytes, arrow::Error>> {
        next_chunk(self, |answer| &mut answer.ended, Self::chunk)
    }
}

/// A row for each element, or for some neighbouring ones.
pub(super) fn columns(bin: &ArrayBin) -> Vec<(&'static str, ArrayRef)> {
    let rows = bin.rows.len();
    let times = |time: Timestamp| arrow::times(vec![time; rows]);
    let counts = |counts: Vec<u64>| -> ArrayRef { Arc::new(UInt64Array::from(counts)) };
    let numbers = |number: fn(&Elements) -> f64| -> ArrayRef {
        let known = |row| Some(number(row)).filter(|number| !number.is_nan());
        Arc::new(bin.rows.iter().map(known).collect::<Float64Array>())
    };
    vec![
        ("start", times(bin.t0)),
        ("end", times(bin.t1)),
        ("arrays", counts(vec![bin.count; rows])),
        ("severity", Arc::new(UInt8Array::from(vec![bin.severity_max as u8; rows]))),
        ("element", counts(places(bin).map(|(element, _)| element as u64).collect())),
        ("elements", counts(places(bin).map(|(_, elements)| elements as u64).collect())),
        ("count", counts(bin.rows.iter().map(|row| row.count).collect())),
        ("min", numbers(|row| row.min)),
        ("max", numbers(|row| row.max)),
        ("mean", numbers(|row| row.mean)),
    ]
}

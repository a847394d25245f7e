//! Rows of a view in which there are arrays, too: those of numbers, and of bins of arrays one for each element or some neighbouring ones,
//! in the same columns.

use std::{collections::HashMap, io::Write, sync::Arc};

use arrow_array::{ArrayRef, Float64Array, RecordBatch, UInt8Array, UInt16Array, UInt64Array};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::Schema;
use axum::body::Bytes;
use query::{ArrayBin, Bin, Elements};
use sample::Timestamp;

use super::{
    array_bins::places,
    arrow::{self, columns_of_bins, fields_of},
    plain::put_cell,
};

/// What CSV has behind the columns of numbers: how many arrays there were in the bin, the first element of the row, and how many share it.
pub(crate) const CSV_MORE: &str = "arrays,element,elements";

/// What a row of numbers has there.
pub(crate) const CSV_NONE: &str = ",,,";

/// A line for each row of elements, which begins with the name of the PV. Bins without arrays have none.
pub(crate) fn put_lines(out: &mut Vec<u8>, name: &[u8], bin: &ArrayBin) {
    let ArrayBin { t0, t1, count, invalid_count, severity_max, .. } = bin;
    for ((element, elements), row) in places(bin).zip(&bin.rows) {
        out.extend_from_slice(name);
        write!(out, "{t0},{t1},{}", row.count).expect("a vector takes every byte");
        for number in [row.min, row.max, row.mean] {
            out.push(b',');
            put_cell(out, number);
        }
        let severity = *severity_max as u8;
        writeln!(out, ",,,,,,{severity},,{invalid_count},{count},{element},{elements}")
            .expect("a vector takes every byte");
    }
}

/// One stream: a record batch for each PV of numbers, and one for each bin of an array, with the number of the PV in the first column.
pub(crate) struct ViewArrow {
    schema: Arc<Schema>,
    writer: StreamWriter<Vec<u8>>,
}

impl ViewArrow {
    pub(crate) fn new(facts: HashMap<String, String>) -> Result<ViewArrow, arrow::Error> {
        let schema = Arc::new(Schema::new(fields_of(&columns_of_numbers(0, &[]))).with_metadata(facts));
        Ok(ViewArrow { writer: StreamWriter::try_new(Vec::new(), &schema)?, schema })
    }

    /// All bins of a PV of numbers.
    pub(crate) fn numbers(&mut self, number: u16, bins: &[Bin]) -> Result<Bytes, arrow::Error> {
        self.write(columns_of_numbers(number, bins))
    }

    /// A bin of arrays.
    pub(crate) fn arrays(&mut self, number: u16, bin: &ArrayBin) -> Result<Bytes, arrow::Error> {
        if bin.rows.is_empty() { Ok(Bytes::new()) } else { self.write(columns_of_arrays(number, bin)) }
    }

    pub(crate) fn finish(&mut self) -> Result<Bytes, arrow::Error> {
        self.writer.finish()?;
        Ok(self.take())
    }

    fn write(&mut self, columns: Vec<(&'static str, ArrayRef)>) -> Result<Bytes, arrow::Error> {
        let columns = columns.into_iter().map(|(_, column)| column).collect();
        self.writer.write(&RecordBatch::try_new(Arc::clone(&self.schema), columns)?)?;
        Ok(self.take())
    }

    fn take(&mut self) -> Bytes {
        std::mem::take(self.writer.get_mut()).into()
    }
}

fn columns_of_numbers(number: u16, bins: &[Bin]) -> Vec<(&'static str, ArrayRef)> {
    let none: ArrayRef = Arc::new(UInt64Array::new_null(bins.len()));
    let mut columns: Vec<(&'static str, ArrayRef)> =
        vec![("pv", Arc::new(UInt16Array::from(vec![number; bins.len()])))];
    columns.extend(columns_of_bins(bins));
    columns.extend(["arrays", "element", "elements"].map(|name| (name, Arc::clone(&none))));
    columns
}

/// The same columns: what is only said of numbers is unknown.
fn columns_of_arrays(number: u16, bin: &ArrayBin) -> Vec<(&'static str, ArrayRef)> {
    let rows = bin.rows.len();
    let times = |time: Timestamp| arrow::times(vec![time; rows]);
    let counts = |counts: Vec<u64>| -> ArrayRef { Arc::new(UInt64Array::from(counts)) };
    let numbers = |number: fn(&Elements) -> f64| -> ArrayRef {
        let known = |row| Some(number(row)).filter(|number| !number.is_nan());
        Arc::new(bin.rows.iter().map(known).collect::<Float64Array>())
    };
    let no_number: ArrayRef = Arc::new(Float64Array::new_null(rows));
    vec![
        ("pv", Arc::new(UInt16Array::from(vec![number; rows]))),
        ("start", times(bin.t0)),
        ("end", times(bin.t1)),
        ("count", counts(bin.rows.iter().map(|row| row.count).collect())),
        ("min", numbers(|row| row.min)),
        ("max", numbers(|row| row.max)),
        ("mean", numbers(|row| row.mean)),
        ("std", Arc::clone(&no_number)),
        ("time_weighted_mean", Arc::clone(&no_number)),
        ("covered", Arc::clone(&no_number)),
        ("first", Arc::clone(&no_number)),
        ("last", no_number),
        ("severity", Arc::new(UInt8Array::from(vec![bin.severity_max as u8; rows]))),
        ("nan", Arc::new(UInt64Array::new_null(rows))),
        ("invalid", counts(vec![bin.invalid_count; rows])),
        ("arrays", counts(vec![bin.count; rows])),
        ("element", counts(places(bin).map(|(element, _)| element as u64).collect())),
        ("elements", counts(places(bin).map(|(_, elements)| elements as u64).collect())),
    ]
}

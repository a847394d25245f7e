//! Rows of a view in which there are arrays, too: those of numbers, and of bins of arrays one for each element or some neighbouring ones,
//! in the same columns.

use std::{collections::HashMap, io::Write, sync::Arc};

use arrow_array::{ArrayRef, RecordBatch, UInt16Array, UInt64Array, new_null_array};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{Field, Schema};
use axum::body::Bytes;
use query::{ArrayBin, Bin};

use super::{
    array_bins::{columns, places},
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
        self.write(columns_of_numbers(number, bins).into_iter().map(|(_, column)| column).collect())
    }

    /// A bin of arrays.
    pub(crate) fn arrays(&mut self, number: u16, bin: &ArrayBin) -> Result<Bytes, arrow::Error> {
        if bin.rows.is_empty() { Ok(Bytes::new()) } else { self.write(columns_of_arrays(&self.schema, number, bin)) }
    }

    pub(crate) fn finish(&mut self) -> Result<Bytes, arrow::Error> {
        self.writer.finish()?;
        Ok(self.take())
    }

    fn write(&mut self, columns: Vec<ArrayRef>) -> Result<Bytes, arrow::Error> {
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
fn columns_of_arrays(schema: &Schema, number: u16, bin: &ArrayBin) -> Vec<ArrayRef> {
    let rows = bin.rows.len();
    let mut told: HashMap<&str, ArrayRef> = columns(bin).into_iter().collect();
    told.insert("pv", Arc::new(UInt16Array::from(vec![number; rows])));
    told.insert("invalid", Arc::new(UInt64Array::from(vec![bin.invalid_count; rows])));
    let unknown = |field: &Field| new_null_array(field.data_type(), rows);
    schema.fields().iter().map(|field| told.remove(field.name().as_str()).unwrap_or_else(|| unknown(field))).collect()
}

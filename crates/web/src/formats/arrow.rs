//! Samples and bins as an Arrow stream: columns that numpy, pandas and browsers read without parsing.
//!
//! An Arrow stream has one schema, so a PV whose type changes within the range is refused rather than converted.

use std::{collections::HashMap, sync::Arc};

use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array,
    Int64Array, LargeListArray, RecordBatch, StringArray, TimestampNanosecondArray, UInt8Array, UInt16Array,
    UInt32Array, UInt64Array,
};
use arrow_buffer::OffsetBuffer;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema, TimeUnit};
use axum::body::Bytes;
use query::{Bin, Samples};
use sample::{Alarm, Batch, Column, Runs, Timestamp, ValueType};
use serde_json::{Map, Value};

use super::ended::next_chunk;
use crate::refusal::{Code, Refusal};

pub(crate) const CONTENT_TYPE: &str = "application/vnd.apache.arrow.stream";

/// Why a stream breaks off.
#[derive(Debug)]
pub(crate) enum Error {
    Query(query::Error),
    Refused(Refusal),
    Arrow(ArrowError),
    TypeChange { from: ValueType, to: ValueType, time: Timestamp },
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Query(error) => write!(f, "{error}"),
            Error::Refused(refusal) => write!(f, "{refusal}"),
            Error::Arrow(error) => write!(f, "the Arrow stream cannot be written: {error}"),
            Error::TypeChange { from, to, time } => {
                write!(f, "the PV changes from {from} to {to} at {time}, an Arrow stream holds one type")
            }
        }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        match error {
            Error::Query(error) => error.into(),
            Error::Refused(refusal) => refusal,
            Error::Arrow(_) => Refusal::new(Code::Internal, error.to_string()),
            Error::TypeChange { .. } => Refusal::new(Code::Conflict, error.to_string())
                .hint("ask for the times before and after apart, or with format=json"),
        }
    }
}

impl From<query::Error> for Error {
    fn from(error: query::Error) -> Error {
        Error::Query(error)
    }
}

impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Error {
        Error::Arrow(error)
    }
}

/// The stream's bytes as they are made.
pub(crate) struct SamplesArrow {
    samples: Samples,
    schema: Arc<Schema>,
    writer: StreamWriter<Vec<u8>>,
    value_type: ValueType,
    waiting: Option<Batch>,
    left: Option<u64>,
    ended: bool,
}

impl SamplesArrow {
    /// `usual` is the type to announce where there are no samples.
    pub(crate) fn new(
        mut samples: Samples,
        usual: ValueType,
        facts: HashMap<String, String>,
        limit: Option<u64>,
    ) -> Result<SamplesArrow, Error> {
        let waiting = samples.next().transpose().map_err(Error::Query)?;
        let value_type = waiting.as_ref().map_or(usual, Batch::value_type);
        let schema = Arc::new(samples_schema(value_type).with_metadata(facts));
        let writer = StreamWriter::try_new(Vec::new(), &schema)?;
        Ok(SamplesArrow { samples, schema, writer, value_type, waiting, left: limit, ended: false })
    }

    fn chunk(&mut self) -> Result<Bytes, Error> {
        let Some(mut batch) = self.waiting.take().filter(|_| self.left != Some(0)) else {
            self.ended = true;
            self.writer.finish()?;
            return Ok(self.take());
        };
        if let Some(left) = &mut self.left {
            let kept = batch.len().min(*left as usize);
            batch = if kept < batch.len() { batch.slice(0..kept) } else { batch };
            *left -= kept as u64;
        }
        if self.left != Some(0) {
            self.look_ahead()?;
        }
        let schema = Arc::clone(&self.schema);
        self.writer.write(&RecordBatch::try_new(schema, samples_columns(batch))?)?;
        Ok(self.take())
    }

    /// Reads the next batch before the present one is sent, so that a change of type early in the range is a refusal rather
    /// than an answer that breaks off.
    fn look_ahead(&mut self) -> Result<(), Error> {
        self.waiting = self.samples.next().transpose().map_err(Error::Query)?;
        match &self.waiting {
            Some(batch) if batch.value_type() != self.value_type => {
                let time = batch.times().first().copied().unwrap_or_default();
                Err(Error::TypeChange { from: self.value_type, to: batch.value_type(), time })
            }
            _ => Ok(()),
        }
    }

    fn take(&mut self) -> Bytes {
        std::mem::take(self.writer.get_mut()).into()
    }
}

impl Iterator for SamplesArrow {
    type Item = Result<Bytes, Error>;

    fn next(&mut self) -> Option<Result<Bytes, Error>> {
        next_chunk(self, |answer| &mut answer.ended, Self::chunk)
    }
}

/// All bins as one record batch.
pub(crate) fn bins(bins: &[Bin], facts: HashMap<String, String>) -> Result<Bytes, Error> {
    let columns = columns_of_bins(bins);
    let schema = Arc::new(Schema::new(fields_of(&columns)).with_metadata(facts));
    let columns = columns.into_iter().map(|(_, column)| column).collect();
    let mut writer = StreamWriter::try_new(Vec::new(), &schema)?;
    writer.write(&RecordBatch::try_new(schema, columns)?)?;
    Ok(writer.into_inner()?.into())
}

/// The bins of several PVs as one stream, a record batch for each, with the number of the PV in its first column.
pub(crate) fn view(pvs: &[&[Bin]], facts: HashMap<String, String>) -> Result<Bytes, Error> {
    let columns_of = |number: usize, bins: &[Bin]| {
        let number: ArrayRef = Arc::new(UInt16Array::from(vec![u16::try_from(number).unwrap_or(u16::MAX); bins.len()]));
        let mut columns = vec![("pv", number)];
        columns.extend(columns_of_bins(bins));
        columns
    };
    let schema = Arc::new(Schema::new(fields_of(&columns_of(0, &[]))).with_metadata(facts));
    let mut writer = StreamWriter::try_new(Vec::new(), &schema)?;
    for (number, bins) in pvs.iter().enumerate() {
        let columns = columns_of(number, bins).into_iter().map(|(_, column)| column).collect();
        writer.write(&RecordBatch::try_new(Arc::clone(&schema), columns)?)?;
    }
    Ok(writer.into_inner()?.into())
}

pub(super) fn fields_of(columns: &[(&'static str, ArrayRef)]) -> Vec<Field> {
    columns.iter().map(|(name, column)| Field::new(*name, column.data_type().clone(), true)).collect()
}

pub(super) fn columns_of_bins(bins: &[Bin]) -> Vec<(&'static str, ArrayRef)> {
    let times = |time: fn(&Bin) -> Timestamp| times(bins.iter().map(time).collect());
    let counts = |count: fn(&Bin) -> u64| -> ArrayRef {
        Arc::new(bins.iter().map(|bin| Some(count(bin))).collect::<UInt64Array>())
    };
    let numbers = |number: fn(&Bin) -> f64| -> ArrayRef {
        Arc::new(bins.iter().map(|bin| Some(number(bin)).filter(|_| bin.count > 0)).collect::<Float64Array>())
    };
    let weighted = bins.iter().map(|bin| Some(bin.time_weighted_mean).filter(|_| bin.covered > 0));
    let covered = bins.iter().map(|bin| Some(seconds_covered(bin)));
    let severity: ArrayRef = Arc::new(bins.iter().map(|bin| Some(bin.severity_max as u8)).collect::<UInt8Array>());
    vec![
        ("start", times(|bin| bin.t0)),
        ("end", times(|bin| bin.t1)),
        ("count", counts(|bin| bin.count)),
        ("min", numbers(|bin| bin.min)),
        ("max", numbers(|bin| bin.max)),
        ("mean", numbers(|bin| bin.mean)),
        ("std", numbers(|bin| bin.std)),
        ("time_weighted_mean", Arc::new(weighted.collect::<Float64Array>())),
        ("covered", Arc::new(covered.collect::<Float64Array>())),
        ("first", numbers(|bin| bin.first)),
        ("last", numbers(|bin| bin.last)),
        ("severity", severity),
        ("nan", counts(|bin| bin.nan_count)),
        ("invalid", counts(|bin| bin.invalid_count)),
    ]
}

pub(super) fn samples_schema(value_type: ValueType) -> Schema {
    let empty = values(Column::new(value_type));
    Schema::new(vec![
        Field::new("time", DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())), false),
        Field::new("value", empty.data_type().clone(), false),
        Field::new("severity", DataType::UInt8, false),
        Field::new("status", DataType::UInt16, false),
        Field::new("message", DataType::Utf8, true),
        Field::new("pulse", DataType::UInt64, false),
    ])
}

pub(super) fn samples_columns(batch: Batch) -> Vec<ArrayRef> {
    let (stamps, column, runs, pulse_ids) = batch.into_columns();
    let mut columns = vec![times(stamps), values(column)];
    columns.extend(alarms(&runs));
    columns.push(messages(&runs));
    columns.push(pulses(&pulse_ids));
    columns
}

/// Severities and statuses.
pub(super) fn alarms(alarms: &Runs<Alarm>) -> [ArrayRef; 2] {
    let severities = spread(alarms, |alarm| alarm.severity as u8);
    let statuses = spread(alarms, |alarm| alarm.status);
    [Arc::new(UInt8Array::from(severities)), Arc::new(UInt16Array::from(statuses))]
}

pub(super) fn messages(alarms: &Runs<Alarm>) -> ArrayRef {
    Arc::new(alarms.rows().map(|alarm| alarm.message.as_deref()).collect::<StringArray>())
}

pub(super) fn pulses(pulses: &Runs<u64>) -> ArrayRef {
    Arc::new(UInt64Array::from(spread(pulses, |pulse| *pulse)))
}

/// A number for each row of a column of runs.
fn spread<T: PartialEq + Clone, N: Clone>(runs: &Runs<T>, number: impl Fn(&T) -> N) -> Vec<N> {
    let mut numbers = Vec::with_capacity(runs.len());
    for (rows, value) in runs.iter() {
        numbers.resize(rows.end, number(value));
    }
    numbers
}

/// Takes the times, so that they are not copied.
pub(super) fn times(times: Vec<Timestamp>) -> ArrayRef {
    // Such a collection is made where the times are.
    let nanos: Vec<i64> = times.into_iter().map(Timestamp::nanos).collect();
    Arc::new(TimestampNanosecondArray::from(nanos).with_timezone("UTC"))
}

/// Takes the column, so that numbers are not copied.
pub(super) fn values(column: Column) -> ArrayRef {
    match column {
        Column::Bool(v) => Arc::new(BooleanArray::from(v)),
        Column::I8(v) => Arc::new(Int8Array::from(v)),
        Column::U8(v) => Arc::new(UInt8Array::from(v)),
        Column::I16(v) => Arc::new(Int16Array::from(v)),
        Column::U16(v) => Arc::new(UInt16Array::from(v)),
        Column::I32(v) | Column::Enum(v) => Arc::new(Int32Array::from(v)),
        Column::U32(v) => Arc::new(UInt32Array::from(v)),
        Column::I64(v) => Arc::new(Int64Array::from(v)),
        Column::U64(v) => Arc::new(UInt64Array::from(v)),
        Column::F32(v) => Arc::new(Float32Array::from(v)),
        Column::F64(v) => Arc::new(Float64Array::from(v)),
        Column::String(v) => Arc::new(StringArray::from_iter_values(v.iter())),
        Column::Structure(v) => Arc::new(BinaryArray::from_iter_values(v.iter())),
        Column::Array(arrays) => {
            let offsets = OffsetBuffer::from_lengths((0..arrays.len()).map(|row| arrays.range(row).len()));
            let elements = values(arrays.into_elements());
            let field = Arc::new(Field::new("item", elements.data_type().clone(), false));
            Arc::new(LargeListArray::new(field, offsets, elements, None))
        }
    }
}

/// For how many seconds of the bin a number was in force.
pub(crate) fn seconds_covered(bin: &Bin) -> f64 {
    bin.covered as f64 / 1e9
}

/// A value of JSON in metadata: a text as it is, all else as JSON.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What JSON says beside its rows, as metadata: texts as they are, all else as JSON, and nothing of what is null.
pub(super) fn texts(facts: &Map<String, Value>) -> HashMap<String, String> {
    facts.iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| (name.clone(), text(value))).collect()
}

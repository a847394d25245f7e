//! Samples as the Archiver Appliance's protobuf lines. A new chunk begins where the year or the type changes, because
//! samples count their seconds from the year in the header before them.

use axum::body::Bytes;
use plainpb::Payload;
use prost::Message;
use sample::{Batch, Column, Element, Shape, Timestamp, ValueType};

use super::bars::{Bars, connection_change};
use super::pb_messages::{
    Bytes as BytesMessage, FieldValue, PayloadInfo, ScalarDouble, ScalarFloat, ScalarInt, ScalarShort, ScalarString,
    VectorDouble, VectorFloat, VectorInt, VectorShort, VectorString, put_line,
};
use super::structure;
use crate::appliance::{reconnects::Reconnects, spans::InSpans};

/// What the headers say besides type and year.
pub(crate) struct Heading {
    pub(crate) pv_name: String,
    pub(crate) element_count: Option<u64>,
    pub(crate) headers: Vec<FieldValue>,
    /// The type and time to announce where there are no samples.
    pub(crate) usual: (ValueType, Timestamp),
}

pub(crate) struct SamplesPb {
    heading: Heading,
    samples: InSpans,
    reconnects: Reconnects,
    has_bars: bool,
    chunk: Option<Chunk>,
    scratch: Vec<u8>,
    ended: bool,
}

/// The chunk that is being written.
struct Chunk {
    payload_type: Payload,
    year_start: Timestamp,
    year_end: Timestamp,
}

impl SamplesPb {
    pub(crate) fn new(heading: Heading, samples: InSpans, reconnects: Reconnects, has_bars: bool) -> SamplesPb {
        SamplesPb { heading, samples, reconnects, has_bars, chunk: None, scratch: Vec::new(), ended: false }
    }

    /// The ten samples that the Appliance makes up for clients that only want to know whether it is there.
    pub(crate) fn ping(name: &str, now: Timestamp) -> std::iter::Once<Result<Bytes, query::Error>> {
        let (year, _) = now.year();
        let (pvname, r#type) = (name.to_owned(), Payload::ScalarDouble as i32);
        let info = PayloadInfo { r#type, pvname, year: i32::from(year), element_count: None, headers: Vec::new() };
        let mut out = Vec::new();
        put_line(&mut out, &info.encode_to_vec());
        for tenths in 0..10 {
            let (second, nano, val) = (0, 0, 0.1 * f64::from(tenths));
            let sample = ScalarDouble { second, nano, val, severity: None, status: Some(0), fields: Vec::new() };
            put_line(&mut out, &sample.encode_to_vec());
        }
        std::iter::once(Ok(out.into()))
    }

    fn put_batch(&mut self, out: &mut Vec<u8>, batch: Batch) {
        let (batch, bars) = Bars::split(batch, self.has_bars);
        let payload_type = payload_type(batch.value_type());
        for (row, alarm) in batch.alarms().rows().enumerate() {
            let time = batch.times()[row];
            let year_start = self.chunk_for(out, payload_type, time);
            let fields =
                self.reconnects.fields(time).into_iter().chain(connection_change(alarm)).chain(bars.field(row));
            let frame = Frame {
                second: time.seconds_and_nanos().0.saturating_sub(year_start.seconds_and_nanos().0) as u32,
                nano: time.seconds_and_nanos().1,
                severity: Some(alarm.severity as i32).filter(|severity| *severity != 0),
                status: Some(i32::from(alarm.status)),
                fields: fields.map(|(name, val)| FieldValue { name, val }).collect(),
            };
            self.scratch.clear();
            frame.encode(batch.values(), row, &mut self.scratch);
            put_line(out, &self.scratch);
        }
    }

    /// Begins a new chunk unless the sample belongs to the present one. Gives the beginning of its year.
    fn chunk_for(&mut self, out: &mut Vec<u8>, payload_type: Payload, time: Timestamp) -> Timestamp {
        if let Some(chunk) = &self.chunk {
            if chunk.payload_type == payload_type && chunk.year_start <= time && time < chunk.year_end {
                return chunk.year_start;
            }
            out.push(b'\n');
        }
        let (year, year_start) = time.year();
        let info = PayloadInfo {
            r#type: payload_type as i32,
            pvname: self.heading.pv_name.clone(),
            year: i32::from(year),
            element_count: self.heading.element_count.map(|count| i32::try_from(count).unwrap_or(i32::MAX)),
            headers: self.heading.headers.clone(),
        };
        put_line(out, &info.encode_to_vec());
        self.chunk = Some(Chunk { payload_type, year_start, year_end: year_after(year_start) });
        year_start
    }
}

/// When the year after the one that begins at `start` begins: 366 days later it is there at most a day old.
fn year_after(start: Timestamp) -> Timestamp {
    let days_366 = std::time::Duration::from_secs(366 * 86_400);
    let later = start.saturating_add(days_366);
    if later == Timestamp::MAX { later } else { later.year().1 }
}

impl Iterator for SamplesPb {
    type Item = Result<Bytes, query::Error>;

    fn next(&mut self) -> Option<Result<Bytes, query::Error>> {
        if self.ended {
            return None;
        }
        let mut out = Vec::new();
        match self.samples.next() {
            Some(Ok(batch)) => self.put_batch(&mut out, batch),
            Some(Err(error)) => {
                self.ended = true;
                return Some(Err(error));
            }
            None => {
                self.ended = true;
                if self.chunk.is_some() {
                    return None;
                }
                let (value_type, time) = self.heading.usual;
                self.chunk_for(&mut out, payload_type(value_type), time);
            }
        }
        Some(Ok(out.into()))
    }
}

/// The Appliance knows 8, 16 and 32 bits, floats, enums and texts; all else travels as a serialised pvAccess structure.
fn payload_type(value_type: ValueType) -> Payload {
    use Payload::*;
    let (scalar, waveform) = match value_type.element {
        Element::I8 | Element::U8 => (ScalarByte, WaveformByte),
        Element::I16 | Element::U16 => (ScalarShort, WaveformShort),
        Element::I32 | Element::U32 => (ScalarInt, WaveformInt),
        Element::F32 => (ScalarFloat, WaveformFloat),
        Element::F64 => (ScalarDouble, WaveformDouble),
        Element::Enum => (ScalarEnum, WaveformEnum),
        Element::String => (ScalarString, WaveformString),
        Element::Bool | Element::I64 | Element::U64 | Element::Structure => (V4GenericBytes, V4GenericBytes),
    };
    if value_type.shape == Shape::Array { waveform } else { scalar }
}

/// All of a sample but its value.
struct Frame {
    second: u32,
    nano: u32,
    severity: Option<i32>,
    status: Option<i32>,
    fields: Vec<FieldValue>,
}

/// Fills a message of the given kind from a frame and a value, and encodes it.
macro_rules! encode {
    ($message:ident, $frame:expr, $val:expr, $out:expr) => {{
        let Frame { second, nano, severity, status, fields } = $frame;
        let message = $message { second, nano, val: $val, severity, status, fields };
        message.encode($out).expect("a vector takes every byte")
    }};
}

impl Frame {
    fn encode(self, column: &Column, row: usize, out: &mut Vec<u8>) {
        match column {
            Column::I8(v) => encode!(BytesMessage, self, vec![v[row] as u8], out),
            Column::U8(v) => encode!(BytesMessage, self, vec![v[row]], out),
            Column::I16(v) => encode!(ScalarShort, self, i32::from(v[row]), out),
            Column::U16(v) => encode!(ScalarShort, self, i32::from(v[row]), out),
            Column::Enum(v) => encode!(ScalarShort, self, v[row], out),
            Column::I32(v) => encode!(ScalarInt, self, v[row], out),
            Column::U32(v) => encode!(ScalarInt, self, v[row] as i32, out),
            Column::F32(v) => encode!(ScalarFloat, self, v[row], out),
            Column::F64(v) => encode!(ScalarDouble, self, v[row], out),
            Column::String(v) => encode!(ScalarString, self, v.get(row).to_owned(), out),
            Column::Structure(v) => encode!(BytesMessage, self, structure::serialised(v.get(row)), out),
            Column::Bool(_) | Column::I64(_) | Column::U64(_) => {
                encode!(BytesMessage, self, around(column, row..row + 1, Shape::Scalar), out);
            }
            Column::Array(arrays) => self.encode_array(arrays.elements(), arrays.range(row), out),
        }
    }

    fn encode_array(self, elements: &Column, range: std::ops::Range<usize>, out: &mut Vec<u8>) {
        match elements {
            Column::I8(v) => encode!(BytesMessage, self, v[range].iter().map(|v| *v as u8).collect(), out),
            Column::U8(v) => encode!(BytesMessage, self, v[range].to_vec(), out),
            Column::I16(v) => encode!(VectorShort, self, v[range].iter().map(|v| i32::from(*v)).collect(), out),
            Column::U16(v) => encode!(VectorShort, self, v[range].iter().map(|v| i32::from(*v)).collect(), out),
            Column::Enum(v) => encode!(VectorShort, self, v[range].to_vec(), out),
            Column::I32(v) => encode!(VectorInt, self, v[range].to_vec(), out),
            Column::U32(v) => encode!(VectorInt, self, v[range].iter().map(|v| *v as i32).collect(), out),
            Column::F32(v) => encode!(VectorFloat, self, v[range].to_vec(), out),
            Column::F64(v) => encode!(VectorDouble, self, v[range].to_vec(), out),
            Column::String(v) => encode!(VectorString, self, range.map(|i| v.get(i).to_owned()).collect(), out),
            other => encode!(BytesMessage, self, around(other, range, Shape::Array), out),
        }
    }
}

fn around(column: &Column, range: std::ops::Range<usize>, shape: Shape) -> Vec<u8> {
    let mut elements = Column::new(column.value_type());
    let fits = elements.extend_from(column, range);
    assert!(fits, "a column takes values of its own type");
    structure::around(elements, shape)
}

//! Samples as the Archiver Appliance's protobuf lines. A new chunk begins where the year or the type changes, because
//! samples count their seconds from the year in the header before them.

use aa::Payload;
use axum::body::Bytes;
use prost::Message;
use sample::{Column, Element, Shape, Timestamp, ValueType};

use super::{
    bars::{Bars, connection_change},
    pb_arrays::put_array,
    pb_frame::Frame,
    pb_messages::{FieldValue, PayloadInfo, ScalarDouble, put_line},
    pb_numbers::{State, put_numbers},
    sizes::LineBytes,
};
use crate::{
    delivery::{
        chunk::{Chunk, Rows},
        pieces::{Piece, Pieces},
    },
    formats::{
        reconnects::Reconnects,
        span_samples::{DAMAGED, InSpans},
    },
};

/// What the headers say besides type and year.
pub(crate) struct Heading {
    pub(crate) pv_name: String,
    /// How many elements the PV's arrays may have, if it has arrays.
    pub(crate) element_count: Option<u64>,
    pub(crate) headers: Vec<FieldValue>,
}

pub(crate) struct SamplesPb {
    heading: Heading,
    samples: Pieces<InSpans>,
    reconnects: Reconnects,
    has_bars: bool,
    line_bytes: LineBytes,
    chunk: Option<Begun>,
    scratch: Vec<u8>,
    /// A damaged block, of which the next sample is to tell.
    damage: Option<query::Error>,
    ended: bool,
}

/// The chunk that is being written.
struct Begun {
    payload_type: Payload,
    year_start: Timestamp,
    year_second: i64,
    year_end: Timestamp,
}

impl SamplesPb {
    pub(crate) fn new(heading: Heading, samples: InSpans, reconnects: Reconnects, has_bars: bool) -> SamplesPb {
        SamplesPb {
            heading,
            samples: Pieces::of(samples),
            reconnects,
            has_bars,
            line_bytes: LineBytes::default(),
            chunk: None,
            scratch: Vec::new(),
            damage: None,
            ended: false,
        }
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
            let (severity, status, fields) = (None, None, Vec::new());
            let sample = ScalarDouble { second, nano, val, severity, status, fields, actual_change: None };
            put_line(&mut out, &sample.encode_to_vec());
        }
        std::iter::once(Ok(out.into()))
    }

    /// The lines of a piece.
    fn lines(&mut self, piece: Piece) -> Bytes {
        let (mut out, rows) = (Vec::new(), piece.len());
        self.line_bytes.make_room(&mut out, rows);
        if self.has_bars {
            let (batch, bars) = Bars::split(piece.into_batch(), true);
            self.put_each(&mut out, &batch.into(), &bars);
        } else {
            self.put_each(&mut out, &piece, &Bars::default());
        }
        self.line_bytes.note(rows, out.len());
        out.into()
    }

    /// Lines some of which carry something. Numbers that do not are written together.
    fn put_each(&mut self, out: &mut Vec<u8>, piece: &Piece, bars: &Bars) {
        let (batch, payload_type) = (piece.batch(), payload_type(piece.batch().value_type()));
        for (rows, alarm) in piece.alarms() {
            let has_more = connection_change(alarm).is_some() || !bars.is_empty();
            let state = State::of(alarm);
            let (mut next, end) = (rows.start, rows.end);
            while next < end {
                let (row, time) = (next, batch.times()[next]);
                let year = self.chunk_for(out, payload_type, time, elements(batch.values(), row));
                let plain = if has_more { 0 } else { self.plain_rows(&batch.times()[next..end]) };
                if plain > 0 && put_numbers(out, batch, next..next + plain, year, state) {
                    next += plain;
                    continue;
                }
                next += 1;
                let carried = self.reconnects.fields(time, &mut self.damage);
                let is_plain = carried.fields.is_empty() && !has_more && self.damage.is_none();
                if is_plain && put_numbers(out, batch, row..row + 1, year, state) {
                    continue;
                }
                let damaged = self.damage.take().map(|_| DAMAGED.map(str::to_owned).into());
                let fields =
                    carried.fields.into_iter().chain(connection_change(alarm)).chain(bars.field(row)).chain(damaged);
                let frame = Frame {
                    fields: fields.map(|(name, val)| FieldValue { name, val }).collect(),
                    actual_change: carried.is_change,
                    ..Frame::of(time, year, alarm)
                };
                put_frame(out, frame, batch.values(), row, &mut self.scratch);
            }
        }
    }

    /// How many of these samples, the first of which is of the present chunk, are of it too and carry nothing.
    fn plain_rows(&mut self, times: &[Timestamp]) -> usize {
        let Some(chunk) = self.chunk.as_ref().filter(|_| self.damage.is_none()) else { return 0 };
        let until = self.reconnects.silent_until().min(chunk.year_end);
        times.partition_point(|time| *time < until)
    }

    /// The second at which the year of a piece begins, if all of it is of the present chunk and carries nothing.
    fn plain_year(&mut self, piece: &Piece) -> Option<i64> {
        let payload_type = payload_type(piece.batch().value_type());
        let (first, chunk) = (*piece.times().first()?, self.chunk.as_ref()?);
        let goes_on = chunk.payload_type == payload_type && chunk.year_start <= first && !self.has_bars;
        let year = chunk.year_second;
        let is_plain = goes_on
            && self.plain_rows(piece.times()) == piece.len()
            && piece.alarms().all(|(_, alarm)| connection_change(alarm).is_none());
        is_plain.then_some(year)
    }

    /// Begins a new chunk unless the sample, which has so many elements if it is an array, belongs to the present one. Gives the
    /// second at which its year begins.
    fn chunk_for(&mut self, out: &mut Vec<u8>, payload_type: Payload, time: Timestamp, elements: Option<usize>) -> i64 {
        if let Some(chunk) = &self.chunk {
            if chunk.payload_type == payload_type && chunk.year_start <= time && time < chunk.year_end {
                return chunk.year_second;
            }
            out.push(b'\n');
        }
        let (year, year_start) = time.year();
        let count = elements.map_or(1, |elements| self.heading.element_count.unwrap_or(elements as u64));
        let info = PayloadInfo {
            r#type: payload_type as i32,
            pvname: self.heading.pv_name.clone(),
            year: i32::from(year),
            element_count: Some(i32::try_from(count).unwrap_or(i32::MAX)),
            headers: self.heading.headers.clone(),
        };
        put_line(out, &info.encode_to_vec());
        let (year_second, year_end) = (year_start.seconds_and_nanos().0, year_after(year_start));
        self.chunk = Some(Begun { payload_type, year_start, year_second, year_end });
        year_second
    }
}

/// Lines that carry nothing, of a year that begins at that second.
fn put_plain(out: &mut Vec<u8>, piece: &Piece, year: i64) {
    let (batch, mut scratch) = (piece.batch(), Vec::new());
    for (rows, alarm) in piece.alarms() {
        if put_numbers(out, batch, rows.clone(), year, State::of(alarm)) {
            continue;
        }
        for row in rows {
            put_frame(out, Frame::of(batch.times()[row], year, alarm), batch.values(), row, &mut scratch);
        }
    }
}

/// The line of a sample. What was in `scratch` is gone.
fn put_frame(out: &mut Vec<u8>, frame: Frame, values: &Column, row: usize, scratch: &mut Vec<u8>) {
    let frame = match values {
        Column::Array(arrays) => put_array(out, frame, arrays.elements(), arrays.range(row)),
        _ => Err(frame),
    };
    let Err(frame) = frame else { return };
    scratch.clear();
    frame.encode(values, row, scratch);
    put_line(out, scratch);
}

/// How many elements an array has.
fn elements(values: &Column, row: usize) -> Option<usize> {
    let Column::Array(arrays) = values else { return None };
    Some(arrays.range(row).len())
}

/// When the year after the one that begins at `start` begins: 366 days later it is there at most a day old.
fn year_after(start: Timestamp) -> Timestamp {
    let days_366 = std::time::Duration::from_secs(366 * 86_400);
    let later = start.saturating_add(days_366);
    if later == Timestamp::MAX { later } else { later.year().1 }
}

impl Iterator for SamplesPb {
    type Item = Result<Chunk, query::Error>;

    fn next(&mut self) -> Option<Result<Chunk, query::Error>> {
        if self.ended {
            return None;
        }
        match self.samples.next() {
            Some(Ok(piece)) => {
                return Some(Ok(match self.plain_year(&piece) {
                    Some(year) => Rows::lines(piece, move |out, piece| put_plain(out, piece, year)).into(),
                    None => {
                        let piece = self.samples.cut(piece);
                        self.lines(piece).into()
                    }
                }));
            }
            Some(Err(error)) if error.is_damage() => self.damage = Some(error),
            Some(Err(error)) => {
                self.ended = true;
                return Some(Err(error));
            }
            None => {
                self.ended = true;
                if let Some(error) = self.damage.take() {
                    return Some(Err(error));
                }
                // Without samples nothing is sent, not even a header: there are clients that do not survive one alone.
                return None;
            }
        }
        Some(Ok(Bytes::new().into()))
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

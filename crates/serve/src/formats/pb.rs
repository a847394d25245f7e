//! Samples as the Archiver Appliance's protobuf lines. A new chunk begins where the year or the type changes, because
//! samples count their seconds from the year in the header before them.

use axum::body::Bytes;
use plainpb::Payload;
use prost::Message;
use sample::{Alarm, Batch, Column, Element, Shape, Timestamp, ValueType};

use super::bars::{Bars, connection_change};
use super::pb_messages::{
    Bytes as BytesMessage, FieldValue, PayloadInfo, ScalarDouble, ScalarFloat, ScalarInt, ScalarShort, ScalarString,
    VectorDouble, VectorFloat, VectorInt, VectorShort, VectorString, put_line,
};
use super::structure;
use crate::{
    answer::Chunks,
    appliance::{reconnects::Reconnects, source::DAMAGED, spans::InSpans},
};

/// Room for a sample: most have no more.
const LINE_BYTES: usize = 32;

/// Bytes that would be taken for an escape, or for the end of a line.
const ESCAPED: [u8; 3] = [0x1b, b'\n', b'\r'];

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
    /// A damaged block, of which the next sample is to tell.
    damage: Option<query::Error>,
    ended: bool,
}

/// The chunk that is being written.
struct Chunk {
    payload_type: Payload,
    year_start: Timestamp,
    year_second: i64,
    year_end: Timestamp,
}

impl SamplesPb {
    pub(crate) fn new(heading: Heading, samples: InSpans, reconnects: Reconnects, has_bars: bool) -> SamplesPb {
        SamplesPb {
            heading,
            samples,
            reconnects,
            has_bars,
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
            let sample = ScalarDouble { second, nano, val, severity: None, status: Some(0), fields: Vec::new() };
            put_line(&mut out, &sample.encode_to_vec());
        }
        std::iter::once(Ok(out.into()))
    }

    fn put_batch(&mut self, out: &mut Vec<u8>, batch: Batch) {
        let (batch, bars) = Bars::split(batch, self.has_bars);
        let payload_type = payload_type(batch.value_type());
        out.reserve(LINE_BYTES * batch.len());
        let mut begun = InSecond::default();
        for (rows, alarm) in batch.alarms().iter() {
            let has_more = connection_change(alarm).is_some() || !bars.is_empty();
            let state = Word::of_alarm(alarm);
            for row in rows {
                let time = batch.times()[row];
                let year = self.chunk_for(out, payload_type, time);
                let is_silent = self.reconnects.is_empty();
                let carried = if is_silent { Vec::new() } else { self.reconnects.fields(time, &mut self.damage) };
                let is_plain = carried.is_empty() && !has_more && self.damage.is_none();
                let (second, nano) = begun.of(time, year);
                if is_plain && put_number(out, second, nano, batch.values(), row, state) {
                    continue;
                }
                let second = time.seconds_and_nanos().0.saturating_sub(year) as u32;
                let damaged = self.damage.take().map(|_| DAMAGED.map(str::to_owned).into());
                let fields = carried.into_iter().chain(connection_change(alarm)).chain(bars.field(row)).chain(damaged);
                let frame = Frame {
                    second,
                    nano,
                    severity: Some(alarm.severity as i32).filter(|severity| *severity != 0),
                    status: Some(i32::from(alarm.status)),
                    fields: fields.map(|(name, val)| FieldValue { name, val }).collect(),
                };
                self.scratch.clear();
                frame.encode(batch.values(), row, &mut self.scratch);
                put_line(out, &self.scratch);
            }
        }
    }

    /// Begins a new chunk unless the sample belongs to the present one. Gives the second at which its year begins.
    fn chunk_for(&mut self, out: &mut Vec<u8>, payload_type: Payload, time: Timestamp) -> i64 {
        if let Some(chunk) = &self.chunk {
            if chunk.payload_type == payload_type && chunk.year_start <= time && time < chunk.year_end {
                return chunk.year_second;
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
        let (year_second, year_end) = (year_start.seconds_and_nanos().0, year_after(year_start));
        self.chunk = Some(Chunk { payload_type, year_start, year_second, year_end });
        year_second
    }
}

/// When the year after the one that begins at `start` begins: 366 days later it is there at most a day old.
fn year_after(start: Timestamp) -> Timestamp {
    let days_366 = std::time::Duration::from_secs(366 * 86_400);
    let later = start.saturating_add(days_366);
    if later == Timestamp::MAX { later } else { later.year().1 }
}

impl Chunks<query::Error> for SamplesPb {
    fn is_at_hand(&self) -> bool {
        self.samples.is_at_hand()
    }
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

/// Writes a sample that is one number and nothing else, word by word as `Frame` does byte by byte, which takes ten times as long; false
/// if it is another. Nothing else is asked for in such numbers.
fn put_number(out: &mut Vec<u8>, second: Word, nano: u32, values: &Column, row: usize, state: Word) -> bool {
    let nano = Word::number(2, nano);
    let (time, value) = match values {
        Column::F64(v) => (nano.and(0x19), Word::of(v[row].to_bits(), 8)),
        Column::F32(v) => (nano.and(0x1d), Word::of(v[row].to_bits().into(), 4)),
        Column::I32(v) => (nano.and(0x1d), Word::of(v[row].cast_unsigned().into(), 4)),
        Column::U32(v) => (nano.and(0x1d), Word::of(v[row].into(), 4)),
        Column::I16(v) => (nano, Word::number(3, zigzag(v[row].into()))),
        Column::U16(v) => (nano, Word::number(3, zigzag(v[row].into()))),
        Column::Enum(v) => (nano, Word::number(3, zigzag(v[row]))),
        _ => return false,
    };
    let words = [second, time, value, state];
    if words.iter().any(|word| word.is_escaped) {
        let mut message = Vec::with_capacity(LINE_BYTES + 8);
        words.iter().for_each(|word| word.put(&mut message));
        put_line(out, &message);
    } else {
        words.iter().for_each(|word| word.put(out));
        out.push(b'\n');
    }
    true
}

/// How protobuf writes signed numbers as unsigned ones.
fn zigzag(number: i32) -> u32 {
    ((number << 1) ^ (number >> 31)).cast_unsigned()
}

/// Eight bytes of a line at most, the first of them the lowest. To put them together in memory and look at them there took twice as
/// long: the processor waits until what it has just written can be read in larger pieces.
#[derive(Clone, Copy, Default)]
struct Word {
    bytes: u64,
    len: usize,
    /// Whether there is a byte that lines may not have.
    is_escaped: bool,
}

impl Word {
    /// Bytes beyond `len` are zeros.
    fn of(bytes: u64, len: usize) -> Word {
        const ONES: u64 = u64::MAX / 255;
        // The highest bit of each byte that is zero, and perhaps of bytes above such a one.
        let zeros = |bytes: u64| bytes.wrapping_sub(ONES) & !bytes & (ONES << 7);
        let found = ESCAPED.map(|byte| zeros(bytes ^ (ONES * u64::from(byte))));
        Word { bytes, len, is_escaped: found[0] | found[1] | found[2] != 0 }
    }

    /// A field of a message: digits of seven bits, each but the last with a mark.
    fn number(field: u8, number: u32) -> Word {
        let number = u64::from(number);
        let digit = |at: u32| (number >> (7 * at) & 0x7f) << (8 * at);
        let len = (70 - (number | 1).leading_zeros() as usize) / 7;
        let marks = 0x80_8080_8080 & ((1 << (8 * (len - 1))) - 1);
        let digits = digit(0) | digit(1) | digit(2) | digit(3) | digit(4) | marks;
        Word::of(digits << 8 | u64::from(field << 3), len + 1)
    }

    /// With one byte more, which lines may have.
    fn and(self, byte: u8) -> Word {
        Word { bytes: self.bytes | u64::from(byte) << (8 * self.len), len: self.len + 1, ..self }
    }

    /// Severity and status.
    fn of_alarm(alarm: &Alarm) -> Word {
        let status = Word::number(5, alarm.status.into());
        if alarm.severity as u32 == 0 {
            return status;
        }
        let severity = Word::number(4, alarm.severity as u32);
        Word::of(severity.bytes | status.bytes << (8 * severity.len), severity.len + status.len)
    }

    fn put(self, out: &mut Vec<u8>) {
        let end = out.len() + self.len;
        out.extend_from_slice(&self.bytes.to_le_bytes());
        out.truncate(end);
    }
}

/// What the lines of one second begin with: made once for each second.
#[derive(Default)]
struct InSecond {
    begins: i64,
    word: Word,
}

impl InSecond {
    /// The second of a sample in the year that begins at the second `year`, and the nanoseconds beyond it.
    fn of(&mut self, time: Timestamp, year: i64) -> (Word, u32) {
        let mut nano = time.nanos().wrapping_sub(self.begins);
        if self.word.len == 0 || !(0..1_000_000_000).contains(&nano) {
            let (seconds, beyond) = time.seconds_and_nanos();
            (self.begins, nano) = (time.nanos().wrapping_sub(beyond.into()), beyond.into());
            self.word = Word::number(1, seconds.saturating_sub(year) as u32);
        }
        (self.word, nano as u32)
    }
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

#[cfg(test)]
mod tests {
    use sample::Severity;

    use super::*;

    /// Numbers of all sizes, with all bytes that have to be escaped.
    #[test]
    fn numbers_written_byte_by_byte_are_the_messages_that_they_stand_for() {
        let mut state = 1u64;
        for round in 0..20_000u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let bits = state >> (state >> 58);
            let column = match round % 7 {
                0 => Column::F64(vec![f64::from_bits(bits)]),
                1 => Column::F32(vec![f32::from_bits(bits as u32)]),
                2 => Column::I32(vec![bits as i32]),
                3 => Column::U32(vec![bits as u32]),
                4 => Column::I16(vec![bits as i16]),
                5 => Column::U16(vec![bits as u16]),
                _ => Column::Enum(vec![bits as i32]),
            };
            let severity = Severity::from_number((bits % 4) as i64);
            let alarm = Alarm { severity, status: (bits >> 7) as u16, message: None };
            let (second, nano) = ((bits >> 3) as u32, (bits >> 11) as u32);
            let (mut line, mut message, mut expected) = (Vec::new(), Vec::new(), Vec::new());
            assert!(put_number(&mut line, Word::number(1, second), nano, &column, 0, Word::of_alarm(&alarm)));
            let status = Some(i32::from(alarm.status));
            let severity = Some(severity as i32).filter(|severity| *severity != 0);
            Frame { second, nano, severity, status, fields: Vec::new() }.encode(&column, 0, &mut message);
            put_line(&mut expected, &message);
            assert_eq!(line, expected, "{column:?} {second} {nano} {alarm:?}");
        }
    }
}

//! Rows: lines of samples become batches, as many rows as wanted at a time.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use archive::VALUE_BYTES_MAX;
use pvdata::wire::{Order, Reader, Writer};
use sample::{Alarm, Batch, Blobs, Column, Runs, Severity, Shape, Strings, Timestamp};

use crate::{
    fields::FieldValue,
    header::{Header, field_value},
    line::{Wire, array, unescape, varint, walk, zigzag},
    payload::Payload,
};

/// No sample lies later in its year.
const YEAR_SECONDS_MAX: u32 = 366 * 86_400;

/// What could not be read, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Lines that are no samples.
    pub bad_lines: u64,
    /// Last lines that were cut off.
    pub torn_tails: u64,
    /// Samples earlier than what stands before them.
    pub out_of_order: u64,
}

impl Damage {
    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        *self == Damage::default()
    }

    /// Adds that of another file.
    pub fn add(&mut self, other: Damage) {
        self.bad_lines += other.bad_lines;
        self.torn_tails += other.torn_tails;
        self.out_of_order += other.out_of_order;
    }
}

/// The samples that lines gave, until they are taken.
#[derive(Debug)]
pub struct Rows {
    payload: Payload,
    /// When the year begins, in seconds since 1970.
    year_start: i64,
    times: Vec<Timestamp>,
    values: Column,
    alarms: Runs<Alarm>,
    /// The last alarm as lines say it, of so many rows that are not among `alarms` yet.
    alarm: (i32, i32),
    alarm_rows: usize,
    pulses: Runs<u64>,
    /// Rows without a pulse that are not among `pulses` yet.
    pulseless: usize,
    /// The fields that samples carry, each with the sample's time.
    fields: Vec<(Timestamp, Vec<FieldValue>)>,
    /// The times of those whose fields changed then.
    changes: Vec<Timestamp>,
    value_bytes: usize,
    scratch: Vec<u8>,
}

/// All of a sample but its value.
#[derive(Default)]
struct Frame {
    second: Option<u32>,
    nano: Option<u32>,
    severity: i32,
    status: i32,
    pulse: u64,
    fields: Vec<FieldValue>,
    is_change: bool,
}

impl Rows {
    /// Of a file or chunk with that header.
    pub fn new(header: &Header) -> Rows {
        Rows {
            payload: header.payload,
            year_start: header.year_start.seconds_and_nanos().0,
            times: Vec::new(),
            values: Column::new(header.payload.value_type()),
            alarms: Runs::default(),
            alarm: (0, 0),
            alarm_rows: 0,
            pulses: Runs::default(),
            pulseless: 0,
            fields: Vec::new(),
            changes: Vec::new(),
            value_bytes: 0,
            scratch: Vec::new(),
        }
    }

    /// How many samples wait.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// Roughly how many bytes the values have that wait.
    pub fn byte_size(&self) -> usize {
        self.value_bytes + self.times.len() * 16
    }

    /// The times of what waits.
    pub fn times(&self) -> &[Timestamp] {
        &self.times
    }

    /// Takes a line, without its line feed; none, and nothing is taken, if it is no sample.
    pub fn take_line(&mut self, line: &[u8]) -> Option<()> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let message = unescape(line, &mut scratch);
        let taken = message.and_then(|message| self.take_plain(message).or_else(|| self.take_message(message)));
        self.scratch = scratch;
        taken
    }

    /// A message as nearly all are: second, nanosecond, one number, and perhaps an alarm. None, and nothing is taken, if it is another.
    #[inline]
    fn take_plain(&mut self, message: &[u8]) -> Option<()> {
        let plain = PlainMessage::of(message)?;
        let time = time_of(self.year_start, plain.second, plain.nano)?;
        let severity = (plain.severity, plain.status);
        put_single(self.payload, plain.value, &mut self.values)?;
        self.times.push(time);
        self.put_alarm(severity);
        self.pulseless += 1;
        self.value_bytes += message.len();
        Some(())
    }

    fn put_alarm(&mut self, alarm: (i32, i32)) {
        if alarm != self.alarm {
            self.end_alarm();
            self.alarm = alarm;
        }
        self.alarm_rows += 1;
    }

    /// Moves the rows of the last alarm to the others.
    fn end_alarm(&mut self) {
        let severity = Severity::from_number(i64::from(self.alarm.0));
        let status = u16::try_from(self.alarm.1).unwrap_or(u16::MAX);
        self.alarms.push(&Alarm { severity, status, message: None }, std::mem::take(&mut self.alarm_rows));
    }

    fn take_message(&mut self, message: &[u8]) -> Option<()> {
        if message.len() > VALUE_BYTES_MAX {
            return None;
        }
        let mut frame = Frame::default();
        let mut value = Partial::of(self.payload);
        walk(message, |number, wire| {
            match (number, wire) {
                (1, wire) => frame.second = Some(wire.u32()?),
                (2, wire) => frame.nano = Some(wire.u32()?),
                (3, wire) => value.take(wire)?,
                (4, wire) => frame.severity = wire.i32()?,
                (5, wire) => frame.status = wire.i32()?,
                (7, Wire::Bytes(field)) => frame.fields.push(field_value(field)?),
                (8, wire) => frame.is_change = wire.u32()? != 0,
                (9, wire) => frame.pulse = u64::from(wire.u32()?),
                _ => {}
            }
            Some(())
        })?;
        let time = time_of(self.year_start, frame.second?, frame.nano?)?;
        value.finish(&mut self.values)?;
        self.times.push(time);
        self.put_alarm((frame.severity, frame.status));
        self.pulses.push(&0, std::mem::take(&mut self.pulseless));
        self.pulses.push(&frame.pulse, 1);
        self.value_bytes += message.len();
        if !frame.fields.is_empty() {
            self.fields.push((time, frame.fields));
            self.changes.extend(frame.is_change.then_some(time));
        }
        Some(())
    }

    /// Takes out what waits.
    pub fn batch(&mut self) -> Batch {
        self.end_alarm();
        self.pulses.push(&0, std::mem::take(&mut self.pulseless));
        // The next batch will be as long.
        let rows = self.times.len();
        let values = std::mem::replace(&mut self.values, Column::with_capacity(self.payload.value_type(), rows));
        let times = std::mem::replace(&mut self.times, Vec::with_capacity(rows));
        let alarms = std::mem::take(&mut self.alarms);
        self.value_bytes = 0;
        Batch::from_columns(times, values, alarms, std::mem::take(&mut self.pulses))
            .unwrap_or_else(|| Batch::new(self.payload.value_type()))
    }

    /// Takes out the fields that samples carried so far.
    pub fn fields(&mut self) -> Vec<(Timestamp, Vec<FieldValue>)> {
        self.changes.clear();
        std::mem::take(&mut self.fields)
    }

    /// How many samples carry fields, of those since these were taken out.
    pub(crate) fn carrying(&self) -> usize {
        self.fields.len()
    }

    /// The times of those samples among them whose fields changed then.
    pub(crate) fn changes(&self) -> &[Timestamp] {
        &self.changes
    }
}

/// The time of the sample in a line, and nothing else of it.
pub(crate) fn time_of_line(header: &Header, line: &[u8], scratch: &mut Vec<u8>) -> Option<Timestamp> {
    let (mut second, mut nano) = (None, None);
    walk(unescape(line, scratch)?, |number, wire| {
        match number {
            1 => second = Some(wire.u32()?),
            2 => nano = Some(wire.u32()?),
            _ => {}
        }
        Some(())
    })?;
    time_of(header.year_start.seconds_and_nanos().0, second?, nano?)
}

#[inline]
fn time_of(year_start: i64, second: u32, nano: u32) -> Option<Timestamp> {
    if second > YEAR_SECONDS_MAX || nano >= 1_000_000_000 {
        return None;
    }
    Some(Timestamp::from_seconds(year_start + i64::from(second), nano))
}

/// A message of which each field stands once, in the order of their numbers.
struct PlainMessage<'a> {
    second: u32,
    nano: u32,
    value: Wire<'a>,
    severity: i32,
    status: i32,
}

impl<'a> PlainMessage<'a> {
    #[inline]
    fn of(message: &'a [u8]) -> Option<PlainMessage<'a>> {
        let rest = message.strip_prefix(&[1 << 3])?;
        let (second, rest) = short(rest)?;
        let rest = rest.strip_prefix(&[2 << 3])?;
        let (nano, rest) = short(rest)?;
        let (tag, rest) = rest.split_first()?;
        let (value, mut rest) = match *tag {
            0x19 => rest.split_first_chunk().map(|(bits, rest)| (Wire::Fixed64(*bits), rest))?,
            0x1d => rest.split_first_chunk().map(|(bits, rest)| (Wire::Fixed32(*bits), rest))?,
            0x18 => short(rest).map(|(number, rest)| (Wire::Varint(u64::from(number)), rest))?,
            _ => return None,
        };
        let mut alarm = [0; 2];
        for (number, tag) in alarm.iter_mut().zip([4 << 3, 5 << 3]) {
            if let Some(behind) = rest.strip_prefix(&[tag]) {
                let (found, behind) = short(behind)?;
                (*number, rest) = (i32::try_from(found).ok()?, behind);
            }
        }
        let [severity, status] = alarm;
        rest.is_empty().then_some(PlainMessage { second, nano, value, severity, status })
    }
}

/// A varint of at most five bytes, and what follows it; all at once where eight bytes are left.
#[inline]
fn short(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let Some((eight, _)) = bytes.split_first_chunk::<8>() else {
        let mut rest = bytes;
        return Some((u32::try_from(varint(&mut rest)?).ok()?, rest));
    };
    let word = u64::from_le_bytes(*eight);
    let ends = !word & 0x8080_8080_8080_8080;
    let len = (ends.trailing_zeros() as usize + 1) / 8;
    if ends == 0 || len > 5 {
        return None;
    }
    let word = word & (u64::MAX >> (64 - 8 * len));
    let group = |index: u32| (word >> index) & (0x7f << (7 * index));
    let number = group(0) | group(1) | group(2) | group(3) | group(4);
    Some((u32::try_from(number).ok()?, bytes.get(len..)?))
}

/// A value, as far as its fields have come.
enum Partial<'a> {
    /// A single value, of which the last field counts.
    Single(Payload, Option<Wire<'a>>),
    /// The elements of an array so far.
    Many(Column),
    /// Bytes that are the elements of an array.
    Bytes(Option<&'a [u8]>),
}

impl<'a> Partial<'a> {
    fn of(payload: Payload) -> Partial<'a> {
        match (payload, payload.shape()) {
            (Payload::WaveformByte, _) => Partial::Bytes(None),
            (_, Shape::Array) => Partial::Many(Column::new(sample::ValueType::scalar(payload.element()))),
            _ => Partial::Single(payload, None),
        }
    }

    /// Takes one field: a value, one element, or many elements together.
    fn take(&mut self, wire: Wire<'a>) -> Option<()> {
        match (self, wire) {
            (Partial::Single(_, value), wire) => *value = Some(wire),
            (Partial::Bytes(bytes), Wire::Bytes(inside)) => *bytes = Some(inside),
            (Partial::Bytes(_), _) => return None,
            (Partial::Many(elements), wire) => take_elements(elements, wire)?,
        }
        Some(())
    }

    /// Puts the value into the column of the file's type. Proto has no empty arrays of its own: no field, no element.
    fn finish(self, values: &mut Column) -> Option<()> {
        match (self, values) {
            (Partial::Single(payload, wire), values) => put_single(payload, wire?, values),
            (Partial::Many(elements), Column::Array(arrays)) => arrays.push(&elements).then_some(()),
            (Partial::Bytes(bytes), Column::Array(arrays)) => {
                let bytes = bytes.unwrap_or_default().iter().map(|byte| *byte as i8).collect();
                arrays.push(&Column::I8(bytes)).then_some(())
            }
            _ => None,
        }
    }
}

#[inline]
fn put_single(payload: Payload, wire: Wire, values: &mut Column) -> Option<()> {
    match (values, wire) {
        (Column::F64(values), Wire::Fixed64(bits)) => values.push(f64::from_le_bytes(bits)),
        (Column::F32(values), Wire::Fixed32(bits)) => values.push(f32::from_le_bytes(bits)),
        (Column::I32(values), Wire::Fixed32(bits)) => values.push(i32::from_le_bytes(bits)),
        (Column::I16(values), Wire::Varint(number)) => values.push(i16::try_from(zigzag(number)?).ok()?),
        (Column::Enum(values), Wire::Varint(number)) => values.push(zigzag(number)?),
        (Column::String(values), Wire::Bytes(text)) => push_text(values, text),
        (Column::I8(values), Wire::Bytes(bytes)) => values.push(*bytes.first()? as i8),
        (Column::Structure(values), Wire::Bytes(bytes)) if payload == Payload::V4GenericBytes => {
            push_structure(values, bytes);
        }
        _ => return None,
    }
    Some(())
}

fn take_elements(elements: &mut Column, wire: Wire) -> Option<()> {
    match (elements, wire) {
        (Column::String(texts), Wire::Bytes(text)) => push_text(texts, text),
        (Column::F64(values), Wire::Fixed64(bits)) => values.push(f64::from_le_bytes(bits)),
        (Column::F32(values), Wire::Fixed32(bits)) => values.push(f32::from_le_bytes(bits)),
        (Column::I32(values), Wire::Fixed32(bits)) => values.push(i32::from_le_bytes(bits)),
        (Column::I16(values), Wire::Varint(number)) => values.push(i16::try_from(zigzag(number)?).ok()?),
        (Column::Enum(values), Wire::Varint(number)) => values.push(zigzag(number)?),
        (Column::F64(values), Wire::Bytes(packed)) => put_fixed(values, packed, f64::from_le_bytes)?,
        (Column::F32(values), Wire::Bytes(packed)) => put_fixed(values, packed, f32::from_le_bytes)?,
        (Column::I32(values), Wire::Bytes(packed)) => put_fixed(values, packed, i32::from_le_bytes)?,
        (Column::I16(values), Wire::Bytes(packed)) => {
            put_varints(packed, |number| {
                values.push(i16::try_from(number).ok()?);
                Some(())
            })?;
        }
        (Column::Enum(values), Wire::Bytes(packed)) => {
            put_varints(packed, |number| {
                values.push(number);
                Some(())
            })?;
        }
        _ => return None,
    }
    Some(())
}

fn put_fixed<const N: usize, T>(values: &mut Vec<T>, mut packed: &[u8], read: fn([u8; N]) -> T) -> Option<()> {
    values.reserve(packed.len() / N);
    while !packed.is_empty() {
        values.push(read(array(&mut packed)?));
    }
    Some(())
}

fn put_varints(mut packed: &[u8], mut put: impl FnMut(i32) -> Option<()>) -> Option<()> {
    while !packed.is_empty() {
        put(zigzag(varint(&mut packed)?)?)?;
    }
    Some(())
}

fn push_text(texts: &mut Strings, text: &[u8]) {
    texts.push(&String::from_utf8_lossy(text));
}

/// The Appliance writes structures in the byte order of Java; here they are kept little-endian. What is no structure stays as
/// it is, so that nothing is lost.
fn push_structure(structures: &mut Blobs, bytes: &[u8]) {
    let mut reader = Reader::new(bytes, Order::Big);
    let read = pvdata::value::read(&mut reader, &mut pvdata::TypeRegistry::default());
    let mut writer = Writer::new(Order::Little);
    let turned = read.ok().filter(|_| reader.rest().is_empty()).and_then(|data| data.encode(&mut writer).ok());
    match turned {
        Some(()) => structures.push(&writer.into_bytes()),
        None => structures.push(bytes),
    }
}

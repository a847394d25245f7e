//! Parquet files of the Appliance, given out as the lines that the same samples have in its `.pb` files, so that all else need not know.
//!
//! ```text
//!   key values  pvName, year, ArchDBRType (DBR_SCALAR_DOUBLE)
//!   columns     secondsintoyear, nano: i32   val: by type, `repeated` where it is an array   severity, status, userTag: i32, optional
//!               fieldvalues: repeated { name, val: text }
//! ```
//! These are the columns of the protobuf messages (parquet-protobuf, proto2). Rows are unpacked some at a time: as many as have room
//! if each is as long as the average of its group, and a longer one costs what it takes. A row with a value longer than any value may
//! be is refused, and of the lines only some are made at a time.

use std::{
    fs::File,
    io::{self, Read},
    panic::{AssertUnwindSafe, catch_unwind},
};

use archive::VALUE_BYTES_MAX;
use parquet::{
    column::reader::{ColumnReader, ColumnReaderImpl},
    data_type::{ByteArray, DataType},
    errors::ParquetError,
    file::reader::{FileReader, RowGroupReader, SerializedFileReader},
};
use prost::encoding::encode_varint;
use sample::Shape;

use crate::{line::put_line, payload::Payload, scan::LINE_BYTES_MAX};

/// So many rows are unpacked at a time at most, and about so many bytes of them by their average, packed or as numbers.
const ROWS_MAX: usize = 1024;
const BYTES_WANTED: u64 = 4 << 20;
/// What is packed well is short in the file: a number takes so much whatever it took there.
const NUMBER_BYTES: u64 = 8;
/// When lines have so many bytes together they are given out before more are made.
const LINES_BYTES: usize = 4 << 20;

/// The lines of a file, header first.
pub(crate) struct ParquetLines {
    file: SerializedFileReader<File>,
    payload: Payload,
    group: usize,
    open: Option<Group>,
    /// Lines that were made and not read yet.
    out: Vec<u8>,
    given: usize,
    failed: bool,
}

impl ParquetLines {
    pub(crate) fn open(file: File) -> io::Result<ParquetLines> {
        let file = guarded(|| SerializedFileReader::new(file))?;
        let pairs = file.metadata().file_metadata().key_value_metadata();
        let said = |key: &str| pairs.into_iter().flatten().find(|pair| pair.key == key)?.value.clone();
        let no_header = || invalid("its key values do not say pvName, year and ArchDBRType");
        let (name, year, kind) = (said("pvName"), said("year"), said("ArchDBRType"));
        let (name, year, kind) =
            (name.ok_or_else(no_header)?, year.ok_or_else(no_header)?, kind.ok_or_else(no_header)?);
        let payload = Payload::from_name(&kind).ok_or_else(|| invalid("its type is none that the Appliance has"))?;
        let year: i32 = year.parse().map_err(|_| no_header())?;
        let mut message = Vec::new();
        put_number(&mut message, 1, payload as u64);
        put_bytes(&mut message, 2, name.as_bytes());
        put_number(&mut message, 3, i64::from(year) as u64);
        let mut out = Vec::new();
        put_line(&mut out, &message);
        Ok(ParquetLines { file, payload, group: 0, open: None, out, given: 0, failed: false })
    }

    /// Makes lines of the next rows; false at the end.
    fn fill(&mut self) -> io::Result<bool> {
        self.out.clear();
        self.given = 0;
        loop {
            if let Some(group) = &mut self.open {
                if group.rows_ready == 0 {
                    guarded(|| group.read())?;
                }
                if group.rows_ready > 0 {
                    return group.put(self.payload, &mut self.out).map(|()| true);
                }
            }
            if self.group >= self.file.num_row_groups() {
                return Ok(false);
            }
            let (file, index, payload) = (&self.file, self.group, self.payload);
            self.open = Some(guarded(|| Group::open(&*file.get_row_group(index)?, payload))?);
            self.group += 1;
        }
    }
}

impl Read for ParquetLines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.out.len() {
            if self.failed {
                return Err(invalid("it cannot be read on"));
            }
            match self.fill() {
                Ok(true) => {}
                Ok(false) => return Ok(0),
                Err(error) => {
                    self.failed = true;
                    return Err(error);
                }
            }
        }
        let size = buffer.len().min(self.out.len() - self.given);
        buffer[..size].copy_from_slice(&self.out[self.given..self.given + size]);
        self.given += size;
        Ok(size)
    }
}

fn invalid(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// What the reader of Parquet says, or how it fails: a file that is damaged enough makes it panic.
fn guarded<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> io::Result<T> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(read) => read.map_err(|error| invalid(&error.to_string())),
        Err(_) => Err(invalid("it is damaged so that it cannot be read")),
    }
}

/// The columns of a group of rows.
struct Group {
    columns: [Option<Column>; COLUMNS.len()],
    rows_left: usize,
    rows_at_once: usize,
    /// Rows that were unpacked and are no lines yet, and where the first of them begins in each column (level, value).
    rows_ready: usize,
    places: [(usize, usize); COLUMNS.len()],
}

const COLUMNS: [&str; 8] =
    ["secondsintoyear", "nano", "val", "severity", "status", "fieldvalues.name", "fieldvalues.val", "userTag"];
const SECOND: usize = 0;
const NANO: usize = 1;
const VALUE: usize = 2;
const SEVERITY: usize = 3;
const STATUS: usize = 4;
const FIELD_NAME: usize = 5;
const FIELD_VALUE: usize = 6;
const TAG: usize = 7;

impl Group {
    fn open(group: &dyn RowGroupReader, payload: Payload) -> Result<Group, ParquetError> {
        let metadata = group.metadata();
        let rows = usize::try_from(metadata.num_rows()).unwrap_or(0);
        let mut numbers = 0u64;
        let mut columns = [const { None }; COLUMNS.len()];
        for (index, column) in metadata.columns().iter().enumerate() {
            if let Some(slot) = COLUMNS.iter().position(|name| *name == column.column_path().string()) {
                let own = u64::try_from(column.num_values()).unwrap_or(u64::MAX);
                numbers = numbers.saturating_add(own);
                let average = own / (rows as u64).max(1);
                if slot == VALUE && average.saturating_mul(element_bytes(payload)) > VALUE_BYTES_MAX as u64 {
                    return Err(ParquetError::General(TOO_LONG.to_owned()));
                }
                let descriptor = column.column_descr();
                columns[slot] = Some(Column {
                    reader: group.get_column_reader(index)?,
                    defined: descriptor.max_def_level(),
                    repeats: descriptor.max_rep_level() > 0,
                    rows: Rows::default(),
                });
            }
        }
        let packed = u64::try_from(metadata.total_byte_size()).unwrap_or(0);
        let bytes = packed.max(numbers.saturating_mul(NUMBER_BYTES)) / (rows as u64).max(1);
        let rows_at_once = usize::try_from(BYTES_WANTED / bytes.max(1)).unwrap_or(ROWS_MAX).clamp(1, ROWS_MAX);
        let places = [(0, 0); COLUMNS.len()];
        Ok(Group { columns, rows_left: rows, rows_at_once, rows_ready: 0, places })
    }

    /// Unpacks the next rows of all columns, if there are any.
    fn read(&mut self) -> Result<(), ParquetError> {
        let rows = self.rows_left.min(self.rows_at_once);
        self.rows_left -= rows;
        if rows > 0 {
            for column in self.columns.iter_mut().flatten() {
                column.read(rows)?;
            }
        }
        (self.rows_ready, self.places) = (rows, [(0, 0); COLUMNS.len()]);
        Ok(())
    }

    /// Writes rows that were unpacked, each as its message in a line, until these are long enough or there are no more.
    fn put(&mut self, payload: Payload, out: &mut Vec<u8>) -> io::Result<()> {
        let mut message = Vec::new();
        while self.rows_ready > 0 && out.len() < LINES_BYTES {
            // Where a row's values stand in each column.
            let mut own = [const { 0..0 }; COLUMNS.len()];
            for ((column, place), own) in self.columns.iter().zip(&mut self.places).zip(&mut own) {
                if let Some(column) = column {
                    *own = column.row(place);
                }
            }
            let column = |slot: usize| self.columns[slot].as_ref().filter(|_| !own[slot].is_empty());
            let number = |slot: usize| column(slot).and_then(|column| column.rows.number(own[slot].start));
            message.clear();
            for (tag, slot) in [(1, SECOND), (2, NANO)] {
                put_number(&mut message, tag, number(slot).ok_or_else(|| invalid("a row has no time"))? as u32 as u64);
            }
            if let Some(values) = column(VALUE) {
                if values.rows.value_bytes(payload, own[VALUE].clone()) > VALUE_BYTES_MAX {
                    return Err(invalid(TOO_LONG));
                }
                values.rows.put_values(payload, own[VALUE].clone(), &mut message);
            }
            for (tag, slot) in [(4, SEVERITY), (5, STATUS)] {
                if let Some(number) = number(slot) {
                    put_number(&mut message, tag, i64::from(number) as u64);
                }
            }
            if let (Some(names), Some(values)) = (column(FIELD_NAME), column(FIELD_VALUE)) {
                for (name, value) in own[FIELD_NAME].clone().zip(own[FIELD_VALUE].clone()) {
                    let mut field = Vec::new();
                    put_bytes(&mut field, 1, names.rows.bytes(name));
                    put_bytes(&mut field, 2, values.rows.bytes(value));
                    put_bytes(&mut message, 7, &field);
                    if message.len() > LINE_BYTES_MAX {
                        return Err(invalid("a row has more fields than have room in a line"));
                    }
                }
            }
            if let Some(tag) = number(TAG) {
                put_number(&mut message, 9, tag as u32 as u64);
            }
            put_line(out, &message);
            self.rows_ready -= 1;
        }
        Ok(())
    }
}

/// Why a row is refused.
const TOO_LONG: &str = "a row has a longer value than there may be";

/// How much an element of a value counts besides its own bytes, as `VALUE_BYTES_MAX` counts.
fn element_bytes(payload: Payload) -> u64 {
    match payload {
        Payload::ScalarDouble | Payload::WaveformDouble | Payload::WaveformString => 8,
        Payload::ScalarFloat | Payload::WaveformFloat | Payload::ScalarInt | Payload::WaveformInt => 4,
        Payload::ScalarShort | Payload::WaveformShort | Payload::ScalarEnum | Payload::WaveformEnum => 2,
        _ => 0,
    }
}

/// A column, and the rows of it that were unpacked.
struct Column {
    reader: ColumnReader,
    /// The level of a value that is there.
    defined: i16,
    repeats: bool,
    rows: Rows,
}

#[derive(Default)]
struct Rows {
    defined: Vec<i16>,
    repeated: Vec<i16>,
    i32s: Vec<i32>,
    f32s: Vec<f32>,
    f64s: Vec<f64>,
    bytes: Vec<ByteArray>,
}

impl Column {
    fn read(&mut self, rows: usize) -> Result<(), ParquetError> {
        let own = &mut self.rows;
        own.defined.clear();
        own.repeated.clear();
        let levels = (&mut own.defined, &mut own.repeated);
        match &mut self.reader {
            ColumnReader::Int32ColumnReader(reader) => read(reader, rows, levels, &mut own.i32s),
            ColumnReader::FloatColumnReader(reader) => read(reader, rows, levels, &mut own.f32s),
            ColumnReader::DoubleColumnReader(reader) => read(reader, rows, levels, &mut own.f64s),
            ColumnReader::ByteArrayColumnReader(reader) => read(reader, rows, levels, &mut own.bytes),
            _ => Err(ParquetError::General("there is a column of a type that the Appliance does not write".to_owned())),
        }
    }

    /// The values of the next row, from a place (level, value) that goes on behind them.
    fn row(&self, (level, value): &mut (usize, usize)) -> std::ops::Range<usize> {
        let begun = *value;
        if self.defined == 0 {
            *value += 1;
            return begun..*value;
        }
        let mut is_first = true;
        while *level < self.rows.defined.len() {
            if !is_first && (!self.repeats || self.rows.repeated.get(*level) == Some(&0)) {
                break;
            }
            is_first = false;
            *value += usize::from(self.rows.defined[*level] == self.defined);
            *level += 1;
        }
        begun..*value
    }
}

fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    (defined, repeated): (&mut Vec<i16>, &mut Vec<i16>),
    values: &mut Vec<T::T>,
) -> Result<(), ParquetError> {
    values.clear();
    let mut left = rows;
    while left > 0 {
        let (read, ..) = reader.read_records(left, Some(defined), Some(repeated), values)?;
        if read == 0 {
            return Err(ParquetError::General("a column has fewer rows than the others".to_owned()));
        }
        left -= read;
    }
    Ok(())
}

impl Rows {
    fn number(&self, place: usize) -> Option<i32> {
        self.i32s.get(place).copied()
    }

    fn bytes(&self, place: usize) -> &[u8] {
        self.bytes.get(place).map_or(&[], ByteArray::data)
    }

    /// How long a value is.
    fn value_bytes(&self, payload: Payload, places: std::ops::Range<usize>) -> usize {
        let elements = places.len().saturating_mul(element_bytes(payload) as usize);
        let texts = self.bytes.get(places.start..places.end.min(self.bytes.len())).unwrap_or_default();
        elements + texts.iter().map(ByteArray::len).sum::<usize>()
    }

    /// The field `val` of a message.
    fn put_values(&self, payload: Payload, places: std::ops::Range<usize>, out: &mut Vec<u8>) {
        let is_array = payload.shape() == Shape::Array && payload != Payload::WaveformByte;
        let mut packed = Vec::new();
        for place in places {
            match payload {
                Payload::ScalarDouble | Payload::WaveformDouble => {
                    packed.extend(self.f64s.get(place).copied().unwrap_or(f64::NAN).to_le_bytes());
                }
                Payload::ScalarFloat | Payload::WaveformFloat => {
                    packed.extend(self.f32s.get(place).copied().unwrap_or(f32::NAN).to_le_bytes());
                }
                Payload::ScalarInt | Payload::WaveformInt => {
                    packed.extend(self.number(place).unwrap_or(0).to_le_bytes());
                }
                Payload::ScalarShort | Payload::WaveformShort | Payload::ScalarEnum | Payload::WaveformEnum => {
                    let number = self.number(place).unwrap_or(0);
                    encode_varint(u64::from(((number << 1) ^ (number >> 31)) as u32), &mut packed);
                }
                _ => put_bytes(out, 3, self.bytes(place)),
            }
        }
        match payload {
            _ if packed.is_empty() => {}
            _ if is_array => put_bytes(out, 3, &packed),
            Payload::ScalarDouble => put_plain(out, 1, &packed),
            Payload::ScalarFloat | Payload::ScalarInt => put_plain(out, 5, &packed),
            _ => put_plain(out, 0, &packed),
        }
    }
}

/// The value of a single number, of which the kind says how many bytes it has.
fn put_plain(out: &mut Vec<u8>, kind: u64, bytes: &[u8]) {
    encode_varint(3 << 3 | kind, out);
    out.extend_from_slice(bytes);
}

fn put_number(out: &mut Vec<u8>, tag: u64, number: u64) {
    encode_varint(tag << 3, out);
    encode_varint(number, out);
}

fn put_bytes(out: &mut Vec<u8>, tag: u64, bytes: &[u8]) {
    encode_varint(tag << 3 | 2, out);
    encode_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

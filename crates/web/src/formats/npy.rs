//! Samples as one structured array in numpy's file format: `np.load` maps it into memory, each number of its own type.
//!
//! The number of rows stands at its beginning, so samples are counted before they are sent; what comes meanwhile is left out.

use std::fmt;

use axum::body::Bytes;
use query::Samples;
use sample::{Batch, Column, Element, Shape, Timestamp, ValueType};

use crate::refusal::{Code, Refusal};

pub(crate) const CONTENT_TYPE: &str = "application/x-npy";

/// Where the array begins is a multiple of this.
const ALIGNMENT: usize = 64;

/// Why there is no array, or no more of it.
#[derive(Debug)]
pub(crate) enum Error {
    Query(query::Error),
    NoNumber(ValueType),
    TypeChange { from: ValueType, to: ValueType, time: Timestamp },
    Fewer,
    Abandoned,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Query(error) => write!(f, "{error}"),
            Error::NoNumber(value_type) => write!(f, "the PV holds {value_type}, rows of a numpy array hold numbers"),
            Error::TypeChange { from, to, time } => {
                write!(f, "the PV changes from {from} to {to} at {time}, a numpy array holds one type")
            }
            Error::Fewer => write!(f, "samples were deleted while they were sent"),
            Error::Abandoned => write!(f, "the client has gone"),
        }
    }
}

impl From<query::Error> for Error {
    fn from(error: query::Error) -> Error {
        Error::Query(error)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        let hint = "take format=arrow or json";
        match error {
            Error::Query(error) => error.into(),
            Error::NoNumber(_) => Refusal::new(Code::BadRequest, error.to_string()).hint(hint),
            Error::TypeChange { .. } => Refusal::new(Code::Conflict, error.to_string()).hint(hint),
            Error::Fewer | Error::Abandoned => Refusal::new(Code::Conflict, error.to_string()),
        }
    }
}

/// What is sent: of which type, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Count {
    value_type: ValueType,
    rows: u64,
}

impl Count {
    /// Looks through all samples. `usual` is the type if there are none.
    pub(crate) fn of(
        samples: Samples,
        usual: ValueType,
        limit: Option<u64>,
        is_abandoned: impl Fn() -> bool,
    ) -> Result<Count, Error> {
        let limit = limit.unwrap_or(u64::MAX);
        let mut count = Count { value_type: usual, rows: 0 };
        for batch in samples {
            let batch = batch?;
            if count.rows > 0 && count.rows < limit && batch.value_type() != count.value_type {
                let time = batch.times().first().copied().unwrap_or_default();
                return Err(Error::TypeChange { from: count.value_type, to: batch.value_type(), time });
            }
            if count.rows >= limit {
                break;
            }
            if is_abandoned() {
                return Err(Error::Abandoned);
            }
            count.value_type = batch.value_type();
            count.rows = limit.min(count.rows + batch.len() as u64);
        }
        dtype(count.value_type).ok_or(Error::NoNumber(count.value_type))?;
        Ok(count)
    }

    fn head(self) -> Vec<u8> {
        let value = dtype(self.value_type).unwrap_or("<f8");
        let columns = "('severity', '|u1'), ('status', '<u2'), ('pulse', '<u8')";
        let mut head = format!(
            "{{'descr': [('time', '<M8[ns]'), ('value', '{value}'), {columns}], 'fortran_order': False, 'shape': ({},), }}",
            self.rows
        );
        const BEFORE: usize = 10;
        let bytes = (BEFORE + head.len() + 1).next_multiple_of(ALIGNMENT);
        head.extend(std::iter::repeat_n(' ', bytes - BEFORE - head.len() - 1));
        head.push('\n');
        let mut out = b"\x93NUMPY\x01\x00".to_vec();
        out.extend_from_slice(&(head.len() as u16).to_le_bytes());
        out.extend_from_slice(head.as_bytes());
        out
    }
}

/// How numpy calls a type; none if its values are of no fixed size.
fn dtype(value_type: ValueType) -> Option<&'static str> {
    if value_type.shape == Shape::Array {
        return None;
    }
    Some(match value_type.element {
        Element::Bool => "|b1",
        Element::I8 => "|i1",
        Element::U8 => "|u1",
        Element::I16 => "<i2",
        Element::U16 => "<u2",
        Element::I32 | Element::Enum => "<i4",
        Element::U32 => "<u4",
        Element::I64 => "<i8",
        Element::U64 => "<u8",
        Element::F32 => "<f4",
        Element::F64 => "<f8",
        Element::String | Element::Structure => return None,
    })
}

/// The array as it is made.
pub(crate) struct SamplesNpy {
    samples: Samples,
    count: Count,
    left: u64,
    begun: bool,
    ended: bool,
}

impl SamplesNpy {
    pub(crate) fn new(samples: Samples, count: Count) -> SamplesNpy {
        SamplesNpy { samples, count, left: count.rows, begun: false, ended: false }
    }

    fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        if !std::mem::replace(&mut self.begun, true) {
            return Ok(Some(self.count.head().into()));
        }
        if self.left == 0 {
            return Ok(None);
        }
        let batch = self.samples.next().transpose()?.ok_or(Error::Fewer)?;
        if batch.value_type() != self.count.value_type {
            let time = batch.times().first().copied().unwrap_or_default();
            return Err(Error::TypeChange { from: self.count.value_type, to: batch.value_type(), time });
        }
        let rows = (batch.len() as u64).min(self.left);
        self.left -= rows;
        let mut out = Vec::new();
        put_rows(&mut out, &batch, rows as usize);
        Ok(Some(out.into()))
    }
}

fn put_rows(out: &mut Vec<u8>, batch: &Batch, rows: usize) {
    let rest = batch.alarms().rows().zip(batch.pulses().rows());
    for (row, (alarm, pulse)) in (0..rows).zip(rest) {
        out.extend_from_slice(&batch.times()[row].nanos().to_le_bytes());
        match batch.values() {
            Column::Bool(v) => out.push(u8::from(v[row])),
            Column::I8(v) => out.extend_from_slice(&v[row].to_le_bytes()),
            Column::U8(v) => out.push(v[row]),
            Column::I16(v) => out.extend_from_slice(&v[row].to_le_bytes()),
            Column::U16(v) => out.extend_from_slice(&v[row].to_le_bytes()),
            Column::I32(v) | Column::Enum(v) => out.extend_from_slice(&v[row].to_le_bytes()),
            Column::U32(v) => out.extend_from_slice(&v[row].to_le_bytes()),
            Column::I64(v) => out.extend_from_slice(&v[row].to_le_bytes()),
            Column::U64(v) => out.extend_from_slice(&v[row].to_le_bytes()),
            Column::F32(v) => out.extend_from_slice(&v[row].to_le_bytes()),
            Column::F64(v) => out.extend_from_slice(&v[row].to_le_bytes()),
            Column::String(_) | Column::Structure(_) | Column::Array(_) => {
                unreachable!("what has no type of numpy is refused")
            }
        }
        out.push(alarm.severity as u8);
        out.extend_from_slice(&alarm.status.to_le_bytes());
        out.extend_from_slice(&pulse.to_le_bytes());
    }
}

impl Iterator for SamplesNpy {
    type Item = Result<Bytes, Error>;

    fn next(&mut self) -> Option<Result<Bytes, Error>> {
        if self.ended {
            return None;
        }
        let chunk = self.chunk().transpose();
        self.ended = !matches!(chunk, Some(Ok(_)));
        chunk
    }
}

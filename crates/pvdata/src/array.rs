//! Arrays of scalars: the bulk of all bytes, so they are copied in whole pieces.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use crate::{
    Error,
    types::{Extent, Scalar},
    wire::{Order, Reader, TEXT_BYTES, Writer},
};

/// The elements of an array value.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the variants are the protocols' own types")]
pub enum Array {
    Bool(Vec<bool>),
    I8(Vec<i8>),
    U8(Vec<u8>),
    I16(Vec<i16>),
    U16(Vec<u16>),
    I32(Vec<i32>),
    U32(Vec<u32>),
    I64(Vec<i64>),
    U64(Vec<u64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Enum(Vec<i32>),
    String(Vec<String>),
}

const WHAT: &str = "the elements of an array";

impl Array {
    /// No elements of that type.
    pub fn empty(scalar: Scalar) -> Array {
        match scalar {
            Scalar::Bool => Array::Bool(Vec::new()),
            Scalar::I8 => Array::I8(Vec::new()),
            Scalar::I16 => Array::I16(Vec::new()),
            Scalar::I32 => Array::I32(Vec::new()),
            Scalar::I64 => Array::I64(Vec::new()),
            Scalar::U8 => Array::U8(Vec::new()),
            Scalar::U16 => Array::U16(Vec::new()),
            Scalar::U32 => Array::U32(Vec::new()),
            Scalar::U64 => Array::U64(Vec::new()),
            Scalar::F32 => Array::F32(Vec::new()),
            Scalar::F64 => Array::F64(Vec::new()),
            Scalar::String => Array::String(Vec::new()),
        }
    }

    /// What its elements take in memory, in bytes.
    pub fn memory(&self) -> usize {
        match self {
            Array::Bool(all) => all.len(),
            Array::I8(all) => all.len(),
            Array::U8(all) => all.len(),
            Array::I16(all) => 2 * all.len(),
            Array::U16(all) => 2 * all.len(),
            Array::I32(all) | Array::Enum(all) => 4 * all.len(),
            Array::U32(all) => 4 * all.len(),
            Array::F32(all) => 4 * all.len(),
            Array::I64(all) => 8 * all.len(),
            Array::U64(all) => 8 * all.len(),
            Array::F64(all) => 8 * all.len(),
            Array::String(all) => all.iter().map(|text| TEXT_BYTES + text.len()).sum(),
        }
    }

    /// Reads elements; what is allocated is bounded by the bytes that are there.
    pub fn decode(scalar: Scalar, extent: Extent, r: &mut Reader) -> Result<Array, Error> {
        let count = count(extent, scalar.bytes_min(), r)?;
        if scalar == Scalar::String {
            // Refused before the first one is read, and never moved while they come.
            count_fits(count, TEXT_BYTES, r)?;
            let mut texts = Vec::with_capacity(count);
            for _ in 0..count {
                texts.push(r.string(WHAT)?);
            }
            return Ok(Array::String(texts));
        }
        let order = r.order();
        let bytes = r.take(count * scalar.bytes_min(), WHAT)?;
        r.charge(bytes.len(), WHAT)?;
        Ok(match scalar {
            Scalar::Bool => Array::Bool(bytes.iter().map(|byte| *byte != 0).collect()),
            Scalar::I8 => Array::I8(bytes.iter().map(|byte| *byte as i8).collect()),
            Scalar::U8 => Array::U8(bytes.to_vec()),
            Scalar::I16 => Array::I16(numbers(bytes, order, i16::from_le_bytes, i16::from_be_bytes)),
            Scalar::I32 => Array::I32(numbers(bytes, order, i32::from_le_bytes, i32::from_be_bytes)),
            Scalar::I64 => Array::I64(numbers(bytes, order, i64::from_le_bytes, i64::from_be_bytes)),
            Scalar::U16 => Array::U16(numbers(bytes, order, u16::from_le_bytes, u16::from_be_bytes)),
            Scalar::U32 => Array::U32(numbers(bytes, order, u32::from_le_bytes, u32::from_be_bytes)),
            Scalar::U64 => Array::U64(numbers(bytes, order, u64::from_le_bytes, u64::from_be_bytes)),
            Scalar::F32 => Array::F32(numbers(bytes, order, f32::from_le_bytes, f32::from_be_bytes)),
            Scalar::F64 => Array::F64(numbers(bytes, order, f64::from_le_bytes, f64::from_be_bytes)),
            Scalar::String => Array::String(Vec::new()),
        })
    }

    /// Writes an array; refused where its elements are of another type.
    pub fn encode(&self, scalar: Scalar, extent: Extent, w: &mut Writer) -> Result<(), Error> {
        match (self, scalar) {
            (Array::Bool(all), Scalar::Bool) => each(all, extent, w, |v, w| w.u8(u8::from(*v))),
            (Array::I8(all), Scalar::I8) => each(all, extent, w, |v, w| w.u8(*v as u8)),
            (Array::U8(all), Scalar::U8) => {
                encode_count(all.len(), extent, w)?;
                w.put(all);
                Ok(())
            }
            (Array::I16(all), Scalar::I16) => put_numbers(all, extent, w, i16::to_le_bytes, i16::to_be_bytes),
            (Array::U16(all), Scalar::U16) => put_numbers(all, extent, w, u16::to_le_bytes, u16::to_be_bytes),
            (Array::I32(all), Scalar::I32) => put_numbers(all, extent, w, i32::to_le_bytes, i32::to_be_bytes),
            (Array::U32(all), Scalar::U32) => put_numbers(all, extent, w, u32::to_le_bytes, u32::to_be_bytes),
            (Array::I64(all), Scalar::I64) => put_numbers(all, extent, w, i64::to_le_bytes, i64::to_be_bytes),
            (Array::U64(all), Scalar::U64) => put_numbers(all, extent, w, u64::to_le_bytes, u64::to_be_bytes),
            (Array::F32(all), Scalar::F32) => put_numbers(all, extent, w, f32::to_le_bytes, f32::to_be_bytes),
            (Array::F64(all), Scalar::F64) => put_numbers(all, extent, w, f64::to_le_bytes, f64::to_be_bytes),
            (Array::String(all), Scalar::String) => each(all, extent, w, |v, w| w.string(v)),
            _ => Err(Error::Mismatch { what: "the elements of an array" }),
        }
    }
}

/// Reads how many elements follow; refused if the bytes at hand cannot hold them.
pub(crate) fn count(extent: Extent, bytes_each: usize, r: &mut Reader) -> Result<usize, Error> {
    let count = match extent {
        Extent::Fixed(count) => count as usize,
        Extent::Variable | Extent::Bounded(_) => r.size(WHAT)?.unwrap_or(0),
    };
    match count.checked_mul(bytes_each) {
        Some(bytes) if bytes <= r.rest().len() => Ok(count),
        _ => Err(Error::Truncated { what: WHAT }),
    }
}

/// Whether there is memory for so many elements of which each takes at least `bytes_each`.
pub(crate) fn count_fits(count: usize, bytes_each: usize, r: &Reader) -> Result<(), Error> {
    let mut trial = *r;
    trial.charge(count.saturating_mul(bytes_each), WHAT)
}

/// Writes how many elements follow; refused where the extent does not allow so many.
pub(crate) fn encode_count(count: usize, extent: Extent, w: &mut Writer) -> Result<(), Error> {
    match extent {
        Extent::Fixed(size) if size as usize == count => {}
        Extent::Bounded(size) if count > size as usize => return Err(Error::Mismatch { what: "a bounded array" }),
        Extent::Fixed(_) => return Err(Error::Mismatch { what: "a fixed array" }),
        Extent::Variable | Extent::Bounded(_) => w.size(Some(count)),
    }
    Ok(())
}

/// The loops stand apart by order, so that the compiler makes a plain copy of the common one.
fn numbers<const N: usize, T>(bytes: &[u8], order: Order, little: fn([u8; N]) -> T, big: fn([u8; N]) -> T) -> Vec<T> {
    let (chunks, _) = bytes.as_chunks::<N>();
    match order {
        Order::Little => chunks.iter().map(|chunk| little(*chunk)).collect(),
        Order::Big => chunks.iter().map(|chunk| big(*chunk)).collect(),
    }
}

/// As [`numbers`], the other way round.
fn put_numbers<const N: usize, T: Copy>(
    all: &[T],
    extent: Extent,
    w: &mut Writer,
    little: impl Fn(T) -> [u8; N],
    big: impl Fn(T) -> [u8; N],
) -> Result<(), Error> {
    encode_count(all.len(), extent, w)?;
    match w.order() {
        Order::Little => w.numbers(all, little),
        Order::Big => w.numbers(all, big),
    }
    Ok(())
}

fn each<T>(all: &[T], extent: Extent, w: &mut Writer, put: impl Fn(&T, &mut Writer)) -> Result<(), Error> {
    encode_count(all.len(), extent, w)?;
    all.iter().for_each(|element| put(element, w));
    Ok(())
}

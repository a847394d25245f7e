//! The elements of simulated arrays: element 0 is the count, element 1 the number of the PV in its group, the others as ordered.

use epics::Array;

use super::{
    group::{ArrayPattern, Group},
    kind::Kind,
};
use crate::workload::Noise;

/// What the elements of a group's arrays are copied from, ready in both orders of bytes.
#[derive(Default)]
pub(crate) struct Base {
    big: Vec<u8>,
    little: Vec<u8>,
}

impl Base {
    pub(crate) fn new(kind: Kind, length: u32, payload: ArrayPattern) -> Base {
        let wave = |place: u32| (1000.0 * (f64::from(place) / f64::from(length) * std::f64::consts::TAU).sin()).round();
        let elements: Vec<f64> = match payload {
            ArrayPattern::Ess => (0..length).map(f64::from).collect(),
            ArrayPattern::Smooth => (0..length).map(wave).collect(),
            ArrayPattern::Noise => Vec::new(),
        };
        let array = from_numbers(kind, &elements);
        Base { big: bytes(&array, true), little: bytes(&array, false) }
    }
}

/// The value of an array at an update.
pub(crate) fn array(group: &Group, index: u32, number: u64) -> Array {
    if group.payload == ArrayPattern::Noise {
        return noise(group, index, number);
    }
    let mut little = Vec::new();
    elements(group, index, number, false, &mut little);
    let (halves, quads, words) = (little.as_chunks().0, little.as_chunks().0, little.as_chunks().0);
    match group.kind {
        Kind::I16 => Array::I16(halves.iter().map(|b| i16::from_le_bytes(*b)).collect()),
        Kind::I32 => Array::I32(quads.iter().map(|b| i32::from_le_bytes(*b)).collect()),
        Kind::F32 => Array::F32(quads.iter().map(|b| f32::from_le_bytes(*b)).collect()),
        Kind::F64 => Array::F64(words.iter().map(|b| f64::from_le_bytes(*b)).collect()),
        Kind::U8 | Kind::Enum | Kind::String => Array::U8(little),
    }
}

/// Appends the elements in one or the other order of bytes.
pub(crate) fn elements(group: &Group, index: u32, number: u64, big_endian: bool, out: &mut Vec<u8>) {
    let base = if big_endian { &group.base.big } else { &group.base.little };
    let (begin, width) = (out.len(), group.kind.bytes());
    let count = number % group.kind.modulus();
    match group.payload {
        _ if group.kind == Kind::String => {
            out.extend_from_slice(count.to_string().as_bytes());
            return out.resize(begin + width, 0);
        }
        _ if group.length.is_none() => {
            out.resize(begin + width, 0);
            return overwrite(out.get_mut(begin..), group.kind, count, big_endian);
        }
        ArrayPattern::Noise => return out.extend_from_slice(&bytes(&noise(group, index, number), big_endian)),
        ArrayPattern::Ess => out.extend_from_slice(base),
        ArrayPattern::Smooth => {
            let turn = (number % u64::from(group.elements())) as usize * width;
            out.extend_from_slice(&base[turn..]);
            out.extend_from_slice(&base[..turn]);
        }
    }
    for (place, value) in [count, u64::from(index)].into_iter().enumerate() {
        let place = begin + place * width;
        overwrite(out.get_mut(place..place + width), group.kind, value, big_endian);
    }
}

/// Noise that depends on nothing but the PV and the update.
fn noise(group: &Group, index: u32, number: u64) -> Array {
    let mut noise = Noise::new(u64::from(index) << 40 ^ number);
    let count = (number % group.kind.modulus()) as f64;
    let mut elements: Vec<f64> = (0..group.elements()).map(|_| (noise.bits() >> 32) as i32 as f64 / 65_536.0).collect();
    let firsts = [count, f64::from(index)];
    elements.iter_mut().zip(firsts).for_each(|(element, first)| *element = first);
    from_numbers(group.kind, &elements)
}

/// Numbers as elements of a type; what is too large wraps around.
fn from_numbers(kind: Kind, numbers: &[f64]) -> Array {
    match kind {
        Kind::I16 => Array::I16(numbers.iter().map(|n| *n as i64 as i16).collect()),
        Kind::I32 => Array::I32(numbers.iter().map(|n| *n as i64 as i32).collect()),
        Kind::F32 => Array::F32(numbers.iter().map(|n| *n as f32).collect()),
        Kind::F64 => Array::F64(numbers.to_vec()),
        Kind::U8 | Kind::Enum | Kind::String => Array::U8(numbers.iter().map(|n| *n as i64 as u8).collect()),
    }
}

/// Puts a number in its place, if the array is so long.
fn overwrite(place: Option<&mut [u8]>, kind: Kind, value: u64, big_endian: bool) {
    let little = match kind {
        Kind::F32 => u64::from((value as f32).to_bits()),
        Kind::F64 => (value as f64).to_bits(),
        Kind::U8 | Kind::I16 | Kind::I32 | Kind::Enum | Kind::String => value,
    }
    .to_le_bytes();
    let Some(place) = place else { return };
    place.iter_mut().zip(little).for_each(|(byte, new)| *byte = new);
    if big_endian {
        place.reverse();
    }
}

/// The elements of an array of numbers as they are in memory of one or the other order.
pub(crate) fn bytes(array: &Array, big_endian: bool) -> Vec<u8> {
    match (array, big_endian) {
        (Array::U8(all), _) => all.clone(),
        (Array::I16(all), true) => all.iter().flat_map(|n| n.to_be_bytes()).collect(),
        (Array::I16(all), false) => all.iter().flat_map(|n| n.to_le_bytes()).collect(),
        (Array::I32(all), true) => all.iter().flat_map(|n| n.to_be_bytes()).collect(),
        (Array::I32(all), false) => all.iter().flat_map(|n| n.to_le_bytes()).collect(),
        (Array::F32(all), true) => all.iter().flat_map(|n| n.to_be_bytes()).collect(),
        (Array::F32(all), false) => all.iter().flat_map(|n| n.to_le_bytes()).collect(),
        (Array::F64(all), true) => all.iter().flat_map(|n| n.to_be_bytes()).collect(),
        (Array::F64(all), false) => all.iter().flat_map(|n| n.to_le_bytes()).collect(),
        _ => Vec::new(),
    }
}

/// The elements of an array of numbers, as numbers.
pub(crate) fn numbers(array: &Array) -> Vec<f64> {
    match array {
        Array::U8(all) => all.iter().map(|n| f64::from(*n)).collect(),
        Array::I16(all) => all.iter().map(|n| f64::from(*n)).collect(),
        Array::I32(all) => all.iter().map(|n| f64::from(*n)).collect(),
        Array::F32(all) => all.iter().map(|n| f64::from(*n)).collect(),
        Array::F64(all) => all.clone(),
        _ => Vec::new(),
    }
}

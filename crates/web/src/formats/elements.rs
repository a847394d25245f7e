//! Elements of arrays of numbers as text, many at a time.
//!
//! A waveform is thousands of numbers, mostly whole ones or the same again and again. Each is printed into a room of fixed size, and
//! what is in it is added to the answer at once: to look for room at each comma took as long as the digits.

use std::{
    io::{self, Write},
    ops::Range,
};

use sample::{Arrays, Column};
use serde::Serialize;

use super::plain::{Dialect, EXACT_MAX, non_finite, put_list, put_scalar};

/// How many elements are printed before they are added to the answer.
const AT_ONCE: usize = 64;
/// No number is longer with its comma: `-1.7976931348623157e+308`, or one of 64 bits between quotes.
const NUMBER_BYTES_MAX: usize = 32;

/// Floats beyond this are printed with an exponent, or have digits behind their point that are not exact.
const WHOLE_MAX: f64 = 1e15;
const WHOLE_MAX_F32: f32 = 16_777_216.0;

/// Some scalars in brackets.
pub(crate) fn put_elements(out: &mut Vec<u8>, elements: &Column, range: Range<usize>, dialect: Dialect) {
    out.push(b'[');
    if put_numbers(out, elements, range.clone(), dialect) {
        out.push(b']');
        return;
    }
    out.pop();
    put_list(out, range, |out, index| {
        if !put_scalar(out, elements, index, dialect) {
            out.extend_from_slice(b"null");
        }
    });
}

/// An array as a field of CSV, if nothing in it has to be escaped there; else nothing is written.
pub(crate) fn put_field(out: &mut Vec<u8>, arrays: &Arrays, row: usize) -> bool {
    let (start, range) = (out.len(), arrays.range(row));
    let has_commas = range.len() > 1;
    out.extend_from_slice(if has_commas { b"\"[" } else { b"[" });
    let begin = out.len();
    if !put_numbers(out, arrays.elements(), range, Dialect::Exact) || out[begin..].contains(&b'"') {
        out.truncate(start);
        return false;
    }
    out.extend_from_slice(if has_commas { b"]\"" } else { b"]" });
    true
}

/// Numbers with commas between them; false, and nothing is written, if they are none.
fn put_numbers(out: &mut Vec<u8>, elements: &Column, range: Range<usize>, dialect: Dialect) -> bool {
    match elements {
        Column::Bool(v) => {
            put_each(out, &v[range], |room, number| room.put_text(if number { b"true" } else { b"false" }))
        }
        Column::I8(v) => put_each(out, &v[range], |room, number| room.put_signed(number.into())),
        Column::U8(v) => put_each(out, &v[range], |room, number| room.put_digits(number.into())),
        Column::I16(v) => put_each(out, &v[range], |room, number| room.put_signed(number.into())),
        Column::U16(v) => put_each(out, &v[range], |room, number| room.put_digits(number.into())),
        Column::I32(v) | Column::Enum(v) => put_each(out, &v[range], |room, number| room.put_signed(number.into())),
        Column::U32(v) => put_each(out, &v[range], |room, number| room.put_digits(number.into())),
        Column::I64(v) => put_each(out, &v[range], |room, number: i64| {
            room.put_long(number.unsigned_abs(), dialect, |room| room.put_signed(number));
        }),
        Column::U64(v) => put_each(out, &v[range], |room, number| {
            room.put_long(number, dialect, |room| room.put_digits(number));
        }),
        Column::F32(v) => put_each(out, &v[range], |room, number| room.put_f32(number, dialect)),
        Column::F64(v) => put_each(out, &v[range], |room, number| room.put_f64(number, dialect)),
        Column::String(_) | Column::Structure(_) | Column::Array(_) => return false,
    }
    true
}

/// A number as it lies in memory.
trait Number: Copy {
    /// Whether two stretches of one length are equal in every bit. The first elements tell nearly always.
    fn are_same(own: &[Self], other: &[Self]) -> bool;
}

macro_rules! numbers {
    ($($number:ty: $value:ident => $bits:expr;)*) => {
        $(impl Number for $number {
            #[inline(always)]
            fn are_same(own: &[$number], other: &[$number]) -> bool {
                let bits = |$value: &$number| $bits;
                own.first().map(bits) == other.first().map(bits)
                    && own.iter().zip(other).fold(true, |same, (own, other)| same & (bits(own) == bits(other)))
            }
        })*
    };
}

numbers! {
    bool: value => *value;
    i8: value => *value;
    u8: value => *value;
    i16: value => *value;
    u16: value => *value;
    i32: value => *value;
    u32: value => *value;
    i64: value => *value;
    u64: value => *value;
    f32: value => value.to_bits();
    f64: value => value.to_bits();
}

/// Writes each number and a comma, but none behind the last. What equals what came before it has its text already.
#[inline(always)]
fn put_each<T: Number>(out: &mut Vec<u8>, numbers: &[T], put: impl Fn(&mut Room, T)) {
    let (mut text, mut end) = ([0; AT_ONCE * NUMBER_BYTES_MAX], 0);
    let mut before: &[T] = &[];
    for own in numbers.chunks(AT_ONCE) {
        if own.len() != before.len() || !T::are_same(own, before) {
            end = 0;
            for number in own {
                let Some(bytes) = text[end..].first_chunk_mut() else { break };
                let mut room = Room { bytes, len: 0 };
                put(&mut room, *number);
                room.put(b",");
                end += room.len;
            }
            before = own;
        }
        out.extend_from_slice(&text[..end]);
    }
    out.truncate(out.len() - usize::from(!numbers.is_empty()));
}

/// Room for one number and its comma.
struct Room<'a> {
    bytes: &'a mut [u8; NUMBER_BYTES_MAX],
    len: usize,
}

/// All numbers of two digits.
const PAIRS: [[u8; 2]; 100] = {
    let (mut pairs, mut number) = ([[0; 2]; 100], 0);
    while number < 100 {
        pairs[number] = [b'0' + number as u8 / 10, b'0' + number as u8 % 10];
        number += 1;
    }
    pairs
};

impl Room<'_> {
    #[inline(always)]
    fn put<const N: usize>(&mut self, text: &[u8; N]) {
        self.bytes[self.len..self.len + N].copy_from_slice(text);
        self.len += N;
    }

    #[inline(always)]
    fn put_digits(&mut self, number: u64) {
        if number < 10 {
            return self.put(&[b'0' + number as u8]);
        }
        let len = number.ilog10() as usize + 1;
        let (mut at, mut rest) = (self.len + len, number);
        while rest >= 100 {
            at -= 2;
            self.bytes[at..at + 2].copy_from_slice(&PAIRS[(rest % 100) as usize]);
            rest /= 100;
        }
        match rest {
            0..10 => self.bytes[at - 1] = b'0' + rest as u8,
            _ => self.bytes[at - 2..at].copy_from_slice(&PAIRS[rest as usize]),
        }
        self.len += len;
    }

    #[inline(always)]
    fn put_signed(&mut self, number: i64) {
        if number < 0 {
            self.put(b"-");
        }
        self.put_digits(number.unsigned_abs());
    }

    /// What readers that know only floats would not read exactly stands between quotes where that matters.
    #[inline(always)]
    fn put_long(&mut self, magnitude: u64, dialect: Dialect, put: impl Fn(&mut Self)) {
        if dialect == Dialect::Exact && magnitude > EXACT_MAX {
            self.put(b"\"");
            put(self);
            self.put(b"\"");
        } else {
            put(self);
        }
    }

    /// Whole numbers need no printer of floats, which takes four times as long.
    #[inline(always)]
    fn put_f64(&mut self, number: f64, dialect: Dialect) {
        let whole = number as i64;
        if (whole as f64).to_bits() == number.to_bits() && number.abs() < WHOLE_MAX {
            self.put_signed(whole);
            self.put(b".0");
        } else if number.is_finite() {
            self.put_float(&number);
        } else {
            self.put_text(non_finite(number, dialect).as_bytes());
        }
    }

    #[inline(always)]
    fn put_f32(&mut self, number: f32, dialect: Dialect) {
        let whole = number as i32;
        if (whole as f32).to_bits() == number.to_bits() && number.abs() < WHOLE_MAX_F32 {
            self.put_signed(whole.into());
            self.put(b".0");
        } else if number.is_finite() {
            self.put_float(&number);
        } else {
            self.put_text(non_finite(number.into(), dialect).as_bytes());
        }
    }

    fn put_float(&mut self, number: &impl Serialize) {
        serde_json::to_writer(self, number).expect("there is room for every number");
    }

    /// In copies of a fixed length that overlap: a call to copy took as long as to make the digits.
    #[inline(always)]
    fn put_text(&mut self, text: &[u8]) {
        match text.len() {
            16.. => self.put_ends::<16>(text),
            8.. => self.put_ends::<8>(text),
            4.. => self.put_ends::<4>(text),
            2.. => self.put_ends::<2>(text),
            _ => self.put_ends::<1>(text),
        }
    }

    /// A text of this length, or of up to twice of it.
    #[inline(always)]
    fn put_ends<const N: usize>(&mut self, text: &[u8]) {
        let (Some(first), Some(last)) = (text.first_chunk::<N>(), text.last_chunk::<N>()) else { return };
        let end = self.len + text.len();
        self.bytes[self.len..self.len + N].copy_from_slice(first);
        self.bytes[end - N..end].copy_from_slice(last);
        self.len = end;
    }
}

impl Write for Room<'_> {
    #[inline(always)]
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.put_text(text);
        Ok(text.len())
    }

    #[inline(always)]
    fn write_all(&mut self, text: &[u8]) -> io::Result<()> {
        self.put_text(text);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::formats::value::put;

    fn arrays(elements: Column) -> Arrays {
        let len = elements.len();
        Arrays::from_ends(vec![len], elements).unwrap()
    }

    /// Each number as the printer of single values has it.
    fn one_by_one(elements: &Column, dialect: Dialect) -> String {
        let mut out = Vec::new();
        put_list(&mut out, 0..elements.len(), |out, index| put(out, elements, index, dialect));
        String::from_utf8(out).unwrap()
    }

    fn check(elements: Column) {
        for dialect in [Dialect::Exact, Dialect::Appliance, Dialect::Viewer] {
            let expected = one_by_one(&elements, dialect);
            let mut out = b"before".to_vec();
            put_elements(&mut out, &elements, 0..elements.len(), dialect);
            assert_eq!(String::from_utf8(out).unwrap(), format!("before{expected}"));
        }
    }

    /// Whole numbers, those that nearly are, ends of ranges, and any bits.
    fn bits() -> impl Strategy<Value = u64> {
        let decimal = (any::<i64>(), 0..19u32).prop_map(|(digits, places)| {
            let number = digits as f64 / 10f64.powi(places as i32);
            number.to_bits()
        });
        let whole = (0..64u32, any::<u64>()).prop_map(|(shift, bits)| ((bits >> shift) as f64).to_bits());
        prop_oneof![any::<u64>(), (0..64u32, any::<u64>()).prop_map(|(shift, bits)| bits >> shift), decimal, whole]
    }

    proptest! {
        #[test]
        fn elements_of_every_type_are_printed_as_single_values_are(
            some in prop::collection::vec(bits(), 0..150),
            times in 1..4usize,
        ) {
            let some = some.repeat(times);
            let of = |make: fn(Vec<u64>) -> Column| make(some.clone());
            check(of(|v| Column::Bool(v.iter().map(|bits| bits & 1 == 1).collect())));
            check(of(|v| Column::I8(v.iter().map(|bits| *bits as i8).collect())));
            check(of(|v| Column::U8(v.iter().map(|bits| *bits as u8).collect())));
            check(of(|v| Column::I16(v.iter().map(|bits| *bits as i16).collect())));
            check(of(|v| Column::U16(v.iter().map(|bits| *bits as u16).collect())));
            check(of(|v| Column::I32(v.iter().map(|bits| *bits as i32).collect())));
            check(of(|v| Column::Enum(v.iter().map(|bits| *bits as i32).collect())));
            check(of(|v| Column::U32(v.iter().map(|bits| *bits as u32).collect())));
            check(of(|v| Column::I64(v.iter().map(|bits| *bits as i64).collect())));
            check(of(Column::U64));
            check(of(|v| Column::F32(v.iter().map(|bits| f64::from_bits(*bits) as f32).collect())));
            check(of(|v| Column::F32(v.iter().map(|bits| f32::from_bits(*bits as u32)).collect())));
            check(of(|v| Column::F64(v.iter().map(|bits| f64::from_bits(*bits)).collect())));
        }
    }

    #[test]
    fn floats_are_the_same_around_every_power_of_ten_and_two() {
        let powers = (-330..310).map(|power| format!("1e{power}").parse::<f64>().unwrap());
        let powers: Vec<f64> = powers.chain((-20..70).map(|power| 2f64.powi(power))).collect();
        let near = |number: &f64| {
            let bits = number.to_bits() as i64;
            let next = (-3..4).map(move |step| f64::from_bits(bits.saturating_add(step).max(0) as u64));
            let number = *number;
            next.chain((-3..4).map(move |step| number + f64::from(step))).flat_map(|number| [number, -number])
        };
        let all: Vec<f64> = powers.iter().flat_map(near).collect();
        check(Column::F32(all.iter().map(|number| *number as f32).collect()));
        check(Column::F64(all));
        check(Column::F64(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0]));
    }

    #[test]
    fn texts_and_empty_arrays_are_as_they_were() {
        check(Column::String(["a\"b", "", "c"].into_iter().collect()));
        check(Column::F64(Vec::new()));
        check(Column::String(std::iter::empty::<&str>().collect()));
    }

    #[test]
    fn a_field_is_quoted_if_there_are_commas_and_left_to_others_if_there_are_quotes() {
        let field = |elements: Column| {
            let mut out = b"x,".to_vec();
            put_field(&mut out, &arrays(elements), 0).then(|| String::from_utf8(out.clone()).unwrap()).ok_or(out)
        };
        assert_eq!(field(Column::I16(vec![1, -2])), Ok("x,\"[1,-2]\"".to_owned()));
        assert_eq!(field(Column::F64(vec![0.5])), Ok("x,[0.5]".to_owned()));
        assert_eq!(field(Column::U8(Vec::new())), Ok("x,[]".to_owned()));
        assert_eq!(field(Column::F64(vec![0.5, f64::NAN])), Err(b"x,".to_vec()));
        assert_eq!(field(Column::String(["a"].into_iter().collect())), Err(b"x,".to_vec()));
    }
}

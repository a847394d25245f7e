//! Likeness: whether two archives mean one value, whatever type each of them keeps it in, or one of them keeps less of it.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use pvdata::{Array, Tree, decode_structure};
use sample::{Column, Element, Value};

/// How alike two values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likeness {
    /// One number, text or list, maybe in two types.
    Equal,
    /// One of them is what is left of the other in a narrower type, or its beginning.
    Narrowed,
    /// Neither.
    Different,
}

/// Compares two values.
pub fn likeness(a: &Value, b: &Value) -> Likeness {
    if a.identical(b) {
        return Likeness::Equal;
    }
    match (a, b) {
        (Value::Structure(a), Value::Structure(b)) => {
            let values = inside(a).zip(inside(b));
            values.map_or(Likeness::Different, |(a, b)| likeness(&a, &b))
        }
        (Value::Structure(bytes), other) | (other, Value::Structure(bytes)) => {
            inside(bytes).map_or(Likeness::Different, |value| likeness(&value, other))
        }
        (Value::String(a), Value::String(b)) => beginning(a.as_bytes(), b.as_bytes()),
        (Value::Array(a), Value::Array(b)) => lists(a, b),
        (a, b) => numbers(a, b),
    }
}

fn beginning<T: PartialEq>(a: &[T], b: &[T]) -> Likeness {
    let is_begun = !a.is_empty() && !b.is_empty() && (a.starts_with(b) || b.starts_with(a));
    if is_begun { Likeness::Narrowed } else { Likeness::Different }
}

fn lists(a: &Column, b: &Column) -> Likeness {
    let both = a.len().min(b.len());
    let worst = (0..both).map(|row| likeness(&a.get(row), &b.get(row))).max().unwrap_or(Likeness::Equal);
    match worst {
        Likeness::Equal if a.len() != b.len() && both > 0 => Likeness::Narrowed,
        Likeness::Equal if a.len() != b.len() => Likeness::Different,
        worst => worst,
    }
}

fn numbers(a: &Value, b: &Value) -> Likeness {
    let (Some((a_type, a_bits)), Some((b_type, b_bits))) = (a.bits(), b.bits()) else { return Likeness::Different };
    let is_float = |element| matches!(element, Element::F32 | Element::F64);
    if !is_float(a_type) && !is_float(b_type) {
        let number =
            |element, bits: u64| if element == Element::U64 { i128::from(bits) } else { i128::from(bits as i64) };
        if number(a_type, a_bits) == number(b_type, b_bits) {
            return Likeness::Equal;
        }
        let width = bits_of(a_type).min(bits_of(b_type));
        let is_same = (a_bits ^ b_bits) << (64 - width) == 0;
        return if is_same { Likeness::Narrowed } else { Likeness::Different };
    }
    let (Some(a), Some(b)) = (a.as_f64(), b.as_f64()) else { return Likeness::Different };
    if a == b && a.is_sign_negative() == b.is_sign_negative() || a.is_nan() && b.is_nan() && a_type != b_type {
        Likeness::Equal
    } else if a as f32 == b as f32 && (a_type == Element::F32 || b_type == Element::F32) {
        Likeness::Narrowed
    } else {
        Likeness::Different
    }
}

fn bits_of(element: Element) -> u32 {
    match element {
        Element::Bool => 1,
        Element::I8 | Element::U8 => 8,
        Element::I16 | Element::U16 | Element::Enum => 16,
        Element::I32 | Element::U32 => 32,
        _ => 64,
    }
}

/// The value in a structure that is nothing but a number, a text or a list with its alarm and time.
fn inside(bytes: &[u8]) -> Option<Value> {
    let data = decode_structure(bytes).ok()?;
    let (_, _, tree) = data.fields().find(|(name, ..)| *name == "value")?;
    Some(match tree {
        Tree::Bool(v) => Value::Bool(*v),
        Tree::I64(v) => Value::I64(*v),
        Tree::U64(v) => Value::U64(*v),
        Tree::I32(v) => Value::I32(*v),
        Tree::U32(v) => Value::U32(*v),
        Tree::F64(v) => Value::F64(*v),
        Tree::Array(Array::Bool(v)) => Value::Array(Column::Bool(v.clone())),
        Tree::Array(Array::I64(v)) => Value::Array(Column::I64(v.clone())),
        Tree::Array(Array::U64(v)) => Value::Array(Column::U64(v.clone())),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_in_two_types_is_equal_and_what_is_left_of_it_is_narrowed() {
        use Likeness::*;
        let text = |text: &str| Value::String(text.into());
        let list = |list: &[f64]| Value::Array(Column::F64(list.to_vec()));
        for (a, b, expected) in [
            (Value::F64(f64::NAN), Value::F64(f64::NAN), Equal),
            (Value::F64(-0.0), Value::F64(0.0), Different),
            (Value::I32(7), Value::F64(7.0), Equal),
            (Value::I32(7), Value::F64(7.5), Different),
            (Value::U16(40_000), Value::I16(-25_536), Narrowed),
            (Value::U64(u64::MAX), Value::I64(-1), Narrowed),
            (Value::I64(1 << 40), Value::I32(0), Narrowed),
            (Value::Enum(3), Value::I32(3), Equal),
            (Value::F64(0.1), Value::F32(0.1), Narrowed),
            (Value::F64(0.5), Value::F32(0.5), Equal),
            (Value::F64(0.1), Value::F64(0.100_000_000_1), Different),
            (text("a longer text"), text("a longer"), Narrowed),
            (text("a"), text("b"), Different),
            (text("a"), text(""), Different),
            (text("7"), Value::I32(7), Different),
            (list(&[1.0, 2.0]), list(&[1.0]), Narrowed),
            (list(&[1.0, 2.0]), list(&[]), Different),
            (list(&[1.0, 2.0]), list(&[1.0, 3.0]), Different),
            (list(&[1.0]), Value::Array(Column::I32(vec![1])), Equal),
        ] {
            assert_eq!(likeness(&a, &b), expected, "{a:?} {b:?}");
            assert_eq!(likeness(&b, &a), expected, "{b:?} {a:?}");
        }
    }
}

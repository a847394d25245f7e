//! A column: the values of many samples of one type, side by side.

use std::sync::Arc;

use crate::{Element, Shape, Value, ValueType};

/// Many byte strings, one behind the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blobs {
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl Blobs {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Adds one.
    pub fn push(&mut self, blob: &[u8]) {
        self.bytes.extend_from_slice(blob);
        self.ends.push(self.bytes.len());
    }

    /// The one at `index`. Panics beyond the last, like a slice.
    pub fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }

    /// All of them in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|i| self.get(i))
    }

    /// All bytes, without borders.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Roughly how many bytes of memory some of them take.
    fn byte_size_of(&self, range: std::ops::Range<usize>) -> usize {
        let Some(last) = range.end.checked_sub(1).filter(|_| !range.is_empty()) else { return 0 };
        let start = if range.start == 0 { 0 } else { self.ends[range.start - 1] };
        self.ends[last] - start + range.len() * size_of::<usize>()
    }
}

/// Many texts, one behind the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strings(Blobs);

impl Strings {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// From their bytes; none if one of them is no UTF-8.
    pub fn from_blobs(blobs: Blobs) -> Option<Strings> {
        let all = std::str::from_utf8(&blobs.bytes).ok()?;
        blobs.ends.iter().all(|end| all.is_char_boundary(*end)).then_some(Strings(blobs))
    }

    /// Adds one.
    pub fn push(&mut self, text: &str) {
        self.0.push(text.as_bytes());
    }

    /// The one at `index`. Panics beyond the last, like a slice.
    pub fn get(&self, index: usize) -> &str {
        std::str::from_utf8(self.0.get(index)).expect("only push adds to it, and only whole strings")
    }

    /// All of them in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|i| self.get(i))
    }

    /// All bytes, without borders.
    pub fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }
}

impl<'a> FromIterator<&'a str> for Strings {
    fn from_iter<I: IntoIterator<Item = &'a str>>(texts: I) -> Strings {
        let mut strings = Strings::default();
        for text in texts {
            strings.push(text);
        }
        strings
    }
}

/// Many arrays of one element type, their elements one behind the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrays {
    ends: Vec<usize>,
    elements: Box<Column>,
}

impl Arrays {
    /// No arrays yet, of this element.
    pub fn new(element: Element) -> Arrays {
        Arrays { ends: Vec::new(), elements: Box::new(Column::new(ValueType::scalar(element))) }
    }

    /// From where each array ends in `elements`; none if that is no division of them.
    pub fn from_ends(ends: Vec<usize>, elements: Column) -> Option<Arrays> {
        let divides = ends.is_sorted() && ends.last().copied().unwrap_or(0) == elements.len();
        let flat = !matches!(elements, Column::Array(_));
        (divides && flat).then(|| Arrays { ends, elements: Box::new(elements) })
    }

    /// How many arrays there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The elements of all arrays in one column.
    pub fn elements(&self) -> &Column {
        &self.elements
    }

    /// The elements alone.
    pub fn into_elements(self) -> Column {
        *self.elements
    }

    /// Where the array at `index` lies in `elements`. Panics beyond the last, like a slice.
    pub fn range(&self, index: usize) -> std::ops::Range<usize> {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        start..self.ends[index]
    }

    /// Adds an array; refused (false) if its elements are of another type.
    #[must_use]
    pub fn push(&mut self, array: &Column) -> bool {
        let fits = self.elements.extend_from(array, 0..array.len());
        if fits {
            self.ends.push(self.elements.len());
        }
        fits
    }
}

/// The values of many samples of one type.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the variants are the elements, documented there")]
pub enum Column {
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
    String(Strings),
    Structure(Blobs),
    Array(Arrays),
}

/// Does the same with the vector of numbers inside, whatever its type; texts, blobs and arrays get their own arms.
macro_rules! each {
    ($column:expr, $numbers:ident => $do:expr, $strings:ident => $do_strings:expr, $blobs:ident => $do_blobs:expr, $arrays:ident => $do_arrays:expr) => {
        match $column {
            Column::Bool($numbers) => $do,
            Column::I8($numbers) => $do,
            Column::U8($numbers) => $do,
            Column::I16($numbers) => $do,
            Column::U16($numbers) => $do,
            Column::I32($numbers) => $do,
            Column::U32($numbers) => $do,
            Column::I64($numbers) => $do,
            Column::U64($numbers) => $do,
            Column::F32($numbers) => $do,
            Column::F64($numbers) => $do,
            Column::Enum($numbers) => $do,
            Column::String($strings) => $do_strings,
            Column::Structure($blobs) => $do_blobs,
            Column::Array($arrays) => $do_arrays,
        }
    };
}

impl Column {
    /// An empty column of this type.
    pub fn new(value_type: ValueType) -> Column {
        if value_type.shape == Shape::Array {
            return Column::Array(Arrays::new(value_type.element));
        }
        match value_type.element {
            Element::Bool => Column::Bool(Vec::new()),
            Element::I8 => Column::I8(Vec::new()),
            Element::U8 => Column::U8(Vec::new()),
            Element::I16 => Column::I16(Vec::new()),
            Element::U16 => Column::U16(Vec::new()),
            Element::I32 => Column::I32(Vec::new()),
            Element::U32 => Column::U32(Vec::new()),
            Element::I64 => Column::I64(Vec::new()),
            Element::U64 => Column::U64(Vec::new()),
            Element::F32 => Column::F32(Vec::new()),
            Element::F64 => Column::F64(Vec::new()),
            Element::Enum => Column::Enum(Vec::new()),
            Element::String => Column::String(Strings::default()),
            Element::Structure => Column::Structure(Blobs::default()),
        }
    }

    /// An empty column of this type with room for so many values, if they are numbers.
    pub fn with_capacity(value_type: ValueType, values: usize) -> Column {
        let mut column = Column::new(value_type);
        each!(&mut column, v => v.reserve_exact(values), _s => (), _b => (), _a => ());
        column
    }

    /// The type of its values.
    pub fn value_type(&self) -> ValueType {
        ValueType::scalar(match self {
            Column::Bool(_) => Element::Bool,
            Column::I8(_) => Element::I8,
            Column::U8(_) => Element::U8,
            Column::I16(_) => Element::I16,
            Column::U16(_) => Element::U16,
            Column::I32(_) => Element::I32,
            Column::U32(_) => Element::U32,
            Column::I64(_) => Element::I64,
            Column::U64(_) => Element::U64,
            Column::F32(_) => Element::F32,
            Column::F64(_) => Element::F64,
            Column::Enum(_) => Element::Enum,
            Column::String(_) => Element::String,
            Column::Structure(_) => Element::Structure,
            Column::Array(arrays) => return ValueType::array(arrays.elements.value_type().element),
        })
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        each!(self, v => v.len(), s => s.len(), b => b.len(), a => a.len())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Roughly how many bytes of memory the values take, for limits on buffers.
    pub fn byte_size(&self) -> usize {
        const END: usize = size_of::<usize>();
        each!(self,
            v => size_of_val(v.as_slice()),
            s => s.bytes().len() + s.len() * END,
            b => b.bytes().len() + b.len() * END,
            a => a.elements.byte_size() + a.len() * END)
    }

    /// The memory that it holds, with what is kept for more values.
    pub fn memory(&self) -> usize {
        const END: usize = size_of::<usize>();
        let blobs = |blobs: &Blobs| blobs.bytes.capacity() + blobs.ends.capacity() * END;
        each!(self,
            v => v.capacity() * v.first().map_or(0, size_of_val),
            s => blobs(&s.0),
            b => blobs(b),
            a => a.elements.memory() + a.ends.capacity() * END)
    }

    pub(crate) fn shrink(&mut self) {
        let blobs = |blobs: &mut Blobs| {
            blobs.bytes.shrink_to_fit();
            blobs.ends.shrink_to_fit();
        };
        each!(self,
        v => v.shrink_to_fit(),
        s => blobs(&mut s.0),
        b => blobs(b),
        a => {
            a.ends.shrink_to_fit();
            a.elements.shrink();
        })
    }

    /// `Value::byte_size` of the value at `index`, found without copying it. Panics beyond the last, like a slice.
    pub fn byte_size_at(&self, index: usize) -> usize {
        match self {
            Column::String(texts) => texts.get(index).len(),
            Column::Structure(blobs) => blobs.get(index).len(),
            Column::Array(arrays) => {
                let range = arrays.range(index);
                match &*arrays.elements {
                    Column::String(texts) => texts.0.byte_size_of(range),
                    Column::Structure(blobs) => blobs.byte_size_of(range),
                    numbers => range.len() * numbers.value_type().element.number_bytes(),
                }
            }
            _ => 0,
        }
    }

    /// Takes all values out. Of numbers the memory stays.
    pub fn clear(&mut self) {
        each!(self,
        v => v.clear(),
        s => *s = Strings::default(),
        b => *b = Blobs::default(),
        a => {
            a.ends.clear();
            a.elements.clear();
        })
    }

    /// Adds a value; refused (false) if it is of another type.
    #[must_use]
    pub fn push(&mut self, value: &Value) -> bool {
        match (self, value) {
            (Column::Bool(column), Value::Bool(v)) => column.push(*v),
            (Column::I8(column), Value::I8(v)) => column.push(*v),
            (Column::U8(column), Value::U8(v)) => column.push(*v),
            (Column::I16(column), Value::I16(v)) => column.push(*v),
            (Column::U16(column), Value::U16(v)) => column.push(*v),
            (Column::I32(column), Value::I32(v)) => column.push(*v),
            (Column::U32(column), Value::U32(v)) => column.push(*v),
            (Column::I64(column), Value::I64(v)) => column.push(*v),
            (Column::U64(column), Value::U64(v)) => column.push(*v),
            (Column::F32(column), Value::F32(v)) => column.push(*v),
            (Column::F64(column), Value::F64(v)) => column.push(*v),
            (Column::Enum(column), Value::Enum(v)) => column.push(*v),
            (Column::String(column), Value::String(v)) => column.push(v),
            (Column::Structure(column), Value::Structure(v)) => column.push(v),
            (Column::Array(column), Value::Array(v)) => return column.push(v),
            _ => return false,
        }
        true
    }

    /// The value at `index`. Panics beyond the last, like a slice.
    pub fn get(&self, index: usize) -> Value {
        match self {
            Column::Bool(column) => Value::Bool(column[index]),
            Column::I8(column) => Value::I8(column[index]),
            Column::U8(column) => Value::U8(column[index]),
            Column::I16(column) => Value::I16(column[index]),
            Column::U16(column) => Value::U16(column[index]),
            Column::I32(column) => Value::I32(column[index]),
            Column::U32(column) => Value::U32(column[index]),
            Column::I64(column) => Value::I64(column[index]),
            Column::U64(column) => Value::U64(column[index]),
            Column::F32(column) => Value::F32(column[index]),
            Column::F64(column) => Value::F64(column[index]),
            Column::Enum(column) => Value::Enum(column[index]),
            Column::String(column) => Value::String(column.get(index).into()),
            Column::Structure(column) => Value::Structure(Arc::from(column.get(index))),
            Column::Array(arrays) => {
                let mut elements = Column::new(arrays.elements.value_type());
                let fits = elements.extend_from(&arrays.elements, arrays.range(index));
                assert!(fits, "a column takes values of its own type");
                Value::Array(elements)
            }
        }
    }

    /// The single number at `index` as its type and its bits, as `Value::bits` gives them; none of any other value. Panics
    /// beyond the last, like a slice.
    #[inline]
    pub fn bits_at(&self, index: usize) -> Option<(Element, u64)> {
        match self {
            Column::F64(column) => Some((Element::F64, column[index].to_bits())),
            Column::String(_) | Column::Structure(_) | Column::Array(_) => None,
            numbers => numbers.get(index).bits(),
        }
    }

    /// The number at `index`, where the type has one.
    pub fn f64_at(&self, index: usize) -> Option<f64> {
        match self {
            Column::F64(column) => Some(column[index]),
            Column::String(_) | Column::Structure(_) | Column::Array(_) => None,
            other => other.get(index).as_f64(),
        }
    }

    /// Adds a stretch of another column; refused (false, nothing added) if it is of another type.
    /// Panics if `range` reaches beyond it, like a slice.
    #[must_use]
    pub fn extend_from(&mut self, other: &Column, range: std::ops::Range<usize>) -> bool {
        match (self, other) {
            (Column::Bool(column), Column::Bool(v)) => column.extend_from_slice(&v[range]),
            (Column::I8(column), Column::I8(v)) => column.extend_from_slice(&v[range]),
            (Column::U8(column), Column::U8(v)) => column.extend_from_slice(&v[range]),
            (Column::I16(column), Column::I16(v)) => column.extend_from_slice(&v[range]),
            (Column::U16(column), Column::U16(v)) => column.extend_from_slice(&v[range]),
            (Column::I32(column), Column::I32(v)) => column.extend_from_slice(&v[range]),
            (Column::U32(column), Column::U32(v)) => column.extend_from_slice(&v[range]),
            (Column::I64(column), Column::I64(v)) => column.extend_from_slice(&v[range]),
            (Column::U64(column), Column::U64(v)) => column.extend_from_slice(&v[range]),
            (Column::F32(column), Column::F32(v)) => column.extend_from_slice(&v[range]),
            (Column::F64(column), Column::F64(v)) => column.extend_from_slice(&v[range]),
            (Column::Enum(column), Column::Enum(v)) => column.extend_from_slice(&v[range]),
            (Column::String(column), Column::String(v)) => range.for_each(|i| column.push(v.get(i))),
            (Column::Structure(column), Column::Structure(v)) => range.for_each(|i| column.push(v.get(i))),
            (Column::Array(column), Column::Array(v)) => return extend_arrays(column, v, range),
            _ => return false,
        }
        true
    }

    /// Equal to the last bit, so that NaN equals itself and -0 differs from 0.
    pub fn identical(&self, other: &Column) -> bool {
        match (self, other) {
            (Column::F32(a), Column::F32(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
            }
            (Column::F64(a), Column::F64(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
            }
            (Column::Array(a), Column::Array(b)) => a.ends == b.ends && a.elements.identical(&b.elements),
            (a, b) => a == b,
        }
    }

    /// Whether the values at two places are equal to the last bit, found without copying them. Panics beyond the last, like
    /// a slice.
    pub fn identical_at(&self, a: usize, b: usize) -> bool {
        match self {
            Column::F32(column) => column[a].to_bits() == column[b].to_bits(),
            Column::F64(column) => column[a].to_bits() == column[b].to_bits(),
            Column::String(column) => column.get(a) == column.get(b),
            Column::Structure(column) => column.get(a) == column.get(b),
            Column::Array(arrays) => {
                let (a, b) = (arrays.range(a), arrays.range(b));
                a.len() == b.len() && a.zip(b).all(|(a, b)| arrays.elements.identical_at(a, b))
            }
            others => others.get(a).identical(&others.get(b)),
        }
    }
}

fn extend_arrays(arrays: &mut Arrays, other: &Arrays, range: std::ops::Range<usize>) -> bool {
    if arrays.elements.value_type() != other.elements.value_type() {
        return false;
    }
    if range.is_empty() {
        return true;
    }
    let (before, first) = (arrays.elements.len(), other.range(range.start).start);
    let elements = first..other.range(range.end - 1).end;
    let fits = arrays.elements.extend_from(&other.elements, elements);
    assert!(fits, "the element types were compared above");
    arrays.ends.extend(other.ends[range].iter().map(|end| before + (end - first)));
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_into_a_column_comes_out_again() {
        let array = |values: &[f32]| Value::Array(Column::F32(values.to_vec()));
        let texts = |texts: &[&str]| Value::Array(Column::String(texts.iter().copied().collect()));
        let cases: Vec<Vec<Value>> = vec![
            vec![Value::Bool(true), Value::Bool(false)],
            vec![Value::F64(f64::NAN), Value::F64(-0.0)],
            vec![Value::String("µA".into()), Value::String("".into())],
            vec![Value::Structure(Arc::from([1u8, 2].as_slice()))],
            vec![array(&[1.0, f32::NAN]), array(&[]), array(&[3.0]), array(&[1.0, f32::NAN]), array(&[1.0, 2.0])],
            vec![texts(&["a", "µ"]), texts(&[]), texts(&["", "longer"])],
        ];
        for values in cases {
            let mut column = Column::new(values[0].value_type());
            for value in &values {
                assert!(column.push(value));
            }
            assert_eq!(column.len(), values.len());
            for (index, value) in values.iter().enumerate() {
                assert!(column.get(index).identical(value), "{value:?}");
                assert_eq!(column.byte_size_at(index), value.byte_size(), "{value:?}");
                for (other, another) in values.iter().enumerate() {
                    assert_eq!(column.identical_at(index, other), value.identical(another), "{value:?} {another:?}");
                }
            }
            let mut copy = Column::new(column.value_type());
            assert!(copy.extend_from(&column, 0..column.len()));
            assert!(copy.identical(&column));
        }
    }

    #[test]
    fn texts_are_made_of_bytes_that_are_such_each_for_itself() {
        let blobs = |texts: &[&[u8]]| {
            let mut blobs = Blobs::default();
            texts.iter().for_each(|text| blobs.push(text));
            Strings::from_blobs(blobs)
        };
        assert_eq!(blobs(&["µ".as_bytes(), b"", b"A"]), Some(["µ", "", "A"].into_iter().collect()));
        assert_eq!(blobs(&[&"µ".as_bytes()[..1], &"µ".as_bytes()[1..]]), None, "only both together are a text");
        assert_eq!(blobs(&[b"A", &[0xff]]), None);
    }

    #[test]
    fn a_value_of_another_type_is_refused_and_changes_nothing() {
        let mut column = Column::Array(Arrays::new(Element::F64));
        assert!(!column.push(&Value::F64(1.0)));
        assert!(!column.push(&Value::Array(Column::I32(vec![1]))));
        assert!(column.is_empty());
        assert!(!column.extend_from(&Column::Array(Arrays::new(Element::I32)), 0..0));
    }
}

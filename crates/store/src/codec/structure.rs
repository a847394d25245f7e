//! Structures: a column for each field, so that one field can be read without the others and each is packed as what it is.
//!
//! ```text
//!   structures := texts                          as in `text.rs`: structures of many types, or what is no pvData
//!               | 2:u8 type:blob values:blob*    columns: the description that all have, then a column for each leaf of the type,
//!                                                depth first
//! ```

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use archive::structure::Layout;
use sample::{Blobs, Column};

use super::{Effort, text, values};
use crate::bytes::{Cursor, Malformed, put_blob, put_blob_of};

const COLUMNS: u8 = 2;

/// So many values may all columns of a block have together: constant columns take no bytes, and a reader must not take memory
/// for what is only claimed.
const VALUES_MAX: usize = 1 << 22;

pub(crate) fn put(out: &mut Vec<u8>, structures: &Blobs, effort: Effort) {
    let layout = (!structures.is_empty()).then(|| Layout::read(structures.get(0))).flatten();
    let layout = layout.filter(|layout| layout.leaves.len() * structures.len() <= VALUES_MAX);
    let columns = layout.as_ref().and_then(|layout| layout.split(structures.iter()));
    let Some((layout, columns)) = layout.as_ref().zip(columns) else {
        return text::put(out, structures.iter(), effort);
    };
    out.push(COLUMNS);
    put_blob(out, &layout.description);
    for column in &columns {
        put_blob_of(out, |out| put_leaf(out, column, effort));
    }
}

/// Unions and the like stay pvData: byte strings that have no description of their own to be taken apart by.
fn put_leaf(out: &mut Vec<u8>, column: &Column, effort: Effort) {
    match column {
        Column::Structure(blobs) => text::put(out, blobs.iter(), effort),
        column => values::put(out, column, effort),
    }
}

/// The caller vouches for `count`: the memory for so many structures is taken, whatever the bytes are.
pub(crate) fn take(cursor: &mut Cursor, count: usize) -> Result<Blobs, Malformed> {
    if cursor.first() != Some(COLUMNS) {
        return text::take(cursor, count);
    }
    let layout = take_layout(cursor, count)?;
    let mut columns = Vec::with_capacity(layout.leaves.len());
    for leaf in 0..layout.leaves.len() {
        columns.push(take_leaf(cursor.blob()?, &layout, leaf, count)?);
    }
    let joined = layout.join(&columns, count, text::COLUMN_BYTES_MAX);
    joined.ok_or(Malformed("the columns of a structure do not fit its type"))
}

/// One field of structures.
pub(crate) enum Field {
    /// Its column; that of no other field was decoded.
    Column(Column),
    /// The structures have no such field.
    Absent,
    /// They are kept whole.
    Whole,
}

/// Takes one field alone, if the structures are kept as columns. The caller vouches for `count`.
pub(crate) fn take_field(cursor: &mut Cursor, count: usize, path: &str) -> Result<Field, Malformed> {
    if cursor.first() != Some(COLUMNS) {
        return Ok(Field::Whole);
    }
    let layout = take_layout(cursor, count)?;
    let Some(leaf) = layout.leaf(path) else { return Ok(Field::Absent) };
    for _ in 0..leaf {
        cursor.blob()?;
    }
    take_leaf(cursor.blob()?, &layout, leaf, count).map(Field::Column)
}

fn take_layout(cursor: &mut Cursor, count: usize) -> Result<Layout, Malformed> {
    cursor.u8()?;
    let description = cursor.blob()?;
    let layout = Layout::read(description).filter(|layout| layout.description.len() == description.len());
    let layout = layout.ok_or(Malformed("a structure has no readable type"))?;
    if layout.leaves.len() * count > VALUES_MAX {
        return Err(Malformed("structures have too many fields"));
    }
    Ok(layout)
}

fn take_leaf(values: &[u8], layout: &Layout, leaf: usize, count: usize) -> Result<Column, Malformed> {
    let value_type = layout.leaves.get(leaf).ok_or(Malformed("a structure has no such field"))?.value_type();
    let mut cursor = Cursor::new(values);
    let column = if value_type == sample::ValueType::scalar(sample::Element::Structure) {
        Column::Structure(text::take(&mut cursor, count)?)
    } else {
        values::take(&mut cursor, value_type, count)?
    };
    if cursor.is_empty() { Ok(column) } else { Err(Malformed("a column is longer than its content")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::structure::example;

    fn blobs(structures: impl IntoIterator<Item = Vec<u8>>) -> Blobs {
        let mut blobs = Blobs::default();
        structures.into_iter().for_each(|structure| blobs.push(&structure));
        blobs
    }

    #[test]
    fn structures_of_one_type_become_columns_and_come_back() {
        for count in [1, 7, 700] {
            let structures = blobs((0..count).map(example));
            let mut bytes = Vec::new();
            put(&mut bytes, &structures, Effort::Flush);
            assert_eq!(bytes.first(), Some(&COLUMNS));
            let mut cursor = Cursor::new(&bytes);
            assert_eq!(take(&mut cursor, count as usize), Ok(structures.clone()));
            assert!(cursor.is_empty());
            let whole = structures.bytes().len();
            assert!(count < 700 || bytes.len() * 20 < whole, "{} of {whole} bytes", bytes.len());
        }
    }

    #[test]
    fn what_is_no_pvdata_or_of_two_types_stays_whole() {
        for structures in [blobs([vec![1, 2], vec![3]]), blobs([example(1), vec![0x22, 1, 0, 0, 0]]), Blobs::default()]
        {
            let mut bytes = Vec::new();
            put(&mut bytes, &structures, Effort::Flush);
            assert_ne!(bytes.first(), Some(&COLUMNS));
            assert_eq!(take(&mut Cursor::new(&bytes), structures.len()), Ok(structures));
        }
    }
}

//! Samples as a MATLAB file of version 5: a structure `header` that says what was asked, and a structure `data` with the columns
//! `epochSeconds`, `values`, `nanos` and `isDST`, which is 0: times are UTC.
//!
//! The format stands in "MAT-File Format", The MathWorks. Numbers are big-endian here, as the letters MI at the end of the header say.

use sample::Timestamp;

use super::gathered::GatheredNumbers;
use crate::formats::appliance_values::instant;

/// Types of data.
pub(super) const INT8: u32 = 1;
pub(super) const UINT8: u32 = 2;
pub(super) const UINT16: u32 = 4;
pub(super) const INT32: u32 = 5;
pub(super) const UINT32: u32 = 6;
pub(super) const DOUBLE: u32 = 9;
pub(super) const INT64: u32 = 12;
pub(super) const UINT64: u32 = 13;
pub(super) const MATRIX: u32 = 14;
pub(super) const UTF8: u32 = 16;

/// Classes of matrices.
pub(super) const CELL_CLASS: u32 = 1;
pub(super) const STRUCTURE_CLASS: u32 = 2;
pub(super) const TEXT_CLASS: u32 = 4;
pub(super) const DOUBLE_CLASS: u32 = 6;
pub(super) const UINT8_CLASS: u32 = 9;
pub(super) const UINT16_CLASS: u32 = 11;
pub(super) const INT64_CLASS: u32 = 14;
pub(super) const UINT64_CLASS: u32 = 15;

/// The first 116 bytes are a text for people.
const TEXT_LEN: usize = 116;
/// Behind them stand eight bytes that say nothing here.
const HEADER_LEN: usize = 124;

/// The whole file.
pub(crate) fn file(name: &str, asked: [Timestamp; 2], made: Timestamp, gathered: &GatheredNumbers) -> Vec<u8> {
    let mut out = beginning(&format!("MATLAB 5.0 MAT-file, Platform: pvark, CREATED on: {made}"));
    let [from, to] = asked.map(instant);
    put_structure(
        &mut out,
        "header",
        &[("source", text("pvark")), ("pvName", text(name)), ("from", text(&from)), ("to", text(&to))],
    );
    let rows = gathered.times.len();
    let seconds = gathered.times.iter().flat_map(|time| time.seconds_and_nanos().0.to_be_bytes()).collect();
    let nanos = gathered.times.iter().flat_map(|time| i64::from(time.seconds_and_nanos().1).to_be_bytes()).collect();
    let width = gathered.width();
    let values = (0..width).flat_map(|column| (0..rows).map(move |row| (row, column)));
    let values = values.map(|(row, column)| gathered.row(row).get(column).copied().unwrap_or(f64::NAN));
    put_structure(
        &mut out,
        "data",
        &[
            ("epochSeconds", MatrixMember { class: INT64_CLASS, size: [rows, 1], data: INT64, bytes: seconds }),
            (
                "values",
                MatrixMember {
                    class: DOUBLE_CLASS,
                    size: [rows, width],
                    data: DOUBLE,
                    bytes: values.flat_map(f64::to_be_bytes).collect(),
                },
            ),
            ("nanos", MatrixMember { class: INT64_CLASS, size: [rows, 1], data: INT64, bytes: nanos }),
            ("isDST", MatrixMember { class: UINT8_CLASS, size: [rows, 1], data: UINT8, bytes: vec![0; rows] }),
        ],
    );
    out
}

/// What every file begins with: a text for people, and in which order bytes stand.
pub(super) fn beginning(text: &str) -> Vec<u8> {
    let mut out = text.as_bytes().to_vec();
    out.truncate(TEXT_LEN);
    out.resize(TEXT_LEN, b' ');
    out.resize(HEADER_LEN, 0);
    out.extend_from_slice(&[1, 0, b'M', b'I']);
    out
}

/// A matrix that is a member of a structure.
struct MatrixMember {
    class: u32,
    size: [usize; 2],
    data: u32,
    bytes: Vec<u8>,
}

fn text(text: &str) -> MatrixMember {
    MatrixMember { class: TEXT_CLASS, size: [1, text.chars().count()], data: UTF8, bytes: text.as_bytes().to_vec() }
}

fn put_structure(out: &mut Vec<u8>, name: &str, members: &[(&str, MatrixMember)]) {
    let mut body = structure_head(name, members.iter().map(|(name, _)| *name));
    for (name, member) in members {
        let mut matrix = head(member.class, member.size, name);
        put(&mut matrix, member.data, &member.bytes);
        put(&mut body, MATRIX, &matrix);
    }
    put(out, MATRIX, &body);
}

/// What a structure begins with: its name, and those of its members.
pub(super) fn structure_head<'n>(name: &str, members: impl Iterator<Item = &'n str> + Clone) -> Vec<u8> {
    let name_len = members.clone().map(|name| name.len() + 1).max().unwrap_or(1);
    let mut names = Vec::new();
    for name in members {
        names.extend_from_slice(name.as_bytes());
        names.resize(names.len() + name_len - name.len(), 0);
    }
    let mut head = head(STRUCTURE_CLASS, [1, 1], name);
    put(&mut head, INT32, &(name_len as u32).to_be_bytes());
    put(&mut head, INT8, &names);
    head
}

/// What every matrix begins with: its class, its size and its name.
pub(super) fn head(class: u32, size: [usize; 2], name: &str) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, UINT32, &[class.to_be_bytes(), [0; 4]].concat());
    let sizes = size.map(|size| u32::try_from(size).unwrap_or(u32::MAX).to_be_bytes());
    put(&mut out, INT32, &sizes.concat());
    put(&mut out, INT8, name.as_bytes());
    out
}

/// An element: its type, its length, its bytes, and zeros up to a multiple of eight.
pub(super) fn put(out: &mut Vec<u8>, data: u32, bytes: &[u8]) {
    out.extend_from_slice(&data.to_be_bytes());
    out.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend_from_slice(bytes);
    out.resize(out.len().next_multiple_of(8), 0);
}

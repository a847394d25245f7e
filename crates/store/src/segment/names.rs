//! The names of a segment: which PVs its numbers mean, so that the catalogue can be made anew from segments alone.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use archive::{PvId, PvName};

use super::tables::{TableReader, TableWriter};
use crate::{
    bytes::Malformed,
    codec::{Effort, text},
};

/// What a segment keeps of a PV besides its samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) pv: PvId,
    pub(crate) name: PvName,
    /// Its row in the catalogue when the segment was written.
    pub(crate) row: Vec<u8>,
}

pub(crate) fn names_bytes(names: &[Named]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut table = TableWriter::new(&mut out, names.len());
    table.integers(names.iter().map(|named| i64::from(named.pv.0)));
    let texts: Vec<&[u8]> = names.iter().map(|named| named.name.as_str().as_bytes()).collect();
    table.column(|out| text::put_different(out, &texts, Effort::Flush));
    let rows: Vec<&[u8]> = names.iter().map(|named| named.row.as_slice()).collect();
    table.column(|out| text::put_different(out, &rows, Effort::Flush));
    out
}

/// There are at most `pvs` names, the footer says.
pub(crate) fn take_names(bytes: &[u8], pvs: u32) -> Result<Vec<Named>, Malformed> {
    let mut table = TableReader::new(bytes, pvs as usize)?;
    let pvs = table.integers()?;
    let names = text::strings(table.column(text::take)?)?;
    let rows = table.column(text::take)?;
    let named = |((pv, name), row): ((i64, &str), &[u8])| {
        let pv = PvId(u32::try_from(pv).map_err(|_| Malformed("the number of a PV has more than 32 bits"))?);
        let name = PvName::recorded(name).map_err(|_| Malformed("a name is none of a PV"))?;
        Ok(Named { pv, name, row: row.to_vec() })
    };
    pvs.into_iter().zip(names.iter()).zip(rows.iter()).map(named).collect()
}

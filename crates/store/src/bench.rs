//! Doors for measurements: one block written and read, without files.

use archive::PvId;
use sample::Batch;

use crate::{
    block::{self, rows::rows_of_block},
    bytes::Cursor,
    codec::Effort,
};

/// How hard the writer tries.
pub use crate::codec::Effort as How;

/// The blocks of a sorted batch, as a flush or a merge writes them.
pub fn pack(batch: &Batch, how: How) -> Vec<Vec<u8>> {
    let mut blocks = Vec::new();
    let mut start = 0;
    while start < batch.len() {
        let rows = rows_of_block(batch, start);
        blocks.push(pack_rows(&batch.slice(start..start + rows), how));
        start += rows;
    }
    blocks
}

/// One block of a batch that is small enough.
pub fn pack_rows(batch: &Batch, how: Effort) -> Vec<u8> {
    let mut block = Vec::new();
    block::put(&mut block, PvId(1), batch, how);
    block
}

/// A block read with its checksum verified, as every read does.
pub fn unpack(block: &[u8]) -> Batch {
    block::take(block).expect("it was written just now").1
}

/// The lengths of the columns of a block: times, values, alarms, pulses; and the codecs of the first two.
pub fn columns(block: &[u8]) -> ([usize; 4], [u8; 2]) {
    let (mut lengths, mut codecs) = ([0; 4], [0; 2]);
    let mut cursor = Cursor::new(&block[crate::block::format::BLOCK_HEADER_LEN + 6..]);
    cursor.varint().expect("it was written just now");
    for (place, length) in lengths.iter_mut().enumerate() {
        let column = cursor.blob().expect("it was written just now");
        *length = column.len();
        if let Some(codec) = codecs.get_mut(place) {
            *codec = column[0];
        }
    }
    (lengths, codecs)
}

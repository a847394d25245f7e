//! A sorted batch of any length as the blocks of a segment.

use std::io;

use archive::PvId;
use sample::{Batch, ValueType};

use crate::{block::rows::rows_of_block, codec::Effort, segment::SegmentWriter};

/// Writes a sorted batch as blocks; `room` is memory for a part of it, which may be used again.
pub(crate) fn write_blocks(
    writer: &mut SegmentWriter,
    pv: PvId,
    batch: &Batch,
    effort: Effort,
    room: &mut Option<Batch>,
) -> io::Result<()> {
    writer.expect_rows(batch.len());
    let mut start = 0;
    while start < batch.len() {
        let rows = rows_of_block(batch, start);
        if rows == batch.len() {
            return writer.add(pv, batch, effort);
        }
        let block = emptied(room, batch.value_type());
        let fits = block.extend_from(batch, start..start + rows);
        assert!(fits, "a part has the type of the whole");
        writer.add(pv, block, effort)?;
        start += rows;
    }
    Ok(())
}

/// An empty batch of a type, in the memory of the last one if that was of the same.
pub(crate) fn emptied(room: &mut Option<Batch>, value_type: ValueType) -> &mut Batch {
    let last = room.take_if(|last| last.value_type() == value_type);
    let batch = room.insert(last.unwrap_or_else(|| Batch::new(value_type)));
    batch.clear();
    batch
}

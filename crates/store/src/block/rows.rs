//! Which rows of a batch belong together: those within a range of time, and those that fit into one block.

use std::ops::Range;

use archive::structure::Layout;
use sample::{Batch, Column, TimeRange, Timestamp};

use crate::codec::{
    cells,
    limits::{BLOCK_BYTES_MAX, BLOCK_ROWS_MAX, frames_bytes_max},
};

/// Where the samples of `range` lie in a sorted batch. A range that ends with time itself has no moment after it.
pub(crate) fn rows_within(batch: &Batch, range: TimeRange) -> Range<usize> {
    let rows = batch.rows_within(range);
    if range.t1 == Timestamp::MAX { rows.start..batch.len() } else { rows }
}

/// Whether what lies from `t0` to `t1`, both included, is within a range at least in part.
pub(crate) fn overlap(t0: Timestamp, t1: Timestamp, range: TimeRange) -> bool {
    (t0 < range.t1 || range.t1 == Timestamp::MAX) && t1 >= range.t0
}

/// How many rows from `start` go into one block.
pub(crate) fn rows_of_block(batch: &Batch, start: usize) -> usize {
    let alike = matches!(batch.values(), Column::Array(arrays) if cells::alike(arrays, start));
    let bytes_max = if alike { frames_bytes_max(batch.values().byte_size_at(start)) } else { BLOCK_BYTES_MAX };
    rows_fitting(batch, start, BLOCK_ROWS_MAX, bytes_max)
}

/// How many rows from `start` are within two limits; at least one.
pub(crate) fn rows_fitting(batch: &Batch, start: usize, rows_max: usize, bytes_max: usize) -> usize {
    let most = rows_max.min(batch.len() - start);
    if !matches!(batch.values(), Column::Array(_) | Column::String(_) | Column::Structure(_)) {
        return most;
    }
    let most = rows_of_one_layout(batch, start, most);
    let mut room = bytes_max;
    let fitting = (start..start + most).take_while(|row| {
        let left = room.checked_sub(batch.values().byte_size_at(*row));
        room = left.unwrap_or(0);
        left.is_some()
    });
    fitting.count().max(1)
}

/// How many structures from `start` have the type of the first: only these can share columns. `most` of all other values.
fn rows_of_one_layout(batch: &Batch, start: usize, most: usize) -> usize {
    let Column::Structure(blobs) = batch.values() else { return most };
    let Some(layout) = Layout::read(blobs.get(start)) else { return most };
    (start..start + most).take_while(|row| layout.describes(blobs.get(*row))).count()
}

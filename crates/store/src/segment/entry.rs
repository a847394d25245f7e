//! The entry of a block in the index of its segment.

use sample::{Timestamp, ValueType};

use crate::free_lists;

/// Where a block lies and what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) offset: u64,
    pub(crate) len: u32,
    pub(crate) count: u32,
    pub(crate) value_type: ValueType,
    pub(crate) t0: Timestamp,
    pub(crate) t1: Timestamp,
}

free_lists::kept!(Entry);

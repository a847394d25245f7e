//! Doors for fuzzers, behind the checksums.

use archive::PvId;
use sample::{Timestamp, ValueType};

use super::{DirectoryRecord, Entry, tables};
use crate::{Summary, bytes::Malformed};

pub(crate) use super::{
    directory::{take_footer, take_records},
    file::take_header,
    names::take_names,
    pyramid::{LevelRows, rows_between},
};

/// Any bytes as an index of as many blocks as it says.
pub(crate) fn take_index(bytes: &[u8], end: u64) -> Result<Vec<Entry>, Malformed> {
    let blocks = u32::from(bytes.first().copied().unwrap_or_default() & 0x7f);
    let (t0, t1) = (Timestamp::MIN, Timestamp::MAX);
    let (lens, checks) = ([0; 3], [0; 3]);
    let pv = PvId(1);
    let record =
        DirectoryRecord { pv, blocks, samples: 0, t0, t1, blocks_at: 64, tables_at: end, lens, only: 0, checks };
    tables::take_index(bytes, &record, end)
}

/// Any bytes as the summaries of as many blocks as they say.
pub(crate) fn take_summaries(bytes: &[u8]) -> Result<Vec<Summary>, Malformed> {
    let value_type = ValueType::scalar(sample::Element::F64);
    let (t0, t1) = (Timestamp::MIN, Timestamp::MAX);
    let entry = Entry { offset: 0, len: 0, count: 1, value_type, t0, t1 };
    let blocks = usize::from(bytes.first().copied().unwrap_or_default() & 0x7f);
    tables::take_summaries(bytes, &vec![entry; blocks])
}

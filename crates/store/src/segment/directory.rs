//! The directory of a segment: a record for each PV, in pages, and the footer from which the pages are found.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use archive::PvId;
use sample::{Element, Shape, Timestamp, ValueType};
use xxhash_rust::xxh3::xxh3_64;

use super::Entry;
use crate::{
    bytes::{Cursor, Malformed},
    segment::{
        format::{FOOTER_FIXED_LEN, PAGE_RECORDS, RECORD_LEN, TABLES, VERSION},
        manifest::Manifest,
    },
};

/// A block whose length has so many bits needs no index, if it is the only one.
const ONLY_BITS: u32 = 24;
const ONLY_LEN_MAX: u32 = (1 << ONLY_BITS) - 1;

/// The tables of a PV, in the order in which they lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    /// Where each block lies and when.
    Index,
    /// The summary of each block.
    Summaries,
    /// Summaries of aligned stretches of time; not there for every PV.
    Levels,
}

impl Table {
    pub(super) fn name(self) -> &'static str {
        match self {
            Table::Index => "index",
            Table::Summaries => "table of summaries",
            Table::Levels => "table of levels",
        }
    }
}

/// What the directory knows of a PV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DirectoryRecord {
    pub(crate) pv: PvId,
    pub(crate) blocks: u32,
    pub(crate) samples: u64,
    pub(crate) t0: Timestamp,
    pub(crate) t1: Timestamp,
    pub(crate) blocks_at: u64,
    pub(crate) tables_at: u64,
    /// Length of each table; 0 if there is none.
    pub(crate) lens: [u32; TABLES],
    /// Length and type of its only block; 0 if it has an index instead.
    pub(crate) only: u32,
    pub(crate) checks: [u64; TABLES],
}

impl DirectoryRecord {
    /// How many bytes all its tables have.
    pub(crate) fn tables_len(&self) -> u64 {
        self.lens.iter().map(|len| u64::from(*len)).sum()
    }

    /// Keeps what an index would say of its only block, of which it has times and samples; false if there is no room for that.
    pub(super) fn put_only(&mut self, entry: &Entry) -> bool {
        let has_room = entry.len <= ONLY_LEN_MAX;
        if has_room {
            let ValueType { element, shape } = entry.value_type;
            self.only = entry.len | (element as u32) << ONLY_BITS | u32::from(shape == Shape::Array) << 31;
        }
        has_room
    }

    /// Its only block, if it has no index. `end` is where the blocks of the segment end.
    pub(crate) fn only(&self, end: u64) -> Result<Option<Entry>, Malformed> {
        if self.only == 0 || self.lens.first() != Some(&0) {
            return Ok(None);
        }
        let (len, is_array) = (self.only & ONLY_LEN_MAX, self.only >> 31 == 1);
        let element = Element::from_number((self.only >> ONLY_BITS) as u8 & 0x7f);
        let element = element.ok_or(Malformed("its only block has an unknown type"))?;
        let value_type = if is_array { ValueType::array(element) } else { ValueType::scalar(element) };
        let count = u32::try_from(self.samples).ok().filter(|_| self.blocks == 1);
        let count = count.ok_or(Malformed("it has more than one block, but no index"))?;
        if self.blocks_at.checked_add(u64::from(len)).is_none_or(|block_end| block_end > end) {
            return Err(Malformed("its only block reaches beyond all blocks"));
        }
        Ok(Some(Entry { offset: self.blocks_at, len, count, value_type, t0: self.t0, t1: self.t1 }))
    }

    /// Writes one of its tables behind those that come before it.
    pub(super) fn put_table(&mut self, table: Table, tables: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>)) {
        let start = tables.len();
        put(tables);
        let written = tables.get(start..).unwrap_or_default();
        let (mut lens, mut checks) = (self.lens.iter_mut(), self.checks.iter_mut());
        if let (Some(len), Some(check)) = (lens.nth(table as usize), checks.nth(table as usize)) {
            (*len, *check) = (written.len() as u32, xxh3_64(written));
        }
    }

    /// Where a table begins among those of the PV, its length and check.
    pub(super) fn table(&self, table: Table) -> (u64, u32, u64) {
        let [index, summaries, levels] = self.lens;
        let [index_check, summaries_check, levels_check] = self.checks;
        match table {
            Table::Index => (0, index, index_check),
            Table::Summaries => (u64::from(index), summaries, summaries_check),
            Table::Levels => (u64::from(index) + u64::from(summaries), levels, levels_check),
        }
    }
}

/// The end of a segment, from which everything else is found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Footer {
    pub(crate) pvs: u32,
    pub(crate) sequence: u64,
    pub(crate) blocks: u64,
    pub(crate) samples: u64,
    pub(crate) t0: Timestamp,
    pub(crate) t1: Timestamp,
    pub(crate) tables_at: u64,
    pub(crate) pages_at: u64,
    pub(crate) names_at: u64,
    pub(crate) names_check: u64,
    pub(crate) first_pvs: Vec<u32>,
    pub(crate) last_pv: u32,
    /// Its checksum, once it is written or read.
    pub(crate) check: u64,
}

impl Footer {
    /// What the catalogue is told of a file with this end.
    pub(super) fn manifest(&self, key: String, bytes: u64) -> Manifest {
        Manifest {
            sequence: self.sequence,
            last: self.sequence,
            tables_at: self.tables_at,
            blocks: self.blocks,
            samples: self.samples,
            t0: self.t0,
            t1: self.t1,
            first_pv: PvId(self.first_pvs.first().copied().unwrap_or(u32::MAX)),
            last_pv: PvId(self.last_pv),
            digest: Some(self.check),
            ..Manifest::unknown(key, bytes)
        }
    }
}

pub(super) fn put_page(out: &mut Vec<u8>, records: &[DirectoryRecord]) {
    let mut bytes = Vec::with_capacity(records.len() * RECORD_LEN);
    records.iter().for_each(|record| put_record(&mut bytes, record));
    out.extend_from_slice(&xxh3_64(&bytes).to_le_bytes());
    out.extend_from_slice(&bytes);
}

fn put_record(out: &mut Vec<u8>, record: &DirectoryRecord) {
    out.extend_from_slice(&record.pv.0.to_le_bytes());
    out.extend_from_slice(&record.blocks.to_le_bytes());
    out.extend_from_slice(&record.samples.to_le_bytes());
    out.extend_from_slice(&record.t0.nanos().to_le_bytes());
    out.extend_from_slice(&record.t1.nanos().to_le_bytes());
    out.extend_from_slice(&record.blocks_at.to_le_bytes());
    out.extend_from_slice(&record.tables_at.to_le_bytes());
    record.lens.iter().for_each(|len| out.extend_from_slice(&len.to_le_bytes()));
    out.extend_from_slice(&record.only.to_le_bytes());
    record.checks.iter().for_each(|check| out.extend_from_slice(&check.to_le_bytes()));
}

/// The bytes of a page behind its checksum, if that is right.
pub(super) fn checked_page(page: &[u8]) -> Result<&[u8], Malformed> {
    let mut cursor = Cursor::new(page);
    let check = cursor.u64()?;
    let records = cursor.rest();
    if xxh3_64(records) == check { Ok(records) } else { Err(Malformed("it has another checksum")) }
}

pub(crate) fn take_records(records: &[u8]) -> Result<Vec<DirectoryRecord>, Malformed> {
    records.chunks(RECORD_LEN).map(|record| take_record(&mut Cursor::new(record))).collect()
}

/// The record of one PV among those of a page, without taking apart the others.
pub(super) fn find_record(records: &[u8], pv: PvId) -> Result<Option<DirectoryRecord>, Malformed> {
    for record in records.chunks(RECORD_LEN) {
        if Cursor::new(record).u32()? == pv.0 {
            return take_record(&mut Cursor::new(record)).map(Some);
        }
    }
    Ok(None)
}

fn take_record(cursor: &mut Cursor) -> Result<DirectoryRecord, Malformed> {
    let record = DirectoryRecord {
        pv: PvId(cursor.u32()?),
        blocks: cursor.u32()?,
        samples: cursor.u64()?,
        t0: Timestamp::from_nanos(cursor.i64()?),
        t1: Timestamp::from_nanos(cursor.i64()?),
        blocks_at: cursor.u64()?,
        tables_at: cursor.u64()?,
        lens: [cursor.u32()?, cursor.u32()?, cursor.u32()?],
        only: cursor.u32()?,
        checks: [cursor.u64()?, cursor.u64()?, cursor.u64()?],
    };
    Ok(record)
}

pub(super) fn footer_bytes(footer: &Footer) -> Vec<u8> {
    let mut fields = Vec::new();
    fields.extend_from_slice(&VERSION.to_le_bytes());
    fields.extend_from_slice(&[0; 2]);
    fields.extend_from_slice(&footer.pvs.to_le_bytes());
    for number in [footer.sequence, footer.blocks, footer.samples] {
        fields.extend_from_slice(&number.to_le_bytes());
    }
    for time in [footer.t0, footer.t1] {
        fields.extend_from_slice(&time.nanos().to_le_bytes());
    }
    for number in [footer.tables_at, footer.pages_at, footer.names_at, footer.names_check] {
        fields.extend_from_slice(&number.to_le_bytes());
    }
    assert_eq!(8 + fields.len(), FOOTER_FIXED_LEN, "the format says so");
    footer.first_pvs.iter().chain([&footer.last_pv]).for_each(|pv| fields.extend_from_slice(&pv.to_le_bytes()));
    let mut bytes = xxh3_64(&fields).to_le_bytes().to_vec();
    bytes.append(&mut fields);
    bytes
}

/// How many bytes a footer has.
pub(super) fn footer_len(footer: &Footer) -> usize {
    FOOTER_FIXED_LEN + 4 * (footer.first_pvs.len() + 1)
}

/// Why a footer cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BadFooter {
    Malformed(Malformed),
    Newer(u16),
}

impl From<Malformed> for BadFooter {
    fn from(malformed: Malformed) -> BadFooter {
        BadFooter::Malformed(malformed)
    }
}

/// Reads a footer whose checksum is verified first.
pub(super) fn footer(bytes: &[u8]) -> Result<Footer, BadFooter> {
    let mut cursor = Cursor::new(bytes);
    let check = cursor.u64()?;
    if xxh3_64(cursor.rest()) != check {
        return Err(Malformed("it has another checksum").into());
    }
    let mut cursor = Cursor::new(bytes);
    cursor.u64()?;
    match cursor.u16()? {
        1..=VERSION => Ok(Footer { check, ..take_footer(&mut cursor)? }),
        version if version > VERSION => Err(BadFooter::Newer(version)),
        _ => Err(Malformed("its version is unknown").into()),
    }
}

/// What follows the version in a footer. Apart, so that fuzzers reach it.
pub(crate) fn take_footer(cursor: &mut Cursor) -> Result<Footer, Malformed> {
    cursor.u16()?;
    let mut footer = Footer {
        pvs: cursor.u32()?,
        sequence: cursor.u64()?,
        blocks: cursor.u64()?,
        samples: cursor.u64()?,
        t0: Timestamp::from_nanos(cursor.i64()?),
        t1: Timestamp::from_nanos(cursor.i64()?),
        tables_at: cursor.u64()?,
        pages_at: cursor.u64()?,
        names_at: cursor.u64()?,
        names_check: cursor.u64()?,
        first_pvs: Vec::new(),
        last_pv: 0,
        check: 0,
    };
    let pages = (footer.pvs as usize).div_ceil(PAGE_RECORDS);
    if cursor.len() != (pages + 1) * 4 {
        return Err(Malformed("it has another number of pages than PVs need"));
    }
    footer.first_pvs = (0..pages).map(|_| cursor.u32()).collect::<Result<_, _>>()?;
    footer.last_pv = cursor.u32()?;
    if footer.tables_at > footer.pages_at || footer.pages_at > footer.names_at {
        return Err(Malformed("its parts are not in their order"));
    }
    Ok(footer)
}

//! The format of a segment: an immutable file of blocks. Byte by byte in docs/format.md.
//!
//! ```text
//!   segment := header block* table* page* names footer tail
//!   header  := "PVARKSEG" version:u16 0:u8[6] sequence:u64 written:i64 archive:u64 key:u64 0:u8[8] check:u64
//!   table   := rows:varint column*                        column := len:varint bytes[len], encoded as in a block
//!   page    := check:u64 record*                          up to 46 PVs by number, 88 bytes each; check of the records
//!   record  := pv:u32 blocks:u32 samples:u64 t0:i64 t1:i64 blocks_at:u64 tables_at:u64 (len:u32)[3] only:u32 (check:u64)[3]
//!   names   := table                                      number, name, row of the catalogue
//!   footer  := check:u64 version:u16 0:u16 pvs:u32 sequence:u64 blocks:u64 samples:u64 t0:i64 t1:i64
//!              tables_at:u64 pages_at:u64 names_at:u64 names_check:u64 first_pv:u32[pages] last_pv:u32
//!   tail    := footer_len:u32 0:u32 "GESKRAVP"
//! ```
//! A PV with a single block of less than 16 MiB has no index: `only` is the length of that block and its type, as
//! `len + 2^24 * element + 2^31 * shape`; 0 where there is an index.
//!
//! `archive` is the number of the archive for which the file was written, and `key` the xxh3-64 of the key under which; both are 0 in
//! files of older programs.
//!
//! The blocks of a PV lie one behind the other, and so do its tables: index, summaries, levels. To look for one PV is to read
//! the footer once, then one page, the tables that are wanted, and the blocks that are needed. All that is not blocks lies behind
//! them, so that it can be kept near when the blocks are far away.

pub(crate) const MAGIC: [u8; 8] = *b"PVARKSEG";
pub(crate) const TAIL_MAGIC: [u8; 8] = *b"GESKRAVP";
/// Since 2 blocks may tell what their quarters amount to, since 3 what their sections do, and a single block needs no index.
pub(crate) const VERSION: u16 = 3;

pub(crate) const HEADER_LEN: usize = 64;
/// Where in the header archive and key stand.
pub(crate) const IDENTITY_AT: usize = 32;
pub(crate) const TAIL_LEN: usize = 16;
pub(crate) const RECORD_LEN: usize = 88;
pub(crate) const FOOTER_FIXED_LEN: usize = 88;

/// A page and its checksum fit 4096 bytes.
pub(crate) const PAGE_RECORDS: usize = 46;
pub(crate) const PAGE_LEN: usize = 8 + PAGE_RECORDS * RECORD_LEN;

/// The tables of a PV, in the order in which they lie.
pub(crate) const TABLES: usize = 3;

/// What stands in the header of the key under which a file is written.
pub(crate) fn key_number(key: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(key.as_bytes())
}

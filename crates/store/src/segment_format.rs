//! The format of a segment: an immutable file of blocks. Byte by byte in docs/format.md.
//!
//! ```text
//!   segment   := header block* index* page* footer tail
//!   header    := "PVARKSEG" version:u16 0:u8[6] sequence:u64 written:i64 0:u8[32]
//!   index     := entry[blocks of one PV], in the order of their writing; entries are 112 bytes
//!   page      := check:u64 record*                    up to 85 PVs by number, 48 bytes each; check = xxh3-64 of the records
//!   footer    := check:u64 version:u16 sequence:u64 blocks:u64 samples:u64 t0:i64 t1:i64 pages_at:u64 pvs:u32 first_pv:u32[pages]
//!   tail      := footer_len:u32 0:u32 "GESKRAVP"
//! ```
//! Whoever looks for one PV reads the footer once, then one page, one index, and the blocks that he needs.

pub(crate) const MAGIC: [u8; 8] = *b"PVARKSEG";
pub(crate) const TAIL_MAGIC: [u8; 8] = *b"GESKRAVP";
pub(crate) const VERSION: u16 = 1;

pub(crate) const HEADER_LEN: usize = 64;
pub(crate) const TAIL_LEN: usize = 16;
pub(crate) const ENTRY_LEN: usize = 112;
pub(crate) const RECORD_LEN: usize = 48;
pub(crate) const FOOTER_FIXED_LEN: usize = 62;

/// A page and its checksum fit 4096 bytes.
pub(crate) const PAGE_RECORDS: usize = 85;

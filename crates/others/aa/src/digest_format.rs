//! The format of a digest: what the samples of one file of an old archive amount to, row by row. Byte by byte in docs/format.md.
//!
//! ```text
//!   digest := head page*                                  each of 4096 bytes, and begins with the check of the rest of it
//!   head   := check:u64 "PVARKDIG" version:u16 payload:u8 order:u8 path_len:u16 0:u8[2] inode:u64 len:u64 modified:i64 changed:i64
//!             begins:u64 covered:u64 first_check:u64 last_check:u64 rows:u64 path:u8[path_len] 0:u8*
//!   page   := check:u64 row* 0:u8*                        36 rows, the last page perhaps fewer
//!   row    := at:u64 len:u32 count:u32 t0:i64 t1:i64 nan:u32 invalid:u32 bad:u32 severity:u8 fields:u8 0:u8[2] covered:u64
//!             min:f64 max:f64 sum:f64 squares:f64 integral:f64 first:f64 last:f64
//! ```
//! `inode`, `len`, `modified` and `changed` are the file's when it was read, times in nanoseconds. The first `covered` bytes of it were
//! read; `first_check` and `last_check` are of the first and the last 4096 of them. `begins` is where its header ends. `order` is 0 where
//! times rise from each sample to the next; where it is 1 they do not, and there are no rows. The rows follow one another without
//! anything between their lines, and are as a file that is read in one go gives them.

pub(crate) const MAGIC: [u8; 8] = *b"PVARKDIG";
pub(crate) const VERSION: u16 = 1;

/// The head, and each page.
pub(crate) const PAGE_LEN: usize = 4096;
pub(crate) const ROW_LEN: usize = 112;
pub(crate) const PAGE_ROWS: usize = (PAGE_LEN - 8) / ROW_LEN;
/// Where the path stands in the head, which no longer one fits.
pub(crate) const PATH_AT: usize = 96;
pub(crate) const PATH_BYTES_MAX: usize = PAGE_LEN - PATH_AT;
/// When a file has grown, this many bytes at both ends of the part that was read are compared again.
pub(crate) const ENDS_LEN: usize = 4096;

/// A row ends before a sample of another minute if it has so many samples, of another ten minutes with half of them, of another hour with
/// a quarter: so that edges of bins, which lie there, cut few rows.
pub(crate) const ROW_SAMPLES_MIN: usize = 256;
/// A row has no more samples. What is left of a minute behind such a row is one by itself.
pub(crate) const ROW_SAMPLES_MAX: usize = 1024;
/// A row that has reached so many bytes ends.
pub(crate) const ROW_BYTES_MAX: u64 = 256 << 10;

//! The format of a block: up to 8192 samples of one PV and one type, sorted by time. Byte by byte in docs/format.md.
//!
//! ```text
//!   block := check:u64 len:u32 body[len]                         check = xxh3-64 of len and body
//!   body  := pv:u32 element:u8 shape:u8 count:varint times values alarms pulses      each column := len:varint bytes[len]
//! ```
//! A fifth column may follow, for stamps out of the ordinary, and behind it others for what parts of the block amount to
//! (`sections.rs`): a sixth with its quarters in segments of version 2, a seventh with its sections since version 3. One before others
//! may be empty. A reader that does not know a column refuses the block rather than leave out what it holds.

/// `check` and `len`.
pub(crate) const BLOCK_HEADER_LEN: usize = 12;

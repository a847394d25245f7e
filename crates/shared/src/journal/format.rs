//! The format of the journal of a shard: numbered rows, each with its checksum. Byte by byte in docs/format.md.
//!
//! ```text
//!   row        := check:u64 version:u16 kind:u8 where:u8 epoch:u64 id:u64 checkpoint:u64 body      check = xxh3-64 of all that follows it
//!   where 0    : the body follows                     1: len:u64 check:u64 piece:u32, and it lies under body/<epoch>/<id>
//!   commit     := count:varint run*                   kind 1   run := first:varint end:varint object
//!   change     := added removed flushed catalogue:blob    kind 2
//!   added      := count:varint object*                removed := count:varint key:blob*
//!   flushed    := count:varint (epoch:varint end:varint)*
//!   checkpoint := image (0:u8 | 1:u8 object)          kind 3   image := see image.rs; the object is the copy of the catalogue
//!   seal       := first:varint owner:blob             kind 4
//!   object     := key:blob len:varint check:u64 piece:varint
//! ```
//! `checkpoint` is the number of the newest checkpoint before this row, all ones if there is none: who has the last row knows where to
//! begin. `id` counts the rows that an epoch tried to append, so that epoch and id are no two rows'.

pub(crate) const VERSION: u16 = 1;
pub(crate) const NO_CHECKPOINT: u64 = u64::MAX;

pub(crate) const COMMIT: u8 = 1;
pub(crate) const CHANGE: u8 = 2;
pub(crate) const CHECKPOINT: u8 = 3;
pub(crate) const SEAL: u8 = 4;

pub(crate) const INLINE: u8 = 0;
pub(crate) const APART: u8 = 1;

/// A body that is longer is put beside the journal: within a row of CQL that costs three times the processor time of the servers, as the
/// value goes through every round of the agreement (decision 0011).
pub(crate) const INLINE_LEN: usize = 32 << 10;

/// No body is longer: a copy of the catalogue is an object of its own.
pub(crate) const MAX_BODY_LEN: u64 = 256 << 20;

/// The least bytes of an object.
pub(crate) const OBJECT_LEAST: usize = 12;

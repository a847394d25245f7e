//! The format of the log: frames of records, each with its checksum. Byte by byte in docs/format.md.
//!
//! ```text
//!   file    := header frame*                        log/0000000000000001.log, …; a new one after 64 MiB and at each flush
//!   header  := "PVARKLOG" version:u16 0:u8[6] number:u64 0:u8[8]
//!   frame   := check:u64 len:u32 frame:u64 appended:u64 now:i64 record*[len]     check = xxh3-64 of all that follows it
//!   record  := 1:u8 pv:varint batch                                              samples, see codec/plain.rs
//!            | 2:u8 pv:varint from:i64 cause:u8 lost:varint (0:u8 | 1:u8 to:i64) a gap
//!            | 3:u8 pv:varint since:i64 cbor:blob                                metadata
//!            | 4:u8 pv:varint batch stamps                                       samples some of whose stamps are odd
//!            | 5:u8 pv:varint element:u8 time:i64 number                         one number without alarm and pulse
//!            | 6:u8 pv:varint before:varint batch difference* stamps               arrays that hardly change, see arrays.rs
//! ```
//! A file is made with its full size: behind its last frame there are zeros.
//!
//! Frames are numbered without a break over all files. `appended` counts the samples ever appended, up to and including this
//! frame; `now` is when it was appended, and so a sign of life; a frame without records is nothing else.

use std::ops::Range;

pub(crate) const MAGIC: [u8; 8] = *b"PVARKLOG";
pub(crate) const VERSION: u16 = 1;

pub(crate) const FOLDER: &str = "log";
pub(crate) const HEADER_LEN: usize = 32;
pub(crate) const FRAME_LEN: usize = 36;

/// A frame is closed when it has reached this size.
pub(crate) const FRAME_BYTES: usize = 1 << 20;

pub(crate) const SAMPLES: u8 = 1;
pub(crate) const GAP: u8 = 2;
pub(crate) const METADATA: u8 = 3;
pub(crate) const STAMPED: u8 = 4;
pub(crate) const SAMPLE: u8 = 5;
pub(crate) const FOLLOWING: u8 = 6;

/// The key of a file of the log.
pub(crate) fn key(number: u64) -> String {
    format!("{FOLDER}/{number:016}.log")
}

/// The number in the name of a file of the log, which is written in one way only.
pub(crate) fn number(name: &str) -> Option<u64> {
    let number = name.strip_suffix(".log")?.parse().ok().filter(|number| *number < u64::MAX)?;
    (name == format!("{number:016}.log")).then_some(number)
}

/// The sentence for missing frames, which held that many samples.
pub(crate) fn missing_frames(frames: &Range<u64>, samples: u64) -> String {
    let which = match frames.end - frames.start {
        1 => format!("the frame {} of the log is", frames.start),
        _ => format!("the frames {} to {} of the log are", frames.start, frames.end - 1),
    };
    format!("{which} missing, with {samples} samples")
}

/// The number that a file says it has.
pub(crate) fn number_in(header: &[u8]) -> Option<u64> {
    let rest = header.strip_prefix(&MAGIC)?;
    Some(u64::from_le_bytes(*rest.get(8..16)?.first_chunk()?)).filter(|number| *number < u64::MAX)
}

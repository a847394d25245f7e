//! The files of the EPICS Archiver Appliance (PlainPB), and its raw answers, read as they are.
//!
//! ```text
//!   line      escapes, and protobuf fields one by one: bytes of any origin
//!   payload   the types of samples      header    whose samples a file or chunk holds
//!   rows      lines ──► batches         chunks    an answer as it comes in, or a file in memory ──► batches
//!   alike     whether two archives mean one value
//!   relay     a raw answer passed on as it is
//!   tape      bytes at a place: a file, or a piece of a tar or zip file    packed   what must be unpacked from its beginning
//!   parquet_file  Parquet files as lines
//!   scan      the lines of a tape         file      one file: found by time, read lazily        tar, zip  what such a file holds
//!   key       names of PVs ◄──► paths   folder    which files there are       archive   all of them as a `Source`
//!   digest    what the samples of a file amount to, row by row         maker   lines ──► rows        shelf   where digests are kept
//!   pieces    rows, and lines of those that an edge cuts ──► what bins are made of
//!   type_info what the Appliance's configuration says of a PV
//! ```
//!
//! What cannot be read is left out and counted; nothing here panics on what a file holds, or allocates more than a line has.

#![deny(missing_docs)]

mod alike;
mod archive;
mod chunks;
mod digest;
mod digest_format;
mod fields;
mod file;
mod folder;
#[doc(hidden)]
pub mod fuzz;
mod header;
mod key;
mod line;
mod maker;
mod packed;
mod parquet_file;
mod payload;
mod pieces;
mod relay;
mod rows;
mod scan;
mod shelf;
mod slice;
mod tape;
mod tar;
mod type_info;
mod zip;

pub use alike::{Likeness, likeness};
pub use archive::{Digests, PlainPb};
pub use chunks::{Answer, Chunk, Fields, Heard, read_chunks};
pub use fields::{FieldValue, loss, metadata_of};
pub use header::Header;
pub use line::{put_escaped, put_line};
pub use payload::Payload;
pub use relay::Relay;
pub use rows::{Damage, Rows};
pub use slice::{Piece, Slice};
pub use type_info::TypeInfo;

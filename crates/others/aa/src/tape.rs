//! Bytes at a place: a file, or the piece of a tar or zip file that is one. Read where they are wanted, never as a whole.

use std::{
    fs::File,
    io,
    os::unix::fs::{FileExt, MetadataExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use flate2::read::MultiGzDecoder;

use crate::{
    packed::{Inflating, PackedBytes, PieceReader},
    parquet_file::ParquetLines,
};

/// The lines of a file, or of a piece of one.
#[derive(Debug)]
pub(crate) enum Tape {
    /// They stand there as they are. A whole file has a stamp.
    Plain { file: File, start: u64, len: u64, stamp: Option<Stamp> },
    /// They come in order, as many as there are.
    Packed(Mutex<PackedBytes>),
}

/// Which file it was and how much of it, so that it can be told whether it still is. Device numbers are not looked at: those of file
/// systems on a network change when they are mounted again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) inode: u64,
    pub(crate) len: u64,
    /// When it was written to, and when anything of it changed, in nanoseconds since 1970.
    pub(crate) modified: i64,
    pub(crate) changed: i64,
}

/// Where a file lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(crate) content: Content,
}

/// How a file is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// By itself.
    Whole,
    /// A Parquet file by itself.
    Parquet,
    /// A piece of another file, as its beginning and length.
    Piece(u64, u64),
    /// Such a piece, in gzip.
    Gzip(u64, u64),
    /// Such a piece, deflated.
    Deflated { start: u64, len: u64, crc: u32 },
    /// So that it cannot be read, and why.
    Unreadable(Arc<str>),
}

/// A file within another one, and how it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) content: Content,
}

impl Place {
    /// A whole file.
    pub(crate) fn of(path: &Path) -> Place {
        let is_parquet = path.extension().is_some_and(|extension| extension == "parquet");
        let content = if is_parquet { Content::Parquet } else { Content::Whole };
        Place { path: path.to_owned(), content }
    }
}

impl Tape {
    pub(crate) fn open(place: &Place) -> io::Result<Tape> {
        let file = File::open(&place.path)?;
        // Its length is that of this moment: whoever writes to it goes on behind.
        let about = file.metadata()?;
        let all = about.len();
        let plain = |file, start: u64, len: u64, stamp| Tape::Plain {
            file,
            start,
            len: len.min(all.saturating_sub(start)),
            stamp,
        };
        let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
        Ok(match &place.content {
            Content::Whole => {
                let modified = nanos(about.mtime(), about.mtime_nsec());
                let changed = nanos(about.ctime(), about.ctime_nsec());
                plain(file, 0, all, Some(Stamp { inode: about.ino(), len: all, modified, changed }))
            }
            Content::Piece(start, len) => plain(file, *start, *len, None),
            Content::Unreadable(why) => return Err(io::Error::new(io::ErrorKind::InvalidData, why.to_string())),
            Content::Parquet => {
                Tape::Packed(Mutex::new(PackedBytes::new(move || Ok(Box::new(ParquetLines::open(file.try_clone()?)?)))))
            }
            Content::Gzip(start, len) => {
                let piece = piece(file, *start, *len);
                Tape::Packed(Mutex::new(PackedBytes::new(move || Ok(Box::new(MultiGzDecoder::new(piece()))))))
            }
            Content::Deflated { start, len, crc } => {
                let (piece, crc) = (piece(file, *start, *len), *crc);
                Tape::Packed(Mutex::new(PackedBytes::new(move || Ok(Box::new(Inflating::new(piece(), crc))))))
            }
        })
    }

    /// How many bytes there are; of what is packed nobody knows before.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Tape::Plain { len, .. } => *len,
            Tape::Packed(_) => u64::MAX,
        }
    }

    /// Of which file it is, if it is all of one.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        match self {
            Tape::Plain { stamp, .. } => *stamp,
            Tape::Packed(_) => None,
        }
    }

    /// Whether it is read from its beginning whatever is wanted of it.
    pub(crate) fn is_packed(&self) -> bool {
        matches!(self, Tape::Packed(_))
    }

    /// Reads from `offset` on until the buffer is full or the end is reached; says how much it is.
    pub(crate) fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let left = usize::try_from(self.len().saturating_sub(offset)).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        let mut filled = 0;
        while filled < wanted {
            let at = offset + filled as u64;
            let read = match self {
                Tape::Plain { file, start, .. } => file.read_at(&mut buffer[filled..wanted], start + at),
                Tape::Packed(packed) => {
                    packed.lock().expect("no holder of this lock panics").read_at(&mut buffer[filled..wanted], at)
                }
            };
            match read {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}

/// Gives readers of a piece, each from its beginning.
fn piece(file: File, start: u64, len: u64) -> impl Fn() -> PieceReader {
    let file = Arc::new(file);
    move || PieceReader { file: file.clone(), at: start, end: start.saturating_add(len) }
}

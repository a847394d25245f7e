//! Bytes at a place: a file, or the piece of a tar file that is one. Read where they are wanted, never as a whole.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

/// A file, or a piece of one.
#[derive(Debug)]
pub(crate) struct Tape {
    file: File,
    start: u64,
    len: u64,
}

/// Where a file lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    /// The piece of a tar file, as its beginning and length.
    pub(crate) piece: Option<(u64, u64)>,
}

impl Place {
    /// A whole file.
    pub(crate) fn of(path: &Path) -> Place {
        Place { path: path.to_owned(), piece: None }
    }
}

impl Tape {
    pub(crate) fn open(place: &Place) -> io::Result<Tape> {
        let file = File::open(&place.path)?;
        // Its length is that of this moment: whoever writes to it goes on behind.
        let all = file.metadata()?.len();
        let (start, len) = place.piece.unwrap_or((0, all));
        Ok(Tape { file, start, len: len.min(all.saturating_sub(start)) })
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Reads from `offset` on until the buffer is full or the end is reached; says how much it is.
    pub(crate) fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let left = usize::try_from(self.len.saturating_sub(offset)).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        let mut filled = 0;
        while filled < wanted {
            match self.file.read_at(&mut buffer[filled..wanted], self.start + offset + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}

//! Reading ahead: a merge goes through blocks, tables and directory of a segment from their beginning to their end, in small steps.
//! It reads each in larger pieces; otherwise most of its time would go into system calls.

use std::{
    io,
    sync::{Arc, Mutex},
};

use crate::disk::Objects;

/// So much is read at once; a merge has three such pieces for each of its segments.
const PIECE_BYTES: u64 = 64 << 10;
/// One for blocks, one for tables, one for the directory.
const PIECES: usize = 3;

/// The disk of one file that does not change.
#[derive(Debug)]
pub(crate) struct ReadAhead {
    disk: Arc<dyn Objects>,
    len: u64,
    /// Where each piece begins, and what is in it; the one that was used last is the last.
    pieces: Mutex<Vec<(u64, Vec<u8>)>>,
}

impl ReadAhead {
    pub(crate) fn new(disk: Arc<dyn Objects>, len: u64) -> ReadAhead {
        ReadAhead { disk, len, pieces: Mutex::default() }
    }
}

/// The part of a piece that begins at `offset`, if it has so many bytes from there on.
fn part(piece: &(u64, Vec<u8>), offset: u64, len: usize) -> Option<&[u8]> {
    let start = usize::try_from(offset.checked_sub(piece.0)?).ok()?;
    piece.1.get(start..start.checked_add(len)?)
}

impl Objects for ReadAhead {
    fn read_at(&self, key: &str, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let wanted = bytes.len() as u64;
        let end = offset.saturating_add(PIECE_BYTES).min(self.len);
        if wanted >= PIECE_BYTES || offset.saturating_add(wanted) > end {
            return self.disk.read_at(key, offset, bytes);
        }
        let mut pieces = self.pieces.lock().expect("no holder of this lock panics");
        match pieces.iter().position(|piece| part(piece, offset, bytes.len()).is_some()) {
            Some(known) => pieces[known..].rotate_left(1),
            None => {
                let mut piece = vec![0; (end - offset) as usize];
                if self.disk.read_at(key, offset, &mut piece).is_err() {
                    return self.disk.read_at(key, offset, bytes); // what is bad may lie behind what is wanted
                }
                if pieces.len() == PIECES {
                    pieces.remove(0);
                }
                pieces.push((offset, piece));
            }
        }
        let found = pieces.last().and_then(|piece| part(piece, offset, bytes.len()));
        bytes.copy_from_slice(found.expect("it has just been put there"));
        Ok(())
    }

    fn len(&self, key: &str) -> io::Result<u64> {
        self.disk.len(key)
    }

    /// A merge reads; whoever enters what it made removes.
    fn remove(&self, _: &str) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

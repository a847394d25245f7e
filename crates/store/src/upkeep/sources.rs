//! Sources: the segments of a merge, each read once from its beginning to its end in large pieces, PV after PV.

use std::sync::Arc;

use archive::PvId;
use sample::Batch;

use crate::{
    Error,
    segment::{DirectoryRecord, Entry, Segment, Stream},
};

/// All streams of a merge read so many bytes at once together, a stream of many sources no less than `PIECE_BYTES_MIN`.
const PIECES_BYTES: usize = 16 << 20;
const PIECE_BYTES_MIN: usize = 64 << 10;
const PIECE_BYTES_MAX: usize = 1 << 20;

/// A block of a PV in one of the sources.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// Which of the sources.
    pub(crate) source: usize,
    pub(crate) entry: Entry,
}

/// A segment, and how far it was read.
pub(crate) struct Source {
    pub(crate) segment: Arc<Segment>,
    page: usize,
    records: std::iter::Peekable<std::vec::IntoIter<DirectoryRecord>>,
    tables: Stream,
    blocks: Stream,
    /// About how much of the segment was read.
    pub(crate) bytes: u64,
}

impl Source {
    /// One of so many.
    pub(crate) fn new(segment: Arc<Segment>, sources: usize) -> Source {
        let piece = (PIECES_BYTES / 2 / sources.max(1)).clamp(PIECE_BYTES_MIN, PIECE_BYTES_MAX);
        let (tables, blocks) = (Stream::new(piece), Stream::new(piece));
        Source { segment, page: 0, records: Vec::new().into_iter().peekable(), tables, blocks, bytes: 0 }
    }

    /// The PV of the next record; none at the end.
    pub(crate) fn next_pv(&mut self) -> Result<Option<PvId>, Error> {
        if let Some(record) = self.records.peek() {
            return Ok(Some(record.pv));
        }
        let pages = self.segment.footer()?.first_pvs.len();
        while self.records.peek().is_none() && self.page < pages {
            self.records = self.segment.page(self.page)?.into_iter().peekable();
            self.page += 1;
            self.bytes = self.segment.manifest.bytes / pages as u64 * self.page as u64;
        }
        Ok(self.records.peek().map(|record| record.pv))
    }

    /// The next record, if it is that of the PV.
    pub(crate) fn take_record(&mut self, pv: PvId) -> Option<DirectoryRecord> {
        self.records.next_if(|record| record.pv == pv)
    }

    /// Adds the blocks that a record leads to, as those of the source of this number.
    pub(crate) fn add_pieces(
        &mut self,
        pieces: &mut Vec<Piece>,
        number: usize,
        record: &DirectoryRecord,
    ) -> Result<(), Error> {
        let piece = |entry| Piece { source: number, entry };
        match self.segment.only(record)? {
            Some(only) => pieces.push(piece(only)),
            None => pieces.extend(self.segment.index_by(record, &mut self.tables)?.into_iter().map(piece)),
        }
        Ok(())
    }

    /// Whether its blocks are what a merge made of many, which took all the time that it wanted.
    pub(crate) fn is_merged(&self) -> bool {
        self.segment.manifest.generation > 0
    }

    /// A block and its bytes, verified against checksum and index, in the memory of a batch whose content nobody needs.
    pub(crate) fn read(&mut self, room: Batch, pv: PvId, entry: &Entry) -> Result<(Batch, &[u8]), Error> {
        let bytes = self.blocks.bytes(&self.segment, entry.offset, entry.len as usize)?;
        let batch = self.segment.verify_in(room, pv, entry, bytes)?;
        Ok((batch, bytes))
    }
}

//! The gathering of a merge: blocks of one PV that follow one another in time become full ones, sample after sample as they lie.
//!
//! A block that a merge has filled before is copied as it is. What is decoded and encoded again are the small ones, and where two
//! runs of full ones meet: there what is left of the first becomes two halves with the block behind it.
//!
//! ```text
//!   8192 8192  300 │ 8192 8192 2500 │   40 8192       blocks of three segments, made by merges
//!   ==== ====   ─────────  ==== ====    ─────────      = copied, ─ encoded again
//!   8192 8192   4246 4246  8192 2500    4116 4116
//! ```

use archive::PvId;
use sample::Batch;

use crate::{
    Error,
    codec::{Effort, limits::BLOCK_ROWS_MAX},
    segment::SegmentWriter,
    upkeep::sources::{Piece, Source},
};

/// A block of so many rows is full enough: what it would save in a larger one is less than 1 %.
const FULL_ROWS_MIN: usize = BLOCK_ROWS_MAX / 4;

/// Whether blocks can be gathered: they are numbers of one type, each later than all before it. One alone always can.
pub(crate) fn follow(pieces: &[Piece]) -> bool {
    let follows = |pair: &[Piece]| {
        let (piece, next) = (&pair[0].entry, &pair[1].entry);
        piece.value_type == next.value_type && piece.t1 < next.t0
    };
    let are_numbers = pieces.first().is_some_and(|first| first.entry.value_type.is_numeric_scalar());
    pieces.len() == 1 || (are_numbers && pieces.windows(2).all(follows))
}

/// Writes the blocks of one PV after the other.
#[derive(Default)]
pub(crate) struct Gathering {
    /// A batch for each type that was met, so that their memory is used again and again. All are empty but the last, whose samples
    /// are not in a block yet.
    batches: Vec<Batch>,
    /// The block that was read last, kept for its memory.
    read: Option<Batch>,
}

impl Gathering {
    /// Writes blocks that follow one another.
    pub(crate) fn write(
        &mut self,
        writer: &mut SegmentWriter,
        pv: PvId,
        pieces: &[Piece],
        sources: &mut [Source],
    ) -> Result<(), Unwritten> {
        let Some(value_type) = pieces.first().map(|piece| piece.entry.value_type) else { return Ok(()) };
        match self.batches.iter().position(|batch| batch.value_type() == value_type) {
            Some(own) => self.batches[own..].rotate_left(1),
            None => self.batches.push(Batch::new(value_type)),
        }
        for (place, piece) in pieces.iter().enumerate() {
            let source = &mut sources[piece.source];
            let full = piece.entry.count as usize >= FULL_ROWS_MIN;
            let alone = place + 1 == pieces.len();
            let is_merged = source.is_merged();
            let room = self.read.take().unwrap_or_else(|| Batch::new(value_type));
            let read = source.read(room, pv, &piece.entry);
            let (batch, bytes) = read.map_err(|error| Unwritten::Unread(Box::new((*piece, error))))?;
            if is_merged && full && self.rows() >= FULL_ROWS_MIN {
                self.write_waiting(writer, pv, 1)?;
            }
            if is_merged && (full || alone) && self.rows() == 0 {
                writer.copy(pv, bytes, &batch)?;
                self.read = Some(batch).filter(|batch| batch.value_type().is_numeric_scalar());
                continue;
            }
            let fits = self.waiting().extend_from(&batch, 0..batch.len());
            assert!(fits, "the types were compared before");
            self.read = Some(batch).filter(|batch| batch.value_type().is_numeric_scalar());
            if is_merged && full && self.rows() > BLOCK_ROWS_MAX {
                self.write_waiting(writer, pv, 2)?;
            }
            if self.rows() >= BLOCK_ROWS_MAX {
                self.write_full(writer, pv)?;
            }
        }
        self.write_waiting(writer, pv, 1)
    }

    fn waiting(&mut self) -> &mut Batch {
        self.batches.last_mut().expect("it was chosen by type before")
    }

    fn rows(&self) -> usize {
        self.batches.last().map_or(0, Batch::len)
    }

    /// Writes a full block of what waits. The rest goes on waiting.
    fn write_full(&mut self, writer: &mut SegmentWriter, pv: PvId) -> Result<(), Unwritten> {
        let waiting = self.waiting();
        let rest = waiting.slice(BLOCK_ROWS_MAX..waiting.len());
        writer.add(pv, &waiting.slice(0..BLOCK_ROWS_MAX), Effort::Merge)?;
        *waiting = rest;
        Ok(())
    }

    /// Writes all that waits, in so many blocks.
    fn write_waiting(&mut self, writer: &mut SegmentWriter, pv: PvId, blocks: usize) -> Result<(), Unwritten> {
        let waiting = self.waiting();
        let rows = waiting.len();
        if blocks == 1 && rows > 0 {
            writer.add(pv, waiting, Effort::Merge)?;
        } else {
            for block in (0..blocks).filter(|_| rows > 0) {
                writer.add(pv, &waiting.slice(rows * block / blocks..rows * (block + 1) / blocks), Effort::Merge)?;
            }
        }
        waiting.clear();
        Ok(())
    }
}

/// Why blocks were not written.
#[derive(Debug)]
pub(crate) enum Unwritten {
    /// One could not be read.
    Unread(Box<(Piece, Error)>),
    /// The disk refused them.
    Refused(std::io::Error),
}

impl From<std::io::Error> for Unwritten {
    fn from(error: std::io::Error) -> Unwritten {
        Unwritten::Refused(error)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sample::{Alarm, Element, Sample, Timestamp, Value, ValueType};

    use super::*;
    use crate::{
        disk::{Disk, RealDisk},
        segment::{Entry, Manifest, Segment},
    };

    const PV: PvId = PvId(7);

    fn batch(rows: std::ops::Range<i64>) -> Batch {
        let mut batch = Batch::new(ValueType::scalar(Element::F64));
        for i in rows {
            let (time, value) = (Timestamp::from_nanos(i * 1_000_003), Value::F64((i * i % 1009) as f64 / 7.0));
            assert!(batch.push(&Sample { time, value, alarm: Alarm::default(), pulse: 0, stamp: None }));
        }
        batch
    }

    /// Segments with blocks of so many rows, one row after the other through all of them.
    fn sources(disk: &Arc<dyn Disk>, segments: &[&[i64]], generation: u32) -> (Vec<Source>, Vec<Piece>) {
        let (mut sources, mut pieces, mut row) = (Vec::new(), Vec::new(), 0);
        for (number, blocks) in segments.iter().enumerate() {
            let mut writer = SegmentWriter::new(disk.clone(), format!("{number}.seg"), 0, Timestamp::from_nanos(0));
            for rows in *blocks {
                writer.add(PV, &batch(row..row + rows), Effort::Flush).unwrap();
                row += rows;
            }
            let manifest = Manifest { generation, ..writer.finish(&|_| None).unwrap().unwrap() };
            let segment = Arc::new(Segment::new(disk.clone(), manifest));
            let mut source = Source::new(segment, segments.len());
            assert_eq!(source.next_pv().unwrap(), Some(PV));
            let record = source.take_record(PV).unwrap();
            source.add_pieces(&mut pieces, number, &record).unwrap();
            assert_eq!(source.next_pv().unwrap(), None);
            sources.push(source);
        }
        (sources, pieces)
    }

    /// How many rows the blocks have that a merge makes of such, and which of these stand in it as they were.
    fn gathered(segments: &[&[i64]], generation: u32) -> (Vec<u32>, Vec<bool>) {
        let folder = tempfile::tempdir().unwrap();
        let disk: Arc<dyn Disk> = Arc::new(RealDisk::new(folder.path()));
        let (mut sources, pieces) = sources(&disk, segments, generation);
        assert!(follow(&pieces));
        let mut writer = SegmentWriter::new(disk.clone(), "merged.seg".into(), 0, Timestamp::from_nanos(0));
        Gathering::default().write(&mut writer, PV, &pieces, &mut sources).unwrap();
        let merged = Segment::new(disk, writer.finish(&|_| None).unwrap().unwrap());
        let entries = merged.index(&merged.record(PV).unwrap().unwrap()).unwrap();
        let mut whole = Batch::new(ValueType::scalar(Element::F64));
        for entry in &entries {
            let block = merged.read(PV, entry).unwrap();
            assert!(whole.extend_from(&block, 0..block.len()));
        }
        assert_eq!(whole, batch(0..segments.concat().iter().sum()));
        let bytes = |segment: &Segment, entry: &Entry| {
            let mut bytes = Vec::new();
            segment.read_run(entry.offset, entry.len as usize, &mut bytes).unwrap();
            bytes
        };
        let kept: Vec<Vec<u8>> = entries.iter().map(|entry| bytes(&merged, entry)).collect();
        let is_kept = |piece: &Piece| kept.contains(&bytes(&sources[piece.source].segment, &piece.entry));
        (entries.iter().map(|entry| entry.count).collect(), pieces.iter().map(is_kept).collect())
    }

    #[test]
    fn full_blocks_of_a_merge_are_copied_and_remainders_shared_out() {
        let (rows, kept) = gathered(&[&[8192, 8192, 300], &[8192, 8192, 2500], &[40, 8192]], 1);
        assert_eq!(rows, [8192, 8192, 4246, 4246, 8192, 2500, 4116, 4116]);
        assert_eq!(kept, [true, true, false, false, true, true, false, false]);
    }

    #[test]
    fn blocks_of_flushes_become_full_ones() {
        assert_eq!(gathered(&[&[80], &[80], &[80]], 0).0, [240]);
        assert_eq!(gathered(&[&[5000], &[5000], &[8192], &[1]], 0).0, [8192, 8192, 1809]);
        assert_eq!(gathered(&[&[5000, 3192], &[8192]], 0).0, [8192, 8192]);
    }

    #[test]
    fn only_numbers_of_one_type_that_follow_one_another_are_gathered() {
        let piece = |element, t0, t1| {
            let (t0, t1) = (Timestamp::from_nanos(t0), Timestamp::from_nanos(t1));
            let value_type = ValueType::scalar(element);
            Piece { source: 0, entry: Entry { offset: 0, len: 1, count: 2, value_type, t0, t1 } }
        };
        let first = piece(Element::F64, 0, 10);
        assert!(follow(&[first, piece(Element::F64, 11, 12)]));
        assert!(!follow(&[first, piece(Element::F64, 10, 12)]), "the sample of 10 may be there twice");
        assert!(!follow(&[piece(Element::F64, 11, 12), first]));
        assert!(!follow(&[first, piece(Element::I32, 11, 12)]));
        assert!(!follow(&[piece(Element::String, 0, 1), piece(Element::String, 2, 3)]));
        assert!(follow(&[piece(Element::String, 0, 1)]) && !follow(&[]));
    }
}

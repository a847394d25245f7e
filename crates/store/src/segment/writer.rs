//! The writer of segments: the blocks of one PV after the other, then everything by which they are found.

use std::{io, sync::Arc};

use archive::PvId;
use sample::{Batch, Timestamp};
use xxhash_rust::xxh3::xxh3_64;

use super::{
    DirectoryRecord, Entry, Manifest, Named, Table,
    directory::{Footer, footer_bytes, put_page},
    levels::LevelsWriter,
    names::names_bytes,
    tables::{put_index, put_summaries},
};
use crate::{
    Summary, block,
    codec::{Effort, frames::Frames},
    disk::Disk,
    segment::format::{HEADER_LEN, IDENTITY_AT, MAGIC, PAGE_RECORDS, TABLES, TAIL_MAGIC, VERSION, key_number},
};

/// Bytes are handed to the disk in pieces of about this size: small enough to be still in the processor's cache.
const WRITE_BYTES: usize = 256 << 10;

/// A flush of so many samples of one PV writes its levels, too: a device of kilohertz, or an import. The segments of other flushes
/// are merged soon, and flushes are in a hurry.
const LEVELS_ROWS_MIN: usize = 16 * 8192;

/// A flush writes no summary of fewer samples: reading them takes no longer than reading it, and a merge comes soon.
const SUMMARY_ROWS_MIN: usize = 24;

/// Writes a segment, PV by PV in ascending order of their numbers.
pub(crate) struct SegmentWriter {
    disk: Arc<dyn Disk>,
    key: String,
    sequence: u64,
    buffer: Vec<u8>,
    /// Bytes handed to the disk.
    written: u64,
    current: Current,
    /// Whether the next blocks of a flush are many.
    many: bool,
    /// Of the PVs before the current one. Offsets of tables count from the first table until the blocks are all written.
    records: Vec<DirectoryRecord>,
    tables: Vec<u8>,
}

/// The PV whose blocks are being written, if there are any yet.
struct Current {
    pv: PvId,
    blocks_at: u64,
    entries: Vec<Entry>,
    /// One for each of the entries; none at all of a PV of which a flush has few samples.
    summaries: Vec<Summary>,
    levels: LevelsWriter,
}

impl Current {
    /// Writes its tables; where they lie is counted from the first table. What comes next begins with nothing.
    fn finish(&mut self, tables: &mut Vec<u8>) -> DirectoryRecord {
        let Current { pv, blocks_at, ref entries, ref summaries, ref mut levels } = *self;
        let mut record = DirectoryRecord {
            pv,
            blocks: entries.len() as u32,
            samples: entries.iter().map(|entry| u64::from(entry.count)).sum(),
            t0: entries.iter().map(|entry| entry.t0).min().expect("a PV is begun with a block"),
            t1: entries.iter().map(|entry| entry.t1).max().expect("a PV is begun with a block"),
            blocks_at,
            tables_at: tables.len() as u64,
            lens: [0; TABLES],
            only: 0,
            checks: [0; TABLES],
        };
        let is_told = matches!(entries.as_slice(), [only] if record.put_only(only));
        if !is_told {
            record.put_table(Table::Index, tables, |out| put_index(out, entries));
        }
        if !summaries.is_empty() {
            record.put_table(Table::Summaries, tables, |out| put_summaries(out, summaries));
        }
        let samples = record.samples;
        let block_bytes = entries.iter().map(|entry| u64::from(entry.len)).sum();
        let levels = std::mem::take(levels);
        record.put_table(Table::Levels, tables, |out| levels.finish(out, samples, block_bytes));
        self.entries.clear();
        self.summaries.clear();
        record
    }
}

impl SegmentWriter {
    pub(crate) fn new(disk: Arc<dyn Disk>, key: String, sequence: u64, now: Timestamp) -> SegmentWriter {
        let mut buffer = Vec::with_capacity(WRITE_BYTES * 2);
        buffer.extend_from_slice(&MAGIC);
        buffer.extend_from_slice(&VERSION.to_le_bytes());
        buffer.extend_from_slice(&[0; 6]);
        buffer.extend_from_slice(&sequence.to_le_bytes());
        buffer.extend_from_slice(&now.nanos().to_le_bytes());
        buffer.resize(HEADER_LEN - 8, 0);
        let check = xxh3_64(&buffer);
        buffer.extend_from_slice(&check.to_le_bytes());
        let current = Current {
            pv: PvId(0),
            blocks_at: 0,
            entries: Vec::new(),
            summaries: Vec::new(),
            levels: LevelsWriter::default(),
        };
        let (records, tables) = (Vec::new(), Vec::new());
        SegmentWriter { disk, key, sequence, buffer, written: 0, current, many: false, records, tables }
    }

    /// Writes into the header for which archive and under which key it is written, before the first block comes.
    pub(crate) fn identified(mut self, archive: u64, key: &str) -> SegmentWriter {
        let check_at = HEADER_LEN - 8;
        self.buffer.truncate(IDENTITY_AT);
        self.buffer.extend_from_slice(&archive.to_le_bytes());
        self.buffer.extend_from_slice(&key_number(key).to_le_bytes());
        self.buffer.resize(check_at, 0);
        let check = xxh3_64(&self.buffer);
        self.buffer.extend_from_slice(&check.to_le_bytes());
        self
    }

    /// So many samples come in the next blocks.
    pub(crate) fn expect_rows(&mut self, rows: usize) {
        self.many = rows >= LEVELS_ROWS_MIN;
    }

    /// Adds a block of a PV: the same as the last one, or one of a higher number. The batch is sorted and not empty.
    pub(crate) fn add(&mut self, pv: PvId, batch: &Batch, effort: Effort) -> io::Result<()> {
        let start = self.buffer.len();
        block::put(&mut self.buffer, pv, batch, effort);
        self.enter(pv, batch, start, effort)
    }

    /// Adds frames as one block.
    pub(crate) fn add_frames(&mut self, pv: PvId, frames: &Frames, effort: Effort) -> io::Result<()> {
        let start = self.buffer.len();
        block::put_frames(&mut self.buffer, pv, frames, effort);
        self.enter(pv, frames.samples(), start, effort)
    }

    /// Adds a block of a PV as it was written before. The batch is what it holds.
    pub(crate) fn copy(&mut self, pv: PvId, block: &[u8], batch: &Batch) -> io::Result<()> {
        let start = self.buffer.len();
        self.buffer.extend_from_slice(block);
        self.enter(pv, batch, start, Effort::Merge)
    }

    /// Enters a block that was put at the end of the buffer into the tables of its PV.
    fn enter(&mut self, pv: PvId, batch: &Batch, start: usize, effort: Effort) -> io::Result<()> {
        let offset = self.written + start as u64;
        let entry = Entry {
            offset,
            len: (self.buffer.len() - start) as u32,
            count: batch.len() as u32,
            value_type: batch.value_type(),
            t0: *batch.times().first().expect("a block has samples"),
            t1: *batch.times().last().expect("a block has samples"),
        };
        if self.current.pv != pv {
            self.finish_pv();
        }
        let current = &mut self.current;
        if current.entries.is_empty() {
            (current.pv, current.blocks_at) = (pv, offset);
        }
        let is_first_of_few = effort == Effort::Flush && current.entries.is_empty() && batch.len() < SUMMARY_ROWS_MIN;
        let goes_without = is_first_of_few || current.summaries.len() < current.entries.len();
        current.entries.push(entry);
        if !goes_without {
            let summary = Summary::of(batch, 0..batch.len()).expect("a block has samples");
            current.summaries.push(summary);
            if effort == Effort::Merge || self.many {
                current.levels.add(batch, &summary);
            }
        }
        // Nobody waits for a segment, while whoever reads from the network must be back before a socket is full: where they share a core,
        // this thread would go on until the kernel's next tick.
        std::thread::yield_now();
        if self.buffer.len() >= WRITE_BYTES { self.write_out() } else { Ok(()) }
    }

    /// The key that it was made with.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// How many bytes the file has so far.
    pub(crate) fn offset(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    fn finish_pv(&mut self) {
        if self.current.entries.is_empty() {
            return;
        }
        let in_order = self.records.last().is_none_or(|last| last.pv < self.current.pv);
        assert!(in_order, "PVs come in the order of their numbers");
        self.records.push(self.current.finish(&mut self.tables));
    }

    /// Like `finish_with`. `named` tells the name of each PV, if it is known.
    pub(crate) fn finish(self, named: &dyn Fn(PvId) -> Option<Named>) -> io::Result<Option<Manifest>> {
        self.finish_with(&|pvs| names_bytes(&pvs.iter().filter_map(|pv| named(*pv)).collect::<Vec<Named>>()).into())
    }

    /// Writes tables, directory, names and footer, and makes the file durable under the key that it was made with. Without
    /// blocks there is no file. `names` gives the table of names of the PVs.
    pub(crate) fn finish_with(mut self, names: &dyn Fn(&[PvId]) -> Arc<[u8]>) -> io::Result<Option<Manifest>> {
        self.finish_pv();
        let Some(last) = self.records.last() else { return Ok(None) };
        let records = || self.records.iter();
        let mut footer = Footer {
            pvs: self.records.len() as u32,
            sequence: self.sequence,
            blocks: records().map(|record| u64::from(record.blocks)).sum(),
            samples: records().map(|record| record.samples).sum(),
            t0: records().map(|record| record.t0).min().unwrap_or_default(),
            t1: records().map(|record| record.t1).max().unwrap_or_default(),
            tables_at: self.offset(),
            first_pvs: self.records.chunks(PAGE_RECORDS).map(|page| page[0].pv.0).collect(),
            last_pv: last.pv.0,
            ..Footer::default()
        };
        self.write_out()?;
        let tables = std::mem::take(&mut self.tables);
        self.disk.write_at(&self.key, self.written, &tables)?;
        self.written += tables.len() as u64;
        drop(tables);
        self.records.iter_mut().for_each(|record| record.tables_at += footer.tables_at);
        footer.pages_at = self.offset();
        self.records.chunks(PAGE_RECORDS).for_each(|page| put_page(&mut self.buffer, page));
        footer.names_at = self.offset();
        let names = names(&self.records.iter().map(|record| record.pv).collect::<Vec<PvId>>());
        footer.names_check = xxh3_64(&names);
        self.buffer.extend_from_slice(&names);
        let bytes = footer_bytes(&footer);
        footer.check = bytes.first_chunk().map_or(0, |check| u64::from_le_bytes(*check));
        self.buffer.extend_from_slice(&bytes);
        self.buffer.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        self.buffer.extend_from_slice(&[0; 4]);
        self.buffer.extend_from_slice(&TAIL_MAGIC);
        self.write_out()?;
        self.disk.sync(&self.key)?;
        Ok(Some(footer.manifest(self.key, self.written)))
    }

    fn write_out(&mut self) -> io::Result<()> {
        if self.written == 0 {
            self.disk.set_len(&self.key, 0)?; // what an earlier attempt may have left
        }
        self.disk.write_at(&self.key, self.written, &self.buffer)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

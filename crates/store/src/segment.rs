//! Segments: blocks of many PVs in one immutable file, found by number of the PV.

use std::{
    io,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use sample::{Batch, PvId, Severity, Timestamp};
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    Error, Summary, block,
    bytes::{Cursor, Malformed},
    codec::Effort,
    disk::Disk,
    plain,
    segment_format::{
        ENTRY_LEN, FOOTER_FIXED_LEN, HEADER_LEN, MAGIC, PAGE_RECORDS, RECORD_LEN, TAIL_LEN, TAIL_MAGIC, VERSION,
    },
};

/// Bytes are handed to the disk in pieces of about this size.
const WRITE_BYTES: usize = 1 << 20;

/// What the catalogue knows of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// The order of writing: of segments with samples of equal time the one with the lower number was written earlier.
    pub(crate) sequence: u64,
    /// The highest number of the segments that were merged into this one; its own if it came from a flush.
    pub(crate) last: u64,
    pub(crate) key: String,
    pub(crate) bytes: u64,
    pub(crate) blocks: u64,
    pub(crate) samples: u64,
    pub(crate) t0: Timestamp,
    pub(crate) t1: Timestamp,
}

impl Manifest {
    /// The folder of the week in which it was written.
    pub(crate) fn folder(&self) -> &str {
        self.key.split('/').next().unwrap_or_default()
    }
}

/// Where a block lies and what is in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) offset: u64,
    pub(crate) len: u32,
    pub(crate) summary: Summary,
}

/// What the directory knows of a PV.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Record {
    pub(crate) pv: PvId,
    pub(crate) blocks: u32,
    pub(crate) index_at: u64,
    pub(crate) t0: Timestamp,
    pub(crate) t1: Timestamp,
    pub(crate) samples: u64,
    pub(crate) index_check: u64,
}

/// The end of a segment, from which everything else is found.
#[derive(Debug, Default)]
pub(crate) struct Footer {
    pub(crate) sequence: u64,
    pub(crate) blocks: u64,
    pub(crate) samples: u64,
    pub(crate) t0: Timestamp,
    pub(crate) t1: Timestamp,
    pub(crate) pages_at: u64,
    pub(crate) pvs: u32,
    pub(crate) first_pvs: Vec<u32>,
}

/// Writes a segment, PV by PV in ascending order of their numbers.
pub(crate) struct SegmentWriter {
    disk: Arc<dyn Disk>,
    key: String,
    buffer: Vec<u8>,
    /// Bytes handed to the disk.
    written: u64,
    index: Vec<u8>,
    /// Offsets of indices count from the first index until the blocks are all written.
    records: Vec<Record>,
    footer: Footer,
}

impl SegmentWriter {
    pub(crate) fn new(disk: Arc<dyn Disk>, key: String, sequence: u64, now: Timestamp) -> SegmentWriter {
        let mut buffer = Vec::with_capacity(WRITE_BYTES * 2);
        buffer.extend_from_slice(&MAGIC);
        buffer.extend_from_slice(&VERSION.to_le_bytes());
        buffer.extend_from_slice(&[0; 6]);
        buffer.extend_from_slice(&sequence.to_le_bytes());
        buffer.extend_from_slice(&now.nanos().to_le_bytes());
        buffer.resize(HEADER_LEN, 0);
        let footer = Footer { sequence, t0: Timestamp::MAX, t1: Timestamp::MIN, ..Footer::default() };
        SegmentWriter { disk, key, buffer, written: 0, index: Vec::new(), records: Vec::new(), footer }
    }

    /// Adds a block of a PV: the same as the last one, or one of a higher number. The batch is sorted and not empty.
    pub(crate) fn add(&mut self, pv: PvId, batch: &Batch, effort: Effort) -> io::Result<()> {
        let offset = self.written + self.buffer.len() as u64;
        let start = self.buffer.len();
        block::put(&mut self.buffer, pv, batch, effort);
        let summary = Summary::of(batch, 0..batch.len()).expect("a block has samples");
        let entry = Entry { offset, len: (self.buffer.len() - start) as u32, summary };
        self.note(pv, &entry);
        if self.buffer.len() >= WRITE_BYTES { self.write_out() } else { Ok(()) }
    }

    fn note(&mut self, pv: PvId, entry: &Entry) {
        let Summary { t0, t1, count, .. } = entry.summary;
        self.footer.blocks += 1;
        self.footer.samples += count;
        self.footer.t0 = self.footer.t0.min(t0);
        self.footer.t1 = self.footer.t1.max(t1);
        match self.records.last_mut() {
            Some(record) if record.pv == pv => {
                record.blocks += 1;
                record.samples += count;
                record.t0 = record.t0.min(t0);
                record.t1 = record.t1.max(t1);
            }
            last => {
                assert!(last.is_none_or(|last| last.pv < pv), "PVs come in the order of their numbers");
                let index_at = self.index.len() as u64;
                self.records.push(Record { pv, blocks: 1, index_at, t0, t1, samples: count, index_check: 0 });
            }
        }
        put_entry(&mut self.index, entry);
    }

    /// Writes index, directory and footer, and makes the file durable under the key that it was made with. Without blocks
    /// there is no file.
    pub(crate) fn finish(mut self) -> io::Result<Option<Manifest>> {
        if self.records.is_empty() {
            return Ok(None);
        }
        let index_at = self.written + self.buffer.len() as u64;
        for record in &mut self.records {
            let start = record.index_at as usize;
            record.index_check = xxh3_64(&self.index[start..start + record.blocks as usize * ENTRY_LEN]);
            record.index_at += index_at;
        }
        self.buffer.append(&mut self.index);
        self.footer.pages_at = self.written + self.buffer.len() as u64;
        self.footer.pvs = self.records.len() as u32;
        for page in self.records.chunks(PAGE_RECORDS) {
            self.footer.first_pvs.push(page[0].pv.0);
            let mut bytes = Vec::with_capacity(PAGE_RECORDS * RECORD_LEN);
            page.iter().for_each(|record| put_record(&mut bytes, record));
            self.buffer.extend_from_slice(&xxh3_64(&bytes).to_le_bytes());
            self.buffer.extend_from_slice(&bytes);
        }
        let footer = footer_bytes(&self.footer);
        self.buffer.extend_from_slice(&footer);
        self.buffer.extend_from_slice(&(footer.len() as u32).to_le_bytes());
        self.buffer.extend_from_slice(&[0; 4]);
        self.buffer.extend_from_slice(&TAIL_MAGIC);
        self.write_out()?;
        self.disk.sync(&self.key)?;
        let Footer { sequence, blocks, samples, t0, t1, .. } = self.footer;
        Ok(Some(Manifest { sequence, last: sequence, key: self.key, bytes: self.written, blocks, samples, t0, t1 }))
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

/// A segment that readers use. Its file goes when the last of them is done with it, if it was replaced meanwhile.
#[derive(Debug)]
pub(crate) struct Segment {
    // fixed after start
    pub(crate) manifest: Manifest,
    disk: Arc<dyn Disk>,
    // read when first needed
    footer: OnceLock<Footer>,
    // atomic
    replaced: AtomicBool,
    kept: AtomicBool,
}

impl Drop for Segment {
    fn drop(&mut self) {
        if self.replaced.load(Relaxed)
            && let Err(error) = self.disk.remove(&self.manifest.key)
        {
            tracing::warn!("cannot remove {}, which was merged into another segment: {error}", self.manifest.key);
        }
    }
}

impl Segment {
    pub(crate) fn new(disk: Arc<dyn Disk>, manifest: Manifest) -> Segment {
        Segment {
            manifest,
            disk,
            footer: OnceLock::new(),
            replaced: AtomicBool::new(false),
            kept: AtomicBool::new(false),
        }
    }

    /// The catalogue no longer names it: its file is removed when nobody reads it any more.
    pub(crate) fn replace(&self) {
        self.replaced.store(true, Relaxed);
    }

    /// It is damaged and is not to be merged.
    pub(crate) fn keep(&self) {
        self.kept.store(true, Relaxed);
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.kept.load(Relaxed)
    }

    /// The whole directory.
    pub(crate) fn records(&self) -> Result<Vec<Record>, Error> {
        let mut records = Vec::new();
        for page in 0..self.footer()?.first_pvs.len() {
            records.extend(self.page(page)?);
        }
        Ok(records)
    }

    /// The blocks of a PV, in the order of their writing.
    pub(crate) fn entries(&self, pv: PvId) -> Result<Vec<Entry>, Error> {
        match self.record(pv)? {
            Some(record) => self.index(&record),
            None => Ok(Vec::new()),
        }
    }

    /// What the directory says about a PV.
    pub(crate) fn record(&self, pv: PvId) -> Result<Option<Record>, Error> {
        let page = self.footer()?.first_pvs.partition_point(|first| *first <= pv.0);
        let Some(page) = page.checked_sub(1) else { return Ok(None) };
        Ok(self.page(page)?.into_iter().find(|record| record.pv == pv))
    }

    pub(crate) fn index(&self, record: &Record) -> Result<Vec<Entry>, Error> {
        let len = u64::from(record.blocks) * ENTRY_LEN as u64;
        let bytes = self.read_checked(record.index_at, len)?;
        if xxh3_64(&bytes) != record.index_check {
            return Err(self.corrupt(format!("the index of PV {} has another checksum", record.pv.0)));
        }
        let mut cursor = Cursor::new(&bytes);
        let entries = (0..record.blocks).map(|_| take_entry(&mut cursor)).collect::<Result<_, _>>();
        entries.map_err(|Malformed(reason)| self.corrupt(format!("the index of PV {}: {reason}", record.pv.0)))
    }

    /// The records of one page of the directory.
    pub(crate) fn page(&self, page: usize) -> Result<Vec<Record>, Error> {
        let footer = self.footer()?;
        let records = (footer.pvs as usize).saturating_sub(page * PAGE_RECORDS).min(PAGE_RECORDS);
        let offset = footer.pages_at + (page * (8 + PAGE_RECORDS * RECORD_LEN)) as u64;
        let bytes = self.read_checked(offset, (8 + records * RECORD_LEN) as u64)?;
        let mut cursor = Cursor::new(&bytes);
        let check = cursor.u64().map_err(|Malformed(reason)| self.corrupt(reason.to_owned()))?;
        if xxh3_64(&bytes[8..]) != check {
            return Err(self.corrupt(format!("page {page} of the directory has another checksum")));
        }
        let records = (0..records).map(|_| take_record(&mut cursor)).collect::<Result<_, _>>();
        records.map_err(|Malformed(reason)| self.corrupt(format!("page {page} of the directory: {reason}")))
    }

    /// The samples of a block, verified against checksum and index.
    pub(crate) fn read(&self, pv: PvId, entry: &Entry) -> Result<Batch, Error> {
        let corrupt = |reason: &str| Error::CorruptBlock {
            path: self.manifest.key.clone(),
            offset: entry.offset,
            pv,
            t0: entry.summary.t0,
            t1: entry.summary.t1,
            reason: reason.to_owned(),
        };
        if entry.offset.saturating_add(u64::from(entry.len)) > self.manifest.bytes {
            return Err(corrupt("the index points beyond the end of the file"));
        }
        let mut bytes = vec![0; entry.len as usize];
        self.disk.read_at(&self.manifest.key, entry.offset, &mut bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => corrupt("the file ends before it"),
            _ => self.io(error),
        })?;
        let (owner, batch) = block::take(&bytes).map_err(|Malformed(reason)| corrupt(reason))?;
        let Summary { value_type, t0, t1, count, .. } = entry.summary;
        let fits = batch.value_type() == value_type
            && batch.len() as u64 == count
            && batch.times().first() == Some(&t0)
            && batch.times().last() == Some(&t1);
        if owner == pv && fits { Ok(batch) } else { Err(corrupt("it is not the block that the index means")) }
    }

    /// Nobody needs the header to read; a check looks whether it is whole.
    pub(crate) fn check_header(&self) -> Result<(), Error> {
        let bytes = self.read_checked(0, HEADER_LEN as u64)?;
        let sequence = self.footer()?.sequence.to_le_bytes();
        let whole = bytes[..8] == MAGIC
            && bytes[8..10] == VERSION.to_le_bytes()
            && bytes[10..16] == [0; 6]
            && bytes[16..24] == sequence
            && bytes[32..].iter().all(|byte| *byte == 0);
        if whole { Ok(()) } else { Err(self.corrupt("its header is damaged".to_owned())) }
    }

    pub(crate) fn footer(&self) -> Result<&Footer, Error> {
        if let Some(footer) = self.footer.get() {
            return Ok(footer);
        }
        let footer = self.read_footer()?;
        Ok(self.footer.get_or_init(|| footer))
    }

    fn read_footer(&self) -> Result<Footer, Error> {
        let end = self.manifest.bytes.checked_sub(TAIL_LEN as u64);
        let end = end.ok_or_else(|| self.corrupt("it is shorter than a segment can be".to_owned()))?;
        let tail = self.read_checked(end, TAIL_LEN as u64)?;
        if tail[4..8] != [0; 4] || tail[8..] != TAIL_MAGIC {
            return Err(self.corrupt("its last bytes are not those of a segment".to_owned()));
        }
        let len = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
        let offset = end.checked_sub(len);
        let offset = offset.ok_or_else(|| self.corrupt("its footer is longer than the file".to_owned()))?;
        let bytes = self.read_checked(offset, len)?;
        let mut cursor = Cursor::new(&bytes);
        if cursor.u64() != Ok(xxh3_64(bytes.get(8..).unwrap_or_default())) {
            return Err(self.corrupt("its footer has another checksum".to_owned()));
        }
        match cursor.u16() {
            Ok(VERSION) => {}
            Ok(version) if version > VERSION => {
                return Err(Error::TooNew { path: self.manifest.key.clone(), version, supported: VERSION });
            }
            _ => return Err(self.corrupt("its version is unknown".to_owned())),
        }
        take_footer(&mut cursor).map_err(|Malformed(reason)| self.corrupt(format!("its footer: {reason}")))
    }

    /// Reads what lies within the file; a place beyond it is damage, not a reason to take memory.
    fn read_checked(&self, offset: u64, len: u64) -> Result<Vec<u8>, Error> {
        if offset.checked_add(len).is_none_or(|end| end > self.manifest.bytes) {
            return Err(self.corrupt(format!("byte {offset} and {len} more lie beyond its end")));
        }
        let mut bytes = vec![0; len as usize];
        self.disk.read_at(&self.manifest.key, offset, &mut bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => self.corrupt("it is shorter than it was when it was written".to_owned()),
            _ => self.io(error),
        })?;
        Ok(bytes)
    }

    fn corrupt(&self, reason: String) -> Error {
        Error::CorruptSegment { path: self.manifest.key.clone(), reason }
    }

    fn io(&self, source: io::Error) -> Error {
        Error::Io { doing: "read", path: self.manifest.key.clone(), source }
    }
}

fn put_entry(out: &mut Vec<u8>, entry: &Entry) {
    let s = &entry.summary;
    out.extend_from_slice(&entry.offset.to_le_bytes());
    out.extend_from_slice(&entry.len.to_le_bytes());
    out.extend_from_slice(&(s.count as u32).to_le_bytes());
    plain::put_type(out, s.value_type);
    out.push(s.severity_max as u8);
    out.push(0);
    out.extend_from_slice(&(s.nan_count as u32).to_le_bytes());
    out.extend_from_slice(&(s.invalid_count as u32).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&s.t0.nanos().to_le_bytes());
    out.extend_from_slice(&s.t1.nanos().to_le_bytes());
    for number in [s.min, s.max, s.sum, s.squares, s.integral, s.first, s.last] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.extend_from_slice(&s.covered.to_le_bytes());
}

fn take_entry(cursor: &mut Cursor) -> Result<Entry, Malformed> {
    let offset = cursor.u64()?;
    let len = cursor.u32()?;
    let count = u64::from(cursor.u32()?);
    let value_type = plain::take_type(cursor)?;
    let severity_max = Severity::from_number(i64::from(cursor.u8()?));
    cursor.u8()?;
    let nan_count = u64::from(cursor.u32()?);
    let invalid_count = u64::from(cursor.u32()?);
    cursor.u32()?;
    let (t0, t1) = (Timestamp::from_nanos(cursor.i64()?), Timestamp::from_nanos(cursor.i64()?));
    let (min, max, sum) = (cursor.f64()?, cursor.f64()?, cursor.f64()?);
    let (squares, integral) = (cursor.f64()?, cursor.f64()?);
    let (first, last) = (cursor.f64()?, cursor.f64()?);
    let covered = cursor.u64()?;
    let empty = Summary::without_values(value_type, t0, t1, count);
    let summary = Summary {
        nan_count,
        min,
        max,
        sum,
        squares,
        integral,
        covered,
        first,
        last,
        severity_max,
        invalid_count,
        ..empty
    };
    Ok(Entry { offset, len, summary })
}

fn put_record(out: &mut Vec<u8>, record: &Record) {
    out.extend_from_slice(&record.pv.0.to_le_bytes());
    out.extend_from_slice(&record.blocks.to_le_bytes());
    out.extend_from_slice(&record.index_at.to_le_bytes());
    out.extend_from_slice(&record.t0.nanos().to_le_bytes());
    out.extend_from_slice(&record.t1.nanos().to_le_bytes());
    out.extend_from_slice(&record.samples.to_le_bytes());
    out.extend_from_slice(&record.index_check.to_le_bytes());
}

fn take_record(cursor: &mut Cursor) -> Result<Record, Malformed> {
    Ok(Record {
        pv: PvId(cursor.u32()?),
        blocks: cursor.u32()?,
        index_at: cursor.u64()?,
        t0: Timestamp::from_nanos(cursor.i64()?),
        t1: Timestamp::from_nanos(cursor.i64()?),
        samples: cursor.u64()?,
        index_check: cursor.u64()?,
    })
}

fn footer_bytes(footer: &Footer) -> Vec<u8> {
    let mut bytes = vec![0; 8];
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&footer.sequence.to_le_bytes());
    bytes.extend_from_slice(&footer.blocks.to_le_bytes());
    bytes.extend_from_slice(&footer.samples.to_le_bytes());
    bytes.extend_from_slice(&footer.t0.nanos().to_le_bytes());
    bytes.extend_from_slice(&footer.t1.nanos().to_le_bytes());
    bytes.extend_from_slice(&footer.pages_at.to_le_bytes());
    bytes.extend_from_slice(&footer.pvs.to_le_bytes());
    assert_eq!(bytes.len(), FOOTER_FIXED_LEN, "the format says so");
    footer.first_pvs.iter().for_each(|pv| bytes.extend_from_slice(&pv.to_le_bytes()));
    let check = xxh3_64(&bytes[8..]);
    bytes[..8].copy_from_slice(&check.to_le_bytes());
    bytes
}

fn take_footer(cursor: &mut Cursor) -> Result<Footer, Malformed> {
    let mut footer = Footer {
        sequence: cursor.u64()?,
        blocks: cursor.u64()?,
        samples: cursor.u64()?,
        t0: Timestamp::from_nanos(cursor.i64()?),
        t1: Timestamp::from_nanos(cursor.i64()?),
        pages_at: cursor.u64()?,
        pvs: cursor.u32()?,
        first_pvs: Vec::new(),
    };
    if cursor.len() != (footer.pvs as usize).div_ceil(PAGE_RECORDS) * 4 {
        return Err(Malformed("it has another number of pages than PVs need"));
    }
    while !cursor.is_empty() {
        footer.first_pvs.push(cursor.u32()?);
    }
    Ok(footer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealDisk;
    use sample::{Alarm, Sample, Value};

    fn batch(pv: u32, count: i64) -> Batch {
        let mut batch = Batch::new(sample::ValueType::scalar(sample::Element::F64));
        for i in 0..count {
            let time = Timestamp::from_nanos(i);
            let value = Value::F64(f64::from(pv) + i as f64);
            assert!(batch.push(&Sample { time, value, alarm: Alarm::default(), pulse: 0 }));
        }
        batch
    }

    #[test]
    fn each_of_many_pvs_is_found_and_others_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let disk: Arc<dyn Disk> = Arc::new(RealDisk::new(folder.path()));
        let mut writer = SegmentWriter::new(disk.clone(), "a.seg".into(), 3, Timestamp::from_nanos(5));
        for pv in (0..1000).step_by(2) {
            writer.add(PvId(pv), &batch(pv, 3), Effort::Flush).unwrap();
            writer.add(PvId(pv), &batch(pv, 2), Effort::Flush).unwrap();
        }
        let manifest = writer.finish().unwrap().unwrap();
        assert_eq!((manifest.blocks, manifest.samples), (1000, 2500));
        assert_eq!(manifest.bytes, disk.len("a.seg").unwrap());
        let segment = Segment::new(disk, manifest);
        for pv in 0..1001 {
            let entries = segment.entries(PvId(pv)).unwrap();
            assert_eq!(entries.len(), if pv % 2 == 0 && pv < 1000 { 2 } else { 0 }, "PV {pv}");
            for (entry, count) in entries.iter().zip([3, 2]) {
                assert_eq!(segment.read(PvId(pv), entry).unwrap(), batch(pv, count));
                assert_eq!(entry.summary.max, f64::from(pv) + count as f64 - 1.0);
            }
        }
    }
}

//! The log: what is appended is here before anyone is told that it is safe.
//!
//! ```text
//!   append ► frames in the spool (memory) ► written at latest after 10 ms (log/files.rs) ► synced each `durable`
//! ```
//! Whoever appends touches the spool alone and never waits for the disk, until the spool is full. After a failed write or sync
//! the file is given up for good: the system may have forgotten what it could not write, and a second sync would lie. The heads
//! still hold everything that only that file had, so the way back is to flush them to blocks and to begin a new file (upkeep/flush.rs).

pub(crate) mod arrays;
pub(crate) mod files;
pub(crate) mod format;
#[cfg(test)]
mod golden;
pub(crate) mod scan;

use std::mem;

use archive::{PvId, Record};
use sample::{Bare, Batch, Sample, Timestamp};
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    block::rows::rows_fitting,
    bytes::{put_blob, put_varint},
    codec::{frames, plain},
    facts,
    log::{
        arrays::{Differences, LoggedArrays, Seen},
        format::{
            FOLLOWING, FRAME_BYTES, FRAME_LEN, GAP, HEADER_LEN, MAGIC, METADATA, SAMPLE, SAMPLES, STAMPED, VERSION,
        },
    },
};

/// So many bytes are written at once, without waiting for the 10 ms.
const WRITE_BYTES: usize = 256 << 10;
/// Buffers that were written are used again up to this size, eight of them: memory that is new costs more than what is copied into it,
/// and arrays of up to a megabyte pass through them one after the other.
const SPARE_BYTES_MAX: usize = 8 * WRITE_BYTES;
/// Rows of a batch in one frame, where it must be divided.
const FRAME_ROWS_MAX: usize = 8192;

/// Frames for one file.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) file: u64,
    pub(crate) bytes: Vec<u8>,
}

/// What is appended to: frames that wait to be written.
#[derive(Debug)]
pub(crate) struct Log {
    /// The file that frames go to.
    file: u64,
    /// How long it will be when all is written; 0 if nothing is in it yet.
    file_bytes: u64,
    file_bytes_max: u64,
    spool: Vec<Piece>,
    spooled: usize,
    /// Bytes of the pieces that were taken and did not come back yet.
    taken: usize,
    next_frame: u64,
    spare: Vec<Vec<u8>>,
    /// The arrays in the file.
    arrays: LoggedArrays,
    /// How many bytes of the file are those that each file has, whatever is appended: the first arrays of PVs.
    first_bytes: u64,
}

impl Log {
    /// Begins file `file` with frame `next_frame`; the file appears with the first write.
    pub(crate) fn new(file: u64, next_frame: u64, file_bytes_max: u64) -> Log {
        Log {
            file,
            file_bytes: 0,
            file_bytes_max,
            spool: Vec::new(),
            spooled: 0,
            taken: 0,
            next_frame,
            spare: Vec::new(),
            arrays: LoggedArrays::default(),
            first_bytes: 0,
        }
    }

    /// Puts records into frames in the spool. `appended` is the number of samples before them, `differences` are those of their
    /// arrays.
    pub(crate) fn append(
        &mut self,
        records: &[(PvId, Record)],
        differences: &Differences,
        mut appended: u64,
        now: Timestamp,
    ) {
        if self.file_bytes >= self.file_bytes_max.saturating_add(self.first_bytes) {
            self.rotate();
        }
        let mut arrays = 0; // so many were written
        let mut out = self.take_buffer();
        let before = out.len();
        let mut frame = Frame::begin(&mut out);
        for (pv, record) in records {
            let mut start = 0;
            loop {
                if frame.len(&out) >= FRAME_BYTES {
                    self.next_frame = frame.seal(&mut out, self.next_frame, appended, now);
                    frame = Frame::begin(&mut out);
                }
                let samples = match record.bare() {
                    Some(bare) => put_bare(&mut out, *pv, bare),
                    None if frames::are(record) => {
                        let samples = self.put_arrays(&mut out, (*pv, record), start, (differences, arrays));
                        arrays += samples;
                        samples
                    }
                    None => {
                        if matches!(record, Record::LedgerRow(sample) if frames::may_be(sample.value.value_type())) {
                            // Differences may follow it as they may any other array of the PV.
                            self.arrays.whole(*pv, self.next_frame);
                        }
                        put_record(&mut out, *pv, record, start)
                    }
                };
                appended += samples as u64;
                start += samples;
                if start >= record.samples() {
                    break;
                }
            }
        }
        self.next_frame = frame.seal(&mut out, self.next_frame, appended, now);
        self.file_bytes += (out.len() - before) as u64;
        self.spooled += out.len() - before;
        self.spool.push(Piece { file: self.file, bytes: out });
    }

    /// Writes arrays from `start` on: those that have a difference which may stand here as that, or some of the others whole.
    /// The differences are those from `known` on. Tells how many were written.
    fn put_arrays(
        &mut self,
        out: &mut Vec<u8>,
        (pv, record): (PvId, &Record),
        start: usize,
        (differences, known): (&Differences, usize),
    ) -> usize {
        let rows = start..record.samples();
        let difference = |row: &usize| differences.get(known + row - start);
        let follow = rows.clone().take(self.arrays.room(pv)).map_while(|row| difference(&row));
        let mut room = FRAME_BYTES;
        let follow = follow.take_while(|difference| {
            let left = room.checked_sub(difference.len());
            room = left.unwrap_or(0);
            left.is_some()
        });
        let count = follow.count();
        if count > 0 {
            let following = (start..start + count).filter_map(|row| difference(&row));
            out.push(FOLLOWING);
            self.arrays.put(out, (pv, self.next_frame), record, start..start + count, following);
            return count;
        }
        let before = out.len();
        let whole = rows.len().min(1) + rows.skip(1).take_while(|row| difference(row).is_none()).count();
        let written = match record {
            Record::Samples(batch) if start + whole < batch.len() => {
                let rows = rows_fitting(batch, start, whole, FRAME_BYTES);
                put_batch(out, pv, &batch.slice(start..start + rows));
                rows
            }
            _ => put_record(out, pv, record, start),
        };
        if written > 0 && self.arrays.whole(pv, self.next_frame) == Seen::First {
            self.first_bytes += (out.len() - before) as u64;
        }
        written
    }

    /// The last piece, if there is room in it, or a new one; with the header of the file if it is the first.
    fn take_buffer(&mut self) -> Vec<u8> {
        let room = self.spool.last().is_some_and(|last| last.file == self.file && last.bytes.len() < WRITE_BYTES);
        if room && let Some(last) = self.spool.pop() {
            return last.bytes;
        }
        let mut buffer = self.spare.pop().unwrap_or_default();
        if self.file_bytes == 0 {
            buffer.extend_from_slice(&MAGIC);
            buffer.extend_from_slice(&VERSION.to_le_bytes());
            buffer.extend_from_slice(&[0; 6]);
            buffer.extend_from_slice(&self.file.to_le_bytes());
            buffer.resize(HEADER_LEN, 0);
            self.file_bytes = HEADER_LEN as u64;
            self.spooled += HEADER_LEN;
        }
        buffer
    }

    /// Whether there are frames to write.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.spool.is_empty()
    }

    /// Whether there is enough to write at once.
    pub(crate) fn is_full(&self) -> bool {
        self.spooled >= WRITE_BYTES
    }

    /// Bytes that wait or are being written.
    pub(crate) fn unwritten(&self) -> usize {
        self.spooled + self.taken
    }

    /// Takes what waits. Only with the lock of the files, or pieces could be written in another order.
    pub(crate) fn take_pieces(&mut self) -> Vec<Piece> {
        self.taken += mem::take(&mut self.spooled);
        mem::take(&mut self.spool)
    }

    /// Gives up what waits for files before `first`: it is in blocks.
    pub(crate) fn forget_before(&mut self, first: u64) {
        self.spool.retain(|piece| piece.file >= first);
        self.spooled = self.spool.iter().map(|piece| piece.bytes.len()).sum();
    }

    /// Takes back the memory of pieces that were written.
    pub(crate) fn reuse(&mut self, pieces: Vec<Piece>) {
        self.taken = 0; // pieces are only taken with the lock of the files
        for Piece { mut bytes, .. } in pieces {
            if self.spare.len() < 8 && bytes.capacity() <= SPARE_BYTES_MAX {
                bytes.clear();
                self.spare.push(bytes);
            }
        }
    }

    /// Begins the next file and gives its number.
    pub(crate) fn rotate(&mut self) -> u64 {
        self.file += 1;
        self.file_bytes = 0;
        self.arrays.clear();
        self.first_bytes = 0;
        self.file
    }

    /// Gives up what waits, and the file: the heads have it all.
    pub(crate) fn give_up(&mut self) {
        self.rotate();
        self.spool.clear();
        self.spooled = 0;
    }

    pub(crate) fn next_frame(&self) -> u64 {
        self.next_frame
    }
}

/// A frame that is being filled.
struct Frame {
    start: usize,
}

impl Frame {
    fn begin(out: &mut Vec<u8>) -> Frame {
        let start = out.len();
        out.resize(start + FRAME_LEN, 0);
        Frame { start }
    }

    fn len(&self, out: &[u8]) -> usize {
        out.len() - self.start
    }

    /// Fills in its head, and gives the number of the next frame.
    fn seal(self, out: &mut [u8], number: u64, appended: u64, now: Timestamp) -> u64 {
        let frame = &mut out[self.start..];
        let len = u32::try_from(frame.len() - FRAME_LEN).expect("larger samples were refused");
        frame[8..12].copy_from_slice(&len.to_le_bytes());
        frame[12..20].copy_from_slice(&number.to_le_bytes());
        frame[20..28].copy_from_slice(&appended.to_le_bytes());
        frame[28..36].copy_from_slice(&now.nanos().to_le_bytes());
        let check = xxh3_64(&frame[8..]);
        frame[..8].copy_from_slice(&check.to_le_bytes());
        number + 1
    }
}

/// Writes a record, of samples only those from `start` that fit into a frame, and tells how many.
fn put_record(out: &mut Vec<u8>, pv: PvId, record: &Record, start: usize) -> usize {
    match record {
        Record::Sample(sample) | Record::LedgerRow(sample) => put_sample(out, pv, sample),
        Record::Samples(batch) => return put_samples(out, pv, batch, start),
        Record::Array(batch) => return put_samples(out, pv, batch, start),
        Record::Gap(gap) => {
            out.push(GAP);
            put_varint(out, u64::from(pv.0));
            out.extend_from_slice(&gap.from.nanos().to_le_bytes());
            out.push(facts::cause_number(gap.cause));
            put_varint(out, gap.lost);
            out.push(u8::from(gap.to.is_some()));
            if let Some(to) = gap.to {
                out.extend_from_slice(&to.nanos().to_le_bytes());
            }
        }
        Record::Metadata(since, metadata) => {
            out.push(METADATA);
            put_varint(out, u64::from(pv.0));
            out.extend_from_slice(&since.nanos().to_le_bytes());
            put_blob(out, &facts::metadata_bytes(metadata));
        }
    }
    record.samples()
}

fn put_samples(out: &mut Vec<u8>, pv: PvId, batch: &Batch, start: usize) -> usize {
    if start == 0 && batch.byte_size() < FRAME_BYTES {
        put_batch(out, pv, batch);
        return batch.len();
    }
    let rows = rows_fitting(batch, start, FRAME_ROWS_MAX, FRAME_BYTES);
    if rows == batch.len() {
        put_batch(out, pv, batch);
        return rows;
    }
    put_batch(out, pv, &batch.slice(start..start + rows));
    rows
}

fn put_batch(out: &mut Vec<u8>, pv: PvId, batch: &Batch) {
    let ordinary = batch.stamps().is_ordinary();
    out.push(if ordinary { SAMPLES } else { STAMPED });
    put_varint(out, u64::from(pv.0));
    plain::put_batch(out, batch);
    if !ordinary {
        plain::put_stamps(out, batch.stamps(), batch.len());
    }
}

fn put_sample(out: &mut Vec<u8>, pv: PvId, sample: &Sample) {
    out.push(if sample.stamp.is_none() { SAMPLES } else { STAMPED });
    put_varint(out, u64::from(pv.0));
    plain::put_batch_of(out, sample);
    if let Some(stamp) = sample.stamp {
        plain::put_stamp(out, stamp, 1);
    }
}

/// A number without alarm and pulse, as most samples are, takes 21 bytes instead of 29.
#[inline]
fn put_bare(out: &mut Vec<u8>, pv: PvId, bare: Bare) -> usize {
    out.push(SAMPLE);
    put_varint(out, u64::from(pv.0));
    // All eight bytes of the number are written, and those that its type has are kept: no copy of a length that varies.
    let mut fixed = [0; 17];
    fixed[0] = bare.element as u8;
    fixed[1..9].copy_from_slice(&bare.time.nanos().to_le_bytes());
    fixed[9..].copy_from_slice(&bare.bits.to_le_bytes());
    let end = out.len() + 9 + bare.element.number_bytes();
    out.extend_from_slice(&fixed);
    out.truncate(end);
    1
}

//! The log: what is appended is here before anyone is told that it is safe.
//!
//! Frames gather in a buffer that is written at latest after 10 ms or 256 KiB; written files are synced by another thread.
//! After a failed write or sync the file is given up for good: the system may have forgotten what it could not write, and a
//! second sync would lie. The heads still hold everything that only that file had, so the way back is to flush them to blocks
//! and to begin a new file (flush.rs).

use std::{io, sync::Arc};

use sample::{Batch, PvId, Record, Timestamp};
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    bytes::{put_blob, put_varint},
    catalog,
    disk::Disk,
    log_format::{
        FILE_BYTES_MAX, FOLDER, FRAME_BYTES, FRAME_LEN, GAP, HEADER_LEN, MAGIC, METADATA, SAMPLES, STAMPED, VERSION,
        key, number,
    },
    plain,
};

/// So many bytes are written at once, without waiting for the 10 ms.
pub(crate) const WRITE_BYTES: usize = 256 << 10;

/// The file that is appended to, and what is not written or not synced yet.
#[derive(Debug)]
pub(crate) struct Log {
    disk: Arc<dyn Disk>,
    number: u64,
    /// Bytes of the file that are written.
    written: u64,
    buffer: Vec<u8>,
    next_frame: u64,
    /// Files written since they were last taken for syncing.
    unsynced: Vec<u64>,
}

impl Log {
    /// Begins file `number` with frame `next_frame`; the file appears with the first write.
    pub(crate) fn new(disk: Arc<dyn Disk>, number: u64, next_frame: u64) -> Log {
        let mut log = Log { disk, number, written: 0, buffer: Vec::new(), next_frame, unsynced: Vec::new() };
        log.begin_file();
        log
    }

    fn begin_file(&mut self) {
        self.written = 0;
        self.buffer.clear();
        self.buffer.extend_from_slice(&MAGIC);
        self.buffer.extend_from_slice(&VERSION.to_le_bytes());
        self.buffer.extend_from_slice(&[0; 6]);
        self.buffer.extend_from_slice(&self.number.to_le_bytes());
        self.buffer.resize(HEADER_LEN, 0);
    }

    /// Puts records into frames in the buffer. `appended` is the number of samples before them.
    pub(crate) fn append(&mut self, records: &[(PvId, Record)], mut appended: u64, now: Timestamp) {
        let mut records = records;
        loop {
            let start = self.buffer.len();
            self.buffer.resize(start + FRAME_LEN, 0);
            while let Some(((pv, record), rest)) = records.split_first()
                && self.buffer.len() < start + FRAME_BYTES
            {
                put_record(&mut self.buffer, *pv, record);
                appended += record.samples() as u64;
                records = rest;
            }
            self.seal(start, appended, now);
            if records.is_empty() {
                return;
            }
        }
    }

    fn seal(&mut self, start: usize, appended: u64, now: Timestamp) {
        let frame = &mut self.buffer[start..];
        let len = (frame.len() - FRAME_LEN) as u32;
        frame[8..12].copy_from_slice(&len.to_le_bytes());
        frame[12..20].copy_from_slice(&self.next_frame.to_le_bytes());
        frame[20..28].copy_from_slice(&appended.to_le_bytes());
        frame[28..36].copy_from_slice(&now.nanos().to_le_bytes());
        let check = xxh3_64(&frame[8..]);
        frame[..8].copy_from_slice(&check.to_le_bytes());
        self.next_frame += 1;
    }

    /// Whether there are frames to write.
    pub(crate) fn is_waiting(&self) -> bool {
        self.buffer.len() > if self.written == 0 { HEADER_LEN } else { 0 }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.buffer.len() >= WRITE_BYTES
    }

    /// Hands the buffer to the operating system. After an error the file must be given up with `rotate`.
    pub(crate) fn write(&mut self) -> io::Result<()> {
        if !self.is_waiting() {
            return Ok(());
        }
        let key = key(self.number);
        if let Err(error) = self.disk.write_at(&key, self.written, &self.buffer) {
            // Half a frame at the end would only be found and cut off by the next recovery.
            if let Err(second) = self.disk.set_len(&key, self.written) {
                tracing::warn!("cannot cut {key} back to its last whole frame: {second}");
            }
            return Err(error);
        }
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        if self.unsynced.last() != Some(&self.number) {
            self.unsynced.push(self.number);
        }
        if self.written >= FILE_BYTES_MAX {
            self.rotate();
        }
        Ok(())
    }

    /// Begins the next file and gives its number. What is still in the buffer is given up.
    pub(crate) fn rotate(&mut self) -> u64 {
        self.number += 1;
        self.begin_file();
        self.number
    }

    /// The files written since the last time.
    pub(crate) fn take_unsynced(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.unsynced)
    }

    pub(crate) fn next_frame(&self) -> u64 {
        self.next_frame
    }
}

/// The numbers of the files in the folder of the log, ascending.
pub(crate) fn files(disk: &dyn Disk) -> io::Result<Vec<u64>> {
    let mut numbers: Vec<u64> = disk.list(FOLDER)?.iter().filter_map(|name| number(name)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// How many bytes the files take.
pub(crate) fn bytes(disk: &dyn Disk) -> u64 {
    let numbers = files(disk).unwrap_or_default();
    numbers.into_iter().map(|number| disk.len(&key(number)).unwrap_or(0)).sum()
}

fn put_samples(out: &mut Vec<u8>, pv: PvId, batch: &Batch) {
    let ordinary = batch.stamps().is_ordinary();
    out.push(if ordinary { SAMPLES } else { STAMPED });
    put_varint(out, u64::from(pv.0));
    plain::put_batch(out, batch);
    if !ordinary {
        plain::put_stamps(out, batch.stamps(), batch.len());
    }
}

fn put_record(out: &mut Vec<u8>, pv: PvId, record: &Record) {
    match record {
        Record::Samples(batch) => put_samples(out, pv, batch),
        Record::Sample(sample) => put_samples(out, pv, &Batch::of(sample)),
        Record::Gap(gap) => {
            out.push(GAP);
            put_varint(out, u64::from(pv.0));
            out.extend_from_slice(&gap.from.nanos().to_le_bytes());
            out.push(catalog::cause_number(gap.cause));
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
            put_blob(out, &catalog::metadata_bytes(metadata));
        }
    }
}

//! The blocks of a segment that is read, each of which must be the one that its index means.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{
    io,
    time::{Duration, Instant},
};

use archive::PvId;
use sample::Batch;

use super::Segment;
use crate::{
    Error, Summary,
    block::{self, Columns, Opened},
    bytes::Malformed,
    codec::time,
    free_lists,
    segment::{Entry, file::io_error},
};

const OTHER_BLOCK: Malformed = Malformed("it is not the block that the index means");

impl Segment {
    /// The samples of a block, verified against checksum and index.
    pub(crate) fn read(&self, pv: PvId, entry: &Entry) -> Result<Batch, Error> {
        self.verify(pv, entry, &self.block_bytes(pv, entry)?)
    }

    /// What of a block a function makes of its bytes and its columns, which are verified against checksum and index.
    pub(crate) fn read_columns<T>(
        &self,
        pv: PvId,
        entry: &Entry,
        make: impl FnOnce(&[u8], &Columns, &time::Lookup) -> Result<T, Malformed>,
    ) -> Result<T, Error> {
        self.read_columns_timed(pv, entry, |bytes, _, columns, times| make(bytes, columns, times))
    }

    /// The same of one who wants to know how long it took to read.
    pub(crate) fn read_columns_timed<T>(
        &self,
        pv: PvId,
        entry: &Entry,
        make: impl FnOnce(&[u8], Duration, &Columns, &time::Lookup) -> Result<T, Malformed>,
    ) -> Result<T, Error> {
        let begun = Instant::now();
        let bytes = self.block_bytes_in(free_lists::take(), pv, entry)?;
        let took = begun.elapsed();
        let made = self.verify_columns(pv, entry, &bytes, |columns, times| make(&bytes, took, columns, times));
        free_lists::give(bytes);
        made
    }

    /// The same of the bytes of a block.
    pub(crate) fn verify_columns<T>(
        &self,
        pv: PvId,
        entry: &Entry,
        bytes: &[u8],
        make: impl FnOnce(&Columns, &time::Lookup) -> Result<T, Malformed>,
    ) -> Result<T, Error> {
        let made = Columns::of(bytes).and_then(|columns| {
            let times = columns.times()?;
            let ends = (times.get(0), times.get(columns.count.saturating_sub(1)));
            let found = (columns.pv, columns.value_type, columns.count, ends);
            if found == (pv, entry.value_type, entry.count as usize, (entry.t0, entry.t1)) {
                make(&columns, &times)
            } else {
                Err(OTHER_BLOCK)
            }
        });
        made.map_err(|Malformed(reason)| self.corrupt_block(pv, entry, reason))
    }

    /// Whether a summary, if there is one, and what stands in the block itself are those of its samples.
    pub(crate) fn is_summed_up(
        &self,
        pv: PvId,
        entry: &Entry,
        batch: &Batch,
        summary: Option<&Summary>,
    ) -> Result<bool, Error> {
        let agrees = summary.is_none_or(|summary| summary.is_of(batch));
        if !batch.value_type().is_numeric_scalar() {
            return Ok(agrees);
        }
        Ok(agrees && self.read_columns(pv, entry, |_, columns, _| columns.has_sections_of(batch))?)
    }

    /// The bytes of a block, of which nothing is verified yet.
    pub(crate) fn block_bytes(&self, pv: PvId, entry: &Entry) -> Result<Vec<u8>, Error> {
        self.block_bytes_in(Vec::new(), pv, entry)
    }

    /// The same in the memory of a list whose content nobody needs.
    pub(crate) fn block_bytes_in(&self, mut bytes: Vec<u8>, pv: PvId, entry: &Entry) -> Result<Vec<u8>, Error> {
        if entry.offset.saturating_add(u64::from(entry.len)) > self.manifest.tables_at {
            return Err(self.corrupt_block(pv, entry, "the index points beyond the end of the blocks"));
        }
        match bytes.capacity() {
            0 => bytes = vec![0; entry.len as usize],
            _ => bytes.resize(entry.len as usize, 0),
        }
        self.file.disk.read_at(&self.manifest.key, entry.offset, &mut bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => self.corrupt_block(pv, entry, "the file ends before it"),
            _ => io_error(&self.manifest.key, error),
        })?;
        Ok(bytes)
    }

    /// Reads parts of a block, given by where they begin in it. Nothing of them is verified.
    pub(crate) fn read_parts(&self, entry: &Entry, parts: &mut [(u64, &mut [u8])]) -> io::Result<()> {
        for (at, part) in parts.iter_mut() {
            *at = at.saturating_add(entry.offset);
            if at.saturating_add(part.len() as u64) > self.manifest.tables_at {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        self.file.disk.read_parts_at(&self.manifest.key, parts)
    }

    /// Reads bytes of neighbouring blocks, which are to be verified one by one.
    pub(crate) fn read_run(&self, offset: u64, len: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
        if offset.saturating_add(len as u64) > self.manifest.tables_at {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.resize(len, 0);
        self.file.disk.read_at(&self.manifest.key, offset, bytes)
    }

    /// The samples in the bytes of a block, if checksum and index say that they are these.
    pub(crate) fn verify(&self, pv: PvId, entry: &Entry, bytes: &[u8]) -> Result<Batch, Error> {
        self.verify_in(Batch::new(entry.value_type), pv, entry, bytes)
    }

    /// The same in the memory of a batch whose content nobody needs.
    pub(crate) fn verify_in(&self, room: Batch, pv: PvId, entry: &Entry, bytes: &[u8]) -> Result<Batch, Error> {
        let taken = block::take_in(room, bytes).map_err(|Malformed(reason)| self.corrupt_block(pv, entry, reason));
        let (owner, batch) = taken?;
        self.is_meant(pv, entry, (owner, &batch))?;
        Ok(batch)
    }

    /// The same, but the arrays of frames are not made yet.
    pub(crate) fn open(&self, pv: PvId, entry: &Entry, bytes: &[u8]) -> Result<Opened, Error> {
        let opened = block::open(bytes).map_err(|Malformed(reason)| self.corrupt_block(pv, entry, reason));
        let (owner, opened) = opened?;
        self.is_meant(pv, entry, (owner, opened.samples()))?;
        Ok(opened)
    }

    /// Whether samples are those of the block that the index means.
    fn is_meant(&self, pv: PvId, entry: &Entry, (owner, samples): (PvId, &Batch)) -> Result<(), Error> {
        let fits = samples.value_type() == entry.value_type
            && samples.len() == entry.count as usize
            && samples.times().first() == Some(&entry.t0)
            && samples.times().last() == Some(&entry.t1);
        if owner == pv && fits { Ok(()) } else { Err(self.corrupt_block(pv, entry, OTHER_BLOCK.0)) }
    }

    fn corrupt_block(&self, pv: PvId, entry: &Entry, reason: &str) -> Error {
        Error::CorruptBlock {
            path: self.manifest.key.clone(),
            offset: entry.offset,
            pv,
            t0: entry.t0,
            t1: entry.t1,
            reason: reason.to_owned(),
        }
    }
}

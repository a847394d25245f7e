//! Salvage: a new segment takes every block of a damaged one that can be read.

use std::{collections::HashMap, sync::Arc};

use archive::PvId;
use xxhash_rust::xxh3::xxh3_64;

use super::{Repairing, Work};
use crate::{
    Error, Progress,
    block::{self, format::BLOCK_HEADER_LEN},
    codec::Effort,
    disk::{Disk, quarantine::QUARANTINE},
    rescue::check,
    segment::{Named, Segment, SegmentWriter, format::HEADER_LEN, manifest::Manifest},
};

/// What cannot be read is skipped in pieces of this size.
const READ_BYTES: usize = 64 << 10;

impl Work<'_> {
    /// Why a segment is to be written anew; none if it is whole.
    pub(super) fn damage(
        &mut self,
        disk: &Arc<dyn Disk>,
        key: &str,
        wanted: Option<&Manifest>,
    ) -> Result<Option<String>, Error> {
        let (before, all) = self.read;
        let mut progress = |progress: Progress| {
            (self.progress)(Progress { bytes: before + progress.bytes, bytes_total: all });
        };
        let report = check::segment(disk, key, (self.archive, wanted), &mut progress);
        self.read.0 += disk.len(key).unwrap_or(0);
        if let Some(newer) = report.problems.iter().find(|problem| problem.contains("use the newer program")) {
            return Err(Error::CannotDo { doing: "repair", reason: newer.clone() });
        }
        let bad_blocks = report.bad_blocks.iter().map(ToString::to_string);
        Ok(report.problems.iter().cloned().chain(bad_blocks).next())
    }

    /// Writes the readable blocks of a file into a new one; none if there are none. `manifest` says what the new one is to be.
    pub(super) fn salvage(
        &mut self,
        disk: &Arc<dyn Disk>,
        manifest: &Manifest,
        reason: &str,
        counted: u64,
        names: &dyn Fn(PvId) -> Option<Named>,
    ) -> Result<Option<Manifest>, Error> {
        let old = &manifest.key;
        let bytes = read_with_holes(&**disk, old)?;
        let end = if manifest.tables_at < manifest.bytes { manifest.tables_at as usize } else { bytes.len() };
        let blocks = blocks(&bytes, end.min(bytes.len()));
        let (kept, lost) = (blocks.len() as u64, counted.saturating_sub(blocks.len() as u64));
        self.done.kept_blocks += kept;
        self.salvaged.extend(blocks.iter().map(|(pv, ..)| *pv));
        self.done.lost_blocks += lost;
        let own_names: HashMap<PvId, Named> = Segment::of_file(disk.clone(), old)
            .and_then(|segment| segment.names())
            .map(|names| names.into_iter().map(|named| (named.pv, named)).collect())
            .unwrap_or_default();
        let key = self.free_key(old);
        let lost = if lost > 0 { format!(", {lost} cannot be read") } else { String::new() };
        self.step(format!(
            "{old} is damaged ({reason}): {kept} blocks are kept in {key}{lost}; the old file goes to {QUARANTINE}/"
        ));
        if self.how == Repairing::Look || blocks.is_empty() {
            return Ok(None);
        }
        let io = |source| Error::Io { doing: "write the segment", path: key.clone(), source };
        let unfinished = format!("{key}.tmp");
        self.disk.create_folder(manifest.folder()).map_err(io)?;
        let writer = SegmentWriter::new(self.disk.clone(), unfinished.clone(), manifest.sequence, self.now);
        let mut writer = match self.archive {
            Some(archive) => writer.identified(archive, &key),
            None => writer,
        };
        for (pv, at, len) in blocks {
            let (_, batch) = block::take(&bytes[at..at + len]).expect("it was taken before");
            writer.add(pv, &batch, Effort::Merge).map_err(io)?;
        }
        let named = |pv: PvId| own_names.get(&pv).cloned().or_else(|| names(pv));
        let written = writer.finish(&named).map_err(io)?.expect("there are blocks");
        let folder = manifest.folder();
        let rename = self.disk.rename(&unfinished, &key).and_then(|()| self.disk.sync_folder(folder));
        rename.map_err(io)?;
        let Manifest { part, last, generation, level, written: when, trimmed, .. } = manifest.clone();
        Ok(Some(Manifest { key, part, last, generation, level, written: when, trimmed, ..written }))
    }

    /// A key for what is kept of another, that no file has.
    fn free_key(&self, old: &str) -> String {
        let mut stem = old.trim_end_matches(".seg").to_owned();
        loop {
            stem.push('r');
            let key = format!("{stem}.seg");
            if self.disk.len(&key).is_err() {
                return key;
            }
        }
    }
}

/// A whole file, with zeros where the disk does not give it.
fn read_with_holes(disk: &dyn Disk, key: &str) -> Result<Vec<u8>, Error> {
    let len = disk.len(key).map_err(|source| Error::Io { doing: "read", path: key.to_owned(), source })?;
    let mut bytes = vec![0; len as usize];
    for (index, piece) in bytes.chunks_mut(READ_BYTES).enumerate() {
        if disk.read_at(key, (index * READ_BYTES) as u64, piece).is_err() {
            piece.fill(0);
        }
    }
    Ok(bytes)
}

/// Where the readable blocks are among the bytes up to `end`: PV, place and length, by PV and place.
fn blocks(bytes: &[u8], end: usize) -> Vec<(PvId, usize, usize)> {
    let mut blocks = Vec::new();
    let mut at = HEADER_LEN.min(end);
    while at < end {
        match block_at(&bytes[at..end]) {
            Some((pv, len)) => {
                blocks.push((pv, at, len));
                at += len;
            }
            None => at += 1,
        }
    }
    blocks.sort_by_key(|(pv, ..)| *pv);
    blocks
}

/// The block at the beginning of `bytes`: its PV and length. What cannot be one is told apart before a checksum is computed.
fn block_at(bytes: &[u8]) -> Option<(PvId, usize)> {
    let (check, rest) = bytes.split_first_chunk::<8>()?;
    let len = u32::from_le_bytes(*rest.first_chunk::<4>()?) as usize;
    let block = bytes.get(..BLOCK_HEADER_LEN.checked_add(len)?)?;
    let (element, shape) = (*bytes.get(BLOCK_HEADER_LEN + 4)?, *bytes.get(BLOCK_HEADER_LEN + 5)?);
    if element > 13 || shape > 1 || xxh3_64(&block[8..]) != u64::from_le_bytes(*check) {
        return None;
    }
    let (pv, batch) = block::take(block).ok()?;
    (!batch.is_empty()).then_some((pv, block.len()))
}

//! Compaction: many small segments become one large one, so that a query opens few files and blocks are full.
//!
//! Only neighbours in the order of writing are merged, so that samples of equal time stay in their order, and only those of one
//! week, so that the folders of past weeks never change. A damaged block keeps its segment from being merged: what is left of
//! it stays where it is.

use std::{
    io,
    iter::Peekable,
    sync::{Arc, atomic::Ordering::Relaxed},
    vec,
};

use sample::{Batch, PvId, TimeRange, ValueType};

use crate::{
    Error, Samples,
    block_format::{BLOCK_BYTES_MAX, BLOCK_ROWS_MAX},
    codec::Effort,
    engine::Engine,
    flush::write_blocks,
    merge::{Block, Part, Source},
    segment::{Manifest, Record, Segment, SegmentWriter},
};

/// So many segments of about one size become one.
const FAN_IN: usize = 8;
/// They are of about one size if the largest is at most so many times the smallest: less than `FAN_IN`, so that what was merged
/// waits for its like. Fixed steps of size would keep those apart for ever that happen to lie on both sides of one.
const SIZE_RATIO_MAX: u64 = 4;
/// Segments below this count as of one size.
const SMALL_BYTES: u64 = 256 << 10;
/// No larger segment is made: it must be copied by a backup, and written again when it is merged.
const SEGMENT_BYTES_MAX: u64 = 2 << 30;

/// How a merge ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compaction {
    /// Segments were merged; there may be more to do.
    Done,
    /// There is nothing to merge.
    Nothing,
    /// It was told to stop.
    Stopped,
}

impl Engine {
    /// Merges one run of segments, if there is one. `go_on` is asked now and then.
    pub(crate) fn compact(&self, go_on: &dyn Fn() -> bool) -> Result<Compaction, Error> {
        let run = choose(&self.snapshot().segments);
        let Some((first, last)) = run.first().zip(run.last()) else { return Ok(Compaction::Nothing) };
        let (sequence, last) = (first.manifest.sequence, last.manifest.last);
        let folder = first.manifest.folder().to_owned();
        let key = format!("{folder}/{sequence:012}-{last:012}.seg");
        let merged = self.write_merged(&run, &format!("{key}.tmp"), go_on);
        let merged = match merged {
            Ok(Some(merged)) => merged.map(|manifest| Manifest { key: key.clone(), last, ..manifest }),
            other => {
                self.remove_unfinished(&format!("{key}.tmp"));
                if let Err(Error::CorruptBlock { .. } | Error::CorruptSegment { .. }) = &other {
                    run.iter().for_each(|segment| segment.keep());
                }
                return other.map(|_| Compaction::Stopped);
            }
        };
        self.enter_merged(&run, merged, &folder)?;
        Ok(Compaction::Done)
    }

    /// Writes what is in the segments of a run as one; the outer none means stopped, the inner that no samples are left.
    fn write_merged(
        &self,
        run: &[Arc<Segment>],
        unfinished: &str,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Option<Option<Manifest>>, Error> {
        let io = |source| Error::Io { doing: "write the segment", path: unfinished.to_owned(), source };
        let now = self.ingest().alive;
        let sequence = run[0].manifest.sequence;
        let mut writer = SegmentWriter::new(self.disk.clone(), unfinished.to_owned(), sequence, now);
        let mut directories = Vec::new();
        for segment in run {
            directories.push((segment, segment.records()?.into_iter().peekable()));
        }
        while let Some(pv) = directories.iter_mut().filter_map(|(_, records)| Some(records.peek()?.pv)).min() {
            if !go_on() {
                return Ok(None);
            }
            let parts = self.parts_of(pv, &mut directories)?;
            if self.registry().is_purged(pv) {
                continue;
            }
            // Like a flush: each run of one type for itself, so that samples of equal time stay in their order.
            let mut parts = parts.into_iter().peekable();
            while let Some(first) = parts.next() {
                let value_type = first.1;
                let mut run = vec![first.0];
                while let Some((part, _)) = parts.next_if(|(_, next)| *next == value_type) {
                    run.push(part);
                }
                write_run(&mut writer, pv, run, &io)?;
            }
        }
        writer.finish(&|pv| self.named(pv)).map_err(io).map(Some)
    }

    /// The blocks of a PV in all segments of a run, whose directories have come to it.
    fn parts_of(
        &self,
        pv: PvId,
        directories: &mut [(&Arc<Segment>, Peekable<vec::IntoIter<Record>>)],
    ) -> Result<Vec<(Part, ValueType)>, Error> {
        let mut parts = Vec::new();
        for (segment, records) in directories {
            let Some(record) = records.next_if(|record| record.pv == pv) else { continue };
            for entry in segment.index(&record)? {
                let block =
                    Block { pv, segment: segment.clone(), entry, summary: None, counters: self.counters.clone() };
                let order = parts.len() as u64;
                let part = Part { t0: entry.t0, t1: entry.t1, order, source: Source::Block(block) };
                parts.push((part, entry.value_type));
            }
        }
        Ok(parts)
    }

    /// Puts the merged segment in place of those of the run: on disk, in the catalogue, for readers.
    fn enter_merged(&self, run: &[Arc<Segment>], merged: Option<Manifest>, folder: &str) -> Result<(), Error> {
        if let Some(manifest) = &merged {
            let rename = || -> io::Result<()> {
                self.disk.rename(&format!("{}.tmp", manifest.key), &manifest.key)?;
                self.disk.sync_folder(folder)
            };
            rename().map_err(|source| Error::Io { doing: "name the segment", path: manifest.key.clone(), source })?;
        }
        let replaced: Vec<u64> = run.iter().map(|segment| segment.manifest.sequence).collect();
        self.catalog.commit_merge(merged.as_ref(), &replaced)?;
        let merged = merged.map(|manifest| Arc::new(Segment::new(self.disk.clone(), manifest)));
        self.change_snapshot(|snapshot| {
            let segments = Arc::make_mut(&mut snapshot.segments);
            segments.retain(|segment| !replaced.contains(&segment.manifest.sequence));
            let place = segments.partition_point(|segment| segment.manifest.sequence < replaced[0]);
            merged.into_iter().for_each(|merged| segments.insert(place, merged));
        });
        run.iter().for_each(|segment| segment.replace());
        self.counters.merged_segments.fetch_add(run.len() as u64, Relaxed);
        Ok(())
    }

    pub(crate) fn remove_unfinished(&self, key: &str) {
        if let Err(error) = self.disk.remove(key)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!("cannot remove the unfinished {key}: {error}");
        }
    }
}

/// Neighbours of about one size and of one week, as many as are merged at once; nothing if there are none.
fn choose(segments: &[Arc<Segment>]) -> Vec<Arc<Segment>> {
    let fits = |run: &&[Arc<Segment>]| {
        let sizes = || run.iter().map(|segment| segment.manifest.bytes.max(SMALL_BYTES));
        let (smallest, largest) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
        largest <= smallest.saturating_mul(SIZE_RATIO_MAX)
            && sizes().sum::<u64>() <= SEGMENT_BYTES_MAX
            && run.iter().all(|segment| segment.manifest.folder() == run[0].manifest.folder() && !segment.is_kept())
    };
    segments.windows(FAN_IN).find(fits).map(<[_]>::to_vec).unwrap_or_default()
}

/// Merges blocks of one type and writes them as full ones.
fn write_run(
    writer: &mut SegmentWriter,
    pv: PvId,
    run: Vec<Part>,
    io: &dyn Fn(io::Error) -> Error,
) -> Result<(), Error> {
    let mut gathered: Option<Batch> = None;
    for batch in Samples::new(TimeRange::ALL, run, Vec::new()) {
        let batch = batch?;
        let whole = gathered.get_or_insert_with(|| Batch::new(batch.value_type()));
        let fits = whole.extend_from(&batch, 0..batch.len());
        assert!(fits, "a run has one type");
        if whole.len() >= BLOCK_ROWS_MAX && whole.value_type().is_numeric_scalar() {
            let rest = whole.slice(BLOCK_ROWS_MAX..whole.len());
            let full = whole.slice(0..BLOCK_ROWS_MAX);
            gathered = Some(rest).filter(|rest| !rest.is_empty());
            write_blocks(writer, pv, full, Effort::Merge).map_err(io)?;
        } else if whole.byte_size() >= 4 * BLOCK_BYTES_MAX
            && let Some(whole) = gathered.take()
        {
            write_blocks(writer, pv, whole, Effort::Merge).map_err(io)?;
        }
    }
    gathered.map_or(Ok(()), |rest| write_blocks(writer, pv, rest, Effort::Merge).map_err(io))
}

#[cfg(test)]
mod tests {
    use sample::Timestamp;

    use super::*;
    use crate::disk::{Disk, RealDisk};

    /// Which segments of these sizes, in KiB, are merged first.
    fn chosen(sizes: &[u64]) -> Vec<u64> {
        let disk: Arc<dyn Disk> = Arc::new(RealDisk::new("nowhere"));
        let segment = |(sequence, kib): (u64, &u64)| {
            let (t0, t1) = (Timestamp::MIN, Timestamp::MAX);
            let (key, bytes) = (format!("2026-W47/{sequence}.seg"), kib << 10);
            let (first_pv, last_pv) = (PvId(0), PvId(0));
            let (last, tables_at) = (sequence, bytes / 2);
            let manifest =
                Manifest { sequence, last, key, bytes, tables_at, blocks: 1, samples: 1, t0, t1, first_pv, last_pv };
            Arc::new(Segment::new(disk.clone(), manifest))
        };
        let segments: Vec<Arc<Segment>> = (0..).zip(sizes).map(segment).collect();
        choose(&segments).iter().map(|segment| segment.manifest.bytes >> 10).collect()
    }

    #[test]
    fn neighbours_of_about_one_size_are_merged_wherever_that_size_lies() {
        let around_two_mib = [1900, 2200, 1900, 2200, 1900, 2200, 1900, 2200];
        assert_eq!(chosen(&around_two_mib), around_two_mib);
        let small = [1, 200, 3, 4, 5, 6, 7, 8];
        assert_eq!(chosen(&small), small);
    }

    #[test]
    fn what_was_merged_waits_for_its_like() {
        assert_eq!(chosen(&[4000, 4000, 4000, 4000, 4000, 500, 500, 500]), [0; 0]);
        assert_eq!(chosen(&[4000, 500, 500, 500, 500, 500, 500, 500, 500]), [500; 8]);
        let full = 1 << 20;
        assert_eq!(chosen(&[full; 8]), [0; 0], "a larger segment than is allowed is not made");
    }
}

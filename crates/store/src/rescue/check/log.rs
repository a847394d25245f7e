//! The log within a check: whether its frames can be read, and follow one another.

use std::ops::Range;

use archive::Record;

use super::{Check, Progress};
use crate::{
    Error,
    catalog::{copy, tables::Position},
    log::{arrays::Lasts, files, format, scan},
};

/// The frames that are not in segments, one file after the other.
pub(super) struct Frames {
    /// The number of the next; 0 where the first may have any.
    next: u64,
    /// Samples ever appended before that.
    appended: u64,
    /// The missing frames: the file before which they belong, their numbers, and how many samples they held.
    missing: Vec<(String, Range<u64>, u64)>,
}

impl Frames {
    pub(super) fn behind(position: Position) -> Frames {
        Frames { next: position.frame, appended: position.appended, missing: Vec::new() }
    }

    /// Takes a frame with so many samples that are not the archive's own. False if it is in segments.
    fn take(&mut self, key: &str, frame: &scan::Frame, samples: u64) -> bool {
        if frame.number < self.next {
            return false;
        }
        let (missing, lost) = frame.missing(self.next, self.appended, samples);
        if !missing.is_empty() {
            self.missing.push((key.to_owned(), missing, lost));
        }
        (self.next, self.appended) = (frame.number + 1, frame.appended);
        true
    }

    /// A sentence for each stretch of missing frames that no flush has put into segments meanwhile.
    pub(super) fn findings(self, now: Position) -> impl Iterator<Item = String> {
        let missing = self.missing.into_iter().filter(move |(_, frames, _)| frames.end > now.frame);
        missing.map(|(key, frames, lost)| format!("before {key}: {}", format::missing_frames(&frames, lost)))
    }
}

impl<P: FnMut(Progress)> Check<'_, P> {
    pub(super) fn log(&mut self, key: &str, is_last: bool, frames: &mut Frames) -> Result<(), Error> {
        let read = files::read_beside_writer(&*self.disk, key);
        let Some((bytes, _)) = copy::if_there(key, read)? else { return Ok(()) };
        let scan = scan::scan(&bytes);
        if let Some(version) = scan.newer {
            self.problem(format!("{key} has format version {version}, this program reads up to {}", format::VERSION));
        }
        let mut arrays = Lasts::default();
        for frame in &scan.frames {
            let (mut samples, mut rows) = (0, Vec::new());
            let mut count = |pv, record: Record| {
                samples += record.samples() as u64;
                if self.own.contains(&pv) {
                    rows.push((pv, record));
                }
            };
            let records = bytes.get(frame.records.clone()).map(scan::records);
            let is_whole = records.and_then(Result::ok).is_some_and(|records| {
                let restored = records.into_iter().map(|record| arrays.restore(frame.number, record, &mut count));
                restored.filter(Result::is_err).count() == 0
            });
            let own: u64 = rows.iter().map(|(_, record)| record.samples() as u64).sum();
            if frames.take(key, frame, samples - own)
                && let Some(told) = &mut self.told
            {
                told.frame(frame.number, samples);
                rows.iter().for_each(|(pv, record)| told.record(*pv, record));
            }
            if !is_whole {
                self.problem(format!("{key}: the records at byte {} cannot be read", frame.records.start));
            }
        }
        // The end of the last file may be half-written at this moment.
        let torn = scan.tail.filter(|_| !is_last);
        for damaged in scan.damaged.into_iter().chain(torn) {
            self.problem(format!("{key}: {} bytes at byte {} are damaged", damaged.len(), damaged.start));
        }
        self.report.log_frames += scan.frames.len() as u64;
        self.read(bytes.len() as u64);
        Ok(())
    }
}

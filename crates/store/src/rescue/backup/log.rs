//! The log in a backup: its files as they are, and what an earlier backup has of them where they are damaged.

use std::{collections::HashSet, ops::Range, thread, time::Duration};

use super::{NEW, Run, Unfinished, unread, unwritten};
use crate::{
    Progress,
    catalog::copy,
    log::{files, scan},
};

/// So often a file is read before what is wrong with it counts: its archiver may be writing just there.
const READS: usize = 5;
const PAUSE: Duration = Duration::from_millis(20);

impl<P: FnMut(Progress)> Run<'_, P> {
    /// Copies a file of the log as it is now; it may grow meanwhile.
    pub(super) fn log_file(&mut self, key: &str, is_last: bool) -> Result<(), Unfinished> {
        let new = format!("{key}.{NEW}");
        let (mut bytes, mut end) = (Vec::new(), 0);
        let mut damage = Vec::new();
        for _ in 0..READS {
            (bytes, end) = files::read_beside_writer(&*self.source, key).map_err(|error| unread(key, error))?;
            damage = damaged(&bytes, is_last);
            if damage.is_empty() {
                break;
            }
            thread::sleep(PAUSE);
        }
        if !damage.is_empty()
            && let Some(before) = copy::read_file(&*self.target, key)?
        {
            // A file of the log only grows: what an earlier backup has of it is what was there.
            for range in damage.iter().filter(|range| range.end <= before.len()) {
                bytes[range.clone()].copy_from_slice(&before[range.clone()]);
            }
            end = end.max(bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1));
        }
        let left: HashSet<_> = damaged(&bytes, is_last).into_iter().collect();
        for range in damage {
            let has = if left.contains(&range) { "they were copied as they are" } else { "the backup has them whole" };
            self.done.damage.push(format!("{key}: {} bytes at byte {} are damaged; {has}", range.len(), range.start));
        }
        let target = &self.target;
        let write = || {
            target.set_len(&new, 0)?;
            target.write_at(&new, 0, &bytes[..end])?;
            target.set_len(&new, bytes.len() as u64)?; // a frame may end with zeros
            target.sync(&new)
        };
        write().map_err(|error| unwritten(&new, error))?;
        self.done.copied_bytes += bytes.len() as u64;
        self.told(bytes.len() as u64);
        Ok(())
    }
}

/// Bytes of a file of the log that are no frames. The end of the last one may be half-written at this moment.
fn damaged(bytes: &[u8], is_last: bool) -> Vec<Range<usize>> {
    let scan = scan::scan(bytes);
    scan.damaged.into_iter().chain(scan.tail.filter(|_| !is_last)).collect()
}

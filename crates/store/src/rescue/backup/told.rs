//! What an archive is told of its backups, in a file beside its catalogue that nothing else reads: who looks after the archive sees there
//! how old the last one is.
//!
//! ```text
//!   whole 2026-11-28T14:00:00.000000000Z 12345678 /backup/pvark      when it came to its end, its bytes, its folder
//!   damaged 2026-11-27T14:00:00.000000000Z 12345678 /mnt/other       the archive was damaged, and the backup lacks something
//! ```
//! The newest stands last, one line a folder. A line that is not to be read is as if it were not there.

use std::{io, path::Path};

use archive::BackupMade;
use sample::Timestamp;

use crate::{
    Error,
    catalog::copy,
    disk::{Disk, RealDisk},
};

/// The key of it.
const TOLD: &str = "backups";
/// Of so many folders it is told at most.
const FOLDERS_MAX: usize = 16;
/// A file that is longer is not one of ours.
const BYTES_MAX: u64 = 1 << 20;

/// Tells an archive of a backup. It may be recording: the file takes its place as a whole, and nothing of the archive is touched.
pub fn tell_backup(from: &Path, made: &BackupMade) -> Result<(), Error> {
    let disk = RealDisk::new(from);
    let mut all = told(&disk)?;
    let to = made.to.replace(['\n', '\r'], " ");
    all.retain(|before| before.to != to);
    all.insert(0, BackupMade { to, ..made.clone() });
    all.truncate(FOLDERS_MAX);
    let text: String = all.iter().rev().map(line).collect();
    let part = format!("{TOLD}.part");
    let write = || -> io::Result<()> {
        disk.set_len(&part, 0)?;
        disk.write_at(&part, 0, text.as_bytes())?;
        disk.sync(&part)?;
        disk.rename(&part, TOLD)?;
        disk.sync_folder("")
    };
    write().map_err(|source| Error::Io { doing: "tell of the backup", path: TOLD.to_owned(), source })
}

/// The backups that an archive was told of, the newest first.
pub(crate) fn told(disk: &dyn Disk) -> Result<Vec<BackupMade>, Error> {
    if disk.len(TOLD).is_ok_and(|bytes| bytes > BYTES_MAX) {
        return Ok(Vec::new());
    }
    let bytes = copy::read_file(disk, TOLD)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.lines().rev().filter_map(read).take(FOLDERS_MAX).collect())
}

fn line(BackupMade { at, to, bytes, is_whole }: &BackupMade) -> String {
    let how = if *is_whole { "whole" } else { "damaged" };
    format!("{how} {at} {bytes} {to}\n")
}

fn read(line: &str) -> Option<BackupMade> {
    let mut parts = line.splitn(4, ' ');
    let is_whole = match parts.next()? {
        "whole" => true,
        "damaged" => false,
        _ => return None,
    };
    let (at, bytes) = (Timestamp::parse(parts.next()?).ok()?, parts.next()?.parse().ok()?);
    Some(BackupMade { at, to: parts.next()?.to_owned(), bytes, is_whole })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_knows_the_last_backup_of_each_folder() {
        let folder = tempfile::tempdir().unwrap();
        let disk = RealDisk::new(folder.path());
        let made = |second: i64, to: &str, is_whole: bool| BackupMade {
            at: Timestamp::from_nanos(second * 1_000_000_000),
            to: to.to_owned(),
            bytes: 7,
            is_whole,
        };
        assert_eq!(told(&disk).unwrap(), []);
        for (second, to, is_whole) in [(1, "/a b", true), (2, "/c", false), (3, "/a b", true)] {
            tell_backup(folder.path(), &made(second, to, is_whole)).unwrap();
        }
        assert_eq!(told(&disk).unwrap(), [made(3, "/a b", true), made(2, "/c", false)]);
        for second in 4..40 {
            tell_backup(folder.path(), &made(second, &format!("/{second}\nwhole"), true)).unwrap();
        }
        let all = told(&disk).unwrap();
        assert_eq!((all.len(), &*all[0].to), (FOLDERS_MAX, "/39 whole"), "no name of a folder is a line");
        // What somebody else has put there is no backup, and keeps nobody from telling of the next.
        std::fs::write(folder.path().join(TOLD), b"\xff nonsense\nwhole yesterday 1 /x\nwhole\n").unwrap();
        assert_eq!(told(&disk).unwrap(), []);
        tell_backup(folder.path(), &made(50, "/z", true)).unwrap();
        assert_eq!(told(&disk).unwrap(), [made(50, "/z", true)]);
    }
}

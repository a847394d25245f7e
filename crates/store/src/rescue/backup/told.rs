//! What an archive is told of its backups, in a file `backups-TIME` beside its catalogue that nothing else reads: whoever looks after the
//! archive sees there how old the last one is.
//!
//! ```text
//!   whole 2026-11-28T14:00:00.000000000Z 12345678 /backup/pvark      when it came to its end, its bytes, its folder
//!   damaged 2026-11-27T14:00:00.000000000Z 12345678 /mnt/other       the archive was damaged, and the backup lacks something
//! ```
//! The newest stands last, one line a folder. A line that is not to be read is as if it were not there. Each backup writes a new file and
//! removes those that it has read: an archive that is open keeps files open, and would not see that another one has a name that it knows.

use std::{io, path::Path};

use archive::BackupMade;
use sample::Timestamp;

use crate::{
    Error,
    catalog::copy,
    disk::{Disk, Objects, RealDisk},
};

/// With what its key begins; behind it stand the nanoseconds of the backup.
const TOLD: &str = "backups-";
/// What is being written.
const PART: &str = "backups.part";
/// Of so many folders it is told at most.
const FOLDERS_MAX: usize = 16;
/// A file that is longer is not one of ours.
const BYTES_MAX: u64 = 1 << 20;

/// Tells an archive of a backup. It may be recording: the file appears as a whole, and nothing of the archive is touched.
pub fn tell_backup(from: &Path, made: &BackupMade) -> Result<(), Error> {
    let disk = RealDisk::new(from);
    let known = files(&disk)?;
    let mut all = told(&disk)?;
    let to = made.to.replace(['\n', '\r'], " ");
    all.retain(|before| before.to != to);
    all.insert(0, BackupMade { to, ..made.clone() });
    all.truncate(FOLDERS_MAX);
    let text: String = all.iter().rev().map(line).collect();
    let new = format!("{TOLD}{:020}", made.at.nanos());
    let write = || -> io::Result<()> {
        disk.set_len(PART, 0)?;
        disk.write_at(PART, 0, text.as_bytes())?;
        disk.sync(PART)?;
        disk.rename(PART, &new)?;
        disk.sync_folder("")?;
        known.iter().filter(|key| **key != new).try_for_each(|key| disk.remove(key))
    };
    write().map_err(|source| Error::Io { doing: "tell of the backup", path: new.clone(), source })
}

/// The files that tell of backups, the oldest first. There is one, but for a moment.
fn files(disk: &dyn Disk) -> Result<Vec<String>, Error> {
    let listed = disk.list("").map_err(|source| Error::Io { doing: "list", path: TOLD.to_owned(), source })?;
    let is_told = |key: &String| key.strip_prefix(TOLD).is_some_and(|nanos| nanos.parse::<u64>().is_ok());
    let mut files: Vec<String> = listed.into_iter().filter(is_told).collect();
    files.sort();
    Ok(files)
}

/// The backups that an archive was told of, the newest first.
pub(crate) fn told(disk: &dyn Disk) -> Result<Vec<BackupMade>, Error> {
    let mut all: Vec<BackupMade> = Vec::new();
    for key in files(disk)?.iter().rev() {
        if disk.len(key).is_ok_and(|bytes| bytes > BYTES_MAX) {
            continue;
        }
        let bytes = copy::read_file(disk, key)?.unwrap_or_default();
        for made in String::from_utf8_lossy(&bytes).lines().rev().filter_map(read) {
            if all.len() < FOLDERS_MAX && all.iter().all(|newer| newer.to != made.to) {
                all.push(made);
            }
        }
    }
    Ok(all)
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
        assert_eq!(files(&disk).unwrap().len(), 1);
        let own = folder.path().join(&files(&disk).unwrap()[0]);
        std::fs::write(own, b"\xff nonsense\nwhole yesterday 1 /x\nwhole\n").unwrap();
        assert_eq!(told(&disk).unwrap(), []);
        tell_backup(folder.path(), &made(50, "/z", true)).unwrap();
        assert_eq!(told(&disk).unwrap(), [made(50, "/z", true)]);
        // Another one that was written at the same moment is not lost.
        let other = folder.path().join(format!("{TOLD}{:020}", 7));
        std::fs::write(other, line(&made(49, "/y", true)) + &line(&made(3, "/z", true))).unwrap();
        assert_eq!(told(&disk).unwrap(), [made(50, "/z", true), made(49, "/y", true)]);
    }
}

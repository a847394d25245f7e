//! The locks of an archive: of the file `lock`, which older programs know, of the folder, and of the catalogue. Whoever removes `lock`
//! does not let a second archiver in, and neither does a second path to the same folder.

use std::io;

use sample::Timestamp;

use crate::{Error, catalog::tables::CATALOGUE, disk::Disk};

/// The file that says who has the archive open.
pub(crate) const LOCK: &str = "lock";
/// In the order in which they are taken. The folder has no name.
const KEYS: [&str; 3] = [LOCK, "", CATALOGUE];
/// More than anybody says of himself.
const HOLDER_BYTES_MAX: u64 = 300;

/// Takes the locks of an archive, and says in the file `lock` who has them since when, as far as known. A catalogue that is not there
/// yet is locked before it has its name.
pub(crate) fn take(disk: &dyn Disk, folder: &str, now: Option<Timestamp>) -> Result<(), Error> {
    let failed = |source| Error::Io { doing: "lock the archive in", path: folder.to_owned(), source };
    let result = take_each(disk, folder, failed).and_then(|()| put_holder(disk, now).map_err(failed));
    if result.is_err() {
        give_back(disk);
    }
    result
}

fn take_each(disk: &dyn Disk, folder: &str, failed: impl Fn(io::Error) -> Error) -> Result<(), Error> {
    for (taken, key) in KEYS.iter().enumerate() {
        if *key == CATALOGUE && disk.len(key).is_err() {
            continue;
        }
        let granted = disk.lock(key);
        if !matches!(granted, Ok(true)) {
            KEYS[..taken].iter().for_each(|key| disk.unlock(key));
        }
        if !granted.map_err(&failed)? {
            return Err(Error::Locked { folder: folder.into(), holder: holder(disk, key) });
        }
    }
    Ok(())
}

/// Gives them back.
pub(crate) fn give_back(disk: &dyn Disk) {
    KEYS.iter().rev().for_each(|key| disk.unlock(key));
}

fn put_holder(disk: &dyn Disk, now: Option<Timestamp>) -> io::Result<()> {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let since = now.map(|now| format!(" since {now}")).unwrap_or_default();
    let text = format!("pvark process {} on {host}{since}\n", std::process::id());
    disk.set_len(LOCK, 0)?;
    disk.write_at(LOCK, 0, text.as_bytes())
}

/// Who has a lock, as far as it can be known: what the file says, unless the system knows better.
fn holder(disk: &dyn Disk, key: &str) -> String {
    let text = disk.len(LOCK).and_then(|len| {
        let mut bytes = vec![0; len.min(HOLDER_BYTES_MAX) as usize];
        disk.read_at(LOCK, 0, &mut bytes).map(|()| String::from_utf8_lossy(&bytes).trim().to_owned())
    });
    let text = text.unwrap_or_default();
    match disk.locked_by(key) {
        Some(process) if !text.starts_with(&format!("pvark process {process} ")) => {
            format!("process {process} of this machine")
        }
        _ if text.starts_with("pvark process ") && key == LOCK => text,
        Some(_) => text,
        None => "another process".to_owned(),
    }
}

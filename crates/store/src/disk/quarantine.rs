//! The quarantine: where files go that are in the way and that nobody may want to lose.

use std::io;

use crate::disk::Disk;

/// Its folder.
pub(crate) const QUARANTINE: &str = "quarantine";

/// Puts a file or folder where it is in nobody's way, and says where.
pub(crate) fn set_aside(disk: &dyn Disk, key: &str) -> io::Result<String> {
    let stem = format!("{QUARANTINE}/{}", key.replace('/', "-"));
    let taken = |name: &String| disk.len(name).is_ok();
    let aside = std::iter::once(stem.clone()).chain((2..).map(|i| format!("{stem}-{i}"))).find(|name| !taken(name));
    let aside = aside.expect("numbers do not end");
    disk.create_folder(QUARANTINE)?;
    disk.sync_folder("")?;
    disk.rename(key, &aside)?;
    disk.sync_folder(QUARANTINE)?;
    disk.sync_folder(key.rsplit_once('/').map_or("", |(folder, _)| folder))?;
    Ok(aside)
}

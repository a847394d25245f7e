//! The mark of a folder: a small file that says of which archive it is. An empty folder to which nothing is mounted, or the folder of
//! another archive, is not taken for it.

use std::{io, sync::Arc};

use sample::Timestamp;

use crate::{Error, catalog::Catalog, disk::Disk, segment::whose};

/// The mark of the folder of an archive.
pub(crate) const ARCHIVE: &str = "pvark-archive";
/// The mark of a place.
pub(crate) const PLACE: &str = "pvark-place";
/// More than any mark has.
const BYTES_MAX: u64 = 200;

/// Whether a folder may be given its mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    First,
    Later,
}

/// What the folder of an archive says.
pub(crate) fn of_archive(archive: u64) -> String {
    format!("the pvark archive {archive:016x}\n")
}

/// What a place of an archive says.
pub(crate) fn of_place(archive: u64) -> String {
    format!("a place of the pvark archive {archive:016x}\n")
}

/// Why a folder is not the one that has this mark; none if it is. One that is used for the first time is given it.
pub(crate) fn look(disk: &dyn Disk, key: &str, mark: &str, which: Use) -> io::Result<Option<String>> {
    match read(disk, key)? {
        Some(bytes) if bytes == mark.as_bytes() => Ok(None),
        // Half of a mark: the power went while it was made.
        Some(bytes) if which == Use::First && mark.as_bytes().starts_with(&bytes) => put(disk, key, mark),
        Some(_) => Ok(Some(format!("its file {key} says that it belongs to another archive"))),
        None if which == Use::First => put(disk, key, mark),
        None => Ok(Some(format!("its file {key} is missing; is everything mounted?"))),
    }
}

fn read(disk: &dyn Disk, key: &str) -> io::Result<Option<Vec<u8>>> {
    let found = disk.len(key).and_then(|len| {
        let mut bytes = vec![0; len.min(BYTES_MAX) as usize];
        disk.read_at(key, 0, &mut bytes).map(|()| bytes)
    });
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

fn put(disk: &dyn Disk, key: &str, mark: &str) -> io::Result<Option<String>> {
    disk.create_folder("")?;
    disk.write_at(key, 0, mark.as_bytes())?;
    disk.sync(key)?;
    disk.sync_folder("")?;
    Ok(None)
}

/// The number that the folder of an archive says.
pub(crate) fn number(disk: &dyn Disk) -> io::Result<Option<u64>> {
    let text = read(disk, ARCHIVE)?.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    let number = text.trim_end().rsplit(' ').next().and_then(|word| u64::from_str_radix(word, 16).ok());
    Ok(number.filter(|number| text == of_archive(*number)))
}

/// Makes sure that the folder is that of the archive which the catalogue describes, and gives its number. One without a mark is given
/// it; a catalogue without a number, as a repair makes it, takes that of the mark, or else the one that its segments carry.
pub(crate) fn settle(disk: &Arc<dyn Disk>, catalog: &Catalog, now: Timestamp) -> Result<u64, Error> {
    let io = |source| Error::Io { doing: "read and write the mark of the archive", path: ARCHIVE.to_owned(), source };
    let found = number(&**disk).map_err(io)?;
    let archive = match (catalog.archive()?, found) {
        (Some(archive), _) => archive,
        (None, found) => {
            let keys: Vec<String> = catalog.segments()?.into_iter().map(|manifest| manifest.key).collect();
            let found = found.or_else(|| whose::carried(disk, &keys));
            catalog.put_archive(found.unwrap_or_else(|| new_number(now)))?
        }
    };
    match look(&**disk, ARCHIVE, &of_archive(archive), Use::First).map_err(io)? {
        None => Ok(archive),
        Some(reason) => Err(disagrees("open the archive", &reason, archive)),
    }
}

/// The mark of a folder and the catalogue in it are not of one archive.
pub(crate) fn disagrees(doing: &'static str, reason: &str, archive: u64) -> Error {
    let reason = format!(
        "{reason}, its catalogue is that of the archive {archive:016x}; put back the files that belong together, or remove the file \
         {ARCHIVE} if they do"
    );
    Error::CannotDo { doing, reason }
}

/// The number of a new archive, from the time.
fn new_number(now: Timestamp) -> u64 {
    xxhash_rust::xxh3::xxh3_64(&now.nanos().to_le_bytes())
}

//! The segments of a backup: which it has, and how one gets there without taking the place of a better one.

use std::{io, path::Path, sync::Arc};

use xxhash_rust::xxh3::Xxh3;

use super::{Run, Unfinished, has_gone, state::PART, unread, unwritten};
use crate::{
    Error, Progress,
    catalog::copy::{self, Copy},
    disk::{Disk, RealDisk},
    places::{mark, tables_key},
    rescue::{check, repair::set_aside},
    segment::{format::HEADER_LEN, manifest::Manifest},
};

const CHUNK_BYTES: usize = 1 << 20;
/// What a disk does not give is left out in pieces of this size.
const HOLE_BYTES: usize = 4 << 10;
/// So much of the end of two files of one name and length is compared: footer, names and the last pages of the directory.
const END_BYTES: u64 = 16 << 10;

impl<P: FnMut(Progress)> Run<'_, P> {
    /// The disk on which the blocks of a segment lie: the catalogue remembers the folder of each place. Or why it cannot be reached.
    pub(super) fn origin(&self, copy: &Copy, manifest: &Manifest) -> Result<Arc<dyn Disk>, String> {
        let Some(name) = &manifest.place else { return Ok(self.source.clone()) };
        if let Some(folder) = copy.places.get(name)
            && Path::new(folder).join(mark::PLACE).is_file()
        {
            return Ok(Arc::new(RealDisk::new(folder)));
        }
        Err(format!("{} lies in the place {name:?}, which is not there; mount it", manifest.key))
    }

    /// Whether an earlier backup has a segment as it is now, and whole.
    pub(super) fn is_there(
        &mut self,
        source: &Arc<dyn Disk>,
        manifest: &Manifest,
        copy: &Copy,
    ) -> Result<bool, Unfinished> {
        let key = &manifest.key;
        if self.target.len(key).ok() != Some(manifest.bytes) {
            return Ok(false);
        }
        let ends = |disk: &dyn Disk| -> io::Result<Vec<u8>> {
            let len = manifest.bytes.min(END_BYTES) as usize;
            let mut bytes = vec![0; HEADER_LEN + len];
            disk.read_at(key, 0, &mut bytes[..HEADER_LEN])?;
            disk.read_at(key, manifest.bytes - len as u64, &mut bytes[HEADER_LEN..])?;
            Ok(bytes)
        };
        let there = match ends(&**source) {
            Ok(there) => there,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Unfinished::Changed(key.clone())),
            Err(_) => return Ok(false), // it is cut off, or the disk does not give it: what there is of it is looked at
        };
        Ok(ends(&*self.target).is_ok_and(|here| here == there) && self.is_whole(manifest, copy)?)
    }

    /// The same of a segment whose place is away: what is kept of it near tells whether it is that one.
    pub(super) fn is_kept(&mut self, manifest: &Manifest, copy: &Copy) -> Result<bool, Unfinished> {
        let near = copy::read_file(&*self.source, &tables_key(&manifest.key))?;
        let mut here = vec![0; manifest.bytes.saturating_sub(manifest.tables_at) as usize];
        let is_same = self.target.len(&manifest.key).is_ok_and(|bytes| bytes == manifest.bytes)
            && self.target.read_at(&manifest.key, manifest.tables_at, &mut here).is_ok()
            && near.is_some_and(|near| near == here);
        Ok(is_same && self.is_whole(manifest, copy)?)
    }

    /// Whether what the backup has under the key of a segment is that one, and every checksum in it right.
    fn is_whole(&mut self, manifest: &Manifest, copy: &Copy) -> Result<bool, Error> {
        let key = &manifest.key;
        if self.state.is_verified(key) {
            return Ok(true);
        }
        let is_whole = check::findings(&self.target, key, manifest, copy)?.is_empty();
        self.told(manifest.bytes);
        if is_whole {
            self.state.add(&*self.target, key).map_err(|error| unwritten(key, error))?;
        }
        Ok(is_whole)
    }

    /// Copies a segment under an unfinished name, going on behind what an interrupted backup left there, reads it back and verifies
    /// it.
    pub(super) fn segment(
        &mut self,
        source: &Arc<dyn Disk>,
        manifest: &Manifest,
        copy: &Copy,
    ) -> Result<(), Unfinished> {
        let (key, part) = (&manifest.key, format!("{}.{PART}", manifest.key));
        self.target.create_folder(manifest.folder()).map_err(|error| unwritten(manifest.folder(), error))?;
        let mut damage = None;
        for fresh in [false, true] {
            if fresh {
                self.target.set_len(&part, 0).map_err(|error| unwritten(&part, error))?;
            }
            let read = self.copy(&**source, key, &part)?;
            self.target.sync(&part).map_err(|error| unwritten(&part, error))?;
            if hash(&*self.target, &part).map_err(|error| unwritten(&part, error))? != read {
                tracing::warn!("{part} is not what was copied to it; it is copied anew");
                continue;
            }
            let found = check::findings(&self.target, &part, manifest, copy)?;
            if found.is_empty() {
                self.take(&part, manifest)?;
                self.state.add(&*self.target, key).map_err(|error| unwritten(key, error))?;
                return Ok(());
            }
            damage = Some(found); // unless it was lost on the way
        }
        let Some(found) = damage else {
            let reason = format!("{key} cannot be read back from the backup as it was written; look at that disk");
            return Err(Error::CannotDo { doing: "back up", reason }.into());
        };
        Ok(self.damaged(&part, manifest, copy, found)?)
    }

    /// Gives a copy its name. A file of that name that is another segment is not lost for that.
    fn take(&mut self, part: &str, manifest: &Manifest) -> Result<(), Error> {
        let key = &manifest.key;
        if self.target.len(key).is_ok() && !check::is_segment(&self.target, key, manifest) {
            set_aside(&*self.target, key)?;
            self.done.set_aside += 1;
        }
        let named = self.target.rename(part, key).and_then(|()| self.target.sync_folder(manifest.folder()));
        named.map_err(|error| unwritten(key, error))?;
        self.done.copied += 1;
        Ok(())
    }

    /// A segment is damaged in the archive: the backup keeps the better one of what it has and what was copied.
    fn damaged(&mut self, part: &str, manifest: &Manifest, copy: &Copy, found: Vec<String>) -> Result<(), Error> {
        let key = &manifest.key;
        let here = match check::is_segment(&self.target, key, manifest) {
            true => Some(check::findings(&self.target, key, manifest, copy)?),
            false => None,
        };
        let is_better = here.as_ref().is_none_or(|here| found.len() < here.len());
        let has = match &here {
            Some(here) if here.is_empty() => "the backup has it whole, as it was",
            Some(_) if !is_better => "the backup has it as it was, and damaged too",
            _ => "the backup has no better one: it was copied as it is, and is replaced when it is whole",
        };
        self.done.damage.extend(found.into_iter().map(|finding| format!("{finding}; {has}")));
        if here.is_some_and(|here| here.is_empty()) {
            self.state.add(&*self.target, key).map_err(|error| unwritten(key, error))?;
        } else {
            self.is_lossy = true;
            self.state.remove(&*self.target, key).map_err(|error| unwritten(key, error))?;
        }
        if is_better {
            return self.take(part, manifest);
        }
        self.done.kept += 1;
        self.target.remove(part).map_err(|error| unwritten(part, error))
    }

    /// The archive has no file for a segment, or one that nobody can read: the backup keeps what it has.
    pub(super) fn go_without(&mut self, manifest: &Manifest, reason: &str, copy: &Copy) -> Result<(), Error> {
        let key = &manifest.key;
        let has = if check::is_segment(&self.target, key, manifest) && self.is_whole(manifest, copy)? {
            self.done.kept += 1;
            self.done.bytes += manifest.bytes;
            "the backup has it whole, as it was"
        } else {
            self.is_lossy = true;
            "the backup does not have it whole either"
        };
        self.done.damage.push(format!("{key}: {reason}; {has}"));
        Ok(())
    }

    /// Writes what the target does not have of a file, and gives the check of the whole file as it was read. What the disk does not
    /// give is zero.
    fn copy(&mut self, source: &dyn Disk, key: &str, part: &str) -> Result<u64, Unfinished> {
        let len = source.len(key).map_err(|error| unread(key, error))?;
        if len == 0 {
            return Err(Unfinished::Lost(key.to_owned(), "nothing is in its file")); // or no file lies there
        }
        let there = self.target.len(part).unwrap_or(0);
        let (mut at, mut hash, mut chunk) = (0, Xxh3::new(), Vec::new());
        while at < len {
            chunk.resize(CHUNK_BYTES.min((len - at) as usize), 0);
            read_with_holes(source, key, at, &mut chunk).map_err(|error| unread(key, error))?;
            hash.update(&chunk);
            let end = at + chunk.len() as u64;
            if end > there {
                self.target.write_at(part, at, &chunk).map_err(|error| unwritten(part, error))?;
            }
            self.done.copied_bytes += chunk.len() as u64;
            self.told(chunk.len() as u64);
            at = end;
        }
        if there > len {
            self.target.set_len(part, len).map_err(|error| unwritten(part, error))?;
        }
        Ok(hash.digest())
    }
}

/// Fills a chunk, with zeros for what the disk does not give; an error if it gives nothing.
fn read_with_holes(source: &dyn Disk, key: &str, at: u64, chunk: &mut [u8]) -> io::Result<()> {
    let Err(error) = source.read_at(key, at, chunk) else { return Ok(()) };
    if has_gone(&error) {
        return Err(error);
    }
    let mut is_any = false;
    for (index, piece) in chunk.chunks_mut(HOLE_BYTES).enumerate() {
        match source.read_at(key, at + (index * HOLE_BYTES) as u64, piece) {
            Ok(()) => is_any = true,
            Err(_) => piece.fill(0),
        }
    }
    if is_any { Ok(()) } else { Err(error) }
}

/// The check of a whole file.
pub(crate) fn hash(disk: &dyn Disk, key: &str) -> io::Result<u64> {
    let (len, mut at, mut hash, mut chunk) = (disk.len(key)?, 0, Xxh3::new(), Vec::new());
    while at < len {
        chunk.resize(CHUNK_BYTES.min((len - at) as usize), 0);
        disk.read_at(key, at, &mut chunk)?;
        hash.update(&chunk);
        at += chunk.len() as u64;
    }
    Ok(hash.digest())
}

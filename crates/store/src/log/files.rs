//! The files of the log: written and synced by threads that nobody who appends waits for.

use std::{collections::BTreeMap, io, sync::Arc};

use crate::{
    Config, Durable,
    disk::{
        Disk,
        quarantine::{QUARANTINE, set_aside},
    },
    log::{
        Piece,
        format::{FOLDER, HEADER_LEN, key, number, number_in},
    },
};

/// On its way to the name that it had.
const RENAMED: &str = "renamed";

/// A file is given its room when it is begun, unless that is more than this part of what is free.
const ROOM_PART: u64 = 16;

/// What is written.
#[derive(Debug)]
pub(crate) struct LogFiles {
    disk: Arc<dyn Disk>,
    file_bytes_max: u64,
    durable: Durable,
    /// The file that was written last, and how much of it.
    file: u64,
    written: u64,
    /// Files written since they were last taken for syncing.
    unsynced: Vec<u64>,
}

impl LogFiles {
    pub(crate) fn new(disk: Arc<dyn Disk>, config: &Config) -> LogFiles {
        let (file_bytes_max, durable) = (config.log_file_bytes, config.durable);
        LogFiles { disk, file_bytes_max, durable, file: 0, written: 0, unsynced: Vec::new() }
    }

    /// Hands pieces to the operating system, in order. After an error their file must be given up.
    pub(crate) fn write(&mut self, pieces: &[Piece]) -> io::Result<()> {
        for piece in pieces {
            if piece.file != self.file {
                self.sync_last()?;
                (self.file, self.written) = (piece.file, 0);
                self.make_room();
            }
            self.write_piece(&piece.bytes)?;
        }
        Ok(())
    }

    /// Syncs the last file before the next is begun, so that a power cut never leaves a file without the one before it.
    fn sync_last(&mut self) -> io::Result<()> {
        if self.durable == Durable::Off || self.unsynced.pop_if(|file| *file == self.file).is_none() {
            return Ok(());
        }
        sync(&*self.disk, self.file)?;
        self.disk.sync_folder(FOLDER)
    }

    fn write_piece(&mut self, bytes: &[u8]) -> io::Result<()> {
        let key = key(self.file);
        if let Err(error) = self.disk.write_at(&key, self.written, bytes) {
            // Half a frame at the end would only be found and cut off by the next recovery.
            if let Err(second) = self.disk.set_len(&key, self.written) {
                tracing::warn!("cannot cut {key} back to its last whole frame: {second}");
            }
            return Err(error);
        }
        self.written += bytes.len() as u64;
        if self.unsynced.last() != Some(&self.file) {
            self.unsynced.push(self.file);
        }
        Ok(())
    }

    /// Takes the room of a whole file beforehand: a sync then has less to do, and what was begun can be written to its end
    /// whatever else fills the disk. Only a help: without it the file grows as it is written.
    fn make_room(&self) {
        let free = self.disk.room().map_or(0, |room| room.free);
        if free / ROOM_PART < self.file_bytes_max {
            return;
        }
        if let Err(error) = self.disk.allocate(&key(self.file), self.file_bytes_max) {
            tracing::warn!("cannot take the room for a file of the log beforehand: {error}");
        }
    }

    /// Gives back what is left of the room, so that a closed archive is as small as what it holds.
    pub(crate) fn give_back_room(&self) {
        let key = key(self.file);
        if self.disk.len(&key).is_ok_and(|len| len > self.written)
            && let Err(error) = self.disk.set_len(&key, self.written)
        {
            tracing::warn!("cannot give back the room at the end of {key}: {error}");
        }
    }

    /// Files before this one are about to be removed: what they held is in blocks.
    pub(crate) fn forget_before(&mut self, first: u64) {
        self.unsynced.retain(|file| *file >= first);
    }

    /// The files written since the last time.
    pub(crate) fn take_unsynced(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.unsynced)
    }
}

/// Syncs a file. One that is not there was removed by somebody else: those that a flush removes are forgotten before.
pub(crate) fn sync(disk: &dyn Disk, file: u64) -> io::Result<()> {
    disk.sync(&key(file))
}

/// The numbers of the files in the folder of the log, ascending.
pub(crate) fn files(disk: &dyn Disk) -> io::Result<Vec<u64>> {
    let mut numbers: Vec<u64> = disk.list(FOLDER)?.iter().filter_map(|name| number(name)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Gives files that somebody has renamed their names back, by the numbers that they say they have, and sets aside what cannot be read as
/// a file of the log. Says what was done, in sentences.
pub(crate) fn settle_names(disk: &dyn Disk) -> io::Result<Vec<String>> {
    let mut told = Vec::new();
    let mut renamed = BTreeMap::new();
    for (name, is) in strangers(disk)? {
        match is {
            Stranger::Number(number) if !renamed.contains_key(&number) => _ = renamed.insert(number, name),
            Stranger::Number(number) => told.push(format!(
                "{FOLDER}/{name} is left out: it says that it is {}, of which there is another",
                key(number)
            )),
            Stranger::Folder | Stranger::Nothing => {
                let aside = set_aside(disk, &format!("{FOLDER}/{name}"))?;
                told.push(format!("{FOLDER}/{name} is no file of the log, and was set aside as {aside}"));
            }
        }
    }
    // All of them first: two may have swapped their names.
    for (number, name) in &renamed {
        disk.rename(&format!("{FOLDER}/{name}"), &format!("{}.{RENAMED}", key(*number)))?;
    }
    for (number, name) in &renamed {
        let (right, was) = (key(*number), format!("{FOLDER}/{name}"));
        let unfinished = format!("{right}.{RENAMED}");
        if disk.len(&right).is_ok() {
            let aside = set_aside(disk, &unfinished)?;
            told.push(format!("{was} says that it is {right}, which is there: it was set aside as {aside}"));
        } else {
            disk.rename(&unfinished, &right)?;
            told.push(format!("{was} is {right}, and has that name again"));
        }
    }
    if !told.is_empty() {
        disk.sync_folder(FOLDER)?;
    }
    Ok(told)
}

/// What lies in the folder of the log under a name that is not its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stranger {
    /// A file of the log that says it has this number.
    Number(u64),
    /// A folder.
    Folder,
    /// A file with the name of one of the log that begins as none.
    Nothing,
}

impl Stranger {
    /// What is wrong, in a sentence.
    pub(crate) fn finding(self, name: &str) -> String {
        match self {
            Stranger::Number(number) => {
                format!("{FOLDER}/{name} says that it is {}: the next start or repair gives it that name", key(number))
            }
            Stranger::Folder | Stranger::Nothing => {
                format!("{FOLDER}/{name} is no file of the log: the next start or repair puts it into {QUARANTINE}/")
            }
        }
    }
}

/// What does not belong under the name that it has, by name. A file that was only just begun says nothing yet.
pub(crate) fn strangers(disk: &dyn Disk) -> io::Result<Vec<(String, Stranger)>> {
    let mut found = Vec::new();
    // Files of an interrupted backup wait for their names under these.
    for name in disk.list(FOLDER)?.into_iter().filter(|name| !name.ends_with(".new")) {
        let mut header = [0; HEADER_LEN];
        let read = disk.read_at(&format!("{FOLDER}/{name}"), 0, &mut header);
        let is_folder = read.is_err_and(|error| error.kind() == io::ErrorKind::IsADirectory);
        let (says, named) = (number_in(&header), number(&name));
        let is = match (says, named) {
            _ if is_folder => Stranger::Folder,
            (Some(says), named) if named != Some(says) => Stranger::Number(says),
            (None, None) if name.ends_with(".log") => Stranger::Nothing,
            _ => continue,
        };
        found.push((name, is));
    }
    found.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    Ok(found)
}

/// What lies in the folder of the log.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    /// The keys of the files, in their order.
    pub(crate) keys: Vec<String>,
    /// By name, what has a name that is not its own.
    pub(crate) strangers: Vec<(String, Stranger)>,
}

impl Listed {
    pub(crate) fn of(disk: &dyn Disk) -> io::Result<Listed> {
        let strangers = strangers(disk)?;
        let folder = |key: &String| strangers.iter().any(|(name, is)| *is == Stranger::Folder && key.ends_with(name));
        let keys = files(disk)?.into_iter().map(key).filter(|key| !folder(key)).collect();
        Ok(Listed { keys, strangers })
    }
}

/// How many bytes the files take.
pub(crate) fn bytes(disk: &dyn Disk) -> u64 {
    let numbers = files(disk).unwrap_or_default();
    numbers.into_iter().map(|number| disk.len(&key(number)).unwrap_or(0)).sum()
}

/// A file to which somebody may be writing, and where the room for more begins in it. Bytes reach a file in their order, but a
/// reader who is overtaken sees later ones without earlier ones; on a second look all is there that stands before a byte that
/// was seen.
pub(crate) fn read_beside_writer(disk: &dyn Disk, key: &str) -> io::Result<(Vec<u8>, usize)> {
    let mut bytes = vec![0; disk.len(key)? as usize];
    disk.read_at(key, 0, &mut bytes)?;
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    disk.read_at(key, 0, &mut bytes[..end])?;
    Ok((bytes, end))
}

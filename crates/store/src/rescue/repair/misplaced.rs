//! Files under names that are not theirs: segments under the key of another, files of the log that were renamed.

use std::io;

use super::{MISPLACED, Repairing, Work, set_aside};
use crate::{
    Error,
    disk::quarantine::QUARANTINE,
    log::{files, format},
    segment::{Segment, whose::Whose},
};

impl Work<'_> {
    /// Files of the log that were renamed get their names back, and what is none goes aside.
    pub(super) fn names_of_log(&mut self) -> Result<(), Error> {
        let io = |source| Error::Io { doing: "look into", path: format::FOLDER.to_owned(), source };
        let strangers = match files::strangers(&*self.disk) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            strangers => strangers.map_err(io)?,
        };
        if self.how == Repairing::Do && !strangers.is_empty() {
            let told = files::settle_names(&*self.disk).map_err(io)?;
            told.into_iter().for_each(|step| self.step(step));
            return Ok(());
        }
        for (name, is) in strangers {
            self.step(is.finding(&name));
        }
        Ok(())
    }

    /// Segments that lie under the key of another get the keys for which they were written; those of another archive, and folders in
    /// the place of a file, go aside. What lies nowhere then is missing.
    pub(super) fn misplaced(&mut self, named: &[String], files: &mut Vec<String>) -> Result<(), Error> {
        let (mut moves, mut aside) = (Vec::new(), Vec::new());
        let keys = || named.iter().map(String::as_str);
        for key in files.iter() {
            let segment = Segment::of_file(self.disk.clone(), key);
            let whose = segment.and_then(|segment| Whose::of(&segment, key, self.archive, keys()));
            match whose {
                Ok(Whose::Misplaced(Some(right))) => moves.push((key.clone(), right)),
                // What the catalogue does not name is nobody's: the next start deals with it.
                Ok(Whose::Foreign(_) | Whose::Misplaced(None)) if keys().any(|named| named == key) => {
                    let finding = whose.ok().and_then(|whose| whose.finding()).unwrap_or_default();
                    self.step(format!("{key} {finding}: it goes to {QUARANTINE}/"));
                    aside.push(key.clone());
                }
                Err(Error::CorruptSegment { reason, .. }) if self.is_folder(key) => {
                    self.step(format!("{key}: {reason}, which goes to {QUARANTINE}/"));
                    aside.push(key.clone());
                }
                _ => {}
            }
        }
        for (key, right) in &moves {
            self.step(format!("{key} is the segment that belongs to {right}: it gets that name"));
        }
        files.retain(|key| !aside.contains(key) && !moves.iter().any(|(from, _)| from == key));
        // One whose key nobody knows any more waits for whoever does.
        files.retain(|key| !key.ends_with(MISPLACED));
        // Where one is to come, what lies there now is not it.
        files.retain(|key| !moves.iter().any(|(_, right)| right == key));
        files.extend(moves.iter().map(|(_, right)| right.clone()));
        files.sort_unstable();
        files.dedup();
        if self.how == Repairing::Look {
            self.unseen = moves.into_iter().map(|(_, right)| right).collect();
            return Ok(());
        }
        aside.iter().try_for_each(|key| set_aside(&*self.disk, key))?;
        let io = |key: &str| {
            let path = key.to_owned();
            move |source| Error::Io { doing: "rename", path, source }
        };
        for (key, right) in &moves {
            self.disk.rename(key, &format!("{right}{MISPLACED}")).map_err(io(key))?;
        }
        for (_, right) in &moves {
            if self.disk.len(right).is_ok() {
                set_aside(&*self.disk, right)?;
            }
            let folder = right.rsplit_once('/').map_or("", |(folder, _)| folder);
            let named = self.disk.rename(&format!("{right}{MISPLACED}"), right);
            named.and_then(|()| self.disk.sync_folder(folder)).map_err(io(right))?;
        }
        Ok(())
    }

    fn is_folder(&self, key: &str) -> bool {
        let mut byte = [0];
        self.disk.read_at(key, 0, &mut byte).is_err_and(|error| error.kind() == io::ErrorKind::IsADirectory)
    }
}

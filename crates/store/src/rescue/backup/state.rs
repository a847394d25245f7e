//! What a backup remembers between two runs: of which archive it is and how far, and which of its segments were verified.
//!
//! ```text
//!   archive 0123456789abcdef              the number of the archive, if it has one
//!   frame 1234                            the first frame of the log that was not in segments
//!   verified 2026-W47/000000000012.seg    read back from the backup, every checksum right
//! ```
//! A line without its end is as if it were not there: what it says is found out again.

use std::{collections::BTreeSet, io};

use crate::{
    Error,
    catalog::{
        copy::{self, Copy},
        tables::CATALOGUE,
    },
    disk::Disk,
};

/// What is not whole yet.
pub(super) const PART: &str = "part";

/// The key of it.
pub(super) const STATE: &str = "backup-state";

/// What is remembered.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    archive: Option<u64>,
    frame: u64,
    verified: BTreeSet<String>,
}

impl State {
    /// What a backup of before remembers. One that an older program made has a catalogue only, and verified nothing.
    pub(super) fn read(target: &dyn Disk) -> Result<State, Error> {
        let Some(bytes) = copy::read_file(target, STATE)? else {
            let is_there = target.len(CATALOGUE).is_ok();
            let copy = if is_there { copy::read_copy(target)?.unwrap_or_default() } else { Copy::default() };
            // Whoever has opened the backup to read it may have given it a number that its archive does not have.
            return Ok(State { archive: None, ..State::of(&copy) });
        };
        let mut state = State::default();
        let text = String::from_utf8_lossy(&bytes);
        for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
            match line.split_once(' ') {
                Some(("archive", number)) => state.archive = u64::from_str_radix(number, 16).ok(),
                Some(("frame", number)) => state.frame = number.parse().unwrap_or(0),
                Some(("verified", key)) => _ = state.verified.insert(key.to_owned()),
                _ => {}
            }
        }
        Ok(state)
    }

    fn of(copy: &Copy) -> State {
        State { archive: copy.archive, frame: copy.position.frame, verified: BTreeSet::new() }
    }

    /// Why what an archive has now cannot be what it had then, gone on.
    pub(super) fn refusal(&self, copy: &Copy) -> Option<String> {
        let now = State::of(copy);
        if let Some(before) = self.archive
            && now.archive != Some(before)
        {
            return Some("it is of another archive that lay in the same folder".to_owned());
        }
        (now.frame < self.frame).then(|| {
            "it has more than the archive, which is older than its backup, or was begun anew in the same folder"
                .to_owned()
        })
    }

    pub(super) fn is_verified(&self, key: &str) -> bool {
        self.verified.contains(key)
    }

    /// Nothing was verified.
    pub(super) fn forget(&mut self) {
        self.verified.clear();
    }

    /// A segment was found whole: a backup that breaks off does not verify it again.
    pub(super) fn add(&mut self, target: &dyn Disk, key: &str) -> io::Result<()> {
        if self.verified.insert(key.to_owned()) {
            let at = target.len(STATE).unwrap_or(0);
            target.write_at(STATE, at, format!("verified {key}\n").as_bytes())?;
        }
        Ok(())
    }

    /// A segment is not what it should be.
    pub(super) fn remove(&mut self, target: &dyn Disk, key: &str) -> io::Result<()> {
        if self.verified.remove(key) { self.write(target) } else { Ok(()) }
    }

    /// The backup is of this catalogue now.
    pub(super) fn finish(&mut self, target: &dyn Disk, copy: &Copy) -> io::Result<()> {
        let State { archive, frame, .. } = State::of(copy);
        (self.archive, self.frame) = (archive, frame);
        self.verified.retain(|key| copy.segments.iter().any(|manifest| manifest.key == *key));
        self.write(target)
    }

    fn write(&self, target: &dyn Disk) -> io::Result<()> {
        let archive = self.archive.map(|number| format!("archive {number:016x}\n")).unwrap_or_default();
        let verified: String = self.verified.iter().map(|key| format!("verified {key}\n")).collect();
        let part = format!("{STATE}.{}", PART);
        target.set_len(&part, 0)?;
        target.write_at(&part, 0, format!("{archive}frame {}\n{verified}", self.frame).as_bytes())?;
        target.sync(&part)?;
        target.rename(&part, STATE)?;
        target.sync_folder("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{catalog::tables::Position, disk::RealDisk};

    fn copy(archive: Option<u64>, frame: u64) -> Copy {
        let mut copy = Copy::default();
        copy.archive = archive;
        copy.position = Position { frame, ..Position::default() };
        copy
    }

    #[test]
    fn what_was_written_comes_back_and_a_line_that_was_cut_off_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let disk = RealDisk::new(folder.path());
        let mut state = State::default();
        state.finish(&disk, &copy(Some(0xabc), 7)).unwrap();
        state.add(&disk, "2026-W47/1.seg").unwrap();
        state.add(&disk, "2026-W47/2.seg").unwrap();
        assert_eq!(State::read(&disk).unwrap(), state);
        let bytes = std::fs::read(folder.path().join(STATE)).unwrap();
        std::fs::write(folder.path().join(STATE), &bytes[..bytes.len() - 1]).unwrap();
        let read = State::read(&disk).unwrap();
        assert!(read.is_verified("2026-W47/1.seg") && !read.is_verified("2026-W47/2.seg"));
        state.remove(&disk, "2026-W47/1.seg").unwrap();
        assert!(!State::read(&disk).unwrap().is_verified("2026-W47/1.seg"));
    }

    #[test]
    fn another_archive_and_an_older_one_are_refused_and_one_that_got_its_number_since_is_not() {
        let state = |archive, frame| State { archive, frame, ..State::default() };
        assert_eq!(state(Some(1), 5).refusal(&copy(Some(1), 5)), None);
        assert_eq!(state(None, 5).refusal(&copy(Some(1), 6)), None);
        assert!(state(Some(1), 5).refusal(&copy(Some(2), 9)).unwrap().contains("another archive"));
        assert!(state(Some(1), 5).refusal(&copy(None, 9)).unwrap().contains("another archive"));
        assert!(state(Some(1), 5).refusal(&copy(Some(1), 4)).unwrap().contains("older"));
    }
}

//! Shipping: what lies in the outbox and what is synced of the log go to the shared store, and what comes of it.

use std::{
    cell::RefCell,
    io::{self, Read},
    sync::atomic::Ordering::Relaxed,
    time::{Duration, Instant},
};

use shared::{Epoch, Local, LogRun, Owner, OwnerStanding, Part};

use crate::{
    Error,
    disk::Objects,
    engine::Engine,
    log::files,
    outbox::{not_journalled, taken_by},
    owned::{Leaving, Owned, Silence},
};

/// While a store closes, how often it looks whether everything is shipped.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// What lies on the own disk, as the owner sees it.
struct Seen<'a> {
    engine: &'a Engine,
    owned: &'a Owned,
    /// What was given out of the log: the frame behind it, and how many samples were appended up to there.
    given: RefCell<Vec<(u64, u64)>>,
}

impl Local for Seen<'_> {
    fn log(&self, from: u64, max: usize) -> io::Result<Option<LogRun>> {
        let read = self.owned.frames.read_counted(from, self.owned.synced_frame.load(Relaxed), max)?;
        Ok(read.map(|(run, appended)| {
            self.given.borrow_mut().push((run.frames.end, appended));
            run
        }))
    }

    fn segment(&self, key: &str) -> io::Result<Box<dyn Read + '_>> {
        let len = self.engine.disk.len(key)?;
        Ok(Box::new(File { disk: &*self.engine.disk, key: key.to_owned(), at: 0, len }))
    }

    fn is_read(&self, key: &str) -> bool {
        self.owned.is_in_use(key)
    }
}

/// A file, from its beginning to its end.
struct File<'a, D: Objects + ?Sized> {
    disk: &'a D,
    key: String,
    at: u64,
    len: u64,
}

impl<D: Objects + ?Sized> Read for File<'_, D> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let len = (bytes.len() as u64).min(self.len - self.at) as usize;
        self.disk.read_at(&self.key, self.at, &mut bytes[..len])?;
        self.at += len as u64;
        Ok(len)
    }
}

impl Engine {
    /// Ships what there is, and learns how the owner stands. What cannot be shipped now goes the next time.
    pub(crate) fn ship(&self) {
        let Some(owned) = &self.owned else { return };
        let mut owner = owned.owner();
        if owned.is_fenced() {
            return;
        }
        owned.outbox.take().into_iter().for_each(|plan| owner.change(plan));
        let seen = Seen { engine: self, owned, given: RefCell::default() };
        let mut result = owner.advance(owned.since.elapsed(), &seen);
        seen.given.into_inner().into_iter().for_each(|(frame, appended)| owned.mark(frame, appended));
        if result.is_ok() && owner.checkpoint_is_due() {
            result = self.write_checkpoint(owned, &mut owner);
        }
        self.learn(owned, &owner, result);
    }

    /// Writes a copy of the catalogue, if it is what the journal says at this moment.
    fn write_checkpoint(&self, owned: &Owned, owner: &mut Owner) -> shared::Result<()> {
        let rows = self.catalog.rows_when(|| owned.outbox.is_empty());
        let local = |error: Error| {
            let source = io::Error::other(error);
            shared::Error::Local { doing: "copy the catalogue".into(), source }
        };
        match rows.map_err(local)? {
            Some(rows) => owner.checkpoint(owned.since.elapsed(), Some(&mut rows.as_slice())),
            None => Ok(()),
        }
    }

    /// Takes over what came of a turn: which changes the journal has, up to where samples are durable, and what goes wrong.
    fn learn(&self, owned: &Owned, owner: &Owner, result: shared::Result<()>) {
        owned.rows.store(owner.rows(), Relaxed);
        if owned.outbox.note(owner.waiting(), owner.standing(), owner.refused()) {
            self.catalog.hold_late(); // the next who looks takes it over
        }
        // With a change that waits came samples of which a mark may tell.
        if owned.outbox.waiting() == 0 {
            let mut marks = owned.marks.lock().expect("no holder of this lock panics");
            let later = marks.split_off(&(owner.durable() + 1));
            if let Some(appended) = std::mem::replace(&mut *marks, later).into_values().max() {
                self.counters.durable.fetch_max(appended, Relaxed);
            }
        }
        let detached = matches!(owner.standing(), OwnerStanding::Detached { .. });
        {
            let mut silence = owned.detached.lock().expect("no holder of this lock panics");
            let before = silence.take().filter(|_| detached);
            let why = result.as_ref().err().map(|error| match error {
                shared::Error::Unknown { reason, .. } => reason.clone(),
                error => error.to_string(),
            });
            *silence = detached.then(|| {
                let (since, told) = before.map_or((Instant::now(), String::new()), |before| (before.since, before.why));
                Silence { since, why: why.unwrap_or(told) }
            });
        }
        self.let_go(owned);
        let trouble = match result {
            Ok(()) => None,
            Err(shared::Error::Taken { epoch, .. }) => {
                if owned.may_end() {
                    self.fence(owned, epoch, taken_by(epoch));
                }
                None
            }
            Err(error) if owner.refused().is_some() => {
                let reason = not_journalled(&error.to_string());
                self.fence(owned, owned.epoch, reason.clone());
                Some(reason)
            }
            Err(shared::Error::Unknown { .. }) => None, // how it stands says so
            Err(error) => Some(error.to_string()),
        };
        let mut told = owned.trouble.lock().expect("no holder of this lock panics");
        if let Some(trouble) = &trouble
            && told.as_ref() != Some(trouble)
        {
            tracing::warn!("shard {}: {trouble}", owned.shard);
        }
        *told = trouble;
    }

    /// Removes what neither this node nor the journal needs any more.
    fn let_go(&self, owned: &Owned) {
        let journalled = owned.outbox.journalled();
        let leaving: Vec<Leaving> = {
            let mut leaving = owned.leaving.lock().expect("no holder of this lock panics");
            leaving.extract_if(.., |(number, _)| *number <= journalled).map(|(_, leaving)| leaving).collect()
        };
        let mut log_before = None;
        for leaving in leaving {
            match leaving {
                Leaving::LogBefore(file) => log_before = log_before.max(Some(file)),
                Leaving::Segment(key) => self.remove_unfinished(&key),
            }
        }
        if let Some(file) = log_before {
            self.remove_log_files(file);
        }
    }

    /// Takes nothing any more. What was appended gets into the log, from where it is handed over.
    fn fence(&self, owned: &Owned, by: Epoch, reason: String) {
        if owned.fenced.set(by).is_err() {
            return;
        }
        self.counters.problem(format!("shard {}: {reason}", owned.shard));
        let mut files = self.log_files();
        let (pieces, appended, frame) = {
            let mut ingest = self.ingest();
            ingest.refusal = Some(reason.clone());
            (ingest.log.take_pieces(), self.counters.appended.load(Relaxed), ingest.log.next_frame())
        };
        *self.counters.refusal.lock().expect("no holder of this lock panics") = Some(reason);
        let written = files.write(&pieces).and_then(|()| {
            files.take_unsynced().into_iter().try_for_each(|file| files::sync(&*self.disk, file))?;
            self.disk.sync_folder(crate::log::format::FOLDER)
        });
        match written {
            Ok(()) => owned.note_synced(appended, frame),
            Err(error) => self.counters.problem(format!(
                "shard {}: the last samples cannot be written to the log, from where they would be handed over: {error}",
                owned.shard
            )),
        }
    }

    /// What an owner that was replaced has beyond the journal.
    pub(crate) fn left_over(&self) -> Option<Part> {
        let owned = self.owned.as_ref()?;
        let end = self.ingest().log.next_frame();
        owned.owner().left_over(end)
    }

    /// Ships until nothing is left, for a while; then a copy of the catalogue, from which the next owner begins.
    pub(crate) fn ship_all(&self) -> Result<(), Error> {
        let Some(owned) = &self.owned else { return Ok(()) };
        let deadline = Instant::now() + owned.shipping.patience;
        loop {
            self.ship();
            let mut owner = owned.owner();
            if owned.is_fenced() || matches!(owner.standing(), OwnerStanding::Taken { .. }) {
                return Ok(()); // what is left over is told by `left_over`
            }
            let all = owner.durable() >= owned.synced_frame.load(Relaxed);
            if all && owner.is_quiet() && owned.outbox.is_empty() {
                let written = self.write_checkpoint(owned, &mut owner);
                self.learn(owned, &owner, written);
                return Ok(());
            }
            drop(owner);
            if Instant::now() >= deadline {
                let left = self.counters.appended.load(Relaxed) - self.counters.durable.load(Relaxed);
                let reason = format!("{left} samples and {} changes are on this node only", owned.outbox.waiting());
                return Err(Error::CannotDo { doing: "ship all that was recorded to the shared store", reason });
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use shared::twin::Memory;

    use crate::{Error, outbox::Changes, store::shard::fixture::taken};

    #[test]
    fn a_change_that_no_journal_takes_is_never_told_as_held() {
        let folder = tempfile::tempdir().unwrap();
        let store = taken(folder.path(), &Arc::new(Memory::default()));
        let owned = store.engine.owned.as_ref().unwrap();
        store.ship();
        let before = owned.outbox.journalled();
        let removed = ["2026-W01/000000000009.seg".to_owned()].into();
        owned.outbox.give(Changes { removed, ..Changes::default() });
        let error = owned.outbox.wait().unwrap_err();
        assert!(matches!(&error, Error::Refused { reason } if reason.contains("not listed")), "{error}");
        assert_eq!(owned.outbox.journalled(), before, "what waits for it on the own disk stays");
        owned.outbox.give(Changes::default());
        assert!(owned.outbox.wait().is_err(), "nor is one behind it");
        assert!(store.shard().unwrap().is_over, "the shard is given up");
    }
}

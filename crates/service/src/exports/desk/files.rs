//! The files of exports in their folder: known again after a start, written down as they grow, and removed.

use std::{
    collections::{BTreeMap, HashSet},
    fs::File,
    io::{self, Read},
    sync::{Arc, MutexGuard, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use sample::Timestamp;

use super::Desk;
use crate::{
    clock::now,
    exports::{
        ExportState,
        file_names::{NEXT, Named, data, record},
        job::Job,
        record::{RECORD_BYTES_MAX, Record},
    },
    refusal::{Code, Refusal},
};

/// One during which the archiver ended more often without being told to is given up, as it may be why.
const RESUMED_MAX: u32 = 5;

impl Desk {
    /// What cannot be read now stays as it is, and so does what was not written here.
    pub(super) fn load(&self) -> io::Result<()> {
        let names: Vec<Named> = self.shelf.names()?.iter().filter_map(|name| Named::of(name)).collect();
        let (mut jobs, mut unread) = (BTreeMap::new(), HashSet::new());
        for number in
            names.iter().filter_map(|name| if let Named::Record(number) = name { Some(*number) } else { None })
        {
            match self.loaded(number) {
                Ok(Some(job)) => drop(jobs.insert(number, job)),
                Ok(None) => tracing::warn!("export {number} is removed: its record is damaged"),
                Err(error) => {
                    tracing::warn!("export {number} is not listed: its record cannot be read: {error}");
                    self.shelf.note(self.len(number).unwrap_or(0));
                    unread.insert(number);
                }
            }
        }
        let left_over = |name: &&Named| match name {
            Named::Data(number) | Named::Record(number) => !jobs.contains_key(number) && !unread.contains(number),
            Named::Passing(_) => true,
        };
        for name in names.iter().filter(left_over).map(Named::name) {
            if let Err(error) = self.shelf.remove(&name) {
                tracing::warn!("{name} in the folder for exports cannot be removed: {error}");
            }
        }
        *self.jobs() = jobs;
        Ok(())
    }

    /// None if what is written down of it is no record.
    fn loaded(&self, number: u64) -> io::Result<Option<Arc<Job>>> {
        let mut bytes = Vec::new();
        self.shelf.read(&record(number))?.take(RECORD_BYTES_MAX).read_to_end(&mut bytes)?;
        let Some(mut known) = String::from_utf8(bytes).ok().and_then(|text| Record::parse(&text)) else {
            return Ok(None);
        };
        let len = self.len(number);
        if let Err(error) = &len {
            tracing::warn!("how long the file of export {number} is cannot be read: {error}");
        }
        let gave_up = |sentence: &str| ExportState::Failed {
            since: now(),
            why: Refusal::new(Code::Internal, sentence).hint("order it again"),
        };
        match known.state {
            ExportState::Done { .. } if len.as_ref().is_ok_and(|len| *len != known.tally.bytes) => {
                known.state = gave_up("its file was lost or cut off on the disk");
            }
            ExportState::Running if known.resumed >= RESUMED_MAX => {
                known.state = gave_up("the archiver ended again and again while it was made");
            }
            ExportState::Running => (known.state, known.resumed) = (ExportState::Waiting, known.resumed + 1),
            ExportState::Waiting | ExportState::Done { .. } | ExportState::Failed { .. } => {}
        }
        let is_failed = matches!(known.state, ExportState::Failed { .. });
        let len = len.unwrap_or(known.tally.bytes.max(known.place));
        let since = match known.state {
            ExportState::Done { since } | ExportState::Failed { since, .. } => Some(since),
            ExportState::Waiting | ExportState::Running => None,
        };
        let job = Job::new(number, known);
        job.inner().goes_at = since.and_then(|since| self.goes_at(since));
        job.taken.store(len, Relaxed);
        self.shelf.note(len);
        if is_failed && let Err(error) = self.cut(&job, 0) {
            tracing::warn!("the file of export {number} cannot be cut off: {error}");
        }
        if !matches!(job.seen_state(), ExportState::Done { .. }) {
            self.put_record(&job)
                .unwrap_or_else(|error| tracing::warn!("export {number} cannot be written down: {error}"));
        }
        Ok(Some(job))
    }

    /// When one goes that has been at its end since then; a clock that was set back meanwhile keeps it no longer than one of now.
    fn goes_at(&self, since: Timestamp) -> Option<Instant> {
        let age =
            u64::try_from(now().nanos().saturating_sub(since.nanos())).map_or(Duration::ZERO, Duration::from_nanos);
        Instant::now().checked_add(self.config.keep.saturating_sub(age))
    }

    /// How long the file of one is; without a file nothing.
    pub(super) fn len(&self, number: u64) -> io::Result<u64> {
        match self.shelf.read(&data(number)).and_then(|file| file.metadata()) {
            Ok(facts) => Ok(facts.len()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Writes down how far it is, unless it is to go.
    pub(super) fn put_record(&self, job: &Job) -> io::Result<()> {
        self.put_held(job, &job.files())
    }

    pub(super) fn put_held(&self, job: &Job, _files: &MutexGuard<'_, ()>) -> io::Result<()> {
        if job.removed.load(Relaxed) {
            return Ok(());
        }
        let mut known = job.record();
        if matches!(known.state, ExportState::Running) && self.stopping.load(Relaxed) {
            known.state = ExportState::Waiting;
        }
        self.shelf.put(&record(job.number), known.text().as_bytes())
    }

    /// From here it can be gone on with.
    pub(in crate::exports) fn keep_place(&self, job: &Job, len: u64) -> io::Result<()> {
        let mut inner = job.inner();
        (inner.place, inner.kept) = (len, inner.tally.clone());
        drop(inner);
        self.put_record(job)
    }

    /// Cuts its file off behind so many bytes, or altogether where it has fewer. Gives how many it has then.
    pub(super) fn cut(&self, job: &Job, len: u64) -> io::Result<(File, u64)> {
        let file = self.shelf.create(&data(job.number))?;
        let len = if file.metadata()?.len() < len { 0 } else { len };
        file.set_len(len)?;
        self.give_back(job, job.taken().saturating_sub(len));
        Ok((file, len))
    }

    /// A number that none has had: whoever has an old link gets nothing else by it.
    pub(super) fn next_number(&self) -> io::Result<u64> {
        let mut text = String::new();
        match self.shelf.read(NEXT) {
            Ok(file) => drop(file.take(32).read_to_string(&mut text)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let newest = self.jobs().keys().next_back().map_or(1, |newest| newest + 1);
        let number = text.trim().parse::<u64>().unwrap_or(1).max(newest);
        self.shelf.put(NEXT, (number + 1).to_string().as_bytes())?;
        Ok(number)
    }

    pub(super) fn remove_files(&self, job: &Job) {
        let _files = job.files();
        let removed = [record(job.number), data(job.number)].iter().try_for_each(|name| self.shelf.remove(name));
        match removed {
            Ok(()) => self.give_back(job, job.taken()),
            Err(error) => tracing::warn!("the files of export {} cannot be removed: {error}", job.number),
        }
    }
}

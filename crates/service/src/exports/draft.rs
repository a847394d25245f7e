//! A draft: the file of an export while it is made. It is written behind what is there, never beyond the room that exports have, and not
//! at all once nobody wants it; what has come so far is told meanwhile, and kept, so that it is gone on with after a crash.

use std::{
    fs::File,
    io::{self, Write},
    os::unix::fs::FileExt,
    path::Path,
    sync::{Arc, Mutex, MutexGuard},
    time::Instant,
};

use sample::{TimeRange, Timestamp};

use super::{Form, desk::Desk, job::Job, shelf::Shelf};
use crate::{
    ask::Ask,
    refusal::{Code, Refusal},
};

/// So much is written at a time.
const BUFFER_BYTES: usize = 256 << 10;
/// Sheets are made first and packed then: what of the work the making is.
const MADE_PART: f64 = 0.6;
/// There is always something left to do.
const NOT_DONE: f64 = 0.999;
/// So many sentences, or names, of each kind are told.
const TOLD_MAX: usize = 20;

/// The file of an export while it is made. Cheap to clone: all are one.
#[derive(Clone)]
pub struct Draft(Arc<Shared>);

struct Shared {
    desk: Arc<Desk>,
    job: Arc<Job>,
    ask: Ask,
    out: Mutex<DraftOut>,
}

struct DraftOut {
    file: File,
    buffer: Vec<u8>,
    /// Of the file, with what is in the buffer.
    len: u64,
    /// What lies beside it.
    beside: u64,
    scratches: u64,
    kept_at: Instant,
    /// Why no more is written.
    failed: Option<Refusal>,
}

impl Draft {
    /// Goes on behind the first `len` bytes.
    pub(super) fn new(desk: Arc<Desk>, job: Arc<Job>, ask: Ask, file: File, len: u64) -> Draft {
        let buffer = Vec::with_capacity(BUFFER_BYTES);
        let out = DraftOut { file, buffer, len, beside: 0, scratches: 0, kept_at: Instant::now(), failed: None };
        Draft(Arc::new(Shared { desk, job, ask, out: Mutex::new(out) }))
    }

    fn out(&self) -> MutexGuard<'_, DraftOut> {
        self.0.out.lock().expect("no holder of this lock panics")
    }

    fn shelf(&self) -> &Shelf {
        &self.0.desk.shelf
    }

    /// Which of the PVs comes first; those before it are in the file.
    pub fn first_pv(&self) -> usize {
        self.0.job.seen().pvs_done
    }

    /// Where the next byte goes.
    pub fn position(&self) -> u64 {
        self.out().len
    }

    /// Where files may be made meanwhile that have no names.
    pub fn folder(&self) -> &Path {
        &self.shelf().path
    }

    /// Refuses to go on for nobody.
    pub fn go_on(&self) -> Result<(), Refusal> {
        self.0.ask.go_on()
    }

    /// So many samples, or rows, up to this time, are in the file.
    pub fn wrote(&self, samples: u64, pv: usize, time: Timestamp) {
        let wanted = &self.0.job.wanted;
        let parts = if wanted.is_by_pv() { wanted.pvs.len().max(1) } else { 1 };
        let TimeRange { t0, t1 } = wanted.range;
        let within = (time.seconds_f64() - t0.seconds_f64()) / (t1.seconds_f64() - t0.seconds_f64()).max(1e-9);
        let bytes = self.position();
        let whole = if wanted.form == Form::Xlsx { MADE_PART } else { 1.0 };
        self.0.job.tell(|tally| {
            tally.samples += samples;
            tally.bytes = bytes;
            let progress = whole * (pv as f64 + within.clamp(0.0, 1.0)) / parts as f64;
            tally.progress = tally.progress.max(progress.min(NOT_DONE));
        });
    }

    /// A PV is finished, with so many samples within the range, and so many gaps. From here the export can be gone on with.
    pub fn passed(&self, pv: usize, name: &str, samples: u64, gaps: u64) -> Result<(), Refusal> {
        self.0.job.tell(|tally| {
            tally.pvs_done = pv + 1;
            tally.gaps += gaps;
            if samples == 0 {
                tally.without_count += 1;
                if tally.without.len() < TOLD_MAX {
                    tally.without.push(name.to_owned());
                }
            }
        });
        let goes_on = self.0.job.wanted.goes_on();
        if !goes_on || self.out().kept_at.elapsed() < self.0.desk.config.place_each {
            return Ok(());
        }
        self.flush_all()?;
        let mut out = self.out();
        out.kept_at = Instant::now();
        let (len, synced) = (out.len, out.file.sync_data());
        drop(out);
        self.noted(synced)?;
        self.noted(self.0.desk.keep_place(&self.0.job, len))
    }

    /// A sentence for whoever gets the file.
    pub fn note(&self, sentence: String) {
        self.0.job.tell(|tally| {
            if tally.notes.len() < TOLD_MAX && !tally.notes.contains(&sentence) {
                tally.notes.push(sentence);
            }
        });
    }

    /// What could not be read and is not in the file.
    pub fn damaged(&self, sentence: String) {
        self.0.job.tell(|tally| {
            tally.damage_count += 1;
            if tally.damage.len() < TOLD_MAX {
                tally.damage.push(sentence);
            }
        });
    }

    /// Counts bytes that are written beside the file meanwhile.
    pub fn beside(&self, bytes: u64) -> Result<(), Refusal> {
        self.go_on()?;
        self.0.desk.take(&self.0.job, bytes).map_err(|why| self.gave_up(why))?;
        self.out().beside += bytes;
        Ok(())
    }

    /// A file beside it for what has to wait.
    pub fn scratch(&self) -> Result<Scratch, Refusal> {
        let mut out = self.out();
        out.scratches += 1;
        let name = format!("{}.scratch{}", self.0.job.number, out.scratches);
        drop(out);
        let file = self.noted(self.shelf().nameless(&name))?;
        Ok(Scratch { draft: self.clone(), file, buffer: Vec::new(), len: 0 })
    }

    /// Writes over what is in the file already.
    pub fn patch(&self, offset: u64, bytes: &[u8]) -> Result<(), Refusal> {
        self.flush_all()?;
        let written = self.out().file.write_all_at(bytes, offset);
        self.noted(written)
    }

    /// What is in the file already.
    pub fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<(), Refusal> {
        self.flush_all()?;
        let read = self.out().file.read_exact_at(bytes, offset);
        self.noted(read)
    }

    /// Writes all of these bytes.
    pub fn put(&self, bytes: &[u8]) -> Result<(), Refusal> {
        let mut out = self.out();
        out.buffer.extend_from_slice(bytes);
        out.len += bytes.len() as u64;
        let is_full = out.buffer.len() >= BUFFER_BYTES;
        drop(out);
        if is_full { self.flush_all() } else { Ok(()) }
    }

    /// Writes what is in the buffer, if there is room and somebody wants it.
    fn flush_all(&self) -> Result<(), Refusal> {
        self.go_on()?;
        let mut out = self.out();
        if let Some(why) = &out.failed {
            return Err(why.clone());
        }
        if out.buffer.is_empty() {
            return Ok(());
        }
        let (buffer, end) = (std::mem::take(&mut out.buffer), out.len);
        let (desk, size) = (&self.0.desk, buffer.len() as u64);
        let written = desk.take(&self.0.job, size).and_then(|()| {
            out.file.write_all_at(&buffer, end - size).map_err(|error| {
                desk.give_back(&self.0.job, size);
                failed(error)
            })
        });
        (out.buffer, out.failed) = (buffer, written.as_ref().err().cloned());
        out.buffer.clear();
        drop(out);
        let job = &self.0.job;
        if written.is_ok() && job.wanted.form == Form::Xlsx {
            let packed = (end as f64 / job.bytes_planned.max(1) as f64).min(1.0);
            job.tell(|tally| {
                tally.bytes = end;
                tally.progress = tally.progress.max((MADE_PART + (1.0 - MADE_PART) * packed).min(NOT_DONE));
            });
        }
        written
    }

    /// Why nothing more was written, where those that write through it have words of their own for that.
    pub(super) fn why(&self) -> Option<Refusal> {
        self.out().failed.clone()
    }

    /// All of it is there, and stays. Gives its length.
    pub(super) fn finish(&self) -> Result<u64, Refusal> {
        self.flush_all()?;
        let out = self.out();
        let (len, synced) = (out.len, out.file.sync_all());
        drop(out);
        self.noted(synced).map(|()| len)
    }

    /// What fails on the disk is the end of it: it is not what waits for something that is away.
    fn noted<T>(&self, result: io::Result<T>) -> Result<T, Refusal> {
        result.map_err(|error| self.gave_up(failed(error)))
    }

    /// Notes why no more is written. Nobody who calls it holds `out`.
    fn gave_up(&self, why: Refusal) -> Refusal {
        self.out().failed.get_or_insert(why).clone()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let beside = self.out.lock().map_or(0, |out| out.beside);
        self.desk.give_back(&self.job, beside);
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.put(bytes).map(|()| bytes.len()).map_err(io::Error::other)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(()) // what writes through it flushes often, and the end of the file is flushed in any case
    }
}

/// What waits beside a draft until it has its place in it.
pub struct Scratch {
    draft: Draft,
    file: File,
    buffer: Vec<u8>,
    len: u64,
}

impl Scratch {
    /// Writes these bytes behind the others.
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.len + self.buffer.len() as u64
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn flush(&mut self) -> Result<(), Refusal> {
        self.draft.beside(self.buffer.len() as u64)?;
        self.draft.noted(self.file.write_all_at(&self.buffer, self.len))?;
        self.len += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Puts all of it behind what is in the draft, and is empty again.
    pub fn pour(&mut self) -> Result<(), Refusal> {
        let (mut piece, mut done) = (vec![0; BUFFER_BYTES], 0);
        while done < self.len {
            let next = usize::try_from(self.len - done).unwrap_or(usize::MAX).min(BUFFER_BYTES);
            self.draft.noted(self.file.read_exact_at(&mut piece[..next], done))?;
            self.draft.put(&piece[..next])?;
            done += next as u64;
        }
        self.draft.put(&self.buffer)?;
        self.buffer.clear();
        self.draft.noted(self.file.set_len(0))?;
        self.draft.0.desk.give_back(&self.draft.0.job, self.len);
        self.draft.out().beside -= self.len;
        self.len = 0;
        Ok(())
    }
}

fn failed(error: io::Error) -> Refusal {
    Refusal::new(Code::StoreRefused, format!("the file of the export cannot be written or read: {error}"))
}

//! The desk: takes orders for exports, makes them one after the other, keeps their files for a while, and knows them again after a start.

use std::{
    collections::{BTreeMap, HashSet},
    fmt,
    fs::File,
    io::{self, Read},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use archive::{Action, PvId, Right};
use sample::Timestamp;

use super::{
    Draft, ExportJob, ExportPlan, ExportState, ExportTally, ExportWanted, ExportsConfig,
    plan::plan,
    record::{RECORD_BYTES_MAX, Record},
    shelf::{Shelf, no_room},
};
use crate::{
    ask::Ask,
    budget::Budget,
    clock::now,
    refusal::{Code, Refusal, first_few},
    service::Service,
};

/// Writes what is wanted into a draft.
pub type Make = dyn Fn(&Ask, &ExportWanted, &Draft) -> Result<(), Refusal> + Send + Sync;

/// So many are made at a time: clients and recording have the rest of the machine.
const MADE_AT_ONCE: usize = 2;
/// So many are kept, those under way and those at their end together; and so many of one principal.
const KEPT_MAX: usize = 200;
const KEPT_EACH_MAX: usize = 25;
/// One principal has at most this part of what all may have on the disk.
const PART_OF_ONE: u64 = 2;
/// So often it is looked which have been kept long enough.
const LOOK_EACH: Duration = Duration::from_secs(20);
/// Where there is no memory for one now, or what it reads is away, it is tried again, so often, so long after.
const TRIES_MAX: usize = 600;
const TRY_AFTER: Duration = Duration::from_secs(1);
/// One during which the archiver ended more often without being told to is given up, as it may be why.
const RESUMED_MAX: u32 = 5;
/// So long the end of the program waits for those that are being made; what is begun goes on after the next start.
const END_WITHIN: Duration = Duration::from_secs(3);
/// The number of the next.
const NEXT: &str = "next";

/// The exports of an archive.
pub struct Exports {
    /// Or why there are none.
    desk: Result<Arc<Desk>, String>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl fmt::Debug for Exports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exports").field("why_not", &self.desk.as_ref().err()).finish_non_exhaustive()
    }
}

/// A file that is there.
#[derive(Debug)]
pub struct ExportFile {
    /// Its bytes.
    pub file: File,
    /// How many.
    pub len: u64,
    /// What it is.
    pub job: ExportJob,
}

pub(super) struct Desk {
    // fixed after start
    service: Arc<Service>,
    budget: Arc<Budget>,
    pub(super) config: ExportsConfig,
    pub(super) shelf: Shelf,
    make: Box<Make>,
    // atomic
    stopping: AtomicBool,
    // guarded by locks; whoever has both has taken `ordering` first
    ordering: Mutex<()>,
    jobs: Mutex<BTreeMap<u64, Arc<Job>>>,
    changed: Condvar,
}

pub(super) struct Job {
    // fixed
    pub(super) number: u64,
    owner: String,
    ordered: Timestamp,
    pub(super) bytes_planned: u64,
    pub(super) wanted: Arc<ExportWanted>,
    // atomic
    removed: AtomicBool,
    /// The bytes that this export holds of the room for exports, in its file and beside it.
    taken: AtomicU64,
    // guarded by locks; whoever has both has taken `files` first
    /// Held by whoever writes or removes what lies under its name.
    files: Mutex<()>,
    inner: Mutex<Inner>,
}

struct Inner {
    state: ExportState,
    tally: ExportTally,
    /// Up to here whole PVs are in the file, and what they amount to.
    place: u64,
    kept: ExportTally,
    resumed: u32,
    /// When it goes, once it is at its end: the clock of the wall may jump meanwhile.
    goes_at: Option<Instant>,
}

impl Exports {
    /// Opens the folder of the configuration, and goes on with what is there. `make` knows the forms; what it takes of memory is charged to
    /// the budget.
    pub fn open(
        service: Arc<Service>,
        budget: Arc<Budget>,
        config: ExportsConfig,
        make: impl Fn(&Ask, &ExportWanted, &Draft) -> Result<(), Refusal> + Send + Sync + 'static,
    ) -> Exports {
        let none = |why: String| Exports { desk: Err(why), threads: Mutex::default() };
        let Some(folder) = &config.folder else { return none("the archiver has no folder for exports".to_owned()) };
        let shelf = match Shelf::open(folder, &config) {
            Ok(shelf) => shelf,
            Err(error) => {
                tracing::warn!("nothing can be exported: the folder {} cannot be opened: {error}", folder.display());
                return none(format!("the folder for exports cannot be opened: {error}"));
            }
        };
        let desk = Arc::new(Desk {
            service,
            budget,
            config,
            shelf,
            make: Box::new(make),
            stopping: AtomicBool::new(false),
            ordering: Mutex::default(),
            jobs: Mutex::default(),
            changed: Condvar::new(),
        });
        if let Err(error) = desk.load() {
            tracing::warn!("the exports of before cannot be read: {error}");
        }
        let work = |_| {
            let desk = Arc::clone(&desk);
            thread::Builder::new().name("exports".to_owned()).spawn(move || desk.work()).ok()
        };
        let threads = (0..MADE_AT_ONCE).filter_map(work).collect();
        Exports { desk: Ok(desk), threads: Mutex::new(threads) }
    }

    fn desk(&self) -> Result<&Arc<Desk>, Refusal> {
        self.desk.as_ref().map_err(|why| Refusal::new(Code::Conflict, format!("nothing can be exported: {why}")))
    }

    /// Where the bounds stand.
    pub fn config(&self) -> Result<&ExportsConfig, Refusal> {
        Ok(&self.desk()?.config)
    }

    /// How many bytes all exports have.
    pub fn bytes_taken(&self) -> Result<u64, Refusal> {
        Ok(self.desk()?.shelf.taken())
    }

    /// What an export would be.
    pub fn plan(&self, ask: &Ask, wanted: &ExportWanted) -> Result<ExportPlan, Refusal> {
        self.desk()?.plan(ask, wanted)
    }

    /// Orders one.
    pub fn order(&self, ask: &Ask, wanted: ExportWanted) -> Result<ExportJob, Refusal> {
        self.desk()?.order(ask, wanted)
    }

    /// Those that whoever asks has ordered, the newest first; administrators see all.
    pub fn list(&self, ask: &Ask) -> Result<Vec<ExportJob>, Refusal> {
        let desk = self.desk()?;
        desk.clear();
        let seen = desk.jobs().values().rev().filter(|job| job.is_seen_by(ask)).cloned().collect::<Vec<_>>();
        Ok(seen.iter().map(|job| desk.told(job)).collect())
    }

    /// The one of that number.
    pub fn job(&self, ask: &Ask, number: u64) -> Result<ExportJob, Refusal> {
        let desk = self.desk()?;
        let job = desk.seen(ask, number)?;
        Ok(desk.told(&job))
    }

    /// Its file, for whoever sees all that is in it.
    pub fn file(&self, ask: &Ask, number: u64) -> Result<ExportFile, Refusal> {
        let desk = self.desk()?;
        let job = desk.seen(ask, number)?;
        match job.seen_state() {
            ExportState::Done { .. } => {}
            ExportState::Failed { why, .. } => return Err(why),
            ExportState::Waiting | ExportState::Running => {
                let message = format!("export {number} is not finished");
                return Err(Refusal::new(Code::Conflict, message)
                    .hint(format!("GET /api/v1/exports/{number} says how far it is")));
            }
        }
        job.is_still_seen_by(ask)?;
        let gone = |error: io::Error| {
            Refusal::new(Code::StoreRefused, format!("the file of export {number} cannot be read: {error}"))
        };
        let other = |what: &str| {
            Refusal::new(Code::Internal, format!("export {number} cannot be given: {what}")).hint("order it again")
        };
        let file = match desk.shelf.read(&data(number)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(other("its file was lost on the disk"));
            }
            Err(error) => return Err(gone(error)),
        };
        let (len, job) = (file.metadata().map_err(gone)?.len(), desk.told(&job));
        if len != job.tally.bytes {
            return Err(other("its file was cut off or replaced on the disk"));
        }
        Ok(ExportFile { file, len, job })
    }

    /// Ends it, takes its file away, and says what it was.
    pub fn remove(&self, ask: &Ask, number: u64) -> Result<ExportJob, Refusal> {
        let desk = self.desk()?;
        let job = desk.seen(ask, number)?;
        let told = desk.told(&job);
        desk.forget(&job);
        Ok(told)
    }

    /// Ends what is being made; it goes on, or begins anew, after the next start.
    pub fn finish(&self) {
        let Ok(desk) = &self.desk else { return };
        let jobs = desk.jobs();
        desk.stopping.store(true, Relaxed);
        desk.changed.notify_all();
        drop(jobs);
        let begun = Instant::now();
        for thread in self.threads.lock().expect("no holder of this lock panics").drain(..) {
            while !thread.is_finished() && begun.elapsed() < END_WITHIN {
                thread::sleep(Duration::from_millis(5));
            }
            if thread.is_finished() {
                drop(thread.join());
            }
        }
        // One that has not ended in time was not what ended the program. Whoever holds its files writes just that.
        let late: Vec<Arc<Job>> = desk.jobs().values().filter(|job| job.is_running()).cloned().collect();
        for job in late {
            if let Ok(files) = job.files.try_lock()
                && let Err(error) = desk.put_held(&job, &files)
            {
                tracing::warn!("that export {} waits cannot be written down: {error}", job.number);
            }
        }
    }
}

impl Drop for Exports {
    fn drop(&mut self) {
        self.finish();
    }
}

fn data(number: u64) -> String {
    format!("{number}.data")
}

fn record(number: u64) -> String {
    format!("{number}.export")
}

/// A file that can be ours, by its name.
enum Named {
    Data(u64),
    Record(u64),
    /// It is there only while something is written.
    Passing(String),
}

impl Named {
    fn of(name: &str) -> Option<Named> {
        if name == format!("{NEXT}.new") {
            return Some(Named::Passing(name.to_owned()));
        }
        let (digits, rest) = name.split_once('.')?;
        let number = digits.parse::<u64>().ok().filter(|number| number.to_string() == digits)?;
        let is_scratch = || rest.strip_prefix("scratch").is_some_and(|which| which.parse::<u64>().is_ok());
        match rest {
            "data" => Some(Named::Data(number)),
            "export" => Some(Named::Record(number)),
            "export.new" => Some(Named::Passing(name.to_owned())),
            _ if is_scratch() => Some(Named::Passing(name.to_owned())),
            _ => None,
        }
    }

    fn name(&self) -> String {
        match self {
            Named::Data(number) => data(*number),
            Named::Record(number) => record(*number),
            Named::Passing(name) => name.clone(),
        }
    }
}

impl Job {
    fn new(number: u64, record: Record) -> Arc<Job> {
        let Record { owner, ordered, bytes_planned, wanted, state, tally, place, resumed } = record;
        let inner = Inner { state, kept: tally.clone(), tally, place, resumed, goes_at: None };
        Arc::new(Job {
            number,
            owner,
            ordered,
            bytes_planned,
            wanted: Arc::new(wanted),
            removed: AtomicBool::new(false),
            taken: AtomicU64::new(0),
            files: Mutex::default(),
            inner: Mutex::new(inner),
        })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no holder of this lock panics")
    }

    fn files(&self) -> MutexGuard<'_, ()> {
        self.files.lock().expect("no holder of this lock panics")
    }

    fn taken(&self) -> u64 {
        self.taken.load(Relaxed)
    }

    pub(super) fn seen(&self) -> ExportTally {
        self.inner().tally.clone()
    }

    /// Counts what has come.
    pub(super) fn tell(&self, count: impl FnOnce(&mut ExportTally)) {
        count(&mut self.inner().tally);
    }

    /// From its place if the file reaches there, else from the beginning. Gives from where.
    fn goes_on_from(&self, len: u64) -> u64 {
        let mut inner = self.inner();
        if len != inner.place {
            let notes = std::mem::take(&mut inner.kept.notes);
            (inner.place, inner.kept) = (0, ExportTally { notes, ..ExportTally::default() });
        }
        inner.tally = inner.kept.clone();
        inner.place
    }

    fn seen_state(&self) -> ExportState {
        self.inner().state.clone()
    }

    fn is_under_way(&self) -> bool {
        matches!(self.inner().state, ExportState::Waiting | ExportState::Running)
    }

    fn is_running(&self) -> bool {
        matches!(self.inner().state, ExportState::Running)
    }

    fn is_seen_by(&self, ask: &Ask) -> bool {
        self.owner == ask.established() || ask.may_with_all(Right::Administer)
    }

    /// Rights may have been taken away, and PVs renamed, since it was ordered.
    fn is_still_seen_by(&self, ask: &Ask) -> Result<(), Refusal> {
        if ask.may_with_all(Right::Read) {
            return Ok(());
        }
        for pv in self.wanted.each_pv() {
            let own = match &pv.series.field {
                Some(field) => pv.name.strip_suffix(&format!(".{field}")).unwrap_or(&pv.name),
                None => &pv.name,
            };
            let may = |pv: PvId| ask.needs(Right::Read, pv).and_then(|()| ask.needs_named(Right::Read, own));
            may(pv.series.pv).map_err(|_| {
                let message = format!("export {} holds samples of PVs that you may not see any more", self.number);
                Refusal::new(Code::Forbidden, message).hint("order another one, of those that you may see")
            })?;
        }
        Ok(())
    }

    fn record(&self) -> Record {
        let inner = self.inner();
        let is_at_end = !matches!(inner.state, ExportState::Waiting | ExportState::Running);
        Record {
            owner: self.owner.clone(),
            ordered: self.ordered,
            bytes_planned: self.bytes_planned,
            wanted: (*self.wanted).clone(),
            state: inner.state.clone(),
            tally: if is_at_end { inner.tally.clone() } else { inner.kept.clone() },
            place: inner.place,
            resumed: inner.resumed,
        }
    }
}

/// How an attempt to make one ended.
enum Attempt {
    Made,
    Failed(Refusal),
    /// There is no memory for it now, or what it reads is away.
    Later(Refusal),
    /// It was removed, or the program ends.
    Unwanted,
}

impl Desk {
    fn jobs(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Job>>> {
        self.jobs.lock().expect("no holder of this lock panics")
    }

    fn seen(&self, ask: &Ask, number: u64) -> Result<Arc<Job>, Refusal> {
        let job = self.jobs().get(&number).filter(|job| job.is_seen_by(ask)).cloned();
        job.ok_or_else(|| {
            let message = format!("there is no export with the number {number}");
            let hint =
                "GET /api/v1/exports lists them; they are kept for a while, and each by the node that has made it";
            Refusal::new(Code::UnknownPv, message).hint(hint)
        })
    }

    fn told(&self, job: &Job) -> ExportJob {
        let inner = job.inner();
        let since = match inner.state {
            ExportState::Done { since } | ExportState::Failed { since, .. } => Some(since),
            ExportState::Waiting | ExportState::Running => None,
        };
        ExportJob {
            number: job.number,
            owner: job.owner.clone(),
            wanted: Arc::clone(&job.wanted),
            ordered: job.ordered,
            bytes_planned: job.bytes_planned,
            state: inner.state.clone(),
            tally: inner.tally.clone(),
            resumed: inner.resumed,
            expires: since.map(|since| since.saturating_add(self.config.keep)),
        }
    }

    // What is there after a start.

    /// What cannot be read now stays as it is, and so does what was not written here.
    fn load(&self) -> io::Result<()> {
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
    fn len(&self, number: u64) -> io::Result<u64> {
        match self.shelf.read(&data(number)).and_then(|file| file.metadata()) {
            Ok(facts) => Ok(facts.len()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Writes down how far it is, unless it is to go.
    fn put_record(&self, job: &Job) -> io::Result<()> {
        self.put_held(job, &job.files())
    }

    fn put_held(&self, job: &Job, _files: &MutexGuard<'_, ()>) -> io::Result<()> {
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
    pub(super) fn keep_place(&self, job: &Job, len: u64) -> io::Result<()> {
        let mut inner = job.inner();
        (inner.place, inner.kept) = (len, inner.tally.clone());
        drop(inner);
        self.put_record(job)
    }

    /// Cuts its file off behind so many bytes, or altogether where it has fewer. Gives how many it has then.
    fn cut(&self, job: &Job, len: u64) -> io::Result<(File, u64)> {
        let file = self.shelf.create(&data(job.number))?;
        let len = if file.metadata()?.len() < len { 0 } else { len };
        file.set_len(len)?;
        self.give_back(job, job.taken().saturating_sub(len));
        Ok((file, len))
    }

    /// Takes so much more for a job, if there is room.
    pub(super) fn take(&self, job: &Job, bytes: u64) -> Result<(), Refusal> {
        let taken = || {
            self.check_room_of_one(job, bytes)?;
            self.shelf.take(bytes)
        };
        taken().or_else(|_| {
            self.clear();
            taken()
        })?;
        job.taken.fetch_add(bytes, Relaxed);
        Ok(())
    }

    /// Gives so much of what it has back.
    pub(super) fn give_back(&self, job: &Job, bytes: u64) {
        let less = |taken: u64| Some(taken.saturating_sub(bytes));
        let former = job.taken.fetch_update(Relaxed, Relaxed, less).unwrap_or(0);
        self.shelf.give_back(former.min(bytes));
    }

    // Orders.

    fn plan(&self, ask: &Ask, wanted: &ExportWanted) -> Result<ExportPlan, Refusal> {
        let mut plan = plan(ask, wanted, self.shelf.left())?;
        let of_one = self.left_of_one(ask);
        plan.bytes_left = plan.bytes_left.min(of_one);
        if plan.refused.is_none() && plan.bytes > plan.bytes_left {
            plan.refused = Some(match plan.bytes > self.bytes_of_one_max() {
                true => self.too_large(plan.bytes),
                false => no_room(plan.bytes, plan.bytes_left),
            });
        }
        Ok(plan)
    }

    fn bytes_of_one_max(&self) -> u64 {
        self.config.bytes_max / PART_OF_ONE
    }

    fn too_large(&self, bytes: u64) -> Refusal {
        let bytes_max = self.bytes_of_one_max();
        let message = format!("the export needs some {bytes} bytes, and the exports of one may have {bytes_max}");
        Refusal::new(Code::TooLarge, message)
            .hint("ask for a shorter range or fewer PVs, or raise megabytes_max in [exports]")
    }

    /// Refuses so many more bytes where whoever has ordered them would have more than may be of one.
    fn check_room_of_one(&self, job: &Job, bytes: u64) -> Result<(), Refusal> {
        let jobs = self.jobs();
        let taken: u64 = jobs.values().filter(|other| other.owner == job.owner).map(|other| other.taken()).sum();
        let left = self.bytes_of_one_max().saturating_sub(taken);
        match job.taken().saturating_add(bytes) {
            _ if bytes <= left => Ok(()),
            whole if whole > self.bytes_of_one_max() => Err(self.too_large(whole)),
            _ => Err(no_room(bytes, left)),
        }
    }

    /// How much more whoever asks may have.
    fn left_of_one(&self, ask: &Ask) -> u64 {
        let jobs = self.jobs();
        let own = jobs.values().filter(|job| job.owner == ask.established());
        let taken: u64 = own
            .map(|job| match job.is_under_way() {
                true => job.bytes_planned.max(job.taken()),
                false => job.taken(),
            })
            .sum();
        self.bytes_of_one_max().saturating_sub(taken)
    }

    /// Refuses more than there may be.
    fn check_numbers(&self, ask: &Ask) -> Result<(), Refusal> {
        let jobs = self.jobs();
        let count = |counts: &dyn Fn(&Job) -> bool| jobs.values().filter(|job| counts(job)).count();
        let is_own = |job: &Job| job.owner == ask.established();
        let bounds = [
            (count(&Job::is_under_way), self.config.jobs_max, "exports are under way", "wait for one of them to end"),
            (
                count(&|job| is_own(job) && job.is_under_way()),
                self.config.jobs_each_max,
                "exports of yours are under way",
                "wait for one of them to end, or remove it",
            ),
            (jobs.len(), KEPT_MAX, "exports are kept", "wait until some have expired"),
            (count(&is_own), KEPT_EACH_MAX, "exports of yours are kept", "remove those that you have fetched"),
        ];
        match bounds.into_iter().find(|(count, count_max, ..)| count >= count_max) {
            None => Ok(()),
            Some((count, count_max, what, hint)) => {
                Err(Refusal::busy(format!("{count} {what}, and at most {count_max} are possible")).hint(hint))
            }
        }
    }

    fn order(&self, ask: &Ask, wanted: ExportWanted) -> Result<ExportJob, Refusal> {
        self.clear();
        self.check_numbers(ask)?;
        let plan = self.plan(ask, &wanted)?;
        if let Some(refused) = plan.refused {
            return Err(refused);
        }
        let _one_at_a_time = self.ordering.lock().expect("no holder of this lock panics");
        self.check_numbers(ask)?;
        let left = self.left_of_one(ask);
        if plan.bytes > left {
            return Err(no_room(plan.bytes, left));
        }
        let failed = |error: io::Error| {
            Refusal::new(Code::StoreRefused, format!("the folder for exports cannot be written: {error}"))
        };
        let by = ask.by();
        let state = ExportState::Waiting;
        let tally = ExportTally { notes: plan.notes, ..ExportTally::default() };
        let record = Record {
            owner: ask.established().to_owned(),
            ordered: by.at,
            bytes_planned: plan.bytes,
            wanted,
            state,
            tally,
            place: 0,
            resumed: 0,
        };
        let number = self.next_number().map_err(failed)?;
        let job = Job::new(number, record);
        self.put_record(&job).map_err(failed)?;
        let noted = ask
            .ordered_named(Right::Read, [])
            .and_then(|orders| Ok(orders.curator.note(Action::ExportOrdered, &detail(&job), &by)?));
        if let Err(refusal) = noted {
            self.forget(&job);
            return Err(refusal);
        }
        let told = self.told(&job);
        self.jobs().insert(number, job);
        self.changed.notify_one();
        Ok(told)
    }

    /// A number that none has had: whoever has an old link gets nothing else by it.
    fn next_number(&self) -> io::Result<u64> {
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

    /// Takes one out. Its files go now, or as soon as nobody works on them.
    fn forget(&self, job: &Arc<Job>) {
        if job.removed.swap(true, Relaxed) {
            return;
        }
        self.jobs().remove(&job.number);
        if !job.is_running() {
            self.remove_files(job);
        }
    }

    fn remove_files(&self, job: &Job) {
        let _files = job.files();
        let removed = [record(job.number), data(job.number)].iter().try_for_each(|name| self.shelf.remove(name));
        match removed {
            Ok(()) => self.give_back(job, job.taken()),
            Err(error) => tracing::warn!("the files of export {} cannot be removed: {error}", job.number),
        }
    }

    /// Takes those out that have been kept long enough.
    fn clear(&self) {
        let now = Instant::now();
        let is_old = |job: &&Arc<Job>| job.inner().goes_at.is_some_and(|goes_at| goes_at <= now);
        let old: Vec<Arc<Job>> = self.jobs().values().filter(is_old).cloned().collect();
        old.iter().for_each(|job| self.forget(job));
    }

    // Work.

    fn work(self: Arc<Self>) {
        while let Some(job) = self.next() {
            self.make(&job);
        }
    }

    /// The next to be made, when there is one; none at the end. Whoever has nothing under way comes first.
    fn next(&self) -> Option<Arc<Job>> {
        loop {
            self.clear();
            let jobs = self.jobs();
            // Whoever ends it holds this lock too, so that nobody sleeps through it.
            if self.stopping.load(Relaxed) {
                return None;
            }
            let waiting = || jobs.values().filter(|job| matches!(job.inner().state, ExportState::Waiting));
            let has_one = |owner: &str| jobs.values().any(|job| job.owner == owner && job.is_running());
            if let Some(job) = waiting().find(|job| !has_one(&job.owner)).or_else(|| waiting().next()) {
                job.inner().state = ExportState::Running;
                return Some(Arc::clone(job));
            }
            drop(self.changed.wait_timeout(jobs, LOOK_EACH));
        }
    }

    fn make(self: &Arc<Self>, job: &Arc<Job>) {
        let told = |told: io::Result<()>| {
            if let Err(error) = told {
                tracing::warn!("how far export {} is cannot be written down: {error}", job.number);
            }
        };
        told(self.put_record(job));
        let mut tries = 0;
        let attempt = loop {
            match self.attempt(job) {
                Attempt::Later(_) if tries < TRIES_MAX && !self.stopping.load(Relaxed) => {
                    tries += 1;
                    thread::sleep(TRY_AFTER);
                }
                attempt => break attempt,
            }
        };
        let state = match attempt {
            Attempt::Made => ExportState::Done { since: now() },
            Attempt::Later(_) if self.stopping.load(Relaxed) => ExportState::Waiting,
            Attempt::Failed(why) | Attempt::Later(why) => ExportState::Failed { since: now(), why },
            Attempt::Unwanted => ExportState::Waiting,
        };
        if let ExportState::Failed { why, .. } = &state {
            tracing::warn!("export {} has failed: {why}", job.number);
            if let Err(error) = self.cut(job, 0) {
                tracing::warn!("the file of export {} cannot be cut off: {error}", job.number);
            }
            job.inner().tally.bytes = 0;
        }
        let is_at_end = matches!(state, ExportState::Done { .. } | ExportState::Failed { .. });
        let mut inner = job.inner();
        (inner.state, inner.goes_at) =
            (state, is_at_end.then(|| Instant::now().checked_add(self.config.keep)).flatten());
        drop(inner);
        told(self.put_record(job));
        // Whoever has removed it meanwhile has either seen that it is at its end, or is seen here.
        if job.removed.load(Relaxed) {
            self.remove_files(job);
        }
    }

    fn attempt(self: &Arc<Self>, job: &Arc<Job>) -> Attempt {
        let is_gone = {
            let (desk, job) = (Arc::clone(self), Arc::clone(job));
            move || job.removed.load(Relaxed) || desk.stopping.load(Relaxed)
        };
        let lease = Arc::new(self.budget.lease());
        let ask = Ask::new(Arc::clone(&self.service), "an export".into(), lease, is_gone.clone());
        let place = job.inner().place;
        let (file, place) = match self.cut(job, place) {
            Ok((file, len)) => (file, job.goes_on_from(len)),
            Err(error) => {
                let message = format!("the file of the export cannot be made: {error}");
                return Attempt::Failed(Refusal::new(Code::StoreRefused, message));
            }
        };
        let draft = Draft::new(Arc::clone(self), Arc::clone(job), ask.clone(), file, place);
        let made = catch_unwind(AssertUnwindSafe(|| (self.make)(&ask, &job.wanted, &draft)));
        let made = made.unwrap_or_else(|_| Err(Refusal::new(Code::Internal, "the export panicked; see the log")));
        let made = made.and_then(|()| draft.finish());
        match made {
            _ if is_gone() => Attempt::Unwanted,
            Ok(bytes) => {
                let without: Vec<String> = ask.left_out().iter().map(|copy| format!("made {copy}")).collect();
                job.tell(|tally| {
                    (tally.bytes, tally.progress, tally.pvs_done) = (bytes, 1.0, job.wanted.pvs.len());
                    tally.notes.extend(without);
                });
                Attempt::Made
            }
            Err(refusal) => match draft.why() {
                Some(why) => Attempt::Failed(why),
                None if matches!(refusal.code(), Code::Busy | Code::StoreRefused) => Attempt::Later(refusal),
                None => Attempt::Failed(refusal),
            },
        }
    }
}

/// What the audit says.
fn detail(job: &Job) -> String {
    let wanted = &job.wanted;
    let names = first_few(wanted.pvs.iter().map(|pv| pv.name.clone()), 3, " ");
    let (t0, t1) = (wanted.range.t0, wanted.range.t1);
    format!("{} {names} from {t0} to {t1} as {}", job.number, wanted.form.name())
}

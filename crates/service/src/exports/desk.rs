//! The desk: takes orders for exports, makes them one after the other, keeps their files for a while, and knows them again after a start.

mod files;
mod making;
mod room;

use std::{
    collections::BTreeMap,
    fmt,
    fs::File,
    io,
    sync::{
        Arc, Condvar, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use archive::{Action, Right};

use super::{
    Draft, ExportJob, ExportPlan, ExportState, ExportTally, ExportWanted, ExportsConfig,
    file_names::data,
    job::Job,
    plan::plan,
    record::Record,
    shelf::{Shelf, no_room},
};
use crate::{
    ask::Ask,
    budget::Budget,
    refusal::{Code, Refusal, first_few},
    service::Service,
};

/// Writes what is wanted into a draft.
pub type Make = dyn Fn(&Ask, &ExportWanted, &Draft) -> Result<(), Refusal> + Send + Sync;

/// So many are made at a time: clients and recording have the rest of the machine.
const MADE_AT_ONCE: usize = 2;
/// So long the end of the program waits for those that are being made; what is begun goes on after the next start.
const END_WITHIN: Duration = Duration::from_secs(3);

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

    /// Takes those out that have been kept long enough.
    fn clear(&self) {
        let now = Instant::now();
        let is_old = |job: &&Arc<Job>| job.inner().goes_at.is_some_and(|goes_at| goes_at <= now);
        let old: Vec<Arc<Job>> = self.jobs().values().filter(is_old).cloned().collect();
        old.iter().for_each(|job| self.forget(job));
    }

    // Work.
}

/// What the audit says.
fn detail(job: &Job) -> String {
    let wanted = &job.wanted;
    let names = first_few(wanted.pvs.iter().map(|pv| pv.name.clone()), 3, " ");
    let (t0, t1) = (wanted.range.t0, wanted.range.t1);
    format!("{} {names} from {t0} to {t1} as {}", job.number, wanted.form.name())
}

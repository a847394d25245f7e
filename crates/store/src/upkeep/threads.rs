//! The threads of an open store: one writes the log, one syncs it, one flushes heads, one merges segments, and one moves them if
//! there is somewhere to go; others look after the folder and scrub. In a cluster one ships, and one sweeps. In an archive of an older program one tidies
//! the catalogue, and ends.

use std::{
    cell::Cell,
    sync::{Arc, atomic::Ordering::Relaxed},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use rustix::process::setpriority_process;
use sample::Timestamp;

use crate::{
    Durable, Error,
    catalog::Tidying,
    engine::{Engine, Ingest},
    log::{files, format},
    owned::Owned,
    segment::week,
    upkeep::{compact::Compaction, scrub, stop::Stop, sweep},
};

/// Frames wait in the spool no longer than this: what is lost if the process dies and the machine does not.
const WRITE_DELAY: Duration = Duration::from_millis(10);
/// How often the flushing thread looks whether it is wanted.
const FLUSH_POLL: Duration = Duration::from_millis(50);
/// How often it is looked whether the folder of the archive is where it was.
const FOLDER_POLL: Duration = Duration::from_secs(1);

/// How often the compacting thread looks whether there is something to merge.
const COMPACT_POLL: Duration = Duration::from_millis(250);
/// How long merging and moving wait after a failure, and after each that follows twice as long up to the other.
const RETRY_FIRST: Duration = Duration::from_secs(1);
const RETRY_LAST: Duration = Duration::from_secs(60);

/// How much the threads that nobody waits for give way to all others, in the steps of `nice`: those who take samples and those who
/// answer have the processor first.
const GIVE_WAY: i32 = 10;

/// How long a merge makes way for flushes in all, and how often it looks whether it still must.
const MAKE_WAY: Duration = Duration::from_secs(30);
const MAKE_WAY_POLL: Duration = Duration::from_millis(5);

/// Between two steps in the catalogue, so that others who write there get a turn.
const TIDY_PAUSE: Duration = Duration::from_millis(50);

/// How often the moving thread looks whether something is due; and at places, when they are well and when they are not.
const MOVE_POLL: Duration = Duration::from_millis(250);
const LOOK_EACH: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Running threads; they end when this is dropped.
#[derive(Debug)]
pub(crate) struct Threads {
    stop: Arc<Stop>,
    engine: Arc<Engine>,
    running: Vec<JoinHandle<()>>,
}

/// How long to wait after failures that follow one another.
#[derive(Debug, Default)]
struct Retry(Option<Duration>);

impl Retry {
    fn failed(&mut self) -> Duration {
        let next = self.0.map_or(RETRY_FIRST, |last| (last * 2).min(RETRY_LAST));
        *self.0.insert(next)
    }

    fn done(&mut self) {
        self.0 = None;
    }
}

impl Threads {
    pub(crate) fn start(engine: &Arc<Engine>) -> std::io::Result<Threads> {
        let mut threads = Threads { stop: Arc::default(), engine: engine.clone(), running: Vec::new() };
        threads.spawn("log-write", write_log)?;
        threads.spawn("flush", flush)?;
        threads.spawn("folder", watch_folder)?;
        threads.spawn("compact", giving_way(compact))?;
        threads.spawn("scrub", giving_way(scrub::run))?;
        if !matches!(engine.catalog.tidying(), Ok(Tidying::Done)) {
            threads.spawn("tidy", giving_way(tidy))?;
        }
        if !engine.places.is_empty() {
            threads.spawn("move", giving_way(move_segments))?;
        }
        if let Some(every) = engine.owned.as_ref().and_then(|owned| owned.shipping.every) {
            threads.spawn("ship", move |engine, stop| ship(engine, stop, every))?;
            threads.spawn("sweep", giving_way(sweep::run))?;
        }
        if let Durable::Every(interval) = engine.config.durable {
            threads.spawn("log-sync", move |engine, stop| sync_log(engine, stop, interval))?;
        }
        Ok(threads)
    }

    fn spawn(&mut self, name: &str, run: impl FnOnce(&Engine, &Stop) + Send + 'static) -> std::io::Result<()> {
        let (engine, stop) = (self.engine.clone(), self.stop.clone());
        let builder = std::thread::Builder::new().name(name.to_owned());
        self.running.push(builder.spawn(move || run(&engine, &stop))?);
        Ok(())
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.stop.ask();
        self.engine.places.close();
        {
            let _ingest = self.engine.ingest();
            self.engine.log_waiting.notify_all();
        }
        for thread in self.running.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the store panicked");
            }
        }
    }
}

/// The same on a thread that gives way to others.
fn giving_way(run: fn(&Engine, &Stop)) -> impl FnOnce(&Engine, &Stop) {
    move |engine, stop| {
        // Of no process: of this thread. Where it cannot be, all have the same turns.
        if let Err(error) = setpriority_process(None, GIVE_WAY) {
            tracing::debug!("a thread does not give way to others: {error}");
        }
        run(engine, stop);
    }
}

/// Writes what is appended to the files of the log, ten milliseconds after it came or when it is much.
fn write_log(engine: &Engine, stop: &Stop) {
    while !stop.is_asked() {
        let mut ingest = engine.ingest();
        while !ingest.log.is_waiting() && !stop.is_asked() {
            ingest = engine.log_waiting.wait(ingest).expect("no holder of this lock panics");
        }
        let delay_over = |log: &mut Ingest| !log.log.is_full() && !stop.is_asked();
        drop(engine.log_waiting.wait_timeout_while(ingest, WRITE_DELAY, delay_over).expect("no holder panics"));
        if engine.write_log().is_err() {
            // Everyone is told by the refusal that it causes. What waits now is only signs of life.
            stop.wait(WRITE_DELAY);
        }
    }
}

fn sync_log(engine: &Engine, stop: &Stop, interval: Duration) {
    while stop.wait(interval) {
        let _: Result<(), Error> = engine.sync_log(); // told by the refusal
    }
}

fn ship(engine: &Engine, stop: &Stop, every: Duration) {
    while stop.wait(every) {
        engine.ship();
    }
}

fn watch_folder(engine: &Engine, stop: &Stop) {
    while stop.wait(FOLDER_POLL) {
        engine.look_home();
    }
}

/// Makes a segment of the head when that is wanted, and looks after the reserve of the disk.
fn flush(engine: &Engine, stop: &Stop) {
    let mut failed: Option<Instant> = None;
    while stop.wait(FLUSH_POLL) {
        if engine.home.is_away() {
            continue;
        }
        engine.reserve.look();
        let patient = failed.is_none_or(|at| at.elapsed() > Duration::from_secs(1));
        if !engine.flush_wanted.load(Relaxed) || !patient {
            continue;
        }
        let now = engine.alive();
        failed = engine.flush_and_tell(now).is_err().then(Instant::now);
    }
}

/// Drops what older programs wrote into the catalogue with each start, a step at a time.
fn tidy(engine: &Engine, stop: &Stop) {
    let mut retry = Retry::default();
    let mut at = engine.catalog.tidying();
    loop {
        let pause = match at {
            Ok(Tidying::Done) => return,
            Ok(Tidying::From(_)) => TIDY_PAUSE,
            Err(ref error) => {
                tracing::warn!("rows of metadata that say nothing cannot be dropped: {error}");
                retry.failed()
            }
        };
        if !stop.wait(pause) {
            return;
        }
        at = at.or_else(|_| engine.catalog.tidying()).and_then(|at| engine.catalog.tidy_metadata(at, engine.alive()));
    }
}

/// Merges segments, and takes away what retention says, as long as there is something to do.
fn compact(engine: &Engine, stop: &Stop) {
    let mut pause = COMPACT_POLL;
    let mut retry = Retry::default();
    let mut rules_looked_at = None;
    while stop.wait(pause) {
        if engine.home.is_away() || engine.owned.as_ref().is_some_and(Owned::holds_merges) {
            pause = RETRY_FIRST;
            continue;
        }
        let now = engine.alive();
        engine.room.look(&*engine.disk);
        let today = Some(week::day(now));
        if rules_looked_at != today {
            rules_looked_at = today;
            engine.idle_rules().into_iter().for_each(|sentence| engine.counters.problem(sentence));
        }
        let patience = Cell::new(MAKE_WAY);
        let go_on = || {
            // A merge makes way for a flush, unless that does not end: the head that is filled meanwhile is the last one.
            while engine.snapshot().heads.len() > 1 && !patience.get().is_zero() && stop.wait(MAKE_WAY_POLL) {
                patience.set(patience.get().saturating_sub(MAKE_WAY_POLL));
            }
            !stop.is_asked()
        };
        let done = engine.compact(now, &go_on).and_then(|done| match done {
            Compaction::Nothing => engine.expire(now, &go_on),
            done => Ok(done),
        });
        if done.is_ok() {
            retry.done();
        }
        pause = match done {
            Ok(Compaction::Done) => Duration::ZERO,
            Ok(Compaction::Nothing | Compaction::Stopped) => COMPACT_POLL,
            Err(error) => {
                engine.counters.problem(format!("segments cannot be merged or taken away: {error}"));
                retry.failed()
            }
        };
    }
}

/// Waits for places that hang without holding up anything else.
fn move_segments(engine: &Engine, stop: &Stop) {
    let mut looked: Option<Instant> = None;
    let mut pause = Duration::ZERO;
    let mut retry = Retry::default();
    while stop.wait(pause) {
        pause = MOVE_POLL;
        if engine.home.is_away() {
            continue;
        }
        let patience = if engine.places.iter().all(|place| place.is_usable()) { LOOK_EACH } else { LOOK_AGAIN };
        if looked.is_none_or(|at| at.elapsed() >= patience) {
            looked = Some(Instant::now());
            if let Err(error) = engine.look_at_places() {
                engine.counters.problem(format!("places cannot be looked at: {error}"));
            }
        }
        let now = engine.alive();
        loop {
            match engine.move_next(now, &|| !stop.is_asked()) {
                Ok(Compaction::Done) => retry.done(),
                Ok(_) => break,
                Err(error) => {
                    engine.counters.problem(format!("a segment cannot be moved: {error}"));
                    pause = retry.failed();
                    break;
                }
            }
        }
    }
}

impl Engine {
    /// Writes and syncs the log; what was appended before is durable then.
    pub(crate) fn sync_log(&self) -> Result<(), Error> {
        let _syncing = self.syncing.lock().expect("no holder of this lock panics");
        let mut log_files = self.log_files();
        let (appended, frame) = self.write_log_with(&mut log_files)?;
        let files = log_files.take_unsynced();
        drop(log_files); // writing goes on meanwhile
        if files.is_empty() {
            return Ok(());
        }
        let started = Instant::now();
        let sync = || -> std::io::Result<()> {
            files.into_iter().try_for_each(|file| files::sync(&*self.disk, file))?;
            self.disk.sync_folder(format::FOLDER)
        };
        sync().or_else(|error| self.log_failed(format!("the log cannot be synced: {error}")))?;
        self.at_home()?; // or what is synced may be in a folder that nobody will open
        self.counters.syncs.fetch_add(1, Relaxed);
        self.counters.last_sync_micros.store(started.elapsed().as_micros() as u64, Relaxed);
        match &self.owned {
            None => _ = self.counters.durable.fetch_max(appended, Relaxed),
            Some(owned) => owned.note_synced(appended, frame),
        }
        Ok(())
    }

    /// Flushes, and keeps what went wrong for `health` until it goes right.
    pub(crate) fn flush_and_tell(&self, now: Timestamp) -> Result<(), Error> {
        let result = self.flush(now);
        if let Err(error) = &result {
            tracing::error!("cannot flush: {error}");
            self.flush_wanted.store(true, Relaxed);
        }
        let is_own = |error: &&Error| !matches!(error, Error::Away { .. }) && !self.home.is_away();
        let trouble =
            result.as_ref().err().filter(is_own).map(|error| format!("samples stay in memory and in the log: {error}"));
        *self.counters.flush_trouble.lock().expect("no holder of this lock panics") = trouble;
        result
    }
}

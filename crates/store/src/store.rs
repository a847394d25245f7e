//! The store as a whole: opened, ticked once a second, closed.

pub(crate) mod shard;

use std::{
    io,
    path::Path,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use sample::Timestamp;
use shared::Owner;

use crate::{
    Config, Durable, Error, Purpose, Reader, Shipping, Writer,
    catalog::{
        Catalog, Restart,
        registry::Registry,
        tables::CATALOGUE,
        unfinished::{Tail, Untold},
    },
    disk::{
        Disk, RealDisk,
        reserve::{self, Reserve},
        watched::Watched,
    },
    engine::{Disks, Engine, Ingest, Snapshot},
    head::SlabPool,
    log::{Log, arrays::Differences, files, format},
    owned::opening::Opening,
    places::{
        Places,
        home::Home,
        locks::{self, LOCK},
        mark,
    },
    rescue::{
        backup::backup_of,
        recover::{self, Recovered},
    },
    segment::week,
    upkeep::threads::Threads,
};

/// An open archive. One process at a time can have it open. Dropped without `close` it leaves what a crash would.
#[derive(Debug)]
pub struct Store {
    threads: Option<Threads>,
    pub(crate) engine: Arc<Engine>,
}

impl Store {
    /// Opens the archive in `config.folder` or begins one, recovering what a crash left: there is no other way to open.
    ///
    /// Gaps that were left open are closed at the last sign of life, and a gap of the whole archiver is recorded from then to
    /// `now`.
    pub fn open(config: Config, now: Timestamp) -> Result<Store, Error> {
        let real = |folder: &Path| -> Arc<dyn Disk> { Arc::new(RealDisk::new(folder)) };
        let places = config.places.iter().map(|place| real(&place.folder)).collect();
        Store::open_on_disks(real(&config.folder), places, config, now)
    }

    /// Opens an archive that lies on `disk`; `config.folder` is then only a name in messages.
    pub fn open_on(disk: Arc<dyn Disk>, config: Config, now: Timestamp) -> Result<Store, Error> {
        let places = config.places.iter().map(|place| -> Arc<dyn Disk> { Arc::new(RealDisk::new(&place.folder)) });
        let places = places.collect();
        Store::open_on_disks(disk, places, config, now)
    }

    /// Opens an archive that lies on `disk`, with a disk for each of the places of the configuration.
    pub fn open_on_disks(
        disk: Arc<dyn Disk>,
        places: Vec<Arc<dyn Disk>>,
        config: Config,
        now: Timestamp,
    ) -> Result<Store, Error> {
        let folder = config.folder.clone();
        take_folder(&*disk, &folder, now)?;
        let opened = refuse_backup(&*disk, &config);
        let opened = opened.and_then(|()| Store::open_locked(disk.clone(), places, config, None, now));
        if opened.is_err() {
            locks::give_back(&*disk);
        }
        opened
    }

    fn open_locked(
        disk: Arc<dyn Disk>,
        places: Vec<Arc<dyn Disk>>,
        config: Config,
        shard: Option<(Owner, Shipping)>,
        now: Timestamp,
    ) -> Result<Store, Error> {
        let home = Arc::new(Home::new(disk, config.folder.display().to_string()));
        let watched = Arc::new(Watched::new(home.clone()));
        let reserve = Arc::new(Reserve::open(watched.clone(), config.reserve_bytes, now));
        let disk: Arc<dyn Disk> = reserve.clone();
        let shard = shard.map(|(owner, shipping)| Opening::begin(&disk, owner, shipping)).transpose()?;
        let catalog = Catalog::open(disk.clone())?;
        if let Some(shard) = &shard {
            shard.journal(&catalog, now)?;
        }
        let archive = mark::settle(&disk, &catalog, now)?;
        let registry = catalog.registry()?;
        let position = catalog.position()?;
        let manifests = catalog.segments()?;
        let mut problems = recover::set_orphans_aside(&disk, &manifests)?;
        let pages = Arc::new(SlabPool::new(config.head_bytes_max));
        let began = catalog.began()?;
        let recovered = recovered(&disk, &catalog, &registry, &pages, shard.as_ref(), now)?;
        problems.extend(recovered.problems);

        let places = Places::new(&config.places, places, &manifests);
        let reserved = position.next_segment..position.next_segment + shard.as_ref().map_or(0, Opening::files);
        let owned = shard.map(|shard| shard.owned(&disk, reserved.clone(), position.appended, now));
        let mut log = Log::new(recovered.next_log_file, recovered.next_frame, config.log_file_bytes);
        log.append(&recovered.closed_gaps, &Differences::default(), recovered.appended, now);
        let has_samples = recovered.head.samples() > 0;
        let full = recovered.head.bytes() >= config.head_bytes_max;
        let head = Arc::new(recovered.head);
        let snapshot = Snapshot { heads: vec![head.clone()], segments: Arc::default() };
        let unfinished = recovered.tail.unfinished(began, recovered.alive);
        let ingest = Ingest {
            log,
            differences: Differences::default(),
            head,
            tail: recovered.tail,
            pages,
            head_since: has_samples.then_some(now),
            refusal: None,
            unlogged: false,
            closed: false,
        };
        let lost = catalog.lost()?;
        let mut engine = Engine::new(
            config,
            Disks { disk, places, reserve, watched, home },
            catalog,
            registry,
            snapshot,
            ingest,
            (reserved.end, now),
        );
        engine.lost = lost;
        engine.owned = owned;
        // Only now is it known where each lies; nobody reads yet.
        engine.change_snapshot(|snapshot| manifests.into_iter().for_each(|manifest| engine.show(snapshot, manifest)));
        engine.unentered.get_mut().expect("nobody else has it").extend(reserved);
        engine.counters.appended.store(recovered.appended, Relaxed);
        engine.counters.durable.store(recovered.appended, Relaxed);
        engine.counters.log_bytes.store(files::bytes(&*engine.disk), Relaxed);
        engine.flush_wanted.store(full, Relaxed);
        *engine.unfinished.lock().expect("no holder of this lock panics") = unfinished;
        problems.into_iter().for_each(|problem| engine.counters.problem(problem));
        Store::start(engine, archive)
    }

    /// Lets the threads of an engine run; its archive has that number.
    fn start(engine: Engine, archive: u64) -> Result<Store, Error> {
        let far = engine.owned.as_ref().map(|owned| owned.far().clone()).unwrap_or_default();
        let settled = engine.home.settle(archive, far);
        settled.map_err(|source| Error::Io {
            doing: "look for",
            path: engine.config.folder.display().to_string(),
            source,
        })?;
        let engine = Arc::new(engine);
        if let Some(owned) = &engine.owned {
            let shipped = Arc::downgrade(&engine);
            owned.outbox.begin(Box::new(move || {
                if let Some(engine) = shipped.upgrade() {
                    engine.ship();
                }
            }));
        }
        let threads = Threads::start(&engine);
        let threads = threads.map_err(|source| Error::Io { doing: "start", path: "a thread".into(), source })?;
        Ok(Store { threads: Some(threads), engine })
    }

    /// Something that appends.
    pub fn writer(&self) -> Writer {
        Writer::new(self.engine.clone())
    }

    /// Something that reads.
    pub fn reader(&self) -> Reader {
        Reader::new(self.engine.clone())
    }

    /// To be called about once a second: records that the archiver is alive, and flushes a head that has become old.
    pub fn tick(&self, now: Timestamp) {
        self.tick_heard(now, now);
    }

    /// The same, when whoever appends still holds what arrived after `heard`: the sign of life is as of then.
    pub fn tick_heard(&self, now: Timestamp, heard: Timestamp) {
        self.engine.reserve.tick(now);
        let heard = heard.min(now);
        let mut ingest = self.engine.ingest();
        self.engine.note_alive(heard);
        let old = ingest.head_since.is_some_and(|since| now >= since.saturating_add(self.engine.config.flush_after));
        // A segment lies in the folder of the week in which all of it was appended, or in the one that had just begun.
        let week_over = ingest.head_since.is_some_and(|since| week::folder(since) != week::folder(now));
        if old || week_over || ingest.refusal.is_some() || ingest.unlogged {
            self.engine.flush_wanted.store(true, Relaxed);
        }
        if ingest.refusal.is_none() && !ingest.unlogged {
            ingest.log.append(&[], &Differences::default(), self.engine.counters.appended.load(Relaxed), heard);
            self.engine.log_waiting.notify_one();
        }
    }

    /// Puts everything into blocks, syncs, and records that the archiver was alive until now. A folder that is away is waited for, but
    /// not for long.
    pub fn close(mut self, now: Timestamp) -> Result<(), Error> {
        let (flushed, synced) = self.end(now);
        self.ship_rest(flushed.and(synced))
    }

    /// What became of the last flush, and of the log.
    fn end(&mut self, now: Timestamp) -> (Result<(), Error>, Result<(), Error>) {
        self.tick(now);
        self.threads = None; // they end here
        self.engine.wait_for_folder();
        (self.engine.flush_and_tell(now), self.engine.sync_log())
    }

    fn ship_rest(&self, ended: Result<(), Error>) -> Result<(), Error> {
        match ended.and_then(|()| self.engine.ship_all()) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.engine.lost_with_folder().unwrap_or(error)),
        }
    }
}

/// What the log has beyond the catalogue, which learns that the archiver runs again. Of a shard that is not known yet: see `Store::replay`.
fn recovered(
    disk: &Arc<dyn Disk>,
    catalog: &Catalog,
    registry: &Registry,
    pages: &Arc<SlabPool>,
    shard: Option<&Opening>,
    now: Timestamp,
) -> Result<Recovered, Error> {
    let position = catalog.position()?;
    if let Some(shard) = shard {
        let tail = Tail::new(registry, Untold::new(false));
        return Ok(Recovered::nothing(shard.first, position, pages, tail));
    }
    let tail = Tail::new(registry, catalog.untold(position, registry.next())?);
    let recovered = recover::replay(disk, position, pages, tail)?;
    let (alive, samples) = (recovered.alive, recovered.head.samples());
    catalog.commit_restart(Restart { alive, samples, lost: &recovered.lost }, now)?;
    Ok(recovered)
}

impl Drop for Store {
    fn drop(&mut self) {
        self.threads = None;
        match self.engine.write_log() {
            Ok(()) => self.engine.log_files().give_back_room(),
            Err(Error::Refused { .. } | Error::Away { .. }) => {}
            Err(error) => tracing::error!("the last samples cannot be written to the log: {error}"),
        }
        // A change of the catalogue that has begun ends before the lock is given up.
        let _registering = self.engine.registering.lock();
        let mut ingest = self.engine.ingest();
        ingest.closed = true;
        ingest.refusal = Some("the archive is closed".to_owned());
        self.engine.places.iter().for_each(|place| place.unlock());
        locks::give_back(&*self.engine.disk);
    }
}

/// What is recorded in a backup the next one into its folder removes. Looked at under the lock, which a backup takes too.
fn refuse_backup(disk: &dyn Disk, config: &Config) -> Result<(), Error> {
    let of = if config.purpose == Purpose::Record { backup_of(disk)? } else { None };
    let Some(of) = of else { return Ok(()) };
    let folder = config.folder.display();
    let reason = format!(
        "{folder} is a backup of {of}, and the next backup would remove what is recorded in it; run `pvark take-over --data \
         {folder}` first"
    );
    Err(Error::CannotDo { doing: "record there", reason })
}

/// What a folder must be for an epoch of a shard, and what cannot be had in a cluster.
fn refuse_for_shard(disk: &dyn Disk, config: &Config) -> Result<(), Error> {
    let refused = |reason: &str| {
        let reason = format!("{reason} ({})", config.folder.display());
        Err(Error::CannotDo { doing: "open a shard of a cluster", reason })
    };
    if disk.len(CATALOGUE).is_ok() {
        return refused("its folder holds an archive; each epoch begins in an empty one");
    }
    if !config.places.is_empty() {
        return refused("its segments lie in the shared store, and go to no other place: leave out [[storage]]");
    }
    if config.durable == Durable::Off {
        return refused("its log must be synced before it is shipped: say how often with `durable`");
    }
    Ok(())
}

/// Makes the folder if need be, makes sure that it is an archive or empty, and locks it.
fn take_folder(disk: &dyn Disk, folder: &Path, now: Timestamp) -> Result<(), Error> {
    let failed = |doing| move |source: io::Error| Error::Io { doing, path: folder.display().to_string(), source };
    disk.create_folder("").map_err(failed("create the folder"))?;
    let names = disk.list("").map_err(failed("read the folder"))?;
    let ours = |name: &str| {
        [LOCK, "catalogue.new", reserve::KEY, format::FOLDER, mark::ARCHIVE].contains(&name) || name == "lost+found"
    };
    let foreign = names.iter().find(|name| !ours(name) && !name.starts_with('.'));
    if let Some(foreign) = foreign
        && !names.iter().any(|name| name == CATALOGUE)
    {
        let found = format!("it holds {foreign} but no {CATALOGUE}");
        return Err(Error::NotAStore { folder: folder.to_owned(), found });
    }
    locks::take(disk, &folder.display().to_string(), Some(now))?;
    let log = disk.create_folder(format::FOLDER).and_then(|()| disk.sync_folder(""));
    log.map_err(|error| {
        locks::give_back(disk);
        failed("write into the folder")(error)
    })
}

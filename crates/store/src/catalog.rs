//! The catalogue: what is small and must be exact, in one redb file. PVs and their settings, metadata and gaps, the list of
//! segments, and up to where the log is in them.
//!
//! A flush ends with one transaction: until it the samples are in the log, from it on they are in the segment.

mod balance;
pub(crate) mod chain;
pub(crate) mod changes;
pub(crate) mod copy;
pub(crate) mod deletion;
mod doubt;
mod field_gaps;
mod file;
pub(crate) mod image;
pub(crate) mod imports;
pub(crate) mod last_names;
mod lost;
pub(crate) mod memos;
mod mend;
mod metadata_rows;
mod pvs;
mod pvs_wire;
pub(crate) mod registry;
mod rules_wire;
pub(crate) mod tables;
mod taken;
mod tokens;
pub(crate) mod undo;
pub(crate) mod unfinished;
mod wire;

use std::{
    io,
    sync::{
        Arc, Mutex, OnceLock, RwLock, RwLockReadGuard,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};

use archive::{AuditRecord, PvId};
use redb::{Database, ReadableDatabase, ReadableTable};
use sample::{Gap, GapCause, Metadata, Timestamp};

pub(crate) use balance::Balance;
pub(crate) use chain::{AuditHead, AuditProof};
use changes::Transaction;
use doubt::Doubt;
pub(crate) use field_gaps::FieldGap;
use file::{lock_new, open_database};
use mend::{repair, replace};
pub(crate) use metadata_rows::Tidying;
pub(crate) use pvs_wire::{archived_bytes, own_bytes, removed_bytes};
use tables::{
    ARCHIVER_GAPS, CATALOGUE, GAPS, LEDGER, META, METADATA, NEW_KEY, OPEN_GAPS, PLACES, PVS, Position, SEGMENTS,
    Tables, UNTOLD, put_position, unreadable,
};
pub(crate) use taken::Taken;

use crate::{
    Error,
    catalog::unfinished::Untold,
    disk::Disk,
    facts::{self, Facts},
    outbox::Outbox,
    segment::manifest::Manifest,
};

const VERSION: u16 = 1;

/// What is written down of the reason why segments take the place of others.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Told<'a> {
    pub(crate) audit: &'a [AuditRecord],
    pub(crate) field_gaps: &'a [FieldGap],
    /// Segments of which not all samples are in those that take their places.
    pub(crate) lost: &'a [Manifest],
}

/// What is known at a start of what was before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Restart<'a> {
    /// The last sign of life; none in an archive that never was.
    pub(crate) alive: Option<Timestamp>,
    /// How many samples the log has behind the position.
    pub(crate) samples: u64,
    /// Gaps for samples that the log had and that cannot be read any more.
    pub(crate) lost: &'a [Gap],
}

/// The open catalogue.
#[derive(Debug)]
pub(crate) struct Catalog {
    disk: Arc<dyn Disk>,
    /// Shared by those who use it and held alone by who opens or gives it up: opened a second time while somebody still uses
    /// the first, two of them would write to one file.
    opened: RwLock<Opened>,
    /// Held by whoever writes.
    doubt: Mutex<Doubt>,
    /// The number of the last change.
    transactions: AtomicU64,
    /// The number of one that may hold or not; 0 if there is none.
    unsure: AtomicU64,
    /// Up to, not including, which line of the audit the log says where it ends.
    audit_told: AtomicU64,
    /// What takes changes on their way into the journal of the shard, in a cluster.
    outbox: OnceLock<Arc<Outbox>>,
}

/// What somebody wants of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Read,
    Write,
}

#[derive(Debug, Default)]
struct Opened {
    /// None after a failure: redb then wants to be opened anew.
    database: Option<Database>,
    /// It is a copy that cannot be written to the disk, for those who read.
    in_memory: bool,
    /// Whether the file is still the one that was opened; if not, what has it open does not get to it any more.
    is_ours: Arc<AtomicBool>,
    /// How often it was opened, so that nobody gives up another than the one that failed.
    times: u64,
}

impl Catalog {
    /// Opens the catalogue, or makes an empty one if `create` and there is none. A half-made one never has the final name.
    pub(crate) fn open(disk: Arc<dyn Disk>) -> Result<Catalog, Error> {
        match disk.len(CATALOGUE) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => create(&disk, |_| Ok(()))?,
            Err(source) => return Err(Error::Io { doing: "open", path: CATALOGUE.to_owned(), source }),
        }
        let (opened, doubt) = (RwLock::default(), Mutex::default());
        let zero = || AtomicU64::new(0);
        let catalog = Catalog {
            disk,
            opened,
            doubt,
            transactions: zero(),
            unsure: zero(),
            audit_told: zero(),
            outbox: OnceLock::new(),
        };
        let version = catalog.read(|tables| tables.meta("version"))?.unwrap_or(0) as u16;
        if version > VERSION {
            return Err(Error::TooNew { path: CATALOGUE.to_owned(), version, supported: VERSION });
        }
        let made = catalog.read(|tables| tables.meta("transactions"))?;
        catalog.transactions.store(made.unwrap_or(0), Relaxed);
        Ok(catalog)
    }

    /// From now on each change goes into a journal as well.
    pub(crate) fn journal_to(&self, outbox: Arc<Outbox>) {
        self.outbox.get_or_init(|| outbox);
    }

    /// Makes a change that somebody ordered: in a cluster he is told when the journal has it.
    fn ordered<T>(&self, write: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        let Some(outbox) = self.outbox.get() else { return write() };
        outbox.takes_orders()?;
        let made = write()?;
        outbox.wait()?;
        Ok(made)
    }

    /// The number of the last change, and of one besides that may hold or not. Never waits for the disk.
    pub(crate) fn last_changes(&self) -> [u64; 2] {
        let last = self.transactions.load(Relaxed);
        let unsure = self.unsure.load(Relaxed);
        [last, if unsure == 0 { last } else { unsure }]
    }

    /// The folder is another one that has the same catalogue: it is opened anew when it is needed.
    pub(crate) fn reopen(&self) {
        let mut opened = self.opened.write().expect("no holder of this lock panics");
        opened.is_ours.store(false, Relaxed);
        opened.database = None;
    }

    /// An error while the folder is away. redb would take one of the disk for its end.
    fn at_home(&self) -> Result<(), Error> {
        self.disk.at_home().map_err(|error| Error::Away { reason: error.to_string() })
    }

    fn read<T>(&self, read: impl FnOnce(&Tables) -> Result<T, redb::Error>) -> Result<T, Error> {
        self.with_database(Use::Read, |database| read(&Tables(database.begin_read()?)))
    }

    /// After a failure redb refuses everything. The next use then makes a new file: see `repair`.
    fn with_database<T>(&self, how: Use, run: impl FnOnce(&Database) -> Result<T, redb::Error>) -> Result<T, Error> {
        let opened = self.opened(how)?;
        let (result, times) = (run(opened.database.as_ref().expect("it has just been opened")), opened.times);
        drop(opened);
        result.map_err(|error| {
            let mut opened = self.opened.write().expect("no holder of this lock panics");
            if opened.times == times {
                opened.database = None;
            }
            let doing = if how == Use::Read { "read" } else { "write" };
            Error::Catalogue { doing, source: error.into() }
        })
    }

    fn opened(&self, how: Use) -> Result<RwLockReadGuard<'_, Opened>, Error> {
        loop {
            let opened = self.opened.read().expect("no holder of this lock panics");
            let serves = |opened: &Opened| opened.database.is_some() && (how == Use::Read || !opened.in_memory);
            if serves(&opened) {
                return Ok(opened);
            }
            drop(opened);
            let mut opened = self.opened.write().expect("no holder of this lock panics");
            if !serves(&opened) {
                self.open_anew(&mut opened, how)?;
            }
        }
    }

    fn open_anew(&self, opened: &mut Opened, how: Use) -> Result<(), Error> {
        let failed = |error: redb::Error| Error::Catalogue { doing: "repair", source: error.into() };
        opened.in_memory = false;
        if opened.times > 0 {
            self.at_home()?; // or another catalogue would be taken for this one
            opened.database = None;
            let repaired = repair(&self.disk)?;
            if let Err(error) = replace(&self.disk, &repaired) {
                if how == Use::Write {
                    return Err(error);
                }
                // Reading goes on without a disk that works.
                let database = Database::builder().create_with_backend(repaired);
                opened.database = Some(database.map_err(|error| failed(error.into()))?);
                opened.in_memory = true;
            }
        }
        if !opened.in_memory {
            opened.is_ours = Arc::new(AtomicBool::new(true));
            opened.database = Some(open_database(&self.disk, CATALOGUE, opened.is_ours.clone())?);
        }
        opened.times += 1;
        Ok(())
    }

    pub(crate) fn position(&self) -> Result<Position, Error> {
        self.read(|tables| {
            Ok(Position {
                frame: tables.meta("frame")?.unwrap_or(0),
                appended: tables.meta("appended")?.unwrap_or(0),
                alive: tables.meta("alive")?.map(|nanos| Timestamp::from_nanos(nanos as i64)),
                next_segment: tables.meta("next_segment")?.unwrap_or(0),
            })
        })
    }

    /// When the archiver was last started, or in an older archive was last known to be alive at a flush; none if it never was.
    pub(crate) fn began(&self) -> Result<Option<Timestamp>, Error> {
        self.read(|tables| {
            let nanos = tables.meta("began")?.or(tables.meta("alive")?);
            Ok(nanos.map(|nanos| Timestamp::from_nanos(nanos as i64)))
        })
    }

    /// What came behind the last rows of the ledger, up to where the log is in segments.
    pub(crate) fn untold(&self, position: Position, pvs: u32) -> Result<Untold, Error> {
        self.read(|tables| {
            let bytes = match tables.0.open_table(LEDGER) {
                Ok(table) => table.get(UNTOLD)?.map(|row| row.value().to_owned()),
                Err(redb::TableError::TableDoesNotExist(_)) => None,
                Err(error) => return Err(error.into()),
            };
            // Older programs do not know of it, and leave it as it was when they flush. A log from which nothing was ever taken has
            // everything.
            let known = bytes.and_then(|bytes| wire::untold(&bytes, position.frame, pvs));
            Ok(known.unwrap_or(Untold::new(position.frame == 0)))
        })
    }

    /// The segments in the order of their writing.
    pub(crate) fn segments(&self) -> Result<Vec<Manifest>, Error> {
        self.read(|tables| {
            let mut segments = Vec::new();
            for row in tables.0.open_table(SEGMENTS)?.iter()? {
                let (id, bytes) = row?;
                segments.push(wire::manifest(id.value(), bytes.value()).ok_or(unreadable("the entry of a segment"))?);
            }
            Ok(segments)
        })
    }

    /// The end of a flush: what was in a head of so many samples is in the catalogue and in a segment (none if there were no samples).
    pub(crate) fn commit_flush(
        &self,
        (segment, samples): (Option<&Manifest>, u64),
        facts: &Facts,
        position: Position,
        untold: &Untold,
    ) -> Result<(), Error> {
        self.write(|transaction| {
            let more = balance::put_segments(transaction, &[], segment.map(std::slice::from_ref).unwrap_or_default())?;
            let is_first =
                transaction.open_table(META)?.get("frame")?.is_none_or(|frame| frame.value() != position.frame);
            if is_first {
                balance::add(transaction, samples.cast_signed().saturating_sub(more))?;
            } // else it was tried before, and held
            put_facts(transaction, facts)?;
            let untold = wire::untold_bytes(untold, position.frame);
            transaction.open_table(LEDGER)?.insert(UNTOLD, untold.as_slice())?;
            transaction.flushes(None, position.frame);
            put_position(transaction, position)
        })
    }

    /// The end of a merge, a move or a removal: some segments take the place of others.
    pub(crate) fn replace_segments(&self, old: &[(u64, u32)], new: &[Manifest], told: Told) -> Result<(), Error> {
        self.write_audited(|transaction| {
            pvs::put_audit(transaction, told.audit)?;
            field_gaps::put(transaction, told.field_gaps)?;
            lost::put(transaction, told.lost)?;
            let more = balance::put_segments(transaction, old, new)?;
            balance::add(transaction, more.saturating_neg())
        })
    }

    /// A repair has settled what is gone: from the next start on, the balance is counted anew.
    pub(crate) fn forget_balance(&self) -> Result<(), Error> {
        self.write(balance::forget)
    }

    /// The number of the archive, which its folder and its places carry; none in one that an older program or a repair made.
    pub(crate) fn archive(&self) -> Result<Option<u64>, Error> {
        self.read(|tables| tables.meta("archive"))
    }

    /// Gives the archive its number.
    pub(crate) fn put_archive(&self, archive: u64) -> Result<u64, Error> {
        self.write(|transaction| {
            transaction.open_table(META)?.insert("archive", archive)?;
            Ok(archive)
        })
    }

    /// Whether a place was never used.
    pub(crate) fn is_new_place(&self, name: &str) -> Result<bool, Error> {
        self.read(|tables| Ok(tables.0.open_table(PLACES)?.get(name)?.is_none()))
    }

    /// A place is in use, in a folder.
    pub(crate) fn put_place(&self, name: &str, folder: &str) -> Result<(), Error> {
        let known = self
            .read(|tables| Ok(tables.0.open_table(PLACES)?.get(name)?.is_some_and(|known| known.value() == folder)))?;
        if known {
            return Ok(());
        }
        self.write(|transaction| {
            transaction.open_table(PLACES)?.insert(name, folder)?;
            Ok(())
        })
    }

    /// Ends the gaps that are still open at the last sign of life, and records that the archiver was not running from then to `now`,
    /// and what the log lost.
    pub(crate) fn commit_restart(&self, restart: Restart<'_>, now: Timestamp) -> Result<(), Error> {
        self.write(|transaction| self::restart(transaction, restart, now))
    }

    /// The gaps of a PV that began before `before`.
    pub(crate) fn gaps(&self, pv: PvId, before: Timestamp) -> Result<Vec<Gap>, Error> {
        self.read(|tables| {
            let range = (pv.0, i64::MIN, u8::MIN)..(pv.0, before.nanos(), u8::MIN);
            let mut gaps = Vec::new();
            for row in tables.0.open_table(GAPS)?.range(range.clone())? {
                let (key, value) = row?;
                let ((_, from, cause), (to, lost)) = (key.value(), value.value());
                gaps.extend(facts::gap(from, Some(to), cause, lost));
            }
            for row in tables.0.open_table(OPEN_GAPS)?.range(range)? {
                let (key, lost) = row?;
                let (_, from, cause) = key.value();
                gaps.extend(facts::gap(from, None, cause, lost.value()));
            }
            Ok(gaps)
        })
    }

    /// The gaps of the whole archiver that began before `before`.
    pub(crate) fn archiver_gaps(&self, before: Timestamp) -> Result<Vec<Gap>, Error> {
        self.read(|tables| {
            let mut gaps = Vec::new();
            for row in tables.0.open_table(ARCHIVER_GAPS)?.range(..(before.nanos(), u8::MIN))? {
                let (key, value) = row?;
                let ((from, cause), (to, lost)) = (key.value(), value.value());
                gaps.extend(facts::gap(from, Some(to), cause, lost));
            }
            Ok(gaps)
        })
    }

    /// Of which of these PVs there is metadata.
    pub(crate) fn have_metadata(&self, pvs: &[PvId]) -> Result<Vec<bool>, Error> {
        self.read(|tables| {
            let table = tables.0.open_table(METADATA)?;
            if table.first()?.is_none() {
                return Ok(vec![false; pvs.len()]);
            }
            let of = |pv: &PvId| Ok(table.range((pv.0, i64::MIN)..=(pv.0, i64::MAX))?.next().transpose()?.is_some());
            pvs.iter().map(of).collect()
        })
    }

    /// The metadata of a PV in force at `t0`, then each change before `t1`.
    pub(crate) fn metadata(&self, pv: PvId, t0: Timestamp, t1: Timestamp) -> Result<Vec<(Timestamp, Metadata)>, Error> {
        self.read(|tables| {
            let table = tables.0.open_table(METADATA)?;
            let in_force = table.range((pv.0, i64::MIN)..=(pv.0, t0.nanos()))?.next_back();
            let after = t0.nanos().saturating_add(1);
            let changes = table.range((pv.0, after)..(pv.0, t1.nanos().max(after)))?;
            let mut found = Vec::new();
            for row in in_force.into_iter().chain(changes) {
                let (key, bytes) = row?;
                let metadata = facts::metadata(bytes.value()).ok_or(unreadable("metadata of a PV"))?;
                found.push((Timestamp::from_nanos(key.value().1), metadata));
            }
            Ok(found)
        })
    }
}

fn restart(transaction: &Transaction, restart: Restart<'_>, now: Timestamp) -> Result<(), redb::Error> {
    let alive = restart.alive;
    balance::begin(transaction, now.max(alive.unwrap_or(now)), restart.samples)?;
    for gap in restart.lost {
        let key = (gap.from.nanos(), facts::cause_number(gap.cause));
        transaction.open_table(ARCHIVER_GAPS)?.insert(key, (gap.to.unwrap_or(gap.from).nanos(), gap.lost))?;
    }
    if let Some(alive) = alive {
        end_open_gaps(transaction, alive)?;
        if alive < now {
            let key = (alive.nanos(), facts::cause_number(GapCause::ArchiverStopped));
            transaction.open_table(ARCHIVER_GAPS)?.insert(key, (now.nanos(), 0))?;
        }
    }
    let mut meta = transaction.open_table(META)?;
    meta.insert("alive", now.nanos() as u64)?;
    meta.insert("began", now.nanos() as u64)?;
    Ok(())
}

/// Ends each gap that is open at the last sign of life.
fn end_open_gaps(transaction: &Transaction, alive: Timestamp) -> Result<(), redb::Error> {
    let mut open = transaction.open_table(OPEN_GAPS)?;
    let mut gaps = transaction.open_table(GAPS)?;
    for row in open.iter()? {
        let (key, lost) = row?;
        gaps.insert(key.value(), (alive.nanos().max(key.value().1), lost.value()))?;
    }
    open.retain(|_, _| false)
}

fn put_facts(transaction: &Transaction, facts: &Facts) -> Result<(), redb::Error> {
    metadata_rows::put(transaction, facts)?;
    let mut gaps = transaction.open_table(GAPS)?;
    let mut open = transaction.open_table(OPEN_GAPS)?;
    for ((pv, from, cause), gap) in &facts.gaps {
        let key = (pv.0, from.nanos(), facts::cause_number(*cause));
        match gap.to {
            Some(to) => {
                gaps.insert(key, (to.nanos(), gap.lost))?;
                open.remove(key)?;
            }
            None => {
                open.insert(key, gap.lost)?;
                gaps.remove(key)?;
            }
        }
    }
    Ok(())
}

/// Makes a catalogue of rows and segments that were found without one. It has the final name only when all is in it.
pub(crate) fn create_from(
    disk: &Arc<dyn Disk>,
    rows: &[(PvId, Vec<u8>)],
    segments: &[Manifest],
    position: Position,
) -> Result<(), Error> {
    create(disk, |transaction| {
        let mut pvs = transaction.open_table(PVS)?;
        for (pv, row) in rows {
            pvs.insert(pv.0, row.as_slice())?;
        }
        let mut table = transaction.open_table(SEGMENTS)?;
        for manifest in segments {
            table.insert(manifest.id(), wire::manifest_bytes(manifest).as_slice())?;
        }
        let unknown = wire::untold_bytes(&Untold::new(false), position.frame);
        transaction.open_table(LEDGER)?.insert(UNTOLD, unknown.as_slice())?;
        put_position(transaction, position)
    })
}

fn create(disk: &Arc<dyn Disk>, fill: impl FnOnce(&Transaction) -> Result<(), redb::Error>) -> Result<(), Error> {
    begin_new(disk, fill)?;
    end_new(disk)
}

/// Makes a catalogue that does not have its name yet.
fn begin_new(disk: &Arc<dyn Disk>, fill: impl FnOnce(&Transaction) -> Result<(), redb::Error>) -> Result<(), Error> {
    let io = |doing, source| Error::Io { doing, path: CATALOGUE.to_owned(), source };
    match disk.remove(NEW_KEY) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io("replace a half-made", error)),
        _ => {}
    }
    let database = open_database(disk, NEW_KEY, Arc::new(AtomicBool::new(true)))?;
    let run = || -> Result<(), redb::Error> {
        let writing = database.begin_write()?;
        let transaction = Transaction::plain(&writing);
        transaction.open_table(META)?.insert("version", u64::from(VERSION))?;
        transaction.open_table(META)?.insert(metadata_rows::TIDIED, 1)?;
        transaction.open_table(PVS)?;
        pvs::create(&transaction)?;
        transaction.open_table(METADATA)?;
        transaction.open_table(GAPS)?;
        transaction.open_table(OPEN_GAPS)?;
        transaction.open_table(ARCHIVER_GAPS)?;
        transaction.open_table(SEGMENTS)?;
        transaction.open_table(PLACES)?;
        transaction.open_table(LEDGER)?;
        fill(&transaction)?;
        Ok(writing.commit()?)
    };
    run().map_err(|error| Error::Catalogue { doing: "create", source: error.into() })
}

/// Gives a catalogue that is made its name.
fn end_new(disk: &Arc<dyn Disk>) -> Result<(), Error> {
    let io = |doing, source| Error::Io { doing, path: CATALOGUE.to_owned(), source };
    disk.sync(NEW_KEY).map_err(|error| io("sync", error))?;
    lock_new(disk).map_err(|error| io("lock", error))?;
    disk.rename(NEW_KEY, CATALOGUE).map_err(|error| io("create", error))?;
    disk.sync_folder("").map_err(|error| io("make durable the name of", error))
}

#[cfg(test)]
mod tests {
    use std::{
        sync::mpsc::{RecvTimeoutError, channel},
        time::Duration,
    };

    use super::*;
    use crate::disk::RealDisk;

    /// Two open databases on one file would both write to it. One that failed is opened anew only when nobody is in it.
    #[test]
    fn a_catalogue_that_failed_is_not_opened_anew_while_somebody_uses_it() {
        let folder = tempfile::tempdir().unwrap();
        let catalog = Catalog::open(Arc::new(RealDisk::new(folder.path()))).unwrap();
        let (reopened, told) = channel();
        std::thread::scope(|scope| {
            let using = catalog.read(|_| {
                scope.spawn(|| {
                    assert!(catalog.read(|_| Err::<(), _>(unreadable("what a test damages"))).is_err());
                    catalog.position().unwrap();
                    reopened.send(()).unwrap();
                });
                Ok(told.recv_timeout(Duration::from_millis(200)))
            });
            assert_eq!(using.unwrap(), Err(RecvTimeoutError::Timeout), "it was opened a second time");
            told.recv_timeout(Duration::from_secs(20)).expect("it is opened when nobody uses it");
        });
    }
}

//! A copy of the catalogue, taken while an archiver may be writing to it: for a check, a backup or a repair.

use std::{
    collections::{HashMap, HashSet},
    io, panic, thread,
    time::Duration,
};

use archive::{PvId, PvName};
use redb::{Database, ReadableDatabase, ReadableTable, StorageBackend};
use sample::Timestamp;

use super::{
    AuditHead, AuditProof, Balance, balance, chain,
    changes::Transaction,
    mend::Memory,
    pvs_wire,
    tables::{CATALOGUE, META, PLACES, PVS, Position, SEGMENTS, unreadable},
    wire,
};
use crate::{
    Error,
    disk::Disk,
    segment::{Named, manifest::Manifest},
};

/// So often a copy is taken of a catalogue that a running archiver changes meanwhile, and so long it waits in between.
const COPIES_MAX: usize = 100;
const COPY_PAUSE: Duration = Duration::from_millis(20);

/// What a copy says.
#[derive(Debug, Default)]
pub(crate) struct Copy {
    /// The file as it was.
    pub(crate) bytes: Vec<u8>,
    pub(crate) names: HashMap<PvId, PvName>,
    rows: HashMap<PvId, Vec<u8>>,
    /// The PVs that the archive keeps for itself.
    pub(crate) own: HashSet<PvId>,
    /// In the order of their writing.
    pub(crate) segments: Vec<Manifest>,
    pub(crate) position: Position,
    pub(crate) balance: Option<Balance>,
    /// How many changes were made.
    pub(crate) transactions: u64,
    /// The number of the archive.
    pub(crate) archive: Option<u64>,
    /// Where sealed segments lie besides the folder of the archive, by the names of these places.
    pub(crate) places: HashMap<String, String>,
}

impl Copy {
    /// The segments that lie elsewhere, as if they lay in the folder of the archive.
    pub(crate) fn at_home(&self) -> Vec<Manifest> {
        let away = self.segments.iter().filter(|manifest| manifest.place.is_some());
        away.map(|manifest| Manifest { place: None, ..manifest.clone() }).collect()
    }

    /// What a segment is to keep of a PV.
    pub(crate) fn named(&self, pv: PvId) -> Option<Named> {
        Some(Named { pv, name: self.names.get(&pv)?.clone(), row: self.rows.get(&pv)?.clone() })
    }
}

/// What the catalogue says, or why it says nothing. A copy that was taken while a transaction ended is torn: another is taken,
/// until one can be read or two are the same and neither can.
pub(crate) fn read_copy(disk: &dyn Disk) -> Result<Result<Copy, String>, Error> {
    let mut last = None;
    for _ in 0..COPIES_MAX {
        let Some(bytes) = stable_bytes(disk)? else {
            thread::sleep(COPY_PAUSE);
            continue;
        };
        match open_copy(&bytes) {
            Ok(copy) => return Ok(Ok(Copy { bytes, ..copy })),
            Err(error) if last.as_ref() == Some(&bytes) => return Ok(Err(error.to_string())),
            Err(_) => last = Some(bytes),
        }
        thread::sleep(COPY_PAUSE);
    }
    Ok(Err("it changes all the time; try again when fewer PVs are added".to_owned()))
}

/// Whether the audit of a catalogue is what was written, beside a running archiver or after it; or why that cannot be said. A catalogue in
/// which bits are wrong is read as far as it can be: of these, too, the lines are to be told.
pub(crate) fn prove_audit(disk: &dyn Disk, known: &[AuditHead]) -> Result<Result<AuditProof, String>, Error> {
    let mut last = None;
    for _ in 0..COPIES_MAX {
        if let Some(bytes) = stable_bytes(disk)? {
            // A copy that was taken while a transaction ended is torn: two that are the same are none.
            let is_stable = last.as_ref() == Some(&bytes);
            match proof_in(&bytes, known) {
                Ok(proof) if is_stable || proof.faults.is_empty() => return Ok(Ok(proof)),
                Err(reason) if is_stable => return Ok(Err(reason)),
                _ => last = Some(bytes),
            }
        }
        thread::sleep(COPY_PAUSE);
    }
    Ok(Err("it changes all the time; try again when fewer PVs are changed".to_owned()))
}

fn proof_in(bytes: &[u8], known: &[AuditHead]) -> Result<AuditProof, String> {
    let whole = open_copy(bytes).err();
    let read = || -> Result<AuditProof, redb::Error> {
        let database = Database::builder().create_with_backend(Memory::new(bytes.to_owned()))?;
        chain::prove(&database.begin_read()?, known)
    };
    // redb trusts what it reads: where bits of its own pages are wrong it may come to an end in the middle.
    let read = panic::catch_unwind(panic::AssertUnwindSafe(read)).unwrap_or_else(|_| Err(unreadable("the audit")));
    match (read, whole) {
        (Ok(mut proof), Some(damage)) => {
            proof.faults.push(format!("bits of the catalogue are wrong: {damage}"));
            Ok(proof)
        }
        (Ok(proof), None) => Ok(proof),
        (Err(error), _) => Err(error.to_string()),
    }
}

/// The bytes of a copied catalogue in which all segments lie in the folder of the archive, as they do in a backup.
pub(crate) fn at_home(copy: &Copy) -> Result<Vec<u8>, Error> {
    if copy.segments.iter().all(|manifest| manifest.place.is_none()) {
        return Ok(copy.bytes.clone());
    }
    let memory = Memory::new(copy.bytes.clone());
    let write = || -> Result<(), redb::Error> {
        let database = Database::builder().create_with_backend(memory.clone())?;
        let transaction = database.begin_write()?;
        balance::put_segments(&Transaction::plain(&transaction), &[], &copy.at_home())?;
        Ok(transaction.commit()?)
    };
    write().map_err(|error| Error::Catalogue { doing: "copy", source: error.into() })?;
    Ok(memory.bytes().clone())
}

/// The bytes of the catalogue; none if a transaction ended meanwhile, which changes its first page.
fn stable_bytes(disk: &dyn Disk) -> Result<Option<Vec<u8>>, Error> {
    let Some(bytes) = read_file(disk, CATALOGUE)? else { return Ok(None) };
    let mut first_page = [0; 512];
    let unchanged = disk.read_at(CATALOGUE, 0, &mut first_page).is_ok() && bytes.starts_with(&first_page);
    Ok(unchanged.then_some(bytes))
}

/// A whole file; none if it is not there any more, or became shorter while it was read.
pub(crate) fn read_file(disk: &dyn Disk, key: &str) -> Result<Option<Vec<u8>>, Error> {
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; disk.len(key)? as usize];
        disk.read_at(key, 0, &mut bytes)?;
        Ok(bytes)
    };
    if_there(key, read())
}

/// What was read of a file; none if it is not there any more, or became shorter meanwhile.
pub(crate) fn if_there<T>(key: &str, read: io::Result<T>) -> Result<Option<T>, Error> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(error) if [io::ErrorKind::NotFound, io::ErrorKind::UnexpectedEof].contains(&error.kind()) => Ok(None),
        Err(source) => Err(Error::Io { doing: "read", path: key.to_owned(), source }),
    }
}

/// Reads a copy and verifies each of its checksums.
fn open_copy(bytes: &[u8]) -> Result<Copy, redb::Error> {
    let backend = redb::backends::InMemoryBackend::new();
    backend.set_len(bytes.len() as u64)?;
    backend.write(0, bytes)?;
    let mut database = Database::builder().create_with_backend(backend)?;
    if !database.check_integrity()? {
        return Err(redb::Error::Corrupted("a checksum does not match".to_owned()));
    }
    let transaction = database.begin_read()?;
    let mut copy = Copy::default();
    for row in transaction.open_table(PVS)?.iter()? {
        let (id, bytes) = row?;
        let id = PvId(id.value());
        copy.rows.insert(id, bytes.value().to_owned());
        let row = pvs_wire::pv(id, bytes.value()).ok_or(unreadable("the entry of a PV"))?;
        if matches!(row, pvs_wire::Pv::Own(_)) {
            copy.own.insert(id);
        }
        copy.names.insert(id, row.into_entry().name);
    }
    for row in transaction.open_table(SEGMENTS)?.iter()? {
        let (id, bytes) = row?;
        let manifest = wire::manifest(id.value(), bytes.value()).ok_or(unreadable("the entry of a segment"))?;
        copy.segments.push(manifest);
    }
    for row in transaction.open_table(PLACES)?.iter()? {
        let (name, folder) = row?;
        copy.places.insert(name.value().to_owned(), folder.value().to_owned());
    }
    let meta = transaction.open_table(META)?;
    let number = |name| Ok::<_, redb::Error>(meta.get(name)?.map(|value| value.value()));
    copy.balance = balance::read(&meta)?;
    copy.transactions = number("transactions")?.unwrap_or(0);
    copy.archive = number("archive")?;
    copy.position = Position {
        frame: number("frame")?.unwrap_or(0),
        appended: number("appended")?.unwrap_or(0),
        alive: number("alive")?.map(|nanos| Timestamp::from_nanos(nanos as i64)),
        next_segment: number("next_segment")?.unwrap_or(0),
    };
    Ok(copy)
}

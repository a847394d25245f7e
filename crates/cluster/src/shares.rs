//! What this node takes of an import: the share of the shards that it has, whoever was given the part.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::Arc,
};

use archive::{By, DirectoryError, ImportedPart, Intake, PvId, Record};

use crate::{
    board::{Board, Seat},
    numbers::split,
    orders::not_now,
};

/// A share is written out when what has come of it takes so much memory, all its shards together.
const GATHERED_BYTES_MAX: usize = if cfg!(test) { 1 << 10 } else { 16 << 20 };

/// A share under way. Each shard has an import of its own, and nothing of any is entered before the end.
pub(crate) struct Shares {
    board: Arc<Board>,
    name: String,
    by: By,
    of: BTreeMap<u32, Box<dyn Intake>>,
    gathered: usize,
}

impl Shares {
    pub(crate) fn new(board: Arc<Board>, name: &str, by: &By) -> Shares {
        Shares { board, name: name.to_owned(), by: by.clone(), of: BTreeMap::new(), gathered: 0 }
    }

    /// Takes something of a PV whose shard is open here.
    pub(crate) fn append(&mut self, pv: PvId, record: Record) -> Result<(), DirectoryError> {
        let (shard, local) = split(pv);
        let intake = match self.of.entry(shard) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => match self.board.seat(shard) {
                Seat::Here(open) => entry.insert(open.curator.import(&self.name, &self.by)?),
                _ => return Err(not_now(gone(shard, &self.board))),
            },
        };
        self.gathered += match &record {
            Record::Samples(batch) => batch.byte_size(),
            Record::Array(batch) => batch.byte_size(),
            _ => size_of::<Record>(),
        };
        intake.append(&[(local, record)])?;
        if self.gathered >= GATHERED_BYTES_MAX {
            self.gathered = 0;
            self.of.values_mut().try_for_each(|intake| intake.write_out())?;
        }
        Ok(())
    }

    /// What the shards of this share know of a part.
    pub(crate) fn known(&self, part: &str) -> Result<Option<ImportedPart>, DirectoryError> {
        sum_of(self.of.values().map(|intake| intake.part(part)))
    }

    /// Enters all of it. The part is not known by its name before it was verified.
    pub(crate) fn finish(&mut self, part: &str) -> Result<ImportedPart, DirectoryError> {
        let mut sum = ImportedPart::default();
        for (shard, mut intake) in std::mem::take(&mut self.of) {
            let entered = intake.finish_part_unverified(part).map_err(|error| match self.board.seat(shard) {
                Seat::Here(_) => error,
                _ => not_now(gone(shard, &self.board)),
            });
            add(&mut sum, &entered?);
        }
        Ok(sum)
    }

    /// Leaves nothing of it.
    pub(crate) fn abandon(&mut self) {
        self.of.clear();
    }
}

fn gone(shard: u32, board: &Board) -> String {
    format!("{} is not open at node {} any more", board.pairs().called(shard), board.own())
}

/// What the shards that are open here know of a part: each that took something of it, once all of them have.
pub(crate) fn known_here(
    board: &Board,
    name: &str,
    part: &str,
    by: &By,
) -> Result<Option<ImportedPart>, DirectoryError> {
    sum_of(board.open().into_values().map(|open| open.curator.import(name, by)?.part(part)))
}

pub(crate) fn sum_of(
    parts: impl Iterator<Item = Result<Option<ImportedPart>, DirectoryError>>,
) -> Result<Option<ImportedPart>, DirectoryError> {
    let mut sum: Option<ImportedPart> = None;
    for part in parts {
        if let Some(part) = part? {
            add(sum.get_or_insert_default(), &part);
        }
    }
    Ok(sum)
}

pub(crate) fn add(sum: &mut ImportedPart, of: &ImportedPart) {
    sum.samples += of.samples;
    sum.bytes += of.bytes;
    sum.gaps += of.gaps;
    sum.metadata += of.metadata;
}

//! Imports into a cluster: each PV's samples go into its shard, by the node that has it. Whoever sends a part to a node that does not have
//! all of its PVs is told which node has the one that it lacks, and nothing of the part is entered.

use std::collections::BTreeMap;

use archive::{By, DirectoryError, ImportedPart, Intake, PvId, Record};

use crate::{numbers::split, whole::Whole};

/// An import under way. Each shard has one of its own.
pub(crate) struct WholeIntake {
    whole: Whole,
    name: String,
    by: By,
    of: BTreeMap<u32, Box<dyn Intake>>,
}

impl WholeIntake {
    pub(crate) fn new(whole: Whole, name: &str, by: &By) -> WholeIntake {
        WholeIntake { whole, name: name.to_owned(), by: by.clone(), of: BTreeMap::new() }
    }

    fn finished(&mut self, part: &str) -> Result<ImportedPart, DirectoryError> {
        let mut sum = ImportedPart::default();
        for intake in self.of.values_mut() {
            add(&mut sum, &intake.finish_part_unverified(part)?);
        }
        Ok(sum)
    }
}

impl Intake for WholeIntake {
    /// Of the shards that are here: those that took something of it know it.
    fn part(&self, part: &str) -> Result<Option<ImportedPart>, DirectoryError> {
        let mut known: Option<ImportedPart> = None;
        for open in self.whole.board.open().into_values() {
            if let Some(of_shard) = open.curator.import(&self.name, &self.by)?.part(part)? {
                add(known.get_or_insert_default(), &of_shard);
            }
        }
        Ok(known)
    }

    fn append(&mut self, records: &[(PvId, Record)]) -> Result<(), DirectoryError> {
        let mut of: BTreeMap<u32, Vec<(PvId, Record)>> = BTreeMap::new();
        for (pv, record) in records {
            let (shard, local) = split(*pv);
            of.entry(shard).or_default().push((local, record.clone()));
        }
        for (shard, records) in of {
            let intake = match self.of.entry(shard) {
                std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
                std::collections::btree_map::Entry::Vacant(entry) => {
                    let open = self.whole.board.import_here(shard)?;
                    entry.insert(open.curator.import(&self.name, &self.by)?)
                }
            };
            intake.append(&records)?;
        }
        Ok(())
    }

    /// All shards have what is theirs before one of them knows the part by its name: whoever sends it again after half of it was entered
    /// sends all of it.
    fn finish_part(&mut self, part: &str) -> Result<ImportedPart, DirectoryError> {
        let sum = self.finished(part)?;
        self.verified(part)?;
        Ok(sum)
    }

    fn finish_part_unverified(&mut self, part: &str) -> Result<ImportedPart, DirectoryError> {
        self.finished(part)
    }

    fn verified(&self, part: &str) -> Result<(), DirectoryError> {
        self.of.values().try_for_each(|intake| intake.verified(part))
    }
}

fn add(sum: &mut ImportedPart, of: &ImportedPart) {
    sum.samples += of.samples;
    sum.bytes += of.bytes;
    sum.gaps += of.gaps;
    sum.metadata += of.metadata;
}

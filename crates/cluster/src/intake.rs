//! Imports into a cluster: each PV's samples go into its shard, by the node that has it. Whoever sends a part to a node that does not have
//! all of its PVs is told which node has the one that it lacks, or that for a while no node has, and nothing of the part is entered.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    sync::Arc,
};

use archive::{By, DirectoryError, ImportedPart, Intake, PvId, Record};

use crate::{
    board::{Board, Open},
    numbers::split,
    whole::Whole,
};

/// A refusal names at most this many of the PVs for which a part cannot be taken.
const NAMED_MAX: usize = 5;

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
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => {
                    let open = opened(&self.whole.board, shard, &records)?;
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

/// The shard of these PVs, if it is open here; else an error that names them.
fn opened(board: &Board, shard: u32, records: &[(PvId, Record)]) -> Result<Arc<Open>, DirectoryError> {
    board.import_here(shard).map_err(|DirectoryError { fault, message }| {
        let pvs: BTreeSet<PvId> = records.iter().map(|(pv, _)| *pv).collect();
        let entry = |pv: &PvId| board.list(shard, |list| list.entry(*pv)).flatten();
        let name = |pv: &PvId| entry(pv).map_or_else(|| format!("PV {}", pv.0), |entry| entry.name.to_string());
        let named: Vec<String> = pvs.iter().take(NAMED_MAX).map(name).collect();
        let (of, more) = (named.join(", "), if pvs.len() > NAMED_MAX { " and more" } else { "" });
        let message =
            format!("{message}; nothing of this part is entered, which has samples of {of}{more} for that shard");
        DirectoryError { fault, message }
    })
}

#[cfg(test)]
mod tests {
    use archive::Fault;
    use sample::{Alarm, Batch, Sample, Timestamp, Value};

    use super::*;
    use crate::{
        numbers::global,
        testing::{board, says},
    };

    fn refused(board: Arc<Board>, pvs: u32) -> DirectoryError {
        let by = By::new("the test", Timestamp::MIN);
        let sample =
            Sample { time: Timestamp::MIN, value: Value::F64(1.0), alarm: Alarm::default(), pulse: 0, stamp: None };
        let record = |pv| (global(0, PvId(pv)).expect("there is room"), Record::Samples(Batch::of(&sample)));
        let records: Vec<(PvId, Record)> = (1..=pvs).map(record).collect();
        WholeIntake::new(Whole::new(board), "old", &by).append(&records).unwrap_err()
    }

    #[test]
    fn a_part_that_cannot_be_taken_says_for_which_pvs() {
        let error = refused(board("a", 1, &Arc::default()), 2);
        assert_eq!(error.fault, Fault::NotNow);
        assert!(error.message.contains("no node has shard 0"), "{error}");
        assert!(error.message.contains("nothing of this part is entered"), "{error}");
        assert!(error.message.ends_with("samples of PV 1, PV 2 for that shard"), "{error}");
        let (elsewhere, _) = says(vec![], None);
        let error = refused(elsewhere, 9);
        assert_eq!(error.fault, Fault::InTheWay);
        assert!(error.message.contains("send shard 0 to node b"), "{error}");
        assert!(error.message.ends_with("PV 4, PV 5 and more for that shard"), "{error}");
    }
}

//! PVs that turn out to be other names of records: each record is kept once, and found under all its names.

use acquire::{Alias, Control};
use sample::{By, DataFate, OldName, PvEntry, TimeRange, Timestamp};
use store::{Error, Reader, Writer};

/// Who did it, as the audit says.
const BY: &str = "pvark, by the record's NAME";

/// Gives the PV the record's own name, with the one that it had as an alias; where the record is in the archive already, the PV
/// becomes an alias of that. One that has samples from before it was added stays as it is, as they would be hidden.
pub(crate) fn settle(control: &Control<Writer>, reader: &Reader, now: Timestamp) {
    for Alias { pv, name, record } in &control.ask_names(now) {
        let by = By::new(BY, now);
        // Somebody may have removed or renamed it meanwhile.
        let Some(entry) = reader.entry(*pv).filter(|entry| entry.name == *name) else { continue };
        let done = match reader.find(record.as_str()) {
            None => control.rename(*pv, record, OldName::Alias, &by).map(|_| ()),
            Some(other) if other.id == *pv => continue,
            Some(_) if has_history(reader, &entry) => {
                tracing::warn!(
                    "{name} is an alias of the record {record}; both are archived, as {name} has old samples"
                );
                continue;
            }
            Some(other) => merge(control, &entry, &other, &by),
        };
        match done {
            Ok(()) => tracing::info!("{name} is an alias of the record {record}, which is archived once"),
            Err(error) => tracing::warn!("{name} is an alias of the record {record}, and goes on by itself: {error}"),
        }
    }
}

/// Whether there are samples that the other name does not have. The first that an IOC sends may be older than the PV.
fn has_history(reader: &Reader, entry: &PvEntry) -> bool {
    let before = TimeRange { t0: Timestamp::MIN, t1: entry.added };
    let mut count = 0;
    // What cannot be read is history, too.
    reader.samples(entry.id, before).any(|batch| {
        count += batch.map_or(2, |batch| batch.len());
        count > 1
    })
}

fn merge(control: &Control<Writer>, alias: &PvEntry, record: &PvEntry, by: &By) -> Result<(), Error> {
    control.remove(&[alias.id], DataFate::Keep, by)?;
    control.roster().add_alias(record.id, &alias.name, by)
}

//! PVs that turn out to be other names of records: each record is kept once, and found under all its names.

use std::collections::HashSet;

use acquire::{Alias, Control};
use archive::{By, OldName, PvEntry, PvId, PvName};
use sample::{TimeRange, Timestamp};
use store::{Error, Reader, Writer};

/// Who did it, as the audit says.
const BY: &str = "pvark, by the record's NAME";

/// Gives PVs their records' own names, with those that they had as aliases; where a record is in the archive already, the PV becomes
/// an alias of that. One that has samples from before it was added stays as it is, as they would be hidden. However many they are, they
/// are two changes of the catalogue.
pub(crate) fn settle(control: &Control<Writer>, reader: &Reader, now: Timestamp) {
    let by = By::new(BY, now);
    // Somebody may have removed or renamed one meanwhile.
    let is_there = |alias: &Alias| reader.entry(alias.pv).is_some_and(|entry| entry.name == alias.name);
    let found: Vec<Alias> = control.ask_names(now).into_iter().filter(is_there).collect();
    // Of several names of a record that is not in the archive the first one becomes it.
    let mut firsts = HashSet::new();
    let mut is_new =
        |alias: &&Alias| reader.find(alias.record.as_str()).is_none() && firsts.insert(alias.record.clone());
    let (new, known): (Vec<&Alias>, Vec<&Alias>) = found.iter().partition(|alias| is_new(alias));
    let wanted: Vec<(PvId, PvName)> = new.iter().map(|alias| (alias.pv, alias.record.clone())).collect();
    if !wanted.is_empty() {
        tell(&new, control.rename_all(&wanted, OldName::Alias, &by));
    }
    let united: Vec<(&Alias, (PvId, PvId))> = known.into_iter().filter_map(|alias| pair(reader, alias)).collect();
    let (known, pairs): (Vec<&Alias>, Vec<(PvId, PvId)>) = united.into_iter().unzip();
    if !pairs.is_empty() {
        tell(&known, control.unite(&pairs, &by));
    }
}

/// The PV, and that of its record in the archive, if they may become one.
fn pair<'a>(reader: &Reader, found: &'a Alias) -> Option<(&'a Alias, (PvId, PvId))> {
    let Alias { pv, name, record } = found;
    let owner = reader.find(record.as_str()).filter(|owner| owner.id != *pv)?;
    if has_history(reader, &reader.entry(*pv)?) {
        tracing::warn!("{name} is an alias of the record {record}; both are archived, as {name} has old samples");
        return None;
    }
    Some((found, (*pv, owner.id)))
}

fn tell<T>(aliases: &[&Alias], done: Result<Vec<Result<T, Error>>, Error>) {
    let each = match done {
        Ok(each) => each,
        Err(error) => {
            tracing::warn!("{} PVs are aliases of records, and go on by themselves: {error}", aliases.len());
            return;
        }
    };
    for (Alias { name, record, .. }, done) in aliases.iter().zip(each) {
        match done {
            Ok(_) => tracing::info!("{name} is an alias of the record {record}, which is archived once"),
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

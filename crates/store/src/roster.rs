//! What can be done to the list of PVs: each is one transaction of the catalogue, with its line in the audit, and is seen by
//! everybody when it returns.

mod given_names;
mod mirror;
mod undo;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    iter, mem,
};

use archive::{
    Action, AuditRecord, By, DataFate, EntriesOr, Group, LedgerScale, Method, Mirror, Mirrored, OldName, Protocol,
    PvEntry, PvId, PvName, PvSettings, PvState, RemovedPv, Renaming, Roster, RuleName, UndoPlan, Unfinished,
};
use sample::{Sample, Timestamp};

use self::given_names::{GivenNames, absence, taken};
use crate::{
    Error, Reader, Writer,
    catalog::{Catalog, change::Change, registry::Registry},
    engine::Engine,
};

impl Engine {
    /// Makes a change out of what there is, enters it into the catalogue, then lets everybody see it.
    pub(crate) fn change<T>(&self, make: impl FnOnce(&Registry, &mut Change) -> Result<T, Error>) -> Result<T, Error> {
        let lock = || self.registering.lock().expect("no holder of this lock panics");
        let _registering = self.settled(lock)?;
        self.refuse_if_closed()?;
        let mut change = Change::default();
        let made = make(&self.registry(), &mut change)?;
        if !change.is_empty() {
            change.audit = AuditRecord::gathered(mem::take(&mut change.audit));
            self.catalog.commit_change(&change)?;
            self.registry_mut().apply(&change);
        }
        Ok(made)
    }

    /// Changes what the catalogue has beside PVs, in turn with changes of their list.
    pub(crate) fn change_catalog<T>(&self, change: impl FnOnce(&Catalog) -> Result<T, Error>) -> Result<T, Error> {
        let _registering = self.settled(|| self.registering.lock().expect("no holder of this lock panics"))?;
        self.refuse_if_closed()?;
        change(&self.catalog)
    }
}

impl Writer {
    /// Adds PVs, or changes the settings of those that are there; see `Roster`.
    pub fn register(&self, pvs: &[(PvName, PvSettings)], by: &By) -> Result<Vec<PvEntry>, Error> {
        self.engine.change(|registry, change| {
            change.can_be_undone = true;
            tell_changes(registry, change, pvs, by);
            let entries = enter(registry, change, pvs, by.at);
            tell_new(registry, change, &entries, by);
            Ok(entries)
        })
    }

    /// Gives PVs the settings that policies have for them; see `Roster`.
    pub fn adopt(&self, pvs: &[(PvName, PvSettings)], by: &By, detail: &str) -> Result<Vec<PvEntry>, Error> {
        self.engine.change(|registry, change| {
            change.can_be_undone = true;
            let entries = enter(registry, change, pvs, by.at);
            let (detail, pvs) = (detail.to_owned(), entries.iter().map(|entry| entry.id).collect());
            change.audit.push(AuditRecord { detail, pvs, ..AuditRecord::new(Action::PoliciesApplied, by) });
            Ok(entries)
        })
    }

    /// Writes down in the audit what was done to something that the list does not know; see `Curator`.
    pub fn note(&self, action: Action, detail: &str, by: &By) -> Result<(), Error> {
        self.engine.change(|_, change| {
            let detail = detail.to_owned();
            change.audit.push(AuditRecord { detail, ..AuditRecord::new(action, by) });
            Ok(())
        })
    }

    /// Gives groups their switches; see `Roster`.
    pub fn set_groups(&self, groups: &[Group], by: &By) -> Result<(), Error> {
        self.engine.change(|registry, change| {
            for group in groups.iter().filter(|group| registry.groups().get(&group.name) != Some(*group)) {
                let detail = group.name.to_string();
                change.audit.push(AuditRecord { detail, ..AuditRecord::new(Action::GroupSet, by) });
                change.groups_set.push(group.clone());
            }
            Ok(())
        })
    }

    /// Takes its switches from a group; see `Roster`.
    pub fn remove_group(&self, name: &RuleName, by: &By) -> Result<bool, Error> {
        self.engine.change(|registry, change| {
            let is_there = registry.groups().contains_key(name);
            if is_there {
                let detail = name.to_string();
                change.audit.push(AuditRecord { detail, ..AuditRecord::new(Action::GroupRemoved, by) });
                change.groups_removed.push(name.clone());
            }
            Ok(is_there)
        })
    }

    /// Gives a PV another name; see `Roster`.
    pub fn rename(&self, pv: PvId, to: &PvName, old: OldName, by: &By) -> Result<PvEntry, Error> {
        self.engine.change(|registry, change| GivenNames::over(registry).rename(change, pv, to, old, by))
    }

    /// Gives PVs other names; see `Roster`.
    pub fn rename_all(&self, wanted: &[Renaming], old: OldName, by: &By) -> Result<Vec<EntriesOr<Error>>, Error> {
        self.engine.change(|registry, change| {
            let mut names = GivenNames::over(registry);
            let mut rename = |pv, to: &PvName| names.rename(change, pv, to, old, by);
            let mut rename_all = |renaming: &Renaming| {
                let own = rename(renaming.pv, &renaming.to)?;
                let fields = renaming.fields.iter().filter_map(|(field, to)| rename(*field, to).ok());
                Ok(iter::once(own).chain(fields).collect())
            };
            Ok(wanted.iter().map(&mut rename_all).collect())
        })
    }

    /// Takes PVs out that are other names of PVs in the archive; see `Roster`.
    pub fn unite(&self, pairs: &[(PvId, PvId)], by: &By) -> Result<Vec<Result<(), Error>>, Error> {
        self.engine.change(|registry, change| {
            let mut gone = HashSet::new();
            let mut unite = |(alias, record): &(PvId, PvId)| {
                let stays = |pv: PvId| registry.entry(pv).filter(|_| !gone.contains(&pv));
                let record = stays(*record).ok_or(Error::UnknownPv { pv: *record })?;
                let alias =
                    stays(*alias).filter(|alias| alias.id != record.id).ok_or(Error::UnknownPv { pv: *alias })?;
                gone.insert(alias.id);
                change.audit.push(AuditRecord::of_pv(Action::Removed, by, alias, ""));
                change.audit.push(AuditRecord::of_pv(Action::AliasAdded, by, record, alias.name.as_str()));
                change.removed.push(removal(registry, alias, DataFate::Keep, by));
                change.aliases_added.push((alias.name.clone(), record.id));
                Ok(())
            };
            Ok(pairs.iter().map(&mut unite).collect())
        })
    }

    /// Gives a PV one more name, under which it is found everywhere.
    pub fn add_alias(&self, pv: PvId, alias: &PvName, by: &By) -> Result<(), Error> {
        let mut each = self.add_aliases(&[(pv, alias.clone())], by)?;
        each.pop().unwrap_or(Ok(()))
    }

    /// Gives PVs one more name each, those that are free in one change, and says of each what became of it.
    pub fn add_aliases(&self, wanted: &[(PvId, PvName)], by: &By) -> Result<Vec<Result<(), Error>>, Error> {
        self.engine.change(|registry, change| {
            let mut names = GivenNames::over(registry);
            let mut add = |pv: PvId, alias: &PvName| {
                let entry = registry.entry(pv).ok_or(Error::UnknownPv { pv })?;
                match names.owner(alias) {
                    Some(owner) if owner.id == pv && owner.name != *alias => return Ok(()), // it has it already
                    Some(owner) => return Err(taken(alias, owner)),
                    None => names.give(alias, entry),
                }
                change.aliases_added.push((alias.clone(), pv));
                change.audit.push(AuditRecord::of_pv(Action::AliasAdded, by, entry, alias.as_str()));
                Ok(())
            };
            Ok(wanted.iter().map(|(pv, alias)| add(*pv, alias)).collect())
        })
    }

    /// Takes one of its other names from a PV.
    pub fn remove_alias(&self, pv: PvId, alias: &PvName, by: &By) -> Result<(), Error> {
        self.engine.change(|registry, change| {
            let entry = registry.entry(pv).ok_or(Error::UnknownPv { pv })?;
            if !registry.aliases(pv).contains(alias) {
                return Err(Error::NothingThere { what: format!("alias {alias} of the PV {}", entry.name) });
            }
            change.aliases_removed.push(alias.clone());
            change.audit.push(AuditRecord::of_pv(Action::AliasRemoved, by, entry, alias.as_str()));
            Ok(())
        })
    }

    /// Takes PVs out of the archive; see `Roster`. Those that are out already get the new fate.
    pub fn remove(&self, pvs: &[PvId], data: DataFate, by: &By) -> Result<(), Error> {
        self.engine.change(|registry, change| {
            change.can_be_undone = true;
            let mut seen = HashSet::new();
            for pv in pvs.iter().filter(|pv| seen.insert(**pv)) {
                let removed = match (registry.entry(*pv), registry.removed().get(pv)) {
                    (Some(entry), _) => removal(registry, entry, data, by),
                    (None, Some(removed)) if removed.data != data => {
                        RemovedPv { data, by: by.clone(), ..removed.clone() }
                    }
                    _ => continue,
                };
                let action = if data == DataFate::Keep { Action::Removed } else { Action::Deleted };
                change.audit.push(AuditRecord::of_pv(action, by, &removed.entry, ""));
                change.removed.push(removed);
            }
            Ok(())
        })
    }

    /// Brings back a PV that was removed; see `Roster`.
    pub fn restore(&self, pv: PvId, name: Option<&PvName>, by: &By) -> Result<PvEntry, Error> {
        let mut each = self.restore_all(&[(pv, name.cloned())], by)?;
        each.pop().unwrap_or(Err(Error::UnknownPv { pv }))
    }

    /// Brings back PVs that were removed; see `Roster`.
    pub fn restore_all(
        &self,
        wanted: &[(PvId, Option<PvName>)],
        by: &By,
    ) -> Result<Vec<Result<PvEntry, Error>>, Error> {
        self.engine.change(|registry, change| {
            change.can_be_undone = true;
            let mut names = GivenNames::over(registry);
            Ok(wanted.iter().map(|(pv, name)| names.restore(change, *pv, name.as_ref(), by)).collect())
        })
    }
}

impl Writer {
    /// The numbers of PVs that the archive keeps for itself; see `Roster`.
    pub fn own(&self, names: &[PvName], now: Timestamp) -> Result<Vec<PvId>, Error> {
        let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Paused);
        let numbers = self.engine.change(|registry, change| {
            let known: HashMap<&PvName, PvId> = registry.own().iter().map(|(pv, entry)| (&entry.name, *pv)).collect();
            let mut next = registry.next();
            let numbers = names.iter().map(|name| {
                known.get(name).copied().unwrap_or_else(|| {
                    let id = PvId(next);
                    next += 1;
                    change.own.push(PvEntry { id, name: name.clone(), settings: settings.clone(), added: now });
                    id
                })
            });
            Ok(numbers.collect())
        })?;
        self.engine.ingest().tail.learn(&self.engine.registry());
        Ok(numbers)
    }
}

impl Roster for Writer {
    fn find(&self, name: &str) -> Option<PvEntry> {
        self.engine.registry().find(name).cloned()
    }

    fn entries(&self) -> Vec<PvEntry> {
        self.engine.registry().entries()
    }

    fn register(&self, pvs: &[(PvName, PvSettings)], by: &By) -> Result<Vec<PvEntry>, Error> {
        Writer::register(self, pvs, by)
    }

    fn adopt(&self, pvs: &[(PvName, PvSettings)], by: &By, detail: &str) -> Result<Vec<PvEntry>, Error> {
        Writer::adopt(self, pvs, by, detail)
    }

    fn groups(&self) -> Vec<Group> {
        self.engine.registry().groups().values().cloned().collect()
    }

    fn set_groups(&self, groups: &[Group], by: &By) -> Result<(), Error> {
        Writer::set_groups(self, groups, by)
    }

    fn remove_group(&self, name: &RuleName, by: &By) -> Result<bool, Error> {
        Writer::remove_group(self, name, by)
    }

    fn rename_all(&self, wanted: &[Renaming], old: OldName, by: &By) -> Result<Vec<EntriesOr<Error>>, Error> {
        Writer::rename_all(self, wanted, old, by)
    }

    fn unite(&self, pairs: &[(PvId, PvId)], by: &By) -> Result<Vec<Result<(), Error>>, Error> {
        Writer::unite(self, pairs, by)
    }

    fn remove(&self, pvs: &[PvId], data: DataFate, by: &By) -> Result<(), Error> {
        Writer::remove(self, pvs, data, by)
    }

    fn restore_all(&self, wanted: &[(PvId, Option<PvName>)], by: &By) -> Result<Vec<Result<PvEntry, Error>>, Error> {
        Writer::restore_all(self, wanted, by)
    }

    fn undo(&self, number: u64, by: &By) -> Result<UndoPlan, Error> {
        Writer::undo(self, number, by)
    }

    fn mirror(&self, list: &Mirror, by: &By) -> Result<Mirrored, Error> {
        Writer::mirror(self, list, by)
    }

    fn own(&self, names: &[PvName], now: Timestamp) -> Result<Vec<PvId>, Error> {
        Writer::own(self, names, now)
    }

    fn unfinished(&self) -> Unfinished {
        let reader = Reader::new(self.engine.clone());
        self.engine.unfinished(|pv| reader.last_before(pv, Timestamp::MAX).ok().flatten())
    }
}

/// Adds lines of the audit to a change: which PVs of those that are there stop, go on, or are archived in another way. Of those that
/// were added in the same go there is nothing to tell.
fn tell_changes(registry: &Registry, change: &mut Change, pvs: &[(PvName, PvSettings)], by: &By) {
    for (name, settings) in pvs {
        let differs = |entry: &&PvEntry| entry.settings != *settings && entry.added != by.at;
        let Some(entry) = registry.find(name.as_str()).filter(differs) else { continue };
        if entry.settings.state != settings.state {
            let action = if settings.state == PvState::Paused { Action::Paused } else { Action::Resumed };
            change.audit.push(AuditRecord::of_pv(action, by, entry, ""));
        }
        let (before, after) = (entry.settings.to_string(), settings.to_string());
        if before != after {
            change.audit.push(AuditRecord::of_pv(Action::Changed, by, entry, &format!("{before} → {after}")));
        }
    }
}

/// Adds lines of the audit to a change: which PVs were not in the list before it.
fn tell_new(registry: &Registry, change: &mut Change, entries: &[PvEntry], by: &By) {
    let mut told = HashSet::new();
    let is_new = |entry: &&PvEntry| registry.entry(entry.id).is_none() && told.insert(entry.id);
    let lines = entries.iter().filter(is_new).map(|entry| AuditRecord::of_pv(Action::Added, by, entry, ""));
    change.audit.extend(lines.collect::<Vec<_>>());
}

/// Adds PVs to a change, or other settings of those that are there.
fn enter(registry: &Registry, change: &mut Change, pvs: &[(PvName, PvSettings)], now: Timestamp) -> Vec<PvEntry> {
    let entries = new_entries(registry, pvs, now);
    let mut back = HashSet::new();
    for entry in &entries {
        let Some(removed) = registry.removed().get(&entry.id).filter(|_| back.insert(entry.id)) else {
            continue;
        };
        change.gaps.extend(absence(removed, now));
        let aliases = free_aliases(registry, removed).into_iter();
        let aliases = aliases.filter(|alias| pvs.iter().all(|(name, _)| name != alias));
        change.aliases_added.extend(aliases.map(|alias| (alias, entry.id)));
    }
    change.put.clone_from(&entries);
    entries
}

/// What the entries are to be: settings as given, numbers and times of those that are known.
fn new_entries(registry: &Registry, pvs: &[(PvName, PvSettings)], now: Timestamp) -> Vec<PvEntry> {
    let mut next = registry.next();
    let mut news: HashMap<&PvName, PvEntry> = HashMap::new();
    let mut entries = Vec::with_capacity(pvs.len());
    for (name, settings) in pvs {
        let known = news.get(name).or_else(|| registry.find(name.as_str()));
        let entry = match known {
            Some(known) => PvEntry { settings: settings.clone(), ..known.clone() },
            None => {
                let id = registry.kept(name).unwrap_or_else(|| {
                    next += 1;
                    PvId(next - 1)
                });
                PvEntry { id, name: name.clone(), settings: settings.clone(), added: now }
            }
        };
        news.insert(name, entry.clone());
        entries.push(entry);
    }
    entries
}

/// What is kept of a PV that is taken out.
fn removal(registry: &Registry, entry: &PvEntry, data: DataFate, by: &By) -> RemovedPv {
    let aliases = registry.aliases(entry.id).to_vec();
    RemovedPv { entry: entry.clone(), aliases, data, since: by.at, by: by.clone() }
}

/// The aliases of a removed PV that nobody has taken meanwhile.
fn free_aliases(registry: &Registry, removed: &RemovedPv) -> Vec<PvName> {
    removed.aliases.iter().filter(|alias| registry.find(alias.as_str()).is_none()).cloned().collect()
}

impl Engine {
    /// What was found at the opening, with the last row of each share.
    pub(crate) fn unfinished(&self, last_row: impl Fn(PvId) -> Option<Sample>) -> Unfinished {
        let mut unfinished = self.unfinished.lock().expect("no holder of this lock panics").clone();
        let own: BTreeMap<String, PvId> = {
            let registry = self.registry();
            registry.own().iter().map(|(pv, entry)| (entry.name.to_string(), *pv)).collect()
        };
        for (name, share) in LedgerScale::Minute.names().zip(&mut unfinished.shares) {
            share.last_row = own.get(&name).and_then(|pv| last_row(*pv));
        }
        unfinished
    }
}

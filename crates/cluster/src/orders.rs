//! Orders to a cluster: each goes to the node that has the shard of its PV, and is in force when that node has it in the journal.

use std::{collections::BTreeMap, thread, time::Duration};

use archive::{
    AddRequest, Added, By, Change, Copies, DataFate, Directory, DirectoryError, Fault, FieldName, Group, GroupStatus,
    Manual, OldName, Orders, Policies, PvEntry, PvId, PvName, RuleName, Rulebook, Unanswered,
};

use crate::{
    board::Seat,
    numbers::{PVS_MAX, global, split},
    rows::StepRow,
    seams::Open,
    whole::{Whole, of_order, undo_of, unnumbered},
    wire::{self, AddRow, Answer, Question},
};

/// Another node gets at most this many requests at a time.
const AT_ONCE: usize = 500;
/// What one node cannot say to another.
const UNSAID: &str = "this asks for a setting that is the usual one anyway, which a policy may not leave so";
/// So many names are claimed at a time.
const CLAIMED_AT_ONCE: usize = 32;
/// A shard takes no further PVs when so many numbers are left, as the archive gives some to itself and to fields.
const ROOM_LEFT: u32 = 50_000;
/// So often it is looked whether the journal tells of a PV that another node has added.
const LOOKS: u32 = 50;

pub(crate) fn not_now(message: impl Into<String>) -> DirectoryError {
    DirectoryError { fault: Fault::NotNow, message: message.into() }
}

fn failed(message: impl Into<String>) -> DirectoryError {
    DirectoryError { fault: Fault::Failed, message: message.into() }
}

fn behind() -> DirectoryError {
    not_now("the order is carried out, but the shared store does not tell of it here yet; look again")
}

/// Adds PVs to a shard that is open here.
pub(crate) fn add_here(
    open: &Open,
    requests: Vec<AddRequest>,
    by: &By,
) -> Result<Vec<(PvEntry, Added)>, DirectoryError> {
    needs_room(open, requests.len())?;
    open.orders.add(requests, by)
}

/// Enters PVs as paused in a shard that is open here.
pub(crate) fn enter_here(open: &Open, names: Vec<PvName>, by: &By) -> Result<usize, DirectoryError> {
    needs_room(open, names.len())?;
    open.orders.enter_paused(names, by)
}

fn needs_room(open: &Open, more: usize) -> Result<(), DirectoryError> {
    let there = open.directory.names().len() + open.directory.removed().len();
    if there + more > (PVS_MAX - ROOM_LEFT) as usize {
        return Err(failed("the shard of these PVs is full; give them another one with a rule of [cluster]"));
    }
    Ok(())
}

impl Whole {
    /// The shard of each name: where it lies, or where it belongs from now on.
    fn shards_of(&self, names: &[&PvName]) -> Result<Vec<u32>, DirectoryError> {
        let shard_of = |name: &PvName| -> Result<u32, DirectoryError> {
            if let Some(entry) = self.find(name.as_str()) {
                return Ok(split(entry.id).0);
            }
            let wanted = self.board.plan.placement.shard_of(name.as_str());
            let claimed = self.board.claims.claim(name.as_str(), wanted);
            claimed.map_err(|error| not_now(format!("{name} cannot be added: {error}")))
        };
        let share = names.len().div_ceil(CLAIMED_AT_ONCE).max(1);
        thread::scope(|scope| {
            let claim = |names: &[&PvName]| names.iter().map(|name| shard_of(name)).collect::<Vec<_>>();
            let claims: Vec<_> = names.chunks(share).map(|names| scope.spawn(move || claim(names))).collect();
            let each = claims.into_iter().flat_map(|claim| claim.join().expect("no claim panics"));
            each.collect()
        })
    }

    fn add_to(&self, shard: u32, requests: &[AddRequest], by: &By) -> Result<Vec<(PvEntry, Added)>, DirectoryError> {
        // Here all of them are one transaction.
        let at_once = if matches!(self.board.seat(shard), Seat::Here(_)) { requests.len().max(1) } else { AT_ONCE };
        let mut added = Vec::new();
        for some in requests.chunks(at_once) {
            let rows = self.rows_for(shard, some)?;
            added.extend(self.board.at(
                shard,
                |open| {
                    let added = add_here(open, some.to_vec(), by)?;
                    Ok(added.into_iter().map(|(entry, how)| (entry.id, how)).collect::<Vec<_>>())
                },
                || Question::Add(shard, rows.clone(), by.into()),
                |answer| match answer {
                    Answer::Added(each) if each.len() == some.len() => {
                        each.into_iter().map(|(pv, how)| Some((PvId(pv), wire::added(how)?))).collect()
                    }
                    _ => None,
                },
            )?);
        }
        let added = added.into_iter().map(|(local, how)| Ok((self.told(shard, local)?, how))).collect();
        self.board.tell_copy(shard, by.at);
        added
    }

    /// Requests as another node is told of them; an error if another node has their shard and they cannot be said.
    fn rows_for(&self, shard: u32, requests: &[AddRequest]) -> Result<Vec<AddRow>, DirectoryError> {
        let rows = requests.iter().map(|request| AddRow::of(request).ok_or(&request.name));
        match (rows.collect(), self.board.seat(shard)) {
            (Ok(rows), _) => Ok(rows),
            // Should it go elsewhere meanwhile, nothing is asked for there.
            (Err(_), Seat::Here(_)) => Ok(Vec::new()),
            (Err(name), Seat::There(node)) => {
                Err(failed(format!("{name}: {UNSAID}; ask node {node}, which records it")))
            }
            (Err(_), Seat::Nowhere) => Err(not_now(self.board.nobody_has(shard))),
        }
    }

    /// The entry of a PV that another node has just changed: the journal has it, and so will the list here.
    fn told(&self, shard: u32, local: PvId) -> Result<PvEntry, DirectoryError> {
        self.told_when(shard, local, |_| true)
    }

    /// The same, as soon as the list here says that of it.
    fn told_when(&self, shard: u32, local: PvId, is_so: impl Fn(&PvEntry) -> bool) -> Result<PvEntry, DirectoryError> {
        let pv = global(shard, local).ok_or_else(|| failed(format!("shard {shard} is full")))?;
        let told = || self.entry(pv).filter(&is_so);
        for _ in 0..LOOKS {
            if let Some(entry) = told() {
                return Ok(entry);
            }
            if self.board.follow_one(shard).is_err() || told().is_none() {
                thread::sleep(Duration::from_millis(100));
            }
        }
        told().ok_or_else(behind)
    }

    fn told_by_now(&self, shard: u32, local: PvId) -> Result<PvEntry, DirectoryError> {
        global(shard, local).and_then(|pv| self.entry(pv)).ok_or_else(behind)
    }

    /// An error if a PV is wanted twice where shards have no copies.
    fn has_copies_for(&self, requests: &[AddRequest]) -> Result<(), DirectoryError> {
        let wants_two = |request: &&AddRequest| request.wishes.copies == Some(Copies::Two);
        match requests.iter().find(wants_two).filter(|_| self.board.plan.copies == Copies::One) {
            None => Ok(()),
            Some(request) => Err(failed(format!(
                "{} cannot be recorded twice: no policy of this cluster says copies = 2, so its shards have no copies",
                request.name
            ))),
        }
    }

    /// Gives an order about some PVs, shard by shard.
    fn switch(
        &self,
        pvs: &[PvId],
        here: impl Fn(&Open, &[PvId]) -> Result<Vec<Change>, DirectoryError>,
        there: impl Fn(u32, Vec<u32>) -> Question,
        by: &By,
    ) -> Result<Vec<Change>, DirectoryError> {
        let mut changes = vec![Change::Unknown; pvs.len()];
        for (shard, some) in Whole::by_shard(pvs, |pv| *pv) {
            let locals: Vec<PvId> = some.iter().map(|(_, local, _)| *local).collect();
            let made = self.board.at(
                shard,
                |open| here(open, &locals),
                || there(shard, locals.iter().map(|pv| pv.0).collect()),
                |answer| match answer {
                    Answer::Changes(rows) => wire::changes(&rows).filter(|made| made.len() == locals.len()),
                    _ => None,
                },
            )?;
            some.iter().zip(made).for_each(|((place, ..), change)| changes[*place] = change);
            self.board.tell_copy(shard, by.at);
        }
        Ok(changes)
    }

    /// Some things, each with its place among all, by the shard of its PV.
    pub(crate) fn by_shard<'t, T>(
        things: &'t [T],
        pv: impl Fn(&T) -> PvId,
    ) -> impl Iterator<Item = (u32, Vec<(usize, PvId, &'t T)>)> {
        let mut of: BTreeMap<u32, Vec<(usize, PvId, &'t T)>> = BTreeMap::new();
        for (place, thing) in things.iter().enumerate() {
            let (shard, local) = split(pv(thing));
            of.entry(shard).or_default().push((place, local, thing));
        }
        of.into_iter()
    }

    /// The shard of a PV has this name from now on; why not, if another has it.
    pub(crate) fn claimed(&self, name: &PvName, shard: u32) -> Result<(), DirectoryError> {
        let claimed = self.board.claims.claim(name.as_str(), shard);
        let claimed = claimed.map_err(|error| not_now(format!("the name {name} cannot be had: {error}")))?;
        if claimed == shard {
            return Ok(());
        }
        let message =
            format!("the name {name} belongs to shard {claimed} of the cluster, and the PV lies in shard {shard}");
        Err(DirectoryError { fault: Fault::NameTaken, message })
    }
}

impl Orders for Whole {
    fn add(&self, requests: Vec<AddRequest>, by: &By) -> Result<Vec<(PvEntry, Added)>, DirectoryError> {
        self.has_copies_for(&requests)?;
        let shards = self.shards_of(&requests.iter().map(|request| &request.name).collect::<Vec<_>>())?;
        let mut of: BTreeMap<u32, (Vec<usize>, Vec<AddRequest>)> = BTreeMap::new();
        for (place, (shard, request)) in shards.into_iter().zip(requests).enumerate() {
            let (places, some) = of.entry(shard).or_default();
            places.push(place);
            some.push(request);
        }
        let mut added = BTreeMap::new();
        for (shard, (places, requests)) in of {
            added.extend(places.into_iter().zip(self.add_to(shard, &requests, by)?));
        }
        Ok(added.into_values().collect())
    }

    /// Nothing is claimed: a name that no PV has is that of a new one.
    fn foresee(&self, requests: Vec<AddRequest>) -> Result<Vec<Added>, DirectoryError> {
        let mut foreseen = vec![Added::New; requests.len()];
        let mut of: BTreeMap<u32, Vec<(usize, AddRequest)>> = BTreeMap::new();
        for (place, request) in requests.into_iter().enumerate() {
            match (self.find(request.name.as_str()), self.board.list_lacks()) {
                (Some(entry), _) => of.entry(split(entry.id).0).or_default().push((place, request)),
                // Nobody knows whether it is there.
                (None, Some(why)) => return Err(not_now(why)),
                (None, None) => {}
            }
        }
        for (shard, some) in of {
            let (places, requests): (Vec<usize>, Vec<AddRequest>) = some.into_iter().unzip();
            let rows = self.rows_for(shard, &requests)?;
            let told = self.board.at(
                shard,
                |open| open.orders.foresee(requests.clone()),
                || Question::Foresee(shard, rows.clone()),
                |answer| match answer {
                    Answer::Foreseen(rows) => wire::all_added(&rows).filter(|added| added.len() == requests.len()),
                    _ => None,
                },
            )?;
            places.iter().zip(told).for_each(|(place, added)| foreseen[*place] = added);
        }
        Ok(foreseen)
    }

    fn enter_paused(&self, names: Vec<PvName>, by: &By) -> Result<usize, DirectoryError> {
        let news: Vec<PvName> = names.into_iter().filter(|name| self.find(name.as_str()).is_none()).collect();
        let shards = self.shards_of(&news.iter().collect::<Vec<_>>())?;
        let mut of: BTreeMap<u32, Vec<PvName>> = BTreeMap::new();
        shards.into_iter().zip(news).for_each(|(shard, name)| of.entry(shard).or_default().push(name));
        let mut entered = 0;
        for (shard, names) in of {
            for some in names.chunks(AT_ONCE) {
                entered += self.board.at(
                    shard,
                    |open| enter_here(open, some.to_vec(), by),
                    || Question::EnterPaused(shard, some.iter().map(PvName::to_string).collect(), by.into()),
                    |answer| if let Answer::Number(number) = answer { usize::try_from(number).ok() } else { None },
                )?;
            }
            self.board.tell_copy(shard, by.at);
        }
        Ok(entered)
    }

    fn enter_fields(&self, fields: &[(PvEntry, FieldName)], by: &By) -> Result<(), DirectoryError> {
        for (shard, some) in Whole::by_shard(fields, |(entry, _)| entry.id) {
            let here = |open: &Open| {
                let local = |(_, local, (entry, field)): &(usize, PvId, &(PvEntry, FieldName))| {
                    (PvEntry { id: *local, ..entry.clone() }, field.clone())
                };
                open.orders.enter_fields(&some.iter().map(local).collect::<Vec<_>>(), by)
            };
            let rows = || some.iter().map(|(_, local, (_, field))| (local.0, field.as_str().to_owned())).collect();
            self.board.at(shard, here, || Question::EnterFields(shard, rows(), by.into()), wire::done)?;
            self.board.tell_copy(shard, by.at);
        }
        Ok(())
    }

    fn pause(&self, pvs: &[PvId], by: &By) -> Result<Vec<Change>, DirectoryError> {
        self.switch(
            pvs,
            |open, pvs| open.orders.pause(pvs, by),
            |shard, pvs| Question::Pause(shard, pvs, by.into()),
            by,
        )
    }

    fn resume(&self, pvs: &[PvId], by: &By) -> Result<Vec<Change>, DirectoryError> {
        self.switch(
            pvs,
            |open, pvs| open.orders.resume(pvs, by),
            |shard, pvs| Question::Resume(shard, pvs, by.into()),
            by,
        )
    }

    fn remove(&self, pvs: &[PvId], data: DataFate, by: &By) -> Result<Vec<Change>, DirectoryError> {
        let there = |shard, pvs| Question::Remove(shard, pvs, data == DataFate::Delete, by.into());
        self.switch(pvs, |open, pvs| open.orders.remove(pvs, data, by), there, by)
    }

    fn rename(&self, pv: PvId, to: &PvName, old: OldName, by: &By) -> Result<PvEntry, DirectoryError> {
        let (shard, local) = split(pv);
        self.claimed(to, shard).map_err(|error| match error.fault {
            Fault::NameTaken => DirectoryError { message: error.message + ": add it anew under that name", ..error },
            _ => error,
        })?;
        let renamed = self.board.at(
            shard,
            |open| Ok(open.orders.rename(local, to, old, by)?.id),
            || Question::Rename(shard, local.0, to.to_string(), old == OldName::Alias, by.into()),
            |answer| if let Answer::Entry(pv) = answer { Some(PvId(pv)) } else { None },
        )?;
        let renamed = self.told_when(shard, renamed, |entry| entry.name == *to);
        self.board.tell_copy(shard, by.at);
        renamed
    }

    fn restore_all(
        &self,
        wanted: &[(PvId, Option<PvName>)],
        by: &By,
    ) -> Result<Vec<Result<PvEntry, DirectoryError>>, DirectoryError> {
        let mut restored: Vec<Result<PvEntry, DirectoryError>> =
            wanted.iter().map(|_| Err(failed("nothing was said of it"))).collect();
        for (shard, mut some) in Whole::by_shard(wanted, |(pv, _)| *pv) {
            some.retain(|(place, _, (_, name))| match name.as_ref().map(|name| self.claimed(name, shard)) {
                Some(Err(error)) => {
                    restored[*place] = Err(error);
                    false
                }
                _ => true,
            });
            if some.is_empty() {
                continue;
            }
            let here = |open: &Open| {
                let some: Vec<_> = some.iter().map(|(_, local, (_, name))| (*local, name.clone())).collect();
                let each = open.orders.restore_all(&some, by)?;
                Ok(each.into_iter().map(|one| one.map(|entry| entry.id)).collect::<Vec<_>>())
            };
            let question = || {
                let name = |name: &Option<PvName>| name.as_ref().map(PvName::to_string);
                let rows = some.iter().map(|(_, local, (_, as_name))| (local.0, name(as_name))).collect();
                Question::Restore(shard, rows, by.into())
            };
            let each = self.board.at(shard, here, question, wire::each)?;
            self.board.tell_copy(shard, by.at);
            let mut is_behind = false;
            for ((place, ..), one) in some.iter().zip(each) {
                restored[*place] = one.and_then(|local| {
                    // One wait is enough for all of them.
                    let entry = if is_behind { self.told_by_now(shard, local) } else { self.told(shard, local) };
                    is_behind |= entry.is_err();
                    entry
                });
            }
        }
        Ok(restored)
    }

    fn undo(&self, number: u64, by: &By) -> Result<archive::UndoPlan, DirectoryError> {
        let (shard, local) = unnumbered(number);
        self.board.look_again(shard);
        let planned =
            self.board.list(shard, |list| list.undo_plan(local)).unwrap_or(Err(DirectoryError::no_order(number)));
        let order = planned.map_err(|error| of_order(error, number))?.order;
        let now = |pv: PvId| {
            let entry = self.told(shard, pv).ok()?;
            Some(PvEntry { id: pv, ..entry })
        };
        let plan = self.board.at(
            shard,
            |open| open.orders.undo(local, by).map(Undone::Here),
            || Question::Undo(shard, local, by.into()),
            |answer| if let Answer::Steps(rows) = answer { Some(Undone::There(rows)) } else { None },
        );
        let plan = plan.map_err(|error| of_order(error, number))?;
        self.board.tell_copy(shard, by.at);
        let plan = match plan {
            Undone::Here(plan) => plan,
            Undone::There(rows) => {
                let steps = rows.iter().map(|row| row.step(now)).collect::<Option<Vec<_>>>();
                let behind = "the order is taken back, but the shared store does not tell of it here yet; look again";
                archive::UndoPlan { order, steps: steps.ok_or_else(|| not_now(behind))? }
            }
        };
        Ok(undo_of(shard, plan))
    }

    fn unreached(&self) -> Vec<Unanswered> {
        self.board.mirroring.unreached()
    }
}

/// What taking an order back did: here, or as another node tells it.
enum Undone {
    Here(archive::UndoPlan),
    There(Vec<StepRow>),
}

/// What is said to whoever wants other rules.
const BY_FILE: &str = "the nodes of a cluster have the policies and groups of their config files: change these, the same on each node, and start them anew";

impl Rulebook for Whole {
    fn policies(&self) -> Policies {
        self.board.plan.policies.clone()
    }

    fn plan(&self, policies: &Policies, manual: Manual) -> archive::Plan {
        let names = self.names();
        let entries: Vec<PvEntry> = names.iter().filter_map(|named| self.entry(named.pv)).collect();
        archive::Plan::of(&entries, policies, archive::Protocol::Ca, manual)
    }

    fn apply(&self, _policies: &Policies, _manual: Manual, _by: &By) -> Result<archive::Plan, DirectoryError> {
        Err(failed(BY_FILE))
    }

    fn groups(&self) -> Vec<GroupStatus> {
        let open = self.board.open();
        open.values().next().map(|open| open.rulebook.groups()).unwrap_or_default()
    }

    fn group(&self, name: &RuleName) -> Option<GroupStatus> {
        self.board.open().values().next().and_then(|open| open.rulebook.group(name))
    }

    fn groups_that_differ(&self, of_file: &[Group]) -> Vec<RuleName> {
        let open = self.board.open();
        open.values().next().map(|open| open.rulebook.groups_that_differ(of_file)).unwrap_or_default()
    }

    fn apply_groups(&self, of_file: &[Group]) -> Vec<RuleName> {
        let open = self.board.open();
        open.values().fold(Vec::new(), |_, open| open.rulebook.apply_groups(of_file))
    }

    fn set_group(&self, _group: &Group, _by: &By) -> Result<Option<()>, DirectoryError> {
        Err(failed(BY_FILE))
    }

    fn make_groups(&self, groups: Vec<Group>, _by: &By) -> Result<(), DirectoryError> {
        if groups.is_empty() { Ok(()) } else { Err(failed(BY_FILE)) }
    }

    fn remove_group(&self, _name: &RuleName, _by: &By) -> Result<Option<Change>, DirectoryError> {
        Err(failed(BY_FILE))
    }
}

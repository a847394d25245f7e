//! Orders to a cluster: each goes to the node that has the shard of its PV, and is in force when that node has it in the journal.

use std::{
    collections::BTreeMap,
    thread,
    time::{Duration, Instant},
};

use archive::{
    AddRequest, Added, By, Change, DataFate, Directory, DirectoryError, Fault, FieldName, Group, GroupStatus, Manual,
    OldName, Orders, Policies, PvEntry, PvId, PvName, RuleName, Rulebook,
};

use crate::{
    board::{Open, Seat},
    numbers::{PVS_MAX, global, split},
    whole::{Whole, entry_of, of_order, undo_of, unnumbered},
    wire::{self, AddRow, Answer, ByRow, Question},
};

/// Another node gets at most this many requests at a time.
const AT_ONCE: usize = 500;
/// So many names are claimed at a time.
const CLAIMED_AT_ONCE: usize = 8;
/// A shard takes no further PVs when so many numbers are left, as the archive gives some to itself and to fields.
const ROOM_LEFT: u32 = 50_000;
/// So often it is looked whether the journal tells of a PV that another node has added.
const LOOKS: u32 = 50;

/// While a shard goes from one node to another, orders about its PVs wait so long, and are tried again that often.
const WAITS: Duration = Duration::from_secs(10);
const AGAIN: Duration = Duration::from_millis(200);

/// Gives an order, again while nobody takes it at present. It may have been carried out before, and then is so again.
pub(crate) fn until_taken<T>(order: impl Fn() -> Result<T, DirectoryError>) -> Result<T, DirectoryError> {
    let begun = Instant::now();
    loop {
        match order() {
            Err(error) if error.fault == Fault::NotNow && begun.elapsed() < WAITS => thread::sleep(AGAIN),
            done => return done,
        }
    }
}

pub(crate) fn not_now(message: impl Into<String>) -> DirectoryError {
    DirectoryError { fault: Fault::NotNow, message: message.into() }
}

fn failed(message: impl Into<String>) -> DirectoryError {
    DirectoryError { fault: Fault::Failed, message: message.into() }
}

/// Adds PVs to a shard that is open here.
pub(crate) fn add_here(
    open: &Open,
    requests: Vec<AddRequest>,
    by: &By,
) -> Result<Vec<(PvEntry, Added)>, DirectoryError> {
    let there = open.directory.names().len() + open.directory.removed().len();
    if there + requests.len() > (PVS_MAX - ROOM_LEFT) as usize {
        return Err(failed("the shard of these PVs is full; give them another one with a rule of [cluster]"));
    }
    open.orders.add(requests, by)
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

    fn add_to(&self, shard: u32, requests: Vec<AddRequest>, by: &By) -> Result<Vec<(PvEntry, Added)>, DirectoryError> {
        let node = match self.board.seat(shard) {
            Seat::Here(open) => {
                let added = add_here(&open, requests, by)?;
                let ours = |(entry, how): (PvEntry, Added)| Some((entry_of(shard, entry)?, how));
                return Ok(added.into_iter().filter_map(ours).collect());
            }
            Seat::There(node) => node,
            Seat::Nowhere => return Err(not_now(self.board.nobody_has(shard))),
        };
        let mut added = Vec::new();
        for some in requests.chunks(AT_ONCE) {
            let row = |request: &AddRequest| {
                AddRow::of(request).ok_or_else(|| {
                    let told = "asks for a setting that is the usual one anyway, which a policy may not leave so";
                    failed(format!("{} {told}; ask node {node}, which records it", request.name))
                })
            };
            let rows = some.iter().map(row).collect::<Result<Vec<_>, _>>()?;
            match self.board.ask(&node, &Question::Add(shard, rows, ByRow::from(by)))? {
                Answer::Added(each) if each.len() == some.len() => {
                    let of = |(pv, how): (u32, u8)| Some((PvId(pv), wire::added(how)?));
                    let each: Option<Vec<(PvId, Added)>> = each.into_iter().map(of).collect();
                    added.extend(each.ok_or_else(|| self.board.nonsense(&node))?);
                }
                _ => return Err(self.board.nonsense(&node)),
            }
        }
        added.into_iter().map(|(local, how)| Ok((self.told(shard, local)?, how))).collect()
    }

    /// The entry of a PV that another node has just changed: the journal has it, and so will the list here.
    fn told(&self, shard: u32, local: PvId) -> Result<PvEntry, DirectoryError> {
        let pv = global(shard, local).ok_or_else(|| failed(format!("shard {shard} is full")))?;
        for _ in 0..LOOKS {
            if let Some(entry) = self.entry(pv) {
                return Ok(entry);
            }
            if self.board.follow_one(shard).is_err() || self.entry(pv).is_none() {
                thread::sleep(Duration::from_millis(100));
            }
        }
        Err(not_now("the order is carried out, but the shared store does not tell of it here yet; look again"))
    }

    /// Gives an order about some PVs, shard by shard.
    fn switch(
        &self,
        pvs: &[PvId],
        here: impl Fn(&Open, &[PvId]) -> Result<Vec<Change>, DirectoryError>,
        there: impl Fn(u32, Vec<u32>) -> Question,
    ) -> Result<Vec<Change>, DirectoryError> {
        let mut changes = vec![Change::Unknown; pvs.len()];
        let mut places: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        pvs.iter().enumerate().for_each(|(place, pv)| places.entry(split(*pv).0).or_default().push(place));
        for (shard, places) in places {
            let locals: Vec<PvId> = places.iter().map(|place| split(pvs[*place]).1).collect();
            let made = until_taken(|| match self.board.seat(shard) {
                Seat::Here(open) => here(&open, &locals),
                Seat::There(node) => {
                    let question = there(shard, locals.iter().map(|pv| pv.0).collect());
                    let Answer::Changes(rows) = self.board.ask(&node, &question)? else {
                        return Err(self.board.nonsense(&node));
                    };
                    // The next list that somebody asks for here is to show it.
                    if let Err(error) = self.board.follow_one(shard) {
                        tracing::warn!("the list of shard {shard} is behind: {error}");
                    }
                    wire::changes(&rows).ok_or_else(|| self.board.nonsense(&node))
                }
                Seat::Nowhere => Err(not_now(self.board.nobody_has(shard))),
            })?;
            places.into_iter().zip(made).for_each(|(place, change)| changes[place] = change);
        }
        Ok(changes)
    }

    /// The shard of a PV, if it is open here.
    pub(crate) fn only_here(&self, pv: PvId) -> Result<(u32, std::sync::Arc<Open>, PvId), DirectoryError> {
        let (shard, local) = split(pv);
        match self.board.seat(shard) {
            Seat::Here(open) => Ok((shard, open, local)),
            Seat::There(node) => {
                Err(not_now(format!("node {node} has this PV, and takes this order itself alone: ask there")))
            }
            Seat::Nowhere => Err(not_now(self.board.nobody_has(shard))),
        }
    }
}

impl Orders for Whole {
    fn add(&self, requests: Vec<AddRequest>, by: &By) -> Result<Vec<(PvEntry, Added)>, DirectoryError> {
        let shards = self.shards_of(&requests.iter().map(|request| &request.name).collect::<Vec<_>>())?;
        let mut of: BTreeMap<u32, (Vec<usize>, Vec<AddRequest>)> = BTreeMap::new();
        for (place, (shard, request)) in shards.into_iter().zip(requests).enumerate() {
            let (places, some) = of.entry(shard).or_default();
            places.push(place);
            some.push(request);
        }
        let mut added = BTreeMap::new();
        for (shard, (places, requests)) in of {
            let some = until_taken(|| self.add_to(shard, requests.clone(), by))?;
            added.extend(places.into_iter().zip(some));
        }
        Ok(added.into_values().collect())
    }

    fn foresee(&self, _requests: Vec<AddRequest>) -> Result<Vec<Added>, DirectoryError> {
        Err(failed("a cluster does not say beforehand what adding PVs would do"))
    }

    fn enter_paused(&self, _names: Vec<PvName>, _by: &By) -> Result<usize, DirectoryError> {
        Err(failed("PVs of other archives cannot be entered into the list of a cluster"))
    }

    fn enter_fields(&self, fields: &[(PvEntry, FieldName)], by: &By) -> Result<(), DirectoryError> {
        for (entry, field) in fields {
            let (_, open, local) = self.only_here(entry.id)?;
            open.orders.enter_fields(&[(PvEntry { id: local, ..entry.clone() }, field.clone())], by)?;
        }
        Ok(())
    }

    fn pause(&self, pvs: &[PvId], by: &By) -> Result<Vec<Change>, DirectoryError> {
        self.switch(pvs, |open, pvs| open.orders.pause(pvs, by), |shard, pvs| Question::Pause(shard, pvs, by.into()))
    }

    fn resume(&self, pvs: &[PvId], by: &By) -> Result<Vec<Change>, DirectoryError> {
        self.switch(pvs, |open, pvs| open.orders.resume(pvs, by), |shard, pvs| Question::Resume(shard, pvs, by.into()))
    }

    fn remove(&self, pvs: &[PvId], data: DataFate, by: &By) -> Result<Vec<Change>, DirectoryError> {
        let there = |shard, pvs| Question::Remove(shard, pvs, data == DataFate::Delete, by.into());
        self.switch(pvs, |open, pvs| open.orders.remove(pvs, data, by), there)
    }

    fn rename(&self, pv: PvId, to: &PvName, old: OldName, by: &By) -> Result<PvEntry, DirectoryError> {
        let (shard, local) = split(pv);
        let claimed = self.board.claims.claim(to.as_str(), shard);
        let claimed = claimed.map_err(|error| not_now(format!("the name {to} cannot be had: {error}")))?;
        if claimed != shard {
            let message = format!(
                "the name {to} belongs to shard {claimed} of the cluster, and the PV lies in shard {shard}: add it anew under that name"
            );
            return Err(DirectoryError { fault: Fault::NameTaken, message });
        }
        match self.board.seat(shard) {
            Seat::Here(open) => {
                let entry = open.orders.rename(local, to, old, by)?;
                entry_of(shard, entry).ok_or_else(|| failed("the shard is full"))
            }
            Seat::There(node) => {
                let stays = old == OldName::Alias;
                let question = Question::Rename(shard, local.0, to.to_string(), stays, by.into());
                let Answer::Entry(_) = self.board.ask(&node, &question)? else {
                    return Err(self.board.nonsense(&node));
                };
                self.board.follow_one(shard).map_err(not_now)?;
                self.told(shard, local)
            }
            Seat::Nowhere => Err(not_now(self.board.nobody_has(shard))),
        }
    }

    fn restore_all(
        &self,
        wanted: &[(PvId, Option<PvName>)],
        by: &By,
    ) -> Result<Vec<Result<PvEntry, DirectoryError>>, DirectoryError> {
        wanted
            .iter()
            .map(|(pv, name)| {
                let (shard, open, local) = self.only_here(*pv)?;
                let restored = open.orders.restore_all(&[(local, name.clone())], by)?.pop();
                let restored = restored.unwrap_or_else(|| Err(failed("nothing was said of it")));
                Ok(restored.and_then(|entry| entry_of(shard, entry).ok_or_else(|| failed("the shard is full"))))
            })
            .collect()
    }

    fn undo(&self, number: u64, by: &By) -> Result<archive::UndoPlan, DirectoryError> {
        let (shard, local) = unnumbered(number);
        match self.board.seat(shard) {
            Seat::Here(open) => {
                Ok(undo_of(shard, open.orders.undo(local, by).map_err(|error| of_order(error, number))?))
            }
            Seat::There(node) => Err(not_now(format!(
                "node {node} has the PVs of this order, and takes it back itself alone: ask there"
            ))),
            Seat::Nowhere => Err(not_now(self.board.nobody_has(shard))),
        }
    }
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

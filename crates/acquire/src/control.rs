//! The commands over acquisition: add, pause, resume, rename, remove, restore, status. Commands pass here, never samples.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use archive::{
    AddRequest, Added, Brief, By, Change, DataFate, FieldName, Group, GroupStatus, Ioc, Keeper, Manual, Method, Mirror,
    Mirrored, OldName, Origin, Plan, Policies, PvEntry, PvId, PvName, PvSettings, PvState, Renaming, Roster, RuleName,
    Rules, Status, Totals, Touched, UndoPlan, UndoTo,
    ledger::{Account, Trouble},
};
use sample::Timestamp;

use crate::{
    acquire::Shared,
    channel::Channel,
    fields::{fields_of, missing_fields, name_of, settings_of, with_fields},
    groups::SwitchedGroups,
    lock::lock,
    names::Alias,
};

/// Rows of the ledger that wait for the writer are waited for so long, and looked for so often.
const ROWS_WAIT: Duration = Duration::from_millis(500);
const ROWS_LOOK: Duration = Duration::from_millis(1);

/// A handle on acquisition, for whoever gives orders.
#[derive(Debug)]
pub struct Control<S> {
    shared: Arc<Shared<S>>,
}

impl<S> Clone for Control<S> {
    fn clone(&self) -> Control<S> {
        Control { shared: self.shared.clone() }
    }
}

impl<S: Roster> Control<S> {
    pub(crate) fn new(shared: Arc<Shared<S>>) -> Control<S> {
        Control { shared }
    }

    /// The list of PVs itself, for what acquisition need not know.
    pub fn roster(&self) -> &S {
        &self.shared.sink
    }

    /// Archives PVs, and the fields that belong to them; durable when it returns. The answers come in the order of the requests.
    pub fn add(&self, requests: Vec<AddRequest>, by: &By) -> Result<Vec<(PvEntry, Added)>, S::Error> {
        let _command = lock(&self.shared.commands);
        let wanted: Vec<(PvName, PvSettings)> = requests.into_iter().map(|request| self.judge(request)).collect();
        let asked = wanted.len();
        let entries = self.shared.sink.register(&with_fields(wanted, |name| self.find(name)), by)?;
        let mut answers = self.install(entries, by.at);
        answers.truncate(asked);
        Ok(answers)
    }

    /// What adding them would do.
    pub fn foresee(&self, requests: Vec<AddRequest>) -> Vec<Added> {
        let would = |request| {
            let (name, settings) = self.judge(request);
            match self.find(&name) {
                None => Added::New,
                Some(present) if present.settings == settings => Added::Already,
                Some(_) => Added::Changed,
            }
        };
        requests.into_iter().map(would).collect()
    }

    fn find(&self, name: &PvName) -> Option<PvEntry> {
        self.shared.sink.find(name.as_str())
    }

    /// Puts PVs to work as the store has them, those that are not so already.
    fn install(&self, entries: Vec<PvEntry>, now: Timestamp) -> Vec<(PvEntry, Added)> {
        let mut answers = Vec::with_capacity(entries.len());
        for entry in entries {
            let added = match self.shared.with_channel(entry.id, |channel| channel.entry.settings == entry.settings) {
                None => Added::New,
                Some(true) => Added::Already,
                Some(false) => Added::Changed,
            };
            if added != Added::Already {
                self.shared.install(entry.clone(), now);
            }
            answers.push((entry, added));
        }
        answers
    }

    /// What these policies would change of the PVs that there are.
    pub fn plan(&self, policies: &Policies, manual: Manual) -> Plan {
        Plan::of(&self.shared.sink.entries(), policies, self.shared.default_protocol, manual)
    }

    /// Changes it, all in one change, and adds PVs by these policies from now on. PVs whose server need not be asked for anything else
    /// keep their connection; those whose server must keep the old subscription until the new one has a value.
    pub fn apply(&self, policies: &Policies, manual: Manual, by: &By) -> Result<Plan, S::Error> {
        let _command = lock(&self.shared.commands);
        let plan = self.plan(policies, manual);
        if !plan.changes.is_empty() {
            let wanted = plan.changes.iter().map(|planned| (planned.entry.name.clone(), planned.to.clone())).collect();
            let wanted = with_fields(wanted, |name| self.find(name));
            let entries = self.shared.sink.adopt(&wanted, by, &plan.summary())?;
            self.install(entries, by.at);
        }
        *lock(&self.shared.policies) = policies.clone();
        Ok(plan)
    }

    /// The groups that have switches, and how they stand.
    pub fn groups(&self) -> Vec<GroupStatus> {
        self.shared.with_groups(SwitchedGroups::status)
    }

    /// A group that has switches, and how it stands.
    pub fn group(&self, name: &RuleName) -> Option<GroupStatus> {
        self.shared.with_groups(|groups| groups.status_of(name))
    }

    /// The groups of the config file whose switches would be others by these: those that are new, changed or gone.
    pub fn groups_that_differ(&self, of_file: &[Group]) -> Vec<RuleName> {
        let present: Vec<Group> =
            self.groups().into_iter().filter(|of| of.keeper == Keeper::Config).map(|of| of.group).collect();
        let changed = of_file.iter().filter(|group| !present.contains(group));
        let is_gone = |group: &&Group| of_file.iter().all(|other| other.name != group.name);
        changed.chain(present.iter().filter(is_gone)).map(|group| group.name.clone()).collect()
    }

    /// Puts these groups in place of those that the config file named before, and gives those that differ.
    pub fn apply_groups(&self, of_file: &[Group]) -> Vec<RuleName> {
        let _command = lock(&self.shared.commands);
        let differing = self.groups_that_differ(of_file);
        let of_file = |name: &RuleName| of_file.iter().find(|group| group.name == *name);
        let set = differing.iter().filter_map(of_file).map(|group| (group.clone(), Keeper::Config));
        self.shared.set_groups(&set.collect::<Vec<_>>());
        let gone = differing.iter().filter(|name| of_file(name).is_none()).cloned();
        self.shared.remove_groups(&gone.collect::<Vec<_>>());
        differing
    }

    /// Gives a group its switches. None if the config file says what they are.
    pub fn set_group(&self, group: &Group, by: &By) -> Result<Option<()>, S::Error> {
        let _command = lock(&self.shared.commands);
        if self.shared.with_groups(|groups| groups.keeper(&group.name)) == Some(Keeper::Config) {
            return Ok(None);
        }
        self.set_in_archive(vec![group.clone()], by).map(Some)
    }

    /// Gives their switches to those of the groups that there are not yet, all in one change.
    pub fn make_groups(&self, mut groups: Vec<Group>, by: &By) -> Result<(), S::Error> {
        let _command = lock(&self.shared.commands);
        self.shared.with_groups(|known| groups.retain(|group| known.keeper(&group.name).is_none()));
        if groups.is_empty() { Ok(()) } else { self.set_in_archive(groups, by) }
    }

    fn set_in_archive(&self, groups: Vec<Group>, by: &By) -> Result<(), S::Error> {
        self.shared.sink.set_groups(&groups, by)?;
        let groups = groups.into_iter().map(|group| (group, Keeper::Archive));
        self.shared.set_groups(&groups.collect::<Vec<_>>());
        Ok(())
    }

    /// Takes its switches from a group, which is enabled from then on.
    pub fn remove_group(&self, name: &RuleName, by: &By) -> Result<Option<Change>, S::Error> {
        let _command = lock(&self.shared.commands);
        if self.shared.with_groups(|groups| groups.keeper(name)) == Some(Keeper::Config) {
            return Ok(None);
        }
        let was_there = self.shared.sink.remove_group(name, by)?;
        self.shared.remove_groups(std::slice::from_ref(name));
        Ok(Some(if was_there { Change::Done } else { Change::Unknown }))
    }

    /// Enters PVs that were archived elsewhere into the list, paused, and says how many are new. Those that are there stay as
    /// they are.
    pub fn enter_paused(&self, names: Vec<PvName>, by: &By) -> Result<usize, S::Error> {
        let _command = lock(&self.shared.commands);
        let settings = PvSettings::plain(self.shared.default_protocol, Method::Monitor, PvState::Paused);
        let news = names.into_iter().filter(|name| self.shared.sink.find(name.as_str()).is_none());
        let wanted: Vec<(PvName, PvSettings)> = news.map(|name| (name, settings.clone())).collect();
        if wanted.is_empty() {
            return Ok(0);
        }
        let entries = self.shared.sink.register(&wanted, by)?;
        let count = entries.len();
        entries.into_iter().for_each(|entry| self.shared.install(entry, by.at));
        Ok(count)
    }

    /// Enters fields of PVs that were archived with them elsewhere, each with its PV, as fields that are paused or not as their PV is.
    /// Those that are there stay as they are.
    pub fn enter_fields(&self, fields: &[(PvEntry, FieldName)], by: &By) -> Result<(), S::Error> {
        let _command = lock(&self.shared.commands);
        let names = fields.iter().filter_map(|(owner, field)| Some((name_of(&owner.name, field)?, owner)));
        let news = names.filter(|(name, _)| self.find(name).is_none());
        let wanted: Vec<(PvName, PvSettings)> =
            news.map(|(name, owner)| (name, settings_of(&owner.settings))).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let entries = self.shared.sink.register(&wanted, by)?;
        entries.into_iter().for_each(|entry| self.shared.install(entry, by.at));
        Ok(())
    }

    /// Stops taking samples; the PVs keep their places and their data. All of them are one change.
    pub fn pause(&self, pvs: &[PvId], by: &By) -> Result<Vec<Change>, S::Error> {
        self.set_state(pvs, PvState::Paused, by)
    }

    /// Takes samples again.
    pub fn resume(&self, pvs: &[PvId], by: &By) -> Result<Vec<Change>, S::Error> {
        self.set_state(pvs, PvState::Active, by)
    }

    /// Takes PVs out of the archive, all of them in one change.
    pub fn remove(&self, pvs: &[PvId], data: DataFate, by: &By) -> Result<Vec<Change>, S::Error> {
        let _command = lock(&self.shared.commands);
        let is_known = |pv: &PvId| self.shared.with_channel(*pv, |_| ()).is_some();
        let mut known: Vec<PvId> = pvs.iter().copied().filter(is_known).collect();
        let fields: Vec<PvId> = self.fields_of(pvs).iter().map(|entry| entry.id).collect();
        known.extend(&fields);
        self.shared.sink.remove(&known, data, by)?; // first, so that a PV that cannot be removed goes on
        let changes = pvs.iter().map(|pv| self.shared.uninstall(*pv));
        let changes = changes.map(|gone| if gone { Change::Done } else { Change::Unknown }).collect();
        fields.iter().for_each(|pv| _ = self.shared.uninstall(*pv));
        Ok(changes)
    }

    /// Gives a PV another name, under which it is acquired from now on.
    pub fn rename(&self, pv: PvId, to: &PvName, old: OldName, by: &By) -> Result<PvEntry, S::Error> {
        only(self.rename_all(&[(pv, to.clone())], old, by)?)
    }

    /// Gives PVs other names, all in one change, each with its fields, and says for each what became of it.
    pub fn rename_all(
        &self,
        wanted: &[(PvId, PvName)],
        old: OldName,
        by: &By,
    ) -> Result<Vec<Result<PvEntry, S::Error>>, S::Error> {
        let _command = lock(&self.shared.commands);
        let renamings: Vec<Renaming> = wanted.iter().map(|(pv, to)| self.renaming(*pv, to)).collect();
        let each = self.shared.sink.rename_all(&renamings, old, by)?.into_iter();
        let installed = each.map(|renamed| {
            let mut entries = renamed?.into_iter().inspect(|entry| self.shared.install(entry.clone(), by.at));
            let own = entries.next();
            entries.for_each(drop);
            Ok(own.expect("the PV's own entry comes first"))
        });
        Ok(installed.collect())
    }

    fn renaming(&self, pv: PvId, to: &PvName) -> Renaming {
        let former = self.shared.with_channel(pv, |channel| channel.entry.name.clone());
        let renamed = |field: &PvEntry| {
            let suffix = field.name.as_str().strip_prefix(former.as_ref()?.as_str())?;
            Some((field.id, PvName::new(&format!("{to}{suffix}")).ok()?))
        };
        Renaming { pv, to: to.clone(), fields: self.fields_of(&[pv]).iter().filter_map(renamed).collect() }
    }

    /// Takes PVs out that are other names of PVs in the archive, which get these names, all in one change: pairs of a PV and the one
    /// that it is another name of. Says for each what became of it.
    pub fn unite(&self, pairs: &[(PvId, PvId)], by: &By) -> Result<Vec<Result<(), S::Error>>, S::Error> {
        let _command = lock(&self.shared.commands);
        let united = self.shared.sink.unite(pairs, by)?;
        let done = pairs.iter().zip(&united).filter(|(_, done)| done.is_ok());
        done.for_each(|((alias, _), _)| _ = self.shared.uninstall(*alias));
        Ok(united)
    }

    /// Brings back a PV that was removed, as it was then.
    pub fn restore(&self, pv: PvId, name: Option<&PvName>, by: &By) -> Result<PvEntry, S::Error> {
        only(self.restore_all(&[(pv, name.cloned())], by)?)
    }

    /// Brings back PVs that were removed, all in one change, and says for each what became of it.
    pub fn restore_all(
        &self,
        wanted: &[(PvId, Option<PvName>)],
        by: &By,
    ) -> Result<Vec<Result<PvEntry, S::Error>>, S::Error> {
        let _command = lock(&self.shared.commands);
        let restored = self.shared.sink.restore_all(wanted, by)?;
        restored.iter().flatten().for_each(|entry| self.shared.install(entry.clone(), by.at));
        Ok(restored)
    }

    /// Takes back an order, for those of its PVs that were not changed again since, all in one change.
    pub fn undo(&self, number: u64, by: &By) -> Result<UndoPlan, S::Error> {
        let _command = lock(&self.shared.commands);
        let plan = self.shared.sink.undo(number, by)?;
        for step in &plan.steps {
            match &step.to {
                UndoTo::Settings(entry) | UndoTo::Back(entry) => _ = self.install(vec![entry.clone()], by.at),
                UndoTo::Out(_) => _ = self.shared.uninstall(step.pv),
                UndoTo::Refused(_) => {}
            }
        }
        Ok(plan)
    }

    /// Records what another archive records, and nothing else, all of it in one change.
    pub fn mirror(&self, list: &Mirror, by: &By) -> Result<Mirrored, S::Error> {
        let _command = lock(&self.shared.commands);
        let mirrored = self.shared.sink.mirror(list, by)?;
        mirrored.out.iter().for_each(|pv| _ = self.shared.uninstall(*pv));
        mirrored.put.iter().for_each(|entry| self.shared.install(entry.clone(), by.at));
        Ok(mirrored)
    }

    /// Asks PVs that were added for their records' own names, some at a time, and gives those that have another: to be called
    /// every second or so.
    pub fn ask_names(&self, now: Timestamp) -> Vec<Alias> {
        self.shared.ask_names(now)
    }

    /// What describes the record of a PV, where its protocol does not bring that with values (Channel Access): asked of its server when it
    /// was not asked in the last minutes, for which this waits half a second at most.
    pub fn description(&self, pv: PvId, now: Timestamp) -> Option<String> {
        self.shared.describe(pv, now)
    }

    /// All that arrived before this moment is in the store, so that a sign of life may be given for it.
    pub fn heard_until(&self) -> Timestamp {
        self.shared.heard_until()
    }

    /// How a PV fares.
    pub fn status(&self, pv: PvId) -> Option<Status> {
        self.shared.with_channel(pv, |channel| channel.status())
    }

    /// How these PVs fare, as lists tell it, each in its place; none where there is none. Asked of some hundred at a time.
    pub fn briefs(&self, pvs: &[PvId]) -> Vec<Option<Brief>> {
        self.shared.with_channels(pvs, Channel::brief)
    }

    /// What a PV has counted since the last row of the ledger, and since when. Rows that begin before then are in the store, where it
    /// takes anything: to be asked before they are read, and without those that begin later.
    pub fn open_account(&self, pv: PvId) -> Option<(Timestamp, Account)> {
        let until = Instant::now() + ROWS_WAIT;
        loop {
            // Rows are written with the ledger locked: what they have told of is not counted here too.
            let ledger = lock(&self.shared.ledger);
            let since = ledger.minute_began();
            if self.shared.heard_until() > since || Instant::now() >= until {
                return self.shared.with_channel(pv, |channel| (since, channel.unsettled()));
            }
            drop(ledger);
            thread::sleep(ROWS_LOOK);
        }
    }

    /// What the ledger lost or suspects in the last hours, up to its last row of minutes.
    pub fn trouble(&self, now: Timestamp) -> Trouble {
        lock(&self.shared.recent).told(now)
    }

    /// Adds what a row of the ledger says that was written before this start.
    pub fn recall(&self, until: Timestamp, trouble: Trouble) {
        lock(&self.shared.recent).add(until, trouble);
    }

    /// The PVs that came to stand elsewhere since this was asked last.
    pub fn moved(&self) -> Touched {
        self.shared.moved.take()
    }

    /// The IOCs to which there was a connection in this run.
    pub fn iocs(&self) -> Vec<Ioc> {
        self.shared.iocs()
    }

    /// How all of them fare.
    pub fn totals(&self) -> Totals {
        self.shared.totals()
    }

    /// The settings that a request means. What it leaves open stays as it is for a PV that is there, and is that of a policy
    /// for others.
    fn judge(&self, request: AddRequest) -> (PvName, PvSettings) {
        let present = self.shared.sink.find(request.name.as_str());
        let origin = present.as_ref().map(|present| present.settings.rules().origin.clone()).unwrap_or_default();
        let origin = Origin {
            policy_by_hand: origin.policy_by_hand || request.policy.is_some(),
            policy: request.policy.clone().or(origin.policy),
            protocol_by_hand: origin.protocol_by_hand || request.wishes.protocol.is_some(),
            sampling_by_hand: origin.sampling_by_hand || request.wishes.says_sampling(),
        };
        let base = match present {
            Some(present) if request.policy.is_none() => present.settings,
            present => {
                let of_policy = self.policies().settings(request.name.as_str(), self.shared.default_protocol, &origin);
                PvSettings { state: present.map_or(request.state, |present| present.settings.state), ..of_policy }
            }
        };
        let settings = request.wishes.over(&base);
        let found = settings.rules().origin.clone();
        let rules = Rules {
            origin: Origin { policy: found.policy, policy_by_hand: found.policy_by_hand, ..origin },
            ..settings.rules().clone()
        };
        (request.name, PvSettings { rules: rules.shared(), ..settings })
    }

    /// The policies by which PVs are added.
    pub fn policies(&self) -> Policies {
        lock(&self.shared.policies).clone()
    }

    /// The fields that belong to PVs and are in the archive.
    fn fields_of(&self, pvs: &[PvId]) -> Vec<PvEntry> {
        let fields = self.with_fields(pvs).flat_map(|owner| fields_of(&owner, |name| self.find(name)));
        fields.filter(|field| !pvs.contains(&field.id)).collect()
    }

    /// The fields that belong to PVs which are archived from now on, and are not in the archive yet.
    fn missing_fields(&self, pvs: &[PvId]) -> Vec<(PvName, PvSettings)> {
        let missing = |owner: PvEntry| {
            missing_fields(&owner, PvState::Active, |name| self.find(name)).collect::<Vec<(PvName, PvSettings)>>()
        };
        self.with_fields(pvs).flat_map(missing).collect()
    }

    /// Those of some PVs that have fields.
    fn with_fields<'a>(&'a self, pvs: &'a [PvId]) -> impl Iterator<Item = PvEntry> + 'a {
        pvs.iter().filter_map(|pv| {
            let has_fields = |channel: &Channel| !channel.entry.settings.rules().fields.is_empty();
            self.shared.with_channel(*pv, |channel| has_fields(channel).then(|| channel.entry.clone())).flatten()
        })
    }

    /// Pauses or resumes PVs, and the fields that belong to them, all in one change.
    fn set_state(&self, pvs: &[PvId], state: PvState, by: &By) -> Result<Vec<Change>, S::Error> {
        let _command = lock(&self.shared.commands);
        let mut wanted = Vec::new();
        let mut changes = Vec::with_capacity(pvs.len());
        for pv in pvs {
            let entry = self.shared.with_channel(*pv, |channel| channel.entry.clone());
            changes.push(match entry {
                None => Change::Unknown,
                Some(entry) if entry.settings.state == state => Change::Already,
                Some(entry) => {
                    wanted.push((entry.name, PvSettings { state, ..entry.settings }));
                    Change::Done
                }
            });
        }
        if state == PvState::Active {
            wanted.extend(self.missing_fields(pvs));
        }
        let fields = self.fields_of(pvs).into_iter().filter(|field| field.settings.state != state);
        wanted.extend(fields.map(|field| (field.name, PvSettings { state, ..field.settings })));
        if !wanted.is_empty() {
            for entry in self.shared.sink.register(&wanted, by)? {
                self.shared.install(entry, by.at);
            }
        }
        Ok(changes)
    }
}

/// What became of the only PV of a list.
fn only<T, E>(mut each: Vec<Result<T, E>>) -> Result<T, E> {
    each.pop().expect("the answer has one row for each PV of the list")
}

//! The commands over acquisition: add, pause, resume, rename, remove, restore, status. Commands pass here, never samples.

use std::sync::Arc;

use sample::{
    By, DataFate, Method, OldName, Origin, PvEntry, PvId, PvName, PvSettings, PvState, Roster, RuleName, Rules,
    Timestamp,
};

use crate::{
    acquire::{Shared, lock, now},
    ledger::Account,
    policy::{Policies, Wishes},
    status::{Status, Totals},
};

/// A PV that somebody wants archived. What is left open is taken from a policy, the config (protocol) or is the usual (monitor).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddRequest {
    /// Its name, without prefix.
    pub name: PvName,
    /// By which policy, whatever its name fits.
    pub policy: Option<RuleName>,
    /// What is said of it.
    pub wishes: Wishes,
}

impl AddRequest {
    /// A PV of which nothing is said but its name.
    pub fn new(name: PvName) -> AddRequest {
        AddRequest { name, policy: None, wishes: Wishes::default() }
    }
}

/// What adding did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It is archived from now on.
    New,
    /// It was archived already, just so.
    Already,
    /// It was archived already, and now is so by the new settings.
    Changed,
}

/// What a command did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is done.
    Done,
    /// It was so already.
    Already,
    /// There is no such PV.
    Unknown,
}

/// A handle on acquisition, one for each who commands.
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

    /// Archives PVs; durable when it returns. The answers come in the order of the requests.
    pub fn add(&self, requests: Vec<AddRequest>) -> Result<Vec<(PvEntry, Added)>, S::Error> {
        let _command = lock(&self.shared.commands);
        let wanted: Vec<(PvName, PvSettings)> = requests.into_iter().map(|request| self.judge(request)).collect();
        let now = now();
        let entries = self.shared.sink.register(&wanted, now)?;
        let mut answers = Vec::with_capacity(entries.len());
        for entry in entries {
            let added = match self.shared.with_channel(entry.id, |channel| channel.entry.settings.clone()) {
                None => Added::New,
                Some(present) if present == entry.settings => Added::Already,
                Some(_) => Added::Changed,
            };
            if added != Added::Already {
                self.shared.install(entry.clone(), now);
            }
            answers.push((entry, added));
        }
        Ok(answers)
    }

    /// Enters PVs that were archived elsewhere into the list, paused, and says how many are new. Those that are there stay as
    /// they are.
    pub fn enter_paused(&self, names: Vec<PvName>) -> Result<usize, S::Error> {
        let _command = lock(&self.shared.commands);
        let settings = PvSettings::plain(self.shared.default_protocol, Method::Monitor, PvState::Paused);
        let news = names.into_iter().filter(|name| self.shared.sink.find(name.as_str()).is_none());
        let wanted: Vec<(PvName, PvSettings)> = news.map(|name| (name, settings.clone())).collect();
        if wanted.is_empty() {
            return Ok(0);
        }
        let now = now();
        let entries = self.shared.sink.register(&wanted, now)?;
        let count = entries.len();
        entries.into_iter().for_each(|entry| self.shared.install(entry, now));
        Ok(count)
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
        let known: Vec<PvId> = pvs.iter().copied().filter(is_known).collect();
        self.shared.sink.remove(&known, data, by)?; // first, so that a PV that cannot be removed goes on
        let changes = pvs.iter().map(|pv| self.shared.uninstall(*pv));
        Ok(changes.map(|gone| if gone { Change::Done } else { Change::Unknown }).collect())
    }

    /// Gives a PV another name, under which it is acquired from now on.
    pub fn rename(&self, pv: PvId, to: &PvName, old: OldName, by: &By) -> Result<PvEntry, S::Error> {
        let _command = lock(&self.shared.commands);
        let entry = self.shared.sink.rename(pv, to, old, by)?;
        self.shared.install(entry.clone(), by.at);
        Ok(entry)
    }

    /// Brings back a PV that was removed, as it was then.
    pub fn restore(&self, pv: PvId, name: Option<&PvName>, by: &By) -> Result<PvEntry, S::Error> {
        let _command = lock(&self.shared.commands);
        let entry = self.shared.sink.restore(pv, name, by)?;
        self.shared.install(entry.clone(), by.at);
        Ok(entry)
    }

    /// All that arrived before this moment is in the store, so that a sign of life may be given for it.
    pub fn heard_until(&self) -> Timestamp {
        self.shared.heard_until()
    }

    /// How a PV fares.
    pub fn status(&self, pv: PvId) -> Option<Status> {
        self.shared.with_channel(pv, |channel| channel.status())
    }

    /// What a PV has counted since the last row of the ledger, and since when.
    pub fn open_account(&self, pv: PvId) -> Option<(Timestamp, Account)> {
        let since = lock(&self.shared.ledger).minute_began();
        self.shared.with_channel(pv, |channel| (since, channel.unsettled()))
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
                PvSettings { state: present.map_or(PvState::Active, |present| present.settings.state), ..of_policy }
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
        if !wanted.is_empty() {
            for entry in self.shared.sink.switch(&wanted, by)? {
                self.shared.install(entry, by.at);
            }
        }
        Ok(changes)
    }
}

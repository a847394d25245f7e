//! The commands over acquisition: add, pause, resume, rename, remove, restore, status. Commands pass here, never samples.

use std::sync::Arc;

use sample::{By, DataFate, Method, OldName, Protocol, PvEntry, PvId, PvName, PvSettings, PvState, Roster, Timestamp};

use crate::{
    acquire::{Shared, lock, now},
    ledger::Account,
    status::{Status, Totals},
};

/// A PV that somebody wants archived. What is left open is taken from the config (protocol) or is the usual (monitor).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddRequest {
    /// Its name, without prefix.
    pub name: PvName,
    /// By which protocol.
    pub protocol: Option<Protocol>,
    /// When samples are taken.
    pub method: Option<Method>,
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
            let added = match self.shared.with_channel(entry.id, |channel| channel.entry.settings) {
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

    /// The settings that a request means. What it leaves open stays as it is for a PV that is there.
    fn judge(&self, request: AddRequest) -> (PvName, PvSettings) {
        let usual =
            PvSettings { protocol: self.shared.default_protocol, method: Method::Monitor, state: PvState::Active };
        let base = self.shared.sink.find(request.name.as_str()).map_or(usual, |present| present.settings);
        let settings = PvSettings {
            protocol: request.protocol.unwrap_or(base.protocol),
            method: request.method.unwrap_or(base.method),
            state: base.state,
        };
        (request.name, settings)
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

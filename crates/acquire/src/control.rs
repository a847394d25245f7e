//! The commands over acquisition: add, pause, resume, remove, status. Commands pass here, never samples.

use std::sync::Arc;

use sample::{DataFate, Method, Protocol, PvEntry, PvId, PvName, PvSettings, PvState, Sink};

use crate::{
    acquire::{Shared, lock, now},
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
pub struct Control<S: Sink> {
    shared: Arc<Shared<S>>,
}

impl<S: Sink> Clone for Control<S> {
    fn clone(&self) -> Control<S> {
        Control { shared: self.shared.clone() }
    }
}

impl<S: Sink> Control<S> {
    pub(crate) fn new(shared: Arc<Shared<S>>) -> Control<S> {
        Control { shared }
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

    /// Stops taking samples; the PV keeps its place and its data.
    pub fn pause(&self, pv: PvId) -> Result<Change, S::Error> {
        self.set_state(pv, PvState::Paused)
    }

    /// Takes samples again.
    pub fn resume(&self, pv: PvId) -> Result<Change, S::Error> {
        self.set_state(pv, PvState::Active)
    }

    /// Takes a PV out of the archive.
    pub fn remove(&self, pv: PvId, data: DataFate) -> Result<Change, S::Error> {
        let _command = lock(&self.shared.commands);
        if self.shared.with_channel(pv, |_| ()).is_none() {
            return Ok(Change::Unknown);
        }
        self.shared.sink.remove(pv, data)?; // first, so that a PV that cannot be removed goes on
        self.shared.uninstall(pv);
        Ok(Change::Done)
    }

    /// How a PV fares.
    pub fn status(&self, pv: PvId) -> Option<Status> {
        self.shared.with_channel(pv, |channel| channel.status())
    }

    /// How all of them fare.
    pub fn totals(&self) -> Totals {
        self.shared.totals()
    }

    /// The settings that a request means. What it leaves open stays as it is for a PV that is there.
    fn judge(&self, request: AddRequest) -> (PvName, PvSettings) {
        let known = lock(&self.shared.names).get(&request.name).copied();
        let present = known.and_then(|pv| self.shared.with_channel(pv, |channel| channel.entry.settings));
        let usual =
            PvSettings { protocol: self.shared.default_protocol, method: Method::Monitor, state: PvState::Active };
        let base = present.unwrap_or(usual);
        let settings = PvSettings {
            protocol: request.protocol.unwrap_or(base.protocol),
            method: request.method.unwrap_or(base.method),
            state: base.state,
        };
        (request.name, settings)
    }

    fn set_state(&self, pv: PvId, state: PvState) -> Result<Change, S::Error> {
        let _command = lock(&self.shared.commands);
        let Some(entry) = self.shared.with_channel(pv, |channel| channel.entry.clone()) else {
            return Ok(Change::Unknown);
        };
        if entry.settings.state == state {
            return Ok(Change::Already);
        }
        let settings = PvSettings { state, ..entry.settings };
        let now = now();
        for entry in self.shared.sink.register(&[(entry.name, settings)], now)? {
            self.shared.install(entry, now);
        }
        Ok(Change::Done)
    }
}

//! Acquisition asks records for more than their values: for their names, and for what describes them.

use archive::{Connection, Method, Protocol, PvEntry, PvId, PvSettings, PvState, Sink};
use sample::Timestamp;

use super::{DESCRIPTIONS, NAMES, Shared};
use crate::{
    descriptions::Begun,
    lock::lock,
    names::{Alias, Asking},
};

impl<S: Sink> Shared<S> {
    /// Goes on asking for the names of records, and gives those PVs whose record has another.
    pub(crate) fn ask_names(&self, now: Timestamp) -> Vec<Alias> {
        let (new, gone) = lock(&self.names).tick(now);
        gone.into_iter().for_each(|number| self.unsubscribe(NAMES, number));
        for Asking { number, field, protocol } in new {
            self.subscribe(NAMES, number, &PvSettings::plain(protocol, Method::Monitor, PvState::Active), field.into());
        }
        lock(&self.names).take_found()
    }

    /// Reads what describes a record, unless that is known: of a PV by Channel Access that is connected. It takes a moment.
    pub(crate) fn describe(&self, pv: PvId, now: Timestamp) -> Option<String> {
        let (server, name) = self.with_channel(pv, |channel| {
            let PvEntry { name, settings, .. } = &channel.entry;
            let is_asked = settings.protocol == Protocol::Ca && channel.connection() == Connection::Connected;
            let record = name.as_str().strip_suffix(".VAL").unwrap_or(name.as_str());
            // What has a dot is a field itself.
            let record = Some(record).filter(|record| is_asked && !record.contains('.'));
            Some((channel.status().server?, format!("{}.DESC", record?)))
        })??;
        match self.descriptions.begin(pv, server, now) {
            Begun::Known(text) => Some(text),
            Begun::Nothing => None,
            Begun::Read(number) => {
                let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Active);
                self.subscribe(DESCRIPTIONS, number, &settings, name.into());
                let answer = self.descriptions.wait(number, pv, server, now);
                self.unsubscribe(DESCRIPTIONS, number);
                answer
            }
        }
    }
}

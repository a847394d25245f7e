//! Groups of PVs, which other PVs switch on and off.

use std::sync::Arc;

use archive::{Group, Keeper, Method, PvId, PvSettings, PvState, Roster, RuleName, Sink};
use epics::Event;
use sample::Timestamp;

use super::{SWITCHES, Shared, now};
use crate::{convert, groups::SwitchedGroups, lock::lock, slot::ChannelSlot};

impl<S: Roster> Shared<S> {
    /// Those of the config, and those that somebody set and the config does not name.
    pub(super) fn known_groups(&self, of_config: Vec<Group>) -> Vec<(Group, Keeper)> {
        let is_named = |group: &Group| of_config.iter().any(|other| other.name == group.name);
        let own = self.sink.groups().into_iter().filter(|group| !is_named(group));
        let own: Vec<_> = own.map(|group| (group, Keeper::Archive)).collect();
        of_config.into_iter().map(|group| (group, Keeper::Config)).chain(own).collect()
    }
}

impl<S: Sink> Shared<S> {
    /// Lets a channel know whether its groups are disabled.
    pub(super) fn follow_groups(&self, pv: PvId, slot: &ChannelSlot, now: Timestamp) {
        let mut channel = slot.lock();
        let disabled = lock(&self.groups).disable(&channel.entry);
        if channel.is_disabled() != disabled {
            self.run(&mut channel, |channel, record| channel.set_disabled(disabled, now, record), pv, now);
        }
    }

    /// A group stands otherwise than before.
    fn follow_all_groups(&self, now: Timestamp) {
        let slots: Vec<(PvId, Arc<ChannelSlot>)> = self.slots_by_share().into_iter().flatten().collect();
        for (pv, slot) in slots {
            let is_concerned = !slot.lock().entry.settings.rules().groups.is_empty();
            if is_concerned {
                self.follow_groups(pv, &slot, now);
            }
        }
    }

    /// Puts groups in the places of those of their names, and hears their switches.
    pub(crate) fn set_groups(&self, groups: &[(Group, Keeper)]) {
        for (group, keeper) in groups {
            let (new, gone) = lock(&self.groups).set(group, *keeper);
            gone.into_iter().for_each(|number| self.unsubscribe(SWITCHES, number));
            for listening in new {
                let protocol = listening.protocol.unwrap_or(self.default_protocol);
                let settings = PvSettings::plain(protocol, Method::Monitor, PvState::Active);
                self.subscribe(SWITCHES, listening.number, &settings, listening.pv.shared());
            }
        }
        self.follow_all_groups(now());
    }

    /// Takes groups out.
    pub(crate) fn remove_groups(&self, names: &[RuleName]) {
        for name in names {
            let gone = lock(&self.groups).remove(name);
            gone.into_iter().for_each(|number| self.unsubscribe(SWITCHES, number));
        }
        self.follow_all_groups(now());
    }

    pub(crate) fn with_groups<T>(&self, look: impl FnOnce(&SwitchedGroups) -> T) -> T {
        look(&lock(&self.groups))
    }

    /// A PV that switches groups has a new value.
    pub(super) fn switched(&self, number: u32, event: Event) {
        let Event::Updated(reading) = event else { return };
        let now = now();
        let sample = convert::sample(reading, now);
        if lock(&self.groups).hear(number, &sample.value) {
            self.follow_all_groups(now);
        }
    }
}

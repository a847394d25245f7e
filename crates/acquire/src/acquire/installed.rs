//! Putting a PV to work, letting it go on with other settings, and taking it out.

use std::sync::{Arc, atomic::Ordering::Relaxed};

use archive::{PvEntry, PvId, PvState, Sink};
use sample::Timestamp;

use super::{Shared, now, subscriptions::Monitors};
use crate::{
    channel::{Channel, Fact},
    lock::lock,
    names::Names,
    slot::{ChannelSlot, NO_GENERATION},
};

impl<S: Sink> Shared<S> {
    /// Puts a PV to work, or back to work with other settings. From `now` until the first value there is a gap; if only the rules of its
    /// sampling have changed, it goes on without one.
    pub(crate) fn install(&self, entry: PvEntry, now: Timestamp) {
        let pv = entry.id;
        let former = self.slot(pv);
        if let Some(slot) = &former
            && self.adjust(slot, &entry, now)
        {
            return;
        }
        let generation = self.next_generation.fetch_add(1, Relaxed);
        let mut channel = Channel::new(entry.clone(), now);
        if let Some(former) = former {
            former.generations().for_each(|generation| self.unsubscribe(pv, generation));
            channel = std::mem::replace(&mut *former.lock(), Channel::gone(entry.clone(), now));
            channel.listed = false;
        } else {
            self.tally.enter(channel.connection());
            self.moved.note(pv);
            // What was added at another time was asked then.
            let is_added = entry.added == now && entry.settings.state == PvState::Active;
            channel.is_unnamed = self.resolve_aliases && is_added && Names::may_be_alias(&entry.name);
        }
        let active = entry.settings.state == PvState::Active;
        let (name, settings) = (entry.name.clone(), entry.settings.clone());
        let disabled = lock(&self.groups).disable(&entry);
        let begin = |channel: &mut Channel, record: &mut dyn FnMut(Fact)| {
            channel.begin(entry, now, record);
            channel.set_disabled(disabled, now, record);
        };
        self.run(&mut channel, begin, pv, now);
        let slot = ChannelSlot::new(generation, channel);
        self.write_channels().insert(pv, slot.clone());
        // A switch may have been heard after it was asked and before the place was known.
        self.follow_groups(pv, &slot, now);
        if active {
            self.subscribe(pv, generation, &settings, name.shared());
        }
    }

    /// Lets a channel go on with other rules of sampling, if nothing else is to change. What the server must know of them is
    /// asked for by a second subscription, which takes the place of the first.
    fn adjust(&self, slot: &Arc<ChannelSlot>, entry: &PvEntry, now: Timestamp) -> bool {
        let pv = entry.id;
        let former = {
            let mut channel = slot.lock();
            let former = channel.entry.clone();
            let (old, new) = (&former.settings, &entry.settings);
            let is_same = former.name == entry.name && old.protocol == new.protocol && old.state == new.state;
            if !is_same || new.state != PvState::Active {
                return false;
            }
            self.run(&mut channel, |channel, record| channel.adjust(entry.clone(), record), pv, now);
            former
        };
        if Monitors::of(&former.settings) != Monitors::of(&entry.settings) {
            let generation = self.next_generation.fetch_add(1, Relaxed);
            let given_up = slot.next.swap(generation, Relaxed);
            if given_up != NO_GENERATION {
                self.unsubscribe(pv, given_up);
            }
            self.subscribe(pv, generation, &entry.settings, entry.name.shared());
        }
        self.follow_groups(pv, slot, now);
        true
    }

    /// Takes a PV out, and says whether it was there; what it had counted stays in the totals.
    pub(crate) fn uninstall(&self, pv: PvId) -> bool {
        let Some(slot) = self.write_channels().remove(pv) else { return false };
        slot.generations().for_each(|generation| self.unsubscribe(pv, generation));
        let mut ledger = lock(&self.ledger); // before the channel, as where rows are written
        let (now, mut channel) = (now(), slot.lock());
        self.run(&mut channel, |channel, record| channel.end(now, record), pv, now);
        ledger.depart(pv, &mut channel);
        self.tally.leave(channel.connection());
        self.moved.note(pv);
        true
    }
}

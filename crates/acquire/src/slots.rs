//! The places of channels by the numbers of their PVs: found without hashing, as each update looks for its own.

use std::sync::Arc;

use archive::PvId;

use crate::slot::ChannelSlot;

/// Numbers are given out one after the other, so that there is hardly a hole.
#[derive(Debug, Default)]
pub(crate) struct Slots(Vec<Option<Arc<ChannelSlot>>>);

impl Slots {
    pub(crate) fn get(&self, pv: PvId) -> Option<&Arc<ChannelSlot>> {
        self.0.get(pv.0 as usize)?.as_ref()
    }

    pub(crate) fn insert(&mut self, pv: PvId, slot: Arc<ChannelSlot>) {
        let place = pv.0 as usize;
        if place >= self.0.len() {
            self.0.resize(place + 1, None);
        }
        self.0[place] = Some(slot);
    }

    pub(crate) fn remove(&mut self, pv: PvId) -> Option<Arc<ChannelSlot>> {
        self.0.get_mut(pv.0 as usize)?.take()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (PvId, &Arc<ChannelSlot>)> {
        let places = self.0.iter().enumerate();
        places.filter_map(|(place, slot)| Some((PvId(place as u32), slot.as_ref()?)))
    }
}

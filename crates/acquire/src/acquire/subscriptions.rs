//! Subscriptions: what a server is asked for, and which of two is heard while one takes the place of the other.

use std::sync::{Arc, atomic::Ordering::Relaxed};

use archive::{Changes, Deadband, Pipeline, Protocol, PvId, PvSettings, Sink};
use epics::{Event, Key};

use super::Shared;
use crate::slot::{ChannelSlot, NO_GENERATION};

impl<S: Sink> Shared<S> {
    /// Whether a subscription is the one to listen to. One that is to replace it becomes that with its first value.
    pub(super) fn is_heard(&self, pv: PvId, slot: &ChannelSlot, generation: u32, event: &Event) -> bool {
        if slot.generation() == generation {
            return true;
        }
        let is_sign = matches!(event, Event::Updated(_) | Event::Filtered);
        // Another may have taken its place meanwhile.
        let is_ready = is_sign && slot.next.compare_exchange(generation, NO_GENERATION, Relaxed, Relaxed).is_ok();
        if is_ready {
            let former = slot.generation.swap(generation, Relaxed);
            self.unsubscribe(pv, former);
        }
        is_ready
    }

    /// Asks for a PV, by its protocol; what comes is told to `receive` with a key of that generation.
    pub(super) fn subscribe(&self, pv: PvId, generation: u32, settings: &PvSettings, name: Arc<str>) {
        let clients = self.read_clients();
        let Some(clients) = clients.as_ref() else { return };
        let Monitors { ca, pva } = Monitors::of(settings);
        match settings.protocol {
            Protocol::Ca => clients.ca.subscribe_shared(key(pv, generation), name, ca),
            Protocol::Pva => clients.pva.subscribe_shared(key(pv, generation), name, pva),
        }
    }

    pub(super) fn unsubscribe(&self, pv: PvId, generation: u32) {
        let clients = self.read_clients();
        let Some(clients) = clients.as_ref() else { return };
        clients.ca.unsubscribe(key(pv, generation));
        clients.pva.unsubscribe(key(pv, generation));
    }
}

/// What a server is asked for, by either protocol.
#[derive(PartialEq)]
pub(super) struct Monitors {
    ca: epics::ca::Monitor,
    pva: epics::pva::Monitor,
}

impl Monitors {
    /// What the settings of a PV mean for its server.
    pub(super) fn of(settings: &PvSettings) -> Monitors {
        use epics::ca::{Mask, filter};
        let rules = settings.rules();
        let mask = match rules.changes {
            Changes::Archive => Mask::ARCHIVE,
            Changes::Value => Mask::VALUE,
            Changes::Any => Mask::ARCHIVE | Mask::VALUE,
        };
        let deadband = rules.deadband.map(|deadband| match deadband {
            Deadband::Absolute(width) => filter::FilterBand::Absolute(width),
            Deadband::Percent(percent) => filter::FilterBand::Percent(percent),
        });
        let mask = mask | Mask::ALARM;
        let ca = epics::ca::Monitor { mask, deadband, ..Default::default() };
        let pipeline = rules.pipeline == Pipeline::On;
        let pva = epics::pva::Monitor { pipeline, changes: Some(mask), ..Default::default() };
        Monitors { ca, pva }
    }
}

fn key(pv: PvId, generation: u32) -> Key {
    Key(u64::from(generation) << 32 | u64::from(pv.0))
}

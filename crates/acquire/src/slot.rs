//! The place of a channel, and which of its subscriptions is heard.

use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicU32, Ordering::Relaxed},
};

use crate::{channel::Channel, lock::lock};

/// No generation has this number, which would take years of changes without a pause.
pub(crate) const NO_GENERATION: u32 = u32::MAX;

/// A channel's place. The generation, of which no two subscriptions have the same, tells events of the present subscription from
/// late ones of a former.
#[derive(Debug)]
pub(crate) struct ChannelSlot {
    pub(crate) generation: AtomicU32,
    /// That of the subscription which takes the place of the present one with its first value, so that none is lost in between.
    pub(crate) next: AtomicU32,
    channel: Mutex<Channel>,
}

impl ChannelSlot {
    pub(crate) fn new(generation: u32, channel: Channel) -> Arc<ChannelSlot> {
        let (generation, next) = (AtomicU32::new(generation), AtomicU32::new(NO_GENERATION));
        Arc::new(ChannelSlot { generation, next, channel: Mutex::new(channel) })
    }

    pub(crate) fn generation(&self) -> u32 {
        self.generation.load(Relaxed)
    }

    /// Both subscriptions that there may be.
    pub(crate) fn generations(&self) -> impl Iterator<Item = u32> {
        // The next one first: it may become the present one in between, and then stands here twice rather than not at all.
        let next = self.next.load(Relaxed);
        [next, self.generation()].into_iter().filter(|generation| *generation != NO_GENERATION)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Channel> {
        lock(&self.channel)
    }
}

//! Which servers were restarted, as their beacons said, and whether that is why a channel was lost.
//!
//! A beacon proves a restart only together with a circuit that was lost: anybody can send one, and so can a second server behind
//! the same address. The two come in any order: the first beacon may be overtaken by the search, and a circuit to a host that was
//! switched off is given up long after the host is back.

use std::{
    collections::HashMap,
    net::SocketAddr,
    time::{Duration, Instant},
};

/// A beacon that counts anew so long before the loss, or after the return, still tells of it. A server sends one every 15 s at
/// most, a silent circuit is given up after 35.
const APART: Duration = Duration::from_secs(60);

/// Restarts by server. The list of beacons bounds how many servers there are.
#[derive(Debug, Default)]
pub(crate) struct Restarts {
    by_server: HashMap<SocketAddr, (u32, Instant)>,
}

impl Restarts {
    /// Notes one, and gives how many there were.
    pub(crate) fn add(&mut self, server: SocketAddr, now: Instant) -> u32 {
        let (count, at) = self.by_server.entry(server).or_insert((0, now));
        (*count, *at) = (count.wrapping_add(1), now);
        *count
    }

    /// How many there were.
    pub(crate) fn count(&self, server: SocketAddr) -> u32 {
        self.by_server.get(&server).map_or(0, |(count, _)| *count)
    }

    /// Whether the last one explains that a channel was lost at that time.
    pub(crate) fn is_of_loss(&self, server: SocketAddr, lost: Instant) -> bool {
        self.by_server.get(&server).is_some_and(|(_, at)| *at + APART > lost)
    }
}

/// Whether a channel that is back since then is so after the restart that is told of now.
pub(crate) fn is_of_return(since: Instant, now: Instant) -> bool {
    now.duration_since(since) < APART
}

//! Servers: what a client knows of each server to which it had a circuit, beside the PVs that are there. Pure: the time is an argument.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// More servers than any site has; further ones are not told of.
const SERVERS_MAX: usize = 65_536;
/// A beacon that counts anew tells of a restart if a circuit was lost so shortly before or after it. A silent circuit is given up after 35 s.
const APART: Duration = Duration::from_secs(60);

/// What a client knows of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Server {
    /// Where it is.
    pub address: SocketAddr,
    /// Circuits that are open.
    pub circuits: u64,
    /// Since when there has been one, or none.
    pub since: Instant,
    /// Circuits that were opened, ever.
    pub opened: u64,
    /// Circuits that were lost; one that was ended because nothing was wanted there is none.
    pub lost: u64,
    /// How often it was started anew, as far as that was proved.
    pub restarts: u64,
    /// When it was last.
    pub restarted: Option<Instant>,
    /// When its last beacon came.
    pub beacon: Option<Instant>,
    last_lost: Option<Instant>,
    counted_anew: Option<Instant>,
    run: Option<[u8; 12]>,
}

/// All of them, as the tasks of a client share them.
#[derive(Debug, Default)]
pub(crate) struct Servers(Mutex<HashMap<SocketAddr, Server>>);

impl Servers {
    fn lock(&self) -> MutexGuard<'_, HashMap<SocketAddr, Server>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// In the order of their addresses.
    pub(crate) fn told(&self) -> Vec<Server> {
        let mut all: Vec<Server> = self.lock().values().copied().collect();
        all.sort_by_key(|server| server.address);
        all
    }

    /// A circuit was opened, in that run of the server if it is known.
    pub(crate) fn opened(&self, address: SocketAddr, run: Option<[u8; 12]>, now: Instant) {
        let mut servers = self.lock();
        if servers.len() >= SERVERS_MAX && !servers.contains_key(&address) {
            return;
        }
        let server = servers.entry(address).or_insert_with(|| Server::new(address, now));
        (server.circuits, server.opened) = (server.circuits + 1, server.opened + 1);
        if server.circuits == 1 {
            server.since = now;
        }
        if run.is_some() && server.run.is_some() && run != server.run {
            server.restarted(now);
        }
        server.run = run.or(server.run);
    }

    /// A circuit that was open ended, because it was lost or because nothing was wanted there.
    pub(crate) fn closed(&self, address: SocketAddr, is_lost: bool, now: Instant) {
        self.change(address, |server| {
            server.circuits = server.circuits.saturating_sub(1);
            if server.circuits == 0 {
                server.since = now;
            }
            if is_lost {
                (server.lost, server.last_lost) = (server.lost + 1, Some(now));
                if server.counted_anew.take().is_some_and(|at| now.duration_since(at) < APART) {
                    server.restarted(now);
                }
            }
        });
    }

    /// A beacon came.
    pub(crate) fn beacon(&self, address: SocketAddr, now: Instant) {
        self.change(address, |server| server.beacon = Some(now));
    }

    /// The beacons of a server count from the beginning again. Where no circuit is lost nothing was restarted.
    pub(crate) fn counts_anew(&self, address: SocketAddr, now: Instant) {
        self.change(address, |server| match server.last_lost.take() {
            Some(lost) if now.duration_since(lost) < APART => server.restarted(now),
            _ => server.counted_anew = Some(now),
        });
    }

    /// Changes what is known of a server to which there was a circuit; anybody can send beacons in the name of others.
    fn change(&self, address: SocketAddr, change: impl FnOnce(&mut Server)) {
        if let Some(server) = self.lock().get_mut(&address) {
            change(server);
        }
    }
}

impl Server {
    fn new(address: SocketAddr, now: Instant) -> Server {
        Server {
            address,
            circuits: 0,
            since: now,
            opened: 0,
            lost: 0,
            restarts: 0,
            restarted: None,
            beacon: None,
            last_lost: None,
            counted_anew: None,
            run: None,
        }
    }

    fn restarted(&mut self, now: Instant) {
        (self.restarts, self.restarted) = (self.restarts + 1, Some(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IOC: ([u8; 4], u16) = ([10, 0, 0, 7], 5064);

    fn one(servers: &Servers) -> Server {
        let told = servers.told();
        assert_eq!(told.len(), 1);
        told[0]
    }

    #[test]
    fn circuits_are_counted_with_since_when() {
        let (servers, begun) = (Servers::default(), Instant::now());
        let at = |seconds| begun + Duration::from_secs(seconds);
        servers.beacon(IOC.into(), at(0));
        assert!(servers.told().is_empty(), "a beacon alone makes no server");
        servers.opened(IOC.into(), None, at(1));
        servers.beacon(IOC.into(), at(2));
        assert_eq!((one(&servers).circuits, one(&servers).since, one(&servers).beacon), (1, at(1), Some(at(2))));
        servers.closed(IOC.into(), true, at(5));
        assert_eq!((one(&servers).circuits, one(&servers).lost, one(&servers).since), (0, 1, at(5)));
        servers.opened(IOC.into(), None, at(9));
        servers.closed(IOC.into(), false, at(10));
        assert_eq!((one(&servers).opened, one(&servers).lost, one(&servers).restarts), (2, 1, 0));
    }

    #[test]
    fn a_restart_is_a_lost_circuit_with_beacons_that_count_anew() {
        let (servers, begun) = (Servers::default(), Instant::now());
        let at = |seconds| begun + Duration::from_secs(seconds);
        servers.opened(IOC.into(), None, at(0));
        servers.counts_anew(IOC.into(), at(1));
        assert_eq!(one(&servers).restarts, 0, "no circuit was lost");
        servers.closed(IOC.into(), true, at(40));
        assert_eq!((one(&servers).restarts, one(&servers).restarted), (1, Some(at(40))));
        servers.opened(IOC.into(), None, at(50));
        servers.closed(IOC.into(), true, at(200));
        servers.counts_anew(IOC.into(), at(230));
        servers.counts_anew(IOC.into(), at(231));
        assert_eq!(one(&servers).restarts, 2, "one loss is one restart");
        servers.opened(IOC.into(), None, at(300));
        servers.closed(IOC.into(), true, at(500));
        servers.counts_anew(IOC.into(), at(600));
        assert_eq!(one(&servers).restarts, 2, "too far apart");
    }

    #[test]
    fn another_run_of_a_server_is_a_restart() {
        let (servers, now) = (Servers::default(), Instant::now());
        for run in [None, Some([1; 12]), Some([1; 12]), None, Some([2; 12])] {
            servers.opened(IOC.into(), run, now);
        }
        assert_eq!((one(&servers).restarts, one(&servers).circuits), (1, 5));
    }
}

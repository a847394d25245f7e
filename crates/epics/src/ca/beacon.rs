//! Beacons: what servers say on their own every few seconds, and what it means when one comes up.
//!
//! ```text
//!   beacon := header(command 13, type: minor version, count: TCP port, parameter1: number, parameter2: address or 0)
//! ```
//!
//! A server counts its beacons from 0. One that counts from the beginning was restarted; one that was not heard for long, or
//! never, is new: either may serve a name that nobody served before.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    time::{Duration, Instant},
};

use super::wire::{self, Header, command};

/// Servers send a beacon every 15 s; one that was silent so long was away, or its network was.
const AWAY_AFTER: Duration = Duration::from_secs(60);

/// More servers than any site has; beyond, the network plays tricks and the rest is not remembered.
const SERVERS_MAX: usize = 65_536;

/// The servers that have been heard.
#[derive(Debug, Default)]
pub struct Beacons {
    servers: HashMap<SocketAddr, Heard>,
}

#[derive(Debug)]
struct Heard {
    number: u32,
    time: Instant,
}

/// One beacon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beacon {
    /// Whose it is.
    pub server: SocketAddr,
    /// The server's count of beacons since it was started.
    pub number: u32,
}

impl Beacon {
    /// Reads the beacon at the beginning of a datagram from `sender`, by whose address it goes if it names none.
    pub fn read(datagram: &[u8], sender: SocketAddr) -> Option<Beacon> {
        let (message, _) = wire::next_message(datagram).ok()??;
        let Header { command, count, parameter1, parameter2, .. } = message.header;
        let port = u16::try_from(count).ok().filter(|port| *port != 0)?;
        let named = Ipv4Addr::from(parameter2);
        let ip = if named.is_unspecified() || named.is_broadcast() { sender.ip() } else { IpAddr::V4(named) };
        (command == command::BEACON).then_some(Beacon { server: SocketAddr::new(ip, port), number: parameter1 })
    }

    /// The beacon as a repeater passes it on: it names its server.
    pub fn passed_on(self, datagram: &[u8]) -> Vec<u8> {
        let mut copy = datagram.to_vec();
        if let (IpAddr::V4(ip), Some(address)) = (self.server.ip(), copy.get_mut(12..16)) {
            address.copy_from_slice(&ip.octets());
        }
        copy
    }
}

/// What a beacon says of its server that was not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// It was never heard before, or not for long.
    Came,
    /// It counts from the beginning again.
    Restarted,
}

impl Beacons {
    /// Notes a beacon; none if its server just goes on.
    pub fn note(&mut self, beacon: Beacon, now: Instant) -> Option<News> {
        let Some(heard) = self.servers.get_mut(&beacon.server) else {
            if self.servers.len() < SERVERS_MAX {
                self.servers.insert(beacon.server, Heard { number: beacon.number, time: now });
            }
            return Some(News::Came);
        };
        // A server with several interfaces sends each number several times, and networks may swap two.
        let is_restarted = beacon.number < heard.number && heard.number - beacon.number > 2;
        let was_away = now.duration_since(heard.time) > AWAY_AFTER;
        *heard = Heard { number: beacon.number, time: now };
        match (is_restarted, was_away) {
            (true, _) => Some(News::Restarted),
            (false, true) => Some(News::Came),
            (false, false) => None,
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    fn beacon(number: u32) -> Beacon {
        Beacon { server: "192.0.2.1:5064".parse().unwrap(), number }
    }

    #[test]
    fn a_beacon_names_its_server_or_goes_by_its_sender() {
        let sender = "192.0.2.9:40000".parse().unwrap();
        let bytes = [0, 13, 0, 0, 0, 13, 0x13, 0xC8, 0, 0, 0, 7, 0, 0, 0, 0];
        let read = Beacon::read(&bytes, sender).unwrap();
        assert_eq!(read, Beacon { server: "192.0.2.9:5064".parse().unwrap(), number: 7 });
        let passed_on = read.passed_on(&bytes);
        assert_eq!(Beacon::read(&passed_on, "127.0.0.1:5065".parse().unwrap()), Some(read));
        assert_eq!(Beacon::read(&bytes[..15], sender), None);
    }

    #[test]
    fn servers_that_come_up_restart_or_come_back_are_told_from_those_that_go_on() {
        let (mut beacons, start) = (Beacons::default(), Instant::now());
        let mut heard = |number, seconds| beacons.note(beacon(number), start + Duration::from_secs(seconds));
        assert_eq!(heard(100, 0), Some(News::Came), "never heard before");
        assert_eq!(heard(101, 15), None, "goes on");
        assert_eq!(heard(101, 15), None, "the same by another interface");
        assert_eq!(heard(100, 15), None, "overtaken");
        assert_eq!(heard(0, 40), Some(News::Restarted));
        assert_eq!(heard(1, 55), None, "goes on");
        assert_eq!(heard(60, 900), Some(News::Came), "was cut off");
        assert_eq!(heard(3, 1800), Some(News::Restarted), "was away, and counts anew");
    }
}

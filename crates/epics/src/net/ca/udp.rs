//! The UDP socket of a Channel Access client: searches out, answers in. Beacons come through the repeater.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
};

use tokio::net::UdpSocket;

use crate::{
    ca::Config,
    net::{broadcast_addresses, local_address, search_socket},
};

/// The largest datagram of IPv4.
const DATAGRAM_BYTES: usize = 65_536;

pub(super) struct Udp {
    socket: UdpSocket,
    targets: Vec<SocketAddr>,
    buffer: Box<[u8]>,
}

impl Udp {
    pub(super) fn open(config: &Config) -> io::Result<Udp> {
        let mut targets = config.addresses.clone();
        if config.auto_addresses {
            targets.extend(broadcast_addresses(config.server_port));
        }
        targets.sort();
        targets.dedup();
        Ok(Udp { socket: search_socket(local(config))?, targets, buffer: vec![0; DATAGRAM_BYTES].into() })
    }

    /// Sends a datagram of searches to every target.
    pub(super) async fn search(&self, datagram: &[u8]) {
        for target in &self.targets {
            // A lost search is repeated, whether the network or this host's routing lost it.
            let _ = self.socket.send_to(datagram, target).await;
        }
    }

    /// Waits for a datagram: how many bytes it has, which [`Udp::datagram`] shows, and who sent it.
    pub(super) async fn receive(&mut self) -> io::Result<(usize, SocketAddr)> {
        self.socket.recv_from(&mut self.buffer).await
    }

    /// The datagram that came last.
    pub(super) fn datagram(&self, size: usize) -> &[u8] {
        &self.buffer[..size]
    }
}

/// Where the client's UDP sockets belong: broadcasts reach other hosts, listed addresses may be this host's own.
pub(super) fn local(config: &Config) -> Ipv4Addr {
    if config.auto_addresses { Ipv4Addr::UNSPECIFIED } else { local_address(config.addresses.iter().copied()) }
}

//! The UDP sockets of a pvAccess client: searches out, answers and beacons in.

use std::{
    future::Future,
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{io::ReadBuf, net::UdpSocket};

use crate::{
    net::{broadcast_addresses, local_address, search_socket, shared_port_socket},
    pva::{
        Config, TypeRegistry,
        message::{self, Beacon, Message, SEARCH_FLAGS_AT, SEARCH_UNICAST, SearchReply},
        search::Request,
        wire::{HEADER_BYTES, Header, Order, Writer},
    },
};

/// The largest datagram of IPv4.
const DATAGRAM_BYTES: usize = 65_536;

pub(super) struct Udp {
    search: UdpSocket,
    reply_port: u16,
    targets: Vec<Target>,
    beacons: Vec<UdpSocket>,
    buffer: Box<[u8]>,
}

struct Target {
    address: SocketAddr,
    /// Whether one host gets it, and not all of a network.
    unicast: bool,
}

/// What a server sent.
pub(super) enum Datagram {
    Reply(SearchReply, SocketAddr),
    Beacon(Beacon),
    Nonsense,
}

impl Udp {
    pub(super) fn open(config: &Config) -> io::Result<Udp> {
        let networks = broadcast_addresses(config.broadcast_port);
        let mut addresses = config.addresses.clone();
        if config.auto_addresses {
            addresses.extend(&networks);
        }
        addresses.sort();
        addresses.dedup();
        let is_unicast = |address: &SocketAddr| match address.ip() {
            ip if ip.is_multicast() => false,
            IpAddr::V4(ip) if ip.is_broadcast() => false,
            ip => ip.is_loopback() || !networks.iter().any(|network| network.ip() == ip),
        };
        let targets = addresses.iter().map(|a| Target { address: *a, unicast: is_unicast(a) }).collect();
        let search = search_socket(local_address(addresses.iter().copied()))?;
        let reply_port = search.local_addr()?.port();
        let beacons = if config.auto_addresses { beacon_sockets(&networks) } else { Vec::new() };
        Ok(Udp { search, reply_port, targets, beacons, buffer: vec![0; DATAGRAM_BYTES].into() })
    }

    /// Sends a search to every target. What cannot be sent is not retried: the names come again.
    pub(super) async fn search(&self, request: &Request) {
        let mut writer = Writer::new(Order::Little);
        message::search(&mut writer, request.sequence, self.reply_port, &request.names);
        let mut bytes = writer.into_bytes();
        for target in &self.targets {
            bytes[SEARCH_FLAGS_AT] = if target.unicast { SEARCH_UNICAST } else { 0 };
            if let Err(error) = self.search.send_to(&bytes, target.address).await {
                tracing::debug!(target = %target.address, %error, "a search could not be sent");
            }
        }
    }

    /// The next datagram, from whichever socket.
    pub(super) async fn receive(&mut self) -> Datagram {
        let Udp { search, beacons, buffer, .. } = self;
        let (count, sender) = Arrival { sockets: std::iter::once(&*search).chain(beacons.iter()), buffer }.await;
        decode(&self.buffer[..count], sender)
    }
}

/// Beacons are listened to on the broadcast addresses only. A socket on all addresses would, on Linux, take the unicast
/// searches away from an IOC of this host.
fn beacon_sockets(networks: &[SocketAddr]) -> Vec<UdpSocket> {
    let networks = networks.iter().filter(|network| !network.ip().is_loopback());
    networks.filter_map(|network| shared_port_socket(*network).ok()).collect()
}

/// Waits until one of several sockets has a datagram.
struct Arrival<'a, S> {
    sockets: S,
    buffer: &'a mut [u8],
}

impl<'a, S: Iterator<Item = &'a UdpSocket> + Clone + Unpin> Future for Arrival<'_, S> {
    type Output = (usize, SocketAddr);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        for socket in this.sockets.clone() {
            let mut buffer = ReadBuf::new(this.buffer);
            match socket.poll_recv_from(context, &mut buffer) {
                Poll::Ready(Ok(sender)) => return Poll::Ready((buffer.filled().len(), sender)),
                // it belongs to a datagram that was sent earlier (no such host); the next read comes at once
                Poll::Ready(Err(_)) => context.waker().wake_by_ref(),
                Poll::Pending => {}
            }
        }
        Poll::Pending
    }
}

fn decode(bytes: &[u8], sender: SocketAddr) -> Datagram {
    let Some((head, payload)) = bytes.split_at_checked(HEADER_BYTES) else { return Datagram::Nonsense };
    let Ok(header) = Header::decode(head) else { return Datagram::Nonsense };
    match Message::decode(header, payload, &mut TypeRegistry::default()) {
        Ok(Message::SearchReply(reply)) => Datagram::Reply(reply, sender),
        Ok(Message::Beacon(mut beacon)) => {
            if beacon.server.ip().is_unspecified() {
                beacon.server.set_ip(sender.ip());
            }
            Datagram::Beacon(beacon)
        }
        _ => Datagram::Nonsense,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// A beacon of a server on port 5075 of the sender.
    fn beacon() -> Vec<u8> {
        let mut writer = Writer::new(Order::Little);
        crate::pva::wire::put_message(&mut writer, 0, |w| {
            w.put(&[9; 12]);
            w.put(&[0, 1, 4, 0]);
            w.put(&[0; 16]);
            w.u16(5075);
            w.string("tcp");
            w.u8(0xff);
        });
        writer.into_bytes()
    }

    async fn next(udp: &mut Udp) -> Datagram {
        tokio::time::timeout(Duration::from_secs(20), udp.receive()).await.expect("a datagram in time")
    }

    #[tokio::test]
    async fn datagrams_are_heard_on_every_socket() {
        let config = Config { auto_addresses: false, ..Config::default() };
        let mut udp = Udp::open(&config).expect("a socket");
        for _ in 0..2 {
            udp.beacons.push(shared_port_socket("127.0.0.1:0".parse().expect("an address")).expect("a socket"));
        }
        let sender = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
        for at in 0..2 {
            let listens = udp.beacons[at].local_addr().expect("an address");
            sender.send_to(&beacon(), listens).await.expect("loopback works");
            match next(&mut udp).await {
                Datagram::Beacon(beacon) => assert_eq!((beacon.guid, beacon.changes), ([9; 12], 4)),
                _ => panic!("a beacon was sent to socket {at}"),
            }
        }
        sender.send_to(b"nonsense", ("127.0.0.1", udp.reply_port)).await.expect("loopback works");
        assert!(matches!(next(&mut udp).await, Datagram::Nonsense));
    }

    #[test]
    fn beacons_are_not_listened_to_where_a_server_of_this_host_is_searched() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().expect("a runtime");
        let _guard = runtime.enter();
        assert!(beacon_sockets(&["127.0.0.1:0".parse().expect("an address")]).is_empty());
    }
}

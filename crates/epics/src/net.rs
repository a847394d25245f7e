//! The only sockets: they move bytes between the network and the state machines of `ca` and `pva`, and tell them the time.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, SocketAddrV4},
    time::Duration,
};

use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use tokio::net::{TcpStream, UdpSocket};

mod arriving;
mod backlog;
pub(crate) mod ca;
pub(crate) mod pva;

/// Kernel receive buffer of a circuit: what an IOC may send ahead while a task waits for a core. IOCs drop silently when it is
/// full, so it is large; the kernel may grant less.
const CIRCUIT_RECEIVE_BYTES: usize = 4 << 20;

/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A host that is off or cut off does not even acknowledge: the kernel gives such a circuit up so long after the last byte, if
/// nothing was sent meanwhile, and so long after the first byte that was sent and not acknowledged, such as of an echo. So it is
/// sooner than the protocol's own time at best, and never relied upon: whether a circuit is dead is decided by the times
/// of the protocol (`docs/protocols.md`). Much less would cost circuits for a switch that restarts its spanning tree.
const UNACKNOWLEDGED_MAX: Duration = Duration::from_secs(20);

/// How long a quiet circuit waits before it asks the other host whether it is there, and between two such questions.
const PROBE_AFTER: Duration = Duration::from_secs(5);

/// Where to listen for answers from `peers`: on this host alone where all of them are on it, so that nobody else can send any.
pub(crate) fn local_address(mut peers: impl Iterator<Item = SocketAddr>) -> Ipv4Addr {
    if peers.all(|peer| peer.ip().is_loopback()) { Ipv4Addr::LOCALHOST } else { Ipv4Addr::UNSPECIFIED }
}

/// A UDP socket for searches: any port, broadcasts allowed, room for a storm of answers.
pub(crate) fn search_socket(local: Ipv4Addr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_broadcast(true)?;
    socket.set_recv_buffer_size(CIRCUIT_RECEIVE_BYTES)?;
    socket.set_nonblocking(true)?;
    socket.bind(&SocketAddr::V4(SocketAddrV4::new(local, 0)).into())?;
    UdpSocket::from_std(socket.into())
}

/// A UDP socket on a port that several programs of this host listen to (beacons). Unused hosts never answer, so errors are the user's to judge.
pub(crate) fn shared_port_socket(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    UdpSocket::from_std(socket.into())
}

/// A circuit to a server: no delay for small messages, keep-alive for dead hosts, a large receive buffer.
pub(crate) async fn connect(server: SocketAddr) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(server), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_recv_buffer_size(CIRCUIT_RECEIVE_BYTES)?;
    socket.set_nonblocking(true)?;
    let socket = tokio::net::TcpSocket::from_std_stream(socket.into());
    let stream = tokio::time::timeout(CONNECT_TIMEOUT, socket.connect(server))
        .await
        .map_err(|_| io::Error::new(io::ErrorKind::TimedOut, "no answer to the connection request"))??;
    stream.set_nodelay(true)?;
    notice_dead_hosts(&stream)?;
    Ok(stream)
}

fn notice_dead_hosts(stream: &TcpStream) -> io::Result<()> {
    let socket = SockRef::from(stream);
    let probes = UNACKNOWLEDGED_MAX.as_secs().div_ceil(PROBE_AFTER.as_secs()) as u32;
    let keepalive = TcpKeepalive::new().with_time(PROBE_AFTER).with_interval(PROBE_AFTER).with_retries(probes);
    socket.set_tcp_keepalive(&keepalive)?;
    // the probes stop while something is unacknowledged, such as an echo: then this counts
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(UNACKNOWLEDGED_MAX))?;
    Ok(())
}

/// The broadcast address of every IPv4 interface that is up, and loopback, which has none.
pub(crate) fn broadcast_addresses(port: u16) -> Vec<SocketAddr> {
    let interfaces = if_addrs::get_if_addrs().unwrap_or_default();
    let mut found: Vec<SocketAddr> = interfaces
        .iter()
        .filter_map(|interface| match &interface.addr {
            if_addrs::IfAddr::V4(v4) if v4.ip.is_loopback() => Some(v4.ip),
            if_addrs::IfAddr::V4(v4) => v4.broadcast,
            if_addrs::IfAddr::V6(_) => None,
        })
        .map(|ip| SocketAddr::V4(SocketAddrV4::new(ip, port)))
        .collect();
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn the_kernel_looks_after_hosts_that_vanish() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let stream = connect(listener.local_addr().expect("an address")).await.expect("a circuit");
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().expect("an option"));
        assert_eq!(socket.tcp_keepalive_time().expect("an option"), PROBE_AFTER);
        #[cfg(target_os = "linux")]
        assert_eq!(socket.tcp_user_timeout().expect("an option"), Some(UNACKNOWLEDGED_MAX));
        assert!(socket.recv_buffer_size().expect("an option") >= 200_000, "a large receive buffer");
    }
}

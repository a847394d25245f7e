//! Listens to beacons: through the repeater of this host, or by being it.
//!
//! Beacons go to one port of a host, and only one program can have it: the repeater, which passes them on to all who register.
//! Where none runs this client takes its place, so that other clients on the host hear beacons, too.

use std::{
    collections::HashMap,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    net::UdpSocket,
    sync::mpsc,
    time::{sleep, timeout},
};

use super::counters::SharedCounters;
use crate::ca::{
    beacon::{Beacon, Beacons, News},
    wire::{self, Header, command, put_message},
};

/// How often to try to register, or to become the repeater after the last one has ended.
const RETRY: Duration = Duration::from_secs(10);

/// A repeater that passes on nothing for so long may have ended: registering again does no harm.
const REGISTRATION: Duration = Duration::from_secs(60);

/// How long the repeater may take to confirm a registration.
const CONFIRMATION: Duration = Duration::from_secs(5);

/// More clients than a host has.
const CLIENTS_MAX: usize = 1000;

/// Sends each server of which there is news to `found`, until nobody listens there. `local` is where the repeater of this host belongs.
pub(super) async fn listen(
    local: (Ipv4Addr, u16),
    counters: Arc<SharedCounters>,
    found: mpsc::UnboundedSender<(SocketAddr, News)>,
) {
    let repeater_port = local.1;
    let mut listener = Listener { beacons: Beacons::default(), counters, found };
    loop {
        let end = match UdpSocket::bind(local).await {
            Ok(socket) => listener.be_the_repeater(&socket).await,
            Err(_) => listener.use_the_repeater(repeater_port).await,
        };
        match end {
            Ok(()) => return,
            Err(error) => tracing::debug!(repeater_port, %error, "no beacons for now"),
        }
        sleep(RETRY).await;
    }
}

struct Listener {
    beacons: Beacons,
    counters: Arc<SharedCounters>,
    found: mpsc::UnboundedSender<(SocketAddr, News)>,
}

impl Listener {
    async fn be_the_repeater(&mut self, socket: &UdpSocket) -> io::Result<()> {
        let mut clients: HashMap<SocketAddr, UdpSocket> = HashMap::new();
        let mut input = [0; 2048];
        loop {
            let (size, sender) = tokio::select! {
                received = socket.recv_from(&mut input) => received?,
                () = self.found.closed() => return Ok(()),
            };
            let datagram = &input[..size];
            if let Some(beacon) = Beacon::read(datagram, sender) {
                self.note(beacon);
                let copy = beacon.passed_on(datagram);
                // A connected socket learns that its client has ended; a full one loses a beacon, and another follows.
                clients.retain(|_, client| match client.try_send(&copy) {
                    Ok(_) => true,
                    Err(error) => error.kind() == io::ErrorKind::WouldBlock,
                });
            } else if sender.ip().is_loopback() && is_registration(datagram) && clients.len() < CLIENTS_MAX {
                let client = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
                client.connect(sender).await?;
                clients.insert(sender, client);
                socket.send_to(&confirmation(), sender).await?;
            }
        }
    }

    async fn use_the_repeater(&mut self, repeater_port: u16) -> io::Result<()> {
        // Repeaters pass on beacons from another port than their own, so this socket listens to all.
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let mut registration = Vec::new();
        wire::repeater_register(&mut registration, Ipv4Addr::LOCALHOST.into());
        let mut input = [0; 2048];
        let mut patience = CONFIRMATION;
        socket.send_to(&registration, (Ipv4Addr::LOCALHOST, repeater_port)).await?;
        loop {
            let received = tokio::select! {
                received = timeout(patience, socket.recv_from(&mut input)) => received,
                () = self.found.closed() => return Ok(()),
            };
            let Ok(received) = received else {
                if patience == CONFIRMATION {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "the repeater does not answer"));
                }
                patience = CONFIRMATION;
                socket.send_to(&registration, (Ipv4Addr::LOCALHOST, repeater_port)).await?;
                continue;
            };
            patience = REGISTRATION;
            let (size, sender) = received?;
            if let Some(beacon) = Beacon::read(&input[..size], sender) {
                self.note(beacon);
            }
        }
    }

    fn note(&mut self, beacon: Beacon) {
        self.counters.servers.beacon(beacon.server, Instant::now());
        if let Some(news) = self.beacons.note(beacon, Instant::now()) {
            // Nobody listens when the client has ended; then so does this task.
            let _ = self.found.send((beacon.server, news));
        }
    }
}

/// Old clients register with an empty datagram.
fn is_registration(datagram: &[u8]) -> bool {
    let message = wire::next_message(datagram).ok().flatten();
    datagram.is_empty() || message.is_some_and(|(message, _)| message.header.command == command::REPEATER_REGISTER)
}

fn confirmation() -> Vec<u8> {
    let header =
        Header { command: command::REPEATER_CONFIRM, parameter2: Ipv4Addr::LOCALHOST.into(), ..Header::default() };
    let mut confirmation = Vec::new();
    put_message(&mut confirmation, header, &[]);
    confirmation
}

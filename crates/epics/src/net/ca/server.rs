//! Drives Channel Access servers: one thread for all their sockets, no task or timer for any PV.
//!
//! ```text
//!   loop { reactor.post(server, pvs, number); …; reactor.turn(until) }
//! ```

use std::{
    collections::VecDeque,
    io::{self, ErrorKind, Read, Write},
    net::{Shutdown, SocketAddr, UdpSocket as BlockingUdp},
    ops::Range,
    time::{Duration, Instant},
};

use mio::{
    Events, Interest, Poll, Token,
    net::{TcpListener, TcpStream, UdpSocket},
};

use crate::ca::server::{Counters, Settings, Source, circuit::Circuit, names, pvs::Pvs};

/// Bytes that one circuit is sent before the others have their turn.
const TURN_BYTES: usize = 8 << 20;

/// The first pause between two beacons; each further one is twice as long.
const BEACON_FIRST: Duration = Duration::from_millis(20);
const BEACON_LAST: Duration = Duration::from_secs(15);

/// Requests that wait until answers were sent; beyond, nothing is read.
const INPUT_BYTES: usize = 1 << 20;

const SEARCHES: usize = 0;
const LISTENER: usize = 1;
const FIRST_CIRCUIT: usize = 2;

/// A server, among those of its reactor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerId(usize);

/// Servers, all on the thread that calls.
pub struct Reactor<S> {
    poll: Poll,
    events: Events,
    servers: Vec<Option<Server<S>>>,
    input: Vec<u8>,
    /// A circuit had more to be sent than fits a turn.
    is_hurried: bool,
}

struct Server<S> {
    pvs: Pvs<S>,
    address: SocketAddr,
    searches: UdpSocket,
    listener: TcpListener,
    links: Vec<Option<Link>>,
    /// What came and is to be answered later.
    late: VecDeque<(Instant, Arrival)>,
    beacon: Beacon,
}

struct Link {
    stream: TcpStream,
    circuit: Circuit,
    input: Vec<u8>,
    is_blocked: bool,
    /// Something may have come that was not read, as too much waits.
    is_deaf: bool,
    /// It was told to end when all is sent.
    is_ending: bool,
}

enum Arrival {
    Datagram(Vec<u8>, SocketAddr),
    Bytes(usize, Vec<u8>),
}

struct Beacon {
    due: Instant,
    pause: Duration,
    number: u32,
}

impl<S: Source> Reactor<S> {
    /// Without servers.
    pub fn new() -> io::Result<Reactor<S>> {
        Ok(Reactor {
            poll: Poll::new()?,
            events: Events::with_capacity(1024),
            servers: Vec::new(),
            input: vec![0; 1 << 16],
            is_hurried: false,
        })
    }

    /// Adds a server at an address; at any free port if its port is 0.
    pub fn listen(&mut self, address: SocketAddr, source: S, settings: Settings) -> io::Result<ServerId> {
        let (searches, listener) = bind_both(address)?;
        let number = self.servers.len();
        let mut server = Server {
            pvs: Pvs::new(source, settings),
            address: listener.local_addr()?,
            searches,
            listener,
            links: Vec::new(),
            late: VecDeque::new(),
            beacon: Beacon { due: Instant::now(), pause: BEACON_FIRST, number: 0 },
        };
        let registry = self.poll.registry();
        registry.register(&mut server.searches, token(number, SEARCHES), Interest::READABLE)?;
        registry.register(&mut server.listener, token(number, LISTENER), Interest::READABLE)?;
        self.servers.push(Some(server));
        Ok(ServerId(number))
    }

    /// Where a server is.
    pub fn address(&self, server: ServerId) -> Option<SocketAddr> {
        self.server(server).map(|server| server.address)
    }

    /// What a server has done.
    pub fn counters(&self, server: ServerId) -> Counters {
        self.server(server).map(|server| server.pvs.counters).unwrap_or_default()
    }

    /// Updates that wait for the network.
    pub fn waiting(&self, server: ServerId) -> u64 {
        let links = self.server(server).map(|server| server.links.iter().flatten());
        links.into_iter().flatten().map(|link| link.circuit.waiting()).sum()
    }

    /// Closes a server with all its circuits; its counters are the last.
    pub fn close(&mut self, server: ServerId) -> Counters {
        self.drop_circuits(server);
        let closed = self.servers.get_mut(server.0).and_then(Option::take);
        closed.map(|server| server.pvs.counters).unwrap_or_default()
    }

    /// Ends all circuits of a server, as if its network had gone.
    pub fn drop_circuits(&mut self, server: ServerId) {
        if let Some(server) = self.server_mut(server) {
            server.late.clear();
            for place in 0..server.links.len() {
                server.end(place);
            }
        }
    }

    /// Restarts a server as an IOC is restarted: circuits end, and new ones are accepted at another port. Searches still come to
    /// the old one.
    pub fn restart_elsewhere(&mut self, server: ServerId) -> io::Result<()> {
        self.drop_circuits(server);
        let Some(found) = self.servers.get_mut(server.0).and_then(Option::as_mut) else { return Ok(()) };
        self.poll.registry().deregister(&mut found.listener)?;
        found.listener = TcpListener::bind(SocketAddr::new(found.address.ip(), 0))?;
        found.address = found.listener.local_addr()?;
        found.beacon = Beacon { due: Instant::now(), pause: BEACON_FIRST, number: 0 };
        self.poll.registry().register(&mut found.listener, token(server.0, LISTENER), Interest::READABLE)
    }

    /// Sends the same bytes, which need not be any message, to all clients of a server; then ends their circuits if so wished.
    pub fn inject(&mut self, server: ServerId, bytes: &[u8], and_end: bool) {
        for link in self.server_mut(server).into_iter().flat_map(|server| server.links.iter_mut().flatten()) {
            link.circuit.inject(bytes);
            link.is_ending |= and_end;
        }
    }

    /// Sends a beacon out of turn, with a number of one's choice: what it makes clients believe is the point.
    pub fn beacon(&mut self, server: ServerId, number: u32) {
        if let Some(server) = self.server_mut(server) {
            server.beacon.number = number;
            server.beacon.due = Instant::now();
        }
    }

    /// PVs have a new update, all with the same number. Nothing is sent before the next turn.
    pub fn post(&mut self, server: ServerId, pvs: Range<u32>, number: u64) {
        let Some(server) = self.server_mut(server) else { return };
        let mut listeners = Vec::new();
        for pv in pvs {
            listeners.clear();
            listeners.extend_from_slice(server.pvs.advance(pv, number));
            for listener in &listeners {
                if let Some(Some(link)) = server.links.get_mut(listener.circuit as usize) {
                    link.circuit.post(listener.subscription, number, &mut server.pvs);
                }
            }
        }
    }

    /// Serves the network until that moment; at least once, if it has passed.
    pub fn turn(&mut self, until: Instant) -> io::Result<()> {
        loop {
            self.send();
            let now = Instant::now();
            let due = self.servers.iter().flatten().filter_map(Server::due).min();
            let wake = due.map_or(until, |due| due.min(until));
            let pause = if self.is_hurried { Duration::ZERO } else { wake.saturating_duration_since(now) };
            match self.poll.poll(&mut self.events, Some(pause)) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => result?,
            }
            self.take_events();
            let now = Instant::now();
            self.servers.iter_mut().flatten().for_each(|server| server.serve_due(now));
            if now >= until {
                self.send();
                return Ok(());
            }
        }
    }

    /// Sends what was made into messages, and no more of what waits: each update was then sent or still waits. Gives up at
    /// `until`.
    pub fn finish(&mut self, until: Instant) -> io::Result<()> {
        let links = |server: &mut Server<S>| server.links.iter_mut().flatten().for_each(|link| link.circuit.hold());
        self.servers.iter_mut().flatten().for_each(links);
        while Instant::now() < until && self.servers.iter().flatten().any(Server::has_output) {
            self.turn(Instant::now() + Duration::from_millis(5))?;
        }
        Ok(())
    }

    fn server(&self, server: ServerId) -> Option<&Server<S>> {
        self.servers.get(server.0)?.as_ref()
    }

    fn server_mut(&mut self, server: ServerId) -> Option<&mut Server<S>> {
        self.servers.get_mut(server.0)?.as_mut()
    }

    fn send(&mut self) {
        self.is_hurried = false;
        for server in self.servers.iter_mut().flatten() {
            for place in 0..server.links.len() {
                self.is_hurried |= server.send(place);
                server.listen_again(place, &mut self.input);
            }
        }
    }

    fn take_events(&mut self) {
        for event in &self.events {
            let (number, part) = (event.token().0 >> 32, event.token().0 & 0xFFFF_FFFF);
            let Some(Some(server)) = self.servers.get_mut(number) else { continue };
            match part {
                SEARCHES => server.take_datagrams(&mut self.input),
                LISTENER => server.accept(&self.poll, number),
                _ => {
                    let place = part - FIRST_CIRCUIT;
                    if let Some(Some(link)) = server.links.get_mut(place) {
                        link.is_blocked &= !event.is_writable();
                        if event.is_readable() || event.is_read_closed() {
                            server.read(place, &mut self.input);
                        }
                    }
                }
            }
        }
    }
}

impl<S: Source> Server<S> {
    fn has_output(&self) -> bool {
        self.links.iter().flatten().any(|link| !link.circuit.is_idle())
    }

    /// When something is to be done without anything having arrived.
    fn due(&self) -> Option<Instant> {
        let beacon = (!self.pvs.settings.beacons.is_empty()).then_some(self.beacon.due);
        let late = self.late.front().map(|(due, _)| *due);
        beacon.into_iter().chain(late).min()
    }

    fn serve_due(&mut self, now: Instant) {
        while self.late.front().is_some_and(|(due, _)| *due <= now) {
            if let Some((_, arrival)) = self.late.pop_front() {
                self.serve(arrival);
            }
        }
        if !self.pvs.settings.beacons.is_empty() && self.beacon.due <= now {
            let datagram = names::beacon(self.address.port(), self.beacon.number);
            for target in &self.pvs.settings.beacons {
                // Nobody need listen.
                let _ = self.searches.send_to(&datagram, *target);
            }
            self.pvs.counters.beacons += 1;
            self.beacon.number = self.beacon.number.wrapping_add(1);
            self.beacon.pause = (self.beacon.pause * 2).min(BEACON_LAST);
            self.beacon.due = now + self.beacon.pause;
        }
    }

    fn arrived(&mut self, arrival: Arrival) {
        if self.pvs.settings.delay.is_zero() {
            self.serve(arrival);
        } else {
            self.late.push_back((Instant::now() + self.pvs.settings.delay, arrival));
        }
    }

    fn serve(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Datagram(datagram, client) => {
                for answer in names::datagram(&mut self.pvs, &datagram, self.address.port()) {
                    // A lost answer is asked for again.
                    let _ = self.searches.send_to(&answer, client);
                }
            }
            Arrival::Bytes(place, bytes) => {
                let Some(Some(link)) = self.links.get_mut(place) else { return };
                link.input.extend_from_slice(&bytes);
                self.take_requests(place);
            }
        }
    }

    fn take_requests(&mut self, place: usize) {
        let Some(Some(link)) = self.links.get_mut(place) else { return };
        match link.circuit.receive(&link.input, &mut self.pvs) {
            Ok(taken) => {
                link.input.drain(..taken);
                link.is_deaf |= link.circuit.is_full();
            }
            Err(_) => self.end(place),
        }
    }

    /// Takes the requests that waited for room, and reads on.
    fn listen_again(&mut self, place: usize, input: &mut [u8]) {
        let has_room = |server: &Self| {
            server.links.get(place).and_then(Option::as_ref).is_some_and(|link| link.is_deaf && !link.circuit.is_full())
        };
        if has_room(self) {
            self.take_requests(place);
        }
        if has_room(self) {
            if let Some(Some(link)) = self.links.get_mut(place) {
                link.is_deaf = false;
            }
            self.read(place, input);
        }
    }

    fn take_datagrams(&mut self, input: &mut [u8]) {
        while let Ok((size, client)) = self.searches.recv_from(input) {
            self.arrived(Arrival::Datagram(input[..size].to_vec(), client));
        }
    }

    fn accept(&mut self, poll: &Poll, number: usize) {
        while let Ok((mut stream, _)) = self.listener.accept() {
            let place = self.links.iter().position(Option::is_none).unwrap_or(self.links.len());
            let interest = Interest::READABLE | Interest::WRITABLE;
            let is_ready = stream.set_nodelay(true).is_ok()
                && poll.registry().register(&mut stream, token(number, FIRST_CIRCUIT + place), interest).is_ok();
            if !is_ready {
                continue;
            }
            let circuit = Circuit::new(place as u32, self.address.port());
            let link = Link { stream, circuit, input: Vec::new(), is_blocked: false, is_deaf: false, is_ending: false };
            match self.links.get_mut(place) {
                Some(free) => *free = Some(link),
                None => self.links.push(Some(link)),
            }
            self.pvs.counters.circuits += 1;
        }
    }

    fn read(&mut self, place: usize, input: &mut [u8]) {
        while let Some(Some(link)) = self.links.get_mut(place) {
            link.is_deaf = link.circuit.is_full() || link.input.len() > INPUT_BYTES;
            if link.is_deaf {
                return;
            }
            match link.stream.read(input) {
                Ok(0) => return self.end(place),
                Ok(size) => self.arrived(Arrival::Bytes(place, input[..size].to_vec())),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return self.end(place),
            }
        }
    }

    /// Sends to one circuit what it has room for; true if there would be more.
    fn send(&mut self, place: usize) -> bool {
        let mut budget = TURN_BYTES;
        while let Some(Some(link)) = self.links.get_mut(place) {
            if link.is_blocked {
                return false;
            }
            let bytes = link.circuit.fill(&mut self.pvs);
            if bytes.is_empty() {
                if link.is_ending {
                    self.end(place);
                }
                return false;
            }
            match link.stream.write(bytes) {
                Ok(size) => {
                    link.circuit.sent(size);
                    self.pvs.counters.bytes += size as u64;
                    budget = budget.saturating_sub(size);
                    if budget == 0 {
                        return !link.circuit.is_idle();
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => link.is_blocked = true,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    self.end(place);
                    return false;
                }
            }
        }
        false
    }

    fn end(&mut self, place: usize) {
        if let Some(mut link) = self.links.get_mut(place).and_then(Option::take) {
            link.circuit.end(&mut self.pvs);
            // The client may have gone first.
            let _ = link.stream.shutdown(Shutdown::Both);
            // What it said before is nobody's now: the place may be another's soon.
            self.late.retain(|(_, arrival)| !matches!(arrival, Arrival::Bytes(of, _) if *of == place));
        }
    }
}

fn token(server: usize, part: usize) -> Token {
    Token(server << 32 | part)
}

/// The same port for searches and circuits. Where any will do, one is sought that both have.
fn bind_both(address: SocketAddr) -> io::Result<(UdpSocket, TcpListener)> {
    for _ in 0..100 {
        let listener = TcpListener::bind(address)?;
        match BlockingUdp::bind(listener.local_addr()?) {
            Ok(socket) => {
                socket2::SockRef::from(&socket).set_recv_buffer_size(4 << 20)?;
                socket.set_nonblocking(true)?;
                return Ok((UdpSocket::from_std(socket), listener));
            }
            Err(error) if address.port() != 0 => return Err(error),
            Err(_) => {}
        }
    }
    Err(io::Error::new(ErrorKind::AddrInUse, "no port is free both for UDP and TCP"))
}

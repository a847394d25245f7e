//! The sockets of a pvAccess server: one for searches, one task for each circuit, and beacons.
//!
//! Who changes PVs does it with [`Server::with`], which sends at once what the sockets take. What they do not take is sent
//! by the task of the circuit, as soon as there is room.

use std::{
    collections::HashMap,
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU16, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use tokio::{
    net::{TcpListener, TcpStream, UdpSocket},
    sync::Notify,
    task::JoinHandle,
};

use crate::pva::{
    Config,
    server::{CircuitId, Hub, Settings},
};

/// Bytes that one read may bring.
const READ_BYTES: usize = 64 << 10;

/// The largest datagram of IPv4.
const DATAGRAM_BYTES: usize = 65_536;

/// How often a circuit looks whether its client is still there.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Where a server listens, and whom it tells that it lives.
#[derive(Clone, Debug)]
pub struct Listen {
    /// The address of the circuits; port 0 takes any.
    pub circuits: SocketAddr,
    /// The address of the searches; port 0 takes any.
    pub searches: SocketAddr,
    /// Where beacons go.
    pub beacons: Vec<SocketAddr>,
    /// How often.
    pub beacon_period: Duration,
    /// How long every message of a client waits before it is read, as in an IOC that is overloaded.
    pub delay: Duration,
}

impl Default for Listen {
    /// Ports of its own on loopback, and no beacons.
    fn default() -> Listen {
        let any = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        Listen {
            circuits: any,
            searches: any,
            beacons: Vec::new(),
            beacon_period: Duration::from_secs(15),
            delay: Duration::ZERO,
        }
    }
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Server {
    circuits: SocketAddr,
    searches: SocketAddr,
    shared: Arc<Shared>,
    udp: Arc<UdpSocket>,
    beacons: Vec<SocketAddr>,
    accepting: JoinHandle<()>,
    tasks: Vec<JoinHandle<()>>,
}

/// What the tasks of a server share.
#[derive(Debug)]
struct Shared {
    /// Of the circuits.
    port: AtomicU16,
    delay: Duration,
    // guarded by lock
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    hub: Hub,
    wires: HashMap<CircuitId, Wire>,
}

/// The socket of a circuit, and the bell of its task.
#[derive(Clone, Debug)]
struct Wire {
    stream: Arc<TcpStream>,
    bell: Arc<Notify>,
}

impl Server {
    /// Opens the sockets and starts the tasks on the current tokio runtime.
    pub async fn start(listen: Listen, settings: Settings) -> io::Result<Server> {
        let listener = TcpListener::bind(listen.circuits).await?;
        let udp = Arc::new(UdpSocket::bind(listen.searches).await?);
        let (circuits, searches) = (listener.local_addr()?, udp.local_addr()?);
        let state = Mutex::new(State { hub: Hub::new(settings), wires: HashMap::new() });
        let shared = Arc::new(Shared { port: AtomicU16::new(circuits.port()), delay: listen.delay, state });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        let mut tasks = vec![tokio::spawn(answer_searches(Arc::clone(&udp), Arc::clone(&shared)))];
        let beacons = listen.beacons.clone();
        if !beacons.is_empty() {
            tasks.push(tokio::spawn(beat(Arc::clone(&udp), Arc::clone(&shared), listen, circuits.ip())));
        }
        Ok(Server { circuits, searches, shared, udp, beacons, accepting, tasks })
    }

    /// Ends every circuit, and accepts new ones at another port; searches come to the old one.
    pub async fn restart_elsewhere(&mut self) -> io::Result<()> {
        let listener = TcpListener::bind((self.circuits.ip(), 0)).await?;
        self.circuits = listener.local_addr()?;
        self.shared.port.store(self.circuits.port(), Relaxed);
        self.accepting.abort();
        self.disconnect_all();
        self.accepting = tokio::spawn(accept(listener, Arc::clone(&self.shared)));
        Ok(())
    }

    /// Sends a beacon before its time.
    pub async fn beacon(&self) {
        send_beacon(&self.udp, &self.shared, &self.beacons, self.circuits.ip()).await;
    }

    /// The address of its circuits.
    pub fn circuits(&self) -> SocketAddr {
        self.circuits
    }

    /// The address to which searches go.
    pub fn searches(&self) -> SocketAddr {
        self.searches
    }

    /// How a client finds this server and no other.
    pub fn client_config(&self) -> Config {
        Config { addresses: vec![self.searches], auto_addresses: false, ..Config::default() }
    }

    /// Looks at or changes PVs; what has to be told is sent before this returns, as far as the sockets take it.
    pub fn with<T>(&self, work: impl FnOnce(&mut Hub) -> T) -> T {
        let mut state = self.shared.lock();
        let done = work(&mut state.hub);
        state.flush();
        done
    }

    /// Ends every circuit, as an IOC does that restarts.
    pub fn disconnect_all(&self) {
        self.with(Hub::close_all);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.tasks.iter().chain([&self.accepting]).for_each(JoinHandle::abort);
        let mut state = self.shared.lock();
        state.hub.close_all();
        state.flush();
    }
}

impl Shared {
    fn port(&self) -> u16 {
        self.port.load(Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Sends what can be sent.
    fn flush(&mut self) {
        for id in self.hub.take_dirty() {
            self.flush_one(id);
        }
        for id in self.hub.take_closed() {
            if let Some(wire) = self.wires.remove(&id) {
                wire.bell.notify_one();
            }
        }
    }

    fn flush_one(&mut self, id: CircuitId) {
        let Some(wire) = self.wires.get(&id) else { return };
        loop {
            let bytes = self.hub.outgoing(id);
            if bytes.is_empty() {
                return;
            }
            match wire.stream.try_write(bytes) {
                Ok(count) => self.hub.consumed(id, count),
                // the task waits for room, or learns that the circuit is broken
                Err(_) => return wire.bell.notify_one(),
            }
        }
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let Ok((stream, client)) = listener.accept().await else {
            // no file descriptors are left; others may be closed soon
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        tracing::debug!(%client, "a client has connected");
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "small messages may be held back");
        }
        let wire = Wire { stream: Arc::new(stream), bell: Arc::default() };
        let id = {
            let mut state = shared.lock();
            let id = state.hub.open(Instant::now());
            state.wires.insert(id, wire.clone());
            state.flush();
            id
        };
        tokio::spawn(serve(id, wire, Arc::clone(&shared)));
    }
}

/// Reads what a client sends, and sends what its socket did not take before.
async fn serve(id: CircuitId, wire: Wire, shared: Arc<Shared>) {
    let mut buffer = vec![0; READ_BYTES];
    let mut blocked = false;
    let mut look = tokio::time::interval(LOOK_EVERY);
    loop {
        tokio::select! {
            ready = wire.stream.readable() => {
                if ready.is_err() {
                    break;
                }
                let count = match wire.stream.try_read(&mut buffer) {
                    Ok(0) => break,
                    Ok(count) => count,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                    Err(_) => break,
                };
                if !shared.delay.is_zero() {
                    tokio::time::sleep(shared.delay).await;
                }
                let mut state = shared.lock();
                if let Err(error) = state.hub.receive(id, &buffer[..count], shared.port(), Instant::now()) {
                    tracing::debug!(%error, "a client does not speak pvAccess");
                    break;
                }
                state.flush();
            }
            () = wire.bell.notified() => blocked = true,
            ready = wire.stream.writable(), if blocked => {
                if ready.is_err() {
                    break;
                }
                blocked = false;
                shared.lock().flush_one(id);
            }
            _ = look.tick() => {
                if shared.lock().hub.is_silent(id, Instant::now()) {
                    break;
                }
            }
        }
        if !shared.lock().wires.contains_key(&id) {
            break;
        }
    }
    let mut state = shared.lock();
    state.wires.remove(&id);
    state.hub.close(id);
}

async fn answer_searches(udp: Arc<UdpSocket>, shared: Arc<Shared>) {
    let mut buffer = vec![0; DATAGRAM_BYTES];
    loop {
        // an error belongs to an answer that nobody took; the next datagram comes nevertheless
        let Ok((count, sender)) = udp.recv_from(&mut buffer).await else { continue };
        let answer = shared.lock().hub.search(&buffer[..count], shared.port());
        let Some((bytes, searched)) = answer else { continue };
        let mut to = searched.reply_to;
        if to.ip().is_unspecified() {
            to.set_ip(sender.ip());
        }
        if to.port() == 0 {
            to.set_port(sender.port());
        }
        if let Err(error) = udp.send_to(&bytes, to).await {
            tracing::debug!(%to, %error, "an answer could not be sent");
        }
    }
}

async fn beat(udp: Arc<UdpSocket>, shared: Arc<Shared>, listen: Listen, ip: IpAddr) {
    let mut period = tokio::time::interval(listen.beacon_period);
    loop {
        period.tick().await;
        send_beacon(&udp, &shared, &listen.beacons, ip).await;
    }
}

async fn send_beacon(udp: &UdpSocket, shared: &Shared, targets: &[SocketAddr], ip: IpAddr) {
    let beacon = shared.lock().hub.beacon(SocketAddr::new(ip, shared.port()));
    for to in targets {
        if let Err(error) = udp.send_to(&beacon, to).await {
            tracing::debug!(%to, %error, "a beacon could not be sent");
        }
    }
}

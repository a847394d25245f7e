//! One circuit's task: its socket, its timer, and the orders of the hub.
//!
//! One task reads and writes in turn, and waits for neither: a server that does not read while it sends is no deadlock.

use std::{
    io,
    net::SocketAddr,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    io::Interest,
    net::TcpStream,
    sync::mpsc,
    time::{sleep, sleep_until},
};

use super::counters::SharedCounters;
use crate::{
    Event, Key,
    ca::{
        Monitor,
        circuit::{Circuit, Identity},
        search::Answer,
        wire,
    },
    net::{
        arriving::{Arriving, Held, LARGE_BYTES},
        backlog::Backlog,
    },
};

/// Room for one read. Large reads keep the kernel's buffer empty with few calls: an IOC drops silently once it is full.
const READ_BYTES: usize = 256 << 10;

/// With less room than this the buffer is enlarged: only messages that have begun to arrive make it grow.
const READ_BYTES_LEAST: usize = 64 << 10;

/// Small reads that follow each other faster than this are left to gather for as long: at 250,000 updates a second most of
/// the work was waking up (0.40 µs of CPU per update without, 0.12 with; `cacount` beside one IOC, 25,000 PVs at 10 Hz).
const GATHER: Duration = Duration::from_millis(1);

/// Reads of this size are not left to gather.
const READ_BYTES_BULK: usize = 32 << 10;

/// Hub to link.
pub(super) enum Order {
    Open {
        key: Key,
        name: Arc<str>,
        monitor: Monitor,
    },
    Close {
        key: Key,
    },
    /// Search messages for a name server.
    Search(Vec<u8>),
    #[cfg(feature = "put")]
    Put {
        key: Key,
        order: super::puts::PutOrder,
    },
}

/// Link to hub.
pub(super) struct Report {
    pub(super) link: u64,
    pub(super) server: SocketAddr,
    pub(super) kind: ReportKind,
}

pub(super) enum ReportKind {
    Connected,
    Answers(Vec<Answer>),
    Orphans(Vec<Key>),
    Lost,
}

pub(super) struct Link<H> {
    pub(super) id: u64,
    pub(super) server: SocketAddr,
    pub(super) server_version: u16,
    pub(super) identity: Identity,
    pub(super) silence_max: Duration,
    pub(super) handler: H,
    pub(super) orders: mpsc::UnboundedReceiver<Order>,
    pub(super) reports: mpsc::UnboundedSender<Report>,
    pub(super) counters: Arc<SharedCounters>,
    pub(super) backlog: Option<Backlog>,
    pub(super) arriving: Arriving,
    #[cfg(feature = "put")]
    pub(super) puts: super::puts::Puts,
}

/// Why a conversation ended.
enum End {
    /// The hub has no more channels here.
    Unneeded,
    Lost(String),
}

impl<H: Fn(Key, Event)> Link<H> {
    /// Lives until the circuit is lost, or no longer needed.
    pub(super) async fn run(mut self, delay: Duration) {
        sleep(delay).await;
        let connected = tokio::select! {
            connected = crate::net::connect(self.server) => connected,
            () = self.reports.closed() => return,
        };
        let now = Instant::now();
        let mut circuit = Circuit::new(self.server, self.server_version, &self.identity, self.silence_max, now);
        let end = match connected {
            Ok(stream) => {
                self.counters.circuit_opened();
                self.counters.servers.opened(self.server, None, Instant::now());
                tracing::info!("Channel Access: connected to {}", self.server);
                self.report(ReportKind::Connected);
                self.backlog = Some(Backlog::new(&stream, Instant::now()));
                let end = self.converse(&mut circuit, &stream).await;
                if let End::Lost(reason) = &end {
                    tracing::warn!("Channel Access: {reason}");
                }
                self.counters.circuit_closed();
                self.counters.servers.closed(self.server, matches!(end, End::Lost(_)), Instant::now());
                end
            }
            Err(error) => End::Lost(format!("cannot connect to {}: {error}", self.server)),
        };
        if let End::Lost(reason) = end {
            self.counters.circuit_lost();
            tracing::debug!(server = %self.server, reason, "no circuit");
            while let Ok(order) = self.orders.try_recv() {
                self.apply(&mut circuit, order);
            }
            circuit.abandon(&reason, &mut |key, event| (self.handler)(key, event));
            self.report(ReportKind::Lost);
        }
    }

    /// Runs the circuit to its end, and says why that came.
    async fn converse(&mut self, circuit: &mut Circuit, stream: &TcpStream) -> End {
        let mut input = Vec::with_capacity(READ_BYTES);
        let mut batch = Vec::new();
        let mut pacing = Pacing { last_read: None, is_gathering: false };
        let mut gather = pin!(sleep(GATHER));
        let mut timer = pin!(sleep_until(Instant::now().into()));
        let mut lease = None;
        loop {
            let before = input.len();
            let is_writing = !circuit.transmit().is_empty();
            let interest = if is_writing { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
            let progress = tokio::select! {
                ready = stream.ready(interest), if is_writing || !pacing.is_gathering => match ready {
                    Ok(ready) if ready.is_writable() && is_writing => {
                        write(stream, circuit.transmit()).and_then(|()| self.read(stream, &mut input, circuit))
                    }
                    Ok(_) => self.read(stream, &mut input, circuit),
                    Err(error) => Err(error.to_string()),
                },
                () = &mut gather, if pacing.is_gathering => self.read(stream, &mut input, circuit),
                count = self.orders.recv_many(&mut batch, 1024) => {
                    if count == 0 {
                        return End::Unneeded;
                    }
                    batch.drain(..).for_each(|order| self.apply(circuit, order));
                    continue;
                }
                () = &mut timer => {
                    // What has arrived counts as a sign of life, even if this process was too busy to look.
                    let progress = self.read(stream, &mut input, circuit);
                    release_memory(&mut input);
                    match circuit.poll(Instant::now()) {
                        Some(next) => timer.as_mut().reset(next.into()),
                        None => return End::Lost(format!("no sign of life from {}", self.server)),
                    }
                    progress
                }
            };
            match progress {
                Ok(size) => {
                    if input.len() < before + size {
                        lease = None; // the next message waits for its own behind those of others
                    }
                    if let Err(reason) = self.hold(&mut input, &mut lease).await {
                        return End::Lost(format!("circuit to {} ended: {reason}", self.server));
                    }
                    if let Some(until) = pacing.after(size, Instant::now()) {
                        gather.as_mut().reset(until.into());
                    }
                    if size >= READ_BYTES_BULK {
                        // A server that always has more would keep the thread from all others.
                        tokio::task::yield_now().await;
                    }
                }
                Err(reason) => return End::Lost(format!("circuit to {} lost: {reason}", self.server)),
            }
        }
    }

    /// Takes or gives back the memory of the message that is on its way: for its bytes, and for what is made of them.
    async fn hold(&self, input: &mut Vec<u8>, lease: &mut Held) -> Result<(), String> {
        let whole = wire::announced(input).filter(|whole| *whole > input.len());
        if whole.is_none() && lease.is_none() {
            return Ok(());
        }
        self.arriving.hold(lease, whole.map(|whole| 2 * whole)).await?;
        if let (Some(lease), Some(whole)) = (lease, whole) {
            input.reserve_exact(whole - input.len());
            lease.check(Instant::now())?;
        }
        Ok(())
    }

    /// Reads once, if there is something to read: how many bytes.
    fn read(&mut self, stream: &TcpStream, input: &mut Vec<u8>, circuit: &mut Circuit) -> Result<usize, String> {
        if input.capacity() - input.len() < READ_BYTES_LEAST {
            match input.len() {
                // Doubling a large message's memory would take twice as much as it was given.
                LARGE_BYTES.. => input.reserve_exact(READ_BYTES),
                _ => input.reserve(READ_BYTES),
            }
        }
        let size = match stream.try_read_buf(input) {
            Ok(0) => return Err("the server closed it".to_owned()),
            Ok(size) => size,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(0),
            Err(error) => return Err(error.to_string()),
        };
        let mut tell = |key, event| (self.handler)(key, event);
        if let Some(duration) = self.backlog.as_mut().and_then(|backlog| backlog.look(stream, size, Instant::now())) {
            circuit.crowded(duration, &mut tell);
        }
        let result = circuit.receive(input, Instant::now(), &mut tell);
        self.counters.add_circuit(size, circuit.take_tally());
        #[cfg(feature = "put")]
        self.puts.take_answers(circuit);
        let answers = circuit.take_answers();
        if !answers.is_empty() {
            self.report(ReportKind::Answers(answers));
        }
        let orphans = circuit.take_orphans();
        if !orphans.is_empty() {
            self.report(ReportKind::Orphans(orphans));
        }
        let taken = result.map_err(|malformed| malformed.to_string())?;
        input.drain(..taken);
        if size >= READ_BYTES_BULK {
            // Under full load this thread never sleeps, and the kernel would put it aside for others at its next tick only, up to 4 ms later.
            std::thread::yield_now();
        }
        Ok(size)
    }

    fn apply(&mut self, circuit: &mut Circuit, order: Order) {
        match order {
            Order::Open { key, name, monitor } => circuit.open(key, name, monitor),
            Order::Close { key } => circuit.close(key),
            Order::Search(messages) => circuit.search(&messages),
            #[cfg(feature = "put")]
            Order::Put { key, order } => self.puts.send(circuit, key, order),
        }
    }

    fn report(&self, kind: ReportKind) {
        // Without a hub the client was dropped, and this task ends as soon as it looks for orders.
        let _ = self.reports.send(Report { link: self.id, server: self.server, kind });
    }
}

/// Whether small reads follow each other so fast that they are better left to gather.
struct Pacing {
    last_read: Option<Instant>,
    is_gathering: bool,
}

impl Pacing {
    /// Notes a read; returns until when to wait before the next.
    fn after(&mut self, size: usize, now: Instant) -> Option<Instant> {
        let was_soon = self.last_read.is_some_and(|last| now.duration_since(last) < 2 * GATHER);
        self.is_gathering = size > 0 && size < READ_BYTES_BULK && was_soon;
        if size > 0 {
            self.last_read = Some(now);
        }
        self.is_gathering.then(|| now + GATHER)
    }
}

fn write(stream: &TcpStream, output: &mut Vec<u8>) -> Result<(), String> {
    match stream.try_write(output) {
        Ok(size) if size == output.len() => *output = Vec::new(),
        Ok(size) => drop(output.drain(..size)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
        Err(error) => return Err(error.to_string()),
    }
    Ok(())
}

/// A buffer that a large message left behind is given back, between messages.
fn release_memory(input: &mut Vec<u8>) {
    if input.is_empty() && input.capacity() > READ_BYTES {
        *input = Vec::with_capacity(READ_BYTES);
    }
}

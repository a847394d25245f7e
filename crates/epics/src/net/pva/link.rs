//! The task of one circuit: reads without ever waiting for writes, which another task does.

use std::{
    io,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, tcp::OwnedWriteHalf},
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
};

use super::counters::SharedCounters;
#[cfg(feature = "put")]
use super::puts::PutOrder;
use crate::{
    Event, Key,
    net::{
        arriving::{Arriving, Held, Lease},
        backlog::Backlog,
    },
    pva::{
        Counters, Keep, Monitor, Returned,
        circuit::Circuit,
        message::{Account, Guid, SearchReply},
        search::Request,
    },
};

/// Bytes that one read may bring: it grows with a busy circuit, because a thousand quiet ones need little.
const READ_BYTES: usize = 16 << 10;
const READ_BYTES_MAX: usize = 256 << 10;

/// A circuit without subscriptions is kept for those that may come.
const IDLE_MAX: Duration = Duration::from_secs(20);

/// Why a circuit ends that was not lost.
const NOT_NEEDED: &str = "nothing is subscribed";

/// Hub to link.
pub(super) enum Order {
    Subscribe {
        key: Key,
        name: Arc<str>,
        monitor: Monitor,
    },
    Unsubscribe {
        key: Key,
    },
    Search(Arc<Request>),
    #[cfg(feature = "put")]
    Put {
        key: Key,
        order: PutOrder,
    },
}

/// Link to hub.
pub(super) enum Report {
    Replies(SocketAddr, Vec<SearchReply>),
    Returned(u64, Vec<Returned>),
    Closed { server: SocketAddr, number: u64, keys: Vec<Key>, opened: bool },
}

/// One circuit.
pub(super) struct Link<H> {
    pub(super) server: SocketAddr,
    pub(super) number: u64,
    /// Which run of the server it is, where a search brought us here.
    pub(super) run: Option<Guid>,
    /// Whether it stays without subscriptions, as a name server's does.
    pub(super) lasting: bool,
    pub(super) account: Account,
    pub(super) silence_max: Duration,
    pub(super) counters: Arc<SharedCounters>,
    pub(super) arriving: Arriving,
    pub(super) keep: Keep,
    pub(super) reports: UnboundedSender<Report>,
    pub(super) handler: H,
}

impl<H: Fn(Key, Event) + Send + Sync + 'static> Link<H> {
    /// Lives until the circuit is lost, or no longer needed.
    pub(super) async fn run(self, mut orders: UnboundedReceiver<Order>) {
        let mut circuit = Circuit::new(self.server, self.account.clone(), self.silence_max, Instant::now());
        circuit.share(self.keep.clone());
        if let Some(run) = self.run {
            circuit.identify(run);
        }
        let reason = match crate::net::connect(self.server).await {
            Ok(stream) => {
                self.counters.add(Counters { circuits_opened: 1, ..Counters::default() });
                self.counters.servers.opened(self.server, self.run, Instant::now());
                tracing::info!("pvAccess: connected to {}", self.server);
                let reason = self.converse(&mut circuit, stream, &mut orders).await;
                tracing::warn!("pvAccess: circuit to {} ended: {reason}", self.server);
                self.counters.add(Counters { circuits_closed: 1, ..circuit.take_counters() });
                let is_lost = reason != NOT_NEEDED;
                self.counters.servers.closed(self.server, is_lost, Instant::now());
                reason
            }
            Err(error) => error.to_string(),
        };
        let reason = format!("circuit to {}: {reason}", self.server);
        tracing::debug!(reason, "circuit ended");
        orders.close();
        let mut keys = circuit.close(&reason, &mut |key, event| (self.handler)(key, event));
        while let Ok(order) = orders.try_recv() {
            match order {
                Order::Subscribe { key, .. } => keys.push(key),
                Order::Unsubscribe { key } => keys.retain(|other| *other != key),
                Order::Search(_) => {}
                #[cfg(feature = "put")]
                Order::Put { order, .. } => order.tell(Err(crate::pva::put::PutError::NotConnected)),
            }
        }
        let opened = circuit.is_open();
        if !opened {
            for key in &keys {
                (self.handler)(*key, Event::Refused { message: reason.clone() });
            }
        }
        // without a hub the client is gone, and nobody needs to know
        drop(self.reports.send(Report::Closed { server: self.server, number: self.number, keys, opened }));
    }

    /// Runs the circuit to its end and says why that came.
    async fn converse(
        &self,
        circuit: &mut Circuit,
        stream: TcpStream,
        orders: &mut UnboundedReceiver<Order>,
    ) -> String {
        let mut backlog = Backlog::new(&stream, Instant::now());
        let (mut reader, writer) = stream.into_split();
        let (outbox, outgoing) = unbounded_channel();
        let writing = tokio::spawn(write(writer, outgoing));
        let _ending = AbortOnDrop(writing.abort_handle());
        let mut emit = |key, event| (self.handler)(key, event);
        let mut buffer = vec![0; READ_BYTES];
        let mut used = Instant::now();
        let mut obey = Obey::default();
        let mut lease = None;
        loop {
            let wake = lease.iter().map(Lease::ends).chain([circuit.deadline()]).min().unwrap_or(used);
            let step = tokio::select! {
                read = reader.read(&mut buffer) => match read {
                    Ok(0) => return "the server closed the circuit".to_owned(),
                    Ok(count) => {
                        if let Some(duration) = backlog.look(reader.as_ref(), count, Instant::now()) {
                            circuit.crowded(duration, &mut emit);
                        }
                        let ends = circuit.unfinished().is_some_and(|message| message.missing <= count);
                        let turn = if lease.is_some() && ends { Some(self.arriving.turn().await) } else { None };
                        let step = circuit.receive(&buffer[..count], Instant::now(), &mut emit);
                        if turn.is_some() {
                            lease = None; // the next message waits for its own behind the others
                        }
                        drop(turn);
                        if count == buffer.len() && count < READ_BYTES_MAX {
                            buffer.resize(2 * count, 0);
                        }
                        step
                    }
                    Err(error) => return format!("the circuit broke: {error}"),
                },
                order = orders.recv() => {
                    let Some(order) = order else { return "the client was closed".to_owned() };
                    obey.order(circuit, order);
                    while let Ok(more) = orders.try_recv() {
                        obey.order(circuit, more);
                    }
                    Ok(())
                }
                () = tokio::time::sleep_until(wake.into()) => circuit.tick(Instant::now(), &mut emit),
            };
            if let Err(error) = step {
                return error.to_string();
            }
            if let Err(reason) = self.hold(circuit, &mut lease).await {
                return reason;
            }
            self.report(circuit);
            #[cfg(feature = "put")]
            obey.puts.tell(circuit);
            let bytes = circuit.transmit();
            if !bytes.is_empty() && outbox.send(bytes).is_err() {
                return "the circuit broke while it was written to".to_owned();
            }
            if self.lasting || !circuit.is_idle() {
                used = Instant::now();
            } else if used.elapsed() > IDLE_MAX {
                return NOT_NEEDED.to_owned();
            }
        }
    }

    /// Takes or gives back the memory of the message that is on its way.
    async fn hold(&self, circuit: &mut Circuit, lease: &mut Held) -> Result<(), String> {
        let bytes = circuit.unfinished().map(|message| message.bytes);
        if bytes.is_none() && lease.is_none() {
            return Ok(());
        }
        self.arriving.hold(lease, bytes).await?;
        let Some(lease) = lease else { return Ok(()) };
        circuit.make_room();
        lease.check(Instant::now())
    }

    fn report(&self, circuit: &mut Circuit) {
        self.counters.add(circuit.take_counters());
        let (replies, returned) = (circuit.take_replies(), circuit.take_returned());
        // without a hub the client is gone, and the circuit will soon notice
        if !replies.is_empty() {
            drop(self.reports.send(Report::Replies(self.server, replies)));
        }
        if !returned.is_empty() {
            drop(self.reports.send(Report::Returned(self.number, returned)));
        }
    }
}

/// Passes orders on to the circuit.
#[derive(Default)]
struct Obey {
    /// Who waits for writes. When the circuit ends they are dropped, which tells them.
    #[cfg(feature = "put")]
    puts: super::puts::Puts,
}

impl Obey {
    fn order(&mut self, circuit: &mut Circuit, order: Order) {
        let now = Instant::now();
        match order {
            Order::Subscribe { key, name, monitor } => circuit.subscribe(key, name, monitor, now),
            Order::Unsubscribe { key } => circuit.unsubscribe(key, now),
            Order::Search(request) => circuit.search(request.sequence, &request.names),
            #[cfg(feature = "put")]
            Order::Put { key, order } => self.puts.begin(circuit, key, order),
        }
    }
}

/// Ends with an error when the connection does; the reader reports that by itself.
async fn write(mut writer: OwnedWriteHalf, mut outgoing: UnboundedReceiver<Vec<u8>>) -> io::Result<()> {
    while let Some(bytes) = outgoing.recv().await {
        writer.write_all(&bytes).await?;
    }
    Ok(())
}

/// A writer that waits for a dead server would wait for ever.
struct AbortOnDrop(tokio::task::AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

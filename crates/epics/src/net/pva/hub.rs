//! Drives the pvAccess state machines: one task for searches and subscriptions, one per circuit.
//!
//! ```text
//!   Client ─requests─► Hub ──orders──► Link (one circuit) ─► handler(Key, Event)
//!                      ▲ │ UDP            │
//!                      │ ▼                │
//!                    servers              └─reports─► Hub: closed, no longer served, answers of name servers
//! ```

use std::{
    collections::HashMap,
    io,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

#[cfg(feature = "put")]
use super::puts::PutOrder;
use super::{
    counters::SharedCounters,
    link::{Link, Order, Report},
    udp::{Datagram, Udp},
};
use crate::{
    Event, Key,
    net::arriving::Arriving,
    pva::{
        Account, Config, Counters, Keep, Monitor, backoff,
        message::{Guid, SearchReply},
        search::{Duplicate, Found, Search},
    },
};

/// The part of the memory of messages that is for the last values of all monitors; the rest is for messages that arrive.
const KEPT_PART: usize = 3;

/// What the user wants, on its way to the client's tasks.
pub(super) enum Request {
    Subscribe {
        key: Key,
        name: Arc<str>,
        monitor: Monitor,
    },
    Unsubscribe {
        key: Key,
    },
    #[cfg(feature = "put")]
    Put {
        key: Key,
        order: PutOrder,
    },
}

/// Opens the sockets and starts the tasks. They end when the sender is dropped.
pub(super) fn start<H>(
    config: Config,
    handler: H,
    counters: Arc<SharedCounters>,
) -> io::Result<UnboundedSender<Request>>
where
    H: Fn(Key, Event) + Clone + Send + Sync + 'static,
{
    let udp = Udp::open(&config)?;
    let (requests, request_queue) = unbounded_channel();
    let (reports, report_queue) = unbounded_channel();
    let kept = config.messages_bytes_max / KEPT_PART;
    let (arriving, keep) = (Arriving::new(config.messages_bytes_max - kept), Keep::new(kept));
    let hub = Hub {
        config,
        handler,
        counters,
        reports,
        search: Search::default(),
        subscriptions: HashMap::new(),
        circuits: HashMap::new(),
        circuits_made: 0,
        arriving,
        keep,
        penalties: HashMap::new(),
    };
    tokio::spawn(hub.run(udp, request_queue, report_queue));
    Ok(requests)
}

/// Knows where each subscription is: searched, or on which circuit.
struct Hub<H> {
    // fixed after start
    config: Config,
    handler: H,
    counters: Arc<SharedCounters>,
    reports: UnboundedSender<Report>,

    search: Search,
    /// In boxes, as the table has twice the places that it needs when it has just grown.
    subscriptions: HashMap<Key, Box<Subscription>>,
    circuits: HashMap<SocketAddr, Circuit>,
    circuits_made: u64,
    /// What all circuits share.
    arriving: Arriving,
    keep: Keep,
    penalties: HashMap<SocketAddr, Penalty>,
}

/// The hub's end of a circuit; without its orders the task of the circuit ends.
struct Circuit {
    /// No two circuits of a client have the same.
    number: u64,
    orders: UnboundedSender<Order>,
}

struct Subscription {
    name: Arc<str>,
    monitor: Monitor,
    /// The server and number of its circuit; none while it is searched.
    at: Option<(SocketAddr, u64)>,
}

/// A server that could not be reached, or ended a circuit.
struct Penalty {
    failures: u32,
    until: Instant,
}

impl<H: Fn(Key, Event) + Clone + Send + Sync + 'static> Hub<H> {
    async fn run(
        mut self,
        mut udp: Udp,
        mut requests: UnboundedReceiver<Request>,
        mut reports: UnboundedReceiver<Report>,
    ) {
        let mut arrived = Vec::new();
        loop {
            let now = Instant::now();
            self.call_name_servers(now);
            while let Some(request) = self.search.poll(now) {
                let names = request.names.len() as u64;
                self.counters.add(Counters { searches: 1, names_searched: names, ..Counters::default() });
                udp.search(&request).await;
                let request = Arc::new(request);
                for server in &self.config.name_servers {
                    if let Some(circuit) = self.circuits.get(server) {
                        circuit.send(Order::Search(Arc::clone(&request)));
                    }
                }
            }
            let wake = self.search.deadline(now).into_iter().chain(self.next_call()).min();
            let wake = wake.unwrap_or(now + backoff::CIRCUIT.longest);
            tokio::select! {
                count = requests.recv_many(&mut arrived, 1024) => {
                    if count == 0 {
                        return;
                    }
                    let now = Instant::now();
                    arrived.drain(..).for_each(|request| self.serve(request, now));
                }
                Some(report) = reports.recv() => self.take(report, Instant::now()),
                datagram = udp.receive() => self.datagram(datagram, Instant::now()),
                () = tokio::time::sleep_until(wake.into()) => {}
            }
        }
    }

    fn serve(&mut self, request: Request, now: Instant) {
        match request {
            Request::Subscribe { key, name, monitor } => {
                self.forget(key);
                self.search.add(key, Arc::clone(&name), now, Duration::ZERO);
                self.subscriptions.insert(key, Box::new(Subscription { name, monitor, at: None }));
            }
            Request::Unsubscribe { key } => self.forget(key),
            #[cfg(feature = "put")]
            Request::Put { key, order } => self.put(key, order),
        }
    }

    #[cfg(feature = "put")]
    fn put(&self, key: Key, order: PutOrder) {
        let server = self.subscriptions.get(&key).and_then(|subscription| subscription.at);
        match server.and_then(|(server, _)| self.circuits.get(&server)) {
            Some(circuit) => circuit.send(Order::Put { key, order }),
            None => order.tell(Err(crate::pva::put::PutError::NotConnected)),
        }
    }

    fn forget(&mut self, key: Key) {
        self.search.remove(key);
        let Some((server, _)) = self.subscriptions.remove(&key).and_then(|subscription| subscription.at) else {
            return;
        };
        if let Some(circuit) = self.circuits.get(&server) {
            circuit.send(Order::Unsubscribe { key });
        }
    }

    fn datagram(&mut self, datagram: Datagram, now: Instant) {
        match datagram {
            Datagram::Reply(reply, sender) => self.reply(&reply, sender, now),
            Datagram::Beacon(beacon) => {
                self.counters.servers.beacon(beacon.server, now);
                self.counters.add(Counters { beacons: 1, ..Counters::default() });
                self.search.beacon(beacon.guid, beacon.changes, now);
            }
            Datagram::Nonsense => self.counters.add(Counters { protocol_errors: 1, ..Counters::default() }),
        }
    }

    /// An answer to a search: the circuit to that server, started if there is none, subscribes to the names that it has.
    fn reply(&mut self, reply: &SearchReply, sender: SocketAddr, now: Instant) {
        let duplicates = self.search.duplicates(reply, sender.ip());
        let counted = duplicates.len() as u64;
        self.counters.add(Counters { search_replies: 1, duplicates: counted, ..Counters::default() });
        if let Some(Duplicate { name, first, second, .. }) = duplicates.first() {
            tracing::warn!(
                "{name} is taken from {first}, but {second} has it too ({counted} such names in one answer)"
            );
        }
        let Some(Found { server, keys }) = self.search.reply(reply, sender.ip(), now) else { return };
        let pause = self.penalties.get(&server).map_or(Duration::ZERO, |p| p.until.saturating_duration_since(now));
        if !pause.is_zero() {
            keys.into_iter().for_each(|key| self.search_again(key, now, pause));
            return;
        }
        self.connect(server, Some(reply.guid));
        let Some(circuit) = self.circuits.get(&server) else { return };
        for key in keys {
            let Some(subscription) = self.subscriptions.get_mut(&key) else { continue };
            subscription.at = Some((server, circuit.number));
            let (name, monitor) = (Arc::clone(&subscription.name), subscription.monitor);
            circuit.send(Order::Subscribe { key, name, monitor });
        }
    }

    /// Starts a circuit unless there is one.
    fn connect(&mut self, server: SocketAddr, run: Option<Guid>) {
        if self.circuits.contains_key(&server) {
            return;
        }
        self.circuits_made += 1;
        let link = Link {
            server,
            number: self.circuits_made,
            run,
            lasting: self.config.name_servers.contains(&server),
            account: Account { user: self.config.user.clone(), host: self.config.host.clone() },
            silence_max: self.config.silence_max,
            counters: Arc::clone(&self.counters),
            arriving: self.arriving.clone(),
            keep: self.keep.clone(),
            reports: self.reports.clone(),
            handler: self.handler.clone(),
        };
        let (orders, order_queue) = unbounded_channel();
        let number = link.number;
        tokio::spawn(link.run(order_queue));
        self.circuits.insert(server, Circuit { number, orders });
    }

    fn take(&mut self, report: Report, now: Instant) {
        match report {
            Report::Replies(server, replies) => replies.iter().for_each(|reply| self.reply(reply, server, now)),
            Report::Returned(number, returned) => {
                for one in returned {
                    self.return_to_search(one.key, number, now, one.pause);
                }
            }
            Report::Closed { server, number, keys, opened } => {
                self.circuits.remove(&server);
                self.penalise(server, opened, now);
                for key in keys {
                    self.return_to_search(key, number, now, Duration::ZERO);
                }
            }
        }
    }

    /// Searches a subscription again, unless the user has meanwhile given it up or it is elsewhere.
    fn return_to_search(&mut self, key: Key, number: u64, now: Instant, pause: Duration) {
        if self.subscriptions.get(&key).is_some_and(|s| s.at.is_some_and(|(_, at)| at == number)) {
            self.search_again(key, now, pause);
        }
    }

    fn search_again(&mut self, key: Key, now: Instant, pause: Duration) {
        if let Some(subscription) = self.subscriptions.get_mut(&key) {
            subscription.at = None;
            self.search.add(key, Arc::clone(&subscription.name), now, pause);
        }
    }

    /// A server that was open gets the first pause, one that cannot be reached longer and longer ones.
    fn penalise(&mut self, server: SocketAddr, opened: bool, now: Instant) {
        self.penalties.retain(|_, penalty| penalty.until + backoff::CIRCUIT.longest > now);
        let before = self.penalties.get(&server).map_or(0, |penalty| penalty.failures);
        let failures = if opened { 0 } else { before + 1 };
        let pause = backoff::CIRCUIT.pause(failures);
        self.penalties.insert(server, Penalty { failures, until: now + pause });
    }

    /// Circuits to name servers are there before anything has been found.
    fn call_name_servers(&mut self, now: Instant) {
        for server in self.config.name_servers.clone() {
            if self.penalties.get(&server).is_none_or(|penalty| penalty.until <= now) {
                self.connect(server, None);
            }
        }
    }

    /// When a lost name server is to be called again.
    fn next_call(&self) -> Option<Instant> {
        let lost = self.config.name_servers.iter().filter(|server| !self.circuits.contains_key(server));
        lost.filter_map(|server| self.penalties.get(server)).map(|penalty| penalty.until).min()
    }
}

impl Circuit {
    fn send(&self, order: Order) {
        // a circuit that has just ended returns what it has not read; its report is on the way
        drop(self.orders.send(order));
    }
}

//! Drives the Channel Access state machines: UDP search, one task per circuit, timers.
//!
//! ```text
//!   Client ──requests──► Hub (the search, who is where) ──orders──► Link (one circuit) ──► the user's handler
//!                         ▲──────────────reports────────────────────┘
//! ```

use std::{
    collections::{HashMap, HashSet},
    io, mem,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{sync::mpsc, time::sleep_until};

#[cfg(feature = "put")]
use super::puts;
use super::{
    beacons,
    counters::SharedCounters,
    link::{Link, Order, Report, ReportKind},
    udp::{self, Udp},
};
use crate::{
    Event, Key,
    ca::{
        Config, Monitor,
        beacon::News,
        circuit::Identity,
        restarts::{self, Restarts},
        search::{Answer, NAME_BYTES_MAX, Search},
    },
    net::arriving::Arriving,
};

/// A channel that was lost after so long had a healthy server: its name is searched for at once.
const HEALTHY_AFTER: Duration = Duration::from_secs(10);

/// How long to wait before connecting again to a name server.
const NAME_SERVER_RETRY: Duration = Duration::from_secs(5);

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
        order: puts::PutOrder,
    },
}

/// Opens the sockets and starts the tasks. They end when the sender is dropped.
pub(super) fn start<H>(
    config: Config,
    handler: H,
    counters: Arc<SharedCounters>,
) -> io::Result<mpsc::UnboundedSender<Request>>
where
    H: Fn(Key, Event) + Clone + Send + Sync + 'static,
{
    let udp = Udp::open(&config)?;
    let (requests, request_queue) = mpsc::unbounded_channel();
    tokio::spawn(Hub::new(config, handler, udp, counters).run(request_queue));
    Ok(requests)
}

/// Knows all subscriptions and where each one is.
struct Hub<H> {
    // fixed after start
    config: Config,
    handler: H,
    counters: Arc<SharedCounters>,
    reports: mpsc::UnboundedSender<Report>,
    udp: Udp,
    report_queue: mpsc::UnboundedReceiver<Report>,
    // owned by the hub's task
    search: Search,
    /// In boxes, as the table has twice the places that it needs when it has just grown.
    subscriptions: HashMap<Key, Box<Subscription>>,
    circuits: HashMap<SocketAddr, Circuit>,
    restarts: Restarts,
    next_link: u64,
    /// What all circuits share.
    arriving: Arriving,
}

struct Subscription {
    name: Arc<str>,
    monitor: Monitor,
    place: Place,
    failures: u32,
    /// How many restarts of its server it has been told of.
    restarts: u32,
}

#[derive(Clone, Copy)]
enum Place {
    /// With the server that had it last and when that was lost, if one ever had it.
    Searching { lost: Option<(SocketAddr, Instant)> },
    /// `again` if it has come back to the server that had it before.
    On { server: SocketAddr, since: Instant, again: bool },
}

/// The hub's end of a circuit; without channels it is dropped, which ends its task.
struct Circuit {
    link: u64,
    orders: mpsc::UnboundedSender<Order>,
    keys: HashSet<Key>,
    role: Role,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Channels,
    NameServer { is_connected: bool },
}

impl<H: Fn(Key, Event) + Clone + Send + Sync + 'static> Hub<H> {
    fn new(config: Config, handler: H, udp: Udp, counters: Arc<SharedCounters>) -> Hub<H> {
        let (reports, report_queue) = mpsc::unbounded_channel();
        let arriving = Arriving::new(config.messages_bytes_max);
        Hub {
            search: Search::new(config.search_period_max, Instant::now()),
            config,
            handler,
            counters,
            reports,
            udp,
            report_queue,
            subscriptions: HashMap::new(),
            circuits: HashMap::new(),
            restarts: Restarts::default(),
            next_link: 0,
            arriving,
        }
    }

    async fn run(mut self, mut requests: mpsc::UnboundedReceiver<Request>) {
        for server in self.config.name_servers.clone() {
            self.connect_name_server(server, Duration::ZERO);
        }
        let (found, mut beacons) = mpsc::unbounded_channel();
        let local = (udp::local(&self.config), self.config.repeater_port);
        tokio::spawn(beacons::listen(local, Arc::clone(&self.counters), found));
        let mut batch = Vec::new();
        let mut datagram = Vec::new();
        loop {
            self.send_searches(&mut datagram).await;
            let deadline = self.search.deadline();
            tokio::select! {
                count = requests.recv_many(&mut batch, 1024) => {
                    if count == 0 {
                        return;
                    }
                    batch.drain(..).for_each(|request| self.serve(request));
                }
                Some(report) = self.report_queue.recv() => self.take(report),
                Ok((size, sender)) = self.udp.receive() => self.receive(size, sender),
                Some((server, news)) = beacons.recv() => {
                    self.counters.beacon_anomaly();
                    self.search.hurry_names_of(server, Instant::now());
                    self.search.hurry_all(Instant::now());
                    if news == News::Restarted {
                        self.counters.servers.counts_anew(server, Instant::now());
                        self.restarted(server, Instant::now());
                    }
                }
                () = sleep_until(deadline.unwrap_or_else(Instant::now).into()), if deadline.is_some() => {}
            }
        }
    }

    /// Sends the searches that are due: as datagrams, and to name servers by their circuits.
    async fn send_searches(&mut self, datagram: &mut Vec<u8>) {
        while self.search.poll(Instant::now(), datagram) {
            self.udp.search(datagram).await;
            for circuit in self.circuits.values().filter(|circuit| circuit.searches()) {
                let messages = datagram.get(16..).unwrap_or_default();
                // A link that has just ended reports that itself.
                let _ = circuit.orders.send(Order::Search(messages.to_vec()));
            }
        }
        self.counters.add_search(self.search.len(), self.search.take_tally());
    }

    fn serve(&mut self, request: Request) {
        match request {
            Request::Subscribe { key, name, monitor } => self.subscribe(key, name, monitor),
            Request::Unsubscribe { key } => self.unsubscribe(key),
            #[cfg(feature = "put")]
            Request::Put { key, order } => self.put(key, order),
        }
    }

    fn subscribe(&mut self, key: Key, name: Arc<str>, monitor: Monitor) {
        self.unsubscribe(key);
        if name.is_empty() || name.len() > NAME_BYTES_MAX || name.contains('\0') {
            let message = format!("{:?} cannot be the name of a PV", name.chars().take(40).collect::<String>());
            return (self.handler)(key, Event::Refused { message });
        }
        self.search.add(key, Arc::clone(&name), Instant::now());
        let place = Place::Searching { lost: None };
        let subscription = Subscription { name, monitor, place, failures: 0, restarts: 0 };
        self.subscriptions.insert(key, Box::new(subscription));
    }

    fn unsubscribe(&mut self, key: Key) {
        match self.subscriptions.remove(&key).map(|subscription| subscription.place) {
            None => {}
            Some(Place::Searching { .. }) => self.search.remove(key),
            Some(Place::On { server, .. }) => {
                if let Some(circuit) = self.circuits.get(&server) {
                    // A link that has just ended has no channels to close.
                    let _ = circuit.orders.send(Order::Close { key });
                }
                self.detach(key, server);
            }
        }
    }

    #[cfg(feature = "put")]
    fn put(&mut self, key: Key, order: puts::PutOrder) {
        let place = self.subscriptions.get(&key).map(|subscription| subscription.place);
        let circuit = match place {
            Some(Place::On { server, .. }) => self.circuits.get(&server),
            _ => None,
        };
        match circuit {
            // A link that has just ended drops the order, which tells the user.
            Some(circuit) => drop(circuit.orders.send(Order::Put { key, order })),
            // The user may have stopped waiting.
            None => drop(order.done.send(Err(crate::ca::put::PutError::NotConnected))),
        }
    }

    /// A datagram has come: each name that it answers is attached to that server.
    fn receive(&mut self, size: usize, sender: SocketAddr) {
        let now = Instant::now();
        let mut found = Vec::new();
        self.search.receive(self.udp.datagram(size), sender, now, &mut |key, answer| found.push((key, answer)));
        for (key, answer) in found {
            self.attach(key, answer, now);
        }
    }

    fn take(&mut self, report: Report) {
        let now = Instant::now();
        let Report { link, server, kind } = report;
        let Some(circuit) = self.circuits.get_mut(&server).filter(|circuit| circuit.link == link) else {
            return;
        };
        match kind {
            ReportKind::Connected => {
                if let Role::NameServer { is_connected } = &mut circuit.role {
                    *is_connected = true;
                    self.search.hurry_all(now);
                }
            }
            ReportKind::Answers(answers) => {
                let mut found = Vec::new();
                for answer in answers {
                    self.search.answered(answer, now, &mut |key, answer| found.push((key, answer)));
                }
                for (key, answer) in found {
                    self.attach(key, answer, now);
                }
            }
            ReportKind::Orphans(keys) => {
                for key in keys {
                    if self.detach(key, server) {
                        self.search_again(key, now);
                    }
                }
            }
            ReportKind::Lost => {
                let Some(lost) = self.circuits.remove(&server) else { return };
                for key in lost.keys {
                    self.search_again(key, now);
                }
                if lost.role != Role::Channels {
                    self.connect_name_server(server, NAME_SERVER_RETRY);
                }
            }
        }
    }

    /// A server was found for the PV: the circuit to it, started if there is none, opens a channel.
    fn attach(&mut self, key: Key, answer: Answer, now: Instant) {
        let server = answer.server;
        if !self.circuits.contains_key(&server) {
            self.connect(answer.server, answer.version, Duration::ZERO, Role::Channels);
        }
        let (Some(subscription), Some(circuit)) = (self.subscriptions.get_mut(&key), self.circuits.get_mut(&server))
        else {
            return;
        };
        let lost = match subscription.place {
            Place::Searching { lost } => lost.filter(|(before, _)| *before == server).map(|(_, at)| at),
            Place::On { .. } => None,
        };
        subscription.place = Place::On { server, since: now, again: lost.is_some() };
        let count = self.restarts.count(server);
        let is_news = count != mem::replace(&mut subscription.restarts, count);
        if is_news && lost.is_some_and(|lost| self.restarts.is_of_loss(server, lost)) {
            (self.handler)(key, Event::Restarted);
        }
        circuit.keys.insert(key);
        let (name, monitor) = (Arc::clone(&subscription.name), subscription.monitor);
        // If the link has just ended, its last report brings the channel back to the search.
        let _ = circuit.orders.send(Order::Open { key, name, monitor });
    }

    /// The circuit no longer has the channel; true if it had. A circuit without channels ends.
    fn detach(&mut self, key: Key, server: SocketAddr) -> bool {
        let Some(circuit) = self.circuits.get_mut(&server) else { return false };
        let had = circuit.keys.remove(&key);
        if circuit.keys.is_empty() && circuit.role == Role::Channels {
            self.circuits.remove(&server);
        }
        had
    }

    fn search_again(&mut self, key: Key, now: Instant) {
        let Some(subscription) = self.subscriptions.get_mut(&key) else { return };
        let Place::On { server, since, .. } = subscription.place else { return };
        let was_healthy = now.duration_since(since) > HEALTHY_AFTER;
        subscription.failures = if was_healthy { 0 } else { subscription.failures.saturating_add(1) };
        subscription.place = Place::Searching { lost: Some((server, now)) };
        self.search.add_again(key, Arc::clone(&subscription.name), server, subscription.failures, now);
    }

    /// The beacons of a server count from the start again, so it was restarted. Its channels that have just come back are told now, the
    /// others when they come back. Where no circuit was lost nothing was restarted, whatever the beacons say.
    fn restarted(&mut self, server: SocketAddr, now: Instant) {
        let count = self.restarts.add(server, now);
        let Some(circuit) = self.circuits.get(&server) else { return };
        for key in &circuit.keys {
            let Some(subscription) = self.subscriptions.get_mut(key) else { continue };
            if matches!(subscription.place, Place::On { since, again: true, .. } if restarts::is_of_return(since, now))
            {
                subscription.restarts = count;
                (self.handler)(*key, Event::Restarted);
            }
        }
    }

    fn connect_name_server(&mut self, server: SocketAddr, delay: Duration) {
        self.connect(server, 0, delay, Role::NameServer { is_connected: false });
    }

    fn connect(&mut self, server: SocketAddr, version: u16, delay: Duration, role: Role) {
        let (orders, order_queue) = mpsc::unbounded_channel();
        let link = self.next_link;
        self.next_link += 1;
        let task = Link {
            id: link,
            server,
            server_version: version,
            identity: Identity { user: self.config.user.clone(), host: self.config.host.clone() },
            silence_max: self.config.silence_max,
            handler: self.handler.clone(),
            orders: order_queue,
            reports: self.reports.clone(),
            counters: Arc::clone(&self.counters),
            backlog: None,
            arriving: self.arriving.clone(),
            #[cfg(feature = "put")]
            puts: puts::Puts::default(),
        };
        tokio::spawn(task.run(delay));
        self.circuits.insert(server, Circuit { link, orders, keys: HashSet::new(), role });
    }
}

impl Circuit {
    fn searches(&self) -> bool {
        self.role == Role::NameServer { is_connected: true }
    }
}

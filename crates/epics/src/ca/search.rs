//! The search: finds out which server has which PV, without flooding the network and without letting the dead delay the living.
//!
//! ```text
//!   add ─► fresh ──► level 0 ──► level 1 ──► … ──► the last level, for ever
//!          at once   100 ms      200 ms            EPICS_CA_MAX_SEARCH_PERIOD
//! ```
//!
//! Names on one level all wait equally long, so each level is a plain queue, served in turn. First searches and repeats each
//! have their own allowance of names per second: 100,000 names that nobody serves cost a constant trickle, and a name added
//! meanwhile is asked for at once. Each server that was lost has one scout among its names, which is asked for every few
//! seconds for ever; the first reply to it, or from that server, brings forward all the names the server had.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{
    collections::{HashMap, VecDeque},
    mem,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::{Duration, Instant},
};

use super::wire::{self, Message, command};
use crate::Key;

/// The first wait for a reply; each further one is twice as long.
const FIRST_PERIOD: Duration = Duration::from_millis(100);

/// Names that become due within this time travel in the same datagrams.
const ROUND: Duration = Duration::from_millis(4);

/// First searches per second: 25,000 names are asked for in a quarter of a second, in datagrams that an IOC's default
/// receive buffer of 200 kB takes even if it looks up names only every 40 ms. A search of more bytes than usual counts for more.
const FRESH_PER_SECOND: u32 = 100_000;
const USUAL_BYTES: u32 = 48;

/// Repeats per second: about 200 datagrams, less than a tenth of what a 100 Mbit network carries before anyone notices.
const REPEATS_PER_SECOND: u32 = 5_000;

/// An allowance that was not used lasts no longer than this.
const ALLOWANCE_KEPT: Duration = Duration::from_millis(20);

/// Names are brought forward for a server that came up, but not more often than this.
const HURRY_PERIOD: Duration = Duration::from_secs(15);

/// The slowest queue of a scout: a wait of 3.2 s.
const SCOUT_QUEUE: usize = 6;

/// A datagram of searches: what every server ever written takes.
const DATAGRAM_BYTES: usize = 1024;

/// Room for so many names is kept, though there are fewer.
const ROOM_KEPT: usize = 1024;

/// The longest name: what one datagram carries.
pub const NAME_BYTES_MAX: usize = 60_000;

/// A server's reply: it has the PV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The number of the search.
    pub cid: u32,
    /// Where to connect to.
    pub server: SocketAddr,
    /// The server's minor protocol version.
    pub version: u16,
}

impl Answer {
    /// Reads a search reply that came from `sender`; none if the message is none.
    pub fn read(message: &Message<'_>, sender: SocketAddr) -> Option<Answer> {
        let header = message.header;
        if header.command != command::SEARCH {
            return None;
        }
        let version = wire::u16_at(message.payload, 0);
        let named = (version >= 8 && header.parameter1 != 0).then_some(Ipv4Addr::from(header.parameter1));
        let ip = named.filter(|ip| !ip.is_broadcast()).map_or(sender.ip(), IpAddr::V4);
        let port = if version >= 5 || header.data_type != 0 { header.data_type } else { sender.port() };
        (port != 0).then_some(Answer { cid: header.parameter2, server: SocketAddr::new(ip, port), version })
    }
}

/// The names that have no server yet.
pub struct Search {
    period_max: Duration,
    /// In boxes, as the table has twice the places that it needs when it has just grown.
    names: HashMap<u32, Box<Name>>,
    cids: HashMap<Key, u32>,
    next_cid: u32,
    next_sequence: u32,
    /// Queue 0 holds fresh names, queue n + 1 those of level n. Entries of names that have moved on are skipped.
    queues: Vec<VecDeque<Turn>>,
    next_round: Instant,
    fresh: Allowance,
    repeats: Allowance,
    /// Servers that were lost and have not shown themselves since, and the scout for each.
    lost: HashMap<SocketAddr, u32>,
    hurried: Option<Instant>,
    hurry_wanted: bool,
    tally: Tally,
}

/// What the search has done since it was last asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Names asked for, each time.
    pub searches: u64,
    /// Datagrams they went in.
    pub datagrams: u64,
    /// Replies for names still searched for.
    pub replies: u64,
    /// Replies for names that a faster server had claimed, or that were no longer wanted.
    pub late_replies: u64,
    /// Datagrams that held nonsense.
    pub protocol_errors: u64,
}

struct Name {
    key: Key,
    name: Arc<str>,
    last_server: Option<Box<SocketAddr>>,
    queue: usize,
    due: Instant,
}

#[derive(Clone, Copy)]
struct Turn {
    cid: u32,
    due: Instant,
}

impl Name {
    /// Whether this turn is the one that the name waits for.
    fn has(&self, turn: &Turn, queue: usize) -> bool {
        self.queue == queue && self.due == turn.due
    }
}

impl Search {
    /// An empty search; no name waits longer than `period_max`.
    pub fn new(period_max: Duration, now: Instant) -> Search {
        let mut levels = 1;
        while FIRST_PERIOD * 2_u32.pow(levels - 1) < period_max && levels < 20 {
            levels += 1;
        }
        Search {
            period_max,
            names: HashMap::new(),
            cids: HashMap::new(),
            next_cid: 0,
            next_sequence: 0,
            queues: (0..=levels).map(|_| VecDeque::new()).collect(),
            next_round: now,
            fresh: Allowance::new(FRESH_PER_SECOND, now),
            repeats: Allowance::new(REPEATS_PER_SECOND, now),
            lost: HashMap::new(),
            hurried: None,
            hurry_wanted: false,
            tally: Tally::default(),
        }
    }

    /// Searches for a new name, at once.
    pub fn add(&mut self, key: Key, name: Arc<str>, now: Instant) {
        self.insert(key, name, None, 0, now);
    }

    /// Searches again for a name whose server was lost: at once, or later the more often that has failed.
    pub fn add_again(&mut self, key: Key, name: Arc<str>, server: SocketAddr, failures: u32, now: Instant) {
        let queue = self.queues.len().saturating_sub(1).min(failures as usize);
        let cid = self.insert(key, name, Some(server), queue, now);
        let scout = self.lost.entry(server).or_insert(cid);
        if !self.names.contains_key(scout) {
            *scout = cid;
        }
    }

    /// Forgets a name.
    pub fn remove(&mut self, key: Key) {
        if let Some(cid) = self.cids.remove(&key) {
            self.names.remove(&cid);
        }
    }

    /// Number of names searched for.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether no name is searched for.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// A server has shown itself: the names that it had are due now.
    pub fn hurry_names_of(&mut self, server: SocketAddr, now: Instant) {
        if self.lost.remove(&server).is_some() {
            self.move_all_to(0, now, |name| name.queue > 0 && name.last_server.as_deref() == Some(&server));
        }
    }

    /// Somebody came up: any name may now be found, so all begin again with short periods (at the pace of repeats).
    pub fn hurry_all(&mut self, now: Instant) {
        self.hurry_wanted = true;
        self.hurry_if_due(now);
    }

    /// Writes the next datagram into `datagram` if one is due and allowed: a version message (16 bytes, for UDP only),
    /// then as many searches as fit.
    pub fn poll(&mut self, now: Instant, datagram: &mut Vec<u8>) -> bool {
        datagram.clear();
        if now < self.next_round {
            return false;
        }
        self.hurry_if_due(now);
        wire::datagram_version(datagram, self.next_sequence);
        let empty = datagram.len();
        for queue in 0..self.queues.len() {
            self.fill(queue, now, datagram);
        }
        if datagram.len() == empty {
            self.next_round = now + ROUND;
            self.give_room_back();
            return false;
        }
        self.next_sequence = self.next_sequence.wrapping_add(1);
        self.tally.datagrams += 1;
        true
    }

    /// When to poll again.
    pub fn deadline(&self) -> Option<Instant> {
        let hurry = self.hurried.filter(|_| self.hurry_wanted).map(|last| last + HURRY_PERIOD);
        let queues = self.queues.iter().enumerate().filter_map(|(number, queue)| {
            let allowed = if number == 0 { self.fresh.next } else { self.repeats.next };
            queue.front().map(|turn| turn.due.max(allowed))
        });
        queues.chain(hurry).min().map(|due| due.max(self.next_round))
    }

    /// Takes a datagram that came from `sender`; `found` is called for each name that it answers first.
    pub fn receive(&mut self, datagram: &[u8], sender: SocketAddr, now: Instant, found: &mut impl FnMut(Key, Answer)) {
        let mut rest = datagram;
        loop {
            match wire::next_message(rest) {
                Ok(Some((message, after))) => {
                    if let Some(answer) = Answer::read(&message, sender) {
                        self.answered(answer, now, found);
                    }
                    rest = after;
                }
                Ok(None) if rest.is_empty() => return,
                Ok(None) | Err(_) => {
                    self.tally.protocol_errors += 1;
                    return;
                }
            }
        }
    }

    /// Takes one reply, by datagram or from a name server: the first wins.
    pub fn answered(&mut self, answer: Answer, now: Instant, found: &mut impl FnMut(Key, Answer)) {
        let Some(name) = self.names.remove(&answer.cid) else {
            self.tally.late_replies += 1;
            return;
        };
        self.tally.replies += 1;
        self.cids.remove(&name.key);
        found(name.key, answer);
        self.hurry_names_of(answer.server, now);
        if let Some(server) = name.last_server {
            self.hurry_names_of(*server, now); // its PVs may have moved to another address
        }
    }

    /// What was done since the last call.
    pub fn take_tally(&mut self) -> Tally {
        mem::take(&mut self.tally)
    }

    /// Most of the names that there were at once have been found.
    fn give_room_back(&mut self) {
        let room = ROOM_KEPT.max(2 * self.names.len());
        if self.names.capacity() > 2 * room {
            self.names.shrink_to(room);
            self.cids.shrink_to(room);
        }
        self.queues.iter_mut().filter(|turns| turns.is_empty()).for_each(|turns| turns.shrink_to(ROOM_KEPT));
    }

    fn insert(&mut self, key: Key, name: Arc<str>, last_server: Option<SocketAddr>, queue: usize, now: Instant) -> u32 {
        self.remove(key);
        while self.names.contains_key(&self.next_cid) {
            self.next_cid = self.next_cid.wrapping_add(1);
        }
        let cid = self.next_cid;
        self.next_cid = self.next_cid.wrapping_add(1);
        let last_server = last_server.map(Box::new);
        self.names.insert(cid, Box::new(Name { key, name, last_server, queue, due: now }));
        self.cids.insert(key, cid);
        self.move_to(cid, queue, now);
        cid
    }

    /// Puts a name at the end of a queue, whose wait begins now.
    fn move_to(&mut self, cid: u32, queue: usize, now: Instant) {
        let due = now + self.wait(queue);
        let Some(name) = self.names.get_mut(&cid) else { return };
        (name.queue, name.due) = (queue, due);
        if let Some(turns) = self.queues.get_mut(queue) {
            turns.push_back(Turn { cid, due });
        }
    }

    /// How long a name waits in a queue before it is asked for (again).
    fn wait(&self, queue: usize) -> Duration {
        match u32::try_from(queue) {
            Ok(0) => Duration::ZERO,
            Ok(queue) => (FIRST_PERIOD * 2_u32.saturating_pow(queue - 1)).min(self.period_max),
            Err(_) => self.period_max,
        }
    }

    /// Adds the due names of one queue; each moves on to the next queue.
    fn fill(&mut self, queue: usize, now: Instant, datagram: &mut Vec<u8>) {
        let slower = (queue + 1).min(self.queues.len().saturating_sub(1));
        while let Some(turn) = self.queues.get(queue).and_then(VecDeque::front).copied() {
            let current = self.names.get(&turn.cid).filter(|name| name.has(&turn, queue));
            if let Some(name) = current {
                let allowance = if queue == 0 { &mut self.fresh } else { &mut self.repeats };
                let is_full = datagram.len() > 16 && datagram.len() + 24 + name.name.len() > DATAGRAM_BYTES;
                if turn.due > now || is_full || !allowance.take(now, 16 + name.name.len()) {
                    return;
                }
                wire::search(datagram, turn.cid, &name.name);
                self.tally.searches += 1;
                let is_scout = name.last_server.as_deref().and_then(|server| self.lost.get(server)) == Some(&turn.cid);
                self.move_to(turn.cid, if is_scout { slower.min(SCOUT_QUEUE) } else { slower }, now);
            }
            self.queues.get_mut(queue).and_then(VecDeque::pop_front);
        }
    }

    fn hurry_if_due(&mut self, now: Instant) {
        let is_early = self.hurried.is_some_and(|last| now < last + HURRY_PERIOD);
        if !self.hurry_wanted || is_early {
            return;
        }
        (self.hurried, self.hurry_wanted) = (Some(now), false);
        self.move_all_to(1, now, |name| name.queue > 1);
    }

    fn move_all_to(&mut self, queue: usize, now: Instant, which: impl Fn(&Name) -> bool) {
        let chosen: Vec<u32> = self.names.iter().filter(|(_, name)| which(name)).map(|(cid, _)| *cid).collect();
        for cid in chosen {
            self.move_to(cid, queue, now);
        }
        for (number, turns) in self.queues.iter_mut().enumerate() {
            turns.retain(|turn| self.names.get(&turn.cid).is_some_and(|name| name.has(turn, number)));
        }
    }
}

/// Spreads searches evenly over each second; a longer name uses up more of it.
struct Allowance {
    interval: Duration,
    /// The next one is allowed from here on.
    next: Instant,
}

impl Allowance {
    fn new(per_second: u32, now: Instant) -> Allowance {
        Allowance {
            interval: Duration::from_secs(1) / per_second,
            next: now.checked_sub(ALLOWANCE_KEPT).unwrap_or(now),
        }
    }

    fn take(&mut self, now: Instant, bytes: usize) -> bool {
        let oldest = now.checked_sub(ALLOWANCE_KEPT).unwrap_or(now);
        self.next = self.next.max(oldest);
        let is_allowed = self.next <= now;
        if is_allowed {
            let bytes = u32::try_from(bytes).unwrap_or(u32::MAX).max(USUAL_BYTES);
            self.next += self.interval.saturating_mul(bytes) / USUAL_BYTES;
        }
        is_allowed
    }
}

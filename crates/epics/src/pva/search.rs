//! Which server has a PV: names go out many to a datagram, answers come in.
//!
//! ```text
//!   add ─► fresh ─── asked 3 times ───► old          each with its own rate of datagrams, so that
//!            ▲        within 1.5 s       │ │          a hundred thousand names that nobody has
//!            └──── a server was started ─┘ └─► old    do not hold up the one that was just added
//! ```
//!
//! Owns no socket: [`Search::poll`] says what to send, [`Search::deadline`] when to ask again.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap, VecDeque},
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    backoff,
    message::{Guid, SearchReply, Wanted},
    slots::Slots,
};
use crate::Key;

/// Bytes of names in a datagram: with the rest below what every network passes in one piece.
const NAMES_BYTES: usize = 1350;

/// Datagrams per second for fresh names, and how many at once. 25,000 names of 20 characters go out in 1.5 s, without
/// filling the receive buffer of a server (212,992 bytes by default on Linux) between two of its reads.
const FRESH_RATE: Pace = Pace { per_second: 400.0, burst: 20.0, tokens: 20.0, at: None };

/// Datagrams per second for names that nobody seems to have: 100,000 of 20 characters take 90 s for a round.
const OLD_RATE: Pace = Pace { per_second: 20.0, burst: 2.0, tokens: 2.0, at: None };

/// How often a name is asked for before it counts as old.
const FRESH_TRIES: u8 = 3;

/// A new server makes all names fresh once more, but not more often than this.
const HURRY_EVERY: Duration = Duration::from_secs(20);

/// How long answers of further servers are waited for. One that is slower than this has its name asked for in vain anyway.
const ANSWERS_KEPT: Duration = Duration::from_secs(3);

/// Answers that are kept at most: beyond that the oldest are forgotten sooner.
const ANSWERS_MAX: usize = 100_000;

/// Beacons name their server by a number that is new at each start; more of them than this are forgotten all at once.
const SERVERS_MAX: usize = 10_000;

/// A search message to be sent to every target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its number.
    pub sequence: u32,
    /// The names.
    pub names: Vec<Wanted>,
}

/// PVs that a server has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where to connect to.
    pub server: SocketAddr,
    /// Which; they are no longer searched.
    pub keys: Vec<Key>,
}

/// A PV that a second server has too: whoever answers first is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// Which.
    pub key: Key,
    /// Its name.
    pub name: Arc<str>,
    /// Where it was found first.
    pub first: SocketAddr,
    /// Who has it too.
    pub second: SocketAddr,
}

/// The names that are wanted, and when each is asked for next.
#[derive(Debug)]
pub struct Search {
    entries: Slots<Entry>,
    ids: HashMap<Key, u32>,
    fresh: Queue,
    old: Queue,
    sequence: u32,
    servers: HashMap<Guid, u16>,
    hurried: Option<Instant>,
    /// Names that were found lately, to notice who else answers, the oldest first.
    answered: VecDeque<(Instant, u32)>,
    answers: HashMap<u32, Answer>,
}

/// Who had a name.
#[derive(Debug)]
struct Answer {
    key: Key,
    name: Arc<str>,
    guid: Guid,
    server: SocketAddr,
}

#[derive(Debug)]
struct Entry {
    key: Key,
    name: Arc<str>,
    tries: u8,
    due: Instant,
}

#[derive(Debug)]
struct Queue {
    /// The next first. An id whose entry is gone or due at another time is stale and skipped.
    due: BinaryHeap<Reverse<(Instant, u32)>>,
    pace: Pace,
}

/// A token bucket.
#[derive(Debug)]
struct Pace {
    per_second: f64,
    burst: f64,
    tokens: f64,
    at: Option<Instant>,
}

impl Pace {
    fn take(&mut self, now: Instant) -> bool {
        let passed = self.at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        self.tokens = (self.tokens + passed.as_secs_f64() * self.per_second).min(self.burst);
        self.at = Some(now);
        let granted = self.tokens >= 1.0;
        if granted {
            self.tokens -= 1.0;
        }
        granted
    }

    fn next(&self, now: Instant) -> Instant {
        let missing = (1.0 - self.tokens).max(0.0);
        // a little later than exact, or rounding would wake the caller just before the token is there
        self.at.unwrap_or(now) + Duration::from_secs_f64(missing / self.per_second) + Duration::from_micros(100)
    }
}

impl Default for Search {
    fn default() -> Search {
        let queue = |pace| Queue { due: BinaryHeap::new(), pace };
        Search {
            entries: Slots::default(),
            ids: HashMap::new(),
            fresh: queue(FRESH_RATE),
            old: queue(OLD_RATE),
            sequence: 0,
            servers: HashMap::new(),
            hurried: None,
            answered: VecDeque::new(),
            answers: HashMap::new(),
        }
    }
}

impl Search {
    /// Begins to search a name after `delay`.
    pub fn add(&mut self, key: Key, name: Arc<str>, now: Instant, delay: Duration) {
        self.remove(key);
        let due = now + delay;
        let id = self.entries.insert(Entry { key, name, tries: 0, due });
        self.ids.insert(key, id);
        self.fresh.due.push(Reverse((due, id)));
    }

    /// Searches it no longer.
    pub fn remove(&mut self, key: Key) {
        if let Some(id) = self.ids.remove(&key) {
            self.entries.remove(id);
        }
    }

    /// How many names are wanted.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether no name is wanted.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The next message that may be sent now; to be called until there is none.
    pub fn poll(&mut self, now: Instant) -> Option<Request> {
        let names = self.poll_queue(now, Class::Fresh).or_else(|| self.poll_queue(now, Class::Old))?;
        self.sequence = self.sequence.wrapping_add(1);
        Some(Request { sequence: self.sequence, names })
    }

    fn poll_queue(&mut self, now: Instant, class: Class) -> Option<Vec<Wanted>> {
        let due = self.next_due(class)?;
        if due > now || !self.queue(class).pace.take(now) {
            return None;
        }
        let mut names = Vec::new();
        let mut bytes = 0;
        while self.next_due(class).is_some_and(|due| due <= now) {
            let Some(Reverse((_, id))) = self.queue(class).due.peek().copied() else { break };
            let Some(entry) = self.entries.get_mut(id) else { break };
            bytes += entry.name.len() + 7;
            if bytes > NAMES_BYTES && !names.is_empty() {
                break;
            }
            self.queue(class).due.pop();
            names.push(self.ask(id, now)?);
        }
        Some(names)
    }

    /// Notes that the name is asked for now, and when it will be again.
    fn ask(&mut self, id: u32, now: Instant) -> Option<Wanted> {
        let entry = self.entries.get_mut(id)?;
        let pause = backoff::SEARCH.pause(entry.tries.into());
        entry.tries = entry.tries.saturating_add(1);
        entry.due = now + pause;
        let wanted = Wanted { id, name: entry.name.clone() };
        let (due, class) = (entry.due, Class::of(entry));
        self.queue(class).due.push(Reverse((due, id)));
        Some(wanted)
    }

    /// When something can be sent next.
    pub fn deadline(&mut self, now: Instant) -> Option<Instant> {
        [Class::Fresh, Class::Old]
            .into_iter()
            .filter_map(|class| {
                let due = self.next_due(class)?;
                Some(if due > now { due } else { self.queue(class).pace.next(now) })
            })
            .min()
    }

    /// When the first name of the queue is due, after what is stale has been thrown away.
    fn next_due(&mut self, class: Class) -> Option<Instant> {
        loop {
            let Reverse((due, id)) = *self.queue(class).due.peek()?;
            let valid = self.entries.get_mut(id).is_some_and(|entry| entry.due == due && Class::of(entry) == class);
            if valid {
                return Some(due);
            }
            self.queue(class).due.pop();
        }
    }

    fn queue(&mut self, class: Class) -> &mut Queue {
        match class {
            Class::Fresh => &mut self.fresh,
            Class::Old => &mut self.old,
        }
    }

    /// Takes an answer that came from `sender`; names that are no longer searched (a second server has them too) are left
    /// out. A server that was never heard of may have other names too.
    pub fn reply(&mut self, reply: &SearchReply, sender: IpAddr, now: Instant) -> Option<Found> {
        if !reply.found {
            return None;
        }
        if !self.servers.contains_key(&reply.guid) {
            self.beacon(reply.guid, 0, now);
        }
        self.forget_answers(now);
        let server = reachable(reply.server, sender);
        let mut keys = Vec::new();
        for id in &reply.ids {
            if let Some(entry) = self.entries.remove(*id) {
                self.ids.remove(&entry.key);
                keys.push(entry.key);
                self.answered.push_back((now, *id));
                self.answers.insert(*id, Answer { key: entry.key, name: entry.name, guid: reply.guid, server });
            }
        }
        (!keys.is_empty()).then_some(Found { server, keys })
    }

    /// The names in an answer that another server has given before.
    pub fn duplicates(&self, reply: &SearchReply, sender: IpAddr) -> Vec<Duplicate> {
        let second = reachable(reply.server, sender);
        let ids = reply.ids.iter().filter(|_| reply.found);
        let answers = ids.filter_map(|id| self.answers.get(id)).filter(|answer| answer.guid != reply.guid);
        answers.map(|a| Duplicate { key: a.key, name: Arc::clone(&a.name), first: a.server, second }).collect()
    }

    fn forget_answers(&mut self, now: Instant) {
        while let Some((at, id)) = self.answered.front().copied()
            && (self.answered.len() > ANSWERS_MAX || now.saturating_duration_since(at) > ANSWERS_KEPT)
        {
            self.answered.pop_front();
            self.answers.remove(&id);
        }
    }

    /// Takes a beacon: a server that is new, or has new channels, may have names that nobody had before.
    pub fn beacon(&mut self, guid: Guid, changes: u16, now: Instant) {
        if self.servers.len() >= SERVERS_MAX {
            self.servers.clear();
        }
        let news = self.servers.insert(guid, changes) != Some(changes);
        let recently = self.hurried.is_some_and(|at| now.saturating_duration_since(at) < HURRY_EVERY);
        if news && !recently {
            self.hurry(now);
        }
    }

    fn hurry(&mut self, now: Instant) {
        for id in self.ids.values() {
            let Some(entry) = self.entries.get_mut(*id) else { continue };
            if Class::of(entry) == Class::Old {
                self.hurried = Some(now);
                entry.tries = FRESH_TRIES - 1;
                entry.due = now;
                self.fresh.due.push(Reverse((now, *id)));
            }
        }
    }
}

/// Where a server is reached that gave this address: the unspecified one means the sender's.
fn reachable(server: SocketAddr, sender: IpAddr) -> SocketAddr {
    if server.ip().is_unspecified() { SocketAddr::new(sender, server.port()) } else { server }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Fresh,
    Old,
}

impl Class {
    fn of(entry: &Entry) -> Class {
        if entry.tries < FRESH_TRIES { Class::Fresh } else { Class::Old }
    }
}

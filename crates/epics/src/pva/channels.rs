//! The channels of one circuit: created in a window, monitored, retried, given back.
//!
//! ```text
//!   Waiting ─create─► Creating ─created─► Opening ─ready─► Running ─updates─►
//!                        │ refused           │ ▲ refused       │ ended
//!                        ▼                   ▼ │ after a pause │
//!                    back to the search    Resting ◄───────────┘        destroyed by the server: back to the search
//! ```
//!
//! Servers fail under a flood (QSRV2 answers thousands of monitors with `Monitor Create implied error` when 25,000 are
//! asked for at once), so that at most [`WINDOW`] requests are outstanding.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap, VecDeque},
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use pvdata::TypeRegistry;

use super::{
    backoff,
    counters::Counters,
    keep::Keep,
    message::{self, Guid, Status},
    monitor::Monitor,
    normative::{Last, Words},
    plan::Plan,
    slots::Slots,
    types::Type,
    wire::{Error, Order, Reader, Writer},
};
use crate::{Event, Key};

/// Requests that may be unanswered. From 100 to 2,000 every one of 25,000 monitors came up each time.
const WINDOW: usize = 500;

/// A request without answer is given up after this.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Types of which the meaning is kept, and the fields of all of them; more on one circuit would be a server gone mad.
const PLANS_MAX: usize = 10_000;
const PLANNED_FIELDS_MAX: usize = 200_000;

/// A subscription that this server no longer serves: it is to be searched again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Returned {
    /// Which.
    pub key: Key,
    /// Not before so much time has passed.
    pub pause: Duration,
}

/// The channels and what they share.
#[derive(Debug)]
pub(crate) struct Channels {
    // fixed after start
    server: SocketAddr,
    pub(crate) run: Option<Guid>,

    // the channels, by the cid that names them on the wire
    channels: Slots<Channel>,
    cids: HashMap<Key, u32>,
    /// The cid of each monitor, by the ioid that names it on the wire; each attempt has a new one.
    monitors: Slots<u32>,
    /// Whose turn it is when the window has room.
    waiting: VecDeque<u32>,
    outstanding: usize,
    /// What was asked for, oldest first, to notice what is never answered.
    asked: VecDeque<(Instant, u32, Step)>,
    retries: BinaryHeap<Reverse<(Instant, u32)>>,
    returned: Vec<Returned>,

    // shared by the channels
    pub(super) out: Writer,
    pub(super) counters: Counters,
    pub(super) registry: TypeRegistry,
    pub(super) keep: Keep,
    plans: HashMap<Type, Arc<Plan>>,
    planned_fields: usize,
    words: Words,
    #[cfg(feature = "put")]
    puts: super::put::Puts,
}

#[derive(Debug)]
struct Channel {
    key: Key,
    name: Arc<str>,
    monitor: Monitor,
    state: State,
    failures: u8,
}

#[derive(Debug)]
enum State {
    Waiting,
    Creating,
    Opening { sid: u32, ioid: u32 },
    Resting { sid: u32 },
    Running { sid: u32, ioid: u32, plan: Arc<Plan>, last: Box<Last>, taken: u32 },
}

/// A request, to tell whether it is still the one that is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Create,
    Open { ioid: u32 },
}

impl Channel {
    fn step(&self) -> Option<Step> {
        match self.state {
            State::Creating => Some(Step::Create),
            State::Opening { ioid, .. } => Some(Step::Open { ioid }),
            _ => None,
        }
    }

    fn sid(&self) -> Option<u32> {
        match self.state {
            State::Waiting | State::Creating => None,
            State::Opening { sid, .. } | State::Resting { sid } | State::Running { sid, .. } => Some(sid),
        }
    }

    fn ioid(&self) -> Option<u32> {
        match self.state {
            State::Opening { ioid, .. } | State::Running { ioid, .. } => Some(ioid),
            _ => None,
        }
    }

    fn is_running(&self) -> bool {
        matches!(self.state, State::Running { .. })
    }
}

impl Channels {
    pub(crate) fn new(server: SocketAddr) -> Channels {
        Channels {
            server,
            run: None,
            channels: Slots::default(),
            cids: HashMap::new(),
            monitors: Slots::default(),
            waiting: VecDeque::new(),
            outstanding: 0,
            asked: VecDeque::new(),
            retries: BinaryHeap::new(),
            returned: Vec::new(),
            out: Writer::new(Order::Little),
            counters: Counters::default(),
            registry: TypeRegistry::default(),
            keep: Keep::default(),
            plans: HashMap::new(),
            planned_fields: 0,
            words: Words::default(),
            #[cfg(feature = "put")]
            puts: super::put::Puts::default(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.channels.len()
    }

    pub(crate) fn subscribe(&mut self, key: Key, name: Arc<str>, monitor: Monitor) {
        let channel = Channel { key, name, monitor, state: State::Waiting, failures: 0 };
        let cid = self.channels.insert(channel);
        self.cids.insert(key, cid);
        self.waiting.push_back(cid);
    }

    pub(crate) fn unsubscribe(&mut self, key: Key) {
        let Some(cid) = self.cids.get(&key).copied() else { return };
        let Some(channel) = self.take(cid) else { return };
        if let Some(sid) = channel.sid() {
            if let Some(ioid) = channel.ioid() {
                message::destroy_request(&mut self.out, sid, ioid);
            }
            message::destroy_channel(&mut self.out, sid, cid);
        }
    }

    /// Forgets a channel and all that waits for it.
    fn take(&mut self, cid: u32) -> Option<Channel> {
        let channel = self.channels.remove(cid)?;
        self.cids.remove(&channel.key);
        self.leave(&channel);
        Some(channel)
    }

    /// Counts the request of a channel, if it has one, as no longer outstanding.
    fn leave(&mut self, channel: &Channel) {
        self.outstanding -= usize::from(channel.step().is_some());
        if let Some(ioid) = channel.ioid() {
            self.monitors.remove(ioid);
        }
    }

    fn give_back(&mut self, cid: u32, pause: Duration) -> Option<Channel> {
        let channel = self.take(cid)?;
        self.returned.push(Returned { key: channel.key, pause });
        Some(channel)
    }

    /// The subscriptions that must be searched again.
    pub(crate) fn take_returned(&mut self) -> Vec<Returned> {
        std::mem::take(&mut self.returned)
    }

    /// Sends requests while the window has room.
    pub(crate) fn pump(&mut self, now: Instant) {
        while self.outstanding < WINDOW {
            let Some(cid) = self.waiting.pop_front() else { break };
            let Some(channel) = self.channels.get_mut(cid) else { continue };
            match channel.state {
                State::Waiting => {
                    channel.state = State::Creating;
                    message::create_channel(&mut self.out, cid, &channel.name);
                    self.asked.push_back((now, cid, Step::Create));
                    self.outstanding += 1;
                }
                State::Resting { sid } => {
                    self.open(cid, sid, now);
                    self.outstanding += 1;
                }
                _ => {}
            }
        }
    }

    /// Asks for the monitor; the request stays, or becomes, one of the outstanding.
    fn open(&mut self, cid: u32, sid: u32, now: Instant) {
        let Some(channel) = self.channels.get_mut(cid) else { return };
        let ioid = self.monitors.insert(cid);
        channel.state = State::Opening { sid, ioid };
        message::monitor_init(&mut self.out, sid, ioid, channel.monitor);
        self.asked.push_back((now, cid, Step::Open { ioid }));
    }

    /// The server answers the request for a channel.
    pub(crate) fn created(
        &mut self,
        (cid, sid): (u32, u32),
        status: &Status,
        now: Instant,
        emit: &mut impl FnMut(Key, Event),
    ) {
        match self.channels.get_mut(cid).map(|channel| channel.step()) {
            Some(Some(Step::Create)) => {}
            // the user gave the channel up while the server made it
            None if !status.failed => return message::destroy_channel(&mut self.out, sid, cid),
            _ => return,
        }
        if status.failed {
            self.counters.refusals += 1;
            if let Some(channel) = self.give_back(cid, backoff::CHANNEL_REFUSED) {
                emit(channel.key, Event::Refused { message: refusal(status, "the server refuses the channel") });
            }
            return;
        }
        self.open(cid, sid, now);
    }

    /// The server takes a channel away.
    pub(crate) fn destroyed(&mut self, cid: u32, emit: &mut impl FnMut(Key, Event)) {
        let Some(channel) = self.give_back(cid, backoff::CHANNEL_DESTROYED) else { return };
        if channel.is_running() {
            emit(channel.key, Event::Disconnected { reason: "the server no longer has the PV".to_owned() });
        }
    }

    /// The server answers the request for a monitor.
    pub(crate) fn ready(
        &mut self,
        ioid: u32,
        status: &Status,
        ty: Option<Type>,
        now: Instant,
        emit: &mut impl FnMut(Key, Event),
    ) {
        let Some(ty) = ty.filter(|_| !status.failed) else {
            return self.rest(ioid, &refusal(status, "the server refuses the monitor"), now, emit);
        };
        let plan = self.plan(ty);
        let Some(channel) = self.monitors.get_mut(ioid).and_then(|cid| self.channels.get_mut(*cid)) else { return };
        let State::Opening { sid, .. } = channel.state else { return };
        let last = Box::new(Last::new(&plan, &self.keep));
        channel.state = State::Running { sid, ioid, plan, last, taken: 0 };
        self.outstanding -= 1;
        message::monitor_start(&mut self.out, sid, ioid);
        if let Some(run) = self.run {
            emit(channel.key, Event::Identified { run });
        }
        emit(channel.key, Event::Connected { server: self.server });
    }

    /// The plan of that type, shared by all channels that have it.
    fn plan(&mut self, ty: Type) -> Arc<Plan> {
        if let Some(plan) = self.plans.get(&ty) {
            return plan.clone();
        }
        let plan = Arc::new(Plan::new(ty.clone()));
        self.planned_fields += ty.field_numbers();
        if self.plans.len() >= PLANS_MAX || self.planned_fields > PLANNED_FIELDS_MAX {
            self.plans.clear();
            self.planned_fields = ty.field_numbers();
        }
        self.plans.insert(ty, plan.clone());
        plan
    }

    /// An update of a monitor: the changes are merged into its last value, and what is new is told.
    pub(crate) fn update(&mut self, ioid: u32, mut changes: Reader, now: Instant, emit: &mut impl FnMut(Key, Event)) {
        // QSRV2 has been seen to send updates without anything in them
        if changes.rest().is_empty() {
            return;
        }
        let Some(channel) = self.monitors.get_mut(ioid).and_then(|cid| self.channels.get_mut(*cid)) else { return };
        let State::Running { sid, plan, last, taken, .. } = &mut channel.state else { return };
        if channel.monitor.pipeline {
            *taken += 1;
            // half of the window, so that the server need never wait for one that is on its way
            if *taken >= channel.monitor.queue_size.div_ceil(2) {
                message::monitor_acknowledge(&mut self.out, *sid, ioid, *taken);
                *taken = 0;
            }
        }
        if last.has_begun() {
            channel.failures = 0;
        }
        self.counters.updates += 1;
        let key = channel.key;
        match plan.apply(last, &mut changes, (&mut self.registry, &mut self.words), |event| emit(key, event)) {
            Ok(overrun) => self.counters.overruns += u64::from(overrun),
            Err(error) => {
                self.counters.protocol_errors += 1;
                self.fail(ioid, &error.into(), now, emit);
            }
        }
    }

    /// The server sends no more updates.
    pub(crate) fn ended(
        &mut self,
        (ioid, status): (u32, &Status),
        changes: Reader,
        now: Instant,
        emit: &mut impl FnMut(Key, Event),
    ) {
        self.update(ioid, changes, now, emit);
        self.rest(ioid, &refusal(status, "the server ended the monitor"), now, emit);
    }

    /// A message about that monitor makes no sense.
    pub(crate) fn fail(&mut self, ioid: u32, error: &Error, now: Instant, emit: &mut impl FnMut(Key, Event)) {
        let cid = self.monitors.get_mut(ioid).map(|cid| *cid);
        if let Some(sid) = cid.and_then(|cid| self.channels.get_mut(cid)).and_then(|channel| channel.sid()) {
            message::destroy_request(&mut self.out, sid, ioid);
        }
        self.rest(ioid, &error.to_string(), now, emit);
    }

    /// Tells the user why a monitor is not, or no longer, there, and asks for it again after a pause.
    fn rest(&mut self, ioid: u32, words: &str, now: Instant, emit: &mut impl FnMut(Key, Event)) {
        let Some(cid) = self.monitors.get_mut(ioid).map(|cid| *cid) else { return };
        let Some(channel) = self.channels.get_mut(cid) else { return };
        let Some(sid) = channel.sid() else { return };
        self.counters.refusals += 1;
        let reason = words.to_owned();
        if channel.is_running() {
            emit(channel.key, Event::Disconnected { reason });
        } else {
            self.outstanding -= 1;
            emit(channel.key, Event::Refused { message: reason });
        }
        self.monitors.remove(ioid);
        let pause = backoff::MONITOR.pause(channel.failures.into());
        channel.failures = channel.failures.saturating_add(1);
        channel.state = State::Resting { sid };
        self.retries.push(Reverse((now + pause, cid)));
    }

    /// When something is to be done without a message.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let retry = self.retries.peek().map(|Reverse((at, _))| *at);
        let answer = self.asked.front().map(|(at, ..)| *at + ANSWER_TIMEOUT);
        retry.into_iter().chain(answer).min()
    }

    /// Asks again for what was refused, and gives up what was never answered.
    pub(crate) fn tick(&mut self, now: Instant, emit: &mut impl FnMut(Key, Event)) {
        while let Some(Reverse((at, cid))) = self.retries.peek().copied()
            && at <= now
        {
            self.retries.pop();
            self.waiting.push_back(cid);
        }
        while let Some((at, cid, step)) = self.asked.front().copied()
            && at + ANSWER_TIMEOUT <= now
        {
            self.asked.pop_front();
            self.give_up(cid, step, now, emit);
        }
        self.pump(now);
    }

    fn give_up(&mut self, cid: u32, step: Step, now: Instant, emit: &mut impl FnMut(Key, Event)) {
        if self.channels.get_mut(cid).and_then(|channel| channel.step()) != Some(step) {
            return;
        }
        match step {
            Step::Open { ioid } => self.rest(ioid, "the server does not answer the request for a monitor", now, emit),
            Step::Create => {
                self.counters.refusals += 1;
                let message = "the server does not answer the request for a channel".to_owned();
                if let Some(channel) = self.give_back(cid, backoff::CHANNEL_REFUSED) {
                    emit(channel.key, Event::Refused { message });
                }
            }
        }
    }

    /// The server may have had no room to send.
    pub(crate) fn crowded(&self, duration: Duration, emit: &mut impl FnMut(Key, Event)) {
        let running = self.channels.iter().filter(|channel| channel.is_running());
        running.for_each(|channel| emit(channel.key, Event::Crowded { duration }));
    }

    /// Gives everything back because the circuit ends.
    pub(crate) fn close(&mut self, reason: &str, emit: &mut impl FnMut(Key, Event)) -> Vec<Key> {
        let mut keys: Vec<Key> = self.take_returned().iter().map(|returned| returned.key).collect();
        for channel in self.channels.drain() {
            if channel.is_running() {
                emit(channel.key, Event::Disconnected { reason: reason.to_owned() });
            } else if channel.step().is_some() {
                emit(channel.key, Event::Refused { message: reason.to_owned() });
            }
            keys.push(channel.key);
        }
        keys
    }
}

#[cfg(feature = "put")]
impl Channels {
    pub(crate) fn put(&mut self, key: Key, value: super::put::PutValue, number: u32) {
        let cid = self.cids.get(&key).copied();
        let sid = cid.and_then(|cid| self.channels.get_mut(cid)).and_then(|channel| channel.sid());
        self.puts.begin(sid, value, number, &mut self.out);
    }

    pub(crate) fn take_put(&mut self, header: super::wire::Header, payload: &[u8]) -> Result<(), Error> {
        self.puts.take(header, payload, &mut self.registry, &mut self.out)
    }

    pub(crate) fn take_outcomes(&mut self) -> Vec<super::put::Outcome> {
        self.puts.take_outcomes()
    }
}

fn refusal(status: &Status, otherwise: &str) -> String {
    if status.message.is_empty() { otherwise.to_owned() } else { status.message.clone() }
}

//! One client: its channels, its subscriptions, and what it still has to be sent. No socket.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::VecDeque;

use super::{
    Depth, Source,
    encode::{self, Wanted},
    names,
    pvs::{Listener, Pvs},
    queue::Queue,
};
use crate::ca::wire::{self, ECA_NORMAL, Header, Malformed, Message, command};

/// Requests are small; a client that announces more than this is none.
const REQUEST_BYTES_MAX: u32 = 1 << 24;

/// More channels or subscriptions than any client makes on one circuit.
const SLOTS_MAX: usize = 4 << 20;

/// A message begins only while less than this waits for the network, so that what waits longer waits as a number.
const FILL_BYTES: usize = 256 << 10;

/// Requests wait while more than this waits for the network: a client that asks and never listens costs no more.
const BACKLOG_BYTES: usize = 4 << 20;

const EVENT_CANCEL: u16 = 2;
const READ: u16 = 3;
const WRITE: u16 = 4;
const EVENTS_OFF: u16 = 8;
const EVENTS_ON: u16 = 9;
const WRITE_NOTIFY: u16 = 19;

const BAD_TYPE: u32 = 114;
const BAD_COUNT: u32 = 176;
const BAD_SUBSCRIPTION: u32 = 330;
const NO_WRITE_ACCESS: u32 = 376;
const BAD_CHANNEL: u32 = 410;
const TOO_MANY: u32 = 48;

const MASK_VALUE_OR_ARCHIVE: u16 = 1 | 2;
const MASK_ALARM: u16 = 4;

/// The server's end of one circuit.
pub struct Circuit {
    number: u32,
    port: u16,
    channels: Slots<Channel>,
    subscriptions: Slots<Subscription>,
    /// Subscriptions with updates to send, in turn.
    ready: VecDeque<u32>,
    holds_back: bool,
    output: Vec<u8>,
    /// Bytes of `output` that are gone.
    taken: usize,
}

struct Channel {
    pv: u32,
    cid: u32,
    subscriptions: Vec<u32>,
}

struct Subscription {
    pv: u32,
    id: u32,
    data_type: u16,
    count: u32,
    mask: u16,
    queue: Queue,
    /// It is in `ready`.
    has_turn: bool,
}

impl Circuit {
    /// A client has connected; `number` is what its subscriptions are found by.
    pub fn new(number: u32, port: u16) -> Circuit {
        let mut output = Vec::new();
        wire::version(&mut output);
        Circuit {
            number,
            port,
            channels: Slots::default(),
            subscriptions: Slots::default(),
            ready: VecDeque::new(),
            holds_back: false,
            output,
            taken: 0,
        }
    }

    /// Whether so much waits for the network that no request is taken.
    pub fn is_full(&self) -> bool {
        self.output.len() - self.taken >= BACKLOG_BYTES
    }

    /// Takes requests, until the circuit is full, and returns how many bytes these were; the rest is to be offered again. After
    /// an error the circuit is of no use.
    pub fn receive(&mut self, bytes: &[u8], pvs: &mut Pvs<impl Source>) -> Result<usize, Malformed> {
        let mut rest = bytes;
        while !self.is_full()
            && let Some((message, after)) = wire::next_message(rest)?
        {
            self.take(&message, pvs);
            rest = after;
        }
        let announced = u32::from(wire::u16_at(rest, 2));
        let size = if announced == 0xFFFF { wire::u32_at(rest, 16) } else { announced };
        if size > REQUEST_BYTES_MAX {
            return Err(Malformed::TooLarge { size: size.into() });
        }
        Ok(bytes.len() - rest.len())
    }

    /// Queues an update for a subscription.
    pub fn post(&mut self, subscription: u32, number: u64, pvs: &mut Pvs<impl Source>) {
        let Some(found) = self.subscriptions.get_mut(subscription) else { return };
        let is_wanted = found.mask & MASK_VALUE_OR_ARCHIVE != 0
            || (found.mask & MASK_ALARM != 0 && pvs.source.is_alarm_changed(found.pv, number));
        if !is_wanted {
            return;
        }
        let depth = match pvs.settings.depth {
            Depth::Places(_) if self.holds_back => Depth::Places(1),
            depth => depth,
        };
        pvs.counters.posted += 1;
        if found.queue.push(number, depth) {
            *(if self.holds_back { &mut pvs.counters.held_back } else { &mut pvs.counters.replaced }) += 1;
        }
        if !found.has_turn {
            found.has_turn = true;
            self.ready.push_back(subscription);
        }
    }

    /// Makes messages of queued updates as long as there is room, and returns what is to be sent.
    pub fn fill(&mut self, pvs: &mut Pvs<impl Source>) -> &[u8] {
        if self.taken > 0 && self.output.len() - self.taken < FILL_BYTES {
            self.output.drain(..self.taken);
            self.taken = 0;
        }
        while !self.holds_back && self.output.len() - self.taken < FILL_BYTES {
            let Some(turn) = self.ready.pop_front() else { break };
            let Some(subscription) = self.subscriptions.get_mut(turn) else { continue };
            if let Some(number) = subscription.queue.pop() {
                subscription.put(number, pvs, &mut self.output);
                pvs.counters.sent += 1;
            }
            subscription.has_turn = !subscription.queue.is_empty();
            if subscription.has_turn {
                self.ready.push_back(turn);
            }
        }
        self.output.get(self.taken..).unwrap_or_default()
    }

    /// So many bytes of what `fill` returned were sent.
    pub fn sent(&mut self, bytes: usize) {
        self.taken = (self.taken + bytes).min(self.output.len());
        if self.taken == self.output.len() {
            self.output.clear();
            self.taken = 0;
        }
    }

    /// Whether `fill` has anything to return.
    pub fn is_idle(&self) -> bool {
        self.output.len() == self.taken && (self.holds_back || self.ready.is_empty())
    }

    /// Makes no more messages of queued updates: what is left is what was begun.
    pub fn hold(&mut self) {
        self.holds_back = true;
    }

    /// Updates that wait.
    pub fn waiting(&self) -> u64 {
        self.subscriptions.iter().map(|subscription| subscription.queue.len()).sum()
    }

    /// Sends bytes that are no message of the protocol: a broken server is simulated so.
    pub fn inject(&mut self, bytes: &[u8]) {
        self.output.extend_from_slice(bytes);
    }

    /// Ends the circuit: nobody listens any more.
    pub fn end(&mut self, pvs: &mut Pvs<impl Source>) {
        self.ready.clear();
        for number in 0..self.subscriptions.places() {
            self.cancel(number, pvs);
        }
        pvs.counters.circuits_ended += 1;
    }

    fn take(&mut self, message: &Message<'_>, pvs: &mut Pvs<impl Source>) {
        let header = message.header;
        match header.command {
            command::EVENT_ADD => self.event_add(message, pvs),
            EVENT_CANCEL => self.event_cancel(&header, pvs),
            command::READ_NOTIFY | READ => self.read(&header, pvs),
            command::CREATE_CHANNEL => self.create(message, pvs),
            command::CLEAR_CHANNEL => self.clear(&header, pvs),
            command::SEARCH => names::search(pvs, message, self.port, &mut self.output),
            command::ECHO => wire::echo(&mut self.output),
            EVENTS_OFF => self.holds_back = true,
            EVENTS_ON => self.holds_back = false,
            WRITE => self.refuse(&header, NO_WRITE_ACCESS, pvs),
            WRITE_NOTIFY => {
                pvs.counters.errors += 1;
                let reply = Header { parameter1: NO_WRITE_ACCESS, ..header };
                wire::put_message(&mut self.output, reply, &[]);
            }
            command::VERSION | command::CLIENT_NAME | command::HOST_NAME => {}
            10 => {} // READ_SYNC: answers come in order anyway
            _ => pvs.counters.errors += 1,
        }
    }

    fn create(&mut self, message: &Message<'_>, pvs: &mut Pvs<impl Source>) {
        let cid = message.header.parameter1;
        let found = pvs.source.find(&wire::text(message.payload));
        let sid = found.and_then(|pv| Some((pv, self.channels.add(Channel { pv, cid, subscriptions: Vec::new() })?)));
        let Some((pv, sid)) = sid else {
            let header = Header { command: command::CREATE_CHANNEL_FAILED, parameter1: cid, ..Header::default() };
            return wire::put_message(&mut self.output, header, &[]);
        };
        pvs.counters.channels += 1;
        let (field, count) = pvs.source.channel(pv);
        let rights = Header {
            command: command::ACCESS_RIGHTS,
            parameter1: cid,
            parameter2: 1, // to read
            ..Header::default()
        };
        wire::put_message(&mut self.output, rights, &[]);
        let created = Header {
            command: command::CREATE_CHANNEL,
            data_type: field as u16,
            count,
            parameter1: cid,
            parameter2: sid,
            ..Header::default()
        };
        wire::put_message(&mut self.output, created, &[]);
    }

    fn event_add(&mut self, message: &Message<'_>, pvs: &mut Pvs<impl Source>) {
        let header = message.header;
        let Header { data_type, count, parameter1: sid, parameter2: id, .. } = header;
        let Some(channel) = self.channels.get_mut(sid) else { return self.refuse(&header, BAD_CHANNEL, pvs) };
        if let Some(status) = objection(&header, channel.pv, pvs) {
            return self.refuse(&header, status, pvs);
        }
        let (pv, mask) = (channel.pv, wire::u16_at(message.payload, 12));
        let subscription = Subscription { pv, id, data_type, count, mask, queue: Queue::default(), has_turn: false };
        let Some(number) = self.subscriptions.add(subscription) else { return self.refuse(&header, TOO_MANY, pvs) };
        if let Some(subscription) = self.subscriptions.get(number) {
            subscription.put(pvs.newest(pv), pvs, &mut self.output);
        }
        channel.subscriptions.push(number);
        pvs.listen(pv, Listener { circuit: self.number, subscription: number });
        pvs.counters.subscriptions += 1;
        pvs.counters.reads += 1;
    }

    fn event_cancel(&mut self, header: &Header, pvs: &mut Pvs<impl Source>) {
        let Some(channel) = self.channels.get_mut(header.parameter1) else {
            return self.refuse(header, BAD_CHANNEL, pvs);
        };
        let subscriptions = &self.subscriptions;
        let is_meant = |number: &u32| subscriptions.get(*number).is_some_and(|found| found.id == header.parameter2);
        let Some(place) = channel.subscriptions.iter().position(is_meant) else {
            return self.refuse(header, BAD_SUBSCRIPTION, pvs);
        };
        let number = channel.subscriptions.swap_remove(place);
        self.cancel(number, pvs);
        // The last word on a subscription is an update without a value.
        wire::put_message(&mut self.output, Header { command: command::EVENT_ADD, ..*header }, &[]);
    }

    fn read(&mut self, header: &Header, pvs: &mut Pvs<impl Source>) {
        let Header { data_type, count, parameter1: sid, parameter2: id, .. } = *header;
        let Some(pv) = self.channels.get(sid).map(|channel| channel.pv) else {
            return self.refuse(header, BAD_CHANNEL, pvs);
        };
        if let Some(status) = objection(header, pv, pvs) {
            return self.refuse(header, status, pvs);
        }
        let wanted = Wanted { pv, number: pvs.newest(pv), data_type, count };
        let reply = Header { command: header.command, parameter1: ECA_NORMAL, parameter2: id, ..Header::default() };
        put_value(reply, wanted, &pvs.source, &mut self.output);
        pvs.counters.reads += 1;
    }

    fn clear(&mut self, header: &Header, pvs: &mut Pvs<impl Source>) {
        let Some(channel) = self.channels.remove(header.parameter1) else {
            return self.refuse(header, BAD_CHANNEL, pvs);
        };
        for number in channel.subscriptions {
            self.cancel(number, pvs);
        }
        wire::clear_channel(&mut self.output, header.parameter1, channel.cid);
    }

    fn cancel(&mut self, number: u32, pvs: &mut Pvs<impl Source>) {
        if let Some(subscription) = self.subscriptions.remove(number) {
            pvs.counters.abandoned += subscription.queue.len();
            if subscription.has_turn {
                // Its place may be taken by a newcomer, who must not have two turns.
                self.ready.retain(|turn| *turn != number);
            }
            pvs.forget(subscription.pv, Listener { circuit: self.number, subscription: number });
        }
    }

    /// Answers a request that cannot be served: an error message returns its header.
    fn refuse(&mut self, header: &Header, status: u32, pvs: &mut Pvs<impl Source>) {
        pvs.counters.errors += 1;
        let cid = self.channels.get(header.parameter1).map_or(u32::MAX, |channel| channel.cid);
        let mut payload = Vec::new();
        wire::put_message(&mut payload, *header, &[]);
        payload.extend_from_slice(wire::status_text(status).as_bytes());
        payload.push(0);
        let reply = Header { command: command::ERROR, parameter1: cid, parameter2: status, ..Header::default() };
        wire::put_message(&mut self.output, reply, &payload);
    }
}

/// Why a type and count cannot be served; none if they can.
fn objection(header: &Header, pv: u32, pvs: &Pvs<impl Source>) -> Option<u32> {
    if encode::element_type(header.data_type).is_none() {
        return Some(BAD_TYPE);
    }
    (header.count > pvs.source.channel(pv).1).then_some(BAD_COUNT)
}

impl Subscription {
    fn put(&self, number: u64, pvs: &Pvs<impl Source>, out: &mut Vec<u8>) {
        let Subscription { pv, id, data_type, count, .. } = *self;
        let reply = Header { command: command::EVENT_ADD, parameter1: ECA_NORMAL, parameter2: id, ..Header::default() };
        put_value(reply, Wanted { pv, number, data_type, count }, &pvs.source, out);
    }
}

/// Appends a message with a value. Its header is written when the length of the value is known.
fn put_value(header: Header, wanted: Wanted, source: &impl Source, out: &mut Vec<u8>) {
    let begin = out.len();
    // Room for the form of header that the largest value of the channel needs.
    let (_, count_max) = source.channel(wanted.pv);
    let element_bytes = encode::element_type(wanted.data_type).map_or(0, |field| field.element_bytes() as u64);
    let is_extended = u64::from(count_max) * element_bytes + 512 >= 0xFFFF || count_max > 0xFFFF;
    let header_bytes = if is_extended { 24 } else { 16 };
    out.resize(begin + header_bytes, 0);
    let Some(count) = encode::payload(source, wanted, out) else { return out.truncate(begin) };
    let size = (out.len() - begin - header_bytes).next_multiple_of(8);
    out.resize(begin + header_bytes + size, 0);
    let header = Header { size: size as u32, data_type: wanted.data_type, count, ..header };
    if let Some(place) = out.get_mut(begin..begin + header_bytes) {
        wire::fill_header(place, &header);
    }
}

/// Places by number; those that are free are used again.
struct Slots<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Slots<T> {
        Slots { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    fn add(&mut self, new: T) -> Option<u32> {
        if let Some(number) = self.free.pop() {
            *self.places.get_mut(number as usize)? = Some(new);
            return Some(number);
        }
        let number = u32::try_from(self.places.len()).ok().filter(|_| self.places.len() < SLOTS_MAX)?;
        self.places.push(Some(new));
        Some(number)
    }

    fn get(&self, number: u32) -> Option<&T> {
        self.places.get(number as usize)?.as_ref()
    }

    fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.places.get_mut(number as usize)?.as_mut()
    }

    fn remove(&mut self, number: u32) -> Option<T> {
        let found = self.places.get_mut(number as usize)?.take();
        if found.is_some() {
            self.free.push(number);
        }
        found
    }

    fn places(&self) -> u32 {
        self.places.len() as u32
    }

    fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().flatten()
    }
}

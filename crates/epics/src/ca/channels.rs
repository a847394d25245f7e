//! The channels of one circuit: how each comes up, what its values are, and how the two of a PV with a dead band go together.
//!
//! ```text
//!   open(key, name)   CREATE_CHANNEL ─► ACCESS_RIGHTS, CREATE_CHANNEL    Connected
//!                     EVENT_ADD (TIME type, the monitor's mask) ─► …     Updated, Updated, …
//!                     EVENT_ADD (CTRL type, properties) ─► EVENT_ADD…    Described, again on each change
//!   close(key)        CLEAR_CHANNEL ─► CLEAR_CHANNEL                     its numbers may be used again
//! ```
//!
//! Where a dead band is asked for, a second channel with the filter in its name is opened beside the first. When the server has
//! opened it the values come by it, and the first goes on with changes of alarm only, which the filter may hold back; when the
//! server refuses it nothing changes. When the server refuses either subscription afterwards, the first has all updates again.
//!
//! A channel's number (`cid`) is its slot; its subscriptions are numbered twice that, and one more for the properties. A
//! slot is used again only after the server's last word on it, so a late message never reaches a newcomer.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{
    collections::HashMap,
    mem,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    dbr::{self, FieldType, Shape},
    monitor::{CharArrays, Monitor},
    wire::{self, Header, Message, Wanted, command},
};
use crate::{Description, Event, Key, mask::Mask};

/// Units, limits and labels cost an IOC more than values (25,000 channels: 0.7 s against 0.4), so they are asked for when all
/// channels have been created, or at the latest after this.
const DESCRIPTIONS_WAIT: Duration = Duration::from_secs(1);

/// The mask bit of changed units, limits and labels.
const DBE_PROPERTY: u16 = 8;

/// What the circuit has seen since it was last asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Messages of any kind.
    pub messages: u64,
    /// Values for subscriptions.
    pub updates: u64,
    /// Messages that held nonsense.
    pub protocol_errors: u64,
}

/// The channels of a circuit, and the messages that wait to be sent.
pub(super) struct Channels {
    // fixed after start
    pub(super) server: SocketAddr,
    // the conversation
    pub(super) server_version: u16,
    pub(super) out: Vec<u8>,
    // the channels
    slots: Vec<Option<Channel>>,
    free: Vec<u32>,
    /// How many channels the server has not answered for.
    creating: usize,
    /// Channels whose properties are still to be asked for, and since when there are such.
    undescribed: Vec<u32>,
    undescribed_since: Option<Instant>,
    by_key: HashMap<Key, u32>,
    // for the link to take
    orphans: Vec<Key>,
    pub(super) tally: Tally,
}

struct Channel {
    key: Key,
    name: Arc<str>,
    monitor: Monitor,
    state: State,
    /// The last failure was told to the user, who does not want it with every update.
    complained: bool,
    /// The other channel of a PV with a dead band.
    beside: Option<Beside>,
}

/// How one of two channels of the same PV stands to the other, whose number it holds.
#[derive(Clone, Copy)]
enum Beside {
    /// This is the PV's own channel, the other has the filter.
    Filtered(u32),
    /// This one has the filter.
    Plain(u32),
}

/// Which subscription of a PV with a dead band the server refuses once there are both.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RefusedBand {
    Filter,
    Alarms,
}

#[derive(Clone, Copy)]
enum State {
    /// Asked for.
    Creating,
    /// Asked for, and no longer wanted.
    Abandoned,
    Open {
        sid: u32,
        field: FieldType,
        shape: Shape,
        element_count: u32,
    },
    /// The server still has the last word.
    Closing,
}

impl Channels {
    /// No channels; `server_version` is what the search reply said.
    pub(super) fn new(server: SocketAddr, server_version: u16) -> Channels {
        Channels {
            server,
            server_version,
            out: Vec::new(),
            slots: Vec::new(),
            free: Vec::new(),
            creating: 0,
            undescribed: Vec::new(),
            undescribed_since: None,
            by_key: HashMap::new(),
            orphans: Vec::new(),
            tally: Tally::default(),
        }
    }

    /// Asks for a channel and its subscriptions.
    pub(super) fn open(&mut self, key: Key, name: Arc<str>, monitor: Monitor) {
        self.close(key);
        let channel = Channel { key, name, monitor, state: State::Creating, complained: false, beside: None };
        let cid = self.create(channel);
        self.by_key.insert(key, cid);
    }

    fn create(&mut self, channel: Channel) -> u32 {
        let cid = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
        });
        wire::create_channel(&mut self.out, cid, &channel.name);
        self.creating += 1;
        if let Some(slot) = self.slots.get_mut(cid as usize) {
            *slot = Some(channel);
        }
        cid
    }

    /// Ends a channel; no event follows.
    pub(super) fn close(&mut self, key: Key) {
        let Some(cid) = self.by_key.remove(&key) else { return };
        self.clear(cid);
    }

    /// Gives a channel up, and the one with the filter beside it.
    fn clear(&mut self, cid: u32) {
        let Some(channel) = channel_mut(&mut self.slots, cid) else { return };
        let beside = channel.beside.take();
        match channel.state {
            State::Creating => channel.state = State::Abandoned,
            State::Open { sid, .. } => {
                channel.state = State::Closing;
                wire::clear_channel(&mut self.out, sid, cid);
            }
            State::Abandoned | State::Closing => {}
        }
        if let Some(Beside::Filtered(other)) = beside {
            self.clear(other);
        }
    }

    /// Ends the circuit for `reason`: every channel is told.
    pub(super) fn abandon(&mut self, reason: &str, tell: &mut impl FnMut(Key, Event)) {
        let own = |channel: &Channel| !matches!(channel.beside, Some(Beside::Plain(_)));
        for channel in self.slots.drain(..).flatten().filter(own) {
            match channel.state {
                State::Open { .. } => tell(channel.key, Event::Disconnected { reason: reason.to_owned() }),
                State::Creating => tell(channel.key, Event::Refused { message: reason.to_owned() }),
                State::Abandoned | State::Closing => {}
            }
        }
        self.free.clear();
        self.creating = 0;
        self.by_key.clear();
    }

    /// Tells every open channel that the server may have had no room to send.
    pub(super) fn crowded(&self, duration: Duration, tell: &mut impl FnMut(Key, Event)) {
        let is_open = |channel: &&Channel| {
            matches!(channel.state, State::Open { .. }) && !matches!(channel.beside, Some(Beside::Plain(_)))
        };
        let open = self.slots.iter().flatten().filter(is_open);
        open.for_each(|channel| tell(channel.key, Event::Crowded { duration }));
    }

    /// Channels that the server has given up, to be searched for again.
    pub(super) fn take_orphans(&mut self) -> Vec<Key> {
        mem::take(&mut self.orphans)
    }

    /// An update of a subscription: of a value, or of the properties, which is told as a description.
    pub(super) fn take_value(&mut self, message: &Message<'_>, tell: &mut impl FnMut(Key, Event)) {
        let header = message.header;
        if header.parameter2 & 1 == 1 {
            return self.take_description(message, tell);
        }
        let cid = header.parameter2 >> 1;
        let Some(channel) = channel_mut(&mut self.slots, cid) else { return };
        let State::Open { shape, .. } = channel.state else { return };
        if header.parameter1 != wire::ECA_NORMAL {
            if let Some(Beside::Plain(plain)) = channel.beside {
                return self.unfilter(plain, RefusedBand::Filter, tell);
            }
            return channel.complain(wire::status_text(header.parameter1).to_owned(), tell);
        }
        if header.size == 0 {
            return; // an older server's "that was the last one"
        }
        match dbr::reading(message, shape) {
            Ok(reading) => {
                self.tally.updates += 1;
                channel.complained = false;
                tell(channel.key, Event::Updated(reading));
            }
            Err(error) => {
                self.tally.protocol_errors += 1;
                channel.complain(error.to_string(), tell);
            }
        }
    }

    pub(super) fn take_description(&mut self, message: &Message<'_>, tell: &mut impl FnMut(Key, Event)) {
        let header = message.header;
        let Some(channel) = channel_mut(&mut self.slots, header.parameter2 >> 1) else { return };
        let State::Open { element_count, shape, .. } = channel.state else { return };
        if header.parameter1 != wire::ECA_NORMAL || header.size == 0 {
            return; // without read access there are no values either, and those complain
        }
        if shape == Shape::Text {
            // Limits of a byte say nothing about a text.
            let description = Description { element_count: Some(1), ..Description::default() };
            return tell(channel.key, Event::Described(Box::new(description)));
        }
        match dbr::description(message, u64::from(element_count)) {
            Ok(description) => tell(channel.key, Event::Described(Box::new(description))),
            Err(error) => {
                self.tally.protocol_errors += 1;
                channel.complain(error.to_string(), tell);
            }
        }
    }

    pub(super) fn take_created(&mut self, header: &Header, tell: &mut impl FnMut(Key, Event)) {
        let (cid, sid) = (header.parameter1, header.parameter2);
        let Some(channel) = channel_mut(&mut self.slots, cid) else { return };
        match channel.state {
            State::Open { .. } | State::Closing => return,
            State::Creating => self.creating -= 1,
            State::Abandoned => {
                self.creating -= 1;
                channel.state = State::Closing;
                return wire::clear_channel(&mut self.out, sid, cid);
            }
        }
        if let Some(Beside::Plain(plain)) = channel.beside {
            return self.take_filtered(cid, plain, header, tell);
        }
        let Some(field) = FieldType::from_number(header.data_type) else {
            self.tally.protocol_errors += 1;
            let message = format!("{} offers the PV with the unknown type {}", self.server, header.data_type);
            channel.state = State::Closing;
            self.by_key.remove(&channel.key);
            self.orphans.push(channel.key);
            wire::clear_channel(&mut self.out, sid, cid);
            return tell(channel.key, Event::Refused { message });
        };
        let shape = channel.shape(field, header.count);
        channel.state = State::Open { sid, field, shape, element_count: header.count };
        tell(channel.key, Event::Connected { server: self.server });
        let (mask, by_length) = (channel.monitor.mask.bits(), self.server_version >= 13);
        let values =
            Wanted { sid, id: cid << 1, data_type: field.time(), count: if by_length { 0 } else { header.count } };
        wire::event_add(&mut self.out, values, mask);
        self.undescribed.push(cid);
        self.ask_for_filter(cid);
    }

    /// Opens a second channel, with the dead band that the user wants, beside one that is open.
    fn ask_for_filter(&mut self, cid: u32) {
        let Some(channel) = channel_mut(&mut self.slots, cid) else { return };
        let State::Open { field, shape: Shape::Scalar, .. } = channel.state else { return };
        let Some(name) = channel.monitor.deadband.and_then(|deadband| deadband.name(&channel.name)) else { return };
        if matches!(field, FieldType::String | FieldType::Enum) {
            return;
        }
        let beside = Some(Beside::Plain(cid));
        let (key, monitor, state) = (channel.key, channel.monitor, State::Creating);
        let other = self.create(Channel { key, name: name.into(), monitor, state, complained: true, beside });
        if let Some(channel) = channel_mut(&mut self.slots, cid) {
            channel.beside = Some(Beside::Filtered(other));
        }
    }

    /// The server has opened a channel with a filter: it takes the place of the plain one for values.
    fn take_filtered(&mut self, cid: u32, plain: u32, header: &Header, tell: &mut impl FnMut(Key, Event)) {
        let sid = header.parameter2;
        let values = match channel_mut(&mut self.slots, plain) {
            Some(Channel { state: State::Open { sid, field, element_count, .. }, .. }) => {
                (*sid, *field, *element_count)
            }
            _ => {
                if let Some(channel) = channel_mut(&mut self.slots, cid) {
                    channel.state = State::Closing;
                }
                return wire::clear_channel(&mut self.out, sid, cid);
            }
        };
        let (plain_sid, field, element_count) = values;
        let count = if self.server_version >= 13 { 0 } else { 1 };
        let wanted = |sid, cid: u32| Wanted { sid, id: cid << 1, data_type: field.time(), count };
        let Some(channel) = channel_mut(&mut self.slots, cid) else { return };
        channel.state = State::Open { sid, field, shape: Shape::Scalar, element_count };
        let (key, mask) = (channel.key, channel.monitor.mask.bits());
        wire::event_add(&mut self.out, wanted(sid, cid), mask);
        wire::event_cancel(&mut self.out, wanted(plain_sid, plain));
        wire::event_add(&mut self.out, wanted(plain_sid, plain), Mask::ALARM.bits());
        tell(key, Event::Filtered);
    }

    /// The server does not go on with the filter, or with changes of alarm beside it: the plain channel has all updates again.
    fn unfilter(&mut self, cid: u32, refused: RefusedBand, tell: &mut impl FnMut(Key, Event)) {
        let count = if self.server_version >= 13 { 0 } else { 1 };
        let Some(channel) = channel_mut(&mut self.slots, cid) else { return };
        let (Some(Beside::Filtered(other)), State::Open { sid, field, .. }) = (channel.beside, channel.state) else {
            return;
        };
        channel.beside = None;
        let (key, mask) = (channel.key, channel.monitor.mask.bits());
        let wanted = Wanted { sid, id: cid << 1, data_type: field.time(), count };
        if refused == RefusedBand::Filter {
            wire::event_cancel(&mut self.out, wanted);
        }
        wire::event_add(&mut self.out, wanted, mask);
        if let Some(other) = channel_mut(&mut self.slots, other) {
            other.beside = None;
        }
        self.clear(other);
        tell(key, Event::Unfiltered);
    }

    /// What it means that the subscription of a channel is refused, where there are two, with the number of the plain one.
    fn of_two(&mut self, cid: u32) -> Option<(u32, RefusedBand)> {
        match channel_mut(&mut self.slots, cid)?.beside? {
            Beside::Plain(plain) => Some((plain, RefusedBand::Filter)),
            Beside::Filtered(other) => {
                let State::Open { .. } = channel_mut(&mut self.slots, other)?.state else { return None };
                Some((cid, RefusedBand::Alarms))
            }
        }
    }

    /// Subscribes to the properties of new channels, once all channels have been created or some have waited too long.
    pub(super) fn ask_for_descriptions(&mut self, now: Instant) {
        if self.undescribed.is_empty() {
            return;
        }
        let since = *self.undescribed_since.get_or_insert(now);
        if self.creating > 0 && now < since + DESCRIPTIONS_WAIT {
            return;
        }
        self.undescribed_since = None;
        for cid in self.undescribed.drain(..) {
            if let Some(Channel { state: State::Open { sid, field, .. }, .. }) = channel_mut(&mut self.slots, cid) {
                let wanted = Wanted { sid: *sid, id: cid << 1 | 1, data_type: field.control(), count: 1 };
                wire::event_add(&mut self.out, wanted, DBE_PROPERTY);
            }
        }
    }

    pub(super) fn take_rights(&mut self, header: &Header, tell: &mut impl FnMut(Key, Event)) {
        if header.parameter2 & 1 == 1 {
            return;
        }
        if let Some(channel) = channel_mut(&mut self.slots, header.parameter1) {
            channel.complain("read access denied".to_owned(), tell);
        }
    }

    /// The server reports a failure and returns the header of the request that failed.
    pub(super) fn take_error(&mut self, message: &Message<'_>, tell: &mut impl FnMut(Key, Event)) {
        let is_extended = wire::u16_at(message.payload, 2) == 0xFFFF && wire::u16_at(message.payload, 6) == 0;
        let words = wire::text(message.payload.get(if is_extended { 24 } else { 16 }..).unwrap_or_default());
        let request = wire::u16_at(message.payload, 0);
        let id = wire::u32_at(message.payload, 12);
        let cid = match request {
            command::EVENT_ADD | command::READ_NOTIFY => id >> 1,
            _ => message.header.parameter1,
        };
        if let (command::EVENT_ADD, 0, Some((plain, refused))) = (request, id & 1, self.of_two(cid)) {
            return self.unfilter(plain, refused, tell);
        }
        let Some(channel) = channel_mut(&mut self.slots, cid) else { return };
        match (request, id & 1, channel.state) {
            (command::EVENT_ADD, 1, State::Open { sid, field, .. }) => {
                // A server of before 2010 knows no subscription to properties: one look at them must do.
                return wire::read_notify(&mut self.out, Wanted { sid, id, data_type: field.control(), count: 1 });
            }
            (command::READ_NOTIFY, 1, _) => return, // a PV without limits is still a PV
            _ => {}
        }
        let status = wire::status_text(message.header.parameter2);
        channel.complain(if words.is_empty() { status.to_owned() } else { format!("{status}: {words}") }, tell);
    }

    /// The server has given up the channel: its slot is free at once.
    pub(super) fn orphan(&mut self, cid: u32, event: Event, tell: &mut impl FnMut(Key, Event)) {
        let Some(channel) = channel_mut(&mut self.slots, cid) else { return };
        match (channel.state, channel.beside) {
            // The server does not know the filter: the plain channel has all updates.
            (State::Creating, Some(Beside::Plain(plain))) => {
                if let Some(plain) = channel_mut(&mut self.slots, plain) {
                    plain.beside = None;
                }
            }
            (State::Creating | State::Open { .. }, beside) => {
                let key = channel.key;
                self.by_key.remove(&key);
                self.orphans.push(key);
                match beside {
                    Some(Beside::Filtered(other)) => self.clear(other),
                    Some(Beside::Plain(plain)) => {
                        if let Some(plain) = channel_mut(&mut self.slots, plain) {
                            plain.beside = None;
                        }
                        self.clear(plain);
                    }
                    None => {}
                }
                tell(key, event);
            }
            (State::Abandoned | State::Closing, _) => {}
        }
        self.release(cid);
    }

    /// The server's last word on a channel; a server that says it unasked is not believed.
    pub(super) fn take_cleared(&mut self, cid: u32) {
        if let Some(Channel { state: State::Closing, .. }) = channel_mut(&mut self.slots, cid) {
            self.release(cid);
        }
    }

    fn release(&mut self, cid: u32) {
        let Some(channel) = self.slots.get_mut(cid as usize).and_then(Option::take) else { return };
        if let State::Creating | State::Abandoned = channel.state {
            self.creating -= 1;
        }
        self.free.push(cid);
    }
}

#[cfg(feature = "put")]
impl Channels {
    /// Writes to a channel; the answer will bear `number`.
    pub(super) fn put(
        &mut self,
        key: Key,
        value: &super::put::PutValue,
        number: u32,
    ) -> Result<(), super::put::PutError> {
        use super::put::{Completion, PutError, put};
        let cid = *self.by_key.get(&key).ok_or(PutError::NotConnected)?;
        match channel_mut(&mut self.slots, cid).map(|channel| channel.state) {
            Some(State::Open { sid, .. }) => put(&mut self.out, sid, value, Completion::Answered(number)),
            _ => Err(PutError::NotConnected),
        }
    }
}

impl Channel {
    fn shape(&self, field: FieldType, element_count: u32) -> Shape {
        let is_text = match self.monitor.char_arrays {
            CharArrays::ByName => self.name.ends_with('$'),
            CharArrays::Text => true,
            CharArrays::Bytes => false,
        };
        match field {
            FieldType::Char if is_text => Shape::Text,
            _ if element_count == 1 => Shape::Scalar,
            _ => Shape::Array,
        }
    }

    fn complain(&mut self, message: String, tell: &mut impl FnMut(Key, Event)) {
        let is_wanted = matches!(self.state, State::Creating | State::Open { .. });
        if is_wanted && !mem::replace(&mut self.complained, true) {
            tell(self.key, Event::Refused { message });
        }
    }
}

/// The channel with the number `cid`; a function of the slots alone, so that the rest of the circuit can be changed beside it.
fn channel_mut(slots: &mut [Option<Channel>], cid: u32) -> Option<&mut Channel> {
    slots.get_mut(cid as usize)?.as_mut()
}

//! The PVs and the circuits of one server, without the sockets: bytes in, bytes out, time as an argument.
//!
//! An update is written once for all monitors that want the same fields, straight into the buffers of their circuits. Only
//! what a late client cannot be sent is kept, by reference to the value of that moment.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{
    net::SocketAddr,
    ops::AddAssign,
    sync::Arc,
    time::{Duration, Instant},
};

use pvdata::{BitSet, Tree, Type};

use super::{
    breach::{Breach, Random},
    circuit::{Circuit, Manner, write_changes},
    monitor::Monitor,
    pvs::{Place, Pvs, ServerPv},
    reply,
    request::{Searched, command},
    selection::leaves_of,
};
use crate::pva::{
    Error,
    message::Guid,
    slots::Slots,
    wire::{Header, Order, Writer},
};

/// A circuit of one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CircuitId(u32);

/// How a server speaks.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The byte order that it writes, and asks its clients to write.
    pub order: Order,
    /// Longer messages go out in segments of this size; 0 for never.
    pub segment_bytes: usize,
    /// Whether types are numbered, so that each is described once on a circuit.
    pub type_numbers: bool,
    /// How many bytes may wait for a circuit before updates wait in the queues of their monitors.
    pub room_bytes: usize,
    /// How long a client may be silent.
    pub silence_max: Duration,
    /// Who the server is, and how it errs where it is to err.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            order: Order::Little,
            segment_bytes: 0,
            type_numbers: true,
            room_bytes: 1 << 20,
            silence_max: Duration::from_secs(60),
            seed: 1,
        }
    }
}

/// What a server has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words say it")]
pub struct Counts {
    pub searches: u64,
    pub names_searched: u64,
    pub circuits: u64,
    pub channels: u64,
    pub monitors: u64,
    /// Changes of PVs.
    pub posts: u64,
    /// Messages with updates; one post makes one for each monitor.
    pub updates: u64,
    /// Updates that did not get a message of their own, because their monitor's queue was full.
    pub squashed: u64,
    /// Updates that waited when their monitor ended.
    pub abandoned: u64,
    /// Messages that broke the protocol on purpose.
    pub breaches: u64,
    pub protocol_errors: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, more: Counts) {
        self.searches += more.searches;
        self.names_searched += more.names_searched;
        self.circuits += more.circuits;
        self.channels += more.channels;
        self.monitors += more.monitors;
        self.posts += more.posts;
        self.updates += more.updates;
        self.squashed += more.squashed;
        self.abandoned += more.abandoned;
        self.breaches += more.breaches;
        self.protocol_errors += more.protocol_errors;
    }
}

/// One server, without its sockets.
#[derive(Debug)]
pub struct Hub {
    // fixed after start
    pub(super) settings: Settings,
    pub(super) guid: Guid,

    pub(super) pvs: Pvs,
    pub(super) circuits: Slots<Circuit>,
    live: Vec<u32>,
    pub(super) monitors: Slots<Monitor>,
    pub(super) counts: Counts,
    changes: u16,
    beacons: u8,
    pub(super) random: Random,
    /// The update at hand, as all its monitors get it.
    body: Writer,
    dirty: Vec<CircuitId>,
    closed: Vec<CircuitId>,
}

impl Hub {
    /// A server without PVs.
    pub fn new(settings: Settings) -> Hub {
        let mut random = Random(settings.seed);
        let mut guid = [0; 12];
        guid.iter_mut().for_each(|byte| *byte = random.next() as u8);
        let body = Writer::new(settings.order);
        Hub {
            settings,
            guid,
            pvs: Pvs::default(),
            circuits: Slots::default(),
            live: Vec::new(),
            monitors: Slots::default(),
            counts: Counts::default(),
            changes: 0,
            beacons: 0,
            random,
            body,
            dirty: Vec::new(),
            closed: Vec::new(),
        }
    }

    /// Adds a PV; refused where the value does not have the shape of the type.
    pub fn add(&mut self, name: &str, ty: &Type, value: Tree) -> Result<ServerPv, Error> {
        self.changes = self.changes.wrapping_add(1);
        Ok(self.pvs.add(name, ty, value)?)
    }

    /// Takes a PV away, and its channels with it.
    pub fn remove(&mut self, pv: ServerPv) {
        if self.pvs.get(pv).is_none() {
            return;
        }
        self.changes = self.changes.wrapping_add(1);
        for at in self.live.clone() {
            let Some(circuit) = self.circuits.get_mut(at) else { continue };
            let sids: Vec<(u32, u32)> =
                circuit.channels.iter().filter(|(_, channel)| channel.pv == pv).map(|(sid, c)| (*sid, c.cid)).collect();
            for (sid, cid) in sids {
                self.close_channel(at, sid);
                if let Some(circuit) = self.circuits.get_mut(at) {
                    reply::destroyed(&mut circuit.out, sid, cid);
                }
                self.mark(at);
            }
        }
        self.pvs.remove(pv);
    }

    /// The PV of that name.
    pub fn find(&self, name: &str) -> Option<ServerPv> {
        self.pvs.find(name)
    }

    /// The newest value of a PV.
    pub fn value(&self, pv: ServerPv) -> Option<&Tree> {
        self.pvs.get(pv).map(|pv| &*pv.value)
    }

    /// Where a field of the PV stands.
    pub fn place(&self, pv: ServerPv, name: &str) -> Option<Place> {
        self.pvs.type_of(pv).and_then(|(_, described)| Place::of(&described.ty, name))
    }

    /// From now on one message in `one_in` about that PV breaks the protocol.
    pub fn set_breach(&mut self, pv: ServerPv, breach: Option<Breach>, one_in: u32) {
        if let Some(pv) = self.pvs.get_mut(pv) {
            pv.breach = breach.map(|breach| (breach, one_in.max(1)));
        }
    }

    /// What has been done so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Updates of that PV that did not get a message of their own.
    pub fn squashed(&self, pv: ServerPv) -> u64 {
        self.pvs.get(pv).map_or(0, |pv| pv.squashed)
    }

    /// How many monitors of that PV are running.
    pub fn listeners(&mut self, pv: ServerPv) -> usize {
        let Some(pv) = self.pvs.get(pv) else { return 0 };
        let monitors = &mut self.monitors;
        pv.monitors.iter().filter(|monitor| monitors.get_mut(**monitor).is_some_and(|monitor| monitor.running)).count()
    }

    /// How many updates wait in the queues of monitors.
    pub fn waiting(&self) -> u64 {
        self.monitors.iter().map(|monitor| monitor.len() as u64).sum()
    }

    /// Bytes of updates and replies that the system has not taken yet.
    pub fn unsent(&self) -> usize {
        self.circuits.iter().map(|circuit| circuit.waiting()).sum()
    }

    /// Sends any bytes on every circuit.
    pub fn inject(&mut self, bytes: &[u8]) {
        for id in self.live.clone() {
            if let Some(circuit) = self.circuits.get_mut(id) {
                circuit.out.put(bytes);
            }
            self.mark(id);
        }
    }

    /// Whether a further update of that PV will reach all its monitors as one of its own: whoever must lose none waits for it.
    pub fn has_room(&mut self, pv: ServerPv) -> bool {
        let Some(pv) = self.pvs.get(pv) else { return true };
        let monitors = &mut self.monitors;
        pv.monitors.iter().all(|monitor| monitors.get_mut(*monitor).is_none_or(|monitor| monitor.has_room()))
    }

    /// Changes a PV and tells all who monitor it; `changed` are the numbers of the fields that `change` changes.
    pub fn post(&mut self, id: ServerPv, changed: &BitSet, change: impl FnOnce(&mut Tree)) {
        let Some((pv, described)) = self.pvs.with_type(id) else { return };
        change(Arc::make_mut(&mut pv.value));
        self.counts.posts += 1;
        if pv.monitors.is_empty() {
            return;
        }
        let mut fields = changed.common(&described.leaves);
        if fields != *changed {
            leaves_of(changed, &described.ty, 0, &mut fields);
        }
        self.body.truncate(0);
        let mut written: Option<BitSet> = None;
        for number in &pv.monitors {
            let Some(monitor) = self.monitors.get_mut(*number).filter(|monitor| monitor.running) else { continue };
            let Some(circuit) = self.circuits.get_mut(monitor.circuit) else { continue };
            let wanted = monitor.selection.fields.as_ref().map(|selected| fields.common(selected));
            let wanted = wanted.as_ref().unwrap_or(&fields);
            if wanted.is_empty() {
                continue;
            }
            if !monitor.is_empty() || !monitor.is_open() || circuit.waiting() >= self.settings.room_bytes {
                let squashed = u64::from(monitor.push(wanted.clone(), Arc::clone(&pv.value)));
                pv.squashed += squashed;
                self.counts.squashed += squashed;
                if !monitor.in_backlog {
                    monitor.in_backlog = true;
                    circuit.backlog.push_back(*number);
                }
                continue;
            }
            if written.as_ref() != Some(wanted) {
                self.body.truncate(0);
                write_changes(&mut self.body, described, &pv.value, wanted, &BitSet::default());
                written = Some(wanted.clone());
            }
            let breach = pick(pv.breach, &mut self.random, &mut self.counts);
            let manner = Manner { segment_bytes: self.settings.segment_bytes, breach };
            circuit.update(monitor.ioid, self.body.written_from(0), manner, &mut self.random);
            monitor.count_sent();
            self.counts.updates += 1;
            if !circuit.dirty {
                circuit.dirty = true;
                self.dirty.push(CircuitId(monitor.circuit));
            }
        }
    }

    /// A client has connected.
    pub fn open(&mut self, now: Instant) -> CircuitId {
        let id = self.circuits.insert(Circuit::new(self.settings.order, now));
        self.live.push(id);
        self.counts.circuits += 1;
        self.dirty.push(CircuitId(id));
        CircuitId(id)
    }

    /// A client is gone.
    pub fn close(&mut self, id: CircuitId) {
        let Some(circuit) = self.circuits.get_mut(id.0) else { return };
        for sid in circuit.channels.keys().copied().collect::<Vec<_>>() {
            self.close_channel(id.0, sid);
        }
        self.circuits.remove(id.0);
        self.live.retain(|live| *live != id.0);
    }

    /// Ends all circuits: their owners learn it by [`Hub::take_closed`].
    pub fn close_all(&mut self) {
        for id in self.live.clone() {
            self.close(CircuitId(id));
            self.closed.push(CircuitId(id));
        }
    }

    /// The circuits that the server has ended.
    pub fn take_closed(&mut self) -> Vec<CircuitId> {
        std::mem::take(&mut self.closed)
    }

    /// The circuits that have something to send, since the last call.
    pub fn take_dirty(&mut self) -> Vec<CircuitId> {
        for id in &self.dirty {
            if let Some(circuit) = self.circuits.get_mut(id.0) {
                circuit.dirty = false;
            }
        }
        std::mem::take(&mut self.dirty)
    }

    /// The bytes to send next; none if empty.
    pub fn outgoing(&mut self, id: CircuitId) -> &[u8] {
        self.circuits.get_mut(id.0).map_or(&[], Circuit::outgoing)
    }

    /// Notes that so many bytes were sent, which makes room for what waits: there may be more to send.
    pub fn consumed(&mut self, id: CircuitId, bytes: usize) {
        if let Some(circuit) = self.circuits.get_mut(id.0) {
            circuit.consumed(bytes);
        }
        self.drain(id.0);
    }

    /// Whether the client has been silent for too long.
    pub fn is_silent(&mut self, id: CircuitId, now: Instant) -> bool {
        let silence_max = self.settings.silence_max;
        self.circuits.get_mut(id.0).is_none_or(|s| now.saturating_duration_since(s.heard) >= silence_max)
    }

    /// Who the client says it is.
    pub fn user(&mut self, id: CircuitId) -> Option<String> {
        self.circuits.get_mut(id.0).and_then(|circuit| circuit.user.clone())
    }

    /// A beacon that says where the circuits are.
    pub fn beacon(&mut self, server: SocketAddr) -> Vec<u8> {
        let mut writer = Writer::new(self.settings.order);
        reply::beacon(&mut writer, self.guid, self.beacons, self.changes, server);
        self.beacons = self.beacons.wrapping_add(1);
        writer.into_bytes()
    }

    /// Answers a datagram; none if it is no search, or for none of the PVs here. The port is that of the circuits.
    pub fn search(&mut self, datagram: &[u8], port: u16) -> Option<(Vec<u8>, Searched)> {
        let (head, payload) = datagram.split_at_checked(crate::pva::wire::HEADER_BYTES)?;
        let header = Header::decode(head).ok().filter(|header| header.command == command::SEARCH && !header.control)?;
        let searched = Searched::decode(&mut pvdata::wire::Reader::new(payload, header.order)).ok()?;
        let found = self.look_up(&searched);
        if !searched.tcp || (found.is_empty() && !searched.reply_required) {
            return None;
        }
        let mut writer = Writer::new(self.settings.order);
        reply::search_reply(&mut writer, self.guid, &searched, port, &found);
        Some((writer.into_bytes(), searched))
    }

    /// Takes bytes of a client. An error ends the circuit. The port is that of the circuits.
    pub fn receive(&mut self, id: CircuitId, bytes: &[u8], port: u16, now: Instant) -> Result<(), Error> {
        let Some(circuit) = self.circuits.get_mut(id.0) else { return Ok(()) };
        circuit.heard = now;
        let mut frames = std::mem::take(&mut circuit.frames);
        let taken = frames.feed(bytes, |header, payload| self.take(id.0, header, payload, port));
        self.counts.protocol_errors += u64::from(taken.is_err());
        if let Some(circuit) = self.circuits.get_mut(id.0) {
            circuit.frames = frames;
        }
        self.drain(id.0);
        self.mark(id.0);
        taken
    }

    fn mark(&mut self, id: u32) {
        if let Some(circuit) = self.circuits.get_mut(id)
            && !circuit.dirty
            && circuit.waiting() > 0
        {
            circuit.dirty = true;
            self.dirty.push(CircuitId(id));
        }
    }

    /// Sends what waits while the circuit has room, one update of each monitor in turn.
    fn drain(&mut self, id: u32) {
        let Some(circuit) = self.circuits.get_mut(id) else { return };
        while circuit.waiting() < self.settings.room_bytes {
            let Some(number) = circuit.backlog.pop_front() else { break };
            let Some(monitor) = self.monitors.get_mut(number) else { continue };
            let entry = if monitor.is_open() { monitor.pop() } else { None };
            let Some(entry) = entry else {
                monitor.in_backlog = false;
                continue;
            };
            let Some((pv, described)) = self.pvs.with_type(monitor.pv) else { continue };
            self.body.truncate(0);
            write_changes(&mut self.body, described, &entry.value, &entry.changed, &entry.overrun);
            let breach = pick(pv.breach, &mut self.random, &mut self.counts);
            let manner = Manner { segment_bytes: self.settings.segment_bytes, breach };
            circuit.update(monitor.ioid, self.body.written_from(0), manner, &mut self.random);
            monitor.count_sent();
            self.counts.updates += 1;
            circuit.backlog.push_back(number);
        }
    }
}

/// Whether the next message about a PV breaks the protocol.
pub(super) fn pick(breach: Option<(Breach, u32)>, random: &mut Random, counts: &mut Counts) -> Option<Breach> {
    let (breach, one_in) = breach?;
    let now = random.below(one_in as usize) == 0;
    counts.breaches += u64::from(now);
    now.then_some(breach)
}

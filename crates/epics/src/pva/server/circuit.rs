//! One circuit of a server: what its client asked for, and the bytes that wait for it.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{
    collections::{HashMap, HashSet, VecDeque},
    time::Instant,
};

use pvdata::{BitSet, Tree, TypeRegistry};

use super::{
    breach::{Breach, Random},
    pvs::{Described, ServerPv},
    reply,
    request::command,
    selection::Selection,
};
use crate::pva::{
    frames::Frames,
    wire::{HEADER_BYTES, Order, Writer, put_server_message},
};

/// A type that is numbered beyond this is described in full each time.
const TYPES_MAX: usize = 0x7000;

/// The state of one circuit.
#[derive(Debug)]
pub(super) struct Circuit {
    pub(super) frames: Frames,
    pub(super) registry: TypeRegistry,
    pub(super) validated: bool,
    /// Who the client says it is.
    pub(super) user: Option<String>,
    pub(super) heard: Instant,
    pub(super) channels: HashMap<u32, Channel>,
    pub(super) requests: HashMap<u32, Request>,
    next_sid: u32,
    /// The types that the client has been told under a number.
    types: HashSet<usize>,
    /// The monitors for which something waits, in turn.
    pub(super) backlog: VecDeque<u32>,

    // what is to be sent: `sending` from `sent` on, then `out`
    pub(super) out: Writer,
    sending: Vec<u8>,
    sent: usize,
    /// Whether the owner of the socket knows that there is something to send.
    pub(super) dirty: bool,
}

/// A channel of a client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Channel {
    pub(super) cid: u32,
    pub(super) pv: ServerPv,
}

/// A request that lasts.
#[derive(Debug)]
pub(super) enum Request {
    Get {
        sid: u32,
        pv: ServerPv,
        selection: Selection,
    },
    /// By its number among all monitors.
    Monitor {
        sid: u32,
        monitor: u32,
    },
}

impl Request {
    pub(super) fn sid(&self) -> u32 {
        match self {
            Request::Get { sid, .. } | Request::Monitor { sid, .. } => *sid,
        }
    }
}

/// How an update is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    /// Longer messages go in segments of this size; 0 for never.
    pub(super) segment_bytes: usize,
    /// How this message breaks the protocol.
    pub(super) breach: Option<Breach>,
}

impl Circuit {
    pub(super) fn new(order: Order, now: Instant) -> Circuit {
        let mut out = Writer::new(order);
        reply::greeting(&mut out);
        Circuit {
            frames: Frames::default(),
            registry: TypeRegistry::default(),
            validated: false,
            user: None,
            heard: now,
            channels: HashMap::new(),
            requests: HashMap::new(),
            next_sid: 1,
            types: HashSet::new(),
            backlog: VecDeque::new(),
            out,
            sending: Vec::new(),
            sent: 0,
            dirty: true,
        }
    }

    pub(super) fn open(&mut self, cid: u32, pv: ServerPv) -> u32 {
        let sid = self.next_sid;
        self.next_sid = self.next_sid.wrapping_add(1);
        self.channels.insert(sid, Channel { cid, pv });
        sid
    }

    /// How many bytes wait to be sent.
    pub(super) fn waiting(&self) -> usize {
        self.sending.len() - self.sent + self.out.len()
    }

    /// The bytes that are to be sent next.
    pub(super) fn outgoing(&mut self) -> &[u8] {
        if self.sent == self.sending.len() {
            self.sending.clear();
            self.sent = 0;
            self.out.swap(&mut self.sending);
        }
        self.sending.get(self.sent..).unwrap_or_default()
    }

    /// Notes that so many of these were sent.
    pub(super) fn consumed(&mut self, bytes: usize) {
        self.sent = (self.sent + bytes).min(self.sending.len());
    }

    /// Describes a type, by its number where the client has been told it.
    pub(super) fn describe(&mut self, number: Option<usize>, described: &Described, command: u8, ioid: u32) {
        let number = number.filter(|number| *number < TYPES_MAX);
        let known = number.is_some_and(|number| !self.types.insert(number));
        reply::ready(&mut self.out, command, ioid, |w| {
            if let Some(number) = number {
                w.u8(if known { 0xfe } else { 0xfd });
                w.u16(number as u16);
            }
            if !known {
                described.ty.encode(w);
            }
        });
    }

    /// Writes an update whose changes have been written already.
    pub(super) fn update(&mut self, ioid: u32, changes: &[u8], manner: Manner, random: &mut Random) {
        let at = self.out.len();
        put_server_message(&mut self.out, command::MONITOR, |w| {
            w.u32(ioid);
            w.u8(0);
            w.put(changes);
        });
        self.finish(at, manner, random);
    }

    /// Breaks the message from `at` on into segments, or the protocol, as it is wanted.
    pub(super) fn finish(&mut self, at: usize, manner: Manner, random: &mut Random) {
        if let Some(breach) = manner.breach {
            breach.spoil(random, &mut self.out, at);
        } else if manner.segment_bytes > 0 && self.out.len() - at - HEADER_BYTES > manner.segment_bytes {
            self.segment(at, manner.segment_bytes);
        }
    }

    fn segment(&mut self, at: usize, bytes: usize) {
        let whole = self.out.written_from(at).to_vec();
        self.out.truncate(at);
        let Some((header, payload)) = whole.split_at_checked(HEADER_BYTES) else { return };
        let &[magic, version, flags, command, ..] = header else { return };
        let count = payload.len().div_ceil(bytes);
        for (number, part) in payload.chunks(bytes).enumerate() {
            let which = match number {
                0 => 0x10,
                last if last + 1 == count => 0x20,
                _ => 0x30,
            };
            self.out.put(&[magic, version, flags | which, command]);
            self.out.u32(part.len() as u32);
            self.out.put(part);
        }
    }
}

/// Writes what an update carries: which fields, their values, and which were overwritten before they could be sent.
pub(super) fn write_changes(w: &mut Writer, described: &Described, value: &Tree, changed: &BitSet, overrun: &BitSet) {
    let at = w.len();
    w.bits(changed);
    match value.encode_changed(&described.ty, changed, 0, w) {
        Ok(_) => w.bits(overrun),
        Err(error) => {
            // a PV whose owner put a value of another shape in says nothing, rather than nonsense
            tracing::error!(%error, "a value does not have the shape of its type");
            w.truncate(at);
            w.bits(&BitSet::default());
            w.bits(&BitSet::default());
        }
    }
}

//! Breaches of the protocol on purpose, as broken and hostile servers commit them, repeatable by a seed.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use super::request::{command, step};
use crate::pva::wire::{HEADER_BYTES, Writer};

/// What is wrong with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Breach {
    /// The payload is any bytes, after the number of the request.
    Garbage,
    /// The message ends too early, and its header says so.
    Truncated,
    /// A size within says more than any memory holds.
    Oversize,
    /// The message is about a request that nobody made.
    WrongRequest,
    /// A type is described that is unknown, endless or absurd.
    Introspection,
    /// A part of a segmented message comes without its beginning. Ends the circuit.
    LostSegment,
    /// The stream of bytes is no longer messages. Ends the circuit.
    Framing,
    /// The header promises more than anybody accepts. Ends the circuit.
    Monster,
    /// The message is never sent.
    Silence,
}

impl Breach {
    /// Every kind, with the word for it.
    pub const ALL: [(Breach, &str); 9] = [
        (Breach::Garbage, "garbage"),
        (Breach::Truncated, "truncated"),
        (Breach::Oversize, "oversize"),
        (Breach::WrongRequest, "wrong-request"),
        (Breach::Introspection, "introspection"),
        (Breach::LostSegment, "lost-segment"),
        (Breach::Framing, "framing"),
        (Breach::Monster, "monster"),
        (Breach::Silence, "silence"),
    ];

    /// Whether a client can go on with the circuit on which it comes.
    pub fn spares_the_circuit(self) -> bool {
        !matches!(self, Breach::LostSegment | Breach::Framing | Breach::Monster)
    }

    /// Spoils the message that stands in `w` from `at` on.
    pub(super) fn spoil(self, random: &mut Random, w: &mut Writer, at: usize) {
        let payload = at + HEADER_BYTES;
        let length = w.len().saturating_sub(payload);
        let step_at = payload + 4;
        match self {
            Breach::Silence => w.truncate(at),
            Breach::Garbage => {
                w.written_from(step_at + 1).iter_mut().for_each(|byte| *byte = random.next() as u8);
            }
            Breach::Truncated => {
                let cut = payload + 5 + random.below(length.saturating_sub(5).max(1));
                resize(w, at, cut);
            }
            Breach::Oversize => {
                resize(w, at, step_at + 1);
                w.put(&[1, 1, 254, 0xf0, 0xff, 0xff, 0x7f]);
                w.put(&random.next().to_le_bytes());
                resize(w, at, w.len());
            }
            Breach::WrongRequest => {
                w.overwrite_u32(payload, random.next() as u32 | 1 << 31);
            }
            Breach::Introspection => introspection(random, w, at),
            Breach::LostSegment => set(w, at + 2, |flags| flags | 0x30),
            Breach::Framing => {
                w.truncate(at);
                // the first byte is never that of a message
                w.put(&[0x47]);
                (0..16 + random.below(64)).for_each(|_| w.u8(random.next() as u8));
            }
            Breach::Monster => w.overwrite_u32(at + 4, 0x7fff_ffff),
        }
    }
}

/// Only the beginning of a request has a type in it; other messages stay as they are.
fn introspection(random: &mut Random, w: &mut Writer, at: usize) {
    let start = at + HEADER_BYTES + 6;
    let is_init = w.written_from(at).get(3).is_some_and(|found| *found == command::MONITOR || *found == command::GET)
        && w.written_from(at).get(HEADER_BYTES + 4).is_some_and(|found| found & step::INIT != 0);
    if !is_init {
        return;
    }
    resize(w, at, start);
    match random.below(5) {
        0 => w.put(&[0xfe, 0xee, 0x7e]),
        1 => (0..1000).for_each(|_| w.put(&[0x80, 0, 1, 1, b'a'])),
        2 => w.put(&[0x80, 0, 254, 0xff, 0xff, 0xff, 0x7f]),
        3 => w.put(&[0x80, 0, 1, 1, b'a', 0x77]),
        _ => {
            for level in 0..20_u8 {
                w.put(&[0xfd, level, 0, 0x80, 0, 2, 1, b'a', 0xfe, level.wrapping_sub(1), 0, 1, b'b']);
            }
        }
    }
    resize(w, at, w.len());
}

/// Ends the message at `end`, and lets its header say so.
fn resize(w: &mut Writer, at: usize, end: usize) {
    w.truncate(end);
    w.overwrite_u32(at + 4, (w.len() - at).saturating_sub(HEADER_BYTES) as u32);
}

fn set(w: &mut Writer, at: usize, change: impl Fn(u8) -> u8) {
    if let Some(byte) = w.written_from(at).first_mut() {
        *byte = change(*byte);
    }
}

/// Numbers without meaning (SplitMix64), the same for the same seed.
#[derive(Clone, Debug)]
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `limit`, which must not be 0.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

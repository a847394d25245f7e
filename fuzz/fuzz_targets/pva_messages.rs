//! Any bytes to a pvAccess circuit, as a datagram and as a structure: no panic, and no more memory than has arrived.
//!
//! The first byte says where the rest is cut in two, as a network would cut it.

#![no_main]

#[path = "../../crates/epics/tests/suite/pva_conversation/mod.rs"]
mod conversation;

use std::time::{Duration, Instant};

use conversation::{channels, circuit, greeting};
use epics::{
    Key,
    pva::{
        Registry, decode_structure,
        message::Message,
        search::Search,
        wire::{HEADER_BYTES, Header, Order, Writer, put_message},
    },
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((first, bytes)) = data.split_first() else { return };
    let cut = bytes.len() * usize::from(*first) / 256;
    converse(&bytes[..cut], &bytes[cut..]);
    datagram(bytes);
    // refused bytes are an answer, too, here and below
    let _ = decode_structure(bytes);
});

fn converse(before: &[u8], after: &[u8]) {
    let now = Instant::now();
    let mut circuit = circuit(now);
    for piece in [&greeting(), &[channels(), ready()].concat(), before, after] {
        let _ = circuit.receive(piece, now, &mut |_, _| {});
        circuit.transmit();
    }
    circuit.unsubscribe(Key(1), now);
    let _ = circuit.tick(now + Duration::from_secs(29), &mut |_, _| {});
    circuit.close("the run ends", &mut |_, _| {});
}

/// The monitor of the first PV is ready.
fn ready() -> Vec<u8> {
    let mut writer = Writer::new(Order::Little);
    put_message(&mut writer, 13, |w| w.put(&[0, 0, 0, 0, 0x08, 0xff, 0x80, 0, 2, 1, b'a', 0x82, 1, b'b', 0x68]));
    writer.into_bytes()
}

fn datagram(bytes: &[u8]) {
    let now = Instant::now();
    let mut search = Search::default();
    search.add(Key(0), "A".into(), now, Duration::ZERO);
    search.poll(now);
    let Some((head, payload)) = bytes.split_at_checked(HEADER_BYTES) else { return };
    let Ok(header) = Header::decode(head) else { return };
    match Message::decode(header, payload, &mut Registry::default()) {
        Ok(Message::SearchReply(reply)) => drop(search.reply(&reply, "192.0.2.1".parse().expect("an address"), now)),
        Ok(Message::Beacon(beacon)) => search.beacon(beacon.guid, beacon.changes, now),
        _ => {}
    }
}

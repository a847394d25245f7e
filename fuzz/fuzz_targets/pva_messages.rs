//! Any bytes to a pvAccess circuit, as a datagram and as a structure: no panic, and no more memory than has arrived.
//!
//! The first byte says where the rest is cut in two, as a network would cut it.

#![no_main]

use std::time::{Duration, Instant};

use epics::{
    Key,
    pva::{
        Account, Monitor, Registry,
        circuit::Circuit,
        decode_structure,
        message::Message,
        search::Search,
        wire::{HEADER_BYTES, Header, Order, Writer},
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
    let account = Account { user: "u".to_owned(), host: "h".to_owned() };
    let server = "192.0.2.1:5075".parse().expect("an address");
    let mut circuit = Circuit::new(server, account, Duration::from_secs(30), now);
    for (key, name) in [(0, "A"), (1, "B"), (2, "C")] {
        circuit.subscribe(Key(key), name.into(), Monitor::default(), now);
    }
    for piece in [&greeting(), &channels(), before, after] {
        let _ = circuit.receive(piece, now, &mut |_, _| {});
        circuit.transmit();
    }
    circuit.unsubscribe(Key(1), now);
    let _ = circuit.tick(now + Duration::from_secs(29), &mut |_, _| {});
    circuit.close("the run ends", &mut |_, _| {});
}

/// The server accepts the client.
fn greeting() -> Vec<u8> {
    let mut writer = Writer::new(Order::Little);
    writer.message(1, |w| w.put(&[0, 0, 1, 0, 0xff, 0x7f, 0]));
    writer.message(9, |w| w.u8(0xff));
    writer.into_bytes()
}

/// The server has the PVs, and the monitor of the first is ready.
fn channels() -> Vec<u8> {
    let mut writer = Writer::new(Order::Little);
    for cid in 0..3 {
        writer.message(7, |w| {
            w.u32(cid);
            w.u32(100 + cid);
            w.u8(0xff);
        });
    }
    writer.message(13, |w| w.put(&[0, 0, 0, 0, 0x08, 0xff, 0x80, 0, 2, 1, b'a', 0x82, 1, b'b', 0x68]));
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

//! Bytes from a hostile or broken network never end the program, and one bad message harms only its own PV.

use crate::pva_conversation;

use std::time::{Duration, Instant};

use epics::{
    Event, Key,
    pva::{
        TypeRegistry,
        message::Message,
        search::Search,
        wire::{Header, Order, Writer, put_message},
    },
};
use proptest::{collection::vec, prelude::*};
use pva_conversation::{channels, circuit, greeting};

/// A monitor is ready: its type is a structure of an int and a text.
fn ready(ioid: u32) -> Vec<u8> {
    let mut writer = Writer::new(Order::Little);
    put_message(&mut writer, 13, |w| {
        w.u32(ioid);
        w.put(&[0x08, 0xff, 0x80, 0, 2, 1, b'a', 0x22, 1, b'b', 0x60]);
    });
    writer.into_bytes()
}

/// Messages of known kinds about known PVs, with payloads of any bytes.
fn messages() -> impl Strategy<Value = Vec<u8>> {
    let command = prop_oneof![Just(13_u8), Just(7), Just(8), Just(1), Just(4), Just(9), Just(18), any::<u8>()];
    let message = (command, 0_u32..4, any::<bool>(), vec(any::<u8>(), 0..60));
    vec(message, 0..12).prop_map(|messages| {
        let mut writer = Writer::new(Order::Little);
        for (command, id, about, payload) in messages {
            put_message(&mut writer, command, |w| {
                if about {
                    w.u32(id);
                }
                w.put(&payload);
            });
        }
        writer.into_bytes()
    })
}

fn receive(pieces: &[&[u8]]) -> Vec<(Key, Event)> {
    let now = Instant::now();
    let mut circuit = circuit(now);
    let mut events = Vec::new();
    for piece in pieces {
        // a refused message is an answer, too: what must not happen is a panic
        let _ = circuit.receive(piece, now, &mut |key, event| events.push((key, event)));
        let _ = circuit.tick(now + Duration::from_secs(20), &mut |key, event| events.push((key, event)));
        circuit.transmit();
    }
    circuit.close("the end", &mut |key, event| events.push((key, event)));
    events
}

proptest! {
    #[test]
    fn a_circuit_takes_any_bytes(bytes in vec(any::<u8>(), 0..2000)) {
        receive(&[&greeting(), &channels(), &bytes]);
    }

    #[test]
    fn a_circuit_takes_any_messages(bytes in messages()) {
        receive(&[&greeting(), &channels(), &ready(0), &bytes]);
    }

    /// Whatever is said about two PVs, the third connects, gets its value, and loses its connection once, at the end.
    #[test]
    fn bad_updates_harm_only_their_own_pv(payloads in vec(vec(any::<u8>(), 0..40), 0..9), ioid in 0_u32..2) {
        let mut writer = Writer::new(Order::Little);
        for payload in payloads {
            put_message(&mut writer, 13, |w| {
                w.u32(ioid);
                w.put(&payload);
            });
        }
        put_message(&mut writer, 13, |w| {
            w.u32(2);
            w.put(&[0, 1, 2, 7, 0, 0, 0, 0]);
        });
        let events = receive(&[&greeting(), &channels(), &ready(0), &ready(1), &ready(2), &writer.into_bytes()]);
        let third: Vec<_> = events.iter().filter(|(key, _)| *key == Key(2)).map(|(_, event)| event).collect();
        prop_assert!(
            matches!(
                third.as_slice(),
                [Event::Connected { .. }, Event::Described(_), Event::Updated(_), Event::Disconnected { .. }]
            ),
            "{third:?}"
        );
    }

    #[test]
    fn a_datagram_may_hold_any_bytes(bytes in vec(any::<u8>(), 0..300), reply in any::<bool>()) {
        let now = Instant::now();
        let mut search = Search::default();
        search.add(Key(1), "X".into(), now, Duration::ZERO);
        let header = Header::decode(&[0xca, 2, 0x40, if reply { 4 } else { 0 }, 0, 0, 0, 0]).expect("a header");
        if let Ok(Message::SearchReply(reply)) = Message::decode(header, &bytes, &mut TypeRegistry::default()) {
            search.reply(&reply, "192.0.2.1".parse().expect("an address"), now);
        }
    }
}

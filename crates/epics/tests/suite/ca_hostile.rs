//! Bytes from a hostile or broken network never end the program, and never make it reserve memory for what has not arrived.

use std::time::{Duration, Instant};

use epics::{
    Event, Key, Value,
    ca::{
        Monitor,
        circuit::{Circuit, Identity},
        search::Search,
        wire::{Header, put_message},
    },
};
use proptest::{collection::vec, prelude::*};

/// Headers that are likely to mean something, with payloads of any length.
fn messages() -> impl Strategy<Value = Vec<u8>> {
    let command =
        prop_oneof![Just(0_u16), Just(1), Just(6), Just(11), Just(12), Just(15), Just(18), 20_u16..30, any::<u16>()];
    let count = prop_oneof![0_u32..4, any::<u32>()];
    let message = (command, 0_u16..40, count, 0_u32..6, 0_u32..6, vec(any::<u8>(), 0..120));
    vec(message, 0..12).prop_map(|messages| {
        let mut bytes = Vec::new();
        for (command, data_type, count, parameter1, parameter2, payload) in messages {
            put_message(&mut bytes, Header { command, size: 0, data_type, count, parameter1, parameter2 }, &payload);
        }
        bytes
    })
}

fn circuit(now: Instant) -> Circuit {
    let identity = Identity { user: "u".to_owned(), host: "h".to_owned() };
    let server = "192.0.2.1:5064".parse().expect("an address");
    let mut circuit = Circuit::new(server, 13, &identity, Duration::from_secs(30), now);
    for (key, name) in [(0, "A"), (1, "B$"), (2, "C")] {
        circuit.open(Key(key), name.into(), Monitor::default());
    }
    circuit.close(Key(2));
    circuit
}

fn elements(event: &Event) -> usize {
    match event {
        Event::Updated(reading) => match &reading.value {
            Value::Array(array) => format!("{array:?}").matches(',').count(),
            Value::String(text) => text.len(),
            _ => 1,
        },
        _ => 0,
    }
}

proptest! {
    #[test]
    fn a_circuit_takes_any_bytes(bytes in vec(any::<u8>(), 0..2000)) {
        let now = Instant::now();
        // A malformed message is an answer, too: what must not happen is a panic.
        let _ = circuit(now).receive(&bytes, now, &mut |_, _| {});
    }

    #[test]
    fn a_circuit_takes_likely_messages_and_tells_no_more_than_arrived(bytes in messages(), cut in 0_usize..2000) {
        let now = Instant::now();
        let mut circuit = circuit(now);
        let mut told = 0;
        let cut = cut.min(bytes.len());
        if let Ok(taken) = circuit.receive(&bytes[..cut], now, &mut |_, event| told += elements(&event)) {
            // The rest comes later, as a slow network would have it.
            let _ = circuit.receive(&bytes[taken..], now, &mut |_, event| told += elements(&event));
        }
        prop_assert!(told <= bytes.len());
        let _ = circuit.poll(now + Duration::from_secs(60));
        circuit.abandon("the test ends", &mut |_, _| {});
    }

    #[test]
    fn a_search_takes_any_datagram(bytes in prop_oneof![vec(any::<u8>(), 0..500), messages()]) {
        let now = Instant::now();
        let mut search = Search::new(Duration::from_secs(300), now);
        search.add(Key(1), "A".into(), now);
        let sender = "192.0.2.1:5064".parse().expect("an address");
        search.receive(&bytes, sender, now, &mut |key, _| assert_eq!(key, Key(1)));
    }
}

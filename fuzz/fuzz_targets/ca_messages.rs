//! Any bytes to a Channel Access circuit and to a search: no panic, and no more told than has arrived.
//!
//! The first byte says where the rest is cut in two, as a network would cut it.

#![no_main]

use std::time::{Duration, Instant};

use epics::{
    Key,
    ca::{
        Monitor,
        beacon::Beacon,
        circuit::{Circuit, Identity},
        search::Search,
    },
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((first, bytes)) = data.split_first() else { return };
    let now = Instant::now();
    let server = "192.0.2.1:5064".parse().expect("an address");
    let identity = Identity { user: "u".to_owned(), host: "h".to_owned() };
    let mut circuit = Circuit::new(server, 13, &identity, Duration::from_secs(30), now);
    for (key, name) in [(0, "A"), (1, "B$"), (2, "C"), (3, "D")] {
        circuit.open(Key(key), name.into(), Monitor::default());
    }
    circuit.close(Key(2));
    let cut = bytes.len() * usize::from(*first) / 256;
    if let Ok(taken) = circuit.receive(&bytes[..cut], now, &mut |_, _| {}) {
        circuit.close(Key(3));
        // Malformed messages are an answer, too.
        let _ = circuit.receive(&bytes[taken..], now, &mut |_, _| {});
    }
    circuit.poll(now + Duration::from_secs(31));
    circuit.abandon("the run ends", &mut |_, _| {});

    let mut search = Search::new(Duration::from_secs(300), now);
    search.add(Key(0), "A".into(), now);
    search.receive(bytes, server, now, &mut |_, _| {});
    let _ = Beacon::read(bytes, server);
});

//! Any bytes from a client to a pvAccess server, on a circuit and as a datagram: no panic, and no more memory than has arrived.
//!
//! The first byte says where the rest is cut in two, as a network would cut it.

#![no_main]

#[path = "../../crates/epics/tests/suite/pva_hub_begin/mod.rs"]
mod begin;

use std::time::Instant;

use begin::{PORT, begin, bytes, hub, sent};
use epics::pva::{Monitor, message};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else { return };
    let (before, after) = rest.split_at(rest.len() * usize::from(*first) / 256);
    let now = Instant::now();
    let (mut hub, pvs, session) = hub(now);
    let monitor = bytes(|w| message::monitor_init(w, 2, 1, Monitor::default()));
    for piece in [&begin(), &monitor, before, after] {
        // refused bytes are an answer, too
        let _ = hub.receive(session, piece, PORT, now);
        pvs.iter().for_each(|pv| hub.post(*pv, &std::iter::once(0).collect(), |_| {}));
        sent(&mut hub, session);
    }
    let _ = hub.search(rest, PORT);
    hub.close(session);
});

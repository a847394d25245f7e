//! How a pvAccess conversation begins that goes wrong later, in the tests as in the fuzz target.

use std::time::{Duration, Instant};

use epics::{
    Key,
    pva::{
        Account, Monitor,
        circuit::Circuit,
        wire::{Order, Writer, put_message},
    },
};

/// A circuit that three PVs are wanted of.
pub(crate) fn circuit(now: Instant) -> Circuit {
    let account = Account { user: "u".to_owned(), host: "h".to_owned() };
    let server = "192.0.2.1:5075".parse().expect("an address");
    let mut circuit = Circuit::new(server, account, Duration::from_secs(30), now);
    for (key, name) in [(0, "A"), (1, "B"), (2, "C")] {
        circuit.subscribe(Key(key), name.into(), Monitor::default(), now);
    }
    circuit
}

/// The server accepts the client.
pub(crate) fn greeting() -> Vec<u8> {
    let mut writer = Writer::new(Order::Little);
    put_message(&mut writer, 1, |w| w.put(&[0, 0, 1, 0, 0xff, 0x7f, 0]));
    put_message(&mut writer, 9, |w| w.u8(0xff));
    writer.into_bytes()
}

/// The server has all three PVs.
pub(crate) fn channels() -> Vec<u8> {
    let mut writer = Writer::new(Order::Little);
    for cid in 0..3 {
        put_message(&mut writer, 7, |w| {
            w.u32(cid);
            w.u32(100 + cid);
            w.u8(0xff);
        });
    }
    writer.into_bytes()
}

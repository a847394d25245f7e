//! How a conversation with a pvAccess server begins, in the tests as in the fuzz target: no sockets, a PV of each kind.

use std::time::Instant;

use epics::pva::{
    Scalar, Tree, Type,
    message::{Account, validation_reply},
    server::{CircuitId, Hub, ServerPv, Settings, nt},
    wire::{Order, Writer, put_message},
};

/// The port of the circuits.
pub(crate) const PORT: u16 = 5075;

/// A server with the PVs `A` (a number), `M` (everything there is) and `W` (an array), and a circuit.
pub(crate) fn hub(now: Instant) -> (Hub, [ServerPv; 3], CircuitId) {
    let mut hub = Hub::new(Settings::default());
    let types = [("A", nt::scalar(Scalar::I32)), ("M", nt::mixture()), ("W", nt::scalar_array(Scalar::U16))];
    let pvs = types.each_ref().map(|(name, ty): &(&str, Type)| {
        hub.add(name, ty, Tree::default_of(ty)).expect("the default has the shape of its type")
    });
    let circuit = hub.open(now);
    (hub, pvs, circuit)
}

pub(crate) fn bytes(write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = Writer::new(Order::Little);
    write(&mut writer);
    writer.into_bytes()
}

/// The client says who it is, and asks for channels to all three.
pub(crate) fn begin() -> Vec<u8> {
    bytes(|w| {
        let account = Account { user: "u".to_owned(), host: "h".to_owned() };
        validation_reply(w, &["anonymous".to_owned(), "ca".to_owned()], &account);
        put_message(w, 7, |w| {
            w.u16(3);
            for (cid, name) in [(1, "A"), (2, "M"), (3, "W")] {
                w.u32(cid);
                w.string(name);
            }
        });
    })
}

/// What the server sends, taking it.
pub(crate) fn sent(hub: &mut Hub, circuit: CircuitId) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let more = hub.outgoing(circuit).to_vec();
        if more.is_empty() {
            return all;
        }
        hub.consumed(circuit, more.len());
        all.extend(more);
    }
}

//! Bytes from a hostile client never end a server, and never make it keep more than a few answers.

use epics::{
    Array, Description, Value,
    ca::{
        dbr::FieldType,
        server::{Settings, Source, Stamp, circuit::Circuit, pvs},
        wire::{self, Header, put_message},
    },
};
use proptest::{collection::vec, prelude::*};

/// Three PVs: a number, a text, and an array whose answers are much larger than what asks for them.
struct Pvs;

impl Source for Pvs {
    fn find(&self, name: &str) -> Option<u32> {
        ["A", "B", "C"].iter().position(|known| *known == name).map(|place| place as u32)
    }

    fn len(&self) -> u32 {
        3
    }

    fn channel(&self, pv: u32) -> (FieldType, u32) {
        [(FieldType::Double, 1), (FieldType::String, 1), (FieldType::Long, 20_000)][pv as usize]
    }

    fn description(&self, _: u32) -> Description {
        Description::default()
    }

    fn stamp(&self, _: u32, _: u64) -> Stamp {
        Stamp::default()
    }

    fn value(&self, pv: u32, number: u64) -> Value {
        match pv {
            0 => Value::F64(number as f64),
            1 => Value::String(number.to_string()),
            _ => Value::Array(Array::I32(vec![number as i32; 20_000])),
        }
    }
}

/// More than this never waits: the limit of the server, and the largest answer.
const WAITING_MAX: usize = 9 << 20;

/// Headers that are likely to mean something, with payloads of any length.
fn requests() -> impl Strategy<Value = Vec<u8>> {
    let count = prop_oneof![4 => 0_u32..4, 1 => any::<u32>()];
    let request = (0_u16..30, 0_u16..40, count, 0_u32..4, 0_u32..4, vec(any::<u8>(), 0..40));
    vec(request, 0..40).prop_map(|requests| {
        let mut bytes = Vec::new();
        for (command, data_type, count, parameter1, parameter2, payload) in requests {
            put_message(&mut bytes, Header { command, size: 0, data_type, count, parameter1, parameter2 }, &payload);
        }
        bytes
    })
}

fn connected(pvs: &mut pvs::Pvs<Pvs>) -> Circuit {
    let mut circuit = Circuit::new(0, 5064);
    let mut opening = Vec::new();
    for (cid, name) in [(1, "A"), (2, "B"), (3, "C")] {
        wire::create_channel(&mut opening, cid, name);
    }
    assert_eq!(circuit.receive(&opening, pvs), Ok(opening.len()));
    circuit
}

proptest! {
    #[test]
    fn a_circuit_takes_any_requests_and_its_counts_add_up(
        bytes in prop_oneof![3 => requests(), 1 => vec(any::<u8>(), 0..500)], cut in 0_usize..2000,
    ) {
        let mut pvs = pvs::Pvs::new(Pvs, Settings::default());
        let mut circuit = connected(&mut pvs);
        if let Ok(taken) = circuit.receive(&bytes[..cut.min(bytes.len())], &mut pvs) {
            for number in 1..10 {
                for pv in 0..3 {
                    for listener in pvs.advance(pv, number).to_vec() {
                        circuit.post(listener.subscription, number, &mut pvs);
                    }
                }
            }
            // A malformed request is an answer, too: what must not happen is a panic.
            let _ = circuit.receive(&bytes[taken..], &mut pvs);
        }
        let waiting = circuit.fill(&mut pvs).len();
        prop_assert!(waiting < WAITING_MAX, "{waiting}");
        circuit.sent(waiting / 2);
        circuit.end(&mut pvs);
        let counters = pvs.counters;
        prop_assert_eq!(
            counters.posted, counters.sent + counters.replaced + counters.held_back + counters.abandoned
        );
    }
}

#[test]
fn a_client_that_asks_and_never_listens_waits_with_its_requests() {
    let mut pvs = pvs::Pvs::new(Pvs, Settings::default());
    let mut circuit = connected(&mut pvs);
    let mut requests = Vec::new();
    for id in 0..1000 {
        wire::read_notify(&mut requests, wire::Wanted { sid: 2, id, data_type: 19, count: 0 });
    }
    let (mut taken, mut answered) = (0, 0);
    while taken < requests.len() {
        taken += circuit.receive(&requests[taken..], &mut pvs).expect("requests");
        let waiting = circuit.fill(&mut pvs).len();
        assert!(waiting < WAITING_MAX, "{waiting} bytes wait");
        assert!(circuit.is_full() || taken == requests.len());
        circuit.sent(waiting);
        answered += waiting;
    }
    assert!(answered > 1000 * 80_000 && pvs.counters.reads == 1000, "{answered} bytes: {:?}", pvs.counters);
}

//! Any bytes to the Channel Access server: no panic, and no more waits for the client than one answer beyond the limit.
//!
//! The first byte says where the rest is cut in two, as a network would cut it.

#![no_main]

use epics::{
    Array, Description, Value,
    ca::{
        dbr::FieldType,
        server::{Settings, Source, Stamp, circuit::Circuit, pvs},
        wire,
    },
};
use libfuzzer_sys::fuzz_target;

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

fuzz_target!(|data: &[u8]| {
    let Some((first, bytes)) = data.split_first() else { return };
    let mut pvs = pvs::Pvs::new(Pvs, Settings::default());
    let mut circuit = Circuit::new(0, 5064);
    let mut opening = Vec::new();
    for (cid, name) in [(1, "A"), (2, "B"), (3, "C")] {
        wire::create_channel(&mut opening, cid, name);
    }
    let _ = circuit.receive(&opening, &mut pvs);
    let cut = bytes.len() * usize::from(*first) / 256;
    if let Ok(taken) = circuit.receive(&bytes[..cut], &mut pvs) {
        for number in 1..10 {
            for pv in 0..3 {
                for listener in pvs.advance(pv, number).to_vec() {
                    circuit.post(listener.subscription, number, &mut pvs);
                }
            }
        }
        // Malformed messages are an answer, too.
        let _ = circuit.receive(&bytes[taken..], &mut pvs);
    }
    let waiting = circuit.fill(&mut pvs).len();
    assert!(waiting < 9 << 20, "{waiting} bytes wait");
    circuit.sent(waiting / 2);
    circuit.end(&mut pvs);
    let counters = pvs.counters;
    assert_eq!(counters.posted, counters.sent + counters.replaced + counters.held_back + counters.abandoned);
});

//! Any bytes as a level of a PV in a segment: no panic, and what can be read is in order.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| store::fuzz::level(data));

//! Any bytes as the body of a block: no panic, and what can be read comes back when it is written.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| store::fuzz::block(data));

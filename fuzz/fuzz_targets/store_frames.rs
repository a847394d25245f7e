//! Any bytes as the arrays of a block: no panic, and one after the other they are what they are all at once.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| store::fuzz::frames(data));

//! Any bytes as a piece of another node's answer: no panic, and what could be read comes back when it is written.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| remote::fuzz::frame(data));

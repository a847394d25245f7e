//! Any bytes as a file of the log and as the records of a frame: no panic.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| store::fuzz::log(data));

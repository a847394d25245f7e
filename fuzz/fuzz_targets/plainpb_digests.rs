//! Any bytes as the head and a page of a digest: no panic, and what is read is what would be written again.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| aa::fuzz::digest(data));

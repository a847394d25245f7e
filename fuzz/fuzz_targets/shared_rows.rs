//! Any bytes as a row of a shared journal, as what it says and as a lease: no panic, and what could be read comes back when it is written.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| shared::fuzz::row(data));

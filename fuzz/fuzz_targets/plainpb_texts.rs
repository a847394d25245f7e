//! Any text as an entry of the Archiver Appliance's configuration, and as a raw answer that is passed on: no panic.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| aa::fuzz::texts(data));

//! Any bytes as a file of the Archiver Appliance, in which times are looked for and from which stretches are sent: no panic.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| aa::fuzz::file(data));

//! Any bytes as what another node sends of an import: no panic, and it ends with the name of its part or an error.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| remote::fuzz::share(data));

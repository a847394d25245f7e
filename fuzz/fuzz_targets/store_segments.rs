//! Any bytes as footer, directory, index, summaries and names of a segment: no panic, and blocks never reach beyond the file.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| store::fuzz::segment(data));

//! Any bytes as the tar, zip and Parquet files of the Archiver Appliance: no panic, and an end.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| aa::fuzz::packed(data));

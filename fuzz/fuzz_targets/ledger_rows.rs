//! Any bytes as a row of the ledger: no panic, and what it says of PVs comes back when it is written.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| acquire::fuzz::ledger_row(data));

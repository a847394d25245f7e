//! Any bytes as a file of the Archiver Appliance, and behind a header of each type: no panic, and no more memory than has arrived.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    aa::read_chunks(data);
    let Some((payload, lines)) = data.split_first() else { return };
    let mut file = vec![0x08, payload % 15, 0x12, 1, b'A', 0x18, 0xea, 0x0f, b'\n'];
    file.extend_from_slice(lines);
    file.push(b'\n');
    aa::read_chunks(&file);
});

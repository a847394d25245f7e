//! Any text as each configuration of another archiver: no panic.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    chanarch::read_list("f", &text, &mut |_| Err("there is no other file".to_owned()));
    chanarch::read_engine_config("f", &text);
    aa::read_policies("f", &text, &|_| None);
    aa::read_properties("f", &text);
    aa::read_appliances("f", &text, None);
    // refused texts are an answer, too
    let _ = foreign::read_channels("f", &text, "archive");
});

//! Any text as each configuration of another archiver: no panic.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    foreign::read_list("f", &text, &mut |_| Err("there is no other file".to_owned()));
    foreign::read_engine_config("f", &text);
    foreign::read_policies("f", &text, &|_| None);
    foreign::read_properties("f", &text);
    foreign::read_appliances("f", &text, None);
    // refused texts are an answer, too
    let _ = foreign::read_channels("f", &text, "archive");
});

//! Doors for the fuzzer: any bytes as what another node sends.

use std::io::{self, BufRead, Cursor};

use crate::{bytes_format::In, call::Call, frame::Item, http::Answer, share};

/// Any bytes as a frame: no panic, and what could be read comes back when it is written.
pub fn frame(data: &[u8]) {
    if let Some(item) = Item::read(data) {
        let frame = item.frame().expect("it came in a frame");
        // Floats that are no number differ from themselves, and what was packed may be packed otherwise.
        let again = Item::read(&frame[4..]).expect("it was written");
        assert_eq!(again.frame(), Some(frame));
    }
}

/// Any bytes as the arguments of each question.
pub fn call(data: &[u8]) {
    let Some((which, arguments)) = data.split_first() else { return };
    let names = ["samples", "gaps", "stretches", "before", "extent", "metadata", "have-samples", "carried", "hello"];
    if let Some(call) = Call::read(names[usize::from(*which) % names.len()], arguments) {
        assert_eq!(Call::read(call.name(), &call.arguments()), Some(call));
    }
    let _ = In(arguments).uint();
}

/// Any bytes as a whole answer of a server.
pub fn answer(data: &[u8]) {
    let mut bytes = Cursor::new(data);
    let mut fill = |buffer: &mut Vec<u8>| -> io::Result<usize> {
        let some = bytes.fill_buf()?;
        let size = some.len().min(7);
        buffer.extend_from_slice(&some[..size]);
        bytes.consume(size);
        Ok(size)
    };
    let Ok(mut answer) = Answer::begin(&mut fill) else { return };
    while let Ok(item) = answer.next(&mut fill) {
        if matches!(item, Item::End(_)) {
            return;
        }
    }
}

/// Any bytes as a share of an import: it ends with its name or an error.
pub fn share(data: &[u8]) {
    let last = share::pieces_of(data, 7).pop();
    assert!(matches!(last, Some(Err(_) | Ok(archive::Sent::Part(_)))));
}

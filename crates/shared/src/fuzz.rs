//! Doors for fuzzers: the readers of rows and leases, behind their checksums, which no fuzzer would guess.

use crate::{
    bytes::Cursor,
    ids::{Epoch, Seq},
    image::Image,
    journal::{Body, Entry, Row},
    keys::Shard,
    lease::Lease,
};

/// Any bytes as a row, its body as every kind, and as a lease; what can be read comes back when it is written.
pub fn row(bytes: &[u8]) {
    let shard = Shard::new(0, 'a').expect("a possible shard");
    if let Ok(lease) = Lease::fields(&mut Cursor::new(bytes)) {
        assert_eq!(Lease::decode(&shard, &lease.encode()).expect("what was written can be read"), lease);
    }
    if let Ok(row) = Row::fields(&mut Cursor::new(bytes)) {
        let written = row.encode();
        assert_eq!(Row::decode(&shard, Seq(0), &written).expect("what was written can be read"), row);
    }
    let [kind, body @ ..] = bytes else { return };
    let Ok(entry) = Entry::decode(*kind, body) else { return };
    let written = entry.encode();
    assert_eq!(Entry::decode(*kind, &written).expect("what was written can be read"), entry);

    // A journal that goes on with any row has rules for it, and no panic.
    let mut image = Image::default();
    let row = Row { epoch: Epoch(1), id: 0, checkpoint: None, kind: *kind, body: Body::Inline(written) };
    if image.apply(&shard, &row, &entry).is_ok() {
        assert_eq!(image.next(), Seq(1));
    }
}

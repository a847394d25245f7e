//! Rows of every kind: what they are as bytes, and what is refused.

use super::*;
use crate::{ids::Epoch, twin::Memory};

fn shard() -> Shard {
    Shard::new(17, 'a').unwrap()
}

fn object(key: &str) -> Object {
    Object { key: key.into(), len: 700_000, check: 0x0123_4567_89ab_cdef, piece: 262_144 }
}

fn entries() -> Vec<Entry> {
    let run = |first, end, key| Run { frames: Frames { first, end }, object: object(key) };
    let runs = vec![run(3, 5, "log/1/0/0-5"), run(5, 9, "log/1/0/5-9")];
    let mut image = Image::default();
    let seal = Entry::Seal(Seal { first: 3, owner: "node-1".into() });
    let row = |epoch| Row { epoch, id: 0, checkpoint: None, kind: 0, body: Body::Inline(Vec::new()) };
    image.apply(&shard(), &row(Epoch(1)), &seal).unwrap();
    let commit = Entry::Commit(Commit { runs });
    image.apply(&shard(), &row(Epoch(1)), &commit).unwrap();
    let change = Change {
        added: vec![object("seg/1/2026-W47/000000000007.seg")],
        removed: vec!["seg/1/old.seg".into()],
        flushed: vec![(Epoch(1), 5)],
        catalogue: b"transaction".to_vec(),
    };
    let checkpoint = Checkpoint { image, catalogue: Some(object("image/1/4")) };
    vec![seal, commit, Entry::Change(change), Entry::Checkpoint(Box::new(checkpoint))]
}

#[test]
fn rows_of_every_kind_come_back() {
    let memory = Memory::default();
    for entry in entries() {
        let body = Body::Inline(entry.encode());
        let row = Row { epoch: Epoch(1), id: 4, checkpoint: Some(Seq(2)), kind: entry.kind(), body };
        let back = Row::decode(&shard(), Seq(9), &row.encode()).unwrap();
        assert_eq!(back, row);
        assert_eq!(back.open(&memory, &shard(), Seq(9)).unwrap(), entry);
        let newest = if entry.kind() == CHECKPOINT { Seq(9) } else { Seq(2) };
        assert_eq!(back.newest_checkpoint(Seq(9)), Some(newest));
    }
}

#[test]
fn a_row_of_version_1_is_these_bytes() {
    let entry = Entry::Seal(Seal { first: 300, owner: "b".into() });
    let body = Body::Inline(entry.encode());
    let row = Row { epoch: Epoch(2), id: 1, checkpoint: None, kind: entry.kind(), body };
    let hex: String = row.encode()[8..].iter().map(|byte| format!("{byte:02x}")).collect();
    let (version, kind, place) = ("0100", "04", "00");
    let (epoch, id, checkpoint) = ("0200000000000000", "0100000000000000", "ffffffffffffffff");
    let (first, owner) = ("ac02", "0162");
    assert_eq!(hex, [version, kind, place, epoch, id, checkpoint, first, owner].concat());
}

#[test]
fn a_row_with_any_wrong_bit_is_damage_and_one_of_a_newer_version_is_named() {
    for entry in entries() {
        let body = Body::Inline(entry.encode());
        let row = Row { epoch: Epoch(1), id: 4, checkpoint: None, kind: entry.kind(), body };
        let bytes = row.encode();
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(Row::decode(&shard(), Seq(0), &damaged), Err(Error::Damaged { .. })), "bit {bit}");
        }
        for len in 0..bytes.len() {
            assert!(Row::decode(&shard(), Seq(0), &bytes[..len]).is_err());
        }
        let mut newer = bytes;
        newer[8] = 9;
        let error = Row::decode(&shard(), Seq(0), &sealed(newer)).unwrap_err();
        assert!(error.to_string().contains("of version 9"), "{error}");
    }
}

#[test]
fn a_body_of_any_length_and_kind_is_read_or_refused() {
    for entry in entries() {
        let body = entry.encode();
        for len in 0..body.len() {
            assert!(Entry::decode(entry.kind(), &body[..len]).is_err(), "{len} bytes of {entry:?}");
        }
        assert!(Entry::decode(entry.kind(), &[&body[..], &[0]].concat()).is_err(), "one byte too many");
        assert!(Entry::decode(77, &body).is_err());
    }
    // A count of 2^60 objects in ten bytes allocates nothing.
    assert!(Entry::decode(COMMIT, &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10, 0]).is_err());
}

#[test]
fn the_image_refuses_rows_that_break_its_rules() {
    let row = |epoch| Row { epoch, id: 0, checkpoint: None, kind: 0, body: Body::Inline(Vec::new()) };
    let [seal, commit, ..] = &entries()[..] else { unreachable!("four kinds") };
    let mut image = Image::default();
    assert!(image.apply(&shard(), &row(Epoch(1)), commit).is_err(), "before any seal");
    image.apply(&shard(), &row(Epoch(2)), seal).unwrap();
    assert!(image.apply(&shard(), &row(Epoch(2)), seal).is_err(), "an epoch begins once");
    assert!(image.apply(&shard(), &row(Epoch(1)), commit).is_err(), "behind the seal of a higher epoch");
    image.apply(&shard(), &row(Epoch(2)), commit).unwrap();
    assert!(image.apply(&shard(), &row(Epoch(2)), commit).is_err(), "what is committed already");

    let change = |change| Entry::Change(change);
    let added = Change { added: vec![object("seg/2/a.seg")], ..Change::default() };
    image.apply(&shard(), &row(Epoch(2)), &change(added.clone())).unwrap();
    assert!(image.clone().apply(&shard(), &row(Epoch(2)), &change(added)).is_err(), "a segment listed twice");
    let removed = Change { removed: vec!["seg/2/b.seg".into()], ..Change::default() };
    assert!(image.clone().apply(&shard(), &row(Epoch(2)), &change(removed)).is_err(), "a segment that is not listed");
    let flushed = |epoch, end| change(Change { flushed: vec![(Epoch(epoch), end)], ..Change::default() });
    image.apply(&shard(), &row(Epoch(2)), &flushed(2, 5)).unwrap();
    assert!(image.clone().apply(&shard(), &row(Epoch(2)), &flushed(2, 4)).is_err(), "backwards");
    assert!(image.clone().apply(&shard(), &row(Epoch(2)), &flushed(7, 4)).is_err(), "of an unknown epoch");
    assert_eq!(image.positions()[&Epoch(2)].tail(), Some(Frames { first: 5, end: 9 }));
    assert_eq!(image.positions()[&Epoch(2)].runs.len(), 1, "the run of frames 3 to 4 is passed");

    let wrong = Checkpoint { image: Image::default(), catalogue: None };
    assert!(image.apply(&shard(), &row(Epoch(2)), &Entry::Checkpoint(Box::new(wrong))).is_err(), "not its own");
}

//! Doors for fuzzers: the readers of bytes from disk, behind their checksums, which no fuzzer would guess.

use archive::{PvId, Record};
use sample::{Alarm, Batch, Column, Element, Runs, Sample, TimeRange, Timestamp, Value, ValueType};

use crate::{
    Summary,
    block::{
        self, cut,
        outline::{Detail, Outline},
    },
    bytes::Cursor,
    codec::{
        Effort, array,
        frames::{Player, empty_arrays},
    },
    log::{
        arrays::{Lasts, Logged},
        scan,
    },
    segment::{
        format::{IDENTITY_AT, RECORD_LEN},
        fuzz as segment,
        fuzz::{LevelRows, rows_between},
    },
};

/// Any bytes as the body of a block; what can be read must come back when it is written.
pub fn block(bytes: &[u8]) {
    parts_of_block(bytes);
    let Ok((pv, batch)) = block::take_body(&mut Cursor::new(bytes)) else { return };
    if batch.is_empty() {
        return;
    }
    let mut written = Vec::new();
    block::put(&mut written, pv, &batch, Effort::Flush);
    let (owner, back) = block::take(&written).expect("what was written can be read");
    assert_eq!((owner, back.times(), back.alarms()), (pv, batch.times(), batch.alarms()));
    assert!(back.values().identical(batch.values()) && back.pulses() == batch.pulses());
}

/// Any bytes as the arrays of a block. Made one after the other they are what they are if made at once, and where one cannot be made
/// neither can the other.
pub fn frames(bytes: &[u8]) {
    let [element, count, column @ ..] = bytes else { return };
    let element = Element::ALL[usize::from(*element) % Element::ALL.len()];
    let count = 1 + usize::from(*count) % 64;
    let (mut at_once, mut in_turn) = (Cursor::new(column), Cursor::new(column));
    let whole = array::take(&mut at_once, count, element);
    let (first, changes) = match array::take_frames(&mut in_turn, count, element) {
        Ok(Some(frames)) => frames,
        Ok(None) => return,
        Err(error) => return assert_eq!(whole, Err(error)),
    };
    let whole = Column::Array(whole.expect("all can be made if one after the other can"));
    assert_eq!(at_once.len(), in_turn.len());
    let (mut alarms, mut pulses) = (Runs::default(), Runs::default());
    alarms.push(&Alarm::default(), count);
    pulses.push(&0, count);
    let times = (0..count as i64).map(Timestamp::from_nanos).collect();
    let samples = Batch::from_columns(times, empty_arrays(element, count), alarms, pulses);
    let mut player = Player::of_block(samples.expect("all columns have a row for each"), first, changes);
    player.cut_to(count / 3..count);
    let mut made = Column::new(whole.value_type());
    while player.next().is_some() {
        let piece = player.take(3 * bytes.len());
        assert!(made.extend_from(piece.values(), 0..piece.len()), "all have one type");
    }
    let mut expected = Column::new(whole.value_type());
    assert!(expected.extend_from(&whole, count / 3..count), "it is of that type");
    assert!(made.identical(&expected));
}

/// Some rows of the same, and the pieces into which edges cut it: none of it may panic, and rows of numbers are those of the whole.
fn parts_of_block(bytes: &[u8]) {
    let Ok(columns) = block::Columns::take(&mut Cursor::new(bytes)) else { return };
    let whole = block::take_body(&mut Cursor::new(bytes)).ok().map(|(_, batch)| batch);
    assert_eq!(columns.opened().is_ok(), whole.is_some(), "frames can be made if all of them can");
    let rows = columns.count / 3..columns.count - columns.count / 5;
    let some = columns.numbers(rows.clone());
    if let (Some(whole), Ok(some)) = (&whole, &some) {
        assert_eq!(some.times, &whole.times()[rows.clone()]);
        assert!(some.values.identical(whole.slice(rows).values()));
    }
    let Ok(times) = columns.times() else { return };
    let edges = [columns.count / 2, columns.count / 4 * 3].map(|row| times.get(row));
    let summary = whole.and_then(|whole| Summary::of(&whole, 0..whole.len()));
    let summary = summary.filter(|summary| summary.value_type.is_numeric_scalar() && summary.is_finite());
    if let Some(summary) = summary.filter(|summary| edges.iter().all(|edge| *edge > summary.t0)) {
        let pieces = cut::pieces(&columns, &times, &summary, &edges[..1]).expect("the whole can be read");
        assert_eq!(pieces.iter().map(|piece| piece.count).sum::<u64>(), summary.count);
        // The outline has times and numbers of its own, which are the same.
        for detail in [Detail::Sections, Detail::Parts] {
            if let Ok(Some(outline)) = Outline::of(bytes, &columns, &times, detail)
                && let Some(outlined) = outline.pieces_of(bytes, &summary, &edges[..1])
            {
                assert!(outlined.len() == pieces.len() && outlined.iter().zip(&pieces).all(|(a, b)| a.identical(b)));
            }
        }
    }
    // Of bytes that are no block the pieces are nonsense, but there are some, or an error.
    let nothing = Summary::without_values(columns.value_type, times.get(0), times.get(1), columns.count as u64);
    let _ = cut::pieces(&columns, &times, &nothing, &edges[..1]);
    let _ = cut::pieces(&columns, &times, &nothing, &edges);
    for detail in [Detail::Sections, Detail::Parts] {
        if let Ok(Some(outline)) = Outline::of(bytes, &columns, &times, detail) {
            let _ = outline.pieces_of(bytes, &nothing, &edges);
        }
    }
}

/// Any bytes as each part of a segment by which blocks are found: header, footer, page of the directory, index, summaries, names.
pub fn segment(bytes: &[u8]) {
    /// As if the file had room for so many blocks.
    const END: u64 = 100_000;
    if let Ok((_, Some(identity))) = segment::take_header(bytes) {
        assert!(identity.archive != 0 && bytes.len() >= IDENTITY_AT + 16);
    }
    let _ = segment::take_footer(&mut Cursor::new(bytes));
    if let Ok(records) = segment::take_records(bytes) {
        assert!(records.len() <= bytes.len().div_ceil(RECORD_LEN));
        for entry in records.iter().filter_map(|record| record.only(END).ok().flatten()) {
            assert!(entry.offset + u64::from(entry.len) <= END);
        }
    }
    if let Ok(entries) = segment::take_index(bytes, END) {
        assert!(entries.iter().all(|entry| entry.offset + u64::from(entry.len) <= END));
        assert!(entries.windows(2).all(|pair| pair[0].offset + u64::from(pair[0].len) == pair[1].offset));
    }
    let _ = segment::take_summaries(bytes);
    let _ = segment::take_names(bytes, 1000);
}

/// Any bytes as a level of a PV, of stretches of a day.
pub fn level(bytes: &[u8]) {
    const DAY: i64 = 86_400_000_000_000;
    let value_type = ValueType::scalar(Element::F64);
    let Ok(level) = LevelRows::take(bytes, value_type, DAY, 1 << 24) else { return };
    let rows: Vec<Summary> = level.all().collect();
    assert!(rows.is_sorted_by(|earlier, later| earlier.t1 < later.t0));
    assert_eq!(rows_between(&[level], &[], TimeRange::ALL).len(), rows.len());
}

/// Any bytes as a file of the log, and as the records of a frame.
pub fn log(bytes: &[u8]) {
    let scan = scan::scan(bytes);
    for frame in &scan.frames {
        assert!(frame.records.end <= bytes.len());
    }
    // Malformed records are an answer, too; those behind an array follow it.
    let mut arrays = Lasts::default();
    let array = Value::Array(Column::F64(vec![0.5; 20]));
    let sample = Sample { time: Timestamp::default(), value: array, alarm: Alarm::default(), pulse: 0, stamp: None };
    let first = (PvId(1), Logged::Whole(Record::Sample(sample)));
    let records = scan::records(bytes).unwrap_or_default();
    for record in [first].into_iter().chain(records) {
        let _ = arrays.restore(1, record, |_, _| {});
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    /// Bodies that begin as they should, so that more than the first check is reached.
    fn body() -> impl Strategy<Value = Vec<u8>> {
        let column = prop::collection::vec(prop_oneof![0..9u8, any::<u8>()], 0..40);
        let columns = prop::collection::vec(column, 4);
        (0..14u8, 0..2u8, 0..200u8, columns).prop_map(|(element, shape, count, columns)| {
            let mut body = vec![1, 0, 0, 0, element, shape, count & 0x7f];
            for column in columns {
                body.push(column.len() as u8);
                body.extend(column);
            }
            body
        })
    }

    /// Found by a fuzzer: times so far apart that what is covered between them has no sum.
    #[test]
    fn a_block_of_times_that_are_nonsense_does_not_make_the_reader_panic() {
        let body = [
            0, 1, 0, 0, 0, 0, 3, 0x0a, 0, 1, 0x24, 0x30, 0x80, 0x8b, 0, 0, 0, 0x74, 0x0c, 1, 0x8e, 2, 0, 0x0a, 1, 0, 5,
            0xf6, 0, 0, 4, 0x0a, 0, 0, 0, 0, 0, 2, 0, 0x0a, 0, 0, 0, 0,
        ];
        super::block(&body);
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_readers_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            super::block(&bytes);
            super::frames(&bytes);
            super::log(&bytes);
            super::level(&bytes);
            super::segment(&bytes);
        }

        /// Columns of a few rows.
        #[test]
        fn no_level_makes_the_reader_panic(rows in 0..20u8, columns in prop::collection::vec((0..5u8, 0..9u8), 14)) {
            let mut level = vec![rows];
            columns.iter().for_each(|(codec, number)| level.extend([3, *codec, *number, 0]));
            super::level(&level);
            super::segment(&level);
        }

        /// Frames as they are written, with bytes changed.
        #[test]
        fn damaged_frames_are_refused_or_read_but_never_panic(
            element in 0..12u8,
            (count, len) in (1..20u8, 0..300usize),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        ) {
            let mut bytes = vec![element, count - 1];
            bytes.extend(crate::block::played::written(element, count.into(), len));
            super::frames(&bytes);
            for (place, byte) in changes {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            super::frames(&bytes);
        }

        #[test]
        fn no_body_of_a_block_makes_the_reader_panic(body in body()) {
            super::block(&body);
        }

        /// Records that follow the array of the PV they name.
        #[test]
        fn no_difference_makes_the_reader_panic(count in 0..4u8, bytes in prop::collection::vec(0..30u8, 0..60)) {
            let mut record = vec![6, 1, 0, 10, 1, count];
            (0..count).for_each(|row| record.extend(i64::from(row).to_le_bytes()));
            record.resize(record.len() + usize::from(count), 0); // their lengths
            if count > 0 {
                record.extend([count, 0, 0, 0, count, 0]); // alarms, pulses
            }
            record.extend(bytes);
            super::log(&record);
        }

        /// A golden block with bytes changed is as near to the truth as damage gets.
        #[test]
        fn a_damaged_body_is_refused_or_read_but_never_panics(
            case in 0..19usize,
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        ) {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/blocks/v1");
            let mut blocks: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
            blocks.retain(|path| path.extension().is_some_and(|extension| extension == "block"));
            blocks.sort();
            let bytes = std::fs::read(&blocks[case]).unwrap();
            let mut body = bytes[crate::block::format::BLOCK_HEADER_LEN..].to_vec();
            for (place, byte) in changes {
                let place = place.index(body.len());
                body[place] = byte;
            }
            super::block(&body);
        }
    }
}

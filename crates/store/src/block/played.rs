//! Tests that frames of a block played one after the other are what they are when the block is made as a whole.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "it is a test")]

use archive::PvId;
use proptest::prelude::*;
use sample::{Alarm, Arrays, Batch, Column, Element, Severity, Timestamp, ValueType};

use crate::{
    block::{self, Opened, format::BLOCK_HEADER_LEN},
    bytes::Malformed,
    codec::{Effort, array, frames},
};

/// The first so many types are those of numbers.
const NUMBERS: usize = 12;

fn column(element: Element, bits: &[u64]) -> Column {
    macro_rules! of {
        ($variant:ident, $make:expr) => {
            Column::$variant(bits.iter().map($make).collect())
        };
    }
    match element {
        Element::Bool => of!(Bool, |bits| bits & 1 == 1),
        Element::I8 => of!(I8, |bits| *bits as i8),
        Element::U8 => of!(U8, |bits| *bits as u8),
        Element::I16 => of!(I16, |bits| *bits as i16),
        Element::U16 => of!(U16, |bits| *bits as u16),
        Element::I32 => of!(I32, |bits| *bits as i32),
        Element::U32 => of!(U32, |bits| *bits as u32),
        Element::I64 => of!(I64, |bits| *bits as i64),
        Element::U64 => of!(U64, |bits| *bits),
        Element::F32 => of!(F32, |bits| f32::from_bits(*bits as u32)),
        Element::F64 => of!(F64, |bits| f64::from_bits(*bits)),
        Element::Enum => of!(Enum, |bits| *bits as i32),
        Element::String | Element::Structure => unreachable!("they are no numbers"),
    }
}

/// What is recorded of one PV.
#[derive(Clone, Debug)]
struct Film {
    element: Element,
    lens: Vec<usize>,
    /// Of elements that change: in which array, where, to what.
    changes: Vec<(prop::sample::Index, prop::sample::Index, u64)>,
    /// What noise begins with.
    seed: u64,
    /// Nanoseconds from each array to the next.
    steps: Vec<i64>,
}

impl Film {
    fn batch(&self) -> Batch {
        let mut batch = Batch::new(ValueType::array(self.element));
        let mut time = 0;
        let noise = |place: usize| (place as u64 + 1).wrapping_mul(self.seed | 1).rotate_left(29);
        let mut bits: Vec<u64> = (0..self.lens.iter().copied().max().unwrap_or(0)).map(noise).collect();
        for (row, (len, step)) in self.lens.iter().zip(&self.steps).enumerate() {
            for (of, place, to) in &self.changes {
                if of.index(self.lens.len()) == row && !bits.is_empty() {
                    let place = place.index(bits.len());
                    bits[place] = *to;
                }
            }
            time += step;
            let severity = Severity::from_number(row as i64 / 3 % 4);
            let alarm = Alarm { severity, status: (row / 5) as u16, message: None };
            let value = sample::Value::Array(column(self.element, &bits[..*len]));
            let (time, pulse) = (Timestamp::from_nanos(time), row as u64 / 2);
            assert!(batch.push(&sample::Sample { time, value, alarm, pulse, stamp: None }));
        }
        batch
    }
}

fn films() -> impl Strategy<Value = Film> {
    let lens = prop_oneof![
        8 => (1..40usize, 0..900usize).prop_map(|(count, len)| vec![len; count]),
        1 => (1..40usize, 0..900usize, any::<prop::sample::Index>()).prop_map(|(count, len, other)| {
            let mut lens = vec![len; count];
            lens[other.index(count)] += 1;
            lens
        }),
    ];
    let change = (any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u64>());
    let steps = prop::collection::vec(prop_oneof![4 => 1..1000i64, 1 => Just(0i64)], 40);
    (0..NUMBERS, lens, prop::collection::vec(change, 0..30), any::<u64>(), steps).prop_map(
        |(element, lens, changes, seed, steps)| Film { element: Element::ALL[element], lens, changes, seed, steps },
    )
}

/// So many arrays of one length as a column of them that are frames, if there are two.
pub(crate) fn written(element: u8, count: usize, len: usize) -> Vec<u8> {
    let lens = vec![len; count];
    let film =
        Film { element: Element::ALL[usize::from(element)], lens, changes: Vec::new(), seed: 9, steps: vec![1; count] };
    let batch = film.batch();
    let Column::Array(arrays) = batch.values() else { unreachable!("they are arrays") };
    let mut out = Vec::new();
    array::put(&mut out, arrays, Effort::Flush);
    out
}

/// Rows of a block in pieces of so many bytes, as they are played; an error if it cannot be.
fn played(block: &[u8], rows: std::ops::Range<usize>, bytes_max: usize) -> Result<Batch, Malformed> {
    let mut player = match block::open(block)?.1 {
        Opened::Whole(batch) => return Ok(batch.slice(rows)),
        Opened::Frames(player) => player,
    };
    player.cut_to(rows.clone());
    let mut all = Batch::new(player.samples().value_type());
    let mut next = rows.start;
    while let Some((row, time)) = player.next() {
        assert_eq!((row, time), (next, player.samples().times()[next]));
        let piece = player.take(bytes_max);
        let elements = piece.values().byte_size() - piece.len() * size_of::<usize>();
        assert!(piece.len() == 1 || elements <= bytes_max, "{elements} bytes at once in place of {bytes_max}");
        next += piece.len();
        assert!(all.extend_from(&piece, 0..piece.len()));
    }
    assert_eq!(next, rows.end);
    Ok(all)
}

fn assert_same(own: &Batch, other: &Batch) {
    assert!(own.values().identical(other.values()));
    assert_eq!((own.times(), own.alarms(), own.pulses()), (other.times(), other.alarms(), other.pulses()));
}

/// Makes the checksum right again.
fn seal(block: &mut [u8]) {
    let check = xxhash_rust::xxh3::xxh3_64(&block[8..]);
    block[..8].copy_from_slice(&check.to_le_bytes());
}

proptest! {
    #[test]
    fn frames_one_by_one_are_those_of_the_whole_block(
        film in films(),
        ends in prop::array::uniform2(any::<prop::sample::Index>()),
        bytes_max in prop_oneof![Just(1usize), 1..20_000usize, Just(usize::MAX)],
    ) {
        let batch = film.batch();
        let mut bytes = Vec::new();
        block::put(&mut bytes, PvId(1), &batch, Effort::Flush);
        let ends = ends.map(|end| end.index(batch.len() + 1));
        let rows = ends[0].min(ends[1])..ends[0].max(ends[1]);
        assert_same(&played(&bytes, rows.clone(), bytes_max).expect("it was written just now"), &batch.slice(rows));
        if let Opened::Frames(player) = block::open(&bytes).expect("it was written just now").1 {
            let row = ends[0].min(batch.len() - 1);
            let (one, expected) = (player.get(row), batch.get(row));
            assert!(one.identical(&expected));
        }
    }

    /// The checksum is right, so that what it protects is read.
    #[test]
    fn a_damaged_block_of_frames_gives_what_the_whole_block_gives_or_the_same_error(
        film in films(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = Vec::new();
        block::put(&mut bytes, PvId(1), &film.batch(), Effort::Flush);
        for (place, byte) in changes {
            let place = BLOCK_HEADER_LEN + place.index(bytes.len() - BLOCK_HEADER_LEN);
            bytes[place] = byte;
        }
        seal(&mut bytes);
        match (block::take(&bytes), block::open(&bytes)) {
            (Ok((_, whole)), Ok((_, opened))) => {
                assert_same(opened.samples(), &{
                    let none = frames::empty_arrays(whole.value_type().element, whole.len());
                    match &opened {
                        Opened::Whole(batch) => batch.clone(),
                        Opened::Frames(_) => whole.clone().with_values(none).expect("there is one for each row"),
                    }
                });
                assert_same(&played(&bytes, 0..whole.len(), 1000).expect("it can be opened"), &whole);
            }
            (Err(whole), Err(opened)) => assert_eq!(whole, opened),
            (whole, opened) => panic!("{:?} as a whole, {:?} one by one", whole.err(), opened.err()),
        }
    }
}

#[test]
fn long_arrays_of_a_few_cells_are_frames_and_others_are_not() {
    let is_film = |lens: Vec<usize>, noise: bool| {
        let (element, count) = (Element::F64, lens.len());
        let all: usize = lens.iter().sum();
        let bits = |place: usize| if noise { (place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) } else { 0 };
        let elements = column(element, &(0..all).map(bits).collect::<Vec<u64>>());
        let mut end = 0;
        let ends = lens.iter().map(|len| {
            end += len;
            end
        });
        let arrays = Arrays::from_ends(ends.collect(), elements).expect("they add up");
        let batch = frames::bare(
            &Film { element, lens: vec![0; count], changes: Vec::new(), seed: 1, steps: vec![5; count] }.batch(),
            0..count,
        );
        let batch = batch.with_values(Column::Array(arrays)).expect("there is one for each row");
        let mut bytes = Vec::new();
        block::put(&mut bytes, PvId(1), &batch, Effort::Flush);
        matches!(block::open(&bytes).expect("it was written just now").1, Opened::Frames(_))
    };
    assert!(is_film(vec![2000; 20], false));
    assert!(!is_film(vec![2000; 20], true), "everything changes");
    assert!(!is_film([vec![2000; 19], vec![2001]].concat(), false), "the lengths differ");
    assert!(!is_film(vec![2000], false), "there is but one");
}

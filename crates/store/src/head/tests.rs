//! What goes into a head comes out of it, in order, whatever the types and however much there is.

use std::{
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use archive::{PvId, Record};
use sample::{Alarm, Batch, Column, Quality, Sample, Severity, Stamp, TimeRange, Timestamp, Value};

use super::{Chunk, Head, SlabPool};
use crate::log::arrays::Differences;

const PV: PvId = PvId(70_000);

fn head() -> Head {
    Head::new(&Arc::new(SlabPool::new(0)))
}

fn sample(nanos: i64, value: Value) -> Sample {
    Sample { time: Timestamp::from_nanos(nanos), value, alarm: Alarm::default(), pulse: 0, stamp: None }
}

/// All rows of a PV, in the order of its chunks.
fn rows(head: &Head) -> Vec<Sample> {
    head.chunks(PV).iter().flat_map(|chunk| (0..chunk.len()).map(|row| chunk.get(row))).collect()
}

fn put(head: &Head, samples: &[Sample]) {
    for sample in samples {
        head.append(&[(PV, Record::Sample(sample.clone()))], &mut Differences::default());
    }
}

/// Whichever comes first: a PV that begins with an array lies elsewhere.
#[test]
fn samples_of_every_type_come_back_in_their_order() {
    (0..15).for_each(samples_of_every_type_from);
}

fn samples_of_every_type_from(first: usize) {
    let head = head();
    let alarm = |severity, text: Option<&str>| Alarm { severity, status: 7, message: text.map(Into::into) };
    let mut samples: Vec<Sample> = Vec::new();
    let values = [
        Value::Bool(true),
        Value::I8(-3),
        Value::U8(200),
        Value::I16(i16::MIN),
        Value::U16(u16::MAX),
        Value::I32(i32::MIN),
        Value::U32(u32::MAX),
        Value::I64(i64::MIN),
        Value::U64(u64::MAX),
        Value::F32(-0.0),
        Value::F64(f64::MIN_POSITIVE),
        Value::Enum(-1),
        Value::String("words".into()),
        Value::Structure([1, 2].as_slice().into()),
        Value::Array(Column::I16(vec![1, -2])),
    ];
    for (index, value) in values.iter().cycle().skip(first).take(60).enumerate() {
        let index = index as i64;
        for row in 0..index % 20 {
            let alarm = alarm(Severity::from_number(row % 3), (row % 7 == 0).then_some("why"));
            let other = Timestamp::from_nanos(-row);
            let stamp = (row % 9 == 8).then_some(Stamp { quality: Quality::Ahead, other });
            samples.push(Sample { alarm, stamp, ..sample(index * 1000 + row, value.clone()) });
        }
    }
    put(&head, &samples);
    assert_eq!(rows(&head), samples);
    assert_eq!(head.samples(), samples.len() as u64);
    assert_eq!(head.pvs(), [PV]);
    let (t0, t1) = (samples[0].time, samples[samples.len() - 1].time);
    assert_eq!(head.extent(PV), Some((t0, t1, samples.len() as u64)));
    assert_eq!(head.last_before(PV, Timestamp::MAX).as_ref(), samples.last());
}

#[test]
fn many_samples_one_by_one_or_at_once_are_the_same() {
    let (one, all) = (head(), head());
    let samples: Vec<Sample> = (0..20_000).map(|i| sample(i, Value::F64(i as f64))).collect();
    put(&one, &samples);
    let mut batch = Batch::of(&samples[0]);
    assert!(samples[1..].iter().all(|sample| batch.push(sample)));
    all.append(&[(PV, Record::Samples(batch))], &mut Differences::default());
    assert_eq!(rows(&one), samples);
    assert_eq!(rows(&all), samples);
    let most = 20_000 * 17 + 16 * 70_001; // and the table of lanes
    assert!(one.bytes() < most && all.bytes() < most, "{} {} {most}", one.bytes(), all.bytes());
}

#[test]
fn what_is_read_is_sorted_within_the_range_and_free_of_repeats_but_not_copied_when_sealed() {
    let head = head();
    let samples: Vec<Sample> = (0..3000).map(|i| sample((i ^ 1) / 2, Value::I32(i as i32 / 4))).collect();
    put(&head, &samples);
    let range = TimeRange { t0: Timestamp::from_nanos(100), t1: Timestamp::from_nanos(1400) };
    let pieces = head.pieces(PV, range);
    let times = pieces.iter().flat_map(|piece| &piece.chunk.times()[piece.rows.clone()]);
    let times: Vec<i64> = times.map(|time| time.nanos()).collect();
    assert_eq!(times, (100..1400).collect::<Vec<i64>>(), "every second one is a repeat");
    let again = head.pieces(PV, range);
    let (Chunk::Rows(first), Chunk::Rows(same)) = (&pieces[0].chunk, &again[0].chunk) else {
        panic!("numbers are rows")
    };
    assert!(Arc::ptr_eq(first, same));
    assert!(head.take_repeats() > 0);
}

#[test]
fn who_asks_for_numbers_does_not_wait_for_arrays() {
    let head = Arc::new(head());
    let array = |nanos: i64| sample(nanos, Value::Array(Column::I32(vec![nanos as i32; 1000])));
    put(&head, &[sample(1, Value::F64(1.0))]);
    (1..4).for_each(|nanos| head.append(&[(PvId(7), Record::Sample(array(nanos)))], &mut Differences::default()));
    assert_eq!(head.last_before(PvId(7), Timestamp::MAX), Some(array(3)));
    assert_eq!(head.pvs(), [PvId(7), PV]);
    let _an_array_is_being_taken = head.arrays.lanes();
    let (answer, answered) = mpsc::channel();
    let reader = head.clone();
    thread::spawn(move || answer.send(reader.pieces(PV, TimeRange::ALL).len()));
    assert_eq!(answered.recv_timeout(Duration::from_secs(20)), Ok(1));
}

#[test]
fn a_pv_with_a_pulse_now_and_then_stays_in_one_chunk() {
    let head = head();
    let pulsed = |i: i64| Sample { pulse: i as u64 % 2, ..sample(i, Value::F64(i as f64)) };
    let samples: Vec<Sample> = (0..1000).map(pulsed).collect();
    put(&head, &samples);
    assert_eq!(rows(&head), samples);
    assert!(head.chunks(PV).len() <= 2);
}

/// Lanes of every length grow side by side and are sealed by a value of another type, so that their pages go from one to the
/// other, alone and in groups.
#[test]
fn pages_that_go_from_lane_to_lane_keep_what_they_hold_apart() {
    const LANES: u32 = 40;
    let head = head();
    let mut noise = 1u32;
    let mut expected: Vec<Vec<Sample>> = vec![Vec::new(); LANES as usize];
    for nanos in 0..60_000 {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let pv = (noise >> 16) % LANES * ((noise >> 8) % 3) / 2;
        let is_wide = (expected[pv as usize].len() / (40 * pv as usize + 5)).is_multiple_of(2);
        let value = if is_wide { Value::F64(f64::from(noise)) } else { Value::I32(noise as i32) };
        let severity = Severity::from_number(i64::from(noise >> 24) / 60);
        let taken = Sample { alarm: Alarm { severity, ..Alarm::default() }, ..sample(nanos, value) };
        let record = match noise >> 4 & 1 {
            0 => Record::Sample(taken.clone()),
            _ => Record::Samples(Batch::of(&taken)),
        };
        head.append(&[(PvId(pv), record)], &mut Differences::default());
        expected[pv as usize].push(taken);
    }
    for (pv, expected) in (0..LANES).zip(expected) {
        let chunks = head.chunks(PvId(pv));
        let rows: Vec<Sample> = chunks.iter().flat_map(|chunk| (0..chunk.len()).map(|row| chunk.get(row))).collect();
        assert_eq!(rows, expected, "{pv}");
    }
    assert!((60_000 * 17..60_000 * 60).contains(&head.bytes()), "{}", head.bytes());
}

/// The words of an alarm are counted once where they stay, and again where they change.
#[test]
fn the_words_of_alarms_count_as_memory() {
    let said = |pulse, words: &str| {
        let alarm = Alarm { severity: Severity::Major, status: 1, message: Some(words.into()) };
        Sample { alarm, pulse, ..sample(1, Value::F64(0.5)) }
    };
    let long = "a".repeat(10_000);
    for pulse in [0, 7] {
        let head = head();
        put(&head, &[said(pulse, "short")]);
        let before = head.bytes();
        put(&head, &[said(pulse, &long)]);
        let after = head.bytes();
        assert!((10_000..11_000).contains(&(after - before)), "{before} {after}");
        put(&head, &vec![said(pulse, &long); 10]);
        assert!(head.bytes() - after < 1000, "{after} {}", head.bytes());
    }
}

/// The same with arrays, which are kept as frames or in batches.
#[test]
fn the_words_of_alarms_of_arrays_count_as_memory() {
    let noise = |row: i64, i: i64| (row * 1000 + i).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64) as f64;
    let ramp = |row: i64, i: i64| if i == 0 { row as f64 } else { i as f64 };
    let elements: [&dyn Fn(i64, i64) -> f64; 2] = [&noise, &ramp];
    for element in elements {
        let said = |row: i64, words: &str| {
            let alarm = Alarm { severity: Severity::Major, status: 1, message: Some(words.into()) };
            let value = Value::Array(Column::F64((0..100).map(|i| element(row, i)).collect()));
            Sample { alarm, ..sample(row, value) }
        };
        let (head, long) = (head(), "a".repeat(100_000));
        put(&head, &[said(0, "short"), said(1, "short")]);
        let before = head.bytes();
        put(&head, &[said(2, &long)]);
        let after = head.bytes();
        assert!((100_000..110_000).contains(&(after - before)), "{before} {after}");
        put(&head, &(3..13).map(|row| said(row, &long)).collect::<Vec<_>>());
        assert!(head.bytes() - after < 20_000, "{after} {}", head.bytes());
    }
}

#[test]
fn memory_that_a_head_takes_is_counted_and_given_back_to_the_next() {
    let pool = Arc::new(SlabPool::new(1 << 20));
    for _ in 0..3 {
        let head = Head::new(&pool);
        for pv in 0..1000 {
            head.append(&[(PvId(pv), Record::Sample(sample(1, Value::F64(0.5))))], &mut Differences::default());
        }
        assert!((280_000..400_000).contains(&head.bytes()), "{}", head.bytes());
    }
    assert_eq!(pool.slabs(), 4);
}

#[test]
fn of_arrays_that_hardly_change_one_is_in_memory_with_what_changes() {
    const LEN: usize = 100_000;
    let head = head();
    let array = |n: usize| Value::Array(Column::I32((0..LEN).map(|i| if i == 0 { n as i32 } else { 7 }).collect()));
    let samples: Vec<Sample> = (0..30).map(|n| sample(n as i64, array(n))).collect();
    put(&head, &samples[..1]);
    let first = head.bytes();
    put(&head, &samples[1..]);
    assert!(first > LEN * 4 && head.bytes() < first + 20_000, "{first} bytes, then {}", head.bytes());
    assert_eq!(rows(&head), samples);
}

#[test]
fn an_array_in_a_batch_of_its_own_is_kept_as_it_is_and_the_first_of_frames() {
    let head = head();
    let put = |sample: &Sample| {
        let batch = Arc::new(Batch::holding(sample.clone()));
        head.append(&[(PV, Record::Array(batch.clone()))], &mut Differences::default());
        batch
    };
    let array = |n: i32| Value::Array(Column::I32((0..10_000).map(|i| if i == 0 { n } else { 7 }).collect()));
    let texts = Value::Array(Column::String(["a", "b"].into_iter().collect()));
    let mut samples = vec![sample(0, array(0))];
    let given = put(&samples[0]);
    let chunks = head.chunks(PV);
    assert!(matches!(&chunks[..], [Chunk::Rows(batch)] if Arc::ptr_eq(batch, &given)), "it was copied");
    assert!(head.bytes() > 40_000, "{} bytes", head.bytes());
    samples.extend((1..5).map(|n| sample(n.into(), array(n))));
    samples.push(sample(5, texts));
    samples[1..].iter().for_each(|sample| drop(put(sample)));
    assert!(matches!(head.chunks(PV)[..], [Chunk::Frames(_), Chunk::Rows(_)]));
    assert_eq!(rows(&head), samples);
    assert_eq!((head.samples(), head.pvs()), (6, vec![PV]));
}

/// With what their columns keep for more rows, which is as much again where they have just grown.
#[test]
fn the_bytes_of_a_head_are_the_memory_of_its_chunks() {
    let head = head();
    let array =
        |n: i64| Value::Array(Column::I32((0..1000).map(|i| if i == n % 1000 { n as i32 } else { 7 }).collect()));
    for n in 0..300 {
        put(&head, &[sample(n, array(n))]);
    }
    put(&head, &[sample(300, Value::String("the end".into()))]);
    let chunks = head.chunks(PV);
    let frames: usize =
        chunks.iter().map(|chunk| if let Chunk::Frames(frames) = chunk { frames.memory() } else { 0 }).sum();
    assert!(chunks.len() == 2 && frames > 300 * 70, "{frames} bytes of frames");
    assert!(head.bytes() > frames, "{} bytes, {frames} of them frames", head.bytes());
    let growing = self::head();
    (0..300).for_each(|n| put(&growing, &[sample(n, array(n))]));
    assert!(growing.bytes() > head.bytes() + 5_000, "{} bytes while it grows, {} then", growing.bytes(), head.bytes());
}

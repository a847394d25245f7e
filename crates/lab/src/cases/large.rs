//! Values of 100 MB: what is left of them, how fast they pass, and how much memory that takes besides the head.

use std::hint::black_box;

use archive::Record;
use pvdata::{Array, Data, Extent, Scalar, Tree, Type, wire::Order, wire::Writer};
use sample::{Alarm, Column, Sample, TimeRange, Timestamp, Value};

use crate::{
    measure::{self, Stopwatch, memory_mib, peak_memory_mib},
    store_bench::{CaseBench, Outcome, append, flush, merge, now, open, register},
    workload::{Noise, START},
};

/// The bytes of the elements of a value.
const VALUE_BYTES: usize = 100_000_000;

/// What 100 MB consist of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Large {
    /// 12.5 million floats of a digitiser: 14 bits in volts, every one of them different each time.
    Floats,
    /// 25 million integers, noise in every bit, of which one changes from value to value.
    Integers,
    /// A structure with a picture of 100 million pixels of 8 bits, noise in the lower four.
    Picture,
    /// Half a million texts of 200 letters.
    Texts,
}

impl Large {
    /// The value of a row. `noise` is that of the first for what hardly changes.
    fn value(self, row: i64, noise: &mut Noise) -> Value {
        let digit = |noise: &mut Noise| noise.below(60) as i16 as f64 * (2.0 / 16_384.0);
        match self {
            Large::Floats => Value::Array(Column::F64((0..VALUE_BYTES / 8).map(|_| digit(noise)).collect())),
            Large::Integers => {
                let mut noise = noise.clone();
                let element = |place| if place == 0 { row as i32 } else { noise.bits() as i32 };
                Value::Array(Column::I32((0..VALUE_BYTES / 4).map(element).collect()))
            }
            Large::Picture => Value::Structure(picture(row, noise).into()),
            Large::Texts => {
                let text = |place| format!("{:0>200}", noise.bits().wrapping_add(place as u64));
                let texts: Vec<String> = (0..VALUE_BYTES / 200).map(text).collect();
                Value::Array(Column::String(texts.iter().map(String::as_str).collect()))
            }
        }
    }
}

/// A structure as pvAccess sends it: a number, and the pixels.
fn picture(row: i64, noise: &mut Noise) -> Vec<u8> {
    let pixel = |place: usize| (place / 10_000 % 16 * 16) as u8;
    let mut eight = |place: usize| noise.bits().to_le_bytes().map(|bits| pixel(place) | (bits & 15));
    let pixels = (0..VALUE_BYTES / 8).flat_map(|eighth| eight(8 * eighth)).collect();
    let fields = [("uniqueId", Type::Scalar(Scalar::I32)), ("value", Type::Array(Scalar::U8, Extent::Variable))];
    let ty = Type::structure("lab:picture", fields).expect("it has two fields");
    let value = Tree::Structure(vec![Tree::I32(row as i32), Tree::Array(Array::U8(pixels))]);
    let mut writer = Writer::new(Order::Little);
    Data { ty, value }.encode(&mut writer).expect("it fits its type");
    writer.into_bytes()
}

pub(super) fn values(bench: &CaseBench, large: Large) -> Outcome<()> {
    let count = (10.0 * bench.scale).max(3.0) as usize;
    let total = (count * VALUE_BYTES) as f64 / 1e9;
    let mut noise = Noise::new(bench.seed);
    let mut clock = Stopwatch::start();
    let store = bench.new_store("large", |_| {})?;
    let pv = register(&store, 1)?[0];
    for row in 0..count as i64 {
        let value = clock.set_aside(|| large.value(row, &mut noise));
        let time = Timestamp::from_nanos(START + row * 1_000_000_000);
        let record = Record::Sample(Sample { time, value, alarm: Alarm::default(), pulse: 0, stamp: None });
        let watch = Memory::watch()?;
        append(&store, &[(pv, record)])?;
        if row == 0 {
            bench.tell("append of the first", watch.most(), "values");
            flush(&store)?;
            bench.tell("and its flush", watch.most(), "values");
        }
    }
    flush(&store)?;
    bench.tell("log, head and flush", total / clock.passed().cpu, "GB/CPU-s");
    let watch = Memory::watch()?;
    merge(&store, now())?;
    bench.tell("merge", watch.most(), "values");
    bench.tell("ratio", total * 1e9 / store.reader().health().block_bytes as f64, ": 1");
    let (watch, clock, mut read) = (Memory::watch()?, Stopwatch::start(), 0);
    for batch in store.reader().samples(pv, TimeRange::ALL) {
        read += black_box(batch?).len();
    }
    if read != count {
        return Err(format!("{count} values were written, {read} were read").into());
    }
    bench.tell("read", total / clock.passed().cpu, "GB/CPU-s");
    bench.tell("reading", watch.most(), "values");
    let value = large.value(count as i64, &mut noise);
    let time = Timestamp::from_nanos(START + count as i64 * 1_000_000_000);
    append(&store, &[(pv, Record::Sample(Sample { time, value, alarm: Alarm::default(), pulse: 0, stamp: None }))])?;
    drop(store); // as a crash would
    let watch = Memory::watch()?;
    let store = open(&bench.folder("large"), now(), |_| {})?;
    bench.tell("recovery of one", watch.most(), "values");
    let last = store.reader().last_before(pv, time)?;
    if last.is_none_or(|last| last.time != time) {
        return Err("what was not flushed did not come back".into());
    }
    bench.tell("peak memory", peak_memory_mib(), "MiB");
    Ok(())
}

/// How much memory is taken from now on.
struct Memory {
    before: f64,
}

impl Memory {
    fn watch() -> Outcome<Memory> {
        measure::forget_peak_memory()?;
        Ok(Memory { before: memory_mib() })
    }

    /// The most there was more than at the beginning, in values of 100 MB.
    fn most(&self) -> f64 {
        (peak_memory_mib() - self.before) * f64::from(1 << 20) / VALUE_BYTES as f64
    }
}

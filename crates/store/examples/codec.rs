//! Measures the codecs: bytes a sample and samples per CPU-second of each kind of PV, without files.
//!
//! `cargo run --release -p store --example codec [name]`: one line for each data set and effort, and the mix of 20 PVs at the end.

use std::{fs, hint::black_box};

use sample::{Alarm, Arrays, Batch, Column, Element, Runs, Severity, Timestamp};
use store::bench::{self, How};

const START: i64 = 1_793_491_200_000_000_000;
const ROWS: usize = 8192;
const BLOCKS: usize = 16;

/// xorshift64*: small, seeded, good enough for noise.
struct Noise(u64);

impl Noise {
    fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn gauss(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

#[derive(Clone, Copy)]
enum Clock {
    /// 10 Hz, late by half a Gaussian of 100 µs.
    Jitter,
    /// 10 Hz, jittered in whole milliseconds.
    Millis,
    /// 14 Hz in ticks of 11.357 ns.
    Evr,
    /// When it comes.
    Sometimes,
}

fn times(clock: Clock, noise: &mut Noise, count: usize) -> Vec<Timestamp> {
    let mut last = 0.0;
    let time = |i: usize| match clock {
        Clock::Jitter => i as i64 * 100_000_000 + (100_000.0 * noise.gauss().abs()) as i64,
        Clock::Millis => i as i64 * 100_000_000 + (2.0 * noise.gauss()).round() as i64 * 1_000_000,
        Clock::Evr => ((i as f64 / 14.0 / 11.357e-9 + noise.unit() * 2.0).floor() * 11.357) as i64,
        Clock::Sometimes => {
            last -= noise.unit().max(1e-9).ln() * 3e9;
            last as i64
        }
    };
    (0..count).map(time).map(|nanos| Timestamp::from_nanos(START + nanos)).collect()
}

fn values(kind: &str, noise: &mut Noise, count: usize) -> Column {
    let phase = noise.unit();
    let slow = |i: usize| (i as f64 / 5000.0 + phase).sin();
    let mut code = |i| (40_000.0 + 2000.0 * slow(i) + 3.0 * noise.gauss()).round();
    let all = 0..count;
    match kind {
        "adc16" => Column::F64(all.map(|i| code(i) * (20.0 / 65536.0)).collect()),
        "adc16lin" => Column::F64(all.map(|i| code(i) * (20.0 / 65535.0)).collect()),
        "adc offset" => Column::F64(all.map(|i| code(i) * (20.0 / 65535.0) - 10.0).collect()),
        "adc f32" => Column::F32(all.map(|i| (code(i) * (20.0 / 65535.0) - 10.0) as f32).collect()),
        "dec3" => Column::F64(all.map(|i| (23_457.0 + 300.0 * slow(i) + 2.0 * noise.gauss()).round() / 1e3).collect()),
        "setpoint" => Column::F64(all.map(|i| ((i / 3000) as f64 * phase * 100.0).round() / 10.0).collect()),
        "sine" => Column::F64(all.map(|i| slow(i) + 1e-3 * noise.gauss()).collect()),
        "const" => Column::F64(vec![phase; count]),
        "counter" => Column::I32(all.map(|i| (i * 17) as i32 + (noise.bits() % 8) as i32).collect()),
        "bpm" => Column::I32(all.map(|i| (50_000.0 * slow(i) + 400.0 * noise.gauss()) as i32).collect()),
        "enum" => Column::Enum(all.map(|i| (i / 700 % 4) as i32).collect()),
        "vacuum" => Column::F32(all.map(|i| (1e-9 * (1.0 + 0.1 * slow(i) + 0.01 * noise.gauss())) as f32).collect()),
        "walk" => {
            let mut sum = 0;
            let step = |_| {
                sum += (noise.bits() % 11) as i32 - 5;
                sum
            };
            Column::I32(all.map(step).collect())
        }
        _ => panic!("no such kind"),
    }
}

fn alarms(noise: &mut Noise, count: usize) -> Runs<Alarm> {
    let mut alarms = Runs::default();
    while alarms.len() < count {
        let calm = (noise.bits() % 40_000) as usize;
        alarms.push(&Alarm::default(), calm.min(count - alarms.len()));
        let minor = Alarm { severity: Severity::Minor, status: 4, message: None };
        alarms.push(&minor, 50.min(count - alarms.len()));
    }
    alarms
}

fn whole(times: Vec<Timestamp>, values: Column, noise: &mut Noise) -> Batch {
    let mut pulses = Runs::default();
    pulses.push(&0, times.len());
    let alarms = alarms(noise, times.len());
    Batch::from_columns(times, values, alarms, pulses).expect("all columns have that many rows")
}

/// Blocks of `rows` samples of one PV.
fn batches(kind: &str, clock: Clock, seed: u64, rows: usize) -> Vec<Batch> {
    let mut noise = Noise(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let count = ROWS * BLOCKS;
    let all = whole(times(clock, &mut noise, count), values(kind, &mut noise, count), &mut noise);
    (0..count / rows).map(|block| all.slice(block * rows..(block + 1) * rows)).collect()
}

/// Nanoseconds that this thread has run.
fn cpu_nanos() -> f64 {
    std::thread::yield_now(); // brings the kernel's account up to date
    let stat = fs::read_to_string("/proc/thread-self/schedstat").expect("Linux counts the time of threads");
    stat.split(' ').next().and_then(|nanos| nanos.parse().ok()).expect("the first number is the time on a processor")
}

/// The shortest of several runs, each long enough for the clock.
fn nanos_of(mut run: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let (start, mut rounds) = (cpu_nanos(), 0);
        while cpu_nanos() - start < 40e6 {
            run();
            rounds += 1;
        }
        best = best.min((cpu_nanos() - start) / f64::from(rounds));
    }
    best
}

struct Measured {
    samples: f64,
    bytes: f64,
    encode: f64,
    decode: f64,
}

fn measure(batches: &[Batch], how: How) -> (Measured, Vec<Vec<u8>>) {
    let blocks: Vec<Vec<u8>> = batches.iter().flat_map(|batch| bench::pack(batch, how)).collect();
    let encode = nanos_of(|| batches.iter().for_each(|batch| drop(black_box(bench::pack(batch, how)))));
    let decode = nanos_of(|| blocks.iter().for_each(|block| drop(black_box(bench::unpack(block)))));
    let samples = batches.iter().map(Batch::len).sum::<usize>() as f64;
    let bytes = blocks.iter().map(Vec::len).sum::<usize>() as f64 + 88.0 * blocks.len() as f64;
    (Measured { samples, bytes, encode, decode }, blocks)
}

#[expect(clippy::print_stdout, reason = "printing is what this program is for")]
fn tell(name: &str, batches: &[Batch], how: How) -> Measured {
    let (measured, blocks) = measure(batches, how);
    let ([times, values, ..], codecs) = bench::columns(&blocks[0]);
    let rows = bench::unpack(&blocks[0]).len() as f64;
    let Measured { samples, bytes, encode, decode } = measured;
    let raw = batches.iter().map(|batch| batch.values().byte_size()).sum::<usize>() as f64;
    println!(
        "{name:<22} {how:?} {:>8.3} B/sample (times {:>6.3}, values {:>8.3}, codecs {codecs:?})  encode {:>7.1} M/s {:>6.2} GB/s  decode {:>7.1} M/s {:>6.2} GB/s  ratio {:>7.1}",
        bytes / samples,
        times as f64 / rows,
        values as f64 / rows,
        samples / encode * 1e3,
        raw / encode,
        samples / decode * 1e3,
        raw / decode,
        raw / bytes,
    );
    measured
}

/// Frames of which only the first element changes.
fn frames(element: Element, len: usize, count: usize) -> Batch {
    let mut noise = Noise(7);
    let mut arrays = Arrays::new(element);
    for frame in 0..count {
        let elements = match element {
            Element::F64 => {
                Column::F64((0..len).map(|i| if i == 0 { frame as f64 } else { (i as f64 * 0.01).sin() }).collect())
            }
            Element::I32 => Column::I32((0..len).map(|i| if i == 0 { frame as i32 } else { i as i32 }).collect()),
            _ => {
                let sample = |i: usize| (4000.0 * (i as f64 / 300.0).sin() + 8.0 * noise.gauss()) as i16;
                Column::I16((0..len).map(sample).collect())
            }
        };
        assert!(arrays.push(&elements));
    }
    whole(times(Clock::Jitter, &mut noise, count), Column::Array(arrays), &mut noise)
}

#[expect(clippy::print_stdout, reason = "printing is what this program is for")]
fn mix(how: How) {
    let kinds = [("adc16lin", 8), ("dec3", 4), ("sine", 4), ("setpoint", 2), ("const", 2)];
    let all: Vec<Batch> = kinds
        .iter()
        .flat_map(|(kind, pvs)| (0..*pvs).flat_map(|pv| batches(kind, Clock::Jitter, pv + 1, ROWS)))
        .collect();
    let (Measured { samples, bytes, encode, decode }, _) = measure(&all, how);
    println!(
        "mix of 20 PVs          {how:?} {:>8.3} B/sample  encode {:.1} M/s  decode {:.1} M/s",
        bytes / samples,
        samples / encode * 1e3,
        samples / decode * 1e3
    );
}

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    for how in [How::Flush, How::Merge] {
        let sets = [
            ("adc16", Clock::Jitter),
            ("adc16lin", Clock::Jitter),
            ("adc16lin", Clock::Evr),
            ("adc offset", Clock::Jitter),
            ("adc f32", Clock::Jitter),
            ("dec3", Clock::Jitter),
            ("setpoint", Clock::Jitter),
            ("sine", Clock::Jitter),
            ("const", Clock::Jitter),
            ("const", Clock::Sometimes),
            ("counter", Clock::Jitter),
            ("bpm", Clock::Jitter),
            ("enum", Clock::Jitter),
            ("vacuum", Clock::Jitter),
            ("walk", Clock::Millis),
        ];
        for (kind, clock) in sets.into_iter().filter(|(kind, _)| kind.contains(&wanted)) {
            tell(kind, &batches(kind, clock, 1, ROWS), how);
        }
        for kind in ["adc16lin", "dec3", "sine", "setpoint"].into_iter().filter(|_| "short".contains(&wanted)) {
            tell(&format!("{kind} of 100"), &batches(kind, Clock::Jitter, 1, 100), how);
        }
        if "mix".contains(&wanted) {
            mix(how);
        }
        let arrays = [
            ("frames 1k f64", Element::F64, 1000, 4000),
            ("frames 10k f64", Element::F64, 10_000, 400),
            ("frames 100k i32", Element::I32, 100_000, 80),
            ("digitiser 10k i16", Element::I16, 10_000, 40),
        ];
        for (name, element, len, count) in arrays.into_iter().filter(|(name, ..)| name.contains(&wanted)) {
            tell(name, &[frames(element, len, count)], how);
        }
    }
}

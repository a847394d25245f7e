//! Tests of what is printed of numbers: it reads back to the same bits, in every format and of every type, and is what serde writes.
//!
//! `make numbers` tries a hundred million doubles.

use sample::{Alarm, Batch, Column, Runs, Timestamp};

use super::{
    appliance_json::{self, Form},
    appliance_lines::{self, Columns},
    csv, json,
    line_buffer::{LineBuffer, Number},
    value::Dialect,
};

/// Doubles that are tried in every run.
const DOUBLES: u64 = 1_000_000;

/// Numbers that never end and are the same in each run.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 ^ self.0 >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    }

    /// Of all kinds: any bits, and those that a printer may take for something else.
    fn double(&mut self) -> f64 {
        let bits = self.next();
        let small = (bits >> 16) as i64 >> (bits >> 8 & 0x3f);
        let one_off = |number: f64| f64::from_bits(number.to_bits().wrapping_add(bits >> 32 & 3).wrapping_sub(1));
        match bits % 8 {
            0 | 1 => f64::from_bits(self.next()),
            2 => small as f64,
            3 => one_off(small as f64),
            4 => small as f64 / 10f64.powi((bits >> 4 & 15) as i32),
            5 => one_off(10f64.powi((bits >> 4 & 511) as i32 - 256)),
            6 => f64::from_bits(bits >> (12 + (bits >> 3 & 31))),
            _ => f64::from((bits >> 11) as f32) * 1e-3,
        }
    }
}

fn put(line_of: impl FnOnce(&mut super::line_buffer::Line<'_>), out: &mut Vec<u8>) {
    let mut room = LineBuffer::new();
    let mut line = room.lines();
    line_of(&mut line);
    line.flush(out);
}

/// What JSON's own printer writes where there is a number for it.
fn check(number: f64, text: &str) {
    let back: f64 = text.parse().unwrap_or_else(|_| panic!("{text} is no number"));
    assert!(back.to_bits() == number.to_bits() || back.is_nan() && number.is_nan(), "{number:?} is printed as {text}");
    if number.is_finite() {
        assert_eq!(text, serde_json::to_string(&number).unwrap());
    }
}

#[test]
fn every_double_reads_back_to_the_same_bits_and_is_printed_as_by_serde() {
    let count = std::env::var("PVARK_NUMBERS").ok().and_then(|count| count.parse().ok()).unwrap_or(DOUBLES);
    let ends = [0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, f64::MIN_POSITIVE, f64::MAX, f64::MIN, f64::INFINITY, f64::NAN];
    let powers = (0..64).map(|power| (1u64 << power) as f64).chain((0..23).map(|power| 10f64.powi(power)));
    let around = powers.flat_map(|power| [power - 1.0, power, power + 1.0, -power, power + 0.5]);
    let mut noise = Noise(7);
    let all = ends.into_iter().chain(around).chain((0..count).map(|_| noise.double()));
    let mut out = Vec::new();
    for number in all {
        out.clear();
        put(|line| number.put(line, Dialect::Appliance), &mut out);
        check(number, std::str::from_utf8(&out).unwrap());
    }
}

#[test]
fn every_float_and_integer_is_printed_as_by_serde() {
    let mut noise = Noise(11);
    let mut out = Vec::new();
    macro_rules! same {
        ($($number:expr),*) => {$({
            let number = $number;
            out.clear();
            put(|line| number.put(line, Dialect::Appliance), &mut out);
            assert_eq!(std::str::from_utf8(&out).unwrap(), serde_json::to_string(&number).unwrap());
        })*};
    }
    for step in 0..200_000u64 {
        let bits = noise.next();
        let near = bits >> (bits & 63);
        let float = if step % 2 == 0 { f32::from_bits(bits as u32) } else { near as i64 as f32 / 8.0 };
        if float.is_finite() {
            same!(float);
            let text = std::str::from_utf8(&out).unwrap();
            assert_eq!(text.parse::<f32>().unwrap().to_bits(), float.to_bits(), "{text}");
        }
        same!(near, near as i64, (near as i64).wrapping_neg(), near as u32, near as i32, -(near as i32 >> 1));
        same!(near as u16, near as i16, near as u8, near as i8, step % 3 == 0);
        same!(
            10u64.pow((step % 20) as u32),
            10u64.pow((step % 20) as u32) - 1,
            u64::MAX - step,
            i64::MIN + step as i64
        );
    }
}

/// Each format with where the value stands in its lines.
fn values_in_every_format(column: Column) -> Vec<(&'static str, Vec<String>)> {
    let rows = column.len();
    let (mut alarms, mut pulses) = (Runs::default(), Runs::default());
    alarms.push(&Alarm::default(), rows / 2);
    alarms.push(&Alarm { status: 17, ..Alarm::default() }, rows - rows / 2);
    pulses.push(&0, rows - rows / 3);
    pulses.push(&u64::MAX, rows / 3);
    let times =
        (0..rows as i64).map(|row| Timestamp::from_nanos(1_767_225_600_000_000_000 + row * 97_000_001)).collect();
    let batch = Batch::from_columns(times, column, alarms, pulses).unwrap();
    let piece = batch.clone().into();
    let between = |text: Vec<u8>, before: &str, behind: &str| {
        let text = String::from_utf8(text).unwrap();
        text.lines()
            .map(|line| {
                let from = line.find(before).unwrap_or_else(|| panic!("{line}")) + before.len();
                let len = line[from..].find(behind).unwrap_or_else(|| panic!("{line}"));
                line[from..from + len].trim_matches('"').to_owned()
            })
            .collect::<Vec<String>>()
    };
    let written = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        write(&mut out);
        out
    };
    let appliance = |form| written(&|out| appliance_json::put_plain(out, &piece, form, true));
    let plain = |columns| written(&|out| appliance_lines::put_plain(out, &piece, columns));
    let columns = String::from_utf8(written(&|out| json::put_columns(out, &batch))).unwrap();
    let list = columns.split("\"values\":[").nth(1).unwrap().split(']').next().unwrap();
    vec![
        ("json", between(appliance(Form::Full), "\"val\": ", ", \"nanos\"")),
        ("qw", between(appliance(Form::Quick), "\"val\": ", " }")),
        ("jplot", between(appliance(Form::Plot), "\", ", "]")),
        ("csv", between(plain(Columns::Commas), ",", ",")),
        ("txt", between(plain(Columns::Tabs), "\t", "\t")),
        ("csv of ours", between(written(&|out| csv::put_rows(out, b"", &piece)), ",", ",")),
        ("csv of several", between(written(&|out| csv::put_rows(out, b"A:B,", &piece)), "Z,", ",")),
        ("json of ours", list.split(',').map(|value| value.trim_matches('"').to_owned()).collect()),
    ]
}

#[test]
fn numbers_of_every_type_read_back_to_the_same_bits_in_every_format() {
    let mut noise = Noise(13);
    let bits: Vec<u64> = (0..5000).map(|_| noise.next()).map(|bits| bits >> (bits & 63)).collect();
    macro_rules! same {
        ($variant:ident, $type:ty, $of:expr) => {
            let numbers: Vec<$type> = bits.iter().copied().map($of).collect();
            for (format, values) in values_in_every_format(Column::$variant(numbers.clone())) {
                let read: Vec<$type> = values.iter().map(|value| value.parse().unwrap()).collect();
                assert_eq!(read, numbers, "{format}");
            }
        };
    }
    same!(Bool, bool, |bits| bits % 2 == 0);
    same!(I8, i8, |bits| bits as i8);
    same!(U8, u8, |bits| bits as u8);
    same!(I16, i16, |bits| bits as i16);
    same!(U16, u16, |bits| bits as u16);
    same!(I32, i32, |bits| bits as i32);
    same!(Enum, i32, |bits| bits as i32);
    same!(U32, u32, |bits| bits as u32);
    same!(I64, i64, |bits| (bits as i64).wrapping_neg());
    same!(U64, u64, |bits| bits);
    let doubles: Vec<f64> = (0..20_000).map(|_| noise.double()).chain([-0.0, f64::NAN, f64::NEG_INFINITY]).collect();
    for (format, values) in values_in_every_format(Column::F64(doubles.clone())) {
        assert_eq!(values.len(), doubles.len(), "{format}");
        for (number, text) in doubles.iter().zip(&values) {
            // A viewer is told of what is no number that there is none.
            if text != "null" {
                check(*number, text);
            } else {
                assert!(!number.is_finite() && ["qw", "jplot"].contains(&format), "{format}: {number}");
            }
        }
    }
    let floats: Vec<f32> =
        bits.iter().map(|bits| f32::from_bits(*bits as u32)).filter(|float| float.is_finite()).collect();
    for (format, values) in values_in_every_format(Column::F32(floats.clone())) {
        let read: Vec<u32> = values.iter().map(|value| value.parse::<f32>().unwrap().to_bits()).collect();
        assert_eq!(read, floats.iter().map(|float| float.to_bits()).collect::<Vec<_>>(), "{format}");
    }
}

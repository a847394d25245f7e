//! Numbers as protobuf lines: samples that are one number and nothing else, a word at a time where an encoder of messages writes
//! a byte, which takes ten times as long.

use std::ops::Range;

use sample::{Alarm, Batch, Column, Timestamp};

use super::pb_messages::is_white;

/// No line is longer, each of its bytes escaped, with the room that copies of a fixed length take beyond their end.
const LINE_BYTES_MAX: usize = 80;
/// So many lines are put together before they are added to the others: to look for room once for each word took as long as all else.
const LINES_AT_ONCE: usize = 16;

/// Writes these rows, all of one year, which begins at the second `year`, and of one state; false if they are no such numbers.
pub(super) fn put_numbers(out: &mut Vec<u8>, batch: &Batch, rows: Range<usize>, year: i64, state: State) -> bool {
    let times = &batch.times()[rows.clone()];
    macro_rules! lines {
        ($values:expr, $words:expr) => {
            put_lines(out, times, &$values[rows], year, state, $words)
        };
    }
    match batch.values() {
        Column::F64(v) => lines!(v, |nano, value: f64| [nano.and(0x19), EightBytes::of(value.to_bits(), 8)]),
        Column::F32(v) => lines!(v, |nano, value: f32| [nano.and(0x1d), EightBytes::of(value.to_bits().into(), 4)]),
        Column::I32(v) => {
            lines!(v, |nano, value: i32| [nano.and(0x1d), EightBytes::of(value.cast_unsigned().into(), 4)])
        }
        Column::U32(v) => lines!(v, |nano, value: u32| [nano.and(0x1d), EightBytes::of(value.into(), 4)]),
        Column::I16(v) => lines!(v, |nano, value: i16| [nano, EightBytes::number(3, zigzag(value.into()))]),
        Column::U16(v) => lines!(v, |nano, value: u16| [nano, EightBytes::number(3, zigzag(value.into()))]),
        Column::Enum(v) => lines!(v, |nano, value: i32| [nano, EightBytes::number(3, zigzag(value))]),
        _ => return false,
    }
    true
}

/// `words` makes the end of the time and the value of a line.
#[inline(always)]
fn put_lines<T: Copy>(
    out: &mut Vec<u8>,
    times: &[Timestamp],
    values: &[T],
    year: i64,
    state: State,
    words: impl Fn(EightBytes, T) -> [EightBytes; 2],
) {
    let (mut begun, mut room) = (InSecond::default(), [0; LINES_AT_ONCE * LINE_BYTES_MAX]);
    for (times, values) in times.chunks(LINES_AT_ONCE).zip(values.chunks(LINES_AT_ONCE)) {
        let mut end = 0;
        for (time, value) in times.iter().zip(values) {
            let nano = begun.nano_of(*time, year);
            let [time, value] = words(EightBytes::number(2, nano), *value);
            let line = &mut room[end..end + LINE_BYTES_MAX];
            let mut len = begun.second.put(line, 0);
            len = time.put(line, len);
            len = value.put(line, len);
            end += state.behind(value.last()).put(line, len);
        }
        out.extend_from_slice(&room[..end]);
    }
}

/// How protobuf writes signed numbers as unsigned ones.
fn zigzag(number: i32) -> u32 {
    ((number << 1) ^ (number >> 31)).cast_unsigned()
}

/// Eight bytes of a line at most, the first of them the lowest. To put them together in memory and look at them there took twice as
/// long: the processor waits until what it has just written can be read in larger pieces.
#[derive(Clone, Copy)]
struct EightBytes {
    bytes: u64,
    len: usize,
}

impl EightBytes {
    /// Bytes beyond `len` are zeros.
    fn of(bytes: u64, len: usize) -> EightBytes {
        EightBytes { bytes, len }
    }

    /// A field of a message: digits of seven bits, each but the last with a mark.
    #[inline(always)]
    fn number(field: u8, number: u32) -> EightBytes {
        let number = u64::from(number);
        let digit = |at: u32| (number >> (7 * at) & 0x7f) << (8 * at);
        let len = (70 - (number | 1).leading_zeros() as usize) / 7;
        let marks = 0x80_8080_8080 & ((1 << (8 * (len - 1))) - 1);
        let digits = digit(0) | digit(1) | digit(2) | digit(3) | digit(4) | marks;
        EightBytes::of(digits << 8 | u64::from(field << 3), len + 1)
    }

    /// The byte that ends it.
    #[inline(always)]
    fn last(self) -> u8 {
        (self.bytes >> (8 * (self.len - 1))) as u8
    }

    /// With one byte more.
    fn and(self, byte: u8) -> EightBytes {
        EightBytes { bytes: self.bytes | u64::from(byte) << (8 * self.len), len: self.len + 1 }
    }

    /// Writes it into a line that is `at` bytes long, with what has to be escaped. Gives how long the line is then.
    #[inline(always)]
    fn put(self, line: &mut [u8], mut at: usize) -> usize {
        let EightBytes { mut bytes, mut len } = self;
        loop {
            line[at..at + 8].copy_from_slice(&bytes.to_le_bytes());
            let found = escaped_in(bytes);
            if found == 0 {
                return at + len;
            }
            let before = found.trailing_zeros() as usize / 8;
            bytes >>= 8 * before;
            let kind = match bytes as u8 {
                0x1b => 1,
                b'\n' => 2,
                _ => 3,
            };
            line[at + before..at + before + 2].copy_from_slice(&[0x1b, kind]);
            (bytes, len, at) = (bytes >> 8, len - before - 1, at + before + 2);
        }
    }
}

/// A mark in the lowest byte that would be taken for an escape or for the end of a line, and in others perhaps.
#[inline(always)]
fn escaped_in(bytes: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    // The highest bit of the lowest byte that is zero, and perhaps of bytes above it.
    let zeros = |bytes: u64| bytes.wrapping_sub(ONES) & !bytes;
    let [escape, feed, end] = [0x1b, b'\n', b'\r'].map(|byte| zeros(bytes ^ (ONES * u64::from(byte))));
    (escape | feed | end) & (ONES << 7)
}

/// What many lines have, as it stands in them.
#[derive(Clone, Copy, Default)]
struct Part {
    bytes: [u8; 16],
    len: usize,
}

impl Part {
    /// Of six bytes at most.
    fn of(words: &[EightBytes]) -> Part {
        let (mut room, mut len) = ([0; 32], 0);
        for word in words {
            len = word.put(&mut room, len);
        }
        let mut part = Part { len, ..Part::default() };
        part.bytes[..len].copy_from_slice(&room[..len]);
        part
    }

    /// With the end of the line.
    fn ended(mut self) -> Part {
        self.bytes[self.len] = b'\n';
        self.len += 1;
        self
    }

    #[inline(always)]
    fn put(&self, line: &mut [u8], at: usize) -> usize {
        line[at..at + 16].copy_from_slice(&self.bytes);
        at + self.len
    }
}

/// Severity and status, as far as they are not zero, and the end of the line.
#[derive(Clone, Copy)]
pub(super) struct State {
    part: Part,
    /// The same behind a value that ends in what clients take for white space.
    behind_white: Part,
}

impl State {
    pub(super) fn of(alarm: &Alarm) -> State {
        let severity = EightBytes::number(4, alarm.severity as u32);
        let status = EightBytes::number(5, alarm.status.into());
        let [part, behind_white] = match (alarm.severity as u32, alarm.status) {
            (0, 0) => [Part::of(&[]), Part::of(&[status])],
            (0, _) => [Part::of(&[status]); 2],
            (_, 0) => [Part::of(&[severity]); 2],
            _ => [Part::of(&[severity, status]); 2],
        };
        State { part: part.ended(), behind_white: behind_white.ended() }
    }

    #[inline(always)]
    fn behind(&self, last: u8) -> &Part {
        if is_white(last) { &self.behind_white } else { &self.part }
    }
}

/// What the lines of one second begin with: made once for each second.
#[derive(Default)]
struct InSecond {
    begins: i64,
    second: Part,
}

impl InSecond {
    /// The nanoseconds of a sample beyond its second, which is one of the year that begins at the second `year`.
    #[inline(always)]
    fn nano_of(&mut self, time: Timestamp, year: i64) -> u32 {
        let nano = time.nanos().wrapping_sub(self.begins);
        if self.second.len > 0 && (0..1_000_000_000).contains(&nano) {
            return nano as u32;
        }
        let (seconds, nano) = time.seconds_and_nanos();
        self.begins = time.nanos().wrapping_sub(nano.into());
        self.second = Part::of(&[EightBytes::number(1, seconds.saturating_sub(year) as u32)]);
        nano
    }
}

#[cfg(test)]
mod tests {
    use sample::{Runs, Severity};

    use super::{super::pb_frame::Frame, *};

    /// Numbers of all sizes, with all bytes that have to be escaped.
    #[test]
    fn numbers_written_byte_by_byte_are_the_messages_that_they_stand_for() {
        let mut state = 1u64;
        for round in 0..20_000u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let bits = state >> (state >> 58);
            let column = match round % 7 {
                0 => Column::F64(vec![f64::from_bits(bits)]),
                1 => Column::F32(vec![f32::from_bits(bits as u32)]),
                2 => Column::I32(vec![bits as i32]),
                3 => Column::U32(vec![bits as u32]),
                4 => Column::I16(vec![bits as i16]),
                5 => Column::U16(vec![bits as u16]),
                _ => Column::Enum(vec![bits as i32]),
            };
            let severity = Severity::from_number((bits % 4) as i64);
            let alarm = Alarm { severity, status: (bits >> 7) as u16, message: None };
            let (second, nano) = ((bits >> 3) as u32, (bits >> 11) as u32 % 1_000_000_000);
            let (mut line, mut message, mut expected) = (Vec::new(), Vec::new(), Vec::new());
            let (mut alarms, mut pulses) = (Runs::default(), Runs::default());
            alarms.push(&alarm, 1);
            pulses.push(&0, 1);
            let times = vec![Timestamp::from_seconds(second.into(), nano)];
            let batch = Batch::from_columns(times, column, alarms, pulses).unwrap();
            assert!(put_numbers(&mut line, &batch, 0..1, 0, State::of(&alarm)));
            let status = Some(i32::from(alarm.status)).filter(|status| *status != 0);
            let severity = Some(severity as i32).filter(|severity| *severity != 0);
            Frame { second, nano, severity, status, fields: Vec::new(), actual_change: None }.encode(
                batch.values(),
                0,
                &mut message,
            );
            aa::put_line(&mut expected, &message);
            assert_eq!(line, expected, "{batch:?} {second} {nano} {alarm:?}");
        }
    }

    /// Clients do so, and would take a short 16 for a line that is torn.
    #[test]
    fn a_zero_status_is_left_out_and_no_line_loses_a_byte_to_who_strips_white_space() {
        let (mut left_out, mut written) = (0, 0);
        for number in i16::MIN..=i16::MAX {
            let (mut line, mut alarms, mut pulses) = (Vec::new(), Runs::default(), Runs::default());
            alarms.push(&Alarm::default(), 1);
            pulses.push(&0, 1);
            let times = vec![Timestamp::from_seconds(7, 1)];
            let batch = Batch::from_columns(times, Column::I16(vec![number]), alarms, pulses).unwrap();
            assert!(put_numbers(&mut line, &batch, 0..1, 0, State::of(&Alarm::default())));
            let end = line.iter().rposition(|byte| !is_white(*byte) && ![b'\n', b'\r'].contains(byte)).unwrap();
            let stripped = &line[..=end];
            assert_eq!(stripped.len() + 1, line.len(), "{number}");
            let has_status = stripped.ends_with(&[5 << 3, 0]);
            *(if has_status { &mut written } else { &mut left_out }) += 1;
            let mut expected = Vec::new();
            Frame { second: 7, nano: 1, severity: None, status: None, fields: Vec::new(), actual_change: None }.encode(
                batch.values(),
                0,
                &mut expected,
            );
            assert_eq!(expected.ends_with(&[5 << 3, 0]), has_status, "{number}");
        }
        assert!(left_out > 60_000 && written > 500, "{left_out} {written}");
    }
}

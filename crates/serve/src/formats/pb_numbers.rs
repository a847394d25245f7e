//! Numbers as protobuf lines: samples that are one number and nothing else, a word at a time where an encoder of messages writes
//! a byte, which takes ten times as long.

use std::ops::Range;

use sample::{Alarm, Batch, Column, Timestamp};

/// No line is longer, each of its bytes escaped.
const LINE_BYTES_MAX: usize = 64;
/// So many lines are put together before they are added to the others: to look for room once for each word took as long as all else.
const LINES_AT_ONCE: usize = 16;

/// Bytes that would be taken for an escape, or for the end of a line.
const ESCAPED: [u8; 3] = [0x1b, b'\n', b'\r'];

/// Writes these rows, all of one year, which begins at the second `year`, and of one state; false if they are no such numbers.
pub(super) fn put_numbers(out: &mut Vec<u8>, batch: &Batch, rows: Range<usize>, year: i64, state: Word) -> bool {
    let times = &batch.times()[rows.clone()];
    macro_rules! lines {
        ($values:expr, $words:expr) => {
            put_lines(out, times, &$values[rows], year, state, $words)
        };
    }
    match batch.values() {
        Column::F64(v) => lines!(v, |nano, value: f64| [nano.and(0x19), Word::of(value.to_bits(), 8)]),
        Column::F32(v) => lines!(v, |nano, value: f32| [nano.and(0x1d), Word::of(value.to_bits().into(), 4)]),
        Column::I32(v) => lines!(v, |nano, value: i32| [nano.and(0x1d), Word::of(value.cast_unsigned().into(), 4)]),
        Column::U32(v) => lines!(v, |nano, value: u32| [nano.and(0x1d), Word::of(value.into(), 4)]),
        Column::I16(v) => lines!(v, |nano, value: i16| [nano, Word::number(3, zigzag(value.into()))]),
        Column::U16(v) => lines!(v, |nano, value: u16| [nano, Word::number(3, zigzag(value.into()))]),
        Column::Enum(v) => lines!(v, |nano, value: i32| [nano, Word::number(3, zigzag(value))]),
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
    state: Word,
    words: impl Fn(Word, T) -> [Word; 2],
) {
    let (mut begun, mut room) = (InSecond::default(), [0; LINES_AT_ONCE * LINE_BYTES_MAX]);
    for (times, values) in times.chunks(LINES_AT_ONCE).zip(values.chunks(LINES_AT_ONCE)) {
        let mut end = 0;
        for (time, value) in times.iter().zip(values) {
            let (second, nano) = begun.of(*time, year);
            let [time, value] = words(Word::number(2, nano), *value);
            end += put_line(&mut room[end..end + LINE_BYTES_MAX], [second, time, value, state]);
        }
        out.extend_from_slice(&room[..end]);
    }
}

/// One line. Gives its length.
#[inline(always)]
fn put_line(line: &mut [u8], words: [Word; 4]) -> usize {
    let mut len = 0;
    if words.iter().any(|word| word.is_escaped) {
        for byte in words.iter().flat_map(|word| word.bytes.to_le_bytes().into_iter().take(word.len)) {
            if let Some(kind) = ESCAPED.iter().position(|escaped| *escaped == byte) {
                line[len..len + 2].copy_from_slice(&[ESCAPED[0], 1 + kind as u8]);
                len += 2;
            } else {
                line[len] = byte;
                len += 1;
            }
        }
    } else {
        for word in words {
            line[len..len + 8].copy_from_slice(&word.bytes.to_le_bytes());
            len += word.len;
        }
    }
    line[len] = b'\n';
    len + 1
}

/// How protobuf writes signed numbers as unsigned ones.
fn zigzag(number: i32) -> u32 {
    ((number << 1) ^ (number >> 31)).cast_unsigned()
}

/// Eight bytes of a line at most, the first of them the lowest. To put them together in memory and look at them there took twice as
/// long: the processor waits until what it has just written can be read in larger pieces.
#[derive(Clone, Copy, Default)]
pub(super) struct Word {
    bytes: u64,
    len: usize,
    /// Whether there is a byte that lines may not have.
    is_escaped: bool,
}

impl Word {
    /// Bytes beyond `len` are zeros.
    fn of(bytes: u64, len: usize) -> Word {
        const ONES: u64 = u64::MAX / 255;
        // The highest bit of each byte that is zero, and perhaps of bytes above such a one.
        let zeros = |bytes: u64| bytes.wrapping_sub(ONES) & !bytes & (ONES << 7);
        let found = ESCAPED.map(|byte| zeros(bytes ^ (ONES * u64::from(byte))));
        Word { bytes, len, is_escaped: found[0] | found[1] | found[2] != 0 }
    }

    /// A field of a message: digits of seven bits, each but the last with a mark.
    fn number(field: u8, number: u32) -> Word {
        let number = u64::from(number);
        let digit = |at: u32| (number >> (7 * at) & 0x7f) << (8 * at);
        let len = (70 - (number | 1).leading_zeros() as usize) / 7;
        let marks = 0x80_8080_8080 & ((1 << (8 * (len - 1))) - 1);
        let digits = digit(0) | digit(1) | digit(2) | digit(3) | digit(4) | marks;
        Word::of(digits << 8 | u64::from(field << 3), len + 1)
    }

    /// With one byte more, which lines may have.
    fn and(self, byte: u8) -> Word {
        Word { bytes: self.bytes | u64::from(byte) << (8 * self.len), len: self.len + 1, ..self }
    }

    /// Severity and status.
    pub(super) fn of_alarm(alarm: &Alarm) -> Word {
        let status = Word::number(5, alarm.status.into());
        if alarm.severity as u32 == 0 {
            return status;
        }
        let severity = Word::number(4, alarm.severity as u32);
        Word::of(severity.bytes | status.bytes << (8 * severity.len), severity.len + status.len)
    }
}

/// What the lines of one second begin with: made once for each second.
#[derive(Default)]
struct InSecond {
    begins: i64,
    word: Word,
}

impl InSecond {
    /// The second of a sample in the year that begins at the second `year`, and the nanoseconds beyond it.
    fn of(&mut self, time: Timestamp, year: i64) -> (Word, u32) {
        let mut nano = time.nanos().wrapping_sub(self.begins);
        if self.word.len == 0 || !(0..1_000_000_000).contains(&nano) {
            let (seconds, beyond) = time.seconds_and_nanos();
            (self.begins, nano) = (time.nanos().wrapping_sub(beyond.into()), beyond.into());
            self.word = Word::number(1, seconds.saturating_sub(year) as u32);
        }
        (self.word, nano as u32)
    }
}

#[cfg(test)]
mod tests {
    use sample::{Runs, Severity};

    use super::{super::pb::Frame, *};

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
            assert!(put_numbers(&mut line, &batch, 0..1, 0, Word::of_alarm(&alarm)));
            let status = Some(i32::from(alarm.status));
            let severity = Some(severity as i32).filter(|severity| *severity != 0);
            Frame { second, nano, severity, status, fields: Vec::new() }.encode(batch.values(), 0, &mut message);
            plainpb::put_line(&mut expected, &message);
            assert_eq!(line, expected, "{batch:?} {second} {nano} {alarm:?}");
        }
    }
}

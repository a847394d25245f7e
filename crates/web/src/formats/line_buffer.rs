//! Lines as they are put together: in a room on the stack, of known texts that are copied with a fixed length and of numbers that
//! are made eight digits at once. To look for room in a vector for each text took as long as to make the digits.

use super::value::Dialect;

/// So many bytes are put together before they go where all lines are.
const ROOM_BYTES: usize = 4096;
/// What is put into a line between two looks whether there is room has no more bytes, with what copies of a fixed length take beyond
/// their end.
const LINE_BYTES_MAX: usize = 512;

/// A room for lines; all of it is made ready once for each batch.
pub(crate) struct LineBuffer([u8; ROOM_BYTES]);

impl LineBuffer {
    pub(crate) fn new() -> LineBuffer {
        LineBuffer([0; ROOM_BYTES])
    }

    pub(crate) fn lines(&mut self) -> Line<'_> {
        Line { room: &mut self.0, at: 0 }
    }
}

/// What is being put together. A reference and a number, so that a compiler keeps both in registers.
pub(crate) struct Line<'a> {
    room: &'a mut [u8],
    at: usize,
}

impl Line<'_> {
    /// Gives what there is to the others, unless there is room for another line.
    #[inline(always)]
    pub(crate) fn pass_on(&mut self, out: &mut Vec<u8>) {
        if self.at > ROOM_BYTES - LINE_BYTES_MAX {
            self.flush(out);
        }
    }

    /// Gives what there is to the others.
    #[inline(always)]
    pub(crate) fn flush(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.room[..self.at]);
        self.at = 0;
    }

    /// A text of a length that the compiler knows.
    #[inline(always)]
    pub(crate) fn text<const N: usize>(&mut self, text: &[u8; N]) {
        self.room[self.at..self.at + N].copy_from_slice(text);
        self.at += N;
    }

    #[inline(always)]
    pub(crate) fn short(&mut self, short: &ShortText) {
        self.room[self.at..self.at + ShortText::BYTES_MAX].copy_from_slice(&short.room);
        self.at += short.len;
    }

    /// A text of any length, by way of the others if it is long.
    #[inline(always)]
    pub(crate) fn any(&mut self, text: &[u8], out: &mut Vec<u8>) {
        if text.len() > LINE_BYTES_MAX / 4 {
            self.flush(out);
            out.extend_from_slice(text);
            return;
        }
        self.room[self.at..self.at + text.len()].copy_from_slice(text);
        self.at += text.len();
    }

    /// Takes the last byte back, which has not been passed on.
    pub(crate) fn take_back(&mut self) {
        self.at = self.at.saturating_sub(1);
    }

    /// The lowest `len` bytes of a word.
    #[inline(always)]
    fn word(&mut self, word: u64, len: usize) {
        self.room[self.at..self.at + 8].copy_from_slice(&word.to_le_bytes());
        self.at += len;
    }

    #[inline(always)]
    pub(crate) fn unsigned(&mut self, number: u64) {
        if number < EIGHT_DIGITS {
            return self.first_digits(number as u32);
        }
        let (high, low) = (number / EIGHT_DIGITS, (number % EIGHT_DIGITS) as u32);
        if high < EIGHT_DIGITS {
            self.first_digits(high as u32);
        } else {
            self.first_digits((high / EIGHT_DIGITS) as u32);
            self.eight_digits((high % EIGHT_DIGITS) as u32);
        }
        self.eight_digits(low);
    }

    #[inline(always)]
    pub(crate) fn signed(&mut self, number: i64) {
        self.room[self.at] = b'-';
        self.at += usize::from(number < 0);
        self.unsigned(number.unsigned_abs());
    }

    /// A number below a hundred million, without zeros before it.
    #[inline(always)]
    fn first_digits(&mut self, number: u32) {
        let digits = digits(number);
        let zeros = (digits | 1 << 56).trailing_zeros() & !7;
        self.word((digits | ZEROS) >> zeros, 8 - zeros as usize / 8);
    }

    /// A number below a hundred million, with zeros before it.
    #[inline(always)]
    fn eight_digits(&mut self, number: u32) {
        self.word(digits(number) | ZEROS, 8);
    }

    /// A number below a milliard, with zeros before it.
    #[inline(always)]
    pub(crate) fn nine_digits(&mut self, number: u32) {
        self.room[self.at] = b'0' + (number / EIGHT_DIGITS as u32) as u8;
        self.at += 1;
        self.eight_digits(number % EIGHT_DIGITS as u32);
    }

    /// A number below a thousand, with zeros before it.
    #[inline(always)]
    pub(crate) fn three_digits(&mut self, number: u32) {
        self.word((digits(number) | ZEROS) >> 40, 3);
    }

    /// A number below a hundred, with a zero before it.
    #[inline(always)]
    pub(crate) fn two_digits(&mut self, number: u32) {
        self.word((digits(number) | ZEROS) >> 48, 2);
    }

    /// A finite float, as JSON has it. Most texts of such are of 16 to 24 bytes.
    #[inline(always)]
    fn float(&mut self, number: impl zmij::Float) {
        let mut digits = Digits(zmij::Buffer::new());
        let text = digits.0.format_finite(number).as_bytes();
        match text.len() {
            16..=32 => self.overlapping::<16>(text),
            8..16 => self.overlapping::<8>(text),
            4..8 => self.overlapping::<4>(text),
            _ => self.overlapping::<2>(text),
        }
    }

    /// A text of this length, or of up to twice of it: copies that overlap.
    #[inline(always)]
    fn overlapping<const N: usize>(&mut self, text: &[u8]) {
        let (Some(first), Some(last)) = (text.first_chunk::<N>(), text.last_chunk::<N>()) else { return };
        let place = &mut self.room[self.at..self.at + text.len()];
        if let Some(place) = place.first_chunk_mut::<N>() {
            *place = *first;
        }
        if let Some(place) = place.last_chunk_mut::<N>() {
            *place = *last;
        }
        self.at += text.len();
    }
}

/// Where the printer of floats puts its digits and moves them once more. Where they lay across the border of two lines of the cache,
/// which is a matter of luck, that took three times as long.
#[repr(align(64))]
struct Digits(zmij::Buffer);

const EIGHT_DIGITS: u64 = 100_000_000;
/// Eight times the digit zero.
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// The digits of a number below a hundred million, the first of them in the lowest byte: halves, quarters and eighths of it, all of
/// a size at once, because a division by a constant is a multiplication that does not reach the number beside it.
#[inline(always)]
fn digits(number: u32) -> u64 {
    let halves = u64::from(number / 10_000) | u64::from(number % 10_000) << 32;
    let hundreds = (halves * 10_486) >> 20 & 0x7f_0000_007f;
    let quarters = hundreds | (halves - 100 * hundreds) << 16;
    let tens = (quarters * 103) >> 10 & 0xf_000f_000f_000f;
    tens | (quarters - 10 * tens) << 8
}

/// A text that many lines have. Copies of a fixed length are the fastest there are.
#[derive(Clone, Copy, Default)]
pub(crate) struct ShortText {
    room: [u8; ShortText::BYTES_MAX],
    len: usize,
}

impl ShortText {
    pub(crate) const BYTES_MAX: usize = 32;

    /// What `put` writes, which is no longer than that.
    #[inline(always)]
    pub(crate) fn of(put: impl FnOnce(&mut Line<'_>)) -> ShortText {
        let mut room = [0; 2 * ShortText::BYTES_MAX];
        let mut line = Line { room: &mut room, at: 0 };
        put(&mut line);
        let len = line.at;
        assert!(len <= ShortText::BYTES_MAX, "a text of {len} bytes is not short");
        let mut short = ShortText { len, ..ShortText::default() };
        short.room.copy_from_slice(&room[..ShortText::BYTES_MAX]);
        short
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The text.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.room[..self.len]
    }
}

/// Numbers as lines have them.
pub(crate) trait Number: Copy {
    fn put(self, line: &mut Line<'_>, dialect: Dialect);
}

/// Whole numbers below this are written without an exponent, and each of them is a double.
const WHOLE_MAX: u64 = 1_000_000_000_000_000;
/// The same of floats: all of their digits count.
const WHOLE_MAX_F32: u64 = 1 << 24;

impl Number for f64 {
    #[inline(always)]
    fn put(self, line: &mut Line<'_>, dialect: Dialect) {
        let whole = self as i64;
        if whole as f64 == self && whole.unsigned_abs() < WHOLE_MAX && (whole != 0 || self.is_sign_positive()) {
            line.signed(whole);
            line.text(b".0");
        } else if self.is_finite() {
            line.float(self);
        } else {
            not_finite(line, self, dialect);
        }
    }
}

impl Number for f32 {
    #[inline(always)]
    fn put(self, line: &mut Line<'_>, dialect: Dialect) {
        let whole = self as i64;
        if whole as f32 == self && whole.unsigned_abs() < WHOLE_MAX_F32 && (whole != 0 || self.is_sign_positive()) {
            line.signed(whole);
            line.text(b".0");
        } else if self.is_finite() {
            line.float(self);
        } else {
            not_finite(line, self.into(), dialect);
        }
    }
}

#[cold]
fn not_finite(line: &mut Line<'_>, number: f64, dialect: Dialect) {
    let is_exact = dialect == Dialect::Exact;
    if dialect == Dialect::Viewer {
        return line.text(b"null");
    }
    if is_exact {
        line.text(b"\"");
    }
    match number {
        _ if number.is_nan() => line.text(b"NaN"),
        _ if number > 0.0 => line.text(b"Infinity"),
        _ => line.text(b"-Infinity"),
    }
    if is_exact {
        line.text(b"\"");
    }
}

impl Number for bool {
    #[inline(always)]
    fn put(self, line: &mut Line<'_>, _: Dialect) {
        if self { line.text(b"true") } else { line.text(b"false") }
    }
}

macro_rules! small_integers {
    ($($of:ty)*) => {$(
        impl Number for $of {
            #[inline(always)]
            fn put(self, line: &mut Line<'_>, _: Dialect) {
                line.signed(self.into());
            }
        }
    )*};
}

small_integers!(i8 u8 i16 u16 i32 u32);

/// Integers up to here are exact in readers that know only floats.
const EXACT_MAX: u64 = 1 << 53;

impl Number for i64 {
    #[inline(always)]
    fn put(self, line: &mut Line<'_>, dialect: Dialect) {
        let is_quoted = dialect == Dialect::Exact && self.unsigned_abs() > EXACT_MAX;
        quoted(line, is_quoted, |line| line.signed(self));
    }
}

impl Number for u64 {
    #[inline(always)]
    fn put(self, line: &mut Line<'_>, dialect: Dialect) {
        let is_quoted = dialect == Dialect::Exact && self > EXACT_MAX;
        quoted(line, is_quoted, |line| line.unsigned(self));
    }
}

#[inline(always)]
fn quoted(line: &mut Line<'_>, is_quoted: bool, put: impl FnOnce(&mut Line<'_>)) {
    if is_quoted {
        line.text(b"\"");
    }
    put(line);
    if is_quoted {
        line.text(b"\"");
    }
}

/// The values of a batch as lines have them. A trait, as closures that do the same become calls, with the line in memory.
pub(crate) trait Values {
    /// Puts that of a row into the line, or behind what is in `out` after it.
    fn put(&self, line: &mut Line<'_>, out: &mut Vec<u8>, row: usize);
}

pub(crate) struct Numbers<'a, T>(pub(crate) &'a [T], pub(crate) Dialect);

impl<T: Number> Values for Numbers<'_, T> {
    #[inline(always)]
    fn put(&self, line: &mut Line<'_>, _: &mut Vec<u8>, row: usize) {
        self.0[row].put(line, self.1);
    }
}

/// What is too long for a line.
pub(crate) struct Others<P>(pub(crate) P);

impl<P: Fn(&mut Vec<u8>, usize)> Values for Others<P> {
    fn put(&self, line: &mut Line<'_>, out: &mut Vec<u8>, row: usize) {
        line.flush(out);
        (self.0)(out, row);
    }
}

/// Chooses by the type of a column what is done with its numbers, once for all of them; else what is done with other columns.
macro_rules! of_numbers {
    ($column:expr, $values:ident => $done:expr, else $other:expr) => {
        match $column {
            sample::Column::Bool($values) => $done,
            sample::Column::I8($values) => $done,
            sample::Column::U8($values) => $done,
            sample::Column::I16($values) => $done,
            sample::Column::U16($values) => $done,
            sample::Column::I32($values) | sample::Column::Enum($values) => $done,
            sample::Column::U32($values) => $done,
            sample::Column::I64($values) => $done,
            sample::Column::U64($values) => $done,
            sample::Column::F32($values) => $done,
            sample::Column::F64($values) => $done,
            sample::Column::String(_) | sample::Column::Structure(_) | sample::Column::Array(_) => $other,
        }
    };
}
pub(crate) use of_numbers;

/// A list in brackets of what is short.
#[inline(always)]
pub(crate) fn put_list<I: Iterator>(out: &mut Vec<u8>, items: I, mut put: impl FnMut(&mut Line<'_>, I::Item)) {
    let mut room = LineBuffer::new();
    let mut line = room.lines();
    let mut is_empty = true;
    line.text(b"[");
    for item in items {
        line.pass_on(out);
        put(&mut line, item);
        line.text(b",");
        is_empty = false;
    }
    if !is_empty {
        line.take_back();
    }
    line.text(b"]");
    line.flush(out);
}

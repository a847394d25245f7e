//! What lines begin with that is the same for all samples of a second: made once for each second, and the date once a day.

use sample::Timestamp;

use super::line_buffer::{Line, ShortText};

/// The text that all samples of a second begin with.
#[derive(Default)]
pub(crate) struct SecondText {
    /// When it begins, in nanoseconds since 1970.
    begins: i64,
    text: ShortText,
}

impl SecondText {
    /// Makes the text if the sample is of another second than the one before it, and it is not empty. Gives the nanoseconds beyond
    /// the second.
    #[inline(always)]
    pub(crate) fn nanos(&mut self, time: Timestamp, put: impl FnOnce(&mut Line<'_>, i64)) -> u32 {
        let nanos = time.nanos().wrapping_sub(self.begins);
        if !self.text.is_empty() && (0..1_000_000_000).contains(&nanos) {
            return nanos as u32;
        }
        let (seconds, nanos) = time.seconds_and_nanos();
        self.begins = time.nanos().wrapping_sub(nanos.into());
        self.text = ShortText::of(|line| put(line, seconds));
        nanos
    }

    #[inline(always)]
    pub(crate) fn text(&self) -> &ShortText {
        &self.text
    }
}

const DAY_SECONDS: i64 = 86_400;

/// A day by the calendar, which takes longer than all else that stands in a line.
pub(crate) struct Day {
    number: i64,
    text: ShortText,
    of: fn(Timestamp) -> String,
}

impl Day {
    /// `of` writes the date, in a few bytes.
    pub(crate) fn written(of: fn(Timestamp) -> String) -> Day {
        Day { number: 0, text: ShortText::default(), of }
    }

    /// The date as in `2026-11-20T`.
    pub(crate) fn iso() -> Day {
        Day::written(|time| time.to_string().get(..11).unwrap_or_default().to_owned())
    }

    /// The date of a second since 1970.
    #[inline(always)]
    pub(crate) fn put_date(&mut self, line: &mut Line<'_>, seconds: i64) {
        let number = seconds.div_euclid(DAY_SECONDS);
        if self.text.is_empty() || number != self.number {
            self.number = number;
            let text = (self.of)(Timestamp::from_seconds(seconds, 0));
            self.text = ShortText::of(|line| line.any(text.as_bytes(), &mut Vec::new()));
        }
        line.short(&self.text);
    }
}

/// The time of a day as in `21:19:00`.
#[inline(always)]
pub(crate) fn put_clock(line: &mut Line<'_>, seconds: i64) {
    let second = seconds.rem_euclid(DAY_SECONDS) as u32;
    line.two_digits(second / 3600);
    line.text(b":");
    line.two_digits(second / 60 % 60);
    line.text(b":");
    line.two_digits(second % 60);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(put: impl FnOnce(&mut Line<'_>)) -> String {
        let (mut room, mut out) = (super::super::line_buffer::LineBuffer::new(), Vec::new());
        let mut line = room.lines();
        put(&mut line);
        line.flush(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_text_of_a_second_is_that_of_the_calendar_at_every_end_of_a_day_and_of_time() {
        let mut day = Day::iso();
        let ends = [i64::MIN, i64::MIN + 1, -1, 0, 1, 86_399_999_999_999, 86_400_000_000_000, i64::MAX];
        let all = (-20_000..=20_000).map(|step| step * 461_168_601_842_738);
        let leap = (0..200_000).map(|step| 1_709_150_000_000_000_000 + step * 1_999_999_937);
        for nanos in ends.into_iter().chain(all).chain(leap) {
            let time = Timestamp::from_nanos(nanos);
            let mut second = SecondText::default();
            let text = written(|line| {
                let nanos = second.nanos(time, |line, seconds| {
                    day.put_date(line, seconds);
                    put_clock(line, seconds);
                });
                line.short(second.text());
                line.text(b".");
                line.nine_digits(nanos);
                line.text(b"Z");
            });
            assert_eq!(text, time.to_string());
        }
    }
}

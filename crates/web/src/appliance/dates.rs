//! Dates as the Archiver Appliance's lists write them, each second once: of a million PVs most were added, and many were last heard of,
//! in the same few.

use sample::Timestamp;

use crate::formats::appliance_values::date;

/// How many seconds are remembered, each at the place of its number modulo this.
const REMEMBERED: usize = 64;

#[derive(Default)]
pub(super) struct Dates {
    written: Vec<Option<(i64, String)>>,
}

impl Dates {
    /// `Nov/20/2026 21:25:51 UTC`, or `Never`.
    pub(super) fn of(&mut self, time: Option<Timestamp>) -> &str {
        let Some(time) = time else { return "Never" };
        self.written.resize(REMEMBERED, None);
        let second = time.seconds_and_nanos().0;
        let place = &mut self.written[second.rem_euclid(REMEMBERED as i64) as usize];
        if place.as_ref().is_none_or(|(written, _)| *written != second) {
            *place = Some((second, date(Some(time))));
        }
        place.as_ref().map_or("Never", |(_, text)| text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_that_is_remembered_is_the_same_as_one_that_is_written() {
        let mut dates = Dates::default();
        for step in 0..2000_i64 {
            let second = (step * 7919) % 200 * 64 / (1 + step % 3) - 3000;
            let time = Timestamp::from_seconds(second, (step % 1000) as u32 * 1_000_000);
            assert_eq!(dates.of(Some(time)), date(Some(time)));
        }
        assert_eq!(dates.of(None), "Never");
    }
}

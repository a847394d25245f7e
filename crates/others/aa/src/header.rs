//! The header of a file or chunk: whose samples follow, of which type and year.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use sample::Timestamp;

use crate::{
    fields::FieldValue,
    line::{Wire, unescape, walk},
    payload::Payload,
};

/// Years whose samples have a time in nanoseconds since 1970.
const YEARS: std::ops::RangeInclusive<i32> = 1970..=2261;

/// `PayloadInfo`: the first line of a file or chunk.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// The type of all samples.
    pub payload: Payload,
    /// The PV's name.
    pub pv_name: String,
    /// The year whose beginning the samples count from.
    pub year: i32,
    /// When it begins.
    pub year_start: Timestamp,
    /// How many elements arrays have, where it says so.
    pub element_count: Option<u64>,
    /// What it says of the PV besides: units, precision …
    pub fields: Vec<FieldValue>,
}

impl Header {
    /// Reads the first line, without its line feed.
    pub fn of_line(line: &[u8]) -> Option<Header> {
        Header::decode(unescape(line, &mut Vec::new())?)
    }

    fn decode(message: &[u8]) -> Option<Header> {
        let (mut payload, mut pv_name, mut year) = (None, None, None);
        let (mut element_count, mut fields) = (None, Vec::new());
        walk(message, |number, wire| {
            match (number, wire) {
                (1, wire) => payload = Some(Payload::from_number(wire.i32()?)?),
                (2, Wire::Bytes(name)) => pv_name = Some(String::from_utf8(name.to_vec()).ok()?),
                (3, wire) => year = Some(wire.i32().filter(|year| YEARS.contains(year))?),
                (4, wire) => element_count = u64::try_from(wire.i32()?).ok(),
                (15, Wire::Bytes(field)) => fields.push(field_value(field)?),
                _ => {}
            }
            Some(())
        })?;
        let (payload, pv_name, year) = (payload?, pv_name?, year?);
        Some(Header { payload, pv_name, year, year_start: year_start(year), element_count, fields })
    }
}

/// A name with a text, as samples and headers carry them.
pub(crate) fn field_value(message: &[u8]) -> Option<FieldValue> {
    let (mut name, mut value) = (None, None);
    walk(message, |number, wire| {
        match (number, wire) {
            (1, Wire::Bytes(text)) => name = Some(String::from_utf8_lossy(text).into_owned()),
            (2, Wire::Bytes(text)) => value = Some(String::from_utf8_lossy(text).into_owned()),
            _ => {}
        }
        Some(())
    })?;
    Some(FieldValue { name: name?, value: value? })
}

/// When a year begins, in UTC.
pub(crate) fn year_start(year: i32) -> Timestamp {
    let past = i64::from(year) - 1;
    let leap_days = |years: i64| years / 4 - years / 100 + years / 400;
    let days = (i64::from(year) - 1970) * 365 + leap_days(past) - leap_days(1969);
    Timestamp::from_seconds(days * 86_400, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn years_begin_when_the_calendar_says() {
        for year in YEARS {
            let expected = Timestamp::parse(&format!("{year}-01-01T00:00:00Z")).expect("a year");
            assert_eq!(year_start(year), expected, "{year}");
        }
    }

    #[test]
    fn a_header_is_read_and_a_broken_one_refused() {
        let line = b"\x08\x06\x12\x0bBENCH:Q360K\x18\xea\x0f\x20\x03\x7a\x09\x0a\x03EGU\x12\x02mA";
        let header = Header::of_line(line).expect("it is whole");
        assert_eq!(
            (header.payload, header.pv_name.as_str(), header.year),
            (Payload::ScalarDouble, "BENCH:Q360K", 2026)
        );
        assert_eq!((header.element_count, header.fields.len()), (Some(3), 1));
        for wrong in [
            line.split_last().expect("it is not empty").1,
            b"\x08\x0f\x12\x01A\x18\xea\x0f",
            b"\x12\x01A\x18\xea\x0f",
            b"\x08\x06\x12\x01A\x18\x00",
            b"",
        ] {
            assert_eq!(Header::of_line(wrong), None, "{wrong:?}");
        }
    }
}

//! How the Archiver Appliance writes numbers, times and types.

use sample::{Element, Shape, Timestamp, ValueType};

/// A number that `Double.parseDouble` reads.
pub(crate) fn java_double(number: f64) -> String {
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    format!("{number:?}")
}

/// The Appliance's name for a type, the same that the protobuf answers announce.
pub(crate) fn dbr_type(value_type: ValueType) -> String {
    let element = match value_type.element {
        Element::I8 | Element::U8 => "BYTE",
        Element::I16 | Element::U16 => "SHORT",
        Element::I32 | Element::U32 => "INT",
        Element::F32 => "FLOAT",
        Element::F64 => "DOUBLE",
        Element::Enum => "ENUM",
        Element::String => "STRING",
        Element::Bool | Element::I64 | Element::U64 | Element::Structure => return "DBR_V4_GENERIC_BYTES".to_owned(),
    };
    let shape = if value_type.shape == Shape::Array { "WAVEFORM" } else { "SCALAR" };
    format!("DBR_{shape}_{element}")
}

/// To the millisecond, as in `2026-11-20T21:10:42.345Z`.
pub(crate) fn instant(time: Timestamp) -> String {
    let text = time.to_string();
    text.get(..23).map_or_else(|| text.clone(), |milliseconds| format!("{milliseconds}Z"))
}

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// `Nov/20/2026 21:25:51 UTC`, or `Never`.
pub(crate) fn date(time: Option<Timestamp>) -> String {
    let Some(time) = time else { return "Never".to_owned() };
    let text = time.to_string();
    // The text is `2026-11-20T21:25:51.000000000Z`; years before 1678 and after 2261 do not occur.
    let (Some(year), Some(month), Some(day), Some(clock)) =
        (text.get(0..4), text.get(5..7), text.get(8..10), text.get(11..19))
    else {
        return text;
    };
    let month = month.parse::<usize>().ok().and_then(|month| MONTHS.get(month.checked_sub(1)?)).copied();
    format!("{}/{day}/{year} {clock} UTC", month.unwrap_or("?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_times_are_written_as_clients_read_them() {
        assert_eq!(dbr_type(ValueType::scalar(Element::F64)), "DBR_SCALAR_DOUBLE");
        assert_eq!(dbr_type(ValueType::array(Element::I16)), "DBR_WAVEFORM_SHORT");
        assert_eq!(dbr_type(ValueType::scalar(Element::I64)), "DBR_V4_GENERIC_BYTES");
        let time = Timestamp::parse("2026-11-20T21:10:42.345678Z").unwrap();
        assert_eq!(instant(time), "2026-11-20T21:10:42.345Z");
    }

    #[test]
    fn dates_look_as_scripts_expect_them() {
        let time = Timestamp::parse("2026-11-20T21:25:51.123Z").unwrap();
        assert_eq!(date(Some(time)), "Nov/20/2026 21:25:51 UTC");
        assert_eq!(date(None), "Never");
    }
}

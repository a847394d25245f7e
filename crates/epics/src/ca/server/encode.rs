//! Payloads of all the types that a client may ask for.
//!
//! ```text
//!   0-6    plain     value…                             7-13   STS   status severity pad value…
//!   14-20  TIME      status severity time pad value…    21-27  GR    status severity units limits×6 pad value…
//!   28-34  CTRL      the same with limits×8             37     STSACK_STRING   status severity ackt acks value
//!                                                       38     CLASS_NAME      a string
//! ```

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use super::{
    Source, Stamp,
    convert::{self, put_text},
};
use crate::{Description, Limits, ca::dbr::FieldType};

const EPICS_EPOCH: i64 = 631_152_000;
const STSACK_STRING: u16 = 37;
const CLASS_NAME: u16 = 38;

/// What the class of every simulated record is called.
const CLASS: &[u8] = b"simulated";

/// Whether there is such a type, with the type of its elements.
pub(super) fn element_type(data_type: u16) -> Option<FieldType> {
    match data_type {
        0..=34 => FieldType::from_number(data_type % 7),
        STSACK_STRING | CLASS_NAME => Some(FieldType::String),
        _ => None,
    }
}

/// What is asked for: a PV at an update, as a type, with so many elements (0: as many as there are).
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) pv: u32,
    pub(super) number: u64,
    pub(super) data_type: u16,
    pub(super) count: u32,
}

/// Appends the payload, not padded, and returns its number of elements; none if there is no such type.
pub(super) fn payload(source: &impl Source, wanted: Wanted, out: &mut Vec<u8>) -> Option<u32> {
    let Wanted { pv, number, data_type, count } = wanted;
    let field = element_type(data_type)?;
    if data_type == CLASS_NAME {
        put_text(CLASS, 40, out);
        return Some(1);
    }
    let begin = out.len();
    if data_type >= 7 {
        prefix(source, wanted, field, out);
    }
    let value_at = out.len();
    debug_assert_eq!(value_at - begin, prefix_bytes(data_type), "type {data_type}");
    let native = source.channel(pv).0;
    let found = if native == field {
        source.elements(pv, number, out)
    } else {
        convert::elements(&source.value(pv, number), field, &source.description(pv), out)
    };
    if count == 0 {
        return Some(found);
    }
    out.resize(value_at + count as usize * field.element_bytes(), 0);
    Some(count)
}

/// Bytes before the elements.
fn prefix_bytes(data_type: u16) -> usize {
    let by_field = |bytes: [usize; 7]| bytes.get(usize::from(data_type % 7)).copied().unwrap_or(0);
    match data_type {
        7..=13 => by_field([4, 4, 4, 4, 5, 4, 8]),
        14..=20 => by_field([12, 14, 12, 14, 15, 12, 16]),
        21..=27 => by_field([4, 24, 40, 422, 19, 36, 64]),
        28..=34 => by_field([4, 28, 48, 422, 21, 44, 80]),
        STSACK_STRING => 8,
        _ => 0,
    }
}

fn prefix(source: &impl Source, wanted: Wanted, field: FieldType, out: &mut Vec<u8>) {
    let Wanted { pv, number, data_type, .. } = wanted;
    let end = out.len() + prefix_bytes(data_type);
    let Stamp { seconds, nanos, severity, status } = source.stamp(pv, number);
    out.extend_from_slice(&(status as u16).to_be_bytes());
    out.extend_from_slice(&(severity as u16).to_be_bytes());
    match data_type {
        14..=20 => {
            let since_1990 = u32::try_from(seconds - EPICS_EPOCH).unwrap_or(0);
            out.extend_from_slice(&since_1990.to_be_bytes());
            out.extend_from_slice(&nanos.to_be_bytes());
        }
        21..=34 if field == FieldType::Enum => labels(&source.description(pv), out),
        21..=34 if field != FieldType::String => limits(&source.description(pv), field, data_type >= 28, out),
        _ => {}
    }
    out.resize(end, 0);
}

fn labels(about: &Description, out: &mut Vec<u8>) {
    let count = about.labels.len().min(16);
    out.extend_from_slice(&(count as u16).to_be_bytes());
    about.labels.iter().take(count).for_each(|label| put_text(label.as_bytes(), 26, out));
}

fn limits(about: &Description, field: FieldType, has_control: bool, out: &mut Vec<u8>) {
    if matches!(field, FieldType::Float | FieldType::Double) {
        let precision = about.precision.unwrap_or(0) as i16;
        out.extend_from_slice(&precision.to_be_bytes());
        out.extend_from_slice(&[0; 2]);
    }
    put_text(about.units.as_deref().unwrap_or_default().as_bytes(), 8, out);
    let none = Limits { low: 0.0, high: 0.0 };
    let [display, warning, alarm, control] =
        [about.display, about.warning, about.alarm, about.control].map(|limits| limits.unwrap_or(none));
    let six = [display.high, display.low, alarm.high, warning.high, warning.low, alarm.low];
    let two = if has_control { Some([control.high, control.low]) } else { None };
    for limit in six.into_iter().chain(two.into_iter().flatten()) {
        convert::elements(&crate::Value::F64(limit), field, about, out);
    }
}

//! A reading of an IOC becomes a sample, without a copy of its array. Time stamps that cannot be right, never set or too far ahead, are
//! replaced here by the time of arrival.

use std::{net::SocketAddr, sync::Arc};

use archive::structure::array_column;
use epics::{Description, Reading};
use sample::{Alarm, Limits, Metadata, Quality, Sample, Severity, Stamp, Timestamp, Value};

/// Stamps before this (1990-01-02) were never set: EPICS counts from 1990-01-01, pvAccess from 1970.
const STAMP_MIN: Timestamp = Timestamp::from_nanos(631_238_400_000_000_000);

/// Alarms say what is wrong in a few words. A server that sends megabytes of them with each value must not fill the head with these.
const MESSAGE_BYTES_MAX: usize = 4096;

/// Stamps this far ahead of our clock cannot be right. Ten minutes leave room for clocks that merely drift.
const STAMP_AHEAD_MAX: std::time::Duration = std::time::Duration::from_secs(600);

/// Makes a sample of a reading that arrived at `now`. A stamp that cannot be right gives way to the time of arrival, or the
/// sample would be the PV's newest for ever, or its oldest; what the IOC said is kept beside it.
pub(crate) fn sample(reading: Reading, now: Timestamp) -> Sample {
    let stamped = Timestamp::from_seconds(reading.seconds, reading.nanos.min(999_999_999));
    let doubt = if stamped < STAMP_MIN {
        Some(Quality::NeverSet)
    } else if stamped > now.saturating_add(STAMP_AHEAD_MAX) {
        Some(Quality::Ahead)
    } else {
        None
    };
    let alarm = Alarm {
        severity: Severity::from_number(reading.severity.into()),
        status: u16::try_from(reading.status).unwrap_or(u16::MAX),
        message: reading.message.map(cut),
    };
    let pulse = u64::from(reading.user_tag.cast_unsigned());
    let time = if doubt.is_some() { now } else { stamped };
    let stamp = doubt.map(|quality| Stamp { quality, other: stamped });
    Sample { time, value: value(reading.value), alarm, pulse, stamp }
}

/// The words of an alarm, as far as they are kept.
fn cut(message: Arc<str>) -> Arc<str> {
    match message.get(..message.floor_char_boundary(MESSAGE_BYTES_MAX)) {
        Some(kept) if kept.len() < message.len() => kept.into(),
        _ => message,
    }
}

fn value(value: epics::Value) -> Value {
    match value {
        epics::Value::Bool(v) => Value::Bool(v),
        epics::Value::I8(v) => Value::I8(v),
        epics::Value::U8(v) => Value::U8(v),
        epics::Value::I16(v) => Value::I16(v),
        epics::Value::U16(v) => Value::U16(v),
        epics::Value::I32(v) => Value::I32(v),
        epics::Value::U32(v) => Value::U32(v),
        epics::Value::I64(v) => Value::I64(v),
        epics::Value::U64(v) => Value::U64(v),
        epics::Value::F32(v) => Value::F32(v),
        epics::Value::F64(v) => Value::F64(v),
        epics::Value::Enum(v) => Value::Enum(v),
        epics::Value::String(v) => Value::String(v.into()),
        epics::Value::Structure(v) => Value::Structure(v.into()),
        epics::Value::Array(v) => Value::Array(array_column(v)),
    }
}

/// Which run of its server a PV comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Run {
    /// The one of this number, as pvAccess servers say.
    Guid([u8; 12]),
    /// One that had begun by then, as its beacons said, which counted anew.
    Beacons(Timestamp),
    /// One that had begun by then, as the record was processed before and is not any more.
    Unprocessed(Timestamp),
}

/// Who serves a PV, and which run of it that is, in words, as far as it is known.
pub(crate) fn served(server: Option<SocketAddr>, run: Option<Run>) -> (Option<String>, Option<String>) {
    let run = run.map(|run| match run {
        Run::Guid(guid) => guid.iter().map(|byte| format!("{byte:02x}")).collect(),
        Run::Beacons(by) => format!("{}{by}", Metadata::RUN_BY_BEACONS),
        Run::Unprocessed(by) => format!("{}{by}", Metadata::RUN_BY_STAMP),
    });
    (server.map(|server| server.to_string()), run)
}

/// Makes metadata of what the IOC said.
pub(crate) fn metadata(said: Description) -> Metadata {
    let limits = |limits: Option<epics::Limits>| limits.map(|l| Limits { low: l.low, high: l.high });
    Metadata {
        element_count: said.element_count,
        units: said.units,
        precision: said.precision,
        display: limits(said.display),
        control: limits(said.control),
        warning: limits(said.warning),
        alarm: limits(said.alarm),
        labels: said.labels,
        description: said.description,
        ..Metadata::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(seconds: i64, nanos: u32) -> Reading {
        Reading {
            value: epics::Value::F64(1.5),
            seconds,
            nanos,
            severity: 3,
            status: 17,
            message: None,
            user_tag: -1,
            overrun: false,
        }
    }

    #[test]
    fn a_stamp_that_cannot_be_right_gives_way_to_the_time_of_arrival() {
        let now = Timestamp::from_seconds(1_800_000_000, 5);
        let cases = [
            (0, Quality::NeverSet),
            (631_152_000, Quality::NeverSet),
            (-5, Quality::NeverSet),
            (1_800_000_601, Quality::Ahead),
            (i64::MAX, Quality::Ahead),
        ];
        for (seconds, quality) in cases {
            let sample = sample(reading(seconds, 7), now);
            let other = Timestamp::from_seconds(seconds, 7);
            assert_eq!((sample.time, sample.stamp), (now, Some(Stamp { quality, other })), "{seconds}");
        }
        let good = sample(reading(1_800_000_600, 0), now);
        assert_eq!((good.time.seconds_and_nanos(), good.stamp), ((1_800_000_600, 0), None));
    }

    #[test]
    fn words_of_an_alarm_without_end_are_cut_between_two_letters() {
        let message = |text: String| {
            sample(Reading { message: Some(text.into()), ..reading(0, 0) }, Timestamp::MIN).alarm.message
        };
        let whole = "x".repeat(MESSAGE_BYTES_MAX);
        assert_eq!(message(whole.clone()).as_deref(), Some(whole.as_str()));
        let cut = message(format!("x{}", "µ".repeat(MESSAGE_BYTES_MAX)));
        assert_eq!(cut.map(|cut| cut.len()), Some(MESSAGE_BYTES_MAX - 1));
    }

    #[test]
    fn alarm_and_pulse_come_over_and_broken_nanoseconds_stay_within_their_second() {
        let now = Timestamp::from_seconds(1_800_000_000, 0);
        let sample = sample(reading(1_799_999_999, u32::MAX), now);
        assert_eq!(sample.stamp, None);
        assert_eq!(sample.time.seconds_and_nanos(), (1_799_999_999, 999_999_999));
        assert_eq!((sample.alarm.severity, sample.alarm.status, sample.pulse), (Severity::Invalid, 17, 0xFFFF_FFFF));
    }
}

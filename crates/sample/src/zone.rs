//! Zones by their names in the IANA database: the one in which people of a site read times, and whichever they type times in.

use jiff::{
    civil::DateTime,
    tz::{TimeZone, TimeZoneDatabase},
};

use crate::Timestamp;

/// A zone that exists, `Europe/Stockholm`, as the database writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneName(String);

impl ZoneName {
    /// None where no zone has that name. Capitals do not matter.
    pub fn new(name: &str) -> Option<ZoneName> {
        // The database that is built in: a machine need not have one, and names mean the same on each.
        let zone = TimeZoneDatabase::bundled().get(name).ok()?;
        zone.iana_name().map(|name| ZoneName(name.to_owned()))
    }

    /// Its name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A zone in which times are typed and told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone(TimeZone);

impl Zone {
    /// UTC, in which the archive itself tells times.
    pub fn utc() -> Zone {
        Zone(TimeZone::UTC)
    }

    /// The zone of that name.
    pub fn of(name: &ZoneName) -> Zone {
        Zone(TimeZoneDatabase::bundled().get(name.as_str()).expect("a name was looked up there"))
    }

    /// A time as it is told here: `2026-11-21T09:30:00.000000000+01:00`; in UTC with a Z.
    pub fn told(&self, time: Timestamp) -> String {
        match self.0 == TimeZone::UTC {
            true => time.to_string(),
            false => time.moment().to_zoned(self.0.clone()).strftime("%Y-%m-%dT%H:%M:%S.%9f%:z").to_string(),
        }
    }

    /// What calendar and clock show here.
    pub(crate) fn civil(&self, time: Timestamp) -> DateTime {
        self.0.to_datetime(time.moment())
    }

    /// When they show that. What the clock passes over is as if it had not yet been set, and of what it shows twice the first counts.
    pub(crate) fn time_of(&self, civil: DateTime) -> Option<Timestamp> {
        let nanos = self.0.to_timestamp(civil).ok()?.as_nanosecond();
        i64::try_from(nanos).ok().map(Timestamp::from_nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_known_by_the_names_that_the_database_has() {
        for name in ["Europe/Stockholm", "America/Los_Angeles", "Asia/Shanghai", "UTC"] {
            assert_eq!(ZoneName::new(name).unwrap().as_str(), name);
        }
        assert_eq!(ZoneName::new("europe/stockholm").unwrap().as_str(), "Europe/Stockholm");
        for name in ["", "Europe/Lund", "UTC+1", "../etc/passwd", "CEST"] {
            assert_eq!(ZoneName::new(name), None, "{name}");
        }
    }

    #[test]
    fn times_are_told_with_the_offset_of_their_day() {
        let zone = Zone::of(&ZoneName::new("Europe/Berlin").unwrap());
        let time = |text: &str| Timestamp::parse(text).unwrap();
        for (utc, here) in [
            ("2026-06-01T06:30:00.25Z", "2026-06-01T08:30:00.250000000+02:00"),
            ("2026-12-01T06:30:00.000000001Z", "2026-12-01T07:30:00.000000001+01:00"),
        ] {
            assert_eq!(zone.told(time(utc)), here);
            assert_eq!(time(here), time(utc), "what is told can be typed again");
        }
        assert_eq!(Zone::utc().told(time("2026-06-01T06:30:00Z")), "2026-06-01T06:30:00.000000000Z");
        for time in [Timestamp::MIN, Timestamp::MAX] {
            zone.told(time);
        }
    }
}

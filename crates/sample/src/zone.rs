//! A zone by its name in the IANA database: the one in which people of a site read times. Nothing here computes with it; clients do.

use jiff::tz::TimeZoneDatabase;

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
}

//! The zone in which a command reads times and tells them: the one that was named, else the site's, else UTC.

use std::{sync::OnceLock, time::Duration};

use sample::{Timestamp, Zone, ZoneName};
use serde_json::Value;

use super::http::agent_of;
use crate::failure::Failure;

/// Whoever only wants to know the zone waits so long for it.
const PATIENCE: Duration = Duration::from_secs(5);

/// What was said of it.
struct Said {
    zone: Option<Zone>,
    server: Option<String>,
}

static SAID: OnceLock<Said> = OnceLock::new();
static ZONE: OnceLock<Zone> = OnceLock::new();

/// From here on times are of the zone of that name: `utc`, `site`, or one of the IANA database; of the site's, which the archiver that is asked
/// knows, where none is named.
pub(crate) fn choose(name: Option<&str>, server: Option<&str>) -> Result<(), Failure> {
    let zone =
        match name {
            None => None,
            Some(name) if name.eq_ignore_ascii_case("site") => None,
            Some(name) if name.eq_ignore_ascii_case("utc") => Some(Zone::utc()),
            Some(name) => Some(Zone::of(&ZoneName::new(name).ok_or_else(|| {
                format!("--zone {name:?} is no zone: say utc, site, or a name like Europe/Stockholm")
            })?)),
        };
    SAID.set(Said { zone, server: server.map(str::to_owned) }).map_err(|_| "the zone was named twice".into())
}

/// The zone of this command. The archiver is asked for it once, when the first time is read or told.
pub(crate) fn zone() -> &'static Zone {
    ZONE.get_or_init(|| match SAID.get() {
        Some(Said { zone: Some(zone), .. }) => zone.clone(),
        // Without it times are in UTC, as they are for a site that says none.
        Some(Said { server: Some(server), .. }) => of_site(server).unwrap_or_else(Zone::utc),
        _ => Zone::utc(),
    })
}

/// What the archiver says of the site. Why it does not answer is told by the command's own question.
fn of_site(server: &str) -> Option<Zone> {
    let config = ureq::Agent::config_builder().timeout_global(Some(PATIENCE));
    let mut answer = agent_of(config).get(format!("{server}/api/v1/status")).call().ok()?;
    let status: Value = answer.body_mut().read_json().ok()?;
    ZoneName::new(status["zone"].as_str()?).map(|name| Zone::of(&name))
}

/// A time as the command tells it.
pub(crate) fn told(time: Timestamp) -> String {
    zone().told(time)
}

/// The same of a text that may be a time as the archiver writes it, in UTC with nine digits; any other stays as it is.
pub(crate) fn retold(text: &str) -> Option<String> {
    let is_time =
        text.len() == "2026-11-21T08:30:00.000000000Z".len() && text.ends_with('Z') && text.get(10..11) == Some("T");
    let time = is_time.then(|| Timestamp::parse(text).ok()).flatten()?;
    Some(told(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_time_is_told_as_it_is() {
        for text in ["", "SR:CURRENT", "2026-11-21", "2026-11-21T08:30:00Z", "2026-11-21Tnot-a-time-at-all-Z"] {
            assert_eq!(retold(text), None, "{text}");
        }
        assert_eq!(retold("2026-11-21T08:30:00.000000000Z").as_deref(), Some("2026-11-21T08:30:00.000000000Z"));
        assert!(choose(Some("Europe/Lund"), None).is_err());
    }
}

//! `/mgmt/bpl/getPVStatus`: how PVs fare, in the Archiver Appliance's words.

use acquire::{Connection, Status};
use sample::{Method, PvEntry, PvState, Timestamp};
use serde_json::{Map, Value, json};

use super::{
    details::period_seconds,
    manage::{list_in, resolve},
    reports::limit,
    retrieval::owner,
    search::pattern,
};
use crate::{
    answer::Answer,
    call::Call,
    formats::list::{Frame, json_rows},
    lists::fitting,
};

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// `GET` and `POST /mgmt/bpl/getPVStatus`: unknown names get an answer too; where none is given, all that `regex=` fits.
pub(crate) fn show(call: &Call) -> Answer {
    let found = match list_in(call)? {
        Some(names) => resolve(call, names)?,
        None => fitting(call, &pattern(call)?)?,
    };
    let (limit, asked) = (limit(call)?, call.without_body());
    let rows = found.into_iter().take(limit).map(move |item| {
        let name = item.name.as_str();
        // A field that comes with its PV is archived as that is.
        let entry = item.pv.map_or_else(|| owner(&asked, name), |pv| asked.app.reader.entry(pv));
        Ok(Some(match entry {
            Some(entry) => {
                let status = asked.app.control.status(entry.id);
                row(&asked, name, &entry, status.as_ref(), || last_sample(&asked, &entry, status.as_ref()))
            }
            None => json!({ "pvName": name, "status": "Not being archived" }),
        }))
    });
    json_rows(call, Frame::list(), rows)
}

/// When the newest sample was. What was taken in this run is known without the store: a glob can name 100,000 PVs.
pub(crate) fn last_sample(call: &Call, entry: &PvEntry, status: Option<&Status>) -> Option<Timestamp> {
    let taken = status.and_then(|status| status.last_sample);
    taken.or_else(|| Some(call.app.query.last_before(&entry.id.into(), Timestamp::MAX).ok()??.time))
}

fn row(
    call: &Call,
    name: &str,
    entry: &PvEntry,
    status: Option<&Status>,
    last: impl FnOnce() -> Option<Timestamp>,
) -> Value {
    let mut row = Map::new();
    let mut put = |key: &str, text: String| row.insert(key.to_owned(), Value::String(text));
    put("pvName", name.to_owned());
    put("pvNameOnly", entry.name.to_string());
    put("appliance", call.identity().to_owned());
    if entry.settings.state == PvState::Paused {
        put("status", "Paused".to_owned());
        return Value::Object(row);
    }
    put("lastEvent", date(last()));
    let connected = status.is_some_and(|status| status.connection == Connection::Connected);
    let regained = status.filter(|status| status.reconnects > 0).and_then(|status| status.last_connected);
    let period = period_seconds(entry.settings.method);
    put("status", "Being archived".to_owned());
    put("connectionState", connected.to_string());
    put("samplingPeriod", format!("{period:?}"));
    put("isMonitored", (entry.settings.method == Method::Monitor).to_string());
    put("lastRotateLogs", "Never".to_owned());
    put("connectionFirstEstablished", date(status.and_then(|status| status.first_connected)));
    put("connectionLastRestablished", date(regained));
    put("connectionLossRegainCount", status.map_or(0, |status| status.reconnects).to_string());
    Value::Object(row)
}

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
    fn dates_look_as_scripts_expect_them() {
        let time = Timestamp::parse("2026-11-20T21:25:51.123Z").unwrap();
        assert_eq!(date(Some(time)), "Nov/20/2026 21:25:51 UTC");
        assert_eq!(date(None), "Never");
    }
}

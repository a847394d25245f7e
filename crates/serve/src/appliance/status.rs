//! `/mgmt/bpl/getPVStatus`: how PVs fare, in the Archiver Appliance's words.

use acquire::{Connection, Status};
use archive::{Method, PvEntry, PvState};
use sample::Timestamp;

use super::{
    dates::Dates,
    details::period_seconds,
    manage::{list_in, resolve},
    reports::limit,
    retrieval::owner,
    search::pattern,
};
use crate::{
    answer::{Answer, JSON},
    call::Call,
    formats::{
        list::{Frame, list},
        object::Object,
    },
    lists::{Item, fitting},
    seen::{Look, Seen, seen},
};

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// `GET` and `POST /mgmt/bpl/getPVStatus`: unknown names get an answer too; where none is given, all that `regex=` fits.
pub(crate) fn show(call: &Call) -> Answer {
    let found = match list_in(call)? {
        Some(names) => resolve(call, names)?,
        None => fitting(call, &pattern(call)?)?,
    };
    let (limit, asked) = (limit(call)?, call.without_body());
    let fields = call.without_body();
    // A field that comes with its PV is archived as that is.
    let pv = move |item: &Item| item.pv.or_else(|| owner(&fields, item.name.as_str()).map(|entry| entry.id));
    let rows = seen(call, found.into_iter().take(limit), pv, Look::Samples).map(|row| row.map(Some));
    let mut dates = Dates::default();
    list(call, JSON, Frame::list(), rows, move |out, (item, seen)| {
        match seen {
            Some(seen) => put_row(out, &asked, item.name.as_str(), &seen, &mut dates),
            None => Object::begin(out).text("pvName", item.name.as_str()).text("status", "Not being archived").end(),
        }
        Ok(())
    })
}

/// When the newest sample was. What was taken in this run is known without the store.
pub(crate) fn last_sample(call: &Call, entry: &PvEntry, status: Option<&Status>) -> Option<Timestamp> {
    let taken = status.and_then(|status| status.last_sample);
    taken.or_else(|| Some(call.app.query.last_before(&entry.id.into(), Timestamp::MAX).ok()??.time))
}

fn put_row(out: &mut Vec<u8>, call: &Call, name: &str, seen: &Seen, dates: &mut Dates) {
    let (entry, brief) = (&seen.entry, seen.brief.as_ref());
    let row = Object::begin(out).text("appliance", call.identity());
    if entry.settings.state == PvState::Paused {
        return row.text("pvName", name).text("pvNameOnly", entry.name.as_str()).text("status", "Paused").end();
    }
    let connected = brief.is_some_and(|brief| brief.connection == Connection::Connected);
    let regained = brief.filter(|brief| brief.reconnects > 0).and_then(|brief| brief.last_connected);
    let yes_or_no = |yes: bool| if yes { "true" } else { "false" };
    let first = dates.of(brief.and_then(|brief| brief.first_connected));
    let row = row.text("connectionFirstEstablished", first);
    let row = row.text("connectionLastRestablished", dates.of(regained));
    let reconnects = brief.map_or(0, |brief| brief.reconnects);
    let row = row.digits("connectionLossRegainCount", i64::try_from(reconnects).unwrap_or(i64::MAX));
    let row = row.text("connectionState", yes_or_no(connected));
    let row = row.text("isMonitored", yes_or_no(entry.settings.method == Method::Monitor));
    let row = row.text("lastEvent", dates.of(seen.last_sample(call))).text("lastRotateLogs", "Never");
    let row = row.text("pvName", name).text("pvNameOnly", entry.name.as_str());
    match entry.settings.method {
        Method::Monitor => row.text("samplingPeriod", "1.0"),
        method @ Method::Scan { .. } => row.text("samplingPeriod", &format!("{:?}", period_seconds(method))),
    }
    .text("status", "Being archived")
    .end();
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

//! `/mgmt/bpl/getPVStatus`: how PVs fare, in the Archiver Appliance's words.

use archive::{Connection, Method, PvEntry, PvState, Status};
use sample::Timestamp;
use service::{Ask, Item, NamedRow, Seen};

use super::{
    dates::Dates,
    names::{limit, list_in, pattern, resolved},
    whose::owner,
    words::period_seconds,
};
use crate::{
    call::Call,
    delivery::answer::{Answer, JSON},
    formats::{list::Frame, object::JsonObject},
};

/// `GET` and `POST /mgmt/bpl/getPVStatus`: unknown names get an answer too; where none is given, all that `regex=` fits.
pub(crate) fn show(call: &Call) -> Answer {
    let found = match list_in(&call.query, call.sent())? {
        Some(names) => resolved(&call.ask, names)?,
        None => call.ask.fitting(&pattern(&call.ask, &call.query)?)?,
    };
    let (limit, asked) = (limit(&call.query)?, call.ask.clone());
    let fields = call.ask.clone();
    // A field that comes with its PV is archived as that is.
    let pv = move |item: &Item| item.pv.or_else(|| owner(&fields, item.name.as_str()).map(|entry| entry.id));
    let rows = call.ask.fares(found.into_iter().take(limit), pv).map(|row| row.map(Some));
    let mut dates = Dates::default();
    call.list(JSON, Frame::list(), rows, move |out, NamedRow { asked: item, seen }| {
        match seen {
            Some(seen) => put_row(out, &asked, item.name.as_str(), &seen, &mut dates),
            None => {
                JsonObject::begin(out).text("pvName", item.name.as_str()).word("status", "Not being archived").end()
            }
        }
        Ok(())
    })
}

/// When the newest sample was. What was taken in this run is known without the store.
pub(crate) fn last_sample(ask: &Ask, entry: &PvEntry, status: Option<&Status>) -> Option<Timestamp> {
    let taken = status.and_then(|status| status.last_sample);
    taken.or_else(|| Some(ask.last_before(&entry.id.into(), Timestamp::MAX).ok()??.time))
}

fn put_row(out: &mut Vec<u8>, ask: &Ask, name: &str, seen: &Seen, dates: &mut Dates) {
    let (entry, brief) = (&seen.entry, seen.brief.as_ref());
    let row = JsonObject::begin(out).text("appliance", ask.identity());
    if seen.is_unanswered() {
        return row.text("pvName", name).text("pvNameOnly", entry.name.as_str()).word("status", "Appliance Down").end();
    }
    if entry.settings.state == PvState::Paused {
        return row.text("pvName", name).text("pvNameOnly", entry.name.as_str()).word("status", "Paused").end();
    }
    let connected = brief.is_some_and(|brief| brief.connection == Connection::Connected);
    let regained = brief.filter(|brief| brief.reconnects > 0).and_then(|brief| brief.last_connected);
    let yes_or_no = |yes: bool| if yes { "true" } else { "false" };
    let first = dates.of(brief.and_then(|brief| brief.first_connected));
    let row = row.word("connectionFirstEstablished", first);
    let row = row.word("connectionLastRestablished", dates.of(regained));
    let reconnects = brief.map_or(0, |brief| brief.reconnects);
    let row = row.digits("connectionLossRegainCount", i64::try_from(reconnects).unwrap_or(i64::MAX));
    let row = row.word("connectionState", yes_or_no(connected));
    let row = row.word("isMonitored", yes_or_no(entry.settings.method == Method::Monitor));
    let row = row.word("lastEvent", dates.of(seen.last_sample(ask))).word("lastRotateLogs", "Never");
    let row = row.text("pvName", name).text("pvNameOnly", entry.name.as_str());
    match entry.settings.method {
        Method::Monitor => row.word("samplingPeriod", "1.0"),
        method @ Method::Scan { .. } => row.word("samplingPeriod", &format!("{:?}", period_seconds(method))),
    }
    .word("status", "Being archived")
    .end();
}

//! `/mgmt/bpl/getPVStatus`: how PVs fare, in the Archiver Appliance's words.

use archive::{Connection, Method, PvEntry, PvState, Status};
use sample::Timestamp;
use service::{Ask, Item, NamedRow, Pattern, Sight};

use super::{
    dates::Dates,
    names::{limit, list_in, pattern, resolved},
    whose::owner,
    words::period_seconds,
};
use crate::{
    call::Call,
    delivery::answer::{Answer, JSON},
    formats::{list::Frame, object::put_object},
    refusal::Refusal,
};

/// `GET` and `POST /mgmt/bpl/getPVStatus`: unknown names get an answer too; where none is given, all that `regex=` fits.
pub(crate) fn show(call: &Call) -> Answer {
    let found = match list_in(&call.query, call.sent())? {
        Some(names) => resolved(&call.ask, names)?,
        None => match pattern(&call.ask, &call.query)? {
            Pattern::Everything => return rows(call, call.ask.all_fares().take(limit(&call.query)?)),
            pattern => call.ask.fitting(&pattern)?,
        },
    };
    let (limit, fields) = (limit(&call.query)?, call.ask.clone());
    // A field that comes with its PV is archived as that is.
    let pv = move |item: &Item| item.pv.or_else(|| owner(&fields, item.name.as_str()).map(|entry| entry.id));
    rows(call, call.ask.fares(found.into_iter().take(limit), pv))
}

fn rows(call: &Call, rows: impl Iterator<Item = Result<NamedRow<Item>, Refusal>> + Send + 'static) -> Answer {
    let (asked, mut dates) = (call.ask.clone(), Dates::default());
    call.list(JSON, Frame::list(), rows.map(|row| row.map(Some)), move |out, NamedRow { asked: item, seen }| {
        match seen {
            Some(seen) => put_row(out, &asked, item.name.as_str(), seen.sight(), &mut dates),
            None => {
                put_object!(out, { "pvName": text(item.name.as_str()), "status": word("Not being archived") });
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

fn put_row(out: &mut Vec<u8>, ask: &Ask, name: &str, of: Sight<'_>, dates: &mut Dates) {
    let (own, brief) = (of.name.as_str(), of.brief);
    let appliance = ask.identity();
    if of.is_unanswered() || of.outline.state == PvState::Paused {
        let status = if of.is_unanswered() { "Appliance Down" } else { "Paused" };
        put_object!(out, {
            "appliance": text(appliance),
            "pvName": text(name),
            "pvNameOnly": text(own),
            "status": word(status),
        });
        return;
    }
    let connected = brief.is_some_and(|brief| brief.connection == Connection::Connected);
    let regained = brief.filter(|brief| brief.reconnects > 0).and_then(|brief| brief.last_connected);
    let reconnects = brief.map_or(0, |brief| brief.reconnects);
    let yes_or_no = |yes: bool| if yes { "true" } else { "false" };
    let put_period = |out: &mut Vec<u8>| match of.outline.method {
        Method::Monitor => out.extend_from_slice(b"1.0"),
        method @ Method::Scan { .. } => out.extend_from_slice(format!("{:?}", period_seconds(method)).as_bytes()),
    };
    put_object!(out, {
        "appliance": text(appliance),
        "connectionFirstEstablished": word(dates.of(brief.and_then(|brief| brief.first_connected))),
        "connectionLastRestablished": word(dates.of(regained)),
        "connectionLossRegainCount": digits(i64::try_from(reconnects).unwrap_or(i64::MAX)),
        "connectionState": word(yes_or_no(connected)),
        "isMonitored": word(yes_or_no(of.outline.method == Method::Monitor)),
        "lastEvent": word(dates.of(of.last_sample(ask))),
        "lastRotateLogs": word("Never"),
        "pvName": text(name),
        "pvNameOnly": text(own),
        "samplingPeriod": with(put_period),
        "status": word("Being archived"),
    });
}

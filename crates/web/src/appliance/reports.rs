//! The Archiver Appliance's lists of PVs in a certain state: paused, without connection, new.

use archive::{PvEntry, PvState};
use sample::Timestamp;
use service::{Ask, ChangedRow, TimeSpanRow};

use super::{
    dates::Dates,
    names::{limit, pattern},
    words::{method_name, period_seconds},
};
use crate::{
    call::Call,
    delivery::answer::{Answer, JSON},
    formats::{
        appliance_values::dbr_type,
        list::{Frame, limited},
        object::{put_object, put_text},
    },
    refusal::Refusal,
};

/// The names of those PVs that are meant, without aliases.
pub(super) fn names_of(
    ask: &Ask,
    is_meant: impl Fn(&PvEntry) -> bool + Send + 'static,
) -> impl Iterator<Item = Result<Option<PvEntry>, Refusal>> + Send + 'static {
    ask.all_pvs().map(move |entry| Ok(Some(entry).filter(|entry| is_meant(entry))))
}

/// One of them in a list.
pub(super) fn put_name(out: &mut Vec<u8>, entry: PvEntry) -> Result<(), Refusal> {
    put_text(out, entry.name.as_str());
    Ok(())
}

/// `GET /mgmt/bpl/getAllExpandedPVNames`: every name and alias, and the other one under which its PV is found.
pub(crate) fn expanded_names(call: &Call) -> Answer {
    let names = call.ask.all_names().map(|name| Ok(Some(name)));
    call.list(JSON, Frame::list(), names, |out, name| {
        put_text(out, name.as_str());
        out.push(b',');
        put_text(out, name.as_str());
        out.pop();
        out.extend_from_slice(b".VAL\"");
        Ok(())
    })
}

/// `GET /mgmt/bpl/getPausedPVsReport`: when they were changed last is known as far back as the audit is looked at.
pub(crate) fn paused(call: &Call) -> Answer {
    let rows = call.ask.paused_pvs()?.map(|row| row.map(Some));
    call.list(JSON, Frame::list(), limited(limit(&call.query)?, rows), put_changed(call.identity()))
}

/// Writes rows of PVs with their changes.
fn put_changed(identity: &str) -> impl FnMut(&mut Vec<u8>, ChangedRow) -> Result<(), Refusal> + Send + use<> {
    let (identity, mut dates) = (identity.to_owned(), Dates::default());
    move |out, of| {
        put_object!(out, {
            "instance": text(&identity),
            "modificationTime": word(dates.of(Some(of.at))),
            "pvName": text(of.name.as_str()),
        });
        Ok(())
    }
}

/// `GET /mgmt/bpl/getTypeInfoKeys`, `getPVsForThisAppliance`: the names of all PVs, without aliases.
pub(crate) fn own_names(call: &Call) -> Answer {
    call.list(JSON, Frame::list(), names_of(&call.ask, |_| true), put_name)
}

/// `GET /mgmt/bpl/getPausedPVsForThisAppliance`
pub(crate) fn paused_names(call: &Call) -> Answer {
    let paused = names_of(&call.ask, |entry| entry.settings.state == PvState::Paused);
    call.list(JSON, Frame::list(), paused, put_name)
}

/// `GET /mgmt/bpl/getRecentlyAddedPVs`: the newest first.
pub(crate) fn recently_added(call: &Call) -> Answer {
    let (identity, mut dates) = (call.identity().to_owned(), Dates::default());
    let rows = call.ask.recently_added(limit(&call.query)?)?.map(|row| row.map(Some));
    call.list(JSON, Frame::list(), rows, move |out, of| {
        put_object!(out, {
            "creationTime": word(dates.of(Some(of.at))),
            "instance": text(&identity),
            "pvName": text(of.name.as_str()),
        });
        Ok(())
    })
}

/// `GET /mgmt/bpl/getNeverConnectedPVs`
pub(crate) fn never_connected(call: &Call) -> Answer {
    let (identity, mut dates) = (call.identity().to_owned(), Dates::default());
    let rows = limited(limit(&call.query)?, call.ask.never_connected().map(|row| row.map(Some)));
    call.list(JSON, Frame::list(), rows, move |out, of| {
        let added = dates.of(Some(of.at));
        put_object!(out, {
            "appliance": text(&identity),
            "currentState": word("METAINFO_REQUESTED"),
            "pvName": text(of.name.as_str()),
            "requestTime": word(added),
            "startOfWorkflow": word(added),
        });
        Ok(())
    })
}

/// `GET /mgmt/bpl/getCurrentlyDisconnectedPVs`: those that were connected once, in this run or before it. Of a connection that was lost
/// before this run it is told since when this run has been looking for the PV; scripts reckon with it.
pub(crate) fn disconnected(call: &Call) -> Answer {
    let (identity, mut dates, mut lost_at) = (call.identity().to_owned(), Dates::default(), Dates::default());
    let rows = limited(limit(&call.query)?, call.ask.disconnected().map(|row| row.map(Some)));
    call.list(JSON, Frame::list(), rows, move |out, of| {
        let host = of.server.map_or_else(|| "N/A".to_owned(), |server| server.ip().to_string());
        put_object!(out, {
            "commandThreadID": word("0"), // a client takes its absence for a fault
            "connectionLostAt": word(lost_at.of(Some(of.since))),
            "hostName": word(&host),
            "instance": text(&identity),
            "lastKnownEvent": word(dates.of(of.last_sample)),
            "noConnectionAsOfEpochSecs": digits(seconds(of.since)),
            "pvName": text(of.name.as_str()),
        });
        Ok(())
    })
}

/// `GET /mgmt/bpl/getArchivedWaveforms`: PVs whose values are arrays.
pub(crate) fn waveforms(call: &Call) -> Answer {
    let rows = limited(limit(&call.query)?, call.ask.waveforms().map(|row| row.map(Some)));
    call.list(JSON, Frame::list(), rows, |out, of| {
        put_object!(out, {
            "dbrtype": word(&dbr_type(of.value_type)),
            "elementCount": word(&of.element_count.to_string()),
            "pvName": text(of.name.as_str()),
            "samplingmethod": word(method_name(of.method)),
            "samplingperiod": word(&format!("{:?}", period_seconds(of.method))),
        });
        Ok(())
    })
}

/// `GET /mgmt/bpl/getTimeSpanReport`: when each PV was added and when its newest sample was, in seconds since 1970.
pub(crate) fn time_spans(call: &Call) -> Answer {
    let rows = call.ask.time_spans(&pattern(&call.ask, &call.query)?)?.map(|row| row.map(Some));
    call.list(JSON, Frame::object(), rows, |out, of| {
        put_text(out, of.name.as_str());
        out.push(b':');
        let last = of.last_sample.map_or(0, seconds);
        put_object!(out, {
            "creationTS": digits(seconds(of.added)),
            "lastEvent": digits(last),
            "paused": word(is_paused(&of)),
            "pvName": text(of.name.as_str()),
        });
        Ok(())
    })
}

/// `GET /mgmt/bpl/getCreationReportForAppliance`: when each PV was added, in seconds since 1970.
pub(crate) fn creations(call: &Call) -> Answer {
    let rows = call.ask.creations(&pattern(&call.ask, &call.query)?)?.map(|row| row.map(Some));
    call.list(JSON, Frame::list(), rows, |out, of| {
        put_object!(out, {
            "creationTS": digits(seconds(of.added)),
            "paused": word(is_paused(&of)),
            "pvName": text(of.name.as_str()),
        });
        Ok(())
    })
}

/// `GET /engine/bpl/getLastKnownTimeStampReport`
pub(crate) fn last_stamps(call: &Call) -> Answer {
    let rows = call.ask.time_spans(&pattern(&call.ask, &call.query)?)?;
    let rows = rows.map(|row| row.map(|of| Some((of.last_sample?, of.name))));
    call.list(JSON, Frame::list(), rows, |out, (last, name)| {
        put_object!(out, { "lastEvent": digits(seconds(last)), "pvName": text(name.as_str()) });
        Ok(())
    })
}

fn is_paused(of: &TimeSpanRow) -> &'static str {
    if of.state == PvState::Paused { "true" } else { "false" }
}

/// `GET /mgmt/bpl/getRecentlyModifiedPVs`: those that were added, paused, resumed, renamed or restored, the newest change first.
pub(crate) fn recently_modified(call: &Call) -> Answer {
    let rows = call.ask.recently_modified(limit(&call.query)?)?.map(|row| row.map(Some));
    call.list(JSON, Frame::list(), rows, put_changed(call.identity()))
}

fn seconds(time: Timestamp) -> i64 {
    time.seconds_and_nanos().0
}

//! The Archiver Appliance's lists of PVs in a certain state: paused, without connection, new.

use acquire::Connection;
use archive::{PvEntry, PvId, PvState};
use sample::{Shape, TimeRange, Timestamp, ValueType};
use service::{Ask, Look, Pattern, Seen, all_names, all_pvs, all_seen, fitting, seen};

use super::{
    dates::Dates,
    names::{limit, pattern},
    words::{method_name, period_seconds},
};
use crate::{
    call::Call,
    delivery::answer::{Answer, JSON},
    formats::{
        appliance::dbr_type,
        list::{Frame, limited},
        object::{Object, put_text},
    },
    refusal::Refusal,
};

/// What a PV takes in a list that is sorted before it is sent.
const PLACE_BYTES: usize = 32;

/// The rows of those PVs of which `of` makes something, each written by `put`, while the answer is sent.
pub(super) fn report<R: 'static>(
    call: &Call,
    look: Look,
    mut of: impl FnMut(&Ask, Seen) -> Result<Option<R>, Refusal> + Send + 'static,
    mut put: impl FnMut(&mut Vec<u8>, &R) + Send + 'static,
) -> Answer {
    let (left, asked) = (limit(call)?, call.ask.clone());
    let rows = all_seen(&call.ask, look).map(move |seen| of(&asked, seen?));
    call.list(JSON, Frame::list(), limited(left, rows), move |out, row| {
        put(out, &row);
        Ok(())
    })
}

/// The PVs by what `key` says of them, the largest first, each with a row; those of which it says nothing are left out. `looks` is what
/// is asked of them for the key, and then for the row.
pub(super) fn ranked<K: Ord + Copy + Send + 'static>(
    call: &Call,
    looks: (Look, Look),
    key: impl Fn(&Seen) -> Option<K>,
    mut put: impl FnMut(&mut Vec<u8>, &Seen, K) + Send + 'static,
) -> Answer {
    let left = limit(call)?;
    call.ask.lease.grow_by(call.ask.service.names().len(), PLACE_BYTES + size_of::<K>())?;
    let mut places: Vec<(K, PvId)> = Vec::new();
    for (index, seen) in all_seen(&call.ask, looks.0).enumerate() {
        if index % 1024 == 0 {
            call.ask.go_on()?;
        }
        let seen = seen?;
        places.extend(key(&seen).map(|key| (key, seen.entry.id)));
    }
    places.sort_by_key(|(key, _)| std::cmp::Reverse(*key));
    let places = places.into_iter().take(left);
    let rows = seen(&call.ask, places, |(_, pv)| Some(*pv), looks.1);
    let rows = rows.map(|row| row.map(|((key, _), seen)| Some((seen?, key))));
    call.list(JSON, Frame::list(), rows, move |out, (seen, key)| {
        put(out, &seen, key);
        Ok(())
    })
}

/// The names of those PVs that are meant, without aliases.
pub(super) fn names_of(call: &Call, is_meant: impl Fn(&PvEntry) -> bool + Send + 'static) -> Answer {
    let meant = all_pvs(&call.ask.service).map(move |entry| Ok(Some(entry).filter(|entry| is_meant(entry))));
    call.list(JSON, Frame::list(), meant, |out, entry| {
        put_text(out, entry.name.as_str());
        Ok(())
    })
}

/// `GET /mgmt/bpl/getAllExpandedPVNames`: every name and alias, and the other one under which its PV is found.
pub(crate) fn expanded_names(call: &Call) -> Answer {
    let names = all_names(&call.ask.service).map(|named| Ok(Some(named.name)));
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
    call.ask.service.look_at_changes()?;
    let (identity, mut dates) = (call.identity().to_owned(), Dates::default());
    let of = |ask: &Ask, seen: Seen| {
        let paused = Some(seen.entry).filter(|entry| entry.settings.state == PvState::Paused);
        Ok(paused.map(|entry| (ask.service.known_change(&entry), entry)))
    };
    report(call, Look::Entry, of, move |out, (changed, entry)| {
        let row = Object::begin(out).text("instance", &identity);
        row.text("modificationTime", dates.of(Some(*changed))).text("pvName", entry.name.as_str()).end();
    })
}

/// `GET /mgmt/bpl/getTypeInfoKeys`, `getPVsForThisAppliance`: the names of all PVs, without aliases.
pub(crate) fn own_names(call: &Call) -> Answer {
    names_of(call, |_| true)
}

/// `GET /mgmt/bpl/getPausedPVsForThisAppliance`
pub(crate) fn paused_names(call: &Call) -> Answer {
    names_of(call, |entry| entry.settings.state == PvState::Paused)
}

/// `GET /mgmt/bpl/getRecentlyAddedPVs`: the newest first.
pub(crate) fn recently_added(call: &Call) -> Answer {
    let (identity, mut dates) = (call.identity().to_owned(), Dates::default());
    let added = |seen: &Seen| Some(seen.entry.added);
    ranked(call, (Look::Entry, Look::Entry), added, move |out, seen, added| {
        let row = Object::begin(out).text("creationTime", dates.of(Some(added)));
        row.text("instance", &identity).text("pvName", seen.entry.name.as_str()).end();
    })
}

/// `GET /mgmt/bpl/getNeverConnectedPVs`
pub(crate) fn never_connected(call: &Call) -> Answer {
    let (identity, mut dates) = (call.identity().to_owned(), Dates::default());
    let of = |ask: &Ask, seen: Seen| Ok(has_never_connected(ask, &seen)?.then_some(seen.entry));
    report(call, Look::Metadata, of, move |out, entry| {
        let added = dates.of(Some(entry.added));
        let row = Object::begin(out).text("appliance", &identity).text("currentState", "METAINFO_REQUESTED");
        let row = row.text("pvName", entry.name.as_str());
        row.text("requestTime", added).text("startOfWorkflow", added).end();
    })
}

/// Whether nobody has ever answered for a PV: no IOC does now, and nothing was recorded in earlier runs either.
pub(crate) fn is_never_connected(ask: &Ask, entry: &PvEntry) -> Result<bool, Refusal> {
    let mut found = seen(ask, std::iter::once(entry.id), |pv| Some(*pv), Look::Metadata);
    match found.next().transpose()? {
        Some((_, Some(seen))) => has_never_connected(ask, &seen),
        _ => Ok(false),
    }
}

fn has_never_connected(ask: &Ask, seen: &Seen) -> Result<bool, Refusal> {
    let (pv, is_active) = (seen.entry.id, seen.entry.settings.state == PvState::Active);
    let is_searching = is_active && seen.brief.is_none_or(|brief| brief.connection == Connection::Searching);
    Ok(is_searching
        && (!seen.may_have_samples || ask.extent(pv)?.is_none())
        && (!seen.may_have_metadata || ask.metadata_at_end(pv, TimeRange::ALL)?.is_none()))
}

/// `GET /mgmt/bpl/getCurrentlyDisconnectedPVs`: those that were connected once, in this run or before it. Of a connection that was lost
/// before this run it is told since when this run has been looking for the PV; scripts reckon with it.
pub(crate) fn disconnected(call: &Call) -> Answer {
    let (identity, mut dates, mut lost_at) = (call.identity().to_owned(), Dates::default(), Dates::default());
    let of = |ask: &Ask, seen: Seen| {
        let Some(brief) = seen.brief else { return Ok(None) };
        let is_lost = match brief.connection {
            Connection::Disconnected => true,
            Connection::Searching => !has_never_connected(ask, &seen)?,
            Connection::Connected | Connection::Paused => false,
        };
        Ok(is_lost.then(|| (seen.last_sample(ask), brief, seen.entry)))
    };
    report(call, Look::Metadata, of, move |out, (last, brief, entry)| {
        let host = brief.server.map_or_else(|| "N/A".to_owned(), |server| server.ip().to_string());
        let row = Object::begin(out).text("commandThreadID", "0"); // a client takes its absence for a fault
        let row = row.text("connectionLostAt", lost_at.of(Some(brief.since))).text("hostName", &host);
        let row = row.text("instance", &identity).text("lastKnownEvent", dates.of(*last));
        let row = row.digits("noConnectionAsOfEpochSecs", seconds(brief.since));
        row.text("pvName", entry.name.as_str()).end();
    })
}

/// `GET /mgmt/bpl/getArchivedWaveforms`: PVs whose values are arrays.
pub(crate) fn waveforms(call: &Call) -> Answer {
    let of = |ask: &Ask, seen: Seen| {
        if !seen.may_have_metadata {
            return Ok(None);
        }
        let Some((_, metadata)) = ask.metadata_at_end(seen.entry.id, TimeRange::ALL)? else { return Ok(None) };
        let is_array = |value_type: &ValueType| value_type.shape == Shape::Array;
        let count = metadata.element_count.unwrap_or(0);
        Ok(metadata.value_type.filter(is_array).map(|value_type| (value_type, count, seen.entry)))
    };
    report(call, Look::Metadata, of, |out, (value_type, count, entry)| {
        let row = Object::begin(out).text("dbrtype", &dbr_type(*value_type)).text("elementCount", &count.to_string());
        let row = row.text("pvName", entry.name.as_str()).text("samplingmethod", method_name(entry.settings.method));
        row.text("samplingperiod", &format!("{:?}", period_seconds(entry.settings.method))).end();
    })
}

/// `GET /mgmt/bpl/getTimeSpanReport`: when each PV was added and when its newest sample was, in seconds since 1970.
pub(crate) fn time_spans(call: &Call) -> Answer {
    let asked = call.ask.clone();
    let rows = matching(call, Look::Samples)?.map(move |seen| {
        let seen = seen?;
        Ok(Some((seen.last_sample(&asked).map_or(0, seconds), seen.entry)))
    });
    call.list(JSON, Frame::object(), rows, |out, (last, entry)| {
        put_text(out, entry.name.as_str());
        out.push(b':');
        let row = Object::begin(out).digits("creationTS", seconds(entry.added)).digits("lastEvent", last);
        row.text("paused", is_paused(&entry)).text("pvName", entry.name.as_str()).end();
        Ok(())
    })
}

/// `GET /mgmt/bpl/getCreationReportForAppliance`: when each PV was added, in seconds since 1970.
pub(crate) fn creations(call: &Call) -> Answer {
    let rows = matching(call, Look::Entry)?.map(|seen| Ok(Some(seen?.entry)));
    call.list(JSON, Frame::list(), rows, |out, entry| {
        let row = Object::begin(out).digits("creationTS", seconds(entry.added));
        row.text("paused", is_paused(&entry)).text("pvName", entry.name.as_str()).end();
        Ok(())
    })
}

/// `GET /engine/bpl/getLastKnownTimeStampReport`
pub(crate) fn last_stamps(call: &Call) -> Answer {
    let asked = call.ask.clone();
    let rows = matching(call, Look::Samples)?.map(move |seen| {
        let seen = seen?;
        Ok(seen.last_sample(&asked).map(|last| (seconds(last), seen.entry)))
    });
    call.list(JSON, Frame::list(), rows, |out, (last, entry)| {
        Object::begin(out).digits("lastEvent", last).text("pvName", entry.name.as_str()).end();
        Ok(())
    })
}

fn is_paused(entry: &PvEntry) -> &'static str {
    if entry.settings.state == PvState::Paused { "true" } else { "false" }
}

/// The PVs whose names `regex=` fits; all of them without it. Aliases are not told apart.
fn matching(call: &Call, look: Look) -> Result<Box<dyn Iterator<Item = Result<Seen, Refusal>> + Send>, Refusal> {
    let pattern = pattern(call)?;
    if matches!(pattern, Pattern::Everything) {
        return Ok(Box::new(all_seen(&call.ask, look)));
    }
    let found = fitting(&call.ask, &pattern)?.into_iter();
    let all = seen(&call.ask, found, |item| item.pv, look);
    Ok(Box::new(all.filter_map(|one| match one {
        Ok((item, Some(seen))) => (seen.entry.name.as_str() == item.name.as_str()).then_some(Ok(seen)),
        Ok((_, None)) => None,
        Err(refusal) => Some(Err(refusal)),
    })))
}

/// `GET /mgmt/bpl/getRecentlyModifiedPVs`: those that were added, paused, resumed, renamed or restored, the newest change first.
pub(crate) fn recently_modified(call: &Call) -> Answer {
    call.ask.service.look_at_changes()?;
    let (identity, mut dates) = (call.identity().to_owned(), Dates::default());
    let changed = |seen: &Seen| Some(call.ask.service.known_change(&seen.entry));
    ranked(call, (Look::Entry, Look::Entry), changed, move |out, seen, changed| {
        let row = Object::begin(out).text("instance", &identity);
        row.text("modificationTime", dates.of(Some(changed))).text("pvName", seen.entry.name.as_str()).end();
    })
}

fn seconds(time: Timestamp) -> i64 {
    time.seconds_and_nanos().0
}

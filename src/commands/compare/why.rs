//! Why a sample is missing on one side: from what that side says of its connections and its settings, and from the samples around.

use std::{cell::OnceCell, time::Duration};

use aa::Payload;
use sample::{Gap, GapCause, TimeRange, Timestamp};
use serde_json::Value;

use crate::{
    cli::Server,
    commands::{
        appliance::Appliance,
        http::{self, Method, encoded},
        table::list,
    },
};

/// The Appliance writes what it has gathered so often, and has room for so many samples as fit its sampling period in between.
const WRITTEN_EVERY: Duration = Duration::from_secs(10);
/// So many losses of connection are kept in mind while samples around them are looked at.
const LOSSES_MAX: usize = 64;

/// Samples without a counterpart that follow each other, and the samples of the other side around them.
#[derive(Clone, Debug)]
pub(crate) struct Hole {
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
    pub(crate) count: u64,
    /// The first of them.
    pub(crate) example: String,
    /// Its type.
    pub(crate) value_type: sample::ValueType,
    pub(crate) before: Option<Timestamp>,
    pub(crate) after: Option<Timestamp>,
}

/// Where reasons come from on our side.
pub(crate) enum Here<'a> {
    Server(&'a Server),
    Store(&'a store::Reader, Option<archive::PvId>),
}

/// What is known of a PV on both sides; asked for when the first sample is missing.
pub(crate) struct Reasons<'a> {
    pub(crate) pv: &'a str,
    pub(crate) range: TimeRange,
    pub(crate) here: Here<'a>,
    pub(crate) there: &'a Appliance,
    gaps_here: OnceCell<Vec<Gap>>,
    settings_here: OnceCell<Value>,
    type_info_there: OnceCell<Value>,
    losses_there: Vec<Gap>,
}

impl<'a> Reasons<'a> {
    pub(crate) fn new(pv: &'a str, range: TimeRange, here: Here<'a>, there: &'a Appliance) -> Reasons<'a> {
        let (gaps_here, settings_here, type_info_there) = Default::default();
        Reasons { pv, range, here, there, gaps_here, settings_here, type_info_there, losses_there: Vec::new() }
    }

    /// Notes a loss of connection that they tell of.
    pub(crate) fn lost_connection(&mut self, gap: Gap) {
        if self.losses_there.len() >= LOSSES_MAX {
            self.losses_there.remove(0);
        }
        self.losses_there.push(gap);
    }

    /// Why they lack what we have.
    pub(crate) fn lost_there(&self, hole: &Hole) -> String {
        // What they tell by the second may lie up to a second beside.
        let overlaps = |gap: &&Gap| {
            let second = Duration::from_secs(1);
            gap.from.saturating_sub(second) <= hole.to && gap.to.is_none_or(|to| to.saturating_add(second) >= hole.from)
        };
        let told = |why: &str| why.to_owned();
        let oldest = Timestamp::from_seconds(662_688_000, 0); // 1991
        if hole.from < oldest {
            return told("stamp_refused");
        }
        let Some(before) = hole.before else { return told("before_first") };
        if let Some(gap) = self.losses_there.iter().rev().find(overlaps) {
            return told(gap.cause.name());
        }
        let info = self.type_info_there();
        let Some(after) = hole.after else {
            return told(if info["paused"] == "true" { "paused" } else { "after_last" });
        };
        let number =
            |key: &str| info[key].as_str().and_then(|text| text.parse::<f64>().ok()).filter(|number| *number > 0.0);
        let seconds = (after.nanos() - before.nanos()) as f64 / 1e9;
        match number("samplingPeriod") {
            Some(period) if info["samplingMethod"] == "SCAN" && seconds <= 2.0 * period => return told("scan"),
            Some(period) if info["samplingMethod"] == "MONITOR" => {
                let room = (WRITTEN_EVERY.as_secs_f64() / period).max(1.0).round() + 1.0;
                // What came between two writes, of which the newest stay.
                let came = (hole.count + 1) as f64 / seconds * WRITTEN_EVERY.as_secs_f64();
                if seconds <= 1.1 * WRITTEN_EVERY.as_secs_f64() && hole.count as f64 > (came - room).max(1.0) / 2.0 {
                    return told("buffer_full");
                }
            }
            _ => {}
        }
        let their_type = info["DBRType"].as_str().and_then(Payload::from_name).map(Payload::value_type);
        if their_type.is_some_and(|theirs| theirs != hole.value_type) {
            return told("type_changed");
        }
        told("unknown")
    }

    /// Why we lack what they have.
    pub(crate) fn lost_here(&self, hole: &Hole) -> String {
        let around = TimeRange { t0: hole.from, t1: Timestamp::from_nanos(hole.to.nanos().saturating_add(1)) };
        if let Some(gap) = self.gaps_here().iter().find(|gap| gap.overlaps(around)) {
            return gap.cause.name().to_owned();
        }
        if hole.before.is_none() {
            return "before_first".to_owned();
        }
        let settings = self.settings_here();
        let sampling = &settings["sampling"];
        let why = match () {
            () if settings["method"] == "scan" => "scan",
            () if !sampling["deadband"].is_null() => "dead_band",
            () if !sampling["rate_cap"].is_null() => "rate_capped",
            () if hole.after.is_none() => "after_last",
            () => "unknown",
        };
        why.to_owned()
    }

    /// Our gaps. Where they cannot be had, no reason is told for them.
    fn gaps_here(&self) -> &[Gap] {
        self.gaps_here.get_or_init(|| match &self.here {
            Here::Store(reader, pv) => {
                let gaps = pv.map(|pv| reader.gaps(pv, self.range).unwrap_or_default()).unwrap_or_default();
                gaps.into_iter().map(|(_, gap)| gap).collect()
            }
            Here::Server(server) => {
                let TimeRange { t0, t1 } = self.range;
                let path = format!("pvs/{}/gaps?from={t0}&to={t1}", encoded(self.pv));
                let answer = http::ask(server, Method::Get, &path).unwrap_or_default();
                let time = |text: &Value| text.as_str().and_then(|text| Timestamp::parse(text).ok());
                let gap = |row: &Value| {
                    let cause = GapCause::ALL.into_iter().find(|cause| row["cause"] == cause.name())?;
                    Some(Gap { from: time(&row["from"])?, to: time(&row["to"]), cause, lost: 0 })
                };
                list(&answer["gaps"]).iter().filter_map(gap).collect()
            }
        })
    }

    fn settings_here(&self) -> &Value {
        self.settings_here.get_or_init(|| match &self.here {
            Here::Store(..) => Value::Null,
            Here::Server(server) => {
                http::ask(server, Method::Get, &format!("pvs/{}", encoded(self.pv))).unwrap_or_default()
            }
        })
    }

    fn type_info_there(&self) -> &Value {
        self.type_info_there.get_or_init(|| self.there.type_info(self.pv).ok().flatten().unwrap_or_default())
    }
}

/// A reason in words.
pub(crate) fn text(why: &str) -> &str {
    match why {
        "before_first" => "it lies before the first sample that this side has in the range",
        "after_last" => "this side has nothing from here on",
        "disconnected" => "this side was not connected",
        "archiver_stopped" => "this side was not running",
        "paused" => "the PV was paused on this side",
        "stamp_refused" => "the stamp lies before 1991, which the Appliance does not take",
        "scan" => "this side takes one sample a period",
        "buffer_full" => "more updates came between two writes than the Appliance's sampling period leaves room for",
        "type_changed" => "the type is not the one that the Appliance has entered, so it drops the sample",
        "same_stamp" => "this side keeps fewer samples of one time",
        "dead_band" => "this side leaves out what lies within a dead band",
        "rate_capped" => "this side leaves out what comes faster than a cap",
        "value" => "the values differ",
        "narrowed" => "one side keeps it in a narrower type, or only its beginning",
        "stamp" => "the same value stands at another time",
        "severity" => "the severities differ",
        "status" => "the statuses differ",
        "unknown" => "no reason is known",
        other => other,
    }
}

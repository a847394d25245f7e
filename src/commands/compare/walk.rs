//! The walk: two sides in order of time, side by side. What has no counterpart at its own time may have one a little beside it; what
//! has none there either is missing, and its reason is asked for when the samples around it are known.

use std::{
    collections::VecDeque,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use aa::{Likeness, likeness, loss};
use sample::{Limits, Metadata, Sample, TimeRange, Timestamp, Value};

use super::{
    outcome::{Kind, Outcome, Stretch},
    side::Side,
    why::{Hole, Reasons},
};
use crate::failure::Failure;

/// So many samples wait for a counterpart beside them.
const LONE_MAX: usize = 4096;
/// And so many bytes of them.
const LONE_BYTES_MAX: usize = 32 << 20;
/// How many samples are counted together.
const TOLD_EVERY: u64 = 10_000;
/// So much of a value is shown.
const SHOWN_CHARS: usize = 60;

/// A sample without a counterpart at its time.
struct Lone {
    sample: Sample,
    /// The samples of the other side around it.
    before: Option<Timestamp>,
    after: Option<Timestamp>,
}

/// What is missing on one of the sides.
#[derive(Default)]
struct Missing {
    lone: VecDeque<Lone>,
    bytes: usize,
    hole: Option<Hole>,
}

pub(crate) struct Walk<'a> {
    reasons: Reasons<'a>,
    within: Duration,
    outcome: Outcome,
    looked_at: &'a AtomicU64,
    /// What only we have, and what only they have.
    lone: [Missing; 2],
    /// The newest times that were seen here and there.
    seen: [Option<Timestamp>; 2],
}

const HERE: usize = 0;
const THERE: usize = 1;

impl<'a> Walk<'a> {
    /// Equal values whose stamps are at most `within` apart are one sample with two stamps.
    pub(crate) fn new(reasons: Reasons<'a>, within: Duration, looked_at: &'a AtomicU64) -> Walk<'a> {
        let (outcome, lone) = (Outcome::default(), Default::default());
        Walk { reasons, within, outcome, looked_at, lone, seen: [None; 2] }
    }

    /// Compares all of both sides.
    pub(crate) fn compare(mut self, here: &mut Side, there: &mut Side) -> Result<Outcome, Failure> {
        let mut news = 0;
        while let Some(time) = [here.time(), there.time()].into_iter().flatten().min() {
            news += 1;
            if news == TOLD_EVERY {
                self.looked_at.fetch_add(std::mem::take(&mut news), Relaxed);
            }
            let (ours, theirs) = (here.time() == Some(time), there.time() == Some(time));
            if theirs {
                loss(&there.group_fields).into_iter().for_each(|gap| self.reasons.lost_connection(gap));
            }
            for (side, is_there) in [(HERE, ours), (THERE, theirs)] {
                if is_there {
                    self.see(side, time);
                }
            }
            self.settle(time);
            match (ours, theirs) {
                (true, true) => self.pair_all(&here.group, &there.group),
                (true, false) => here.group.drain(..).for_each(|sample| self.take_lone(HERE, sample)),
                _ => there.group.drain(..).for_each(|sample| self.take_lone(THERE, sample)),
            }
            if ours {
                here.advance_from(time)?;
            }
            if theirs {
                there.advance_from(time)?;
            }
        }
        self.looked_at.fetch_add(news, Relaxed);
        self.settle(Timestamp::MAX);
        for side in [HERE, THERE] {
            self.close(side);
        }
        // Without a sample there is no header to compare.
        if self.seen.iter().all(Option::is_some) {
            self.compare_metadata(&here.metadata, &there.metadata);
        }
        let sum = |count: fn(&Side) -> u64| count(here) + count(there);
        self.outcome.read_again = sum(|side| side.breaks + side.cut_short);
        self.outcome.out_of_order = sum(|side| side.out_of_order);
        Ok(self.outcome)
    }

    /// A side has a sample at a time: what waits on the other one knows now what comes after it.
    fn see(&mut self, side: usize, time: Timestamp) {
        self.seen[side] = Some(time);
        let other = &mut self.lone[1 - side];
        for lone in &mut other.lone {
            lone.after.get_or_insert(time);
        }
        if let Some(hole) = &mut other.hole {
            hole.after.get_or_insert(time);
        }
    }

    /// Samples of one time: equal ones first, then the others in their order.
    fn pair_all(&mut self, here: &[Sample], there: &[Sample]) {
        if let ([a], [b]) = (here, there) {
            return self.pair(a, b);
        }
        let mut theirs: Vec<&Sample> = there.iter().collect();
        let mut ours = Vec::new();
        for sample in here {
            match theirs.iter().position(|other| is_equal(sample, other)) {
                Some(place) => {
                    theirs.remove(place);
                    self.outcome.equal += 1;
                }
                None => ours.push(sample),
            }
        }
        let both = ours.len().min(theirs.len());
        (0..both).for_each(|place| self.pair(ours[place], theirs[place]));
        for (kind, rest) in [(Kind::LostThere, &ours[both..]), (Kind::LostHere, &theirs[both..])] {
            for sample in rest {
                let told = Some(shown(sample));
                let (a, b) = if kind == Kind::LostThere { (told, None) } else { (None, told) };
                self.add(kind, "same_stamp", (sample.time, sample.time), 1, (a, b));
            }
        }
    }

    /// Two samples of one time.
    fn pair(&mut self, a: &Sample, b: &Sample) {
        let (kind, why) = match likeness(&a.value, &b.value) {
            Likeness::Different => (Kind::Value, "value"),
            Likeness::Narrowed => (Kind::Type, "narrowed"),
            Likeness::Equal if a.alarm.severity != b.alarm.severity => (Kind::Alarm, "severity"),
            Likeness::Equal if a.alarm.status != b.alarm.status => (Kind::Alarm, "status"),
            Likeness::Equal => return self.outcome.equal += 1,
        };
        self.add(kind, why, (a.time, a.time), 1, (Some(shown(a)), Some(shown(b))));
    }

    fn take_lone(&mut self, side: usize, sample: Sample) {
        let within = self.within;
        let near =
            |lone: &Lone| lone.sample.time.saturating_add(within) >= sample.time && is_equal(&lone.sample, &sample);
        let other = &mut self.lone[1 - side];
        if let Some(place) = other.lone.iter().position(near)
            && let Some(lone) = other.lone.remove(place)
        {
            other.bytes -= lone.sample.value.byte_size();
            let (here, there) = if side == HERE { (&sample, &lone.sample) } else { (&lone.sample, &sample) };
            let told = |sample: &Sample| Some(format!("{} at {}", shown(sample), sample.time));
            let (a, b) = (told(here), told(there));
            return self.add(Kind::Stamp, "stamp", (lone.sample.time, sample.time), 1, (a, b));
        }
        let own = &mut self.lone[side];
        own.bytes += sample.value.byte_size();
        own.lone.push_back(Lone { before: self.seen[1 - side], after: None, sample });
        while self.lone[side].lone.len() > LONE_MAX
            || (self.lone[side].bytes > LONE_BYTES_MAX && self.lone[side].lone.len() > 1)
        {
            self.give_up(side);
        }
    }

    /// The oldest one that waits has no counterpart.
    fn give_up(&mut self, side: usize) {
        let own = &mut self.lone[side];
        let Some(Lone { sample, before, after }) = own.lone.pop_front() else { return };
        own.bytes -= sample.value.byte_size();
        if let Some(hole) = own.hole.as_mut().filter(|hole| hole.before == before) {
            (hole.to, hole.count, hole.after) = (sample.time, hole.count + 1, hole.after.or(after));
            return;
        }
        self.close(side);
        self.lone[side].hole = Some(Hole {
            from: sample.time,
            to: sample.time,
            count: 1,
            example: shown(&sample),
            value_type: sample.value.value_type(),
            before,
            after,
        });
    }

    /// What can be said by now of what is missing.
    fn settle(&mut self, now: Timestamp) {
        let past = if now == Timestamp::MAX { now } else { now.saturating_sub(self.within) };
        for side in [HERE, THERE] {
            while self.lone[side].lone.front().is_some_and(|lone| lone.sample.time < past) {
                self.give_up(side);
            }
            if self.lone[side].hole.as_ref().is_some_and(|hole| hole.after.is_some_and(|after| after < past)) {
                self.close(side);
            }
        }
    }

    fn close(&mut self, side: usize) {
        let Some(hole) = self.lone[side].hole.take() else { return };
        let told = Some(hole.example.clone());
        let (kind, why, told) = match side {
            HERE => (Kind::LostThere, self.reasons.lost_there(&hole), (told, None)),
            _ => (Kind::LostHere, self.reasons.lost_here(&hole), (None, told)),
        };
        self.add(kind, &why, (hole.from, hole.to), hole.count, told);
    }

    fn add(
        &mut self,
        kind: Kind,
        why: &str,
        (from, to): (Timestamp, Timestamp),
        count: u64,
        (here, there): (Option<String>, Option<String>),
    ) {
        self.outcome.add(Stretch { kind, why: why.to_owned(), from, to, count, here, there });
    }

    /// What the headers and fields said last. An archiver that says nothing of limits and names is not held to it.
    fn compare_metadata(&mut self, here: &Metadata, there: &Metadata) {
        let TimeRange { t0, t1 } = self.reasons.range;
        let mut differs = |what: &str, a: Option<String>, b: Option<String>| {
            if a != b {
                self.outcome.add(Stretch {
                    kind: Kind::Metadata,
                    why: what.to_owned(),
                    from: t0,
                    to: t1,
                    count: 1,
                    here: a,
                    there: b,
                });
            }
        };
        let units = |metadata: &Metadata| metadata.units.clone().filter(|units| !units.is_empty());
        differs("units", units(here), units(there));
        // 0 is also what is said where there is none.
        let precision =
            |metadata: &Metadata| metadata.precision.filter(|digits| *digits != 0).map(|digits| digits.to_string());
        differs("precision", precision(here), precision(there));
        let both = |a: Option<String>, b: Option<String>| a.is_some() && b.is_some();
        let limits = |limits: Option<Limits>| limits.map(|Limits { low, high }| format!("{low} to {high}"));
        for (what, a, b) in [
            ("display", here.display, there.display),
            ("control", here.control, there.control),
            ("warning", here.warning, there.warning),
            ("alarm", here.alarm, there.alarm),
        ] {
            if both(limits(a), limits(b)) {
                differs(what, limits(a), limits(b));
            }
        }
        let labels = |metadata: &Metadata| (!metadata.labels.is_empty()).then(|| metadata.labels.join(", "));
        if both(labels(here), labels(there)) {
            differs("labels", labels(here), labels(there));
        }
    }
}

fn is_equal(a: &Sample, b: &Sample) -> bool {
    a.alarm.severity == b.alarm.severity
        && a.alarm.status == b.alarm.status
        && likeness(&a.value, &b.value) == Likeness::Equal
}

/// A sample in a few words.
fn shown(sample: &Sample) -> String {
    let value = match &sample.value {
        Value::String(text) => format!("{text:?}"),
        Value::Structure(bytes) => format!("a structure of {} bytes", bytes.len()),
        Value::Array(elements) => {
            let some: Vec<String> = (0..elements.len().min(8)).map(|row| plain(&elements.get(row))).collect();
            let more = if elements.len() > 8 { ", …" } else { "" };
            format!("{} elements [{}{more}]", elements.len(), some.join(", "))
        }
        value => plain(value),
    };
    let mut text: String = value.chars().take(SHOWN_CHARS).collect();
    if text.len() < value.len() {
        text.push('…');
    }
    if !sample.alarm.is_none() {
        text.push_str(&format!(" {} {}", sample.alarm.severity.name(), sample.alarm.status));
    }
    text
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        Value::Bool(v) => v.to_string(),
        Value::I64(v) => v.to_string(),
        Value::U64(v) => v.to_string(),
        Value::F32(v) => format!("{v:?}"),
        value => value.as_f64().map_or_else(|| "?".to_owned(), |number| number.to_string()),
    }
}
